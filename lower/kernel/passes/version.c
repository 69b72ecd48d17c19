/* version.c - the middle step of guards.c: copies of loops in which conditions always hold.
 *
 * A condition is ready at a statement when every variable of it that the statement's loops define can be set to its
 * worst value: for a guard the variables of unrolled and vectorized loops, for the condition of a padded read also
 * those of reduction loops (the test is then outside the whole reduction). Statements whose conditions are ready are
 * put under one test together, as deep as the innermost spatial loop that a condition waits for. So there are two
 * copies for any number of conditions. Where sizes are known and the else copy can only be the last tile, it is made
 * for that tile; conditions of other dimensions then make copies of both, while the code stays small. Where sizes are
 * not known, the else copy becomes several: for half of the tile's rows or vectors, half of these and so on. Each copy
 * may have versions again, for conditions of the loops inside: all copies together have a limit in proportion to the
 * nest, and what is left has its tests in its loops.
 */
#include "lang/map.h"
#include "lower/kernel/passes/version.h"

/* In stores after unrolling. UNIFORM_...: bodies worth a test that no loop inside decides (with fewer stores each read
 * has its own condition), unless serial loops are inside. */
enum { UNIFORM_LEAST = 8, UNIFORM_MOST = 256, COUNTED_MOST = 256, TILES_MOST = 128 };

/* The nodes of all copies in an outermost loop, for each of its own: products that pay have up to 11. A nest counts as
 * if it had no more than NODES_MOST. All copies of a function have FUNCTION_NODES: of many nests, or long ones, each
 * then has fewer, down to FEWEST_COPIED for each of its own. One of code that fetches lanes one by one counts as
 * FETCHED_COPIES. */
enum { COPIED_NODES = 16, FEWEST_COPIED = 2, NODES_MOST = 1 << 16, FUNCTION_NODES = 1 << 16, FETCHED_COPIES = 8 };

/* --- what is known in a copy -------------------------------------------------------------------------------------- */

typedef LIST(const Var *) VarList;

typedef struct KnownConditions {
    ExprList always; /* conditions that hold */
    ExprList never;  /* conditions that do not all hold */
    Expr *from, *to; /* an expression with one known value; or NULL */
    VarList *inner;  /* of each that holds: the variables that it has of loops in the copy */
    Map decided;     /* comparisons, and what became of them: many reads share one */
    Arena *scratch;
} KnownConditions;

/* Whether a conjunction is false: it contains all conditions of `never`. */
static bool is_refuted(Arena *arena, const KnownConditions *known, Expr *condition) {
    ExprList own = {0};
    conjuncts_add(arena, &own, condition);
    for (int i = 0; i < known->never.count; i++)
        if (!expr_is_listed(&own, known->never.items[i]))
            return false;
    return known->never.count > 0;
}

/* The facts that hold at e. An inner loop may have no values, so facts about its variable hold only inside it. */
static ExprList facts_for(Arena *arena, const KnownConditions *known, const Expr *e) {
    ExprList facts = {0};
    for (int i = 0; i < known->always.count; i++) {
        bool inside = true;
        for (int v = 0; v < known->inner[i].count && inside; v++)
            inside = expr_uses_var(e, known->inner[i].items[v]);
        if (inside)
            list_push(arena, &facts, known->always.items[i]);
    }
    return facts;
}

static Expr *decide_comparison(Arena *arena, KnownConditions *known, Expr *e) {
    Expr *made = address_map_get(&known->decided, e);
    if (made)
        return made;
    ExprList facts = facts_for(arena, known, e);
    int decided = expr_prove(arena, e, &(Facts){facts.count, facts.items});
    made = decided < 0 ? e : expr_bool(arena, decided);
    address_map_set(arena, &known->decided, e, made);
    return made;
}

/* A read whose indices are inside as they are. */
static Expr *read_within(Arena *arena, const KnownConditions *known, Expr *read) {
    Expr *made = read;
    for (int d = 0; d < read->count && known->always.count; d++) {
        ExprList conditions;
        Expr *within = index_within(known->scratch, read->args[d], &conditions, NULL);
        bool all = within != NULL;
        for (int i = 0; i < conditions.count && all; i++)
            all = expr_is_listed(&known->always, conditions.items[i]);
        if (!all)
            continue;
        made = made == read ? expr_copy(arena, read) : made;
        made->args[d] = within;
    }
    return made;
}

