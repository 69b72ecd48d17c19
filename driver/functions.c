/* functions.c - the functions of a file for one target each: units as their blocks want them, checked, with the
 * versions of functions for known sizes. Each is made once.
 */
#include "driver/driver.h"
#include "lang/terminal.h"

/* --- versions --- */

/* The program for one row of the unit's tune list. NULL if a requirement fails. */
static Program *bind_row(Compilation *c, const Program *program, const struct TuneSizes *row, const char **why) {
    return row->at_most ? program_limit(c->arena, program, row->bindings, why)
                        : program_bind(c->arena, program, row->bindings, row->count, why);
}

/* The sizes that the program deserves versions for. One that is long has none. */
static int wanted_versions(const Compilation *c, const Program *program, SizeVersion versions[SIZE_VERSIONS]) {
    int wanted = program_size_versions(program, versions);
    bool too_long = wanted && program_is_long(program);
    if (too_long && c->options->verbose)
        show(stderr, "tensorc: %s: no versions for small sizes, as they would be too much code\n", program->symbol);
    return too_long ? 0 : wanted;
}

/* The rows of the unit's tune list. If it has none, and no block schedules it, there are automatic rows for sizes that
 * are worth it. Returns their number. */
static int version_rows(Compilation *c, const Unit *unit, const Target *target, const struct TuneSizes **rows) {
    *rows = unit->tunes;
    if (unit->tune_count || !unit->program->size_count || c->options->level < LEVEL_2 || user_schedule(unit, target))
        return unit->tune_count;
    SizeVersion versions[SIZE_VERSIONS];
    int wanted = wanted_versions(c, unit->program, versions), count = 0;
    const char *why = "";
    struct TuneSizes *made = ARENA_ARRAY(c->arena, struct TuneSizes, SIZE_VERSIONS);
    struct Binding *bindings = ARENA_ARRAY(c->arena, struct Binding, SIZE_VERSIONS);
    for (int i = 0; i < wanted; i++) {
        bindings[i] = (struct Binding){versions[i].size, versions[i].value};
        made[count] =
            (struct TuneSizes){.count = 1, .automatic = true, .at_most = versions[i].at_most, .bindings = &bindings[i]};
        count += bind_row(c, unit->program, &made[count], &why) != NULL;
    }
    *rows = made;
    return count;
}

/* Named after the sizes: sgemm.M1024.N64, sgemm.M.to16. */
static const char *version_symbol(Compilation *c, const Unit *unit, const struct TuneSizes *row) {
    Text symbol = {.arena = c->arena};
    text_add(&symbol, "%s", unit->program->symbol);
    for (int i = 0; i < row->count; i++)
        text_add(&symbol, row->at_most ? ".%s.to%lld" : ".%s%lld", row->bindings[i].name,
                 (long long)row->bindings[i].value);
    return symbol.text;
}

/* The unit for one row of its tune list. */
static Unit *bind_tune_row(Compilation *c, const Unit *unit, const struct TuneSizes *row) {
    const char *why = "";
    Program *program = bind_row(c, unit->program, row, &why);
    if (!program)
        INTERNAL_ERROR("%s: sizes that were checked do not bind: %s", unit->program->symbol, why);
    program->symbol = version_symbol(c, unit, row);
    Unit *bound = ARENA_NEW(c->arena, Unit);
    *bound = *unit;
    bound->program = program;
    bound->is_version = true;
    bound->is_automatic = row->automatic;
    bound->tune_count = 0;
    bound->alternatives = ARENA_ARRAY(c->arena, Program *, unit->alternative_count + 1);
    bound->alternative_count = 0;
    for (int i = 0; i < unit->alternative_count; i++) {
        Program *alternative = bind_row(c, unit->alternatives[i], row, &why);
        if (!alternative)
            continue;
        alternative->symbol = program->symbol;
        bound->alternatives[bound->alternative_count++] = alternative;
    }
    return bound;
}

static void bind_versions(Compilation *c, Function *function) {
    if (function->source->is_version)
        return;
    function->version_count = version_rows(c, function->source, function->target, &function->rows);
    function->versions = ARENA_ARRAY(c->arena, const Unit *, function->version_count + 1);
    for (int i = 0; i < function->version_count; i++)
        function->versions[i] = bind_tune_row(c, function->source, &function->rows[i]);
}

/* --- functions --- */

