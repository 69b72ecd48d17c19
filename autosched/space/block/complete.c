/* complete.c - what a user's block leaves open in the stages that it names, as genes.
 *
 * A stage is open if none of its loops is vectorized, unrolled or run by an instruction, and nothing of it is kept in
 * registers: then vectors and sums in registers (vectors.c), copies of what they read (pack.c), a place
 * for its buffer further out (store_at) and threads can be added. Stages of a scan are completed inside a step. Loops
 * keep the order and the sizes that the block gives them; new ones are cut off their inner ends. The statements come
 * after the user's, and each is kept only where the nest is legal with it: a point of the space is legal if the user's
 * own statements are.
 */
#include "autosched/space/block/complete.h"
#include "lang/machine.h"

#include <ctype.h>
#include <string.h>

static const int64_t vector_counts[] = {0, 1, 2, 4}, row_counts[] = {1, 2, 3, 4, 6, 8, 12, 14}, flags[] = {0, 1},
                     row_loops[] = {0, 1, 2}, step_counts[] = {0, 1, 2, 4, 8}, windows[] = {0, 1, 2, 3};

static const struct {
    const char *word;
    int count;
    const int64_t *values;
    GeneKind kind;
} aspects[ASPECT_COUNT] = {[VECTORS] = {"vectors", 4, vector_counts, GENE_UNROLL},
                           [ALONG] = {"sums in lanes", 2, flags, GENE_VECTOR},
                           [ROWS] = {"rows", 8, row_counts, GENE_TILE},
                           [ROW_LOOP] = {"loop of rows", 3, row_loops, GENE_ORDER},
                           [STEPS] = {"sums unrolled", 5, step_counts, GENE_UNROLL},
                           [PLACE] = {"tile of the block", 2, flags, GENE_PLACE},
                           [WINDOW] = {"window", 4, windows, GENE_PLACE},
                           [THREADS] = {"parallel", 2, flags, GENE_PARALLEL}};

typedef struct Completion {
    LIST(OpenStage) stages;
} Completion;

/* --- what is open --- */

static bool is_annotated(const Loop *loop) {
    return (loop->kind != LOOP_SERIAL && loop->kind != LOOP_PARALLEL) || loop->unroll > 0;
}

/* Whether the statements say how the stage itself runs: also in the stages that they made of it. */
static bool is_finished(const Nest *nest, const NestStage *stage) {
    bool finished = stage->buffers[0]->scope == SCOPE_REGISTER;
    for (int l = 0; l < stage->loop_count; l++)
        finished |= is_annotated(stage->loops[l]);
    for (int c = 0; c < stage->child_count && !finished; c++)
        finished = !program_find_stage(nest->program, stage->children[c]->stage->name) &&
                   is_finished(nest, stage->children[c]);
    return finished;
}

static bool is_open(const Space *space, const Nest *nest, const NestStage *stage) {
    const Stage *own = program_find_stage(space->program, stage->stage->name);
    bool held = !own || space->held[program_stage_index(space->program, own)];
    return held && !stage->inlined && !stage->constant && !stage->scan && !stage->updates &&
           stage->stage->component_count == 1 && !is_finished(nest, stage);
}

static bool has_threads(const NestStage *stage) {
    bool any = false;
    for (int l = 0; l < stage->loop_count; l++)
        any |= stage->loops[l]->kind == LOOP_PARALLEL || loop_kind_is_bound(stage->loops[l]->kind);
    for (int c = 0; c < stage->child_count && !any; c++)
        any = has_threads(stage->children[c]);
    return any;
}

/* --- loops of a stage --- */

int complete_inner_loop(const NestStage *stage, int end, bool reduction) {
    int l = end - 1;
    while (l >= 0 && (stage->loops[l]->reduction != reduction || stage->loops[l]->extent == 1 ||
                      stage->loops[l]->kind != LOOP_SERIAL))
        l--;
    return l;
}

static bool has_reduction(const NestStage *stage) {
    return complete_inner_loop(stage, stage->loop_count, true) >= 0;
}

const char *complete_loop(Arena *arena, const NestStage *stage, int loop) {
    return arena_printf(arena, "%s.%s", stage->stage->name, stage->loops[loop]->var->name);
}

/* --- genes --- */

