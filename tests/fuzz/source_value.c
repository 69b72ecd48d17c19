/* source_value.c - see source_value.h. Integers are computed in 128 bits and wrapped, floats in double or wider and
 * rounded once.
 */
#include "tests/fuzz/source_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 Huge;

typedef struct TypeRow {
    char kind; /* b, s, u, f */
    int bits;
    int digits, least; /* of a float: digits, and the exponent of its least step */
    double most;
} TypeRow;

static const TypeRow rows[TYPE_COUNT] = {
    [TYPE_BOOL] = {'b', 1, 0, 0, 0},
    [TYPE_INT8] = {'s', 8, 0, 0, 0},
    [TYPE_INT16] = {'s', 16, 0, 0, 0},
    [TYPE_INT32] = {'s', 32, 0, 0, 0},
    [TYPE_INT64] = {'s', 64, 0, 0, 0},
    [TYPE_UINT8] = {'u', 8, 0, 0, 0},
    [TYPE_UINT16] = {'u', 16, 0, 0, 0},
    [TYPE_UINT32] = {'u', 32, 0, 0, 0},
    [TYPE_UINT64] = {'u', 64, 0, 0, 0},
    [TYPE_HALF] = {'f', 16, 11, -24, 65504},
    [TYPE_BFLOAT16] = {'f', 16, 8, -133, 0x1.fep127},
    [TYPE_FLOAT] = {'f', 32, 24, -149, 0x1.fffffep127},
    [TYPE_DOUBLE] = {'f', 64, 53, -1074, 0x1.fffffffffffffp1023},
};

static bool is_real(ElementType type) {
    return rows[type].kind == 'f';
}

bool datum_is_float(const Datum *datum) {
    return is_real(datum->type);
}

/* --- integers --- */

static int64_t wrap(ElementType type, Huge value) {
    if (type == TYPE_BOOL)
        return value != 0;
    int unused = 64 - rows[type].bits;
    uint64_t bits = (uint64_t)value << unused;
    return rows[type].kind == 's' ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
}

/* The number that it stands for. */
static Huge whole(const Datum *d) {
    return d->type == TYPE_UINT64 && !d->index ? (Huge)(uint64_t)d->integer : (Huge)d->integer;
}

