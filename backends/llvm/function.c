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
    Apart apart = {.at = LLVMGetInsertBlock(code->builder), .line = LLVMGetCurrentDebugLocation2(code->builder)};
    apart.function = LLVMAddFunction(code->module, name, type);
    LLVMSetLinkage(apart.function, LLVMInternalLinkage);
    set_target_attributes(code, apart.function);
    add_attribute(code, apart.function, (unsigned)LLVMAttributeFunctionIndex, "noinline");
    add_attribute(code, apart.function, (unsigned)LLVMAttributeFunctionIndex, "willreturn");
    LLVMSetCurrentDebugLocation2(code->builder, NULL);
    frame_open(code, apart.function);
    return apart;
}

LLVMValueRef apart_close(Code *code, const Apart *apart) {
    frame_close(code);
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

/* Hides an address: otherwise loads of known constants cross the barriers between the steps of a reduction, and stay in
 * registers until the accumulators no longer fit. */
LLVMValueRef unknown_value(Code *code, LLVMValueRef value) {
    char constraints[] = "=r,0"; /* not const: until LLVM 17 the parameter was not */
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    LLVMTypeRef parameter = LLVMTypeOf(value), type = LLVMFunctionType(parameter, &parameter, 1, false);
    LLVMPositionBuilderAtEnd(code->builder, code->frame->entry);
    LLVMValueRef same = LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, false, false,
                                         LLVMInlineAsmDialectATT, false);
    LLVMValueRef unknown = LLVMBuildCall2(code->builder, type, same, &value, 1, "");
    LLVMPositionBuilderAtEnd(code->builder, here);
    return unknown;
}

Buffer *buffer_of(Code *code, const Tensor *tensor) {
    if (tensor->role == ROLE_INITIAL && tensor->buffer)
        tensor = tensor->buffer;
    Buffer *buffer = address_map_get(&code->frame->buffers, tensor);
    if (!buffer && tensor->role == ROLE_CONSTANT) {
        LLVMValueRef pointer = constant_pointer(code, tensor);
        bool folds = tensor_elements(tensor) * element_info[tensor->type].bytes <= FOLDED_BYTES;
        bind_buffer(code, tensor, folds ? pointer : unknown_value(code, pointer));
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

static LLVMTypeRef argument_type(Code *code, const Argument *argument) {
    return argument->tensor ? code->pointer : memory_type(code, argument->scalar->type);
}

static LLVMValueRef declare_function(Code *code, const Program *program) {
    int count = program->size_count + program->argument_count;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, count + 1);
    for (int i = 0; i < count; i++)
        types[i] =
            i < program->size_count ? code->i64 : argument_type(code, &program->arguments[i - program->size_count]);
    LLVMTypeRef type = LLVMFunctionType(code->i32, types, (unsigned)count, false);
    LLVMValueRef function = LLVMAddFunction(code->module, program->symbol, type);
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
}

static void bind_arguments(Code *code, const Program *program) {
    for (int i = 0; i < program->size_count; i++) {
        LLVMValueRef value = LLVMGetParam(code->frame->function, (unsigned)i);
        LLVMSetValueName2(value, program->sizes[i]->name, strlen(program->sizes[i]->name));
        bind_variable(code, program->sizes[i], value);
    }
    for (int i = 0; i < program->argument_count; i++)
        bind_argument(code, &program->arguments[i], (unsigned)(program->size_count + i));
}

/* --- the entry for callers that do not know the signature --- */

static LLVMValueRef pointer_at(Code *code, LLVMValueRef array, int index, LLVMTypeRef type) {
    LLVMValueRef at = index_constant(code, index);
    return LLVMBuildInBoundsGEP2(code->builder, type, array, &at, 1, "");
}

/* int NAME_call(const int64_t *sizes, void *const *arguments): scalars are passed by pointer too. */
static void emit_entry(Code *code, const Program *program, LLVMValueRef function) {
    const char *name = arena_printf(code->arena, "%s_call", program->symbol);
    LLVMTypeRef types[] = {code->pointer, code->pointer};
    LLVMValueRef entry = LLVMAddFunction(code->module, name, LLVMFunctionType(code->i32, types, 2, false));
    set_target_attributes(code, entry);
    frame_open(code, entry);
    debug_function(code, entry, name, program->loc);
    int count = program->size_count + program->argument_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count + 1);
    LLVMValueRef sizes = LLVMGetParam(entry, 0), arguments = LLVMGetParam(entry, 1);
    for (int i = 0; i < program->size_count; i++)
        args[i] = LLVMBuildLoad2(code->builder, code->i64, pointer_at(code, sizes, i, code->i64), "");
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *argument = &program->arguments[i];
        LLVMValueRef address = pointer_at(code, arguments, i, code->pointer);
        LLVMValueRef value = LLVMBuildLoad2(code->builder, code->pointer, address, "");
        if (argument->scalar)
            value = LLVMBuildLoad2(code->builder, memory_type(code, argument->scalar->type), value, "");
        args[program->size_count + i] = value;
    }
    LLVMBuildRet(code->builder, emit_call(code, function, args, count));
    frame_close(code);
}

