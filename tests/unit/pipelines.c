/* pipelines.c - stages that may be computed together in strips: which ones, that their points are legal and mean what
 * they say, and that strips are chosen where they pay.
 */
#include "autosched/search/policies.h"
#include "autosched/space/groups.h"
#include "tests/tap.h"

#include <string.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

enum { POINTS = 150 };

typedef struct Case {
    const char *name, *text;
    int stages; /* of its pipeline; 0: none */
} Case;

#define ROWS " where y in 0:H, x in 0:W "
static const Case cases[] = {
    {"blur",
     "def f(float(2048, 4096) i) -> (o) { b(y, x) = (i(y, x) + i(y, x + 1) + i(y, x + 2)) / 3\n"
     "o(y, x) = (b(y, x) + b(y + 1, x) + b(y + 2, x)) / 3 }",
     2},
    {"steps at edges",
     "def f(float(H, W) a) -> (d) { b(y, x) = (a(y - 1, x) else edge) + (a(y + 1, x) else edge)" ROWS
     "c(y, x) = exp((b(y - 1, x) else edge) + (b(y + 1, x) else edge) + (b(y, x + 1) else edge))" ROWS
     "d(y, x) = (c(y, x - 1) else edge) + (c(y - 2, x) else edge)" ROWS "}",
     3},
    {"sums of products",
     "def f(float(300, 531) i) -> (o) { g(y, x) = i(y, x + 2) - i(y, x)  h(y, x) = i(y + 2, x) - i(y, x)\n"
     "s(y, x) +=! g(y + r_i, x + r_j) * h(y + r_i, x + r_j) where r_i in 0:3, r_j in 0:3\n"
     "t(y, x) +=! g(y + r_i, x + r_j) * g(y + r_i, x + r_j) where r_i in 0:3, r_j in 0:3\n"
     "o(y, x) = s(y, x) * t(y, x) }",
     5},
    {"planes",
     "def f(float(3, 270, 251) i) -> (o) { g(y, x) = exp(0.3 * i(0, y, x) + 0.6 * i(1, y, x) + 0.1 * i(2, y, x))\n"
     "m(y, x) = g(y, x) + g(y + 1, x) + g(y + 2, x + 1)  o(c, y, x) = m(y, x) * i(c, y, x) }",
     3},
    {"a single axis",
     "def f(float(100003) i) -> (o) { a(x) = exp(i(x))  b(x) = sqrt(a(x) + a(x + 1))  o(x) = b(x) * b(x + 5) }", 3},
    {"long values",
     "def f(float(400, 1000) a) -> (o) { b(i, j) = exp(a(i, j))\n"
     "c(i, j) = sin(b(i, 2*j)) + cos(b(i + 1, 2*j)) + tan(b(i, 2*j + 1)) + erf(b(i + 1, 2*j + 1))"
     " + pow(b(i, j), b(i, 2*j))\n"
     "o(i, j) = sqrt(c(i, j) + c(i + 1, j)) }",
     3},
    {"wrapped",
     "def f(float(400, 1000) a) -> (o) { b(i, j) = exp(a(i, j))\n"
     "o(i, j) = (b(i, j + 1) else wrap) + (b(i, j - 1) else reflect) where i in 0:400, j in 0:1000 }",
     0},
    {"products",
     "def f(float(64, 64) a) -> (o) { b(i, j) +=! a(i, r_k) * a(r_k, j)  o(i, j) +=! b(i, r_k) * b(r_k, j) }", 0},
    {"own elements alone",
     "def f(float(512, 512) a) -> (o) { b(i, j) = exp(a(i, j))  c(i, j) = b(i, j) * b(i, j)"
     "  o(i, j) = c(i, j) + b(i, j) }",
     0},
    {"own elements of one plane",
     "def f(float(1, 512, 512) a) -> (o) { b(n, i, j) = exp(a(n, i, j))  o(n, i, j) = b(n, i, j) * b(n, i, j) }", 0},
    {"a result that is read",
     "def f(float(512, 512) a) -> (b, o) { b(i, j) = exp(a(i, j))  o(i, j) = b(i, j) + b(i, j + 1) }", 0},
    {"little data", "def f(float(20, 20) a) -> (o) { b(i, j) = exp(a(i, j))  o(i, j) = b(i, j) + b(i, j + 1) }", 0},
};
enum { CASES = sizeof cases / sizeof *cases };

