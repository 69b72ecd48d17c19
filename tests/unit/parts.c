/* parts.c - what a nest of one group is built from: a part of the program that does not grow with it, and of which the
 * group's stages have the nests, and the estimates, that they have in the whole; and how groups are put together.
 */
#include "autosched/search/policies.h"
#include "autosched/space/groups.h"
#include "autosched/space/tile/tile.h"
#include "driver/driver.h"
#include "lower/kernel/kernel.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

enum { POINTS = 40 };

static const char *const texts[] = {
    "def f(float(64, 64) x, const float(64, 64) a, const float(64, 64) b) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) = max(t(i, j), 0.0)  v(i, j) +=! u(i, r_k) * b(r_k, j)\n"
    "y(i, j) = v(i, j) + x(i, j) }",
    /* one constant for two products, and one that is made of it */
    "def f(float(64, 64) x, const float(64, 64) a) -> (y) {\n"
    "c(i, j) = a(i, j) * 2  t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * a(r_k, j)\n"
    "y(i, j) +=! u(i, r_k) * c(r_k, j) }",
    "def f(float(M, N) x) -> (y, z) {\n"
    "top(i) max=! x(i, r_j)  e(i, j) = exp(x(i, j) - top(i))  sum(i) +=! e(i, r_j)  y(i, j) = e(i, j) / sum(i)\n"
    "t(j) +=! y(r_i, j)  z(i, j) = y(i, j) - t(j) }",
    "def f(float(N) x) -> (y) { z(i) = x(i) + x(i + 1)  b(i) = z(i) * z(i + 1) + z(i + 2) / 3\n"
    "c(i) = b(i) + b(i + 1)  d() +=! c(r_i)  y(i) = c(i) * d() where exists c(i) }",
    /* before a scan, in it, what it takes in and what is inlined into it, and behind it */
    "def f(float(64, 64) x, const float(64, 64) a) -> (y, c) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  e(i, j) = exp(t(i, j)) + x(i, j)  g(i, j) = e(i, j) * 2\n"
    "scan i { c(i, j) = (c(i - 1, j) else 0.0) * 0.5 + g(i, j) }\n"
    "u(i, j) = c(i, j) + e(i, j)  y(i, j) +=! u(i, r_k) * a(r_k, j) }",
    /* two recurrent layers: what leaves the scan before and behind it, and buffers of one step */
    "def f(float(8, 32) x, const float(32, 32) a) -> (y, z) {\n"
    "scan t { g(t, j) = 0.5  g(t, j) += x(t, r_i) * a(r_i, j)  g(t, j) += (h(t - 1, r_k) else 0.0) * a(r_k, j)\n"
    "    h(t, j) = tanh(g(t, j)) }\n"
    "scan s { q(s, j) +=! (p(s - 1, r_k) else 0.0) * a(r_k, j)  e(s, j) = exp(q(s, j)) + h(s, j)\n"
    "    p(s, j) = e(s, j) / (e(s, j) + 1)  w(s, j) +=! p(s, r_k) * a(r_k, j) }\n"
    "y(i, j) = h(i, j) + w(i, j)  z(i) +=! p(i, r_j) }",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* Points of a group of which the part says something else than the whole. */
static int different_points(Space *part, Space *whole, int group, Random *random) {
    int *point = ARENA_ARRAY(part->arena, int, part->gene_count + 1), different = 0;
    Arena *scratch = arena_new();
    point_start(part, point);
    for (int i = 0; i < POINTS; i++) {
        arena_reset(scratch);
        different += point_estimate(scratch, part, point, group) != point_estimate(scratch, whole, point, group);
        group_random(part, group, random, point);
    }
    arena_free(scratch);
    return different;
}

/* As if the export had bound it to a file. */
static Program *with_constants(Program *program) {
    for (int t = 0; t < program->tensor_count; t++)
        if (strcmp(program->tensors[t]->name, "a") == 0)
            ((Tensor *)program->tensors[t])->role = ROLE_CONSTANT;
    return program;
}

static void test_estimates(Arena *arena, int text, const Target *target) {
    Program *program = with_constants(program_of_text(arena, texts[text], NULL, 0));
    Space *part = space_new(arena, program, target, NULL), *whole = space_new(arena, program, target, NULL);
    Random random = {7};
    int different = 0, parts = 0;
    for (int g = 0; g < part->groups.count; g++) {
        whole->groups.items[g]->part = program;
        different += different_points(part, whole, g, &random);
        parts += group_program(part, part->groups.items[g])->stage_count < program->stage_count;
    }
    ok(different == 0 && parts > 0, "program %d: in %d of %d groups a part tells what the whole does; %d differ", text,
       parts, part->groups.count, different);
}

enum { STAGES = 60 };

static Program *long_program(Arena *arena) {
    Text text = {.arena = arena};
    text_add(&text, "def f(float(32, 32) x, float(32, 32) a) -> (y) { t0(i, j) = x(i, j)\n");
    for (int s = 1; s <= STAGES; s++)
        text_add(&text, "t%d(i, j) +=! t%d(i, r_k) * a(r_k, j)\n", s, s - 1);
    text_add(&text, "y(i, j) = t%d(i, j) }", STAGES);
    return program_of_text(arena, text.text, NULL, 0);
}

/* Also where all stages read one constant. */
static void test_size(Arena *arena, const Target *target, bool constant) {
    Program *program = long_program(arena);
    Space *space = space_new(arena, constant ? with_constants(program) : program, target, NULL);
    const int *same = equal_groups(arena, space);
    int most = 0, equal = 0;
    for (int g = 0; g < space->groups.count; g++) {
        equal += same[g] < g;
        int count = group_program(space, space->groups.items[g])->stage_count;
        most = count > most ? count : most;
    }
    ok(space->groups.count >= STAGES && most <= 2, "%d groups of a long program: parts of at most %d stages",
       space->groups.count, most);
    ok(equal >= STAGES - 4, "of which %d are equal to others", equal);
}

static const char *nest_text(Arena *arena, const Nest *nest) {
    Text text = {.arena = arena};
    nest_print(&text, nest);
    return text.text;
}

/* Equal groups have the same choices. Their code counts once, so that it is not too much, however many there are. The
 * schedule comes with its nest. */
static void test_choice(Arena *arena, const Target *target) {
    const Program *program = long_program(arena);
    const StaticChoice *choice = static_choice(arena, program, target, EFFORT_MODEL, 1);
    const Nest *nest = nest_build(arena, program, choice->schedule, NULL, target, NULL);
    Space *space = choice->space;
    const int *same = equal_groups(arena, space);
    int smaller = 0, different = 0;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g], *first = space->groups.items[same[g]];
        smaller += choice->smaller[g];
        different += choice->smaller[g] != choice->smaller[same[g]];
        different += memcmp(choice->chosen + group->first_gene, choice->chosen + first->first_gene,
                            sizeof(int) * (size_t)group->genes.count) != 0;
    }
    ok(smaller == 0 && different == 0, "%d equal groups are made smaller, %d have other choices than the first",
       smaller, different);
    ok(choice->nest && !strcmp(nest_text(arena, choice->nest), nest_text(arena, nest)), "a choice has its nest");
}

