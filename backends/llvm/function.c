/* function.c - functions, their frames, and control flow: loops in rotated form, branches with phis.
 *
 * Allocas are in the entry block, which has no other code, so that mem2reg promotes them. A function with temporaries
 * in memory returns through one block that frees them; others return directly.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"

#include <string.h>

/* --- attributes --- */

void add_attribute(Code *code, LLVMValueRef function, unsigned index, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    ENSURE(kind != 0);
    LLVMAddAttributeAtIndex(function, index, LLVMCreateEnumAttribute(code->context, kind, 0));
}

void add_call_attribute(Code *code, LLVMValueRef call, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    ENSURE(kind != 0);
    LLVMAddCallSiteAttribute(call, (unsigned)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(code->context, kind, 0));
}

static void add_text_attribute(Code *code, LLVMValueRef function, const char *name, const char *value) {
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(code->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex, attribute);
}

/* Every function names the processor: without it intrinsics become calls. LLVM would rather use half of 512 bits. */
void set_target_attributes(Code *code, LLVMValueRef function) {
    const Target *target = code->target;
    add_attribute(code, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    add_text_attribute(code, function, "target-cpu", target->cpu);
    if (*target->features)
        add_text_attribute(code, function, "target-features", target->features);
    if (target->vector_bytes >= 32) {
        const char *bits = arena_printf(code->arena, "%d", 8 * target->vector_bytes);
        add_text_attribute(code, function, "prefer-vector-width", bits);
        add_text_attribute(code, function, "min-legal-vector-width", bits);
    }
}

LLVMValueRef internal_function(Code *code, const char *name, LLVMTypeRef type) {
    LLVMValueRef function = LLVMAddFunction(code->module, name, type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    set_target_attributes(code, function);
    return function;
}

/* --- frames --- */

Frame *frame_open(Code *code, LLVMValueRef function) {
    Frame *frame = ARENA_NEW(code->arena, Frame);
    *frame = (Frame){.outer = code->frame, .function = function};
    frame->entry = LLVMAppendBasicBlockInContext(code->context, function, "entry");
    code->frame = frame;
    LLVMPositionBuilderAtEnd(code->builder, new_block(code, "body"));
    return frame;
}

void frame_close(Code *code) {
    Frame *frame = code->frame;
    LLVMPositionBuilderAtEnd(code->builder, frame->entry);
    LLVMBuildBr(code->builder, LLVMGetNextBasicBlock(frame->entry));
    code->frame = frame->outer;
}

Apart apart_open(Code *code, const char *name, LLVMTypeRef type) {
    Apart apart = {.at = LLVMGetInsertBlock(code->builder),
                   .line = LLVMGetCurrentDebugLocation2(code->builder),
                   .memo = code->memo};
    apart.function = internal_function(code, name, type);
    add_attribute(code, apart.function, (unsigned)LLVMAttributeFunctionIndex, "noinline");
    add_attribute(code, apart.function, (unsigned)LLVMAttributeFunctionIndex, "willreturn");
    LLVMSetCurrentDebugLocation2(code->builder, NULL);
    frame_open(code, apart.function);
    forget_values(code);
    return apart;
}

LLVMValueRef apart_close(Code *code, const Apart *apart) {
    frame_close(code);
    code->memo = apart->memo;
    LLVMPositionBuilderAtEnd(code->builder, apart->at);
    LLVMSetCurrentDebugLocation2(code->builder, apart->line);
    return apart->function;
}

void apart_touches(Code *code, const Apart *apart, ApartMemory memory) {
    unsigned kind = LLVMGetEnumAttributeKindForName("memory", strlen("memory"));
    if (kind) /* from LLVM 16 on */
        LLVMAddAttributeAtIndex(apart->function, (unsigned)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(code->context, kind, memory));
}

LLVMBasicBlockRef new_block(Code *code, const char *name) {
    return LLVMAppendBasicBlockInContext(code->context, code->frame->function, name);
}

LLVMValueRef entry_alloca(Code *code, LLVMTypeRef type, int alignment, const char *name) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMPositionBuilderAtEnd(code->builder, code->frame->entry);
    LLVMValueRef alloca = LLVMBuildAlloca(code->builder, type, name);
    if (alignment)
        LLVMSetAlignment(alloca, (unsigned)alignment);
    LLVMPositionBuilderAtEnd(code->builder, here);
    return alloca;
}

LLVMValueRef variable_value(Code *code, const Var *var) {
    LLVMValueRef value = address_map_get(&code->frame->variables, var);
    if (!value)
        INTERNAL_ERROR("%s: no value for the variable %s", code->kernel->program->symbol, var->name);
    return value;
}

void bind_variable(Code *code, const Var *var, LLVMValueRef value) {
    code->addresses.count = 0;
    forget_divisors(code, NULL);
    address_map_set(code->arena, &code->frame->variables, var, value);
}

LLVMValueRef emit_empty_assembly(Code *code, const char *constraints, LLVMTypeRef result, LLVMValueRef value,
                                 bool stays) {
    size_t length = strlen(constraints);
    char own[length + 1]; /* until LLVM 17 they were not const */
    memcpy(own, constraints, sizeof own);
    LLVMTypeRef parameter = value ? LLVMTypeOf(value) : NULL;
    LLVMTypeRef type = LLVMFunctionType(result, value ? &parameter : NULL, value != NULL, false);
    LLVMValueRef assembly = LLVMGetInlineAsm(type, "", 0, own, length, stays, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(code->builder, type, assembly, value ? &value : NULL, value != NULL, "");
}

/* Hides an address: otherwise loads of known constants cross the barriers between the steps of a reduction, and stay in
 * registers until the accumulators no longer fit. */
LLVMValueRef unknown_value(Code *code, LLVMValueRef value) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMPositionBuilderAtEnd(code->builder, code->frame->entry);
    LLVMValueRef unknown = emit_empty_assembly(code, "=r,0", LLVMTypeOf(value), value, false);
    LLVMPositionBuilderAtEnd(code->builder, here);
    return unknown;
}

const Tensor *tensor_in_memory(const Tensor *tensor) {
    return tensor->role == ROLE_INITIAL && tensor->buffer ? tensor->buffer : tensor;
}

bool folds_constant(const Tensor *tensor) {
    return tensor_elements(tensor) * element_info[tensor->type].bytes <= FOLDED_BYTES;
}

Buffer *buffer_of(Code *code, const Tensor *tensor) {
    tensor = tensor_in_memory(tensor);
    Buffer *buffer = address_map_get(&code->frame->buffers, tensor);
    if (!buffer && tensor->role == ROLE_CONSTANT) {
        LLVMValueRef pointer = constant_pointer(code, tensor);
        bind_buffer(code, tensor, folds_constant(tensor) ? pointer : unknown_value(code, pointer));
        buffer = address_map_get(&code->frame->buffers, tensor);
    }
    if (!buffer)
        INTERNAL_ERROR("%s: no memory for the tensor %s", code->kernel->program->symbol, tensor->name);
    return buffer;
}

void bind_buffer(Code *code, const Tensor *tensor, LLVMValueRef pointer) {
    Buffer *buffer = ARENA_NEW(code->arena, Buffer);
    *buffer = (Buffer){.tensor = tensor, .pointer = pointer};
    address_map_set(code->arena, &code->frame->buffers, tensor, buffer);
}

void bind_parameter(Code *code, const Tensor *tensor, unsigned parameter) {
    LLVMValueRef pointer = LLVMGetParam(code->frame->function, parameter);
    LLVMSetValueName2(pointer, tensor->name, strlen(tensor->name));
    add_attribute(code, code->frame->function, parameter + 1, "noalias");
    bind_buffer(code, tensor, pointer);
}

void return_status(Code *code, LLVMValueRef status) {
    Frame *frame = code->frame;
    if (!frame->leave) {
        LLVMBuildRet(code->builder, status);
        return;
    }
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMAddIncoming(frame->status, &status, &here, 1);
    LLVMBuildBr(code->builder, frame->leave);
}

/* --- loops and branches --- */

LoopBlocks loop_begin(Code *code, LLVMValueRef low, LLVMValueRef high, const char *name) {
    LoopBlocks loop = {.body = new_block(code, name), .high = high};
    loop.leave = new_block(code, "done");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(code->builder);
    LLVMValueRef any = LLVMBuildICmp(code->builder, LLVMIntSLT, low, high, "");
    if (LLVMIsAConstantInt(any) && LLVMConstIntGetZExtValue(any))
        LLVMBuildBr(code->builder, loop.body);
    else
        LLVMBuildCondBr(code->builder, any, loop.body, loop.leave);
    LLVMPositionBuilderAtEnd(code->builder, loop.body);
    loop.index = LLVMBuildPhi(code->builder, code->i64, name);
    LLVMAddIncoming(loop.index, &low, &before, 1);
    return loop;
}

void loop_end(Code *code, const LoopBlocks *loop) {
    LLVMValueRef next = LLVMBuildNSWAdd(code->builder, loop->index, index_constant(code, 1), "");
    LLVMValueRef again = LLVMBuildICmp(code->builder, LLVMIntSLT, next, loop->high, "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(code->builder);
    LLVMBuildCondBr(code->builder, again, loop->body, loop->leave);
    LLVMAddIncoming(loop->index, &next, &last, 1);
    LLVMMoveBasicBlockAfter(loop->leave, last);
    LLVMPositionBuilderAtEnd(code->builder, loop->leave);
}

void forget_values(Code *code) {
    code->memo = ARENA_NEW(code->arena, Memo);
}

/* What is computed on one path is not known on the other, nor after it. */
static void enter_way(Code *code, Memo *outer) {
    code->memo = ARENA_NEW(code->arena, Memo);
    *code->memo = (Memo){.outer = outer, .depth = outer->depth + 1, .index = outer->index};
}

Branch branch_begin(Code *code, LLVMValueRef condition) {
    Branch branch = {.memo = code->memo};
    LLVMBasicBlockRef then = new_block(code, "then");
    branch.otherwise = new_block(code, "else");
    branch.join = new_block(code, "join");
    LLVMBuildCondBr(code->builder, condition, then, branch.otherwise);
    LLVMPositionBuilderAtEnd(code->builder, then);
    enter_way(code, branch.memo);
    return branch;
}

void branch_else(Code *code, Branch *branch) {
    branch->then_end = LLVMGetInsertBlock(code->builder);
    LLVMBuildBr(code->builder, branch->join);
    LLVMMoveBasicBlockAfter(branch->otherwise, branch->then_end);
    LLVMPositionBuilderAtEnd(code->builder, branch->otherwise);
    enter_way(code, branch->memo);
}

void branch_end(Code *code, Branch *branch) {
    branch->other_end = LLVMGetInsertBlock(code->builder);
    LLVMBuildBr(code->builder, branch->join);
    LLVMMoveBasicBlockAfter(branch->join, branch->other_end);
    LLVMPositionBuilderAtEnd(code->builder, branch->join);
    code->memo = branch->memo;
}

LLVMValueRef branch_phi(Code *code, const Branch *branch, LLVMValueRef then_value, LLVMValueRef else_value) {
    LLVMValueRef phi = LLVMBuildPhi(code->builder, LLVMTypeOf(then_value), "");
    LLVMAddIncoming(phi, &then_value, (LLVMBasicBlockRef[]){branch->then_end}, 1);
    LLVMAddIncoming(phi, &else_value, (LLVMBasicBlockRef[]){branch->other_end}, 1);
    return phi;
}

/* --- the function of a kernel --- */

LLVMTypeRef *parameter_types(Code *code, const Program *program, bool workspace, int *count) {
    int from = workspace ? 1 : 0, arguments = from + program->size_count;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, arguments + program->argument_count + 1);
    types[0] = code->pointer; /* of the workspace */
    for (int i = 0; i < program->size_count; i++)
        types[from + i] = code->i64;
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *argument = &program->arguments[i];
        types[arguments + i] = argument->tensor ? code->pointer : memory_type(code, argument->scalar->type);
    }
    *count = arguments + program->argument_count;
    return types;
}

