/* schedule.c - which schedule a unit gets.
 *
 * It is the first of these: the user's block for the target (the most specific name wins, and the level fills its
 * holes), the search of -O tune, an exact record of the database (from -O2 on), the level's default. A schedule that is
 * not from the source was legal when it was made, but its legality is proved again. If the proof fails, the next one is
 * used, with a warning.
 */
#include "driver/driver.h"
#include "lang/terminal.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { CLOSE_LOOKS = 2 };
static const double needed_gain = 0.88; /* the estimate of an algorithm must be at most this part of the other one to be
                                         * chosen without measuring */

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

/* The block with its holes filled. NULL, with the reason, if no choice is legal. */
static const Schedule *fill_holes(Compilation *c, const Unit *unit, const Target *target, const Schedule *user,
                                  NestError *error) {
    if (!schedule_hole_count(user))
        return user;
    HoleTree *tree = hole_tree_new(c->arena, unit->program, user, target);
    if (tree && !hole_tree_check(tree, error))
        return NULL;
    for (Effort effort = EFFORT_FIXED; effort <= EFFORT_MODEL; effort++) {
        const Schedule *filled = autosched_default(c->arena, unit->program, target, user, effort, c->options->seed);
        if (filled && filled->count)
            return filled;
    }
    if (!tree || !hole_tree_is_empty(tree, error))
        autosched_explain(c->arena, unit->program, target, user, error);
    return NULL;
}

static const Prim *placement_of(const Schedule *schedule, const char *stage) {
    for (int i = schedule->count - 1; i >= 0; i--)
        if (schedule->prims[i].op == PRIM_COMPUTE_AT && strcmp(schedule->prims[i].args[0].name, stage) == 0)
            return &schedule->prims[i];
    return NULL;
}

/* The innermost loop that computes the stage as a whole in each iteration; NULL if there is none. */
static const Loop *repeating_loop(const Nest *nest, const NestStage *stage) {
    const Stage *whole = program_find_stage(nest->program, stage->stage->name);
    bool all = whole && stage->parent && stage->home == stage->parent && !stage->in_scan && !stage->inlined &&
               (whole->axis_count || whole->reduction_count);
    for (int d = 0; all && d < whole->axis_count; d++)
        all = expr_equal(stage->buffers[0]->dims[d], whole->components[0].tensor->dims[d]);
    for (int l = all ? stage->depth - 1 : -1; l >= 0; l--)
        if (stage->parent->loops[l]->extent != 1)
            return stage->parent->loops[l];
    return NULL;
}

static void warn_repeated(Compilation *c, const Nest *nest, const Schedule *schedule) {
    for (int i = 0; i < nest->stage_count; i++) {
        const Loop *loop = repeating_loop(nest, nest->stages[i]);
        const Prim *prim = loop ? placement_of(schedule, nest->stages[i]->stage->name) : NULL;
        if (!prim)
            continue;
        diag(c->diagnostics, DIAG_whole_again, prim->loc, nest->stages[i]->stage->name, prim->args[1].name);
        diag_hint(c->diagnostics, "without compute_at it is computed once");
    }
}

/* Checks that the block is legal with its holes filled as -O1 would fill them. Reports errors. */
bool check_schedule(Compilation *c, const Unit *unit, const Target *target) {
    const Schedule *user = user_schedule(unit, target);
    if (!user)
        return true;
    NestError error = {0};
    const Schedule *filled = fill_holes(c, unit, target, user, &error);
    Nest *nest = filled ? nest_build(c->arena, unit->program, filled, NULL, target, &error) : NULL;
    if (!nest)
        return nest_report(c->diagnostics, &error);
    for (int i = 0; i < nest->ineffective_count && !unit->is_version; i++)
        diag(c->diagnostics, DIAG_schedule_no_effect, filled->prims[nest->ineffective[i]].loc);
    if (!unit->is_version)
        warn_repeated(c, nest, filled);
    return true;
}

/* --- the database --- */

/* A search needs its database. At other levels the database only makes code faster, so compiling continues without
 * it. */
static void refuse_database(Compilation *c, const char *why, bool damaged) {
    const char *remedy = damaged ? "delete the file, or name another with --db=FILE" : "name another with --db=FILE";
    if (c->options->level == LEVEL_TUNE)
        complain("%s; %s", why, remedy);
    else
        diag(c->diagnostics, DIAG_database, (Loc){0},
             arena_printf(c->arena, "%s; compiling without it (%s)", why, remedy));
}

