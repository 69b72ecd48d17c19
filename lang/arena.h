/* arena.h - memory with one owner, and lists and strings that live in it.
 *
 * An arena is freed as a whole. What it hands out is zeroed and aligned to 16 bytes. Running out of memory prints
 * "internal error: out of memory" and exits with status 3, so no caller checks for NULL. An arena is used by one
 * thread at a time.
 */
#ifndef LANG_ARENA_H
#define LANG_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct Arena Arena;

/* Says that memory is out, and ends the program. */
_Noreturn void out_of_memory(void);
/* What it does first in this process, which need not come back. */
void end_without_memory_by(void (*end)(void));
/* What malloc, calloc or realloc gave; NULL ends the program. */
void *memory_given(void *memory);
/* From now on freed memory stays for what is allocated next: otherwise it returns to the system, and comes back as new
 * pages. */
void keep_freed_memory(void);

Arena *arena_new(void);
void arena_free(Arena *arena); /* NULL is allowed */
void *arena_alloc(Arena *arena, size_t bytes);
/* Bytes handed out so far: for statistics and for tests of memory growth. */
size_t arena_bytes(const Arena *arena);
/* Forgets everything handed out but keeps the memory for reuse: what a search calls between candidates. */
void arena_reset(Arena *arena);

char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list arguments);

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_alloc((arena), sizeof(Type) * (size_t)(count)))

/* A growing array: LIST(Expr *) args; list_push(arena, &args, e); args.items[i], args.count. */
#define LIST(Type)                                                                                                     \
    struct {                                                                                                           \
        Type *items;                                                                                                   \
        int count, capacity;                                                                                           \
    }
#define list_push(arena, list, value)                                                                                  \
    do {                                                                                                               \
        if ((list)->count == (list)->capacity)                                                                         \
            (list)->items = list_grow((arena), (list)->items, &(list)->capacity, sizeof *(list)->items);               \
        (list)->items[(list)->count++] = (value);                                                                      \
    } while (0)
/* Before the item at an index, which may be the count. Value and index are evaluated more than once. */
#define list_insert(arena, list, index, value)                                                                         \
    do {                                                                                                               \
        list_push((arena), (list), (value));                                                                           \
        for (int at_ = (list)->count - 1; at_ > (index); at_--)                                                        \
            (list)->items[at_] = (list)->items[at_ - 1];                                                               \
        (list)->items[index] = (value);                                                                                \
    } while (0)
#define list_remove(list, index)                                                                                       \
    do {                                                                                                               \
        int at_ = (index);                                                                                             \
        for ((list)->count--; at_ < (list)->count; at_++)                                                              \
            (list)->items[at_] = (list)->items[at_ + 1];                                                               \
    } while (0)
void *list_grow(Arena *arena, void *items, int *capacity, size_t item_bytes);

/* Text that is built piece by piece; text is always terminated. {.arena = a} is an empty one. */
typedef struct Text {
    Arena *arena;
    char *text;
    size_t length, capacity;
} Text;
void text_add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(Text *text, const char *bytes, size_t length);

#endif
