/* source_run.c - see source_run.h. Statements: their ranges are in source_ranges.c, their expressions in source_eval.c.
 */
#include "tests/fuzz/source_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

void source_stop(SourceRun *run, const char *why) {
    if (!run->why)
        run->why = why;
}

SourceName *source_name_find(SourceRun *run, const char *name) {
    for (int i = run->names.count - 1; i >= 0; i--)
        if (!strcmp(run->names.items[i].name, name))
            return &run->names.items[i];
    return NULL;
}

static SourceName *add_name(SourceRun *run, SourceNameKind kind, const char *name) {
    list_push(run->arena, &run->names, ((SourceName){.kind = kind, .name = name}));
    return &run->names.items[run->names.count - 1];
}

/* --- tensors --- */

SourceTensor *source_tensor(Arena *arena, const char *name, ElementType type, int rank, const int64_t *lower,
                            const int64_t *extent) {
    SourceTensor *tensor = ARENA_NEW(arena, SourceTensor);
    *tensor = (SourceTensor){.name = name, .type = type, .rank = rank, .count = 1};
    for (int d = 0; d < rank; d++) {
        tensor->lower[d] = lower ? lower[d] : 0;
        tensor->extent[d] = extent[d] > 0 ? extent[d] : 0;
        tensor->count *= tensor->extent[d];
    }
    tensor->data = ARENA_ARRAY(arena, Datum, tensor->count + 1);
    for (int64_t i = 0; i <= tensor->count; i++)
        tensor->data[i] = (Datum){.type = type, .certainty = UNKNOWN};
    return tensor;
}

Datum *source_element(const SourceTensor *tensor, const int64_t *index) {
    int64_t at = 0;
    for (int d = 0; d < tensor->rank; d++) {
        int64_t i = (int64_t)((uint64_t)index[d] - (uint64_t)tensor->lower[d]);
        if (i < 0 || i >= tensor->extent[d])
            return NULL;
        at = at * tensor->extent[d] + i;
    }
    return &tensor->data[at];
}

/* The same elements, as a callee sees them: counted from 0. */
static SourceTensor *from_zero(Arena *arena, const SourceTensor *tensor) {
    SourceTensor *copy = source_tensor(arena, tensor->name, tensor->type, tensor->rank, NULL, tensor->extent);
    memcpy(copy->data, tensor->data, sizeof *copy->data * (size_t)tensor->count);
    return copy;
}

static SourceTensor *copied(Arena *arena, const SourceTensor *tensor) {
    SourceTensor *copy = from_zero(arena, tensor);
    memcpy(copy->lower, tensor->lower, sizeof copy->lower);
    return copy;
}

/* --- one statement --- */

typedef struct Assignment {
    SourceRun *run;
    const AstStatement *ast;
    SourceTensor *before, *after; /* before: what held before it began anew, or NULL */
    ElementType type;             /* of the right side */
    const Datum *step;            /* of a scan, or NULL */
    int64_t *counts;              /* terms of each element */
    double *sizes;                /* sums of absolute terms */
} Assignment;

static Datum identity(Combine combine, ElementType type) {
    if (combine == COMBINE_ADD || combine == COMBINE_MUL)
        return datum_as(datum_integer(TYPE_INT32, combine == COMBINE_MUL), type);
    bool least = combine == COMBINE_MAX;
    return datum_as((Datum){.type = TYPE_DOUBLE, .real = least ? -INFINITY : INFINITY}, type);
}

static Op combining(Combine combine) {
    static const Op ops[] = {
        [COMBINE_ADD] = OP_ADD, [COMBINE_MUL] = OP_MUL, [COMBINE_MIN] = OP_MIN, [COMBINE_MAX] = OP_MAX};
    return ops[combine];
}

/* Sums of floats are exact in every order where the terms are whole and few; other ones are not compared. */
static Datum combined(Assignment *a, int64_t at, Datum sofar, Datum term) {
    Op op = combining(a->ast->combine);
    Datum result = datum_operator(op, (Datum[]){sofar, term}, 2, true);
    a->counts[at]++;
    if (!datum_is_float(&term) || op == OP_MIN || op == OP_MAX)
        return result;
    double size = op == OP_ADD ? a->sizes[at] + fabs(term.real) : a->sizes[at] * fmax(1, fabs(term.real));
    a->sizes[at] = size;
    double most = term.type == TYPE_HALF ? 0x1p11 : term.type == TYPE_BFLOAT16 ? 0x1p8 : 0x1p24;
    bool exact = term.real == rint(term.real) && sofar.real == rint(sofar.real) && size + fabs(sofar.real) <= most;
    if (!exact && (a->counts[at] > 1 || sofar.real != 0 || op == OP_MUL))
        result.certainty = UNKNOWN;
    if (result.real == 0 && result.certainty == CERTAIN)
        result.certainty = NEAR; /* of either sign */
    return result;
}

