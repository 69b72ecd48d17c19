/* schedules.c - see schedules.h. A primitive is chosen blindly among the loops and stages that the nest has at that
 * point, and dropped again when nest_build refuses it.
 */
#include "schedules.h"
#include "parser/ast.h"
#include "sema/sema.h"
#include <stdlib.h>
#include <string.h>

/* splitmix64 */
uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static const Unit *unit_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.stream = stderr, .no_warnings = true});
    uint32_t file = (uint32_t)source_add(sources, "text", text, strlen(text), false);
    AstFile *tree = parse_file(arena, sources, file, diagnostics);
    SemaOptions options = {.define_count = count, .defines = ARENA_ARRAY(arena, Define, count)};
    for (int i = 0; i < count; i++)
        options.defines[i] = (Define){.name = bindings[i].name, .value = bindings[i].value};
    Module *module = diag_error_count(diagnostics) ? NULL : sema_check(arena, sources, tree, &options, diagnostics);
    if (diag_finish(diagnostics) || !module->units.count) {
        fprintf(stderr, "no program in:\n%s\n", text);
        exit(1);
    }
    return &module->units.items[0];
}

Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count) {
    return unit_of_text(arena, text, bindings, count)->program;
}

Program *scheduled_program_of_text(Arena *arena, const char *text, const Schedule **schedule) {
    const Unit *unit = unit_of_text(arena, text, NULL, 0);
    *schedule = unit->schedule_count ? unit->schedules[0] : NULL;
    return unit->program;
}

/* --- schedules ---------------------------------------------------------------------------------------------------- */

typedef struct Maker {
    Arena *arena;
    Random *random;
    const Nest *nest;
    Prim prim;
    LIST(PrimArg) args;
    int names;          /* given so far */
    bool begins;        /* at the first primitive */
    const char *placed; /* the stage that was put at a loop last, or NULL */
} Maker;

static int pick(Maker *m, int limit) {
    return (int)random_below(m->random, limit);
}

static void add_name(Maker *m, const char *key, const char *name) {
    list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_NAME, .key = key, .name = name}));
}

static void add_integer(Maker *m, int64_t value) {
    list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .value = value}));
}

static const NestStage *pick_stage(Maker *m) {
    for (int tries = 0; tries < 20; tries++) {
        const NestStage *stage = m->nest->stages[pick(m, m->nest->stage_count)];
        if (!stage->inlined && stage->loop_count)
            return stage;
    }
    return NULL;
}

static const char *loop_name(Maker *m, const NestStage *stage, int loop) {
    return arena_printf(m->arena, "%s.%s", stage->stage->name, stage->loops[loop]->var->name);
}

static bool add_loop(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (stage)
        add_name(m, NULL, loop_name(m, stage, pick(m, stage->loop_count)));
    return stage != NULL;
}

/* `count` loops of one stage, different ones: neighbours when adjacent, else in any order. */
static bool add_loops(Maker *m, int count, bool adjacent) {
    const NestStage *stage = pick_stage(m);
    if (!stage || stage->loop_count < count)
        return false;
    int order[64], first = pick(m, stage->loop_count - count + 1);
    if (stage->loop_count > 64)
        return false;
    for (int i = 0; i < stage->loop_count; i++)
        order[i] = adjacent ? (i + first) % stage->loop_count : i;
    for (int i = stage->loop_count - 1; i > 0 && !adjacent; i--) {
        int j = pick(m, i + 1), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (int i = 0; i < count; i++)
        add_name(m, NULL, loop_name(m, stage, order[i]));
    return true;
}

static bool add_at(Maker *m, const char *key) {
    const NestStage *stage = pick_stage(m);
    if (stage)
        add_name(m, key, loop_name(m, stage, pick(m, stage->loop_count)));
    if (pick(m, 3) == 0)
        add_name(m, "scope", pick(m, 3) ? "register" : "local");
    return stage != NULL;
}

static int64_t small_factor(Maker *m) {
    static const int64_t factors[] = {1, 2, 3, 4, 4, 5, 7, 8, 8, 16};
    return factors[pick(m, 10)];
}

/* Half of the time none; a legal one as well as one that is not. */
static void add_tail(Maker *m) {
    static const char *const tails[] = {"guard", "mask", "shift", "exact"};
    int tail = pick(m, 8);
    if (tail < 4)
        add_name(m, "tail", tails[tail]);
}

static bool make_split(Maker *m) {
    if (!add_loop(m))
        return false;
    for (int i = pick(m, 4) ? 1 : 2; i > 0; i--)
        add_integer(m, small_factor(m));
    add_tail(m);
    return true;
}

/* One to three cuts, from both ends, in order for the most part. */
static bool make_partition(Maker *m) {
    bool made = add_loop(m);
    int64_t cut = pick(m, 4);
    for (int i = pick(m, 3); i >= 0; i--, cut += 1 + pick(m, 4))
        add_integer(m, pick(m, 2) ? cut : cut - 6);
    return made;
}

static bool make_unroll(Maker *m) {
    bool made = add_loop(m);
    if (pick(m, 3) == 0)
        list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .key = "factor", .value = 1 + pick(m, 5)}));
    return made;
}

