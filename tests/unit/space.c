/* space.c - the search space: every sketch that is used makes legal schedules with any choices, on many programs and
 * shapes; defaults are legal, good and the same each time; a user's holes are a space too.
 */
#include "autosched/model/profile.h"
#include "autosched/space/groups.h"
#include "autosched/search/policies.h"
#include "lang/machine.h"
#include "parser/ast.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/schedules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Case {
    const char *name;
    Program *program;
} Case;

static const int64_t sizes[] = {1, 2, 15, 16, 17, 31, 64, 127};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes, POINTS = 60 };

static Target wide_target(int threads) {
    Target target = *target_find("x86-64-v4");
    target.threads = threads;
    return target;
}

static Schedule *identity_of(Arena *arena, const Program *program) {
    Target target = wide_target(2);
    return autosched_default(arena, program, &target, NULL, EFFORT_IDENTITY, 0);
}

/* Random points of a program's space that the nest refuses; *idle counts statements without effect. */
static int refused_points(Arena *arena, const Program *program, const Target *target, int count, int *unusable,
                          int *idle) {
    Space *space = space_new(arena, program, target, NULL);
    Random random = {3};
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1), refused = 0;
    Arena *scratch = arena_new();
    for (int i = 0; i < count; i++) {
        arena_reset(scratch);
        point_random(space, &random, point);
        if (!point_plausible(space, point)) {
            ++*unusable;
            continue;
        }
        Schedule *schedule = point_schedule(scratch, space, point);
        Nest *nest = schedule ? nest_build(scratch, program, schedule, NULL, target, NULL) : NULL;
        refused += !nest;
        *idle += nest ? nest->ineffective_count : 0;
    }
    arena_free(scratch);
    return refused;
}

static void test_acceptance(Arena *arena, const Case *cases, int count) {
    int all = 0, refused = 0, unusable = 0, idle = 0;
    Target target = wide_target(2);
    for (int c = 0; c < count; c++) {
        int here = refused_points(arena, cases[c].program, &target, POINTS, &unusable, &idle);
        if (here > POINTS / 10)
            diag_line("%s: %d of %d points refused", cases[c].name, here, POINTS);
        refused += here;
        all += POINTS;
    }
    ok(refused * 50 <= all, "%d of %d random points are refused: at most 2 in 100", refused, all);
    ok(unusable * 20 <= all, "%d of %d have no usable sketch: at most 5 in 100", unusable, all);
    ok(idle * 20 <= all, "%d statements of %d schedules have no effect: at most 5 in 100", idle, all);
}

static void test_shapes(Arena *arena) {
    int all = 0, refused = 0, unusable = 0, idle = 0;
    Target target = wide_target(2);
    for (int m = 0; m < SIZE_COUNT; m++)
        for (int n = 0; n < SIZE_COUNT; n++) {
            Program *program = program_matmul(arena, TYPE_FLOAT, sizes[m], sizes[n], sizes[(m + 3 * n) % SIZE_COUNT]);
            refused += refused_points(arena, program, &target, 12, &unusable, &idle);
            all += 12;
        }
    ok(refused * 50 <= all, "matmul on boundary shapes: %d of %d refused", refused, all);
    ok(unusable * 20 <= all, "matmul on boundary shapes: %d of %d without a usable sketch", unusable, all);
}

static Estimate whole_estimate(Arena *arena, const Program *program, const Schedule *schedule, const Target *target) {
    Nest *nest = nest_build(arena, program, schedule, NULL, target, NULL);
    return nest ? static_estimate(profile_nest(arena, nest), target) : (Estimate){.seconds = HUGE_VAL};
}

static double estimate_of(Arena *arena, const Program *program, const Schedule *schedule, const Target *target) {
    return estimated_seconds(arena, program, schedule, target);
}

static const char *text_of(Arena *arena, const Schedule *schedule) {
    Text text = {.arena = arena};
    text_add(&text, "%s", "");
    schedule_print_statements(&text, schedule);
    return text.text ? text.text : "";
}