static LLVMValueRef declare_function(Code *code, const Program *program, const char *name, bool workspace) {
    int count;
    LLVMTypeRef *types = parameter_types(code, program, workspace, &count);
    LLVMTypeRef type = LLVMFunctionType(code->i32, types, (unsigned)count, false);
    LLVMValueRef function = LLVMAddFunction(code->module, name, type);
    set_target_attributes(code, function);
    return function;
}

/* Inputs may overlap each other: noalias allows that if nobody writes them. */
static void bind_argument(Code *code, const Argument *argument, unsigned parameter) {
    LLVMValueRef value = LLVMGetParam(code->frame->function, parameter);
    if (argument->scalar) {
        LLVMSetValueName2(value, argument->scalar->name, strlen(argument->scalar->name));
        bind_variable(code, argument->scalar, from_memory(code, value, argument->scalar->type));
        return;
    }
    LLVMSetValueName2(value, argument->tensor->name, strlen(argument->tensor->name));
    add_attribute(code, code->frame->function, parameter + 1, "noalias");
    if (argument->tensor->role != ROLE_OUTPUT)
        add_attribute(code, code->frame->function, parameter + 1, "readonly");
    bind_buffer(code, argument->tensor, value);
    for (int i = 0; i < argument->part_count; i++) {
        LLVMValueRef offset = emit_value(code, argument->parts[i].offset);
        bind_buffer(code, argument->parts[i].tensor,
                    LLVMBuildInBoundsGEP2(code->builder, code->i8, value, &offset, 1, argument->parts[i].tensor->name));
    }
}

