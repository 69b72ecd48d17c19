/* blocks.c - long blocks of the optimized module cut into pieces: LLVM chooses the order of a block's instructions in
 * quadratic time, and allocates its registers in more than linear time.
 *
 * Done last, as passes would put the pieces together again; so would code generators, but for blocks that have an
 * address. Only blocks that are no register tile are so long: nothing is gained by an order of all that they have.
 */
#include "backends/llvm/code.h"

enum { LONG_BLOCK = 2048, PIECE = 512 /* instructions of the machine */ };
enum { QUOTIENT = 10 /* instructions of the machine */, DIVIDED_BITS = 32 /* of lanes that are divided together */ };

static int block_instructions(LLVMBasicBlockRef block) {
    int count = 0;
    for (LLVMValueRef value = LLVMGetFirstInstruction(block); value; value = LLVMGetNextInstruction(value))
        count++;
    return count;
}

int instruction_count(LLVMValueRef function) {
    int count = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
        count += block_instructions(block);
    return count;
}

static bool divides(LLVMValueRef value) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    return opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem;
}

/* Of what it computes with: a comparison gives less. */
static int computed_bits(LLVMValueRef value) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    bool compares = opcode == LLVMICmp || opcode == LLVMFCmp;
    return (int)type_bits(LLVMTypeOf(compares ? LLVMGetOperand(value, 0) : value));
}

/* About how many instructions of the machine it becomes. Lanes that are too wide are divided one by one. */
static int machine_instructions(LLVMValueRef value, int vector_bytes) {
    int lanes = lanes_of(value), bits = computed_bits(value);
    bool one_by_one = divides(value) && bits > DIVIDED_BITS * lanes;
    int parts = one_by_one ? lanes : (bits / 8 + vector_bytes - 1) / vector_bytes;
    return (divides(value) ? QUOTIENT : 1) * (parts > 1 ? parts : 1);
}

static int64_t block_weight(LLVMBasicBlockRef block, int vector_bytes) {
    int64_t weight = 0;
    for (LLVMValueRef value = LLVMGetFirstInstruction(block); value; value = LLVMGetNextInstruction(value))
        weight += machine_instructions(value, vector_bytes);
    return weight;
}

/* How many of its first instructions stay together: what a block begins with, and memory of the whole function. */
static int least_piece(LLVMBasicBlockRef block) {
    int count = 0, least = 0;
    for (LLVMValueRef value = LLVMGetFirstInstruction(block); value; value = LLVMGetNextInstruction(value)) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
        count++;
        least = opcode == LLVMPHI || opcode == LLVMAlloca ? count : least;
    }
    return least;
}

/* How many of its first instructions make a piece; *left loses their weight. */
static int piece_length(LLVMBasicBlockRef block, int vector_bytes, int64_t *left) {
    int count = 0, least = least_piece(block);
    int64_t weight = 0;
    LLVMValueRef value = LLVMGetFirstInstruction(block);
    for (; weight < PIECE || count < least; value = LLVMGetNextInstruction(value), count++)
        weight += machine_instructions(value, vector_bytes);
    *left -= weight;
    return count;
}

/* Moves the first instructions into a block of their own, which others then branch to. What follows the block goes on
 * naming it: it keeps its terminator, which is away meanwhile, as LLVM looks for what follows there. */
static void cut_off(LLVMBuilderRef builder, LLVMBasicBlockRef block, int count) {
    LLVMValueRef function = LLVMGetBasicBlockParent(block), terminator = LLVMGetBasicBlockTerminator(block);
    LLVMBasicBlockRef piece = LLVMInsertBasicBlockInContext(LLVMGetTypeContext(LLVMTypeOf(function)), block, "");
    LLVMPositionBuilderAtEnd(builder, piece);
    for (int i = 0; i < count; i++) {
        LLVMValueRef value = LLVMGetFirstInstruction(block);
        LLVMInstructionRemoveFromParent(value);
        LLVMInsertIntoBuilder(builder, value);
    }
    LLVMInstructionRemoveFromParent(terminator);
    LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(piece));
    LLVMBuildBr(builder, block);
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMInsertIntoBuilder(builder, terminator);
    LLVMBlockAddress(function, block);
}

static void cut_block(LLVMBuilderRef builder, LLVMBasicBlockRef block, int vector_bytes) {
    int64_t left = block_weight(block, vector_bytes);
    bool is_long = left >= LONG_BLOCK;
    while (is_long && left >= (int64_t)2 * PIECE) {
        int count = piece_length(block, vector_bytes, &left);
        if (left < PIECE)
            break;
        cut_off(builder, block, count);
    }
}

void cut_long_blocks(LLVMModuleRef module, const Target *target) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    int vector_bytes = target->vector_bytes > 0 ? target->vector_bytes : 16;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            cut_block(builder, block, vector_bytes);
    LLVMDisposeBuilder(builder);
}
