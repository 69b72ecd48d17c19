/* emit.c - the way into the LLVM code generator: kernels in; an object, assembly or LLVM text out.
 *
 * A candidate of the search gets the same code as the final output: the same passes, the same code generator switches.
 * These switches are global to the process, and are set once, before the first machine is made.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/program.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- LLVM's own state --- */

static void fatal(const char *reason) {
    INTERNAL_ERROR("LLVM: %s", reason);
}

/* The scheduler before register allocation overlaps the steps of register tiles until they spill. Loop strength
 * reduction takes time, and gains nothing on addresses that are displacements already. Reassignment of domains goes
 * through the function again for each closure of values that might be masks: most of the time on AVX-512, for values
 * that are masks already. Each look for equal reads is short; their number is that of the reads, and has no limit. */
static void start_llvm(void) {
    static const char *const switches[] = {"tensorc", "-enable-misched=false", "-disable-lsr",
                                           "-disable-x86-domain-reassignment",
                                           "-earlycse-mssa-optimization-cap=1000000"};
    LLVMInstallFatalErrorHandler(fatal);
    LLVMParseCommandLineOptions(sizeof switches / sizeof *switches, switches, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
}

static void ensure_llvm(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_llvm);
}

/* --- a module --- */

typedef struct Emission {
    Code code;
    LLVMTargetMachineRef machine;
    char *error; /* what LLVM reported, malloc'ed */
} Emission;

static void keep_error(Emission *emission, const char *text) {
    if (!emission->error)
        emission->error = memory_given(strdup(text));
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    keep_error(context, text);
    LLVMDisposeMessage(text);
}

static bool open_machine(Emission *emission, const Target *target) {
    LLVMTargetRef found;
    char *text = NULL;
    if (LLVMGetTargetFromTriple(target->triple, &found, &text)) {
        keep_error(emission, text);
        LLVMDisposeMessage(text);
        return false;
    }
    emission->machine = LLVMCreateTargetMachine(found, target->triple, target->cpu, target->features,
                                                LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelDefault);
    return emission->machine != NULL;
}

static void make_types(Code *code) {
    LLVMContextRef context = code->context;
    code->i1 = LLVMInt1TypeInContext(context);
    code->i8 = LLVMInt8TypeInContext(context);
    code->i16 = LLVMInt16TypeInContext(context);
    code->i32 = LLVMInt32TypeInContext(context);
    code->i64 = LLVMInt64TypeInContext(context);
    code->f32 = LLVMFloatTypeInContext(context);
    code->f64 = LLVMDoubleTypeInContext(context);
    code->nothing = LLVMVoidTypeInContext(context);
    code->pointer = LLVMPointerTypeInContext(context, 0);
}

static void add_module_flag(Code *code, const char *name, unsigned value) {
    LLVMMetadataRef constant = LLVMValueAsMetadata(LLVMConstInt(code->i32, value, false));
    LLVMAddModuleFlag(code->module, LLVMModuleFlagBehaviorOverride, name, strlen(name), constant);
}

/* Layout and triple come first: types and passes depend on them. Code is always position-independent, because whoever
 * links may make a position-independent program; without -fPIC our definitions are known to stay ours. */
