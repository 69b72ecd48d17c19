/* tensorize.c - tensorize: loops that a hardware instruction runs.
 *
 * The primitive marks a loop and the loops inside it. Whether they match the instruction is checked when the nest is
 * finished: combine and value of the meaning, extents, and the places of operands in memory. Tails remain for the
 * kernel, where masks handle them.
 */
#include "lower/instr/instr.h"
#include "lower/nest/state.h"

#include <string.h>

/* --- the instruction ---------------------------------------------------------------------------------------------- */

/* The instructions of the target's family. */
static const char *instrs_text(NestState *state) {
    const Program *program = state->nest.program;
    const Target *target = state->nest.target;
    Text text = {.arena = state->arena};
    for (int i = 0; i < program->instr_count; i++)
        if (target == NULL || strcmp(target_family(program->instrs[i]->target), target->family->name) == 0)
            text_add(&text, "%s%s", text.length == 0 ? "the instructions are " : ", ", program->instrs[i]->name);
    return text.length > 0 ? text.text : "instr declares one, and import \"instr\" brings some";
}

static const Instr *argument_instr(NestState *state, const PrimArg *arg) {
    const Instr *instr = program_find_instr(state->nest.program, arg->name);
    const Target *target = state->nest.target;
    if (instr == NULL) {
        refuse_at(state, arg, "there is no instruction %s; %s", arg->name,
                  state->refusal->wanted ? instrs_text(state) : "");
        return NULL;
    }
    if (target == NULL)
        return instr;
    if (strcmp(target_family(instr->target), target->family->name) != 0) {
        refuse_at(state, arg, "%s is an instruction of %s; the code is for %s", instr->name, instr->target,
                  target->name);
        return NULL;
    }
    for (int i = 0; i < instr->need_count; i++)
        if (!target_has_feature(target, instr->needs[i])) {
            refuse_at(state, arg, "%s needs %s, which the target %s does not have", instr->name, instr->needs[i],
                      target->name);
            return NULL;
        }
    return instr;
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

/* Matches the loops of a stage, from one inwards, with an instruction; forms are known. */
typedef struct Matching {
    NestState *state;
    StageState *stage;
    const Instr *instr;
    int first, count; /* leaves */
    const Expr **reads;
    int *loop_of; /* the first assignment that was tried, for messages */
    int operand;  /* the operand that lies in the wrong way */
    bool tried, same_extents;
} Matching;

static Node *loop_at(const Matching *m, int loop) {
    return m->stage->leaves.items[m->first + loop];
}

/* An access: the forms of its indices, and the extents of the buffer. */
typedef struct AccessPlace {
    int rank;
    const Form **index, **extent;
} AccessPlace;

static const Form *buffer_extent(const Matching *m, const StageState *producer, const Tensor *tensor, int d) {
    if (producer != NULL && (producer->at != NULL || producer->scope_set))
        return producer->size[d];
    return extent_form(m->state, tensor->dims[d]);
}

static bool place_of(const Matching *m, int operand, AccessPlace *place) {
    const Tensor *tensor = operand == 0 ? m->stage->tensor : m->reads[operand]->tensor;
    const StageState *producer = operand == 0 ? m->stage : state_producer(m->state, tensor);
    place->rank = tensor->rank;
    place->index = ARENA_ARRAY(m->state->arena, const Form *, tensor->rank);
    place->extent = ARENA_ARRAY(m->state->arena, const Form *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++) {
        NestRead access = {.read = m->reads[operand]};
        place->index[d] = operand == 0 ? m->stage->axes[d] : access_form(m->state, m->stage, &access, d);
        place->extent[d] = buffer_extent(m, producer, tensor, d);
        if (place->index[d] == NULL)
            return false;
    }
    return true;
}

/* The elements in memory from one value of a loop to the next; false when not known. */
static bool step_of(const AccessPlace *place, const Loop *loop, int64_t *step) {
    int64_t inner = 1, extent, moved;
    bool known = true;
    *step = 0;
    for (int d = place->rank - 1; d >= 0; d--) {
        if (!affine_coefficient(place->index[d], loop->var, &moved) || (moved != 0 && !known) ||
            __builtin_mul_overflow(moved, inner, &moved) || __builtin_add_overflow(*step, moved, step))
            return false;
        known = known && affine_is_int(place->extent[d], &extent) && !__builtin_mul_overflow(inner, extent, &inner);
    }
    return true;
}

static bool operand_has_loop(const Matching *m, const int *loop_of, int operand, int loop) {
    for (int d = 0; d < m->instr->operands[operand]->rank; d++)
        if (loop_of[instr_operand_index(m->instr, operand, d)] == loop)
            return true;
    return false;
}

static bool operand_lies_well(const Matching *m, const int *loop_of, int operand) {
    AccessPlace place;
    int64_t step, strides[m->instr->operands[operand]->rank + 1];
    if (!place_of(m, operand, &place))
        return false;
    for (int l = 0; l < m->count; l++)
        if (!operand_has_loop(m, loop_of, operand, l) && (!step_of(&place, &loop_at(m, l)->loop, &step) || step != 0))
            return false;
    for (int d = 0; d < m->instr->operands[operand]->rank; d++) {
        int loop = loop_of[instr_operand_index(m->instr, operand, d)];
        strides[d] = 0;
        if (loop >= 0 && !step_of(&place, &loop_at(m, loop)->loop, &strides[d]))
            return false;
    }
    int64_t block = instr_block(m->instr, operand, strides);
    return operand == 0 ? block == instr_lanes(m->instr, 0) : block > 0;
}

static bool try_assignment(const int *loop_of, void *context) {
    Matching *m = context;
    int bad = -1;
    for (int operand = 0; operand < m->instr->operand_count && bad < 0; operand++)
        if (!operand_lies_well(m, loop_of, operand))
            bad = operand;
    m->same_extents = true;
    if (!m->tried) {
        m->tried = true;
        m->operand = bad;
        memcpy(m->loop_of, loop_of, sizeof *loop_of * (size_t)instr_index_count(m->instr));
    }
    return bad < 0;
}

static Matching matching_of(NestState *state, StageState *stage, int first, const Instr *instr) {
    Matching m = {.state = state, .stage = stage, .instr = instr, .first = first};
    m.count = stage->leaves.count - first;
    m.reads = ARENA_ARRAY(state->arena, const Expr *, instr->operand_count);
    m.loop_of = ARENA_ARRAY(state->arena, int, instr_index_count(instr) + 1);
    return m;
}

static bool find_assignment(Matching *m) {
    InstrLoop *loops = ARENA_ARRAY(m->state->arena, InstrLoop, m->count + 1);
    for (int l = 0; l < m->count; l++)
        loops[l] = (InstrLoop){loop_at(m, l)->loop.extent, loop_at(m, l)->loop.reduction};
    return instr_assign(m->instr, loops, m->count, try_assignment, m);
}

/* --- what does not fit -------------------------------------------------------------------------------------------- */

static void add_extent(Text *text, bool *begun, const char *name, int64_t extent, bool reduction) {
    text_add(text, "%s%s", *begun ? ", " : "", name);
    text_add(text, extent < 0 ? " (%sits extent is known at run time)" : " (%s%lld)", reduction ? "reduction, " : "",
             (long long)extent);
    *begun = true;
}

static bool refuse_extents(const Matching *m) {
    NestState *state = m->state;
    Text wanted = {.arena = state->arena}, found = {.arena = state->arena};
    bool begun = false;
    for (int i = 0; i < instr_index_count(m->instr) && state->refusal->wanted; i++)
        if (instr_extent(m->instr, i) != 1)
            add_extent(&wanted, &begun, instr_index(m->instr, i)->name, instr_extent(m->instr, i),
                       i >= m->instr->meaning->axis_count);
    begun = false;
    for (int l = 0; l < m->count && state->refusal->wanted; l++)
        add_extent(&found, &begun, loop_text(state, loop_at(m, l)), loop_at(m, l)->loop.extent,
                   loop_at(m, l)->loop.reduction);
    return refuse(state, "%s runs the loops %s; here they are %s", m->instr->name,
                  wanted.length > 0 ? wanted.text : "none", found.length > 0 ? found.text : "none");
}

static const char *combine_word(const Stage *stage) {
    static const char *const words[COMBINE_COUNT] = {"=", "+=", "*=", "min=", "max=", "a combiner"};
    return words[stage->combine];
}

static bool check_value(Matching *m) {
    const Stage *stage = m->stage->nest.stage, *meaning = m->instr->meaning;
    const Expr *wanted, *found;
    if (stage->combine != meaning->combine)
        return refuse(m->state, "%s does %s, and %s does %s", m->instr->name, combine_word(meaning), m->stage->name,
                      combine_word(stage));
    if (stage->components[0].tensor->type != meaning->components[0].tensor->type)
        return refuse(m->state, "%s writes %s, and %s is of %s", m->instr->name,
                      element_info[meaning->components[0].tensor->type].spelling, m->stage->name,
                      element_info[stage->components[0].tensor->type].spelling);
    if (instr_match(m->state->arena, m->instr, instr_added(m->instr, stage->components[0].value), m->reads, &wanted,
                    &found))
        return true;
    if (!m->state->refusal->wanted)
        return refuse(m->state, "%s", "");
    return refuse(m->state, "%s computes %s of type %s where %s computes %s of type %s", m->instr->name,
                  expr_text(m->state->arena, wanted), element_info[wanted->type].spelling, m->stage->name,
                  expr_text(m->state->arena, found), element_info[found->type].spelling);
}

/* Operands must be read from memory as they are. */
static bool check_reads(const Matching *m) {
    for (int i = 1; i < m->instr->operand_count; i++) {
        const Expr *read = m->reads[i];
        const StageState *producer = state_producer(m->state, read->tensor);
        ENSURE(producer == NULL || !producer->nest.inlined); /* inline replaced all reads of it */
        if (read->otherwise != NULL && !instr_zero(read->otherwise))
            return refuse(m->state,
                          "%s reads operand %s from memory, and %s gives %s outside of it: cache_read holds that",
                          m->instr->name, m->instr->operands[i]->name, read->tensor->name,
                          m->state->refusal->wanted ? expr_text(m->state->arena, read->otherwise) : "");
    }
    return true;
}

/* "4 apart along C.ki, 1024 apart along C.jl": how an operand lies. */
static const char *steps_text(const Matching *m, int operand) {
    Text text = {.arena = m->state->arena};
    AccessPlace place;
    if (!place_of(m, operand, &place))
        return "where they lie is known only at run time";
    text_add(&text, "they are ");
    for (int l = m->count - 1; l >= 0; l--) {
        int64_t step;
        bool known = step_of(&place, &loop_at(m, l)->loop, &step);
        text_add(&text, l + 1 < m->count ? ", " : "");
        if (!known)
            text_add(&text, "no fixed number of elements apart");
        else if (step == 0)
            text_add(&text, "the same");
        else
            text_add(&text, "%lld apart", (long long)step);
        text_add(&text, " along %s", loop_text(m->state, loop_at(m, l)));
    }
    return text.text;
}

static const char *operand_text(const Matching *m, int operand) {
    const Tensor *tensor = m->instr->operands[operand];
    Text text = {.arena = m->state->arena};
    text_add(&text, "%s(", tensor->name);
    for (int d = 0; d < tensor->rank; d++)
        text_add(&text, "%s%s", d > 0 ? ", " : "",
                 instr_index(m->instr, instr_operand_index(m->instr, operand, d))->name);
    text_add(&text, ")");
    return text.text;
}

static const char *loops_of_indices(const Matching *m) {
    Text text = {.arena = m->state->arena};
    for (int i = 0; i < instr_index_count(m->instr); i++)
        if (m->loop_of[i] >= 0)
            text_add(&text, "%s%s for %s", text.length > 0 ? ", " : "", loop_text(m->state, loop_at(m, m->loop_of[i])),
                     instr_index(m->instr, i)->name);
    return text.length > 0 ? text.text : "no loops";
}

static bool refuse_layout(const Matching *m) {
    if (!m->state->refusal->wanted)
        return refuse(m->state, "%s", "");
    const char *tensor = m->operand == 0 ? m->stage->name : m->reads[m->operand]->tensor->name;
    return refuse(m->state, "%s %s %s as %lld elements side by side%s, with %s; in %s %s", m->instr->name,
                  m->operand == 0 ? "writes" : "takes", operand_text(m, m->operand),
                  (long long)instr_lanes(m->instr, m->operand),
                  m->operand > 0 && m->instr->operands[m->operand]->rank > 1
                      ? " or, where they do not change with outer indices, as the inner ones alone"
                      : "",
                  loops_of_indices(m), tensor, steps_text(m, m->operand));
}

static bool is_step(const void *context, const Loop *loop) {
    const Matching *m = context;
    for (int l = 0; l < m->count; l++)
        if (&loop_at(m, l)->loop == loop)
            return loop->reduction;
    return false;
}

/* Steps that a split cuts off run with zeros. */
static bool check_cut_steps(const Matching *m) {
    for (int i = 0; i < m->stage->guards.count; i++) {
        const Loop *loop = form_find_loop(m->stage->guards.items[i].value, is_step, m);
        if (loop != NULL && !instr_ignores_zeros(m->instr))
            return refuse(m->state, "%s is cut short by a split that does not divide, and zeros change what %s gives",
                          loop_text(m->state, (const Node *)loop), m->instr->name);
    }
    return true;
}

static bool check_order(const Matching *m) {
    bool reduces = false;
    for (int i = m->instr->meaning->axis_count; i < instr_index_count(m->instr); i++)
        reduces |= instr_extent(m->instr, i) > 1;
    if (!m->state->nest.program->strict || !reduces || !type_is_float(m->stage->tensor->type))
        return true;
    return refuse(m->state, "%s adds in an order of its own, which -fstrict forbids", m->instr->name);
}

/* --- the primitive ------------------------------------------------------------------------------------------------ */

bool apply_tensorize(NestState *state, const Prim *prim) {
    Node *node = argument_loop(state, prim, positional(prim, 0));
    const Instr *instr = node != NULL ? argument_instr(state, positional(prim, 1)) : NULL;
    if (instr == NULL)
        return false;
    StageState *stage = stage_of(node);
    for (int i = leaf_index(stage, node); i < stage->leaves.count; i++) {
        Node *leaf = stage->leaves.items[i];
        if (leaf->loop.kind == LOOP_TENSORIZED && leaf->variable.instr != NULL) /* NULL: it stores what that computed */
            return refuse(state, "%s is already run by %s", loop_text(state, leaf), leaf->variable.instr->name);
        if (leaf->loop.kind != LOOP_SERIAL)
            return refuse(state, "%s is not serial, as the loops that an instruction runs must be",
                          loop_text(state, leaf));
        leaf->loop.kind = LOOP_TENSORIZED;
        leaf->kind_set = true;
        leaf->variable.instr = instr;
    }
    return true;
}

/* Loops that instructions run are innermost, and all of them belong to one instruction. */
static bool check_innermost(NestState *state, const StageState *stage, int first) {
    for (int i = first + 1; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->variable.instr != stage->leaves.items[first]->variable.instr)
            return refuse(state, "%s is inside %s, which %s runs, and is no loop of the instruction",
                          loop_text(state, stage->leaves.items[i]), loop_text(state, stage->leaves.items[first]),
                          stage->leaves.items[first]->variable.instr->name);
    return true;
}

bool check_tensorized(NestState *state, StageState *stage) {
    int first = 0;
    while (first < stage->leaves.count && stage->leaves.items[first]->loop.kind != LOOP_TENSORIZED)
        first++;
    if (first == stage->leaves.count)
        return true;
    Matching m = matching_of(state, stage, first, stage->leaves.items[first]->variable.instr);
    if (!check_innermost(state, stage, first) || !check_value(&m) || !check_reads(&m) || !check_order(&m))
        return false;
    if (find_assignment(&m))
        return check_cut_steps(&m);
    return m.same_extents ? refuse_layout(&m) : refuse_extents(&m);
}

/* --- what would be legal ------------------------------------------------------------------------------------------ */

/* The dimension of a read that a loop moves, one element a step; -1: none, or several. */
static int dimension_of(const Matching *m, const AccessPlace *place, int loop) {
    int found = -1;
    for (int d = 0; d < place->rank; d++) {
        int64_t step;
        if (!affine_coefficient(place->index[d], &loop_at(m, loop)->variable, &step))
            return -1;
        if (step == 0)
            continue;
        if (found >= 0 || step != 1)
            return -1;
        found = d;
    }
    return found;
}

static PrimArg part_arg(NestState *state, const char *name, char op, int64_t number) {
    PrimArg arg = {.kind = ARG_OP, .op = op, .count = 2, .items = ARENA_ARRAY(state->arena, PrimArg, 2)};
    arg.items[0] = arg_name(name);
    arg.items[1] = arg_int(number);
    return arg;
}

static const char *dimension_name(const Matching *m, const Expr *read, int d) {
    const Expr *index = read->args[d];
    if (index->kind != EXPR_VAR)
        return arena_printf(m->state->arena, "d%d", d);
    const char *name = index->var->name;
    return strncmp(name, "r_", 2) == 0 && name[2] != '\0' ? name + 2 : name;
}

/* The layout that makes the operand contiguous: (j/16, k/4, j%16, k%4). False when there is none. */
static bool find_layout(const Matching *m, PrimArg *layout) {
    const Expr *read = m->reads[m->operand];
    const Tensor *operand = m->instr->operands[m->operand];
    AccessPlace place;
    if (!place_of(m, m->operand, &place))
        return false;
    int64_t *factors = ARENA_ARRAY(m->state->arena, int64_t, place.rank + 1);
    int *inner = ARENA_ARRAY(m->state->arena, int, operand->rank + 1), inner_count = 0;
    for (int d = 0; d < operand->rank; d++) {
        int loop = m->loop_of[instr_operand_index(m->instr, m->operand, d)];
        int dimension = loop >= 0 ? dimension_of(m, &place, loop) : -1;
        if (dimension < 0)
            continue;
        if (factors[dimension] != 0)
            return false;
        factors[dimension] = tensor_extent(operand, d);
        inner[inner_count++] = dimension;
    }
    *layout = (PrimArg){.kind = ARG_LIST, .key = "layout"};
    layout->items = ARENA_ARRAY(m->state->arena, PrimArg, place.rank + inner_count);
    for (int d = place.rank - 1; d >= 0; d--) {
        const char *name = dimension_name(m, read, d);
        layout->items[layout->count++] = factors[d] ? part_arg(m->state, name, '/', factors[d]) : arg_name(name);
    }
    for (int i = 0; i < inner_count; i++)
        layout->items[layout->count++] = part_arg(m->state, dimension_name(m, read, inner[i]), '%', factors[inner[i]]);
    return inner_count > 0;
}

/* A cache_read of the operand that lies in the wrong way, at a loop outside, or with NULL at the root. */
static Prim cache_prim(const Matching *m, const Node *at, PrimArg layout) {
    Prim prim = {.op = PRIM_CACHE_READ, .args = ARENA_ARRAY(m->state->arena, PrimArg, 3), .result_count = 1};
    prim.results = ARENA_ARRAY(m->state->arena, const char *, 1);
    prim.results[0] = "packed";
    prim.args[prim.arg_count++] = arg_name(m->reads[m->operand]->tensor->name);
    if (at != NULL) {
        prim.args[prim.arg_count] = arg_name(loop_text(m->state, at));
        prim.args[prim.arg_count++].key = "at";
    }
    prim.args[prim.arg_count++] = layout;
    return prim;
}

int suggest_layouts(NestState *state, const Node *node, const char *instr_name, Prim *prims, int limit) {
    const Instr *instr = program_find_instr(state->nest.program, instr_name);
    StageState *stage = stage_of(node);
    if (instr == NULL)
        return 0;
    Matching m = matching_of(state, stage, leaf_index(stage, node), instr);
    PrimArg layout;
    if (!check_value(&m) || find_assignment(&m) || !m.same_extents || m.operand == 0 || !find_layout(&m, &layout))
        return 0;
    int count = 0;
    for (int i = -1; i < m.first && count < limit; i++)
        prims[count++] = cache_prim(&m, i < 0 ? NULL : stage->leaves.items[i], layout);
    return count;
}
