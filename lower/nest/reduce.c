/* reduce.c - the primitives that take reductions apart: rfactor and decompose.
 *
 * rfactor makes a stage that keeps a partial result for each value of the named loops; the old stage then reduces those
 * results. The new stage has the old one's axes and reads, then an axis for each named loop; it reduces over the other
 * loops. The reduction loops move into it, and the reduction indices become expressions over them. A value beyond the
 * end of a split that does not divide is the identity.
 *
 * decompose makes a stage that writes the initial values into the reduction's buffer, before one of its loops. It
 * shares the reduction's domain, as a stage of cache_write does: the loops outside are links, those below are copies.
 */
#include "lower/nest/state.h"

/* --- what may be taken apart -------------------------------------------------------------------------------------- */

static bool is_named(Node *const *named, int count, const Node *node) {
    for (int i = 0; i < count; i++)
        if (named[i] == node)
            return true;
    return false;
}

static bool check_algebra(NestState *state, const StageState *stage) {
    const Stage *computed = stage->nest.stage;
    const Combiner *combiner = computed->combiner;
    if (computed->combine == COMBINE_DECLARED && !(combiner->associative && combiner->commutative))
        return refuse(state, "%s is not declared associative and commutative, so partial results of %s cannot be made",
                      combiner->name, stage->name);
    if (stage_is_ordered(state->nest.program, computed))
        return refuse(state,
                      "%s is reduced in the order of the source under -fstrict, and partial results are combined in "
                      "another one: rfactor is for min, max and integers there",
                      stage->name);
    return true;
}

static bool check_named(NestState *state, Node *const *named, int count) {
    for (int i = 0; i < count; i++)
        if (!named[i]->loop.reduction)
            return refuse(state,
                          "%s is no reduction loop: rfactor keeps partial results for loops that are reduced over",
                          loop_text(state, named[i]));
    const StageState *stage = stage_of(named[0]);
    if (stage->partial || resumed_stage(stage) != NULL)
        return refuse(state, "the partial results of %s are stored in its reduction loops already: rfactor before that",
                      stage->name);
    return check_algebra(state, stage);
}

/* --- the new stage ------------------------------------------------------------------------------------------------ */

typedef struct Factoring {
    NestState *state;
    StageState *stage, *made;
    const char *name;
    int count;
    Node **named;
    const Var **axes;       /* of the new stage for the named loops */
    const Var **reductions; /* of the new stage for the others */
    int reduction_count;
    Expr *inside;               /* condition: the old stage's reduction indices are in range */
    LIST(Substitution) renamed; /* variables of the loops -> variables of the new stage */
    LIST(Substitution) indices;
} Factoring;

static Var *leaf_variable(Factoring *f, Node *leaf, bool reduction) {
    NestState *state = f->state;
    Var *var =
        var_new(state->arena, VAR_AXIS, TYPE_INT64, leaf->variable.name, affine_expr(state->arena, leaf->extent));
    var->reduction = reduction;
    var->loc = leaf->variable.loc;
    list_push(state->arena, &f->renamed, ((Substitution){&leaf->variable, expr_var(state->arena, var)}));
    return var;
}

/* A variable of the new stage for each reduction loop. */
static void make_variables(Factoring *f) {
    f->axes = ARENA_ARRAY(f->state->arena, const Var *, f->count);
    f->reductions = ARENA_ARRAY(f->state->arena, const Var *, f->stage->leaves.count);
    for (int i = 0; i < f->count; i++)
        f->axes[i] = leaf_variable(f, f->named[i], false);
    for (int i = 0; i < f->stage->leaves.count; i++) {
        Node *leaf = f->stage->leaves.items[i];
        if (leaf->loop.reduction && !is_named(f->named, f->count, leaf))
            f->reductions[f->reduction_count++] = leaf_variable(f, leaf, true);
    }
}

static Expr *renamed_expr(const Factoring *f, const Form *form) {
    NestState *state = f->state;
    return expr_substitute(state->arena, affine_expr(state->arena, form), f->renamed.items, f->renamed.count);
}

