/* recognise.c - finds statements that write out what a def of one statement computes, if other defs implement that def.
 * The program is made again with calls of it, so that the other defs may replace these calls.
 *
 * A guess is made from the reads alone. It tells which tensor is which argument. Indices that stand alone tell which
 * axis is which, and coefficients of the other indices give the parameters of the def. Then the guess is checked: stage
 * by stage, the program with the call must equal the program without it, up to the order of reductions, factors and
 * terms.
 */
#include "lang/program.h"
#include "sema/check.h"

#include <string.h>

enum { READS_LIMIT = 4 };

/* --- what a def of one statement reads, by its text --- */

static const AstStatement *only_statement(const AstDef *def) {
    const AstStatement *s = def->statements.count == 1 ? def->statements.items[0] : NULL;
    bool plain = s && s->kind == STATEMENT_ASSIGN && s->targets.count == 1 && s->values.count == 1 &&
                 !s->combiner.text && !s->annotation && s->targets.items[0].has_indices;
    return plain ? s : NULL;
}

static int argument_of(const AstDef *def, const char *name) {
    for (int i = 0; i < def->arguments.count; i++)
        if (strcmp(def->arguments.items[i].name.text, name) == 0)
            return i;
    return -1;
}

static void collect_texts(const AstDef *def, const AstExpr *e, const AstExpr **reads, int *count) {
    if (e->kind == AST_APPLY && argument_of(def, e->name.text) >= 0 && *count <= READS_LIMIT)
        reads[(*count)++] = e;
    for (int i = 0; i < e->args.count && *count <= READS_LIMIT; i++)
        collect_texts(def, e->args.items[i], reads, count);
}

typedef struct ValueReads {
    const Expr *items[READS_LIMIT + 1];
    int count;
} ValueReads;

/* Once each. */
static ValueReads reads_of(const Expr *value) {
    ValueReads reads = {.count = 0};
    EACH_READ(read, value) {
        int i = 0;
        while (i < reads.count && reads.items[i] != read)
            i++;
        if (i == reads.count && reads.count <= READS_LIMIT)
            reads.items[reads.count++] = read;
    }
    return reads;
}

/* --- the guess --- */

typedef struct Guess {
    Arena *arena;
    const AstDef *def;
    const Stage *stage;
    LIST(struct GuessedVar {
        const char *name; /* in the def */
        const Var *var;   /* in the stage */
    })
    vars;
    LIST(struct GuessedParameter {
        const char *name;
        int64_t value;
    })
    parameters;
    const Tensor **arguments; /* by argument of the def */
} Guess;

static const Var *guessed_var(const Guess *g, const char *name) {
    for (int i = 0; i < g->vars.count; i++)
        if (strcmp(g->vars.items[i].name, name) == 0)
            return g->vars.items[i].var;
    return NULL;
}

static const char *guessed_name(const Guess *g, const Var *var) {
    for (int i = 0; i < g->vars.count; i++)
        if (g->vars.items[i].var == var)
            return g->vars.items[i].name;
    return NULL;
}

static bool guess_var(Guess *g, const char *name, const Var *var) {
    const Var *known = guessed_var(g, name);
    if (!known && !guessed_name(g, var))
        list_push(g->arena, &g->vars, ((struct GuessedVar){name, var}));
    return known == var || (!known && guessed_var(g, name) == var);
}

static bool is_parameter(const Guess *g, const char *name) {
    for (int i = 0; i < g->def->parameters.count; i++)
        if (strcmp(g->def->parameters.items[i].name.text, name) == 0)
            return true;
    return false;
}

static bool guess_parameter(Guess *g, const char *name, int64_t value) {
    for (int i = 0; i < g->parameters.count; i++)
        if (strcmp(g->parameters.items[i].name, name) == 0)
            return g->parameters.items[i].value == value;
    list_push(g->arena, &g->parameters, ((struct GuessedParameter){name, value}));
    return true;
}

/* One term of an index of the def: coefficient * parameter * variable. A name that the term does not have is NULL. */
typedef struct IndexTerm {
    int64_t coefficient;
    const char *parameter, *variable;
} IndexTerm;
typedef LIST(IndexTerm) IndexTerms;

