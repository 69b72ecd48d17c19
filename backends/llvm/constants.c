/* constants.c - constant tensors: read-only data of the object, each beginning on a cache line.
 *
 * Contents are a string of bytes, which costs LLVM nothing; in readable assembly and LLVM text they are an array of
 * elements. Tensors with the same contents share them. A candidate of the tuner may leave large ones out. Still larger
 * ones are a symbol until the object is there (object.c), because LLVM copies what it is given several times.
 */
#include "backends/llvm/code.h"
#include "lang/program.h"

#include <string.h>

enum {
    ADDED_BYTES = 1 << 20,
    READABLE_ELEMENTS = 1 << 16 /* LLVM keeps every different element */
};

static LLVMValueRef element_constant(Code *code, ElementType type, const char *at) {
    union {
        uint8_t byte;
        uint16_t half;
        uint32_t word;
        uint64_t whole;
        float single;
        double twice;
    } bits = {0};
    memcpy(&bits, at, (size_t)element_info[type].bytes);
    LLVMTypeRef memory = memory_type(code, type);
    if (memory == code->f32)
        return LLVMConstReal(memory, bits.single);
    if (memory == code->f64)
        return LLVMConstReal(memory, bits.twice);
    uint64_t value = element_info[type].bytes == 1   ? bits.byte
                     : element_info[type].bytes == 2 ? bits.half
                     : element_info[type].bytes == 4 ? bits.word
                                                     : bits.whole;
    return LLVMConstInt(memory, value, false);
}

static bool is_nan(ElementType type, const char *at) {
    float single;
    double twice;
    memcpy(&single, at, sizeof single);
    if (type == TYPE_FLOAT)
        return single != single;
    if (type == TYPE_DOUBLE)
        memcpy(&twice, at, sizeof twice);
    return type == TYPE_DOUBLE && twice != twice;
}

/* Whether an array of elements can hold the contents. (Only a string of bytes keeps the bits of a NaN.) */
static bool is_readable(Code *code, const Tensor *tensor, const char *data, int64_t elements) {
    if (code->options->kind == EMIT_OBJECT || elements > READABLE_ELEMENTS)
        return false;
    for (int64_t i = 0; type_is_float(tensor->type) && element_info[tensor->type].bytes > 2 && i < elements; i++)
        if (is_nan(tensor->type, data + i * element_info[tensor->type].bytes))
            return false;
    return true;
}

static LLVMValueRef array_constant(Code *code, const Tensor *tensor, const char *data, int64_t elements) {
    LLVMValueRef *values = ARENA_ARRAY(code->arena, LLVMValueRef, elements);
    for (int64_t i = 0; i < elements; i++)
        values[i] = element_constant(code, tensor->type, data + i * element_info[tensor->type].bytes);
    return LLVMConstArray2(memory_type(code, tensor->type), values, (uint64_t)elements);
}

/* LLVMConstStringInContext takes an unsigned length: larger contents are several pieces. */
static LLVMValueRef bytes_constant(Code *code, const char *data, size_t bytes) {
    enum { PIECE = 1 << 30 };
    if (bytes <= PIECE)
        return LLVMConstStringInContext(code->context, data, (unsigned)bytes, true);
    LIST(LLVMValueRef) pieces = {0};
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t left = bytes - at < PIECE ? bytes - at : PIECE;
        list_push(code->arena, &pieces, LLVMConstStringInContext(code->context, data + at, (unsigned)left, true));
    }
    return LLVMConstStructInContext(code->context, pieces.items, (unsigned)pieces.count, true);
}

static void set_constant(LLVMValueRef global) {
    LLVMSetGlobalConstant(global, true);
    LLVMSetAlignment(global, DATA_ALIGNMENT);
}

static LLVMValueRef add_global(Code *code, const Tensor *tensor, const char *data, size_t bytes) {
    int64_t elements = tensor_elements(tensor);
    LLVMValueRef contents = is_readable(code, tensor, data, elements) ? array_constant(code, tensor, data, elements)
                                                                      : bytes_constant(code, data, bytes);
    const char *name = arena_printf(code->arena, "%s.%s", code->kernel->program->symbol, tensor->name);
    LLVMValueRef global = LLVMAddGlobal(code->module, LLVMTypeOf(contents), name);
    LLVMSetInitializer(global, contents);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    set_constant(global);
    return global;
}