/* The old reductions as expressions over the new variables, and the condition that these are in range. */
static void find_indices(Factoring *f) {
    NestState *state = f->state;
    const Stage *computed = f->stage->nest.stage;
    for (int r = 0; r < computed->reduction_count; r++) {
        const Node *root = f->stage->roots[computed->axis_count + r];
        Substitution index = {computed->reductions[r], renamed_expr(f, root->value)};
        list_push(state->arena, &f->indices, index);
    }
    f->inside = expr_bool(state->arena, true);
    for (int i = 0; i < f->stage->relations.count; i++) {
        const Relation *relation = f->stage->relations.items[i];
        if (relation->whole->loop.reduction && relation_exceeds(state, relation))
            f->inside = expr_binary(state->arena, OP_AND, f->inside,
                                    expr_binary(state->arena, OP_LT, renamed_expr(f, relation->whole->value),
                                                renamed_expr(f, relation->whole->extent)));
    }
}

static const Tensor *partial_tensor(Factoring *f, const Tensor *tensor, const char *name) {
    Arena *arena = f->state->arena;
    Tensor *made = ARENA_NEW(arena, Tensor);
    *made = (Tensor){.name = name, .type = tensor->type, .role = ROLE_TEMPORARY, .loc = tensor->loc};
    made->rank = tensor->rank + f->count;
    made->dims = ARENA_ARRAY(arena, Expr *, made->rank);
    made->dim_names = ARENA_ARRAY(arena, const char *, made->rank);
    for (int d = 0; d < made->rank; d++) {
        bool own = d >= tensor->rank;
        made->dims[d] = own ? f->axes[d - tensor->rank]->extent : tensor->dims[d];
        made->dim_names[d] = own ? f->axes[d - tensor->rank]->name : f->stage->nest.stage->axes[d]->name;
    }
    return made;
}

static Expr *identity_of(Arena *arena, const Stage *stage, int component) {
    if (stage->combine == COMBINE_DECLARED)
        return stage->combiner->identity[component];
    return combine_identity(arena, stage->combine, stage->components[0].tensor->type);
}

static Component partial_component(Factoring *f, int component) {
    Arena *arena = f->state->arena;
    const Stage *computed = f->stage->nest.stage;
    Component old = computed->components[component], made;
    const char *name = component > 0 ? arena_printf(arena, "%s.%d", f->name, component) : f->name;
    made.tensor = partial_tensor(f, old.tensor, name);
    made.initial = identity_of(arena, computed, component);
    Expr *value = expr_substitute(arena, old.value, f->indices.items, f->indices.count);
    made.value = expr_is_int(f->inside, NULL) ? value : expr_select(arena, f->inside, value, made.initial);
    return made;
}

static Stage *partial_stage(Factoring *f) {
    Arena *arena = f->state->arena;
    const Stage *computed = f->stage->nest.stage;
    Stage *made = stage_copy(arena, computed);
    made->name = f->name;
    made->axis_count = computed->axis_count + f->count;
    made->axes = ARENA_ARRAY(arena, const Var *, made->axis_count);
    for (int a = 0; a < made->axis_count; a++)
        made->axes[a] = a < computed->axis_count ? computed->axes[a] : f->axes[a - computed->axis_count];
    made->reductions = f->reductions;
    made->reduction_count = f->reduction_count;
    for (int c = 0; c < computed->component_count; c++)
        made->components[c] = partial_component(f, c);
    return made;
}

/* The old stage reduces the partial results over variables of its own. */
static Stage *combining_stage(Factoring *f, const Stage *partial) {
    Arena *arena = f->state->arena;
    const Stage *computed = f->stage->nest.stage;
    Stage *made = stage_copy(arena, computed);
    Expr **indices = ARENA_ARRAY(arena, Expr *, partial->axis_count);
    made->reduction_count = f->count;
    made->reductions = ARENA_ARRAY(arena, const Var *, f->count);
    for (int a = 0; a < computed->axis_count; a++)
        indices[a] = expr_var(arena, computed->axes[a]);
    for (int i = 0; i < f->count; i++) {
        Var *var = var_new(arena, VAR_AXIS, TYPE_INT64, f->axes[i]->name, f->axes[i]->extent);
        var->reduction = true;
        var->loc = f->axes[i]->loc;
        made->reductions[i] = var;
        indices[computed->axis_count + i] = expr_var(arena, var);
    }
    for (int c = 0; c < computed->component_count; c++) {
        Component component = computed->components[c];
        component.value = expr_read(arena, partial->components[c].tensor, indices, NULL);
        component.value->loc = computed->loc;
        made->components[c] = component;
    }
    return made;
}