/* Everything after this assumes sizes >= 0. The sign of their bitwise or is that of the smallest. */
static void refuse_negative_sizes(Code *code, const Program *program) {
    if (program->size_count == 0)
        return;
    LLVMValueRef all = LLVMGetParam(code->frame->function, 0);
    for (int i = 1; i < program->size_count; i++)
        all = LLVMBuildOr(code->builder, all, LLVMGetParam(code->frame->function, (unsigned)i), "");
    LLVMValueRef negative = LLVMBuildICmp(code->builder, LLVMIntSLT, all, index_constant(code, 0), "");
    LLVMBasicBlockRef refuse = new_block(code, "negative_size"), go_on = new_block(code, "sizes");
    LLVMBuildCondBr(code->builder, negative, refuse, go_on);
    LLVMPositionBuilderAtEnd(code->builder, refuse);
    return_status(code, constant_int(code->i32, STATUS_BAD_SIZE));
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

/* --- versions for known sizes --- */

static LLVMValueRef size_parameter(LLVMValueRef function, const Program *program, const char *name) {
    for (int i = 0; i < program->size_count; i++)
        if (!strcmp(program->sizes[i]->name, name))
            return LLVMGetParam(function, (unsigned)i);
    INTERNAL_ERROR("%s: no size %s", program->symbol, name);
}

static LLVMValueRef sizes_match(Code *code, const Program *program, const Variant *variant) {
    LLVMValueRef match = LLVMConstInt(LLVMInt1TypeInContext(code->context), 1, false);
    for (int i = 0; i < variant->binding_count; i++) {
        LLVMValueRef size = size_parameter(code->frame->function, program, variant->bindings[i].name);
        LLVMValueRef value = index_constant(code, variant->bindings[i].value);
        LLVMIntPredicate holds = variant->at_most ? LLVMIntSLE : LLVMIntEQ;
        match = LLVMBuildAnd(code->builder, match, LLVMBuildICmp(code->builder, holds, size, value, ""), "");
    }
    return match;
}

/* if (the sizes are the variant's) return variant(the other sizes, the arguments) */
static void call_variant(Code *code, const Program *program, const Variant *variant, LLVMValueRef target) {
    LLVMValueRef function = code->frame->function, match = sizes_match(code, program, variant);
    const Program *known = variant->kernel->program;
    LLVMBasicBlockRef call = new_block(code, "known_sizes"), go_on = new_block(code, "other_sizes");
    LLVMBuildCondBr(code->builder, match, call, go_on);
    LLVMPositionBuilderAtEnd(code->builder, call);
    int count = known->size_count + known->argument_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count + 1);
    for (int i = 0; i < known->size_count; i++)
        args[i] = size_parameter(function, program, known->sizes[i]->name);
    for (int i = 0; i < known->argument_count; i++)
        args[known->size_count + i] = LLVMGetParam(function, (unsigned)(program->size_count + i));
    return_status(code, emit_call(code, target, args, count));
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

static LLVMValueRef emit_body(Code *code, const Kernel *kernel, const LLVMValueRef *variants) {
    const Program *program = kernel->program;
    code->kernel = kernel;
    code->lanes_chosen = code->lanes_converted = 0;
    code->placements = code->slices = code->checked = (Map){0};
    code->outlined_count = 0;
    LLVMValueRef function = declare_function(code, program);
    forget_values(code);
    frame_open(code, function);
    debug_function(code, function, program->symbol, program->loc);
    bind_arguments(code, program);
    refuse_negative_sizes(code, program);
    for (int i = 0; i < kernel->variant_count; i++)
        call_variant(code, program, &kernel->variants[i], variants[i]);
    emit_early_checks(code, kernel->body);
    allocate_temporaries(code, kernel->body);
    emit_statement(code, kernel->body);
    return_status(code, constant_int(code->i32, STATUS_OK));
    free_temporaries(code);
    frame_close(code);
    return function;
}

/* --- packing --- */

/* For sizes that packing refuses the result is 0: return_status goes there from here on. */
static void refuse_with_zero(Code *code, const Kernel *kernel) {
    Frame *frame = code->frame;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    if (kernel->program->size_count == 0)
        return;
    frame->leave = new_block(code, "refused");
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    frame->status = LLVMBuildPhi(code->builder, code->i32, "");
    LLVMBuildRet(code->builder, index_constant(code, 0));
    LLVMPositionBuilderAtEnd(code->builder, here);
    refuse_negative_sizes(code, kernel->program);
    emit_early_checks(code, kernel->body);
}

/* int64_t NAME_packed_ARG_size(sizes of ARG...) */
static void emit_size(Code *code, const Kernel *kernel, const Packing *packing) {
    const Program *program = kernel->program;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, program->size_count + 1);
    for (int i = 0; i < program->size_count; i++)
        types[i] = code->i64;
    LLVMTypeRef type = LLVMFunctionType(code->i64, types, (unsigned)program->size_count, false);
    LLVMValueRef function = LLVMAddFunction(code->module, packing->size_symbol, type);
    set_target_attributes(code, function);
    forget_values(code);
    frame_open(code, function);
    debug_function(code, function, packing->size_symbol, program->loc);
    for (int i = 0; i < program->size_count; i++)
        bind_variable(code, program->sizes[i], LLVMGetParam(function, (unsigned)i));
    refuse_with_zero(code, kernel);
    forget_values(code);
    Expr *bytes = expr_int(code->arena, element_info[packing->packed->type].bytes);
    Expr *size = expr_binary(code->arena, OP_MUL, tensor_size(code->arena, packing->packed), bytes);
    LLVMBuildRet(code->builder, emit_value(code, size));
    frame_close(code);
}

static void emit_packing(Code *code, const Kernel *kernel) {
    if (kernel->packed)
        emit_body(code, kernel->packed, NULL);
    code->has_twin = false;
    for (int i = 0; i < kernel->packing_count; i++) {
        emit_body(code, kernel->packings[i].kernel, NULL);
        emit_size(code, kernel->packings[i].kernel, &kernel->packings[i]);
    }
}

void emit_function(Code *code, const Kernel *kernel) {
    LLVMValueRef *variants = ARENA_ARRAY(code->arena, LLVMValueRef, kernel->variant_count + 1);
    code->has_twin = false;
    for (int i = 0; i < kernel->variant_count; i++) {
        variants[i] = emit_body(code, kernel->variants[i].kernel, NULL);
        LLVMSetLinkage(variants[i], LLVMInternalLinkage);
    }
    code->has_twin = kernel->packed != NULL;
    LLVMValueRef function = emit_body(code, kernel, variants);
    emit_packing(code, kernel);
    if (code->options->candidate)
        emit_entry(code, kernel->program, function);
}