static void open_module(Emission *emission, const Target *target, const EmitOptions *options) {
    Code *code = &emission->code;
    *code = (Code){.arena = arena_new(), .target = target, .options = options, .context = LLVMContextCreate()};
    LLVMContextSetDiagnosticHandler(code->context, on_diagnostic, emission);
    code->module = LLVMModuleCreateWithNameInContext("tensorc", code->context);
    code->builder = LLVMCreateBuilderInContext(code->context);
    make_types(code);
    code->half_instructions = target_converts_half(target);
    code->single_thread = target->threads == 1;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(emission->machine);
    LLVMSetModuleDataLayout(code->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(code->module, target->triple);
    add_module_flag(code, "PIC Level", 2);
    if (!options->pic && !options->candidate)
        add_module_flag(code, "PIE Level", 2);
    debug_open(code);
}

static void drop_module(Code *code) {
    if (!code->module)
        return;
    LLVMDisposeBuilder(code->builder);
    LLVMDisposeModule(code->module);
    code->module = NULL;
}

static void close_module(Emission *emission) {
    Code *code = &emission->code;
    if (!code->context)
        return;
    drop_module(code);
    LLVMContextDispose(code->context);
    arena_free(code->arena);
}

/* --- passes and bytes --- */

#if LLVM_VERSION_MAJOR >= 18
#define COMBINE "instcombine<no-verify-fixpoint>"
#else
#define COMBINE "instcombine"
#endif
#define FOLDING(simplify) "function(sroa,early-cse<memssa>," simplify ")"
/* The code is in final form: promotes register buffers, computes once what copies of a loop's body have in common
 * (other tensors may be stored in between: hence <memssa>), folds what indices left, hoists what loops do not change.
 * The selection of instructions combines them: before it that would take a sixth of the time, for nothing. But where an
 * instruction loads or stores several columns, it is found among shuffles that were combined. */
static const char folding_pipeline[] = FOLDING("instsimplify");
static const char column_folding_pipeline[] = FOLDING(COMBINE);
static const char hoisting_pipeline[] = "function(loop-simplify,loop-mssa(licm),simplifycfg)";

/* When thousands of addresses live through a whole function, LLVM's time to order and allocate them is quadratic.
 * Functions with more instructions than this, far beyond large tiles, keep their addresses where they are. */
enum { HOISTING_LIMIT = 32768 };

static const char inline_pipeline[] = "always-inline,globaldce";

/* Nests that differ in nothing but their tensors, as those that pack arguments often do, become one function: their
 * tensors are its arguments. Some are the same only once they are folded, as those of a function and of the one that
 * takes packed arguments, which number their values in another order. With source lines each keeps its own. */
static const char sharing_pipeline[] = "mergefunc";

char *run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *pipeline) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, pipeline, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return NULL;
    char *text = LLVMGetErrorMessage(error), *message = LLVMCreateMessage(text);
    LLVMDisposeErrorMessage(text);
    return message;
}

static bool run(Emission *emission, const char *pipeline) {
    char *error = run_passes(emission->code.module, emission->machine, pipeline);
    if (error)
        keep_error(emission, error);
    LLVMDisposeMessage(error);
    return !error;
}

/* Which passes leave alone: LLVM wants both together. */
static const char *const left_alone[] = {"optnone", "noinline"};

static void leave_alone(Emission *emission, LLVMValueRef function, bool alone) {
    const unsigned at = (unsigned)LLVMAttributeFunctionIndex;
    for (size_t i = 0; i < sizeof left_alone / sizeof *left_alone; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(left_alone[i], strlen(left_alone[i]));
        if (alone)
            add_attribute(&emission->code, function, at, left_alone[i]);
        else
            LLVMRemoveEnumAttributeAtIndex(function, at, kind);
    }
}

static bool hoist(Emission *emission) {
    LLVMModuleRef module = emission->code.module;
    LIST(LLVMValueRef) long_ones = {0};
    for (LLVMValueRef function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function))
        if (instruction_count(function) > HOISTING_LIMIT)
            list_push(emission->code.arena, &long_ones, function);
    for (int i = 0; i < long_ones.count; i++)
        leave_alone(emission, long_ones.items[i], true);
    bool hoisted = run(emission, hoisting_pipeline);
    for (int i = 0; i < long_ones.count; i++)
        leave_alone(emission, long_ones.items[i], false);
    return hoisted;
}

static bool share(Emission *emission) {
    return emission->code.options->debug || run(emission, sharing_pipeline);
}

static bool fold(Emission *emission) {
    bool columns = emission->code.target->family->column_most > 0;
    return run(emission, columns ? column_folding_pipeline : folding_pipeline);
}