static bool make_tile(Maker *m) {
    bool made = add_loops(m, 2, false);
    add_integer(m, small_factor(m));
    add_integer(m, small_factor(m));
    add_tail(m);
    return made;
}

static bool make_fuse(Maker *m) {
    return add_loops(m, 2 + (pick(m, 4) == 0), true);
}

static bool make_reorder(Maker *m) {
    return add_loops(m, 2 + pick(m, 4), false);
}

static bool make_inline(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (stage)
        add_name(m, NULL, stage->stage->name);
    return stage != NULL;
}

static bool make_prefetch(Maker *m) {
    const Program *program = m->nest->program;
    add_name(m, NULL, program->tensors[pick(m, program->tensor_count)]->name);
    bool made = add_loop(m);
    add_integer(m, pick(m, 5));
    const NestStage *fetching = pick(m, 2) ? pick_stage(m) : NULL;
    if (fetching)
        add_name(m, "at", loop_name(m, fetching, pick(m, fetching->loop_count)));
    return made;
}

static bool make_bind(Maker *m) {
    bool made = add_loop(m);
    add_name(m, NULL, loop_kind_words[LOOP_BLOCK_X + pick(m, LOOP_KIND_COUNT - LOOP_BLOCK_X)]);
    return made;
}

static bool make_set_scope(Maker *m) {
    static const char *const scopes[] = {"global", "local", "register", "shared"};
    bool made = make_inline(m);
    add_name(m, NULL, scopes[pick(m, 4)]);
    return made;
}

/* A stage that reads this one and has loops, or NULL. */
static const NestStage *pick_reader(Maker *m, const NestStage *stage) {
    for (int i = 0, start = pick(m, m->nest->stage_count); i < m->nest->stage_count; i++) {
        const NestStage *reader = m->nest->stages[(start + i) % m->nest->stage_count];
        if (!reader->inlined && reader->loop_count &&
            expr_uses_tensor(reader->stage->components[0].value, stage->stage->components[0].tensor))
            return reader;
    }
    return NULL;
}

/* Most often of a temporary at a loop of what reads it. */
static bool make_compute_at(Maker *m) {
    const NestStage *stage = pick_stage(m), *reader;
    for (int tries = 0; stage && stage->stage->components[0].tensor->role != ROLE_TEMPORARY && tries < 4; tries++)
        stage = pick_stage(m);
    if (!stage)
        return false;
    add_name(m, NULL, stage->stage->name);
    if (pick(m, 4) == 0 || !(reader = pick_reader(m, stage)))
        return add_at(m, NULL);
    add_name(m, NULL, loop_name(m, reader, pick(m, reader->loop_count)));
    return true;
}

static bool make_cache_write(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (stage)
        add_name(m, NULL, stage->stage->name);
    return stage && add_at(m, "at");
}

static bool make_decompose(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (!stage)
        return false;
    add_name(m, NULL, stage->stage->name);
    add_name(m, NULL, loop_name(m, stage, pick(m, stage->loop_count)));
    return true;
}