static void add_term(Assignment *a, const int64_t *index) {
    SourceRun *run = a->run;
    Datum *at = source_element(a->after, index);
    if (!at) {
        run->outside = true;
        return;
    }
    Datum value = datum_as(source_evaluate(run, a->ast->values.items[0]), a->type);
    if (a->ast->combine == COMBINE_NONE)
        *at = datum_as(value, a->after->type);
    else
        *at = datum_as(combined(a, at - a->after->data, datum_as(*at, a->type), value), a->after->type);
}

static bool holds(SourceRun *run, const AstStatement *ast) {
    for (int i = 0; i < ast->wheres.count; i++) {
        if (ast->wheres.items[i].kind != WHERE_PREDICATE)
            continue;
        run->in_predicate++;
        Datum condition = source_evaluate(run, ast->wheres.items[i].value);
        run->in_predicate--;
        if (condition.certainty != CERTAIN)
            source_stop(run, "a condition that the rules leave open");
        if (!condition.integer)
            return false;
    }
    return true;
}

static void visit_point(void *context) {
    Assignment *a = context;
    SourceRun *run = a->run;
    const AstTarget *target = &a->ast->targets.items[0];
    int64_t index[SOURCE_RANK] = {0};
    if (!holds(run, a->ast))
        return;
    for (int d = 0; d < target->indices.count; d++) {
        run->in_index++;
        index[d] = source_evaluate(run, target->indices.items[d]).integer;
        run->in_index--;
    }
    add_term(a, index);
}

/* --- what a statement makes --- */

static const AstResult *result_of(const SourceRun *run, const char *name) {
    for (int i = 0; i < run->def->results.count; i++)
        if (!strcmp(run->def->results.items[i].name.text, name))
            return &run->def->results.items[i];
    return NULL;
}

int64_t source_whole(SourceRun *run, const AstExpr *ast) {
    run->in_index++;
    Datum value = source_evaluate(run, ast);
    run->in_index--;
    return value.integer;
}

/* From the header, or from the ranges of the indices. */
static SourceTensor *first_definition(Assignment *a, const SourceIndices *indices) {
    SourceRun *run = a->run;
    const AstTarget *target = &a->ast->targets.items[0];
    const AstResult *result = result_of(run, target->name.text);
    int64_t lower[SOURCE_RANK] = {0}, extent[SOURCE_RANK] = {0};
    ElementType type = result && result->has_type ? result->type : a->type;
    for (int d = 0; d < target->indices.count; d++) {
        if (result && result->has_dims) {
            extent[d] = source_whole(run, result->dims.items[d]);
            continue;
        }
        const SourceIndex *index = source_index_named(indices, target->indices.items[d]);
        if (!index) {
            source_stop(run, "a computed index without a size");
            return NULL;
        }
        lower[d] = index->low;
        extent[d] = index->end - index->low;
    }
    return source_tensor(run->arena, target->name.text, type, target->indices.count, lower, extent);
}

/* An output that is not wholly written keeps what the caller's buffer held. */
static void take_initial(SourceRun *run, SourceTensor *tensor) {
    for (int i = 0; i < run->def->results.count && run->initial; i++) {
        if (strcmp(run->def->results.items[i].name.text, tensor->name))
            continue;
        const char *from = run->initial[i];
        for (int64_t e = 0; e < tensor->count; e++)
            tensor->data[e] = datum_load(tensor->type, from + e * source_bytes(tensor->type));
    }
}

static SourceTensor *start(Assignment *a, const SourceIndices *indices) {
    SourceRun *run = a->run;
    const char *name = a->ast->targets.items[0].name.text;
    SourceName *known = source_name_find(run, name);
    SourceTensor *after = NULL;
    if (known && known->tensor)
        after = copied(run->arena, known->tensor);
    else if ((after = first_definition(a, indices)))
        take_initial(run, after);
    if (!after || !a->ast->initialise)
        return after;
    a->before = copied(run->arena, after);
    for (int64_t e = 0; e < after->count; e++)
        if (!run->step || source_is_of_step(run, a->ast, after, e))
            after->data[e] = datum_as(identity(a->ast->combine, a->type), after->type);
    return after;
}

