/* wire.h - the messages between a runner and its worker: frames of little-endian integers and bytes.
 *
 * A frame is its length (int64) and so many bytes. Reading past the end sets `failed` and gives zeros, so that a
 * damaged message is noticed once, at its end.
 */
#ifndef BACKENDS_RUN_WIRE_H
#define BACKENDS_RUN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 6 };
/* A request begins with the version, its number and its kind; an answer with the number of its request and an Outcome.
 */
typedef enum RequestKind { REQUEST_GREETING, REQUEST_RUN } RequestKind;
/* Why a worker has no result: the object cannot be used; the machine did not provide the threads; no object with these
 * arguments and threads can run there. */
typedef enum RequestRefusal { REFUSED_OBJECT, REFUSED_THREADS, REFUSED_ALL } RequestRefusal;
#define WIRE_LIMIT ((int64_t)1 << 36) /* limit of a frame: a greater length is damaged */

typedef struct Wire {
    uint8_t *bytes;
    size_t length, capacity, at;
    int64_t limit; /* of a frame that is received; 0: WIRE_LIMIT */
    bool failed;   /* out of memory while writing, or read past the end */
} Wire;

void wire_put(Wire *wire, const void *bytes, size_t count);
void wire_put_integer(Wire *wire, int64_t value);
void wire_put_real(Wire *wire, double value);
void wire_put_text(Wire *wire, const char *text);
const void *wire_get(Wire *wire, size_t count); /* points into the frame; NULL when the frame ends before */
int64_t wire_get_integer(Wire *wire);
double wire_get_real(Wire *wire);
const char *wire_get_text(Wire *wire); /* terminated, in the frame; "" when damaged */
void wire_free(Wire *wire);

/* Opens two pipes between processes, which close when either runs another program. False, with errno set, opens
 * none. */
bool wire_open(int request[2], int answer[2]);
/* Send and receive whole frames. False: end of file, error, or a damaged length. */
bool wire_send(const Wire *wire, int descriptor);
bool wire_receive(Wire *wire, int descriptor);
/* Reads once what is there; *complete when the frame is whole. For descriptors that poll reports as ready. */
bool wire_receive_some(Wire *wire, int descriptor, bool *complete);

#endif