void bind_sizes(Code *code, const Program *program) {
    for (int i = 0; i < program->size_count; i++) {
        LLVMValueRef value = LLVMGetParam(code->frame->function, (unsigned)(code->frame->leading + i));
        LLVMSetValueName2(value, program->sizes[i]->name, strlen(program->sizes[i]->name));
        bind_variable(code, program->sizes[i], value);
    }
}

static void bind_arguments(Code *code, const Program *program, bool workspace) {
    Frame *frame = code->frame;
    frame->leading = workspace ? 1 : 0;
    frame->workspace = workspace ? LLVMGetParam(frame->function, 0) : LLVMConstNull(code->pointer);
    bind_sizes(code, program);
    for (int i = 0; i < program->argument_count; i++)
        bind_argument(code, &program->arguments[i], (unsigned)(frame->leading + program->size_count + i));
}

/* Everything after this assumes sizes >= 0. The sign of their bitwise or is that of the smallest. */
void refuse_negative_sizes(Code *code, const Program *program) {
    if (program->size_count == 0)
        return;
    LLVMValueRef all = variable_value(code, program->sizes[0]);
    for (int i = 1; i < program->size_count; i++)
        all = LLVMBuildOr(code->builder, all, variable_value(code, program->sizes[i]), "");
    LLVMValueRef negative = LLVMBuildICmp(code->builder, LLVMIntSLT, all, index_constant(code, 0), "");
    LLVMBasicBlockRef refuse = new_block(code, "negative_size"), go_on = new_block(code, "sizes");
    LLVMBuildCondBr(code->builder, negative, refuse, go_on);
    LLVMPositionBuilderAtEnd(code->builder, refuse);
    return_status(code, constant_int(code->i32, STATUS_BAD_SIZE));
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

/* --- versions for known sizes --- */

static LLVMValueRef size_value(Code *code, const Program *program, const char *name) {
    for (int i = 0; i < program->size_count; i++)
        if (!strcmp(program->sizes[i]->name, name))
            return variable_value(code, program->sizes[i]);
    INTERNAL_ERROR("%s: no size %s", program->symbol, name);
}

static LLVMValueRef sizes_match(Code *code, const Program *program, const Variant *variant) {
    LLVMValueRef match = LLVMConstInt(LLVMInt1TypeInContext(code->context), 1, false);
    for (int i = 0; i < variant->binding_count; i++) {
        LLVMValueRef size = size_value(code, program, variant->bindings[i].name);
        LLVMValueRef value = index_constant(code, variant->bindings[i].value);
        LLVMIntPredicate holds = variant->at_most ? LLVMIntSLE : LLVMIntEQ;
        match = LLVMBuildAnd(code->builder, match, LLVMBuildICmp(code->builder, holds, size, value, ""), "");
    }
    return match;
}

LLVMBasicBlockRef variant_begin(Code *code, const Program *program, const Variant *variant, LLVMValueRef *sizes) {
    LLVMValueRef match = sizes_match(code, program, variant);
    const Program *known = variant->kernel->program;
    LLVMBasicBlockRef call = new_block(code, "known_sizes"), go_on = new_block(code, "other_sizes");
    LLVMBuildCondBr(code->builder, match, call, go_on);
    LLVMPositionBuilderAtEnd(code->builder, call);
    for (int i = 0; i < known->size_count; i++)
        sizes[i] = size_value(code, program, known->sizes[i]->name);
    return go_on;
}

/* if (the sizes are the variant's) return variant(the other sizes, the arguments) */
static void call_variant(Code *code, const Program *program, const Variant *variant, const Emitted *target) {
    Frame *frame = code->frame;
    int from = target->workspace ? 1 : 0, arguments = from + variant->kernel->program->size_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, arguments + program->argument_count + 1);
    args[0] = frame->workspace;
    LLVMBasicBlockRef go_on = variant_begin(code, program, variant, args + from);
    for (int i = 0; i < program->argument_count; i++)
        args[arguments + i] = LLVMGetParam(frame->function, (unsigned)(frame->leading + program->size_count + i));
    return_status(code, emit_call(code, target->function, args, arguments + program->argument_count));
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

void begin_kernel(Code *code, const Kernel *kernel) {
    code->kernel = kernel;
    code->lanes_chosen = code->lanes_converted = code->functions_placed = 0;
    code->placements = code->slices = code->shared = code->passed = code->shared_places = code->checked = (Map){0};
    code->many_runs = has_many_runs(kernel);
    code->outlined_count = 0;
    forget_values(code);
}

static LLVMValueRef emit_body(Code *code, const Kernel *kernel, const char *name, const Emitted *variants,
                              bool workspace) {
    const Program *program = kernel->program;
    begin_kernel(code, kernel);
    code->nests_apart = code->has_twin || is_long_kernel(kernel);
    LLVMValueRef function = declare_function(code, program, name, workspace);
    frame_open(code, function);
    debug_function(code, function, name, program->loc);
    bind_arguments(code, program, workspace);
    refuse_negative_sizes(code, program);
    for (int i = 0; i < kernel->variant_count; i++)
        call_variant(code, program, &kernel->variants[i], &variants[i]);
    emit_early_checks(code, kernel->body);
    take_temporaries(code, kernel->body);
    emit_statement(code, kernel->body);
    return_status(code, constant_int(code->i32, STATUS_OK));
    give_temporaries(code);
    frame_close(code);
    return function;
}

/* --- all functions of a kernel --- */

/* A version is for the function alone. */
static Emitted emit_variant(Code *code, const Variant *variant) {
    Emitted emitted = {0};
    const Kernel *kernel = variant->kernel;
    if (!code->options->candidate)
        emit_workspace_size(code, kernel, NULL, &emitted);
    emitted.function = emit_body(code, kernel, kernel->program->symbol, NULL, emitted.workspace);
    LLVMSetLinkage(emitted.function, LLVMInternalLinkage);
    if (emitted.size)
        LLVMSetLinkage(emitted.size, LLVMInternalLinkage);
    return emitted;
}

/* NAME_in is an alias where NAME.in has the code. */
LLVMValueRef function_named(Code *code, const char *symbol, const char *ending) {
    LLVMValueRef inside = LLVMGetNamedFunction(code->module, arena_printf(code->arena, "%s.in", symbol));
    if (inside && !strcmp(ending, "_in"))
        return inside;
    return LLVMGetNamedFunction(code->module, arena_printf(code->arena, "%s%s", symbol, ending));
}

/* Another name, for others: calls inside the object reach the function itself, whatever libraries define. */
static void export_as(Code *code, LLVMValueRef function, const char *name) {
    LLVMSetLinkage(function, LLVMInternalLinkage);
    LLVMAddAlias2(code->module, LLVMGlobalGetValueType(function), 0, function, name);
}

/* NAME, and beside it NAME_in and NAME_workspace_size. Without temporaries in memory NAME has the code. */
static LLVMValueRef emit_ways_in(Code *code, const Kernel *kernel, const Emitted *variants) {
    const Program *program = kernel->program;
    const char *symbol = program->symbol, *in = arena_printf(code->arena, "%s_in", symbol);
    if (code->options->candidate)
        return emit_body(code, kernel, symbol, variants, false);
    Emitted emitted = {0};
    emit_workspace_size(code, kernel, variants, &emitted);
    if (!emitted.workspace) {
        emitted.function = emit_body(code, kernel, symbol, variants, false);
        emit_other_way(code, program, &emitted, in);
        return emitted.function;
    }
    emitted.function = emit_body(code, kernel, arena_printf(code->arena, "%s.in", symbol), variants, true);
    export_as(code, emitted.function, in);
    return emit_other_way(code, program, &emitted, symbol);
}

/* NAME_packed and what is beside it, as other names of what NAME has. */
static void name_packed(Code *code, const Kernel *kernel) {
    static const char *const endings[] = {"", "_in", "_workspace_size"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        LLVMValueRef function = function_named(code, kernel->program->symbol, endings[i]);
        const char *name = arena_printf(code->arena, "%s%s", kernel->packed->program->symbol, endings[i]);
        LLVMAddAlias2(code->module, LLVMGlobalGetValueType(function), 0, function, name);
    }
}

static void emit_packed(Code *code, const Kernel *kernel) {
    if (kernel->packed_as_is)
        name_packed(code, kernel);
    else if (kernel->packed)
        emit_ways_in(code, kernel->packed, NULL);
}

static void emit_packing(Code *code, const Kernel *kernel) {
    LLVMValueRef *sizes = ARENA_ARRAY(code->arena, LLVMValueRef, kernel->packing_count + 1);
    emit_packed(code, kernel);
    code->has_twin = false;
    for (int i = 0; i < kernel->packing_count; i++) {
        const Kernel *packing = kernel->packings[i].kernel;
        emit_body(code, packing, packing->program->symbol, NULL, false);
        sizes[i] = emit_packed_size(code, &kernel->packings[i]);
    }
    if (kernel->packed && is_packed_together(kernel->program) && !code->options->candidate)
        emit_packed_together(code, kernel, sizes);
}

void emit_function(Code *code, const Kernel *kernel) {
    Emitted *variants = ARENA_ARRAY(code->arena, Emitted, kernel->variant_count + 1);
    code->has_twin = false;
    for (int i = 0; i < kernel->variant_count; i++)
        variants[i] = emit_variant(code, &kernel->variants[i]);
    code->has_twin = kernel->packed && !kernel->packed_as_is;
    LLVMValueRef function = emit_ways_in(code, kernel, variants);
    emit_packing(code, kernel);
    if (code->options->candidate)
        emit_entry(code, kernel->program, function);
}
