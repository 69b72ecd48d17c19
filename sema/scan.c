/* scan.c - recurrences: blocks of statements that run together, once for each step.
 *
 * The statements of a block read each other in a circle. So the first definition of a tensor does not always give its
 * sizes and type. The block is probed first, as often as that finds something new: nothing is reported, nothing is
 * made. Then its statements are checked like all others. A read of an earlier step reads the last version of its
 * tensor, which is made before. Keeps true: the stages of a scan are consecutive, and the axis of the steps has the
 * same range in all of them.
 */
#include "sema/check.h"

#include <string.h>

static Carried *carried_in(const ScanBlock *block, const Variable *variable) {
    for (int i = 0; i < block->carried.count; i++)
        if (block->carried.items[i].variable == variable)
            return &block->carried.items[i];
    return NULL;
}

Carried *find_carried(const CallFrame *frame, const Variable *variable) {
    return frame->scan ? carried_in(frame->scan, variable) : NULL;
}

static bool is_spanned(const Carried *carried) {
    for (int d = 0; d < carried->last.rank; d++)
        if (!carried->last.dims[d])
            return false;
    return true;
}

const View *carried_target(const CallFrame *frame, const Variable *variable) {
    const Carried *carried = find_carried(frame, variable);
    return carried && is_spanned(carried) && !frame->builder->names_only ? &carried->last : NULL;
}

static bool is_carried(const CallFrame *frame, const Tensor *tensor) {
    const ScanBlock *block = frame->scan;
    const Builder *builder = frame->builder;
    for (int i = 0; i < block->carried.count; i++)
        if (block->carried.items[i].tensor == tensor)
            return true;
    for (int i = 0; i < builder->stages.count; i++)
        if (builder->stages.items[i]->scan == block->scan && stage_writes(builder->stages.items[i], tensor))
            return true;
    return false;
}

bool reads_carried(const CallFrame *frame, const Expr *e) {
    EACH_READ(read, frame->scan ? e : NULL)
        if (is_carried(frame, read->tensor))
            return true;
    return false;
}

/* --- steps of reads ----------------------------------------------------------------------------------------------- */

bool step_distance(Statement *s, const AstExpr *ast, const Carried *carried, int64_t *distance) {
    *distance = 0;
    if (ast->kind != AST_APPLY || ast->args.count != carried->last.rank) {
        int given = ast->kind == AST_APPLY ? ast->args.count : 0, rank = carried->last.rank;
        ERROR(s->frame, wrong_rank, ast->loc, carried->variable->name, rank, rank == 1 ? "" : "s", given,
              given == 1 ? "is" : "are");
        return false;
    }
    const char *index = s->frame->scan->ast->index.text;
    const IndexVariable *steps = find_index(s, index);
    const AstExpr *place = ast->args.items[carried->step];
    s->index_depth++;
    Typed step = translate(s, place);
    s->index_depth--;
    Affine difference;
    if (!step.expr || !steps)
        return false;
    if (!step.index ||
        !size_affine(s->builder->arena,
                     expr_binary(s->builder->arena, OP_SUB, expr_var(s->builder->arena, steps->raw), step.expr),
                     &difference) ||
        !affine_is_int(&difference, distance)) {
        ERROR(s->frame, scan_distance, place->loc, carried->variable->name, expr_text(s->builder->arena, step.expr),
              index);
        return false;
    }
    if (*distance >= 0)
        return true;
    ERROR(s->frame, scan_later_step, place->loc, carried->variable->name, -(long long)*distance,
          *distance == -1 ? "" : "s");
    return false;
}

/* --- the left sides ----------------------------------------------------------------------------------------------- */

static int step_index(const ScanBlock *block, const AstTarget *target) {
    for (int d = 0; d < target->indices.count; d++)
        if (target->indices.items[d]->kind == AST_NAME &&
            strcmp(target->indices.items[d]->name.text, block->ast->index.text) == 0)
            return d;
    return -1;
}

