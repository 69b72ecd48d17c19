/* groups.h - how a space is made: its groups, their chains, cases, tile sizes and statements. Private to
 * autosched/space. */
#ifndef AUTOSCHED_SPACE_GROUPS_H
#define AUTOSCHED_SPACE_GROUPS_H

#include "autosched/space/space.h"

/* What a choice with a start of its own must gain by the estimate, which is rough: blocks of a reduction, rules. */
#define NEEDED_GAIN 1.1

/* Groups that are computed at the outer loops of a group that reads them (chain.c). */
enum { CHAIN_AXES = 4, CHAIN_PRODUCERS = 3 };
typedef struct ChainAxis {
    int axis;                  /* of the root */
    int64_t step;              /* elements of a block; 1: the axis itself */
    const char *outer, *inner; /* the root's loops: over the blocks, and inside one */
    int dims[CHAIN_PRODUCERS]; /* the same axis of each producer, which computes one value of it in a block */
} ChainAxis;
typedef struct Chain {
    const Stage *root;
    int count;
    ChainAxis axes[CHAIN_AXES]; /* outermost first */
    int producer_count;
    const Stage *producers[CHAIN_PRODUCERS];
} Chain;

/* --- how a space is made --- */

/* A space with a border behind the stage, without rules of the source: its groups are asked for. */
Space *space_new_with_border(Arena *arena, const Program *program, const Target *target, int stage);
/* Divides the stages into groups and adds the inline statements. */
void space_make_groups(Space *space);
/* Members share the first depth axes of the root. anchor: one that is computed a block of rows at a time, or NULL;
 * product: one that is computed from the block's rows, or NULL. */
void row_group_new(Space *space, Group *group, int depth, const Stage *anchor, const Stage *product);
/* rule.c: the rules of the program that hold for the roots of groups become further sketches of these. */
void space_add_rules(Space *space);
/* The rule that the genes of a group choose; NULL: none. */
const char *group_rule(const Group *group, const int *genes);
/* flat.c: a group of stages that are computed element by element in one order, in short rows or with run-time sizes. */
void flat_group_new(Space *space, Group *group);
bool group_is_flat(Space *space, const Group *group);
/* Looks for chains among the groups and adds their statements. Groups that were made before do not know them. */
bool space_find_chains(Space *space);
/* The chain that the stage is the root of, or else a producer in; NULL: none. */
const Chain *chain_of(const Space *space, const Stage *stage, int *producer);
/* The chain's data about an axis of that stage; NULL: none. chain may be NULL. */
const ChainAxis *chain_axis(const Chain *chain, int producer, int axis);
int group_add_gene(Space *space, Group *group, Gene gene);
/* What the rules ask of stages (stage.c). */
bool stage_has_reuse(const Stage *stage);
typedef struct OperationCount {
    int operations, expensive;
} OperationCount;
/* Integer operations that only compute places do not count. */
OperationCount stage_operations(const Expr *e);
/* Whether a read along the axis may be beyond the tensor's ends: its index is made one inside by arithmetic (else edge,
 * wrap, reflect), or, if that is asked for, it has another value there. */
bool read_may_be_outside(const Expr *read, const Var *axis, bool otherwise);
/* Whether the first `depth` indices of a read are the stage's first axes. */
bool stage_shares_axes(const Stage *stage, const Expr *read, int depth);
/* Whether every index is a different axis. */
bool stage_reads_elementwise(const Stage *stage, const Expr *read);
bool stage_uses_axis(const Stage *stage, const Expr *e);
bool stage_uses_reduction(const Stage *stage, const Expr *e);
/* Whether a condition of the program reads it. */
bool stage_is_required(const Program *program, const Stage *stage);
/* Whether it reads what a caller's buffer held: then it is computed before anything is stored there. */
bool stage_reads_initial(const Stage *stage);
/* Whether the read has each axis of the stage as an index, in order, and nothing else. */
bool reads_own_element(const Stage *stage, const Expr *read);
/* Whether the tensor is given with the program, or made from such tensors alone. */
bool tensor_is_given(const Space *space, const Tensor *tensor);
/* A reduction whose terms are chosen, for each element, by conditions read from memory: no two elements share loops. */
bool stage_is_ragged(const Stage *stage);
/* Whether conditions read from memory choose other terms for each value of the axis; axis may be a reduction. */
bool stage_is_ragged_along(const Stage *stage, const Var *axis);
/* Whether they deal out the same terms to the values of the axis, as those of a sparse matrix to its rows: a(p) for
 * p in row(i):row(i + 1), not a(i, p). */