/* Below -O tune a missing database is not an error: nothing was tuned yet. */
Database *compilation_database(Compilation *c) {
    if (c->database || c->database_tried)
        return c->database;
    c->database_tried = true;
    const Options *o = c->options;
    const char *path = o->database ? o->database : database_default_path(c->arena), *why = "";
    bool create = o->level == LEVEL_TUNE && !o->frozen, damaged;
    if (!path) {
        if (o->level == LEVEL_TUNE)
            complain("there is no place for the tuning database: HOME is not set; name one with --db=FILE");
        return NULL;
    }
    bool there = !access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR);
    if (!create && !there) {
        if (o->frozen)
            complain("there is no tuning database '%s' (--tune-frozen)", path);
        return NULL;
    }
    WaitLimit limit = {tune_stop(), c->tune_deadline};
    c->database =
        database_open_within(c->arena, path, create ? DATABASE_TO_WRITE : DATABASE_TO_READ, limit, &why, &damaged);
    if (!c->database)
        refuse_database(c, why, damaged);
    return c->database;
}

void close_database(Compilation *c) {
    if (c->database && database_failed(c->database))
        refuse_database(c, "the tuning database is damaged", true);
    database_close(c->database);
}

/* --- choosing --- */

static Effort effort_of(const Compilation *c) {
    static const Effort efforts[] = {EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_MODEL, EFFORT_MODEL_MORE, EFFORT_MODEL};
    return efforts[c->options->level];
}

StaticChoice *known_choice(const Compilation *c, const Program *program, const Target *target) {
    for (int i = 0; i < c->choices.count; i++)
        if (c->choices.items[i].program == program && c->choices.items[i].target == target)
            return c->choices.items[i].choice;
    return NULL;
}

static Schedule *model_schedule(Compilation *c, const Program *program, const Target *target) {
    StaticChoice *choice = known_choice(c, program, target);
    if (!choice) {
        choice = static_choice(c->arena, program, target, EFFORT_MODEL, c->options->seed);
        list_push(c->arena, &c->choices, ((struct KnownChoice){program, target, choice}));
    }
    return choice->schedule;
}

static Schedule *default_schedule(Compilation *c, const Program *program, const Target *target, const Schedule *user,
                                  Effort effort) {
    if (!user && effort == EFFORT_MODEL)
        return model_schedule(c, program, target);
    return autosched_default(c->arena, program, target, user, effort, c->options->seed);
}

/* The alternatives that are worth a close look. If there are many, a rough estimate picks the fastest: the number of
 * alternatives is a product over the calls. */
static int look_closely(Compilation *c, const Unit *all, int count, const Target *target, int *chosen) {
    double seconds[CLOSE_LOOKS + 1];
    int found = 0;
    for (int i = 0; i < count; i++) {
        const Program *program = all->alternatives[i];
        double own = i;
        if (count > CLOSE_LOOKS) {
            const Schedule *rough = autosched_default(c->arena, program, target, NULL, EFFORT_ROUGH, c->options->seed);
            own = estimated_seconds(c->arena, program, rough, target);
        }
        int place = found < CLOSE_LOOKS ? found++ : CLOSE_LOOKS;
        for (; place > 0 && seconds[place - 1] > own; place--) {
            seconds[place] = seconds[place - 1];
            chosen[place] = chosen[place - 1];
        }
        seconds[place] = own;
        chosen[place] = i;
    }
    return found;
}

/* The effort for comparing algorithms. A larger one is spent only on the chosen algorithm. */
static Effort first_effort(const Compilation *c, int alternatives) {
    Effort effort = effort_of(c);
    return alternatives && effort > EFFORT_MODEL ? EFFORT_MODEL : effort;
}

/* The default schedule for the algorithms that the static model estimates as fastest. It estimates fast algorithms less
 * well than the program as written, so they must be better by a margin. */
static const Schedule *first_default(Compilation *c, const Unit **unit, const Target *target, int count) {
    const Unit *all = *unit;
    int chosen[CLOSE_LOOKS + 1];
    Effort first = first_effort(c, count);
    const Schedule *best = default_schedule(c, all->program, target, NULL, first);
    double seconds = count ? estimated_seconds(c->arena, all->program, best, target) * needed_gain : 0;
    count = look_closely(c, all, count, target, chosen);
    for (int i = 0; i < count; i++) {
        const Program *program = all->alternatives[chosen[i]];
        const Schedule *schedule = default_schedule(c, program, target, NULL, first);
        double estimate = estimated_seconds(c->arena, program, schedule, target);
        if (estimate >= seconds)
            continue;
        seconds = estimate;
        best = schedule;
        *unit = unit_with(c, all, chosen[i]);
    }
    return best;
}

