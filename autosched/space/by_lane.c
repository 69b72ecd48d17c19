/* by_lane.c - reads whose lanes are not contiguous in memory, and the code that these become.
 *
 * Lanes along an axis are a row of memory if the index is linear in the axis, or a row with ends if it wraps around,
 * turns back, or is clamped at bounds that a mask can express. All other lanes are fetched one by one: an index is
 * taken from a vector of indices, an element is loaded and put into its place. Such code grows with the lanes and gains
 * no speed. So vectors of such reads have no more lanes than a few registers have indices, and the code counts where
 * tiles are unrolled.
 */
#include "autosched/space/groups.h"
#include "autosched/space/tile/tile.h"
#include "lang/program.h"
#include "lang/sequence.h"

enum {
    INDEX_REGISTERS = 2, /* registers of indices for a vector that is fetched lane by lane */
    INDEX_BYTES = 8,
    FETCHED_LIMIT = 384 /* most instructions for a vector: many such reads leave it fewer lanes, or one */
};

/* Whether a value does not change along the axis. */
static bool is_bound(const Expr *e, const Var *axis) {
    return !expr_uses_var(e, axis) && !expr_reads(e);
}

/* False: the index is not linear in the axis. */
static bool coefficient_of(const Expr *index, const Var *axis, int64_t *coefficient) {
    Arena *arena = arena_new();
    Affine affine;
    bool linear = expr_affine_modular(arena, (Expr *)index, &affine) && affine_coefficient(&affine, axis, coefficient);
    arena_free(arena);
    return linear;
}

static bool is_linear(const Expr *index, const Var *axis) {
    int64_t coefficient;
    return coefficient_of(index, axis, &coefficient);
}

/* Whether the index is a remainder by at least the number of lanes: by all of them, where the period is the extent. */
static bool goes_round(const Expr *index, const Var *axis, int lanes) {
    int64_t period, coefficient;
    if (index->op != OP_MOD || !coefficient_of(index->args[0], axis, &coefficient))
        return false;
    return expr_is_int(index->args[1], &period) ? period >= lanes
                                                : coefficient == 1 && expr_equal(index->args[1], axis->extent);
}

/* Whether the index goes back from an end, after at least as many lanes. */
static bool turns_back(const Expr *index, const Var *axis, int lanes) {
    int64_t number, coefficient;
    const Expr *period, *inside = reflected_index_by(index, &period);
    if (!inside || !coefficient_of(inside, axis, &coefficient) || coefficient != 1)
        return false;
    if (expr_is_int(period, &number))
        return number / 2 + 1 >= lanes;
    Arena *arena = arena_new();
    Affine rest;
    Expr *turn = expr_binary(arena, OP_MUL, expr_int(arena, 2), axis->extent);
    bool of_axis = expr_affine(arena, expr_binary(arena, OP_SUB, turn, (Expr *)period), &rest) && rest.count == 0 &&
                   rest.constant == 2;
    arena_free(arena);
    return of_axis;
}

static bool is_held(const Expr *index, const Var *axis) {
    if (index->kind != EXPR_OP || (index->op != OP_MIN && index->op != OP_MAX))
        return is_linear(index, axis);
    int side = is_bound(index->args[0], axis) ? 0 : 1;
    return is_bound(index->args[side], axis) && is_held(index->args[1 - side], axis);
}

/* Whether lanes have a known pattern: also quotients and remainders by a power of two, from a multiple of it on. */
static bool is_pattern(const Expr *index, const Var *axis, int lanes) {
    int64_t by;
    if (is_linear(index, axis) || is_bound(index, axis))
        return true;
    if (index->kind != EXPR_OP)
        return false;
    if (index->op == OP_DIV || index->op == OP_MOD)
        return expr_is_int(index->args[1], &by) && by > 0 && lanes % by == 0 && is_linear(index->args[0], axis);
    return (index->op == OP_ADD || index->op == OP_SUB || index->op == OP_MUL) &&
           is_pattern(index->args[0], axis, lanes) && is_pattern(index->args[1], axis, lanes);
}

/* Lanes of a column are fetched one by one too, unless blocks of columns are transposed. */
typedef enum LanesKind { LANES_ROW, LANES_ENDS, LANES_COLUMN, LANES_SINGLE } LanesKind;

