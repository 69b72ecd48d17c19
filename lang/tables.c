/* tables.c - the X-macro tables as arrays, and the rules of element types. */
#include "lang/tensorc.h"

const ElementInfo element_info[TYPE_COUNT] = {
#define ELEMENT(id, spelling, kind, bytes, c_type) [TYPE_##id] = {spelling, KIND_##kind, bytes, c_type},
#include "lang/types.def"
#undef ELEMENT
};

const OpInfo op_info[OP_COUNT] = {
#define NONE
#define TEXT(name) #name
#define OPERATOR(id, spelling, arity, class, precedence, exactness, code, numbers, order, evaluated)                   \
    [OP_##id] = {#id, spelling, arity, CLASS_##class, precedence, "", EXACTNESS_##exactness, CODE_##code,              \
                 NUMBERS_##numbers, OPERANDS_##order, EVALUATED_##evaluated, BETWEEN_OTHER},
#define FUNCTION(id, spelling, arity, libm, exactness, code, numbers, vectors, between)                                \
    [OP_##id] = {#id, spelling, arity, CLASS_MATH, 0, TEXT(libm), EXACTNESS_##exactness, CODE_##code,                  \
                 NUMBERS_##numbers, OPERANDS_ORDERED, EVALUATED_ALL, BETWEEN_##between},
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

const ComparisonInfo comparison_info[OP_COUNT] = {
#define OPERATOR(...)
#define COMPARISON(id, spelling, opposite, exchanged, less, equal, greater, unordered)                                 \
    [OP_##id] = {OP_##opposite, OP_##exchanged, less, equal, greater, unordered},
#define FUNCTION(...)
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

const PrimInfo prim_info[PRIM_COUNT] = {
#define PRIMITIVE(id, spelling, positional, results, suggester, summary)                                               \
    [PRIM_##id] = {#spelling, positional, results, summary},
#include "lang/prims.def"
#undef PRIMITIVE
};

bool type_is_float(ElementType type) {
    return element_info[type].kind == KIND_FLOAT;
}

bool type_is_integer(ElementType type) {
    return element_info[type].kind == KIND_SIGNED || element_info[type].kind == KIND_UNSIGNED;
}

/* The signed type of a width: rows of types.def stand in this order. */
static ElementType signed_of(int bytes) {
    ElementType type = TYPE_INT8;
    while (element_info[type].bytes < bytes)
        type++;
    return type;
}

/* Kinds are ranked bool < signed < unsigned < float, so the higher kind decides, except that signed with unsigned is
 * signed. half with bfloat16 have no type of their width that holds both: float. */
ElementType type_promote(ElementType a, ElementType b) {
    const ElementInfo *info_a = &element_info[a], *info_b = &element_info[b];
    if (a == b)
        return a;
    if (info_a->kind == info_b->kind) {
        if (info_a->bytes == info_b->bytes)
            return TYPE_FLOAT;
        return info_a->bytes > info_b->bytes ? a : b;
    }
    if (type_is_integer(a) && type_is_integer(b))
        return signed_of(info_a->bytes > info_b->bytes ? info_a->bytes : info_b->bytes);
    return info_a->kind > info_b->kind ? a : b;
}