const Schedule *best_default(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    int count = user || c->options->level < LEVEL_2 ? 0 : (*unit)->alternative_count;
    Effort effort = effort_of(c);
    const Schedule *best = count ? first_default(c, unit, target, count) : NULL;
    bool enough = best && first_effort(c, count) == effort;
    return enough ? best : default_schedule(c, (*unit)->program, target, user, effort);
}

int preferred_alternative(Compilation *c, const Unit *all, const Target *target) {
    const Unit *unit = all;
    if (all->alternative_count)
        first_default(c, &unit, target, all->alternative_count);
    for (int i = 0; i < all->alternative_count; i++)
        if (all->alternatives[i] == unit->program)
            return i;
    return -1;
}

/* Whether the database knows anything of the program on these inputs, even if only failures. */
static bool is_recorded(Compilation *c, Database *database, const Program *program, const Target *target,
                        const char *inputs) {
    Record *records;
    int count = database_find(c->arena, database, task_hash(c->arena, program), database_target(target),
                              target->threads, &records);
    for (int r = 0; r < count; r++)
        if (!strcmp(records[r].inputs, inputs))
            return true;
    return false;
}

/* Whether records are enough to choose between algorithms: those that would be chosen without records must have
 * some. */
static bool can_compare(Compilation *c, Database *database, const Unit *all, const Target *target, const char *inputs) {
    bool recorded = is_recorded(c, database, all->program, target, inputs);
    for (int i = 0; i < all->alternative_count && recorded; i++)
        recorded = is_recorded(c, database, all->alternatives[i], target, inputs);
    if (recorded)
        return true;
    int preferred = preferred_alternative(c, all, target);
    return is_recorded(c, database, preferred < 0 ? all->program : all->alternatives[preferred], target, inputs);
}

const Schedule *best_record(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                            const char *inputs) {
    Database *database = compilation_database(c);
    const Unit *all = *unit, *chosen = all;
    const Schedule *best = NULL;
    double seconds = HUGE_VAL;
    for (int i = -1; i < (user ? 0 : all->alternative_count); i++) {
        const Unit *one = unit_with(c, all, i);
        Record record;
        const Schedule *found =
            database_best(c->arena, database, one->program, target, user, target->threads, inputs, &record);
        if (!found || record.seconds >= seconds)
            continue;
        best = found;
        seconds = record.seconds;
        chosen = one;
    }
    bool choosing = best && !user && all->alternative_count && !c->options->frozen;
    if (choosing && !can_compare(c, database, all, target, inputs))
        return NULL;
    *unit = chosen;
    return best;
}

/* What records of its tasks make of a function that has none itself; *unit becomes the one with the algorithms that are
 * chosen without measuring. For -O tune each task needs one. */
static const Schedule *known_by_tasks(Compilation *c, const Unit **unit, const Target *target) {
    const Unit *one = unit_with(c, *unit, preferred_alternative(c, *unit, target));
    const Schedule *found = tasks_schedule(c->arena, compilation_database(c), one->program, target, target->threads,
                                           c->options->seed, c->options->level == LEVEL_TUNE);
    *unit = found ? one : *unit;
    return found;
}

const Schedule *best_known(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    const Unit *all = *unit;
    int count = user ? 0 : all->alternative_count;
    Program **programs = ARENA_ARRAY(c->arena, Program *, count + 1);
    for (int i = -1; i < count; i++)
        programs[i + 1] = unit_with(c, all, i)->program;
    const char *inputs =
        database_inputs(c->arena, compilation_database(c), programs, count + 1, target, user, target->threads);
    const Schedule *best = best_record(c, unit, target, user, inputs);
    if (!best && *inputs)
        best = best_record(c, unit, target, user, "");
    return best || user ? best : known_by_tasks(c, unit, target);
}

