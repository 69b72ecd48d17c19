/* memory.c - reads and stores of buffers in memory.
 *
 * The parts of an offset are added one by one, that of the outermost loop first and the constant last: LLVM hoists what
 * an inner loop does not change, and the elements of an unrolled tile differ in the displacement alone. Contiguous
 * lanes are one access, masked if there is a guard or the lanes are not a power of two. Small constant strides are
 * contiguous accesses, likewise masked, and a shuffle. Lanes that go down in memory are read upwards and reversed.
 * Lanes that wrap around a row are two loads. Lanes that are clamped at its ends are one load and an element for each
 * end. Everything else is a gather or scatter.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/expr.h"

#include <string.h>

/* --- addresses --- */

static LLVMValueRef advance(Code *code, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef elements) {
    return LLVMBuildInBoundsGEP2(code->builder, type, pointer, &elements, 1, "");
}

/* The pointer plus a part of an offset. The addresses of an unrolled tile share most parts, which are computed once in
 * a block: LLVM would find that out, but take longer than for all the rest. A value read from memory may change in a
 * block. */
static LLVMValueRef add_part(Code *code, LLVMTypeRef type, LLVMValueRef from, const Expr *part) {
    LLVMBasicBlockRef block = LLVMGetInsertBlock(code->builder);
    if (block != code->addresses_block)
        code->addresses.count = 0;
    code->addresses_block = block;
    for (int i = code->addresses.count - 1; i >= 0; i--) {
        const KnownAddress *known = &code->addresses.items[i];
        if (known->from == from && known->type == type && expr_equal(known->part, part))
            return known->address;
    }
    LLVMValueRef address = advance(code, type, from, emit_value(code, part));
    if (block == LLVMGetInsertBlock(code->builder) && !expr_reads(part))
        list_push(code->arena, &code->addresses, ((KnownAddress){from, address, type, part}));
    return address;
}

/* The address at an EXPR_INT or an EXPR_OFFSET. */
static LLVMValueRef element_address(Code *code, LLVMTypeRef type, LLVMValueRef pointer, const Expr *index) {
    ENSURE(index->kind == EXPR_OFFSET || index->kind == EXPR_INT);
    for (int i = 0; i < index->count; i++)
        pointer = add_part(code, type, pointer, index->args[i]);
    return index->integer ? advance(code, type, pointer, index_constant(code, index->integer)) : pointer;
}

/* --- one access --- */

typedef struct MemoryAccess {
    const Tensor *tensor;
    LLVMTypeRef type;  /* of an element in memory */
    LLVMValueRef base; /* the buffer */
    Expr *index;
    Expr *guard;
    int lanes;
    bool reversed; /* the lanes of guard and value are in memory from the last to the first */
} MemoryAccess;

Expr *index_in_buffer(Code *code, const Buffer *buffer, Expr *index) {
    if (!buffer->first)
        return index;
    if (index->kind == EXPR_INT)
        return expr_int(code->arena, index->integer - buffer->first);
    if (index->kind == EXPR_OFFSET)
        return expr_offset_beyond(code->arena, index, -buffer->first);
    ENSURE(index->kind == EXPR_RAMP);
    return expr_ramp(code->arena, index_in_buffer(code, buffer, index->args[0]), index->args[1], index->lanes);
}

static MemoryAccess access_of(Code *code, const Tensor *tensor, Expr **index, int count, Expr *guard, int lanes) {
    ENSURE(count <= 1);
    MemoryAccess access = {.tensor = tensor, .type = memory_type(code, tensor->type), .guard = guard, .lanes = lanes};
    const Buffer *buffer = buffer_of(code, tensor);
    access.index = index_in_buffer(code, buffer, count ? index[0] : expr_int(code->arena, 0));
    access.base = buffer->pointer;
    return access;
}

static bool constant_stride(const MemoryAccess *access, int64_t *stride) {
    return access->index->kind == EXPR_RAMP && expr_is_int(access->index->args[1], stride);
}

/* The first of reversed lanes under a guard may be before the buffer: its address is computed without "inbounds". */
static LLVMValueRef address_of(Code *code, const MemoryAccess *access) {
    Expr *index = access->index->kind == EXPR_RAMP ? access->index->args[0] : access->index;
    if (access->reversed && access->guard) {
        LLVMValueRef at = emit_value(code, index);
        return LLVMBuildGEP2(code->builder, access->type, access->base, &at, 1, "");
    }
    return element_address(code, access->type, access->base, index);
}

