/* place.c - the primitives that move a stage: inline, compute_at and cache_write.
 *
 * Whether all consumers are inside the loop is checked when the nest is finished: later primitives may still move them.
 */
#include "lower/nest/state.h"

#include <string.h>

enum { INLINE_LIMIT = 5000 }; /* nodes of an expression: inlining can grow it exponentially */

/* --- what must stay where it is ----------------------------------------------------------------------------------- */

static bool is_required(NestState *state, const Stage *stage) {
    for (int c = 0; c < stage->component_count; c++)
        if (program_requires(state->nest.program, stage->components[c].tensor))
            return true;
    return false;
}

bool check_not_inlined(NestState *state, const StageState *stage) {
    return !stage->nest.inlined ||
           refuse_stage(state, stage, "%s is inlined: it has no loops of its own any more", stage->name);
}

bool check_movable(NestState *state, const Prim *prim, const StageState *stage) {
    const char *spelling = prim_info[prim->op].spelling;
    if (!check_not_inlined(state, stage))
        return false;
    const Tensor *output = stage_output(stage->nest.stage);
    if (output != NULL)
        return refuse_stage(state, stage,
                            "%s is an output: all of it must be written, so %s cannot move it; use cache_write",
                            output->name, spelling);
    if (is_required(state, stage->nest.stage))
        return refuse_stage(state, stage, "%s is read by a check before anything is written, so %s cannot move it",
                            stage->name, spelling);
    return true;
}

/* A stage that shares the domain of another must stay with it. */
bool check_made(NestState *state, const StageState *stage) {
    if (stage->updates != NULL)
        return refuse_stage(state, stage, "%s was made by decompose and stays before the update of %s", stage->name,
                            stage->updates->name);
    if (stage->owner != NULL)
        return refuse_stage(state, stage, "%s was made by cache_write and stays in the loops of %s", stage->name,
                            stage->owner->name);
    return true;
}

static bool is_read(const StageState *stage) {
    for (int i = 0; i < stage->readers.count; i++)
        if (!stage->readers.items[i]->nest.inlined && reads_stage(stage->readers.items[i], stage))
            return true;
    return false;
}

/* --- compute_at --------------------------------------------------------------------------------------------------- */

/* The stage whose loops a stage is in, or follows: what stands beside another stage moves with it. */
static const StageState *outer_stage(const StageState *stage) {
    return stage->beside ? stage->updates : stage->at != NULL ? stage_of(stage->at) : NULL;
}

bool apply_compute_at(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage == NULL || !check_movable(state, prim, stage))
        return false;
    Node *loop = argument_loop(state, prim, positional(prim, 1));
    if (loop == NULL)
        return false;
    if (!check_made(state, stage))
        return false;
    if (!is_read(stage))
        return refuse_stage(state, stage, "nothing reads %s, so there is no loop to compute it at", stage->name);
    const StageState *outer = stage_of(loop);
    for (; outer != NULL; outer = outer_stage(outer))
        if (outer == stage)
            return refuse_loop(state, loop,
                               "%s is a loop of %s or inside one: a stage cannot be computed inside itself",
                               loop_text(state, loop), stage->name);
    if (stage->at == loop && stage->scan == NULL && !prim_keyword(prim, "scope"))
        no_effect(state);
    if (!leave_scan(state, prim, stage))
        return false;
    stage_place(stage, loop);
    return argument_scope(state, prim, stage);
}

bool apply_compute_root(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage == NULL || !check_not_inlined(state, stage))
        return false;
    if (stage->owner != NULL)
        return refuse_stage(state, stage, "%s was made by cache_write and stays in the loops of %s", stage->name,
                            stage->owner->name);
    if (stage->at == NULL && !stage->scope_set)
        no_effect(state);
    StageState *scan = stage->scan;
    stage->stored = stage->doubled = false;
    if (!leave_scan(state, prim, stage))
        return false;
    if (scan != NULL)
        order_outside(state, stage, scan);
    stage->at = NULL;
    stage->scope_set = false;
    return true;
}

/* --- scopes ------------------------------------------------------------------------------------------------------- */

