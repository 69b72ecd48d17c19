/* holes.c - the holes of a schedule that stand for loops, places and orders, as a tree: what a hole may become depends
 * on what the holes before it became.
 *
 * A node is a hole with all holes before it filled; its children are the next hole with each of its choices. Nodes are
 * looked at when they are asked for, and kept. How many choices a hole has at most is found by looking at some of its
 * nodes, evenly spread over the choices before.
 */
#include "lower/nest/state.h"

#include <string.h>

enum { NODES_LOOKED_AT = 48, NODES_SEARCHED = 1000 };

typedef struct HoleNode {
    bool known;
    Offer offer;
    struct HoleNode **next; /* [offer.count] */
} HoleNode;

typedef struct TreeHole {
    int prim, arg, number; /* of the hole among all holes of the schedule */
    PrimArg written;
    int most, fewest;    /* choices; of the nodes that were looked at */
    int64_t ways, looks; /* combinations of choices before it; how many of them were looked at */
    LIST(PrimArg) seen;  /* all that it may become */
} TreeHole;

struct HoleTree {
    Arena *arena;
    const Program *program;
    const Target *target;
    Schedule *schedule; /* a copy, whose holes are filled on the way down the tree */
    LIST(TreeHole) holes;
    HoleNode root;
};

/* --- the schedule on the way --- */

static PrimArg *argument_of(const HoleTree *tree, int hole) {
    const TreeHole *own = &tree->holes.items[hole];
    return &tree->schedule->prims[own->prim].args[own->arg];
}

static void write_list(const HoleTree *tree, int hole, int count, PrimArg *items) {
    PrimArg *argument = argument_of(tree, hole);
    argument->count = count;
    argument->items = items;
}

static HoleQuestion question_of(const HoleTree *tree, int hole) {
    return (HoleQuestion){tree->program, tree->target, tree->schedule, tree->holes.items[hole].prim,
                          argument_of(tree, hole)};
}

static void look_at(HoleTree *tree, HoleNode *node, int hole) {
    if (node->known)
        return;
    HoleQuestion question = question_of(tree, hole);
    TreeHole *own = &tree->holes.items[hole];
    node->known = true;
    node->offer = nest_offer(tree->arena, &question);
    node->next = ARENA_ARRAY(tree->arena, HoleNode *, node->offer.count);
    own->most = own->most < node->offer.count ? node->offer.count : own->most;
}

/* The node of a hole with these choices of the holes before, which are filled in the schedule; those from it on are as
 * written. Choices become those that they stand for. */
static HoleNode *descend(HoleTree *tree, int64_t *choices, int depth) {
    HoleNode *node = &tree->root;
    for (int h = 0; h < tree->holes.count; h++)
        write_list(tree, h, tree->holes.items[h].written.count, tree->holes.items[h].written.items);
    for (int h = 0; h < depth; h++) {
        look_at(tree, node, h);
        int choice = (int)(choices[h] % node->offer.count);
        choices[h] = choice;
        write_list(tree, h, 1, &node->offer.items[choice]);
        if (node->next[choice] == NULL)
            node->next[choice] = ARENA_NEW(tree->arena, HoleNode);
        node = node->next[choice];
    }
    if (depth < tree->holes.count)
        look_at(tree, node, depth);
    return node;
}

/* --- looking around --- */

/* The number of combinations of choices before a hole, as far as they matter. */
static int64_t ways_to(const HoleTree *tree, int hole) {
    int64_t ways = 1;
    for (int h = 0; h < hole && ways < INT32_MAX; h++)
        ways *= tree->holes.items[h].most;
    return ways;
}

static HoleNode *node_on_way(HoleTree *tree, int hole, int64_t way) {
    int64_t choices[hole + 1];
    for (int h = hole - 1; h >= 0; h--) {
        choices[h] = way % tree->holes.items[h].most;
        way /= tree->holes.items[h].most;
    }
    return descend(tree, choices, hole);
}

static void look_around(HoleTree *tree, int hole) {
    TreeHole *own = &tree->holes.items[hole];
    int64_t ways = own->ways = ways_to(tree, hole), looks = ways < NODES_LOOKED_AT ? ways : NODES_LOOKED_AT;
    own->looks = looks;
    for (int64_t look = 0; look < looks; look++) {
        const HoleNode *node = node_on_way(tree, hole, look * ways / looks);
        own->fewest = look == 0 || node->offer.count < own->fewest ? node->offer.count : own->fewest;
        for (int i = 0; i < node->offer.count; i++)
            list_push(tree->arena, &own->seen, node->offer.items[i]);
    }
}

/* --- the tree --- */

static void find_holes(HoleTree *tree) {
    Schedule *copy = tree->schedule;
    for (int p = 0; p < copy->count; p++)
        for (int a = 0; a < copy->prims[p].arg_count; a++) {
            const PrimArg *argument = &copy->prims[p].args[a];
            if (!prim_argument_names(&copy->prims[p], a) || schedule_hole_first(copy, argument) != argument)
                continue;
            TreeHole hole = {.prim = p, .arg = a, .number = schedule_hole_place(copy, argument), .written = *argument};
            list_push(tree->arena, &tree->holes, hole);
        }
}

