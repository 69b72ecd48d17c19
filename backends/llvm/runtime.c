/* runtime.c - parts of the runtime (backends/runtime) become parts of the modules that call them.
 *
 * Objects take the assembly that was made when tensorc was built. Where modules are written as text, and in candidates,
 * whose loader knows no symbols that are shared, it is the LLVM IR.
 */
#include "backends/llvm/code.h"
#include "backends/runtime/runtime.h"
#include "lang/diag.h"

#include <llvm-c/Comdat.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <string.h>

/* --- calls --- */

/* A function of the runtime is hidden: it is called directly. */
static LLVMValueRef runtime_function(Code *code, const char *name, LLVMTypeRef result, LLVMTypeRef *types, int count) {
    LLVMValueRef function = external_function(code, name, result, types, count);
    LLVMSetVisibility(function, LLVMHiddenVisibility);
    return function;
}

LLVMValueRef emit_take(Code *code, LLVMValueRef workspace, LLVMValueRef bytes) {
    LLVMTypeRef types[] = {code->pointer, code->i64};
    LLVMValueRef take = runtime_function(code, MEMORY_TAKE, code->pointer, types, 2);
    add_attribute(code, take, LLVMAttributeReturnIndex, "noalias");
    return emit_call(code, take, (LLVMValueRef[]){workspace, bytes}, 2);
}

void emit_give(Code *code, LLVMValueRef workspace, LLVMValueRef memory) {
    LLVMTypeRef types[] = {code->pointer, code->pointer};
    LLVMValueRef give = runtime_function(code, MEMORY_GIVE, code->nothing, types, 2);
    emit_call(code, give, (LLVMValueRef[]){workspace, memory}, 2);
}

LLVMValueRef emit_thread_count(Code *code) {
    return emit_call(code, runtime_function(code, THREADS_COUNT, code->i64, NULL, 0), NULL, 0);
}

void emit_parallel(Code *code, LLVMValueRef range, LLVMValueRef closure, LLVMValueRef extent, LLVMValueRef threads,
                   LLVMValueRef most) {
    LLVMTypeRef types[] = {code->pointer, code->pointer, code->i64, code->i64, code->i64};
    LLVMValueRef parallel = runtime_function(code, THREADS_PARALLEL, code->nothing, types, 5);
    emit_call(code, parallel, (LLVMValueRef[]){range, closure, extent, threads, most}, 5);
}

/* --- as LLVM IR --- */

/* The text for the target. A candidate is not at the end of a program. */
static const char *text_of_target(Code *code, const RuntimePart *part) {
    Text text = {.arena = code->arena};
    for (const char *line = part->text, *end; *line; line = end) {
        end = strchr(line, '\n') + 1;
        const char *own = arena_printf(code->arena, "%.*s", (int)(end - line), line);
        const char *relax = strstr(own, RUNTIME_RELAX);
        if (code->options->candidate && strstr(own, RUNTIME_AT_END))
            continue;
        if (relax)
            text_add(&text, "%.*s%s%s", (int)(relax - own), own, code->target->family->relax,
                     relax + strlen(RUNTIME_RELAX));
        else
            text_add(&text, "%s", own);
    }
    return text.text;
}

static LLVMModuleRef parse_part(Code *code, const RuntimePart *part) {
    const char *text = text_of_target(code, part);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), part->name, true);
    LLVMModuleRef module;
    char *message = NULL;
    if (LLVMParseIRInContext(code->context, buffer, &module, &message))
        INTERNAL_ERROR("%s: %s", part->name, message);
    LLVMSetModuleDataLayout(module, LLVMGetModuleDataLayout(code->module));
    LLVMSetTarget(module, LLVMGetTarget(code->module));
    return module;
}

static bool is_shared(LLVMValueRef symbol) {
    return !LLVMIsDeclaration(symbol) && LLVMGetComdat(symbol);
}

/* The loader of a candidate knows no symbols that are shared; it calls one. */
static void make_own(LLVMValueRef symbol) {
    size_t length;
    bool called = strcmp(LLVMGetValueName2(symbol, &length), MEMORY_RELEASE) == 0;
    LLVMSetComdat(symbol, NULL);
    LLVMSetVisibility(symbol, LLVMDefaultVisibility);
    LLVMSetLinkage(symbol, called ? LLVMExternalLinkage : LLVMInternalLinkage);
}

static void make_all_own(LLVMModuleRef module) {
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (is_shared(f))
            make_own(f);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        if (is_shared(g))
            make_own(g);
}

static void link_part(Code *code, const RuntimePart *part) {
    if (LLVMLinkModules2(code->module, parse_part(code, part)))
        INTERNAL_ERROR("%s does not link", part->name);
    if (code->options->candidate)
        make_all_own(code->module);
}

/* --- as assembly --- */

static void append_part(Code *code, const RuntimePart *part) {
    const struct RuntimeAssembly *own = part->assemblies;
    while (own->family && strcmp(own->family, code->target->family->name) != 0)
        own++;
    ENSURE(own->family);
    LLVMAppendModuleInlineAsm(code->module, own->assembly, strlen(own->assembly));
}

static void bring_part(Code *code, const RuntimePart *part) {
    if (code->options->candidate || code->options->kind == EMIT_LLVM)
        link_part(code, part);
    else
        append_part(code, part);
}

void bring_runtime(Code *code) {
    bring_part(code, &memory_part);
    if (LLVMGetNamedFunction(code->module, THREADS_PARALLEL) || LLVMGetNamedFunction(code->module, THREADS_COUNT))
        bring_part(code, &threads_part);
}
