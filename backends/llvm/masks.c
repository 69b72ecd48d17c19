/* masks.c - masked accesses for which the processor has no instruction: lane by lane, without branches.
 *
 * LLVM would make a branch for each lane. The tail of a register tile has hundreds, and all of its vectors stay live
 * over them: seconds of compilation. Instead, a lane that the mask leaves out is read from zeros, and stored to a
 * sink. The mask is a number whose bits are tested.
 */
#include "backends/llvm/code.h"
#include "lang/program.h"

#include <string.h>

enum { WORD = 8, LANE_BITS = 64 /* bits of a lane's number */, LEAST_MASK = 8, MOST_MASK = 64 };

bool has_masked_access(const Code *code, int bytes) {
    return target_masks(code->target, bytes);
}

bool has_gathers(const Code *code, int bytes) {
    return target_gathers(code->target, bytes);
}

bool has_mask_numbers(const Code *code, int lanes) {
    return code->target->mask_registers > 0 && lanes >= LEAST_MASK && lanes <= MOST_MASK &&
           lanes == padded_lanes(lanes);
}

/* The lanes of a constant mask with some lanes, but not all. */
static bool constant_lanes(LLVMValueRef mask, uint64_t *lanes) {
    int count = lanes_of(mask);
    *lanes = 0;
    for (int i = 0; i < count && LLVMIsConstant(mask); i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, (unsigned)i);
        if (!lane || !LLVMIsAConstantInt(lane))
            return false;
        *lanes |= (uint64_t)LLVMConstIntGetZExtValue(lane) << i;
    }
    return *lanes != 0 && *lanes != UINT64_MAX >> (MOST_MASK - count);
}

static LLVMValueRef mask_of_number(Code *code, uint64_t lanes, int count) {
    LLVMTypeRef wide = count > 32 ? code->i64 : code->i32, type = LLVMIntTypeInContext(code->context, (unsigned)count);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMValueRef number = unknown_value(code, LLVMConstInt(wide, lanes, false));
    LLVMPositionBuilderAtEnd(code->builder, code->frame->entry);
    number = LLVMBuildTrunc(code->builder, number, type, "");
    LLVMValueRef mask = LLVMBuildBitCast(code->builder, number, vector_of(code->i1, count), "");
    LLVMPositionBuilderAtEnd(code->builder, here);
    return mask;
}

LLVMValueRef held_mask(Code *code, LLVMValueRef mask) {
    Frame *frame = code->frame;
    uint64_t lanes;
    if (frame->depth == 0 || !has_mask_numbers(code, lanes_of(mask)) || !constant_lanes(mask, &lanes))
        return mask;
    for (int i = 0; i < frame->mask_count; i++)
        if (frame->masks[i].lanes == lanes && LLVMTypeOf(frame->masks[i].mask) == LLVMTypeOf(mask))
            return frame->masks[i].mask;
    if (frame->mask_count == MASKS_HELD || frame->mask_count == code->target->mask_registers - 1)
        return mask;
    HeldMask *held = &frame->masks[frame->mask_count++];
    *held = (HeldMask){lanes, mask_of_number(code, lanes, lanes_of(mask))};
    return held->mask;
}

static int words_for(int bytes) {
    int words = 1;
    while (words * WORD < bytes)
        words *= 2;
    return words;
}

/* Zeros for at least so many bytes, and for padded lanes; in one page. */
LLVMValueRef zeros_to_read(Code *code, int bytes) {
    int words = words_for(bytes);
    const char *name = arena_printf(code->arena, "tensorc.zero.%d", words);
    LLVMValueRef global = LLVMGetNamedGlobal(code->module, name);
    if (!global) {
        LLVMTypeRef type = LLVMArrayType2(code->i64, (uint64_t)words);
        global = LLVMAddGlobal(code->module, type, name);
        LLVMSetInitializer(global, LLVMConstNull(type));
        LLVMSetGlobalConstant(global, true);
        LLVMSetLinkage(global, LLVMPrivateLinkage);
        LLVMSetAlignment(global, (unsigned)(words * WORD));
    }
    return global;
}

LLVMValueRef zeros_under_mask(Code *code, int bytes) {
    Frame *frame = code->frame;
    LLVMValueRef zeros = zeros_to_read(code, bytes);
    if (frame->zeros_touched & words_for(bytes))
        return zeros;
    frame->zeros_touched |= words_for(bytes);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMPositionBuilderAtEnd(code->builder, frame->entry);
    LLVMSetVolatile(LLVMBuildLoad2(code->builder, code->i64, zeros, ""), true);
    LLVMPositionBuilderAtEnd(code->builder, here);
    return zeros;
}

