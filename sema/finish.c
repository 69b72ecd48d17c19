/* finish.c - makes a Program of what the statements made: names, roles, the stages that are needed, their order.
 *
 * Stages that run-time checks read come first and write temporaries only, so that a call that is refused has written
 * nothing. If an output is among them, it is computed as a temporary and copied at the end. Stages that neither an
 * output nor a check needs are left out.
 */
#include "lang/extremes.h"
#include "sema/check.h"

#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const char *version_name(const CallFrame *frame, const Variable *variable, int version) {
    Arena *arena = frame->builder->arena;
    if (version >= variable->versions.count - 1)
        return arena_printf(arena, "%s%s", frame->prefix, variable->name);
    return arena_printf(arena, "%s%s[%d]", frame->prefix, variable->name, version);
}

void name_versions(CallFrame *frame) {
    for (int i = 0; i < frame->variables.count; i++) {
        const Variable *variable = frame->variables.items[i];
        for (int v = 0; v < variable->versions.count; v++)
            variable->versions.items[v]->name = version_name(frame, variable, v);
        for (int p = 0; p < variable->parts.count; p++) {
            const VersionPart *part = &variable->parts.items[p];
            const char *name = version_name(frame, variable, part->version);
            part->tensor->name = arena_printf(frame->builder->arena, "%s.%s", name, part->suffix);
        }
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(Tensor *const *)a)->name, (*(Tensor *const *)b)->name);
}

/* Names are unique: a schedule must be able to say each. */
static void make_names_unique(Builder *builder) {
    int count = builder->tensors.count;
    if (count == 0)
        return;
    Tensor **sorted = ARENA_ARRAY(builder->arena, Tensor *, count);
    memcpy(sorted, builder->tensors.items, sizeof *sorted * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_names);
    for (int i = 1, number = 2; i < count; i++) {
        bool again = strcmp(sorted[i - 1]->name, sorted[i]->name) == 0;
        number = again ? number + 1 : 2;
        if (again && sorted[i]->role != ROLE_INPUT && sorted[i]->role != ROLE_OUTPUT &&
            sorted[i]->role != ROLE_CONSTANT)
            sorted[i]->name = arena_printf(builder->arena, "%s_%d", sorted[i]->name, number - 1);
    }
}

/* --- tensors by address --- */

typedef struct TensorPlace {
    const Tensor *tensor;
    int stage; /* the stage that writes it, or -1 */
    bool read;
} TensorPlace;

/* Sorted by address, for lookup only: the order means nothing. */
typedef struct TensorPlaces {
    TensorPlace *items;
    int count;
} TensorPlaces;

static int compare_places(const void *a, const void *b) {
    const Tensor *left = ((const TensorPlace *)a)->tensor, *right = ((const TensorPlace *)b)->tensor;
    return (left > right) - (left < right);
}

static TensorPlace *find_place(const TensorPlaces *places, const Tensor *tensor) {
    TensorPlace key = {.tensor = tensor};
    return bsearch(&key, places->items, (size_t)places->count, sizeof key, compare_places);
}

static TensorPlaces find_places(const Builder *builder) {
    TensorPlaces places = {ARENA_ARRAY(builder->arena, TensorPlace, builder->tensors.count), builder->tensors.count};
    for (int i = 0; i < places.count; i++)
        places.items[i] = (TensorPlace){.tensor = builder->tensors.items[i], .stage = -1};
    if (places.count)
        qsort(places.items, (size_t)places.count, sizeof *places.items, compare_places);
    for (int i = 0; i < builder->stages.count; i++) {
        const Stage *stage = builder->stages.items[i];
        for (int c = 0; c < stage->component_count; c++)
            find_place(&places, stage->components[c].tensor)->stage = i;
        EACH_STAGE_READ(read, stage)
            find_place(&places, read->tensor)->read = true;
    }
    for (int i = 0; i < builder->requirements.count; i++)
        EACH_READ(read, builder->requirements.items[i].condition)
            find_place(&places, read->tensor)->read = true;
    return places;
}

/* --- what is needed --- */