static Huge floor_quotient(Huge a, Huge b) {
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

Datum datum_integer(ElementType type, int64_t integer) {
    return (Datum){.type = type, .integer = integer};
}

Datum datum_index(int64_t integer) {
    return (Datum){
        .type = integer > INT32_MAX ? TYPE_INT64 : TYPE_INT32, .index = true, .fixed = true, .integer = integer};
}

/* --- floats --- */

/* Rounded to nearest, ties to even, in one step from up to 64 digits. */
static double rounded(ElementType type, long double x) {
    const TypeRow *row = &rows[type];
    int exponent;
    if (x == 0 || !isfinite(x))
        return (double)x;
    frexpl(x, &exponent);
    int step = exponent - row->digits > row->least ? exponent - row->digits : row->least;
    long double result = ldexpl(rintl(ldexpl(x, -step)), step);
    return fabsl(result) > row->most ? copysign(INFINITY, (double)x) : (double)result;
}

static Datum real_datum(ElementType type, long double x, Certainty certainty) {
    return (Datum){.type = type, .real = rounded(type, x), .certainty = certainty};
}

Datum datum_literal(double real) {
    Datum d = real_datum(TYPE_FLOAT, real, CERTAIN);
    d.number = true;
    d.precise = real;
    return d;
}

/* --- memory --- */

static double decode16(ElementType type, uint16_t bits) {
    int fraction_bits = rows[type].digits - 1, exponent = (bits & 0x7fff) >> fraction_bits;
    int fraction = bits & ((1 << fraction_bits) - 1), last = 0x7fff >> fraction_bits;
    double size = exponent == last ? (fraction ? NAN : INFINITY)
                  : exponent       ? ldexp(fraction + (1 << fraction_bits), rows[type].least + exponent - 1)
                                   : ldexp(fraction, rows[type].least);
    return bits & 0x8000 ? -size : size;
}

static uint16_t encode16(ElementType type, double real) {
    int fraction_bits = rows[type].digits - 1, sign = signbit(real) ? 0x8000 : 0;
    if (isnan(real))
        return 0x7fff;
    if (isinf(real))
        return (uint16_t)(sign | (0x7fff >> fraction_bits << fraction_bits));
    double steps = ldexp(fabs(real), -rows[type].least); /* a whole number */
    int exponent = 0;
    while (steps >= ldexp(1, fraction_bits + 1) || (exponent == 0 && steps >= ldexp(1, fraction_bits))) {
        if (exponent++ > 0)
            steps /= 2;
    }
    int fraction = (int)steps & ((1 << fraction_bits) - 1);
    return (uint16_t)(sign | exponent << fraction_bits | fraction);
}

Datum datum_load(ElementType type, const void *at) {
    Datum d = {.type = type};
    uint64_t bits = 0;
    float single;
    memcpy(&bits, at, type == TYPE_BOOL ? 1 : (size_t)rows[type].bits / 8);
    if (type == TYPE_DOUBLE)
        memcpy(&d.real, at, sizeof d.real);
    else if (type == TYPE_FLOAT) {
        memcpy(&single, at, sizeof single);
        d.real = single;
    } else if (is_real(type))
        d.real = decode16(type, (uint16_t)bits);
    else
        d.integer = wrap(type, (Huge)bits);
    return d;
}

void datum_store(const Datum *d, void *at) {
    uint64_t bits = (uint64_t)d->integer;
    float single = (float)d->real;
    uint16_t small = is_real(d->type) && rows[d->type].bits == 16 ? encode16(d->type, d->real) : 0;
    const void *from = d->type == TYPE_DOUBLE  ? (const void *)&d->real
                       : d->type == TYPE_FLOAT ? (const void *)&single
                       : is_real(d->type)      ? (const void *)&small
                                               : (const void *)&bits;
    memcpy(at, from, d->type == TYPE_BOOL ? 1 : (size_t)rows[d->type].bits / 8);
}

/* --- conversions --- */

static int64_t truncated(ElementType type, double real) {
    bool is_signed = rows[type].kind == 's';
    int bits = rows[type].bits;
    if (isnan(real))
        return 0;
    if (type == TYPE_BOOL)
        return real != 0;
    double above = ldexp(1, bits - is_signed), least = is_signed ? -above : 0;
    if (real >= above)
        return wrap(type, ((Huge)1 << (bits - is_signed)) - 1);
    if (real <= least)
        return wrap(type, is_signed ? -((Huge)1 << (bits - 1)) : 0);
    return wrap(type, (Huge)real);
}

Datum datum_value(Datum d) {
    if (!d.index)
        return d;
    return datum_integer(d.type, wrap(d.type, d.integer));
}

/* A value that is only near becomes a whole number by chance. Near in its last digits, it is far in those of a wider
 * type. */
Datum datum_as(Datum d, ElementType type) {
    d = datum_value(d);
    if (d.number && type != TYPE_FLOAT) {
        d.real = d.precise;
        d.type = TYPE_DOUBLE;
    }
    if (d.type == type)
        return (Datum){.type = type, .certainty = d.certainty, .integer = d.integer, .real = d.real, .loose = d.loose};
    Datum result = {.type = type, .certainty = d.certainty, .loose = d.loose};
    if (is_real(type)) {
        bool wider = is_real(d.type) && rows[type].digits > rows[d.type].digits;
        result.real = rounded(type, is_real(d.type) ? (long double)d.real : (long double)whole(&d));
        result.certainty = d.certainty == NEAR && wider ? UNKNOWN : d.certainty;
    } else if (is_real(d.type)) {
        result.integer = type == TYPE_BOOL ? d.real != 0 : truncated(type, d.real);
        result.certainty = d.certainty == CERTAIN ? CERTAIN : UNKNOWN;
    } else
        result.integer = wrap(type, whole(&d));
    return result;
}

ElementType type_of_both(ElementType a, ElementType b) {
    if (is_real(a) || is_real(b)) {
        if (is_real(a) != is_real(b))
            return is_real(a) ? a : b;
        if (rows[a].bits == 16 && rows[b].bits == 16 && a != b)
            return TYPE_FLOAT;
        return rows[a].bits >= rows[b].bits ? a : b;
    }
    if (a == TYPE_BOOL || b == TYPE_BOOL)
        return a == TYPE_BOOL ? b : a;
    if (rows[a].kind == rows[b].kind)
        return rows[a].bits >= rows[b].bits ? a : b;
    int bits = rows[a].bits > rows[b].bits ? rows[a].bits : rows[b].bits;
    return bits == 8 ? TYPE_INT8 : bits == 16 ? TYPE_INT16 : bits == 32 ? TYPE_INT32 : TYPE_INT64;
}

/* --- operators --- */

static Certainty worst(const Datum *args, int count) {
    Certainty result = CERTAIN;
    for (int i = 0; i < count; i++)
        result = args[i].certainty > result ? args[i].certainty : result;
    return result;
}

static Huge integer_result(Op op, const Datum *a, const Datum *b) {
    Huge x = whole(a), y = b ? whole(b) : 0;
    switch (op) {
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return (Huge)((unsigned __int128)x * (unsigned __int128)y);
    case OP_DIV: return floor_quotient(x, y);
    case OP_MOD: return y == 0 ? 0 : x - y * floor_quotient(x, y);
    case OP_MIN: return x < y ? x : y;
    case OP_MAX: return x > y ? x : y;
    case OP_NEG: return -x;
    case OP_ABS: return x < 0 ? -x : x;
    default: abort();
    }
}

static long double real_result(Op op, long double a, long double b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MOD: return fmodl(a, b);
    case OP_MIN: return isnan(a) || isnan(b) ? (long double)NAN : a < b ? a : b;
    case OP_MAX: return isnan(a) || isnan(b) ? (long double)NAN : a > b ? a : b;
    case OP_NEG: return -a;
    case OP_ABS: return fabsl(a);
    default: abort();
    }
}