/* Each read of a stencil may be cached or not: the search for a structure stays short, however many there are. */
static void test_structures(Arena *arena, const Target *target) {
    enum { STRUCTURES = 4000, LONGEST = 12 };
    const char *text = "def f(float(N, M, K) a) -> (b) {\n"
                       "    b(i, j, k) +=! (a(i + r + 2, j - 3, k + 1) else wrap)\n"
                       "        - (a(i, j - 2, 2*k - 1) else reflect) - (a(N - 1 - i, M - 1 - j, k - 1) else wrap)\n"
                       "        where i in 0:N, j in 0:M, k in 0:K, r in 0:3 }\n";
    Space *space = space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL);
    Group *group = space->groups.items[0];
    int *genes = ARENA_ARRAY(arena, int, space->gene_count + 1), longest = 0;
    Random random = {1};
    for (int i = 0; i < STRUCTURES; i++) {
        for (int g = 0; g < group->genes.count; g++)
            genes[g] = random_below(&random, group->genes.items[g].count);
        group_sketch(space, group, genes);
    }
    for (int c = 0; c < group->chain_count; c++) {
        int length = 0;
        for (const struct CachedSketch *cached = group->sketches[c]; cached; cached = cached->next)
            length++;
        longest = length > longest ? length : longest;
    }
    ok(group->sketch_count > STRUCTURES / 4 && longest <= LONGEST,
       "%d structures of a statement with three reads: at most %d are looked through for one", group->sketch_count,
       longest);
}