/* The sink, on the stack, hidden from LLVM's optimizer: if it knew that nobody reads it, it would make a branch. */
static LLVMValueRef sink_of_stores(Code *code) {
    Frame *frame = code->frame;
    if (!frame->sink)
        frame->sink = unknown_value(code, entry_alloca(code, code->i64, WORD, "sink"));
    return frame->sink;
}

/* The lanes of a mask as the bits of a number. */
static LLVMValueRef mask_bits(Code *code, LLVMValueRef mask) {
    LLVMTypeRef type = LLVMIntTypeInContext(code->context, (unsigned)lanes_of(mask));
    return LLVMBuildBitCast(code->builder, mask, type, "");
}

static LLVMValueRef has_bit(Code *code, LLVMValueRef bits, int lane) {
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef one = LLVMConstInt(type, 1, false), place = LLVMConstInt(type, (unsigned)lane, false);
    LLVMValueRef bit = LLVMBuildAnd(code->builder, bits, LLVMBuildShl(code->builder, one, place, ""), "");
    return LLVMBuildICmp(code->builder, LLVMIntNE, bit, LLVMConstNull(type), "");
}

static LLVMValueRef load_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef address) {
    LLVMValueRef value = LLVMBuildLoad2(code->builder, lanes->type, address, "");
    LLVMSetAlignment(value, (unsigned)lanes->alignment);
    return value;
}

static LLVMValueRef with_lane(Code *code, LLVMValueRef vector, LLVMValueRef value, int lane) {
    return LLVMBuildInsertElement(code->builder, vector, value, index_constant(code, lane), "");
}

LLVMValueRef load_each_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef addresses, LLVMValueRef mask) {
    int padded = lanes_of(addresses);
    LLVMValueRef vector = LLVMConstNull(vector_of(lanes->type, padded));
    if (mask)
        addresses = LLVMBuildSelect(code->builder, mask, addresses,
                                    emit_splat(code, zeros_to_read(code, lanes->alignment), padded), "");
    for (int lane = 0; lane < lanes->count; lane++) {
        LLVMValueRef address = LLVMBuildExtractElement(code->builder, addresses, index_constant(code, lane), "");
        vector = with_lane(code, vector, load_lane(code, lanes, address), lane);
    }
    return vector;
}

/* The number of the first set lane, which lanes that are not set read again; the number of lanes if none is set. */
static LLVMValueRef first_lane(Code *code, LLVMValueRef bits, LLVMValueRef any, int padded) {
    LLVMTypeRef type = padded > LANE_BITS ? LLVMTypeOf(bits) : code->i64;
    LLVMValueRef wide = LLVMBuildIntCast2(code->builder, bits, type, false, "");
    LLVMValueRef args[] = {wide, LLVMConstInt(code->i1, 0, false)};
    LLVMValueRef first = emit_intrinsic(code, "llvm.cttz", &type, 1, args, 2);
    first = LLVMBuildIntCast2(code->builder, first, code->i64, false, "");
    return LLVMBuildSelect(code->builder, any, first, index_constant(code, padded), "");
}

/* Displacements depend only on the mask, which all rows of a tile share. The condition over whole rows selects their
 * addresses. */
static LLVMValueRef load_row_here(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef condition,
                                  LLVMValueRef mask) {
    int padded = lanes_of(mask);
    LLVMValueRef bits = mask_bits(code, mask);
    LLVMValueRef any = LLVMBuildICmp(code->builder, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
    LLVMValueRef zeros = zeros_to_read(code, (padded + 1) * lanes->alignment);
    LLVMValueRef first = first_lane(code, bits, any, padded), vector = LLVMConstNull(vector_of(lanes->type, padded));
    if (condition)
        condition = LLVMBuildAnd(code->builder, condition, any, "");
    address = LLVMBuildSelect(code->builder, condition ? condition : any, address, zeros, "");
    for (int lane = 0; lane < lanes->count; lane++) {
        LLVMValueRef at =
            LLVMBuildSelect(code->builder, has_bit(code, bits, lane), index_constant(code, lane), first, "");
        LLVMValueRef from = LLVMBuildInBoundsGEP2(code->builder, lanes->type, address, &at, 1, "");
        vector = with_lane(code, vector, load_lane(code, lanes, from), lane);
    }
    return LLVMBuildSelect(code->builder, mask, vector, LLVMConstNull(LLVMTypeOf(vector)), "");
}

static void store_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef vector, int lane, LLVMValueRef address) {
    LLVMValueRef value = LLVMBuildExtractElement(code->builder, vector, index_constant(code, lane), "");
    LLVMSetAlignment(LLVMBuildStore(code->builder, value, address), (unsigned)lanes->alignment);
}

