/* blocks.c - long blocks of the optimized module cut into pieces: LLVM chooses the order of a block's instructions in
 * quadratic time.
 *
 * Done last, as passes would put the pieces together again; so would code generators, but for blocks that have an
 * address. Only blocks that are no register tile are so long: nothing is gained by an order of all that they have.
 */
#include "backends/llvm/code.h"

enum { LONG_BLOCK = 4096, PIECE = 512 /* instructions */ };

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

static void cut_block(LLVMBuilderRef builder, LLVMBasicBlockRef block) {
    int left = block_instructions(block);
    if (left < LONG_BLOCK)
        return;
    int piece = least_piece(block);
    piece = piece > PIECE ? piece : PIECE;
    for (; left >= 2 * piece; left -= piece)
        cut_off(builder, block, piece);
}

void cut_long_blocks(LLVMModuleRef module) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            cut_block(builder, block);
    LLVMDisposeBuilder(builder);
}