/* With `!` all elements begin anew that the statement's ranges span; the others keep what they held. */
static void restore_others(const Assignment *a, const SourceIndices *indices) {
    const AstTarget *target = &a->ast->targets.items[0];
    for (int64_t e = 0; a->before && e < a->after->count; e++) {
        int64_t rest = e;
        bool spanned = true;
        for (int d = a->after->rank - 1; d >= 0; d--) {
            const SourceIndex *index = source_index_named(indices, target->indices.items[d]);
            int64_t at = rest % a->after->extent[d] + a->after->lower[d];
            rest /= a->after->extent[d];
            spanned = spanned && (!index || (at >= index->low && at < index->end));
        }
        if (!spanned)
            a->after->data[e] = a->before->data[e];
    }
}

static void assign_all(SourceRun *run, const AstStatement *ast, SourceIndices *indices) {
    Assignment a = {.run = run, .ast = ast};
    if (!source_find_ranges(run, ast, indices))
        return;
    run->types_only++;
    a.type = datum_value(source_evaluate(run, ast->values.items[0])).type;
    run->types_only--;
    SourceName *known = source_name_find(run, ast->targets.items[0].name.text);
    a.after = start(&a, indices);
    if (!a.after || run->why)
        return;
    restore_others(&a, indices);
    a.counts = ARENA_ARRAY(run->arena, int64_t, a.after->count + 1);
    a.sizes = ARENA_ARRAY(run->arena, double, a.after->count + 1);
    source_each_point(run, indices, visit_point, &a);
    if (!known)
        known = add_name(run, SOURCE_TENSOR, ast->targets.items[0].name.text);
    known->tensor = a.after;
}

static void assign(SourceRun *run, const AstStatement *ast) {
    SourceIndices indices = {0};
    run->statement = ast;
    run->indices = &indices;
    assign_all(run, ast, &indices);
    run->statement = NULL;
    run->indices = NULL;
}

/* --- calls --- */

static const AstDef *find_def(const AstFile *file, const char *name) {
    for (int i = 0; i < file->defs.count; i++)
        if (!strcmp(file->defs.items[i]->name.text, name))
            return file->defs.items[i];
    return NULL;
}

static void bind_brackets(SourceRun *run, SourceRun *caller, const AstDef *def, const AstBindings *given) {
    for (int i = 0; i < def->parameters.count; i++) {
        const AstBinding *binding = &def->parameters.items[i];
        SourceRun *from = run;
        for (int g = 0; given && g < given->count; g++)
            if (!strcmp(given->items[g].name.text, binding->name.text))
                binding = &given->items[g], from = caller;
        if (binding->value)
            add_name(run, SOURCE_SIZE, binding->name.text)->size = source_whole(from, binding->value);
    }
}

static void bind_sizes(SourceRun *run, const AstParameter *formal, const SourceTensor *actual) {
    for (int d = 0; d < formal->dims.count; d++) {
        const AstExpr *dim = formal->dims.items[d];
        if (dim->kind == AST_NAME && !source_name_find(run, dim->name.text))
            add_name(run, SOURCE_SIZE, dim->name.text)->size = actual->extent[d];
    }
}

static void run_body(SourceRun *run);

static bool run_call(SourceRun *caller, const AstStatement *ast) {
    const AstExpr *call = ast->values.items[0];
    const AstDef *def =
        call->kind == AST_APPLY && !ast->targets.items[0].has_indices ? find_def(caller->file, call->name.text) : NULL;
    if (!def)
        return false;
    SourceRun run = {.arena = caller->arena, .file = caller->file, .def = def, .strict = caller->strict};
    bind_brackets(&run, caller, def, &call->parameters);
    for (int i = 0; i < def->arguments.count; i++) {
        const AstParameter *formal = &def->arguments.items[i];
        if (!formal->is_tensor) {
            Datum value = datum_as(source_evaluate(caller, call->args.items[i]), formal->type);
            add_name(&run, SOURCE_SCALAR, formal->name.text)->scalar = value;
            continue;
        }
        SourceName *actual = source_name_find(caller, call->args.items[i]->name.text);
        if (!actual || !actual->tensor) {
            source_stop(caller, "an argument that is no tensor");
            return true;
        }
        bind_sizes(&run, formal, actual->tensor);
        add_name(&run, SOURCE_TENSOR, formal->name.text)->tensor = from_zero(run.arena, actual->tensor);
    }
    run_body(&run);
    caller->why = caller->why ? caller->why : run.why;
    caller->outside |= run.outside;
    for (int i = 0; i < ast->targets.count && !caller->why && !caller->outside; i++) {
        SourceTensor *result = from_zero(run.arena, source_name_find(&run, def->results.items[i].name.text)->tensor);
        result->name = ast->targets.items[i].name.text;
        add_name(caller, SOURCE_TENSOR, result->name)->tensor = result;
    }
    return true;
}

/* --- recurrences --- */

