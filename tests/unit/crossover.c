/* crossover.c - mutations by kind and crossover by node: what they change, that each kind is reached, that children are
 * of their parents, and that a better node is taken.
 */
#include "autosched/search/policies.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

enum { MUTATIONS = 300, CROSSINGS = 60 };

static const char stencils[] =
    "def f(float(300, 531) i) -> (o) { g(y, x) = i(y, x + 2) - i(y, x)  h(y, x) = i(y + 2, x) - i(y, x)\n"
    "s(y, x) +=! g(y + r_i, x + r_j) * h(y + r_i, x + r_j) where r_i in 0:3, r_j in 0:3\n"
    "t(y, x) +=! g(y + r_i, x + r_j) * g(y + r_i, x + r_j) where r_i in 0:3, r_j in 0:3\n"
    "o(y, x) = s(y, x) * t(y, x) }";
static const char planes[] =
    "def f(float(6, 270, 251) i) -> (o) { g(y, x) = exp(0.3 * i(0, y, x) + 0.6 * i(1, y, x) + 0.1 * i(2, y, x))\n"
    "m(y, x) = g(y, x) + g(y + 1, x) + g(y + 2, x + 1)  o(c, y, x) = m(y, x) * i(c, y, x) }";
static const char attention[] =
    "def f(float(1024, 64) Q, float(1024, 64) K, float(1024, 64) V) -> (O) { s(i, j) +=! Q(i, r_d) * K(j, r_d)\n"
    "m(i) max=! s(i, r_j)  e(i, j) = exp(0.125 * (s(i, j) - m(i)))  l(i) +=! e(i, r_j)\n"
    "p(i, j) = e(i, j) / l(i)  O(i, d) +=! p(i, r_j) * V(r_j, d) }";
static const char layers[] =
    "def f(float(64, 96) x, float(128, 96) U, float(80, 128) V, float(10, 80) W) -> (y) {\n"
    "a(n, j) +=! x(n, r_i) * U(j, r_i)  b(n, j) = max(a(n, j), 0)  c(n, j) +=! b(n, r_i) * V(j, r_i)\n"
    "d(n, j) = max(c(n, j), 0)  y(n, j) +=! d(n, r_i) * W(j, r_i) }";

static const char pools[] =
    "def f(float(1, 56, 56, 64) i, float(3, 3, 64, 64) F, float(64) b) -> (o) {\n"
    "c(n, h, w, m) +=! (i(n, h + r_h - 1, w + r_w - 1, r_c) else 0) * F(r_h, r_w, r_c, m) where h in 0:56, w in 0:56\n"
    "d(n, h, w, m) = max(c(n, h, w, m) + b(m), 0)\n"
    "o(n, h, w, m) max=! d(n, 2*h + r_i, 2*w + r_j, m) where h in 0:28, w in 0:28, r_i in 0:2, r_j in 0:2 }";

static Target target;

static const Gene *gene_at(const Space *space, int at) {
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        if (at >= group->first_gene && at < group->first_gene + group->genes.count)
            return &group->genes.items[at - group->first_gene];
    }
    return NULL;
}

static int genes_that_differ(const Space *space, const int *a, const int *b, int *last) {
    int count = 0;
    for (int g = 0; g < space->gene_count; g++)
        if (a[g] != b[g]) {
            count++;
            *last = g;
        }
    return count;
}

/* --- mutation --- */

typedef struct Changes {
    int made, others, illegal; /* others: changes of another gene than one of the kind */
} Changes;

static Changes changes_of(Space *space, int kind) {
    Random random = {3};
    Changes changes = {0};
    int point[space->gene_count], before[space->gene_count], changed = 0;
    for (int i = 0; i < MUTATIONS; i++) {
        point_random(space, &random, point);
        memcpy(before, point, sizeof point);
        bool made = point_mutate_by(space, &random, kind, point);
        int count = genes_that_differ(space, before, point, &changed);
        changes.made += made;
        changes.others += made ? count != 1 || (int)gene_at(space, changed)->kind != kind : count != 0;
        changes.illegal += made && !point_plausible(space, point);
    }
    return changes;
}