/* The names of what many reads may be packed into are short. */
static void test_operand_names(Arena *arena, const Target *target) {
    enum { READS = 90 };
    Text text = {.arena = arena};
    text_add(&text, "def f(float(64, 64) a) -> (b) { b(i, j) = a(i, j)");
    for (int r = 1; r < READS; r++)
        text_add(&text, " + (a(i, j + %d) else 1)", r);
    text_add(&text, " }");
    Space *space = space_new(arena, program_of_text(arena, text.text, NULL, 0), target, NULL);
    const Tile *tile = space->groups.items[0]->details;
    size_t longest = 0;
    for (int i = 0; i < tile->operands.count; i++) {
        size_t length = strlen(tile->operands.items[i].name);
        longest = length > longest ? length : longest;
    }
    ok(space->groups.items[0]->tiled && tile->operands.count == READS && longest <= strlen("a_p89"),
       "the names of %d operands have at most %zu letters", tile->operands.count, longest);
}

/* The groups that have the same points where `a` is given ahead of all calls as where it is not. */
static int groups_as_before(Arena *arena, const char *text, const Target *target) {
    Space *before = space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL);
    Space *given = space_new(arena, with_constants(program_of_text(arena, text, NULL, 0)), target, NULL);
    int same = 0;
    for (int g = 0; g < given->groups.count; g++)
        same += group_in(before, given, g) >= 0;
    return same;
}

static void test_given(Arena *arena, const Target *target) {
    const char *head = "def f(float(64, 64) x, const float(64, 64) a) -> (y, z) {";
    const char *rest = "z(i, j) +=! x(i, r_k) * x(j, r_k) }";
    const char *element = arena_printf(arena, "%s y(i) +=! x(i, r_k) * a(1, 2) %s", head, rest);
    const char *row = arena_printf(arena, "%s y(i) +=! x(i, r_k) * a(1, r_k) %s", head, rest);
    is_int(groups_as_before(arena, element, target), 2, "an element of a constant leaves its group as it is");
    is_int(groups_as_before(arena, row, target), 1, "a row of it does not");
}

/* A group's part has no more of the program than its scan, also where its root was taken out of it. */
static void test_scans(Arena *arena, const Target *target) {
    const Program *program = program_of_text(arena, texts[TEXTS - 1], NULL, 0);
    Space *space = space_new(arena, program, target, NULL);
    int in_scan = 0, most = 0;
    for (int g = 0; g < space->groups.count; g++) {
        const Program *part = group_program(space, space->groups.items[g]);
        const Scan *scan = space->groups.items[g]->root->scan;
        in_scan += scan != NULL;
        for (int s = 0; s < part->stage_count && part->stages[s]->scan == scan; s++)
            most = s + 1 > most ? s + 1 : most;
        ok(part->stage_count <= space->groups.items[g]->stage_count + 3, "group %d: a part of %d stages", g,
           part->stage_count);
    }
    ok(in_scan >= 4 && most <= 4, "%d groups of scans: of %d stages at most are parts", in_scan, most);
}

