/* slices.c - const arguments that a program reads at numbers alone, such as the weights of all layers, of which each
 * layer reads its own: for packing, what lies behind these numbers becomes a constant by itself.
 *
 * A constant is packed for one reader. So each layer's weights are packed as that layer wants them, and the packed
 * argument holds them one behind the other. An argument stays whole where that would take something away: if some read
 * has no number first, if a stage made of the argument alone needs several slices, or if a check or the source's
 * schedule names it.
 */
#include "lang/map.h"
#include "lower/kernel/statements.h"

#include <string.h>

enum { KEPT = 2 }; /* indices of a slice, at least: nothing is gained by packing a vector */
enum { SLICE_OTHER = -1, SLICE_SEVERAL = -2 };

typedef struct Slicing {
    Arena *arena;
    Program *program;
    const Tensor *argument;
    int leading;              /* how many first indices are numbers in all reads */
    LIST(const Expr *) reads; /* of each slice, the first one */
    Map by_name;              /* of each slice its number, from 1 on */
    LIST(ArgumentPart) parts; /* of each slice */
} Slicing;

/* --- which slices there are --------------------------------------------------------------------------------------- */

/* How many first indices of a read are numbers that are known to be inside, but for the last ones. */
static int leading_numbers(const Expr *read) {
    int64_t index, extent;
    int count = 0;
    while (count < read->count - KEPT && expr_is_int(read->args[count], &index) && index >= 0) {
        bool known = expr_is_int(read->tensor->dims[count], &extent);
        if (known ? index >= extent : read->otherwise != NULL)
            break;
        count++;
    }
    return count;
}

/* 0: there is no read, or one without a number. */
static int common_numbers(const Program *program, const Tensor *argument) {
    int common = argument->rank, found = 0;
    for (int s = 0; s < program->stage_count; s++)
        EACH_STAGE_READ(read, program->stages[s]) {
            if (read->tensor != argument)
                continue;
            int own = leading_numbers(read);
            common = own < common ? own : common;
            found++;
        }
    return found ? common : 0;
}

/* "w.part_2_0": no stage has such a name. */
static const char *slice_name(const Slicing *slicing, const Expr *read) {
    Text text = {.arena = slicing->arena};
    text_add(&text, "%s.part", slicing->argument->name);
    for (int d = 0; d < slicing->leading; d++)
        text_add(&text, "_%lld", (long long)read->args[d]->integer);
    return text.text;
}

/* -1: none yet. */
static int slice_of(const Slicing *slicing, const Expr *read) {
    return (int)(intptr_t)name_map_get(&slicing->by_name, slice_name(slicing, read)) - 1;
}

static void find_slices(Slicing *slicing) {
    for (int s = 0; s < slicing->program->stage_count; s++)
        EACH_STAGE_READ(read, slicing->program->stages[s]) {
            if (read->tensor != slicing->argument || slice_of(slicing, read) >= 0)
                continue;
            list_push(slicing->arena, &slicing->reads, read);
            name_map_set(slicing->arena, &slicing->by_name, slice_name(slicing, read),
                         (void *)(intptr_t)slicing->reads.count);
        }
}

/* --- whether the argument may be sliced --------------------------------------------------------------------------- */

/* The slice that a read is made of, if it is made of the argument alone; made: the same of each stage. */
static int made_of_slice(const Slicing *slicing, const int *made, const Expr *read) {
    if (read->tensor == slicing->argument)
        return slice_of(slicing, read);
    const Stage *stage = program_stage_of(slicing->program, read->tensor);
    return stage ? made[program_stage_index(slicing->program, stage)] : SLICE_OTHER;
}

/* Whether a stage is made of several slices and nothing else: it is computed ahead of all calls from the whole argument
 * alone. */
static bool joins_slices(const Slicing *slicing) {
    const Program *program = slicing->program;
    int *made = ARENA_ARRAY(slicing->arena, int, program->stage_count + 1);
    bool joins = false;
    for (int s = 0; s < program->stage_count; s++)
        made[s] = SLICE_OTHER;
    for (int s = 0; s < program->stage_count; s++) {
        int reads = 0;
        EACH_STAGE_READ(read, program->stages[s]) {
            int own = made_of_slice(slicing, made, read), before = reads++ ? made[s] : own;
            bool other = own == SLICE_OTHER || before == SLICE_OTHER;
            made[s] = other ? SLICE_OTHER : own == before ? own : SLICE_SEVERAL;
        }
        joins |= made[s] == SLICE_SEVERAL;
    }
    return joins;
}

static bool names(const PrimArg *args, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if ((args[i].kind == ARG_NAME && strcmp(args[i].name, name) == 0) || names(args[i].items, args[i].count, name))
            return true;
    return false;
}

static bool is_scheduled(const Schedule *user, const Tensor *tensor) {
    for (int i = 0; user && i < user->count; i++)
        if (names(user->prims[i].args, user->prims[i].arg_count, tensor->name))
            return true;
    return false;
}