static void test_kinds(Arena *arena) {
    static const char *const texts[] = {stencils, attention, layers};
    int reached[GENE_KINDS] = {0};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        Space *space = space_new(arena, program_of_text(arena, texts[t], NULL, 0), &target, NULL);
        for (int kind = 0; kind < GENE_KINDS; kind++) {
            Changes changes = changes_of(space, kind);
            reached[kind] += changes.made;
            ok(changes.others == 0 && changes.illegal == 0, "program %d, %s: %d changes, each of one gene of the kind",
               (int)t, mutations[kind].name, changes.made);
        }
    }
    for (int kind = 0; kind < GENE_KINDS; kind++)
        ok(reached[kind] > 0 && (int)mutations[kind].kind == kind, "%s is reached", mutations[kind].name);
}

static int64_t product(const Gene *gene, int choice) {
    int64_t product = 1;
    for (int part = 0; part < gene->width; part++)
        product *= gene->values[choice * gene->width + part];
    return product;
}

/* A factor moves between two levels: one of them is a multiple of what it was, and one divides it. */
static void test_factors(Arena *arena) {
    Space *space = space_new(arena, program_of_text(arena, layers, NULL, 0), &target, NULL);
    Random random = {5};
    int point[space->gene_count], before[space->gene_count], moved = 0, kept = 0, bad = 0, at = 0;
    for (int i = 0; i < MUTATIONS; i++) {
        point_random(space, &random, point);
        memcpy(before, point, sizeof point);
        if (!point_mutate_by(space, &random, GENE_TILE, point) || genes_that_differ(space, before, point, &at) != 1)
            continue;
        const Gene *gene = gene_at(space, at);
        int64_t from = product(gene, before[at]), to = product(gene, point[at]);
        moved++;
        kept += from == to;
        bad += from % to != 0 && to % from != 0;
    }
    ok(moved > MUTATIONS * 9 / 10 && bad * 20 < moved, "%d of %d sizes of tiles move no factor", bad, moved);
    ok(kept > 0 && kept < moved, "between listed levels (%d) and to the outermost", kept);
}

/* --- crossover --- */

/* Genes whose node is not, as a whole, of the parent with the better score. *mixed: children of both parents. */
static int misplaced(const Space *space, const Nodes *nodes, const Parent *a, const Parent *b, const int *child,
                     int *mixed) {
    int wrong = 0, of[2] = {0};
    for (int g = 0; g < space->gene_count; g++) {
        int node = nodes->of_gene[g];
        bool first = a->scores[node] >= b->scores[node];
        wrong += child[g] != (first ? a : b)->point[g];
        of[first] += a->point[g] != b->point[g];
    }
    *mixed += of[0] > 0 && of[1] > 0;
    return wrong;
}

static Parent draw_parent(Arena *arena, Search *search, const Nodes *nodes) {
    int *point = ARENA_ARRAY(arena, int, search->space->gene_count + 1);
    float *scores = ARENA_ARRAY(arena, float, nodes->nodes.count + 1);
    do
        point_random(search->space, &search->random, point);
    while (!node_scores(search, nodes, point, scores));
    return (Parent){point, scores};
}

/* A child is what its better nodes are together. With one thread: others fetch what this one wrote, so that nodes
 * depend on each other. */
static void test_better_nodes(Arena *arena) {
    Target alone = target;
    alone.threads = 1;
    Space *space = space_new(arena, program_of_text(arena, layers, NULL, 0), &alone, NULL);
    Search *search = search_open(arena, space, model_open(arena, "static", 1), "evolve", 7);
    const Nodes *nodes = nodes_new(arena, space);
    is_int(nodes->nodes.count, 3, "each product is a node");
    int child[space->gene_count], wrong = 0, mixed = 0, slower = 0, unlike = 0;
    for (int i = 0; i < CROSSINGS; i++) {
        Parent a = draw_parent(arena, search, nodes), b = draw_parent(arena, search, nodes);
        double seconds = 0, whole = 0, parts = 0;
        cross_nodes(search, nodes, a, b, child);
        wrong += misplaced(space, nodes, &a, &b, child, &mixed);
        for (int n = 0; n < nodes->nodes.count; n++) {
            seconds += exp2(-fmax(a.scores[n], b.scores[n]));
            parts += exp2(-(double)a.scores[n]);
        }
        whole = point_estimate(arena, space, a.point, -1);
        unlike += fabs(parts / whole - 1) > 1e-3;
        slower += point_estimate(arena, space, child, -1) > seconds * 1.02;
    }
    is_int(wrong, 0, "each node is of the parent where it is better");
    ok(mixed > CROSSINGS / 4, "%d of %d children have nodes of both", mixed, CROSSINGS);
    is_int(unlike, 0, "the nodes' times are those of the whole");
    is_int(slower, 0, "and a child takes as long as its better nodes");
    search_close(search);
}

