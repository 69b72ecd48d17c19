/* npy.c - the .npy format, versions 1 to 3: a magic, the length of a header, a Python dictionary as text, the data.
 *
 * Only little-endian row-major arrays of the element types are read; anything else is refused with what was found.
 */
#include "driver/npy.h"
#include "backends/backends.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Codes of the element types; what NumPy lacks (bfloat16) travels as raw 2-byte items. */
static const char *const codes[TYPE_COUNT] = {
    [TYPE_BOOL] = "b1",  [TYPE_INT8] = "i1",   [TYPE_INT16] = "i2",   [TYPE_INT32] = "i4",  [TYPE_INT64] = "i8",
    [TYPE_UINT8] = "u1", [TYPE_UINT16] = "u2", [TYPE_UINT32] = "u4",  [TYPE_UINT64] = "u8", [TYPE_HALF] = "f2",
    [TYPE_FLOAT] = "f4", [TYPE_DOUBLE] = "f8", [TYPE_BFLOAT16] = "V2"};

static const char *shape_text(Arena *arena, int rank, const int64_t *shape) {
    Text text = {.arena = arena};
    text_add(&text, "(");
    for (int d = 0; d < rank; d++)
        text_add(&text, rank == 1 ? "%lld," : d ? ", %lld" : "%lld", (long long)shape[d]);
    text_add(&text, ")");
    return text.text;
}

static size_t data_bytes(ElementType type, int rank, const int64_t *shape) {
    size_t bytes = (size_t)element_info[type].bytes;
    for (int d = 0; d < rank; d++)
        bytes *= (size_t)shape[d];
    return bytes;
}

/* The text after 'key': in the dictionary, blanks skipped; "" when it is not there. */
static const char *entry(const char *header, const char *key) {
    const char *at = strstr(header, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static bool shape_matches(const char *text, int rank, const int64_t *shape) {
    if (*text++ != '(')
        return false;
    for (int d = 0; d < rank; d++) {
        char *end;
        text += strspn(text, ", ");
        if (strtoll(text, &end, 10) != shape[d] || end == text)
            return false;
        text = end;
    }
    text += strspn(text, ", ");
    return *text == ')';
}

static bool header_matches(Arena *arena, const char *header, ElementType type, int rank, const int64_t *shape,
                           const char **why) {
    const char *descr = entry(header, "'descr'"), *found_shape = entry(header, "'shape'");
    bool typed = *descr == '\'' && strchr("<|=", descr[1]) && !strncmp(descr + 2, codes[type], strlen(codes[type])) &&
                 descr[2 + strlen(codes[type])] == '\'';
    if (!typed)
        *why = arena_printf(arena, "it holds %.*s, but '<%s' (%s) is needed", (int)strcspn(descr, ","), descr,
                            codes[type], element_info[type].spelling);
    else if (strncmp(entry(header, "'fortran_order'"), "False", 5))
        *why = "it is not in row-major order";
    else if (!shape_matches(found_shape, rank, shape))
        *why = arena_printf(arena, "its shape is %.*s), but %s is needed", (int)strcspn(found_shape, ")"), found_shape,
                            shape_text(arena, rank, shape));
    else
        return true;
    return false;
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

bool npy_read(Arena *arena, const char *path, ElementType type, int rank, const int64_t *shape, void *data,
              const char **why) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        *why = arena_strdup(arena, strerror(errno));
        return false;
    }
    char *header = read_header(arena, file);
    *why = "it is not a .npy file";
    bool good = header && header_matches(arena, header, type, rank, shape, why);
    size_t bytes = data_bytes(type, rank, shape);
    if (good && fread(data, 1, bytes, file) != bytes) {
        *why = "it ends too early";
        good = false;
    }
    fclose(file);
    return good;
}

bool npy_write(Arena *arena, const char *path, ElementType type, int rank, const int64_t *shape, const void *data) {
    char *header = arena_printf(arena, "{'descr': '%s%s', 'fortran_order': False, 'shape': %s, }",
                                element_info[type].bytes > 1 ? "<" : "|", codes[type], shape_text(arena, rank, shape));
    size_t length = strlen(header), padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    if (padded > 0xffff) {
        errno = EFBIG;
        return false;
    }
    Text text = {.arena = arena};
    text_add_bytes(&text, "\x93NUMPY\x01\x00", 8);
    text_add_bytes(&text, (char[]){(char)(padded & 0xff), (char)(padded >> 8)}, 2);
    text_add(&text, "%s%*s\n", header, (int)(padded - length - 1), "");
    text_add_bytes(&text, data, data_bytes(type, rank, shape));
    return write_whole(path, text.text, text.length);
}
