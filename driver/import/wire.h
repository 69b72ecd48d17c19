/* wire.h - the wire format of protobuf: fields of a message, one after another, each checked against the end of what
 * holds it. Nothing is copied: the bytes of a field are those of the file.
 */
#ifndef DRIVER_IMPORT_WIRE_H
#define DRIVER_IMPORT_WIRE_H

#include "lang/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Bytes {
    const unsigned char *at, *end;
} Bytes;

typedef enum WireKind { WIRE_NUMBER = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 } WireKind;

typedef struct WireField {
    int number;
    WireKind kind;
    uint64_t value; /* of numbers, and the bits of four and eight bytes */
    Bytes bytes;    /* of WIRE_BYTES; of four and eight bytes, too */
} WireField;

/* What was wrong first, and where; why NULL: nothing. */
typedef struct WireError {
    const char *why;
    const unsigned char *at;
} WireError;

/* The next field of a message, whose bytes go forward. False at its end and after an error. */
bool wire_next(Bytes *message, WireField *field, WireError *error);
/* The next number of packed ones. False at their end and after an error. */
bool wire_number(Bytes *bytes, uint64_t *value, WireError *error);
/* The bytes as text that ends with 0. */
const char *wire_text(Arena *arena, Bytes bytes);
/* Bits as a float. */
float wire_float(uint32_t bits);
/* Little-endian bytes as bits. */
uint64_t wire_bits(const unsigned char *at, int bytes);

#endif
