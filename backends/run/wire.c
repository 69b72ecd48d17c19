/* wire.c - frames between processes. */
#include "backends/run/wire.h"
#include "lang/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool reserve(Wire *wire, size_t capacity) {
    if (capacity <= wire->capacity)
        return true;
    size_t wanted = wire->capacity * 2 > capacity ? wire->capacity * 2 : capacity;
    uint8_t *bytes = realloc(wire->bytes, wanted);
    if (!bytes) {
        wire->failed = true;
        return false;
    }
    wire->bytes = bytes;
    wire->capacity = wanted;
    return true;
}

void wire_put(Wire *wire, const void *bytes, size_t count) {
    if (!count || !reserve(wire, wire->length + count))
        return;
    memcpy(wire->bytes + wire->length, bytes, count);
    wire->length += count;
}

void wire_put_integer(Wire *wire, int64_t value) {
    wire_put(wire, &value, sizeof value);
}

void wire_put_real(Wire *wire, double value) {
    wire_put(wire, &value, sizeof value);
}

void wire_put_text(Wire *wire, const char *text) {
    size_t length = strlen(text) + 1;
    wire_put_integer(wire, (int64_t)length);
    wire_put(wire, text, length);
}

const void *wire_get(Wire *wire, size_t count) {
    if (wire->failed || count > wire->length - wire->at) {
        wire->failed = true;
        return NULL;
    }
    wire->at += count;
    return wire->bytes + wire->at - count;
}

int64_t wire_get_integer(Wire *wire) {
    int64_t value = 0;
    const void *bytes = wire_get(wire, sizeof value);
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

double wire_get_real(Wire *wire) {
    double value = 0;
    const void *bytes = wire_get(wire, sizeof value);
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

const char *wire_get_text(Wire *wire) {
    int64_t length = wire_get_integer(wire);
    const char *text = length > 0 ? wire_get(wire, (size_t)length) : NULL;
    if (text && !text[length - 1])
        return text;
    wire->failed = true;
    return "";
}

void wire_free(Wire *wire) {
    free(wire->bytes);
    *wire = (Wire){0};
}

/* A pipe with room for most objects: each time that it is full the processes take turns. */
static bool open_pipe(int ends[2]) {
    enum { ROOM = 1 << 20 };
    if (pipe2(ends, O_CLOEXEC))
        return false;
#ifdef F_SETPIPE_SZ
    fcntl(ends[1], F_SETPIPE_SZ, ROOM); /* if refused it is smaller and slower */
#endif
    return true;
}

bool wire_open(int request[2], int answer[2]) {
    if (!open_pipe(request))
        return false;
    if (open_pipe(answer))
        return true;
    close(request[0]);
    close(request[1]);
    return false;
}

bool wire_send(const Wire *wire, int descriptor) {
    int64_t length = (int64_t)wire->length;
    return !wire->failed && write_all(descriptor, &length, sizeof length) &&
           write_all(descriptor, wire->bytes, wire->length);
}

/* While a frame arrives, its length is in the first 8 bytes; these are dropped when it is whole. */
bool wire_receive_some(Wire *wire, int descriptor, bool *complete) {
    int64_t length = 0;
    size_t wanted = sizeof length;
    *complete = false;
    if (wire->length >= sizeof length) {
        memcpy(&length, wire->bytes, sizeof length);
        wanted += (size_t)length;
    }
    if (!reserve(wire, wanted + 1))
        return false;
    ssize_t got = read(descriptor, wire->bytes + wire->length, wanted - wire->length);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0)
        return false;
    wire->length += (size_t)got;
    if (wire->length < sizeof length)
        return true;
    memcpy(&length, wire->bytes, sizeof length);
    if (length < 0 || length > (wire->limit ? wire->limit : WIRE_LIMIT))
        return false;
    if (wire->length == sizeof length + (size_t)length) {
        wire->length = (size_t)length;
        memmove(wire->bytes, wire->bytes + sizeof length, wire->length);
        wire->at = 0;
        *complete = true;
    }
    return true;
}

bool wire_receive(Wire *wire, int descriptor) {
    wire->length = wire->at = 0;
    wire->failed = false;
    for (bool complete = false; !complete;)
        if (!wire_receive_some(wire, descriptor, &complete))
            return false;
    return true;
}