bool apply_set_scope(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    Scope scope;
    if (stage == NULL || !argument_scope_name(state, positional(prim, 1), &scope))
        return false;
    if (stage->nest.inlined)
        return refuse_stage(state, stage, "%s is inlined: it has no buffer any more", stage->name);
    bool global = stage->at == NULL && !stage->scope_set;
    const Tensor *output = stage_output(stage->nest.stage);
    if (output != NULL && scope != SCOPE_GLOBAL)
        return refuse_stage(state, stage, "%s is an output, whose memory is the caller's: use cache_write",
                            output->name);
    if (stage->scope_set ? stage->scope == scope : global && scope == SCOPE_GLOBAL)
        no_effect(state);
    stage->scope = scope;
    stage->scope_set |= output == NULL;
    return true;
}

/* --- inline ------------------------------------------------------------------------------------------------------- */

typedef struct Inlining {
    NestState *state;
    StageState *consumer, *stage;
} Inlining;

/* The condition 0 <= index < extent, without the parts that are known to hold. */
static Expr *range_condition(const Inlining *inlining, Expr *index, Expr *extent) {
    NestState *state = inlining->state;
    Forms *forms = &state->forms;
    Seeing seeing = {forms, inlining->consumer};
    const Form *form = form_of_expr(forms, index, find_domain_form, &seeing);
    const Form *limit = form_of_expr(forms, extent, find_domain_form, &seeing);
    Expr *condition = expr_bool(state->arena, true);
    if (form == NULL || !form_at_most(forms, form_int(forms, 0), form))
        condition = expr_binary(state->arena, OP_LE, expr_int(state->arena, 0), index);
    if (form == NULL || limit == NULL || !form_below(forms, form, limit))
        condition = expr_binary(state->arena, OP_AND, condition, expr_binary(state->arena, OP_LT, index, extent));
    return condition;
}

/* Whether the stage copies along axis d: outside its axis is outside of what it reads. */
static bool copies_axis(const Stage *stage, const Expr *value, int d) {
    for (int i = 0; i < value->count; i++)
        if (value->args[i]->kind == EXPR_VAR && value->args[i]->var == stage->axes[d] &&
            expr_equal(value->tensor->dims[i], stage->components[0].tensor->dims[d]))
            return true;
    return false;
}

/* The value of a read of the inlined stage that may be outside of it; `value` has indices in place of axes. If the
 * stage only copies along each axis that may be exceeded, the read goes to its source; not one at an index that is read
 * from memory, as there is none where the stage's axes are outside. */
static Expr *inlined_otherwise(const Inlining *inlining, const Expr *e, const Expr *of, Expr *value) {
    const Stage *stage = inlining->stage->nest.stage;
    Arena *arena = inlining->state->arena;
    Expr *inside = expr_bool(arena, true);
    bool copies = of->kind == EXPR_READ && !of->otherwise && !of->guard && !read_gathers(of);
    for (int d = 0; d < stage->axis_count; d++) {
        Expr *condition = range_condition(inlining, e->args[d], stage->components[0].tensor->dims[d]);
        int64_t holds = 0;
        copies = copies && ((expr_is_int(condition, &holds) && holds) || copies_axis(stage, of, d));
        inside = expr_binary(arena, OP_AND, inside, condition);
    }
    return copies ? expr_read(arena, value->tensor, value->args, e->otherwise)
                  : expr_select(arena, inside, value, e->otherwise);
}

static Expr *inline_read(Arena *arena, Expr *e, void *context) {
    const Inlining *inlining = context;
    const Stage *stage = inlining->stage->nest.stage;
    int component = e->kind == EXPR_READ ? stage_component_of(stage, e->tensor) : -1;
    if (component < 0)
        return e;
    Substitution *list = ARENA_ARRAY(arena, Substitution, stage->axis_count);
    for (int d = 0; d < stage->axis_count; d++)
        list[d] = (Substitution){stage->axes[d], e->args[d]};
    Expr *of = stage->components[component].value;
    Expr *value = expr_substitute(arena, of, list, stage->axis_count);
    return e->otherwise != NULL ? inlined_otherwise(inlining, e, of, value) : value;
}

/* Counts nodes up to a limit, with the conditions of reads written out: a read with an else compares each index with
 * both ends. */
static int nodes_written_out(const Expr *root, int limit) {
    int nodes = 0;
    EACH_EXPR(e, root) {
        nodes++;
        for (int d = 0; e->otherwise && d < e->count && nodes < limit; d++)
            nodes += 2 * nodes_written_out(e->args[d], limit);
        if (nodes >= limit)
            return limit;
    }
    return nodes;
}

