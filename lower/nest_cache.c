/* nest_cache.c - cache_read: copies what consumers read of a tensor into a buffer, in the order that a layout says.
 *
 * The copy is a stage over the whole tensor in its new layout, computed at a loop like any other, so that its box, its
 * guards and its placement are those of compute_at. A layout is a list of components (index / a) % b of the tensor's
 * dimensions; each dimension's components together hold each of its elements once.
 */
#include "lower/nest_state.h"

#include <ctype.h>
#include <string.h>

typedef struct LayoutPart {
    int dimension;
    const char *name;         /* of the copy's axis */
    int64_t divisor, modulus; /* modulus 0: none */
} LayoutPart;

/* A dimension of the source: the copy holds indices from low to low + extent - 1. */
typedef struct Dimension {
    const char *name;
    int64_t low;
    const Form *extent;
} Dimension;

typedef struct Caching {
    NestState *state;
    const Tensor *source, *copy;
    StageState *consumer; /* whose axes are looked up */
    LIST(StageState *) consumers;
    Dimension *dimensions;
    int component_count;
    LayoutPart *components;
    const Expr *otherwise; /* the constant that all reads outside give; NULL: none, or several */
    bool pads;             /* the copy holds what otherwise gives, and its readers need none */
} Caching;

/* --- names of dimensions ------------------------------------------------------------------------------------------ */

static const char *without_r(const char *name) {
    return strncmp(name, "r_", 2) == 0 && name[2] != '\0' ? name + 2 : name;
}

static bool same_index_name(const char *wanted, const char *name) {
    return strcmp(wanted, name) == 0 || strcmp(wanted, without_r(name)) == 0;
}

static bool same_size_name(const char *wanted, const char *size) {
    size_t i = 0;
    for (; size[i] != '\0'; i++)
        if (wanted[i] != size[i] && wanted[i] != tolower((unsigned char)size[i]))
            return false;
    return wanted[i] == '\0';
}

/* "d0", "d1", ... */
static bool is_number_name(const char *name, int d) {
    int number = 0;
    for (const char *c = name + 1; *c >= '0' && *c <= '9' && number <= d; c++)
        number = 10 * number + (*c - '0');
    return name[0] == 'd' && name[1] != '\0' && number == d && strspn(name + 1, "0123456789") == strlen(name + 1);
}

typedef struct NameSearch {
    const char *name;
    bool found;
} NameSearch;

static bool find_name(const Expr *e, void *context) {
    NameSearch *search = context;
    if (e->kind == EXPR_VAR && same_index_name(search->name, e->var->name))
        search->found = true;
    return !search->found && e->kind != EXPR_READ;
}

/* How well a name fits the dimension, over all reads: 3 the index itself, 2 part of the index, 1 dN or the size's
 * name. */
static int name_fit(const Caching *caching, const char *name, int d) {
    int fit = 0;
    const char *size = caching->source->dim_names != NULL ? caching->source->dim_names[d] : NULL;
    if (is_number_name(name, d) || (size != NULL && same_size_name(name, size)))
        fit = 1;
    for (int i = 0; i < caching->consumers.count; i++) {
        const StageState *consumer = caching->consumers.items[i];
        for (int k = 0; k < consumer->accesses.count; k++) {
            const Expr *read = consumer->accesses.items[k].read;
            if (read->tensor != caching->source)
                continue;
            NameSearch search = {name, false};
            expr_walk(read->args[d], find_name, &search);
            int found = !search.found ? 0 : read->args[d]->kind == EXPR_VAR ? 3 : 2;
            fit = found > fit ? found : fit;
        }
    }
    return fit;
}

static bool find_dimension(const Caching *caching, const char *name, int *dimension) {
    int best = 0, ties = 0;
    for (int d = 0; d < caching->source->rank; d++) {
        int fit = name_fit(caching, name, d);
        if (fit > best) {
            best = fit;
            ties = 0;
            *dimension = d;
        } else if (fit == best && fit > 0) {
            ties++;
        }
    }
    if (best == 0)
        return refuse(caching->state,
                      "%s names no dimension of %s: an index that reads it, the name of a size, or d0, d1, ...", name,
                      caching->source->name);
    return ties == 0 || refuse(caching->state, "%s names more than one dimension of %s: d0, d1, ... name one", name,
                               caching->source->name);
}

