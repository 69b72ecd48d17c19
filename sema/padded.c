/* padded.c - makes an alternative of a unit's program in which a product reads a copy of its operand that has the ends,
 * too: the algorithm `padded`.
 *
 * A convolution that reads x(i + a - 1) else wrap, edge or reflect takes each index back for each product. The copy has
 * an element for each value of i + a - 1, so that it is read like any tensor; it is small beside the products of which
 * each of its elements is part. Where a tensor is empty, or conditions keep the product from reading beyond it, the
 * copy is 0 there: nobody reads that. Programs with recurrences are left as they are.
 */
#include "sema/check.h"

#include <string.h>

enum {
    FEW_USES = 8,   /* of an element, along axes that the read does not depend on: too few for a copy */
    MOST_LARGER = 4 /* times the elements of the tensor that a copy may have */
};

/* A read's copy: along each dimension from the least value of what is taken back, its core, to the largest. */
typedef struct PaddedRead {
    Expr *read;
    const Tensor *tensor;
    Expr **cores, **least; /* of the dimensions of the read; no core: the index is the same for all loops */
} PaddedRead;

typedef struct Padding {
    Arena *arena;
    const Program *program;
    LIST(const Tensor *) tensors;
    LIST(const Stage *) stages;
    LIST(PaddedRead) copies; /* of the stage that is being made again */
    bool changed;
} Padding;

/* --- what is taken back --- */

static bool uses_loops(const Expr *e) {
    EACH_EXPR(part, e)
        if (part->kind == EXPR_VAR && part->var->kind == VAR_AXIS)
            return true;
    return false;
}

static bool has_ends(const Expr *e) {
    EACH_EXPR(part, e)
        if (part->kind == EXPR_OP && (part->op == OP_MOD || part->op == OP_MIN || part->op == OP_MAX) &&
            uses_loops(part))
            return true;
    return false;
}

/* The sum of loops from which the index is computed, the same wherever it has loops; NULL: there is none. */
static Expr *core_of(Arena *arena, Expr *index) {
    Affine affine;
    if (!has_ends(index))
        return index->type == TYPE_INT64 && !expr_reads(index) && expr_affine(arena, index, &affine) ? index : NULL;
    Expr *core = NULL;
    for (int i = 0; i < index->count; i++) {
        Expr *own = uses_loops(index->args[i]) ? core_of(arena, index->args[i]) : core;
        if (uses_loops(index->args[i]) && (!own || (core && !expr_equal(own, core))))
            return NULL;
        core = own;
    }
    return core;
}

static Expr *with_core(Arena *arena, Expr *index, Expr *core, Expr *by) {
    if (expr_equal(index, core))
        return by;
    Expr *copy = index->count ? expr_copy(arena, index) : index;
    for (int i = 0; i < index->count; i++)
        copy->args[i] = with_core(arena, index->args[i], core, by);
    return copy;
}

/* The least value of a sum of loops, and how many there are to its largest. False: an atom is no loop or size. */
static bool range_of_core(Arena *arena, Expr *core, Expr **least, Expr **extent) {
    Affine affine;
    if (!expr_affine(arena, core, &affine))
        return false;
    *least = expr_int(arena, affine.constant);
    *extent = expr_int(arena, 1);
    for (int t = 0; t < affine.count; t++) {
        const Term *term = &affine.terms[t];
        if (term->atom->kind != EXPR_VAR && uses_loops(term->atom))
            return false;
        Expr *times = expr_int(arena, term->coefficient);
        if (!uses_loops(term->atom)) {
            *least = expr_binary(arena, OP_ADD, *least, expr_binary(arena, OP_MUL, times, term->atom));
            continue;
        }
        Expr *last = expr_binary(arena, OP_SUB, term->atom->var->extent, expr_int(arena, 1));
        Expr *reach = expr_binary(arena, OP_MUL, times, last);
        *extent = expr_binary(arena, term->coefficient > 0 ? OP_ADD : OP_SUB, *extent, reach);
        if (term->coefficient < 0)
            *least = expr_binary(arena, OP_ADD, *least, reach);
    }
    *least = expr_simplify(arena, *least);
    *extent = expr_simplify(arena, *extent);
    return true;
}

