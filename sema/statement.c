/* statement.c - one assignment: its names, its value, its ranges, its types. stages.c makes stages of it.
 *
 * After an error a variable on the left side that has no value yet is poisoned, so that what reads it stays silent.
 */
#include "sema/check.h"

#include <string.h>

/* --- variables --- */

Variable *new_variable(CallFrame *frame, const char *name, Loc loc) {
    Arena *arena = frame->builder->arena;
    Variable *variable = ARENA_NEW(arena, Variable);
    variable->name = name;
    variable->loc = loc;
    frame_add(frame, SYMBOL_TENSOR, name, loc)->variable = variable;
    list_push(arena, &frame->variables, variable);
    return variable;
}

Variable *target_variable(CallFrame *frame, const AstTarget *target) {
    Symbol *symbol = frame_symbol(frame, target->name.text);
    if (!symbol)
        return new_variable(frame, target->name.text, target->name.loc);
    if (symbol->kind == SYMBOL_TENSOR && !symbol->variable->input)
        return symbol->variable;
    if (symbol->kind == SYMBOL_TENSOR)
        ERROR(frame, write_to_input, target->name.loc, target->name.text);
    else
        ERROR(frame, target_is_name, target->name.loc, target->name.text);
    NOTE(frame, symbol->loc, "defined here");
    if (symbol->kind == SYMBOL_TENSOR)
        hint_result(frame, target->name.text);
    return NULL;
}

void variable_define(Builder *builder, Variable *variable, Tensor *tensor, View view) {
    view.tensor = tensor;
    variable->view = view;
    variable->written = true;
    list_push(builder->arena, &variable->versions, tensor);
}

static void poison(Variable *variable) {
    if (!variable)
        return;
    variable->written = true;
    variable->poisoned |= variable->view.tensor == NULL;
}

/* Poisons the variables that a statement with an error would have defined. */
void poison_targets(CallFrame *frame, const AstStatement *ast) {
    for (int i = 0; i < ast->targets.count; i++)
        poison(target_variable(frame, &ast->targets.items[i]));
    for (int i = 0; i < ast->body.count; i++)
        poison_targets(frame, ast->body.items[i]);
}

/* --- the left side --- */

/* Ranges of where hide names of the def. For a size or a scalar that is hardly meant. */
void warn_hiding(CallFrame *frame, AstName name) {
    const Symbol *symbol = frame_symbol(frame, name.text);
    if (!symbol || (symbol->kind != SYMBOL_SIZE && symbol->kind != SYMBOL_SCALAR) || !may_warn(frame))
        return;
    const char *kind = symbol->kind == SYMBOL_SIZE ? "size" : "scalar argument";
    WARN(frame, hides_size, name.loc, name.text, kind);
    NOTE(frame, symbol->loc, "the %s", kind);
}

static bool refuse_repeated(CallFrame *frame, AstName name, const Symbol *symbol) {
    ERROR(frame, for_target, name.loc, name.text);
    NOTE(frame, symbol->loc, "the index of this for");
    HINT(frame, "an index takes every value without a for; one value is that of another index: where v in %s:%s + 1",
         name.text, name.text);
    return false;
}

/* What a name on the left side stands for already; NULL: nothing, or where makes it an index. The name of a tensor that
 * has dimensions is no value by itself. */
static const char *other_meaning(const Statement *s, const char *name) {
    const Symbol *symbol = frame_symbol(s->frame, name);
    const AstWheres *wheres = &s->ast->wheres;
    for (int i = 0; i < wheres->count; i++)
        if ((wheres->items[i].kind == WHERE_LET || wheres->items[i].kind == WHERE_RANGE) &&
            strcmp(wheres->items[i].name.text, name) == 0)
            return wheres->items[i].kind == WHERE_LET ? "a value of where" : NULL;
    if (!symbol || symbol->kind == SYMBOL_DEF)
        return NULL;
    const View *view = symbol->kind == SYMBOL_TENSOR ? &symbol->variable->view : NULL;
    if (view)
        return view->tensor && view->rank == 0 ? "a tensor without dimensions" : NULL;
    return symbol->kind == SYMBOL_SCALAR ? "a scalar argument" : symbol->parameter ? "a parameter" : "a size";
}