/* What is computed at a loop, where there is something: half of the time what was put there last. */
static const NestStage *pick_placed(Maker *m) {
    for (int i = 0, last = m->placed ? pick(m, 2) : 0; last && i < m->nest->stage_count; i++)
        if (m->nest->stages[i]->parent && !strcmp(m->nest->stages[i]->stage->name, m->placed))
            return m->nest->stages[i];
    const NestStage *stage = pick_stage(m);
    for (int tries = 0; stage && !stage->parent && tries < 10; tries++)
        stage = pick_stage(m);
    return stage;
}

static bool make_store_at(Maker *m) {
    const NestStage *stage = pick_placed(m);
    if (!stage)
        return false;
    add_name(m, NULL, stage->stage->name);
    if (stage->parent && stage->depth > 1 && pick(m, 2))
        add_name(m, NULL, loop_name(m, stage->parent, pick(m, stage->depth)));
    else
        add_name(m, NULL, "root");
    return true;
}

static bool make_double_buffer(Maker *m) {
    const NestStage *stage = pick_placed(m);
    if (stage)
        add_name(m, NULL, stage->stage->name);
    return stage != NULL;
}

/* Most often what is computed last. */
static bool make_reverse_inline(Maker *m) {
    if (pick(m, 2))
        return make_inline(m);
    add_name(m, NULL, m->nest->stages[m->nest->stage_count - 1]->stage->name);
    return true;
}

static bool make_tensorize(Maker *m) {
    const Program *program = m->nest->program;
    if (program->instr_count == 0 || !add_loop(m))
        return false;
    add_name(m, NULL, program->instrs[pick(m, program->instr_count)]->name);
    return true;
}

/* One or two reduction loops of a stage. */
static bool make_rfactor(Maker *m) {
    const NestStage *stage = pick_stage(m);
    int wanted = 1 + (pick(m, 3) == 0);
    for (int i = stage ? stage->loop_count - 1 : -1; i >= 0 && m->args.count < wanted; i--)
        if (stage->loops[i]->reduction && pick(m, 4))
            add_name(m, NULL, loop_name(m, stage, i));
    bool any = m->args.count > 0;
    if (pick(m, 3) == 0)
        add_name(m, "scope", pick(m, 2) ? "register" : "local");
    return any;
}

/* (d1/4, d0, d1%4) and the like: the dimensions in some order, one of them cut in two. */
static void add_layout(Maker *m, const Tensor *tensor, const char *key) {
    PrimArg layout = {.kind = ARG_LIST, .key = key};
    int cut = pick(m, tensor->rank), shift = pick(m, tensor->rank);
    PrimArg *items = ARENA_ARRAY(m->arena, PrimArg, tensor->rank + 1);
    PrimArg *operands = ARENA_ARRAY(m->arena, PrimArg, 2);
    operands[1] = (PrimArg){.kind = ARG_INT, .value = 1 + small_factor(m)};
    operands[0] = (PrimArg){.kind = ARG_NAME, .name = arena_printf(m->arena, "d%d", cut)};
    for (int i = 0; i < tensor->rank; i++) {
        int d = (i + shift) % tensor->rank;
        items[layout.count++] = d == cut ? (PrimArg){.kind = ARG_OP, .op = '/', .count = 2, .items = operands}
                                         : (PrimArg){.kind = ARG_NAME, .name = arena_printf(m->arena, "d%d", d)};
    }
    items[layout.count++] = (PrimArg){.kind = ARG_OP, .op = '%', .count = 2, .items = operands};
    layout.items = items;
    list_push(m->arena, &m->args, layout);
}

static const NestStage *pick_reader_of(Maker *m, const Tensor *tensor) {
    const NestStage *found = NULL;
    for (int i = 0, count = 0; i < m->nest->stage_count; i++)
        if (stage_uses_tensor(m->nest->stages[i]->stage, tensor) && pick(m, ++count) == 0)
            found = m->nest->stages[i];
    return found;
}

static bool make_cache_read(Maker *m) {
    const Program *program = m->nest->program;
    const Tensor *tensor = program->tensors[pick(m, program->tensor_count)];
    add_name(m, NULL, tensor->name);
    if (!add_at(m, "at"))
        return false;
    if (tensor->rank > 0 && pick(m, 2))
        add_layout(m, tensor, "layout");
    const NestStage *reader = pick(m, 4) ? NULL : pick_reader_of(m, tensor);
    if (reader)
        add_name(m, "reader", reader->stage->name);
    if (reader && pick(m, 2))
        list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .key = "read", .value = pick(m, 2)}));
    return true;
}

