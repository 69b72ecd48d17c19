/* normalisation.c - softmax and its kind, and what moves values to a mean of 0 and a variance of 1. */
#include "driver/import/nodes/axes.h"
#include "driver/import/nodes/nodes.h"
#include <string.h>

/* --- softmax ------------------------------------------------------------------------------------------------------ */

/* Before version 13 all dimensions from the axis on are one. */
static Axes softmax_axes(Import *import, const Operand *x) {
    bool old = import->model->opset < 13;
    int axis = axis_of(import, attribute_integer(import, "axis", old ? 1 : -1), x->rank);
    if (!x->rank)
        refuse_node(import, "a number has no axis");
    return old ? axes_from(import, x, axis) : axes_one(import, x, x->rank ? axis : 0);
}

void print_softmax(Import *import) {
    Operand *x = input(import, 0);
    Axes a = softmax_axes(import, x);
    bool logarithm = !strcmp(import->node->kind, "LogSoftmax");
    if (import->failed)
        return;
    const char *name = name_of(import, x);
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    if (x->rank == 2 && a.reduced[1] && a.kept == 1 && x->type == TYPE_FLOAT) {
        statement(import, "%s = %s(%s)", result->name, logarithm ? "log_softmax" : "softmax", name);
        return;
    }
    const char *top = outer_element(import, &a, temporary(import, result, "top"));
    const char *total = outer_element(import, &a, temporary(import, result, "total"));
    const char *e = temporary(import, result, "e");
    const char *here = element(import, name, x->rank, a.indices), *inner = element(import, name, x->rank, a.inner);
    statement(import, "%s max=! %s", top, inner);
    if (logarithm)
        statement(import, "%s +=! exp(%s - %s)", total, inner, top);
    else {
        statement(import, "%s = exp(%s - %s)", element(import, e, x->rank, a.indices), here, top);
        statement(import, "%s +=! %s", total, element(import, e, x->rank, a.inner));
    }
    const char *value = logarithm ? format(import, "%s - %s - log(%s)", here, top, total)
                                  : format(import, "%s / %s", element(import, e, x->rank, a.indices), total);
    statement(import, "%s = %s", element(import, result->name, x->rank, a.indices),
              x->type == TYPE_FLOAT ? value : converted(import, x->type, value));
}

/* 1 at the first of the largest elements. */
void print_hardmax(Import *import) {
    Operand *x = input(import, 0);
    Axes a = softmax_axes(import, x);
    if (import->failed)
        return;
    if (a.kept != x->rank - 1) {
        refuse_node(import, "more than one axis is not known");
        return;
    }
    int axis = 0;
    while (!a.reduced[axis])
        axis++;
    const char *inner = element(import, name_of(import, x), x->rank, a.inner);
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    const char *top = outer_element(import, &a, temporary(import, result, "top"));
    const char *at = outer_element(import, &a, temporary(import, result, "at"));
    statement(import, "%s max=! %s", top, inner);
    statement(import, "%s min=! %s where %s == %s", at, a.inner[axis], inner, top);
    statement(import, "%s = %s%s", element(import, result->name, x->rank, a.indices),
              converted(import, x->type, format(import, "%s == %s ? 1 : 0", a.indices[axis], at)),
              where(import, x->rank, a.indices, x->shape, a.reduced));
}

/* --- mean and variance -------------------------------------------------------------------------------------------- */

static const char *real(Import *import, double value) {
    return number_text(import, (Value){.type = TYPE_FLOAT, .real = value});
}

