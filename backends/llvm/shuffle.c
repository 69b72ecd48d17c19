/* shuffle.c - lanes of vectors in another order.
 *
 * What is read but not computed with is shuffled in its memory form: half and bfloat16 are half as wide as values.
 */
#include "backends/llvm/code.h"

bool is_copied(Code *code, const Expr *e) {
    const struct Registers *registers = e->kind == EXPR_READ ? buffer_of(code, e->tensor)->registers : NULL;
    bool copied = e->kind == EXPR_SHUFFLE || (e->kind == EXPR_READ && (!registers || registers_hold_memory(registers)));
    for (int i = 0; i < e->count && e->kind == EXPR_SHUFFLE; i++)
        copied &= is_copied(code, e->args[i]);
    return copied;
}

/* Joins any number of vectors into one. */
static LLVMValueRef in_one_vector(Code *code, LLVMValueRef *vectors, int count) {
    LLVMValueRef all = vectors[0];
    for (int v = 1, lanes = lanes_of(all); v < count; v++) {
        int indices[(v + 1) * lanes];
        for (int i = 0; i < (v + 1) * lanes; i++)
            indices[i] = i;
        all = emit_shuffle(code, all, emit_resized(code, vectors[v], v * lanes), indices, (v + 1) * lanes);
    }
    return all;
}

/* The lanes of vectors; padding lanes may follow each vector's own. */
static LLVMValueRef shuffle_vectors(Code *code, const Expr *e, LLVMValueRef *vectors) {
    int own = e->args[0]->lanes, lanes = lanes_of(vectors[0]), padded = padded_lanes(e->lanes), indices[padded];
    for (int i = 0; i < padded; i++) {
        int from = i < e->lanes ? e->pattern[i] : -1;
        indices[i] = from < 0 ? -1 : from / own * lanes + from % own;
    }
    if (e->lanes == 1 && indices[0] >= 0)
        return LLVMBuildExtractElement(code->builder, vectors[indices[0] / lanes],
                                       index_constant(code, indices[0] % lanes), "");
    LLVMValueRef all = e->count > 2 ? in_one_vector(code, vectors, e->count) : vectors[0];
    return emit_shuffle(code, all, e->count == 2 ? vectors[1] : NULL, indices, padded);
}

static LLVMValueRef emit_over(Code *code, const Expr *e, LLVMValueRef emit(Code *code, const Expr *e)) {
    LLVMValueRef vectors[e->count];
    for (int i = 0; i < e->count; i++)
        vectors[i] = emit(code, e->args[i]);
    return shuffle_vectors(code, e, vectors);
}

LLVMValueRef emit_stored(Code *code, const Expr *e) {
    return e->kind == EXPR_READ ? emit_stored_read(code, e) : emit_over(code, e, emit_stored);
}

LLVMValueRef emit_shuffled(Code *code, const Expr *e) {
    return is_copied(code, e) ? from_memory(code, emit_stored(code, e), e->type) : emit_over(code, e, emit_value);
}
