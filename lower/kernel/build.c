/* build.c - the first step of expand: a nest becomes loops, stores and conditions.
 *
 * Needs a nest that nest_build accepted. Keeps true: the initialisation is before the first reduction loop; checks
 * are before the first store to an output; a variable is defined once in a nest (two loops side by side may share it).
 * Reads are made in reads.c.
 */
#include "lower/kernel/build.h"
#include "lang/diag.h"
#include "lower/kernel/conditions.h"
#include <string.h>

/* --- one stage ---------------------------------------------------------------------------------------------------- */

/* A stage that is being built: its axes and guards over loop variables. */
typedef struct StageBuild {
    const NestStage *stage;
    Substitutions axes; /* the axes, then the reductions */
    LIST(Guard) guards;
} StageBuild;

static StageBuild stage_build(Build *b, const NestStage *stage, bool initialisation) {
    StageBuild made = {.stage = stage};
    const Stage *s = stage->stage;
    int count = s->axis_count + (initialisation ? 0 : s->reduction_count);
    for (int i = 0; i < count; i++) {
        const Var *axis = i < s->axis_count ? s->axes[i] : s->reductions[i - s->axis_count];
        list_push(b->arena, &made.axes, ((Substitution){axis, build_expr(b, stage->axis_values[i])}));
    }
    for (int i = 0; i < stage->guard_count; i++)
        if (!initialisation || !stage->guards[i].reduction)
            list_push(b->arena, &made.guards,
                      ((Guard){build_expr(b, stage->guards[i].value), build_expr(b, stage->guards[i].limit),
                               stage->guards[i].reduction}));
    return made;
}

static ExprList guard_list(Build *b, const StageBuild *s) {
    ExprList guards = {0};
    for (int i = 0; i < s->guards.count; i++)
        list_push(b->arena, &guards, expr_binary(b->arena, OP_LT, s->guards.items[i].value, s->guards.items[i].limit));
    return guards;
}

/* The statement under conditions, if there are any. */
static Stmt *under(Build *b, const ExprList *conditions, bool keeps, Stmt *stmt, Loc loc) {
    Stmt like = {.keeps = keeps, .loc = loc};
    return stmt_if_like(b->arena, &like, conjunction(b->arena, conditions), stmts_one(b->arena, stmt), (StmtList){0});
}

/* O(i) = O(i): a sum that starts from what the caller's buffer holds. */
static bool is_itself(const Tensor *tensor, Expr *const *index, const Expr *value) {
    bool same = value->kind == EXPR_READ && value->tensor == tensor && !value->guard;
    for (int d = 0; same && d < tensor->rank; d++)
        same = expr_equal(value->args[d], index[d]);
    return same;
}

/* The values or initial values of all components of a stage. */
static Expr **component_sources(Build *b, const Stage *stage, bool initial) {
    int count = stage->component_count;
    Expr **sources = ARENA_ARRAY(b->arena, Expr *, count);
    for (int c = 0; c < count; c++)
        sources[c] = initial ? stage->components[c].initial : stage->components[c].value;
    return sources;
}

/* Turns *values into the stage's new elements: the old ones combined with the values. */
static void combine_values(Build *b, const NestStage *nest, Expr **index, Expr **values) {
    const Stage *stage = nest->stage;
    int count = stage->component_count;
    Expr *old[count], *made[count];
    for (int c = 0; c < count; c++)
        old[c] = expr_read(b->arena, nest->buffers[c], index, NULL);
    for (int c = 0; c < count; c++)
        made[c] = stage->combine == COMBINE_DECLARED
                      ? combiner_apply(b->arena, stage->combiner, c, old, values)
                      : expr_binary(b->arena, combine_op(stage->combine), old[c], values[c]);
    for (int c = 0; c < count; c++)
        values[c] = made[c];
}

/* Whether lanes differ in a condition. It then masks the stores, and only those reads that it keeps inside. */
static bool in_lanes(const NestStage *stage, const Expr *condition) {
    for (int i = 0; i < stage->loop_count; i++)
        if (stage->loops[i]->kind == LOOP_VECTORIZED && expr_uses_var(condition, stage->loops[i]->var))
            return true;
    return false;
}

static bool reads_memory(const Expr *condition) {
    EACH_EXPR(e, condition)
        if (e->kind == EXPR_READ)
            return true;
    return false;
}

/* O(i) = value. Of c ? value : O(i) only the elements for which c holds are stored, so that c can bound loops: a row
 * of a cache is not the whole cache. A condition of lanes or of elements stays in the value: it would cut vectors. */