static int alignment_of(const MemoryAccess *access) {
    return element_info[access->tensor->type].bytes;
}

static LanesInMemory lanes_in_memory(const MemoryAccess *access) {
    return (LanesInMemory){access->type, alignment_of(access), access->lanes};
}

/* Reverses the first `lanes` lanes of a vector. */
static LLVMValueRef reversed_lanes(Code *code, LLVMValueRef value, int lanes) {
    int count = lanes_of(value), indices[count];
    for (int i = 0; i < count; i++)
        indices[i] = i < lanes ? lanes - 1 - i : -1;
    return emit_shuffle(code, value, NULL, indices, count);
}

/* The same elements in the order of memory, for lanes that go down. */
static MemoryAccess reversed_access(Code *code, const MemoryAccess *access, int64_t stride) {
    MemoryAccess reversed = *access;
    Expr *first = expr_offset_beyond(code->arena, access->index->args[0], stride * (access->lanes - 1));
    reversed.index = expr_ramp(code->arena, first, expr_int(code->arena, -stride), access->lanes);
    reversed.reversed = true;
    return reversed;
}

/* The mask of lanes that may touch memory: those that exist and that the guard allows; NULL: all. */
static LLVMValueRef access_mask(Code *code, const MemoryAccess *access) {
    int padded = padded_lanes(access->lanes);
    LLVMValueRef mask = access->guard ? emit_value(code, access->guard) : NULL;
    if (mask && lanes_of(mask) < padded)
        mask = emit_splat(code, mask, padded);
    else if (mask && access->reversed)
        mask = reversed_lanes(code, mask, access->lanes);
    if (access->lanes == padded)
        return mask;
    if (mask && access->reversed)
        mask = LLVMBuildFreeze(code->builder, mask, ""); /* padding lanes were poison */
    LLVMValueRef real = lane_mask(code, access->lanes, padded);
    return mask ? LLVMBuildAnd(code->builder, mask, real, "") : real;
}

/* --- loads --- */

static LLVMValueRef load(Code *code, const MemoryAccess *access, LLVMTypeRef type, LLVMValueRef address) {
    LLVMValueRef value = LLVMBuildLoad2(code->builder, type, address, "");
    LLVMSetAlignment(value, (unsigned)alignment_of(access));
    return value;
}

static LLVMValueRef masked_load(Code *code, const MemoryAccess *access, LLVMValueRef address, LLVMValueRef mask) {
    LLVMTypeRef type = vector_of(access->type, lanes_of(mask)), overloads[] = {type, code->pointer};
    LLVMValueRef args[] = {address, constant_int(code->i32, alignment_of(access)), held_mask(code, mask),
                           LLVMConstNull(type)};
    return emit_intrinsic(code, "llvm.masked.load", overloads, 2, args, 4);
}

/* Loads `lanes` contiguous elements into padded lanes. Without cheap masks LLVM loads an odd number piece by piece. */
static LLVMValueRef load_row(Code *code, const MemoryAccess *access, LLVMValueRef address, int lanes) {
    int padded = padded_lanes(lanes);
    if (lanes == padded || !has_masked_access(code, alignment_of(access)))
        return emit_resized(code, load(code, access, vector_of(access->type, lanes), address), padded);
    return masked_load(code, access, address, lane_mask(code, lanes, padded));
}

/* Spreads the mask of strided lanes to all elements from the first to the last; elements between lanes are left out. */
static LLVMValueRef spread_mask(Code *code, LLVMValueRef mask, int lanes, int stride) {
    int padded = padded_lanes(stride * (lanes - 1) + 1), indices[padded], none = lanes_of(mask);
    for (int i = 0; i < padded; i++)
        indices[i] = i % stride == 0 && i / stride < lanes ? i / stride : none;
    return emit_shuffle(code, mask, LLVMConstNull(LLVMTypeOf(mask)), indices, padded);
}

