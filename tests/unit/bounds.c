/* bounds.c - the error bounds of functions: no operands in their ranges give a result farther off than the bound says.
 * And those of a product that overflows. */
#include "lang/random.h"
#include "lang/value.h"
#include "sema/interpreter_internal.h"
#include "tests/tap.h"

#include <math.h>

enum { TRIALS = 4000, POINTS = 12, OPERANDS = 3 };

/* An operand: a value and how far off it may be. */
typedef struct Range {
    double value, error;
} Range;

static double any_size(Random *random) {
    return ldexp(2 * random_unit(random) - 1, (int)random_below(random, 14) - 8);
}

/* At and near zeros, steps, poles and extremes, and anywhere; some operands are exact. */
static Range any_range(Random *random) {
    static const double places[] = {0, 1, -1, 2, -2, 0.5, -0.5, 1.5, 1.4616321449683623, 1.5707963267948966};
    Range range = {any_size(random), 0};
    if (random_below(random, 2))
        range.value = places[random_below(random, sizeof places / sizeof *places)] +
                      (random_below(random, 2) ? range.value / 16 : 0);
    if (random_below(random, 4))
        range.error = fabs(any_size(random)) / (random_below(random, 2) ? 1 : 64);
    return range;
}

/* A place in the range; 0 and whole numbers are among them. */
static double place_in(Random *random, const Range *range) {
    double place = range->value + range->error * (2 * random_unit(random) - 1), whole = rint(place);
    return fabs(whole - range->value) <= range->error && random_below(random, 3) == 0 ? whole : place;
}

static LaneValues operands[OPERANDS], result;

static double bound_of(Op op, const Range *ranges) {
    Instruction args[OPERANDS], in = {.op = op, .type = TYPE_DOUBLE, .result = &result, .count = op_info[op].arity};
    Value values[OPERANDS];
    for (int i = 0; i < in.count; i++) {
        operands[i].real[0] = ranges[i].value;
        operands[i].error[0] = ranges[i].error;
        args[i] = (Instruction){.type = TYPE_DOUBLE, .result = &operands[i]};
        in.args[i] = &args[i];
        values[i] = (Value){.type = TYPE_DOUBLE, .real = ranges[i].value};
    }
    result.real[0] = value_apply(op, values).real;
    bound_lanes(&in, 1);
    return result.error[0];
}

/* Whether the bound holds at some operands of the ranges. */
static bool holds(Op op, Random *random, const Range *ranges, double bound) {
    Value at[OPERANDS];
    for (int i = 0; i < op_info[op].arity; i++)
        at[i] = (Value){.type = TYPE_DOUBLE, .real = place_in(random, &ranges[i])};
    double found = value_apply(op, at).real, wanted = result.real[0];
    if (isinf(bound) || found == wanted || (isnan(found) && isnan(wanted)) || fabs(found - wanted) <= bound)
        return true;
    diag_line("%s(%g, %g) is %g, of %g +- %g, %g +- %g it is %g +- %g", op_info[op].spelling, at[0].real, at[1].real,
              found, ranges[0].value, ranges[0].error, ranges[1].value, ranges[1].error, wanted, bound);
    return false;
}

static void test_function(Op op) {
    Random random = {1};
    int wrong = 0, finite = 0;
    for (int trial = 0; trial < TRIALS && wrong < 3; trial++) {
        Range ranges[OPERANDS];
        for (int i = 0; i < OPERANDS; i++)
            ranges[i] = any_range(&random);
        double bound = bound_of(op, ranges), error = 0;
        for (int i = 0; i < op_info[op].arity; i++)
            error += ranges[i].error;
        finite += error > 0 && bound < HUGE_VAL;
        for (int point = 0; point < POINTS && wrong < 3; point++)
            wrong += !holds(op, &random, ranges, bound);
    }
    ok(wrong == 0 && finite > 0, "%s: within its bound, which is finite for %d ranges of %d", op_info[op].spelling,
       finite, TRIALS);
}

/* Where it is added it keeps its full range, and so may be finite. */
static void test_overflow(void) {
    Range factors[OPERANDS] = {{1e200, 0}, {1e200, 1e90}}, infinite[OPERANDS] = {{HUGE_VAL, 0}, {1, 0}};
    double bound = bound_of(OP_MUL, factors);
    ok(isinf(result.real[0]) && bound > 0 && isfinite(bound), "a product that overflows has a finite bound");
    Range terms[OPERANDS] = {{HUGE_VAL, bound}, {-HUGE_VAL, 0}};
    ok(isinf(bound_of(OP_ADD, terms)) && isinf(bound_of(OP_SUB, terms)), "a sum with it may be anything");
    ok(bound_of(OP_MUL, infinite) == 0 && bound_of(OP_ADD, infinite) == 0, "an infinite operand overflows nothing");
}

int main(void) {
    for (Op op = 0; op < OP_COUNT; op++)
        if (op_info[op].class == CLASS_MATH)
            test_function(op);
    test_overflow();
    return done_testing();
}