/* In double itself what is double: long double would round twice. */
static double double_result(Op op, double a, double b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    default: return (double)real_result(op, a, b);
    }
}

/* Outside -fstrict a quotient may be a product with the reciprocal, and sums take in products. */
static Certainty arithmetic_certainty(Op op, const Datum *args, int count, bool strict) {
    Certainty before = worst(args, count);
    bool exact = op == OP_NEG || op == OP_ABS;
    bool zeros = (op == OP_MIN || op == OP_MAX) && args[0].real == 0 && args[1].real == 0;
    if (before != CERTAIN)
        return exact ? before : UNKNOWN;
    if (zeros && signbit(args[0].real) != signbit(args[1].real))
        return NEAR;
    bool takes_in = !strict && (op == OP_ADD || op == OP_SUB) && (args[0].loose || args[1].loose);
    return takes_in ? UNKNOWN : !strict && op == OP_DIV ? NEAR : CERTAIN;
}

static bool is_rounded_product(ElementType type, double x, double y, double product) {
    return type == TYPE_DOUBLE ? fma(x, y, -product) != 0 : (long double)x * y != product;
}

static Datum arithmetic(Op op, const Datum *args, int count, bool strict) {
    ElementType type = args[0].type;
    const Datum *b = count > 1 ? &args[1] : NULL;
    if (!is_real(type)) {
        Datum d = datum_integer(type, wrap(type, integer_result(op, &args[0], b)));
        d.certainty = worst(args, count);
        return d;
    }
    double x = args[0].real, y = b ? b->real : 0;
    long double result = type == TYPE_DOUBLE ? double_result(op, x, y) : real_result(op, x, y);
    Datum d = real_datum(type, result, arithmetic_certainty(op, args, count, strict));
    d.loose = op == OP_MUL ? is_rounded_product(type, x, y, d.real) : (op == OP_NEG || op == OP_ABS) && args[0].loose;
    return d;
}

static Datum comparison(Op op, const Datum *a, const Datum *b) {
    Certainty certainty = a->certainty == CERTAIN && b->certainty == CERTAIN ? CERTAIN : UNKNOWN;
    bool less, equal;
    if (is_real(a->type))
        less = a->real < b->real, equal = a->real == b->real;
    else
        less = whole(a) < whole(b), equal = whole(a) == whole(b);
    bool ordered = !is_real(a->type) || (!isnan(a->real) && !isnan(b->real));
    bool result = op == OP_LT   ? less
                  : op == OP_LE ? less || equal
                  : op == OP_GT ? ordered && !less && !equal
                  : op == OP_GE ? ordered && !less
                  : op == OP_EQ ? equal
                                : !equal;
    return (Datum){.type = TYPE_BOOL, .integer = result, .certainty = certainty};
}

/* --- functions --- */

/* Those of the C library, which alone are shared with the compiler. */
typedef struct Function {
    long double (*of_1)(long double);
    long double (*of_2)(long double, long double);
    long double (*of_3)(long double, long double, long double);
} Function;

static long double reciprocal_root(long double x) {
    return 1 / sqrtl(x);
}