/* Strips and apart: a pipeline's genes stay together. */
static void test_pipelines(Arena *arena) {
    Space *space = space_new(arena, program_of_text(arena, planes, NULL, 0), &target, NULL);
    Search *search = search_open(arena, space, model_open(arena, "static", 1), "evolve", 7);
    const Nodes *nodes = nodes_new(arena, space);
    const Group *fused = space->pipelines.items[0]->group;
    int child[space->gene_count], ways = 0, apart = 0, taken[2] = {0};
    for (int i = 0; i < CROSSINGS; i++) {
        Parent a = draw_parent(arena, search, nodes), b = draw_parent(arena, search, nodes);
        cross_nodes(search, nodes, a, b, child);
        if (group_is_used(space, fused, a.point) == group_is_used(space, fused, b.point))
            continue;
        bool first = point_estimate(arena, space, a.point, -1) < point_estimate(arena, space, b.point, -1);
        ways++;
        apart += memcmp(child, first ? a.point : b.point, sizeof child) != 0;
        taken[group_is_used(space, fused, child)]++;
    }
    ok(ways > 10 && apart == 0,
       "of %d pairs whose pipeline is computed in two ways, %d children are not the faster one", ways, apart);
    ok(taken[0] > 0 && taken[1] > 0, "which is either way (%d, %d)", taken[0], taken[1]);
    search_close(search);
}

/* Several stages of one group are nodes; a child that does not fit together is one parent's. */
static void test_stages(Arena *arena) {
    Space *space = space_new(arena, program_of_text(arena, attention, NULL, 0), &target, NULL);
    Search *search = search_open(arena, space, model_open(arena, "static", 1), "evolve", 7);
    const Nodes *nodes = nodes_new(arena, space);
    ok(space->groups.count == 1 && nodes->nodes.count > 3, "a group of rows has %d nodes", nodes->nodes.count);
    int child[space->gene_count], implausible = 0, whole = 0, mixed = 0;
    for (int i = 0; i < CROSSINGS; i++) {
        Parent a = draw_parent(arena, search, nodes), b = draw_parent(arena, search, nodes);
        cross_nodes(search, nodes, a, b, child);
        implausible += !point_plausible(space, child);
        if (misplaced(space, nodes, &a, &b, child, &mixed))
            whole += !memcmp(child, a.point, sizeof child) || !memcmp(child, b.point, sizeof child) ? 0 : 1;
    }
    is_int(implausible, 0, "all children fit");
    is_int(whole, 0, "those that are not of the better nodes are one parent's");
    ok(mixed > 0, "%d have better nodes of both", mixed);
    search_close(search);
}

/* A child that the nest refuses is counted, and does not end a search: few of some searches' are, of others' none. */
static void test_counts(Arena *arena) {
    enum { SEARCHES = 8, BATCH = 8 };
    int proposed = 0, made = 0, refused = 0, illegal = 0;
    for (uint64_t seed = 0; seed < SEARCHES; seed++) {
        Space *space = space_new(arena, program_of_text(arena, pools, NULL, 0), &target, NULL);
        Search *search = search_open(arena, space, model_open(arena, "static", 1),
                                     "evolve:population=40,generations=40,crossover=uniform", seed);
        int *points[BATCH];
        proposed += search_propose(search, BATCH, points);
        made += search->made;
        refused += search->refused;
        for (int i = 0; i < BATCH; i++)
            illegal += !search_is_legal(search, points[i]);
        search_close(search);
    }
    is_int(proposed, SEARCHES * BATCH, "batches are full");
    is_int(made, SEARCHES * 1600, "children are counted");
    ok(refused > 0 && refused < SEARCHES * 160, "and those that are refused: %d", refused);
    is_int(illegal, 0, "none of which is proposed");
}

int main(void) {
    Arena *arena = arena_new();
    target = *target_find("x86-64-v4");
    target.threads = 2;
    test_kinds(arena);
    test_factors(arena);
    test_better_nodes(arena);
    test_pipelines(arena);
    test_stages(arena);
    test_counts(arena);
    arena_free(arena);
    return done_testing();
}