static void unite_view(CallFrame *frame, Carried *carried) {
    Variable *variable = carried->variable;
    const AstResult *result = variable->result;
    Arena *arena = frame->builder->arena;
    View known = variable->view;
    carried->given = known.tensor != NULL;
    if (known.tensor) {
        carried->type = known.tensor->type;
        carried->typed = true;
    } else if (result && result->has_type) {
        carried->type = result->type;
        carried->typed = true;
    }
    if (!known.tensor && result && result->has_dims)
        carried->given = declared_view(frame, result, &known);
    int rank = carried->given ? known.rank : carried->target->indices.count;
    carried->last =
        (View){.rank = rank, .dims = ARENA_ARRAY(arena, Expr *, rank), .lower = ARENA_ARRAY(arena, Expr *, rank)};
    for (int d = 0; carried->given && d < rank; d++) {
        carried->last.dims[d] = known.dims[d];
        carried->last.lower[d] = known.lower ? known.lower[d] : expr_int(arena, 0);
    }
}

static bool add_target(CallFrame *frame, ScanBlock *block, const AstTarget *target) {
    int step = step_index(block, target);
    const char *index = block->ast->index.text;
    if (step < 0) {
        ERROR(frame, scan_index_missing, target->loc, target->name.text, index);
        return false;
    }
    Variable *variable = target_variable(frame, target);
    if (!variable)
        return false;
    Carried *known = carried_in(block, variable);
    if (known && known->step != step) {
        ERROR(frame, scan_index_moved, target->indices.items[step]->loc, index, step, variable->name, known->step);
        NOTE(frame, known->target->indices.items[known->step]->loc, "here");
        return false;
    }
    if (known) {
        known->definitions++;
        return true;
    }
    Carried carried = {.variable = variable, .target = target, .step = step, .definitions = 1};
    unite_view(frame, &carried);
    list_push(frame->builder->arena, &block->carried, carried);
    return true;
}

static bool add_statement(CallFrame *frame, ScanBlock *block, const AstStatement *ast) {
    if (ast->kind != STATEMENT_ASSIGN) {
        if (ast->kind == STATEMENT_SCAN)
            ERROR(frame, scan_nested, ast->loc);
        else
            ERROR(frame, for_in_scan, ast->loc);
        return false;
    }
    bool good = true, bare = true;
    for (int i = 0; i < ast->targets.count; i++)
        bare &= !ast->targets.items[i].has_indices;
    if (bare && is_call(frame, ast->values.items[0])) {
        ERROR(frame, scan_call, ast->loc, ast->values.items[0]->name.text);
        return false;
    }
    for (int i = 0; i < ast->targets.count; i++)
        good &= add_target(frame, block, &ast->targets.items[i]);
    return (!ast->combiner.text || statement_combiner(frame, ast)) && good;
}

/* --- probing one statement for ranges and types ------------------------------------------------------------------- */

/* What is probed. A level is tried when those before it find nothing more. */
typedef enum ProbeLevel {
    PROBE_FIRST,      /* first definitions, ranges from reads without an else */
    PROBE_FIRST_ELSE, /* first definitions, ranges from all reads */
    PROBE_LATER,      /* later definitions of the same tensors */
    PROBE_LEVELS
} ProbeLevel;

/* Takes the range of a dimension from the statement. True if it is new. */
static bool learn_range(Statement *s, Carried *carried, int d) {
    const IndexVariable *index = d < s->indices.count ? s->indices.items[d] : NULL;
    if (carried->last.dims[d] || !index || !index->low || !index->high)
        return false;
    Arena *arena = s->builder->arena;
    Expr *extent = expr_binary(arena, OP_ADD, expr_binary(arena, OP_SUB, index->high, index->low), expr_int(arena, 1));
    carried->last.dims[d] = size_normal(arena, extent);
    carried->last.lower[d] = index->low;
    return true;
}

static bool learn_type(Carried *carried, const Statement *s, const Typed *value) {
    const Variable *variable = carried->variable;
    if (value->open || variable->view.tensor || (variable->result && variable->result->has_type))
        return false;
    bool sums = s->ast->combine == COMBINE_ADD || s->ast->combine == COMBINE_MUL;
    ElementType type = sums && value->type == TYPE_BOOL ? TYPE_INT32 : value->type;
    if (carried->typed)
        type = type_promote(type, carried->type);
    bool news = !carried->typed || type != carried->type;
    carried->type = type;
    carried->typed = true;
    return news;
}

/* Takes what the statement says of its target number i, which has this value. first: it is the target's first
 * definition. True if something is new. */