static Space *space_of(Arena *arena, const Case *c, const Target *target) {
    return space_new(arena, program_of_text(arena, c->text, NULL, 0), target, NULL);
}

static void test_stages(Arena *arena, const Case *c, const Target *target) {
    const Space *space = space_of(arena, c, target);
    const Pipeline *pipeline = space->pipelines.count ? space->pipelines.items[0] : NULL;
    is_int(pipeline ? pipeline->count : 0, c->stages, "%s: %d stages", c->name, c->stages);
    ok(!pipeline == !c->stages && (!pipeline || pipeline->group), "%s: they have a group", c->name);
}

/* Points in strips are legal, whatever the genes; and every statement has an effect. */
static void test_points(Arena *arena, const Case *c, const Target *target) {
    Space *space = space_of(arena, c, target);
    const Group *group = space->pipelines.items[0]->group;
    Random random = {7};
    int point[space->gene_count], usable = 0, refused = 0;
    Text all = {.arena = arena};
    Arena *scratch = arena_new();
    for (int i = 0; i < POINTS; i++) {
        arena_reset(scratch);
        point_random(space, &random, point);
        point[group->first_gene] = 1;
        if (!point_plausible(space, point))
            continue;
        usable++;
        const Schedule *schedule = point_schedule(scratch, space, point);
        refused += !schedule || !nest_build(scratch, space->program, schedule, NULL, target, NULL);
        if (schedule)
            schedule_print_statements(&all, schedule);
    }
    ok(usable > POINTS / 3 && refused == 0, "%s: %d points of %d are usable, %d of them refused", c->name, usable,
       POINTS, refused);
    static const char *const places[] = {"inline(", "compute_at(", "store_at(", "vectorize(", "parallel("};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        ok(strstr(all.text, places[p]) || (p == 2 && group->root->axis_count == 1), "%s: some have %s...)", c->name,
           places[p]);
    bool outside = strstr(c->text, "x - 1) else") || strstr(c->text, "x + 1) else");
    ok(!strstr(all.text, "partition(") == !outside, "%s: ends of rows are cut off where they are tested", c->name);
    arena_free(scratch);
}

/* What the other way to compute a pipeline would take does not matter. */
static void test_genes(Arena *arena, const Target *target) {
    Space *space = space_of(arena, &cases[0], target);
    Group *group = space->pipelines.items[0]->group;
    int point[space->gene_count], other[space->gene_count];
    for (int strips = 0; strips <= 1; strips++) {
        point_start(space, point);
        point[group->first_gene] = strips;
        memcpy(other, point, sizeof point);
        other[space->groups.items[0]->first_gene] += 1; /* of the groups apart */
        bool apart = point_hash(space, point) != point_hash(space, other);
        bool fused = false;
        for (int g = 1; g < group->genes.count; g++) {
            memcpy(other, point, sizeof point);
            other[group->first_gene + g] += other[group->first_gene + g] + 1 < group->genes.items[g].count ? 1 : -1;
            fused |= point_hash(space, point) != point_hash(space, other);
        }
        ok(apart == !strips && fused == strips, "%s: only its own genes count", strips ? "in strips" : "apart");
        for (int g = 0; g < space->groups.count; g++)
            ok(group_is_used(space, space->groups.items[g], point) == ((space->groups.items[g] == group) == strips),
               "%s: group %d", strips ? "in strips" : "apart", g);
    }
}

static const char *text_of(Arena *arena, const Schedule *schedule) {
    Text text = {.arena = arena};
    if (schedule)
        schedule_print_statements(&text, schedule);
    return text.text ? text.text : "";
}

/* Points of one schedule have one hash, whatever else their genes say; others do not. */
static void test_equal_points(Arena *arena, const Target *target) {
    Target one = *target;
    one.threads = 1; /* then parallel loops are no choice */
    Space *space = space_of(arena, &cases[0], &one);
    const Group *group = space->pipelines.items[0]->group;
    Random random = {13};
    int point[space->gene_count], other[space->gene_count], equal = 0, parallel = 0, wrong = 0;
    for (int i = 0; i < POINTS; i++) {
        point_random(space, &random, point);
        point[group->first_gene] = 1;
        memcpy(other, point, sizeof point);
        int g = random_below(&random, group->genes.count);
        const Gene *gene = &group->genes.items[g];
        other[group->first_gene + g] = random_below(&random, gene->count);
        if (point_hash(space, point) != point_hash(space, other) || !memcmp(point, other, sizeof point))
            continue;
        equal++;
        parallel += gene->kind == GENE_PARALLEL;
        wrong += strcmp(text_of(arena, point_schedule(arena, space, point)),
                        text_of(arena, point_schedule(arena, space, other))) != 0;
    }
    ok(equal > 0 && wrong == 0, "%d points that differ have a schedule of another one", equal);
    ok(parallel > 0, "on one thread so do %d that differ in a parallel loop", parallel);
}

