/* value.c - single values: conversions over all bit patterns, casts, integer arithmetic, functions, random contents. */
#include "lang/value.h"
#include "tests/tap.h"

#include <float.h>
#include <stdlib.h>

/* --- half and bfloat16 -------------------------------------------------------------------------------------------- */

typedef struct Format {
    const char *name;
    ElementType type;
    int fraction_bits, exponent_bits;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
} Format;

static const Format formats[] = {
    {"half", TYPE_HALF, 10, 5, half_to_float, float_to_half},
    {"bfloat16", TYPE_BFLOAT16, 7, 8, bfloat16_to_float, float_to_bfloat16},
};

/* What the bits say, by IEEE 754's definition. */
static double meaning(const Format *format, unsigned bits) {
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = (int)(bits >> format->fraction_bits) & ((1 << format->exponent_bits) - 1);
    double fraction = bits & ((1u << format->fraction_bits) - 1);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << format->exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - format->fraction_bits);
    return sign * ldexp(fraction + ldexp(1, format->fraction_bits), exponent - bias - format->fraction_bits);
}

static void test_all_patterns(const Format *format) {
    int widened = 0, narrowed = 0, rounded = 0, stored = 0;
    for (unsigned bits = 0; bits < 65536; bits++) {
        double wanted = meaning(format, bits);
        float wide = format->widen((uint16_t)bits);
        uint16_t back = format->narrow(wide);
        widened += isnan(wanted) ? isnan(wide) : wide == wanted && !signbit(wide) == !signbit(wanted);
        narrowed += isnan(wanted) ? isnan(meaning(format, back)) : back == bits;
        double again = value_round(format->type, wanted);
        rounded += isnan(wanted) ? isnan(again) : again == wanted && !signbit(again) == !signbit(wanted);
        Value value = value_load(format->type, &(uint16_t){(uint16_t)bits});
        value_store(value, &back);
        stored += isnan(wanted) ? isnan(value.real) : value.real == wanted && back == bits;
    }
    is_int(widened, 65536, "every %s widens exactly", format->name);
    is_int(narrowed, 65536, "every %s narrows to itself", format->name);
    is_int(rounded, 65536, "every %s rounds to itself", format->name);
    is_int(stored, 65536, "every %s is loaded and stored", format->name);
}

/* Between two neighbours: below the middle down, above it up, in the middle to the even one. */
static void test_all_roundings(const Format *format) {
    int wrong = 0;
    unsigned infinity = (1u << 15) - (1u << format->fraction_bits);
    for (unsigned bits = 0; bits < infinity; bits++) {
        double low = meaning(format, bits);
        double high = bits + 1 == infinity ? 2 * low - meaning(format, bits - 1) : meaning(format, bits + 1);
        double middle = (low + high) / 2;
        unsigned even = bits & 1 ? bits + 1 : bits;
        wrong += format->narrow((float)middle) != even;
        wrong += format->narrow(nextafterf((float)middle, 0)) != bits;
        wrong += format->narrow(nextafterf((float)middle, FLT_MAX)) != bits + 1;
        wrong += format->narrow(-(float)middle) != (even | 0x8000);
        double of_even = even == infinity ? INFINITY : meaning(format, even);
        wrong += value_round(format->type, middle) != of_even;
        wrong += value_round(format->type, nextafter(middle, 0)) != low;
        wrong += value_round(format->type, -nextafter(middle, DBL_MAX)) != -meaning(format, bits + 1);
    }
    is_int(wrong, 0, "between all %ss rounding is to nearest, to even in the middle", format->name);
    ok(isnan(format->widen(format->narrow(NAN))), "NaN stays NaN as %s", format->name);
}

/* --- casts -------------------------------------------------------------------------------------------------------- */

static Value real(ElementType type, double value) {
    return (Value){.type = type, .real = value};
}

static Value integer(ElementType type, int64_t value) {
    return (Value){.type = type, .integer = value};
}