/* Another thread may store between the lanes: to LLVM such elements have no value, and they are dropped. */
static LLVMValueRef load_strided(Code *code, const MemoryAccess *access, int stride) {
    int span = stride * (access->lanes - 1) + 1, padded = padded_lanes(access->lanes), indices[padded];
    LLVMValueRef address = address_of(code, access), row;
    if (access->guard) /* an instruction has this mask */
        row = masked_load(code, access, address, spread_mask(code, access_mask(code, access), access->lanes, stride));
    else
        row = load_row(code, access, address, span);
    for (int i = 0; i < padded; i++)
        indices[i] = i < access->lanes ? i * stride : -1;
    return emit_shuffle(code, row, NULL, indices, padded);
}

/* Indices of unused lanes may come from elements that nothing wrote. They are in range whatever these hold, if they
 * hold one value; but LLVM may give an undefined value differently at each use. So they are frozen. */
static LLVMValueRef lane_indices(Code *code, const Expr *index) {
    Memo own = {.index = true}, *outer = code->memo;
    if (!expr_reads(index))
        return emit_value(code, index);
    code->memo = &own;
    LLVMValueRef value = emit_value(code, index);
    code->memo = outer;
    return value;
}

/* One pointer for each lane. */
static LLVMValueRef lane_addresses(Code *code, const MemoryAccess *access) {
    LLVMValueRef index, base = access->base;
    if (access->index->kind == EXPR_RAMP) {
        base = address_of(code, access);
        LLVMValueRef stride = emit_splat(code, emit_value(code, access->index->args[1]), access->lanes);
        index = LLVMBuildMul(code->builder, iota(code->i64, padded_lanes(access->lanes)), stride, "");
    } else {
        index = lane_indices(code, access->index);
    }
    return LLVMBuildInBoundsGEP2(code->builder, access->type, base, &index, 1, "");
}

static LLVMValueRef load_gathered(Code *code, const MemoryAccess *access) {
    LLVMValueRef addresses = lane_addresses(code, access);
    int padded = lanes_of(addresses);
    if (!has_gathers(code, alignment_of(access))) {
        LanesInMemory lanes = lanes_in_memory(access);
        return load_each_lane(code, &lanes, addresses, access->guard ? access_mask(code, access) : NULL);
    }
    LLVMValueRef mask = access_mask(code, access);
    if (!mask)
        mask = lane_mask(code, padded, padded);
    LLVMTypeRef type = vector_of(access->type, padded), overloads[] = {type, LLVMTypeOf(addresses)};
    LLVMValueRef args[] = {addresses, constant_int(code->i32, alignment_of(access)), mask, LLVMConstNull(type)};
    return emit_intrinsic(code, "llvm.masked.gather", overloads, 2, args, 4);
}

/* The address where all lanes are read: zeros if the guard fails. */
static LLVMValueRef address_where(Code *code, const MemoryAccess *access, const Expr *guard) {
    LLVMValueRef address = address_of(code, access);
    if (!guard)
        return address;
    LLVMValueRef zeros = zeros_to_read(code, access->lanes * alignment_of(access));
    return LLVMBuildSelect(code->builder, emit_value(code, guard), address, zeros, "");
}

/* All lanes or none: without a mask. */
static LLVMValueRef load_row_where(Code *code, const MemoryAccess *access, const Expr *guard) {
    return load_row(code, access, address_where(code, access, guard), access->lanes);
}

/* The scalar that an expression is in every lane; NULL: lanes differ. */
static Expr *same_in_lanes(Code *code, const Expr *e) {
    if (e->kind == EXPR_BROADCAST)
        return e->args[0];
    if (e->kind != EXPR_OP)
        return NULL;
    Expr *args[3] = {NULL};
    for (int i = 0; i < e->count; i++)
        if (!(args[i] = same_in_lanes(code, e->args[i])))
            return NULL;
    return expr_op(code->arena, e->op, e->type, args, e->count);
}

static Expr *both(Code *code, Expr *a, Expr *b) {
    return a && b ? expr_binary(code->arena, OP_AND, a, b) : a ? a : b;
}

