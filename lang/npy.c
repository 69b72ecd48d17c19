/* npy.c - the .npy format, versions 1 to 3: a magic, the length of a header, a Python dictionary as text, the data.
 *
 * Arrays of the element types are read, of either byte order, row-major or column-major ("fortran_order"), and are
 * row-major and of the host's byte order from then on. Anything else is refused with what was found.
 */
#include "lang/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Codes of the element types; what NumPy lacks (bfloat16) travels as raw 2-byte items. */
static const char *const codes[TYPE_COUNT] = {
    [TYPE_BOOL] = "b1",  [TYPE_INT8] = "i1",   [TYPE_INT16] = "i2",   [TYPE_INT32] = "i4",  [TYPE_INT64] = "i8",
    [TYPE_UINT8] = "u1", [TYPE_UINT16] = "u2", [TYPE_UINT32] = "u4",  [TYPE_UINT64] = "u8", [TYPE_HALF] = "f2",
    [TYPE_FLOAT] = "f4", [TYPE_DOUBLE] = "f8", [TYPE_BFLOAT16] = "V2"};

const char *npy_shape_text(Arena *arena, int rank, const int64_t *shape) {
    Text text = {.arena = arena};
    text_add(&text, "(");
    for (int d = 0; d < rank; d++)
        text_add(&text, rank == 1 ? "%lld," : d ? ", %lld" : "%lld", (long long)shape[d]);
    text_add(&text, ")");
    return text.text;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

typedef struct NpyReader {
    Arena *arena;
    FILE *file;
    Array *array;
    bool swapped, column_major;
    const char *why;
} NpyReader;

static bool fail(NpyReader *reader, const char *why) {
    reader->why = why;
    return false;
}

/* The text after 'key': in the dictionary, blanks skipped; "" when it is not there. */
static const char *entry(const char *header, const char *key) {
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static char *read_header(Arena *arena, FILE *file) {
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) || start[6] < 1 || start[6] > 3)
        return NULL;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, file) != 2)
            return NULL;
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (length > 1 << 20)
        return NULL;
    char *header = arena_alloc(arena, length + 1);
    return fread(header, 1, length, file) == length ? header : NULL;
}

