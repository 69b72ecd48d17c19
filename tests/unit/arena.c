/* The arena, its lists and texts. */
#include "lang/arena.h"
#include "lang/sanitized.h"
#include "tests/tap.h"

#include <stdint.h>

static bool all_zero(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

static void test_allocation(void) {
    Arena *arena = arena_new();
    bool aligned = true, zeroed = true;
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *bytes = arena_alloc(arena, size);
        aligned &= (uintptr_t)bytes % 16 == 0;
        zeroed &= all_zero(bytes, size);
        memset(bytes, 0xAA, size);
    }
    ok(aligned, "allocations are aligned to 16 bytes");
    ok(zeroed, "and zeroed");
    size_t large = (size_t)5 << 20;
    unsigned char *block = arena_alloc(arena, large);
    ok(all_zero(block, large), "a request larger than any block is met");
    memset(block, 1, large);
    arena_free(arena);
    arena_free(NULL);
}

static void test_reset(void) {
    Arena *arena = arena_new();
    unsigned char *first = arena_alloc(arena, 100);
    for (int i = 0; i < 1000; i++)
        memset(arena_alloc(arena, 1000), 0xAA, 1000);
    ok(arena_bytes(arena) >= 1000100, "bytes handed out are counted");
    arena_reset(arena);
    is_int(arena_bytes(arena), 0, "a reset forgets them");
    unsigned char *again = arena_alloc(arena, 100);
    ok(again == first, "memory is used again after a reset");
    bool zeroed = all_zero(again, 100);
    for (int i = 0; i < 1000; i++)
        zeroed &= all_zero(arena_alloc(arena, 1000), 1000);
    ok(zeroed, "and zeroed again");
    arena_free(arena);
}

static void test_list_and_text(void) {
    Arena *arena = arena_new();
    LIST(int) list = {0};
    for (int i = 0; i < 1000; i++)
        list_push(arena, &list, i * i);
    ok(list.count == 1000 && list.items[0] == 0 && list.items[999] == 998001, "a list grows and keeps its items");
    Text text = {.arena = arena};
    for (int i = 0; i < 100; i++)
        text_add(&text, "%d,", i);
    text_add_bytes(&text, "end", 3);
    ok(text.length == 293 && !strncmp(text.text, "0,1,2,", 6), "text grows");
    is_text(text.text + text.length - 6, "99,end", "and is terminated");
    is_text(arena_printf(arena, "%s-%04d", "a", 7), "a-0007", "arena_printf");
    is_text(arena_strndup(arena, "abcdef", 3), "abc", "arena_strndup");
    arena_free(arena);
}

/* What the sanitizer of addresses is told: outside the pieces that are handed out nothing may be touched. */
static void test_gaps(void) {
#if SANITIZES_ADDRESSES
    Arena *arena = arena_new();
    bool inside = true, outside = true;
    for (size_t size = 1; size < 70000; size = size * 2 + 5) {
        char *piece = arena_alloc(arena, size);
        inside &= !__asan_region_is_poisoned(piece, size);
        outside &= __asan_address_is_poisoned(piece + size);
    }
    ok(inside && outside, "the sanitizer sees the ends of what is handed out");
    char *piece = arena_alloc(arena, 100);
    arena_reset(arena);
    ok(__asan_address_is_poisoned(piece), "and that a reset takes it back");
    arena_free(arena);
#else
    skip(2, "no sanitizer of addresses in this build");
#endif
}

int main(void) {
    test_gaps();
    test_allocation();
    test_reset();
    test_list_and_text();
    return done_testing();
}