/* Splits a guard into a scalar condition for all lanes and one for each lane; NULL: none. */
static void split_guard(Code *code, Expr *guard, Expr **all, Expr **each) {
    Expr *same = same_in_lanes(code, guard);
    if (same) {
        *all = both(code, *all, same);
    } else if (expr_is_op(guard, OP_AND)) {
        split_guard(code, guard->args[0], all, each);
        split_guard(code, guard->args[1], all, each);
    } else {
        *each = both(code, *each, guard);
    }
}

/* The address, or zeros if the mask has no lanes. */
static LLVMValueRef address_of_any(Code *code, const MemoryAccess *access, LLVMValueRef address, LLVMValueRef mask) {
    LLVMTypeRef type = LLVMTypeOf(mask);
    LLVMValueRef any = emit_intrinsic(code, "llvm.vector.reduce.or", &type, 1, &mask, 1);
    LLVMValueRef zeros = zeros_under_mask(code, lanes_of(mask) * alignment_of(access));
    return LLVMBuildSelect(code->builder, any, address, zeros, "");
}

/* A masked load of untouched memory (the rest of a temporary) takes as long as one outside all memory, each time.
 * Reversed lanes are there when all of them are cut off. */
static LLVMValueRef touched_address(Code *code, const MemoryAccess *access, const Expr *guard, LLVMValueRef mask) {
    LLVMValueRef address = address_where(code, access, guard);
    if (guard)
        zeros_under_mask(code, access->lanes * alignment_of(access));
    bool outside = access->reversed || access->tensor->role == ROLE_TEMPORARY;
    return outside ? address_of_any(code, access, address, mask) : address;
}

/* A masked load outside all memory takes very long: so a condition for all lanes is no part of the mask. */
static LLVMValueRef load_guarded_row(Code *code, const MemoryAccess *access) {
    Expr *all = NULL, *each = NULL;
    split_guard(code, access->guard, &all, &each);
    if (!each)
        return load_row_where(code, access, all);
    MemoryAccess row = *access;
    row.guard = each;
    LLVMValueRef mask = access_mask(code, &row);
    if (has_masked_access(code, alignment_of(access)))
        return masked_load(code, access, touched_address(code, access, all, mask), mask);
    LanesInMemory lanes = lanes_in_memory(access);
    LLVMValueRef condition = all ? emit_value(code, all) : NULL;
    return load_row_by_lane(code, &lanes, address_of(code, access), condition, mask);
}

/* One element, for the lanes of the mask. */
static LLVMValueRef load_same(Code *code, const MemoryAccess *access) {
    LLVMValueRef mask = access_mask(code, access);
    LLVMValueRef element =
        load(code, access, access->type, address_of_any(code, access, address_of(code, access), mask));
    LLVMValueRef all = emit_splat(code, element, lanes_of(mask));
    return LLVMBuildSelect(code->builder, mask, all, LLVMConstNull(LLVMTypeOf(all)), "");
}

/* Has no branches: LLVM would move the loads of several blocks together, far from their uses. */
static LLVMValueRef load_scalar(Code *code, const MemoryAccess *access) {
    return load(code, access, access->type, address_where(code, access, access->guard));
}

static bool goes_down(const MemoryAccess *access, int64_t *stride) {
    return constant_stride(access, stride) && *stride < 0 && *stride >= -SHUFFLED_STRIDE;
}

static LLVMValueRef load_vector(Code *code, const MemoryAccess *access) {
    int64_t stride = 0;
    if (goes_down(access, &stride)) {
        MemoryAccess reversed = reversed_access(code, access, stride);
        return reversed_lanes(code, load_vector(code, &reversed), access->lanes);
    }
    if (constant_stride(access, &stride) && stride == 1)
        return access->guard ? load_guarded_row(code, access)
                             : load_row(code, access, address_of(code, access), access->lanes);
    if (constant_stride(access, &stride) && stride == 0 && access->guard)
        return load_same(code, access);
    if (stride > 1 && stride <= SHUFFLED_STRIDE && (!access->guard || has_masked_access(code, alignment_of(access))))
        return load_strided(code, access, (int)stride);
    return load_gathered(code, access);
}

/* One element for all lanes. */
static LLVMValueRef load_broadcast(Code *code, MemoryAccess access) {
    access.index = access.index->args[0];
    int lanes = access.lanes;
    if (access.guard && access.guard->kind == EXPR_BROADCAST)
        access.guard = access.guard->args[0];
    else if (access.guard)
        return load_same(code, &access);
    access.lanes = 1;
    return emit_splat(code, load_scalar(code, &access), lanes);
}