void print_moments(Import *import, const Operand *x, const Axes *a, const char *of, double epsilon, const char **mean,
                   const char **scale) {
    const char *sum = outer_element(import, a, fresh_name(import, format(import, "%s_sum", of)));
    const char *square = outer_element(import, a, fresh_name(import, format(import, "%s_square", of)));
    const char *inner = read_at(import, x, a->inner), *count = size_text(import, a->count);
    *mean = outer_element(import, a, fresh_name(import, format(import, "%s_mean", of)));
    *scale = outer_element(import, a, fresh_name(import, format(import, "%s_scale", of)));
    const char *moved = format(import, "(float(%s) - %s)", inner, *mean);
    if (x->type == TYPE_FLOAT)
        moved = format(import, "(%s - %s)", inner, *mean);
    statement(import, "%s +=! %s", sum, x->type == TYPE_FLOAT ? inner : format(import, "float(%s)", inner));
    statement(import, "%s = %s / float(%s)", *mean, sum, count);
    statement(import, "%s +=! %s * %s", square, moved, moved);
    statement(import, "%s = 1 / sqrt(%s / float(%s) + %s)", *scale, square, count, real(import, epsilon));
}

/* The value of x at its indices, moved and scaled, times gamma, and beta added, which may be NULL. */
static void print_normal(Import *import, const Operand *x, const char *name, const char *mean, const char *scale,
                         const char *gamma, const char *beta, const char *const *indices) {
    const char *value = read_at(import, x, indices);
    value = mean ? format(import, "(%s - %s) * %s", value, mean, scale) : format(import, "%s * %s", value, scale);
    if (gamma)
        value = format(import, "%s * %s", value, gamma);
    if (beta)
        value = format(import, "%s + %s", value, beta);
    statement(import, "%s = %s", element(import, name, x->rank, indices),
              x->type == TYPE_FLOAT ? value : converted(import, x->type, value));
}

static const char *broadcast_input(Import *import, int number, const Operand *x, const char *const *indices) {
    Operand *operand = input_or_none(import, number);
    if (!operand)
        return NULL;
    if (operand->rank > x->rank)
        refuse_node(import, "its scale has %d dimensions, its input %d", operand->rank, x->rank);
    return import->failed ? "" : read_broadcast(import, operand, x->rank, x->shape, indices);
}

/* Another output of a normalisation: of the shape of the input, with 1 for what was reduced. */
static void print_statistic(Import *import, const Operand *x, const Axes *a, int number, const char *value) {
    if (!has_output(import, number))
        return;
    Size *shape = new_shape(import, x->rank);
    for (int d = 0; d < x->rank; d++)
        shape[d] = a->reduced[d] ? size_number(1) : x->shape[d];
    Operand *result = output(import, number, TYPE_FLOAT, x->rank, shape);
    statement(import, "%s = %s%s", element(import, result->name, x->rank, a->indices), value,
              where(import, x->rank, a->indices, shape, a->reduced));
}

void print_layer_normalization(Import *import) {
    Operand *x = input(import, 0), *gamma = input(import, 1), *beta = input_or_none(import, 2);
    int axis = axis_of(import, attribute_integer(import, "axis", -1), x->rank);
    double epsilon = attribute_real(import, "epsilon", 1e-5);
    Axes a = axes_from(import, x, axis);
    const char *scaling = broadcast_input(import, 1, x, a.indices), *shift = broadcast_input(import, 2, x, a.indices);
    if (import->failed)
        return;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    bool library = x->rank == 2 && axis == 1 && gamma->rank == 1 && beta && beta->rank == 1 &&
                   (float)epsilon == (float)1e-5 && x->type == TYPE_FLOAT && import->node->outputs.count == 1;
    if (library) {
        const char *names[] = {name_of(import, x), name_of(import, gamma), name_of(import, beta)};
        statement(import, "%s = layer_norm(%s)", result->name, joined(import, names, 3, ", "));
        return;
    }
    const char *mean, *scale;
    print_moments(import, x, &a, result->name, epsilon, &mean, &scale);
    print_normal(import, x, result->name, mean, scale, scaling, shift, a.indices);
    print_statistic(import, x, &a, 1, mean);
    print_statistic(import, x, &a, 2, scale);
}

void print_mean_variance_normalization(Import *import) {
    Operand *x = input(import, 0);
    bool *axes = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    if (!axes_given(import, 1, x->rank, axes))
        for (int d = 0; d < x->rank; d++)
            axes[d] = d != 1;
    Axes a = axes_of(import, x, axes);
    const char *mean, *scale;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    print_moments(import, x, &a, result->name, 1e-9, &mean, &scale);
    print_normal(import, x, result->name, mean, scale, NULL, NULL, a.indices);
}