/* How an index of the last dimension lies along the axis. */
static LanesKind index_kind(const Target *target, const Expr *index, const Var *axis, int lanes, int bytes) {
    if (is_pattern(index, axis, lanes))
        return LANES_ROW;
    if (expr_reads(index) || !target_masks(target, bytes) || index->kind != EXPR_OP)
        return LANES_SINGLE;
    bool ends = goes_round(index, axis, lanes) || turns_back(index, axis, lanes) || is_held(index, axis);
    return ends ? LANES_ENDS : LANES_SINGLE;
}

static LanesKind read_kind(const Target *target, const Expr *read, const Var *axis, int lanes) {
    int bytes = element_info[read->type].bytes, last = read->count - 1;
    LanesKind kind = LANES_ROW;
    for (int d = 0; d <= last; d++) {
        const Expr *index = read->args[d];
        if (!expr_uses_var(index, axis))
            continue;
        LanesKind own = index_kind(target, index, axis, lanes, bytes);
        if (d < last)
            own = own == LANES_ROW ? LANES_COLUMN : LANES_SINGLE;
        kind = own > kind ? own : kind;
    }
    return kind;
}

bool read_is_row_with_ends(const Target *target, const Expr *read, const Var *axis, int lanes) {
    return read_kind(target, read, axis, lanes) == LANES_ENDS;
}

typedef struct LaneCode {
    const Target *target;
    const Var *axis;
    int lanes;
    bool single;          /* some read is fetched lane by lane */
    int64_t instructions; /* for such reads, and for rows with ends */
    int64_t fetched;      /* for such reads that no instruction gathers */
    int64_t columns;      /* for columns: they cost as much if such reads prevent transposed blocks */
} LaneCode;

/* The instructions that compute an index for each lane, but for those of the reads in it, which count by themselves. */
static int64_t index_instructions(const LaneCode *code, const Expr *index) {
    int registers = code->lanes * INDEX_BYTES / (code->target->vector_bytes ? code->target->vector_bytes : INDEX_BYTES);
    int64_t instructions = 0;
    int64_t each = (registers > 1 ? registers : 1) * (code->target->masked_bytes > 0 ? 1 : SEQUENCE_EMULATED);
    EACH_EXPR(e, index) {
        bool divides = e->kind == EXPR_OP && (e->op == OP_DIV || e->op == OP_MOD);
        if (e->kind == EXPR_READ || !expr_uses_var(e, code->axis))
            SKIP_BELOW(e);
        else if (e->kind == EXPR_OP)
            instructions += divides ? SEQUENCE_DIVIDED * code->lanes : each;
    }
    return instructions;
}

static void add_read(LaneCode *code, const Expr *read) {
    LanesKind kind = read_kind(code->target, read, code->axis, code->lanes);
    bool gathers = target_gathers(code->target, element_info[read->type].bytes);
    int64_t own = gathers ? code->lanes : SEQUENCE_FETCHED * code->lanes;
    if (kind == LANES_ENDS)
        code->instructions += SEQUENCE_ENDS;
    if (kind == LANES_COLUMN)
        code->columns += own;
    if (kind != LANES_SINGLE)
        return;
    for (int d = 0; d < read->count; d++)
        own += index_instructions(code, read->args[d]);
    code->single = true;
    code->instructions += own;
    code->fetched += gathers ? 0 : own;
}

static LaneCode lane_code(const Target *target, const Stage *stage, const Var *axis, int lanes) {
    LaneCode code = {.target = target, .axis = axis, .lanes = lanes};
    if (lanes <= 1)
        return code;
    EACH_VALUE_READ(read, stage)
        if (expr_uses_var(read, axis))
            add_read(&code, read);
    if (code.single) {
        code.instructions += code.columns;
        code.fetched += code.columns;
    }
    return code;
}

int stage_lanes_along(const Target *target, const Stage *stage, const Var *axis, int lanes) {
    int few = INDEX_REGISTERS * target->vector_bytes / INDEX_BYTES;
    if (lanes > few && few > 0 && lane_code(target, stage, axis, lanes).single)
        lanes = few;
    while (lanes > 1 && lane_code(target, stage, axis, lanes).fetched > FETCHED_LIMIT)
        lanes /= 2;
    return lanes;
}

int64_t stage_lane_code(const Target *target, const Stage *stage, const Var *axis, int lanes) {
    return lane_code(target, stage, axis, lanes).instructions;
}
