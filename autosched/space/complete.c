/* complete.c - what a user's block leaves open in the stages that it names, as genes.
 *
 * A stage is open if none of its loops is vectorized, unrolled or run by an instruction, and nothing of it is kept in
 * registers: then vectors, sums in registers, a place for its buffer further out (store_at) and threads can be added.
 * Loops keep the order and the sizes that the block gives them; new ones are cut off their inner ends. The statements
 * come after the user's, and each is kept only where the nest is legal with it: a point of the space is legal if the
 * user's own statements are.
 */
#include "autosched/space/tile.h"
#include "lang/machine.h"

#include <ctype.h>
#include <string.h>

typedef enum Aspect { VECTORS, ALONG, ROWS, SUMS, WINDOW, THREADS, ASPECT_COUNT } Aspect;

enum { SUMS_LIMIT = 32, COPIES_MOST = 128 };

static const int64_t vector_counts[] = {0, 1, 2, 4}, row_counts[] = {1, 2, 4, 6, 8, 12}, flags[] = {0, 1},
                     windows[] = {0, 1, 2, 3};

static const struct {
    const char *word;
    int count;
    const int64_t *values;
    GeneKind kind;
} aspects[ASPECT_COUNT] = {[VECTORS] = {"vectors", 4, vector_counts, GENE_UNROLL},
                           [ALONG] = {"sums in lanes", 2, flags, GENE_VECTOR},
                           [ROWS] = {"rows", 6, row_counts, GENE_TILE},
                           [SUMS] = {"sums unrolled", 2, flags, GENE_UNROLL},
                           [WINDOW] = {"window", 4, windows, GENE_PLACE},
                           [THREADS] = {"parallel", 2, flags, GENE_PARALLEL}};

typedef struct OpenStage {
    const char *name;
    int genes[ASPECT_COUNT]; /* -1: none */
} OpenStage;

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

/* The innermost serial loop before `end` that is (or is not) of a reduction and has several values; -1: none. */
static int inner_loop(const NestStage *stage, int end, bool reduction) {
    int l = end - 1;
    while (l >= 0 && (stage->loops[l]->reduction != reduction || stage->loops[l]->extent == 1 ||
                      stage->loops[l]->kind != LOOP_SERIAL))
        l--;
    return l;
}

static bool has_reduction(const NestStage *stage) {
    return inner_loop(stage, stage->loop_count, true) >= 0;
}

static const char *loop_path(Arena *arena, const NestStage *stage, int loop) {
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

static void open_stage(Space *space, Group *group, const NestStage *stage, OpenStage *open) {
    bool across = inner_loop(stage, stage->loop_count, false) >= 0, sums = has_reduction(stage);
    const Machine *machine = space->target->machine;
    if (across || sums)
        add_gene(space, group, open, VECTORS, 1);
    if (sums)
        add_gene(space, group, open, ALONG, !across);
    if (sums && across && inner_loop(stage, inner_loop(stage, stage->loop_count, false), false) >= 0)
        add_gene(space, group, open, ROWS, stage_has_reuse(stage->stage) ? 2 : 0);
    if (sums && across)
        add_gene(space, group, open, SUMS, 1);
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
            open_stage(space, group, nest->stages[s], &open);
        if (group->genes.count > before)
            list_push(space->arena, &completion->stages, open);
    }
    group->details = completion;
    arena_free(scratch);
}

/* --- statements --- */

typedef struct Completing {
    Space *space;
    Group *group;
    Sketch *sketch;
    const int *genes;
    Arena *scratch;
    const Nest *nest; /* of the statements so far */
} Completing;

static int64_t choice_of(const Completing *c, const OpenStage *open, Aspect aspect) {
    int gene = open->genes[aspect];
    return gene < 0 ? aspects[aspect].values[0] : aspects[aspect].values[c->genes[gene]];
}

static const NestStage *find_stage(const Nest *nest, const char *name) {
    for (int s = 0; s < nest->stage_count; s++)
        if (strcmp(nest->stages[s]->stage->name, name) == 0)
            return nest->stages[s];
    return NULL;
}

/* Adds the statements if the nest is legal with them. */
static bool add_legal(Completing *c, const Text *text) {
    Sketch *sketch = c->sketch;
    int before = sketch->prims.count;
    sketch_write(c->space, sketch, "%s", text->text);
    sketch_read(c->space, sketch);
    const Nest *nest = sketch_nest(c->scratch, c->space, c->group, sketch);
    if (nest)
        c->nest = nest;
    else
        sketch->prims.count = before;
    return nest != NULL;
}

/* A name for what is made of a stage: "C_j_v". */
static const char *made_name(Completing *c, const NestStage *stage, const char *loop, const char *suffix) {
    char *base = arena_printf(c->space->arena, "%s%s%s_%s", stage->stage->name, *loop ? "_" : "", loop, suffix);
    for (char *at = base; *at; at++)
        *at = isalnum((unsigned char)*at) ? *at : '_';
    return space_local_name(c->space, c->group, base);
}