static Stmt *element_store(Build *b, const NestStage *stage, const Tensor *buffer, Expr **index, Expr *value) {
    Loc loc = stage->stage->loc;
    ExprList conditions = {0};
    if (expr_is_op(value, OP_SELECT) && is_itself(buffer, index, value->args[2]) && !in_lanes(stage, value->args[0]) &&
        !reads_memory(value->args[0])) {
        list_push(b->arena, &conditions, value->args[0]);
        value = value->args[1];
    }
    return under(b, &conditions, true, stmt_store(b->arena, buffer, index, stage->stage->axis_count, value, NULL, loc),
                 loc);
}

static Stmt *stage_store(Build *b, const StageBuild *s, Expr *const *sources, Expr *path, bool combine) {
    const Stage *stage = s->stage->stage;
    int count = stage->component_count;
    Expr **index = ARENA_ARRAY(b->arena, Expr *, stage->axis_count), *values[count];
    for (int d = 0; d < stage->axis_count; d++)
        index[d] = s->axes.items[d].value;
    index = build_index(b, s->stage, index, stage->axis_count);
    for (int c = 0; c < count; c++)
        values[c] = build_value(b, sources[c], &s->axes, path);
    if (combine)
        combine_values(b, s->stage, index, values);
    StmtList stores = {0};
    for (int c = 0; c < count; c++) {
        const Tensor *buffer = s->stage->buffers[c];
        if (!is_itself(buffer, index, values[c]))
            stmts_add(b->arena, &stores, element_store(b, s->stage, buffer, index, values[c]));
    }
    return stmt_together(b->arena, stores, stage->loc);
}

/* Whether registers outlive an iteration: where a guard fails they keep what earlier iterations computed. */
static bool guards_keep(const NestStage *stage) {
    const NestStage *writer = stage->updates ? stage->updates : stage;
    bool outlives = writer->home != writer->parent || writer->home_depth != writer->depth;
    return outlives && stage->buffers[0]->scope == SCOPE_REGISTER;
}

static bool loop_counts_in(const NestStage *stage, int loop, const Expr *e) {
    return stage->loops[loop]->extent != 1 && expr_uses_var(e, stage->loops[loop]->var);
}

/* Whether the index has the variable at several places, as x % 2 + x / 2 has: two values may be one place. */
static bool uses_again(const Expr *index, const Var *var) {
    int uses = 0;
    EACH_EXPR(e, index)
        uses += e->kind == EXPR_VAR && e->var == var;
    return uses > 1;
}

/* Whether what a guard cuts off in registers are elements that other iterations compute: of an index, it tests a part
 * around which the stage has more loops, or a loop that may come to one place twice. Elsewhere they are beyond the end,
 * where nobody reads. */
static bool cuts_off_others(const StageBuild *s, const Expr *guard) {
    const NestStage *stage = s->stage;
    for (int a = 0; stage->buffers[0]->scope == SCOPE_REGISTER && a < stage->stage->axis_count; a++) {
        const Expr *index = s->axes.items[a].value;
        bool tested = false, more = false;
        for (int l = 0; l < stage->loop_count; l++) {
            bool counts = loop_counts_in(stage, l, guard), moves = loop_counts_in(stage, l, index);
            tested |= counts && moves;
            more |= moves && (!counts || uses_again(index, stage->loops[l]->var));
        }
        if (tested && more)
            return true;
    }
    return false;
}

/* Whether what is stored has no elements. */
static bool stores_nothing(const StageBuild *s) {
    const Tensor *tensor = s->stage->buffers[0];
    int64_t extent;
    for (int d = 0; d < tensor->rank; d++)
        if (expr_is_int(tensor->dims[d], &extent) && extent == 0)
            return true;
    return false;
}

/* Whether one of the others has a variable of the condition: those that have none say nothing of it. */
static bool is_about_others(const ExprList *conditions, int condition) {
    EACH_EXPR(e, conditions->items[condition])
        for (int i = 0; i < conditions->count && e->kind == EXPR_VAR; i++)
            if (i != condition && expr_uses_var(conditions->items[i], e->var))
                return true;
    return false;
}

/* Whether one of the conditions fails wherever all others hold. They would prove anything, and reads that they seem to
 * keep inside would be outside where a later pass tests none of them. Only what proofs look at proves anything. */