static void test_defaults(Arena *arena, const Case *cases, int count) {
    Target target = wide_target(2);
    for (int c = 0; c < count; c++) {
        const Program *program = cases[c].program;
        Schedule *fixed = autosched_default(arena, program, &target, NULL, EFFORT_FIXED, 0);
        Schedule *model = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
        Schedule *again = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
        double plain = estimate_of(arena, program, identity_of(arena, program), &target);
        double by_rules = estimate_of(arena, program, fixed, &target),
               by_model = estimate_of(arena, program, model, &target);
        ok(by_rules < HUGE_VAL, "%s: -O1 is legal", cases[c].name);
        ok(by_model <= plain * 1.01 && by_model <= by_rules * 1.01,
           "%s: -O2 is legal and thought as fast as -O0 and -O1 or faster", cases[c].name);
        is_text(text_of(arena, model), text_of(arena, again), "%s: -O2 is the same again", cases[c].name);
    }
}

/* What a kind of starting points is explored with does not leave the kind. */
static void test_kinds(Arena *arena) {
    Target target = wide_target(1);
    Program *program = program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 64, 7, 7, 64, 3, 3, 1, 1, 1});
    Space *space = space_new(arena, program, &target, NULL);
    Group *group = space->groups.items[0];
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1), left = 0, free_to_leave = 0;
    Random random = {1};
    is_int(group->others.count, 3, "a padded convolution has two kinds that leave terms out, one that reads in place");
    for (int o = 0; o < group->others.count; o++) {
        OtherStart other = group->others.items[o];
        int *gene = point + group->first_gene + other.gene;
        point_start(space, point);
        left += *gene == other.choice;
        *gene = other.choice;
        for (int i = 0; i < 2 * POINTS; i++) {
            group->genes.items[other.gene].kept = true;
            (i % 2 ? group_random : group_mutate)(space, 0, &random, point);
            left += *gene != other.choice;
            *gene = other.choice;
            group->genes.items[other.gene].kept = false;
            (i % 2 ? group_random : group_mutate)(space, 0, &random, point);
            free_to_leave += *gene != other.choice;
            *gene = other.choice;
        }
    }
    is_int(left, 0, "no point leaves the kind that is kept");
    ok(free_to_leave > 0, "others do");
}

/* Where the widest vectors are worked on in halves, arithmetic takes longer, memory does not. */
static void test_split_vectors(Arena *arena) {
    Target target = wide_target(1), split = target;
    Machine halves_machine = *target.machine;
    halves_machine.widest_slots = 2;
    split.machine = &halves_machine;
    Program *program = program_matmul(arena, TYPE_FLOAT, 256, 256, 256);
    Schedule *schedule = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
    double whole = estimate_of(arena, program, schedule, &target),
           halves = estimate_of(arena, program, schedule, &split);
    ok(halves > 1.2 * whole && halves <= 2 * whole, "a matmul in halves is thought slower: %.2f times", halves / whole);
    double plain = estimate_of(arena, program, identity_of(arena, program), &target);
    ok(plain == estimate_of(arena, program, identity_of(arena, program), &split), "plain loops have nothing to split");
}

static bool mentions(Arena *arena, const Schedule *schedule, const char *word) {
    return strstr(text_of(arena, schedule), word) != NULL;
}

static void test_quality(Arena *arena) {
    Target target = wide_target(2);
    Program *program = program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 256, 14, 14, 256, 3, 3, 1, 1, 1});
    Schedule *schedule = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "register") && mentions(arena, schedule, "vectorize") &&
           mentions(arena, schedule, "parallel"),
       "-O2 of a convolution has a register tile, vectors, threads");
    Target single = wide_target(1);
    schedule = autosched_default(arena, program, &single, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "parallel"), "no parallel loops for one thread");
    schedule = autosched_default(arena, program_matmul(arena, TYPE_FLOAT, 4, 4, 4), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "parallel"), "nor for 128 operations");
    program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 64, 56, 56, 64, 3, 3, 1, 1, 1});
    schedule = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "compute_at(O[0]") && mentions(arena, schedule, "inline(O[1])"),
       "bias and relu are fused into the convolution's tile");
    program = program_row_sum(arena, TYPE_FLOAT, 512, 300);
    schedule = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "rfactor") && mentions(arena, schedule, "vectorize"), "sums of rows are vectors");
    program->strict = true;
    schedule = autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "rfactor"), "but not under -fstrict");
    schedule = autosched_default(arena, program_row_sum(arena, TYPE_FLOAT, 1, 1 << 20), &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "parallel"), "threads share a single row");
    schedule = autosched_default(arena, program_row_sum(arena, TYPE_FLOAT, 1, 1 << 12), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "parallel"), "but not a short one");
    schedule =
        autosched_default(arena, program_row_sum(arena, TYPE_FLOAT, 64, 1 << 14), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "compute_root"), "nor one of many");
    schedule = autosched_default(arena, program_matmul(arena, TYPE_FLOAT, 512, 1, 512), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "rfactor"), "nor where the operand does not lie along the reduction");
}

