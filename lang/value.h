/* value.h - single values of every element type, and arrays of them: what interpreter and checks compute with. */
#ifndef LANG_VALUE_H
#define LANG_VALUE_H

#include "lang/tensorc.h"

/* A value in its exact type: integers sign- or zero-extended in `integer`, floats in `real` (half, bfloat16 and float
 * hold exactly representable doubles), bool 0 or 1 in `integer`. */
typedef struct Value {
    ElementType type;
    union {
        int64_t integer;
        double real;
    };
} Value;

Value value_load(ElementType type, const void *at);
void value_store(Value value, void *at);         /* in value.type */
Value value_cast(Value value, ElementType type); /* EXPR_CAST's rules */
/* An operator of ops.def on values of one type (SELECT: bool first); rounds to the type after each operation. */
Value value_apply(Op op, const Value *args);
/* What a comparison says where the first operand is less than, equal to or greater than the second, or none of them. */
bool op_compares(Op op, bool less, bool equal, bool greater);
/* real rounded to a float type (a double stays), integer wrapped to an integer type. */
double value_round(ElementType type, double real);
int64_t value_wrap(ElementType type, int64_t integer);
int64_t integer_limit(ElementType type, bool largest); /* smallest or largest value, uint64 by its bits; bool 0 or 1 */
double type_roundoff(ElementType type); /* the largest relative error of rounding to a float type; 0 for the others */
/* Floor division and modulo (its sign is the divisor's); by 0 both are 0. */
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);
/* Whether an int64 operation leaves the 64 bits or divides by 0. */
bool integer_overflows(Op op, int64_t a, int64_t b);
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value); /* round to nearest even */
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

/* Random contents from a seed, the same on every machine: floats in [-1, 1), integers in [low, high]. */
void fill_random(ElementType type, void *data, int64_t count, uint64_t seed, int64_t low, int64_t high);

#endif
