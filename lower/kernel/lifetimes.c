/* lifetimes.c - which buffers are needed at the same time.
 *
 * Needs a kernel after its last pass. The statements in and between nested allocations are one sequence. A buffer is
 * needed from the first of them that reads or stores it to the last: what another one holds in the same bytes before
 * and after is never read through it. A loop is one statement, since it may read what an iteration before stored.
 */
#include "lang/map.h"
#include "lower/kernel/kernel.h"

static void list_statements(Arena *arena, Lifetimes *all, Stmt *const *statements, int count) {
    for (int i = 0; i < count; i++) {
        Stmt *stmt = statements[i];
        if (stmt->kind == STMT_ALLOCATE)
            list_push(arena, &all->buffers, ((Lifetime){.tensor = stmt->tensor, .first = -1, .last = -1}));
        if (stmt->kind == STMT_ALLOCATE || stmt->kind == STMT_BLOCK)
            list_statements(arena, all, stmt->body, stmt->count);
        else
            list_push(arena, &all->statements, stmt);
    }
}

static void note_use(const Map *by_tensor, const Tensor *tensor, int at) {
    Lifetime *lifetime = tensor ? address_map_get(by_tensor, tensor) : NULL;
    if (!lifetime)
        return;
    lifetime->first = lifetime->first < 0 ? at : lifetime->first;
    lifetime->last = at;
}

Lifetimes kernel_lifetimes(Arena *arena, Stmt *const *statements, int count) {
    Lifetimes all = {0};
    Map by_tensor = {0};
    list_statements(arena, &all, statements, count);
    for (int b = 0; b < all.buffers.count; b++)
        address_map_set(arena, &by_tensor, all.buffers.items[b].tensor, &all.buffers.items[b]);
    for (int i = 0; i < all.statements.count && all.buffers.count > 0; i++)
        EACH_STMT(stmt, all.statements.items[i]) {
            if (stmt->kind != STMT_ALLOCATE)
                note_use(&by_tensor, stmt->tensor, i);
            for (int t = 0; stmt->shared && t < stmt->shared->tensor_count; t++)
                note_use(&by_tensor, stmt->tensors[t], i);
            EACH_STMT_READ(read, stmt)
                note_use(&by_tensor, read->tensor, i);
        }
    return all;
}