static bool learn(Statement *s, int i, const Typed *value, bool first) {
    const AstTarget *target = &s->ast->targets.items[i];
    Carried *carried = find_carried(s->frame, target_variable(s->frame, target));
    bool news = first && learn_type(carried, s, value);
    for (int d = 0; d < carried->last.rank && d < target->indices.count; d++)
        news |= learn_range(s, carried, d);
    return news;
}

/* Translates the values, one for each target. The types of a tuple come from its combiner. */
static bool probe_values(Statement *s, Variable **variables, Typed *values, bool literals) {
    if (!s->ast->combiner.text) {
        if (!translate_assignment(s, variables[0], &values[0]))
            return false;
        if (literals && values[0].open == OPEN_LITERAL)
            values[0].open = CLOSED;
        return true;
    }
    const CombinerDefinition *definition = statement_combiner(s->frame, s->ast);
    bool good = definition && translate_tuple(s, variables, values);
    for (int i = 0; i < s->ast->targets.count && good; i++)
        values[i] = (Typed){values[i].expr, definition->combiner->left[i]->type, false, CLOSED, NULL};
    return good;
}

/* True if the statement says something new. */
static bool probe_statement(CallFrame *frame, const AstStatement *ast, ProbeLevel level, bool literals) {
    int count = ast->targets.count;
    Arena *arena = frame->builder->arena;
    Variable **variables = ARENA_ARRAY(arena, Variable *, count);
    Typed *values = ARENA_ARRAY(arena, Typed, count);
    for (int i = 0; i < count; i++)
        variables[i] = target_variable(frame, &ast->targets.items[i]);
    const Carried *carried = find_carried(frame, variables[0]);
    bool first = &ast->targets.items[0] == carried->target;
    if (first == (level == PROBE_LATER))
        return false;
    Statement s = {.frame = frame, .builder = frame->builder, .ast = ast, .let_limit = ast->wheres.count};
    s.strong_only = level == PROBE_FIRST;
    if (!probe_values(&s, variables, values, literals) || s.indices.count < ast->targets.items[0].indices.count)
        return false;
    infer_ranges(&s, &carried->last);
    bool news = false;
    for (int i = 0; i < count; i++)
        news |= learn(&s, i, &values[i], first);
    return news;
}

/* A tensor whose steps are still unknown takes those of the other tensors. */
static bool share_steps(ScanBlock *block) {
    const View *known = NULL;
    bool news = false;
    int step = 0;
    for (int i = 0; i < block->carried.count && !known; i++) {
        step = block->carried.items[i].step;
        known = block->carried.items[i].last.dims[step] ? &block->carried.items[i].last : NULL;
    }
    for (int i = 0; i < block->carried.count && known; i++) {
        Carried *carried = &block->carried.items[i];
        if (carried->last.dims[carried->step])
            continue;
        carried->last.dims[carried->step] = known->dims[step];
        carried->last.lower[carried->step] = known->lower[step];
        news = true;
    }
    return news;
}

/* --- probing until nothing new is found --------------------------------------------------------------------------- */

static bool probe_level(CallFrame *frame, ScanBlock *block, ProbeLevel level, bool literals) {
    bool news = false;
    for (int i = 0; i < block->ast->body.count; i++)
        if (block->ast->body.items[i]->combiner.text || block->ast->body.items[i]->targets.count == 1)
            news |= probe_statement(frame, block->ast->body.items[i], level, literals);
    return news;
}

static void probe_all(CallFrame *frame, ScanBlock *block) {
    for (bool news = true; news;) {
        news = false;
        for (int level = 0; level < PROBE_LEVELS && !news; level++)
            news = probe_level(frame, block, level, false);
        if (!news)
            news = share_steps(block) || probe_level(frame, block, PROBE_FIRST_ELSE, true);
    }
}

/* Probes the block. What that makes and reports is dropped. */
static void probe_block(CallFrame *frame, ScanBlock *block) {
    Builder *builder = frame->builder, before = *builder;
    bool muted = diag_mute(DIAGNOSTICS(frame), true);
    LIST(CallFrame *) failed = {0};
    for (CallFrame *f = frame; f; f = f->caller)
        if (f->failed)
            list_push(builder->arena, &failed, f);
    block->probing = true;
    probe_all(frame, block);
    block->probing = false;
    for (CallFrame *f = frame; f; f = f->caller)
        f->failed = false;
    for (int i = 0; i < failed.count; i++)
        failed.items[i]->failed = true;
    diag_mute(DIAGNOSTICS(frame), muted);
    builder->tensors.count = before.tensors.count;
    builder->requirements.count = before.requirements.count;
    builder->facts = before.facts;
}