/* --- loops -------------------------------------------------------------------------------------------------------- */

static void move_loop(Factoring *f, Node *leaf, bool reduction) {
    leaf->loop.stage = &f->made->nest;
    leaf->loop.reduction = leaf->variable.reduction = reduction;
    leaf->taken = NULL;
    f->made->roots[f->made->root_count++] = leaf;
}

/* The named loops become the last axes of the new stage, the others its reductions; all keep their order. */
static void move_loops(Factoring *f) {
    NestState *state = f->state;
    StageState *made = f->made, *stage = f->stage;
    const Stage *computed = stage->nest.stage;
    for (int a = 0; a < computed->axis_count; a++)
        stage_add_root(state, made, computed->axes[a], false);
    for (int i = 0; i < f->count; i++)
        move_loop(f, f->named[i], false);
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.stage == &stage->nest && stage->leaves.items[i]->loop.reduction)
            move_loop(f, stage->leaves.items[i], true);
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.stage == &made->nest)
            list_push(state->arena, &made->leaves, stage->leaves.items[i]);
}

/* The old stage gets a reduction loop in the place of each named loop, and keeps no other. */
static void replace_loops(Factoring *f) {
    NestState *state = f->state;
    StageState *stage = f->stage;
    int axis_count = stage->nest.stage->axis_count, kept = 0;
    Node **fresh = ARENA_ARRAY(state->arena, Node *, f->count);
    for (int i = 0; i < f->count; i++) {
        fresh[i] = node_new(state, stage, f->named[i]->variable.name, true);
        fresh[i]->variable.loc = f->named[i]->variable.loc;
        fresh[i]->extent = f->named[i]->extent;
    }
    for (int i = 0; i < stage->leaves.count; i++) {
        Node *leaf = stage->leaves.items[i];
        for (int k = 0; k < f->count; k++)
            if (leaf == f->named[k])
                leaf = fresh[k];
        if (leaf->loop.stage == &stage->nest)
            stage->leaves.items[kept++] = leaf;
    }
    stage->leaves.count = kept;
    Node **roots = ARENA_ARRAY(state->arena, Node *, axis_count + f->count);
    for (int r = 0; r < axis_count + f->count; r++)
        roots[r] = r < axis_count ? stage->roots[r] : fresh[r - axis_count];
    stage->roots = roots;
    stage->root_count = axis_count + f->count;
    kept = 0;
    for (int i = 0; i < stage->relations.count; i++) {
        const Loop *whole = &stage->relations.items[i]->whole->loop;
        if (!whole->reduction && whole->stage == &stage->nest)
            stage->relations.items[kept++] = stage->relations.items[i];
    }
    stage->relations.count = kept;
}

/* --- rfactor ------------------------------------------------------------------------------------------------ */

bool apply_rfactor(NestState *state, const Prim *prim) {
    Factoring f = {.state = state, .count = positional_count(prim)};
    f.named = argument_loops(state, prim, f.count);
    if (f.named == NULL || !check_named(state, f.named, f.count))
        return false;
    f.stage = stage_of(f.named[0]);
    f.name = stage_name(state, prim, f.stage->name, "partial");
    if (f.name == NULL)
        return false;
    find_reduction_values(state, f.stage);
    make_variables(&f);
    find_indices(&f);
    Stage *partial = partial_stage(&f);
    Stage *combining = combining_stage(&f, partial);
    f.made = stage_add_bare(state, partial, f.stage);
    stage_place(f.made, f.stage->at);
    move_loops(&f);
    replace_loops(&f);
    stage_rewrite(state, f.made, partial);
    stage_rewrite(state, f.stage, combining);
    return argument_scope(state, prim, f.made);
}

/* --- decompose ---------------------------------------------------------------------------------------------------- */