/* Recurrent layers are equal, the statements of one scan are not. */
static void test_equal_scans(Arena *arena, const Target *target) {
    enum { LAYERS = 20 };
    Text text = {.arena = arena};
    text_add(&text, "def f(float(8, 32) x, float(32, 32) a) -> (y) { e0(t, j) = x(t, j)\n");
    for (int l = 1; l <= LAYERS; l++)
        text_add(&text,
                 "scan t { g%d(t, j) +=! (h%d(t - 1, r) else 0.0) * a(r, j)  h%d(t, j) = tanh(g%d(t, j)) + e%d(t, j)\n"
                 "    c%d(t, j) = (c%d(t - 1, j) else 0.0) * 0.5 + h%d(t, j)\n"
                 "    e%d(t, j) = (e%d(t - 1, j) else 0.0) * 0.5 + c%d(t, j) }\n",
                 l, l, l, l, l - 1, l, l, l, l, l, l);
    text_add(&text, "y(t, j) = e%d(t, j) }", LAYERS);
    Space *space = space_new(arena, program_of_text(arena, text.text, NULL, 0), target, NULL);
    const int *same = equal_groups(arena, space);
    int equal = 0, mixed = 0;
    for (int g = 0; g < space->groups.count; g++) {
        equal += same[g] < g;
        mixed += space->groups.items[g]->root->name[0] != space->groups.items[same[g]]->root->name[0];
    }
    ok(space->groups.count >= 2 * LAYERS && equal >= space->groups.count - 8 && mixed == 0,
       "of %d groups of recurrent layers %d are equal to another, %d to one of another statement", space->groups.count,
       equal, mixed);
}

/* A tile whose copies are too much code, or need too many registers, is made smaller until it fits. */
static void test_tiles_fit(Arena *arena) {
    const char *text = "def f(half(70, 640) a) -> (b) {\n"
                       "    b(i, j) = half(sin((a(i, j - 1) else wrap)) * cos((a(i - 1, j + 2) else wrap)) +\n"
                       "        tanh((a(i + 1, j) else reflect))) where i in 0:70, j in 0:640 }\n";
    Target target = *target_find("x86-64");
    Space *space = space_new(arena, program_of_text(arena, text, NULL, 0), &target, NULL);
    const Group *group = space->groups.items[0];
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    point_start(space, point);
    for (int g = 0; g < group->genes.count; g++)
        if (!group->genes.items[g].structural)
            point[g] = group->genes.items[g].count - 1;
    bool before = group_plausible(space, 0, point);
    group_fit(space, 0, point);
    ok(!before && group_plausible(space, 0, point), "a tile that is too large for a long value is made smaller");
}

/* Genes of a group that are not legal, whatever the others are. */
static void spoil(Space *space, int number, Random *random, int *point) {
    const Group *group = space->groups.items[number];
    Arena *scratch = arena_new();
    do {
        arena_reset(scratch);
        for (int g = 0; g < group->genes.count; g++)
            point[group->first_gene + g] = random_below(random, group->genes.items[g].count);
    } while (point_nest(scratch, space, point, number));
    arena_free(scratch);
}

/* The groups, from the result's on, that have statements in the schedule, as letters; the others as points. */
static const char *scheduled_groups(Arena *arena, const Space *space, const Schedule *schedule) {
    char *letters = ARENA_ARRAY(arena, char, space->groups.count + 1);
    for (int g = 0; g < space->groups.count; g++) {
        const char *root = space->groups.items[g]->root->name;
        letters[g] = '.';
        for (int p = 0; p < schedule->count; p++)
            for (int i = 0; i < schedule->prims[p].arg_count; i++) {
                const char *name = schedule->prims[p].args[i].name;
                if (name && name[0] == root[0] && (name[1] == '.' || !name[1]))
                    letters[g] = root[0];
            }
    }
    return letters;
}