static void write_list(Text *text, const char *op, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        text_add(text, "%s%s", i ? ", " : op, names[i]);
    text_add(text, count ? ")\n" : "");
}

/* Vectors along a loop of a stage, and what is computed together with one. */
typedef struct Block {
    const NestStage *stage;
    int lane_loop, row_loop; /* of the stage; row_loop -1: one row */
    int64_t lanes, vectors, rows;
    const char *outer, *more, *lane, *row_outer, *row; /* loops; NULL: there is none */
    bool keeps_sums;                                   /* in registers */
} Block;

static void write_splits(Completing *c, Block *block, Text *text) {
    const NestStage *stage = block->stage;
    const Loop *loop = stage->loops[block->lane_loop];
    bool whole = loop->extent > 0 && loop->extent <= block->lanes;
    const char *path = loop_path(c->scratch, stage, block->lane_loop);
    block->lane = whole ? path : made_name(c, stage, loop->var->name, "v");
    block->outer = whole ? NULL : made_name(c, stage, loop->var->name, "o");
    block->more = whole || block->vectors == 1 ? NULL : made_name(c, stage, loop->var->name, "u");
    if (block->more)
        text_add(text, "%s, %s, %s = split(%s, %lld, %lld)\n", block->outer, block->more, block->lane, path,
                 (long long)block->vectors, (long long)block->lanes);
    else if (!whole)
        text_add(text, "%s, %s = split(%s, %lld)\n", block->outer, block->lane, path, (long long)block->lanes);
    if (block->row_loop < 0)
        return;
    const char *row = stage->loops[block->row_loop]->var->name;
    block->row_outer = made_name(c, stage, row, "o");
    block->row = made_name(c, stage, row, "r");
    text_add(text, "%s, %s = split(%s, %lld)\n", block->row_outer, block->row,
             loop_path(c->scratch, stage, block->row_loop), (long long)block->rows);
}

/* The user's loops, then the new ones. */
static void write_order(Completing *c, const Block *block, Text *text) {
    const NestStage *stage = block->stage;
    int first = block->row_loop < 0 ? block->lane_loop : block->row_loop, count = 0;
    const char *names[stage->loop_count + 5];
    for (int l = first; l < stage->loop_count; l++)
        if (l == block->row_loop)
            names[count++] = block->row_outer;
        else if (l != block->lane_loop)
            names[count++] = loop_path(c->scratch, stage, l);
        else if (block->outer)
            names[count++] = block->outer;
    const char *inner[] = {block->row, block->more, block->lane};
    for (int i = 0; i < 3; i++)
        if (inner[i])
            names[count++] = inner[i];
    if (block->row || block->lane_loop + 1 < stage->loop_count)
        write_list(text, "reorder(", names, count);
}

/* The innermost loop outside the sums; NULL: none. */
static const char *place_of_sums(Completing *c, const Block *block) {
    if (block->outer)
        return block->outer;
    for (int l = block->lane_loop - 1; l >= 0; l--)
        if (l == block->row_loop)
            return block->row_outer;
        else if (!block->stage->loops[l]->reduction)
            return loop_path(c->scratch, block->stage, l);
    return NULL;
}

/* The reductions inside, if they are few enough to be unrolled. Returns their number. */
static int short_sums(Completing *c, const Block *block, const char *made, const char **names) {
    const NestStage *stage = block->stage;
    int64_t copies = 1;
    int count = 0;
    for (int l = block->lane_loop + 1; l < stage->loop_count; l++) {
        int64_t extent = stage->loops[l]->extent;
        if (extent < 0 || (copies *= extent) > SUMS_LIMIT)
            return 0;
        names[count++] = arena_printf(c->scratch, "%s.%s", made, stage->loops[l]->var->name);
    }
    return count;
}

static bool add_block(Completing *c, const OpenStage *open, Block block, bool registers) {
    const NestStage *stage = block.stage;
    Text text = {.arena = c->scratch};
    const char *made = stage->stage->name, *names[stage->loop_count + 3];
    write_splits(c, &block, &text);
    write_order(c, &block, &text);
    const char *place = registers ? place_of_sums(c, &block) : NULL;
    if (registers && !place)
        return false;
    if (place) {
        made = made_name(c, stage, "", "sums");
        text_add(&text, "%s = cache_write(%s, at=%s, scope=register)\n", made, stage->stage->name, place);
        if (!block.outer)
            block.lane = arena_printf(c->scratch, "%s.%s", made, stage->loops[block.lane_loop]->var->name);
    }
    int count = choice_of(c, open, SUMS) ? short_sums(c, &block, made, names) : 0;
    if (block.row)
        names[count++] = block.row;
    if (block.more)
        names[count++] = block.more;
    write_list(&text, "unroll(", names, count);
    text_add(&text, "vectorize(%s)\n", block.lane);
    return add_legal(c, &text);
}

