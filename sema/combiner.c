/* combiner.c - combiners: tuples of scalars, an identity, and the laws that they claim to keep.
 *
 * A definition is checked once and becomes a Combiner, which statements use. Its claims are tested where it is used
 * (algebra.c), since they need to hold only for what is combined there. Its body is an expression over its own names:
 * it reads no tensor, and `inf` and `nan` are the numbers of that name.
 */
#include "sema/check.h"

#include <math.h>
#include <string.h>

typedef struct CombinerCheck {
    CallFrame frame;
    Builder builder;
    const AstCombiner *ast;
    Combiner *made;
} CombinerCheck;

/* --- the two sides ------------------------------------------------------------------------------------------------ */

static bool check_count(CombinerCheck *c, int count, const char *what, Loc loc) {
    if (count == c->made->count)
        return true;
    ERROR(&c->frame, combiner_count, loc, c->ast->name.text, c->made->count, c->made->count == 1 ? "" : "s", what,
          count);
    return false;
}

static Loc exprs_loc(const AstExprs *list, Loc otherwise) {
    return list->count ? loc_join(list->items[0]->loc, list->items[list->count - 1]->loc) : otherwise;
}

static bool check_counts(CombinerCheck *c) {
    const AstCombiner *ast = c->ast;
    Loc right = ast->right.count ? ast->right.items[0].loc : ast->name.loc;
    bool good = check_count(c, ast->right.count, "its right side", right);
    good &= check_count(c, ast->identity.count, "its identity", exprs_loc(&ast->identity, ast->name.loc));
    good &= check_count(c, ast->values.count, "its result", exprs_loc(&ast->values, ast->name.loc));
    return good;
}

static const Var *add_parameter(CombinerCheck *c, const AstParameter *parameter) {
    const Symbol *known = frame_symbol(&c->frame, parameter->name.text);
    if (known) {
        ERROR(&c->frame, duplicate_name, parameter->name.loc, parameter->name.text);
        NOTE(&c->frame, known->loc, "first here");
    }
    if (parameter->is_tensor)
        ERROR(&c->frame, combiner_tensor, parameter->loc, parameter->name.text);
    Var *var = var_new(c->builder.arena, VAR_SCALAR, parameter->type, parameter->name.text, NULL);
    var->loc = parameter->loc;
    frame_add(&c->frame, SYMBOL_SCALAR, var->name, parameter->name.loc)->value = expr_var(c->builder.arena, var);
    return var;
}

static const Var **add_side(CombinerCheck *c, const AstParameters *list) {
    const Var **vars = ARENA_ARRAY(c->builder.arena, const Var *, list->count);
    for (int i = 0; i < list->count; i++)
        vars[i] = add_parameter(c, &list->items[i]);
    return vars;
}

static void check_types(CombinerCheck *c) {
    for (int i = 0; i < c->made->count; i++) {
        const Var *left = c->made->left[i], *right = c->made->right[i];
        if (left->type == right->type)
            continue;
        ERROR(&c->frame, combiner_types, right->loc, right->name, element_info[right->type].spelling, left->name,
              element_info[left->type].spelling);
        NOTE(&c->frame, left->loc, "the other side");
    }
}

/* Added after the combiner's own names, so that a parameter may have one of these names. */
static void add_numbers(CombinerCheck *c) {
    Arena *arena = c->builder.arena;
    frame_add(&c->frame, SYMBOL_SCALAR, "inf", c->ast->name.loc)->value = expr_constant(arena, TYPE_FLOAT, INFINITY);
    frame_add(&c->frame, SYMBOL_SCALAR, "nan", c->ast->name.loc)->value = expr_constant(arena, TYPE_FLOAT, NAN);
}

/* --- the claims --------------------------------------------------------------------------------------------------- */

