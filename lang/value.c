/* value.c - arithmetic on single values in their exact types.
 *
 * Integers are kept extended to 64 bits and wrap to their type after each operation; floats are computed in double and
 * rounded to their type, to nearest even, after each operation. For + - * / and sqrt of float and narrower types that
 * is the correctly rounded result, since double has more than twice the digits. Division and modulo of integers floor,
 * and by zero give 0 both. Arithmetic on bool is C's: 0 is false, all else true.
 */
#include "lang/value.h"
#include "lang/diag.h"

#include <math.h>
#include <string.h>

/* --- half and bfloat16 -------------------------------------------------------------------------------------------- */

static uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent == 31) /* infinity, or a NaN, made quiet as processors do */
        return float_of_bits(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Shifts right, rounding to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t bits, int shift) {
    uint32_t half = 1u << (shift - 1), rest = bits & ((half << 1) - 1);
    bits >>= shift;
    return bits + (rest > half || (rest == half && (bits & 1)));
}

uint16_t float_to_half(float value) {
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x47800000) /* 65536 and above */
        return (uint16_t)(sign | 0x7c00);
    if (bits >= 0x38800000) /* normal; a carry out of the fraction raises the exponent, up to infinity */
        return (uint16_t)(sign | (shift_rounded(bits, 13) - (112u << 10)));
    if (bits < 0x33000000) /* below half of the smallest */
        return (uint16_t)sign;
    int shift = 126 - (int)(bits >> 23);
    return (uint16_t)(sign | shift_rounded((bits & 0x7fffff) | 0x800000, shift));
}

float bfloat16_to_float(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}

uint16_t float_to_bfloat16(float value) {
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_rounded(bits, 16);
}

/* --- rounding to a type ------------------------------------------------------------------------------------------- */

/* The double nearest to value among those with `digits` binary digits, exponents from least_exponent on (that of the
 * smallest normal number) and magnitude up to largest; above is infinity. */
static double round_to_digits(double value, int digits, int least_exponent, double largest) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 2047) - 1023, drop = 53 - digits;
    if (exponent == 1024 || value == 0)
        return value;
    if (exponent < least_exponent) {
        double unit = ldexp(1, least_exponent - digits + 1);
        return rint(value / unit) * unit;
    }
    bits += (1ull << (drop - 1)) - 1 + (bits >> drop & 1);
    bits &= ~((1ull << drop) - 1);
    memcpy(&value, &bits, sizeof value);
    return fabs(value) > largest ? copysign(INFINITY, value) : value;
}

double value_round(ElementType type, double real) {
    switch (type) {
    case TYPE_HALF: return round_to_digits(real, 11, -14, 65504);
    case TYPE_BFLOAT16: return round_to_digits(real, 8, -126, 0x1.fep127);
    case TYPE_FLOAT: return (float)real;
    default: return real;
    }
}

int64_t value_wrap(ElementType type, int64_t integer) {
    switch (type) {
    case TYPE_BOOL: return integer != 0;
    case TYPE_INT8: return (int8_t)integer;
    case TYPE_INT16: return (int16_t)integer;
    case TYPE_INT32: return (int32_t)integer;
    case TYPE_UINT8: return (uint8_t)integer;
    case TYPE_UINT16: return (uint16_t)integer;
    case TYPE_UINT32: return (uint32_t)integer;
    default: return integer;
    }
}

int64_t integer_limit(ElementType type, bool largest) {
    const ElementInfo *info = &element_info[type];
    if (info->kind == KIND_BOOL)
        return largest;
    uint64_t ones = UINT64_MAX >> (64 - 8 * info->bytes);
    if (info->kind == KIND_UNSIGNED)
        return largest ? (int64_t)ones : 0;
    return largest ? (int64_t)(ones >> 1) : -(int64_t)(ones >> 1) - 1;
}

