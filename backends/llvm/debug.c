/* debug.c - line numbers of the .tensor files for -g: a debugger stops at the statement that runs, and shows it.
 *
 * Every function has a subprogram, also the bodies of parallel loops, and every statement a location. A statement from
 * another file than its function's, by import, is in a block of that file. Without -g nothing here does anything.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"

#include <llvm/Config/llvm-config.h>
#include <string.h>
#include <unistd.h>

typedef struct DebugInfo {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef *files; /* by number; [0]: no file */
    LLVMMetadataRef unit;
    uint32_t function_file; /* file of the current function */
    int function_line;
} DebugInfo;

static LLVMMetadataRef file_of(Code *code, uint32_t number) {
    DebugInfo *debug = code->debug;
    const Sources *sources = code->options->sources;
    if (!sources || number < 1 || (int)number > sources->list.count)
        number = 0;
    if (!debug->files[number]) {
        const char *name = number ? source_get(sources, number)->name : "<none>";
        char folder[4096] = "";
        if (*name == '/' || !getcwd(folder, sizeof folder))
            *folder = '\0';
        debug->files[number] = LLVMDIBuilderCreateFile(debug->builder, name, strlen(name), folder, strlen(folder));
    }
    return debug->files[number];
}

static int line_of(Code *code, Loc loc, int *column) {
    int line = 0;
    *column = 0;
    if (loc.file && code->options->sources)
        source_position(source_get(code->options->sources, loc.file), loc.begin, &line, column);
    return line;
}

static void add_flag(Code *code, const char *name, unsigned value) {
    LLVMValueRef constant = constant_int(code->i32, value);
    LLVMAddModuleFlag(code->module, LLVMModuleFlagBehaviorWarning, name, strlen(name), LLVMValueAsMetadata(constant));
}

void debug_open(Code *code) {
    if (!code->options->debug)
        return;
    DebugInfo *debug = ARENA_NEW(code->arena, DebugInfo);
    int count = code->options->sources ? code->options->sources->list.count : 0;
    code->debug = debug;
    debug->builder = LLVMCreateDIBuilder(code->module);
    debug->files = ARENA_ARRAY(code->arena, LLVMMetadataRef, count + 1);
    add_flag(code, "Debug Info Version", LLVMDebugMetadataVersion());
    add_flag(code, "Dwarf Version", 4);
    const char *producer = code->options->producer ? code->options->producer : "tensorc";
    debug->unit = LLVMDIBuilderCreateCompileUnit(debug->builder, LLVMDWARFSourceLanguageC99,
                                                 file_of(code, count ? 1 : 0), producer, strlen(producer), true, "", 0,
                                                 0, "", 0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
}

void debug_function(Code *code, LLVMValueRef function, const char *name, Loc loc) {
    DebugInfo *debug = code->debug;
    if (!debug)
        return;
    int column;
    LLVMMetadataRef file = file_of(code, loc.file);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(debug->builder, file, NULL, 0, LLVMDIFlagZero);
    debug->function_file = loc.file;
    debug->function_line = line_of(code, loc, &column);
    unsigned line = (unsigned)debug->function_line;
    LLVMMetadataRef scope =
        LLVMDIBuilderCreateFunction(debug->builder, file, name, strlen(name), name, strlen(name), file, line, type,
                                    LLVMGetLinkage(function) == LLVMInternalLinkage, true, line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(function, scope);
    code->frame->scope = scope;
    debug_location(code, loc);
}

void debug_location(Code *code, Loc loc) {
    DebugInfo *debug = code->debug;
    if (!debug)
        return;
    int column = 0, line = loc.file ? line_of(code, loc, &column) : debug->function_line;
    LLVMMetadataRef scope = code->frame->scope;
    if (loc.file && loc.file != debug->function_file)
        scope = LLVMDIBuilderCreateLexicalBlockFile(debug->builder, scope, file_of(code, loc.file), 0);
    LLVMMetadataRef location =
        LLVMDIBuilderCreateDebugLocation(code->context, (unsigned)line, (unsigned)column, scope, NULL);
    LLVMSetCurrentDebugLocation2(code->builder, location);
}

void debug_close(Code *code) {
    if (!code->debug)
        return;
    LLVMDIBuilderFinalize(code->debug->builder);
    LLVMDisposeDIBuilder(code->debug->builder);
}
