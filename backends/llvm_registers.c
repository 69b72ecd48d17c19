/* llvm_registers.c - buffers of scope register: allocas of vectors that mem2reg turns into SSA values.
 *
 * All indices are constants. The places where accesses begin and end cut the buffer into pieces, so that each access is
 * made of whole pieces; when all accesses are the same aligned vectors, as in a register tile, each piece is one of them.
 * What is kept are values: half and bfloat16 as floats, bool as i1.
 */
#include "backends/llvm_code.h"
#include "lang/diag.h"
#include "lang/expr.h"

#include <stdlib.h>
#include <string.h>

typedef struct Piece {
    int64_t begin;
    int lanes;
    LLVMValueRef alloca;
} Piece;

struct Registers {
    const Tensor *tensor;
    int64_t extent;
    int count;
    Piece *pieces;
    int *piece_at; /* element -> its piece */
};

/* --- what is accessed --- */

/* first, first + stride, ...: `lanes` elements. */
typedef struct Elements {
    int64_t first, stride;
    int lanes;
} Elements;

static Elements elements_of(const Expr *index, int lanes) {
    Elements elements = {.lanes = lanes, .stride = 0};
    bool constant;
    if (index->kind == EXPR_RAMP)
        constant = expr_is_int(index->args[0], &elements.first) && expr_is_int(index->args[1], &elements.stride);
    else
        constant = expr_is_int(index->kind == EXPR_BROADCAST ? index->args[0] : index, &elements.first);
    if (!constant)
        INTERNAL_ERROR("a register buffer is indexed by what is not constant");
    if (lanes == 1)
        elements.stride = 1;
    return elements;
}

typedef struct Cuts {
    const Tensor *tensor;
    int64_t extent;
    bool *cut; /* [extent + 1] */
} Cuts;

static void add_cuts(Cuts *cuts, const Expr *index, int lanes) {
    Elements elements = elements_of(index, lanes);
    int64_t length = elements.stride == 1 ? lanes : 1;
    int runs = elements.stride == 1 || elements.stride == 0 ? 1 : lanes;
    for (int i = 0; i < runs; i++) {
        int64_t begin = elements.first + i * elements.stride;
        ENSURE(begin >= 0 && begin + length <= cuts->extent);
        cuts->cut[begin] = cuts->cut[begin + length] = true;
    }
}

static bool cut_for_read(const Expr *e, void *context) {
    Cuts *cuts = context;
    if (e->kind == EXPR_READ && e->tensor == cuts->tensor && e->count)
        add_cuts(cuts, e->args[0], e->lanes);
    return true;
}

static void cut_for_expr(Cuts *cuts, const Expr *e) {
    if (e)
        expr_walk(e, cut_for_read, cuts);
}

static void cut_for_statements(Cuts *cuts, Stmt *const *statements, int count) {
    for (int i = 0; i < count; i++) {
        const Stmt *stmt = statements[i];
        if (stmt->kind == STMT_STORE && stmt->tensor == cuts->tensor && stmt->index_count)
            add_cuts(cuts, stmt->index[0], stmt->value->lanes);
        for (int d = 0; d < stmt->index_count; d++)
            cut_for_expr(cuts, stmt->index[d]);
        cut_for_expr(cuts, stmt->extent);
        cut_for_expr(cuts, stmt->condition);
        cut_for_expr(cuts, stmt->value);
        cut_for_expr(cuts, stmt->guard);
        cut_for_statements(cuts, stmt->body, stmt->count);
        cut_for_statements(cuts, stmt->otherwise, stmt->otherwise_count);
    }
}

/* --- the buffer --- */

static int64_t extent_of(const Tensor *tensor) {
    int64_t extent = 1;
    for (int d = 0; d < tensor->rank; d++) {
        int64_t size;
        if (!expr_is_int(tensor->dims[d], &size))
            INTERNAL_ERROR("the register buffer %s has no constant size", tensor->name);
        extent *= size;
    }
    return extent;
}

static void add_piece(Code *code, struct Registers *registers, int64_t begin, int64_t end) {
    Piece *piece = &registers->pieces[registers->count];
    *piece = (Piece){.begin = begin, .lanes = (int)(end - begin)};
    LLVMTypeRef type = value_type(code, registers->tensor->type, piece->lanes);
    piece->alloca = entry_alloca(code, type, 0, registers->tensor->name);
    for (int64_t i = begin; i < end; i++)
        registers->piece_at[i] = registers->count;
    registers->count++;
}

