/* pipeline_emit.c - the group of a pipeline: its root's loops in strips, and where each other stage is computed.
 *
 * The root's loops, from the outside in:
 *
 *    strip (parallel), tile, other axes, rows of a strip, vectors of a row,
 *    reductions, register rows and vectors, lanes
 *
 * Every other stage has a place: it is inlined, or computed whole (root), for a strip, for a tile of a strip, for the
 * next row of a strip, where it keeps what earlier rows computed (a sliding window), or for a register tile. A place is
 * at most as far inside as those of the stages that read it. The stage has its own register rows and vectors there.
 * Sums are kept in registers. Where reads beyond a tensor's ends are tested, the first and the last vectors of rows are
 * cut off.
 */
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

#include <string.h>

enum { STRIP_MOST = 256, TILE_VECTORS = 64, ROWS_MOST = 4, VECTORS_MOST = 8, START_ROWS = 16 };
enum { CODE_LIMIT = 64 /* weight of all vectors of a register tile */ };
enum { INSIDE_MOST = 4 /* values of other axes in a register tile */ };

/* From the outside in; the order counts. */
typedef enum Place { PLACE_ROOT, PLACE_STRIP, PLACE_TILE, PLACE_ROW, PLACE_REGISTERS, PLACE_INLINE, PLACE_COUNT } Place;

typedef struct PipelineMember {
    const Stage *stage, *value; /* value: with what is part of it alone */
    int vector, row; /* axes; row: -1 where there is one axis */
    int lanes;
    bool shorter; /* the lanes are fewer than registers have, as some are fetched one by one */
    int64_t code; /* weight of a vector */
    bool tests; /* it reads beyond the ends of rows: the first and the last vectors of a row need tests */
    int rows_gene, vectors_gene; /* of its register tile; rows: -1 without a row axis */
    int place_gene;              /* -1: the root */
    int place_count;
    Place places[PLACE_COUNT];
    const char *outer, *inner, *lane, *row_outer, *row_inner, *sum; /* local names */
} PipelineMember;

typedef struct Strips {
    int count; /* the last one is the root */
    PipelineMember *members;
    int strip_gene, tiled_gene, tile_gene, parallel_gene;
    int inside_gene; /* 1: the root's axes besides rows and vectors are in its register tile; -1: they are not few */
    const char *strip, *tile; /* the root's loops over strips and tiles */
} Strips;

enum { CHOSEN_GENE }; /* 0: apart, 1: in strips */

/* --- axes --------------------------------------------------------------------------------------------------------- */

/* The last axis that fills vectors, or the last one. */
static int vector_axis(const Stage *stage, int lanes) {
    for (int a = stage->axis_count - 1; a >= 0; a--)
        if (2 * axis_assumed_extent(stage->axes[a]) >= lanes)
            return a;
    return stage->axis_count - 1;
}

/* The longest other axis; -1: there is none. */
static int row_axis(const Stage *stage, int vector) {
    int row = -1;
    for (int a = 0; a < stage->axis_count; a++)
        if (a != vector && (row < 0 || axis_assumed_extent(stage->axes[a]) > axis_assumed_extent(stage->axes[row])))
            row = a;
    return row;
}

static const char *loop_of(const Space *space, const Stage *stage, const Var *axis) {
    return loop_path(space, stage->name, axis->name);
}

/* Values of the other axes together, if they are few; 1: they are not, or there are none. */
static int64_t axes_inside(const PipelineMember *member) {
    int64_t values = 1;
    for (int a = 0; a < member->stage->axis_count; a++)
        if (a != member->vector && a != member->row) {
            int64_t extent = axis_extent(member->stage->axes[a]);
            values = extent < 1 || values * extent > INSIDE_MOST ? INSIDE_MOST + 1 : values * extent;
        }
    return values <= INSIDE_MOST ? values : 1;
}

/* --- genes -------------------------------------------------------------------------------------------------------- */

/* Powers of two up to a limit and to the first one that covers the extent. start: the value to start with. */
static int add_powers(Space *space, Group *group, const char *name, int64_t extent, int64_t limit, int64_t start,
                      int tile) {
    LIST(int64_t) values = {0};
    for (int64_t value = 1; value <= limit && (value == 1 || extent < 0 || value / 2 < extent); value *= 2)
        list_push(space->arena, &values, value);
    Gene gene = {.name = name,
                 .kind = GENE_TILE,
                 .width = 1,
                 .values = values.items,
                 .count = values.count,
                 .register_part = tile ? 0 : -1,
                 .unroll_part = -1,
                 .tiles = tile};
    while (gene.start + 1 < gene.count && values.items[gene.start + 1] <= start)
        gene.start++;
    return group_add_gene(space, group, gene);
}

