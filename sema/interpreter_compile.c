/* interpreter_compile.c - translates a stage into instructions over lanes.
 *
 * Sizes and scalars have values here, so they are constants. Indices that are linear in axes and reductions become
 * strides; instructions compute the others. Nothing of lang/simplify.c is used: the meaning of a program judges the
 * simplifier, so it must not depend on it.
 */
#include "lang/diag.h"
#include "sema/interpreter_internal.h"

#include <string.h>

typedef struct MadeInstruction {
    const Expr *e;
    Instruction *instruction;
} MadeInstruction;

typedef struct Compiler {
    Interpreter *interpreter;
    Arena *arena;
    StageCode *code;
    Instructions *section;
    LIST(MadeInstruction) made;     /* of this section: what appears several times is computed once */
    int conditional;                /* how many enclosing branches may not be taken */
    const Combination *combination; /* NULL unless its section is compiled */
    bool wide;                      /* all floats are computed in double */
} Compiler;

static Instruction *compile(Compiler *compiler, const Expr *e);

Storage *storage_of(Interpreter *interpreter, const Tensor *tensor) {
    for (int i = 0; i < interpreter->storage_count; i++)
        if (interpreter->storages[i].tensor == tensor)
            return &interpreter->storages[i];
    INTERNAL_ERROR("tensor %s is not of the program", tensor->name);
}

/* --- linear indices ----------------------------------------------------------------------------------------------- */

static int find_variable(const StageCode *code, const Var *var) {
    for (int i = 0; i < code->variable_count; i++)
        if (code->variables[i] == var)
            return i;
    return -1;
}

static bool scalar_value(const Interpreter *interpreter, const Var *var, int64_t *value) {
    for (int i = 0; i < interpreter->size_count; i++)
        if (interpreter->sizes[i].var == var) {
            *value = interpreter->sizes[i].value;
            return true;
        }
    return false;
}

static bool add_linear(const Compiler *compiler, const Expr *e, int64_t factor, Index *index);

static bool constant_value(const Compiler *compiler, const Expr *e, int64_t *value) {
    return expr_evaluate(e, compiler->interpreter->sizes, compiler->interpreter->size_count, value);
}

static bool add_linear_op(const Compiler *compiler, const Expr *e, int64_t factor, Index *index) {
    int64_t value;
    switch (e->op) {
    case OP_ADD:
        return add_linear(compiler, e->args[0], factor, index) && add_linear(compiler, e->args[1], factor, index);
    case OP_SUB:
        return add_linear(compiler, e->args[0], factor, index) && add_linear(compiler, e->args[1], -factor, index);
    case OP_NEG: return add_linear(compiler, e->args[0], -factor, index);
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (constant_value(compiler, e->args[i], &value))
                return !__builtin_mul_overflow(value, factor, &value) && value != INT64_MIN &&
                       add_linear(compiler, e->args[1 - i], value, index);
        return false;
    default: return false;
    }
}

/* Adds factor * e to the index. False if e is not linear in the variables. */
static bool add_linear(const Compiler *compiler, const Expr *e, int64_t factor, Index *index) {
    int64_t value, *to = &index->constant;
    if (e->type != TYPE_INT64)
        return false;
    if (!constant_value(compiler, e, &value)) {
        int variable = e->kind == EXPR_VAR ? find_variable(compiler->code, e->var) : -1;
        if (variable < 0)
            return e->kind == EXPR_OP && add_linear_op(compiler, e, factor, index);
        value = 1;
        to = &index->coefficients[variable];
    }
    return !__builtin_mul_overflow(value, factor, &value) && !__builtin_add_overflow(*to, value, to);
}

