/* tidy.c - a filled schedule without the splits that do nothing: those whose sizes are all 1.
 *
 * The outermost part takes the name of the loop that was not cut; the others vanish from the lists that hold them. A
 * place (at=) at one of these moves to the loop around it. The rest does the same, and gives no warnings when it is
 * pasted into a source. A split stays if something else needs one of its parts.
 */
#include "autosched/space/groups.h"

#include <string.h>

/* The statements that have a name as an argument, by number; some may have it no more. */
typedef struct Users {
    LIST(int) prims;
} Users;

typedef struct Tidying {
    Arena *arena;
    int count;
    Prim *prims;
    bool *removed; /* [count] */
    Map users;     /* from names to Users */
} Tidying;

static const Users *users_of(const Tidying *tidying, const char *name) {
    static const Users none;
    const Users *users = name_map_get(&tidying->users, name);
    return users ? users : &none;
}

static void note_user(Tidying *tidying, const char *name, int prim) {
    Users *users = name_map_get(&tidying->users, name);
    if (!users)
        name_map_set(tidying->arena, &tidying->users, name, users = ARENA_NEW(tidying->arena, Users));
    int at = users->prims.count;
    while (at > 0 && users->prims.items[at - 1] > prim)
        at--;
    if (at == 0 || users->prims.items[at - 1] != prim)
        list_insert(tidying->arena, &users->prims, at, prim);
}

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
    const Users *users = users_of(tidying, name);
    for (int u = users->prims.count - 1; u >= 0; u--) {
        const Prim *prim = &tidying->prims[users->prims.items[u]];
        for (int a = 1; users->prims.items[u] < before && a < prim->arg_count && prim->op == PRIM_REORDER; a++)
            if (names(&prim->args[a], name))
                return prim->args[a - 1].name;
    }
    return NULL;
}

/* Whether the statement can do without the part. */
static bool can_do_without(const Tidying *tidying, int p, const char *part) {
    const Prim *prim = &tidying->prims[p];
    for (int a = 0; a < prim->arg_count; a++) {
        if (!names(&prim->args[a], part) || is_list(prim))
            continue;
        bool place = prim->op == PRIM_COMPUTE_AT ? a == 1 : prim->args[a].key && strcmp(prim->args[a].key, "at") == 0;
        if (!place || !loop_around(tidying, p, part))
            return false;
    }
    return true;
}

static bool is_dispensable(const Tidying *tidying, int split, const char *part) {
    const Users *users = users_of(tidying, part);
    for (int u = 0; u < users->prims.count; u++)
        if (users->prims.items[u] > split && !can_do_without(tidying, users->prims.items[u], part))
            return false;
    return true;
}

static void remove_prim(Tidying *tidying, int index) {
    tidying->removed[index] = true;
    tidying->prims[index].arg_count = 0;
}

static void rename_arg(Tidying *tidying, int prim, int arg, const char *name) {
    tidying->prims[prim].args[arg].name = name;
    if (name)
        note_user(tidying, name, prim);
}

static void remove_from_list(Tidying *tidying, int p, const char *part) {
    Prim *prim = &tidying->prims[p];
    for (int a = prim->arg_count - 1; a >= 0; a--)
        if (names(&prim->args[a], part))
            prim_remove_argument(prim, a);
    if (is_list(prim) && prim->arg_count < (prim->op == PRIM_REORDER ? 2 : 1))
        remove_prim(tidying, p);
}

/* Removes places first, from the last statement backwards: they need the lists. */
static void remove_part(Tidying *tidying, int split, const char *part) {
    const Users *users = users_of(tidying, part);
    for (int u = users->prims.count - 1; u >= 0 && users->prims.items[u] > split; u--) {
        int p = users->prims.items[u];
        for (int a = tidying->prims[p].arg_count - 1; a >= 0; a--)
            if (names(&tidying->prims[p].args[a], part) && !is_list(&tidying->prims[p]))
                rename_arg(tidying, p, a, loop_around(tidying, p, part));
    }
    for (int u = users->prims.count - 1; u >= 0 && users->prims.items[u] > split; u--)
        remove_from_list(tidying, users->prims.items[u], part);
}

static void rename_part(Tidying *tidying, int split, const char *part, const char *loop) {
    const Users *users = users_of(tidying, part);
    for (int u = 0; u < users->prims.count && strcmp(part, loop) != 0; u++) {
        int p = users->prims.items[u];
        for (int a = 0; p > split && a < tidying->prims[p].arg_count; a++)
            if (names(&tidying->prims[p].args[a], part))
                rename_arg(tidying, p, a, loop);
    }
}

static void remove_split(Tidying *tidying, int split) {
    Prim prim = tidying->prims[split];
    for (int r = 1; r < prim.result_count; r++)
        if (!is_dispensable(tidying, split, prim.results[r]))
            return;
    for (int r = prim.result_count - 1; r > 0; r--)
        remove_part(tidying, split, prim.results[r]);
    rename_part(tidying, split, prim.results[0], prim.args[0].name);
    remove_prim(tidying, split);
}

static void copy_prim(Tidying *tidying, const Schedule *schedule, int p) {
    Prim *prim = &tidying->prims[p];
    *prim = schedule->prims[p];
    prim->args = ARENA_ARRAY(tidying->arena, PrimArg, prim->arg_count + 1);
    for (int a = 0; a < prim->arg_count; a++) {
        prim->args[a] = schedule->prims[p].args[a];
        if (prim->args[a].kind == ARG_NAME && prim->args[a].name)
            note_user(tidying, prim->args[a].name, p);
    }
}

Schedule *schedule_tidy(Arena *arena, const Schedule *schedule) {
    Tidying tidying = {.arena = arena, .count = schedule->count};
    tidying.prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    tidying.removed = ARENA_ARRAY(arena, bool, schedule->count + 1);
    for (int p = 0; p < schedule->count; p++)
        copy_prim(&tidying, schedule, p);
    for (int p = 0; p < tidying.count; p++)
        if (!tidying.removed[p] && is_trivial(&tidying.prims[p]))
            remove_split(&tidying, p);
    Schedule *tidy = ARENA_NEW(arena, Schedule);
    *tidy = *schedule;
    tidy->prims = tidying.prims;
    tidy->count = 0;
    for (int p = 0; p < tidying.count; p++)
        if (!tidying.removed[p])
            tidy->prims[tidy->count++] = tidying.prims[p];
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
Schedule *schedule_effective(Arena *arena, const Schedule *schedule, const Nest **built) {
    const Nest *nest = *built;
    bool *left_out = ARENA_ARRAY(arena, bool, schedule->count + 1);
    int idle[nest->ineffective_count + 1], count = 0;
    for (int i = 0; i < nest->ineffective_count; i++)
        if (schedule->prims[nest->ineffective[i]].result_count == 0)
            left_out[idle[count++] = nest->ineffective[i]] = true;
    Schedule *effective = without(arena, schedule, left_out);
    if (count == 0 || (*built = nest_build(arena, nest->program, effective, NULL, nest->target, NULL)))
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