/* A stage that is read at several places by one that is inlined is computed once for all of them. */
static void test_inlined_through(Arena *arena) {
    static const char text[] = "def f(float(512, 512) a, float(512, 512) w) -> (z) {\n"
                               "    m(i, j) +=! a(i, r) * w(r, j)\n"
                               "    s(i, j) = tanh(a(i, j))\n"
                               "    t(i, j) = (s(i - 1, j) else edge) + (s(i + 1, j) else edge) where i in 0:512\n"
                               "    z(i, j) = t(i, j) + m(i, j) }\nexport f\n";
    Target target = wide_target(1);
    Schedule *schedule =
        autosched_default(arena, program_of_text(arena, text, NULL, 0), &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "inline(t)") && !mentions(arena, schedule, "inline(s)"),
       "a stage is not inlined into what reads it twice through another stage");
}

static void test_blocks(Arena *arena) {
    Target target = wide_target(2);
    Schedule *schedule = autosched_default(arena, program_scores(arena, 1536, 128, 64), &target, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "compute_at(p, ") && mentions(arena, schedule, "acc = cache_write(p, at="),
       "the product before a softmax has a register tile in blocks of the softmax's rows");
    ok(mentions(arena, schedule, "i_block") && mentions(arena, schedule, "compute_at(top, "),
       "which are its own loops");
    schedule = autosched_default(arena, program_scores(arena, 4, 128, 64), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "compute_at(p, "), "but not where rows are few");
    schedule = autosched_default(arena, program_scores(arena, 512, 4096, 4096), &target, NULL, EFFORT_MODEL, 0);
    ok(!mentions(arena, schedule, "compute_at(p, "), "nor where what all blocks read again is large");
}

/* The gene of a space's only group whose name ends with these words, or NULL. */
static const Gene *gene_named(const Space *space, const char *words) {
    const Group *group = space->groups.items[0];
    for (int g = 0; g < group->genes.count; g++) {
        const char *found = strstr(group->genes.items[g].name, words);
        if (found && strcmp(found, words) == 0)
            return &group->genes.items[g];
    }
    return NULL;
}

static bool has_pieces(Arena *arena, Program *program, int threads) {
    Target target = wide_target(threads);
    return gene_named(space_new(arena, program, &target, NULL), " pieces") != NULL;
}

/* Whether all numbers of pieces are powers of two, with a power of two of them side by side. */
static bool sizes_are_powers(const Gene *sizes, int64_t extent) {
    bool powers = sizes && sizes->count > 0;
    for (int c = 0; powers && c < sizes->count; c++) {
        int64_t pieces = (extent + sizes->values[2 * c] - 1) / sizes->values[2 * c], sides = sizes->values[2 * c + 1];
        powers = pieces > 1 && (pieces & (pieces - 1)) == 0 && (sides & (sides - 1)) == 0 && sides <= pieces;
    }
    return powers;
}