static bool is_too_large(const Stage *stage) {
    int nodes = 0;
    for (int c = 0; c < stage->component_count; c++)
        nodes += nodes_written_out(stage->components[c].value, INLINE_LIMIT - nodes);
    return nodes >= INLINE_LIMIT;
}

bool inline_into(NestState *state, StageState *consumer, StageState *stage) {
    Inlining inlining = {state, consumer, stage};
    Stage *copy = stage_rewrite_exprs(state->arena, consumer->nest.stage, inline_read, &inlining);
    if (is_too_large(copy))
        return refuse_stage(state, stage, "with %s inlined the expression of %s would have more than %d operations",
                            stage->name, consumer->name, INLINE_LIMIT);
    stage_rewrite(state, consumer, copy);
    return true;
}

static bool check_inline(NestState *state, const Prim *prim, const StageState *stage) {
    if (!check_movable(state, prim, stage))
        return false;
    if (stage->nest.stage->combine != COMBINE_NONE)
        return refuse_stage(state, stage, "%s is a reduction: inline takes stages that compute each element by itself",
                            stage->name);
    if (stage->partial)
        return refuse_stage(state, stage,
                            "%s stores partial results in each iteration of %s: they are no value to inline",
                            stage->name, loop_text(state, stage->leaves.items[first_reduction(stage)]));
    const StageState *other = held_stage(state, stage);
    if (other != NULL)
        return refuse_stage(state, stage, "%s is computed at %s, a loop that inline would take away", other->name,
                            loop_text(state, other->at));
    if (!check_made(state, stage))
        return false;
    if (reads_stage(stage, stage) || reads_itself_through(state, stage))
        return refuse_stage(state, stage, "%s reads earlier steps of itself: inline would never end", stage->name);
    return is_read(stage) ||
           refuse_stage(state, stage, "nothing reads %s, so there is nowhere to inline it", stage->name);
}

bool apply_inline(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage != NULL && stage->nest.inlined) {
        no_effect(state);
        return true;
    }
    if (stage == NULL || !check_inline(state, prim, stage))
        return false;
    for (int i = 0; i < stage->readers.count; i++) {
        StageState *consumer = stage->readers.items[i];
        if (!consumer->nest.inlined && reads_stage(consumer, stage) && !inline_into(state, consumer, stage))
            return false;
    }
    /* what cache_write made of it becomes a stage like any other */
    for (int i = 0; stage->owns && i < state->stages.count; i++)
        if (state->stages.items[i]->owner == stage)
            state->stages.items[i]->owner = NULL;
    stage->nest.inlined = true;
    stage->leaves.count = 0;
    stage->at = NULL;
    stage->scan = NULL;
    return true;
}

/* --- cache_write -------------------------------------------------------------------------------------------------- */

/* The image of a spatial node of `stage` in the new stage `made`. Loops up to `index` stay outside the new stage, which
 * gets links to them. Loops below move. Nodes in between exist on both sides. */
static Node *image_of(NestState *state, Node *node, StageState *stage, StageState *made, int index) {
    int position = node_is_leaf(node) ? leaf_index(stage, node) : -1;
    if (position > index)
        return node;
    Node *image = node_new(state, made, node->variable.name, false);
    image->variable.loc = node->variable.loc;
    image->extent = node->extent;
    if (node_is_leaf(node))
        node_link(image, node->link != NULL ? node->link : node);
    return image;
}

/* A copy that takes the place of a moved loop in the old stage: it stores what the new stage computed. */
static Node *store_loop(NestState *state, Node *moved, StageState *stage) {
    Node *copy = node_new(state, stage, arena_printf(state->arena, "%s.store", moved->variable.name), false);
    copy->variable.loc = moved->variable.loc;
    copy->extent = moved->extent;
    copy->twin = moved;
    copy->loop.kind = moved->loop.kind;
    return copy;
}

