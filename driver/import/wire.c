/* wire.c - reads protobuf's wire format. A length beyond the end of what holds it, a number that does not end, a kind
 * of field that does not exist: each is an error with its place, and nothing is read after it.
 */
#include "driver/import/wire.h"
#include <string.h>

static bool wire_fail(WireError *error, const unsigned char *at, const char *why) {
    if (!error->why)
        *error = (WireError){why, at};
    return false;
}

bool wire_number(Bytes *bytes, uint64_t *value, WireError *error) {
    const unsigned char *begin = bytes->at;
    if (error->why || begin == bytes->end)
        return false;
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (bytes->at == bytes->end)
            return wire_fail(error, begin, "a number goes beyond the end");
        unsigned char byte = *bytes->at++;
        *value |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (!(byte & 128))
            return true;
    }
    return wire_fail(error, begin, "a number has more than ten bytes");
}

uint64_t wire_bits(const unsigned char *at, int bytes) {
    uint64_t bits = 0;
    for (int i = 0; i < bytes; i++)
        bits |= (uint64_t)at[i] << 8 * i;
    return bits;
}

static bool take_bytes(Bytes *message, uint64_t count, WireField *field, WireError *error) {
    if (count > (uint64_t)(message->end - message->at))
        return wire_fail(error, message->at, "a field goes beyond the end");
    field->bytes = (Bytes){message->at, message->at + count};
    message->at += count;
    return true;
}

bool wire_next(Bytes *message, WireField *field, WireError *error) {
    const unsigned char *begin = message->at;
    uint64_t key, length;
    if (!wire_number(message, &key, error))
        return false;
    if (key >> 3 == 0 || key >> 3 > INT32_MAX)
        return wire_fail(error, begin, "a field has no valid number");
    *field = (WireField){.number = (int)(key >> 3), .kind = (WireKind)(key & 7)};
    if (field->kind == WIRE_NUMBER)
        return wire_number(message, &field->value, error) || wire_fail(error, begin, "a field has no value");
    if (field->kind == WIRE_BYTES)
        return (wire_number(message, &length, error) || wire_fail(error, begin, "a field has no length")) &&
               take_bytes(message, length, field, error);
    if (field->kind != WIRE_FOUR && field->kind != WIRE_EIGHT)
        return wire_fail(error, begin, "a field is of no known kind");
    int bytes = field->kind == WIRE_FOUR ? 4 : 8;
    if (!take_bytes(message, (uint64_t)bytes, field, error))
        return false;
    field->value = wire_bits(field->bytes.at, bytes);
    return true;
}

const char *wire_text(Arena *arena, Bytes bytes) {
    return arena_strndup(arena, (const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}

float wire_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