/* Few axes besides rows and vectors may be in the register tile. */
static void test_axes_inside(Arena *arena, const Target *target) {
    static const Case few = {"axes",
                             "def f(float(3, 1080, 1920) I) -> (O) {\n"
                             "a(y, x) = I(0, y, x) + I(1, y, x)\n"
                             "b(y, x) = (a(y - 1, x) else edge) + a(y, x) + (a(y + 1, x) else edge)\n"
                             "O(c, y, x) = b(y, x) * I(c, y, x) }",
                             3};
    static const Case many = {"axes",
                              "def f(float(9, 1080, 1920) I) -> (O) {\n"
                              "a(y, x) = I(0, y, x) + I(1, y, x)\n"
                              "b(y, x) = (a(y - 1, x) else edge) + a(y, x) + (a(y + 1, x) else edge)\n"
                              "O(c, y, x) = b(y, x) * I(c, y, x) }",
                              3};
    Space *space = space_of(arena, &few, target), *other = space_of(arena, &many, target);
    const Group *group = space->pipelines.items[0]->group;
    int point[space->gene_count], last = group->genes.count - 1;
    is_int(other->pipelines.items[0]->group->genes.count, last, "nine channels are not few");
    for (int inside = 0; inside <= 1; inside++) {
        point_start(space, point);
        point[group->first_gene] = 1;
        point[group->first_gene + last] = inside;
        const char *text = text_of(arena, point_schedule(arena, space, point));
        const char *order = strstr(text, "reorder(");
        bool before = order && strstr(order, "O.c") < strstr(order, "_O_ro");
        ok(order && before == !inside, "three channels are %s the loops over memory",
           inside ? "inside of" : "outside of");
    }
}

/* A mutation changes what is computed: the choice itself, or a gene of the way that is chosen. */
static void test_mutations(Arena *arena, const Target *target) {
    Space *space = space_of(arena, &cases[2], target);
    const Group *group = space->pipelines.items[0]->group;
    Random random = {11};
    int point[space->gene_count], other[space->gene_count], changed = 0, moved[2] = {0};
    for (int i = 0; i < POINTS; i++) {
        point_random(space, &random, point);
        memcpy(other, point, sizeof point);
        point_mutate(space, &random, other);
        changed += point_hash(space, point) != point_hash(space, other);
        moved[point[group->first_gene]] += point[group->first_gene] != other[group->first_gene];
    }
    ok(changed > POINTS * 9 / 10, "%d of %d mutations change the point", changed, POINTS);
    ok(moved[0] > 0 && moved[1] > 0, "some move into strips (%d) and out of them (%d)", moved[0], moved[1]);
}

/* A rule schedules a chain of stencils in strips: producers are counted from the root on, also through each other. */
static void test_rule(Arena *arena, const char *sizes, const char *condition, const Target *target) {
    const char *text = arena_printf(arena,
                                    "def f(float(%s) i) -> (d) { b(y, x) = i(y, x) + i(y + 1, x)\n"
                                    "c(y, x) = exp(b(y, x) + b(y + 1, x) + b(y + 2, x))\n"
                                    "d(y, x) = c(y, x) + c(y + 2, x) }\n"
                                    "rule strips on x86 applies %s {\n"
                                    "yo, yi = split(axis[0], ?rows in {4, 8})\n"
                                    "compute_at(producer[0], yi)  store_at(producer[0], yo)\n"
                                    "compute_at(producer[1], yi)  store_at(producer[1], yo)\n"
                                    "p, v = split(producer[1].axis[1], 16)  vectorize(v) }",
                                    sizes, condition);
    Space *space = space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL);
    const Group *group = space->pipelines.count ? space->pipelines.items[0]->group : NULL;
    ok(group && group->others.count == 1, "%s: the pipeline has a rule", sizes);
    if (!group || !group->others.count)
        return;
    int point[space->gene_count];
    point_start(space, point);
    point[group->first_gene] = 1;
    point[group->first_gene + group->others.items[0].gene] = group->others.items[0].choice;
    const char *rules = point_rules(arena, space, point), *strips = text_of(arena, point_schedule(arena, space, point));
    ok(rules && strcmp(rules, "strips for d") == 0, "%s: it is chosen for the last stage", sizes);
    const char *first = strstr(strips, "compute_at(c, "), *second = strstr(strips, "compute_at(b, ");
    ok(first && second && first < second && strstr(strips, "store_at(b, ") && strstr(strips, "split(b.x, 16)"),
       "%s: its statements are about both producers", sizes);
    ok(!space->misfits.length && !space->idle.length, "%s, %s: nothing is said of the groups apart", sizes, condition);
    Random random = {5};
    int other[space->gene_count], apart = 0;
    for (int i = 0; i < POINTS; i++) {
        memcpy(other, point, sizeof point);
        point_mutate(space, &random, other);
        apart += other[group->first_gene] == 0;
    }
    ok(apart > POINTS / 10 && apart < POINTS, "%s: %d of %d mutations take the stages apart", sizes, apart, POINTS);
    point[group->first_gene] = 0;
    ok(!point_rules(arena, space, point), "%s: apart there is no rule", sizes);
}

