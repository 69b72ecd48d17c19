/* npy.c - arrays from .npy files: every element type, byte orders, orders of dimensions, and files that are wrong. */
#include "lang/npy.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static Arena *arena;
static char path[64];

static void write_file(const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
        exit(1);
}

/* A file of version 1 with this dictionary and data. */
static const Array *load(const char *header, const void *data, size_t bytes, ElementType type, const char **why) {
    Text text = {.arena = arena};
    size_t length = strlen(header);
    text_add_bytes(&text, "\x93NUMPY\x01\x00", 8);
    text_add_bytes(&text, (char[]){(char)(length & 0xff), (char)(length >> 8)}, 2);
    text_add(&text, "%s", header);
    text_add_bytes(&text, data, bytes);
    write_file(text.text, text.length);
    *why = "";
    return npy_load(arena, path, type, why);
}

static void test_round_trip(void) {
    const int64_t shape[] = {3, 2};
    unsigned char data[48];
    for (int type = 0; type < TYPE_COUNT; type++) {
        const char *why = "";
        for (int i = 0; i < 48; i++)
            data[i] = (unsigned char)(type == TYPE_BOOL ? i % 2 : 37 * i + 11);
        Text text = npy_text(arena, (ElementType)type, 2, shape, data);
        is_int((int64_t)(text.length - 6 * (size_t)element_info[type].bytes) % 64, 0, "the data are aligned");
        write_file(text.text, text.length);
        const Array *array = npy_load(arena, path, (ElementType)type, &why);
        bool same = array && array->rank == 2 && array->shape[0] == 3 && array->shape[1] == 2;
        ok(same && !memcmp(array->data, data, 6 * (size_t)element_info[type].bytes), "%s: what is written is read: %s",
           element_info[type].spelling, why);
    }
}

static void test_orders(void) {
    const char *why;
    const unsigned char big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 255, 250};
    const Array *array =
        load("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }", big, sizeof big, TYPE_INT16, &why);
    const int16_t rows[] = {1, 2, 3, 4, 5, -6};
    ok(array && !memcmp(array->data, rows, sizeof rows), "the other byte order: %s", why);
    array = load("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", big, sizeof big, TYPE_INT16, &why);
    const int16_t columns[] = {1, 3, 5, 2, 4, -6};
    ok(array && !memcmp(array->data, columns, sizeof columns), "columns first: %s", why);
    array = load("{'descr': '>i2', 'fortran_order': False, 'shape': (5,), }", big, sizeof big, TYPE_INT16, &why);
    ok(array && array->elements == 5 && !memcmp(array->data, rows, 10), "what follows the array is ignored: %s", why);
    const unsigned char truths[] = {0, 1, 2, 255};
    array = load("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", truths, 4, TYPE_BOOL, &why);
    ok(array && !memcmp(array->data, "\0\1\1\1", 4), "a truth value is 0 or 1");
    array = load("{'shape': (), 'fortran_order': False, 'descr': '<u4'}", big, 4, TYPE_UINT32, &why);
    ok(array && array->rank == 0 && array->elements == 1, "no dimensions, entries in another order: %s", why);
    array = load("{'descr': '<f8', 'fortran_order': False, 'shape': (0L, 5L)}", "", 0, TYPE_DOUBLE, &why);
    ok(array && array->rank == 2 && array->elements == 0 && array->shape[1] == 5, "no elements, as Python 2 wrote it");
    const unsigned char bits[] = {0x3f, 0x80, 0xc0, 0x40}, own_order[] = {0x80, 0x3f, 0x40, 0xc0};
    array = load("{'descr': '>u2', 'fortran_order': False, 'shape': (2,)}", bits, 4, TYPE_BFLOAT16, &why);
    ok(array && !memcmp(array->data, own_order, 4), "a bfloat16 as its bits: %s", why);
    array = load("{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}", own_order, 4, TYPE_BFLOAT16, &why);
    ok(array && !memcmp(array->data, own_order, 4), "a bfloat16 as raw bytes: %s", why);
    array = load("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", own_order, 4, TYPE_HALF, &why);
    ok(!array, "but not a half");
    Text text = {.arena = arena};
    const char *header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
    text_add_bytes(&text, "\x93NUMPY\x03\x00", 8);
    text_add_bytes(&text, (char[]){(char)strlen(header), 0, 0, 0}, 4);
    text_add(&text, "%sab", header);
    write_file(text.text, text.length);
    array = npy_load(arena, path, TYPE_UINT8, &why);
    ok(array && !memcmp(array->data, "ab", 2), "version 3");
}

static void test_wrong(void) {
    static const struct {
        const char *header, *why;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
         "it holds '<f8', but '<f4' (float) is needed: save array.astype('f4')"},
        {"{'descr': '<f4x', 'fortran_order': False, 'shape': (2,)}", "it holds '<f4x', but '<f4' (float) is needed"},
        {"{'descr': [('a', '<f4')], 'shape': (2,)}", "it holds [('a', but '<f4' (float) is needed"},
        {"{'shape': (2,)}", "it holds nothing, but '<f4' (float) is needed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", "it ends too early"},
        {"{'descr': '<f4', 'shape': (1000000, 1000000)}", "it ends too early"},
        {"{'descr': '<f4', 'shape': (10000000000, 10000000000)}", "it is larger than 2^63 bytes"},
        {"{'descr': '<f4', 'shape': (-1,)}", "its shape cannot be read"},
        {"{'descr': '<f4', 'shape': (2, x)}", "its shape cannot be read"},
        {"{'descr': '<f4', 'shape': (2, 3", "its shape cannot be read"},
        {"{'descr': '<f4', 'shape': 2}", "its shape cannot be read"},
        {"{'descr': '<f4'}", "its shape cannot be read"},
    };
    const char *why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Array *array = load(cases[i].header, "01234567", 8, TYPE_FLOAT, &why);
        ok(!array, "refused");
        is_text(why, cases[i].why, "and why");
    }
    write_file("\x93NUMPX\x01\x00", 8);
    ok(!npy_load(arena, path, TYPE_FLOAT, &why) && !strcmp(why, "it is not a .npy file"), "another format");
    write_file("\x93NUMPY\x01\x00\xff\xff{}", 12);
    ok(!npy_load(arena, path, TYPE_FLOAT, &why) && !strcmp(why, "it is not a .npy file"), "a header cut off");
    remove(path);
    ok(!npy_load(arena, path, TYPE_FLOAT, &why) && !strcmp(why, "No such file or directory"), "no file");
}

int main(void) {
    arena = arena_new();
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/npy-test-%ld", folder && strlen(folder) < 32 ? folder : "/tmp", (long)getpid());
    test_round_trip();
    test_orders();
    test_wrong();
    remove(path);
    arena_free(arena);
    return done_testing();
}
