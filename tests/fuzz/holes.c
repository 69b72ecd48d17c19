/* holes.c - numbers and loops of a schedule become holes with candidates and constraints, and get values again.
 *
 * Candidates have no sign. Among them is the number that stood there, and the constraints hold for it: so there is a
 * legal choice.
 */
#include "fuzz.h"
#include "lang/program.h"
#include <string.h>

enum { NAMED_LIMIT = 4, TRIES = 16 };

typedef struct Digging {
    Arena *arena;
    Random *random;
    int named;
    const char *names[NAMED_LIMIT];
    int64_t values[NAMED_LIMIT];
} Digging;

static PrimArg integer(int64_t value) {
    return (PrimArg){.kind = ARG_INT, .value = value};
}

/* A name that has this value already, half of the time. */
static const char *known_name(const Digging *d, int64_t value) {
    for (int i = 0; i < d->named; i++)
        if (d->values[i] == value && random_below(d->random, 2))
            return d->names[i];
    return NULL;
}

static const char *new_name(Digging *d, int64_t value) {
    if (d->named == NAMED_LIMIT || random_below(d->random, 2))
        return NULL;
    d->values[d->named] = value;
    d->names[d->named] = arena_printf(d->arena, "h%d", d->named);
    return d->names[d->named++];
}

static PrimArg dig(Digging *d, const PrimArg *number) {
    PrimArg hole = {.kind = ARG_HOLE, .key = number->key, .name = known_name(d, number->value)};
    if (hole.name)
        return hole;
    hole.name = new_name(d, number->value);
    hole.count = 1 + (int)random_below(d->random, 3);
    hole.items = ARENA_ARRAY(d->arena, PrimArg, hole.count);
    for (int i = 0; i < hole.count; i++)
        hole.items[i] = integer(1 + random_below(d->random, 9));
    hole.items[random_below(d->random, hole.count)] = integer(number->value);
    return hole;
}

/* A loop's name among choices, which for a place may be others than loops; now and then all that there are. */
static PrimArg dig_name(Digging *d, PrimOp op, const PrimArg *name) {
    PrimArg hole = {.kind = ARG_HOLE, .key = name->key};
    if (random_below(d->random, 3) == 0)
        return hole;
    hole.items = ARENA_ARRAY(d->arena, PrimArg, 3);
    hole.items[hole.count++] = (PrimArg){.kind = ARG_NAME, .name = name->name};
    if (op == PRIM_COMPUTE_AT && random_below(d->random, 2))
        hole.items[hole.count++] = (PrimArg){.kind = ARG_NAME, .name = "inline"};
    if (op == PRIM_COMPUTE_AT && random_below(d->random, 2))
        hole.items[hole.count++] = (PrimArg){.kind = ARG_NAME, .name = "root"};
    return hole;
}

static bool may_be_named(const Prim *prim, int index) {
    bool only = prim->op == PRIM_COMPUTE_AT ? index == 1
                                            : index == 0 && (prim->op == PRIM_VECTORIZE || prim->op == PRIM_PARALLEL);
    return only && prim->args[index].kind == ARG_NAME;
}

static Prim constraint(Digging *d) {
    int a = (int)random_below(d->random, d->named), b = (int)random_below(d->random, d->named);
    int64_t sum = d->values[a] + d->values[b];
    PrimArg *names = ARENA_ARRAY(d->arena, PrimArg, 2), *sides = ARENA_ARRAY(d->arena, PrimArg, 2);
    names[0] = (PrimArg){.kind = ARG_NAME, .name = d->names[a]};
    names[1] = (PrimArg){.kind = ARG_NAME, .name = d->names[b]};
    sides[0] = (PrimArg){.kind = ARG_OP, .op = '+', .count = 2, .items = names};
    sides[1] = integer(sum + random_below(d->random, 3));
    Prim prim = {.op = PRIM_REQUIRE, .arg_count = 1, .args = ARENA_NEW(d->arena, PrimArg)};
    prim.args[0] = (PrimArg){.kind = ARG_OP, .op = 'l', .count = 2, .items = sides};
    return prim;
}

void dig_holes(Arena *arena, Schedule *schedule, Random *random) {
    Digging d = {.arena = arena, .random = random};
    Prim *prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    for (int i = 0; i < schedule->count; i++) {
        Prim *prim = &schedule->prims[i];
        for (int k = 0; k < prim->arg_count; k++)
            if (prim->args[k].kind == ARG_INT && prim->args[k].value >= 0 && random_below(random, 2))
                prim->args[k] = dig(&d, &prim->args[k]);
            else if (may_be_named(prim, k) && random_below(random, 3) == 0)
                prim->args[k] = dig_name(&d, prim->op, &prim->args[k]);
        prims[i] = *prim;
    }
    if (d.named && random_below(random, 3))
        prims[schedule->count++] = constraint(&d);
    schedule->prims = prims;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

typedef struct Filling {
    Random *random;
    int64_t *choices;
    int holes;          /* so far */
    const char **names; /* of the holes so far */
} Filling;

static void choose(Filling *f, const PrimArg *arg) {
    for (int i = 0; i < arg->count && arg->kind != ARG_HOLE; i++)
        choose(f, &arg->items[i]);
    if (arg->kind != ARG_HOLE)
        return;
    for (int i = 0; arg->name && i < f->holes; i++)
        if (f->names[i] && !strcmp(f->names[i], arg->name))
            return;
    f->names[f->holes] = arg->name;
    bool names = arg->count && arg->items[0].kind != ARG_INT;
    f->choices[f->holes++] =
        names        ? random_below(f->random, arg->count)
        : arg->count ? arg->items[random_below(f->random, arg->count)].value : 1 + random_below(f->random, 9);
}

const Schedule *fill_holes(Arena *arena, const Schedule *schedule, Random *random) {
    int count = schedule_hole_count(schedule);
    int64_t *choices = ARENA_ARRAY(arena, int64_t, count + 1);
    const char **names = ARENA_ARRAY(arena, const char *, count + 1);
    for (int tries = 0; tries < TRIES; tries++) {
        Filling f = {.random = random, .choices = choices, .names = names};
        for (int i = 0; i < schedule->count; i++)
            for (int k = 0; k < schedule->prims[i].arg_count; k++)
                choose(&f, &schedule->prims[i].args[k]);
        if (schedule_broken(schedule, choices) == schedule->count)
            return schedule_fill(arena, schedule, choices);
    }
    return NULL;
}
