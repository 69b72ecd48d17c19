/* pool.c - the memory that calls have for their temporaries and leave to the next ones.
 *
 * A call takes one block at its entry and gives it back when it leaves. The blocks that are given back wait in slots,
 * so that a later call finds its pages in place and asks neither malloc nor the kernel. All objects of a program, or of
 * a shared library, share one pool: what is emitted here is in each of them, hidden, and linkers keep one copy.
 *
 *   tensorc.take.1(workspace, bytes)   where the temporaries go: a block, or in the caller's workspace; null: no memory
 *   tensorc.give.1(workspace, memory)  ends that
 *   tensorc.put.1(block)               into a free slot; without one, or beyond the bytes that are kept, frees it
 *   tensorc.claim.1(slot)              what was in the slot, which is free from now on; 0: nothing
 *   tensorc_release()                  frees all blocks that wait; runs also when the program or library ends
 *
 * A slot holds one word, which one atomic exchange takes: whoever has it owns the block. So any number of threads may
 * call at once, and no lock is held over a fork. A block begins with the number of bytes behind its first 64, which
 * only its owner reads. Whoever changes what the slots hold changes the number in the names: objects of two compilers
 * may meet in one program.
 */
#include "backends/llvm/code.h"

#include <llvm-c/Comdat.h>
#include <string.h>

enum { SLOTS = 32, HEAD_BYTES = DATA_ALIGNMENT, TAKE_WORKSPACE = 0, TAKE_BYTES = 1 };
static const int64_t kept_limit = (int64_t)1 << 30; /* bytes that wait at most, all blocks together */

/* --- what linkers keep one copy of -------------------------------------------------------------------------------- */

/* A candidate is alone, and its loader knows no such symbols. */
static void share_symbol(Code *code, LLVMValueRef symbol, LLVMLinkage linkage) {
    size_t length;
    if (code->options->candidate) {
        LLVMSetLinkage(symbol, LLVMInternalLinkage);
        return;
    }
    LLVMSetLinkage(symbol, linkage);
    LLVMSetVisibility(symbol, LLVMHiddenVisibility);
    LLVMSetComdat(symbol, LLVMGetOrInsertComdat(code->module, LLVMGetValueName2(symbol, &length)));
}

static LLVMValueRef shared_words(Code *code, const char *name, unsigned count) {
    LLVMValueRef words = LLVMGetNamedGlobal(code->module, name);
    if (words)
        return words;
    LLVMTypeRef type = LLVMArrayType(code->i64, count);
    words = LLVMAddGlobal(code->module, type, name);
    LLVMSetInitializer(words, LLVMConstNull(type));
    LLVMSetAlignment(words, DATA_ALIGNMENT);
    share_symbol(code, words, LLVMLinkOnceODRLinkage);
    return words;
}

/* A function under construction, or one that was made before: then `function` alone counts. */
typedef struct Helper {
    Apart apart;
    LLVMValueRef function;
    bool made;
} Helper;

static Helper helper_open(Code *code, const char *name, LLVMTypeRef result, LLVMTypeRef *types, unsigned count) {
    Helper helper = {.function = LLVMGetNamedFunction(code->module, name)};
    helper.made = helper.function != NULL;
    if (helper.made)
        return helper;
    helper.apart = apart_open(code, name, LLVMFunctionType(result, types, count, false));
    helper.function = helper.apart.function;
    share_symbol(code, helper.function, LLVMLinkOnceODRLinkage);
    return helper;
}

/* --- statements of helpers --- */

static LLVMValueRef none(Code *code) {
    return index_constant(code, 0);
}

/* if (condition) { what follows }; returns where to go on, see end_if. */
static LLVMBasicBlockRef begin_if(Code *code, LLVMValueRef condition) {
    LLVMBasicBlockRef then = new_block(code, "then"), next = new_block(code, "next");
    LLVMBuildCondBr(code->builder, condition, then, next);
    LLVMPositionBuilderAtEnd(code->builder, then);
    return next;
}