static bool check_target_index(Statement *s, const AstTarget *target, AstName name) {
    const Symbol *symbol = frame_symbol(s->frame, name.text);
    if (symbol && symbol->kind == SYMBOL_SIZE && symbol->repeats)
        return refuse_repeated(s->frame, name, symbol);
    const char *meaning = other_meaning(s, name.text);
    if (meaning) {
        ERROR(s->frame, target_not_index, name.loc, name.text, meaning);
        hint_place(s, target, name.text);
        return false;
    }
    if (find_index(s, name.text)) {
        ERROR(s->frame, index_twice, name.loc, name.text);
        return false;
    }
    add_index(s, name)->target = true;
    return true;
}

/* The name of the tensor that an index is read from, or NULL. */
static const char *read_name(const Statement *s, const AstExpr *ast) {
    if (ast->kind == AST_APPLY && is_read(s->frame, ast))
        return ast->name.text;
    const char *found = NULL;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = read_name(s, ast->args.items[i]);
    return found;
}

/* Adds an index for a computed one. It has the name of the tensor that it is read from and takes only the computed
 * value. */
static void add_computed(Statement *s, const AstExpr *ast) {
    const char *name = read_name(s, ast);
    IndexVariable *index = add_index(s, (AstName){name ? name : "at", ast->loc});
    index->target = true;
    index->place = ast;
}

static bool translate_computed(Statement *s) {
    bool good = true;
    for (int i = 0; i < s->ast->targets.items[0].indices.count && i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        if (!index->place)
            continue;
        if (s->ast->combine == COMBINE_NONE && !s->ast->combiner.text) {
            ERROR(s->frame, computed_assign, index->loc);
            hint_computed(s, index->place);
            return false;
        }
        index->computed = translate_index_value(s, index->place);
        good &= index->computed != NULL;
    }
    return good;
}

static bool check_rank(Statement *s, const AstTarget *target, const Variable *variable) {
    const View *view = &variable->view;
    int rank = view->tensor                                     ? view->rank
               : variable->result && variable->result->has_dims ? variable->result->dims.count
                                                                : -1;
    if (rank >= 0 && rank != target->indices.count) {
        ERROR(s->frame, wrong_rank, target->loc, variable->name, rank, rank == 1 ? "" : "s", target->indices.count,
              target->indices.count == 1 ? "is" : "are");
        return false;
    }
    return true;
}

static bool check_target(Statement *s, const AstTarget *target, const Variable *variable) {
    bool good = true;
    for (int i = 0; i < target->indices.count; i++) {
        const AstExpr *index = target->indices.items[i];
        if (index->kind == AST_NAME)
            good &= check_target_index(s, target, (AstName){index->name.text, index->loc});
        else
            add_computed(s, index);
    }
    return good && check_rank(s, target, variable);
}

/* --- the right side --- */

/* Names of where hide those of the def. A name with a range that the def does not have becomes an index where it is
 * used. */
static void hide_names(Statement *s) {
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind != WHERE_RANGE && where->kind != WHERE_LET)
            continue;
        warn_hiding(s->frame, where->name);
        bool hides = where->kind == WHERE_RANGE && frame_symbol(s->frame, where->name.text);
        if (hides && !find_index(s, where->name.text))
            add_index(s, where->name);
    }
}

/* `exists e` only says that the reads of e are inside. */
static void translate_clauses(Statement *s) {
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind == WHERE_EXISTS)
            translate(s, where->value);
    }
}

/* Puts the read under the first `count` predicates too, before its own conditions. */
static void add_guards(Statement *s, ReadSite *site, int count) {
    Expr **guards = ARENA_ARRAY(s->builder->arena, Expr *, count + site->guard_count);
    for (int i = 0; i < count; i++)
        guards[i] = s->predicates.items[i];
    for (int i = 0; i < site->guard_count; i++)
        guards[count + i] = site->guards[i];
    site->guards = guards;
    site->guard_count += count;
}

