/* ends.c - stencils that read the edge, wrap around or reflect: the first and the last tiles along the lanes get
 * code of their own, so that vectors of the others are contiguous.
 *
 * How many tiles that is follows from the reach of the reads. Around the middle of an axis, the minimum, maximum or
 * remainder in an index is one of its operands, or that less a constant; the conditions for this are affine, and hold
 * from one element of the axis to another. Needs sizes that are known. Where such elements are not known, or are few,
 * the ends of sums stay as they are, and others lose one tile at each end.
 */
#include "autosched/space/tile/tile.h"
#include "lang/value.h"

/* The elements of an axis between which reads are not beyond the ends. */
typedef struct Inside {
    Arena *arena;
    const Stage *stage;
    const Var *axis;
    bool begins, ends; /* whether there are elements before, or behind */
    int64_t first, last;
    bool known;
} Inside;

/* The value of a form for the middles of all axes and reductions; or, with the axis left out, the least for all. */
static bool form_value(const Inside *inside, const Affine *form, bool least, int64_t *value) {
    *value = form->constant;
    for (int t = 0; t < form->count; t++) {
        const Term *term = &form->terms[t];
        bool loop = term->atom->kind == EXPR_VAR && term->atom->var->extent; /* no size */
        int64_t extent = loop ? axis_extent(term->atom->var) : -1, part;
        if (extent < 1)
            return false;
        if (least && term->atom->var == inside->axis)
            continue;
        int64_t at = !least ? extent / 2 : term->coefficient < 0 ? extent - 1 : 0;
        if (__builtin_mul_overflow(term->coefficient, at, &part) || __builtin_add_overflow(*value, part, value))
            return false;
    }
    return true;
}

static bool middle_value(Inside *inside, Expr *e, int64_t *value) {
    Affine form;
    return expr_affine(inside->arena, e, &form) && form_value(inside, &form, false, value);
}

/* Only elements for which e is not negative are inside. */
static void require(Inside *inside, Expr *e) {
    Affine form;
    int64_t slope = 0, rest;
    if (!expr_affine(inside->arena, e, &form) || !affine_coefficient(&form, inside->axis, &slope) ||
        !form_value(inside, &form, true, &rest)) {
        inside->known = false;
        return;
    }
    int64_t bound = slope ? floor_div(rest, slope < 0 ? -slope : slope) : 0;
    if (slope > 0 && bound < 0) {
        inside->first = !inside->begins || -bound > inside->first ? -bound : inside->first;
        inside->begins = true;
    } else if (slope < 0) {
        inside->last = !inside->ends || bound < inside->last ? bound : inside->last;
        inside->ends = true;
    }
}

static Expr *difference(Inside *inside, Expr *a, Expr *b) {
    return expr_binary(inside->arena, OP_SUB, a, b);
}

/* a % b is a less a constant. */
static Expr *remainder_inside(Inside *inside, Expr *a, Expr *b) {
    int64_t value = 0, by;
    inside->known &= expr_is_int(b, &by) && by > 0 && middle_value(inside, a, &value);
    if (!inside->known)
        return a;
    Expr *least = difference(inside, a, expr_int(inside->arena, value - value % by - (value % by < 0 ? by : 0)));
    require(inside, least);
    require(inside, difference(inside, expr_int(inside->arena, by - 1), least));
    return least;
}

static Expr *chosen_inside(Inside *inside, Op op, Expr *a, Expr *b) {
    int64_t more = 0;
    Expr *above = difference(inside, a, b);
    inside->known &= middle_value(inside, above, &more);
    bool first = (op == OP_MIN) == (more < 0);
    require(inside, more < 0 ? difference(inside, b, a) : above);
    return first ? a : b;
}

/* The affine index that e is for elements inside. */
static Expr *index_inside(Inside *inside, Expr *e) {
    if (e->kind != EXPR_OP || !expr_uses_var(e, inside->axis))
        return e;
    Expr *made = expr_copy(inside->arena, e);
    for (int i = 0; i < e->count; i++)
        made->args[i] = index_inside(inside, e->args[i]);
    if (!inside->known)
        return made;
    if (e->op == OP_MOD)
        return remainder_inside(inside, made->args[0], made->args[1]);
    if (e->op == OP_MIN || e->op == OP_MAX)
        return chosen_inside(inside, e->op, made->args[0], made->args[1]);
    return made;
}

static bool reads_outside(const Stage *stage, const Var *axis) {
    EACH_STAGE_READ(read, stage)
        if (read_may_be_outside(read, axis, false))
            return true;
    return false;
}

static void find_inside(Inside *inside) {
    EACH_STAGE_READ(read, inside->stage)
        for (int d = 0; d < read->count && read_may_be_outside(read, inside->axis, false); d++)
            index_inside(inside, read->args[d]);
}

int64_t end_tiles(const TileEnd *end, int64_t middle, int64_t vectors) {
    int64_t size = vectors * end->lanes;
    if (!end->behind)
        return end->inside < middle * size ? ceil_divide(end->inside, size) : middle;
    int64_t tiles = ceil_divide(ceil_divide(end->extent, size), middle) * middle, cut = tiles - end->inside / size;
    return cut < 1 ? -1 : cut > middle ? -middle : -cut;
}

static PrimArg end_hole(TileWriter *writer, TileEnd end) {
    TileEnd *kept = ARENA_NEW(writer->space->arena, TileEnd);
    *kept = end;
    HoleSource source = {.gene = writer->tile->axes[writer->vector].vector, .times = 1, .end = kept};
    return arg_source(writer->space, writer->sketch, source);
}

/* Cuts off what the reach says. */
static void cut_reach(TileWriter *writer, const Inside *inside) {
    const TileAxis *axis = &writer->tile->axes[writer->vector];
    PrimArg args[3] = {arg_name(axis->middle)};
    int count = 1;
    if (inside->begins)
        args[count++] = end_hole(writer, (TileEnd){axis->extent, axis->lanes, inside->first, false});
    if (inside->ends)
        args[count++] = end_hole(writer, (TileEnd){axis->extent, axis->lanes, inside->last + 1, true});
    if (count > 1)
        sketch_add(writer->space, writer->sketch, PRIM_PARTITION, 0, NULL, count, args);
}

/* Whether many elements of the axis are inside: else the index is not one of a stencil. */
static bool is_largely_inside(const Inside *inside, int64_t extent) {
    int64_t first = inside->begins ? inside->first : 0, last = inside->ends ? inside->last : extent - 1;
    return inside->known && axis_extent(inside->axis) == extent && first <= last && last - first >= extent / 4;
}

void tile_cut_ends(TileWriter *writer) {
    const Tile *tile = writer->tile;
    const TileAxis *axis = writer->vector < 0 ? NULL : &tile->axes[writer->vector];
    if (!axis || axis->extent < 0 || !axis->tiled || !reads_outside(tile->value, axis->axis))
        return;
    Inside inside = {arena_new(), .stage = tile->value, .axis = axis->axis, .known = true};
    find_inside(&inside);
    if (is_largely_inside(&inside, axis->extent))
        cut_reach(writer, &inside);
    else if (tile->reduction_count == 0) {
        PrimArg args[3] = {arg_name(axis->middle), arg_int(1), arg_int(-1)};
        sketch_add(writer->space, writer->sketch, PRIM_PARTITION, 0, NULL, 3, args);
    }
    arena_free(inside.arena);
}