static LLVMValueRef guarded(Code *code, const Expr *guard, LLVMValueRef value) {
    if (!guard)
        return value;
    return LLVMBuildSelect(code->builder, emit_value(code, guard), value, LLVMConstNull(LLVMTypeOf(value)), "");
}

static LLVMValueRef read_registers(Code *code, const Expr *e) {
    const Expr *index = e->count ? e->args[0] : expr_int(code->arena, 0);
    return guarded(code, e->guard, registers_read(code, buffer_of(code, e->tensor)->registers, index, e->lanes));
}

static LLVMValueRef read_memory(Code *code, const Expr *e) {
    MemoryAccess access = access_of(code, e->tensor, e->args, e->count, e->guard, e->lanes);
    if (access.lanes == 1)
        return load_scalar(code, &access);
    return access.index->kind == EXPR_BROADCAST ? load_broadcast(code, access) : load_vector(code, &access);
}

LLVMValueRef emit_read(Code *code, const Expr *e) {
    const struct Registers *registers = buffer_of(code, e->tensor)->registers;
    if (registers)
        return registers_hold_memory(registers) ? from_memory(code, read_registers(code, e), e->type)
                                                : read_registers(code, e);
    LLVMValueRef value = read_memory(code, e);
    if (code->memo->index && e->lanes > 1 && e->tensor->role == ROLE_TEMPORARY)
        value = LLVMBuildFreeze(code->builder, value, "");
    return from_memory(code, value, e->tensor->type);
}

LLVMValueRef emit_stored_read(Code *code, const Expr *e) {
    const struct Registers *registers = buffer_of(code, e->tensor)->registers;
    if (!registers)
        return read_memory(code, e);
    return registers_hold_memory(registers) ? read_registers(code, e)
                                            : to_memory(code, read_registers(code, e), e->type);
}

/* --- stores --- */

static void store(Code *code, const MemoryAccess *access, LLVMValueRef value, LLVMValueRef address) {
    LLVMSetAlignment(LLVMBuildStore(code->builder, value, address), (unsigned)alignment_of(access));
}

static void store_row(Code *code, const MemoryAccess *access, LLVMValueRef value) {
    LLVMValueRef address = address_of(code, access);
    bool odd = access->lanes != padded_lanes(access->lanes);
    if (!access->guard && odd && !has_masked_access(code, alignment_of(access))) {
        store(code, access, emit_resized(code, value, access->lanes), address);
        return;
    }
    LLVMValueRef mask = access_mask(code, access);
    if (!mask) {
        store(code, access, value, address);
        return;
    }
    if (!has_masked_access(code, alignment_of(access))) {
        LanesInMemory lanes = lanes_in_memory(access);
        store_row_by_lane(code, &lanes, address, mask, value);
        return;
    }
    LLVMTypeRef overloads[] = {LLVMTypeOf(value), code->pointer};
    LLVMValueRef args[] = {value, address, constant_int(code->i32, alignment_of(access)), held_mask(code, mask)};
    emit_intrinsic(code, "llvm.masked.store", overloads, 2, args, 4);
}

static void store_scattered(Code *code, const MemoryAccess *access, LLVMValueRef value) {
    LLVMValueRef mask = access_mask(code, access), addresses = lane_addresses(code, access);
    if (!has_gathers(code, alignment_of(access))) {
        LanesInMemory lanes = lanes_in_memory(access);
        store_each_lane(code, &lanes, addresses, access->guard ? mask : NULL, value);
        return;
    }
    if (!mask)
        mask = lane_mask(code, lanes_of(value), lanes_of(value));
    LLVMTypeRef overloads[] = {LLVMTypeOf(value), LLVMTypeOf(addresses)};
    LLVMValueRef args[] = {value, addresses, constant_int(code->i32, alignment_of(access)), mask};
    emit_intrinsic(code, "llvm.masked.scatter", overloads, 2, args, 4);
}

static bool reads_held_memory(Code *code, const Expr *e) {
    const struct Registers *registers = e->kind == EXPR_READ ? buffer_of(code, e->tensor)->registers : NULL;
    return registers && registers_hold_memory(registers);
}