static const Expr *first_read(const Caching *caching) {
    const StageState *consumer = caching->consumers.items[0];
    for (int k = 0; k < consumer->accesses.count; k++)
        if (consumer->accesses.items[k].read->tensor == caching->source)
            return consumer->accesses.items[k].read;
    return NULL;
}

/* What a dimension is called when no layout does: by the index that reads it alone, else by its size. */
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

/* --- the layout --------------------------------------------------------------------------------------------------- */

static bool component_operand(const Caching *caching, const Prim *prim, const PrimArg *arg, int64_t *value) {
    const PrimArg *number = &arg->items[1];
    if (arg->count != 2 || (number->kind != ARG_INT && number->kind != ARG_HOLE))
        return refuse(caching->state, "a layout divides by numbers");
    return argument_integer(caching->state, prim, number, value) &&
           (*value >= 1 || refuse(caching->state, "a layout divides by at least 1, not %lld", (long long)*value));
}

/* (x / a) % b taken further by / c or % c. */
static bool read_component(const Caching *caching, const Prim *prim, const PrimArg *arg, LayoutPart *component) {
    if (arg->kind == ARG_NAME) {
        *component = (LayoutPart){.divisor = 1, .name = without_r(arg->name)};
        return find_dimension(caching, arg->name, &component->dimension);
    }
    if (arg->kind != ARG_OP)
        return refuse(caching->state, "a layout lists dimensions: j, j/16 or j%%16");
    int64_t c;
    if (!component_operand(caching, prim, arg, &c) || !read_component(caching, prim, &arg->items[0], component))
        return false;
    int64_t modulus = component->modulus;
    if (modulus != 0 && modulus % c != 0)
        return refuse(caching->state, "%lld does not divide %lld, so the layout would not hold each element once",
                      (long long)c, (long long)modulus);
    if (arg->op == '%')
        component->modulus = c;
    else if (__builtin_mul_overflow(component->divisor, c, &component->divisor))
        return refuse(caching->state, "the layout divides by more than 64 bits hold");
    else if (modulus != 0)
        component->modulus = modulus / c;
    return true;
}

/* The component of a dimension that goes on where one of this divisor begins; -1: none. */
static int next_component(const Caching *caching, int dimension, int64_t divisor) {
    for (int i = 0; i < caching->component_count; i++) {
        const LayoutPart *component = &caching->components[i];
        bool adjoins = component->modulus != 0 && component->divisor * component->modulus == divisor;
        if (component->dimension == dimension && (divisor == 0 ? component->modulus == 0 : adjoins))
            return i;
    }
    return -1;
}

/* From the outermost component, which has no modulus, down to divisor 1, each beginning where the last one ends. */
static bool check_dimension(Caching *caching, int d) {
    int used = 0, held = 0;
    for (int i = 0; i < caching->component_count; i++)
        held += caching->components[i].dimension == d;
    int64_t divisor = 0;
    for (int i; divisor != 1 && (i = next_component(caching, d, divisor)) >= 0 && used <= held; used++) {
        LayoutPart *component = &caching->components[i];
        if (held > 1)
            component->name = arena_printf(caching->state->arena, "%s_%d", component->name, used);
        if (divisor == component->divisor)
            break;
        divisor = component->divisor;
    }
    if (divisor == 1 && used == held)
        return true;
    const char *name = caching->dimensions[d].name;
    return refuse(caching->state,
                  "the layout does not hold each element of dimension %s of %s once: %s, or %s/16 and %s%%16, do", name,
                  caching->source->name, name, name, name);
}