/* What is not legal at a point stays plain, alone, and is named. */
static void test_combined(Arena *arena, const Target *target) {
    static const struct {
        const char *spoiled, *scheduled, *refused;
    } rows[] = {{"", "yvut", ""},       {"y", ".vut", "y"},     {"t", "yvu.", "t"},
                {"vu", "y..t", "v, u"}, {"yt", ".vu.", "y, t"}, {"yvut", "....", "y, v, u, t"}};
    const char *text = "def f(float(64, 64) x, float(64, 64) a) -> (y) {\n"
                       "    t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * a(r_k, j)\n"
                       "    v(i, j) +=! u(i, r_k) * a(r_k, j)  y(i, j) +=! v(i, r_k) * a(r_k, j) }\n";
    Program *program = program_of_text(arena, text, NULL, 0);
    Random random = {3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Space *space = space_new(arena, program, target, NULL);
        int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
        point_start(space, point);
        for (int g = 0; g < space->groups.count; g++)
            if (strchr(rows[i].spoiled, space->groups.items[g]->root->name[0]))
                spoil(space, g, &random, point);
        const Nest *nest;
        Schedule *schedule = space_combine(arena, space, point, NULL, &nest);
        ok(nest_build(arena, program, schedule, NULL, target, NULL) != NULL, "without '%s' a program is legal",
           rows[i].spoiled);
        is_text(scheduled_groups(arena, space, schedule), rows[i].scheduled, "all others are scheduled");
        is_text(schedule->refused ? schedule->refused : "", rows[i].refused, "and they are named");
        Text notes = {.arena = arena};
        schedule_notes(&notes, schedule, "f: ");
        const char *line = notes.length ? strstr(notes.text, "f: left with plain loops") : NULL;
        ok(*rows[i].refused ? line && strstr(line, arena_printf(arena, " legal: %s\n", rows[i].refused)) : !line,
           "which is said");
    }
}

/* What cheap nests leave of a limit goes to the expensive ones; these are cut at the same height. */
static void test_shares(void) {
    static const int64_t amounts[] = {10, 1000, 20, 4000, 30, 4000};
    int64_t share = fair_share(amounts, 6, 3000), used = 0, all = fair_share(amounts, 6, 100000);
    for (int i = 0; i < 6; i++)
        used += amounts[i] < share ? amounts[i] : share;
    ok(share >= 970 && used <= 3000 && used > 2990, "of 3000, nests of 10, 20 and 30 leave the others %d each",
       (int)share);
    ok(all >= 4000, "what all have together needs no shares");
    ok(fair_share(amounts, 0, 100) == 100, "nor does nothing");
}

/* A tile is made smaller by about the part that is asked for, down to one copy. */
static void test_shrinks(Arena *arena, const Target *target) {
    const char *text = "def f(float(256, 256) a, float(256, 256) b) -> (c) { c(i, j) +=! a(i, r_k) * b(r_k, j) }";
    Space *space = space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1), steps = 0;
    point_start(space, point);
    uint64_t before = point_hash(space, point);
    double body = group_body(space, 0, point);
    bool shrunk = group_shrink(space, 0, 0.5, point);
    ok(group_body(space, 0, point) <= 0.5 * body && body >= 4, "half of a body of %g copies", body);
    ok(shrunk && point_hash(space, point) != before && group_plausible(space, 0, point), "a tile becomes smaller");
    while (group_shrink(space, 0, 0.5, point) && steps < 100)
        steps++;
    ok(steps > 0 && steps < 20 && group_body(space, 0, point) == 1, "until it is one copy: %d times", steps);
}

/* The second product reads the first. */
static Space *two_products(Arena *arena, const Target *target) {
    const char *text = "def f(float(48, 64) x, float(64, 64) a, float(48, 48) b) -> (y) {\n"
                       "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) +=! b(i, r_k) * t(r_k, j) }";
    return space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL);
}

/* Choices of structure that differ between the two groups. */
static int different_structure(const Space *space, const int *a, const int *b) {
    const Group *first = space->groups.items[0], *second = space->groups.items[1];
    int different = 0;
    for (int i = 0; i < first->genes.count; i++)
        different += first->genes.items[i].structural && a[first->first_gene + i] != b[second->first_gene + i];
    return different;
}

