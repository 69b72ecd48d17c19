/* weight.c - how much code one evaluation of a stage's value becomes on a target: it limits the size of unrolled tiles.
 *
 * The limits are made for loads, multiply-adds and other plain operations, so these count nothing. What has no
 * instruction becomes a sequence: conversions of half and bfloat16, math functions, saturating casts.
 */
#include "autosched/space/groups.h"
#include "lang/sequence.h"

enum { PLAIN = 4 /* operations of the body of a loop, each */ };

static bool saturates(const Expr *cast) {
    return type_is_float(cast->args[0]->type) && type_is_integer(cast->type);
}

/* Whether each element reads another one. Values that several elements share are converted once. */
static bool is_own(const Stage *stage, const Expr *read) {
    for (int a = 0; a < stage->axis_count; a++)
        if (!expr_uses_var(read, stage->axes[a]))
            return false;
    return true;
}

static int instructions_of(const Stage *stage, const Target *target, const Expr *e) {
    if (e->kind == EXPR_READ)
        return is_own(stage, e) ? sequence_widened(target, e->type) : 0;
    if (e->kind == EXPR_OP)
        return op_info[e->op].code == CODE_SEQUENCE ? SEQUENCE_FUNCTION : sequence_kept(target, e->type);
    return e->kind != EXPR_CAST ? 0 : saturates(e) ? SEQUENCE_SATURATING : sequence_kept(target, e->type);
}

int64_t stage_weight(const Stage *stage, const Target *target) {
    int instructions =
        stage->combine != COMBINE_NONE ? sequence_kept(target, stage->components[0].tensor->type) : 0;
    EACH_VALUE_EXPR(e, stage) {
        instructions += instructions_of(stage, target, e);
        if (e->kind == EXPR_READ)
            SKIP_BELOW(e);
    }
    return 1 + instructions / PLAIN;
}