static bool optimize(Emission *emission) {
    return (!emission->code.inlines || run(emission, inline_pipeline)) && share(emission) && fold(emission) &&
           share(emission) && hoist(emission);
}

static void verify(Emission *emission) {
    char *text = NULL;
    if (LLVMVerifyModule(emission->code.module, LLVMReturnStatusAction, &text))
        INTERNAL_ERROR("the code generator made a wrong module: %s", text);
    LLVMDisposeMessage(text);
}

static char *copy_bytes(const char *from, size_t count) {
    char *bytes = memory_given(malloc(count + 1));
    memcpy(bytes, from, count);
    bytes[count] = '\0';
    return bytes;
}

static char *module_text(Emission *emission, size_t *count) {
    char *text = LLVMPrintModuleToString(emission->code.module);
    *count = strlen(text);
    char *bytes = copy_bytes(text, *count);
    LLVMDisposeMessage(text);
    return bytes;
}

static char *generate(Emission *emission, LLVMCodeGenFileType type, size_t *count) {
    LLVMMemoryBufferRef buffer;
    char *text = NULL;
    cut_long_blocks(emission->code.module, emission->code.target);
    if (LLVMTargetMachineEmitToMemoryBuffer(emission->machine, emission->code.module, type, &text, &buffer)) {
        keep_error(emission, text);
        LLVMDisposeMessage(text);
        return NULL;
    }
    drop_module(&emission->code); /* its constants may be as large as the output */
    *count = LLVMGetBufferSize(buffer);
    char *bytes = copy_bytes(LLVMGetBufferStart(buffer), *count);
    LLVMDisposeMemoryBuffer(buffer);
    return bytes;
}

/* A long module by several processes. */
static char *generate_object(Emission *emission, size_t *count) {
    const char *why = NULL;
    int64_t instructions = instructions_to_share(&emission->code);
    if (!instructions)
        return generate(emission, LLVMObjectFile, count);
    char *bytes = generate_partitions(&emission->code, emission->machine, instructions, &emission->error, count, &why);
    drop_module(&emission->code);
    if (!bytes)
        keep_error(emission, why);
    return bytes;
}

static char *module_bytes(Emission *emission, EmitKind kind, size_t *count) {
    if (emission->code.problem) {
        keep_error(emission, emission->code.problem);
        return NULL;
    }
    if (!emission->code.options->candidate || emission->code.options->verify)
        verify(emission);
    if (!optimize(emission))
        return NULL;
    char *bytes = kind == EMIT_LLVM     ? module_text(emission, count)
                  : kind == EMIT_OBJECT ? generate_object(emission, count)
                                        : generate(emission, LLVMAssemblyFile, count);
    bool whole = !bytes || emission->error || add_constants(&emission->code, &bytes, count);
    if (bytes && (emission->error || !whole)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Keeps the reason in the arena of the first kernel, which is the caller's. */
static char *fail(Emission *emission, Kernel *const *kernels, int count, const char **why) {
    const char *reason = emission->error ? emission->error : "out of memory";
    *why = count ? arena_strdup(kernels[0]->arena, reason) : "LLVM failed";
    return NULL;
}

char *llvm_emit(Kernel *const *kernels, int count, const Target *target, const EmitOptions *options, size_t *bytes,
                const char **why) {
    Emission emission = {0};
    char *result = NULL;
    ensure_llvm();
    if (open_machine(&emission, target)) {
        open_module(&emission, target, options);
        for (int i = 0; i < count; i++)
            emit_function(&emission.code, kernels[i]);
        bring_runtime(&emission.code);
        debug_close(&emission.code);
        result = module_bytes(&emission, options->kind, bytes);
        LLVMDisposeTargetMachine(emission.machine);
    }
    if (!result)
        fail(&emission, kernels, count, why);
    close_module(&emission);
    free(emission.error);
    return result;
}