static bool make_layout(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (!stage || stage->stage->components[0].tensor->rank == 0)
        return false;
    add_name(m, NULL, stage->stage->name);
    add_layout(m, stage->stage->components[0].tensor, NULL);
    return true;
}

static bool make_storage_align(Maker *m) {
    const NestStage *stage = pick_stage(m);
    if (!stage || stage->stage->components[0].tensor->rank == 0)
        return false;
    int64_t align = 1 + small_factor(m);
    add_name(m, NULL, stage->stage->name);
    add_integer(m, pick(m, stage->stage->components[0].tensor->rank));
    add_integer(m, align);
    if (pick(m, 2))
        list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .key = "offset", .value = pick(m, (int)align)}));
    return true;
}

static const struct {
    PrimOp op;
    bool (*make)(Maker *m);
    int weight;
} makers[] = {
    {PRIM_SPLIT, make_split, 6},
    {PRIM_TILE, make_tile, 2},
    {PRIM_FUSE, make_fuse, 2},
    {PRIM_REORDER, make_reorder, 4},
    {PRIM_PARTITION, make_partition, 2},
    {PRIM_UNROLL, make_unroll, 5},
    {PRIM_VECTORIZE, add_loop, 5},
    {PRIM_PARALLEL, add_loop, 2},
    {PRIM_INLINE, make_inline, 1},
    {PRIM_COMPUTE_AT, make_compute_at, 3},
    {PRIM_PREFETCH, make_prefetch, 2},
    {PRIM_BIND, make_bind, 2},
    {PRIM_COMPUTE_ROOT, make_inline, 1},
    {PRIM_SET_SCOPE, make_set_scope, 1},
    {PRIM_CACHE_WRITE, make_cache_write, 3},
    {PRIM_CACHE_READ, make_cache_read, 3},
    {PRIM_RFACTOR, make_rfactor, 3},
    {PRIM_LAYOUT, make_layout, 2},
    {PRIM_STORAGE_ALIGN, make_storage_align, 2},
    {PRIM_DECOMPOSE, make_decompose, 2},
    {PRIM_STORE_AT, make_store_at, 4},
    {PRIM_DOUBLE_BUFFER, make_double_buffer, 4},
    {PRIM_REVERSE_INLINE, make_reverse_inline, 2},
    {PRIM_TENSORIZE, make_tensorize, 1},
    {PRIM_REQUIRE, NULL, 0},   /* needs holes */
    {PRIM_EXACTLY, NULL, 0},   /* changes nothing */
    {PRIM_ALGORITHM, NULL, 0}, /* needs calls */
};
enum { MAKERS = sizeof makers / sizeof *makers };

/* Of so many one: of primitives on a device a bind, of first ones reverse_inline, which wants loops that are as they
 * were; after a stage was put at a loop, what says more about its place. */
enum { BIND_EVERY = 4, REVERSE_EVERY = 4, MORE_EVERY = 3 };

static int maker_of(PrimOp op) {
    for (int i = 0; i < MAKERS; i++)
        if (makers[i].op == op)
            return i;
    INTERNAL_ERROR("tests/unit/schedules.c makes no %s", prim_info[op].spelling);
}

static int choose_maker(Maker *m) {
    int total = 0, chosen = 0;
    for (int i = 0; i < MAKERS; i++)
        total += makers[i].weight;
    for (PrimOp op = 0; op < PRIM_COUNT; op++)
        maker_of(op);
    int left = pick(m, total);
    while (left >= makers[chosen].weight)
        left -= makers[chosen++].weight;
    if (m->begins && pick(m, REVERSE_EVERY) == 0)
        return maker_of(PRIM_REVERSE_INLINE);
    if (m->placed && pick(m, MORE_EVERY) == 0)
        return maker_of(pick(m, 2) ? PRIM_DOUBLE_BUFFER : PRIM_STORE_AT);
    bool device = m->nest->target && m->nest->target->block_threads;
    return device && pick(m, BIND_EVERY) == 0 ? maker_of(PRIM_BIND) : chosen;
}