typedef struct Needs {
    Builder *builder;
    TensorPlaces places;
    bool *needed; /* by the index of the stage */
    bool whole_scans;
    LIST(int) open;
} Needs;

static void need_stage(Needs *needs, int stage) {
    if (needs->needed[stage])
        return;
    needs->needed[stage] = true;
    list_push(needs->builder->arena, &needs->open, stage);
}

/* Marks the stage that writes the tensor. With whole_scans also all stages of its scan. */
static void need_tensor(Needs *needs, const Tensor *tensor) {
    int stage = find_place(&needs->places, tensor)->stage;
    if (stage < 0)
        return;
    need_stage(needs, stage);
    const Scan *scan = needs->builder->stages.items[stage]->scan;
    for (int i = 0; scan && needs->whole_scans && i < needs->builder->stages.count; i++)
        if (needs->builder->stages.items[i]->scan == scan)
            need_stage(needs, i);
}

static void close_needs(Needs *needs) {
    while (needs->open.count) {
        const Stage *stage = needs->builder->stages.items[needs->open.items[--needs->open.count]];
        EACH_STAGE_READ(read, stage)
            need_tensor(needs, read->tensor);
    }
}

static void need_checks(Needs *needs) {
    for (int i = 0; i < needs->builder->requirements.count; i++)
        EACH_READ(read, needs->builder->requirements.items[i].condition)
            need_tensor(needs, read->tensor);
}

/* The stages that run before any output is written. Of a scan these are all stages or none. */
static Needs needs_of_checks(Builder *builder) {
    Needs needs = {.builder = builder, .places = find_places(builder), .whole_scans = true};
    needs.needed = ARENA_ARRAY(builder->arena, bool, builder->stages.count);
    need_checks(&needs);
    close_needs(&needs);
    return needs;
}

/* --- outputs --- */

static Tensor *result_tensor(const Variable *variable) {
    return variable->versions.items[variable->versions.count - 1];
}

/* An output that a check reads becomes a temporary, which is copied at the end. */
static void copy_at_end(Builder *builder, Variable *variable) {
    Arena *arena = builder->arena;
    Tensor *from = result_tensor(variable), *to = new_tensor(builder, from->type, from->rank, from->loc);
    *to = *from;
    from->name = arena_printf(arena, "%s.checked", to->name);
    from->role = ROLE_TEMPORARY;
    Stage *copy = stage_new(arena, (Component){to, NULL, NULL});
    copy->axes = ARENA_ARRAY(arena, const Var *, to->rank);
    Expr **indices = ARENA_ARRAY(arena, Expr *, to->rank);
    for (int d = 0; d < to->rank; d++) {
        copy->axes[d] = var_new(arena, VAR_AXIS, TYPE_INT64, to->dim_names[d], to->dims[d]);
        indices[d] = expr_var(arena, copy->axes[d]);
    }
    copy->components[0].value = expr_read(arena, from, indices, NULL);
    list_push(arena, &builder->stages, copy);
    list_push(arena, &variable->versions, to);
}

static void make_outputs(CallFrame *frame) {
    Builder *builder = frame->builder;
    Needs checks = needs_of_checks(builder);
    for (int i = 0; i < frame->variables.count; i++) {
        Variable *variable = frame->variables.items[i];
        if (!variable->result)
            continue;
        int stage = find_place(&checks.places, result_tensor(variable))->stage;
        if (stage >= 0 && checks.needed[stage])
            copy_at_end(builder, variable);
        Tensor *tensor = result_tensor(variable);
        tensor->role = ROLE_OUTPUT;
        if (variable->initial)
            variable->initial->buffer = tensor;
    }
}

/* --- order --- */