/* A value as memory holds it. What is only copied or chosen, not computed with, is not converted. */
static LLVMValueRef stored_value(Code *code, const Expr *e) {
    bool narrow = e->type == TYPE_HALF || e->type == TYPE_BFLOAT16;
    if ((narrow || e->kind == EXPR_SHUFFLE || reads_held_memory(code, e)) && is_copied(code, e))
        return emit_stored(code, e);
    if (narrow && e->kind == EXPR_BROADCAST)
        return emit_splat(code, stored_value(code, e->args[0]), e->lanes);
    if (narrow && expr_is_op(e, OP_SELECT))
        return LLVMBuildSelect(code->builder, emit_value(code, e->args[0]), stored_value(code, e->args[1]),
                               stored_value(code, e->args[2]), "");
    return to_memory(code, emit_value(code, e), e->type);
}

static void store_to_memory(Code *code, const MemoryAccess *access, LLVMValueRef value) {
    int64_t stride;
    if (access->lanes > 1 && constant_stride(access, &stride) && stride == -1) {
        MemoryAccess reversed = reversed_access(code, access, stride);
        store_to_memory(code, &reversed, reversed_lanes(code, value, access->lanes));
        return;
    }
    if (access->lanes == 1)
        store(code, access, value, address_of(code, access));
    else if (constant_stride(access, &stride) && stride == 1)
        store_row(code, access, value);
    else
        store_scattered(code, access, value);
}

static const Expr *register_index(Code *code, const Stmt *stmt) {
    return stmt->index_count ? stmt->index[0] : expr_int(code->arena, 0);
}

static bool branches(Code *code, const Stmt *stmt) {
    return stmt->guard && stmt->guard->lanes == 1 && !buffer_of(code, stmt->tensor)->registers;
}

/* The value to store, as memory or the registers hold it. */
static LLVMValueRef value_to_store(Code *code, const Stmt *stmt) {
    struct Registers *registers = buffer_of(code, stmt->tensor)->registers;
    if (!registers)
        return stored_value(code, stmt->value);
    LLVMValueRef value =
        registers_hold_memory(registers) ? stored_value(code, stmt->value) : emit_value(code, stmt->value);
    if (!stmt->guard)
        return value;
    LLVMValueRef old = registers_read(code, registers, register_index(code, stmt), stmt->value->lanes);
    return LLVMBuildSelect(code->builder, emit_value(code, stmt->guard), value, old, "");
}

static void store_value(Code *code, const Stmt *stmt, const Expr *guard, LLVMValueRef value) {
    struct Registers *registers = buffer_of(code, stmt->tensor)->registers;
    int lanes = stmt->value->lanes;
    forget_divisors(code, stmt->tensor);
    if (registers) {
        registers_write(code, registers, register_index(code, stmt), value, lanes);
        return;
    }
    MemoryAccess access = access_of(code, stmt->tensor, stmt->index, stmt->index_count, (Expr *)guard, lanes);
    store_to_memory(code, &access, value);
}

/* A scalar guard is a branch around the whole statement, including its value. */
void emit_store(Code *code, const Stmt *stmt) {
    forget_values(code);
    if (!branches(code, stmt)) {
        store_value(code, stmt, stmt->guard, value_to_store(code, stmt));
        return;
    }
    Branch branch = branch_begin(code, emit_value(code, stmt->guard));
    forget_values(code);
    store_value(code, stmt, NULL, value_to_store(code, stmt));
    branch_else(code, &branch);
    branch_end(code, &branch);
}

void emit_stores_together(Code *code, const Stmt *stmt) {
    LLVMValueRef *values = ARENA_ARRAY(code->arena, LLVMValueRef, stmt->count);
    for (int i = 0; i < stmt->count; i++)
        values[i] = value_to_store(code, stmt->body[i]);
    for (int i = 0; i < stmt->count; i++) {
        const Stmt *store = stmt->body[i];
        if (!branches(code, store)) {
            store_value(code, store, store->guard, values[i]);
            continue;
        }
        Branch branch = branch_begin(code, emit_value(code, store->guard));
        store_value(code, store, NULL, values[i]);
        branch_else(code, &branch);
        branch_end(code, &branch);
    }
}