/* Copies a relation to the images; the old one continues over the ".store" copies. */
void copy_relation(NestState *state, const Relation *relation, StageState *made) {
    Relation *copy = relation_add(state, made, relation->kind, relation->whole->image, relation->count);
    copy->tail = relation->tail;
    copy->tail_arg = relation->tail_arg;
    for (int i = 0; i < relation->count; i++) {
        copy->factors[i] = relation->factors[i];
        copy->parts[i] = relation->parts[i]->image;
    }
    if (relation->kind == RELATION_SPLIT)
        copy->whole->taken = copy;
    for (int i = 0; relation->kind == RELATION_FUSE && i < relation->count; i++)
        copy->parts[i]->taken = copy;
}

/* Leaves that moved to `made` are replaced in the old stage's relations by their ".store" copies. */
static void replace_moved(Node **slot, const StageState *made, Node *const *stores, const StageState *moved) {
    for (int i = 0; i < moved->leaves.count; i++)
        if (*slot == moved->leaves.items[i] && stores[i] != NULL)
            *slot = stores[i];
}

static void set_images(NestState *state, StageState *stage, StageState *made, int index, int axis_count) {
    for (int d = 0; d < axis_count; d++)
        stage->roots[d]->image = image_of(state, stage->roots[d], stage, made, index);
    for (int i = 0; i < stage->relations.count; i++) {
        Relation *relation = stage->relations.items[i];
        if (relation->whole->loop.reduction)
            continue;
        if (relation->kind == RELATION_FUSE)
            relation->whole->image = image_of(state, relation->whole, stage, made, index);
        for (int k = 0; relation->kind == RELATION_SPLIT && k < relation->count; k++)
            relation->parts[k]->image = image_of(state, relation->parts[k], stage, made, index);
    }
}

/* What stands for a node of a reduction in the new stage: the node itself, or a link to a loop that stays outside. */
static Node *moved_reduction(NestState *state, Node *node, StageState *made) {
    if (node->image != NULL)
        return node->image;
    node->loop.stage = &made->nest;
    return node;
}

/* Reduction loops up to `index` stay outside the new stage, which gets links to them. In the old one nothing counts
 * them any more: each is a root of its own. */
static void link_reductions(NestState *state, StageState *stage, StageState *made, int index) {
    for (int r = stage->nest.stage->axis_count; r < stage->root_count; r++)
        stage->roots[r]->image = NULL;
    for (int i = 0; i < stage->relations.count; i++) {
        stage->relations.items[i]->whole->image = NULL;
        for (int k = 0; k < stage->relations.items[i]->count; k++)
            stage->relations.items[i]->parts[k]->image = NULL;
    }
    for (int i = 0; i <= index; i++) {
        Node *leaf = stage->leaves.items[i];
        if (!leaf->loop.reduction)
            continue;
        leaf->image = node_new(state, made, leaf->variable.name, true);
        leaf->image->variable.loc = leaf->variable.loc;
        leaf->image->extent = leaf->extent;
        node_link(leaf->image, leaf);
    }
}

/* Relations between reductions move; all others are copied. */
static void divide_relations(NestState *state, StageState *stage, StageState *made) {
    int kept = 0;
    for (int i = 0; i < stage->relations.count; i++) {
        Relation *relation = stage->relations.items[i];
        if (relation->whole->loop.reduction) {
            list_push(state->arena, &made->relations, relation);
            relation->whole = moved_reduction(state, relation->whole, made);
            for (int k = 0; k < relation->count; k++)
                relation->parts[k] = moved_reduction(state, relation->parts[k], made);
        } else {
            copy_relation(state, relation, made);
            stage->relations.items[kept++] = relation;
        }
    }
    stage->relations.count = kept;
}

/* Moves the leaves below index; spatial ones leave ".store" copies behind. */
static Node **move_leaves(NestState *state, StageState *stage, StageState *made, int index) {
    Node **stores = ARENA_ARRAY(state->arena, Node *, stage->leaves.count);
    int kept = index + 1, moved = 0;
    for (int i = index + 1; i < stage->leaves.count; i++) {
        Node *leaf = stage->leaves.items[i];
        leaf->loop.stage = &made->nest;
        list_push(state->arena, &made->leaves, leaf);
        Node *store = leaf->loop.reduction ? NULL : store_loop(state, leaf, stage);
        stores[moved++] = store;
        if (store != NULL)
            stage->leaves.items[kept++] = store;
    }
    stage->leaves.count = kept;
    return stores;
}

