/* tidy.c - a filled schedule without the splits that do nothing: those whose sizes are all 1.
 *
 * The outermost part takes the name of the loop that was not cut; the others vanish from the lists that hold them. A
 * place (at=) at one of these moves to the loop around it. The rest does the same, and gives no warnings when it is
 * pasted into a source. A split stays if something else needs one of its parts.
 */
#include "autosched/space/groups.h"

#include <string.h>

typedef struct Tidying {
    Arena *arena;
    int count;
    Prim *prims;
} Tidying;

static bool is_trivial(const Prim *prim) {
    bool ones = prim->op == PRIM_SPLIT && prim->result_count == prim->arg_count && prim->arg_count > 1 &&
                prim->args[0].kind == ARG_NAME;
    for (int a = 1; a < prim->arg_count && ones; a++)
        ones = prim->args[a].kind == ARG_INT && prim->args[a].value == 1;
    return ones;
}

static bool is_list(const Prim *prim) {
    return prim->op == PRIM_REORDER || prim->op == PRIM_UNROLL;
}

static bool names(const PrimArg *arg, const char *name) {
    return arg->kind == ARG_NAME && arg->name && strcmp(arg->name, name) == 0;
}

/* The loop before the name in the last reorder before the statement, or NULL. */
static const char *loop_around(const Tidying *tidying, int before, const char *name) {
    for (int p = before - 1; p >= 0; p--) {
        const Prim *prim = &tidying->prims[p];
        for (int a = 1; a < prim->arg_count && prim->op == PRIM_REORDER; a++)
            if (names(&prim->args[a], name))
                return prim->args[a - 1].name;
    }
    return NULL;
}

/* Whether every use of the part can do without it. */
static bool is_dispensable(const Tidying *tidying, int split, const char *part) {
    for (int p = split + 1; p < tidying->count; p++)
        for (int a = 0; a < tidying->prims[p].arg_count; a++) {
            const Prim *prim = &tidying->prims[p];
            if (!names(&prim->args[a], part) || is_list(prim))
                continue;
            bool place =
                prim->op == PRIM_COMPUTE_AT ? a == 1 : prim->args[a].key && strcmp(prim->args[a].key, "at") == 0;
            if (!place || !loop_around(tidying, p, part))
                return false;
        }
    return true;
}

static void remove_arg(Prim *prim, int index) {
    prim->arg_count--;
    memmove(prim->args + index, prim->args + index + 1, sizeof *prim->args * (size_t)(prim->arg_count - index));
}

static void remove_prim(Tidying *tidying, int index) {
    tidying->count--;
    memmove(tidying->prims + index, tidying->prims + index + 1,
            sizeof *tidying->prims * (size_t)(tidying->count - index));
}

/* Removes places first, from the last statement backwards: they need the lists. */
static void remove_part(Tidying *tidying, int split, const char *part) {
    for (int p = tidying->count - 1; p > split; p--)
        for (int a = tidying->prims[p].arg_count - 1; a >= 0; a--)
            if (names(&tidying->prims[p].args[a], part) && !is_list(&tidying->prims[p]))
                tidying->prims[p].args[a].name = loop_around(tidying, p, part);
    for (int p = tidying->count - 1; p > split; p--) {
        Prim *prim = &tidying->prims[p];
        for (int a = prim->arg_count - 1; a >= 0; a--)
            if (names(&prim->args[a], part))
                remove_arg(prim, a);
        if (is_list(prim) && prim->arg_count < (prim->op == PRIM_REORDER ? 2 : 1))
            remove_prim(tidying, p);
    }
}

static void rename_part(Tidying *tidying, int split, const char *part, const char *loop) {
    for (int p = split + 1; p < tidying->count; p++)
        for (int a = 0; a < tidying->prims[p].arg_count; a++)
            if (names(&tidying->prims[p].args[a], part))
                tidying->prims[p].args[a].name = loop;
}

static bool remove_split(Tidying *tidying, int split) {
    Prim prim = tidying->prims[split];
    for (int r = 1; r < prim.result_count; r++)
        if (!is_dispensable(tidying, split, prim.results[r]))
            return false;
    for (int r = prim.result_count - 1; r > 0; r--)
        remove_part(tidying, split, prim.results[r]);
    rename_part(tidying, split, prim.results[0], prim.args[0].name);
    remove_prim(tidying, split);
    return true;
}

Schedule *schedule_tidy(Arena *arena, const Schedule *schedule) {
    Tidying tidying = {.arena = arena, .count = schedule->count};
    tidying.prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    for (int p = 0; p < schedule->count; p++) {
        Prim *prim = &tidying.prims[p];
        *prim = schedule->prims[p];
        prim->args = ARENA_ARRAY(arena, PrimArg, prim->arg_count + 1);
        if (prim->arg_count)
            memcpy(prim->args, schedule->prims[p].args, sizeof *prim->args * (size_t)prim->arg_count);
    }
    for (int p = 0; p < tidying.count; p++)
        if (is_trivial(&tidying.prims[p]) && remove_split(&tidying, p))
            p--;
    Schedule *tidy = ARENA_NEW(arena, Schedule);
    *tidy = *schedule;
    tidy->count = tidying.count;
    tidy->prims = tidying.prims;
    return tidy;
}

/* The schedule without the marked statements. */
static Schedule *without(Arena *arena, const Schedule *schedule, const bool *left_out) {
    Schedule *rest = ARENA_NEW(arena, Schedule);
    *rest = *schedule;
    rest->prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    rest->count = 0;
    for (int p = 0; p < schedule->count; p++)
        if (!left_out[p])
            rest->prims[rest->count++] = schedule->prims[p];
    return rest;
}

/* A statement without effect may still be what makes another one legal: then each is asked for, from the last one on,
 * as it is a later one that needs an earlier one. */
Schedule *schedule_effective(Arena *arena, const Schedule *schedule, const Nest *nest) {
    bool *left_out = ARENA_ARRAY(arena, bool, schedule->count + 1);
    int idle[nest->ineffective_count + 1], count = 0;
    for (int i = 0; i < nest->ineffective_count; i++)
        if (schedule->prims[nest->ineffective[i]].result_count == 0)
            left_out[idle[count++] = nest->ineffective[i]] = true;
    Schedule *effective = without(arena, schedule, left_out);
    if (count == 0 || nest_build(arena, nest->program, effective, NULL, nest->target, NULL))
        return effective;
    for (int i = 0; i < count; i++)
        left_out[idle[i]] = false;
    for (int i = count - 1; i >= 0; i--) {
        left_out[idle[i]] = true;
        effective = without(arena, schedule, left_out);
        left_out[idle[i]] = nest_build(arena, nest->program, effective, NULL, nest->target, NULL) != NULL;
    }
    return without(arena, schedule, left_out);
}