/* --- the program over slices -------------------------------------------------------------------------------------- */

static Tensor *slice_tensor(const Slicing *slicing, const Expr *read) {
    Tensor *slice = ARENA_NEW(slicing->arena, Tensor);
    *slice = *slicing->argument;
    slice->name = slice_name(slicing, read);
    slice->rank -= slicing->leading;
    slice->dims += slicing->leading;
    slice->lower = slice->lower ? slice->lower + slicing->leading : NULL;
    slice->dim_names = slice->dim_names ? slice->dim_names + slicing->leading : NULL;
    return slice;
}

/* Where a slice begins in the argument, in bytes. */
static Expr *slice_offset(const Slicing *slicing, const Expr *read, const Tensor *slice) {
    Arena *arena = slicing->arena;
    Expr *number = expr_int(arena, 0);
    for (int d = 0; d < slicing->leading; d++) {
        number = expr_binary(arena, OP_MUL, number, slicing->argument->dims[d]);
        number = expr_binary(arena, OP_ADD, number, read->args[d]);
    }
    return expr_binary(arena, OP_MUL, number, tensor_memory(arena, slice));
}

static void make_parts(Slicing *slicing) {
    for (int i = 0; i < slicing->reads.count; i++) {
        const Tensor *slice = slice_tensor(slicing, slicing->reads.items[i]);
        ArgumentPart part = {slice, slice_offset(slicing, slicing->reads.items[i], slice)};
        list_push(slicing->arena, &slicing->parts, part);
    }
}

static Expr *read_slice(Arena *arena, Expr *e, void *context) {
    const Slicing *slicing = context;
    if (e->kind != EXPR_READ || e->tensor != slicing->argument)
        return e;
    Expr *read =
        expr_read(arena, slicing->parts.items[slice_of(slicing, e)].tensor, e->args + slicing->leading, e->otherwise);
    read->loc = e->loc;
    return read;
}

static void add_tensors(const Slicing *slicing) {
    Program *program = slicing->program;
    int count = program->tensor_count;
    const Tensor **tensors = ARENA_ARRAY(slicing->arena, const Tensor *, count + slicing->parts.count);
    memcpy(tensors, program->tensors, sizeof *tensors * (size_t)count);
    for (int i = 0; i < slicing->parts.count; i++)
        tensors[count++] = slicing->parts.items[i].tensor;
    program->tensors = tensors;
    program->tensor_count = count;
}

static void read_slices(Slicing *slicing) {
    Program *program = slicing->program;
    const Stage **stages = ARENA_ARRAY(slicing->arena, const Stage *, program->stage_count + 1);
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        stages[s] = stage_uses_tensor(stage, slicing->argument)
                        ? stage_rewrite_exprs(slicing->arena, stage, read_slice, slicing)
                        : stage;
    }
    program->stages = stages;
}

/* --- what sizes must allow ---------------------------------------------------------------------------------------- */

static int64_t most_of(const Slicing *slicing, int d) {
    int64_t most = 0;
    for (int i = 0; i < slicing->reads.count; i++) {
        int64_t index = slicing->reads.items[i]->args[d]->integer;
        most = index > most ? index : most;
    }
    return most;
}

/* Requires the slices to be there. In a call other requirements may ensure that, on sizes that the argument lacks: then
 * what packs knows only these. */
static void require_slices(const Slicing *slicing) {
    Arena *arena = slicing->arena;
    Program *program = slicing->program;
    Requirement *requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count + slicing->leading);
    if (program->requirement_count)
        memcpy(requirements, program->requirements, sizeof *requirements * (size_t)program->requirement_count);
    program->requirements = requirements;
    for (int d = 0; d < slicing->leading; d++) {
        Expr *extent = slicing->argument->dims[d];
        Expr *condition = expr_binary(arena, OP_LT, expr_int(arena, most_of(slicing, d)), extent);
        if (!expr_is_int(extent, NULL))
            requirements[program->requirement_count++] = (Requirement){.condition = condition,
                                                                       .text = expr_text(arena, condition),
                                                                       .status = STATUS_BAD_SIZE,
                                                                       .after = -1,
                                                                       .loc = slicing->argument->loc};
    }
}

void slice_argument(Arena *arena, Program *program, int number, const Schedule *user) {
    Argument *argument = &program->arguments[number];
    Slicing slicing = {.arena = arena, .program = program, .argument = argument->tensor};
    slicing.leading = common_numbers(program, slicing.argument);
    if (slicing.leading == 0 || program_requires(program, slicing.argument) || is_scheduled(user, slicing.argument))
        return;
    find_slices(&slicing);
    if (joins_slices(&slicing))
        return;
    make_parts(&slicing);
    read_slices(&slicing);
    program_list_stages(arena, program);
    add_tensors(&slicing);
    require_slices(&slicing);
    argument->parts = slicing.parts.items;
    argument->part_count = slicing.parts.count;
}
