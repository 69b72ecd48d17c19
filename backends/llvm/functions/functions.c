/* functions.c - the functions that are sequences of instructions, of ops.def, and what they share; see
 * functions/functions.h.
 */
#include "backends/llvm/functions/functions.h"

LLVMValueRef lanes_series(Lanes *l, LLVMValueRef x, const Series *series) {
    const Series *own = &series[lanes_are_wide(l)];
    return lanes_polynomial(l, x, own->terms, own->count);
}

/* --- functions apart --- */

/* Defines the function apart, without source lines. */
static LLVMValueRef define_apart(Lanes *l, const char *name, ApartFunction *body, const void *context, int arity,
                                 bool rare) {
    LLVMTypeRef types[] = {l->real, l->real};
    Apart apart = apart_open(l->code, name, LLVMFunctionType(l->real, types, (unsigned)arity, false));
    if (rare)
        add_attribute(l->code, apart.function, (unsigned)LLVMAttributeFunctionIndex, "cold");
    apart_touches(l->code, &apart, APART_NO_MEMORY);
    LLVMValueRef args[] = {LLVMGetParam(apart.function, 0), arity > 1 ? LLVMGetParam(apart.function, 1) : NULL};
    LLVMBuildRet(l->b, body(l, context, args));
    return apart_close(l->code, &apart);
}

/* The module has one function for each name and type of the one or two arguments. */
static LLVMValueRef call_apart(Lanes *l, const char *name, ApartFunction *body, const void *context, LLVMValueRef *args,
                               int arity, bool rare) {
    int lanes = lanes_of(args[0]), bits = lanes_are_wide(l) ? 64 : 32;
    name = arena_printf(l->code->arena, "tensorc.%s.f%dx%d", name, bits, lanes);
    LLVMValueRef function = LLVMGetNamedFunction(l->code->module, name);
    return emit_call(l->code, function ? function : define_apart(l, name, body, context, arity, rare), args, arity);
}

LLVMValueRef emit_apart(Lanes *l, const char *name, ApartFunction *body, const void *context, LLVMValueRef x) {
    return call_apart(l, name, body, context, &x, 1, true);
}

/* --- the table --- */

/* a - b where a > b, else 0; propagates NaN. */
LLVMValueRef emit_fdim(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef below = LLVMBuildFCmp(l->b, LLVMRealOLE, args[0], args[1], "");
    return LLVMBuildSelect(l->b, below, lanes_number(l, 0), lanes_subtract(l, args[0], args[1]), "");
}

typedef enum Single { SINGLE_SAME, SINGLE_CALLED, SINGLE_DOUBLE_CALLED } Single;

typedef struct Sequence {
    RealFunction *emit; /* NULL: it is none */
    Single single;
} Sequence;

static const Sequence sequences[OP_COUNT] = {
#define OWN(name, single) {emit_##name, SINGLE_##single}
#define INTRINSIC(name) {NULL}
#define LIBRARY {NULL}
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, exactness, code, numbers, vectors, between) [OP_##id] = vectors,
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

static bool calls_library(Single single, bool wide) {
    return single == SINGLE_CALLED || (single == SINGLE_DOUBLE_CALLED && wide);
}

/* pow of doubles is exact enough only with fused products. */
static bool has_sequence(const Lanes *l, Op op) {
    return sequences[op].emit && (op != OP_POW || !lanes_are_wide(l) || l->code->target->fused_multiply_add);
}

static LLVMValueRef whole_function(Lanes *l, const void *context, LLVMValueRef *args) {
    const Op *op = context;
    return sequences[*op].emit(l, args);
}

/* Whether the kernel has so many sequences already that this one is called: they are most of the code then. */
static bool goes_apart(Lanes *l, Op op, LLVMValueRef x) {
    Code *code = l->code;
    int bytes = lanes_of(x) * (lanes_are_wide(l) ? 8 : 4), whole = code->target->vector_bytes;
    if (!code->kernel->functions_called || op_info[op].code != CODE_SEQUENCE)
        return false;
    code->functions_placed += bytes > whole ? bytes / whole : 1;
    return code->functions_placed > FUNCTIONS_IN_PLACE;
}

LLVMValueRef emit_function_of_reals(Code *code, Op op, bool wide, LLVMValueRef *args) {
    const Sequence *sequence = &sequences[op];
    Lanes lanes = lanes_like(code, wide ? code->f64 : code->f32, args[0]);
    if (!has_sequence(&lanes, op) || (lanes_of(args[0]) == 1 && calls_library(sequence->single, wide)))
        return NULL;
    if (goes_apart(&lanes, op, args[0]))
        return call_apart(&lanes, arena_printf(code->arena, "whole.%s", op_info[op].spelling), whole_function, &op,
                          args, op_info[op].arity, false);
    return sequence->emit(&lanes, args);
}