static int add_choice(Space *space, Group *group, GeneKind kind, const char *name, int count, int start) {
    Gene gene = {.name = name, .kind = kind, .structural = true, .count = count, .start = start};
    return group_add_gene(space, group, gene);
}

/* The register tile of a member. Genes of each tile have its number, from 1 on. Rows of a run-time size would pay for
 * their ends. */
static void make_tile(Space *space, Group *group, PipelineMember *member, int number) {
    const Stage *stage = member->stage;
    Arena *arena = space->arena;
    int64_t extent = axis_extent(stage->axes[member->vector]);
    int64_t rows = member->row < 0 ? 1 : axis_extent(stage->axes[member->row]);
    int64_t most = member->code < CODE_LIMIT ? CODE_LIMIT / member->code : 1;
    member->rows_gene = member->row < 0 ? -1
                                        : add_powers(space, group, arena_printf(arena, "%s rows", stage->name), rows,
                                                     rows < 0 || most < ROWS_MOST ? 1 : ROWS_MOST, 1, number);
    member->vectors_gene =
        add_powers(space, group, arena_printf(arena, "%s vectors", stage->name),
                   extent < 0 ? -1 : ceil_divide(extent, member->lanes),
                   most < VECTORS_MOST ? most : VECTORS_MOST, 2, number);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

/* Whether all members that read the stage read it for their own elements. */
static bool only_own_elements(const Strips *strips, const Stage *stage) {
    for (int m = 0; m < strips->count; m++) {
        EACH_STAGE_READ(read, strips->members[m].value)
            if (stage_writes(stage, read->tensor) && !reads_own_element(strips->members[m].value, read))
                return false;
    }
    return true;
}

/* The places that a member may have; the one to start with is the rule's: inlined where the other groups inline it, in
 * registers where that needs no other loops, else once a strip. */
static void make_places(Space *space, Group *group, const Strips *strips, PipelineMember *member) {
    const Stage *stage = member->stage;
    bool inlined = space->inlined[program_stage_index(space->program, stage)];
    bool own = only_own_elements(strips, stage), rows = strips->members[strips->count - 1].row >= 0;
    const bool allowed[PLACE_COUNT] = {[PLACE_ROOT] = true,
                                       [PLACE_STRIP] = true,
                                       [PLACE_TILE] = rows,
                                       [PLACE_ROW] = rows,
                                       [PLACE_REGISTERS] = own,
                                       [PLACE_INLINE] = stage->combine == COMBINE_NONE};
    Place wanted = inlined ? PLACE_INLINE : own && stage->combine != COMBINE_NONE ? PLACE_REGISTERS : PLACE_STRIP;
    int start = 0;
    for (Place place = PLACE_ROOT; place < PLACE_COUNT; place++) {
        if (!allowed[place])
            continue;
        start = place == wanted ? member->place_count : start;
        member->places[member->place_count++] = place;
    }
    member->place_gene = add_choice(space, group, GENE_PLACE, arena_printf(space->arena, "%s place", stage->name),
                                    member->place_count, start);
}

static bool reads_member(const Stage *reader, const Stage *stage) {
    return stage_uses_tensor(reader, stage->components[0].tensor);
}

/* The places at a point: no farther inside than those of the readers, through inlined ones. */
static void find_places(const Strips *strips, const int *genes, Place *places) {
    Place reach[strips->count];
    bool tiled = genes[strips->tiled_gene] == 1;
    for (int m = strips->count - 1; m >= 0; m--) {
        const PipelineMember *member = &strips->members[m];
        Place limit = PLACE_REGISTERS;
        for (int r = m + 1; r < strips->count; r++)
            if (reads_member(strips->members[r].value, member->stage) && reach[r] < limit)
                limit = reach[r];
        Place place = member->place_gene < 0 ? PLACE_REGISTERS : member->places[genes[member->place_gene]];
        reach[m] = place == PLACE_INLINE || place > limit ? limit : place;
        if (reach[m] == PLACE_TILE && !tiled)
            reach[m] = PLACE_STRIP;
        places[m] = place == PLACE_INLINE ? place : reach[m];
    }
}

/* --- statements --------------------------------------------------------------------------------------------------- */

typedef struct Writer {
    Space *space;
    Sketch *sketch;
    const Strips *strips;
    const int *genes;
    const Place *places;
} Writer;

static bool tests_ends(const Stage *stage, const Var *axis) {
    EACH_STAGE_READ(read, stage)
        if (read_may_be_outside(read, axis, true))
            return true;
    return false;
}

/* Cuts off the ends of rows, where the member or what is computed in its loops tests indices, so that all other vectors
 * need no test. */
static void write_ends(const Writer *writer, const PipelineMember *member) {
    const Strips *strips = writer->strips;
    bool tests = member->tests;
    for (int m = 0; m + 1 < strips->count; m++)
        tests |= strips->members[m].tests &&
                 (writer->places[m] == PLACE_INLINE || writer->places[m] == PLACE_REGISTERS);
    if (tests && member->row >= 0)
        sketch_write(writer->space, writer->sketch, "partition(%s, 1, -1)\n", member->outer);
}

static void write_reductions(const Writer *writer, const PipelineMember *member) {
    for (int r = 0; r < member->stage->reduction_count; r++)
        sketch_write(writer->space, writer->sketch, ", %s",
                     loop_of(writer->space, member->stage, member->stage->reductions[r]));
}

/* Before each or after each stands a comma. */
static void write_other_axes(const Writer *writer, const PipelineMember *member, bool before) {
    for (int a = 0; a < member->stage->axis_count; a++)
        if (a != member->vector && a != member->row)
            sketch_write(writer->space, writer->sketch, before ? ", %s" : "%s, ",
                         loop_of(writer->space, member->stage, member->stage->axes[a]));
}

/* Whether the other axes of a member, channels of an image say, are in its register tile: what is computed in registers
 * for one of them serves all. */
static bool has_axes_inside(const Writer *writer, const PipelineMember *member) {
    const Strips *strips = writer->strips;
    return member == &strips->members[strips->count - 1] && strips->inside_gene >= 0 &&
           writer->genes[strips->inside_gene] == 1;
}

/* What is inside of the last loop over memory: vectorized, unrolled, its sums in registers. */
static void write_register_tile(const Writer *writer, const PipelineMember *member) {
    Space *space = writer->space;
    sketch_write(space, writer->sketch, "vectorize(%s)\nunroll(%s", member->lane, member->inner);
    if (member->row >= 0)
        sketch_write(space, writer->sketch, ", %s", member->row_inner);
    write_reductions(writer, member);
    if (has_axes_inside(writer, member))
        write_other_axes(writer, member, true);
    sketch_write(space, writer->sketch, ")\n");
    if (member->stage->combine != COMBINE_NONE)
        sketch_write(space, writer->sketch, "%s = cache_write(%s, at=%s, scope=register)\n", member->sum,
                     member->stage->name, member->outer);
}

/* The rest of a reorder(), from the member's loops over memory on, and its register tile. */
static void write_inner_loops(const Writer *writer, const PipelineMember *member) {
    Space *space = writer->space;
    bool inside = has_axes_inside(writer, member);
    if (!inside)
        write_other_axes(writer, member, false);
    if (member->row >= 0)
        sketch_write(space, writer->sketch, "%s, ", member->row_outer);
    sketch_write(space, writer->sketch, "%s", member->outer);
    write_reductions(writer, member);
    if (inside)
        write_other_axes(writer, member, true);
    if (member->row >= 0)
        sketch_write(space, writer->sketch, ", %s", member->row_inner);
    sketch_write(space, writer->sketch, ", %s, %s)\n", member->inner, member->lane);
    write_register_tile(writer, member);
    write_ends(writer, member);
}

/* The root: strips of rows, or of a single axis, and tiles of them. */
static void write_root(const Writer *writer) {
    Space *space = writer->space;
    Sketch *sketch = writer->sketch;
    const Strips *strips = writer->strips;
    const PipelineMember *root = &strips->members[strips->count - 1];
    bool tiled = writer->genes[strips->tiled_gene] == 1 || root->row < 0;
    const char *vector = loop_of(space, root->stage, root->stage->axes[root->vector]);
    const char *tile = root->row < 0 ? strips->strip : strips->tile;
    if (root->row >= 0)
        sketch_write(space, sketch, "%s, %s, %s = split(%s, %g, %g)\n", strips->strip, root->row_outer, root->row_inner,
                     loop_of(space, root->stage, root->stage->axes[root->row]), strips->strip_gene, root->rows_gene);
    if (tiled)
        sketch_write(space, sketch, "%s, %s, %s, %s = split(%s, %g, %g, %d)\n", tile, root->outer, root->inner,
                     root->lane, vector, strips->tile_gene, root->vectors_gene, root->lanes);
    else
        sketch_write(space, sketch, "%s, %s, %s = split(%s, %g, %d)\n", root->outer, root->inner, root->lane, vector,
                     root->vectors_gene, root->lanes);
    sketch_write(space, sketch, "reorder(%s, ", strips->strip);
    if (tiled && root->row >= 0)
        sketch_write(space, sketch, "%s, ", strips->tile);
    write_inner_loops(writer, root);
    if (space->target->threads != 1 && writer->genes[strips->parallel_gene] == 1)
        sketch_write(space, sketch, "parallel(%s)\n", strips->strip);
}

/* A member in the registers of the root's tile: all loops unrolled. */
static void write_in_registers(const Writer *writer, const PipelineMember *member) {
    Space *space = writer->space;
    Sketch *sketch = writer->sketch;
    const Stage *stage = member->stage;
    sketch_write(space, sketch, "%s, %s = split(%s, %d)\nreorder(", member->inner, member->lane,
                 loop_of(space, stage, stage->axes[member->vector]), member->lanes);
    for (int r = 0; r < stage->reduction_count; r++)
        sketch_write(space, sketch, "%s, ", loop_of(space, stage, stage->reductions[r]));
    write_other_axes(writer, member, false);
    if (member->row >= 0)
        sketch_write(space, sketch, "%s, ", loop_of(space, stage, stage->axes[member->row]));
    sketch_write(space, sketch, "%s, %s)\nvectorize(%s)\nunroll(%s", member->inner, member->lane, member->lane,
                 member->inner);
    write_reductions(writer, member);
    for (int a = 0; a < stage->axis_count; a++)
        if (a != member->vector)
            sketch_write(space, sketch, ", %s", loop_of(space, stage, stage->axes[a]));
    sketch_write(space, sketch, ")\n");
}

/* A member in loops of its own, at a loop of the root or at root. */
static void write_in_loops(const Writer *writer, const PipelineMember *member, bool parallel) {
    Space *space = writer->space;
    Sketch *sketch = writer->sketch;
    const Stage *stage = member->stage;
    if (member->row >= 0)
        sketch_write(space, sketch, "%s, %s = split(%s, %g)\n", member->row_outer, member->row_inner,
                     loop_of(space, stage, stage->axes[member->row]), member->rows_gene);
    sketch_write(space, sketch, "%s, %s, %s = split(%s, %g, %d)\nreorder(", member->outer, member->inner, member->lane,
                 loop_of(space, stage, stage->axes[member->vector]), member->vectors_gene, member->lanes);
    write_inner_loops(writer, member);
    bool first = member->row == 0 || (member->row > 0 && stage->axis_count == 2);
    if (parallel)
        sketch_write(space, sketch, "parallel(%s)\n",
                     first             ? member->row_outer
                     : member->row < 0 ? member->outer
                                       : loop_of(space, stage, stage->axes[member->vector == 0]));
}

static void write_member(const Writer *writer, const PipelineMember *member, Place place) {
    Space *space = writer->space;
    Sketch *sketch = writer->sketch;
    const Strips *strips = writer->strips;
    const PipelineMember *root = &strips->members[strips->count - 1];
    const char *name = member->stage->name;
    const char *loops[PLACE_COUNT] = {NULL, strips->strip, strips->tile, root->row_outer, root->outer, NULL};
    if (place == PLACE_REGISTERS)
        sketch_write(space, sketch, "compute_at(%s, %s, scope=register)\n", name, loops[place]);
    else if (place != PLACE_ROOT)
        sketch_write(space, sketch, "compute_at(%s, %s)\n", name, loops[place]);
    if (place == PLACE_ROW)
        sketch_write(space, sketch, "store_at(%s, %s)\n", name,
                     writer->genes[strips->tiled_gene] ? strips->tile : strips->strip);
    if (place == PLACE_REGISTERS)
        write_in_registers(writer, member);
    else
        write_in_loops(writer, member,
                       place == PLACE_ROOT && space->target->threads != 1 && writer->genes[strips->parallel_gene]);
}

/* Readers are placed before what they read. */
static bool strips_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    const Strips *strips = group->details;
    Place places[strips->count];
    Writer writer = {space, sketch, strips, genes, places};
    for (int g = 0; g < group->genes.count && genes[CHOSEN_GENE] == 0; g++)
        sketch->active[g] = g == CHOSEN_GENE;
    if (genes[CHOSEN_GENE] == 0)
        return true;
    find_places(strips, genes, places);
    if (strips->inside_gene >= 0 && genes[strips->inside_gene] == 1)
        sketch->copies = axes_inside(&strips->members[strips->count - 1]);
    for (int m = 0; m + 1 < strips->count; m++)
        if (places[m] == PLACE_INLINE)
            sketch_write(space, sketch, "inline(%s)\n", strips->members[m].stage->name);
    for (int m = 0; m < strips->count; m++)
        sketch->shorter |= places[m] != PLACE_INLINE && strips->members[m].shorter;
    write_root(&writer);
    for (int m = strips->count - 2; m >= 0; m--)
        if (places[m] != PLACE_INLINE)
            write_member(&writer, &strips->members[m], places[m]);
    sketch_read(space, sketch);
    return true;
}

