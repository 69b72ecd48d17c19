/* threads.c - the thread pool (runtime/threads.ll) becomes a part of the module that calls it. It is text, and the
 * same for all targets but for the instruction that a waiting loop runs.
 */
#include "backends/llvm/code.h"
#include "backends/runtime/runtime.h"
#include "lang/diag.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <string.h>

LLVMValueRef emit_thread_count(Code *code) {
    return emit_call(code, external_function(code, THREADS_COUNT, code->i64, NULL, 0), NULL, 0);
}

/* For loops that wait it runs the instruction of the target. */
static const char *text_of_target(Code *code) {
    static const char place[] = "RELAX";
    const char *at = strstr(threads_text, place);
    ENSURE(at);
    return arena_printf(code->arena, "%.*s%s%s", (int)(at - threads_text), threads_text, code->target->family->relax,
                        at + strlen(place));
}

static LLVMModuleRef parse_threads(Code *code) {
    const char *text = text_of_target(code);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), "threads.ll", true);
    LLVMModuleRef module;
    char *message = NULL;
    if (LLVMParseIRInContext(code->context, buffer, &module, &message))
        INTERNAL_ERROR("threads.ll: %s", message);
    LLVMSetModuleDataLayout(module, LLVMGetModuleDataLayout(code->module));
    LLVMSetTarget(module, LLVMGetTarget(code->module));
    return module;
}

void link_threads(Code *code) {
    if (!LLVMGetNamedFunction(code->module, THREADS_PARALLEL) && !LLVMGetNamedFunction(code->module, THREADS_COUNT))
        return;
    if (LLVMLinkModules2(code->module, parse_threads(code)))
        INTERNAL_ERROR("%s does not link", "threads.ll");
}
