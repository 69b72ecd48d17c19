/* algebra.c - tests what combiners claim: that they are associative or commutative, and that their identity is one.
 *
 * The laws have to hold for what can come together: the tuples that a statement combines, and what the combiner makes
 * of them. Where a component of these tuples is a constant, the tests use that constant. Values come from a seed, so
 * that every compilation reports the same. Small and equal values come first, since they read best in a message. Then
 * come random ones, with extreme integers and the largest and smallest floats among them.
 *
 * Floats are computed in double. They are compared with a tolerance, relative to the largest value of their component
 * that occurs, because some algebras (log-sum-exp, variances) hold up to rounding only. A result that is not finite
 * decides nothing.
 */
#include "sema/check.h"
#include "sema/interpreter.h"

#include <math.h>
#include <string.h>

enum { SIMPLE_TRIALS = 150, TRIALS = 700, POOL = 4 };
static const double tolerance = 1e-6;

typedef struct Algebra {
    CallFrame *frame;
    const Combiner *combiner;
    const AstCombiner *ast;
    Expr *const *constants; /* [count]: the value of a component that is a constant; NULL: any value */
    Loc statement;
    uint64_t state;
    double *largest; /* [count]: the largest absolute value of each component in this trial */
    bool finite;     /* all results of this trial */
} Algebra;

/* --- evaluating --------------------------------------------------------------------------------------------------- */

typedef struct Sides {
    const Combiner *combiner;
    const Value *left, *right;
} Sides;

static Value widened(Value value) {
    if (type_is_float(value.type))
        value.type = TYPE_DOUBLE;
    return value;
}

static Value evaluate(const Sides *sides, const Expr *e) {
    if (e->kind == EXPR_INT || e->kind == EXPR_REAL)
        return widened((Value){.type = e->type, .integer = e->integer});
    for (int i = 0; e->kind == EXPR_VAR && i < sides->combiner->count; i++)
        if (e->var == sides->combiner->left[i] || e->var == sides->combiner->right[i])
            return e->var == sides->combiner->left[i] ? sides->left[i] : sides->right[i];
    Value args[3];
    for (int i = 0; i < e->count; i++)
        args[i] = evaluate(sides, e->args[i]);
    if (e->kind == EXPR_CAST)
        return value_cast(args[0], type_is_float(e->type) ? TYPE_DOUBLE : e->type);
    return value_apply(e->op, args);
}

static Value constant_value_of(const Expr *e) {
    return evaluate(&(Sides){0}, e);
}

static double size_of(Value value) {
    return type_is_float(value.type) ? fabs(value.real) : 0;
}

static void note_sizes(Algebra *a, const Value *values) {
    for (int i = 0; i < a->combiner->count; i++) {
        a->finite &= isfinite(size_of(values[i])) != 0;
        a->largest[i] = fmax(a->largest[i], size_of(values[i]));
    }
}

static Value *combine(Algebra *a, const Value *left, const Value *right) {
    Value *made = ARENA_ARRAY(a->frame->builder->arena, Value, a->combiner->count);
    for (int i = 0; i < a->combiner->count; i++)
        made[i] = evaluate(&(Sides){a->combiner, left, right}, a->combiner->result[i]);
    note_sizes(a, made);
    return made;
}

static Value *identity_values(const Algebra *a) {
    Value *made = ARENA_ARRAY(a->frame->builder->arena, Value, a->combiner->count);
    for (int i = 0; i < a->combiner->count; i++)
        made[i] = constant_value_of(a->combiner->identity[i]);
    return made;
}