/* --- the group ---------------------------------------------------------------------------------------------------- */

static void make_member(Space *space, Group *group, const Stage *stage, int number, PipelineMember *member) {
    const Stage *value = space->apart[program_stage_index(space->program, stage)];
    int whole = stage_lanes(space, stage);
    *member = (PipelineMember){.stage = stage, .value = value, .place_gene = -1};
    member->vector = vector_axis(stage, whole);
    member->row = row_axis(stage, member->vector);
    member->tests = tests_ends(value, value->axes[member->vector]);
    member->lanes = 1;
    const Var *axis = value->axes[member->vector];
    int lanes = stage_lanes_along(space->target, value, axis, whole);
    member->shorter = lanes < whole;
    while (member->lanes < lanes && member->lanes < axis_assumed_extent(stage->axes[member->vector]))
        member->lanes *= 2;
    const char *const endings[] = {"o", "i", "v", "ro", "ri", "sum"};
    const char **const names[] = {&member->outer,     &member->inner,     &member->lane,
                                  &member->row_outer, &member->row_inner, &member->sum};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        *names[n] = space_local_name(space, group, arena_printf(space->arena, "%s_%s", stage->name, endings[n]));
    member->code = stage_weight(value, space->target) + stage_lane_code(space->target, value, axis, member->lanes);
    make_tile(space, group, member, number);
}