static void test_similar(Arena *arena, const Target *target) {
    Space *space = two_products(arena, target);
    int *chosen = ARENA_ARRAY(arena, int, space->gene_count + 1), *point = ARENA_ARRAY(arena, int, space->gene_count);
    Random random = {5};
    point_start(space, chosen);
    point_start(space, point);
    ok(space->groups.count == 2 && !take_similar(space, 0, chosen, point), "the first group is like none before it");
    int different = 0, plausible = 0, taken = 0;
    for (int i = 0; i < POINTS; i++) {
        group_random(space, 0, &random, chosen);
        taken += take_similar(space, 1, chosen, point);
        different += different_structure(space, chosen, point);
        plausible += group_plausible(space, 1, point);
    }
    ok(taken == POINTS && different == 0, "the second product takes the structure of the first: %d differ", different);
    ok(plausible > POINTS / 2, "and sizes that fit: %d of %d", plausible, POINTS);
    const Group *from = space->groups.items[0], *to = space->groups.items[1];
    int size = -1;
    for (int i = 0; i < from->genes.count && size < 0; i++)
        size = from->genes.items[i].kind == GENE_TILE && from->genes.items[i].count > 4 ? i : -1;
    const Gene *a = &from->genes.items[size], *b = &to->genes.items[size];
    int same = 0, listed = 0;
    for (int c = 0; c < a->count; c++) {
        point_start(space, chosen);
        chosen[from->first_gene + size] = c;
        if (!group_plausible(space, 0, chosen) || a->count != b->count)
            continue;
        take_similar(space, 1, chosen, point);
        int other = point[to->first_gene + size];
        size_t bytes = sizeof *a->values * (size_t)a->width;
        same += !memcmp(&a->values[c * a->width], &b->values[other * b->width], bytes);
        listed++;
    }
    ok(same == listed && listed > 2, "sizes that both list stay: %d of %d", same, listed);
    space->groups.items[0]->skipped = true;
    ok(!take_similar(space, 1, chosen, point), "a group with plain loops is no example");
}

/* Bytes of memory that lowering takes for a sum of so many reads that have one condition. */
static size_t bytes_of_reads(const Target *target, int reads) {
    Arena *arena = arena_new(), *lowered = arena_new();
    Text text = {.arena = arena};
    text_add(&text, "def f(float(N, M) a) -> (c) {\n"
                    "    b(i, j) = (a(i, 3*j - 2) else wrap) where i in 0:N, j in 0:M\n    c(i, j) = 0");
    for (int i = 0; i < reads; i++)
        text_add(&text, " + (b(i - 2, j - 3) else 0) * %d", i + 2);
    text_add(&text, " where i in 0:N, j in 0:M }");
    const Program *program = program_of_text(arena, text.text, NULL, 0);
    Space *space = space_new(arena, program, target, NULL);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    point_start(space, point);
    const Nest *nest = point_nest(arena, space, point, -1);
    ok(nest != NULL, "a sum of %d reads is legal", reads);
    if (nest)
        expand(lowered, nest, NULL);
    size_t bytes = arena_bytes(lowered);
    arena_free(lowered);
    arena_free(arena);
    return bytes;
}

/* What a condition becomes in a copy is found once, not for each read that has it. */
static void test_shared_conditions(const Target *target) {
    size_t few = bytes_of_reads(target, 4), many = bytes_of_reads(target, 20);
    ok(many < 4 * few, "20 reads of one condition take %zu kB of memory, 4 take %zu", many / 1000, few / 1000);
}

int main(void) {
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    for (int t = 0; t < TEXTS; t++)
        test_estimates(arena, t, &target);
    test_size(arena, &target, false);
    test_size(arena, &target, true);
    test_choice(arena, &target);
    test_structures(arena, &target);
    test_operand_names(arena, &target);
    test_given(arena, &target);
    test_scans(arena, &target);
    test_equal_scans(arena, &target);
    test_tiles_fit(arena);
    test_combined(arena, &target);
    test_shares();
    test_shrinks(arena, &target);
    test_similar(arena, &target);
    test_shared_conditions(&target);
    arena_free(arena);
    return done_testing();
}