/* --- the block ---------------------------------------------------------------------------------------------------- */

static const char *steps_text(Arena *arena, const Carried *carried) {
    Expr *low = carried->last.lower[carried->step];
    Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, low, carried->last.dims[carried->step]));
    return arena_printf(arena, "%s:%s", expr_text(arena, low), expr_text(arena, end));
}

static bool same_steps(Arena *arena, const Carried *a, const Carried *b) {
    return size_equal(arena, a->last.dims[a->step], b->last.dims[b->step]) &&
           size_equal(arena, a->last.lower[a->step], b->last.lower[b->step]);
}

static bool check_steps(CallFrame *frame, const ScanBlock *block) {
    const Carried *first = NULL;
    Arena *arena = frame->builder->arena;
    for (int i = 0; i < block->carried.count && !frame->builder->names_only; i++) {
        const Carried *carried = &block->carried.items[i];
        if (!carried->last.dims[carried->step])
            continue;
        first = first ? first : carried;
        if (same_steps(arena, first, carried))
            continue;
        ERROR(frame, scan_steps, carried->target->loc, carried->variable->name, steps_text(arena, carried),
              first->variable->name, steps_text(arena, first));
        HINT(frame, "define it over all steps first; a later statement may cover some of them");
        return false;
    }
    return true;
}

static void make_last_versions(CallFrame *frame, ScanBlock *block) {
    for (int i = 0; i < block->carried.count; i++) {
        Carried *carried = &block->carried.items[i];
        if (!carried->typed || !is_spanned(carried))
            continue;
        Tensor *tensor = new_tensor(frame->builder, carried->type, carried->last.rank, carried->variable->loc);
        for (int d = 0; d < tensor->rank; d++)
            tensor->dims[d] = carried->last.dims[d];
        carried->tensor = tensor;
        carried->last.tensor = tensor;
    }
}

static void begin_scan(CallFrame *frame, ScanBlock *block) {
    Builder *builder = frame->builder;
    Scan *scan = ARENA_NEW(builder->arena, Scan);
    const Carried *first = &block->carried.items[0];
    AstName index = block->ast->index;
    Expr *steps = first->last.dims[first->step];
    Var *axis = var_new(builder->arena, VAR_AXIS, TYPE_INT64, index.text, steps ? steps : expr_int(builder->arena, 0));
    axis->loc = index.loc;
    *scan = (Scan){.name = arena_printf(builder->arena, "%sscan", frame->prefix), .axis = axis, .loc = block->ast->loc};
    list_push(builder->arena, &builder->scans, scan);
    block->scan = scan;
}

/* Reports reads that failed because a type or a size is unknown, unless another error explains them. */
static void report_unknown(CallFrame *frame, const ScanBlock *block, int errors) {
    for (int i = 0; i < block->carried.count; i++) {
        const Carried *carried = &block->carried.items[i];
        if (!carried->unknown.file || diag_error_count(DIAGNOSTICS(frame)) > errors)
            continue;
        ERROR(frame, scan_unknown, carried->unknown, carried->variable->name);
        HINT(frame, "say it in the header, float(...) %s, or in a first statement of the scan",
             carried->variable->name);
    }
}

void check_scan(CallFrame *frame, const AstStatement *ast) {
    ScanBlock block = {.ast = ast};
    bool good = true;
    for (int i = 0; i < ast->body.count; i++)
        good &= add_statement(frame, &block, ast->body.items[i]);
    if (!good) {
        poison_targets(frame, ast);
        return;
    }
    if (block.carried.count == 0)
        return;
    int errors = diag_error_count(DIAGNOSTICS(frame));
    frame->scan = &block;
    probe_block(frame, &block);
    if (check_steps(frame, &block)) {
        make_last_versions(frame, &block);
        begin_scan(frame, &block);
        for (int i = 0; i < ast->body.count; i++)
            check_statement(frame, ast->body.items[i]);
        report_unknown(frame, &block, errors);
    } else {
        poison_targets(frame, ast);
    }
    frame->scan = NULL;
}
