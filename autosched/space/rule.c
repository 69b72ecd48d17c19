/* rule.c - rules of the source as further sketches of a group: where the conditions of a rule hold for the group's
 * root, a gene chooses between the group's own structures and the rule's statements.
 *
 * Formal names become those of the program: stage the root, axis[n] and sum[n] its loops, operand[n] what it reads,
 * producer[n] the other stages of the group, with loops of their own: producer[0].axis[1]. Names that statements
 * return, and holes, get names of the group's own. A rule that is legal for none of a few choices is left out, and
 * noted, unless it is legal for the pipeline that ends in the same root.
 */
#include "autosched/space/block/block.h"
#include "autosched/space/tile/tile.h"

#include <stdlib.h>
#include <string.h>

enum { CHOICE_TRIES = 60 };

typedef struct RuleSketch {
    const Rule *rule;
    const Schedule *schedule; /* in names of the program */
    HoleTree *tree;           /* of its holes for names; or NULL */
    int first, holes;         /* its genes */
} RuleSketch;

struct Ruled {
    bool (*emit)(Space *space, Group *group, const int *genes, Sketch *sketch); /* the group's own */
    int gene;
    LIST(RuleSketch) sketches;
};

/* --- conditions --- */

static bool reads_neighbours(const Stage *stage) {
    EACH_VALUE_READ(read, stage)
        for (int d = 0; d < read->count; d++)
            for (int a = 0; a < stage->axis_count; a++)
                if (read->args[d]->kind != EXPR_VAR && expr_uses_var(read->args[d], stage->axes[a]))
                    return true;
    return false;
}

static bool is_of_elements(const Stage *stage) {
    bool own = stage->reduction_count == 0 && stage->combine == COMBINE_NONE;
    EACH_VALUE_READ(read, stage)
        for (int d = 0; d < read->count; d++)
            own &= read->args[d]->kind == EXPR_VAR;
    return own;
}

/* A tensor that the stage reads: the number-th different one; NULL: there are fewer. */
static const Tensor *operand_of(const Stage *stage, int number) {
    LIST(const Tensor *) seen = {0};
    Arena *scratch = arena_new();
    const Tensor *found = NULL;
    EACH_VALUE_READ(read, stage) {
        bool known = false;
        for (int i = 0; i < seen.count; i++)
            known |= seen.items[i] == read->tensor;
        if (!known)
            list_push(scratch, &seen, read->tensor);
        if (!known && seen.count == number + 1)
            found = read->tensor;
    }
    arena_free(scratch);
    return found;
}

static int count_operands(const Stage *stage) {
    int count = 0;
    while (operand_of(stage, count))
        count++;
    return count;
}

static int64_t extent_of(Var *const *axes, int count, int index) {
    return index < count ? axis_extent(axes[index]) : -1;
}

/* The stage as the group's nests have it: a pipeline inlines for itself. */
static const Stage *stage_in_group(Space *space, const Group *group, const Stage *stage) {
    return group->fused ? space->apart[program_stage_index(space->program, stage)] : inlined_stage(space, stage);
}

/* The producers of a group in the order of their numbers: those that the root reads, in the order in which it does,
 * then those that these read, and so on. Returns how many there are. */
static int list_producers(Space *space, const Group *group, const Stage **producers) {
    const Stage *reader = group->root;
    int count = 0;
    for (int next = 0; reader; reader = next < count ? producers[next++] : NULL) {
        const Stage *inlined = stage_in_group(space, group, reader);
        for (int i = 0; operand_of(inlined, i); i++) {
            const Tensor *tensor = operand_of(inlined, i);
            const Stage *stage = program_stage_of(space->program, tensor);
            bool listed = !stage || stage == group->root || !group_computes(group, tensor);
            for (int p = 0; p < count && !listed; p++)
                listed = producers[p] == stage;
            if (!listed)
                producers[count++] = stage;
        }
    }
    return count;
}

static int count_producers(Space *space, const Group *group) {
    const Stage *producers[group->stage_count + 1];
    return list_producers(space, group, producers);
}