static Expr *apply_known(Arena *arena, Expr *e, void *context) {
    KnownConditions *known = context;
    int64_t holds;
    if (e->kind == EXPR_READ)
        e = read_within(arena, known, e);
    if (expr_is_op(e, OP_SELECT) && expr_is_int(e->args[0], &holds))
        return e->args[holds ? 1 : 2];
    if (e->type == TYPE_INT64 && known->from && expr_equal(e, known->from))
        return known->to;
    if (expr_compares_indices(e) && known->always.count) {
        if (expr_is_listed(&known->always, e))
            return expr_bool(arena, true);
        return decide_comparison(arena, known, e);
    }
    if (expr_is_op(e, OP_SELECT) && is_refuted(arena, known, e->args[0]))
        return e->args[2];
    if (e->kind != EXPR_READ || !e->guard)
        return e;
    if (is_refuted(arena, known, e->guard) || (expr_is_int(e->guard, &holds) && !holds))
        return expr_constant(arena, e->type, 0);
    if (!expr_is_int(e->guard, NULL))
        return e;
    Expr *read = expr_copy(arena, e);
    read->guard = NULL;
    return read;
}

/* The variables of an expression that belong to these loops. */
static VarList vars_of_loops(Arena *arena, const Expr *e, const Map *loops) {
    VarList vars = {0};
    EACH_EXPR(part, e)
        if (part->kind == EXPR_VAR && address_map_get(loops, part->var))
            list_push(arena, &vars, part->var);
    return vars;
}

static StmtList assume(Arena *arena, const StmtList *stmts, KnownConditions *known) {
    Map loops = {0};
    known->decided = (Map){0};
    known->inner = ARENA_ARRAY(arena, VarList, known->always.count + 1);
    EACH_STMT_OF(s, stmts->items, stmts->count)
        if (s->kind == STMT_FOR)
            address_map_set(arena, &loops, s->var, s);
    for (int i = 0; i < known->always.count; i++)
        known->inner[i] = vars_of_loops(arena, known->always.items[i], &loops);
    known->scratch = arena_new();
    StmtList made = stmts_rewrite(arena, *stmts, apply_known, known);
    arena_free(known->scratch);
    return made;
}

/* --- exact tiles -------------------------------------------------------------------------------------------------- */