double type_roundoff(ElementType type) {
    switch (type) {
    case TYPE_HALF: return 0x1p-11;
    case TYPE_BFLOAT16: return 0x1p-8;
    case TYPE_FLOAT: return 0x1p-24;
    case TYPE_DOUBLE: return 0x1p-53;
    default: return 0;
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

Value value_load(ElementType type, const void *at) {
    Value value = {.type = type};
    uint16_t bits;
    float single;
    switch (type) {
    case TYPE_HALF:
    case TYPE_BFLOAT16:
        memcpy(&bits, at, sizeof bits);
        value.real = type == TYPE_HALF ? half_to_float(bits) : bfloat16_to_float(bits);
        break;
    case TYPE_FLOAT:
        memcpy(&single, at, sizeof single);
        value.real = single;
        break;
    case TYPE_DOUBLE: memcpy(&value.real, at, sizeof value.real); break;
    default: /* the low bytes come first on every machine that runs this */
        memcpy(&value.integer, at, (size_t)element_info[type].bytes);
        value.integer = value_wrap(type, value.integer);
    }
    return value;
}

void value_store(Value value, void *at) {
    uint16_t bits;
    float single;
    switch (value.type) {
    case TYPE_HALF:
    case TYPE_BFLOAT16:
        single = (float)value.real;
        bits = value.type == TYPE_HALF ? float_to_half(single) : float_to_bfloat16(single);
        memcpy(at, &bits, sizeof bits);
        break;
    case TYPE_FLOAT:
        single = (float)value.real;
        memcpy(at, &single, sizeof single);
        break;
    default: memcpy(at, &value.integer, (size_t)element_info[value.type].bytes);
    }
}

/* --- casts -------------------------------------------------------------------------------------------------------- */

static int64_t real_to_integer(double real, ElementType type) {
    if (type == TYPE_BOOL)
        return real != 0;
    if (isnan(real))
        return 0;
    bool is_unsigned = element_info[type].kind == KIND_UNSIGNED;
    int bits = 8 * element_info[type].bytes - !is_unsigned;
    double above = ldexp(1, bits); /* the first value too large */
    if (real >= above)
        return integer_limit(type, true);
    if (real < (is_unsigned ? 0 : -above))
        return integer_limit(type, false);
    return real >= 0x1p63 ? (int64_t)(uint64_t)real : (int64_t)real;
}

/* Beyond the digits of a double the lowest bit kept says whether any was lost, so that rounding again, to a narrower
 * type, rounds as if from the integer itself. */
static double integer_to_real(int64_t integer, ElementType from, ElementType to) {
    if (from == TYPE_UINT64 && integer < 0) {
        uint64_t bits = (uint64_t)integer;
        if (to == TYPE_DOUBLE)
            return (double)bits;
        return value_round(to, (double)((bits >> 11 | ((bits & 2047) != 0)) << 11));
    }
    if (to != TYPE_DOUBLE && (integer >= 1LL << 53 || integer <= -(1LL << 53)))
        integer = (integer & ~2047LL) | (integer & 2047 ? 2048 : 0);
    return value_round(to, (double)integer);
}

Value value_cast(Value value, ElementType type) {
    Value result = {.type = type};
    bool from_float = type_is_float(value.type), to_float = type_is_float(type);
    if (from_float && to_float)
        result.real = value_round(type, value.real);
    else if (from_float)
        result.integer = real_to_integer(value.real, type);
    else if (to_float)
        result.real = integer_to_real(value.integer, value.type, type);
    else
        result.integer = value_wrap(type, value.integer);
    return result;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

/* Unsigned types compare and divide by their bits. */
static bool integer_less(ElementType type, int64_t a, int64_t b) {
    return type == TYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

bool integer_overflows(Op op, int64_t a, int64_t b) {
    int64_t result;
    switch (op) {
    case OP_ADD: return __builtin_add_overflow(a, b, &result);
    case OP_SUB: return __builtin_sub_overflow(a, b, &result);
    case OP_MUL: return __builtin_mul_overflow(a, b, &result);
    case OP_DIV:
    case OP_MOD: return b == 0 || (a == INT64_MIN && b == -1);
    case OP_NEG:
    case OP_ABS: return a == INT64_MIN;
    default: return false;
    }
}

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t floor_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1)
        return 0;
    int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t apply_integer(Op op, ElementType type, int64_t a, int64_t b) {
    bool wide = type == TYPE_UINT64;
    switch (op) {
    case OP_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case OP_DIV: return !wide ? floor_div(a, b) : b ? (int64_t)((uint64_t)a / (uint64_t)b) : 0;
    case OP_MOD: return !wide ? floor_mod(a, b) : b ? (int64_t)((uint64_t)a % (uint64_t)b) : 0;
    case OP_MIN: return integer_less(type, b, a) ? b : a;
    case OP_MAX: return integer_less(type, a, b) ? b : a;
    case OP_NEG: return (int64_t)(0 - (uint64_t)a);
    case OP_ABS: return a < 0 && !wide ? (int64_t)(0 - (uint64_t)a) : a;
    default: INTERNAL_ERROR("operator %s on integers", op_info[op].name);
    }
}

static double apply_real(Op op, double a, double b) {
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_MOD: return fmod(a, b);
    case OP_MIN: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case OP_MAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case OP_NEG: return -a;
    default: /* OP_ABS */ return fabs(a);
    }
}

bool op_compares(Op op, bool less, bool equal, bool greater) {
    const ComparisonInfo *info = &comparison_info[op];
    return less ? info->less : equal ? info->equal : greater ? info->greater : info->unordered;
}

static Value apply_compare(Op op, const Value *args) {
    Value a = args[0], b = args[1], result = {.type = TYPE_BOOL};
    if (type_is_float(a.type))
        result.integer = op_compares(op, a.real<b.real, a.real == b.real, a.real> b.real);
    else
        result.integer = op_compares(op, integer_less(a.type, a.integer, b.integer), a.integer == b.integer,
                                     integer_less(a.type, b.integer, a.integer));
    return result;
}

static Value apply_logic(Op op, const Value *args) {
    int64_t a = args[0].integer;
    int64_t result = op == OP_NOT ? !a : op == OP_AND ? a && args[1].integer : a || args[1].integer;
    return (Value){.type = TYPE_BOOL, .integer = result};
}

/* --- built-in functions ------------------------------------------------------------------------------------------- */

/* Those of the C library. */
static const union {
    double (*of_1)(double);
    double (*of_2)(double, double);
    double (*of_3)(double, double, double);
} functions[OP_COUNT] = {
#define NONE NULL
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, ...) [OP_##id] = {.of_##arity = libm},
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

/* The next value of the type itself after a towards b. The 16-bit types step by their bits. */
static double next_after(ElementType type, double a, double b) {
    if (type == TYPE_DOUBLE)
        return nextafter(a, b);
    if (type == TYPE_FLOAT)
        return nextafterf((float)a, (float)b);
    if (isnan(a) || isnan(b) || a == b)
        return a == b ? b : NAN;
    uint16_t bits;
    value_store((Value){.type = type, .real = a == 0 ? copysign(0, b) : a}, &bits);
    bool away_from_zero = a == 0 || (a < b) == (a > 0);
    bits = (uint16_t)(away_from_zero ? bits + 1 : bits - 1);
    return value_load(type, &bits).real;
}

static double apply_function(Op op, ElementType type, const Value *args) {
    double a = args[0].real;
    int arity = op_info[op].arity;
    if (op == OP_NEXTAFTER)
        return next_after(type, a, args[1].real);
    if (op == OP_FMA && type == TYPE_FLOAT)
        return fmaf((float)a, (float)args[1].real, (float)args[2].real);
    if (op == OP_RSQRT)
        return 1 / sqrt(a);
    if (!functions[op].of_1)
        INTERNAL_ERROR("function %s has no value", op_info[op].spelling);
    return arity == 1   ? functions[op].of_1(a)
           : arity == 2 ? functions[op].of_2(a, args[1].real)
                        : functions[op].of_3(a, args[1].real, args[2].real);
}

Value value_apply(Op op, const Value *args) {
    ElementType type = args[0].type;
    int64_t second = op_info[op].arity > 1 ? args[1].integer : 0;
    switch (op_info[op].class) {
    case CLASS_COMPARE: return apply_compare(op, args);
    case CLASS_LOGIC: return apply_logic(op, args);
    case CLASS_SELECT: return args[0].integer ? args[1] : args[2];
    case CLASS_MATH: return (Value){.type = type, .real = value_round(type, apply_function(op, type, args))};
    default:
        if (!type_is_float(type))
            return (Value){.type = type, .integer = value_wrap(type, apply_integer(op, type, args[0].integer, second))};
        double b = op_info[op].arity > 1 ? args[1].real : 0;
        return (Value){.type = type, .real = value_round(type, apply_real(op, args[0].real, b))};
    }
}

/* --- random contents ---------------------------------------------------------------------------------------------- */

#define RANDOM_STEP 0x9e3779b97f4a7c15u

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators: splitmix64's output for one state. */
static uint64_t mix(uint64_t state) {
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    state = (state ^ state >> 27) * 0x94d049bb133111ebu;
    return state ^ state >> 31;
}

/* As many random digits as the type holds in [-1, 1), so that nothing is rounded. */
static void fill_reals(ElementType type, char *at, int64_t count, uint64_t state) {
    int digits = -ilogb(type_roundoff(type)), bytes = element_info[type].bytes;
    double scale = ldexp(1, 1 - digits);
    for (int64_t i = 0; i < count; i++, at += bytes) {
        double value = (double)(mix(state += RANDOM_STEP) >> (64 - digits)) * scale - 1;
        if (type == TYPE_FLOAT)
            *(float *)(void *)at = (float)value;
        else
            value_store((Value){.type = type, .real = value}, at);
    }
}

static int64_t random_integer(ElementType type, uint64_t random, int64_t low, int64_t high) {
    if (type != TYPE_UINT64) {
        int64_t least = integer_limit(type, false), most = integer_limit(type, true);
        low = low < least ? least : low > most ? most : low;
        high = high > most ? most : high < low ? low : high;
    }
    uint64_t width = (uint64_t)high - (uint64_t)low + 1;
    return (int64_t)((uint64_t)low + (width ? random % width : random));
}

static void fill_integers(ElementType type, char *at, int64_t count, uint64_t state, int64_t low, int64_t high) {
    for (int64_t i = 0; i < count; i++, at += element_info[type].bytes) {
        int64_t value = random_integer(type, mix(state += RANDOM_STEP), low, high);
        value_store((Value){.type = type, .integer = value}, at);
    }
}

void fill_random(ElementType type, void *data, int64_t count, uint64_t seed, int64_t low, int64_t high) {
    uint64_t state = mix(seed + 1);
    if (type_is_float(type))
        fill_reals(type, data, count, state);
    else
        fill_integers(type, data, count, state, low, high);
}