/* -1: not known. */
static int64_t predicate_value(Space *space, const Group *group, int predicate, int index) {
    const Stage *stage = group->root, *inlined = stage_in_group(space, group, stage);
    switch ((Predicate)predicate) {
    case PREDICATE_REDUCTION: return stage->reduction_count > 0;
    case PREDICATE_ELEMENTWISE: return is_of_elements(inlined);
    case PREDICATE_STENCIL: return reads_neighbours(inlined);
    case PREDICATE_REUSE: return stage_has_reuse(stage);
    case PREDICATE_RANK: return stage->axis_count;
    case PREDICATE_SUMS: return stage->reduction_count;
    case PREDICATE_EXTENT: return extent_of((Var *const *)stage->axes, stage->axis_count, index);
    case PREDICATE_TERMS: return extent_of((Var *const *)stage->reductions, stage->reduction_count, index);
    case PREDICATE_OPERANDS: return count_operands(inlined);
    case PREDICATE_PRODUCERS: return count_producers(space, group);
    case PREDICATE_LANES: return stage_lanes(space, inlined);
    case PREDICATE_THREADS: return space->target->threads;
    case PREDICATE_COUNT: break;
    }
    return -1;
}

/* The condition with its predicates as numbers; false: one is not known. */
static bool with_values(Space *space, const Group *group, const PrimArg *condition, PrimArg *known) {
    *known = *condition;
    if (condition->kind == ARG_NAME) {
        int index, predicate = predicate_find(condition->name, &index);
        *known = arg_int(predicate_value(space, group, predicate, index));
        return known->value >= 0;
    }
    known->items = ARENA_ARRAY(space->arena, PrimArg, condition->count);
    bool all = true;
    for (int i = 0; i < condition->count; i++)
        all &= with_values(space, group, &condition->items[i], &known->items[i]);
    return all;
}

static bool is_for_target(const Space *space, const Rule *rule) {
    return target_match(space->target, rule->schedule.target) > 0;
}

static bool applies(Space *space, const Group *group, const Rule *rule) {
    bool holds = is_for_target(space, rule);
    for (int c = 0; c < rule->condition_count && holds; c++) {
        PrimArg known;
        holds = with_values(space, group, &rule->conditions[c], &known);
        Prim require = {.op = PRIM_REQUIRE, .arg_count = 1, .args = &known};
        holds = holds && constraint_holds(&rule->schedule, &require, NULL);
    }
    return holds;
}

/* --- names --- */

typedef struct Formal {
    Space *space;
    const Group *group;
    const Rule *rule;
    const char *missing; /* a formal name that the root has nothing for; or NULL */
} Formal;

static bool is_result(const Rule *rule, const char *name, size_t length) {
    for (int p = 0; p < rule->schedule.count; p++)
        for (int r = 0; r < rule->schedule.prims[p].result_count; r++) {
            const char *result = rule->schedule.prims[p].results[r];
            if (strlen(result) == length && strncmp(result, name, length) == 0)
                return true;
        }
    return false;
}

static const char *result_name(const Formal *s, const char *name, size_t length) {
    return space_local_name(s->space, s->group, arena_strndup(s->space->arena, name, length));
}

static int index_in_brackets(const char *name) {
    const char *open = strchr(name, '[');
    return open ? atoi(open + 1) : 0;
}

/* axis[n] or sum[n] of a stage; NULL: another name. */
static const char *loop_name(Formal *s, const Stage *stage, const char *name) {
    bool axis = strncmp(name, "axis[", 5) == 0, sum = strncmp(name, "sum[", 4) == 0;
    int index = index_in_brackets(name), count = axis ? stage->axis_count : stage->reduction_count;
    if (!axis && !sum)
        return NULL;
    if (index >= count) {
        s->missing = name;
        return name;
    }
    return axis ? stage->axes[index]->name : stage->reductions[index]->name;
}

static const Stage *producer_of(const Formal *s, int number) {
    const Stage *producers[s->group->stage_count + 1];
    return number < list_producers(s->space, s->group, producers) ? producers[number] : NULL;
}

/* A path: the first name, and behind its dot a loop of that stage. */
static const char *program_name(Formal *s, const char *name) {
    size_t length = strcspn(name, ".");
    Arena *arena = s->space->arena;
    const Stage *stage = s->group->root;
    const char *first = NULL, *loop = loop_name(s, stage, name);
    if (loop)
        return arena_printf(arena, "%s.%s", stage->name, loop);
    if (strncmp(name, "producer[", 9) == 0) {
        stage = producer_of(s, index_in_brackets(name));
        first = stage ? stage->name : name;
        s->missing = stage ? s->missing : name;
        stage = stage ? stage : s->group->root;
    } else if (strncmp(name, "operand[", 8) == 0) {
        const Tensor *tensor = operand_of(stage_in_group(s->space, s->group, stage), index_in_brackets(name));
        s->missing = tensor ? s->missing : name;
        return tensor ? tensor->name : name;
    } else if (length == 5 && strncmp(name, "stage", 5) == 0)
        first = stage->name;
    else if (is_result(s->rule, name, length))
        first = result_name(s, name, length);
    if (!first || !name[length])
        return first ? first : name;
    const char *rest = name + length + 1;
    loop = loop_name(s, stage, rest);
    if (!loop && is_result(s->rule, rest, strcspn(rest, ".")))
        loop = result_name(s, rest, strcspn(rest, "."));
    return arena_printf(arena, "%s.%s", first, loop ? loop : rest);
}