/* Few results of a long reduction (split-K). */
static void test_pieces(Arena *arena) {
    Target one = wide_target(1), many = wide_target(8);
    Program *program = program_matmul(arena, TYPE_FLOAT, 4, 16, 200000), *strict = ARENA_NEW(arena, Program);
    *strict = *program;
    strict->strict = true;
    Space *space = space_new(arena, program, &one, NULL);
    ok(sizes_are_powers(gene_named(space, " sizes of pieces"), 200000),
       "a long reduction may be cut into powers of two");
    is_int(space->groups.items[0]->others.count, 1, "which is another kind of starting point");
    ok(!has_pieces(arena, strict, 1), "not where the order of sums is kept");
    strict = ARENA_NEW(arena, Program);
    *strict = *program_matmul(arena, TYPE_INT32, 4, 16, 200000);
    strict->strict = true;
    ok(has_pieces(arena, strict, 1), "but integers have none");
    ok(!has_pieces(arena, program_matmul(arena, TYPE_FLOAT, -1, -1, -1), 8), "not with sizes known at run time");
    ok(!has_pieces(arena, program_matmul(arena, TYPE_FLOAT, 256, 256, 4096), 8), "nor where there are enough results");
    ok(!has_pieces(arena, program_matmul(arena, TYPE_FLOAT, 4, 16, 1000), 8), "nor where the reduction is short");
    Program *more = program_matmul(arena, TYPE_FLOAT, 16, 64, 50000);
    ok(has_pieces(arena, more, 8) && !has_pieces(arena, more, 1), "more threads need pieces for more results");
    Schedule *schedule = autosched_default(arena, program, &one, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "acc = cache_write(C_s, at="), "partial results have the register tile");
    schedule = autosched_default(arena, program, &many, NULL, EFFORT_MODEL, 0);
    ok(mentions(arena, schedule, "C_s = rfactor(") && mentions(arena, schedule, "parallel("),
       "threads share the pieces");
}

/* Schedules of points with this outer order whose outermost loops come in the order of `pattern`. */
static int points_with_order(Arena *arena, Space *space, int choice, const char *pattern) {
    int order = (int)(gene_named(space, " outer order") - space->groups.items[0]->genes.items);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1), found = 0;
    Random random = {7};
    for (int i = 0; i < POINTS; i++) {
        point_random(space, &random, point);
        point[space->groups.items[0]->first_gene + order] = choice;
        Schedule *schedule = point_plausible(space, point) ? point_schedule(arena, space, point) : NULL;
        found += schedule && mentions(arena, schedule, pattern);
    }
    return found;
}

/* Matrices multiplied one by one, the rows of which only the first operand has: threads may share out rows first. */
static void test_rows_first(Arena *arena) {
    Target one = wide_target(1), two = wide_target(2);
    Program *program = program_of_text(arena, "def f(float(6, 8, 64) V, float(6, 64, 64) U) -> (Q) {\n"
                                              "Q(a, p, m) +=! V(a, p, r_k) * U(a, r_k, m) }", NULL, 0);
    Space *space = space_new(arena, program, &two, NULL);
    is_int(gene_named(space, " outer order")->count, 3, "threads have one more order of the outer loops");
    is_int(gene_named(space_new(arena, program, &one, NULL), " outer order")->count, 2, "which one thread has not");
    ok(points_with_order(arena, space, 2, "reorder(p_o, a_o, ") > 0, "rows come before what has weights of its own");
    is_int(points_with_order(arena, space, 0, "reorder(p_o, a_o, "), 0, "in no other order");
}

/* Unusable sketches and refused points included. */
static double space_size(const Space *space) {
    double size = 1;
    for (int g = 0; g < space->groups.count; g++)
        for (int i = 0; i < space->groups.items[g]->genes.count; i++)
            size *= space->groups.items[g]->genes.items[i].count;
    return size;
}

static Schedule *user_schedule(Arena *arena, const char *loop, const int64_t *choices, int count) {
    Prim *prims = ARENA_ARRAY(arena, Prim, 2);
    PrimArg *items = ARENA_ARRAY(arena, PrimArg, count + 1), *args = ARENA_ARRAY(arena, PrimArg, 3);
    for (int i = 0; i < count; i++)
        items[i] = arg_int(choices[i]);
    args[0] = arg_name(loop);
    args[1] = (PrimArg){.kind = ARG_HOLE, .count = count, .items = items};
    args[2] = arg_name("inner");
    const char **names = ARENA_ARRAY(arena, const char *, 2);
    names[0] = "outer", names[1] = "inner";
    prims[0] = (Prim){.op = PRIM_SPLIT, .result_count = 2, .results = names, .arg_count = 2, .args = args};
    prims[1] = (Prim){.op = PRIM_UNROLL, .arg_count = 1, .args = args + 2};
    Schedule *schedule = ARENA_NEW(arena, Schedule);
    *schedule = (Schedule){.subject = "matmul", .target = "x86", .count = 2, .prims = prims};
    return schedule;
}