static void test_choice(Arena *arena, const Target *target) {
    const StaticChoice *choice =
        static_choice(arena, program_of_text(arena, cases[2].text, NULL, 0), target, EFFORT_MODEL, 0);
    Text text = {.arena = arena};
    schedule_print_statements(&text, choice->schedule);
    ok(strstr(text.text, "strip = split") || strstr(text.text, "strip, "), "-O2 computes sums of products in strips");
    ok(choice->point != NULL, "which is a point of the space");
}

/* Layers that may be in strips are explored once: what was chosen for the groups of the first one holds for all. */
static void test_layers(Arena *arena, const Target *target) {
    const char *text = "def layer(float(1, 24, 14, 14) x, float(48, 24) u, float(48, 3, 3) v) -> (y) {\n"
                       "s(n, e, i, j) +=! x(n, r, i, j) * u(e, r)  t(n, e, i, j) = min(max(s(n, e, i, j), 0.0), 6.0)\n"
                       "d(n, e, i, j) +=! (t(n, e, i + p - 1, j + q - 1) else 0.0) * v(e, p, q)"
                       " where i in 0:14, j in 0:14\n"
                       "z(n, e, i, j) = min(max(d(n, e, i, j), 0.0), 6.0)  m(n, c, i, j) +=! z(n, r, i, j) * u(r, c)\n"
                       "y(n, c, i, j) = m(n, c, i, j) + x(n, c, i, j) }\n"
                       "def f(float(1, 24, 14, 14) x, float(9, 48, 24) u, float(9, 48, 3, 3) v) -> (y) {\n"
                       "y(n, c, i, j) = x(n, c, i, j)  for l in 0:9 { y = layer(y, u(l), v(l)) } }\n"
                       "export f";
    const StaticChoice *choice = static_choice(arena, program_of_text(arena, text, NULL, 0), target, EFFORT_MODEL, 0);
    Space *space = choice->space;
    const int *same = equal_groups(arena, space);
    int apart = 0, equal = 0, different = 0;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g], *first = space->groups.items[same[g]];
        apart += group->apart != NULL;
        equal += group->apart && same[g] < g;
        different += memcmp(choice->chosen + group->first_gene, choice->chosen + first->first_gene,
                            sizeof(int) * (size_t)group->genes.count) != 0;
    }
    ok(apart > 6 && equal >= apart / 2, "of %d groups that may be in strips %d are equal to others", apart, equal);
    is_int(different, 0, "all of them have the same choices");
    ok(choice->point != NULL, "which are legal together");
}

int main(void) {
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    for (int c = 0; c < CASES; c++)
        test_stages(arena, &cases[c], &target);
    for (int c = 0; c < CASES; c++)
        if (cases[c].stages)
            test_points(arena, &cases[c], &target);
    test_genes(arena, &target);
    test_equal_points(arena, &target);
    test_axes_inside(arena, &target);
    test_mutations(arena, &target);
    test_choice(arena, &target);
    test_layers(arena, &target);
    test_rule(arena, "1030, 2048", "stencil, producers == 2", &target);
    test_rule(arena, "20, 40", "stencil, producers == 2", &target);
    test_rule(arena, "20, 40", "stencil", &target);
    arena_free(arena);
    return done_testing();
}