void pipeline_group_new(Space *space, Group *group, const Pipeline *pipeline) {
    Strips *strips = ARENA_NEW(space->arena, Strips);
    Arena *arena = space->arena;
    const char *name = group->root->name;
    group->details = strips;
    group->emit = strips_emit;
    group->tile_count = strips->count = pipeline->count;
    strips->members = ARENA_ARRAY(arena, PipelineMember, pipeline->count);
    ENSURE(add_choice(space, group, GENE_STRUCTURE, arena_printf(arena, "%s pipeline", name), 2, 0) == CHOSEN_GENE);
    for (int m = 0; m < pipeline->count; m++)
        make_member(space, group, group->stages[m], m + 1, &strips->members[m]);
    for (int m = 0; m + 1 < pipeline->count; m++)
        make_places(space, group, strips, &strips->members[m]);
    const PipelineMember *root = &strips->members[pipeline->count - 1];
    int64_t vectors = axis_extent(root->stage->axes[root->vector]);
    strips->strip_gene = root->row < 0
                             ? -1
                             : add_powers(space, group, arena_printf(arena, "%s strip", name),
                                          axis_extent(root->stage->axes[root->row]), STRIP_MOST, START_ROWS, 0);
    strips->tiled_gene =
        add_choice(space, group, GENE_ORDER, arena_printf(arena, "%s tiled", name), root->row < 0 ? 1 : 2, 0);
    strips->tile_gene = add_powers(space, group, arena_printf(arena, "%s tile", name),
                                   vectors < 0 ? -1 : ceil_divide(vectors, root->lanes), TILE_VECTORS, 16, 0);
    double work = group_work(group);
    strips->parallel_gene = add_choice(space, group, GENE_PARALLEL, arena_printf(arena, "%s parallel", name), 2,
                                       work < 0 || work >= space->target->machine->fork_operations);
    bool inside = root->row >= 0 && root->stage->reduction_count == 0 && axes_inside(root) > 1;
    strips->inside_gene =
        inside ? add_choice(space, group, GENE_ORDER, arena_printf(arena, "%s axes inside", name), 2, 0) : -1;
    strips->strip = space_local_name(space, group, "strip");
    strips->tile = space_local_name(space, group, "tile");
}