void print_rms_normalization(Import *import) {
    Operand *x = input(import, 0);
    Axes a = axes_from(import, x, axis_of(import, attribute_integer(import, "axis", -1), x->rank));
    const char *scaling = broadcast_input(import, 1, x, a.indices), *inner = read_at(import, x, a.inner);
    if (import->failed)
        return;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    const char *square = outer_element(import, &a, temporary(import, result, "square"));
    const char *scale = outer_element(import, &a, temporary(import, result, "scale"));
    statement(import, "%s +=! %s * %s", square, inner, inner);
    statement(import, "%s = 1 / sqrt(%s / float(%s) + %s)", scale, square, size_text(import, a.count),
              real(import, attribute_real(import, "epsilon", 1e-5)));
    print_normal(import, x, result->name, NULL, scale, scaling, NULL, a.indices);
}

void print_lp_normalization(Import *import) {
    Operand *x = input(import, 0);
    Axes a = axes_one(import, x, axis_of(import, attribute_integer(import, "axis", -1), x->rank));
    bool squares = attribute_integer(import, "p", 2) == 2;
    const char *inner = read_at(import, x, a.inner), *here = read_at(import, x, a.indices);
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    const char *total = outer_element(import, &a, temporary(import, result, "total"));
    statement(import, squares ? "%s +=! %s * %s" : "%s +=! abs(%s)", total, inner, inner);
    const char *norm = squares ? format(import, "sqrt(%s)", total) : total;
    statement(import, "%s = %s", element(import, result->name, x->rank, a.indices),
              converted(import, x->type, format(import, "%s == 0 ? 0.0 : %s / %s", total, here, norm)));
}

/* --- of channels -------------------------------------------------------------------------------------------------- */

void print_batch_normalization(Import *import) {
    Operand *x = input(import, 0);
    double epsilon = attribute_real(import, "epsilon", 1e-5);
    const char *names[5];
    if (attribute_integer(import, "training_mode", 0) || has_output(import, 1))
        refuse_node(import, "statistics of a training are not known");
    if (!attribute_integer(import, "spatial", 1) || x->rank < 2)
        refuse_node(import, "statistics that are not of channels are not known");
    for (int i = 0; i < 5 && !import->failed; i++) {
        if (i && input(import, i)->rank != 1)
            refuse_node(import, "its input %d has %d dimensions", i, input(import, i)->rank);
        names[i] = import->failed ? "" : name_of(import, input(import, i));
    }
    if (import->failed)
        return;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    if (x->rank == 4 && (float)epsilon == (float)1e-5 && x->type == TYPE_FLOAT) {
        const char *in_order[] = {names[0], names[3], names[4], names[1], names[2]};
        statement(import, "%s = batch_norm(%s)", result->name, joined(import, in_order, 5, ", "));
        return;
    }
    const char **indices = index_names(import, x->rank), *c = indices[1], *scale = temporary(import, result, "scale");
    statement(import, "%s(%s) = %s(%s) / sqrt(%s(%s) + %s)", scale, c, names[1], c, names[4], c, real(import, epsilon));
    print_normal(import, x, result->name, format(import, "%s(%s)", names[3], c), format(import, "%s(%s)", scale, c),
                 NULL, format(import, "%s(%s)", names[2], c), indices);
}

void print_instance_normalization(Import *import) {
    Operand *x = input(import, 0);
    Axes a = axes_from(import, x, 2 < x->rank ? 2 : x->rank);
    const char *gamma = element(import, name_of(import, input(import, 1)), 1, a.indices + 1), *mean, *scale;
    const char *beta = element(import, name_of(import, input(import, 2)), 1, a.indices + 1);
    if (x->rank < 3)
        refuse_node(import, "images of %d dimensions are not known", x->rank);
    if (import->failed)
        return;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    print_moments(import, x, &a, result->name, attribute_real(import, "epsilon", 1e-5), &mean, &scale);
    print_normal(import, x, result->name, mean, scale, gamma, beta, a.indices);
}

