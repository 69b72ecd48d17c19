/* brute_copies.c - primitives of a model that make stages: copies of what is read, of what is written, and partial
 * results.
 */
#include "brute_state.h"
#include "lang/expr.h"
#include <string.h>

/* --- copies ------------------------------------------------------------------------------------------------------- */

static Tensor *copy_tensor(Model *m, const Tensor *tensor, const char *name) {
    Tensor *copy = ARENA_NEW(m->arena, Tensor);
    *copy = *tensor;
    copy->name = name;
    copy->role = ROLE_TEMPORARY;
    copy->buffer = NULL;
    return copy;
}

static Expr *read_all(Model *m, const Stage *stage, const Tensor *tensor) {
    Expr **indices = ARENA_ARRAY(m->arena, Expr *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        indices[d] = expr_var(m->arena, stage->axes[d]);
    return expr_read(m->arena, tensor, indices, NULL);
}

typedef struct Redirect {
    const Tensor *from, *to;
    const Expr *only; /* this read of it alone; NULL: all */
} Redirect;

static Expr *redirect_read(Arena *arena, Expr *e, void *context) {
    const Redirect *redirect = context;
    if (e->kind != EXPR_READ || e->tensor != redirect->from || (redirect->only && !expr_equal(e, redirect->only)))
        return e;
    return expr_read(arena, redirect->to, e->args, e->otherwise);
}

typedef LIST(const Expr *) ReadList;

static bool is_listed(const ReadList *list, const Expr *e) {
    for (int i = 0; i < list->count; i++)
        if (expr_equal(list->items[i], e))
            return true;
    return false;
}

/* reader=, read=: false when there is no such read. */
static bool choose_reads(Model *m, const Prim *prim, const Tensor *source, const Part **reader, Redirect *redirect) {
    const PrimArg *name = prim_keyword(prim, "reader"), *number = prim_keyword(prim, "read");
    ReadList found = {0};
    for (int i = 0; i < m->parts.count && name; i++)
        if (!strcmp(m->parts.items[i]->name, name->name) && !m->parts.items[i]->inlined)
            *reader = m->parts.items[i];
    if (!name || !*reader)
        return !name;
    EACH_STAGE_READ(e, (*reader)->stage)
        if (e->tensor == source && !is_listed(&found, e))
            list_push(m->arena, &found, e);
    if (found.count == 0 || (number && number->value >= found.count))
        return false;
    redirect->only = number ? found.items[number->value] : NULL;
    return true;
}

bool model_cache_read(Model *m, const Prim *prim) {
    const PrimArg *at = prim_keyword(prim, "at");
    Piece *loop = at ? model_loop(m, at) : NULL;
    const Tensor *source = NULL;
    for (int i = 0; i < m->program->tensor_count; i++)
        if (!strcmp(m->program->tensors[i]->name, prim->args[0].name))
            source = m->program->tensors[i];
    if (!source || (at && !loop) || source->role == ROLE_INITIAL)
        return false;
    Redirect redirect = {source, copy_tensor(m, source, prim->results[0]), NULL};
    const Part *reader = NULL;
    int first = -1;
    if (!choose_reads(m, prim, source, &reader, &redirect))
        return false;
    for (int i = 0; i < m->parts.count; i++) {
        Part *part = m->parts.items[i];
        if (part->inlined || !stage_reads_tensor(part->stage, source) || (loop && !part_is_inside(part, loop)) ||
            (reader && part != reader))
            continue;
        part_rewrite(m, part, redirect_read, &redirect);
        first = first < 0 ? i : first;
    }
    if (first < 0)
        return false;
    Stage *stage = stage_new(m->arena, (Component){redirect.to, NULL, NULL});
    Var **axes = ARENA_ARRAY(m->arena, Var *, source->rank);
    for (int d = 0; d < source->rank; d++)
        axes[d] = var_new(m->arena, VAR_AXIS, TYPE_INT64, "x", source->dims[d]);
    stage->name = prim->results[0];
    stage->axes = (const Var **)axes;
    stage->components[0].value = read_all(m, stage, source);
    Part *copy = part_new(m, prim->results[0], stage, first);
    copy->unnamed = true;
    copy->at = loop;
    return true;
}

/* --- cache_write: the loops below the place move to what computes, copies of them store --------------------------- */

static Piece *clone_piece(Model *m, Piece *piece, const Part *part, int at);

static Cut *clone_cut(Model *m, Cut *cut, const Part *part, int at) {
    if (cut->clone)
        return cut->clone;
    Cut *clone = cut->clone = cut_new(m, cut->fuses, NULL, cut->count);
    clone->shifts = cut->shifts;
    clone->exact = cut->exact;
    for (int i = 0; i < cut->count; i++) {
        clone->parts[i] = clone_piece(m, cut->parts[i], part, at);
        clone->factors[i] = cut->factors[i];
        if (!cut->fuses && clone->parts[i] != cut->parts[i])
            clone->parts[i]->made = clone;
    }
    clone->whole = clone_piece(m, cut->whole, part, at);
    if (cut->fuses && clone->whole != cut->whole)
        clone->whole->made = clone;
    return clone;
}

/* Loops at and above the place, and those of stages around, stay what they are on both sides. */
static Piece *clone_piece(Model *m, Piece *piece, const Part *part, int at) {
    int index = loop_index(part, piece);
    if ((index >= 0 && index <= at) || (index < 0 && !piece->taken))
        return piece;
    if (piece->clone)
        return piece->clone;
    Piece *clone = piece->clone = ARENA_NEW(m->arena, Piece);
    *clone = *piece;
    clone->clone = NULL;
    clone->taken = clone->made = NULL;
    clone->mark_set = false;
    if (index >= 0) {
        clone->name = arena_printf(m->arena, "%s.store", piece->name);
        clone->twin = piece;
    }
    if (piece->taken)
        clone->taken = clone_cut(m, piece->taken, part, at);
    return clone;
}

static void forget_clones(Piece *piece) {
    piece->clone = NULL;
    Cut *cut = piece->taken;
    if (!cut)
        return;
    cut->clone = NULL;
    if (cut->fuses)
        forget_clones(cut->whole);
    for (int i = 0; i < cut->count && !cut->fuses; i++)
        forget_clones(cut->parts[i]);
}

static void divide_loops(Model *m, Part *part, Part *made, int at) {
    LIST(Piece *) kept = {0};
    Piece *originals[12];
    memcpy(originals, part->roots, sizeof originals);
    memcpy(made->roots, part->roots, sizeof originals);
    made->root_count = part->root_count;
    part->root_count = part->stage->axis_count;
    for (int d = 0; d < part->root_count; d++)
        part->roots[d] = clone_piece(m, part->roots[d], part, at);
    for (int i = 0; i < part->loops.count; i++) {
        Piece *loop = part->loops.items[i];
        if (i <= at)
            list_push(m->arena, &kept, loop);
        else {
            list_push(m->arena, &made->loops, loop);
            if (loop->clone)
                list_push(m->arena, &kept, loop->clone);
        }
    }
    for (int i = 0; i < made->loops.count; i++)
        made->loops.items[i]->stage = made;
    memcpy(&part->loops, &kept, sizeof kept);
    for (int d = 0; d < made->root_count; d++)
        forget_clones(originals[d]);
}

static bool has_reductions(const Part *part, int from, int to) {
    for (int i = from; i < to; i++)
        if (part->loops.items[i]->reduction)
            return true;
    return false;
}

const Part *part_held(const Part *part) {
    const Part *keeper = part->keeper;
    while (keeper && !keeper->partial)
        keeper = keeper->keeper;
    return keeper;
}

bool model_cache_write(Model *m, const Prim *prim) {
    Part *part = model_part(m, prim->args[0].name);
    const PrimArg *at = prim_keyword(prim, "at");
    Piece *loop = at ? model_loop(m, at) : NULL;
    if (!part || part->inlined || part->unnamed || (at && (!loop || loop->stage != part)))
        return false;
    Part *made = ARENA_NEW(m->arena, Part);
    *made = (Part){.name = prim->results[0], .stage = stage_copy(m->arena, part->stage)};
    made->stage->name = made->name;
    made->stage->components[0].tensor = copy_tensor(m, part->stage->components[0].tensor, made->name);
    made->at = loop ? loop : part->at;
    made->keeper = made->at ? part : NULL;
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->keeper == part)
            m->parts.items[i]->keeper = made;
    int index = loop ? loop_index(part, loop) : -1;
    made->partial = part->partial && has_reductions(part, index + 1, part->loops.count);
    part->partial = has_reductions(part, 0, index + 1);
    divide_loops(m, part, made, index);
    made->domain = part->domain;
    if (!made->at) {
        made->domain = domain_new(m, made, made->stage->components[0].tensor);
    }
    part_insert(m, made, part_order(m, part));
    made->combines = part->combines;
    made->identity = part->identity;
    part->combines = false;
    Stage *storing = part->stage;
    storing->combine = COMBINE_NONE;
    if (!part->partial)
        storing->components[0].initial = NULL;
    storing->reduction_count = 0;
    storing->components[0].value = read_all(m, storing, made->stage->components[0].tensor);
    return true;
}