static void test_user(Arena *arena) {
    Target target = wide_target(2);
    Program *program = program_matmul(arena, TYPE_FLOAT, 48, 48, 48);
    static const int64_t choices[] = {2, 4, 8};
    Schedule *user = user_schedule(arena, "C.i", choices, 3);
    Space *space = space_new(arena, program, &target, user);
    ok(space_size(space) == 3, "a user's hole with three choices is a space of three points");
    Schedule *filled = autosched_default(arena, program, &target, user, EFFORT_MODEL, 0);
    ok(schedule_hole_count(filled) == 0 && filled->count == 2, "-O2 fills the user's holes and adds nothing");
    Schedule *whole = autosched_default(arena, program, &target, filled, EFFORT_FIXED, 0);
    is_text(text_of(arena, whole), text_of(arena, filled), "a user's block without holes is held to");
    space = space_new(arena, program, &target, user_schedule(arena, "C.i", NULL, 0));
    ok(space_size(space) >= 6, "a plain hole offers sizes: %g", space_size(space));
}

/* The loops i and j of C fused, or i alone, shared out or not. */
static Estimate shared_estimate(Arena *arena, const Program *program, bool fused, bool parallel) {
    Target target = wide_target(2);
    PrimArg loops[] = {arg_name("C.i"), arg_name("C.j")}, task[] = {arg_name(fused ? "task" : "C.i")};
    const char *names[] = {"task"};
    Prim prims[2];
    int count = 0;
    if (fused)
        prims[count++] = (Prim){.op = PRIM_FUSE, .result_count = 1, .results = names, .arg_count = 2, .args = loops};
    if (parallel)
        prims[count++] = (Prim){.op = PRIM_PARALLEL, .arg_count = 1, .args = task};
    Schedule schedule = {.subject = "matmul", .target = "x86", .count = count, .prims = prims};
    return whole_estimate(arena, program, &schedule, &target);
}

static bool alike(double a, double b) {
    return a < HUGE_VAL && fabs(a - b) <= 1e-9 * b;
}

static void test_fused(Arena *arena) {
    Program *program = program_matmul(arena, TYPE_FLOAT, 64, 96, 128);
    double plain = shared_estimate(arena, program, false, false).seconds;
    ok(alike(shared_estimate(arena, program, true, false).seconds, plain),
       "a fused loop is thought as fast as its parts");
    double half = shared_estimate(arena, program, false, true).seconds;
    ok(alike(shared_estimate(arena, program, true, true).seconds, half), "half of it as half of the outer one");
    ok(half > 0.45 * plain && half < 0.7 * plain, "two threads are thought nearly twice as fast: %g of the time",
       half / plain);
    program = program_matmul(arena, TYPE_FLOAT, 3, 96, 128);
    double uneven = shared_estimate(arena, program, false, true).seconds,
           even = shared_estimate(arena, program, true, true).seconds;
    ok(even < 0.85 * uneven, "3 rows are not shared out evenly, their elements are: %g of the time", even / uneven);
    program = program_matmul(arena, TYPE_FLOAT, 8192, 8192, 1);
    double one = shared_estimate(arena, program, false, false).level[2],
           both = shared_estimate(arena, program, false, true).level[2];
    ok(one > 0 && both > 0.6 * one && both < one, "memory is not twice as fast for two threads: %g of the time",
       both / one);
}

/* A transpose of 16 x 16 elements at a time, in vectors along one axis of what it writes. */
static double transposed_estimate(Arena *arena, bool along) {
    Target target = wide_target(1);
    const char *rows[] = {"io", "ii"}, *columns[] = {"jo", "ji"};
    PrimArg row[] = {arg_name("Y.i"), arg_int(16)}, column[] = {arg_name("Y.j"), arg_int(16)};
    PrimArg order[] = {arg_name("io"), arg_name("jo"), arg_name(along ? "ii" : "ji"), arg_name(along ? "ji" : "ii")};
    Prim prims[] = {
        {.op = PRIM_SPLIT, .result_count = 2, .results = rows, .arg_count = 2, .args = row},
        {.op = PRIM_SPLIT, .result_count = 2, .results = columns, .arg_count = 2, .args = column},
        {.op = PRIM_REORDER, .arg_count = 4, .args = order},
        {.op = PRIM_UNROLL, .arg_count = 1, .args = order + 2},
        {.op = PRIM_VECTORIZE, .arg_count = 1, .args = order + 3},
    };
    Schedule schedule = {.subject = "transpose", .target = "x86", .count = 5, .prims = prims};
    return estimate_of(arena, program_transpose(arena, TYPE_FLOAT, 512, 512), &schedule, &target);
}