static void read_properties(CombinerCheck *c) {
    static const char *const words[] = {"associative", "commutative"};
    bool *const claims[] = {&c->made->associative, &c->made->commutative};
    for (int i = 0; i < c->ast->properties.count; i++) {
        AstName property = c->ast->properties.items[i];
        Nearest nearest = {.name = property.text};
        int known = -1;
        for (int w = 0; w < 2; w++) {
            nearest_offer(&nearest, words[w]);
            known = strcmp(words[w], property.text) == 0 ? w : known;
        }
        if (known >= 0) {
            *claims[known] = true;
            continue;
        }
        ERROR(&c->frame, combiner_property, property.loc, property.text);
        if (nearest.best)
            HINT(&c->frame, "did you mean '%s'?", nearest.best);
    }
}

/* --- its expressions ---------------------------------------------------------------------------------------------- */

/* The value of a component; NULL after an error. */
static Expr *component_value(CombinerCheck *c, const AstExpr *ast, int component) {
    Statement s = {.frame = &c->frame, .builder = &c->builder, .in_combiner = true};
    const Var *left = c->made->left[component];
    Typed typed = translate(&s, ast);
    if (!typed.expr)
        return NULL;
    if (s.indices.count) {
        report_index(&s, s.indices.items[0]);
        return NULL;
    }
    if (s.sites.count) {
        ERROR(&c->frame, combiner_reads, ast->loc);
        return NULL;
    }
    Expr *value = typed_value(c->builder.arena, typed);
    warn_lost(&s, value, left->type, false); /* its types are always declared: that says nothing of wrapping */
    bool literal = expr_simplify(c->builder.arena, value)->kind == (type_is_float(left->type) ? EXPR_REAL : EXPR_INT);
    if (!literal && value->kind != EXPR_INT && type_promote(left->type, value->type) != left->type) {
        ERROR(&c->frame, narrowing, ast->loc, element_info[value->type].spelling, left->name,
              element_info[left->type].spelling);
        HINT(&c->frame, "convert the value: %s(...)", element_info[left->type].spelling);
        return NULL;
    }
    return expr_simplify(c->builder.arena, typed_as(c->builder.arena, typed, left->type));
}

static bool is_constant(const Expr *e) {
    return e->kind == EXPR_INT || e->kind == EXPR_REAL;
}

static void make_exprs(CombinerCheck *c) {
    for (int i = 0; i < c->made->count; i++) {
        c->made->result[i] = component_value(c, c->ast->values.items[i], i);
        const AstExpr *identity = c->ast->identity.items[i];
        Expr *value = c->made->identity[i] = component_value(c, identity, i);
        if (value && !is_constant(value))
            ERROR(&c->frame, combiner_identity, identity->loc, c->ast->name.text);
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static Combiner *make_combiner(Checker *checker, CombinerDefinition *definition) {
    AstDef empty = {.name = definition->ast->name};
    Definition nowhere = {.ast = &empty, .file = definition->file};
    CombinerCheck c = {.ast = definition->ast, .builder = {.checker = checker, .arena = checker->arena}};
    c.frame = (CallFrame){.builder = &c.builder, .definition = &nowhere, .prefix = ""};
    Combiner *made = c.made = ARENA_NEW(checker->arena, Combiner);
    made->name = c.ast->name.text;
    made->loc = c.ast->name.loc;
    made->count = c.ast->left.count;
    made->result = ARENA_ARRAY(checker->arena, Expr *, made->count);
    made->identity = ARENA_ARRAY(checker->arena, Expr *, made->count);
    bool counts = check_counts(&c);
    made->left = add_side(&c, &c.ast->left);
    made->right = add_side(&c, &c.ast->right);
    read_properties(&c);
    if (!counts || c.frame.failed)
        return NULL;
    check_types(&c);
    add_numbers(&c);
    make_exprs(&c);
    return c.frame.failed ? NULL : made;
}

const Combiner *check_combiner(Checker *checker, CombinerDefinition *definition) {
    if (definition->state == CHECK_NEW) {
        definition->state = CHECK_RUNNING;
        definition->combiner = make_combiner(checker, definition);
        definition->state = definition->combiner ? CHECK_GOOD : CHECK_BAD;
    }
    return definition->combiner;
}