static bool contradict(Build *b, const ExprList *conditions) {
    Expr **others = ARENA_ARRAY(b->arena, Expr *, conditions->count + 1);
    for (int i = 0; i < conditions->count; i++)
        others[i] = conditions->items[i];
    for (int i = 0; i < conditions->count; i++) {
        if (i >= FACT_LIMIT && i < conditions->count - FACT_LIMIT)
            continue;
        others[i] = others[conditions->count - 1];
        Facts facts = {conditions->count - 1, others};
        if ((is_about_others(conditions, i) ? expr_prove(b->arena, conditions->items[i], &facts)
                                            : expr_decided_by_ranges(conditions->items[i])) == 0)
            return true;
        others[i] = conditions->items[i];
    }
    return false;
}

static Stmt *guarded_store(Build *b, const StageBuild *s, Expr *const *sources, const Predicates *predicates,
                           bool combine) {
    Facts outer = b->facts;
    ExprList all = guard_list(b, s), guards = {0}, known = {0}, left = {0}, conditions = {0};
    Expr *path = NULL;
    bool keeps = guards_keep(s->stage);
    for (int i = 0; i < all.count; i++) {
        list_push(b->arena, &conditions, all.items[i]);
        bool kept = keeps || cuts_off_others(s, all.items[i]);
        list_push(b->arena, kept && !keeps ? &left : &guards, all.items[i]);
        if (kept && in_lanes(s->stage, all.items[i]))
            path = expr_and(b->arena, path, all.items[i]);
        else
            list_push(b->arena, &known, all.items[i]);
    }
    for (int i = 0; predicates && i < predicates->full.count; i++) {
        Expr *full = predicates->full.items[i], *tested = predicates->tested.items[i];
        bool known_here = tested && expr_equal(tested, full);
        if (i >= predicates->needed && !known_here)
            continue;
        list_push(b->arena, &conditions, full);
        if (in_lanes(s->stage, full))
            path = expr_and(b->arena, path, full);
        else
            list_push(b->arena, &known, full);
        if (predicates->late[i])
            continue;
        if (!known_here)
            list_push(b->arena, &left, full);
    }
    Loc loc = s->stage->stage->loc;
    if (stores_nothing(s) || contradict(b, &conditions))
        return stmt_together(b->arena, (StmtList){0}, loc);
    b->facts = (Facts){known.count, known.items};
    Stmt *store = stage_store(b, s, sources, path, combine);
    b->facts = outer;
    return under(b, &guards, keeps, under(b, &left, true, store, loc), loc);
}

/* --- predicates --------------------------------------------------------------------------------------------------- */

/* Zero terms may be left out: 0 times infinity then counts as 0, which -fstrict forbids. Integers have no infinity. */
static bool may_leave_zeros_out(const Build *b, const Stage *stage) {
    bool strict = b->options->strict || b->nest->program->strict;
    return stage->combine == COMBINE_ADD && stage->reduction_count > 0 &&
           !(strict && type_is_float(stage->components[0].tensor->type));
}

/* A predicate reads only where the guards and predicates before it hold. Of the sources the first `needed` are
 * needed. */
static Predicates *lower_predicates(Build *b, const StageBuild *s, const ExprList *sources, int needed) {
    Predicates *made = ARENA_NEW(b->arena, Predicates);
    ExprList known = guard_list(b, s);
    for (int i = 0; i < sources->count; i++) {
        Expr *over_loops = expr_substitute(b->arena, sources->items[i], s->axes.items, s->axes.count);
        Expr *path = known.count ? conjunction(b->arena, &known) : NULL;
        Expr *predicate = expr_compact(b->arena, build_reads(b, over_loops, path));
        list_push(b->arena, &known, predicate);
        if (expr_prove(b->arena, predicate, &(Facts){0}) == 1 || (i >= needed && in_lanes(s->stage, predicate)))
            continue;
        list_push(b->arena, &made->full, predicate);
        list_push(b->arena, &made->tested, NULL);
        made->needed += i < needed;
    }
    made->late = ARENA_ARRAY(b->arena, bool, made->full.count);
    return made;
}

static bool uses_loops(const NestStage *stage, const Expr *e, bool reductions) {
    for (int i = 0; i < stage->loop_count; i++)
        if (stage->loops[i]->reduction == reductions && expr_uses_var(e, stage->loops[i]->var))
            return true;
    return false;
}

static bool begins_with_constants(const NestStage *stage) {
    if (stage->resumes)
        return false;
    for (int c = 0; c < stage->stage->component_count; c++) {
        const Expr *initial = stage->stage->components[c].initial;
        if (stage->buffers[c]->scope != SCOPE_REGISTER || (initial->kind != EXPR_INT && initial->kind != EXPR_REAL))
            return false;
    }
    return true;
}