static void add_gene(Space *space, Group *group, OpenStage *open, Aspect aspect, int start) {
    Gene gene = {.kind = aspects[aspect].kind, .structural = true, .width = 1, .start = start};
    gene.name = arena_printf(space->arena, "%s %s", open->name, aspects[aspect].word);
    gene.count = aspects[aspect].count;
    gene.values = aspects[aspect].values;
    open->genes[aspect] = group_add_gene(space, group, gene);
}

/* Of a sum that lanes go across. */
static void open_sums(Space *space, Group *group, const Nest *nest, const NestStage *stage, OpenStage *open) {
    int lane_loop = complete_inner_loop(stage, stage->loop_count, false);
    bool reuse = stage_has_reuse(stage->stage);
    int row_loop = complete_row_loop(stage, lane_loop, 0);
    if (row_loop >= 0)
        add_gene(space, group, open, ROWS, reuse ? 3 : 0);
    if (row_loop != complete_row_loop(stage, lane_loop, 1))
        add_gene(space, group, open, ROW_LOOP, 0);
    add_gene(space, group, open, STEPS, 1);
    if (complete_held_loop(stage, lane_loop) >= 0)
        add_gene(space, group, open, PLACE, 1);
    complete_list_operands(space, group, nest, stage, open);
}

static void open_stage(Space *space, Group *group, const Nest *nest, const NestStage *stage, OpenStage *open) {
    bool across = complete_inner_loop(stage, stage->loop_count, false) >= 0, sums = has_reduction(stage);
    const Machine *machine = space->target->machine;
    if (across || sums)
        add_gene(space, group, open, VECTORS, 1);
    if (sums)
        add_gene(space, group, open, ALONG, !across);
    if (sums && across)
        open_sums(space, group, nest, stage, open);
    bool placed = stage->parent && stage->home == stage->parent && stage->depth > 1;
    if ((placed || space->holes) && !stage->in_scan)
        add_gene(space, group, open, WINDOW, 0);
    if (!stage->parent && space->target->threads != 1 && across && !has_threads(stage)) {
        double work = group_work(group);
        add_gene(space, group, open, THREADS, work < 0 || work >= machine->fork_operations);
    }
}

void user_group_complete(Space *space, Group *group) {
    Arena *scratch = arena_new();
    Sketch *sketch = ARENA_NEW(space->arena, Sketch);
    sketch->active = ARENA_ARRAY(space->arena, bool, group->genes.count + 1);
    group->emit(space, group, NULL, sketch);
    const Nest *nest = sketch_nest(scratch, space, group, sketch);
    Completion *completion = ARENA_NEW(space->arena, Completion);
    for (int s = 0; nest && s < nest->stage_count; s++) {
        OpenStage open = {.name = arena_strdup(space->arena, nest->stages[s]->stage->name)};
        int before = group->genes.count;
        memset(open.genes, -1, sizeof open.genes);
        if (is_open(space, nest, nest->stages[s]))
            open_stage(space, group, nest, nest->stages[s], &open);
        if (group->genes.count > before)
            list_push(space->arena, &completion->stages, open);
    }
    group->details = completion;
    arena_free(scratch);
}

/* --- statements --- */

int64_t complete_choice(const Completing *c, const OpenStage *open, Aspect aspect) {
    int gene = open->genes[aspect];
    return gene < 0 ? aspects[aspect].values[0] : aspects[aspect].values[c->genes[gene]];
}

bool complete_keep(Completing *c, int before) {
    const Nest *nest = sketch_nest(c->scratch, c->space, c->group, c->sketch);
    if (nest)
        c->nest = nest;
    else
        c->sketch->prims.count = before;
    return nest != NULL;
}

bool complete_add(Completing *c, const Text *text) {
    int before = c->sketch->prims.count;
    sketch_write(c->space, c->sketch, "%s", text->text);
    sketch_read(c->space, c->sketch);
    return complete_keep(c, before);
}

const char *complete_name(Completing *c, const NestStage *stage, const char *loop, const char *suffix) {
    char *base = arena_printf(c->space->arena, "%s%s%s_%s", stage->stage->name, *loop ? "_" : "", loop, suffix);
    for (char *at = base; *at; at++)
        *at = isalnum((unsigned char)*at) ? *at : '_';
    return space_local_name(c->space, c->group, base);
}

void complete_write_list(Text *text, const char *op, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        text_add(text, "%s%s", i ? ", " : op, names[i]);
    text_add(text, count ? ")\n" : "");
}