/* --- rfactor: the reduction loops move to a stage with an axis for each that is named ------------------------------
 */

static bool is_named(Piece *const *named, int count, const Piece *loop) {
    for (int i = 0; i < count; i++)
        if (named[i] == loop)
            return true;
    return false;
}

/* Over the old axes and those of the named loops, whose values are those of the loops themselves. */
static void make_partial(Model *m, Part *part, Part *made, Piece *const *named, int count) {
    Stage *stage = made->stage;
    int old = stage->axis_count;
    const Tensor *tensor = stage->components[0].tensor;
    Tensor *wider = copy_tensor(m, tensor, made->name);
    const Var **axes = ARENA_ARRAY(m->arena, const Var *, old + count);
    wider->rank = old + count;
    wider->dims = ARENA_ARRAY(m->arena, Expr *, old + count);
    for (int d = 0; d < old + count; d++) {
        int64_t extent = d < old ? part->domain->width[d] : piece_extent(named[d - old], part->domain);
        wider->dims[d] = d < old ? tensor->dims[d] : expr_int(m->arena, extent);
        axes[d] = d < old ? stage->axes[d] : var_new(m->arena, VAR_AXIS, TYPE_INT64, "p", wider->dims[d]);
    }
    stage->components[0].tensor = wider;
    stage->axes = axes;
    stage->axis_count = old + count;
    stage->components[0].initial = combine_identity(m->arena, stage->combine, tensor->type);
    made->domain = domain_new(m, made, wider);
    for (int d = 0; d < old; d++) {
        Piece *axis = made->roots[made->root_count++] = piece_new(m, made, axes[d]->name, false);
        axis->dimension = d;
        list_push(m->arena, &made->loops, axis);
    }
    for (int i = 0; i < count; i++) {
        made->roots[made->root_count++] = named[i];
        named[i]->dimension = old + i;
        named[i]->partial = true;
        named[i]->reduction = false;
        named[i]->made = NULL;
    }
    for (int r = old; r < part->root_count; r++)
        made->roots[made->root_count++] = part->roots[r];
}

