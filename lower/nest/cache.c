/* cache.c - cache_read: copies what consumers read of a tensor into a buffer, in the order that a layout gives.
 *
 * The copy is a stage over the whole tensor in its new layout, computed at a loop like any other stage. So it gets its
 * box, guards and place as with compute_at. nest/layout.c reads layouts.
 */
#include "lower/nest/state.h"

#include <ctype.h>
#include <string.h>

/* A dimension of the source: the copy holds indices from low to low + extent - 1. */
typedef struct Dimension {
    const char *name;
    int64_t low;
    const Form *extent;
    int64_t first, last; /* of the indices that are read, unless scattered: they are not known */
    bool scattered;
} Dimension;

typedef struct Caching {
    NestState *state;
    const Tensor *source, *copy;
    StageState *reader; /* only its reads are copied; NULL: all reads */
    const Expr *only;   /* the one of these reads that is copied; NULL: all */
    StageList consumers;
    Dimension *dimensions;
    Layout layout;
    const Expr *otherwise; /* the constant that all reads give outside the tensor; NULL: none, or several */
    bool pads;             /* the copy also holds that constant, so that its readers need no otherwise */
} Caching;

static bool is_copied(const Caching *caching, const Expr *e) {
    return e->kind == EXPR_READ && e->tensor == caching->source &&
           (caching->only == NULL || expr_equal(e, caching->only));
}

/* --- names of dimensions ------------------------------------------------------------------------------------------ */

static const Expr *first_read(const Caching *caching) {
    const StageState *consumer = caching->consumers.items[0];
    for (int k = 0; k < consumer->accesses.count; k++)
        if (is_copied(caching, consumer->accesses.items[k].read))
            return consumer->accesses.items[k].read;
    return NULL;
}

