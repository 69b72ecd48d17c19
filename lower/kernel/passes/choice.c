/* choice.c - choices between values by indices, as in a concatenation or a mask: c ? a : b, where c is the same for all
 * of most tiles.
 *
 * Needs what version.c looks at: statements whose conditions stand where they can. A choice is found in the
 * value of a store if all loops around that its condition depends on are unrolled or lanes. It is left alone where much
 * more is done, as in a reduction.
 */
#include "lower/kernel/passes/guards.h"

enum { STORES_MOST = 64 }; /* after unrolling: each choice may make three copies of them */

typedef struct ChoiceSearch {
    Arena *arena;
    LIST(const Stmt *) loops;
    LIST(const Var *) vars; /* their variables */
    Choice *choice;
    bool found, reduces; /* reduces: there is a loop over a reduction */
    int64_t stores;
} ChoiceSearch;

/* Whether the condition does not change in any loop that stays a loop. */
static bool is_decided_by_tile(const ChoiceSearch *search, const Expr *condition) {
    for (int i = 0; i < search->loops.count; i++)
        if (!loop_kind_is_expanded(search->loops.items[i]->loop) && expr_uses_var(condition, search->vars.items[i]))
            return false;
    return true;
}

/* Takes the condition of a select if it is a choice. */
static bool take_choice(ChoiceSearch *search, Expr *condition) {
    Choice *choice = search->choice;
    if (!expr_compares_indices(condition) || expr_reads(condition) || !is_decided_by_tile(search, condition))
        return false;
    choice->uniform = true;
    for (int i = 0; i < search->vars.count; i++)
        choice->uniform &= !expr_uses_var(condition, search->vars.items[i]);
    choice->sides[0] = condition;
    choice->sides[1] = expr_simplify(search->arena, expr_unary(search->arena, OP_NOT, condition));
    bool found = true;
    for (int i = 0; i < 2; i++) {
        choice->tests[i] = extreme_case(search->arena, choice->sides[i], search->vars.items, search->vars.count, true);
        found &= choice->tests[i] && !expr_is_int(choice->tests[i], NULL);
    }
    return found;
}

static void search_choice(ChoiceSearch *search, const Stmt *stmt, int64_t copies) {
    int64_t extent = 1;
    if (stmt->kind == STMT_FOR) {
        search->reduces |= stmt->var->reduction && !loop_kind_is_expanded(stmt->loop);
        list_push(search->arena, &search->loops, stmt);
        list_push(search->arena, &search->vars, stmt->var);
        if (stmt->loop == LOOP_UNROLLED && expr_is_int(stmt->extent, &extent) && extent > 1)
            copies = extent > STORES_MOST ? copies + STORES_MOST : copies * extent;
    }
    if (stmt->kind == STMT_STORE) {
        search->stores += copies;
        EACH_EXPR(e, stmt->value)
            if (!search->found && expr_is_op(e, OP_SELECT))
                search->found = take_choice(search, e->args[0]);
    }
    for (int i = 0; i < stmt->count; i++)
        search_choice(search, stmt->body[i], copies);
    for (int i = 0; i < stmt->otherwise_count; i++)
        search_choice(search, stmt->otherwise[i], copies);
    search->loops.count -= stmt->kind == STMT_FOR;
    search->vars.count -= stmt->kind == STMT_FOR;
}

bool find_choice(Arena *arena, Stmt *const *run, int count, Choice *choice) {
    ChoiceSearch search = {.arena = arena, .choice = choice};
    for (int i = 0; i < count; i++)
        search_choice(&search, run[i], 1);
    return search.found && !search.reduces && search.stores <= STORES_MOST;
}