/* Lanes that are left out of a whole reduction may hold anything in registers until it ends: no step needs a mask. */
static void choose_late(Build *b, const NestStage *stage) {
    for (int i = 0; i < b->predicates->needed; i++) {
        const Expr *full = b->predicates->full.items[i];
        b->predicates->late[i] = !expr_reads(full) && in_lanes(stage, full) && !uses_loops(stage, full, true) &&
                                 begins_with_constants(stage);
    }
}

/* Whether the stage, or one computed at it, adds to a buffer that is older than the current iteration: it must run in
 * all. */
static bool adds_to_older(const NestStage *stage) {
    if (stage->home != stage->parent || stage->home_depth != stage->depth)
        return true;
    for (int i = 0; i < stage->child_count; i++)
        if (adds_to_older(stage->children[i]))
            return true;
    return false;
}

/* Loops around such a stage also run for zero terms. (Where predicates leave iterations out, nothing is kept.) */
static int first_left_out(const NestStage *stage) {
    int depth = 0;
    for (int i = 0; i < stage->child_count; i++)
        if (stage->children[i]->depth > depth && adds_to_older(stage->children[i]))
            depth = stage->children[i]->depth;
    return depth;
}

/* The tests around the loop at a depth: they hold for some value of the loops from there on. */
static ExprList tests_at(Build *b, const NestStage *stage, int depth) {
    ExprList tests = {0};
    LIST(const Var *) inner = {0};
    for (int i = depth; i < stage->loop_count; i++)
        list_push(b->arena, &inner, stage->loops[i]->var);
    int count = depth < first_left_out(stage) ? b->predicates->needed : b->predicates->full.count;
    for (int i = 0; i < count; i++) {
        Expr *test = extreme_case(b->arena, b->predicates->full.items[i], inner.items, inner.count, false);
        Expr *known = b->predicates->tested.items[i];
        if (!test || expr_reads(test) /* its tensor may be computed inside the loop */ ||
            (known && expr_equal(known, test)) || expr_prove(b->arena, test, &(Facts){0}) == 1)
            continue;
        b->predicates->tested.items[i] = test;
        list_push(b->arena, &tests, test);
    }
    return tests;
}

static bool is_parallel(const Build *b, const Loop *loop) {
    return loop->kind == LOOP_PARALLEL && !b->in_parallel && !(b->nest->target && b->nest->target->threads == 1);
}

static LoopKind loop_kind(const Build *b, const Loop *loop) {
    return loop->kind == LOOP_PARALLEL && !is_parallel(b, loop) ? LOOP_SERIAL : loop->kind;
}

/* The depth of the initialisation: before the first reduction loop, and before the loops that an instruction runs. */
static int first_reduction(const NestStage *stage) {
    int depth = 0;
    while (depth < stage->loop_count && !stage->loops[depth]->reduction && stage->loops[depth]->kind != LOOP_TENSORIZED)
        depth++;
    return depth;
}

/* Loops of an instruction initialise in lanes (the innermost that does not reduce) or unrolled (the others). */
static LoopKind initialisation_kind(const Build *b, const NestStage *stage, int depth) {
    const Loop *loop = stage->loops[depth];
    if (loop->kind != LOOP_TENSORIZED)
        return loop_kind(b, loop);
    for (int inner = depth + 1; inner < stage->loop_count; inner++)
        if (!stage->loops[inner]->reduction)
            return LOOP_UNROLLED;
    return LOOP_VECTORIZED;
}

static Stmt *loop_stmt(Build *b, const NestStage *stage, const Loop *loop, const Piece *piece, StmtList body) {
    if (piece->inner) {
        Stmt *inner = stmt_for(b->arena, piece->inner, piece->inner->extent, LOOP_UNROLLED, body, stage->stage->loc);
        body = stmts_one(b->arena, inner);
    }
    Stmt *made = stmt_for(b->arena, piece->var, piece->extent, piece->kind, body, stage->stage->loc);
    if (made)
        made->masked = loop->masked;
    for (int i = 0; made && i < stage->loop_count && stage->loops[i] != loop; i++)
        made->in_lanes |= stage->loops[i]->kind == LOOP_VECTORIZED;
    return made;
}

/* The elements of a stage at its own axes: what is summed so far of another one with these axes. The stage may compute
 * more elements than are held, in whole tiles: of those nothing is read, and nobody reads them. */