void store_each_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef addresses, LLVMValueRef mask,
                     LLVMValueRef vector) {
    if (mask)
        addresses = LLVMBuildSelect(code->builder, mask, addresses,
                                    emit_splat(code, sink_of_stores(code), lanes_of(addresses)), "");
    for (int lane = 0; lane < lanes->count; lane++)
        store_lane(code, lanes, vector, lane,
                   LLVMBuildExtractElement(code->builder, addresses, index_constant(code, lane), ""));
}

static void store_row_here(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef mask,
                           LLVMValueRef vector) {
    LLVMValueRef bits = mask_bits(code, mask), sink = sink_of_stores(code);
    for (int lane = 0; lane < lanes->count; lane++) {
        LLVMValueRef at = index_constant(code, lane);
        LLVMValueRef place = LLVMBuildInBoundsGEP2(code->builder, lanes->type, address, &at, 1, "");
        store_lane(code, lanes, vector, lane,
                   LLVMBuildSelect(code->builder, has_bit(code, bits, lane), place, sink, ""));
    }
}

/* --- rows in functions of their own --- */

/* Whether a kernel has so many rows by lane already that the next one is a call: each is hundreds of instructions. */
static bool goes_apart(Code *code, const LanesInMemory *lanes) {
    code->lanes_chosen += lanes->count;
    return code->lanes_chosen > CHOSEN_LANES;
}

/* The last one: a condition of loads, the value of stores. */
typedef enum RowParameter { ROW_ADDRESS, ROW_BITS, ROW_OTHER } RowParameter;

static LLVMValueRef define_row(Code *code, const char *name, const LanesInMemory *lanes, LLVMTypeRef *parameters,
                               int padded, bool stores) {
    LLVMTypeRef result = stores ? code->nothing : vector_of(lanes->type, padded);
    Apart apart = apart_open(code, name, LLVMFunctionType(result, parameters, 3, false));
    apart_touches(code, &apart, stores ? APART_WRITES : APART_READS);
    LLVMValueRef address = LLVMGetParam(apart.function, ROW_ADDRESS);
    LLVMValueRef other = LLVMGetParam(apart.function, ROW_OTHER);
    LLVMValueRef bits = LLVMGetParam(apart.function, ROW_BITS);
    LLVMValueRef mask = LLVMBuildBitCast(code->builder, bits, vector_of(code->i1, padded), "");
    if (stores) {
        store_row_here(code, lanes, address, mask, other);
        LLVMBuildRetVoid(code->builder);
    } else {
        LLVMBuildRet(code->builder, load_row_here(code, lanes, address, other, mask));
    }
    return apart_close(code, &apart);
}

static LLVMValueRef row_function(Code *code, const LanesInMemory *lanes, LLVMTypeRef *parameters, int padded,
                                 bool stores) {
    char *type = LLVMPrintTypeToString(lanes->type);
    const char *name =
        arena_printf(code->arena, "tensorc.%s.%s.%dof%d", stores ? "store" : "load", type, lanes->count, padded);
    LLVMDisposeMessage(type);
    LLVMValueRef function = LLVMGetNamedFunction(code->module, name);
    return function ? function : define_row(code, name, lanes, parameters, padded, stores);
}

static LLVMValueRef call_row(Code *code, const LanesInMemory *lanes, LLVMValueRef *args, int padded, bool stores) {
    LLVMTypeRef parameters[] = {code->pointer, LLVMTypeOf(args[ROW_BITS]), LLVMTypeOf(args[ROW_OTHER])};
    return emit_call(code, row_function(code, lanes, parameters, padded, stores), args, 3);
}

LLVMValueRef load_row_by_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef condition,
                              LLVMValueRef mask) {
    if (!goes_apart(code, lanes))
        return load_row_here(code, lanes, address, condition, mask);
    LLVMValueRef args[] = {address, mask_bits(code, mask), condition ? condition : LLVMConstInt(code->i1, 1, false)};
    return call_row(code, lanes, args, lanes_of(mask), false);
}

void store_row_by_lane(Code *code, const LanesInMemory *lanes, LLVMValueRef address, LLVMValueRef mask,
                       LLVMValueRef vector) {
    if (!goes_apart(code, lanes)) {
        store_row_here(code, lanes, address, mask, vector);
        return;
    }
    LLVMValueRef args[] = {address, mask_bits(code, mask), vector};
    call_row(code, lanes, args, lanes_of(mask), true);
}
