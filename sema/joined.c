/* joined.c - makes an alternative of a unit's program in which a reduction of what another stage reduces is one
 * reduction over the axes of both: the algorithm `joined`.
 *
 * Sums of sums and maxima of maxima are so, in any order of the terms. The stage between is left out where nothing else
 * reads it and each of its elements is read once at most, so that no term is computed again. Programs with recurrences
 * are left as they are.
 */
#include "sema/check.h"

typedef struct Joining {
    Arena *arena;
    const Program *program;
    const Stage **stages; /* of the program, as they have become; NULL: left out */
    bool changed;
} Joining;

/* --- whether each element is read once at most --- */

/* Whether an index tells all values of its axes apart: 4*x + r with 4 values of r. Adds the number of its axes. */
static bool tells_apart(Arena *arena, Expr *index, int *axes) {
    Affine affine;
    if (!expr_affine(arena, index, &affine))
        return false;
    bool used[affine.count + 1];
    for (int t = 0; t < affine.count; t++)
        used[t] = false;
    int64_t covered = 1, extent = 1;
    for (int n = 0; n < affine.count; n++, ++*axes) {
        int least = -1;
        for (int t = 0; t < affine.count; t++)
            if (!used[t] && (least < 0 || affine.terms[t].coefficient < affine.terms[least].coefficient))
                least = t;
        const Term *term = &affine.terms[least];
        bool known = n == 0 || extent > 0;
        if (!known || term->coefficient < covered || term->atom->kind != EXPR_VAR || term->atom->var->kind != VAR_AXIS)
            return false;
        used[least] = true;
        if (!expr_is_int(term->atom->var->extent, &extent) || extent > INT32_MAX || term->coefficient > INT32_MAX)
            extent = 0;
        covered += term->coefficient * (extent > 0 ? extent - 1 : 0);
    }
    return true;
}

static bool is_used_once(const Expr *read, const Var *axis) {
    int uses = 0;
    for (int d = 0; d < read->count; d++)
        uses += expr_uses_var(read->args[d], axis);
    int64_t extent;
    return uses == 1 || (expr_is_int(axis->extent, &extent) && extent == 1);
}

static bool reads_once(Arena *arena, const Stage *stage, const Expr *read) {
    bool once = true;
    int axes = 0;
    for (int d = 0; d < read->count && once; d++)
        once = tells_apart(arena, read->args[d], &axes);
    for (int a = 0; a < stage->axis_count && once; a++)
        once = is_used_once(read, stage->axes[a]);
    for (int r = 0; r < stage->reduction_count && once; r++)
        once = is_used_once(read, stage->reductions[r]);
    return once && axes > 0;
}

/* --- what is joined --- */

static bool is_read_by_others(const Joining *joining, const Stage *reader, const Tensor *tensor) {
    for (int s = 0; s < joining->program->stage_count; s++)
        if (joining->stages[s] && joining->stages[s] != reader && stage_uses_tensor(joining->stages[s], tensor))
            return true;
    return program_requires(joining->program, tensor);
}

static bool reduces(const Program *program, const Stage *stage) {
    return stage->component_count == 1 && stage->combine != COMBINE_NONE && stage->combine != COMBINE_DECLARED &&
           stage->reduction_count > 0 && !stage_is_ordered(program, stage) &&
           stage_first_scatter(stage) == stage->axis_count;
}

/* The stage whose reductions a reduction reads, and could do itself; -1: none. */
static int joined_by(const Joining *joining, const Stage *stage) {
    const Expr *read = stage->components[0].value;
    if (!reduces(joining->program, stage) || read->kind != EXPR_READ || read->otherwise ||
        read->tensor->role != ROLE_TEMPORARY)
        return -1;
    int number = 0;
    while (number < joining->program->stage_count &&
           !(joining->stages[number] && stage_writes(joining->stages[number], read->tensor)))
        number++;
    const Stage *inner = number < joining->program->stage_count ? joining->stages[number] : NULL;
    bool same = inner && inner != stage && reduces(joining->program, inner) && inner->combine == stage->combine &&
                is_identity(inner->combine, inner->components[0].initial) &&
                !expr_uses_tensor(stage->components[0].initial, read->tensor);
    return same && reads_once(joining->arena, stage, read) && !is_read_by_others(joining, stage, read->tensor) ? number
                                                                                                               : -1;
}

/* --- joining --- */

static const Stage *joined(Joining *joining, const Stage *stage, const Stage *inner) {
    Arena *arena = joining->arena;
    const Expr *read = stage->components[0].value;
    Stage *whole = stage_copy(arena, stage);
    int count = stage->reduction_count + inner->reduction_count;
    Substitution *list = ARENA_ARRAY(arena, Substitution, inner->axis_count);
    for (int a = 0; a < inner->axis_count; a++)
        list[a] = (Substitution){inner->axes[a], read->args[a]};
    whole->reductions = ARENA_ARRAY(arena, const Var *, count);
    for (int r = 0; r < count; r++)
        whole->reductions[r] =
            r < stage->reduction_count ? stage->reductions[r] : inner->reductions[r - stage->reduction_count];
    whole->reduction_count = count;
    whole->components[0].value =
        expr_simplify(arena, expr_substitute(arena, inner->components[0].value, list, inner->axis_count));
    return whole;
}

static void join_stages(Joining *joining) {
    for (int s = 0; s < joining->program->stage_count; s++)
        for (int inner = joined_by(joining, joining->stages[s]); inner >= 0;
             inner = joined_by(joining, joining->stages[s])) {
            joining->stages[s] = joined(joining, joining->stages[s], joining->stages[inner]);
            joining->stages[inner] = NULL;
            joining->changed = true;
        }
}

static bool is_left(const Joining *joining, const Tensor *tensor) {
    const Stage *stage = program_stage_of(joining->program, tensor);
    return !stage || joining->stages[program_stage_index(joining->program, stage)];
}

/* The program with the stages that are left. Checks read the same ones as before. */
static Program *program_of(const Joining *joining) {
    const Program *from = joining->program;
    Program *program = ARENA_NEW(joining->arena, Program);
    *program = *from;
    program->stages = ARENA_ARRAY(joining->arena, const Stage *, from->stage_count);
    program->tensors = ARENA_ARRAY(joining->arena, const Tensor *, from->tensor_count);
    program->requirements = ARENA_ARRAY(joining->arena, Requirement, from->requirement_count);
    program->stage_count = program->tensor_count = 0;
    for (int r = 0; r < from->requirement_count; r++)
        program->requirements[r] = from->requirements[r];
    for (int s = 0; s < from->stage_count; s++) {
        if (joining->stages[s])
            program->stages[program->stage_count++] = joining->stages[s];
        for (int r = 0; r < from->requirement_count; r++)
            program->requirements[r].after -= from->requirements[r].after >= s && !joining->stages[s];
    }
    for (int t = 0; t < from->tensor_count; t++)
        if (is_left(joining, from->tensors[t]))
            program->tensors[program->tensor_count++] = from->tensors[t];
    program_list_stages(joining->arena, program);
    return program;
}

void add_joined(Arena *arena, Unit *unit) {
    Joining joining = {.arena = arena, .program = unit->program};
    if (unit->program->scan_count)
        return;
    joining.stages = ARENA_ARRAY(arena, const Stage *, unit->program->stage_count);
    for (int s = 0; s < unit->program->stage_count; s++)
        joining.stages[s] = unit->program->stages[s];
    join_stages(&joining);
    if (joining.changed)
        add_automatic(arena, unit, program_of(&joining), "joined");
}
