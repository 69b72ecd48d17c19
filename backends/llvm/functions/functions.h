/* functions.h - math functions of float and double as sequences of instructions, for scalars and vectors, within 4 ulp
 * for all numbers.
 *
 * Their accuracy never depends on fused multiply-adds: constants are split so that products with small whole numbers
 * are exact. No NaN is converted to an integer, which would be undefined.
 */
#ifndef BACKENDS_LLVM_FUNCTIONS_FUNCTIONS_H
#define BACKENDS_LLVM_FUNCTIONS_FUNCTIONS_H

#include "backends/llvm/lanes.h"

/* Coefficients of a series, for float and for double. */
typedef struct Series {
    const double *terms;
    int count;
} Series;
#define SERIES(terms)                                                                                                  \
    { terms, sizeof(terms) / sizeof *(terms) }
LLVMValueRef lanes_series(Lanes *l, LLVMValueRef x, const Series *series);

/* body(&x) by a function of its own, for rare cases. The module has one function for each name and type of x. */
typedef LLVMValueRef ApartFunction(Lanes *l, const void *context, LLVMValueRef *args);
LLVMValueRef emit_apart(Lanes *l, const char *name, ApartFunction *body, const void *context, LLVMValueRef x);

/* --- the functions of ops.def, each in the file of its kind --- */

typedef LLVMValueRef RealFunction(Lanes *l, LLVMValueRef *args);
#define OWN(name, single) RealFunction emit_##name;
#define INTRINSIC(name)
#define LIBRARY
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, exactness, code, numbers, vectors, between) vectors
#include "lang/ops.def"
#undef OWN
#undef INTRINSIC
#undef LIBRARY
#undef OPERATOR
#undef FUNCTION

/* --- functions/exponentials.c --- */

/* x * y rounded, as a real and as an integer; for values below 2^22. */
LLVMValueRef round_to_whole(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *n);
/* x - rest - n * log(2) for a whole n; rest may be NULL. */
LLVMValueRef reduce_by_log2(Lanes *l, LLVMValueRef x, LLVMValueRef rest, LLVMValueRef n);
/* exp(r) - 1 for |r| <= log(2) / 2. */
LLVMValueRef reduced_expm1(Lanes *l, LLVMValueRef r);
/* x * 2^n, as a real and as an integer. */
LLVMValueRef scale_real(Lanes *l, LLVMValueRef x, LLVMValueRef real, LLVMValueRef n);
LLVMValueRef reduced_exp2(Lanes *l, LLVMValueRef f); /* 2^f for |f| <= 1/2 */

/* --- others --- */

/* functions/logarithms.c: m from sqrt(1/2) to sqrt(2) and n, a real, with x = m * 2^n, for a positive finite x. */
LLVMValueRef decompose_real(Lanes *l, LLVMValueRef x, LLVMValueRef *n);

#endif
