/* reductions.c - some dimensions of a tensor become one element: sums, products, extremes, and where these are. */
#include "driver/import/nodes/axes.h"
#include "driver/import/nodes/nodes.h"
#include <string.h>

Axes axes_of(Import *import, const Operand *x, const bool *reduced) {
    Axes a = {.rank = x->rank,
              .reduced = ARENA_ARRAY(import->arena, bool, x->rank + 1),
              .indices = index_names(import, x->rank),
              .inner = index_names(import, x->rank),
              .outer = ARENA_ARRAY(import->arena, const char *, x->rank + 1),
              .outer_shape = new_shape(import, x->rank),
              .count = size_number(1)};
    for (int d = 0; d < x->rank; d++) {
        a.reduced[d] = reduced[d];
        if (reduced[d]) {
            a.inner[d] = format(import, "r_%s", a.indices[d]);
            a.count = size_product(import, a.count, x->shape[d]);
        } else {
            a.outer_shape[a.kept] = x->shape[d];
            a.outer[a.kept++] = a.indices[d];
        }
    }
    return a;
}

Axes axes_from(Import *import, const Operand *x, int first) {
    bool *reduced = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    for (int d = first; d < x->rank; d++)
        reduced[d] = true;
    return axes_of(import, x, reduced);
}

Axes axes_one(Import *import, const Operand *x, int axis) {
    bool *reduced = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    reduced[axis] = true;
    return axes_of(import, x, reduced);
}

const char *outer_element(Import *import, const Axes *axes, const char *name) {
    return element(import, name, axes->kept, axes->outer);
}

/* --- sums and the like -------------------------------------------------------------------------------------------- */

static const struct ReductionRow {
    const char *kind, *combine, *term, *result; /* $: the element, the value; #: how many there are */
} reduction_rows[] = {
    {"ReduceL1", "+=!", "abs($)", NULL},    {"ReduceL2", "+=!", "$ * $", "sqrt($)"},
    {"ReduceLogSum", "+=!", "$", "log($)"}, {"ReduceLogSumExp", "+=!", "exp($)", "log($)"},
    {"ReduceMax", "max=!", "$", NULL},      {"ReduceMean", "+=!", "$", "$ / #"},
    {"ReduceMin", "min=!", "$", NULL},      {"ReduceProd", "*=!", "$", NULL},
    {"ReduceSum", "+=!", "$", NULL},        {"ReduceSumSquare", "+=!", "$ * $", NULL},
};

static const char *replaced(Import *import, const char *pattern_of_one, const char *value, const char *count) {
    Text text = {.arena = import->arena};
    for (const char *at = pattern_of_one; *at; at++)
        if (*at == '$' || *at == '#')
            text_add(&text, "%s", *at == '$' ? value : count);
        else
            text_add_bytes(&text, at, 1);
    return text.text;
}

/* The shape and the indices of the result, with dimensions of 1 where they are kept. */
static int result_of(Import *import, const Operand *x, const Axes *a, bool keep, Size **shape, const char ***indices,
                     const char **ranges) {
    *shape = a->outer_shape;
    *indices = a->outer;
    *ranges = "";
    if (!keep)
        return a->kept;
    *shape = new_shape(import, x->rank);
    *indices = a->indices;
    for (int d = 0; d < x->rank; d++)
        (*shape)[d] = a->reduced[d] ? size_number(1) : x->shape[d];
    *ranges = where(import, x->rank, a->indices, *shape, a->reduced);
    return x->rank;
}

static const struct ReductionRow *reduction_row(const char *kind) {
    const struct ReductionRow *row = reduction_rows;
    while (strcmp(row->kind, kind))
        row++;
    return row;
}

static Axes reduced_axes(Import *import, const Operand *x) {
    bool *reduced = ARENA_ARRAY(import->arena, bool, x->rank + 1), any = false;
    axes_given(import, 1, x->rank, reduced);
    for (int d = 0; d < x->rank; d++)
        any = any || reduced[d];
    for (int d = 0; d < x->rank && !any; d++)
        reduced[d] = !attribute_integer(import, "noop_with_empty_axes", 0);
    return axes_of(import, x, reduced);
}