/* Every result gets a name, as the language wants it. */
static void name_results(Maker *m) {
    const char *results = prim_info[m->prim.op].results;
    PrimOp op = m->prim.op;
    bool buffer = op == PRIM_CACHE_READ || op == PRIM_CACHE_WRITE || op == PRIM_RFACTOR || op == PRIM_DECOMPOSE;
    int positional = 0;
    for (int i = 0; i < m->prim.arg_count; i++)
        positional += m->prim.args[i].key == NULL;
    m->prim.result_count = *results == 'N' ? positional : *results - '0';
    m->prim.results = ARENA_ARRAY(m->arena, const char *, m->prim.result_count);
    for (int i = 0; i < m->prim.result_count; i++)
        m->prim.results[i] = arena_printf(m->arena, "%c%d", buffer ? 'B' : 'L', ++m->names);
}

static bool make_prim(Maker *m) {
    int chosen = choose_maker(m);
    m->args.count = 0;
    m->args.items = NULL, m->args.capacity = 0;
    if (!makers[chosen].make(m))
        return false;
    m->prim = (Prim){.op = makers[chosen].op, .arg_count = m->args.count, .args = m->args.items};
    name_results(m);
    return true;
}

/* The stage that an accepted primitive put at a loop. */
static void note_placed(Maker *m) {
    const Prim *prim = &m->prim;
    bool copies = prim->op == PRIM_CACHE_READ || prim->op == PRIM_CACHE_WRITE;
    if (prim->op == PRIM_COMPUTE_AT || copies)
        m->placed = copies ? prim->results[0] : prim->args[0].name;
}

static void count_prim(const ScheduleMaking *making, PrimOp op, bool accepted) {
    int64_t *counts = accepted ? making->accepted : making->refused;
    if (counts)
        counts[op]++;
}

/* A refusal has words, whatever is refused: now and then they are asked for. */
static void explain_refusal(Maker *m, const Program *program, const Schedule *schedule, const Target *target) {
    NestError error = {0};
    if (pick(m, 16) != 0)
        return;
    nest_build(m->arena, program, schedule, NULL, target, &error);
    if (error.rule && *error.rule && error.nest)
        return;
    Text text = {.arena = m->arena};
    schedule_print_statements(&text, schedule);
    fprintf(stderr, "no words for the refusal of\n%s", text.text);
    exit(1);
}

Schedule *random_schedule_made(Arena *arena, const Program *program, const Target *target, Random *random, int count,
                               const ScheduleMaking *making) {
    Schedule *schedule = ARENA_NEW(arena, Schedule);
    const Schedule *first = making->first;
    const Nest *begun = first ? nest_build(arena, program, first, NULL, target, NULL) : NULL;
    int before = begun ? first->count : 0;
    *schedule =
        (Schedule){.subject = program->name, .target = "x86", .prims = ARENA_ARRAY(arena, Prim, before + count)};
    for (int i = 0; i < before; i++)
        schedule->prims[schedule->count++] = first->prims[i];
    Maker m = {.arena = arena, .random = random, .nest = begun};
    if (!begun)
        m.nest = nest_build(arena, program, NULL, NULL, target, NULL);
    for (int tries = 0; schedule->count < before + count && tries < 4 * count; tries++) {
        m.begins = tries == 0 && !begun;
        if (!make_prim(&m))
            continue;
        schedule->prims[schedule->count++] = m.prim;
        const Nest *next = nest_build(arena, program, schedule, NULL, target, NULL);
        count_prim(making, m.prim.op, next != NULL);
        if (next)
            m.nest = next, note_placed(&m);
        else if (making->arbitrary)
            break;
        else {
            explain_refusal(&m, program, schedule, target);
            schedule->count--;
        }
    }
    return schedule;
}

Schedule *random_schedule(Arena *arena, const Program *program, const Target *target, Random *random, int count) {
    return random_schedule_made(arena, program, target, random, count, &(ScheduleMaking){.arbitrary = false});
}