bool model_rfactor(Model *m, const Prim *prim) {
    Piece *named[8] = {NULL}, *fresh[8];
    int count = prim->arg_count;
    for (int i = 0; i < count; i++) {
        named[i] = model_loop(m, &prim->args[i]);
        if (!named[i] || named[i]->stage != named[0]->stage || !named[i]->reduction)
            return false;
    }
    Part *part = named[0]->stage, *made = ARENA_NEW(m->arena, Part);
    if (part->stage->axis_count + count > 6 || part->stage->combine == COMBINE_NONE || part->combines ||
        part_held(part))
        return false;
    for (int r = 0; r < part->root_count; r++)
        if (part->roots[r]->partial) /* what rfactor made is not taken apart again here */
            return false;
    *made = (Part){.name = prim->results[0], .stage = stage_copy(m->arena, part->stage), .at = part->at};
    made->stage->name = made->name;
    LIST(Piece *) kept = {0};
    for (int i = 0; i < count; i++) {
        fresh[i] = piece_new(m, part, named[i]->name, true);
        fresh[i]->extent = piece_extent(named[i], part->domain);
    }
    int old = part->stage->axis_count;
    make_partial(m, part, made, named, count);
    for (int i = 0; i < part->loops.count; i++) {
        Piece *loop = part->loops.items[i];
        for (int k = 0; k < count; k++)
            if (loop == named[k])
                list_push(m->arena, &kept, fresh[k]);
        if (loop->reduction || is_named(named, count, loop)) {
            list_push(m->arena, &made->loops, loop);
            loop->stage = made;
        } else {
            list_push(m->arena, &kept, loop);
        }
    }
    memcpy(&part->loops, &kept, sizeof kept);
    const Var **reductions = ARENA_ARRAY(m->arena, const Var *, count);
    Expr **indices = ARENA_ARRAY(m->arena, Expr *, old + count);
    for (int d = 0; d < old; d++)
        indices[d] = expr_var(m->arena, part->stage->axes[d]);
    for (int i = 0; i < count; i++) {
        reductions[i] = var_new(m->arena, VAR_AXIS, TYPE_INT64, "p", expr_int(m->arena, fresh[i]->extent));
        indices[old + i] = expr_var(m->arena, reductions[i]);
        part->roots[old + i] = fresh[i];
    }
    part->root_count = old + count;
    part->stage->reductions = reductions;
    part->stage->reduction_count = count;
    part->stage->components[0].value = expr_read(m->arena, made->stage->components[0].tensor, indices, NULL);
    part->combines = true;
    part->identity = made->stage->components[0].initial->integer;
    part_insert(m, made, part_order(m, part));
    return true;
}