static PrimArg program_argument(Formal *s, const Prim *prim, const PrimArg *arg) {
    PrimArg own = *arg;
    if (arg->kind == ARG_NAME && prim->op == PRIM_REQUIRE)
        own.name = arena_printf(s->space->arena, "%s%s", s->group->prefix, arg->name);
    else if (arg->kind == ARG_NAME)
        own.name = program_name(s, arg->name);
    if (arg->kind == ARG_HOLE && arg->name)
        own.name = arena_printf(s->space->arena, "%s%s", s->group->prefix, arg->name);
    own.items = ARENA_ARRAY(s->space->arena, PrimArg, arg->count);
    for (int i = 0; i < arg->count; i++)
        own.items[i] = program_argument(s, prim, &arg->items[i]);
    return own;
}

/* The rule's statements in names of the program; NULL: the root lacks what they name. */
static Schedule *program_schedule(Space *space, const Group *group, const Rule *rule) {
    Arena *arena = space->arena;
    Formal s = {.space = space, .group = group, .rule = rule};
    Schedule *own = ARENA_NEW(arena, Schedule);
    *own = (Schedule){.subject = space->program->name, .target = space->target->name, .count = rule->schedule.count};
    own->prims = ARENA_ARRAY(arena, Prim, own->count + 1);
    for (int p = 0; p < own->count; p++) {
        const Prim *formal = &rule->schedule.prims[p];
        Prim *prim = &own->prims[p];
        *prim = *formal;
        prim->args = ARENA_ARRAY(arena, PrimArg, formal->arg_count + 1);
        prim->results = ARENA_ARRAY(arena, const char *, formal->result_count + 1);
        for (int a = 0; a < formal->arg_count; a++)
            prim->args[a] = program_argument(&s, formal, &formal->args[a]);
        for (int r = 0; r < formal->result_count; r++)
            prim->results[r] = result_name(&s, formal->results[r], strlen(formal->results[r]));
    }
    return s.missing ? NULL : own;
}

/* --- sketches --- */

static void add_statements(Space *space, Group *group, const RuleSketch *rule, const int *genes, Sketch *sketch) {
    int64_t *choices = ARENA_ARRAY(space->arena, int64_t, rule->holes + 1);
    for (int h = 0; h < rule->holes; h++) {
        const Gene *gene = &group->genes.items[rule->first + h];
        choices[h] = gene->values[genes[rule->first + h]];
        sketch->active[rule->first + h] = true;
    }
    sketch_add_filled(space, group, rule->schedule, rule->tree, rule->first, choices, sketch);
}

static bool ruled_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    const struct Ruled *ruled = group->ruled;
    int choice = genes[ruled->gene];
    for (int g = 0; g < group->genes.count; g++)
        sketch->active[g] &= choice == 0 ? g <= ruled->gene : g == ruled->gene || (group->fused && g == 0);
    if (choice == 0)
        return ruled->emit(space, group, genes, sketch);
    add_statements(space, group, &ruled->sketches.items[choice - 1], genes, sketch);
    return true;
}

/* Looks for choices with which the rule is legal, from the starting ones on, and starts there. */
static bool find_legal(Space *space, Group *group, const RuleSketch *rule) {
    int count = group->genes.count;
    Random random = {1};
    for (int tries = 0; tries < CHOICE_TRIES; tries++) {
        Arena *scratch = arena_new();
        int genes[count + 1];
        Sketch sketch = {.active = ARENA_ARRAY(scratch, bool, count + 1)};
        for (int g = 0; g < count; g++)
            genes[g] = group->genes.items[g].start;
        add_statements(space, group, rule, genes, &sketch);
        bool legal = sketch_nest(scratch, space, group, &sketch) != NULL;
        arena_free(scratch);
        if (legal || rule->holes == 0)
            return legal;
        for (int h = 0; h < rule->holes; h++) {
            Gene *gene = &group->genes.items[rule->first + h];
            gene->start = random_below(&random, gene->count);
        }
    }
    return false;
}

/* A rule that holds for a root and is not legal. */
typedef struct Misfit {
    const Group *group;
    const Rule *rule;
} Misfit;