static bool read_layout(Caching *caching, const Prim *prim) {
    const PrimArg *layout = prim_keyword(prim, "layout");
    int rank = caching->source->rank, count = layout != NULL ? layout->count : rank;
    caching->component_count = count;
    caching->components = ARENA_ARRAY(caching->state->arena, LayoutPart, count);
    for (int i = 0; i < count; i++) {
        if (layout == NULL)
            caching->components[i] = (LayoutPart){.dimension = i, .divisor = 1, .name = caching->dimensions[i].name};
        else if (!read_component(caching, prim, &layout->items[i], &caching->components[i]))
            return false;
    }
    for (int d = 0; layout != NULL && d < rank; d++)
        if (!check_dimension(caching, d))
            return false;
    return true;
}

/* --- what the copy holds ------------------------------------------------------------------------------------------ */

static const Form *no_axis(const void *context, const Var *var) {
    return NULL;
}

/* An axis as its root loop over the whole domain. */
static const Form *find_domain_form(const void *context, const Var *var) {
    const Caching *caching = context;
    const Stage *stage = caching->consumer->nest.stage;
    for (int i = 0; i < caching->consumer->root_count; i++)
        if (var == (i < stage->axis_count ? stage->axes[i] : stage->reductions[i - stage->axis_count]))
            return form_atom(&caching->state->forms, &caching->consumer->roots[i]->atom);
    return NULL;
}

static const Form *index_form(Caching *caching, StageState *consumer, const Expr *index) {
    caching->consumer = consumer;
    return form_of_expr(&caching->state->forms, index, find_domain_form, caching);
}

typedef void Visit(Caching *caching, StageState *consumer, const Expr *read);

static void each_read(Caching *caching, Visit *visit) {
    for (int i = 0; i < caching->consumers.count; i++)
        for (int k = 0; k < caching->consumers.items[i]->accesses.count; k++) {
            const Expr *read = caching->consumers.items[i]->accesses.items[k].read;
            if (read->tensor == caching->source)
                visit(caching, caching->consumers.items[i], read);
        }
}

/* All reads that can miss must give the same constant for the copy to hold it. */
static void note_otherwise(Caching *caching, StageState *consumer, const Expr *read) {
    const Expr *otherwise = read->otherwise;
    if (otherwise == NULL)
        return;
    bool constant = otherwise->kind == EXPR_INT || otherwise->kind == EXPR_REAL;
    if (!constant || (caching->otherwise != NULL && !expr_equal(caching->otherwise, otherwise)))
        caching->pads = false;
    caching->otherwise = otherwise;
}

/* Widens a dimension to the indices of a read that has an otherwise: from a constant, to a bound over sizes. */
static void widen(Caching *caching, StageState *consumer, const Expr *read) {
    Forms *forms = &caching->state->forms;
    for (int d = 0; read->otherwise != NULL && caching->pads && d < caching->source->rank; d++) {
        Dimension *dimension = &caching->dimensions[d];
        const Form *index = index_form(caching, consumer, read->args[d]);
        const Form *low = index != NULL ? form_lower(forms, index) : NULL;
        const Form *high = index != NULL ? form_upper(forms, index) : NULL;
        int64_t constant = 0;
        if (low == NULL || high == NULL ||
            (!form_at_most(forms, form_int(forms, 0), low) && !form_is_int(low, &constant))) {
            caching->pads = false;
            return;
        }
        const Form *end = form_add_int(forms, dimension->extent, dimension->low);
        end = form_extreme(forms, ATOM_MAX, end, form_add_int(forms, high, 1));
        dimension->low = constant < dimension->low ? constant : dimension->low;
        dimension->extent = form_add_int(forms, end, -dimension->low);
    }
}