static void end_if(Code *code, LLVMBasicBlockRef next) {
    if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(code->builder)))
        LLVMBuildBr(code->builder, next);
    LLVMPositionBuilderAtEnd(code->builder, next);
}

static void return_if(Code *code, LLVMIntPredicate how, LLVMValueRef a, LLVMValueRef b, LLVMValueRef result) {
    LLVMBasicBlockRef next = begin_if(code, LLVMBuildICmp(code->builder, how, a, b, ""));
    if (result)
        LLVMBuildRet(code->builder, result);
    else
        LLVMBuildRetVoid(code->builder);
    end_if(code, next);
}

static LLVMValueRef slot_address(Code *code, LLVMValueRef index) {
    LLVMValueRef slots = shared_words(code, "tensorc.slots.1", SLOTS);
    return LLVMBuildInBoundsGEP2(code->builder, code->i64, slots, &index, 1, "slot");
}

static LLVMValueRef load_slot(Code *code, LLVMValueRef slot) {
    LLVMValueRef load = LLVMBuildLoad2(code->builder, code->i64, slot, "");
    LLVMSetOrdering(load, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(load, 8);
    return load;
}

static LLVMValueRef block_bytes(Code *code, LLVMValueRef block) {
    LLVMValueRef head = LLVMBuildIntToPtr(code->builder, block, code->pointer, "");
    return LLVMBuildLoad2(code->builder, code->i64, head, "bytes");
}

static LLVMValueRef count_bytes(Code *code, LLVMAtomicRMWBinOp how, LLVMValueRef bytes) {
    LLVMValueRef kept = shared_words(code, "tensorc.kept.1", 1);
    return LLVMBuildAtomicRMW(code->builder, how, kept, bytes, LLVMAtomicOrderingMonotonic, false);
}

static void free_block(Code *code, LLVMValueRef block) {
    LLVMValueRef memory = LLVMBuildIntToPtr(code->builder, block, code->pointer, "");
    emit_call(code, external_function(code, "free", code->nothing, &code->pointer, 1), &memory, 1);
}

/* --- slots --- */

/* Looks before it exchanges: a thread that finds nothing takes no cache line from the others. */
static LLVMValueRef claim_function(Code *code) {
    Helper helper = helper_open(code, "tensorc.claim.1", code->i64, &code->pointer, 1);
    if (helper.made)
        return helper.function;
    LLVMValueRef slot = LLVMGetParam(helper.function, 0);
    return_if(code, LLVMIntEQ, load_slot(code, slot), none(code), none(code));
    LLVMValueRef block =
        LLVMBuildAtomicRMW(code->builder, LLVMAtomicRMWBinOpXchg, slot, none(code), LLVMAtomicOrderingAcquire, false);
    return_if(code, LLVMIntEQ, block, none(code), none(code));
    count_bytes(code, LLVMAtomicRMWBinOpSub, block_bytes(code, block));
    LLVMBuildRet(code->builder, block);
    return apart_close(code, &helper.apart);
}

static LLVMValueRef claim(Code *code, LLVMValueRef index) {
    LLVMValueRef slot = slot_address(code, index);
    return emit_call(code, claim_function(code), &slot, 1);
}

/* Returns from the function if the block fits into the slot. */
static void put_into(Code *code, LLVMValueRef slot, LLVMValueRef block) {
    LLVMBuilderRef b = code->builder;
    LLVMBasicBlockRef next = begin_if(code, LLVMBuildICmp(b, LLVMIntEQ, load_slot(code, slot), none(code), ""));
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(b, slot, none(code), block, LLVMAtomicOrderingRelease,
                                               LLVMAtomicOrderingMonotonic, false);
    LLVMBasicBlockRef taken = begin_if(code, LLVMBuildExtractValue(b, pair, 1, ""));
    LLVMBuildRetVoid(b);
    end_if(code, taken);
    end_if(code, next);
}

static LLVMValueRef put_function(Code *code) {
    Helper helper = helper_open(code, "tensorc.put.1", code->nothing, &code->i64, 1);
    if (helper.made)
        return helper.function;
    LLVMValueRef block = LLVMGetParam(helper.function, 0);
    return_if(code, LLVMIntEQ, block, none(code), NULL);
    LLVMValueRef bytes = block_bytes(code, block), kept = count_bytes(code, LLVMAtomicRMWBinOpAdd, bytes);
    kept = LLVMBuildAdd(code->builder, kept, bytes, "");
    LLVMValueRef few = LLVMBuildICmp(code->builder, LLVMIntULE, kept, index_constant(code, kept_limit), "");
    LLVMBasicBlockRef next = begin_if(code, few);
    LoopBlocks loop = loop_begin(code, none(code), index_constant(code, SLOTS), "i");
    put_into(code, slot_address(code, loop.index), block);
    loop_end(code, &loop);
    end_if(code, next);
    count_bytes(code, LLVMAtomicRMWBinOpSub, bytes);
    free_block(code, block);
    LLVMBuildRetVoid(code->builder);
    return apart_close(code, &helper.apart);
}

static void put(Code *code, LLVMValueRef block) {
    emit_call(code, put_function(code), &block, 1);
}

/* Linkers run what is in this section when the program ends or the library is unloaded. */
static void run_at_end(Code *code, LLVMValueRef function) {
    LLVMValueRef entry = LLVMAddGlobal(code->module, code->pointer, "tensorc.at_end");
    LLVMSetInitializer(entry, function);
    LLVMSetLinkage(entry, LLVMInternalLinkage);
    LLVMSetSection(entry, ".fini_array");
    LLVMSetAlignment(entry, 8);
    LLVMTypeRef type = LLVMArrayType(code->pointer, 1);
    LLVMValueRef used = LLVMAddGlobal(code->module, type, "llvm.compiler.used");
    LLVMSetInitializer(used, LLVMConstArray(code->pointer, &entry, 1));
    LLVMSetLinkage(used, LLVMAppendingLinkage);
    LLVMSetSection(used, "llvm.metadata");
}

LLVMValueRef emit_release(Code *code) {
    Helper helper = helper_open(code, "tensorc_release", code->nothing, NULL, 0);
    if (helper.made)
        return helper.function;
    LoopBlocks loop = loop_begin(code, none(code), index_constant(code, SLOTS), "i");
    free_block(code, claim(code, loop.index));
    loop_end(code, &loop);
    LLVMBuildRetVoid(code->builder);
    apart_close(code, &helper.apart);
    if (code->options->candidate) {
        LLVMSetLinkage(helper.function, LLVMExternalLinkage); /* the loader calls it */
        return helper.function;
    }
    LLVMSetLinkage(helper.function, LLVMWeakODRLinkage);
    run_at_end(code, helper.function);
    return helper.function;
}

/* --- blocks --- */

/* From the first multiple of the alignment on. */
static LLVMValueRef aligned_workspace(Code *code, LLVMValueRef workspace) {
    LLVMValueRef address = LLVMBuildPtrToInt(code->builder, workspace, code->i64, "");
    LLVMValueRef missing = LLVMBuildNeg(code->builder, address, "");
    missing = LLVMBuildAnd(code->builder, missing, index_constant(code, DATA_ALIGNMENT - 1), "");
    return LLVMBuildInBoundsGEP2(code->builder, code->i8, workspace, &missing, 1, "");
}

/* What is behind the head. */
static LLVMValueRef block_memory(Code *code, LLVMValueRef block) {
    LLVMValueRef from = LLVMBuildAdd(code->builder, block, index_constant(code, HEAD_BYTES), "");
    return LLVMBuildIntToPtr(code->builder, from, code->pointer, "");
}

/* Returns the memory of a block that waits, if one is large enough. One that is too small makes place for a larger one,
 * so that there are never more blocks than there were calls at once. */
static void take_waiting(Code *code, LLVMValueRef bytes) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef held = entry_alloca(code, code->i64, 8, "held");
    LLVMBuildStore(b, none(code), held);
    LoopBlocks loop = loop_begin(code, none(code), index_constant(code, SLOTS), "i");
    LLVMValueRef block = claim(code, loop.index);
    LLVMBasicBlockRef next = begin_if(code, LLVMBuildICmp(b, LLVMIntNE, block, none(code), ""));
    put(code, LLVMBuildLoad2(b, code->i64, held, ""));
    LLVMBuildStore(b, block, held);
    return_if(code, LLVMIntUGE, block_bytes(code, block), bytes, block_memory(code, block));
    end_if(code, next);
    loop_end(code, &loop);
    free_block(code, LLVMBuildLoad2(b, code->i64, held, ""));
}