static Expr **held_values(Build *b, const NestStage *stage, const NestStage *held) {
    const Stage *computed = stage->stage;
    Expr **values = ARENA_ARRAY(b->arena, Expr *, computed->component_count);
    for (int c = 0; c < computed->component_count; c++) {
        Expr **index = ARENA_ARRAY(b->arena, Expr *, computed->axis_count);
        for (int d = 0; d < computed->axis_count; d++)
            index[d] = expr_var(b->arena, computed->axes[d]);
        const Tensor *tensor = held->stage->components[c].tensor;
        values[c] = expr_read(b->arena, tensor, index, expr_constant(b->arena, tensor->type, 0));
    }
    return values;
}

/* The loops of the initialisation: those below depth that do not reduce. sources: of the elements. */
static Stmt *initialise(Build *b, const NestStage *stage, int depth, Expr *const *sources, Expr *unless) {
    while (depth < stage->loop_count && stage->loops[depth]->reduction)
        depth++;
    if (depth == stage->loop_count) {
        StageBuild s = stage_build(b, stage, true);
        Stmt *store = guarded_store(b, &s, sources, NULL, false);
        return unless ? stmt_if(b->arena, unless, (StmtList){0}, stmts_one(b->arena, store), stage->stage->loc) : store;
    }
    const Loop *loop = stage->loops[depth];
    StmtList body = stmts_one(b->arena, initialise(b, stage, depth + 1, sources, unless));
    return loop_stmt(b, stage, loop,
                     &(Piece){loop->var, loop->var->extent, NULL, initialisation_kind(b, stage, depth), NULL, 0}, body);
}

/* Whether all reduction loops of a stage that holds partial results are at their first iteration, where another one is
 * computed. Those that are not around that have one iteration: none is, where it is computed beside the stage. NULL:
 * there are no others. */
static Expr *first_iteration(Build *b, const NestStage *held, const NestStage *computed) {
    Expr *first = NULL;
    while (computed != NULL && computed->parent != held)
        computed = computed->parent;
    for (int l = 0; computed != NULL && l < computed->depth; l++)
        if (held->loops[l]->reduction) {
            Expr *iteration = build_expr(b, expr_var(b->arena, held->loops[l]->var));
            first = expr_and(b->arena, first, expr_binary(b->arena, OP_EQ, iteration, expr_int(b->arena, 0)));
        }
    return first;
}

/* Begins a stage as `like` does: with the initial value, or with what is held of earlier iterations. */
static Stmt *begin_like(Build *b, const NestStage *stage, int depth, const NestStage *like) {
    if (!like->resumes)
        return initialise(b, stage, depth, component_sources(b, stage->stage, true), NULL);
    Stmt *begun = begin_like(b, stage, depth, like->resumes);
    Expr *first = first_iteration(b, like->resumes, like);
    if (!first)
        return begun;
    b->held = like->resumes;
    Stmt *held = initialise(b, stage, depth, held_values(b, stage, like->resumes), NULL);
    b->held = NULL;
    return stmt_if(b->arena, first, stmts_one(b->arena, begun), stmts_one(b->arena, held), stage->stage->loc);
}

/* The initialisation before the loop at a depth. Where partial results are stored only an empty reduction needs it: a
 * loop without iterations does nothing else. */
static Stmt *initialisation(Build *b, const NestStage *stage, int depth) {
    Stmt *begun = begin_like(b, stage, depth, stage);
    Expr *some = NULL;
    for (int l = 0; l < stage->loop_count && stage->partial; l++)
        if (stage->loops[l]->reduction)
            some = expr_and(b->arena, some,
                            expr_binary(b->arena, OP_LT, expr_int(b->arena, 0), stage->loops[l]->var->extent));
    return some ? stmt_if(b->arena, expr_simplify(b->arena, expr_unary(b->arena, OP_NOT, some)),
                          stmts_one(b->arena, begun), (StmtList){0}, stage->stage->loc)
                : begun;
}

static StmtList stage_level(Build *b, const NestStage *stage, int depth);
static StmtList stage_build_all(Build *b, const NestStage *stage);

/* Whether the stage allocates a component's buffer: of a temporary that it writes. */
static bool allocates(const NestStage *stage, int component) {
    return stage->buffers[component]->role == ROLE_TEMPORARY && !stage->updates;
}

/* The list inside the allocations of the stage's buffers. */
static StmtList with_buffers(Build *b, const NestStage *stage, StmtList list) {
    for (int c = stage->stage->component_count - 1; c >= 0; c--)
        if (allocates(stage, c)) {
            const Tensor *kept = address_map_get(&b->kept, stage->buffers[c]);
            list = stmts_one(b->arena, stmt_allocate(b->arena, kept ? kept : stage->buffers[c], list));
        }
    return list;
}

