/* alone.c - pass: parallel loops that are known to have too little work for two threads become serial.
 *
 * Needs a flat kernel. Of others the code generator tests the work where they begin.
 */
#include "lower/kernel/passes.h"

static Stmt *run_alone(Arena *arena, Stmt *stmt, void *context) {
    Kernel *kernel = context;
    int64_t work;
    if (stmt->kind != STMT_FOR || stmt->loop != LOOP_PARALLEL)
        return stmt_map_bodies(arena, stmt, run_alone, kernel);
    const Expr *known = loop_work(arena, kernel->target, stmt);
    if (!known || !expr_is_int(known, &work) || work >= 2 * thread_work(kernel->target))
        return stmt;
    list_push(arena, &kernel->alone, stmt->var);
    Stmt *serial = stmt_for_like(arena, stmt, stmt->extent, stmts_of(stmt->body, stmt->count));
    serial->loop = LOOP_SERIAL;
    return serial;
}

void pass_alone(Kernel *kernel) {
    kernel->body = run_alone(kernel->arena, kernel->body, kernel);
}