static bool compares_integers(const Expr *e) {
    const Expr *end = e->kind == EXPR_OP ? e->args[1] : e;
    while (end->kind == EXPR_CAST)
        end = end->args[0];
    return type_is_integer(end->type) && end->type != TYPE_BOOL;
}

/* A predicate is evaluated only where those before it hold. It may use the lets before it. integers: it compares
 * these. */
static bool translate_predicate(Statement *s, int clause, const AstExpr *ast, bool integers) {
    int reads = s->sites.count, limit = s->let_limit;
    s->let_limit = clause;
    s->in_predicate = true;
    Expr *predicate = translate_condition(s, ast);
    s->in_predicate = false;
    s->let_limit = limit;
    if (!predicate)
        return false;
    if (integers && !compares_integers(predicate)) {
        ERROR(s->frame, where_not_integer, ast->loc);
        return false;
    }
    for (int i = reads; i < s->sites.count; i++)
        add_guards(s, s->sites.items[i], s->predicates.count);
    list_push(s->builder->arena, &s->predicates, predicate);
    return true;
}

static AstExpr *compare(Statement *s, Op op, const AstWhere *where, AstExpr *end) {
    AstExpr *name = ast_suggest_name(s->builder->arena, where->name.text);
    AstExpr *condition = ast_suggest(s->builder->arena, op, name, end, NULL);
    name->loc = name->name.loc = where->name.loc;
    condition->loc = end->loc;
    return condition;
}

/* p in row(i):row(i + 1) is p >= row(i), p < row(i + 1). */
static bool translate_ends(Statement *s, int clause) {
    const AstWhere *where = &s->ast->wheres.items[clause];
    return translate_predicate(s, clause, compare(s, OP_GE, where, where->begin), true) &&
           translate_predicate(s, clause, compare(s, OP_LT, where, where->end), true);
}

static bool reads_at(const Expr *end, const Var *index) {
    EACH_READ(read, end)
        if (expr_uses_var(read, index))
            return true;
    return false;
}

/* Whether the inner index has an end that is read at the outer one: p < row(i + 1). */
static bool runs_between(const Expr *e, const Var *inner, const Var *outer) {
    if (expr_is_op(e, OP_AND))
        return runs_between(e->args[0], inner, outer) || runs_between(e->args[1], inner, outer);
    for (int side = 0; side < 2 && expr_is_inequality(e); side++)
        if (expr_uses_var(e->args[side], inner) && !expr_reads(e->args[side]) && reads_at(e->args[1 - side], outer))
            return true;
    return false;
}

/* Whether the ends of the index need one of the others. */
static bool needs_other(const Statement *s, const IndexVariable *index, IndexVariable *const *others, int count) {
    for (int i = 0; i < count; i++)
        for (int p = 0; p < s->predicates.count && others[i] != index; p++)
            if (runs_between(s->predicates.items[p], index->raw, others[i]->raw))
                return true;
    return false;
}

/* Reductions stand in the order of the source, but one whose ends are read behind those that its ends need: for each
 * row its places, not for each place all rows. */
static void order_reductions(Statement *s) {
    IndexVariable **items = s->indices.items;
    int count = s->indices.count, first = 0;
    while (first < count && items[first]->target)
        first++;
    for (; first < count; first++) {
        int next = first;
        while (next < count && needs_other(s, items[next], items + first, count - first))
            next++;
        if (next == count) /* they need each other */
            return;
        IndexVariable *index = items[next];
        memmove(items + first + 1, items + first, sizeof *items * (size_t)(next - first));
        items[first] = index;
    }
}

/* reads: how many reads the value has; they are needed only where all predicates hold. */
static bool translate_predicates(Statement *s, int reads) {
    bool good = true;
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind == WHERE_PREDICATE)
            good &= translate_predicate(s, i, where->value, false);
        if (where->kind == WHERE_RANGE && find_index(s, where->name.text)->read)
            good &= translate_ends(s, i);
    }
    order_reductions(s);
    for (int i = 0; i < reads; i++)
        add_guards(s, s->sites.items[i], s->predicates.count);
    return good;
}