/* The steps that a statement has: all its indices stand in `where` inside a scan. */
static bool range_of_step(SourceRun *run, const AstStatement *scan, const AstStatement *ast, int64_t *low,
                          int64_t *end) {
    for (int i = 0; i < ast->wheres.count; i++) {
        const AstWhere *where = &ast->wheres.items[i];
        if (where->kind != WHERE_RANGE || strcmp(where->name.text, scan->index.text))
            continue;
        *low = source_whole(run, where->begin);
        *end = source_whole(run, where->end);
        return true;
    }
    source_stop(run, "a statement of a scan without its steps");
    return false;
}

/* What a scan defines first: of the type that the header or a conversion says, empty. */
static void prepare(SourceRun *run, const AstStatement *ast) {
    const AstTarget *target = &ast->targets.items[0];
    const AstExpr *value = ast->values.items[0];
    const AstResult *result = result_of(run, target->name.text);
    Assignment a = {.run = run, .ast = ast};
    SourceIndices indices = {0};
    bool typed = result && result->has_type;
    if (source_name_find(run, target->name.text))
        return;
    if (!typed && value->kind != AST_CAST) {
        source_stop(run, "a recurrence of unknown type");
        return;
    }
    a.type = typed ? result->type : value->type;
    source_take_wheres(run, ast, &indices);
    SourceTensor *tensor = first_definition(&a, &indices);
    run->indices = NULL;
    if (!tensor)
        return;
    take_initial(run, tensor);
    add_name(run, SOURCE_TENSOR, target->name.text)->tensor = tensor;
}

static void run_scan(SourceRun *run, const AstStatement *scan) {
    int64_t first = INT64_MAX, last = INT64_MIN, low, end;
    for (int i = 0; i < scan->body.count; i++) {
        if (!range_of_step(run, scan, scan->body.items[i], &low, &end))
            return;
        first = low < first ? low : first;
        last = end > last ? end : last;
    }
    for (int i = 0; i < scan->body.count; i++)
        prepare(run, scan->body.items[i]);
    for (int64_t t = first; t < last; t++)
        for (int i = 0; i < scan->body.count && !run->why && !run->outside; i++) {
            range_of_step(run, scan, scan->body.items[i], &low, &end);
            run->step = scan->index.text;
            run->at_step = t;
            if (t >= low && t < end)
                assign(run, scan->body.items[i]);
            run->step = NULL;
        }
}

static void run_body(SourceRun *run) {
    for (int i = 0; i < run->def->statements.count && !run->why && !run->outside; i++) {
        const AstStatement *ast = run->def->statements.items[i];
        if (ast->kind == STATEMENT_SCAN)
            run_scan(run, ast);
        else if (ast->combiner.text || ast->values.count != 1)
            source_stop(run, "a combiner");
        else if (!run_call(run, ast))
            assign(run, ast);
    }
}

/* --- the whole --- */

static void take_argument(SourceRun *run, const AstParameter *formal, const void *data) {
    int64_t extent[SOURCE_RANK] = {0};
    if (!formal->is_tensor) {
        add_name(run, SOURCE_SCALAR, formal->name.text)->scalar = datum_load(formal->type, data);
        return;
    }
    for (int d = 0; d < formal->dims.count; d++)
        extent[d] = source_whole(run, formal->dims.items[d]);
    SourceTensor *tensor = source_tensor(run->arena, formal->name.text, formal->type, formal->dims.count, NULL, extent);
    for (int64_t e = 0; e < tensor->count; e++)
        tensor->data[e] = datum_load(tensor->type, (const char *)data + e * source_bytes(tensor->type));
    add_name(run, SOURCE_TENSOR, formal->name.text)->tensor = tensor;
}

bool source_run(Arena *arena, const AstFile *file, bool strict, void *const *arguments, SourceResults *results) {
    const AstExport *export = &file->exports.items[0];
    const AstDef *def = find_def(file, export->def.text);
    SourceRun run = {.arena = arena, .file = file, .def = def, .strict = strict};
    for (int i = 0; i < export->bindings.count; i++)
        add_name(&run, SOURCE_SIZE, export->bindings.items[i].name.text)->size =
            source_whole(&run, export->bindings.items[i].value);
    for (int i = 0; i < def->arguments.count; i++)
        take_argument(&run, &def->arguments.items[i], arguments[i]);
    run.initial = arguments + def->arguments.count;
    run_body(&run);
    *results = (SourceResults){.count = def->results.count, .why = run.why, .outside = run.outside};
    for (int i = 0; i < def->results.count && !run.why && !run.outside; i++)
        results->tensors[i] = source_name_find(&run, def->results.items[i].name.text)->tensor;
    return !run.why && !run.outside;
}
