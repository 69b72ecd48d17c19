/* plain.c - see plain.h. Recursion without memory: small programs alone. */
#include "plain.h"
#include <stdlib.h>

static int64_t variable_value(const Plain *plain, const Var *var) {
    for (int i = plain->binding_count - 1; i >= 0; i--)
        if (plain->bindings[i].var == var)
            return plain->bindings[i].value;
    for (int i = 0; i < plain->program->size_count; i++)
        if (plain->program->sizes[i] == var)
            return plain->sizes[i];
    abort();
}

static Value plain_value(Plain *plain, const Expr *e);

int64_t plain_dim(Plain *plain, const Tensor *tensor, int d) {
    int64_t dim = plain_value(plain, tensor->dims[d]).integer;
    return dim > 0 ? dim : 0;
}

/* Beyond the limit the reads of one element may differ, and an index made of them may be outside. */
static bool is_over(const Plain *plain) {
    return plain->step_limit > 0 && plain->steps > plain->step_limit;
}

static Value plain_read(Plain *plain, const Expr *e) {
    int64_t index[8];
    for (int d = 0; d < e->count; d++) {
        index[d] = plain_value(plain, e->args[d]).integer;
        if (index[d] < 0 || index[d] >= plain_dim(plain, e->tensor, d)) {
            if (e->otherwise)
                return plain_value(plain, e->otherwise);
            if (!is_over(plain))
                abort();
            return (Value){.type = e->type};
        }
    }
    return plain_element(plain, e->tensor, index);
}

static Value plain_op(Plain *plain, const Expr *e) {
    Value args[3];
    if (e->op == OP_SELECT)
        return plain_value(plain, e->args[plain_value(plain, e->args[0]).integer ? 1 : 2]);
    for (int i = 0; i < e->count; i++)
        args[i] = plain_value(plain, e->args[i]);
    return value_apply(e->op, args);
}

static Value plain_value(Plain *plain, const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_REAL: return (Value){.type = e->type, .integer = e->integer};
    case EXPR_VAR:
        for (int i = 0; i < plain->program->argument_count; i++)
            if (plain->program->arguments[i].scalar == e->var)
                return value_load(e->type, plain->arguments[i]);
        return (Value){.type = TYPE_INT64, .integer = variable_value(plain, e->var)};
    case EXPR_READ: return plain_read(plain, e);
    case EXPR_CAST: return value_cast(plain_value(plain, e->args[0]), e->type);
    default: return plain_op(plain, e);
    }
}

/* All terms of a reduction in source order. */
static int collect_terms(Plain *plain, const Stage *stage, int at, Value *terms) {
    if (at == stage->reduction_count) {
        terms[0] = plain_value(plain, stage->components[0].value);
        return 1;
    }
    int count = 0;
    int64_t extent = plain_value(plain, stage->reductions[at]->extent).integer;
    int slot = plain->binding_count++;
    for (int64_t i = 0; i < extent; i++) {
        plain->bindings[slot].var = stage->reductions[at];
        plain->bindings[slot].value = i;
        count += collect_terms(plain, stage, at + 1, terms + count);
    }
    plain->binding_count--;
    return count;
}

static Value sum_pairs(const Value *terms, int count, Op op) {
    if (count == 1)
        return terms[0];
    Value halves[2] = {sum_pairs(terms, count / 2, op), sum_pairs(terms + count / 2, count - count / 2, op)};
    return value_apply(op, halves);
}

static Value combine(Plain *plain, const Stage *stage, Value value, const Value *terms, int count) {
    Op op = combine_op(stage->combine);
    if (plain->order == ORDER_CONTRACTED && op == OP_ADD && type_is_float(value.type)) {
        double sum = value.real;
        for (int i = 0; i < count; i++)
            sum += terms[i].real;
        return (Value){.type = value.type, .real = value_round(value.type, sum)};
    }
    if (plain->order == ORDER_PAIRS && count > 0)
        return value_apply(op, (Value[]){value, sum_pairs(terms, count, op)});
    for (int i = plain->order == ORDER_MISSING_TERM; i < count; i++)
        value = value_apply(op, (Value[]){value, terms[plain->order == ORDER_REVERSED ? count - 1 - i : i]});
    return value;
}

static Value plain_stage(Plain *plain, const Stage *stage, const int64_t *index) {
    int outer = plain->binding_count;
    for (int d = 0; d < stage->axis_count; d++) {
        plain->bindings[plain->binding_count].var = stage->axes[d];
        plain->bindings[plain->binding_count++].value = index[d];
    }
    Value value;
    if (stage->combine == COMBINE_NONE) {
        value = plain_value(plain, stage->components[0].value);
    } else {
        value = plain_value(plain, stage->components[0].initial);
        size_t most = 1;
        for (int i = 0; i < stage->reduction_count; i++)
            most *= (size_t)plain_value(plain, stage->reductions[i]->extent).integer;
        Value *terms = calloc(most + 1, sizeof *terms);
        value = combine(plain, stage, value, terms, collect_terms(plain, stage, 0, terms));
        free(terms);
    }
    plain->binding_count = outer;
    return value;
}

Value plain_element(Plain *plain, const Tensor *tensor, const int64_t *index) {
    const Stage *stage = program_stage_of(plain->program, tensor);
    plain->steps++;
    if (is_over(plain))
        return (Value){.type = tensor->type};
    if (stage)
        return plain_stage(plain, stage, index);
    int64_t element = 0;
    for (int d = 0; d < tensor->rank; d++)
        element = element * plain_dim(plain, tensor, d) + index[d];
    const Tensor *argument = tensor->role == ROLE_INITIAL ? tensor->buffer : tensor;
    for (int i = 0; i < plain->program->argument_count; i++)
        if (plain->program->arguments[i].tensor == argument)
            return value_load(tensor->type, (char *)plain->arguments[i] + element * element_info[tensor->type].bytes);
    abort();
}