/* The type that terms are combined in. */
static ElementType combined_type(const struct ReductionRow *row, ElementType type) {
    if (type == TYPE_BOOL)
        return TYPE_INT32;
    if (type_is_float(type))
        return element_info[type].bytes < 4 ? TYPE_FLOAT : type;
    return row->result && strchr(row->result, '(') ? TYPE_DOUBLE : type;
}

/* So that no power overflows the largest element is taken off, and added again. */
static void print_log_sum_exp(Import *import, const Operand *x, const Axes *a, int rank, const char **indices,
                              const Size *shape, const char *ranges) {
    const char *e = format(import, "float(%s)", read_at(import, x, a->inner));
    Operand *result = output(import, 0, x->type, rank, shape);
    const char *top = outer_element(import, a, temporary(import, result, "top"));
    const char *sum = outer_element(import, a, temporary(import, result, "sum"));
    statement(import, "%s max=! %s", top, e);
    statement(import, "%s +=! exp(%s - %s)", sum, e, top);
    statement(import, "%s = %s%s", element(import, result->name, rank, indices),
              converted(import, x->type, format(import, "%s + log(%s)", top, sum)), ranges);
}

void print_reduction(Import *import) {
    Operand *x = input(import, 0);
    const struct ReductionRow *row = reduction_row(import->node->kind);
    Axes a = reduced_axes(import, x);
    Size *shape;
    const char **indices, *ranges;
    int rank = result_of(import, x, &a, attribute_integer(import, "keepdims", 1), &shape, &indices, &ranges);
    if (!strcmp(row->kind, "ReduceLogSumExp") && x->type != TYPE_DOUBLE && a.kept < x->rank) {
        print_log_sum_exp(import, x, &a, rank, indices, shape, ranges);
        return;
    }
    ElementType type = combined_type(row, x->type);
    const char *e = read_at(import, x, a.inner), *count = converted(import, type, size_text(import, a.count));
    const char *term = replaced(import, row->term, type == x->type ? e : converted(import, type, e), count);
    Operand *result = output(import, 0, x->type, rank, shape);
    const char *to = element(import, result->name, rank, indices);
    bool direct = !row->result && type == x->type;
    const char *sum = direct ? to : element(import, temporary(import, result, "sum"), rank, indices);
    statement(import, "%s %s %s%s", sum, a.kept == x->rank ? "=" : row->combine, term, ranges);
    if (direct)
        return;
    const char *value = replaced(import, row->result ? row->result : "$", sum, count);
    value = x->type == TYPE_BOOL ? format(import, "%s > 0", sum) : value;
    bool same = type == x->type || x->type == TYPE_BOOL;
    statement(import, "%s = %s", to, same ? value : converted(import, x->type, value));
}

/* --- places of extremes ------------------------------------------------------------------------------------------- */

void print_arg_extreme(Import *import) {
    Operand *x = input(import, 0);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank);
    bool largest = !strcmp(import->node->kind, "ArgMax"), last = attribute_integer(import, "select_last_index", 0);
    if (!x->rank)
        refuse_node(import, "a number has no axis");
    if (import->failed)
        return;
    Axes a = axes_one(import, x, axis);
    Size *shape;
    const char **indices, *ranges;
    int rank = result_of(import, x, &a, attribute_integer(import, "keepdims", 1), &shape, &indices, &ranges);
    const char *e = read_at(import, x, a.inner);
    Operand *result = output(import, 0, TYPE_INT64, rank, shape);
    const char *best = temporary(import, result, "best"), *at = temporary(import, result, "at");
    statement(import, "%s %s=! %s", outer_element(import, &a, best), largest ? "max" : "min", e);
    statement(import, "%s %s=! %s where %s == %s", outer_element(import, &a, at), last ? "max" : "min", a.inner[axis],
              e, outer_element(import, &a, best));
    statement(import, "%s = int64(%s)%s", element(import, result->name, rank, indices), outer_element(import, &a, at),
              ranges);
}

/* --- running sums and products ------------------------------------------------------------------------------------ */