static void order_stages(CallFrame *frame) {
    Builder *builder = frame->builder;
    const bool *checked = needs_of_checks(builder).needed;
    Needs live = {.builder = builder, .places = find_places(builder)};
    live.needed = ARENA_ARRAY(builder->arena, bool, builder->stages.count);
    need_checks(&live);
    for (int i = 0; i < frame->variables.count; i++)
        if (frame->variables.items[i]->result)
            need_tensor(&live, result_tensor(frame->variables.items[i]));
    close_needs(&live);
    Stage **ordered = ARENA_ARRAY(builder->arena, Stage *, builder->stages.count);
    int count = 0;
    for (int i = 0; i < builder->stages.count; i++)
        if (live.needed[i] && checked[i])
            ordered[count++] = builder->stages.items[i];
    for (int i = 0; i < builder->stages.count; i++)
        if (live.needed[i] && !checked[i])
            ordered[count++] = builder->stages.items[i];
    builder->stages.items = ordered;
    builder->stages.count = builder->stages.capacity = count;
}

/* The stage that must have run before a tensor can be read. Of a scan that is its last stage. */
static int last_stage_of(const TensorPlaces *places, const Stages *stages, const Tensor *tensor) {
    int stage = find_place(places, tensor)->stage;
    while (stage >= 0 && stage + 1 < stages->count && stages->items[stage]->scan &&
           stages->items[stage + 1]->scan == stages->items[stage]->scan)
        stage++;
    return stage;
}

static void place_checks(Builder *builder) {
    TensorPlaces places = find_places(builder);
    for (int i = 0; i < builder->requirements.count; i++) {
        Requirement *requirement = &builder->requirements.items[i];
        requirement->after = -1;
        EACH_READ(read, requirement->condition) {
            int stage = last_stage_of(&places, &builder->stages, read->tensor);
            requirement->after = stage > requirement->after ? stage : requirement->after;
        }
    }
}

/* --- sizes --- */

static int degree_of(Arena *arena, Expr *e) {
    Affine p;
    int degree = 1;
    if (!size_affine(arena, e, &p))
        return degree;
    for (int i = 0; i < p.count; i++)
        degree = larger_int(degree, atom_degree(p.terms[i].atom));
    return degree;
}

/* Limits sizes so that the arithmetic of extents stays inside int64: to 2^40, or to less where sizes are multiplied. */
static void check_size_arguments(Builder *builder) {
    Arena *arena = builder->arena;
    int degree = 1;
    for (int i = 0; i < builder->tensors.count; i++)
        for (int d = 0; d < builder->tensors.items[i]->rank; d++)
            degree = larger_int(degree, degree_of(arena, builder->tensors.items[i]->dims[d]));
    for (int i = 0; i < builder->stages.count; i++)
        for (int r = 0; r < builder->stages.items[i]->reduction_count; r++)
            degree = larger_int(degree, degree_of(arena, builder->stages.items[i]->reductions[r]->extent));
    int64_t limit = (int64_t)1 << (degree == 1 ? 40 : degree < 60 ? 60 / degree : 1);
    Requirement *all = ARENA_ARRAY(arena, Requirement, builder->sizes.count + builder->requirements.count);
    for (int i = 0; i < builder->sizes.count; i++) {
        Expr *size = expr_var(arena, builder->sizes.items[i]);
        Expr *condition = expr_binary(arena, OP_AND, expr_binary(arena, OP_GE, size, expr_int(arena, 0)),
                                      expr_binary(arena, OP_LE, size, expr_int(arena, limit)));
        all[i] = (Requirement){.condition = condition, .status = STATUS_BAD_SIZE, .after = -1};
        all[i].text = arena_printf(arena, "0 <= %s <= %lld", builder->sizes.items[i]->name, (long long)limit);
        all[i].loc = builder->sizes.items[i]->loc;
    }
    if (builder->requirements.count)
        memcpy(all + builder->sizes.count, builder->requirements.items,
               sizeof *all * (size_t)builder->requirements.count);
    builder->requirements.items = all;
    builder->requirements.count += builder->sizes.count;
}

/* --- scans --- */

