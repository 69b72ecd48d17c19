/* arena.c - memory with one owner: a chain of blocks that is filled from its front and freed as a whole.
 *
 * Blocks double in size up to LARGEST_BLOCK; a request that is larger gets a block of its own size. A reset starts
 * again at the first block, so what a search allocates per candidate comes out of warm memory. Memory is zeroed in
 * pieces shortly before it is handed out, not when it is taken from the system: what is never reached costs nothing.
 *
 * The sanitizer of addresses is told what is handed out: a piece is as long as was asked for, a gap follows it, and
 * what a reset takes back, or a text that grew left, is gone. Without it there are no gaps.
 */
#include "lang/arena.h"
#include "lang/sanitized.h"
#include "lang/terminal.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 1 << 20, ZEROED_PIECE = 1 << 10 };
enum { GAP = SANITIZES_ADDRESSES ? ALIGNMENT : 0 };

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    size_t capacity, used, zeroed; /* from the front on */
    _Alignas(ALIGNMENT) unsigned char bytes[];
} ArenaBlock;

struct Arena {
    ArenaBlock *first, *current;
    size_t handed_out;
};

static void (*end_without_memory)(void); /* of a process that has another way to say so */

void end_without_memory_by(void (*end)(void)) {
    end_without_memory = end;
}

void out_of_memory(void) {
    if (end_without_memory)
        end_without_memory();
    show_internal_error("out of memory");
    exit(3);
}

void *memory_given(void *memory) {
    if (!memory)
        out_of_memory();
    return memory;
}

void keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

static ArenaBlock *block_new(size_t capacity) {
    ArenaBlock *block = memory_given(malloc(sizeof(ArenaBlock) + capacity));
    *block = (ArenaBlock){.capacity = capacity};
    forbid_memory(block->bytes, capacity);
    return block;
}

Arena *arena_new(void) {
    Arena *arena = memory_given(calloc(1, sizeof *arena));
    arena->first = arena->current = block_new(FIRST_BLOCK);
    return arena;
}

void arena_free(Arena *arena) {
    if (!arena)
        return;
    for (ArenaBlock *block = arena->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

void arena_reset(Arena *arena) {
    for (ArenaBlock *block = arena->first; block; block = block->next) {
        forbid_memory(block->bytes, block->used);
        block->used = block->zeroed = 0;
    }
    arena->current = arena->first;
    arena->handed_out = 0;
}

size_t arena_bytes(const Arena *arena) {
    return arena->handed_out;
}

static bool block_fits(const ArenaBlock *block, size_t bytes) {
    return block->capacity - block->used >= bytes;
}

static void zero_more(ArenaBlock *block, size_t bytes) {
    size_t from = block->zeroed, needed = block->used + bytes;
    block->zeroed = block->capacity - needed > ZEROED_PIECE ? needed + ZEROED_PIECE : block->capacity;
    allow_memory(block->bytes + from, block->zeroed - from);
    memset(block->bytes + from, 0, block->zeroed - from);
    forbid_memory(block->bytes + from, block->zeroed - from);
}

/* Moves on to the first later block with room; what is skipped stays unused until the next reset. */
static ArenaBlock *block_with_room(Arena *arena, size_t bytes) {
    ArenaBlock *block = arena->current;
    while (!block_fits(block, bytes) && block->next)
        block = block->next;
    if (!block_fits(block, bytes)) {
        size_t capacity = block->capacity * 2 < LARGEST_BLOCK ? block->capacity * 2 : LARGEST_BLOCK;
        block->next = block_new(bytes > capacity ? bytes : capacity);
        block = block->next;
    }
    if (block->zeroed - block->used < bytes)
        zero_more(block, bytes);
    return arena->current = block;
}

static void *hand_out(Arena *arena, ArenaBlock *block, size_t bytes, size_t whole) {
    void *result = block->bytes + block->used;
    block->used += whole + GAP;
    arena->handed_out += whole;
    allow_memory(result, bytes);
    return result;
}

/* Apart from the rest, which saves no registers without it. */
__attribute__((noinline)) static void *alloc_in_more(Arena *arena, size_t bytes, size_t whole) {
    if (bytes > SIZE_MAX / 4)
        out_of_memory();
    return hand_out(arena, block_with_room(arena, whole + GAP), bytes, whole);
}

void *arena_alloc(Arena *arena, size_t bytes) {
    size_t whole = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    ArenaBlock *block = arena->current;
    if (bytes > SIZE_MAX / 4 || block->zeroed - block->used < whole + GAP)
        return alloc_in_more(arena, bytes, whole);
    return hand_out(arena, block, bytes, whole);
}

char *arena_strndup(Arena *arena, const char *text, size_t length) {
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(Arena *arena, const char *text) {
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(Arena *arena, const char *format, va_list arguments) {
    char small[64]; /* most are, and are formatted once */
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    char *text = arena_alloc(arena, (size_t)length + 1);
    if ((size_t)length < sizeof small)
        memcpy(text, small, (size_t)length);
    else
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void *list_grow(Arena *arena, void *items, int *capacity, size_t item_bytes) {
    if (*capacity > INT32_MAX / 2)
        out_of_memory();
    int larger = *capacity ? *capacity * 2 : 4;
    void *copy = arena_alloc(arena, (size_t)larger * item_bytes);
    if (*capacity)
        memcpy(copy, items, (size_t)*capacity * item_bytes);
    *capacity = larger;
    return copy;
}

/* --- text --- */

static void text_reserve(Text *text, size_t extra) {
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    char *grown = arena_alloc(text->arena, capacity);
    if (text->length)
        memcpy(grown, text->text, text->length);
    forbid_memory(text->text, text->capacity);
    text->text = grown;
    text->capacity = capacity;
}

void text_add_bytes(Text *text, const char *bytes, size_t length) {
    text_reserve(text, length);
    memcpy(text->text + text->length, bytes, length);
    text->length += length;
    text->text[text->length] = 0;
}

void text_add(Text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    text_reserve(text, (size_t)length);
    vsnprintf(text->text + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
    va_end(again);
    va_end(arguments);
}