PlanFunction asked_of(Compilation *c, const Unit *unit, const Target *target) {
    const Schedule *user = user_schedule(unit, target);
    int count = user ? 1 : unit->alternative_count + 1;
    Program **programs = ARENA_ARRAY(c->arena, Program *, count);
    for (int i = 0; i < count; i++)
        programs[i] = i ? unit->alternatives[i - 1] : unit->program;
    return (PlanFunction){.programs = programs, .count = count, .target = target, .user = user};
}

/* Its stages are listed again: they may be others than those that it was bound with. */
static Program *made_program(Compilation *c, const Program *program, const Schedule *user,
                             Program *make(Arena *, const Program *, const Schedule *)) {
    Program *made = make(c->arena, program, user);
    if (made)
        program_list_stages(c->arena, made);
    return made;
}

/* The unit with another program made of each of its own. NULL: none can be made of its main one. */
static const Unit *unit_made(Compilation *c, const Unit *unit, const Schedule *user,
                             Program *make(Arena *, const Program *, const Schedule *)) {
    Unit *made = ARENA_NEW(c->arena, Unit);
    *made = *unit;
    made->program = made_program(c, unit->program, user, make);
    made->alternatives = ARENA_ARRAY(c->arena, Program *, unit->alternative_count + 1);
    for (int i = 0; made->program && i < unit->alternative_count; i++)
        made->alternatives[i] = made_program(c, unit->alternatives[i], user, make);
    return made->program ? made : NULL;
}

const Unit *packing_unit(Compilation *c, const Unit *unit, const Target *target) {
    return unit_made(c, unit, user_schedule(unit, target), packing_program);
}

static Program *bind_nothing(Arena *arena, const Program *program, const Schedule *user) {
    (void)user;
    const char *why = "";
    return program_bind(arena, program, NULL, 0, &why);
}

/* A unit with packed arguments is bound as its packing_unit is, which simplifies its values: stages that read no such
 * argument become the same code in both. What a user's schedule names stays as it was checked. */
static const Unit *unit_like_packing(Compilation *c, const Unit *unit, const Target *target) {
    if (user_schedule(unit, target) || !program_is_packed(unit->program))
        return unit;
    const Unit *bound = unit_made(c, unit, NULL, bind_nothing);
    return bound ? bound : unit;
}

/* Adds those that are worth trying for a unit of as many programs. */
static void add_worth(Compilation *c, const PlanFunction *asked, bool *worth) {
    bool *own = ARENA_ARRAY(c->arena, bool, asked->count);
    plan_worth(&c->planner, asked, own);
    for (int i = 0; i < asked->count; i++)
        worth[i] |= own[i];
}

/* The unit with the alternatives that are worth trying, with arguments as they are or packed. */
static const Unit *unit_of_worth(Compilation *c, const Function *function) {
    const Unit *unit = function->unit;
    bool chooses = c->planner.effort >= EFFORT_ROUGH && c->options->mode != MODE_SYNTAX;
    if (function->asked.count <= MANY_PROGRAMS || !chooses)
        return unit;
    bool *worth = ARENA_ARRAY(c->arena, bool, function->asked.count);
    add_worth(c, &function->asked, worth);
    const Unit *packed = c->options->mode == MODE_RUN ? NULL : packing_unit(c, unit, function->target);
    if (packed) {
        PlanFunction asked = asked_of(c, packed, function->target);
        add_worth(c, &asked, worth);
    }
    Unit *made = ARENA_NEW(c->arena, Unit);
    *made = *unit;
    made->alternatives = ARENA_ARRAY(c->arena, Program *, unit->alternative_count);
    made->alternative_count = 0;
    for (int i = 0; i < unit->alternative_count; i++)
        if (worth[i + 1])
            made->alternatives[made->alternative_count++] = unit->alternatives[i];
    return made;
}

Function *function_of(Compilation *c, const Unit *source, const Target *target) {
    Function *first = address_map_get(&c->functions, source);
    for (Function *known = first; known; known = known->of_unit)
        if (known->target == target)
            return known;
    Function *function = ARENA_NEW(c->arena, Function);
    *function = (Function){.source = source, .unit = unit_of_block(c, source, target), .target = target};
    if (!function->unit || !check_schedule(c, function->unit, target))
        return NULL;
    function->unit = unit_like_packing(c, function->unit, target);
    function->asked = asked_of(c, function->unit, target);
    function->unit = unit_of_worth(c, function);
    function->asked = asked_of(c, function->unit, target);
    bind_versions(c, function);
    function->of_unit = first;
    address_map_set(c->arena, &c->functions, source, function);
    return function;
}
