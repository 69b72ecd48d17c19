/* terms.c - which terms of a reduction count: those that a condition of its value, or a factor that is 0 outside of a
 * tensor, does not leave out.
 *
 * Used by the first step of expand (build.c), which tests these conditions around loops. Pure in the stage's
 * expressions.
 */
#include "lower/kernel/statements.h"

ExprList take_predicates(Arena *arena, const Stage *stage, Expr **values) {
    ExprList list = {0};
    const Expr *condition;
    while ((condition = stage_take_shared_condition(stage, (const Expr **)values)))
        conjuncts_add(arena, &list, (Expr *)condition);
    return list;
}

void add_zero_conditions(Arena *arena, const Expr *term, ExprList *list) {
    bool chooses = expr_is_op(term, OP_SELECT) && expr_is_zero(term->args[2]);
    if (chooses && !expr_reads(term->args[0]))
        conjuncts_add(arena, list, term->args[0]);
    if (chooses || term->kind == EXPR_CAST)
        add_zero_conditions(arena, term->args[chooses], list);
    for (int i = 0; expr_is_op(term, OP_MUL) && i < 2; i++)
        add_zero_conditions(arena, term->args[i], list);
    for (int d = 0; term->kind == EXPR_READ && term->otherwise && expr_is_zero(term->otherwise) && d < term->count;
         d++) {
        if (expr_reads(term->args[d]))
            continue;
        Expr *bounds[2];
        index_bounds(arena, term->tensor, d, term->args[d], bounds);
        list_push(arena, list, bounds[0]);
        list_push(arena, list, bounds[1]);
    }
}