static bool check_reductions(Statement *s) {
    if (s->ast->combine != COMBINE_NONE || s->ast->combiner.text)
        return true;
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (index->target)
            continue;
        ERROR(s->frame, reduction_under_assign, index->loc, index->name);
        hint_reduction(s, index);
        return false;
    }
    return true;
}

bool declared_view(CallFrame *frame, const AstResult *result, View *view) {
    *view = (View){.rank = result->dims.count, .dims = ARENA_ARRAY(frame->builder->arena, Expr *, result->dims.count)};
    for (int d = 0; d < view->rank; d++) {
        view->dims[d] = size_value(frame, result->dims.items[d]);
        if (!view->dims[d])
            return false;
    }
    return true;
}

bool translate_assignment(Statement *s, const Variable *variable, Typed *value) {
    const AstStatement *ast = s->ast;
    bool good = check_target(s, &ast->targets.items[0], variable);
    hide_names(s);
    good = good && translate_computed(s);
    *value = translate(s, ast->values.items[0]);
    s->type = value->type == TYPE_BOOL ? TYPE_INT32 : value->type;
    int reads = s->sites.count;
    translate_clauses(s);
    good &= check_where(s);
    good &= translate_predicates(s, reads) && !s->failed;
    s->let_limit = 0;
    return good && value->expr;
}

/* --- ranges that later definitions of the tensor give ------------------------------------------------------------- */

static bool is_ranged(const Statement *s, const IndexVariable *index) {
    bool ranged = index->where || index->place;
    for (int i = 0; i < s->sites.count && !ranged; i++)
        ranged = expr_uses_var(s->sites.items[i]->read, index->raw);
    return ranged;
}

static bool has_calls(const CallFrame *frame, const AstExpr *ast) {
    bool found = is_call(frame, ast);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = has_calls(frame, ast->args.items[i]);
    return found;
}

static bool calls_defs(const CallFrame *frame, const AstStatement *ast) {
    bool found = has_calls(frame, ast->values.items[0]);
    for (int i = 0; i < ast->wheres.count && !found; i++) {
        const AstWhere *where = &ast->wheres.items[i];
        found = where->value ? has_calls(frame, where->value)
                             : has_calls(frame, where->begin) || has_calls(frame, where->end);
    }
    return found;
}

/* Whether the statement defines the target again, in a form that look_ahead can handle. */
static bool defines_again(const CallFrame *frame, const AstStatement *ast, const AstTarget *target) {
    return ast->kind == STATEMENT_ASSIGN && ast->targets.count == 1 && ast->values.count == 1 && !ast->combiner.text &&
           strcmp(ast->targets.items[0].name.text, target->name.text) == 0 &&
           ast->targets.items[0].indices.count == target->indices.count && !calls_defs(frame, ast);
}

/* While later statements are looked at, they may read the tensor: g(t, q) = g(t, q) * x(t). The extents that are not
 * known yet bound nothing there. */
static void stand_in(const Statement *s, Variable *variable, const View *known) {
    Arena *arena = s->builder->arena;
    Tensor *tensor = ARENA_NEW(arena, Tensor);
    tensor->name = variable->name;
    tensor->type = variable->result && variable->result->has_type ? variable->result->type : s->type;
    tensor->rank = known->rank;
    tensor->dims = known->dims;
    variable->view = *known;
    variable->view.tensor = tensor;
    variable->view.lower = ARENA_ARRAY(arena, Expr *, known->rank);
    for (int d = 0; d < known->rank; d++)
        variable->view.lower[d] = known->lower[d] ? known->lower[d] : expr_int(arena, 0);
}

/* Of the dimensions whose extents are not known yet. */
static void learn_fixed(const Statement *s, View *view) {
    const int64_t *here = fixed_by_reads(s);
    int64_t *fixed = ARENA_ARRAY(s->builder->arena, int64_t, view->rank);
    for (int d = 0; d < view->rank; d++)
        fixed[d] = view->dims[d] ? (view->fixed ? view->fixed[d] : 0) : here ? here[d] : 0;
    view->fixed = fixed;
}