static LLVMValueRef allocate_block(Code *code, LLVMValueRef bytes) {
    LLVMTypeRef types[] = {code->i64, code->i64};
    LLVMValueRef allocate = external_function(code, "aligned_alloc", code->pointer, types, 2);
    LLVMValueRef all = LLVMBuildAdd(code->builder, bytes, index_constant(code, HEAD_BYTES), "");
    LLVMValueRef memory = emit_call(code, allocate, (LLVMValueRef[]){index_constant(code, DATA_ALIGNMENT), all}, 2);
    return LLVMBuildPtrToInt(code->builder, memory, code->i64, "");
}

/* Blocks that wait are no reason to have no memory. */
static LLVMValueRef allocate_or_release(Code *code, LLVMValueRef bytes) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef made = entry_alloca(code, code->i64, 8, "made"), block = allocate_block(code, bytes);
    LLVMBuildStore(b, block, made);
    LLVMBasicBlockRef next = begin_if(code, LLVMBuildICmp(b, LLVMIntEQ, block, none(code), ""));
    emit_call(code, emit_release(code), NULL, 0);
    LLVMBuildStore(b, allocate_block(code, bytes), made);
    end_if(code, next);
    return LLVMBuildLoad2(b, code->i64, made, "block");
}

LLVMValueRef emit_take(Code *code, LLVMValueRef workspace, LLVMValueRef bytes) {
    LLVMTypeRef types[] = {code->pointer, code->i64};
    Helper helper = helper_open(code, "tensorc.take.1", code->pointer, types, 2);
    if (!helper.made) {
        LLVMValueRef given = LLVMGetParam(helper.function, TAKE_WORKSPACE);
        LLVMValueRef wanted = LLVMGetParam(helper.function, TAKE_BYTES), null = LLVMConstNull(code->pointer);
        return_if(code, LLVMIntUGE, wanted, index_constant(code, TOO_MANY_BYTES), null);
        return_if(code, LLVMIntNE, given, null, aligned_workspace(code, given));
        take_waiting(code, wanted);
        LLVMValueRef block = allocate_or_release(code, wanted);
        return_if(code, LLVMIntEQ, block, none(code), null);
        LLVMBuildStore(code->builder, wanted, LLVMBuildIntToPtr(code->builder, block, code->pointer, ""));
        LLVMBuildRet(code->builder, block_memory(code, block));
        add_attribute(code, helper.function, LLVMAttributeReturnIndex, "noalias");
        apart_close(code, &helper.apart);
    }
    return emit_call(code, helper.function, (LLVMValueRef[]){workspace, bytes}, 2);
}

void emit_give(Code *code, LLVMValueRef workspace, LLVMValueRef memory) {
    LLVMTypeRef types[] = {code->pointer, code->pointer};
    Helper helper = helper_open(code, "tensorc.give.1", code->nothing, types, 2);
    if (!helper.made) {
        LLVMValueRef null = LLVMConstNull(code->pointer), block = LLVMGetParam(helper.function, 1);
        return_if(code, LLVMIntNE, LLVMGetParam(helper.function, 0), null, NULL);
        block = LLVMBuildPtrToInt(code->builder, block, code->i64, "");
        put(code, LLVMBuildSub(code->builder, block, index_constant(code, HEAD_BYTES), ""));
        LLVMBuildRetVoid(code->builder);
        apart_close(code, &helper.apart);
    }
    emit_call(code, helper.function, (LLVMValueRef[]){workspace, memory}, 2);
}
