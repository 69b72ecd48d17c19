/* crossover.c - crossing two points node by node (Ansor section 5.1): the genes of each node come from the parent whose
 * node the cost model gives the better score.
 *
 * A score of a node is the model's for the statements of the node, in the context of the whole nest: its stage, and the
 * copies that are made for it. The speed of a program is that of the sum of its nodes, so that the better nodes of
 * both parents make a child that is expected to be at least as good as either, as far as nodes do not depend on each
 * other. Groups whose genes do not fit together are taken whole.
 */
#include "autosched/search/policies.h"

#include <math.h>
#include <string.h>

/* --- nodes --- */

static int find_node(const Nodes *nodes, const Group *group, const Stage *stage) {
    for (int n = 0; n < nodes->nodes.count; n++)
        if (nodes->nodes.items[n].group == group && nodes->nodes.items[n].stage == stage)
            return n;
    return -1;
}

/* Strips of a pipeline cut all its stages: they are one node. */
static const Stage *node_stage(const Group *group, const Gene *gene) {
    return group->fused ? group->root : gene->stage;
}

Nodes *nodes_new(Arena *arena, const Space *space) {
    Nodes *nodes = ARENA_NEW(arena, Nodes);
    nodes->of_gene = ARENA_ARRAY(arena, int, space->gene_count + 1);
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        for (int i = 0; i < group->genes.count; i++) {
            const Stage *stage = node_stage(group, &group->genes.items[i]);
            int node = find_node(nodes, group, stage);
            if (node < 0) {
                node = nodes->nodes.count;
                list_push(arena, &nodes->nodes, ((SpaceNode){group, stage}));
            }
            nodes->of_gene[group->first_gene + i] = node;
        }
    }
    return nodes;
}

/* The node that a tensor is computed in; -1: none. A stage without genes is of the node of its group's root. */
static int node_of_tensor(const Space *space, const Nodes *nodes, const int *point, const Tensor *tensor) {
    int found = -1;
    for (int n = 0; n < nodes->nodes.count; n++) {
        const SpaceNode *node = &nodes->nodes.items[n];
        if (!node->stage || !group_is_used(space, node->group, point) || !group_computes(node->group, tensor))
            continue;
        if (stage_writes(node->stage, tensor))
            return n;
        if (found < 0 || node->stage == node->group->root)
            found = n;
    }
    return found;
}

/* The node of a stage of a nest: of what it computes, or, for a copy, of what reads it. */
static int node_of_stage(const Space *space, const Nodes *nodes, const int *point, const Nest *nest, int number,
                         int depth) {
    const Tensor *tensor = nest->stages[number]->stage->components[0].tensor;
    int node = node_of_tensor(space, nodes, point, tensor);
    for (int s = 0; s < nest->stage_count && node < 0 && depth < nest->stage_count; s++)
        if (s != number && stage_uses_tensor(nest->stages[s]->stage, tensor))
            node = node_of_stage(space, nodes, point, nest, s, depth + 1);
    return node;
}

bool node_scores(Search *search, const Nodes *nodes, const int *point, float *scores) {
    int count = nodes->nodes.count;
    Arena *scratch = arena_new();
    const Nest *nest = point_nest(scratch, search->space, point, -1);
    if (nest) {
        float *features = ARENA_ARRAY(scratch, float, (size_t)(count + 1) * (size_t)feature_count());
        int *part = ARENA_ARRAY(scratch, int, nest->stage_count + 1);
        bool *used = ARENA_ARRAY(scratch, bool, count + 1);
        for (int s = 0; s < nest->stage_count; s++) {
            part[s] = node_of_stage(search->space, nodes, point, nest, s, 0);
            if (part[s] >= 0)
                used[part[s]] = true;
        }
        features_of_parts(scratch, nest, part, count, features);
        model_predict(search->model, features, count, scores);
        for (int n = 0; n < count; n++)
            scores[n] = used[n] ? scores[n] : -HUGE_VALF;
    }
    arena_free(scratch);
    return nest != NULL;
}

/* --- crossing --- */

/* What the nodes of some groups take together: scores are logarithms of speeds. */
static double cost_of(const Nodes *nodes, const Parent *parent, const Group *group, const Pipeline *pipeline) {
    double cost = 0;
    for (int n = 0; n < nodes->nodes.count; n++) {
        const Group *own = nodes->nodes.items[n].group;
        bool counts = own == group || (pipeline && (own->fused == pipeline || own->apart == pipeline));
        if (counts && parent->scores[n] > -HUGE_VALF)
            cost += exp2(-(double)parent->scores[n]);
    }
    return cost;
}

static void take_group(const Group *group, const Parent *from, int *child) {
    memcpy(child + group->first_gene, from->point + group->first_gene, sizeof *child * (size_t)group->genes.count);
}

/* Whether the parents compute the group's pipeline in different ways. */
static const Pipeline *changed_pipeline(const Space *space, const Group *group, const Parent *a, const Parent *b) {
    const Pipeline *pipeline = group->fused ? group->fused : group->apart;
    bool changed =
        pipeline && group_is_used(space, pipeline->group, a->point) != group_is_used(space, pipeline->group, b->point);
    return changed ? pipeline : NULL;
}

void cross_nodes(Search *search, const Nodes *nodes, Parent a, Parent b, int *child) {
    Space *space = search->space;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        const Pipeline *pipeline = changed_pipeline(space, group, &a, &b);
        const Parent *better = cost_of(nodes, &a, group, pipeline) <= cost_of(nodes, &b, group, pipeline) ? &a : &b;
        take_group(group, better, child);
        for (int i = 0; i < group->genes.count && !pipeline; i++) {
            int at = group->first_gene + i, node = nodes->of_gene[at];
            child[at] = a.scores[node] >= b.scores[node] ? a.point[at] : b.point[at];
        }
        if (!group_plausible(space, g, child))
            take_group(group, better, child);
    }
}