bool stage_deals_out(const Stage *stage, const Var *axis);
/* Whether one reduction begins or ends where another one says, by what is read: it must stay inside that one. */
bool stage_orders_reductions(const Stage *stage);
/* A reduction along contiguous memory that reuses nothing along two axes: better in vectors of partial results than in
 * a tile of elements. */
bool stage_is_row_reduction(const Space *space, const Stage *stage);
/* Reductions of elements that are neighbours in all that is read, each along something else: vectors of neighbours
 * win. */
bool stage_is_column_reduction(const Space *space, const Stage *stage);
/* Whether all that it reads is contiguous along its last reduction. */
bool stage_reduces_along_memory(const Stage *stage);
enum { FEW_SUMS = 4 }; /* values of a run-time size for which a product is sums along memory */
/* How much code an evaluation of its value becomes (weight.c), relative to a multiply-add: 1 or more. */
int64_t stage_weight(const Stage *stage, const Target *target);
/* by_lane.c: how few lanes of a stage's vectors along an axis are worth while when a read is fetched lane by lane; and
 * how many instructions such reads and rows with ends become. */
int stage_lanes_along(const Target *target, const Stage *stage, const Var *axis, int lanes);
int64_t stage_lane_code(const Target *target, const Stage *stage, const Var *axis, int lanes);
/* Whether lanes along the axis are a row of memory that goes round, or stops at bounds. */
bool read_is_row_with_ends(const Target *target, const Expr *read, const Var *axis, int lanes);
/* How often the group runs: the steps of its scan, 1 without one, -1 when not constant. */
int64_t group_steps(const Group *group);
/* Whether the axis counts the steps of the scan that computes the group's root. */
bool is_steps_axis(const Group *group, const Stage *stage, int axis);
const char *steps_loop(Space *space, const Group *group); /* "scan.t" */
/* Whether the program is a version for a run-time size up to a limit. */
bool has_limited_size(const Space *space);
/* The extent when it is constant, else -1. */
int64_t axis_extent(const Var *axis);
double axis_assumed_extent(const Var *axis);       /* of a run-time size one that is usual */
int compare_numbers(const void *a, const void *b); /* of stages, for qsort and bsearch */
/* A name derived from base that no tensor, size or index of the program has. */
const char *space_local_name(Space *space, const Group *group, const char *base);

/* --- cases (case.c): a == 0 ? ... : a == 1 ? ... --- */

/* How many values of an axis stand together, each a case that the stage's value chooses by the axis; 0: no cases. */
int64_t case_period(const Stage *stage, int axis);
bool stage_has_cases(const Stage *stage);
/* The same, with the choices that the group's members make by it. root: as the nest has it. */
int64_t group_case_period(Space *space, const Group *group, const Stage *root, int axis);
/* Whether the stage reads the producer at constants and axes alone: a tile of cases needs a small part of it. */
bool reads_by_cases(const Stage *stage, const Stage *producer);
/* Whether inlining would put the producer's cases in the middle of an axis: x / 2 % 4 is not decided by a tile. */
bool loses_cases(Space *space, const Stage *consumer, const Stage *producer);
/* Whether each element is read at most once: every axis and reduction of the stage is an index, or two (x / 4, x %
 * 4). */
bool read_is_injective(const Stage *stage, const Expr *read);
/* The place where a tile of cases computes what it reads. */
typedef struct CasePlace {
    const Stage *root;
    const char *loop;
    const Var *vector; /* the root's vector axis, or NULL */
    int lanes;
} CasePlace;
/* Computes the members that the root reads in registers at the place. False: one has no lanes there. */
bool emit_producers(Space *space, const Group *group, Sketch *sketch, const CasePlace *place);

