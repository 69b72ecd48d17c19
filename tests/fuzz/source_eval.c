/* source_eval.c - the value of an expression of the source at one point.
 *
 * Two worlds, as the reference has them: indices, sizes and whole literals are exact until they meet a value. Under
 * types_only nothing is read, and both sides of a choice are gone through for their type.
 */
#include "tests/fuzz/source_inside.h"

#include <string.h>

int64_t source_bytes(ElementType type) {
    return element_info[type].bytes;
}

/* A value; inside indices a whole number counts as an int64. */
static Datum value_here(const SourceRun *run, Datum value) {
    if (!run->in_index || datum_is_float(&value) || value.type == TYPE_BOOL)
        return value;
    value = datum_as(value, TYPE_INT64);
    value.index = true;
    return value;
}

/* --- reads --- */

static int64_t floor_rest(int64_t a, int64_t b) {
    return ((a % b) + b) % b;
}

/* The index from 0 that stands for one outside. */
static int64_t other_index(ElseMode mode, int64_t i, int64_t extent) {
    int64_t period = 2 * (extent - 1);
    if (i >= 0 && i < extent)
        return i;
    if (mode == ELSE_EDGE)
        return i < 0 ? 0 : extent - 1;
    if (mode == ELSE_WRAP)
        return floor_rest(i, extent);
    int64_t forward = period ? floor_rest(i, period) : 0;
    return forward < extent ? forward : period - forward;
}

static Datum unread(ElementType type) {
    return (Datum){.type = type};
}

/* otherwise: the ELSE around the read, or NULL. */
static Datum read_element(SourceRun *run, const SourceTensor *tensor, const AstExpr *ast, const AstExpr *otherwise) {
    int64_t index[SOURCE_RANK] = {0};
    bool words = otherwise && otherwise->else_mode != ELSE_VALUE;
    if (ast->args.count != tensor->rank)
        source_stop(run, "a read of another rank");
    if (run->types_only || run->why)
        return unread(tensor->type);
    for (int d = 0; d < tensor->rank; d++) {
        index[d] = source_whole(run, ast->args.items[d]);
        if (words && tensor->extent[d] > 0)
            index[d] = tensor->lower[d] + other_index(otherwise->else_mode,
                                                      (int64_t)((uint64_t)index[d] - (uint64_t)tensor->lower[d]),
                                                      tensor->extent[d]);
    }
    const Datum *element = source_element(tensor, index);
    if (element)
        return *element;
    if (!otherwise || words) {
        run->outside = true;
        return unread(tensor->type);
    }
    int depth = run->in_index;
    run->in_index = 0;
    Datum value = datum_as(source_evaluate(run, otherwise->args.items[1]), tensor->type);
    run->in_index = depth;
    return value;
}

static Datum read_named(SourceRun *run, const AstExpr *ast, const AstExpr *otherwise) {
    const SourceName *name = source_name_find(run, ast->name.text);
    if (name && name->kind == SOURCE_TENSOR)
        return value_here(run, read_element(run, name->tensor, ast, otherwise));
    if (run->step && run->statement && !strcmp(ast->name.text, run->statement->targets.items[0].name.text)) {
        source_stop(run, "a recurrence that is read before it is defined");
        return unread(TYPE_INT32);
    }
    source_stop(run, "a name that is not known");
    return unread(TYPE_INT32);
}

/* --- names --- */

static const AstWhere *find_let(const SourceRun *run, const char *name) {
    for (int i = 0; run->statement && i < run->statement->wheres.count; i++)
        if (run->statement->wheres.items[i].kind == WHERE_LET &&
            !strcmp(run->statement->wheres.items[i].name.text, name))
            return &run->statement->wheres.items[i];
    return NULL;
}

static Datum index_value(int64_t value) {
    Datum d = datum_index(value);
    d.type = TYPE_INT32;
    return d;
}

static Datum evaluate_name(SourceRun *run, const AstExpr *ast) {
    const AstWhere *let = find_let(run, ast->name.text);
    if (let)
        return source_evaluate(run, let->value);
    const SourceIndex *index = source_index_of(run->indices, ast->name.text);
    if (index) {
        Datum value = index_value(index->value);
        value.fixed = false;
        return value;
    }
    const SourceName *name = source_name_find(run, ast->name.text);
    if (name && name->kind == SOURCE_SIZE)
        return index_value(name->size);
    if (name && name->kind == SOURCE_SCALAR)
        return value_here(run, name->scalar);
    return read_named(run, ast, NULL);
}

static Datum evaluate_size(SourceRun *run, const AstExpr *ast) {
    const SourceName *name = source_name_find(run, ast->name.text);
    if (name && name->tensor && ast->integer < name->tensor->rank)
        return index_value(name->tensor->extent[ast->integer]);
    source_stop(run, "a size of nothing");
    return index_value(0);
}