/* --- which reads gain --- */

/* Whether each element is used along axes of the stage on which the read does not depend. */
static bool is_used_often(const Stage *stage, const Expr *read) {
    for (int a = 0; a < stage->axis_count; a++) {
        int64_t extent = FEW_USES;
        if (!read_uses(read, stage->axes[a]) && (!expr_is_int(stage->axes[a]->extent, &extent) || extent >= FEW_USES))
            return true;
    }
    return false;
}

static bool suits(const Stage *stage) {
    return stage->component_count == 1 && stage->combine != COMBINE_NONE && stage->combine != COMBINE_DECLARED &&
           stage->reduction_count > 0 && stage_first_scatter(stage) == stage->axis_count;
}

static bool is_small_enough(const Tensor *copy, const Tensor *tensor) {
    int64_t elements = tensor_elements(copy), own = tensor_elements(tensor);
    return elements < 0 || own < 0 || elements / MOST_LARGER <= own;
}

/* --- the copy --- */

static const char *new_name(const Padding *padding, const Stage *stage) {
    const char *name = arena_printf(padding->arena, "%s.padded", stage->name);
    for (int t = 0, number = 2; t < padding->tensors.count; t++)
        if (strcmp(padding->tensors.items[t]->name, name) == 0) {
            name = arena_printf(padding->arena, "%s.padded_%d", stage->name, number++);
            t = -1;
        }
    return name;
}

static bool is_inside(Expr *const *index, const Tensor *tensor) {
    for (int d = 0; d < tensor->rank; d++) {
        Interval range = expr_interval(index[d]);
        int64_t extent;
        if (!expr_is_int(tensor->dims[d], &extent) || !range.has_low || range.low < 0 || !range.has_high ||
            range.high >= extent)
            return false;
    }
    return true;
}

/* Puts the stage that copies in front of the one that is being made again. False: it would be too large. */
static bool make_copy(Padding *padding, const Stage *stage, PaddedRead *copy) {
    Arena *arena = padding->arena;
    const Tensor *from = copy->read->tensor;
    int rank = 0;
    Expr **dims = ARENA_ARRAY(arena, Expr *, copy->read->count);
    Expr **index = ARENA_ARRAY(arena, Expr *, copy->read->count);
    const char **names = ARENA_ARRAY(arena, const char *, copy->read->count);
    const Var **axes = ARENA_ARRAY(arena, const Var *, copy->read->count);
    for (int d = 0; d < copy->read->count; d++) {
        Expr *extent;
        index[d] = copy->read->args[d];
        if (!copy->cores[d])
            continue;
        if (!range_of_core(arena, copy->cores[d], &copy->least[d], &extent))
            return false;
        names[rank] = arena_printf(arena, "d%d", rank);
        axes[rank] = var_new(arena, VAR_AXIS, TYPE_INT64, names[rank], extent);
        Expr *at = expr_binary(arena, OP_ADD, expr_var(arena, axes[rank]), copy->least[d]);
        index[d] = expr_simplify(arena, with_core(arena, index[d], copy->cores[d], at));
        dims[rank++] = extent;
    }
    Tensor *tensor = ARENA_NEW(arena, Tensor);
    *tensor = (Tensor){.name = new_name(padding, stage),
                       .type = from->type,
                       .role = ROLE_TEMPORARY,
                       .rank = rank,
                       .dims = dims,
                       .dim_names = names,
                       .loc = stage->loc};
    if (!is_small_enough(tensor, from))
        return false;
    Expr *outside = is_inside(index, from) ? NULL : expr_constant(arena, from->type, 0);
    Stage *own = stage_new(arena, (Component){.tensor = tensor, .value = expr_read(arena, from, index, outside)});
    own->axes = axes;
    copy->tensor = tensor;
    list_push(arena, &padding->tensors, tensor);
    list_push(arena, &padding->stages, own);
    return true;
}