/* Gives each scan a name that neither a tensor nor an earlier scan has. */
static void name_scans(const Builder *builder, Arena *arena) {
    Map taken = {0}, numbers = {0}; /* numbers: the last one behind a name */
    for (int i = 0; i < builder->tensors.count; i++)
        name_map_set(arena, &taken, builder->tensors.items[i]->name, builder->tensors.items[i]);
    for (int i = 0; i < builder->scans.count; i++) {
        Scan *scan = builder->scans.items[i];
        const char *name = scan->name;
        intptr_t number = (intptr_t)name_map_get(&numbers, name);
        for (number += !number; name_map_get(&taken, scan->name);)
            scan->name = arena_printf(arena, "%s_%d", name, (int)++number);
        name_map_set(arena, &numbers, name, (void *)number);
        name_map_set(arena, &taken, scan->name, scan);
    }
}

/* Adds the scans that still have stages, with their first stages and counts. */
static void fill_scans(const Builder *builder, Program *program) {
    program->scans = ARENA_ARRAY(program->arena, const Scan *, builder->scans.count);
    name_scans(builder, program->arena);
    for (int s = 0; s < program->stage_count; s++) {
        Scan *scan = (Scan *)program->stages[s]->scan; /* one of the builder's */
        if (scan)
            scan->first = scan->count++ ? scan->first : s;
    }
    for (int i = 0; i < builder->scans.count; i++)
        if (builder->scans.items[i]->count)
            program->scans[program->scan_count++] = builder->scans.items[i];
}

/* --- the program --- */

static void fill_arguments(const CallFrame *frame, Program *program) {
    const Builder *builder = frame->builder;
    int results = frame->definition->ast->results.count;
    program->arguments = ARENA_ARRAY(program->arena, Argument, builder->inputs.count + results);
    for (int i = 0; i < builder->inputs.count; i++)
        program->arguments[program->argument_count++] = builder->inputs.items[i];
    for (int i = 0; i < results; i++) {
        const Symbol *symbol = frame_symbol(frame, frame->definition->ast->results.items[i].name.text);
        program->arguments[program->argument_count++].tensor = result_tensor(symbol->variable);
    }
}

/* Adds the arguments first, then the tensors that some stage writes or reads. */
static void fill_tensors(const Builder *builder, Program *program) {
    TensorPlaces places = find_places(builder);
    program->tensors = ARENA_ARRAY(program->arena, const Tensor *, builder->tensors.count);
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].tensor)
            program->tensors[program->tensor_count++] = program->arguments[i].tensor;
    for (int i = 0; i < builder->tensors.count; i++) {
        const Tensor *tensor = builder->tensors.items[i];
        const TensorPlace *place = find_place(&places, tensor);
        bool argument = tensor->role == ROLE_INPUT || tensor->role == ROLE_OUTPUT;
        if (!argument && (place->read || place->stage >= 0))
            program->tensors[program->tensor_count++] = tensor;
    }
}

Program *finish_program(CallFrame *frame, const char *symbol) {
    Builder *builder = frame->builder;
    if (builder->names_only)
        return NULL;
    make_outputs(frame);
    copy_overwritten(builder);
    make_names_unique(builder);
    order_stages(frame);
    place_checks(builder);
    drop_implied_requirements(builder);
    check_size_arguments(builder);
    Program *program = ARENA_NEW(builder->arena, Program);
    program->arena = builder->arena;
    program->name = frame->definition->ast->name.text;
    program->symbol = symbol ? symbol : program->name;
    program->size_count = builder->sizes.count;
    program->sizes = builder->sizes.items;
    program->stage_count = builder->stages.count;
    program->stages = (const Stage **)builder->stages.items;
    for (int i = 0; i < builder->stages.count; i++)
        builder->stages.items[i]->name = builder->stages.items[i]->components[0].tensor->name;
    fill_scans(builder, program);
    program->requirement_count = builder->requirements.count;
    program->requirements = builder->requirements.items;
    program->bound_count = builder->bounds.count;
    program->bounds = builder->bounds.items;
    program->strict = builder->checker->options->strict;
    program->instr_count = builder->checker->instrs.count;
    program->instrs = builder->checker->instrs.items;
    program->rule_count = builder->checker->rules.count;
    program->rules = builder->checker->rules.items;
    program->loc = frame->definition->ast->loc;
    fill_arguments(frame, program);
    fill_tensors(builder, program);
    program_list_stages(program->arena, program);
    return program;
}