static void test_scattered(Arena *arena) {
    double rows = transposed_estimate(arena, true), columns = transposed_estimate(arena, false);
    ok(rows < HUGE_VAL && columns < HUGE_VAL && rows < 0.7 * columns,
       "rows made of columns are thought faster than columns written one by one: %g of the time", rows / columns);
}

static void test_points(Arena *arena) {
    Target target = wide_target(2);
    Space *space = space_new(arena, program_matmul(arena, TYPE_FLOAT, 64, 96, 128), &target, NULL);
    int a[space->gene_count], b[space->gene_count], child[space->gene_count], changed = 0;
    Random random = {5}, same = {5};
    for (int i = 0; i < 50; i++) {
        point_random(space, &random, a);
        point_random(space, &same, b);
        if (memcmp(a, b, sizeof a) != 0 || point_hash(space, a) != point_hash(space, b))
            break;
        point_mutate(space, &random, a);
        point_mutate(space, &same, b);
        changed += i >= 0;
    }
    is_int(changed, 50, "the same seed draws and changes alike");
    changed = 0;
    for (int i = 0; i < 200; i++) {
        point_random(space, &random, a);
        memcpy(b, a, sizeof b);
        point_mutate(space, &random, b);
        changed += point_hash(space, a) != point_hash(space, b);
        point_cross(space, &random, a, b, child);
        if (!point_plausible(space, child) || !point_plausible(space, b))
            changed = -1000;
    }
    ok(changed > 150, "a mutation nearly always changes the point, and keeps it plausible (%d of 200)", changed);
}

/* Of each case, points that copy operands: in a space of their own, and in one that has made the sketches before. */
static void test_repeated_copies(Arena *arena, const Case *cases, int count) {
    enum { DRAWN = 24 };
    Target target = wide_target(2);
    int copied = 0, other = 0;
    for (int c = 0; c < count; c++) {
        Space *used = space_new(arena, cases[c].program, &target, NULL);
        int *point = ARENA_ARRAY(arena, int, used->gene_count + 1);
        Random random = {11};
        for (int i = 0; i < DRAWN; i++) {
            point_random(used, &random, point);
            Schedule *schedule = point_plausible(used, point) ? point_schedule(arena, used, point) : NULL;
            if (!schedule || !mentions(arena, schedule, "cache_read"))
                continue;
            Space *fresh = space_new(arena, cases[c].program, &target, NULL);
            Schedule *alone = point_plausible(fresh, point) ? point_schedule(arena, fresh, point) : NULL;
            copied++;
            other += !alone || strcmp(text_of(arena, schedule), text_of(arena, alone)) != 0;
        }
    }
    ok(copied >= DRAWN, "points that copy operands are drawn (%d)", copied);
    is_int(other, 0, "the loops of copies do not depend on the sketches that were made before");
}

/* Statements spell each name that a space makes. */
static void test_local_names(Arena *arena) {
    Target target = wide_target(1);
    Space *space = space_new(arena, program_matmul(arena, TYPE_FLOAT, 16, 16, 16), &target, NULL);
    const Group *group = space->groups.items[0];
    is_text(space_local_name(space, group, "first.U_p"), "first_U_p", "a name after a stage of a call");
    is_text(space_local_name(space, group, "T[12]_p"), "T_12__p", "and after one of several updates");
}