/* --- pipelines (pipeline.c, pipeline_emit.c) --- */

/* Finds the pipelines of a program without scans. */
void space_find_pipelines(Space *space);
/* The pipeline that a stage is in; NULL: none. */
Pipeline *pipeline_of(const Space *space, int stage);
/* Makes the groups of pipelines, once the other groups are made. They come after these. */
void space_add_pipelines(Space *space);
void pipeline_group_new(Space *space, Group *group, const Pipeline *pipeline);

/* --- parts of a program (part.c) --- */

/* Starts with the stages unchanged. */
void space_keep_stages(Space *space);
/* Keeps the stages as they are now for the groups of pipelines, which inline for themselves. */
void space_keep_apart(Space *space);
/* Inlines a stage, by the given statement, into so many readers. False: not legal. */
bool space_inline(Space *space, const Prim *prim, int stage, const int *readers, int count);
/* Whether the statement is legal for a stage of a scan, beside what is said of the scan already. */
bool scan_allows(Space *space, const Prim *prim, int stage);
/* Whether a stage of a scan is computed in its steps: no common statement takes it out. */
bool stays_in_scan(const Space *space, const Stage *stage);
/* Adds a statement that comes before those of all groups. */
void add_common(Space *space, const Prim *prim);
/* Leaves so many of them. */
void cut_common(Space *space, int count);
/* The common statements that a group's nests need which are built from that part; with room for so many more. */
Schedule part_schedule(Arena *arena, const Space *space, const Program *part, int more);
/* The nest of the whole program under the common statements alone; NULL: they are not legal together. */
const Nest *common_nest(Arena *arena, Space *space);

/* --- tables of tile sizes (factors.c) --- */

/* Pairs (middle, inner) for a loop of an extent (-1: unknown), inner <= limit. Writes the gene's count and values. */
void factors_tile(Arena *arena, int64_t extent, int64_t limit, Gene *gene);
/* Inner sizes of one period alone, outside any register tile. */
void factors_cases(Arena *arena, int64_t extent, int64_t period, Gene *gene);
/* Single inner sizes. */
void factors_single(Arena *arena, int64_t extent, int64_t limit, Gene *gene);
int64_t ceil_divide(int64_t value, int64_t by);
/* Work done divided by work needed, 1 or more, when a loop of an extent is cut into pieces of a size. */
double tile_waste(int64_t extent, int64_t size);

/* --- statements (sketch.c) --- */

/* The next hole of the sketch: part `part` of a gene of the group. */
PrimArg arg_gene(Space *space, Sketch *sketch, int gene, int part);
/* name / value or name % value */
PrimArg arg_op(Space *space, const char *name, char op, int64_t value);
/* The next hole of the sketch, from any source; and its value. */
PrimArg arg_source(Space *space, Sketch *sketch, HoleSource source);
int64_t hole_value(const Group *group, HoleSource source, int choice);
/* arg_op with such a hole in place of value. */
PrimArg arg_op_gene(Space *space, Sketch *sketch, const char *name, char op, HoleSource source);
PrimArg arg_keyed(PrimArg arg, const char *key);
const char *loop_path(const Space *space, const char *stage, const char *loop); /* "stage.loop" */
void sketch_add(Space *space, Sketch *sketch, PrimOp op, int results, const char *const *names, int count,
                const PrimArg *args);
/* Adds op(names...) without results: reorder, vectorize, unroll, parallel. Nothing when count is 0. */
void sketch_loops(Space *space, Sketch *sketch, PrimOp op, const char *const *names, int count);
/* Adds statements as text: %s a name, %d a number, %g a hole for the first part of a gene. They become statements of
 * the sketch when it is read, before any that are added by other means. */
void sketch_write(Space *space, Sketch *sketch, const char *format, ...);
void sketch_read(Space *space, Sketch *sketch);
/* The nest of the sketch as far as it is written, at the starting choices; NULL when refused. */
Nest *sketch_nest(Arena *arena, Space *space, Group *group, const Sketch *sketch);

#endif