void print_running(Import *import) {
    Operand *x = input(import, 0);
    int count;
    const Element *axes = known_integers(import, 1, "the axis", &count);
    bool sums = !strcmp(import->node->kind, "CumSum");
    bool exclusive = attribute_integer(import, "exclusive", 0), reverse = attribute_integer(import, "reverse", 0);
    int axis = axis_of(import, axes && count ? axes[0].value.integer : 0, x->rank);
    if (!x->rank)
        refuse_node(import, "a number has no axis");
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank), *step = indices[axis];
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    const char *name = reverse ? temporary(import, result, "steps") : result->name;
    const char *sum = element(import, name, x->rank, indices), *from_end = NULL;
    if (reverse) {
        from_end = format(import, "%s - %s", size_text(import, size_sum(import, x->shape[axis], -1)), step);
        own[axis] = from_end;
    }
    if (exclusive)
        own[axis] = reverse ? format(import, "%s - %s", size_text(import, x->shape[axis]), step)
                            : format(import, "%s - 1", step);
    const char *read = element(import, name_of(import, x), x->rank, own), *first = sums ? "0" : "1";
    own[axis] = format(import, "%s - 1", step);
    const char *value = format(import, exclusive ? "(%s else %s) %c (%s else %s)" : "(%s else %s) %c %s",
                               element(import, name, x->rank, own), first, sums ? '+' : '*', read, first);
    if (x->type != TYPE_FLOAT)
        value = converted(import, x->type, value);
    statement(import, "scan %s { %s = %s%s }", step, sum, value, where(import, x->rank, indices, x->shape, NULL));
    own[axis] = from_end;
    if (reverse)
        statement(import, "%s = %s%s", element(import, result->name, x->rank, indices),
                  element(import, name, x->rank, own), where(import, x->rank, indices, x->shape, NULL));
}

/* --- the largest elements, in their order ------------------------------------------------------------------------- */

/* How many are asked for: an attribute of older versions, or an input. */
static int64_t top_count(Import *import) {
    int count = 0;
    if (attribute(import, "k"))
        return attribute_integer(import, "k", 0);
    const Element *k = known_integers(import, 1, "how many are taken", &count);
    return k && count ? k[0].value.integer : 0;
}

/* Each element has a rank: how many come before it. Of equal elements the first ones do. */
void print_top_k(Import *import) {
    Operand *x = input(import, 0);
    int axis = axis_of(import, attribute_integer(import, "axis", -1), x->rank);
    int64_t count = top_count(import);
    if (!x->rank || count < 0 || (size_known(x->shape[axis]) && count > x->shape[axis].factor))
        refuse_node(import, "it takes %lld elements", (long long)count);
    if (import->failed)
        return;
    Axes a = axes_one(import, x, axis);
    Size *shape = new_shape(import, x->rank);
    memcpy(shape, x->shape, sizeof *shape * (size_t)x->rank);
    shape[axis] = size_number(count);
    const char *name = name_of(import, x), *i = a.indices[axis], *r = a.inner[axis];
    const char *here = element(import, name, x->rank, a.indices), *other = element(import, name, x->rank, a.inner);
    const char *better = attribute_integer(import, "largest", 1) ? ">" : "<";
    const char *rank = fresh_name(
        import, format(import, "%s_rank", *import->node->outputs.items[0] ? import->node->outputs.items[0] : "top"));
    const char *ranked = element(import, rank, x->rank, a.indices),
               *ranked_other = element(import, rank, x->rank, a.inner);
    statement(import, "%s +=! %s %s %s || (%s == %s && %s < %s) ? 1 : 0", ranked, other, better, here, other, here, r,
              i);
    const char *ranges = format(import, " where %s in 0:%lld, %s == %s", i, (long long)count, ranked_other, i);
    if (has_output(import, 0))
        statement(import, "%s +=! %s%s",
                  element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, a.indices), other, ranges);
    if (has_output(import, 1))
        statement(import, "%s +=! int64(%s)%s",
                  element(import, output(import, 1, TYPE_INT64, x->rank, shape)->name, x->rank, a.indices), r, ranges);
}