static const Function functions[OP_COUNT] = {
#define NONEl reciprocal_root
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, ...) [OP_##id] = {.of_##arity = libm##l},
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

static double next_towards(ElementType type, double a, double b) {
    if (isnan(a) || isnan(b) || a == b)
        return isnan(a) || isnan(b) ? NAN : b;
    if (type == TYPE_DOUBLE)
        return nextafter(a, b);
    if (type == TYPE_FLOAT)
        return nextafterf((float)a, (float)b);
    if (a == 0)
        return copysign(ldexp(1, rows[type].least), b);
    uint16_t bits = encode16(type, a);
    return decode16(type, (uint16_t)((a < b) == (a > 0) ? bits + 1 : bits - 1));
}

static bool is_zero(const Datum *d) {
    return d->real == 0;
}

static bool is_exact(Op op) {
    static const Op exact[] = {OP_FLOOR, OP_CEIL, OP_ROUND, OP_RINT,     OP_TRUNC,    OP_FABS,
                               OP_FMOD,  OP_FMIN, OP_FMAX,  OP_COPYSIGN, OP_NEXTAFTER};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (exact[i] == op)
            return true;
    return false;
}

/* Angles beyond a million are as the C library has them; zeros of either sign are one to fmin and fmax. */
static Certainty function_certainty(Op op, const Datum *args, int count) {
    bool angle = op == OP_SIN || op == OP_COS || op == OP_TAN;
    if (worst(args, count) != CERTAIN)
        return op == OP_FABS ? worst(args, count) : UNKNOWN;
    if (angle && !(fabs(args[0].real) <= 1e6) && isfinite(args[0].real))
        return UNKNOWN;
    bool zeros = (op == OP_FMIN || op == OP_FMAX) && is_zero(&args[0]) && is_zero(&args[1]);
    return is_exact(op) && !zeros ? CERTAIN : NEAR;
}

static Datum function(Op op, const Datum *args, int count) {
    ElementType type = args[0].type;
    const Function *f = &functions[op];
    long double a = args[0].real, result;
    if (op == OP_NEXTAFTER)
        result = next_towards(type, args[0].real, args[1].real);
    else if (count == 1 && f->of_1)
        result = f->of_1(a);
    else if (count == 2 && f->of_2)
        result = f->of_2(a, args[1].real);
    else if (count == 3 && f->of_3)
        result = f->of_3(a, args[1].real, args[2].real);
    else
        abort();
    return real_datum(type, result, function_certainty(op, args, count));
}

/* --- an operator on operands of any types --- */

static bool is_function(Op op) {
    return op_info[op].class == CLASS_MATH;
}

static ElementType common_type(Op op, const Datum *args, int count) {
    ElementType type = args[0].type;
    for (int i = 1; i < count; i++)
        type = type_of_both(type, args[i].type);
    return is_function(op) ? type_of_both(type, is_real(type) ? type : TYPE_FLOAT) : type;
}

/* Functions return at least a float: of half and bfloat16 too. */
static ElementType function_type(ElementType type) {
    return is_real(type) && rows[type].bits > 32 ? type : TYPE_FLOAT;
}

static Datum apply(Op op, const Datum *args, int count, bool strict) {
    if (op >= OP_LT && op <= OP_NE)
        return comparison(op, &args[0], &args[1]);
    if (op == OP_NOT)
        return (Datum){.type = TYPE_BOOL, .integer = !args[0].integer, .certainty = args[0].certainty};
    return is_function(op) ? function(op, args, count) : arithmetic(op, args, count, strict);
}

/* Numbers that are alone: in double. */
static void keep_number(Op op, const Datum *args, int count, Datum *result, bool strict) {
    Datum wide[3];
    bool number = false, all = true;
    for (int i = 0; i < count; i++) {
        number |= args[i].number;
        all = all && (args[i].number || args[i].fixed);
        wide[i] = real_datum(TYPE_DOUBLE, args[i].number ? args[i].precise : (double)args[i].integer, CERTAIN);
    }
    result->number = number && all && is_real(result->type);
    if (result->number)
        result->precise = apply(op, wide, count, strict).real;
}

Datum datum_operator(Op op, const Datum *given, int count, bool strict) {
    Datum args[3] = {{0}};
    bool indices = true, fixed = true;
    ElementType type = common_type(op, given, count);
    if (is_function(op))
        type = function_type(type);
    for (int i = 0; i < count; i++)
        indices = indices && given[i].index, fixed = fixed && given[i].fixed;
    indices = indices && !is_function(op);
    for (int i = 0; i < count; i++) {
        args[i] = indices ? given[i] : datum_as(given[i], type);
        if (indices)
            args[i].type = TYPE_INT64;
    }
    Datum result = apply(op, args, count, strict);
    if (indices && result.type != TYPE_BOOL) {
        result.index = true;
        result.fixed = fixed;
        result.type = type;
    }
    keep_number(op, given, count, &result, strict);
    return result;
}

/* --- comparing --- */

static bool near(ElementType type, double wanted, double found) {
    int exponent;
    if (wanted == found || (isnan(wanted) && isnan(found)))
        return true;
    if (isnan(wanted) || isnan(found))
        return false;
    double most = rows[type].most, a = isinf(wanted) ? copysign(most, wanted) : wanted;
    double b = isinf(found) ? copysign(most, found) : found;
    frexp(a, &exponent);
    int step = exponent - rows[type].digits > rows[type].least ? exponent - rows[type].digits : rows[type].least;
    return fabs(a / 2 - b / 2) <= ldexp(4.5, step - 1);
}

bool datum_allows(const Datum *wanted, const Datum *found) {
    if (wanted->certainty == UNKNOWN)
        return true;
    if (!is_real(wanted->type))
        return wanted->integer == found->integer;
    if (wanted->certainty == NEAR)
        return near(wanted->type, wanted->real, found->real);
    return (isnan(wanted->real) && isnan(found->real)) ||
           (wanted->real == found->real && signbit(wanted->real) == signbit(found->real));
}