static void test_casts(void) {
    static const struct {
        double from;
        ElementType type;
        int64_t wanted;
    } rows[] = {
        {2.9, TYPE_INT32, 2},
        {-2.9, TYPE_INT32, -2},
        {300, TYPE_INT8, 127},
        {-300, TYPE_INT8, -128},
        {300, TYPE_UINT8, 255},
        {-0.5, TYPE_UINT8, 0},
        {-5, TYPE_UINT16, 0},
        {NAN, TYPE_INT32, 0},
        {INFINITY, TYPE_INT64, INT64_MAX},
        {-INFINITY, TYPE_INT64, INT64_MIN},
        {1e19, TYPE_UINT64, (int64_t)10000000000000000000u},
        {0x1p64, TYPE_UINT64, -1},
        {0x1p63, TYPE_INT64, INT64_MAX},
        {0.5, TYPE_BOOL, 1},
        {0, TYPE_BOOL, 0},
        {2147483647.5, TYPE_INT32, 2147483647},
        {-129, TYPE_INT8, -128},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        is_int(value_cast(real(TYPE_DOUBLE, rows[i].from), rows[i].type).integer, rows[i].wanted, "%g as %s",
               rows[i].from, element_info[rows[i].type].spelling);
    is_int(value_cast(integer(TYPE_INT32, 300), TYPE_UINT8).integer, 44, "integers wrap");
    is_int(value_cast(integer(TYPE_UINT8, 200), TYPE_INT8).integer, -56, "also into the sign");
    is_int(value_cast(integer(TYPE_INT32, -2), TYPE_BOOL).integer, 1, "what is not 0 is true");
    ok(value_cast(integer(TYPE_UINT64, -1), TYPE_DOUBLE).real == 0x1p64, "the largest uint64 as double");
    ok(value_cast(integer(TYPE_INT64, (1LL << 53) + 1), TYPE_FLOAT).real == 0x1p53, "int64 to float rounds once");
    int64_t tie = (1LL << 60) + (1LL << 36) + 1; /* just above the middle of two floats, which a double cannot tell */
    ok(value_cast(integer(TYPE_INT64, tie), TYPE_FLOAT).real == (double)(float)tie, "above the middle of two floats");
    ok(value_cast(integer(TYPE_INT32, 70000), TYPE_HALF).real == INFINITY, "too large for half");
}

static void test_integer_casts_to_float(void) {
    int wrong = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t bits;
        fill_random(TYPE_INT64, &bits, 1, (uint64_t)i, INT64_MIN, INT64_MAX);
        bits >>= i % 60;
        wrong += value_cast(integer(TYPE_INT64, bits), TYPE_FLOAT).real != (float)bits;
        wrong += value_cast(integer(TYPE_UINT64, bits), TYPE_FLOAT).real != (float)(uint64_t)bits;
        wrong += value_cast(integer(TYPE_UINT64, bits), TYPE_DOUBLE).real != (double)(uint64_t)bits;
    }
    is_int(wrong, 0, "random integers convert as the processor does");
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

static int64_t apply_integers(Op op, ElementType type, int64_t a, int64_t b) {
    return value_apply(op, (Value[]){integer(type, a), integer(type, b)}).integer;
}

static void test_integers(void) {
    is_int(apply_integers(OP_DIV, TYPE_INT32, -7, 2), -4, "division floors");
    is_int(apply_integers(OP_MOD, TYPE_INT32, -7, 3), 2, "modulo has the divisor's sign");
    is_int(apply_integers(OP_MOD, TYPE_INT32, 7, -3), -2, "also a negative one");
    is_int(apply_integers(OP_DIV, TYPE_INT32, 7, 0), 0, "division by 0 is 0");
    is_int(apply_integers(OP_MOD, TYPE_INT32, 7, 0), 0, "modulo by 0 is 0");
    is_int(apply_integers(OP_DIV, TYPE_INT64, INT64_MIN, -1), INT64_MIN, "the one quotient that wraps");
    is_int(apply_integers(OP_DIV, TYPE_INT8, -128, -1), -128, "and in a narrow type");
    is_int(apply_integers(OP_DIV, TYPE_UINT64, -1, 10), 1844674407370955161, "uint64 divides by its bits");
    is_int(apply_integers(OP_MAX, TYPE_UINT64, -1, 10), -1, "and compares by them");
    is_int(apply_integers(OP_ADD, TYPE_INT8, 127, 1), -128, "int8 wraps");
    is_int(apply_integers(OP_MUL, TYPE_UINT8, 16, 17), 16, "uint8 wraps");
    is_int(value_apply(OP_ABS, (Value[]){integer(TYPE_INT8, -128)}).integer, -128, "the absolute value that wraps");
    is_int(value_apply(OP_NEG, (Value[]){integer(TYPE_UINT8, 1)}).integer, 255, "minus of an unsigned value");
    is_int(apply_integers(OP_LT, TYPE_UINT64, 1, -1), 1, "1 < 2^64 - 1");
    is_int(apply_integers(OP_ADD, TYPE_BOOL, 1, 1), 1, "true + true is true");
}

static double apply_reals(Op op, ElementType type, double a, double b) {
    return value_apply(op, (Value[]){real(type, a), real(type, b)}).real;
}

static void test_reals(void) {
    int wrong = 0;
    float data[2];
    for (int i = 0; i < 20000; i++) {
        fill_random(TYPE_FLOAT, data, 2, (uint64_t)i, 0, 0);
        volatile float sum = data[0] + data[1], product = data[0] * data[1], quotient = data[0] / data[1];
        wrong += apply_reals(OP_ADD, TYPE_FLOAT, data[0], data[1]) != sum;
        wrong += apply_reals(OP_MUL, TYPE_FLOAT, data[0], data[1]) != product;
        wrong += apply_reals(OP_DIV, TYPE_FLOAT, data[0], data[1]) != quotient;
        wrong += value_apply(OP_SQRT, (Value[]){real(TYPE_FLOAT, fabsf(data[0]))}).real != sqrtf(fabsf(data[0]));
    }
    is_int(wrong, 0, "float arithmetic is the processor's");
    ok(isnan(apply_reals(OP_MIN, TYPE_FLOAT, NAN, 1)) && isnan(apply_reals(OP_MAX, TYPE_FLOAT, 1, NAN)),
       "min and max pass NaN on");
    ok(apply_reals(OP_FMIN, TYPE_FLOAT, NAN, 1) == 1, "fmin does not");
    ok(apply_reals(OP_ADD, TYPE_HALF, 2048, 1) == 2048, "half rounds after each operation");
    ok(apply_reals(OP_MUL, TYPE_HALF, 300, 300) == INFINITY, "and overflows");
    ok(apply_reals(OP_NEXTAFTER, TYPE_FLOAT, 1, 2) == 1 + 0x1p-23, "the next float");
    ok(apply_reals(OP_NEXTAFTER, TYPE_HALF, 1, 0) == 1 - 0x1p-11, "the half before 1");
    ok(apply_reals(OP_NEXTAFTER, TYPE_HALF, 0, -1) == -0x1p-24, "the half below 0");
    ok(apply_reals(OP_NEXTAFTER, TYPE_BFLOAT16, -1, 0) == -1 + 0x1p-8, "the bfloat16 above -1");
    Value fused = value_apply(
        OP_FMA, (Value[]){real(TYPE_FLOAT, 1 + 0x1p-12), real(TYPE_FLOAT, 1 - 0x1p-12), real(TYPE_FLOAT, -1)});
    ok(fused.real == -0x1p-24, "fma rounds once");
    ok(value_apply(OP_LT, (Value[]){real(TYPE_FLOAT, NAN), real(TYPE_FLOAT, 1)}).integer == 0 &&
           value_apply(OP_NE, (Value[]){real(TYPE_FLOAT, NAN), real(TYPE_FLOAT, NAN)}).integer == 1,
       "NaN compares as IEEE says");
}

static bool compares(Op op, double a, double b) {
    return value_apply(op, (Value[]){real(TYPE_FLOAT, a), real(TYPE_FLOAT, b)}).integer;
}

static bool compares_in_c(Op op, double a, double b) {
    return op == OP_LT   ? a < b
           : op == OP_LE ? a <= b
           : op == OP_GT ? a > b
           : op == OP_GE ? a >= b
           : op == OP_EQ ? a == b
                         : a != b;
}

/* Opposites of inequalities fail for NaN, too. */
static void test_comparisons(void) {
    static const double numbers[] = {-1, 0, 1, NAN};
    for (Op op = OP_LT; op <= OP_NE; op++) {
        int wrong = 0;
        for (int i = 0; i < 16; i++) {
            double a = numbers[i / 4], b = numbers[i % 4];
            bool holds = compares_in_c(op, a, b), both_fail = op <= OP_GE && (isnan(a) || isnan(b));
            wrong += compares(op, a, b) != holds || compares(comparison_info[op].exchanged, b, a) != holds;
            wrong += compares(comparison_info[op].opposite, a, b) != (!holds && !both_fail);
        }
        is_int(wrong, 0, "%s, its opposite and what it is with the operands exchanged", op_info[op].spelling);
    }
}

/* Each row of ops.def has code: the result has the row's type. */
static void test_every_operator(void) {
    for (Op op = 0; op < OP_COUNT; op++) {
        const OpInfo *info = &op_info[op];
        Value args[3];
        for (int i = 0; i < 3; i++)
            args[i] = info->class == CLASS_LOGIC || (op == OP_SELECT && i == 0) ? integer(TYPE_BOOL, 1)
                                                                                : real(TYPE_FLOAT, 0.75);
        Value result = value_apply(op, args);
        bool is_bool = info->class == CLASS_COMPARE || info->class == CLASS_LOGIC;
        ok(result.type == (is_bool ? TYPE_BOOL : TYPE_FLOAT) &&
               (is_bool || result.real == (float)result.real || isnan(result.real)),
           "%s has a value", info->name);
    }
}

/* --- random contents ---------------------------------------------------------------------------------------------- */

static void test_random(void) {
    enum { COUNT = 5000 };
    static char data[COUNT * 8], again[COUNT * 8];
    for (ElementType type = 0; type < TYPE_COUNT; type++) {
        int bytes = element_info[type].bytes, outside = 0, low_half = 0;
        fill_random(type, data, COUNT, 42, -3, 20);
        fill_random(type, again, COUNT, 42, -3, 20);
        for (int i = 0; i < COUNT; i++) {
            Value value = value_load(type, data + i * bytes);
            double number = type_is_float(type) ? value.real : (double)value.integer;
            outside += type_is_float(type)   ? number < -1 || number >= 1
                       : type == TYPE_UINT64 ? 0
                                             : number < -3 || number > 20;
            low_half += type_is_float(type) ? number < 0 : number < 8;
        }
        is_int(outside, 0, "random %ss stay in their range", element_info[type].spelling);
        ok(memcmp(data, again, (size_t)(COUNT * bytes)) == 0, "and are the same for the same seed");
        ok(type == TYPE_BOOL || type == TYPE_UINT64 || (low_half > COUNT / 4 && low_half < COUNT * 3 / 4),
           "and spread over it");
    }
    double first;
    fill_random(TYPE_DOUBLE, &first, 1, 1, 0, 0);
    is_close(first, -0.49157236, 1e-7, "the first value of seed 1 never changes");
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        test_all_patterns(&formats[i]);
        test_all_roundings(&formats[i]);
    }
    test_casts();
    test_integer_casts_to_float();
    test_integers();
    test_reals();
    test_comparisons();
    test_every_operator();
    test_random();
    return done_testing();
}