/* The statements for another iteration of a loop around them, if that exists. */
static StmtList at_iteration(Build *b, const Loop *loop, Expr *iteration, StmtList body) {
    StmtList moved = stmts_substitute(b->arena, body, loop->var, iteration), list = {0};
    Expr *exists = expr_binary(b->arena, OP_LT, iteration, loop->var->extent);
    stmts_add(b->arena, &list, stmt_if(b->arena, expr_simplify(b->arena, exists), moved, (StmtList){0}, (Loc){0}));
    return list;
}

static StmtList next_iteration(Build *b, const Loop *loop, StmtList body) {
    Expr *next = expr_binary(b->arena, OP_ADD, expr_var(b->arena, loop->var), expr_int(b->arena, 1));
    return at_iteration(b, loop, next, body);
}

/* Computes before the loop at a depth what its first iteration finds computed. */
static void add_prologues(Build *b, const NestStage *stage, int depth, StmtList *list) {
    for (int i = 0; i < stage->child_count; i++) {
        const NestStage *child = stage->children[i];
        if (!child->doubled || child->depth != depth + 1)
            continue;
        StmtList first = at_iteration(b, stage->loops[depth], expr_int(b->arena, 0), stage_build_all(b, child));
        stmts_add_all(b->arena, list, first.items, first.count);
    }
}

/* The body of the first `depth` loops: children and prefetches, then `rest`, inside the buffers' allocations. */
static StmtList with_children(Build *b, const NestStage *stage, int depth, StmtList rest) {
    StmtList list = {0};
    for (int i = 0; i < stage->prefetch_count; i++)
        if (stage->prefetches[i].depth == depth)
            build_prefetch(b, stage, &stage->prefetches[i], &list);
    for (int i = 0; i < stage->child_count; i++)
        if (stage->children[i]->depth == depth && !stage->children[i]->inlined) {
            StmtList child = stage_build_all(b, stage->children[i]);
            if (stage->children[i]->doubled)
                child = next_iteration(b, stage->loops[depth - 1], child);
            stmts_add_all(b->arena, &list, child.items, child.count);
        }
    stmts_add_all(b->arena, &list, rest.items, rest.count);
    const NestStages *homed = address_map_get(&b->homed, stage);
    for (int i = homed ? homed->count - 1 : -1; i >= 0; i--)
        if (homed->items[i]->home_depth == depth)
            list = with_buffers(b, homed->items[i], list);
    return list;
}

static Stmt *update(Build *b, const NestStage *stage) {
    StageBuild s = stage_build(b, stage, false);
    Expr **values = component_sources(b, stage->stage, false);
    take_predicates(b->arena, stage->stage, values);
    return guarded_store(b, &s, values, b->predicates, stage->stage->combine != COMBINE_NONE);
}

/* The whole stage, computed at its place. */
static StmtList stage_build_all(Build *b, const NestStage *stage) {
    StageBuild s = stage_build(b, stage, false);
    Expr **values = component_sources(b, stage->stage, false);
    ExprList sources = take_predicates(b->arena, stage->stage, values);
    int needed = sources.count;
    if (may_leave_zeros_out(b, stage->stage))
        add_zero_conditions(b->arena, values[0], &sources);
    Predicates *outer = b->predicates;
    b->predicates = lower_predicates(b, &s, &sources, needed);
    StmtList list = stage_level(b, stage, 0);
    b->predicates = outer;
    return list;
}

/* The predicates in a piece of a loop. Those that hold in the whole piece are not tested. */
static Predicates *piece_predicates(Build *b, const Predicates *predicates, const Substitution *piece) {
    Predicates *made = ARENA_NEW(b->arena, Predicates);
    made->late = ARENA_ARRAY(b->arena, bool, predicates->full.count);
    made->needed = predicates->needed;
    for (int i = 0; i < predicates->full.count; i++) {
        made->late[i] = predicates->late[i];
        Expr *tested = predicates->tested.items[i];
        Expr *full = expr_compact(b->arena, expr_substitute(b->arena, predicates->full.items[i], piece, 1));
        bool holds = expr_prove(b->arena, full, &(Facts){0}) == 1;
        tested = holds || !tested ? tested : expr_substitute(b->arena, tested, piece, 1);
        list_push(b->arena, &made->full, full);
        list_push(b->arena, &made->tested, holds ? full : tested);
    }
    return made;
}