/* A loop of a reduction is the same node in any stage, and needs no image. */
static void relink(Node *node, const StageState *stage) {
    if (node->link != NULL && node->link->loop.stage == &stage->nest && !node->link->loop.reduction)
        node_link(node, node->link->image);
}

/* Whether nodes of other stages may stand for one of its own. */
static bool has_linked(const StageState *stage) {
    bool linked = false;
    for (int r = 0; r < stage->root_count; r++)
        linked |= stage->roots[r]->linked;
    for (int i = 0; i < stage->relations.count && !linked; i++) {
        const Relation *relation = stage->relations.items[i];
        linked = relation->whole->linked;
        for (int p = 0; p < relation->count; p++)
            linked |= relation->parts[p]->linked;
    }
    return linked;
}

/* Stages that an earlier cache_write made inside the moved loops now count from the images of these. */
static void relink_inner_stages(NestState *state, const StageState *stage, const StageState *made) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *inner = state->stages.items[i];
        for (int r = 0; inner != made && r < inner->root_count; r++)
            relink(inner->roots[r], stage);
        for (int k = 0; inner != made && k < inner->relations.count; k++) {
            Relation *relation = inner->relations.items[k];
            relink(relation->whole, stage);
            for (int p = 0; p < relation->count; p++)
                relink(relation->parts[p], stage);
        }
    }
}

static void divide_stage(NestState *state, StageState *stage, StageState *made, int index) {
    const Stage *computed = stage->nest.stage;
    bool linked = has_linked(stage);
    link_reductions(state, stage, made, index);
    set_images(state, stage, made, index, computed->axis_count);
    for (int d = 0; d < computed->axis_count; d++)
        made->roots[made->root_count++] = stage->roots[d]->image;
    for (int r = computed->axis_count; r < stage->root_count; r++)
        made->roots[made->root_count++] = moved_reduction(state, stage->roots[r], made);
    if (linked)
        relink_inner_stages(state, stage, made);
    divide_relations(state, stage, made);
    Node **stores = move_leaves(state, stage, made, index);
    Node **axes = stage->roots;
    stage->root_count = computed->axis_count;
    stage->roots = ARENA_ARRAY(state->arena, Node *, stage->root_count + index + 1);
    for (int d = 0; d < stage->root_count; d++) {
        stage->roots[d] = axes[d];
        replace_moved(&stage->roots[d], made, stores, made);
    }
    for (int i = 0; i <= index; i++)
        if (stage->leaves.items[i]->loop.reduction)
            stage->roots[stage->root_count++] = stage->leaves.items[i];
    for (int i = 0; i < stage->relations.count; i++) {
        replace_moved(&stage->relations.items[i]->whole, made, stores, made);
        for (int k = 0; k < stage->relations.items[i]->count; k++)
            replace_moved(&stage->relations.items[i]->parts[k], made, stores, made);
    }
}

/* The stage that stores: stage(axes) = made(axes). If it stores partial results, it begins with the initial value. */
static Stage *storing_stage(NestState *state, const Stage *stage, const Stage *made, bool partial) {
    Stage *storing = stage_copy(state->arena, stage);
    Expr **indices = ARENA_ARRAY(state->arena, Expr *, stage->axis_count);
    for (int d = 0; d < stage->axis_count; d++)
        indices[d] = expr_var(state->arena, stage->axes[d]);
    storing->reduction_count = 0;
    storing->combine = COMBINE_NONE;
    storing->combiner = NULL;
    for (int c = 0; c < storing->component_count; c++) {
        storing->components[c].initial = partial ? stage->components[c].initial : NULL;
        storing->components[c].value = expr_read(state->arena, made->components[c].tensor, indices, NULL);
    }
    return storing;
}

const Tensor *tensor_copy(NestState *state, const Tensor *tensor, const char *name) {
    Tensor *cache = ARENA_NEW(state->arena, Tensor);
    *cache = *tensor;
    cache->name = name;
    cache->role = ROLE_TEMPORARY;
    cache->constant = false;
    cache->lower = NULL;
    cache->buffer = NULL;
    return cache;
}

