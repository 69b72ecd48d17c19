/* registers.c - buffers of scope register: allocas of vectors that mem2reg turns into SSA values.
 *
 * All indices are constants. The buffer is cut into pieces. If the vectors that are read and stored overlap wholly or
 * not at all, each is a piece, whatever its stride: a register tile. Otherwise the beginnings and ends of accesses cut
 * the buffer, so that each access is made of whole pieces. Pieces hold values: half and bfloat16 as floats, bool as i1.
 * A buffer of shuffled vectors holds what memory has, which may be half as wide.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/program.h"

#include <string.h>

/* The elements first, first + stride, ...: `lanes` of them. Stride 0: the same one in all lanes. */
typedef struct RegisterElements {
    int64_t first, stride;
    int lanes;
} RegisterElements;

typedef struct RegisterPiece {
    RegisterElements elements; /* with a stride of at least 1 */
    LLVMValueRef alloca;
} RegisterPiece;

struct Registers {
    const Tensor *tensor;
    int64_t extent;
    bool as_memory;
    int count;
    RegisterPiece *pieces;
    int *piece_at; /* element -> its piece, plus 1 */
};

/* --- what is accessed --- */

static RegisterElements elements_of(const Expr *index, int lanes) {
    RegisterElements elements = {.lanes = lanes, .stride = 0};
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

static int64_t element_at(const RegisterElements *elements, int lane) {
    return elements->first + lane * elements->stride;
}

static bool same_elements(const RegisterElements *a, const RegisterElements *b) {
    return a->first == b->first && a->lanes == b->lanes && (a->stride == b->stride || a->lanes == 1);
}

/* What is accessed of a buffer inside an allocation of it. */
typedef struct Accesses {
    Arena *arena;
    int64_t extent;
    bool shuffles; /* some stores keep shuffled vectors */
    LIST(RegisterElements) list;
} Accesses;

static void add_access(Accesses *accesses, const Expr *index, int lanes) {
    RegisterElements elements = elements_of(index, lanes);
    int64_t last = element_at(&elements, lanes - 1);
    ENSURE(elements.first >= 0 && elements.first < accesses->extent && last >= 0 && last < accesses->extent);
    if (elements.stride == 0)
        elements = (RegisterElements){elements.first, 1, 1};
    list_push(accesses->arena, &accesses->list, elements);
}

static int64_t extent_of(const Tensor *tensor) {
    int64_t extent = tensor_elements(tensor);
    if (extent < 0)
        INTERNAL_ERROR("the register buffer %s has no constant size", tensor->name);
    return extent;
}

typedef struct AccessWalk {
    Code *code;
    Map open; /* Tensor -> Accesses of the allocation around */
} AccessWalk;

static void note_own(const AccessWalk *walk, const Stmt *stmt) {
    Accesses *stored = stmt->kind == STMT_STORE ? address_map_get(&walk->open, stmt->tensor) : NULL;
    if (stored)
        stored->shuffles |= stmt->value->kind == EXPR_SHUFFLE;
    if (stored && stmt->index_count)
        add_access(stored, stmt->index[0], stmt->value->lanes);
    EACH_STMT_READ(read, stmt) {
        Accesses *loaded = read->count ? address_map_get(&walk->open, read->tensor) : NULL;
        if (loaded)
            add_access(loaded, read->args[0], read->lanes);
    }
}

static void note_statements(AccessWalk *walk, Stmt *const *statements, int count);

/* Notes the accesses of the allocation, and of all allocations of registers inside: one walk serves them all. */
static Accesses *note_allocation(AccessWalk *walk, const Stmt *allocation) {
    Arena *arena = walk->code->arena;
    Accesses *own = ARENA_NEW(arena, Accesses), *outer = address_map_get(&walk->open, allocation->tensor);
    *own = (Accesses){.arena = arena, .extent = extent_of(allocation->tensor)};
    address_map_set(arena, &walk->code->accesses, allocation, own);
    address_map_set(arena, &walk->open, allocation->tensor, own);
    note_statements(walk, allocation->body, allocation->count);
    address_map_set(arena, &walk->open, allocation->tensor, outer);
    return own;
}

static void note_statements(AccessWalk *walk, Stmt *const *statements, int count) {
    for (int i = 0; i < count; i++) {
        const Stmt *stmt = statements[i];
        if (stmt->kind == STMT_ALLOCATE && stmt->tensor->scope == SCOPE_REGISTER) {
            note_allocation(walk, stmt);
            continue;
        }
        note_own(walk, stmt);
        note_statements(walk, stmt->body, stmt->count);
        note_statements(walk, stmt->otherwise, stmt->otherwise_count);
    }
}

static const Accesses *accesses_of(Code *code, const Stmt *allocation) {
    const Accesses *known = address_map_get(&code->accesses, allocation);
    return known ? known : note_allocation(&(AccessWalk){.code = code}, allocation);
}

/* --- the pieces --- */

static void add_piece(struct Registers *registers, RegisterElements elements) {
    registers->pieces[registers->count++].elements = elements;
    for (int lane = 0; lane < elements.lanes; lane++)
        registers->piece_at[element_at(&elements, lane)] = registers->count;
}

static void forget_pieces(struct Registers *registers) {
    registers->count = 0;
    memset(registers->piece_at, 0, sizeof *registers->piece_at * (size_t)registers->extent);
}

/* Adds a piece for the vector unless it is one; false if it partly overlaps others. */
static bool add_vector(struct Registers *registers, RegisterElements elements) {
    int piece = registers->piece_at[elements.first];
    if (piece && same_elements(&registers->pieces[piece - 1].elements, &elements))
        return true;
    for (int lane = 0; lane < elements.lanes; lane++)
        if (registers->piece_at[element_at(&elements, lane)])
            return false;
    if (elements.stride < 0)
        return false;
    add_piece(registers, elements);
    return true;
}

static bool cut_by_vectors(struct Registers *registers, const Accesses *accesses) {
    for (int i = 0; i < accesses->list.count; i++)
        if (accesses->list.items[i].lanes > 1 && !add_vector(registers, accesses->list.items[i]))
            return false;
    for (int64_t e = 0; e < registers->extent; e++)
        if (!registers->piece_at[e])
            add_piece(registers, (RegisterElements){e, 1, 1});
    return true;
}

static void cut_by_ends(Arena *arena, struct Registers *registers, const Accesses *accesses) {
    bool *cut = ARENA_ARRAY(arena, bool, registers->extent + 1);
    for (int i = 0; i < accesses->list.count; i++) {
        RegisterElements elements = accesses->list.items[i];
        int length = elements.stride == 1 ? elements.lanes : 1;
        for (int lane = 0; lane < elements.lanes; lane += length) {
            int64_t begin = element_at(&elements, lane);
            cut[begin] = cut[begin + length] = true;
        }
    }
    cut[registers->extent] = true;
    for (int64_t begin = 0, end; begin < registers->extent; begin = end) {
        for (end = begin + 1; !cut[end];)
            end++;
        add_piece(registers, (RegisterElements){begin, 1, (int)(end - begin)});
    }
}

/* --- what is kept --- */

bool registers_hold_memory(const struct Registers *registers) {
    return registers->as_memory;
}

static LLVMTypeRef vector_type(Code *code, const struct Registers *registers, int lanes) {
    return registers->as_memory ? vector_of(memory_type(code, registers->tensor->type), padded_lanes(lanes))
                                : value_type(code, registers->tensor->type, lanes);
}

struct Registers *registers_new(Code *code, const Stmt *allocation) {
    struct Registers *registers = ARENA_NEW(code->arena, struct Registers);
    const Tensor *tensor = allocation->tensor;
    const Accesses *accesses = accesses_of(code, allocation);
    *registers = (struct Registers){.tensor = tensor, .extent = accesses->extent, .as_memory = accesses->shuffles};
    registers->pieces = ARENA_ARRAY(code->arena, RegisterPiece, registers->extent);
    registers->piece_at = ARENA_ARRAY(code->arena, int, registers->extent);
    if (!cut_by_vectors(registers, accesses)) {
        forget_pieces(registers);
        cut_by_ends(code->arena, registers, accesses);
    }
    for (int i = 0; i < registers->count; i++) {
        LLVMTypeRef type = vector_type(code, registers, registers->pieces[i].elements.lanes);
        registers->pieces[i].alloca = entry_alloca(code, type, 0, tensor->name);
    }
    return registers;
}

/* --- reads and writes --- */

static const RegisterPiece *piece_of(const struct Registers *registers, int64_t element) {
    return &registers->pieces[registers->piece_at[element] - 1];
}

static LLVMValueRef piece_load(Code *code, const RegisterPiece *piece) {
    return LLVMBuildLoad2(code->builder, LLVMGetAllocatedType(piece->alloca), piece->alloca, "");
}

static LLVMValueRef lane_in_piece(Code *code, const RegisterPiece *piece, int64_t element) {
    return index_constant(code, (element - piece->elements.first) / piece->elements.stride);
}

static LLVMValueRef element_load(Code *code, const struct Registers *registers, int64_t element) {
    const RegisterPiece *piece = piece_of(registers, element);
    LLVMValueRef value = piece_load(code, piece);
    if (piece->elements.lanes == 1)
        return value;
    return LLVMBuildExtractElement(code->builder, value, lane_in_piece(code, piece, element), "");
}

/* Puts `count` lanes of part into the lanes of whole, from `at` on. */
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

/* How many lanes, from `lane` on, are a whole piece; 0: they are not. */
static int whole_piece_lanes(const RegisterPiece *piece, const RegisterElements *elements, int lane) {
    const RegisterElements *own = &piece->elements;
    bool fits = own->first == element_at(elements, lane) && own->lanes <= elements->lanes - lane;
    return fits && (own->stride == elements->stride || own->lanes == 1) ? own->lanes : 0;
}

LLVMValueRef registers_read(Code *code, struct Registers *registers, const Expr *index, int lanes) {
    RegisterElements elements = elements_of(index, lanes);
    const RegisterPiece *first = piece_of(registers, elements.first);
    if (same_elements(&first->elements, &elements))
        return piece_load(code, first);
    if (lanes == 1 || elements.stride == 0)
        return emit_splat(code, element_load(code, registers, elements.first), lanes);
    LLVMValueRef value = LLVMGetPoison(vector_type(code, registers, lanes));
    for (int lane = 0; lane < lanes;) {
        int64_t element = element_at(&elements, lane);
        const RegisterPiece *piece = piece_of(registers, element);
        int whole = whole_piece_lanes(piece, &elements, lane);
        LLVMValueRef part = whole ? piece_load(code, piece) : element_load(code, registers, element);
        value = insert_lanes(code, value, part, lane, whole ? whole : 1);
        lane += whole ? whole : 1;
    }
    return value;
}

static void element_store(Code *code, const struct Registers *registers, int64_t element, LLVMValueRef value) {
    const RegisterPiece *piece = piece_of(registers, element);
    if (piece->elements.lanes > 1)
        value = LLVMBuildInsertElement(code->builder, piece_load(code, piece), value,
                                       lane_in_piece(code, piece, element), "");
    LLVMBuildStore(code->builder, value, piece->alloca);
}

void registers_write(Code *code, struct Registers *registers, const Expr *index, LLVMValueRef value, int lanes) {
    RegisterElements elements = elements_of(index, lanes);
    const RegisterPiece *first = piece_of(registers, elements.first);
    if (same_elements(&first->elements, &elements)) {
        LLVMBuildStore(code->builder, value, first->alloca);
        return;
    }
    for (int lane = 0; lane < lanes;) {
        int64_t element = element_at(&elements, lane);
        const RegisterPiece *piece = piece_of(registers, element);
        int whole = whole_piece_lanes(piece, &elements, lane), step = whole ? whole : 1;
        LLVMValueRef part = lanes == 1 ? value : extract_lanes(code, value, lane, step);
        if (whole)
            LLVMBuildStore(code->builder, part, piece->alloca);
        else
            element_store(code, registers, element, part);
        lane += step;
    }
}
