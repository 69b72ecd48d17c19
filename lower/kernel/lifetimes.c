/* lifetimes.c - which buffers are needed at the same time.
 *
 * The statements in and between nested allocations are one sequence. A buffer is needed from the first of them that
 * reads or stores it to the last: what another one holds in the same bytes before and after is never read through it. A
 * loop is one statement, since it may read what an iteration before stored. A tensor that is allocated several times is
 * as many buffers.
 */
#include "lang/map.h"
#include "lower/kernel/statements.h"

#include <stdlib.h>

static void list_statements(Arena *arena, Lifetimes *all, Stmt *const *statements, int count) {
    for (int i = 0; i < count; i++) {
        Stmt *stmt = statements[i];
        int buffer = all->buffers.count;
        if (stmt->kind == STMT_ALLOCATE)
            list_push(arena, &all->buffers,
                      ((Lifetime){.allocation = stmt,
                                  .tensor = stmt->tensor,
                                  .begin = all->statements.count,
                                  .first = -1,
                                  .last = -1}));
        if (stmt->kind == STMT_ALLOCATE || stmt->kind == STMT_BLOCK)
            list_statements(arena, all, stmt->body, stmt->count);
        else
            list_push(arena, &all->statements, stmt);
        if (stmt->kind == STMT_ALLOCATE)
            all->buffers.items[buffer].end = all->statements.count;
    }
}

static void tell_of(const Map *users, NoteUse *note, const Tensor *tensor, int statement) {
    void *user = tensor ? address_map_get(users, tensor) : NULL;
    if (user)
        note(user, statement);
}

void stmts_note_uses(Stmt *const *statements, int count, const Map *users, NoteUse *note) {
    for (int i = 0; i < count && users->count > 0; i++)
        EACH_STMT(stmt, statements[i]) {
            if (stmt->kind != STMT_ALLOCATE)
                tell_of(users, note, stmt->tensor, i);
            for (int t = 0; stmt->shared && t < stmt->shared->tensor_count; t++)
                tell_of(users, note, stmt->tensors[t], i);
            EACH_STMT_READ(read, stmt)
                tell_of(users, note, read->tensor, i);
        }
}

/* The buffers of one tensor in their order, and how many of them have ended. */
typedef struct Allocations {
    LIST(Lifetime *) lifetimes;
    int ended;
} Allocations;

/* A statement outside all of them allocates the tensor inside itself. */
static void note_use(void *user, int statement) {
    Allocations *allocations = user;
    while (allocations->ended < allocations->lifetimes.count &&
           allocations->lifetimes.items[allocations->ended]->end <= statement)
        allocations->ended++;
    if (allocations->ended == allocations->lifetimes.count)
        return;
    Lifetime *lifetime = allocations->lifetimes.items[allocations->ended];
    if (statement < lifetime->begin)
        return;
    lifetime->first = lifetime->first < 0 ? statement : lifetime->first;
    lifetime->last = statement;
}

/* Notes for each buffer which of the statements use it. */
static void note_uses(Arena *arena, Lifetimes *all) {
    Map by_tensor = {0};
    for (int b = 0; b < all->buffers.count; b++) {
        Lifetime *lifetime = &all->buffers.items[b];
        Allocations *allocations = address_map_get(&by_tensor, lifetime->tensor);
        if (!allocations) {
            allocations = ARENA_NEW(arena, Allocations);
            address_map_set(arena, &by_tensor, lifetime->tensor, allocations);
        }
        list_push(arena, &allocations->lifetimes, lifetime);
    }
    stmts_note_uses(all->statements.items, all->statements.count, &by_tensor, note_use);
}

Lifetimes kernel_lifetimes(Arena *arena, Stmt *const *statements, int count) {
    Lifetimes all = {0};
    list_statements(arena, &all, statements, count);
    note_uses(arena, &all);
    return all;
}

/* --- allocations from the first use to the last ------------------------------------------------------------------- */

/* By their beginnings; of two that begin together the longer one first, which is around the other. */
static int compare_lifetimes(const void *a, const void *b) {
    const Lifetime *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->last < y->last) - (x->last > y->last);
}

/* The statements [first, end), each buffer around those that use it. One that is used beyond the end of another that
 * begins before it makes that one longer. */
static StmtList around_uses(Arena *arena, const StmtList *list, const Lifetime *buffers, int count, int first,
                            int end) {
    StmtList made = {0};
    while (count > 0) {
        int inner = 1, after = buffers->last + 1;
        for (; inner < count && buffers[inner].first < after; inner++)
            after = buffers[inner].last >= after ? buffers[inner].last + 1 : after;
        stmts_add_all(arena, &made, list->items + first, buffers->first - first);
        StmtList body = around_uses(arena, list, buffers + 1, inner - 1, buffers->first, after);
        stmts_add(arena, &made, stmt_allocate(arena, buffers->tensor, body));
        first = after;
        buffers += inner;
        count -= inner;
    }
    stmts_add_all(arena, &made, list->items + first, end - first);
    return made;
}

StmtList allocate_around_uses(Arena *arena, const StmtList *list, const Tensor *const *tensors, int count) {
    Lifetimes all = {0};
    for (int i = 0; i < list->count; i++)
        list_push(arena, &all.statements, list->items[i]);
    for (int i = 0; i < count; i++)
        list_push(arena, &all.buffers, ((Lifetime){.tensor = tensors[i], .end = list->count, .first = -1, .last = -1}));
    note_uses(arena, &all);
    int used = 0;
    for (int i = 0; i < count; i++)
        if (all.buffers.items[i].first >= 0)
            all.buffers.items[used++] = all.buffers.items[i];
    if (used > 1)
        qsort(all.buffers.items, (size_t)used, sizeof *all.buffers.items, compare_lifetimes);
    return around_uses(arena, list, all.buffers.items, used, 0, list->count);
}