struct Registers *registers_new(Code *code, const Stmt *allocation) {
    struct Registers *registers = ARENA_NEW(code->arena, struct Registers);
    *registers = (struct Registers){.tensor = allocation->tensor, .extent = extent_of(allocation->tensor)};
    Cuts cuts = {allocation->tensor, registers->extent, ARENA_ARRAY(code->arena, bool, registers->extent + 1)};
    cuts.cut[0] = cuts.cut[registers->extent] = true;
    cut_for_statements(&cuts, allocation->body, allocation->count);
    registers->pieces = ARENA_ARRAY(code->arena, Piece, registers->extent);
    registers->piece_at = ARENA_ARRAY(code->arena, int, registers->extent);
    for (int64_t begin = 0, end; begin < registers->extent; begin = end) {
        for (end = begin + 1; !cuts.cut[end];)
            end++;
        add_piece(code, registers, begin, end);
    }
    return registers;
}

/* --- reads and writes --- */

static LLVMValueRef piece_load(Code *code, const Piece *piece) {
    return LLVMBuildLoad2(code->builder, LLVMGetAllocatedType(piece->alloca), piece->alloca, "");
}

static bool is_whole_piece(const struct Registers *registers, Elements elements) {
    const Piece *piece = &registers->pieces[registers->piece_at[elements.first]];
    return elements.stride == 1 && piece->begin == elements.first && piece->lanes == elements.lanes;
}

static LLVMValueRef element_load(Code *code, const struct Registers *registers, int64_t element) {
    const Piece *piece = &registers->pieces[registers->piece_at[element]];
    LLVMValueRef value = piece_load(code, piece);
    if (piece->lanes == 1)
        return value;
    return LLVMBuildExtractElement(code->builder, value, index_constant(code, element - piece->begin), "");
}

/* Puts part, of `count` lanes, into the lanes of whole from `at` on. */
static LLVMValueRef insert_lanes(Code *code, LLVMValueRef whole, LLVMValueRef part, int at, int count) {
    int lanes = lanes_of(whole), indices[lanes];
    if (lanes_of(part) == 1)
        return LLVMBuildInsertElement(code->builder, whole, part, index_constant(code, at), "");
    part = emit_resized(code, part, lanes);
    for (int i = 0; i < lanes; i++)
        indices[i] = i >= at && i < at + count ? lanes + i - at : i;
    return emit_shuffle(code, whole, part, indices, lanes);
}

static LLVMValueRef extract_lanes(Code *code, LLVMValueRef whole, int at, int count) {
    int padded = padded_lanes(count), indices[padded];
    if (count == 1)
        return LLVMBuildExtractElement(code->builder, whole, index_constant(code, at), "");
    for (int i = 0; i < padded; i++)
        indices[i] = i < count ? at + i : -1;
    return emit_shuffle(code, whole, NULL, indices, padded);
}

LLVMValueRef registers_read(Code *code, struct Registers *registers, const Expr *index, int lanes) {
    Elements elements = elements_of(index, lanes);
    if (is_whole_piece(registers, elements))
        return piece_load(code, &registers->pieces[registers->piece_at[elements.first]]);
    if (lanes == 1)
        return element_load(code, registers, elements.first);
    if (elements.stride == 0)
        return emit_splat(code, element_load(code, registers, elements.first), lanes);
    LLVMValueRef value = LLVMGetPoison(value_type(code, registers->tensor->type, lanes));
    for (int i = 0; i < lanes;) {
        int64_t element = elements.first + i * elements.stride;
        const Piece *piece = &registers->pieces[registers->piece_at[element]];
        bool whole = elements.stride == 1 && piece->begin == element;
        LLVMValueRef part = whole ? piece_load(code, piece) : element_load(code, registers, element);
        value = insert_lanes(code, value, part, i, whole ? piece->lanes : 1);
        i += whole ? piece->lanes : 1;
    }
    return value;
}

static void element_store(Code *code, const struct Registers *registers, int64_t element, LLVMValueRef value) {
    const Piece *piece = &registers->pieces[registers->piece_at[element]];
    if (piece->lanes > 1)
        value = LLVMBuildInsertElement(code->builder, piece_load(code, piece), value,
                                       index_constant(code, element - piece->begin), "");
    LLVMBuildStore(code->builder, value, piece->alloca);
}

void registers_write(Code *code, struct Registers *registers, const Expr *index, LLVMValueRef value, int lanes) {
    Elements elements = elements_of(index, lanes);
    if (is_whole_piece(registers, elements)) {
        LLVMBuildStore(code->builder, value, registers->pieces[registers->piece_at[elements.first]].alloca);
        return;
    }
    for (int i = 0; i < lanes;) {
        int64_t element = elements.first + i * elements.stride;
        const Piece *piece = &registers->pieces[registers->piece_at[element]];
        bool whole = elements.stride == 1 && piece->begin == element && lanes > 1;
        if (whole)
            LLVMBuildStore(code->builder, extract_lanes(code, value, i, piece->lanes), piece->alloca);
        else
            element_store(code, registers, element, lanes == 1 ? value : extract_lanes(code, value, i, 1));
        i += whole ? piece->lanes : 1;
    }
}