static bool check_decompose(NestState *state, const StageState *stage, const Node *loop, int index) {
    if (stage->nest.inlined)
        return refuse(state, "%s is inlined: it has no loops of its own any more", stage->name);
    if (stage->nest.stage->combine == COMBINE_NONE)
        return refuse(state, "%s is no reduction: it has no initialisation that could be taken apart", stage->name);
    if (resumed_stage(stage) != NULL)
        return refuse(state, "%s goes on from the partial results in %s: its initialisation cannot be taken apart",
                      stage->name, resumed_stage(stage)->name);
    if (stage->initialisation != NULL)
        return refuse(state, "%s is decomposed already: %s initialises it", stage->name, stage->initialisation->name);
    if (index < 0)
        return refuse(state, "%s is no loop of %s, which is initialised before one of its own loops: %s",
                      loop_text(state, loop), stage->name, loops_text(state, stage));
    for (int i = 0; i < index; i++)
        if (stage->leaves.items[i]->loop.reduction)
            return refuse(state, "the reduction loop %s is outside %s: %s is initialised before all of its reduction",
                          loop_text(state, stage->leaves.items[i]), loop_text(state, loop), stage->name);
    return true;
}

/* The image of a spatial node of the stage in its initialisation: a link to a loop outside, else a copy. */
static void set_image(NestState *state, const StageState *stage, StageState *made, Node *node, int index) {
    int position = node_is_leaf(node) ? leaf_index(stage, node) : -1;
    node->image = node_new(state, made, node->variable.name, false);
    node->image->variable.loc = node->variable.loc;
    node->image->extent = node->extent;
    if (node_is_leaf(node) && position < index)
        node_link(node->image, node->link != NULL ? node->link : node);
}

static void copy_loops(NestState *state, StageState *stage, StageState *made, int index) {
    for (int d = 0; d < stage->nest.stage->axis_count; d++) {
        set_image(state, stage, made, stage->roots[d], index);
        made->roots[made->root_count++] = stage->roots[d]->image;
    }
    for (int i = 0; i < stage->relations.count; i++) {
        Relation *relation = stage->relations.items[i];
        if (relation->whole->loop.reduction)
            continue;
        if (relation->kind == RELATION_FUSE)
            set_image(state, stage, made, relation->whole, index);
        for (int k = 0; relation->kind == RELATION_SPLIT && k < relation->count; k++)
            set_image(state, stage, made, relation->parts[k], index);
        copy_relation(state, relation, made);
    }
    for (int i = index; i < stage->leaves.count; i++)
        if (!stage->leaves.items[i]->loop.reduction)
            list_push(state->arena, &made->leaves, stage->leaves.items[i]->image);
}

static Stage *initial_stage(NestState *state, const Stage *stage, const char *name) {
    Stage *made = stage_copy(state->arena, stage);
    made->name = name;
    made->reduction_count = 0;
    made->combine = COMBINE_NONE;
    made->combiner = NULL;
    for (int c = 0; c < stage->component_count; c++) {
        Component component = stage->components[c];
        const char *own = c > 0 ? arena_printf(state->arena, "%s.%d", name, c) : name;
        made->components[c] = (Component){tensor_copy(state, component.tensor, own), NULL, component.initial};
    }
    return made;
}

static Stage *update_stage(NestState *state, const Stage *stage) {
    Stage *made = stage_copy(state->arena, stage);
    for (int c = 0; c < stage->component_count; c++) {
        Component component = stage->components[c];
        component.initial = NULL;
        made->components[c] = component;
    }
    return made;
}

bool apply_decompose(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    Node *loop = stage != NULL ? argument_loop(state, prim, positional(prim, 1)) : NULL;
    int index = loop != NULL ? leaf_index(stage, loop) : -1;
    if (loop == NULL || !check_decompose(state, stage, loop, index))
        return false;
    const Stage *computed = stage->nest.stage;
    const char *name = stage_name(state, prim, stage->name, "init");
    if (name == NULL)
        return false;
    Stage *initial = initial_stage(state, computed, name);
    StageState *made = stage_add_bare(state, initial, stage);
    stage_own(made, stage);
    made->updates = stage;
    made->beside = index == 0;
    stage_place(made, index > 0 ? stage->leaves.items[index - 1] : stage->at);
    stage->initialisation = made;
    copy_loops(state, stage, made, index);
    stage_rewrite(state, made, initial);
    stage_rewrite(state, stage, update_stage(state, computed));
    return true;
}