static void set_domain(Caching *caching) {
    for (int d = 0; d < caching->source->rank; d++) {
        caching->dimensions[d].low = 0;
        caching->dimensions[d].extent = form_of_expr(&caching->state->forms, caching->source->dims[d], no_axis, NULL);
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
}

/* --- the copying stage -------------------------------------------------------------------------------------------- */

static const Form *component_extent(Caching *caching, const LayoutPart *component) {
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

/* The source's index in dimension d: the sum of its components over the copy's axes, from low on. */
static Expr *source_index(Caching *caching, Var *const *axes, int d) {
    Arena *arena = caching->state->arena;
    Expr *index = expr_int(arena, 0);
    for (int i = 0; i < caching->component_count; i++) {
        const LayoutPart *component = &caching->components[i];
        if (component->dimension == d)
            index =
                expr_binary(arena, OP_ADD, index,
                            expr_binary(arena, OP_MUL, expr_var(arena, axes[i]), expr_int(arena, component->divisor)));
    }
    int64_t low = caching->dimensions[d].low;
    return low < 0 ? expr_binary(arena, OP_SUB, index, expr_int(arena, -low)) : index;
}

/* Whether the copy's index in dimension d can leave the source: in padding, or beyond the last whole block. */
static bool leaves_source(Caching *caching, int d) {
    Forms *forms = &caching->state->forms;
    const Dimension *dimension = &caching->dimensions[d];
    const Form *end = form_int(forms, 1);
    for (int i = 0; i < caching->component_count; i++) {
        const LayoutPart *component = &caching->components[i];
        if (component->dimension == d)
            end = form_add_scaled(forms, end, component->divisor,
                                  form_add_int(forms, component_extent(caching, component), -1));
    }
    end = form_add_int(forms, end, dimension->low);
    const Form *extent = form_of_expr(forms, caching->source->dims[d], no_axis, NULL);
    return dimension->low < 0 || !form_at_most(forms, end, extent);
}

static Tensor *make_tensor(Caching *caching, const char *name) {
    Arena *arena = caching->state->arena;
    Tensor *copy = ARENA_NEW(arena, Tensor);
    *copy =
        (Tensor){.name = name, .type = caching->source->type, .role = ROLE_TEMPORARY, .rank = caching->component_count};
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
        copy->dims[i] = form_expr(&caching->state->forms, component_extent(caching, &caching->components[i]));
        copy->dim_names[i] = fresh_axis_name(caching, axes, i, caching->components[i].name);
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
    Stage *stage = ARENA_NEW(arena, Stage);
    *stage = (Stage){.name = name, .tensor = copy, .axis_count = copy->rank, .axes = (const Var **)axes};
    stage->value = expr_read(arena, caching->source, indices, leaves ? otherwise : NULL);
    stage->loc = caching->source->loc;
    caching->copy = copy;
    return stage;
}

/* --- rewriting the readers ---------------------------------------------------------------------------------------- */

static Expr *component_index(Caching *caching, const LayoutPart *component, Expr *index) {
    Arena *arena = caching->state->arena;
    int64_t low = caching->dimensions[component->dimension].low;
    if (low < 0)
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
    if (e->kind != EXPR_READ || e->tensor != caching->source)
        return e;
    Expr **indices = ARENA_ARRAY(arena, Expr *, caching->component_count);
    for (int i = 0; i < caching->component_count; i++)
        indices[i] = component_index(caching, &caching->components[i], e->args[caching->components[i].dimension]);
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

static bool reads_tensor(const StageState *stage, const Tensor *tensor) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (stage->accesses.items[i].read->tensor == tensor)
            return !stage->nest.inlined;
    return false;
}

static bool find_consumers(Caching *caching, const Node *loop) {
    NestState *state = caching->state;
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        if (reads_tensor(stage, caching->source) && (loop == NULL || stage_is_inside(stage, loop)))
            list_push(state->arena, &caching->consumers, stage);
    }
    if (caching->consumers.count > 0)
        return true;
    if (loop == NULL)
        return refuse(state, "nothing reads %s", caching->source->name);
    return refuse(state, "nothing in the body of %s reads %s", loop_text(state, loop), caching->source->name);
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
    const char *name = stage_name(state, prim, caching.source->name, "cache");
    if (name == NULL || !find_consumers(&caching, loop))
        return false;
    find_domain(&caching);
    if (!read_layout(&caching, prim))
        return false;
    bool earlier = all_read_earlier(state, caching.source);
    StageState *copy = stage_add(state, make_stage(&caching, name), caching.consumers.items[0]);
    copy->at = loop;
    copy->earlier_steps = earlier;
    rewrite_consumers(&caching);
    return argument_scope(state, prim, copy);
}
