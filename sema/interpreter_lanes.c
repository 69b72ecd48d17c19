/* interpreter_lanes.c - operators and casts over strips of lanes.
 *
 * Common cases have loops of their own. For the others value_apply runs lane by lane. A result is rounded or wrapped to
 * its type, as value_apply does.
 */
#include "sema/interpreter_internal.h"

#include <math.h>
#include <string.h>

void round_lanes(ElementType type, double *values, int count) {
    if (type == TYPE_FLOAT)
        for (int l = 0; l < count; l++)
            values[l] = (float)values[l];
    else if (type != TYPE_DOUBLE)
        for (int l = 0; l < count; l++)
            values[l] = value_round(type, values[l]);
}

void wrap_lanes(ElementType type, int64_t *values, int count) {
    if (type == TYPE_INT32)
        for (int l = 0; l < count; l++)
            values[l] = (int32_t)values[l];
    else if (type != TYPE_INT64 && type != TYPE_UINT64)
        for (int l = 0; l < count; l++)
            values[l] = value_wrap(type, values[l]);
}

static void apply_each(const Instruction *in, int count) {
    bool real_arguments = type_is_float(in->from), real_result = type_is_float(in->type);
    for (int l = 0; l < count; l++) {
        Value args[3];
        for (int i = 0; i < in->count; i++) {
            const LaneValues *lanes = in->args[i]->result;
            args[i].type = in->args[i]->type;
            if (real_arguments)
                args[i].real = lanes->real[l];
            else
                args[i].integer = lanes->integer[l];
        }
        Value value = value_apply(in->op, args);
        if (real_result)
            in->result->real[l] = value.real;
        else
            in->result->integer[l] = value.integer;
    }
}

#define EACH_LANE(expression)                                                                                          \
    for (int l = 0; l < count; l++)                                                                                    \
    to[l] = (expression)

/* False if the operator has no loop here. */
static bool apply_real(const Instruction *in, int count) {
    double *restrict to = in->result->real;
    const double *a = in->args[0]->result->real, *b = in->count > 1 ? in->args[1]->result->real : a;
    switch (in->op) {
    case OP_ADD: EACH_LANE(a[l] + b[l]); break;
    case OP_SUB: EACH_LANE(a[l] - b[l]); break;
    case OP_MUL: EACH_LANE(a[l] * b[l]); break;
    case OP_DIV: EACH_LANE(a[l] / b[l]); break;
    case OP_MIN: EACH_LANE(a[l] < b[l] || isnan(a[l]) ? a[l] : b[l]); break;
    case OP_MAX: EACH_LANE(a[l] > b[l] || isnan(a[l]) ? a[l] : b[l]); break;
    case OP_NEG: EACH_LANE(-a[l]); break;
    case OP_EXP: EACH_LANE(exp(a[l])); break;
    case OP_SQRT: EACH_LANE(sqrt(a[l])); break;
    default: return false;
    }
    round_lanes(in->type, to, count);
    return true;
}

static bool apply_integer(const Instruction *in, int count) {
    int64_t *restrict to = in->result->integer;
    const int64_t *a = in->args[0]->result->integer, *b = in->count > 1 ? in->args[1]->result->integer : a;
    switch (in->op) {
    case OP_ADD: EACH_LANE((int64_t)((uint64_t)a[l] + (uint64_t)b[l])); break;
    case OP_SUB: EACH_LANE((int64_t)((uint64_t)a[l] - (uint64_t)b[l])); break;
    case OP_MUL: EACH_LANE((int64_t)((uint64_t)a[l] * (uint64_t)b[l])); break;
    default: return false;
    }
    wrap_lanes(in->type, to, count);
    return true;
}

static bool apply_logic(const Instruction *in, int count) {
    int64_t *restrict to = in->result->integer;
    const int64_t *a = in->args[0]->result->integer, *b = in->count > 1 ? in->args[1]->result->integer : a;
    if (in->op == OP_AND)
        EACH_LANE(a[l] & b[l]);
    else if (in->op == OP_OR)
        EACH_LANE(a[l] | b[l]);
    else
        EACH_LANE(!a[l]);
    return true;
}

/* Lanes hold 64 bits for every type, so both operands are selected as integers. */
static bool apply_select(const Instruction *in, int count) {
    int64_t *restrict to = in->result->integer;
    const int64_t *condition = in->args[0]->result->integer;
    const int64_t *a = in->args[1]->result->integer, *b = in->args[2]->result->integer;
    EACH_LANE(condition[l] ? a[l] : b[l]);
    return true;
}

static bool compare_index(const Instruction *in, int count) {
    int64_t *restrict to = in->result->integer;
    const int64_t *a = in->args[0]->result->integer, *b = in->args[1]->result->integer;
    switch (in->op) {
    case OP_LT: EACH_LANE(a[l] < b[l]); return true;
    case OP_LE: EACH_LANE(a[l] <= b[l]); return true;
    case OP_GT: EACH_LANE(a[l] > b[l]); return true;
    case OP_GE: EACH_LANE(a[l] >= b[l]); return true;
    case OP_EQ: EACH_LANE(a[l] == b[l]); return true;
    case OP_NE: EACH_LANE(a[l] != b[l]); return true;
    default: return false;
    }
}

void apply_lanes(const Instruction *in, int count) {
    OpClass class = op_info[in->op].class;
    bool done = false;
    if (class == CLASS_LOGIC)
        done = apply_logic(in, count);
    else if (class == CLASS_SELECT)
        done = apply_select(in, count);
    else if (class == CLASS_COMPARE && in->from != TYPE_UINT64 && !type_is_float(in->from))
        done = compare_index(in, count);
    else if (type_is_float(in->type))
        done = apply_real(in, count);
    else if (class == CLASS_ARITHMETIC)
        done = apply_integer(in, count);
    if (!done)
        apply_each(in, count);
}

void cast_lanes(const Instruction *in, int count) {
    const LaneValues *from = in->args[0]->result;
    LaneValues *to = in->result;
    bool from_real = type_is_float(in->from), to_real = type_is_float(in->type);
    if (from_real && to_real) {
        memcpy(to->real, from->real, sizeof *to->real * (size_t)count);
        round_lanes(in->type, to->real, count);
    } else if (!from_real && !to_real) {
        memcpy(to->integer, from->integer, sizeof *to->integer * (size_t)count);
        wrap_lanes(in->type, to->integer, count);
    } else {
        for (int l = 0; l < count; l++) {
            Value value = {.type = in->from, .integer = from->integer[l]};
            to->integer[l] = value_cast(value, in->type).integer;
        }
    }
}