/* --- operators --- */

/* In a condition of `where` an index is compared with a whole number exactly, a uint64 as an int64. */
static void compare_exactly(const SourceRun *run, const AstExpr *ast, Datum *args) {
    if (!run->in_predicate || args[0].index == args[1].index)
        return;
    int index = args[0].index ? 0 : 1;
    Datum *value = &args[1 - index];
    if (datum_is_float(value) || value->type == TYPE_BOOL || !source_uses_indices(run, ast->args.items[index]))
        return;
    *value = datum_as(*value, TYPE_INT64);
    value->index = true;
}

/* Both sides have the type that they have together; only the chosen one is read. */
static Datum choose(SourceRun *run, const AstExpr *ast) {
    Datum condition = source_evaluate(run, ast->args.items[0]), sides[2];
    int chosen = condition.integer ? 0 : 1;
    for (int side = 0; side < 2; side++) {
        run->types_only += side != chosen;
        sides[side] = source_evaluate(run, ast->args.items[1 + side]);
        run->types_only -= side != chosen;
    }
    Datum result = sides[chosen];
    ElementType type = type_of_both(sides[0].type, sides[1].type);
    bool numbers = (sides[0].number || sides[1].number) && (sides[0].number || sides[0].fixed) &&
                   (sides[1].number || sides[1].fixed);
    if (sides[0].index && sides[1].index) {
        result.type = type;
        result.fixed = sides[0].fixed && sides[1].fixed;
    } else {
        double precise = result.number ? result.precise : (double)result.integer;
        result = datum_as(result, type);
        result.number = numbers;
        result.precise = precise;
    }
    if (condition.certainty != CERTAIN)
        result.certainty = UNKNOWN;
    return result;
}

static Datum connect(SourceRun *run, const AstExpr *ast) {
    Datum a = source_evaluate(run, ast->args.items[0]);
    bool decided = (a.integer != 0) == (ast->op == OP_OR);
    run->types_only += decided;
    Datum b = source_evaluate(run, ast->args.items[1]);
    run->types_only -= decided;
    Datum result = {.type = TYPE_BOOL, .integer = decided ? a.integer : b.integer};
    result.certainty = a.certainty == CERTAIN && (decided || b.certainty == CERTAIN) ? CERTAIN : UNKNOWN;
    return result;
}

/* Arithmetic on bool is arithmetic on int32. */
static Datum without_bool(Op op, Datum value) {
    bool arithmetic = op <= OP_ABS && op != OP_MIN && op != OP_MAX;
    return arithmetic && value.type == TYPE_BOOL ? datum_as(value, TYPE_INT32) : value;
}

static Datum operate(SourceRun *run, const AstExpr *ast, Op op) {
    Datum args[3];
    if (ast->args.count > 3) {
        source_stop(run, "a function of many");
        return unread(TYPE_INT32);
    }
    for (int i = 0; i < ast->args.count; i++)
        args[i] = without_bool(op, source_evaluate(run, ast->args.items[i]));
    if (op >= OP_LT && op <= OP_NE)
        compare_exactly(run, ast, args);
    return datum_operator(op, args, ast->args.count, run->strict);
}

/* Only the spelling is taken from the compiler's table. */
static Datum evaluate_apply(SourceRun *run, const AstExpr *ast, const AstExpr *otherwise) {
    if (source_name_find(run, ast->name.text))
        return read_named(run, ast, otherwise);
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].precedence == 0 && !strcmp(op_info[op].spelling, ast->name.text))
            return operate(run, ast, (Op)op);
    return read_named(run, ast, otherwise);
}

static Datum evaluate_cast(SourceRun *run, const AstExpr *ast) {
    Datum value = source_evaluate(run, ast->args.items[0]);
    if (value.index && value.type != TYPE_BOOL && (ast->type == TYPE_INT32 || ast->type == TYPE_INT64)) {
        value.type = ast->type;
        return value;
    }
    return value_here(run, datum_as(value, ast->type));
}

static Datum evaluate_operator(SourceRun *run, const AstExpr *ast) {
    if (ast->op == OP_SELECT)
        return choose(run, ast);
    if (ast->op == OP_AND || ast->op == OP_OR)
        return connect(run, ast);
    return operate(run, ast, ast->op);
}

Datum source_evaluate(SourceRun *run, const AstExpr *ast) {
    switch (ast->kind) {
    case AST_INTEGER: return datum_index(ast->integer);
    case AST_REAL: return datum_literal(ast->real);
    case AST_NAME: return evaluate_name(run, ast);
    case AST_APPLY: return evaluate_apply(run, ast, NULL);
    case AST_SIZE: return evaluate_size(run, ast);
    case AST_CAST: return evaluate_cast(run, ast);
    case AST_ELSE: return evaluate_apply(run, ast->args.items[0], ast);
    default: return evaluate_operator(run, ast);
    }
}