static Schedule *copy_of(Arena *arena, const Schedule *schedule) {
    Schedule *copy = ARENA_NEW(arena, Schedule);
    *copy = *schedule;
    copy->prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    for (int p = 0; p < schedule->count; p++) {
        copy->prims[p] = schedule->prims[p];
        copy->prims[p].args = ARENA_ARRAY(arena, PrimArg, schedule->prims[p].arg_count + 1);
        for (int a = 0; a < schedule->prims[p].arg_count; a++)
            copy->prims[p].args[a] = schedule->prims[p].args[a];
    }
    return copy;
}

HoleTree *hole_tree_new(Arena *arena, const Program *program, const Schedule *schedule, const Target *target) {
    if (!schedule_names_holes(schedule))
        return NULL;
    HoleTree *tree = ARENA_NEW(arena, HoleTree);
    *tree = (HoleTree){.arena = arena, .program = program, .target = target, .schedule = copy_of(arena, schedule)};
    find_holes(tree);
    for (int h = 0; h < tree->holes.count; h++)
        look_around(tree, h);
    return tree;
}

const Schedule *hole_tree_schedule(const HoleTree *tree) {
    for (int h = 0; h < tree->holes.count; h++)
        write_list(tree, h, tree->holes.items[h].seen.count, tree->holes.items[h].seen.items);
    return copy_of(tree->arena, tree->schedule);
}

int hole_tree_most(const HoleTree *tree, int number) {
    for (int h = 0; h < tree->holes.count; h++)
        if (tree->holes.items[h].number == number)
            return tree->holes.items[h].most;
    return 0;
}

void hole_tree_gaps(const HoleTree *tree, Text *text) {
    for (int h = 0; h < tree->holes.count; h++) {
        const TreeHole *own = &tree->holes.items[h];
        if (own->looks < own->ways && own->fewest < own->most)
            text_add(text, "%s?%s of %s (%lld of %lld combinations of what is chosen before it were looked at)",
                     text->length ? ", " : "", own->written.name ? own->written.name : "",
                     prim_info[tree->schedule->prims[own->prim].op].spelling, (long long)own->looks,
                     (long long)own->ways);
    }
}

const Schedule *hole_tree_fill(Arena *arena, HoleTree *tree, int64_t *choices) {
    int count = tree->holes.count;
    int64_t own[count + 1], *firsts = ARENA_ARRAY(arena, int64_t, schedule_hole_count(tree->schedule) + 1);
    for (int h = 0; h < count; h++)
        own[h] = choices[tree->holes.items[h].number];
    descend(tree, own, count);
    for (int h = 0; h < count; h++)
        choices[tree->holes.items[h].number] = own[h];
    return schedule_fill_names(arena, tree->schedule, firsts);
}

/* --- what is wrong --- */

/* Whether a name of the source is a loop with some choices before. */
static bool names_loop(HoleTree *tree, int hole, int item, NestError *error) {
    int64_t ways = ways_to(tree, hole);
    NestError first = {0};
    for (int64_t way = 0; way < ways; way++) {
        node_on_way(tree, hole, way);
        HoleQuestion question = question_of(tree, hole);
        if (way == NODES_SEARCHED ||
            nest_offer_names_loop(tree->arena, &question, &tree->holes.items[hole].written.items[item], error))
            return true;
        first = way == 0 ? *error : first;
    }
    *error = first;
    return false;
}

bool hole_tree_check(HoleTree *tree, NestError *error) {
    for (int h = 0; h < tree->holes.count; h++) {
        node_on_way(tree, h, 0);
        HoleQuestion question = question_of(tree, h);
        if (!nest_offer_stands_well(tree->arena, &question, error))
            return false;
        for (int i = 0; i < tree->holes.items[h].written.count; i++)
            if (!names_loop(tree, h, i, error))
                return false;
    }
    return true;
}

/* The number of a way on which a choice of the hole is legal; as many as were looked at: there is none. */
static int64_t legal_way(HoleTree *tree, int hole, int64_t ways) {
    int64_t way = 0;
    while (way < ways && !node_on_way(tree, hole, way)->offer.legal)
        way++;
    return way;
}

bool hole_tree_is_empty(HoleTree *tree, NestError *error) {
    for (int h = 0; h < tree->holes.count; h++) {
        int64_t ways = ways_to(tree, h) < NODES_SEARCHED ? ways_to(tree, h) : NODES_SEARCHED;
        bool empty = legal_way(tree, h, ways) == ways;
        for (int64_t way = 0; way < ways && empty; way++) {
            node_on_way(tree, h, way);
            HoleQuestion question = question_of(tree, h);
            if (nest_offer_is_empty(tree->arena, &question, error))
                return true;
        }
    }
    return false;
}