/* The body of the loop at a depth, for a piece of it. */
static StmtList piece_body(Build *b, const NestStage *stage, int depth, const Piece *piece) {
    if (!piece->value)
        return stage_level(b, stage, depth + 1);
    Substitution substitution = {stage->loops[depth]->var, piece->value};
    Predicates *outer = b->predicates;
    b->predicates = piece_predicates(b, outer, &substitution);
    list_push(b->arena, &b->pieces, substitution);
    StmtList body = stage_level(b, stage, depth + 1);
    b->pieces.count--;
    b->predicates = outer;
    return body;
}

static bool predicates_read(const Build *b, const NestStage *producer) {
    for (int i = 0; i < b->predicates->full.count; i++)
        for (int c = 0; c < producer->stage->component_count; c++)
            if (expr_uses_tensor(b->predicates->full.items[i], producer->buffers[c]))
                return true;
    return false;
}

/* The first depth for tests of predicates: loops around the initialisation, and around what they read, always run. */
static int first_tested(const Build *b, const NestStage *stage) {
    int depth = stage->initialises ? first_reduction(stage) : 0;
    for (int i = 0; i < stage->child_count; i++) {
        const NestStage *child = stage->children[i];
        if (child->depth > depth && (child->updates == stage || predicates_read(b, child)))
            depth = child->depth;
    }
    return depth;
}

/* The statements inside the first depth loops of a stage. */
static StmtList stage_level(Build *b, const NestStage *stage, int depth) {
    StmtList list = {0};
    ExprList tests = {0};
    bool begins = stage->initialises && depth == first_reduction(stage);
    if (begins) {
        stmts_add(b->arena, &list, initialisation(b, stage, depth));
        if (depth < stage->loop_count) /* without reduction loops there is no place after them */
            choose_late(b, stage);
    }
    if (depth == stage->loop_count) {
        if (!stage->scan)
            stmts_add(b->arena, &list, update(b, stage));
        return with_children(b, stage, depth, list);
    }
    const Loop *loop = stage->loops[depth];
    LoopKind kind = loop_kind(b, loop);
    bool parallel = kind == LOOP_PARALLEL;
    b->in_parallel |= parallel;
    bool stays = kind == LOOP_SERIAL || kind == LOOP_PARALLEL; /* for other kinds the lanes and copies are tested */
    if (stays && depth >= first_tested(b, stage))
        tests = tests_at(b, stage, depth);
    add_prologues(b, stage, depth, &list);
    Pieces pieces = loop_pieces(b->arena, loop, kind);
    for (int i = 0; i < pieces.count; i++) {
        Stmt *made = loop_stmt(b, stage, loop, &pieces.items[i], piece_body(b, stage, depth, &pieces.items[i]));
        stmts_add(b->arena, &list, under(b, &tests, true, made, stage->stage->loc));
    }
    b->in_parallel &= !parallel;
    for (int i = 0; begins && i < b->predicates->full.count; i++)
        if (b->predicates->late[i])
            stmts_add(
                b->arena, &list,
                initialise(b, stage, depth, component_sources(b, stage->stage, true), b->predicates->full.items[i]));
    return with_children(b, stage, depth, list);
}

/* --- requirements ------------------------------------------------------------------------------------------------- */

static Stmt *requirement_check(Build *b, const Requirement *requirement) {
    Substitutions axes = {0};
    for (int i = 0; i < requirement->axis_count; i++) {
        Var *var = var_new(b->arena, VAR_LOOP, TYPE_INT64, requirement->axes[i]->name, requirement->axes[i]->extent);
        list_push(b->arena, &axes, ((Substitution){requirement->axes[i], expr_var(b->arena, var)}));
    }
    Expr *condition = build_value(b, requirement->condition, &axes, NULL);
    Stmt *check = stmt_check(b->arena, condition, requirement->status, requirement->loc), *stmt = check;
    for (int i = requirement->axis_count - 1; i >= 0; i--) {
        stmt = check_all(b->arena, b->nest->target, stmt, axes.items[i].value->var);
        if (!stmt)
            return NULL;
    }
    if (axes.count != 2)
        return stmt;
    return check_rows(b->arena, b->nest->target, stmt, check, axes.items[0].value->var, axes.items[1].value->var);
}

typedef struct RequirementNeeds {
    Build *build;
    int position;
} RequirementNeeds;