static bool host_is_big_endian(void) {
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

static bool is_code(const char *descr, const char *code) {
    size_t length = strlen(code);
    return *descr == '\'' && descr[1] && strchr("<>|=", descr[1]) && !strncmp(descr + 2, code, length) &&
           descr[2 + length] == '\'';
}

/* The element type of the file, other than bfloat16; TYPE_COUNT: it has none. */
static ElementType type_of_file(const char *descr) {
    int type = 0;
    while (type < TYPE_COUNT && (type == TYPE_BFLOAT16 || !is_code(descr, codes[type])))
        type++;
    return (ElementType)type;
}

/* How another type of numbers is converted: by NumPy, which has no bfloat16 of its own, or here. */
static const char *conversion_hint(const NpyReader *reader, const char *descr, const char *code) {
    ElementType type = type_of_file(descr);
    if (type == TYPE_COUNT)
        return "";
    if (reader->array->type != TYPE_BFLOAT16)
        return arena_printf(reader->arena, ": save array.astype('%s')", code);
    return arena_printf(reader->arena,
                        ": save array.astype(ml_dtypes.bfloat16), which Python's package ml_dtypes has; or declare the "
                        "argument %s and convert its elements, bfloat16(...)",
                        element_info[type].spelling);
}

/* 'descr': '<f4': byte order, kind, bytes. The bits of a bfloat16 may also be uint16. */
static bool read_type(NpyReader *reader, const char *descr) {
    const char *code = codes[reader->array->type];
    bool bits = reader->array->type == TYPE_BFLOAT16 && is_code(descr, codes[TYPE_UINT16]);
    bool typed = bits || is_code(descr, code);
    if (!*descr)
        descr = "nothing";
    if (!typed)
        return fail(reader,
                    arena_printf(reader->arena, "it holds %.*s, but '<%s' (%s) is needed%s",
                                 (int)strcspn(descr, ",}\n"), descr, code, element_info[reader->array->type].spelling,
                                 conversion_hint(reader, descr, code)));
    reader->swapped = host_is_big_endian() ? descr[1] == '<' : descr[1] == '>';
    return true;
}

static bool read_shape(NpyReader *reader, const char *text) {
    LIST(int64_t) shape = {0};
    if (*text++ != '(')
        return fail(reader, "its shape cannot be read");
    for (text += strspn(text, ", "); *text != ')'; text += strspn(text, "L, ")) {
        char *end;
        errno = 0;
        int64_t extent = strtoll(text, &end, 10);
        if (end == text || errno || extent < 0)
            return fail(reader, "its shape cannot be read");
        list_push(reader->arena, &shape, extent);
        text = end;
    }
    Array *array = reader->array;
    array->rank = shape.count;
    array->shape = ARENA_ARRAY(reader->arena, int64_t, shape.count + 1);
    array->elements = 1;
    for (int d = 0; d < shape.count; d++)
        array->shape[d] = shape.items[d];
    for (int d = 0; d < shape.count; d++)
        if (__builtin_mul_overflow(array->elements, shape.items[d], &array->elements) ||
            array->elements > INT64_MAX / 16)
            return fail(reader, "it is larger than 2^63 bytes");
    return true;
}

/* --- the data ----------------------------------------------------------------------------------------------------- */

/* Before memory is taken for what a short file does not hold. */
static bool holds_data(NpyReader *reader, int64_t bytes) {
    struct stat status;
    long at = ftell(reader->file);
    if (at < 0 || fstat(fileno(reader->file), &status) || !S_ISREG(status.st_mode))
        return true;
    return status.st_size - at >= bytes || fail(reader, "it ends too early");
}

static void swap_bytes(unsigned char *data, int64_t elements, int bytes) {
    for (int64_t i = 0; i < elements; i++, data += bytes)
        for (int b = 0; b < bytes / 2; b++) {
            unsigned char byte = data[b];
            data[b] = data[bytes - 1 - b];
            data[bytes - 1 - b] = byte;
        }
}

/* The first index runs fastest in the file, slowest in memory. */
static void *row_major(Arena *arena, const Array *array, const char *data, int bytes) {
    char *rows = arena_alloc(arena, (size_t)(array->elements * bytes) + 1);
    int64_t *index = ARENA_ARRAY(arena, int64_t, array->rank + 1);
    for (int64_t i = 0; i < array->elements; i++, data += bytes) {
        int64_t at = 0;
        for (int d = 0; d < array->rank; d++)
            at = at * array->shape[d] + index[d];
        memcpy(rows + at * bytes, data, (size_t)bytes);
        for (int d = 0; d < array->rank && ++index[d] == array->shape[d]; d++)
            index[d] = 0;
    }
    return rows;
}

/* A truth value is one byte, 0 or 1. */
static void normalise_bools(unsigned char *data, int64_t elements) {
    for (int64_t i = 0; i < elements; i++)
        data[i] = data[i] != 0;
}

static bool read_data(NpyReader *reader) {
    Array *array = reader->array;
    int bytes = element_info[array->type].bytes;
    size_t size = (size_t)(array->elements * bytes);
    if (!holds_data(reader, array->elements * bytes))
        return false;
    array->data = arena_alloc(reader->arena, size + 1);
    if (fread(array->data, 1, size, reader->file) != size)
        return fail(reader, "it ends too early");
    if (reader->swapped)
        swap_bytes(array->data, array->elements, bytes);
    if (array->type == TYPE_BOOL)
        normalise_bools(array->data, array->elements);
    if (reader->column_major && array->rank > 1)
        array->data = row_major(reader->arena, array, array->data, bytes);
    return true;
}

static bool read_array(NpyReader *reader) {
    char *header = read_header(reader->arena, reader->file);
    if (!header)
        return fail(reader, "it is not a .npy file");
    reader->column_major = !strncmp(entry(header, "'fortran_order'"), "True", 4);
    return read_type(reader, entry(header, "'descr'")) && read_shape(reader, entry(header, "'shape'")) &&
           read_data(reader);
}

Array *npy_load(Arena *arena, const char *path, ElementType type, const char **why) {
    Array *array = ARENA_NEW(arena, Array);
    *array = (Array){.path = path, .type = type};
    NpyReader reader = {.arena = arena, .file = fopen(path, "rb"), .array = array};
    if (!reader.file) {
        *why = arena_strdup(arena, strerror(errno));
        return NULL;
    }
    bool good = read_array(&reader);
    fclose(reader.file);
    *why = reader.why;
    return good ? array : NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

Text npy_head(Arena *arena, ElementType type, int rank, const int64_t *shape) {
    char order = element_info[type].bytes == 1 ? '|' : host_is_big_endian() ? '>' : '<';
    char *header = arena_printf(arena, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", order, codes[type],
                                npy_shape_text(arena, rank, shape));
    size_t length = strlen(header);
    bool large = length + 75 > 0xffff; /* version 2 has four bytes for the length */
    size_t prefix = large ? 12 : 10, padded = (prefix + length + 1 + 63) / 64 * 64 - prefix;
    Text text = {.arena = arena};
    text_add_bytes(&text, large ? "\x93NUMPY\x02\x00" : "\x93NUMPY\x01\x00", 8);
    for (size_t i = 0; i < prefix - 8; i++)
        text_add_bytes(&text, (char[]){(char)(padded >> 8 * i & 0xff)}, 1);
    text_add(&text, "%s%*s\n", header, (int)(padded - length - 1), "");
    return text;
}

Text npy_text(Arena *arena, ElementType type, int rank, const int64_t *shape, const void *data) {
    Text text = npy_head(arena, type, rank, shape);
    size_t bytes = (size_t)element_info[type].bytes;
    for (int d = 0; d < rank; d++)
        bytes *= (size_t)shape[d];
    text_add_bytes(&text, data, bytes);
    return text;
}