/* Of the statements that are said to have no effect, those that another one needs stay. */
static void test_effective(Arena *arena) {
    static const char statements[] = "compute_at(b, c.i)\nstore_at(b, root)\nreorder(c.i, c.j)\n";
    const Target *target = target_find("x86-64-v4");
    Program *program = program_of_text(arena, "def f(float(8, 9) a) -> (c) { b(i, j) = exp(a(i, j))\n"
                                              "c(i, j) = b(i, j) + b(i + 1, j) }", NULL, 0);
    const Schedule *schedule = parse_schedule_text(arena, statements, strlen(statements));
    Nest nest = *nest_build(arena, program, schedule, NULL, target, NULL);
    const int idle[] = {0, 2};
    is_int(nest.ineffective_count, 1, "an order that is one already has no effect");
    const Nest *built = &nest;
    is_int(schedule_effective(arena, schedule, &built)->count, 2, "it is left out");
    nest.ineffective_count = 2;
    nest.ineffective = idle;
    built = &nest;
    const Schedule *effective = schedule_effective(arena, schedule, &built);
    ok(effective->count == 2 && effective->prims[0].op == PRIM_COMPUTE_AT && effective->prims[1].op == PRIM_STORE_AT,
       "alone, if a place for a buffer needs the other one");
}

int main(void) {
    Arena *arena = arena_new();
    const Case cases[] = {
        {"matmul 64", program_matmul(arena, TYPE_FLOAT, 64, 64, 64)},
        {"matmul 17 31 13", program_matmul(arena, TYPE_FLOAT, 17, 31, 13)},
        {"matmul of doubles", program_matmul(arena, TYPE_DOUBLE, 100, 100, 100)},
        {"matmul of int8", program_matmul(arena, TYPE_INT8, 64, 100, 30)},
        {"matmul 1 1 1", program_matmul(arena, TYPE_FLOAT, 1, 1, 1)},
        {"matmul 0 5 5", program_matmul(arena, TYPE_FLOAT, 0, 5, 5)},
        {"matmul 5 5 0", program_matmul(arena, TYPE_FLOAT, 5, 5, 0)},
        {"few long sums", program_matmul(arena, TYPE_FLOAT, 4, 16, 20000)},
        {"vector times matrix", program_matmul(arena, TYPE_FLOAT, 1, 512, 512)},
        {"matrix times vector", program_matmul(arena, TYPE_FLOAT, 512, 1, 512)},
        {"matmul, sizes at run time", program_matmul(arena, TYPE_FLOAT, -1, -1, -1)},
        {"conv2d C9", program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 256, 14, 14, 256, 3, 3, 1, 1, 1})},
        {"conv2d 1x1 stride 2", program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 64, 56, 56, 128, 1, 1, 2, 0, 1})},
        {"conv2d 7x7", program_conv2d(arena, TYPE_FLOAT, (ConvShape){2, 3, 37, 37, 20, 7, 7, 2, 3, 1})},
        {"conv2d dilated", program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 8, 19, 23, 12, 3, 3, 1, 2, 2})},
        {"conv2d chain", program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 16, 28, 28, 32, 3, 3, 1, 1, 1})},
        {"softmax", program_softmax(arena, 128, 1000)},
        {"softmax 3 5", program_softmax(arena, 3, 5)},
        {"transpose", program_transpose(arena, TYPE_FLOAT, 512, 300)},
        {"scores", program_scores(arena, 1536, 128, 64)},
        {"scores 37 19 5", program_scores(arena, 37, 19, 5)},
        {"row sum", program_row_sum(arena, TYPE_FLOAT, 512, 300)},
        {"accumulate", program_accumulate(arena, TYPE_FLOAT, 100, 100, 100)},
        {"blur", program_blur(arena, TYPE_FLOAT, 1000)},
        {"gather", program_embed(arena, 1000, 64, 8, 16)},
    };
    enum { CASE_COUNT = sizeof cases / sizeof *cases };
    test_local_names(arena);
    test_points(arena);
    test_repeated_copies(arena, cases, CASE_COUNT);
    test_fused(arena);
    test_scattered(arena);
    test_acceptance(arena, cases, CASE_COUNT);
    test_shapes(arena);
    test_defaults(arena, cases, CASE_COUNT);
    test_kinds(arena);
    test_split_vectors(arena);
    test_quality(arena);
    test_inlined_through(arena);
    test_blocks(arena);
    test_pieces(arena);
    test_rows_first(arena);
    test_user(arena);
    test_effective(arena);
    arena_free(arena);
    return done_testing();
}