/* Whether a test fails only at the last value of the one outer expression in it: io * 14 + 13 < 49 at io = 3. */
static bool fails_at_last_only(Arena *arena, Expr *test, Expr **outer, int64_t *last) {
    Affine difference;
    bool or_equal;
    if (!as_difference(arena, test, &difference, &or_equal) || difference.count != 1 ||
        difference.terms[0].coefficient <= 0)
        return false;
    int64_t slope = difference.terms[0].coefficient, bound;
    if (__builtin_sub_overflow(or_equal ? slope : slope - 1, difference.constant, &bound))
        return false;
    int64_t first = bound >= 0 ? bound / slope : -((-bound + slope - 1) / slope);
    Interval range = expr_interval(difference.terms[0].atom);
    *outer = difference.terms[0].atom;
    *last = first;
    return range.has_high && range.high == first && first > 0;
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

/* What is left of the limit in the current outermost loop. */
typedef struct Room {
    Kernel *kernel;
    int64_t nodes, share; /* left of the nest's; for each of its own */
} Room;

typedef struct Context {
    Arena *arena;
    Room *room;
    int64_t budget;    /* for exact copies, in stores */
    bool uniform_only; /* in a copy with conditions: handle only those that no loop below decides */
    bool chosen;       /* choices are made, or impossible */
    bool finished;     /* in a copy where such a condition is false: handle nothing */
    bool is_small;     /* the kernel is small: tiles with loops inside are worth such copies */
    bool counts;       /* make copies for leftovers of unrolled loops: masks are cheap */
    bool reduces;      /* inside a loop over a reduction */
    bool in_loop;      /* inside some loop; outside all, allocations surround whole stages and nothing is decided */
    bool looked_at;    /* if the list has one statement, there are no versions of it: it is alone in an allocation */
} Context;

static StmtList version_list(Context context, const StmtList *body);

static Version collect_all(Context context, Stmt *const *stmts, int count) {
    Version v = {.arena = context.arena,
                 .uniform_only = context.uniform_only,
                 .target = context.room->kernel->target,
                 .reduces = context.reduces};
    version_collect(&v, stmts, count);
    return v;
}

/* Stores after unrolling. */
static int64_t size_of(Arena *arena, const StmtList *body) {
    Version v = {.arena = arena, .only_size = true};
    version_collect(&v, body->items, body->count);
    return v.size;
}

static StmtList run_of(const StmtList *body, int first, int count) {
    return stmts_of(body->items + first, count);
}

/* --- room for copies ---------------------------------------------------------------------------------------------- */

/* What is shared counts each time: counts to at most the limit. */
static int64_t nodes_up_to(const StmtList *stmts, int64_t limit) {
    int64_t nodes = 0;
    EACH_STMT_OF(s, stmts->items, stmts->count) {
        nodes++;
        EACH_STMT_EXPR(e, s)
            if (++nodes >= limit)
                return limit;
    }
    return nodes;
}

/* Notes what the statements store: they keep their tests. */
static void note_tested(Kernel *kernel, const StmtList *stmts) {
    EACH_STMT_OF(s, stmts->items, stmts->count) {
        bool known = s->kind != STMT_STORE;
        for (int i = 0; i < kernel->tested.count && !known; i++)
            known = kernel->tested.items[i] == s->tensor;
        if (!known)
            list_push(kernel->arena, &kernel->tested, s->tensor);
    }
}

/* How many nodes of copies a function's nests have for each node of their own. */
static int64_t copied_nodes(const StmtList *body) {
    int64_t nodes = nodes_up_to(body, FUNCTION_NODES), share = FUNCTION_NODES / (nodes ? nodes : 1);
    return share < FEWEST_COPIED ? FEWEST_COPIED : share < COPIED_NODES ? share : COPIED_NODES;
}

/* Takes the room of some more copies. False: there is not as much. */
static bool take_room(const Context *context, const StmtList *run, int copies) {
    Room *room = context->room;
    int64_t most = room->nodes / copies, nodes = nodes_up_to(run, most + 1);
    if (nodes > most) {
        note_tested(room->kernel, run);
        return false;
    }
    room->nodes -= nodes * copies;
    return true;
}

/* --- what is left of an unrolled loop ----------------------------------------------------------------------------- */

/* Guards that each hold for the first `left` values of an unrolled loop. */
typedef struct Leftover {
    Expr *left;   /* over loops outside */
    int64_t most; /* the most values of these loops */
    LIST(Expr *) guards;
    LIST(const Var *) vars; /* for each guard, the variable of its loop */
    bool lanes;             /* guards depend on lanes too, and stay */
    int64_t count;          /* values left in the current copy; with lanes the most */
} Leftover;
typedef LIST(Leftover) Leftovers;

/* The one unrolled loop inside that the guard depends on, besides lanes; NULL: none, or another kind or number of
 * loops. *easiest: the guard at the lane where it holds first. */
static const Stmt *unrolled_loop_of(const Version *v, Expr *guard, Expr **easiest) {
    const Stmt *found = NULL;
    LIST(const Var *) lanes = {0};
    for (int i = 0; i < v->all.count; i++) {
        const Stmt *loop = v->all.items[i];
        if (!expr_uses_var(guard, loop->var) || (found && found->var == loop->var))
            continue;
        if (loop->loop == LOOP_VECTORIZED)
            list_push(v->arena, &lanes, loop->var);
        else if (found || loop->loop != LOOP_UNROLLED)
            return NULL;
        else
            found = loop;
    }
    *easiest = found ? extreme_case(v->arena, guard, lanes.items, lanes.count, false) : NULL;
    return *easiest ? found : NULL;
}

static Leftover *leftover_of(Arena *arena, Leftovers *leftovers, Expr *left) {
    for (int i = 0; i < leftovers->count; i++)
        if (expr_equal(leftovers->items[i].left, left))
            return &leftovers->items[i];
    list_push(arena, leftovers, (Leftover){.left = left});
    return &leftovers->items[leftovers->count - 1];
}

/* Adds a guard that tells how many values are left. Rows are worth copies if there are serial loops inside. */
static void add_leftover(const Version *v, const Condition *condition, Leftovers *leftovers) {
    Expr *first, *easiest;
    int64_t extent;
    const Stmt *loop = condition->ready && condition->guard ? unrolled_loop_of(v, condition->expr, &easiest) : NULL;
    bool lanes = loop && !expr_equal(easiest, condition->expr);
    if (!loop || !expr_is_int(loop->extent, &extent) || !first_failure(v->arena, easiest, loop->var, &first) ||
        expr_is_int(first, NULL) || (!lanes && !v->serial))
        return;
    Leftover *leftover = leftover_of(v->arena, leftovers, first);
    leftover->most = extent > leftover->most ? extent : leftover->most;
    leftover->lanes |= lanes;
    list_push(v->arena, &leftover->guards, condition->expr);
    list_push(v->arena, &leftover->vars, loop->var);
}

static Expr *count_guard(Arena *arena, Expr *e, void *context) {
    const Leftover *leftover = context;
    for (int i = 0; i < leftover->guards.count; i++)
        if (expr_equal(e, leftover->guards.items[i])) {
            Expr *var = expr_var(arena, leftover->vars.items[i]);
            Expr *counted = expr_binary(arena, OP_LT, var, expr_int(arena, leftover->count));
            return leftover->lanes ? expr_and(arena, counted, e) : counted;
        }
    return e;
}

/* The leftovers whose copies stay small enough together, in order. */
static Leftovers find_leftovers(const Version *v) {
    Leftovers all = {0}, chosen = {0};
    double size = (double)v->size;
    for (int i = 0; i < v->found.count; i++)
        add_leftover(v, &v->found.items[i], &all);
    for (int i = 0; i < all.count; i++) {
        int64_t values = all.items[i].most, whole = values;
        for (int64_t most = values; most > 1; most = (most + 1) / 2)
            values += (most + 1) / 2;
        if (size * (double)values / (double)whole > COUNTED_MOST)
            continue;
        size *= (double)values / (double)whole;
        list_push(v->arena, &chosen, all.items[i]);
    }
    return chosen;
}

/* Copies of the tile for the leftovers from one on: for half of its values, half of those and so on, last for all under
 * guards. */
static StmtList counted_versions(Context context, const StmtList *run, Leftovers *leftovers, int from) {
    if (from == leftovers->count)
        return version_list(context, run);
    Leftover *leftover = &leftovers->items[from];
    StmtList all = counted_versions(context, run, leftovers, from + 1);
    for (int64_t most = leftover->most; most > 1 && take_room(&context, run, 1); most = leftover->count) {
        leftover->count = (most + 1) / 2;
        StmtList counted = stmts_rewrite(context.arena, *run, count_guard, leftover);
        counted = tighten_body(context.arena, counted.items, counted.count);
        counted = counted_versions(context, &counted, leftovers, from + 1);
        Expr *test = expr_binary(context.arena, leftover->lanes ? OP_LE : OP_EQ, leftover->left,
                                 expr_int(context.arena, leftover->count));
        Stmt *both = stmt_if(context.arena, test, counted, all, run->items[0]->loc);
        all = stmts_one(context.arena, both);
    }
    return all;
}

/* --- what is gathered --------------------------------------------------------------------------------------------- */

typedef struct Gathered {
    const Var *lane;    /* of the lanes around the current store; or NULL */
    bool apart, beside; /* the current store reads elements that are apart in memory; it does more than copy */
    bool any, other;    /* there are stores; there are others than such copies */
} Gathered;

enum { FEW_BETWEEN = 16 };

/* Whether more elements lie between neighbours along a dimension than can be read or stored with them. */
static bool is_apart(const Tensor *tensor, int dimension) {
    int64_t between = 1;
    for (int d = dimension + 1; d < tensor->rank; d++) {
        int64_t extent = 0;
        if (!expr_is_int(tensor->dims[d], &extent) || extent > FEW_BETWEEN || (between *= extent) > FEW_BETWEEN)
            return true;
    }
    return false;
}

static void note_gathered(Gathered *gathered, const Expr *value) {
    EACH_EXPR(e, value) {
        bool computes = e->kind == EXPR_OP && e->type != TYPE_INT64 && e->type != TYPE_BOOL;
        gathered->beside |= computes || (e->kind == EXPR_READ && e->tensor->scope == SCOPE_REGISTER);
        if (e->kind != EXPR_READ)
            continue;
        for (int d = 0; d < e->count; d++)
            gathered->apart |= is_apart(e->tensor, d) && expr_uses_var(e->args[d], gathered->lane);
        SKIP_BELOW(e);
    }
}

static void collect_gathered(Gathered *gathered, const Stmt *stmt) {
    const Var *outer = gathered->lane;
    bool loop = stmt->kind == STMT_FOR;
    if (loop && stmt->loop == LOOP_VECTORIZED)
        gathered->lane = stmt->var;
    if (stmt->kind == STMT_STORE && gathered->lane) {
        gathered->apart = gathered->beside = false;
        note_gathered(gathered, stmt->value);
        gathered->any = true;
        gathered->other |= !gathered->apart || gathered->beside || stmt->tensor->scope == SCOPE_REGISTER;
    } else {
        gathered->other |= !loop && stmt->kind != STMT_IF && stmt->kind != STMT_BLOCK;
    }
    for (int i = 0; i < stmt->count; i++)
        collect_gathered(gathered, stmt->body[i]);
    gathered->other |= stmt->otherwise_count > 0;
    gathered->lane = outer;
}

/* The statement with all loops serial. */
static Stmt *one_by_one(Arena *arena, Stmt *stmt, void *context) {
    Stmt *made = stmt_map_bodies(arena, stmt, one_by_one, context);
    if (!made || stmt->kind != STMT_FOR || (stmt->loop != LOOP_VECTORIZED && stmt->loop != LOOP_UNROLLED))
        return made;
    return stmt_for(arena, stmt->var, stmt->extent, LOOP_SERIAL, stmts_of(made->body, made->count), stmt->loc);
}

/* Copies the ends of a block that is transposed in registers by single elements: gathers would read no more at once,
 * and would read all columns of the block. */
static StmtList copy_by_elements(Arena *arena, const StmtList *run) {
    Gathered gathered = {0};
    for (int i = 0; i < run->count; i++)
        collect_gathered(&gathered, run->items[i]);
    if (!gathered.any || gathered.other)
        return *run;
    StmtList list = stmts_map(arena, run->items, run->count, one_by_one, NULL);
    return tighten_body(arena, list.items, list.count);
}

/* --- two copies --------------------------------------------------------------------------------------------------- */

static bool any_uses_reduction(const ExprList *conditions) {
    for (int i = 0; i < conditions->count; i++)
        if (uses_reduction(conditions->items[i]))
            return true;
    return false;
}

/* A copy of tiles near the ends, where remainders by run-time sizes are sums (near.c), and one of those far outside. It
 * pays where each term of a reduction has such remainders. */
static StmtList near_versions(Context context, const StmtList *partial, const ExprList *near) {
    if (!near->count)
        return *partial;
    context.room->kernel->near_ends = true;
    Expr *test = conjunction(context.arena, near);
    return stmts_one(context.arena, stmt_if(context.arena, test, *partial, *partial, partial->items[0]->loc));
}

/* Two copies under a test; the second may become several, for leftovers of unrolled loops. */
static Stmt *make_versions(Context context, const StmtList *run, const ExprList *conditions, const ExprList *tests,
                           Context first, Context second, KnownConditions known, Leftovers *leftovers,
                           const ExprList *near) {
    known.always = *conditions;
    KnownConditions otherwise = {.from = known.from, .to = known.to, .never = known.never};
    Expr *test = conjunction(context.arena, tests);
    KnownConditions all = {.always = known.always};
    for (int i = 0; i < tests->count; i++)
        list_push(context.arena, &all.always, tests->items[i]);
    StmtList full = assume(context.arena, run, &all);
    StmtList partial = assume(context.arena, run, &otherwise);
    if (otherwise.from)
        partial = tighten_body(context.arena, partial.items, partial.count);
    partial = copy_by_elements(context.arena, &partial);
    full = version_list(first, &full);
    partial = counted_versions(second, &partial, leftovers, 0);
    partial = near_versions(context, &partial, near);
    Stmt *made = stmt_if(context.arena, test, full, partial, run->items[0]->loc);
    if (made && !made->otherwise_count)
        made->keeps |= any_uses_reduction(conditions); /* it says which terms there are, without their loops */
    return made;
}

/* Copies for a condition that fails only in the last tile; NULL: there is none. */
static Stmt *exact_versions(Context context, const StmtList *run, const Version *v) {
    if (v->uniform_only || v->size > context.budget)
        return NULL;
    for (int i = 0; i < v->found.count; i++) {
        KnownConditions known = {0};
        int64_t last, other_last;
        Expr *other;
        const Condition *c = &v->found.items[i];
        if (!c->ready || !c->guard || !fails_at_last_only(context.arena, c->test, &known.from, &last))
            continue;
        known.to = expr_int(context.arena, last);
        ExprList conditions = {0}, tests = {0};
        list_push(context.arena, &tests, c->test);
        for (int j = 0; j < v->found.count; j++) {
            const Condition *same = &v->found.items[j];
            if (same->ready && fails_at_last_only(context.arena, same->test, &other, &other_last) &&
                expr_equal(other, known.from) && other_last == last)
                list_push(context.arena, &conditions, same->expr);
        }
        if (!take_room(&context, run, 1))
            return NULL;
        Context inner = context;
        inner.budget = context.budget / 2;
        return make_versions(context, run, &conditions, &tests, inner, inner, known, &(Leftovers){0}, &(ExprList){0});
    }
    return NULL;
}

/* Two copies for all ready conditions; NULL: there are none, or one waits for a loop below. */
static Stmt *joint_versions(Context context, const StmtList *run, const Version *v) {
    ExprList conditions = {0}, tests = {0};
    bool uniform = true;
    for (int i = 0; i < v->found.count; i++) {
        const Condition *c = &v->found.items[i];
        if (c->waits)
            return NULL;
        if (!c->ready)
            continue;
        uniform &= c->uniform;
        list_push(context.arena, &conditions, c->expr);
        if (!expr_is_listed(&tests, c->test))
            list_push(context.arena, &tests, c->test);
    }
    bool worth = !uniform || (v->size <= UNIFORM_MOST && (v->serial || v->size >= UNIFORM_LEAST));
    const ExprList near = v->is_far || !any_uses_reduction(&conditions) ? (ExprList){0} : v->near;
    if (conditions.count == 0 || !worth || !take_room(&context, run, v->fetches ? FETCHED_COPIES : near.count ? 2 : 1))
        return NULL;
    bool counts = context.counts && !uniform && (context.is_small || !v->serial);
    Leftovers leftovers = counts ? find_leftovers(v) : (Leftovers){0};
    Context full = context, partial = context;
    partial.uniform_only = true;
    partial.finished = uniform;
    return make_versions(context, run, &conditions, &tests, full, partial,
                         (KnownConditions){.never = uniform ? conditions : (ExprList){0}}, &leftovers, &near);
}

static bool has_work(const Version *v) {
    for (int i = 0; i < v->found.count; i++)
        if (v->found.items[i].ready)
            return v->loops;
    return false;
}

/* The minimum of an extent and the first value where a condition fails. For a loop over tiles these are (n + s - 1) / s
 * and n / s: the dividends tell which one is smaller. */
static Expr *smaller(Arena *arena, Expr *extent, Expr *first) {
    Affine difference;
    if (expr_is_op(extent, OP_DIV) && expr_is_op(first, OP_DIV) && expr_equal(extent->args[1], first->args[1]) &&
        expr_is_int(first->args[1], NULL) && first->args[1]->integer > 0 &&
        expr_affine(arena, expr_binary(arena, OP_SUB, extent->args[0], first->args[0]), &difference) &&
        difference.count == 0)
        return difference.constant >= 0 ? first : extent;
    return expr_binary(arena, OP_MIN, extent, first);
}

static bool has_serial_loop(Stmt *stmt) {
    int64_t extent;
    EACH_STMT(s, stmt)
        if (s->kind == STMT_FOR && !loop_kind_is_expanded(s->loop) && (!expr_is_int(s->extent, &extent) || extent > 1))
            return true;
    return false;
}

/* The value up to which all conditions hold; NULL if they do not depend on the loop in this way. */
static Expr *cut_of(Arena *arena, const Stmt *loop, Expr *condition) {
    ExprList conditions = {0};
    Expr *cut = loop->extent, *first;
    conjuncts_add(arena, &conditions, condition);
    for (int i = 0; i < conditions.count; i++) {
        if (!first_failure(arena, conditions.items[i], loop->var, &first))
            return NULL;
        cut = smaller(arena, cut, first);
    }
    cut = expr_compact(arena, expr_binary(arena, OP_MAX, cut, expr_int(arena, 0)));
    bool pays = loop->var->reduction || expr_is_int(cut, NULL) || !has_serial_loop(loop->body[0]);
    return pays ? cut : NULL; /* with much work inside a test in each iteration is cheap */
}

/* Whether at most one of (n + s - 1) / s iterations is left after n / s. */
static bool leaves_one(Arena *arena, const Expr *extent, const Expr *cut) {
    Affine difference;
    return expr_is_op(extent, OP_DIV) && expr_is_op(cut, OP_DIV) && expr_equal(extent->args[1], cut->args[1]) &&
           expr_is_int(cut->args[1], NULL) &&
           expr_affine(arena, expr_binary(arena, OP_SUB, extent->args[0], cut->args[0]), &difference) &&
           difference.count == 0 && difference.constant >= 0 && difference.constant < cut->args[1]->integer;
}

/* Tests about the variable say which terms there are: they stay, also when it is gone. */
static Stmt *keep_tests(Arena *arena, Stmt *stmt, void *context) {
    Stmt *made = stmt_map_bodies(arena, stmt, keep_tests, context);
    if (!made || made->kind != STMT_IF || made->keeps || !expr_uses_var(made->condition, context))
        return made;
    Stmt *kept = ARENA_NEW(arena, Stmt);
    *kept = *made;
    kept->keeps = true;
    return kept;
}

/* The iterations from `cut` on. */
static Stmt *rest_of_loop(Arena *arena, const Stmt *loop, const Stmt *test, Expr *cut) {
    bool once = leaves_one(arena, loop->extent, cut);
    Var *rest = ARENA_NEW(arena, Var);
    *rest = *loop->var;
    Expr *left = expr_compact(arena, expr_binary(arena, OP_SUB, loop->extent, cut));
    if (expr_is_int(left, NULL))
        rest->extent = left;
    Expr *at = once ? cut : expr_binary(arena, OP_ADD, expr_var(arena, rest), cut);
    StmtList otherwise = stmts_of(test->otherwise, test->otherwise_count);
    if (once && loop->var->reduction)
        otherwise = stmts_map(arena, otherwise.items, otherwise.count, keep_tests, (void *)loop->var);
    StmtList tail = stmts_substitute(arena, otherwise, loop->var, at);
    if (once) {
        const Stmt like = {.keeps = loop->var->reduction, .loc = loop->loc};
        return stmt_if_like(arena, &like, expr_binary(arena, OP_LT, cut, loop->extent), tail, (StmtList){0});
    }
    return stmt_for(arena, rest, left, LOOP_SERIAL, tail, loop->loc);
}

/* Cuts a serial loop whose whole body is a test that holds up to some value:
 * for i in 0:n { if i < m { a } else { b } } as for i in 0:m { a } for i in 0:n - m { b at m + i }. */
static Stmt *cut_loop(Arena *arena, Stmt *loop) {
    Stmt *test = loop->body[0];
    if (loop->loop != LOOP_SERIAL || loop->count != 1 || test->kind != STMT_IF || test->otherwise_count == 0)
        return loop;
    Expr *cut = cut_of(arena, loop, test->condition);
    if (!cut)
        return loop;
    StmtList body = stmts_of(test->body, test->count);
    StmtList list = stmts_one(arena, stmt_for(arena, loop->var, cut, LOOP_SERIAL, body, loop->loc));
    stmts_add(arena, &list, rest_of_loop(arena, loop, test, cut));
    return stmt_block(arena, list);
}

/* Makes versions inside the statement. Stores that stand together have their versions together, or none. */
static Stmt *version_below(Context context, Stmt *stmt) {
    if (stmt->kind == STMT_TOGETHER)
        return stmt;
    context.looked_at = context.in_loop && stmt->kind == STMT_ALLOCATE;
    context.in_loop |= stmt->kind == STMT_FOR;
    context.reduces |= stmt->kind == STMT_FOR && stmt->var->reduction;
    context.chosen |= stmt->kind == STMT_FOR && loop_kind_is_expanded(stmt->loop); /* lanes use masks */
    StmtList body = stmts_of(stmt->body, stmt->count), otherwise = stmts_of(stmt->otherwise, stmt->otherwise_count);
    body = version_list(context, &body);
    otherwise = version_list(context, &otherwise);
    Stmt *made = stmt_with_bodies(context.arena, stmt, body, otherwise);
    return made && made->kind == STMT_FOR ? cut_loop(context.arena, made) : made;
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

static bool has_choice(Context context, Stmt *const *run, int count, Choice *choice) {
    return !context.chosen && context.in_loop && find_choice(context.arena, run, count, choice) &&
           (choice->uniform || !context.uniform_only);
}

/* Copies for one side of a choice, for the other, and, if tiles can be mixed, for both. NULL: there is no room. */
static Stmt *choice_versions(Context context, const StmtList *run, const Choice *choice) {
    StmtList sides[2], both = {0};
    if (!take_room(&context, run, choice->uniform ? 1 : 2))
        return NULL;
    for (int i = 0; i < 2; i++) {
        KnownConditions known = {0};
        list_push(context.arena, &known.always, choice->sides[i]);
        list_push(context.arena, &known.always, choice->tests[i]);
        sides[i] = assume(context.arena, run, &known);
        sides[i] = version_list(context, &sides[i]);
    }
    Loc loc = run->items[0]->loc;
    if (choice->uniform)
        return stmt_if(context.arena, choice->tests[0], sides[0], sides[1], loc);
    context.chosen = true;
    both = version_list(context, run);
    StmtList second = stmts_one(context.arena, stmt_if(context.arena, choice->tests[1], sides[1], both, loc));
    return stmt_if(context.arena, choice->tests[0], sides[0], second, loc);
}

/* Versions of a run of statements at the same place, or NULL. */
static Stmt *version_run(Context context, const StmtList *run) {
    Choice choice;
    if (has_choice(context, run->items, run->count, &choice))
        return choice_versions(context, run, &choice);
    Version v = collect_all(context, run->items, run->count);
    if (!has_work(&v))
        return NULL;
    Stmt *made = exact_versions(context, run, &v);
    return made ? made : joint_versions(context, run, &v);
}

/* The longest run of statements from `first` on that each have versions to make. */
static int run_length(Context context, const StmtList *body, int first) {
    int length = 0;
    while (first + length < body->count && !(context.looked_at && body->count == 1)) {
        if (!context.in_loop && body->items[first + length]->kind == STMT_ALLOCATE)
            break;
        Version v = collect_all(context, body->items + first + length, 1);
        Choice choice;
        if (!has_work(&v) && !has_choice(context, body->items + first + length, 1, &choice))
            break;
        length++;
    }
    return length;
}

static StmtList version_list(Context context, const StmtList *body) {
    StmtList list = {0};
    if (context.finished)
        return *body;
    for (int i = 0; i < body->count;) {
        int length = run_length(context, body, i);
        StmtList run = run_of(body, i, length), nest = run_of(body, i, length ? length : 1);
        if (!context.in_loop && body->items[i]->kind != STMT_ALLOCATE) /* whose nests have their own room */
            context.room->nodes = context.room->share * nodes_up_to(&nest, NODES_MOST);
        Stmt *made = length ? version_run(context, &run) : NULL;
        for (int j = 0; !made && j < (length ? length : 1); j++) {
            StmtList alone = run_of(body, i + j, 1);
            Stmt *one = length > 1 ? version_run(context, &alone) : NULL;
            stmts_add(context.arena, &list, one ? one : version_below(context, body->items[i + j]));
        }
        stmts_add(context.arena, &list, made);
        i += length ? length : 1;
    }
    return list;
}

StmtList version_body(Kernel *kernel, const StmtList *body) {
    const Target *target = kernel->target;
    Room room = {kernel, 0, copied_nodes(body)};
    Context context = {
        .arena = kernel->arena, .room = &room, .budget = EXACT_BUDGET, .counts = target && target->masked_bytes > 0};
    context.is_small = size_of(kernel->arena, body) <= TILES_MOST;
    return version_list(context, body);
}