/* A reduction whose terms are summed in lanes, and these at the end. Its loop is the innermost one: others would come
 * to stand around it. */
static bool add_partial_sums(Completing *c, const NestStage *stage, int64_t vectors, int64_t lanes, int place) {
    int at = complete_inner_loop(stage, stage->loop_count, true);
    Text text = {.arena = c->scratch};
    if (at < 0 || at < complete_inner_loop(stage, stage->loop_count, false) ||
        (stage->loops[at]->extent > 0 && stage->loops[at]->extent < 2 * vectors * lanes))
        return false;
    const char *name = stage->stage->name, *loop = stage->loops[at]->var->name;
    const char *outer = complete_name(c, stage, loop, "o"), *more = complete_name(c, stage, loop, "u"),
               *lane = complete_name(c, stage, loop, "v"), *part = complete_name(c, stage, "", "part"),
               *last = complete_name(c, stage, "", "lanes");
    text_add(&text, "%s, %s, %s = split(%s, %lld, %lld)\n", outer, more, lane, complete_loop(c->scratch, stage, at),
             (long long)vectors, (long long)lanes);
    text_add(&text, "%s = rfactor(%s, %s, scope=register)\n", part, more, lane);
    if (place >= 0)
        text_add(&text, "compute_at(%s, %s)\n", part, complete_loop(c->scratch, stage, place));
    text_add(&text, "unroll(%s)\nvectorize(%s)\n", more, lane);
    text_add(&text, "%s = rfactor(%s.%s, scope=register)\n", last, name, lane);
    if (place >= 0)
        text_add(&text, "compute_at(%s, %s)\n", last, complete_loop(c->scratch, stage, place));
    text_add(&text, "unroll(%s.%s, %s.%s)\nvectorize(%s.%s)\n", last, more, name, lane, last, lane);
    return complete_add(c, &text);
}

static void add_vectors(Completing *c, const OpenStage *open) {
    const NestStage *stage = nest_stage_named(c->nest, open->name);
    int64_t vectors = complete_choice(c, open, VECTORS);
    int lanes = stage ? stage_lanes(c->space, stage->stage) : 1;
    if (!stage || vectors == 0 || lanes < 2)
        return;
    int across = complete_inner_loop(stage, stage->loop_count, false);
    if (complete_choice(c, open, ALONG) &&
        (add_partial_sums(c, stage, vectors, lanes, across) || add_partial_sums(c, stage, vectors, lanes, -1)))
        return;
    if (across >= 0)
        complete_block(c, open, stage, lanes);
}

/* Keeps the buffer so many loops further out than where the stage is computed. */
static void add_window(Completing *c, const OpenStage *open) {
    const NestStage *stage = nest_stage_named(c->nest, open->name);
    int64_t out = complete_choice(c, open, WINDOW);
    Text text = {.arena = c->scratch};
    if (!stage || out == 0 || !stage->parent || stage->home != stage->parent || stage->depth - 1 - out < 0)
        return;
    text_add(&text, "store_at(%s, %s)\n", open->name,
             complete_loop(c->scratch, stage->parent, stage->depth - 1 - (int)out));
    complete_add(c, &text);
}

static void add_threads(Completing *c, const OpenStage *open) {
    const NestStage *stage = nest_stage_named(c->nest, open->name);
    int outermost = 0;
    Text text = {.arena = c->scratch};
    if (!stage || !complete_choice(c, open, THREADS))
        return;
    while (outermost < stage->loop_count && stage->loops[outermost]->extent == 1)
        outermost++;
    if (outermost == stage->loop_count || stage->loops[outermost]->kind != LOOP_SERIAL)
        return;
    text_add(&text, "parallel(%s)\n", complete_loop(c->scratch, stage, outermost));
    complete_add(c, &text);
}

void complete_sketch(Space *space, Group *group, const int *genes, Sketch *sketch) {
    const Completion *completion = group->details;
    Completing c = {.space = space, .group = group, .sketch = sketch, .genes = genes, .scratch = arena_new()};
    c.nest = sketch_nest(c.scratch, space, group, sketch);
    for (int s = 0; c.nest && s < completion->stages.count; s++) {
        const OpenStage *open = &completion->stages.items[s];
        add_window(&c, open);
        add_vectors(&c, open);
        complete_pack(&c, open);
        add_threads(&c, open);
    }
    arena_free(c.scratch);
}