static void learn_ranges(CallFrame *frame, const AstStatement *ast, const Variable *variable, View *view) {
    Statement s = {.frame = frame, .builder = frame->builder, .ast = ast, .let_limit = ast->wheres.count};
    Typed value;
    Arena *arena = frame->builder->arena;
    if (!translate_assignment(&s, variable, &value))
        return;
    if (infer_ranges(&s, view))
        learn_fixed(&s, view);
    for (int d = 0; d < view->rank && d < s.indices.count; d++) {
        const IndexVariable *index = s.indices.items[d];
        if (view->dims[d] || !index->low || !index->high)
            continue;
        Expr *extent = expr_binary(arena, OP_SUB, index->high, index->low);
        view->dims[d] = size_normal(arena, expr_binary(arena, OP_ADD, extent, expr_int(arena, 1)));
        view->lower[d] = index->low;
    }
}

/* Takes ranges from a later statement. What that makes and reports is dropped. */
static void look_ahead(CallFrame *frame, const AstStatement *ast, const Variable *variable, View *view) {
    Builder *builder = frame->builder, before = *builder;
    bool failed = frame->failed, muted = diag_mute(DIAGNOSTICS(frame), true);
    LIST(CallFrame *) good = {0};
    for (CallFrame *f = frame; f; f = f->caller)
        if (!f->failed)
            list_push(builder->arena, &good, f);
    learn_ranges(frame, ast, variable, view);
    for (int i = 0; i < good.count; i++)
        good.items[i]->failed = false;
    frame->failed = failed;
    diag_mute(DIAGNOSTICS(frame), muted);
    builder->tensors.count = before.tensors.count;
    builder->requirements.count = before.requirements.count;
    builder->facts = before.facts;
}

/* g(t, q) = bias(q)  g(t, q) += x(t, r): later definitions give the ranges that the first one does not give. NULL if
 * none is missing. */
static const View *later_target(Statement *s, Variable *variable) {
    const AstStatements *statements = &s->frame->definition->ast->statements;
    const AstTarget *target = &s->ast->targets.items[0];
    Arena *arena = s->builder->arena;
    int rank = target->indices.count, at = 0, open = 0;
    for (int d = 0; d < rank && d < s->indices.count; d++)
        open += !is_ranged(s, s->indices.items[d]);
    while (at < statements->count && statements->items[at] != s->ast)
        at++;
    if (!open || s->frame->scan || s->builder->names_only)
        return NULL;
    View *view = ARENA_NEW(arena, View);
    *view = (View){.rank = rank, .dims = ARENA_ARRAY(arena, Expr *, rank), .lower = ARENA_ARRAY(arena, Expr *, rank)};
    View before = variable->view;
    for (at++; at < statements->count; at++) {
        stand_in(s, variable, view);
        if (defines_again(s->frame, statements->items[at], target))
            look_ahead(s->frame, statements->items[at], variable, view);
    }
    variable->view = before;
    return view;
}

/* Checks an assignment whose left side is known. */
static bool check_assignment(Statement *s, Variable *variable) {
    Typed value;
    if (!translate_assignment(s, variable, &value))
        return false;
    View declared;
    const View *target = variable->view.tensor ? &variable->view : NULL;
    bool has_dims = variable->result && variable->result->has_dims;
    if (has_dims && !declared_view(s->frame, variable->result, &declared))
        return false;
    if (!target && has_dims)
        target = &declared;
    if (!target)
        target = carried_target(s->frame, variable);
    const View *later = target ? NULL : later_target(s, variable);
    if (!infer_ranges(s, target ? target : later) || !check_reductions(s) || !check_bounds(s, target))
        return false;
    warn_extents(s, later);
    warn_lost_beside_value(s);
    warn_rows_of_places(s);
    define_stages(s, variable, value, target);
    return !s->failed;
}

