/* weight.c - how much code an evaluation of a stage's value becomes on a target, for what the size of unrolled tiles is
 * limited by.
 *
 * Loads, multiply-adds and other plain operations are what the limits are made for: they count nothing. What has no
 * instruction becomes a sequence of them: conversions of half and bfloat16, mathematical functions, casts that saturate.
 */
#include "autosched/space/groups.h"

enum {
    HALF_LOAD = 10,
    HALF_STORE = 18,
    BFLOAT16_LOAD = 1,
    BFLOAT16_STORE = 8,
    SATURATING = 6,
    FUNCTION = 24,
    PLAIN = 8
};

static int load_instructions(const Target *target, ElementType type) {
    return type == TYPE_BFLOAT16 ? BFLOAT16_LOAD : type == TYPE_HALF && !target_converts_half(target) ? HALF_LOAD : 0;
}

/* What rounds to a type, and widens it again. */
static int round_instructions(const Target *target, ElementType type) {
    if (type == TYPE_BFLOAT16)
        return BFLOAT16_STORE + BFLOAT16_LOAD;
    return type == TYPE_HALF ? target_converts_half(target) ? 2 : HALF_STORE + HALF_LOAD : 0;
}

/* Those from FLOOR on are instructions. */
static bool is_function(Op op) {
    return op_info[op].class == CLASS_MATH && op != OP_SQRT && op != OP_RSQRT && op < OP_FLOOR;
}

static bool saturates(const Expr *cast) {
    return type_is_float(cast->args[0]->type) && type_is_integer(cast->type);
}

typedef struct Count {
    const Stage *stage;
    const Target *target;
    int instructions;
} Count;

/* Whether each element reads another one: what several share is converted once for all of them. */
static bool is_own(const Stage *stage, const Expr *read) {
    for (int a = 0; a < stage->axis_count; a++)
        if (!expr_uses_var(read, stage->axes[a]))
            return false;
    return true;
}

static bool count_node(const Expr *e, void *context) {
    Count *count = context;
    if (e->kind == EXPR_READ && is_own(count->stage, e))
        count->instructions += load_instructions(count->target, e->type);
    else if (e->kind == EXPR_OP)
        count->instructions += is_function(e->op) ? FUNCTION : round_instructions(count->target, e->type);
    else if (e->kind == EXPR_CAST)
        count->instructions += saturates(e) ? SATURATING : round_instructions(count->target, e->type);
    return e->kind != EXPR_READ;
}

int64_t stage_weight(const Stage *stage, const Target *target) {
    Count count = {stage, target, 0};
    for (int c = 0; c < stage->component_count; c++)
        expr_walk(stage->components[c].value, count_node, &count);
    if (stage->combine != COMBINE_NONE)
        count.instructions += round_instructions(target, stage->components[0].tensor->type);
    return 1 + count.instructions / PLAIN;
}
