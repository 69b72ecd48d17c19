/* alone.c - pass: parallel loops that are known to have too little work for two threads become serial. Of the others it
 * notes the work, which is tested where they begin.
 *
 * Needs a flat kernel, in its final form.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

static Stmt *run_alone(Arena *arena, Stmt *stmt, void *context) {
    Kernel *kernel = context;
    int64_t work;
    if (stmt->kind != STMT_FOR || stmt->loop != LOOP_PARALLEL)
        return stmt_map_bodies(arena, stmt, run_alone, kernel);
    Stmt *loop = stmt_for_like(arena, stmt, stmt->extent, stmts_of(stmt->body, stmt->count));
    loop->work = loop_work(arena, kernel->target, stmt);
    if (!loop->work || !expr_is_int(loop->work, &work) || work >= 2 * thread_work(kernel->target))
        return loop;
    list_push(arena, &kernel->alone, stmt->var);
    loop->loop = LOOP_SERIAL;
    return loop;
}

void pass_alone(Kernel *kernel) {
    kernel->body = run_alone(kernel->arena, kernel->body, kernel);
}