static void check_assign(CallFrame *frame, const AstStatement *ast) {
    const AstTarget *target = &ast->targets.items[0];
    Variable *variable = target_variable(frame, target);
    Statement s = {.frame = frame, .builder = frame->builder, .ast = ast, .let_limit = ast->wheres.count};
    if (!variable || !check_assignment(&s, variable))
        poison(variable);
}

/* --- combiners ---------------------------------------------------------------------------------------------------- */

/* The combiner of the statement, which has as many components as the statement has targets; NULL after an error. */
CombinerDefinition *statement_combiner(CallFrame *frame, const AstStatement *ast) {
    Checker *checker = frame->builder->checker;
    AstName name = ast->combiner;
    CombinerDefinition *definition = find_combiner(frame->definition->file, name.text);
    if (!definition) {
        ERROR(frame, undefined_combiner, name.loc, name.text);
        hint_nearest_combiner(frame, name.text);
        return NULL;
    }
    const Combiner *combiner = check_combiner(checker, definition);
    if (!combiner) {
        frame_fail(frame);
        return NULL;
    }
    int targets = ast->targets.count, values = ast->values.count;
    if (targets == combiner->count && values == combiner->count)
        return definition;
    bool left = targets != combiner->count;
    int wrong = left ? targets : values;
    ERROR(frame, combiner_targets, ast->loc, name.text, combiner->count, combiner->count == 1 ? "" : "s", wrong,
          wrong == 1 ? "is" : "are", left ? "defined" : "given");
    NOTE(frame, combiner->loc, "defined here");
    return NULL;
}

/* Whether both places have the same text. */
static bool same_text(const CallFrame *frame, Loc a, Loc b) {
    const Source *source = source_get(frame->builder->checker->sources, a.file);
    return a.file == b.file && a.end - a.begin == b.end - b.begin &&
           memcmp(source->text + a.begin, source->text + b.begin, a.end - a.begin) == 0;
}

static bool same_indices(const CallFrame *frame, const AstTarget *a, const AstTarget *b) {
    for (int i = 0; i < a->indices.count && a->indices.count == b->indices.count; i++)
        if (!same_text(frame, a->indices.items[i]->loc, b->indices.items[i]->loc))
            return false;
    return a->indices.count == b->indices.count;
}

static bool check_targets(Statement *s, Variable *const *variables) {
    const AstTargets *targets = &s->ast->targets;
    bool good = check_target(s, &targets->items[0], variables[0]);
    for (int i = 1; i < targets->count; i++) {
        const AstTarget *target = &targets->items[i];
        good &= check_rank(s, target, variables[i]);
        for (int before = 0; before < i; before++)
            if (variables[before] == variables[i]) {
                ERROR(s->frame, duplicate_name, target->name.loc, target->name.text);
                good = false;
            }
        if (!same_indices(s->frame, &targets->items[0], target)) {
            ERROR(s->frame, target_indices, target->loc, target->name.text, targets->items[0].name.text);
            good = false;
        }
    }
    return good;
}

static bool same_size(Arena *arena, const View *a, const View *b) {
    for (int d = 0; d < a->rank; d++) {
        Expr *low[] = {a->lower ? a->lower[d] : expr_int(arena, 0), b->lower ? b->lower[d] : expr_int(arena, 0)};
        if (!size_equal(arena, a->dims[d], b->dims[d]) || !size_equal(arena, low[0], low[1]))
            return false;
    }
    return true;
}

/* What the targets span, as far as that is known. It must be the same for all. *known is NULL if it is known for
 * none. */
static bool tuple_span(Statement *s, Variable *const *variables, View *span, const View **known) {
    const Variable *first = NULL;
    for (int i = 0; i < s->ast->targets.count; i++) {
        const Variable *variable = variables[i];
        View view = variable->view;
        if (!view.tensor && !(variable->result && variable->result->has_dims))
            continue;
        if (!view.tensor && !declared_view(s->frame, variable->result, &view))
            return false;
        if (first && !same_size(s->builder->arena, span, &view)) {
            ERROR(s->frame, target_sizes, s->ast->targets.items[i].loc, variable->name, first->name);
            return false;
        }
        first = variable;
        *span = view;
        *known = span;
    }
    const View *carried = first ? NULL : carried_target(s->frame, variables[0]);
    if (carried) {
        *span = *carried;
        *known = span;
    }
    return true;
}