/* The name of a dimension without a layout: that of the index that alone reads it, else of its size. */
static const char *default_name(const Caching *caching, int d) {
    const Expr *index = first_read(caching)->args[d];
    if (index->kind == EXPR_VAR)
        return without_r(index->var->name);
    const char *size = caching->source->dim_names != NULL ? caching->source->dim_names[d] : NULL;
    if (size == NULL)
        return arena_printf(caching->state->arena, "d%d", d);
    char *name = arena_strdup(caching->state->arena, without_r(size));
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

static bool read_layout(Caching *caching, const Prim *prim, const PrimArg *list) {
    int rank = caching->source->rank;
    const char **names = ARENA_ARRAY(caching->state->arena, const char *, rank);
    for (int d = 0; d < rank; d++)
        names[d] = caching->dimensions[d].name;
    LayoutSubject subject = {caching->state, caching->source, NULL, names, caching->consumers};
    return layout_read(&subject, prim, list, &caching->layout);
}

/* --- what the copy holds ------------------------------------------------------------------------------------------ */

static const Form *index_form(Caching *caching, StageState *consumer, const Expr *index) {
    Forms *forms = &caching->state->forms;
    return form_of_expr(forms, index, find_domain_form, &(Seeing){forms, consumer});
}

/* The least and the greatest value of an index, over sizes; false: they are not known. */
static bool index_span(Caching *caching, StageState *consumer, const Expr *index, const Form **low, const Form **high) {
    Forms *forms = &caching->state->forms;
    const Form *form = index_form(caching, consumer, index);
    *low = form != NULL ? form_lower(forms, form) : NULL;
    *high = form != NULL ? form_upper(forms, form) : NULL;
    return *low != NULL && *high != NULL;
}

typedef void Visit(Caching *caching, StageState *consumer, const Expr *read);

static void each_read(Caching *caching, Visit *visit) {
    for (int i = 0; i < caching->consumers.count; i++)
        for (int k = 0; k < caching->consumers.items[i]->accesses.count; k++) {
            const Expr *read = caching->consumers.items[i]->accesses.items[k].read;
            if (is_copied(caching, read))
                visit(caching, caching->consumers.items[i], read);
        }
}

/* Notes what a read gives outside the tensor: the copy can hold it if all such reads give the same constant. */
static void note_otherwise(Caching *caching, StageState *consumer, const Expr *read) {
    const Expr *otherwise = read->otherwise;
    if (otherwise == NULL)
        return;
    bool constant = otherwise->kind == EXPR_INT || otherwise->kind == EXPR_REAL;
    if (!constant || (caching->otherwise != NULL && !expr_equal(caching->otherwise, otherwise)))
        caching->pads = false;
    caching->otherwise = otherwise;
}

/* Widens a dimension to the indices of a read with an otherwise: from a constant, to a bound over sizes. */
static void widen(Caching *caching, StageState *consumer, const Expr *read) {
    Forms *forms = &caching->state->forms;
    for (int d = 0; read->otherwise != NULL && caching->pads && d < caching->source->rank; d++) {
        Dimension *dimension = &caching->dimensions[d];
        const Form *low, *high;
        int64_t constant = 0;
        if (!index_span(caching, consumer, read->args[d], &low, &high) ||
            (!form_at_most(forms, form_int(forms, 0), low) && !affine_is_int(low, &constant))) {
            caching->pads = false;
            return;
        }
        const Form *end = form_add_int(forms, dimension->extent, dimension->low);
        end = form_extreme(forms, OP_MAX, end, form_add_int(forms, high, 1));
        dimension->low = constant < dimension->low ? constant : dimension->low;
        dimension->extent = form_add_int(forms, end, -dimension->low);
    }
}

static void set_domain(Caching *caching) {
    for (int d = 0; d < caching->source->rank; d++) {
        caching->dimensions[d].low = 0;
        caching->dimensions[d].extent = extent_form(caching->state, caching->source->dims[d]);
    }
}

static void note_indices(Caching *caching, StageState *consumer, const Expr *read) {
    for (int d = 0; d < caching->source->rank; d++) {
        Dimension *dimension = &caching->dimensions[d];
        const Form *low, *high;
        int64_t first, last;
        if (!index_span(caching, consumer, read->args[d], &low, &high) || !affine_is_int(low, &first) ||
            !affine_is_int(high, &last)) {
            dimension->scattered = true;
            continue;
        }
        dimension->first = first < dimension->first ? first : dimension->first;
        dimension->last = last > dimension->last ? last : dimension->last;
    }
}

/* Leaves out what lies before and behind all that is read, such as the weights of other layers of w(l, i, k). */
static void narrow(Caching *caching) {
    for (int d = 0; d < caching->source->rank; d++) {
        caching->dimensions[d].first = INT64_MAX;
        caching->dimensions[d].last = INT64_MIN;
    }
    each_read(caching, note_indices);
    for (int d = 0; d < caching->source->rank; d++) {
        Dimension *dimension = &caching->dimensions[d];
        int64_t extent;
        if (dimension->scattered || !affine_is_int(dimension->extent, &extent))
            continue;
        int64_t end = dimension->low + extent - 1;
        int64_t first = dimension->first > dimension->low ? dimension->first : dimension->low;
        int64_t last = dimension->last < end ? dimension->last : end;
        if (first > last)
            continue;
        dimension->low = first;
        dimension->extent = form_int(&caching->state->forms, last - first + 1);
    }
}

static void find_domain(Caching *caching) {
    caching->dimensions = ARENA_ARRAY(caching->state->arena, Dimension, caching->source->rank);
    for (int d = 0; d < caching->source->rank; d++)
        caching->dimensions[d].name = default_name(caching, d);
    caching->pads = true;
    each_read(caching, note_otherwise);
    set_domain(caching);
    if (caching->pads)
        each_read(caching, widen);
    if (!caching->pads)
        set_domain(caching);
    if (caching->otherwise == NULL || caching->pads)
        narrow(caching);
}

/* --- the copying stage -------------------------------------------------------------------------------------------- */

static const Form *component_extent(Caching *caching, const OrderPart *component) {
    Forms *forms = &caching->state->forms;
    if (component->modulus != 0)
        return form_int(forms, component->modulus);
    const Form *extent = caching->dimensions[component->dimension].extent;
    return form_divide(forms, form_add_int(forms, extent, component->divisor - 1), form_int(forms, component->divisor));
}

static const char *fresh_axis_name(Caching *caching, Var *const *axes, int count, const char *wanted) {
    const char *name = wanted;
    for (int i = 0, suffix = 1; i < count; i++)
        if (strcmp(axes[i]->name, name) == 0) {
            name = arena_printf(caching->state->arena, "%s%d", wanted, suffix++);
            i = -1;
        }
    return name;
}

/* The source's index in dimension d: low plus the sum of its components over the copy's axes. */
static Expr *source_index(Caching *caching, Var *const *axes, int d) {
    Arena *arena = caching->state->arena;
    Expr *index = expr_int(arena, 0);
    for (int i = 0; i < caching->layout.count; i++) {
        const OrderPart *component = &caching->layout.parts[i].part;
        if (component->dimension == d)
            index =
                expr_binary(arena, OP_ADD, index,
                            expr_binary(arena, OP_MUL, expr_var(arena, axes[i]), expr_int(arena, component->divisor)));
    }
    int64_t low = caching->dimensions[d].low;
    if (low == 0)
        return index;
    return low < 0 ? expr_binary(arena, OP_SUB, index, expr_int(arena, -low))
                   : expr_binary(arena, OP_ADD, index, expr_int(arena, low));
}

/* Whether the copy's index in dimension d can leave the source: in padding, or beyond the last whole block. */
static bool leaves_source(Caching *caching, int d) {
    Forms *forms = &caching->state->forms;
    const Dimension *dimension = &caching->dimensions[d];
    const Form *end = form_int(forms, 1);
    for (int i = 0; i < caching->layout.count; i++) {
        const OrderPart *component = &caching->layout.parts[i].part;
        if (component->dimension == d)
            end = form_add_scaled(forms, end, component->divisor,
                                  form_add_int(forms, component_extent(caching, component), -1));
    }
    end = form_add_int(forms, end, dimension->low);
    const Form *extent = extent_form(caching->state, caching->source->dims[d]);
    return dimension->low < 0 || !form_at_most(forms, end, extent);
}

static Tensor *make_tensor(Caching *caching, const char *name) {
    Arena *arena = caching->state->arena;
    Tensor *copy = ARENA_NEW(arena, Tensor);
    *copy =
        (Tensor){.name = name, .type = caching->source->type, .role = ROLE_TEMPORARY, .rank = caching->layout.count};
    copy->dims = ARENA_ARRAY(arena, Expr *, copy->rank);
    copy->dim_names = ARENA_ARRAY(arena, const char *, copy->rank);
    copy->loc = caching->source->loc;
    return copy;
}

static Stage *make_stage(Caching *caching, const char *name) {
    Arena *arena = caching->state->arena;
    Tensor *copy = make_tensor(caching, name);
    Var **axes = ARENA_ARRAY(arena, Var *, copy->rank);
    for (int i = 0; i < copy->rank; i++) {
        copy->dims[i] = affine_expr(caching->state->arena, component_extent(caching, &caching->layout.parts[i].part));
        copy->dim_names[i] = fresh_axis_name(caching, axes, i, caching->layout.parts[i].name);
        axes[i] = var_new(arena, VAR_AXIS, TYPE_INT64, copy->dim_names[i], copy->dims[i]);
    }
    Expr **indices = ARENA_ARRAY(arena, Expr *, caching->source->rank);
    bool leaves = false;
    for (int d = 0; d < caching->source->rank; d++) {
        indices[d] = source_index(caching, axes, d);
        leaves |= leaves_source(caching, d);
    }
    Expr *otherwise =
        caching->pads && caching->otherwise != NULL ? (Expr *)caching->otherwise : expr_constant(arena, copy->type, 0);
    Expr *value = expr_read(arena, caching->source, indices, leaves ? otherwise : NULL);
    Stage *stage = stage_new(arena, (Component){copy, NULL, value});
    stage->name = name;
    stage->axes = (const Var **)axes;
    stage->loc = caching->source->loc;
    caching->copy = copy;
    return stage;
}

/* --- rewriting the readers ---------------------------------------------------------------------------------------- */

static Expr *component_index(Caching *caching, const OrderPart *component, Expr *index) {
    Arena *arena = caching->state->arena;
    int64_t low = caching->dimensions[component->dimension].low;
    if (low != 0)
        index = expr_simplify(arena, expr_binary(arena, OP_ADD, index, expr_int(arena, -low)));
    index = expr_binary(arena, OP_DIV, index, expr_int(arena, component->divisor));
    return component->modulus == 0 ? index : expr_binary(arena, OP_MOD, index, expr_int(arena, component->modulus));
}

/* Whether all indices of a read are inside the source. */
static Expr *inside_condition(Caching *caching, const Expr *read) {
    Arena *arena = caching->state->arena;
    Expr *inside = expr_bool(arena, true);
    for (int d = 0; d < read->count; d++) {
        inside = expr_binary(arena, OP_AND, inside, expr_binary(arena, OP_LE, expr_int(arena, 0), read->args[d]));
        inside = expr_binary(arena, OP_AND, inside, expr_binary(arena, OP_LT, read->args[d], caching->source->dims[d]));
    }
    return inside;
}

static Expr *read_copy(Arena *arena, Expr *e, void *context) {
    Caching *caching = context;
    if (!is_copied(caching, e))
        return e;
    Expr **indices = ARENA_ARRAY(arena, Expr *, caching->layout.count);
    for (int i = 0; i < caching->layout.count; i++)
        indices[i] =
            component_index(caching, &caching->layout.parts[i].part, e->args[caching->layout.parts[i].part.dimension]);
    Expr *read = expr_read(arena, caching->copy, indices, NULL);
    read->loc = e->loc;
    if (e->otherwise == NULL || caching->pads)
        return read;
    return expr_select(arena, inside_condition(caching, e), read, e->otherwise);
}

static void rewrite_consumers(Caching *caching) {
    NestState *state = caching->state;
    for (int i = 0; i < caching->consumers.count; i++) {
        StageState *consumer = caching->consumers.items[i];
        stage_rewrite(state, consumer, stage_rewrite_exprs(state->arena, consumer->nest.stage, read_copy, caching));
    }
}

/* --- the primitive ------------------------------------------------------------------------------------------------ */

/* All weights of a deep network may be one tensor, which many stages read. */
static StageList possible_consumers(const Caching *caching, const Node *loop) {
    StageList readers = {0};
    if (caching->reader == NULL)
        return tensor_readers(caching->state, caching->source, loop);
    if (stage_has_read(caching->reader, caching->source) && (loop == NULL || stage_is_inside(caching->reader, loop)))
        list_push(caching->state->arena, &readers, caching->reader);
    return readers;
}

static bool find_consumers(Caching *caching, const Node *loop) {
    NestState *state = caching->state;
    const StageList readers = possible_consumers(caching, loop);
    for (int i = 0; i < readers.count; i++)
        if (!readers.items[i]->nest.inlined)
            list_push(state->arena, &caching->consumers, readers.items[i]);
    if (caching->consumers.count > 0)
        return true;
    if (caching->reader != NULL)
        return refuse_loop(state, loop, "%s, which reads %s, is not in the body of %s", caching->reader->name,
                           caching->source->name, loop_text(state, loop));
    if (loop == NULL)
        return refuse(state, "nothing reads %s", caching->source->name);
    return refuse_loop(state, loop, "nothing in the body of %s reads %s", loop_text(state, loop),
                       caching->source->name);
}

/* Finds the number-th distinct read of the source in its reader. */
static bool find_read(Caching *caching, const PrimArg *arg, int64_t number) {
    ExprList reads = {0};
    for (int k = 0; k < caching->reader->accesses.count; k++) {
        const Expr *read = caching->reader->accesses.items[k].read;
        if (read->tensor == caching->source && !expr_is_listed(&reads, read))
            list_push(caching->state->arena, &reads, (Expr *)read);
    }
    if (number < 0 || number >= reads.count)
        return refuse_at(caching->state, arg, "%s reads %s in %d way%s, counted from 0", caching->reader->name,
                         caching->source->name, reads.count, reads.count == 1 ? "" : "s");
    caching->only = reads.items[number];
    return true;
}

/* reader=T, read=n: copies only some of the reads. */
static bool choose_reads(Caching *caching, const Prim *prim) {
    NestState *state = caching->state;
    const PrimArg *reader = prim_keyword(prim, "reader"), *read = prim_keyword(prim, "read");
    int64_t number;
    if (reader != NULL && (caching->reader = argument_stage(state, prim, reader)) == NULL)
        return false;
    for (int k = 0; reader != NULL && k < caching->reader->accesses.count; k++) {
        const StageState *producer = caching->reader->accesses.items[k].producer;
        if (caching->reader->accesses.items[k].read->tensor == caching->source && producer != NULL &&
            producer->scan != NULL)
            return refuse_at(state, reader, "%s is computed step by step: all of its readers must read the copy",
                             caching->source->name);
    }
    if (reader != NULL && !reads_tensor(caching->reader, caching->source))
        return refuse_at(state, reader, "%s does not read %s", caching->reader->name, caching->source->name);
    if (read == NULL)
        return true;
    if (reader == NULL)
        return refuse_at(state, read, "read= counts the reads of one stage: say which by reader=");
    return argument_integer(state, prim, read, &number) && find_read(caching, read, number);
}

/* Makes the copying stage; NULL when refused. */
static StageState *make_copy(Caching *caching, const Prim *prim, const PrimArg *list, Node *loop) {
    NestState *state = caching->state;
    const char *name = stage_name(state, prim, caching->source->name, "cache");
    if (name == NULL || !find_consumers(caching, loop))
        return NULL;
    find_domain(caching);
    if (!read_layout(caching, prim, list))
        return NULL;
    bool earlier = all_read_earlier(state, caching->source);
    StageState *copy = stage_add(state, make_stage(caching, name), caching->consumers.items[0]);
    stage_place(copy, loop);
    copy->earlier_steps = earlier;
    rewrite_consumers(caching);
    return copy;
}

bool apply_cache_read(NestState *state, const Prim *prim) {
    Caching caching = {.state = state, .source = argument_tensor(state, prim, positional(prim, 0))};
    const PrimArg *at = prim_keyword(prim, "at");
    Node *loop = NULL;
    if (caching.source == NULL || (at != NULL && (loop = argument_loop(state, prim, at)) == NULL))
        return false;
    if (caching.source->role == ROLE_INITIAL)
        return refuse(state, "%s is what the caller's buffer held before it is written to; it is read once",
                      caching.source->name);
    if (!choose_reads(&caching, prim))
        return false;
    StageState *copy = make_copy(&caching, prim, prim_keyword(prim, "layout"), loop);
    return copy != NULL && argument_scope(state, prim, copy);
}

bool copy_constant(NestState *state, const Prim *prim, const Tensor *constant, const PrimArg *list) {
    Caching caching = {.state = state, .source = constant};
    return make_copy(&caching, prim, list, NULL) != NULL;
}