static bool find_cores(const Padding *padding, const Stage *stage, PaddedRead *copy) {
    Arena *arena = padding->arena;
    Expr *read = copy->read;
    bool ends = false;
    if (read->otherwise || read->guard || stage_writes(stage, read->tensor) || !is_used_often(stage, read))
        return false;
    copy->cores = ARENA_ARRAY(arena, Expr *, read->count);
    copy->least = ARENA_ARRAY(arena, Expr *, read->count);
    for (int d = 0; d < read->count; d++) {
        bool loops = uses_loops(read->args[d]);
        ends |= has_ends(read->args[d]);
        copy->cores[d] = loops ? core_of(arena, read->args[d]) : NULL;
        if ((loops && !copy->cores[d]) || expr_reads(read->args[d]))
            return false;
    }
    return ends;
}

static const PaddedRead *copy_of(Padding *padding, const Stage *stage, Expr *read) {
    for (int i = 0; i < padding->copies.count; i++)
        if (expr_equal(padding->copies.items[i].read, read))
            return &padding->copies.items[i];
    PaddedRead copy = {.read = read};
    if (!find_cores(padding, stage, &copy) || !make_copy(padding, stage, &copy))
        return NULL;
    list_push(padding->arena, &padding->copies, copy);
    return &padding->copies.items[padding->copies.count - 1];
}

static Expr *read_copy(Padding *padding, const PaddedRead *copy) {
    Arena *arena = padding->arena;
    Expr **index = ARENA_ARRAY(arena, Expr *, copy->read->count);
    int rank = 0;
    for (int d = 0; d < copy->read->count; d++)
        if (copy->cores[d])
            index[rank++] = expr_simplify(arena, expr_binary(arena, OP_SUB, copy->cores[d], copy->least[d]));
    padding->changed = true;
    return expr_read(arena, copy->tensor, index, NULL);
}

static Expr *with_copies(Padding *padding, const Stage *stage, Expr *e) {
    const PaddedRead *copy = e->kind == EXPR_READ ? copy_of(padding, stage, e) : NULL;
    if (copy)
        return read_copy(padding, copy);
    if (e->kind != EXPR_OP && e->kind != EXPR_CAST)
        return e;
    Expr *made = expr_copy(padding->arena, e);
    for (int i = 0; i < e->count; i++)
        made->args[i] = with_copies(padding, stage, e->args[i]);
    return made;
}

static const Stage *with_padded_reads(Padding *padding, const Stage *stage) {
    Stage *again = stage_copy(padding->arena, stage);
    padding->copies.count = 0;
    again->components[0].value = with_copies(padding, stage, stage->components[0].value);
    return again;
}

/* --- the program --- */

static Program *program_of(Padding *padding) {
    const Program *from = padding->program;
    Program *program = ARENA_NEW(padding->arena, Program);
    int *places = ARENA_ARRAY(padding->arena, int, from->stage_count);
    *program = *from;
    for (int t = 0; t < from->tensor_count; t++)
        list_push(padding->arena, &padding->tensors, from->tensors[t]);
    for (int s = 0; s < from->stage_count; s++) {
        const Stage *stage = from->stages[s];
        stage = suits(stage) ? with_padded_reads(padding, stage) : stage;
        places[s] = padding->stages.count;
        list_push(padding->arena, &padding->stages, stage);
    }
    program->stages = padding->stages.items;
    program->stage_count = padding->stages.count;
    program->tensors = padding->tensors.items;
    program->tensor_count = padding->tensors.count;
    move_requirements(padding->arena, program, places);
    program_list_stages(padding->arena, program);
    return program;
}

void add_padded(Arena *arena, Unit *unit) {
    Padding padding = {.arena = arena, .program = unit->program};
    Program *program = unit->program->scan_count ? NULL : program_of(&padding);
    if (padding.changed)
        add_automatic(arena, unit, program, "padded");
}