/* A reduction whose terms are summed in lanes, and these at the end. Its loop is the innermost one: others would come
 * to stand around it. */
static bool add_partial_sums(Completing *c, const NestStage *stage, int64_t vectors, int64_t lanes, int place) {
    int at = inner_loop(stage, stage->loop_count, true);
    Text text = {.arena = c->scratch};
    if (at < 0 || at < inner_loop(stage, stage->loop_count, false) ||
        (stage->loops[at]->extent > 0 && stage->loops[at]->extent < 2 * vectors * lanes))
        return false;
    const char *name = stage->stage->name, *loop = stage->loops[at]->var->name;
    const char *outer = made_name(c, stage, loop, "o"), *more = made_name(c, stage, loop, "u"),
               *lane = made_name(c, stage, loop, "v"), *part = made_name(c, stage, "", "part"),
               *last = made_name(c, stage, "", "lanes");
    text_add(&text, "%s, %s, %s = split(%s, %lld, %lld)\n", outer, more, lane, loop_path(c->scratch, stage, at),
             (long long)vectors, (long long)lanes);
    text_add(&text, "%s = rfactor(%s, %s, scope=register)\n", part, more, lane);
    if (place >= 0)
        text_add(&text, "compute_at(%s, %s)\n", part, loop_path(c->scratch, stage, place));
    text_add(&text, "unroll(%s)\nvectorize(%s)\n", more, lane);
    text_add(&text, "%s = rfactor(%s.%s, scope=register)\n", last, name, lane);
    if (place >= 0)
        text_add(&text, "compute_at(%s, %s)\n", last, loop_path(c->scratch, stage, place));
    text_add(&text, "unroll(%s.%s, %s.%s)\nvectorize(%s.%s)\n", last, more, name, lane, last, lane);
    return add_legal(c, &text);
}

static void add_vectors(Completing *c, const OpenStage *open) {
    const NestStage *stage = find_stage(c->nest, open->name);
    int64_t vectors = choice_of(c, open, VECTORS), rows = choice_of(c, open, ROWS);
    int lanes = stage ? stage_lanes(c->space, stage->stage) : 1;
    if (!stage || vectors == 0 || lanes < 2)
        return;
    int across = inner_loop(stage, stage->loop_count, false);
    if (choice_of(c, open, ALONG) &&
        (add_partial_sums(c, stage, vectors, lanes, across) || add_partial_sums(c, stage, vectors, lanes, -1)))
        return;
    if (across < 0)
        return;
    bool sums = has_reduction(stage);
    Block block = {.stage = stage, .lane_loop = across, .lanes = lanes, .vectors = vectors, .rows = rows};
    block.row_loop = rows > 1 && sums ? inner_loop(stage, across, false) : -1;
    if ((sums && add_block(c, open, block, true)) || add_block(c, open, block, false))
        return;
    block.row_loop = -1;
    block.vectors = 1;
    if (!sums || !add_block(c, open, block, true))
        add_block(c, open, block, false);
}

/* Keeps the buffer so many loops further out than where the stage is computed. */
static void add_window(Completing *c, const OpenStage *open) {
    const NestStage *stage = find_stage(c->nest, open->name);
    int64_t out = choice_of(c, open, WINDOW);
    Text text = {.arena = c->scratch};
    if (!stage || out == 0 || !stage->parent || stage->home != stage->parent || stage->depth - 1 - out < 0)
        return;
    text_add(&text, "store_at(%s, %s)\n", open->name,
             loop_path(c->scratch, stage->parent, stage->depth - 1 - (int)out));
    add_legal(c, &text);
}

static void add_threads(Completing *c, const OpenStage *open) {
    const NestStage *stage = find_stage(c->nest, open->name);
    int outermost = 0;
    Text text = {.arena = c->scratch};
    if (!stage || !choice_of(c, open, THREADS))
        return;
    while (outermost < stage->loop_count && stage->loops[outermost]->extent == 1)
        outermost++;
    if (outermost == stage->loop_count || stage->loops[outermost]->kind != LOOP_SERIAL)
        return;
    text_add(&text, "parallel(%s)\n", loop_path(c->scratch, stage, outermost));
    add_legal(c, &text);
}

void complete_sketch(Space *space, Group *group, const int *genes, Sketch *sketch) {
    const Completion *completion = group->details;
    Completing c = {.space = space, .group = group, .sketch = sketch, .genes = genes, .scratch = arena_new()};
    c.nest = sketch_nest(c.scratch, space, group, sketch);
    for (int s = 0; c.nest && s < completion->stages.count; s++) {
        const OpenStage *open = &completion->stages.items[s];
        add_window(&c, open);
        add_vectors(&c, open);
        add_threads(&c, open);
    }
    arena_free(c.scratch);
}