/* Whether a linear index is inside for all values of the variables. */
static bool is_inside(const StageCode *code, const Index *index) {
    int64_t low = index->constant, high = low, range;
    for (int v = 0; v < code->variable_count; v++) {
        int64_t coefficient = index->coefficients[v];
        if (code->extents[v] < 1 || __builtin_mul_overflow(coefficient, code->extents[v] - 1, &range) ||
            __builtin_add_overflow(coefficient > 0 ? high : low, range, coefficient > 0 ? &high : &low))
            return false;
    }
    return low >= 0 && high < index->dim;
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

static Instruction *new_instruction(Compiler *compiler, CodeKind kind, ElementType type) {
    Instruction *in = ARENA_NEW(compiler->arena, Instruction);
    in->kind = kind;
    in->type = in->from = compiler->wide && type_is_float(type) ? TYPE_DOUBLE : type;
    in->exact = true;
    in->result = ARENA_NEW(compiler->arena, LaneValues);
    list_push(compiler->arena, compiler->section, in);
    return in;
}

static Instruction *compile_constant(Compiler *compiler, Value value) {
    Instruction *in = new_instruction(compiler, CODE_CONSTANT, value.type);
    for (int l = 0; l < STRIP; l++)
        in->result->integer[l] = value.integer;
    return in;
}

/* The value of a scalar argument, from the caller. */
static Value argument_value(const Interpreter *interpreter, const Var *var) {
    for (int i = 0; i < interpreter->program->argument_count; i++)
        if (interpreter->program->arguments[i].scalar == var)
            return value_load(var->type, interpreter->arguments[i]);
    INTERNAL_ERROR("variable %s has no value", var->name);
}

/* The instruction that stands for a variable of the combiner, or NULL. */
static Instruction *compile_operand(const Compiler *compiler, const Var *var) {
    const Combiner *combiner = compiler->combination ? compiler->code->stage->combiner : NULL;
    for (int c = 0; combiner && c < combiner->count; c++)
        if (var == combiner->left[c] || var == combiner->right[c])
            return var == combiner->left[c] ? compiler->combination->left[c] : compiler->combination->right[c];
    return NULL;
}

static Instruction *compile_var(Compiler *compiler, const Var *var) {
    int64_t value;
    Instruction *operand = compile_operand(compiler, var);
    if (operand)
        return operand;
    int variable = find_variable(compiler->code, var);
    if (variable >= 0) {
        Instruction *in = new_instruction(compiler, CODE_VARIABLE, TYPE_INT64);
        in->variable = variable;
        in->varies = variable >= compiler->code->axis_count;
        return in;
    }
    if (var->kind == VAR_SIZE && scalar_value(compiler->interpreter, var, &value))
        return compile_constant(compiler, (Value){.type = TYPE_INT64, .integer = value});
    return compile_constant(compiler, argument_value(compiler->interpreter, var));
}

static void compile_index(Compiler *compiler, const Expr *e, Index *index, Instruction *read) {
    StageCode *code = compiler->code;
    index->coefficients = ARENA_ARRAY(compiler->arena, int64_t, code->variable_count);
    if (!add_linear(compiler, e, 1, index)) {
        const Instruction *computed = compile(compiler, e);
        *index = (Index){.computed = computed->result, .inexact = !computed->exact, .checked = true};
        read->varies |= computed->varies;
        read->exact = read->exact && computed->exact;
        return;
    }
    for (int v = code->axis_count; v < code->variable_count; v++)
        read->varies |= index->coefficients[v] != 0;
}

/* The number of the element as one linear form over the indices that are linear. */
static void flatten_load(const Compiler *compiler, Load *load) {
    const StageCode *code = compiler->code;
    load->coefficients = ARENA_ARRAY(compiler->arena, int64_t, code->variable_count);
    for (int d = 0; d < load->rank; d++) {
        Index *index = &load->indices[d];
        load->computed |= index->computed != NULL;
        load->checked |= index->checked;
        if (index->checked && !index->computed)
            index->lanes = ARENA_ARRAY(compiler->arena, int64_t, STRIP);
        if (index->computed)
            continue;
        load->constant += index->stride * index->constant;
        for (int v = 0; v < code->variable_count; v++)
            load->coefficients[v] += index->stride * index->coefficients[v];
    }
}

static Instruction *compile_read(Compiler *compiler, const Expr *e) {
    Arena *arena = compiler->arena;
    Load *load = ARENA_NEW(arena, Load);
    Instruction read = {.exact = true};
    load->source = storage_of(compiler->interpreter, e->tensor);
    load->rank = e->count;
    load->indices = ARENA_ARRAY(arena, Index, e->count);
    load->conditional = compiler->conditional > 0;
    for (int d = 0; d < e->count; d++) {
        Index *index = &load->indices[d];
        compile_index(compiler, e->args[d], index, &read);
        index->dim = load->source->dims[d];
        index->stride = load->source->strides[d];
        index->checked = index->computed || !is_inside(compiler->code, index);
    }
    if (e->otherwise) {
        compiler->conditional++;
        const Instruction *otherwise = compile(compiler, e->otherwise);
        compiler->conditional--;
        load->otherwise = otherwise->result;
        load->otherwise_exact = otherwise->exact;
        read.varies |= otherwise->varies;
        read.exact = read.exact && otherwise->exact;
    }
    flatten_load(compiler, load);
    Instruction *in = new_instruction(compiler, CODE_READ, e->type);
    in->varies = read.varies;
    in->exact = read.exact && load->source->exact;
    in->load = load;
    return in;
}

/* Whether every correct object computes the same result from the same operands. For arithmetic this holds if nothing
 * may be contracted. */
static bool is_exact_op(Op op, ElementType type, bool strict) {
    if (!type_is_float(type) || op_info[op].class == CLASS_SELECT)
        return true;
    if (strict && op_info[op].class == CLASS_ARITHMETIC)
        return true;
    return op_info[op].exactness != EXACTNESS_ROUNDS;
}

static bool guards_operand(Op op, int operand) {
    return operand > 0 && op_info[op].evaluated == EVALUATED_FIRST;
}

/* An operator or a cast. Casts round the same way in every object. */
static Instruction *compile_op(Compiler *compiler, const Expr *e) {
    const Instruction *args[3] = {NULL};
    bool strict = compiler->interpreter->program->strict;
    bool exact = e->kind == EXPR_CAST || is_exact_op(e->op, e->type, strict), varies = false;
    for (int i = 0; i < e->count; i++) {
        bool guarded = guards_operand(e->op, i);
        compiler->conditional += guarded;
        args[i] = compile(compiler, e->args[i]);
        compiler->conditional -= guarded;
        exact = exact && args[i]->exact;
        varies |= args[i]->varies;
    }
    Instruction *in = new_instruction(compiler, e->kind == EXPR_OP ? CODE_OP : CODE_CAST, e->type);
    in->op = e->op;
    in->from = args[0]->type;
    in->count = e->count;
    memcpy(in->args, args, sizeof args);
    in->exact = exact;
    in->varies = varies;
    compiler->code->operations++;
    return in;
}

static Instruction *compile(Compiler *compiler, const Expr *e) {
    for (int i = 0; i < compiler->made.count; i++)
        if (compiler->made.items[i].e == e)
            return compiler->made.items[i].instruction;
    MadeInstruction made = {.e = e};
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_REAL:
        made.instruction = compile_constant(compiler, (Value){.type = e->type, .integer = e->integer});
        break;
    case EXPR_VAR: made.instruction = compile_var(compiler, e->var); break;
    case EXPR_READ: made.instruction = compile_read(compiler, e); break;
    case EXPR_OP:
    case EXPR_CAST: made.instruction = compile_op(compiler, e); break;
    default: INTERNAL_ERROR("a vector in a program");
    }
    list_push(compiler->arena, &compiler->made, made);
    return made.instruction;
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

static bool set_extents(const Interpreter *interpreter, StageCode *code, const char **why) {
    code->points = code->reduction_points = 1;
    for (int v = 0; v < code->variable_count; v++) {
        int64_t extent, *total = v < code->axis_count ? &code->points : &code->reduction_points;
        const Var *var = code->variables[v];
        if (!expr_evaluate(var->extent, interpreter->sizes, interpreter->size_count, &extent) ||
            __builtin_mul_overflow(*total, extent > 0 ? extent : 0, total)) {
            *why = arena_printf(interpreter->arena, "the extent of %s overflows", var->name);
            return false;
        }
        code->extents[v] = extent > 0 ? extent : 0;
    }
    return true;
}

static void allocate_variables(StageCode *code, Arena *arena, const Stage *stage) {
    code->axis_count = stage->axis_count;
    code->variable_count = stage->axis_count + stage->reduction_count;
    code->variables = ARENA_ARRAY(arena, const Var *, code->variable_count);
    code->extents = ARENA_ARRAY(arena, int64_t, code->variable_count);
    code->scalars = ARENA_ARRAY(arena, int64_t, code->variable_count);
    code->terms = ARENA_ARRAY(arena, int64_t, code->variable_count);
    code->lanes = ARENA_ARRAY(arena, int64_t *, code->variable_count);
    for (int v = 0; v < code->variable_count; v++) {
        code->variables[v] = v < stage->axis_count ? stage->axes[v] : stage->reductions[v - stage->axis_count];
        code->lanes[v] = ARENA_ARRAY(arena, int64_t, STRIP);
    }
}

/* --- tuples --- */

/* exact: whether each component of the left side is exact. */
static Combination compile_combination(Interpreter *interpreter, StageCode *code, const bool *exact, bool wide) {
    Arena *arena = interpreter->arena;
    const Combiner *combiner = code->stage->combiner;
    Combination made = {.left = ARENA_ARRAY(arena, Instruction *, combiner->count),
                        .right = ARENA_ARRAY(arena, Instruction *, combiner->count),
                        .combined = ARENA_ARRAY(arena, Instruction *, combiner->count)};
    Instructions operands = {0};
    Compiler compiler = {.interpreter = interpreter, .arena = arena, .code = code, .section = &operands};
    compiler.combination = &made;
    compiler.wide = wide;
    for (int c = 0; c < combiner->count; c++) {
        made.left[c] = new_instruction(&compiler, CODE_CONSTANT, combiner->left[c]->type);
        made.right[c] = new_instruction(&compiler, CODE_CONSTANT, combiner->right[c]->type);
        made.left[c]->exact = exact[c];
        made.right[c]->exact = exact[c];
    }
    compiler.section = &made.section;
    for (int c = 0; c < combiner->count; c++)
        made.combined[c] = compile(&compiler, combiner->result[c]);
    return made;
}

/* A component that is not exact may make others inexact. Returns whether anything changed: repeat until it does not. */
static bool spread_doubt(const Combination *combination, bool *exact, int count) {
    bool changed = false;
    for (int c = 0; c < count; c++)
        if (exact[c] && !combination->combined[c]->exact) {
            exact[c] = false;
            changed = true;
        }
    return changed;
}

/* Those that choose terms in all components. A later one may read what is there only where the earlier ones hold. */
static void compile_conditions(Compiler *compiler, TupleCode *tuple) {
    const Stage *stage = compiler->code->stage;
    const Expr *values[tuple->count], *condition;
    for (int c = 0; c < tuple->count; c++)
        values[c] = stage->components[c].value;
    while ((condition = stage_take_shared_condition(stage, values))) {
        list_push(compiler->arena, &tuple->conditions, compile(compiler, condition));
        compiler->conditional++;
    }
    compiler->conditional = 0;
}

static void compile_tuple(Interpreter *interpreter, StageCode *code, int component) {
    Arena *arena = interpreter->arena;
    const Stage *stage = code->stage;
    TupleCode *tuple = code->tuple = ARENA_NEW(arena, TupleCode);
    int count = tuple->count = stage->component_count;
    tuple->component = component;
    tuple->ordered = stage_is_ordered(interpreter->program, stage);
    tuple->initials = ARENA_ARRAY(arena, Instruction *, count);
    tuple->values = ARENA_ARRAY(arena, Instruction *, count);
    tuple->exact = ARENA_ARRAY(arena, bool, count);
    Compiler initial = {.interpreter = interpreter, .arena = arena, .code = code, .section = &code->initial};
    Compiler value = {.interpreter = interpreter, .arena = arena, .code = code, .section = &code->value};
    compile_conditions(&value, tuple);
    for (int c = 0; c < count; c++) {
        tuple->initials[c] = compile(&initial, stage->components[c].initial);
        tuple->values[c] = compile(&value, stage->components[c].value);
        tuple->exact[c] = tuple->initials[c]->exact && tuple->values[c]->exact;
        tuple->nan_unordered |= !tuple->ordered && type_is_float(stage->components[c].value->type);
    }
    code->initial_result = tuple->initials[component];
    code->value_result = tuple->values[component];
    do
        tuple->narrow = compile_combination(interpreter, code, tuple->exact, false);
    while (spread_doubt(&tuple->narrow, tuple->exact, count));
    tuple->wide = compile_combination(interpreter, code, tuple->exact, true);
}

static Instruction *compile_section(Interpreter *interpreter, StageCode *code, Instructions *section, const Expr *e) {
    Compiler compiler = {.interpreter = interpreter, .arena = interpreter->arena, .code = code, .section = section};
    return compile(&compiler, e);
}

const Instruction *compile_apart(Interpreter *interpreter, StageCode *code, Instructions *section, const Expr *e) {
    Compiler compiler = {.interpreter = interpreter, .arena = interpreter->arena, .code = code, .section = section};
    compiler.conditional = 1;
    return compile(&compiler, e);
}

/* Compiles the value that an axis has for each term, if each term has only one. Its reads count as conditional, since
 * other conditions may exclude the term. */
static void compile_places(Interpreter *interpreter, StageCode *code, const Stage *stage) {
    const Instruction **places = ARENA_ARRAY(interpreter->arena, const Instruction *, stage->axis_count);
    Compiler compiler = {
        .interpreter = interpreter, .arena = interpreter->arena, .code = code, .section = &code->place};
    compiler.conditional = 1;
    bool scatters = false;
    for (int d = 0; d < stage->axis_count; d++) {
        if (!stage_scatters(stage, d))
            continue;
        scatters = true;
        places[d] = compile(&compiler, stage_axis_value(stage, d));
        if (!places[d]->exact || stage_place_uses(stage, stage->axes[d]))
            return;
    }
    code->places = scatters ? places : NULL;
}

/* Finds where terms begin and end, or for what values of its axes a requirement may fail. */
static void find_ends_of_stage(Interpreter *interpreter, StageCode *code) {
    const Stage *stage = code->stage;
    const Expr *values[stage->component_count], *condition;
    for (int c = 0; c < stage->component_count; c++)
        values[c] = stage->components[c].value;
    if (!code->storage)
        find_ends(interpreter, code, values[0], true, 0);
    while (code->storage && (condition = stage_take_shared_condition(stage, values)))
        find_ends(interpreter, code, condition, false, code->places ? 0 : code->axis_count);
}

void set_exact(StageCode *code, bool exact) {
    code->exact = exact;
    code->storage->exact = exact || code->storage->given;
}

StageCode *code_of_stage(Interpreter *interpreter, const Stage *stage, Storage *storage, const char **why) {
    StageCode *code = ARENA_NEW(interpreter->arena, StageCode);
    code->stage = stage;
    code->storage = storage;
    int component = storage ? stage_component_of(stage, storage->tensor) : 0;
    code->type = stage->components[component].value->type;
    code->combine = stage->combine;
    allocate_variables(code, interpreter->arena, stage);
    if (!set_extents(interpreter, code, why))
        return NULL;
    code->operations = 1;
    if (stage->combine == COMBINE_DECLARED) {
        compile_tuple(interpreter, code, component);
        storage->code = code;
        set_exact(code, code->tuple->exact[component] && !code->tuple->nan_unordered);
        find_ends_of_stage(interpreter, code);
        return code;
    }
    if (stage->combine != COMBINE_NONE)
        code->initial_result = compile_section(interpreter, code, &code->initial, stage->components[0].initial);
    code->value_result = compile_section(interpreter, code, &code->value, stage->components[0].value);
    if (storage) {
        compile_places(interpreter, code, stage);
        bool sums = code->combine == COMBINE_ADD || code->combine == COMBINE_MUL;
        bool rounds = sums && type_is_float(code->type) && !interpreter->program->strict;
        storage->code = code;
        set_exact(code,
                  code->value_result->exact && (!code->initial_result || code->initial_result->exact) && !rounds);
    }
    find_ends_of_stage(interpreter, code);
    return code;
}

bool compile_stage(Interpreter *interpreter, const Stage *stage, const char **why) {
    bool good = true;
    for (int c = 0; c < stage->component_count && good; c++)
        good = code_of_stage(interpreter, stage, storage_of(interpreter, stage->components[c].tensor), why) != NULL;
    return good;
}