/* The values that are constants, in the types of the combiner; NULL for the others. */
static Expr **tuple_constants(Statement *s, const Combiner *combiner, const Typed *values) {
    Arena *arena = s->builder->arena;
    Expr **constants = ARENA_ARRAY(arena, Expr *, combiner->count);
    for (int i = 0; i < combiner->count; i++) {
        Typed number = values[i];
        if (!number.wide)
            number.expr = expr_simplify(arena, typed_value(arena, values[i]));
        Expr *value = expr_simplify(arena, typed_as(arena, number, combiner->left[i]->type));
        constants[i] = value->kind == EXPR_INT || value->kind == EXPR_REAL ? value : NULL;
    }
    return constants;
}

bool translate_tuple(Statement *s, Variable *const *variables, Typed *values) {
    bool good = check_targets(s, variables);
    hide_names(s);
    good = good && translate_computed(s);
    for (int i = 0; i < s->ast->values.count; i++) {
        values[i] = translate(s, s->ast->values.items[i]);
        good &= values[i].expr != NULL;
    }
    int reads = s->sites.count;
    translate_clauses(s);
    good &= check_where(s);
    good &= translate_predicates(s, reads) && !s->failed;
    s->let_limit = 0;
    if (good)
        variables_together(variables, s->ast->targets.count);
    return good;
}

/* Checks a statement with a combiner whose names are known. */
static bool check_tuple(Statement *s, CombinerDefinition *definition, Variable *const *variables) {
    const Combiner *combiner = definition->combiner;
    Typed *values = ARENA_ARRAY(s->builder->arena, Typed, combiner->count);
    bool good = translate_tuple(s, variables, values);
    View span;
    const View *known = NULL;
    if (!good || !tuple_span(s, variables, &span, &known))
        return false;
    if (!infer_ranges(s, known) || !check_bounds(s, known))
        return false;
    warn_extents(s, NULL);
    warn_lost_beside_value(s);
    warn_rows_of_places(s);
    define_tuple(s, combiner, variables, values, known);
    if (!s->failed && !check_algebra(s->frame, definition, tuple_constants(s, combiner, values), s->ast->loc))
        frame_fail(s->frame);
    return !s->failed;
}

static void check_combination(CallFrame *frame, const AstStatement *ast) {
    Statement s = {.frame = frame, .builder = frame->builder, .ast = ast, .let_limit = ast->wheres.count};
    Variable **variables = ARENA_ARRAY(frame->builder->arena, Variable *, ast->targets.count);
    CombinerDefinition *definition = statement_combiner(frame, ast);
    bool good = definition != NULL;
    for (int i = 0; i < ast->targets.count; i++) {
        variables[i] = target_variable(frame, &ast->targets.items[i]);
        good &= variables[i] != NULL;
    }
    if (good && check_tuple(&s, definition, variables))
        return;
    for (int i = 0; i < ast->targets.count; i++)
        poison(variables[i]);
}

void check_statement(CallFrame *frame, const AstStatement *ast) {
    if (frame->builder->waits)
        return;
    if (ast->kind == STATEMENT_SCAN) {
        check_scan(frame, ast);
        return;
    }
    if (ast->kind == STATEMENT_FOR) {
        check_for(frame, ast);
        return;
    }
    if (ast->annotation)
        WARN(frame, annotation_ignored, ast->annotation->loc);
    bool bare = true;
    for (int i = 0; i < ast->targets.count; i++)
        bare &= !ast->targets.items[i].has_indices;
    if (ast->combiner.text) {
        check_combination(frame, ast);
    } else if (bare && is_call(frame, ast->values.items[0])) {
        check_call_statement(frame, ast);
    } else if (ast->targets.count != 1) {
        ERROR(frame, several_targets, ast->loc);
        poison_targets(frame, ast);
    } else {
        check_assign(frame, ast);
    }
}