/* The channels of a group are the same number as in x(n, C*g + k, ...). */
void print_group_normalization(Import *import) {
    Operand *x = input(import, 0);
    int64_t groups = attribute_integer(import, "num_groups", 1),
            channels = x->rank > 1 ? known_size(import, x->shape[1]) : 0;
    if (groups < 1 || channels < groups || channels % groups || x->rank < 3)
        refuse_node(import, "its groups do not divide the channels");
    if (import->failed)
        return;
    Operand grouped = *x;
    grouped.rank = x->rank + 1;
    grouped.shape = new_shape(import, grouped.rank);
    for (int d = 0; d < grouped.rank; d++)
        grouped.shape[d] = d == 0   ? x->shape[0]
                           : d == 1 ? size_number(groups)
                           : d == 2 ? size_number(channels / groups)
                                    : x->shape[d - 1];
    const char **indices = index_names(import, x->rank),
               **split = ARENA_ARRAY(import->arena, const char *, grouped.rank + 1);
    long long each = channels / groups;
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    grouped.name = temporary(import, result, "groups");
    grouped.known = false;
    const char **all = index_names(import, grouped.rank);
    split[0] = all[0];
    split[1] = format(import, "%lld * %s + %s", each, all[1], all[2]);
    for (int d = 3; d < grouped.rank; d++)
        split[d - 1] = all[d];
    bool *ranged = ARENA_ARRAY(import->arena, bool, grouped.rank);
    ranged[1] = ranged[2] = true;
    statement(import, "%s = %s%s", element(import, grouped.name, grouped.rank, all),
              element(import, name_of(import, x), x->rank, split),
              where(import, grouped.rank, all, grouped.shape, ranged));
    Axes a = axes_from(import, &grouped, 2);
    const char *mean, *scale, *group = format(import, "%s / %lld", indices[1], each);
    print_moments(import, &grouped, &a, result->name, attribute_real(import, "epsilon", 1e-5), &mean, &scale);
    const char *at[] = {indices[0], group};
    mean = element(import, arena_strndup(import->arena, mean, strcspn(mean, "(")), 2, at);
    scale = element(import, arena_strndup(import->arena, scale, strcspn(scale, "(")), 2, at);
    bool by_group = import->model->opset < 21;
    const char *channel = by_group ? group : indices[1];
    print_normal(import, x, result->name, mean, scale, element(import, name_of(import, input(import, 1)), 1, &channel),
                 element(import, name_of(import, input(import, 2)), 1, &channel), indices);
}

/* Each element is divided by a power of the squares of `size` neighbours among the channels. */
void print_local_normalization(Import *import) {
    Operand *x = input(import, 0);
    int64_t size = attribute_integer(import, "size", 1);
    if (x->rank < 2 || size < 1 || size > INT32_MAX)
        refuse_node(import, "images of %d dimensions, or a size of %lld, are not known", x->rank, (long long)size);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **inner = index_names(import, x->rank),
               *name = name_of(import, x);
    inner[1] = format(import, "%s + r_%s - %lld", indices[1], indices[1], (long long)((size - 1) / 2));
    const char *read = format(import, "(%s else 0)", element(import, name, x->rank, inner));
    Operand *result = output(import, 0, x->type, x->rank, x->shape);
    const char *square = element(import, temporary(import, result, "square"), x->rank, indices);
    statement(import, "%s +=! %s * %s where r_%s in 0:%lld, %s in 0:%s", square, read, read, indices[1],
              (long long)size, indices[1], size_text(import, x->shape[1]));
    const char *factor = real(import, attribute_real(import, "alpha", 1e-4) / (double)size);
    statement(import, "%s = %s / pow(%s + %s * %s, %s)", element(import, result->name, x->rank, indices),
              element(import, name, x->rank, indices), real(import, attribute_real(import, "bias", 1)), factor, square,
              real(import, attribute_real(import, "beta", 0.75)));
}