static bool add_factors(const Guess *g, const AstExpr *e, IndexTerm *term) {
    if (e->kind == AST_OPERATOR && e->op == OP_MUL)
        return add_factors(g, e->args.items[0], term) && add_factors(g, e->args.items[1], term);
    if (e->kind == AST_INTEGER) {
        term->coefficient *= e->integer;
        return !e->overflow;
    }
    if (e->kind != AST_NAME)
        return false;
    const char **place = is_parameter(g, e->name.text) ? &term->parameter : &term->variable;
    bool first = *place == NULL;
    *place = e->name.text;
    return first;
}

static bool add_index_terms(const Guess *g, const AstExpr *e, int64_t sign, IndexTerms *terms) {
    if (e->kind == AST_OPERATOR && (e->op == OP_ADD || e->op == OP_SUB))
        return add_index_terms(g, e->args.items[0], sign, terms) &&
               add_index_terms(g, e->args.items[1], e->op == OP_SUB ? -sign : sign, terms);
    IndexTerm term = {.coefficient = sign};
    if (!add_factors(g, e, &term))
        return false;
    list_push(g->arena, terms, term);
    return true;
}

static bool same_name(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The coefficient of the variable in an index of the stage; for NULL the constant. */
static int64_t coefficient_of(const Affine *affine, const Var *var) {
    return var ? affine_slope(affine, var) : affine->constant;
}

/* Solves the terms of one variable for the parameter among them. There may be at most one. */
static bool guess_coefficient(Guess *g, const IndexTerms *terms, const char *variable, const Affine *affine) {
    const IndexTerm *open = NULL;
    const Var *var = variable ? guessed_var(g, variable) : NULL;
    if (variable && !var)
        return false;
    int64_t rest = coefficient_of(affine, var);
    for (int i = 0; i < terms->count; i++) {
        const IndexTerm *term = &terms->items[i];
        if (!same_name(term->variable, variable))
            continue;
        if (term->parameter && open)
            return false;
        if (term->parameter)
            open = term;
        else
            rest -= term->coefficient;
    }
    if (!open)
        return rest == 0;
    return open->coefficient != 0 && rest % open->coefficient == 0 &&
           guess_parameter(g, open->parameter, rest / open->coefficient);
}

/* A variable of the def that stands alone nowhere must be the last variable of the stage without a name. */
static bool guess_last_var(Guess *g, const IndexTerms *terms, const Affine *affine) {
    const char *name = NULL;
    const Var *var = NULL;
    for (int i = 0; i < terms->count; i++) {
        const char *variable = terms->items[i].variable;
        if (!variable || guessed_var(g, variable))
            continue;
        if (name && !same_name(name, variable))
            return false;
        name = variable;
    }
    for (int i = 0; i < affine->count; i++) {
        const Expr *atom = affine->terms[i].atom;
        if (atom->kind != EXPR_VAR || guessed_name(g, atom->var))
            continue;
        if (var)
            return false;
        var = atom->var;
    }
    return !name || (var && guess_var(g, name, var));
}

static bool guess_index(Guess *g, const AstExpr *text, Expr *index) {
    IndexTerms terms = {0};
    Affine affine;
    if (!add_index_terms(g, text, 1, &terms) || !expr_affine_modular(g->arena, index, &affine) ||
        !guess_last_var(g, &terms, &affine))
        return false;
    bool good = guess_coefficient(g, &terms, NULL, &affine);
    for (int i = 0; good && i < terms.count; i++)
        good = !terms.items[i].variable || guess_coefficient(g, &terms, terms.items[i].variable, &affine);
    return good;
}

static bool stands_alone(const Guess *g, const AstExpr *index) {
    return index->kind == AST_NAME && !is_parameter(g, index->name.text);
}

/* Indices that stand alone in the def must be variables that stand alone in the stage. */
static bool guess_read(Guess *g, const AstExpr *text, const Expr *read) {
    int argument = argument_of(g->def, text->name.text);
    const AstParameter *parameter = &g->def->arguments.items[argument];
    if (g->arguments[argument] && g->arguments[argument] != read->tensor)
        return false;
    if (!parameter->is_tensor || parameter->type != read->tensor->type || text->args.count != read->count)
        return false;
    g->arguments[argument] = read->tensor;
    for (int d = 0; d < read->count; d++)
        if (stands_alone(g, text->args.items[d]) &&
            (read->args[d]->kind != EXPR_VAR || !guess_var(g, text->args.items[d]->name.text, read->args[d]->var)))
            return false;
    return true;
}

/* Matches the reads of the def with those of the stage, in order or, if `reversed`, from the last one on. */
static bool guess_reads(Guess *g, const AstExpr *const *texts, const ValueReads *reads, bool reversed) {
    for (int i = 0; i < reads->count; i++)
        if (!guess_read(g, texts[i], reads->items[reversed ? reads->count - 1 - i : i]))
            return false;
    for (int i = 0; i < reads->count; i++) {
        const Expr *read = reads->items[reversed ? reads->count - 1 - i : i];
        for (int d = 0; d < read->count; d++)
            if (!stands_alone(g, texts[i]->args.items[d]) && !guess_index(g, texts[i]->args.items[d], read->args[d]))
                return false;
    }
    for (int i = 0; i < g->def->arguments.count; i++)
        if (!g->arguments[i])
            return false;
    return true;
}

static bool guess_targets(Guess *g, const AstStatement *statement) {
    const AstExprs *targets = &statement->targets.items[0].indices;
    if (targets->count != g->stage->axis_count)
        return false;
    for (int d = 0; d < targets->count; d++)
        if (targets->items[d]->kind != AST_NAME || !guess_var(g, targets->items[d]->name.text, g->stage->axes[d]))
            return false;
    return true;
}

static bool guess(Guess *g, bool reversed) {
    const AstStatement *statement = only_statement(g->def);
    const AstExpr *texts[READS_LIMIT + 1];
    ValueReads reads = reads_of(g->stage->components[0].value);
    int count = 0;
    collect_texts(g->def, statement->values.items[0], texts, &count);
    g->arguments = ARENA_ARRAY(g->arena, const Tensor *, g->def->arguments.count + 1);
    return count == reads.count && count <= READS_LIMIT && count > reversed && guess_targets(g, statement) &&
           guess_reads(g, texts, &reads, reversed);
}

/* --- the call --- */

static AstExpr *new_expr(Arena *arena, AstExprKind kind, const char *name, Loc loc) {
    AstExpr *e = ARENA_NEW(arena, AstExpr);
    *e = (AstExpr){.kind = kind, .depth = 1, .loc = loc, .name = {name, loc}};
    return e;
}

/* TARGET = DEF[PARAMETERS](ARGUMENTS) */
static AstStatement *call_statement(const Guess *g, const AstStatement *written) {
    Arena *arena = g->arena;
    AstExpr *call = new_expr(arena, AST_APPLY, g->def->name.text, written->loc);
    for (int i = 0; i < g->parameters.count; i++) {
        AstExpr *value = new_expr(arena, AST_INTEGER, NULL, written->loc);
        value->integer = g->parameters.items[i].value;
        AstName name = {g->parameters.items[i].name, written->loc};
        list_push(arena, &call->parameters, ((AstBinding){.name = name, .value = value}));
    }
    for (int i = 0; i < g->def->arguments.count; i++)
        list_push(arena, &call->args, new_expr(arena, AST_NAME, g->arguments[i]->name, written->loc));
    call->depth = 2;
    AstStatement *statement = ARENA_NEW(arena, AstStatement);
    *statement = (AstStatement){.kind = STATEMENT_ASSIGN, .depth = 1, .loc = written->loc};
    AstTarget target = {.name = written->targets.items[0].name, .loc = written->loc};
    list_push(arena, &statement->targets, target);
    list_push(arena, &statement->values, call);
    return statement;
}

/* The def with one statement replaced, in a file that sees the called def. */
static Definition *with_statement(Arena *arena, const Definition *definition, int number, AstStatement *statement,
                                  SourceFile *library) {
    AstDef *ast = ARENA_NEW(arena, AstDef);
    SourceFile *file = ARENA_NEW(arena, SourceFile);
    Definition *made = ARENA_NEW(arena, Definition);
    *ast = *definition->ast;
    ast->statements = (AstStatements){0};
    for (int i = 0; i < definition->ast->statements.count; i++)
        list_push(arena, &ast->statements, i == number ? statement : definition->ast->statements.items[i]);
    *file = *definition->file;
    file->imports.items = NULL;
    file->imports.count = file->imports.capacity = 0;
    for (int i = 0; i < definition->file->imports.count; i++)
        list_push(arena, &file->imports, definition->file->imports.items[i]);
    list_push(arena, &file->imports, library);
    *made = *definition;
    made->ast = ast;
    made->file = file;
    return made;
}

/* --- the same program? --- */

typedef struct Likeness {
    Arena *arena;
    LIST(Substitution) vars; /* from variables of the other program to those of this one */
} Likeness;

static bool same_integer(Likeness *l, Expr *a, Expr *b) {
    Affine difference;
    Expr *other = expr_substitute(l->arena, b, l->vars.items, l->vars.count);
    return expr_affine_modular(l->arena, expr_binary(l->arena, OP_SUB, a, other), &difference) &&
           difference.count == 0 && difference.constant == 0;
}

static bool commutes(const Expr *e) {
    return e->kind == EXPR_OP && e->count == 2 && (e->op == OP_ADD || e->op == OP_MUL || e->op == OP_AND);
}

static bool same_expr(Likeness *l, Expr *a, Expr *b);

/* Either part may be NULL, but then both must be. */
static bool same_part(Likeness *l, Expr *a, Expr *b) {
    return !a == !b && (!a || same_expr(l, a, b));
}

static bool same_expr(Likeness *l, Expr *a, Expr *b) {
    if (a->kind != b->kind || a->type != b->type || a->count != b->count)
        return a->type == TYPE_INT64 && b->type == TYPE_INT64 && same_integer(l, a, b);
    if (a->kind == EXPR_READ && strcmp(a->tensor->name, b->tensor->name) != 0)
        return false;
    if (a->type == TYPE_INT64 && a->kind != EXPR_READ)
        return same_integer(l, a, b);
    if (a->kind != EXPR_READ && a->kind != EXPR_OP && a->kind != EXPR_CAST)
        return expr_equal(a, expr_substitute(l->arena, b, l->vars.items, l->vars.count));
    if (a->kind == EXPR_OP && a->op != b->op)
        return false;
    bool same = same_part(l, a->guard, b->guard) && same_part(l, a->otherwise, b->otherwise);
    for (int i = 0; i < a->count && same; i++)
        same = same_expr(l, a->args[i], b->args[i]);
    return same || (commutes(a) && same_expr(l, a->args[0], b->args[1]) && same_expr(l, a->args[1], b->args[0]));
}

static void same_var(Likeness *l, const Var *var, const Var *other) {
    list_push(l->arena, &l->vars, ((Substitution){other, expr_var(l->arena, var)}));
}

/* Matches the reductions. In the stage that the call replaces, the guess gives their names in the def. */
static bool same_reductions(Likeness *l, const Stage *a, const Stage *b, const Guess *g) {
    for (int i = 0; i < b->reduction_count; i++) {
        const Var *var = a == g->stage ? guessed_var(g, b->reductions[i]->name) : a->reductions[i];
        if (!var)
            return false;
        same_var(l, var, b->reductions[i]);
        if (!same_integer(l, var->extent, b->reductions[i]->extent))
            return false;
    }
    return true;
}

static bool same_stage(Likeness *l, const Stage *a, const Stage *b, const Guess *g) {
    int known = l->vars.count;
    bool same = strcmp(a->name, b->name) == 0 && a->axis_count == b->axis_count && a->combine == b->combine &&
                a->reduction_count == b->reduction_count && a->component_count == 1 && b->component_count == 1 &&
                !a->scan && !b->scan && a->components[0].tensor->type == b->components[0].tensor->type &&
                a->components[0].tensor->role == b->components[0].tensor->role;
    for (int d = 0; same && d < a->axis_count; d++) {
        same_var(l, a->axes[d], b->axes[d]);
        same = same_integer(l, a->components[0].tensor->dims[d], b->components[0].tensor->dims[d]);
    }
    same = same && same_reductions(l, a, b, g) && same_expr(l, a->components[0].value, b->components[0].value) &&
           same_part(l, a->components[0].initial, b->components[0].initial);
    l->vars.count = known;
    return same;
}

static bool same_program(Arena *arena, const Program *a, const Program *b, const Guess *g) {
    Likeness l = {.arena = arena};
    bool same = a->size_count == b->size_count && a->stage_count == b->stage_count &&
                a->argument_count == b->argument_count && a->requirement_count == b->requirement_count;
    for (int s = 0; same && s < a->size_count; s++)
        same_var(&l, a->sizes[s], b->sizes[s]);
    for (int i = 0; same && i < a->argument_count; i++)
        if (a->arguments[i].scalar && b->arguments[i].scalar)
            same_var(&l, a->arguments[i].scalar, b->arguments[i].scalar);
    for (int s = 0; same && s < a->stage_count; s++)
        same = same_stage(&l, a->stages[s], b->stages[s], g);
    return same;
}

/* --- the whole --- */

/* The def of a unit. Calls have replaced some of the statements visited so far. */
typedef struct Written {
    Checker *checker;
    Definition *definition;
    const Bounds *bounds;
    bool defines;
    const Program *program;
} Written;

static Program *build_again(const Written *w, Definition *definition, Algorithms *algorithms) {
    Bounds bounds = {0};
    for (int i = 0; i < w->bounds->count; i++)
        list_push(w->checker->arena, &bounds, w->bounds->items[i]);
    AstName symbol = {w->program->symbol, w->program->loc};
    return build_program(w->checker, definition, &bounds, w->defines, &symbol, algorithms);
}

/* Replaces the statement by a call of `def`. False if the statement is not such a call. */
static bool make_call(Written *w, int number, const Stage *stage, Definition *def, bool reversed) {
    Guess g = {.arena = w->checker->arena, .def = def->ast, .stage = stage};
    const AstStatement *statement = w->definition->ast->statements.items[number];
    if (!guess(&g, reversed))
        return false;
    Definition *made = with_statement(g.arena, w->definition, number, call_statement(&g, statement), def->file);
    if (find_definition(made->file, def->ast->name.text) != def)
        return false;
    const Program *program = build_again(w, made, NULL);
    if (!program || !same_program(g.arena, w->program, program, &g))
        return false;
    w->definition = made;
    w->program = program;
    return true;
}

static bool is_alike(const AstStatement *statement, const AstStatement *other) {
    return !statement->combiner.text && statement->combine == other->combine &&
           statement->initialise == other->initialise &&
           statement->targets.items[0].indices.count == other->targets.items[0].indices.count;
}

static void recognise_statement(Written *w, int number) {
    const AstStatement *statement = w->definition->ast->statements.items[number];
    const Stage *stage = program_find_stage(w->program, statement->targets.items[0].name.text);
    for (int f = 0; stage && f < w->checker->files.count; f++)
        for (int d = 0; d < w->checker->files.items[f]->definitions.count; d++) {
            Definition *def = w->checker->files.items[f]->definitions.items[d];
            if (!may_be_implemented(w->checker, def))
                continue;
            ast_complete(def->ast);
            const AstStatement *only = only_statement(def->ast);
            if (only && is_alike(statement, only) && is_implemented(w->checker, def) &&
                (make_call(w, number, stage, def, false) || make_call(w, number, stage, def, true)))
                return;
        }
}

static bool is_assigned_once(const AstDef *def, const AstStatement *statement) {
    int count = 0;
    for (int i = 0; i < def->statements.count; i++)
        for (int t = 0; t < def->statements.items[i]->targets.count && statement->targets.count == 1; t++)
            count +=
                same_name(def->statements.items[i]->targets.items[t].name.text, statement->targets.items[0].name.text);
    return count == 1;
}

static bool may_be_call(const AstDef *def, const AstStatement *statement) {
    return statement->kind == STATEMENT_ASSIGN && statement->initialise && statement->targets.count == 1 &&
           statement->values.count == 1 && is_assigned_once(def, statement);
}

static bool has_candidates(const AstDef *def) {
    for (int i = 0; i < def->statements.count; i++)
        if (may_be_call(def, def->statements.items[i]))
            return true;
    return false;
}

Definition *recognise_calls(Checker *checker, Definition *definition, const Bounds *bounds, bool defines,
                            const Program *program, Algorithms *algorithms) {
    Written w = {checker, definition, bounds, defines, program};
    Diagnostics *reported = checker->diagnostics;
    if (checker->options->strict || definition->ast->implements.text || is_implemented(checker, definition) ||
        !has_candidates(definition->ast))
        return definition;
    const char *const *files = checker->options->allowed_error > 0 ? checker->options->algorithms : NULL;
    for (int i = 0; files && files[i]; i++)
        library_file(checker, files[i]);
    checker->diagnostics = diag_new(checker->arena, checker->sources, (DiagOptions){.silent = true});
    for (int i = 0; i < definition->ast->statements.count; i++)
        if (may_be_call(definition->ast, definition->ast->statements.items[i]))
            recognise_statement(&w, i);
    if (w.definition != definition) {
        *algorithms = (Algorithms){0};
        build_again(&w, w.definition, algorithms);
    }
    checker->diagnostics = reported;
    return w.definition;
}