typedef struct Ruling {
    Space *space;
    bool *applied; /* of each rule of the program: whether it holds for a root */
    LIST(Misfit) misfits;
} Ruling;

static bool has_rule(const Group *group, const Rule *rule) {
    for (int r = 0; group->ruled && r < group->ruled->sketches.count; r++)
        if (group->ruled->sketches.items[r].rule == rule)
            return true;
    return false;
}

/* Whether the rule schedules the root in another group: its pipeline's, or a part of that. */
static bool fits_elsewhere(const Space *space, const Misfit *misfit) {
    const Group *group = misfit->group;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *other = space->groups.items[g];
        bool holds = other->fused ? other->fused == group->apart : group->fused && other->apart == group->fused;
        if (holds && has_rule(other, misfit->rule))
            return true;
    }
    return false;
}

static void note_misfits(const Ruling *ruling) {
    Space *space = ruling->space;
    space->misfits.arena = space->arena;
    for (int m = 0; m < ruling->misfits.count; m++) {
        const Misfit *misfit = &ruling->misfits.items[m];
        if (!fits_elsewhere(space, misfit))
            text_add(&space->misfits, "%s%s for %s", space->misfits.length ? ", " : "", misfit->rule->name,
                     misfit->group->root->name);
    }
}

static void add_rule(Ruling *ruling, Group *group, const Rule *rule) {
    Space *space = ruling->space;
    RuleSketch sketch = {.rule = rule, .schedule = program_schedule(space, group, rule), .first = group->genes.count};
    if (sketch.schedule) {
        sketch.tree = hole_tree_new(space->arena, group_program(space, group), sketch.schedule, space->target);
        group_add_holes(space, group, sketch.schedule, sketch.tree);
        sketch.holes = group->genes.count - sketch.first;
    }
    if (sketch.schedule && find_legal(space, group, &sketch)) {
        if (sketch.tree)
            hole_tree_gaps(sketch.tree, &space->gaps);
        list_push(space->arena, &group->ruled->sketches, sketch);
        return;
    }
    group->genes.count = sketch.first;
    list_push(space->arena, &ruling->misfits, ((Misfit){group, rule}));
}

static void rule_group(Ruling *ruling, Group *group) {
    Space *space = ruling->space;
    struct Ruled *ruled = ARENA_NEW(space->arena, struct Ruled);
    Gene gene = {.structural = true, .width = 1, .count = 1, .gain = NEEDED_GAIN};
    gene.name = arena_printf(space->arena, "%s rule", group->root->name);
    *ruled = (struct Ruled){.emit = group->emit, .gene = group->genes.count};
    group->ruled = ruled;
    group_add_gene(space, group, gene);
    for (int r = 0; r < space->program->rule_count; r++)
        if (applies(space, group, space->program->rules[r])) {
            ruling->applied[r] = true;
            add_rule(ruling, group, space->program->rules[r]);
        }
    group->genes.items[ruled->gene].count = 1 + ruled->sketches.count;
    for (int r = 0; r < ruled->sketches.count; r++)
        list_push(space->arena, &group->others, ((OtherStart){ruled->gene, 1 + r}));
    if (ruled->sketches.count) {
        group->emit = ruled_emit;
        return;
    }
    group->genes.count = ruled->gene;
    group->ruled = NULL;
}

static void note_idle(Space *space, const bool *applied) {
    space->idle.arena = space->arena;
    for (int r = 0; r < space->program->rule_count; r++)
        if (!applied[r] && is_for_target(space, space->program->rules[r]))
            text_add(&space->idle, "%s%s", space->idle.length ? ", " : "", space->program->rules[r]->name);
}

void space_add_rules(Space *space) {
    Ruling ruling = {.space = space};
    ruling.applied = ARENA_ARRAY(space->arena, bool, space->program->rule_count + 1);
    for (int g = 0; g < space->groups.count && space->program->rule_count; g++)
        if (!space->groups.items[g]->scan)
            rule_group(&ruling, space->groups.items[g]);
    note_misfits(&ruling);
    note_idle(space, ruling.applied);
}

const char *group_rule(const Group *group, const int *genes) {
    int choice = group->ruled ? genes[group->ruled->gene] : 0;
    return choice ? group->ruled->sketches.items[choice - 1].rule->name : NULL;
}

const char *point_rules(Arena *arena, const Space *space, const int *point) {
    Text text = {.arena = arena};
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        const char *rule = group_rule(group, point + group->first_gene);
        if (rule && group_is_used(space, group, point))
            text_add(&text, "%s%s for %s", text.length ? ", " : "", rule, group->root->name);
    }
    return text.text;
}