/* Finds the at= loop, which must belong to the stage; *index is its position, -1 without at=. */
static bool cache_write_place(NestState *state, const Prim *prim, const StageState *stage, int *index) {
    const PrimArg *at = prim_keyword(prim, "at");
    Node *loop = at != NULL ? argument_loop(state, prim, at) : NULL;
    if (at != NULL && loop == NULL)
        return false;
    *index = loop != NULL ? leaf_index(stage, loop) : -1;
    if (loop != NULL && *index < 0)
        return refuse_loop(state, loop, "%s is no loop of %s; cache_write computes %s at one of its own loops: %s",
                           loop_text(state, loop), stage->name, stage->name, loops_text(state, stage));
    const Stage *computed = stage->nest.stage;
    for (int i = 0; i <= *index && stage_first_scatter(computed) < computed->axis_count; i++)
        if (stage->leaves.items[i]->loop.reduction)
            return refuse_loop(
                state, loop,
                "the reduction loop %s is not inside %s: which elements of %s are partly summed there is read "
                "from memory",
                loop_text(state, stage->leaves.items[i]), loop_text(state, loop), stage->name);
    return true;
}

/* The buffer of cache_write is initialised where the old one was; it does not go on from partial results then. */
static bool check_initialisation(NestState *state, const StageState *stage, int index) {
    const StageState *initialisation = stage->initialisation;
    if (initialisation == NULL)
        return true;
    if (initialisation->beside ? index >= 0 : leaf_index(stage, initialisation->at) < index)
        return refuse(
            state, "%s initialises %s outside %s, where the buffer of cache_write would be: decompose after it",
            initialisation->name, stage->name, index >= 0 ? loop_text(state, stage->leaves.items[index]) : stage->name);
    for (int i = 0; i <= index; i++)
        if (stage->leaves.items[i]->loop.reduction)
            return refuse(state, "the reduction loop %s is outside %s, which would initialise %s again and again",
                          loop_text(state, stage->leaves.items[i]), initialisation->name, stage->name);
    return true;
}

static void move_initialisation(StageState *stage, StageState *made) {
    StageState *initialisation = stage->initialisation;
    if (initialisation == NULL)
        return;
    initialisation->updates = made;
    initialisation->beside |= initialisation->at == made->at;
    made->initialisation = initialisation;
    stage->initialisation = NULL;
}

static bool has_reductions(const StageState *stage, int from, int to) {
    for (int i = from; i < to; i++)
        if (stage->leaves.items[i]->loop.reduction)
            return true;
    return false;
}

StageState *resumed_stage(const StageState *stage) {
    StageState *owner = stage->owner;
    while (owner != NULL && !owner->partial)
        owner = owner->owner;
    return owner;
}

bool apply_cache_write(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage == NULL || !check_not_inlined(state, stage))
        return false;
    int index;
    const char *name = stage_name(state, prim, stage->name, "cache");
    if (name == NULL || !cache_write_place(state, prim, stage, &index) || !check_initialisation(state, stage, index))
        return false;
    Node *at = index >= 0 ? stage->leaves.items[index] : stage->at;
    const Stage *computed = stage->nest.stage;
    Stage *copy = stage_copy(state->arena, computed);
    copy->name = name;
    for (int c = 0; c < copy->component_count; c++) {
        const Tensor *tensor = computed->components[c].tensor;
        const char *own = c > 0 ? arena_printf(state->arena, "%s.%s", name, tensor->name) : name;
        copy->components[c].tensor = tensor_copy(state, tensor, own);
    }
    bool owned = stage->owns;
    StageState *made = stage_add_bare(state, copy, stage);
    made->roots = ARENA_ARRAY(state->arena, Node *, stage->root_count); /* of a stage that stores: more than axes */
    stage_place(made, at);
    stage_own(made, at != NULL ? stage : NULL);
    for (int i = 0; i < state->stages.count && owned; i++) /* the new stage now reads what the old one stored */
        if (state->stages.items[i]->owner == stage && state->stages.items[i] != made)
            stage_own(state->stages.items[i], made);
    find_reduction_values(state, stage);
    made->partial = stage->partial && has_reductions(stage, index + 1, stage->leaves.count);
    stage->partial = has_reductions(stage, 0, index + 1);
    divide_stage(state, stage, made, index);
    move_initialisation(stage, made);
    stage_rewrite(state, made, copy);
    stage_rewrite(state, stage, storing_stage(state, computed, copy, stage->partial));
    return argument_scope(state, prim, made);
}