static bool same(const Algebra *a, const Value *left, const Value *right) {
    for (int i = 0; i < a->combiner->count; i++) {
        if (!type_is_float(left[i].type) && left[i].integer != right[i].integer)
            return false;
        if (type_is_float(left[i].type) && fabs(left[i].real - right[i].real) > tolerance * a->largest[i])
            return false;
    }
    return true;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static uint64_t next_random(Algebra *a) {
    uint64_t x = a->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double draw_real(Algebra *a, ElementType type, bool simple) {
    static const double few[] = {1, 0, 2, -1};
    uint64_t random = next_random(a);
    double sign = random >> 60 & 1 ? -1 : 1;
    if (simple)
        return few[random & 3];
    switch (random & 15) {
    case 0: return sign * largest_value(type);
    case 1: return sign * smallest_step(type);
    case 2: return sign * 0.0;
    default: return value_round(type, ((double)(random >> 11) / 0x1p53 - 0.5) * (random & 16 ? 4 : 200));
    }
}

static int64_t draw_integer(Algebra *a, ElementType type, bool simple) {
    static const int64_t few[] = {1, 0, 2, 3};
    uint64_t random = next_random(a);
    if (simple)
        return value_wrap(type, few[random & 3]);
    switch (random & 15) {
    case 0: return integer_limit(type, true);
    case 1: return integer_limit(type, false);
    case 2: return value_wrap(type, -1);
    case 3:
    case 4:
    case 5: return value_wrap(type, (int64_t)next_random(a));
    default: return value_wrap(type, (int64_t)(random >> 8 & 63));
    }
}

static Value draw_value(Algebra *a, ElementType type, bool simple) {
    if (type_is_float(type))
        return (Value){.type = TYPE_DOUBLE, .real = draw_real(a, type, simple)};
    return (Value){.type = type, .integer = draw_integer(a, type, simple)};
}

enum { MOST_COMBINED = 4 };

/* Three tuples whose components are often equal. Each is one that the statement may combine, or a combination of a
 * few. */
static void draw_tuples(Algebra *a, int trial, Value *tuples[3]) {
    Value *drawn[3 * MOST_COMBINED];
    bool simple = trial < SIMPLE_TRIALS;
    for (int t = 0; t < 3 * MOST_COMBINED; t++)
        drawn[t] = ARENA_ARRAY(a->frame->builder->arena, Value, a->combiner->count);
    for (int i = 0; i < a->combiner->count; i++) {
        Value pool[POOL];
        for (int p = 0; p < POOL; p++)
            pool[p] = a->constants[i] ? constant_value_of(a->constants[i])
                                      : draw_value(a, a->combiner->left[i]->type, simple);
        a->largest[i] = 0;
        for (int t = 0; t < 3 * MOST_COMBINED; t++)
            drawn[t][i] = pool[next_random(a) % POOL];
    }
    a->finite = true;
    for (int t = 0; t < 3; t++) {
        tuples[t] = drawn[t];
        note_sizes(a, tuples[t]);
        for (int more = simple ? 0 : (int)(next_random(a) % MOST_COMBINED); more > 0; more--)
            tuples[t] = combine(a, tuples[t], drawn[3 * more + t]);
    }
}

/* --- saying what is wrong ----------------------------------------------------------------------------------------- */

static const char *tuple_text(const Algebra *a, const Value *values) {
    Text text = {.arena = a->frame->builder->arena};
    text_add(&text, "(");
    for (int i = 0; i < a->combiner->count; i++) {
        text_add(&text, i ? ", " : "");
        if (type_is_float(values[i].type))
            text_add(&text, isnan(values[i].real) ? "nan" : "%g", values[i].real);
        else if (values[i].type == TYPE_UINT64)
            text_add(&text, "%llu", (unsigned long long)values[i].integer);
        else
            text_add(&text, "%lld", (long long)values[i].integer);
    }
    text_add(&text, ")");
    return text.text;
}

static Loc property_loc(const Algebra *a, const char *word) {
    for (int i = 0; i < a->ast->properties.count; i++)
        if (strcmp(a->ast->properties.items[i].text, word) == 0)
            return a->ast->properties.items[i].loc;
    return a->ast->name.loc;
}

/* A note on the statement that gave the values which break a law. */
static void note_statement(const Algebra *a) {
    NOTE(a->frame, a->statement, "combined here");
}

/* --- the laws: each reports the first tuples that break it -------------------------------------------------------- */

static bool holds_associative(Algebra *a, Value *tuples[3]) {
    Value *left = combine(a, combine(a, tuples[0], tuples[1]), tuples[2]);
    Value *right = combine(a, tuples[0], combine(a, tuples[1], tuples[2]));
    if (!a->finite || same(a, left, right))
        return true;
    ERROR(a->frame, combiner_claim, property_loc(a, "associative"), a->combiner->name, "associative");
    HINT(a->frame, "with a = %s, b = %s, c = %s: (a b) c is %s, but a (b c) is %s", tuple_text(a, tuples[0]),
         tuple_text(a, tuples[1]), tuple_text(a, tuples[2]), tuple_text(a, left), tuple_text(a, right));
    note_statement(a);
    return false;
}

static bool holds_commutative(Algebra *a, Value *tuples[3]) {
    Value *left = combine(a, tuples[0], tuples[1]), *right = combine(a, tuples[1], tuples[0]);
    if (!a->finite || same(a, left, right))
        return true;
    ERROR(a->frame, combiner_claim, property_loc(a, "commutative"), a->combiner->name, "commutative");
    HINT(a->frame, "with a = %s, b = %s: a b is %s, but b a is %s", tuple_text(a, tuples[0]), tuple_text(a, tuples[1]),
         tuple_text(a, left), tuple_text(a, right));
    note_statement(a);
    return false;
}

static bool report_identity(Algebra *a, const char *sides, const Value *with, const Value *made) {
    Loc loc = loc_join(a->ast->identity.items[0]->loc, a->ast->identity.items[a->ast->identity.count - 1]->loc);
    ERROR(a->frame, combiner_not_identity, loc, a->combiner->name);
    HINT(a->frame, "with a = %s: %s is %s", tuple_text(a, with), sides, tuple_text(a, made));
    note_statement(a);
    return false;
}

static bool holds_identity(Algebra *a, Value *tuples[3]) {
    Value *identity = identity_values(a);
    Value *left = combine(a, identity, tuples[0]), *right = combine(a, tuples[0], identity);
    if (!a->finite)
        return true;
    if (!same(a, left, tuples[0]))
        return report_identity(a, "(identity a)", tuples[0], left);
    return same(a, right, tuples[0]) || report_identity(a, "(a identity)", tuples[0], right);
}

/* A partial result without terms is the identity. Two of them may be combined. */
static bool keeps_identity(Algebra *a) {
    Value *identity = identity_values(a), *made = combine(a, identity, identity);
    for (int i = 0; i < a->combiner->count; i++) {
        bool equal = type_is_float(made[i].type) ? made[i].real == identity[i].real || isnan(identity[i].real)
                                                 : made[i].integer == identity[i].integer;
        if (!equal)
            return report_identity(a, "(identity a), which is the identity itself,", identity, made);
    }
    return true;
}

/* True unless a law is broken. */
static bool hold_laws(Algebra *a) {
    const Combiner *combiner = a->combiner;
    Value *tuples[3];
    bool identity = keeps_identity(a), associative = combiner->associative, commutative = combiner->commutative;
    bool all = identity;
    for (int trial = 0; trial < TRIALS && (identity || associative || commutative); trial++) {
        draw_tuples(a, trial, tuples);
        identity = identity && holds_identity(a, tuples);
        draw_tuples(a, trial, tuples);
        associative = associative && holds_associative(a, tuples);
        draw_tuples(a, trial, tuples);
        commutative = commutative && holds_commutative(a, tuples);
        all &= identity && associative == combiner->associative && commutative == combiner->commutative;
    }
    return all;
}

static bool same_constants(Expr *const *a, Expr *const *b, int count) {
    for (int i = 0; i < count; i++)
        if ((a[i] == NULL) != (b[i] == NULL) || (a[i] && !expr_equal(a[i], b[i])))
            return false;
    return true;
}

bool check_algebra(CallFrame *frame, CombinerDefinition *definition, Expr **constants, Loc statement) {
    const Combiner *combiner = definition->combiner;
    for (int i = 0; i < definition->tested.count; i++)
        if (same_constants(definition->tested.items[i], constants, combiner->count))
            return true;
    list_push(frame->builder->arena, &definition->tested, constants);
    Builder builder = *frame->builder;
    CallFrame inner = *frame;
    inner.builder = &builder;
    builder.arena = arena_new();
    Algebra a = {.frame = &inner, .combiner = combiner, .ast = definition->ast, .constants = constants};
    a.statement = statement;
    a.largest = ARENA_ARRAY(builder.arena, double, combiner->count);
    bool good = hold_laws(&a);
    arena_free(builder.arena);
    return good;
}
