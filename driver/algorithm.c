/* algorithm.c - units with one of their alternatives: the one that a block of the source names. Also blocks that name
 * one.
 */
#include "driver/driver.h"
#include <string.h>

const Unit *unit_with(Compilation *c, const Unit *unit, int alternative) {
    Unit *one = ARENA_NEW(c->arena, Unit);
    *one = *unit;
    one->program = alternative < 0 ? unit->program : unit->alternatives[alternative];
    one->alternative_count = 0;
    return one;
}

/* --- algorithms in schedules --- */

static const char *place_of(const Prim *prim) {
    const PrimArg *at = prim_keyword(prim, "at");
    return at ? at->name : "";
}

static int count_algorithms(const Schedule *schedule) {
    int count = 0;
    for (int i = 0; schedule && i < schedule->count; i++)
        count += schedule->prims[i].op == PRIM_ALGORITHM;
    return count;
}

static bool has_algorithm(const Program *program, const Prim *prim) {
    for (int i = 0; i < program->algorithm_count; i++)
        if (!strcmp(program->algorithms[i].place, place_of(prim)) &&
            !strcmp(program->algorithms[i].name, prim->args[0].name))
            return true;
    return false;
}

/* The statement that asks for an algorithm that the program does not use, or NULL. */
static const Prim *missing_algorithm(const Program *program, const Schedule *schedule) {
    for (int i = 0; i < schedule->count; i++)
        if (schedule->prims[i].op == PRIM_ALGORITHM && !has_algorithm(program, &schedule->prims[i]))
            return &schedule->prims[i];
    return NULL;
}

static void report_missing(Compilation *c, const Unit *unit, const Schedule *schedule) {
    const Prim *prim = NULL;
    for (int i = 0; i < schedule->count; i++) {
        bool known = schedule->prims[i].op != PRIM_ALGORITHM;
        for (int a = 0; a < unit->alternative_count; a++)
            known |= has_algorithm(unit->alternatives[a], &schedule->prims[i]);
        if (!known || !prim)
            prim = schedule->prims[i].op == PRIM_ALGORITHM ? &schedule->prims[i] : prim;
    }
    const char *place = *place_of(prim) ? place_of(prim) : unit->program->symbol;
    diag(c->diagnostics, DIAG_no_algorithm, prim->loc, prim->args[0].name, place);
    diag_hint(c->diagnostics,
              "it has to implement what is called, hold for the sizes and parameters, and have an error "
              "that -ffp-error allows");
}

static Schedule *without_algorithms(Compilation *c, const Schedule *schedule) {
    Schedule *rest = ARENA_NEW(c->arena, Schedule);
    *rest = *schedule;
    rest->prims = ARENA_ARRAY(c->arena, Prim, schedule->count);
    rest->count = 0;
    for (int i = 0; i < schedule->count; i++)
        if (schedule->prims[i].op != PRIM_ALGORITHM)
            rest->prims[rest->count++] = schedule->prims[i];
    return rest;
}

const Unit *unit_of_block(Compilation *c, const Unit *unit, const Target *target) {
    const Schedule *block = user_schedule(unit, target);
    int wanted = count_algorithms(block), found = 0;
    if (!wanted)
        return unit;
    while (found < unit->alternative_count && (unit->alternatives[found]->algorithm_count != wanted ||
                                               missing_algorithm(unit->alternatives[found], block)))
        found++;
    if (found == unit->alternative_count) {
        report_missing(c, unit, block);
        return NULL;
    }
    Unit *one = (Unit *)unit_with(c, unit, found);
    const Schedule **blocks = ARENA_ARRAY(c->arena, const Schedule *, 1);
    blocks[0] = without_algorithms(c, block);
    one->schedules = blocks;
    one->schedule_count = blocks[0]->count > 0;
    return one;
}

static Prim algorithm_prim(Arena *arena, const struct Algorithm *algorithm) {
    Prim prim = {.op = PRIM_ALGORITHM, .arg_count = *algorithm->place ? 2 : 1};
    prim.args = ARENA_ARRAY(arena, PrimArg, 2);
    prim.args[0] = arg_name(algorithm->name);
    prim.args[1] = (PrimArg){.kind = ARG_NAME, .name = algorithm->place, .key = "at"};
    return prim;
}

const Schedule *schedule_with_algorithms(Compilation *c, const Program *program, const Schedule *schedule) {
    if (!program->algorithm_count)
        return schedule;
    Schedule *whole = ARENA_NEW(c->arena, Schedule);
    *whole = *schedule;
    whole->count = program->algorithm_count + schedule->count;
    whole->prims = ARENA_ARRAY(c->arena, Prim, whole->count);
    for (int i = 0; i < program->algorithm_count; i++)
        whole->prims[i] = algorithm_prim(c->arena, &program->algorithms[i]);
    for (int i = 0; i < schedule->count; i++)
        whole->prims[program->algorithm_count + i] = schedule->prims[i];
    return whole;
}