/* A hidden symbol in place of contents: reached like what is in the object. */
static LLVMValueRef declare_contents(Code *code, const char *name, size_t bytes) {
    LLVMValueRef global = LLVMAddGlobal(code->module, LLVMArrayType2(code->i8, bytes), name);
    set_constant(global);
    LLVMSetVisibility(global, LLVMHiddenVisibility);
    return global;
}

/* The symbol of contents that the object leaves out; NULL: it has them. */
static LLVMValueRef left_out(Code *code, const Tensor *tensor, size_t bytes) {
    LeftOut *list = code->options->left_out;
    Arena *arena = code->kernel->arena; /* the list outlives the module */
    const char *key = list && bytes > FOLDED_BYTES ? constant_key(arena, tensor) : NULL;
    LLVMValueRef global = key ? LLVMGetNamedGlobal(code->module, key) : NULL;
    if (!key || global)
        return global;
    global = declare_contents(code, key, bytes);
    list_push(arena, &list->constants, ((struct LeftOutConstant){key, tensor}));
    return global;
}

/* A symbol whose contents are added to the finished object, on targets with a known object format; NULL on others. */
static LLVMValueRef added_later(Code *code, const Tensor *tensor, size_t bytes) {
    if (code->options->kind != EMIT_OBJECT || bytes < ADDED_BYTES || !strstr(code->target->triple, "linux"))
        return NULL;
    const char *key = constant_key(code->arena, tensor);
    for (int i = 0; i < code->added.count && key; i++)
        if (code->added.items[i].key && strcmp(code->added.items[i].key, key) == 0)
            return code->added.items[i].global;
    const char *name = arena_printf(code->arena, "%s.%s", code->kernel->program->symbol, tensor->name);
    LLVMValueRef global = declare_contents(code, name, bytes);
    const char *symbol = arena_strdup(code->arena, LLVMGetValueName(global)); /* a unique name */
    list_push(code->arena, &code->added, ((AddedConstant){tensor, key, symbol, global}));
    return global;
}

static void write_contents(const void *context, void *to) {
    constant_store(context, to);
}

bool add_constants(const Code *code, char **object, size_t *bytes) {
    int count = code->added.count;
    ObjectData *data = ARENA_ARRAY(code->arena, ObjectData, count);
    for (int i = 0; i < count; i++) {
        const AddedConstant *added = &code->added.items[i];
        size_t size = (size_t)tensor_elements(added->tensor) * (size_t)element_info[added->tensor->type].bytes;
        data[i] = (ObjectData){added->symbol, size, write_contents, added->tensor};
    }
    return count == 0 || object_add_data(object, bytes, data, count);
}

/* The bytes of a constant in the module; NULL: it is no string of bytes. */
static const void *bytes_of(LLVMValueRef global, size_t *bytes) {
    LLVMValueRef contents = LLVMGetInitializer(global);
    bool has_bytes = LLVMIsAConstantDataSequential(contents) != NULL; /* what is 0 all over has none */
    return has_bytes && LLVMIsConstantString(contents) ? LLVMGetAsString(contents, bytes) : NULL;
}

/* Includes contents, which the module copies, and frees the memory they were made in: they may be larger than all
 * else. */
static LLVMValueRef included(Code *code, const Tensor *tensor, size_t bytes) {
    Arena *scratch = arena_new();
    const char *data = constant_contents(scratch, tensor);
    LLVMValueRef global = NULL;
    for (int i = 0; i < code->constants.count && !global; i++) {
        const Constant *known = &code->constants.items[i];
        if (known->data && known->bytes == bytes && memcmp(known->data, data, bytes) == 0)
            global = known->global;
    }
    if (!global) {
        size_t held = 0;
        global = add_global(code, tensor, data, bytes);
        const void *kept = bytes_of(global, &held);
        if (held != bytes)
            kept = bytes <= 8 * READABLE_ELEMENTS ? memcpy(arena_alloc(code->arena, bytes + 1), data, bytes) : NULL;
        list_push(code->arena, &code->constants, ((Constant){kept, bytes, global}));
    }
    arena_free(scratch);
    return global;
}

LLVMValueRef constant_pointer(Code *code, const Tensor *tensor) {
    LLVMValueRef made = address_map_get(&code->constants_by_tensor, tensor);
    if (made)
        return made;
    size_t bytes = (size_t)tensor_elements(tensor) * (size_t)element_info[tensor->type].bytes;
    made = left_out(code, tensor, bytes);
    if (!made)
        made = added_later(code, tensor, bytes);
    if (!made)
        made = included(code, tensor, bytes);
    address_map_set(code->arena, &code->constants_by_tensor, tensor, made);
    return made;
}