/* Picks the schedule. *all becomes the unit with the algorithms that the schedule is for. */
static const Schedule *pick(Compilation *c, const Unit **all, const Target *target, const char **origin) {
    const Unit *unit = *all;
    const Schedule *user = user_schedule(unit, target), *found;
    *origin = "the source";
    if (user && block_is_exact(c, unit->program, target, user))
        return user;
    if (c->options->level == LEVEL_TUNE) {
        return tune_unit(c, all, target, user, origin);
    }
    *origin = "the database";
    if (c->options->level >= LEVEL_2 && compilation_database(c) && (found = best_known(c, all, target, user)))
        return found;
    *origin = user ? "the source, what it leaves open by the default" : "the default";
    return best_default(c, all, target, user);
}

const Schedule *name_schedule(Compilation *c, const Schedule *schedule, const char *symbol, const Target *target) {
    Schedule *named = ARENA_NEW(c->arena, Schedule);
    if (schedule)
        *named = *schedule;
    named->subject = symbol;
    named->target = !strcmp(target->name, "host") ? target->family->name : target->name;
    return named;
}

/* What was not done to the stages that was meant to be, and why: a line each, after `before`. */
void schedule_notes(Text *text, const Schedule *schedule, const char *before) {
    if (schedule->ruled)
        text_add(text, "%sby rules of the source: %s\n", before, schedule->ruled);
    if (schedule->misfits)
        text_add(text, "%snot legal by rules of the source: %s\n", before, schedule->misfits);
    if (schedule->idle)
        text_add(text, "%sapply to no stage, rules of the source: %s\n", before, schedule->idle);
    if (schedule->refused)
        text_add(text, "%sleft with plain loops, as nothing that was tried for them is legal: %s\n", before,
                 schedule->refused);
    if (schedule->smaller)
        text_add(text, "%ssmaller tiles, as the function would be too much code: %s\n", before, schedule->smaller);
    if (schedule->shorter)
        text_add(text, "%sshorter vectors, as some of their lanes are fetched one by one: %s\n", before,
                 schedule->shorter);
}

static void show_choice(Compilation *c, const Scheduled *scheduled) {
    const Program *program = scheduled->unit->program;
    const char *algorithms = program_algorithms(c->arena, program);
    show(stderr, "tensorc: %s: scheduled by %s%s%s\n", program->symbol, scheduled->origin, algorithms ? "; " : "",
         algorithms ? algorithms : "");
    Text notes = {.arena = c->arena};
    const char *before = arena_printf(c->arena, "tensorc: %s: ", program->symbol);
    schedule_notes(&notes, scheduled->schedule, before);
    block_notes(&notes, user_schedule(scheduled->unit, scheduled->nest->target), scheduled->schedule, before);
    show(stderr, "%s", notes.text ? notes.text : "");
}

bool choose_schedule(Compilation *c, const Unit *unit, const Target *target, Scheduled *scheduled) {
    unit = unit_of_block(c, unit, target);
    if (!unit || !check_schedule(c, unit, target))
        return false;
    const Schedule *schedule = pick(c, &unit, target, &scheduled->origin);
    if (!schedule)
        return false;
    NestError error = {0};
    scheduled->unit = unit;
    scheduled->schedule = name_schedule(c, schedule, unit->program->symbol, target);
    scheduled->nest = nest_build(c->arena, unit->program, scheduled->schedule, NULL, target, &error);
    if (!scheduled->nest)
        INTERNAL_ERROR("the schedule of %s by %s is refused: %s", unit->program->symbol, scheduled->origin,
                       error.rule ? error.rule : "no rule");
    if (!check_instrs_of(c, scheduled->nest))
        return false;
    if (c->options->verbose)
        show_choice(c, scheduled);
    return true;
}

const Unit *packing_unit(Compilation *c, const Unit *unit) {
    Unit *packed = ARENA_NEW(c->arena, Unit);
    *packed = *unit;
    packed->program = packing_program(c->arena, unit->program);
    packed->alternatives = ARENA_ARRAY(c->arena, Program *, unit->alternative_count + 1);
    for (int i = 0; packed->program && i < unit->alternative_count; i++)
        packed->alternatives[i] = packing_program(c->arena, unit->alternatives[i]);
    return packed->program ? packed : NULL;
}

const Schedule *packing_schedule(Compilation *c, const Unit **unit, const Target *target) {
    const Schedule *user = user_schedule(*unit, target), *chosen = user;
    if (!user || !block_is_exact(c, (*unit)->program, target, user))
        chosen = best_default(c, unit, target, user);
    return chosen && nest_build(c->arena, (*unit)->program, chosen, NULL, target, NULL) ? chosen : NULL;
}