static void note_needed(RequirementNeeds *needs, const Expr *read) {
    const Nest *nest = needs->build->nest;
    for (int i = 0; i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        if (!stage_writes(stage->stage, read->tensor))
            continue;
        if (stage->inlined)
            EACH_VALUE_READ(inner, stage->stage)
                note_needed(needs, inner);
        while (stage->parent)
            stage = stage->parent;
        for (int p = 0; !stage->inlined && p < nest->stage_count; p++)
            if (nest->stages[p] == stage && p + 1 > needs->position)
                needs->position = p + 1;
    }
}

/* How many stages of the nest must run before the requirement can be checked. */
static int requirement_position(Build *b, const Requirement *requirement) {
    RequirementNeeds needs = {b, 0};
    EACH_READ(read, requirement->after >= 0 ? requirement->condition : NULL)
        note_needed(&needs, read);
    return needs.position;
}

static void add_requirements(Build *b, int position, bool sizes, StmtList *list) {
    const Program *program = b->nest->program;
    for (int i = 0; i < program->requirement_count; i++) {
        const Requirement *requirement = &program->requirements[i];
        bool gather = requirement->status == STATUS_BAD_INDEX;
        if (gather == sizes || (gather && b->options->unchecked_gather))
            continue;
        if (b->positions[i] == position)
            stmts_add(b->arena, list, requirement_check(b, requirement));
    }
}

/* Lists the stages by their homes, and says where each requirement is checked: once for all. */
static void prepare(Build *b) {
    const Program *program = b->nest->program;
    for (int i = 0; i < b->nest->stage_count; i++) {
        const NestStage *stage = b->nest->stages[i];
        if (!stage->home || stage->inlined || stage->in_scan)
            continue;
        NestStages *homed = address_map_get(&b->homed, stage->home);
        if (!homed)
            address_map_set(b->arena, &b->homed, stage->home, homed = ARENA_NEW(b->arena, NestStages));
        list_push(b->arena, homed, stage);
    }
    b->positions = ARENA_ARRAY(b->arena, int, program->requirement_count + 1);
    for (int i = 0; i < program->requirement_count; i++)
        b->positions[i] = requirement_position(b, &program->requirements[i]);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static bool is_root(const NestStage *stage) {
    return !stage->parent && !stage->inlined && !stage->constant;
}

/* Whether the stage's buffers live at the root, outside all loops but those of scans. */
static bool lives_at_root(const NestStage *stage) {
    return ((!stage->home && !stage->inlined) || stage->in_scan) && !stage->scan;
}

static bool lives_in_registers(const NestStage *stage) {
    return lives_at_root(stage) && !stage->in_scan && stage->buffers[0]->scope == SCOPE_REGISTER;
}

/* Registers are allocated where they are used: what follows does not look at them, and may run as a function. What
 * scans keep is decided before their buffers are allocated. */
static StmtList root_allocations(Build *b, StmtList list) {
    LIST(const Tensor *) registers = {0};
    for (int i = 0; i < b->nest->stage_count; i++)
        for (int c = 0; lives_in_registers(b->nest->stages[i]) && c < b->nest->stages[i]->stage->component_count; c++)
            if (allocates(b->nest->stages[i], c))
                list_push(b->arena, &registers, b->nest->stages[i]->buffers[c]);
    list = allocate_around_uses(b->arena, &list, registers.items, registers.count);
    finish_scans(b->arena, b->nest, &list, &b->kept);
    for (int i = b->nest->stage_count - 1; i >= 0; i--)
        if (lives_at_root(b->nest->stages[i]) && !lives_in_registers(b->nest->stages[i]))
            list = with_buffers(b, b->nest->stages[i], list);
    return list;
}

Kernel *kernel_build(Arena *arena, const Nest *nest, const ExpandOptions *options) {
    Build b = {.arena = arena, .nest = nest, .options = options};
    StmtList checks = {0}, list = {0};
    prepare(&b);
    add_requirements(&b, 0, true, &checks);
    for (int i = 0; i <= nest->stage_count; i++) {
        add_requirements(&b, i, false, &list);
        if (i == nest->stage_count || !is_root(nest->stages[i]))
            continue;
        StmtList stage = stage_build_all(&b, nest->stages[i]);
        stmts_add_all(arena, &list, stage.items, stage.count);
    }
    list = root_allocations(&b, list);
    stmts_add_all(arena, &checks, list.items, list.count);
    Kernel *kernel = ARENA_NEW(arena, Kernel);
    *kernel = (Kernel){.arena = arena,
                       .program = nest->program,
                       .target = nest->target,
                       .strict = options->strict || nest->program->strict,
                       .part = options->part,
                       .share_each = options->share_each,
                       .number_each = options->number_each};
    kernel->body = stmt_block(arena, checks);
    return kernel;
}
