/* block.c - a schedule block of the source beside what it became: which one is for a target, what was added to
 * it, and how a schedule is written so that nothing is added when it is read again.
 */
#include "driver/driver.h"
#include <string.h>

/* Whether two blocks are for the same name in the same file. Then their targets decide. */
static bool stand_together(const Schedule *a, const Schedule *b) {
    return a->loc.file == b->loc.file && !strcmp(a->subject, b->subject);
}

/* Blocks are sorted by the precedence of their names. Among the blocks for the first name that has any for the target,
 * the one with the most specific target is chosen. */
const Schedule *user_schedule(const Unit *unit, const Target *target) {
    const Schedule *best = NULL;
    int best_match = 0;
    for (int i = 0; i < unit->schedule_count; i++) {
        const Schedule *block = unit->schedules[i];
        int match = target_match(target, block->target);
        if (match <= best_match || (best && !stand_together(best, block)))
            continue;
        best = block;
        best_match = match;
    }
    return best;
}

const Schedule *schedule_closed(Compilation *c, const Program *program, const Target *target,
                                const Schedule *schedule) {
    if (!schedule_leaves_open(program, target, schedule))
        return schedule;
    Schedule *closed = ARENA_NEW(c->arena, Schedule);
    *closed = *schedule;
    closed->prims = ARENA_ARRAY(c->arena, Prim, schedule->count + 1);
    for (int i = 0; i < schedule->count; i++)
        closed->prims[i] = schedule->prims[i];
    closed->prims[closed->count++] = (Prim){.op = PRIM_EXACTLY};
    return closed;
}

/* --- what was added --- */

/* A hole may have become anything. */
static bool is_same_argument(const PrimArg *written, const PrimArg *found) {
    if (written->kind == ARG_HOLE)
        return true;
    if (written->kind != found->kind || written->count != found->count || written->op != found->op ||
        (written->kind == ARG_INT && written->value != found->value) ||
        (written->kind == ARG_NAME && strcmp(written->name, found->name)))
        return false;
    for (int i = 0; i < written->count; i++)
        if (!is_same_argument(&written->items[i], &found->items[i]))
            return false;
    return true;
}

/* Whether the statement is what a hole for a place or an order became. */
static bool is_from_names(const Prim *written, const Prim *found) {
    bool holes = false;
    for (int a = 0; a < written->arg_count; a++)
        holes |= prim_argument_names(written, a);
    if (holes && written->op == PRIM_COMPUTE_AT && (found->op == PRIM_INLINE || found->op == PRIM_COMPUTE_ROOT))
        return is_same_argument(&written->args[0], &found->args[0]);
    return holes && written->op == PRIM_REORDER && found->op == PRIM_REORDER;
}

static bool is_same(const Prim *written, const Prim *found) {
    if (is_from_names(written, found))
        return true;
    bool same = written->op == found->op && written->arg_count == found->arg_count;
    for (int a = 0; same && a < written->arg_count; a++)
        same = is_same_argument(&written->args[a], &found->args[a]);
    return same;
}

static bool is_written(const Schedule *block, const Prim *prim) {
    for (int i = 0; i < block->count; i++)
        if (is_same(&block->prims[i], prim))
            return true;
    return false;
}

void block_notes(Text *text, const Schedule *block, const Schedule *schedule, const char *before) {
    for (int i = 0; block && schedule && i < schedule->count; i++) {
        if (is_written(block, &schedule->prims[i]))
            continue;
        text_add(text, "%scompleted: ", before);
        schedule_print_statements(text, &(Schedule){.count = 1, .prims = &schedule->prims[i]});
    }
}
