/* machines.c - the rows of machines.def: whole, and each number of them reaches what a schedule is chosen by. */
#include "autosched/model/profile.h"
#include "autosched/search/policies.h"
#include "autosched/space/groups.h"
#include "backends/backends.h"
#include "lang/machine.h"
#include "lower/kernel/kernel.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/schedules.h"

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef enum Kind { REAL, INT, INT64 } Kind;

typedef struct Column {
    const char *name;
    size_t offset;
    Kind kind;
    int count;
    bool none; /* may be 0: no cost, no such thing */
} Column;

#define COLUMN(name, kind, count, none) {#name, offsetof(Machine, name), kind, count, none}
static const Column columns[] = {
    COLUMN(threads, INT, 1, false),
    COLUMN(clock_rate, REAL, 1, false),
    COLUMN(issue_width, REAL, 1, false),
    COLUMN(arithmetic_ports, REAL, 1, false),
    COLUMN(load_ports, REAL, 1, false),
    COLUMN(store_ports, REAL, 1, false),
    COLUMN(widest_slots, REAL, 1, false),
    COLUMN(decoded_most, REAL, 1, false),
    COLUMN(unrolled_most, INT, 1, false),
    COLUMN(chains, INT, 1, false),
    COLUMN(operation_latency, REAL, 1, false),
    COLUMN(chain_latency, REAL, 1, false),
    COLUMN(memory_latency, REAL, 1, false),
    COLUMN(entry_cost, REAL, 1, false),
    COLUMN(loop_cost, REAL, 1, false),
    COLUMN(spill_cost, REAL, 1, false),
    COLUMN(overlap_lost, REAL, 1, false),
    COLUMN(near_lost, REAL, 1, false),
    COLUMN(function_cost, REAL, 1, false),
    COLUMN(divide_cost, REAL, 1, false),
    COLUMN(guard_cost, REAL, 1, false),
    COLUMN(guarded_step_cost, REAL, 1, false),
    COLUMN(gather_cost, REAL, 1, false),
    COLUMN(scatter_cost, REAL, 1, false),
    COLUMN(insert_cost, REAL, 1, false),
    COLUMN(gather_alone, REAL, 1, true),
    COLUMN(transpose_cost, REAL, 1, false),
    COLUMN(crossing_cost, REAL, 1, false),
    COLUMN(line_loads, REAL, 1, false),
    COLUMN(column_cost, REAL, 1, true),
    COLUMN(shuffle_excess, REAL, 1, true),
    COLUMN(cache_bytes, INT64, 3, false),
    COLUMN(usable_part, REAL, 3, false),
    COLUMN(lost_at, REAL, 1, true),
    COLUMN(line_bytes, INT, 1, false),
    COLUMN(set_bytes, INT, 1, false),
    COLUMN(set_lines, INT, 1, false),
    COLUMN(bytes_per_cycle, REAL, 3, false),
    COLUMN(written_times, REAL, 3, false),
    COLUMN(both_ways, REAL, 1, true),
    COLUMN(run_start, REAL, 3, true),
    COLUMN(run_near, REAL, 3, true),
    COLUMN(most_started, REAL, 2, false),
    COLUMN(streams, INT, 1, false),
    COLUMN(stream_bytes, REAL, 1, false),
    COLUMN(sum_streams, INT, 1, false),
    COLUMN(excess_missing, REAL, 1, false),
    COLUMN(memory_part, REAL, 1, false),
    COLUMN(conflict_cost, REAL, 1, false),
    COLUMN(scalar_conflict_cost, REAL, 1, false),
    COLUMN(scalar_conflict_most, REAL, 1, false),
    COLUMN(page_bytes, INT, 1, false),
    COLUMN(near_pages, INT, 1, false),
    COLUMN(page_cost, REAL, 1, false),
    COLUMN(known_pages, INT, 2, false),
    COLUMN(walk_cost, REAL, 1, false),
    COLUMN(alias_bytes, INT, 1, false),
    COLUMN(stores_waiting, INT, 1, false),
    COLUMN(alias_cost, REAL, 1, true),
    COLUMN(edge_cost, REAL, 1, false),
    COLUMN(foreign_cost, REAL, 1, false),
    COLUMN(fork_seconds, REAL, 1, false),
    COLUMN(fork_operations, REAL, 1, false),
    COLUMN(fork_test, REAL, 1, false),
    COLUMN(fault_seconds, REAL, 1, false),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static size_t kind_bytes(Kind kind) {
    return kind == INT ? sizeof(int) : 8;
}

static double value_of(const Machine *machine, const Column *column, int place) {
    const char *at = (const char *)machine + column->offset + (size_t)place * kind_bytes(column->kind);
    return column->kind == INT     ? *(const int *)(const void *)at
           : column->kind == INT64 ? (double)*(const int64_t *)(const void *)at
                                   : *(const double *)(const void *)at;
}

static void scale(Machine *machine, const Column *column, int place, double by) {
    char *at = (char *)machine + column->offset + (size_t)place * kind_bytes(column->kind);
    double value = value_of(machine, column, place) * by;
    if (column->kind == INT)
        *(int *)(void *)at = (int)value;
    else if (column->kind == INT64)
        *(int64_t *)(void *)at = (int64_t)value;
    else
        *(double *)(void *)at = value;
}

/* --- rows --- */

/* Bytes of a row that are no column of the list: but for the gaps before larger ones. */
static int unlisted_bytes(void) {
    bool listed[sizeof(Machine)] = {false};
    int run = 0, longest = 0;
    for (size_t i = 0; i < offsetof(Machine, threads); i++)
        listed[i] = true;
    for (int c = 0; c < COLUMNS; c++)
        for (size_t i = 0; i < (size_t)columns[c].count * kind_bytes(columns[c].kind); i++)
            listed[columns[c].offset + i] = true;
    for (size_t i = 0; i < sizeof listed; i++) {
        run = listed[i] ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void test_rows(void) {
    ok(unlisted_bytes() < 8, "the test knows all columns");
    for (int m = 0; m < MACHINE_COUNT; m++) {
        const char *missing = "none";
        for (int c = 0; c < COLUMNS; c++)
            for (int i = 0; i < columns[c].count; i++)
                if (!columns[c].none && !(value_of(&machines[m], &columns[c], i) > 0))
                    missing = columns[c].name;
        is_text(missing, "none", "%s: columns without a number", machines[m].name);
        ok(machines[m].cache_bytes[0] < machines[m].cache_bytes[1] &&
               machines[m].cache_bytes[1] <= machines[m].cache_bytes[2] &&
               machines[m].alias_bytes / machines[m].line_bytes <= 64,
           "%s: caches grow, and the lines that may alias are bits of a number", machines[m].name);
    }
    for (int t = 0; t < target_count(); t++)
        ok(target_row(t)->machine && target_row(t)->family, "%s names a machine and a family", target_row(t)->name);
}

/* --- names --- */

/* LLVM says on standard error which names it does not know: what it said, on one line. */
static const char *complaint_of_llvm(Arena *arena, const char *triple, const char *cpu, const char *features) {
    char *error = NULL, said[1000] = "";
    LLVMTargetRef target;
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    if (LLVMGetTargetFromTriple(triple, &target, &error) == 0)
        LLVMDisposeTargetMachine(LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
                                                         LLVMRelocPIC, LLVMCodeModelDefault));
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    said[strcspn(said, "\n")] = '\0';
    return arena_strdup(arena, error ? error : said);
}

static void start_llvm(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
}

static void test_features(Arena *arena, const Target *target) {
    const char *spelling;
    for (int i = 0; (spelling = cpu_feature_spelling(i, target->family->name)); i++) {
        const char *name = *spelling ? cpu_feature_name(target->family->name, spelling) : NULL;
        if (name)
            is_text(complaint_of_llvm(arena, target->triple, target->cpu, arena_printf(arena, "+%s", name)), "",
                    "LLVM knows the feature %s", spelling);
    }
}

/* Each processor is known to LLVM, with its features, and has the machine of its row. */
static void test_processors(Arena *arena) {
    start_llvm();
    static const struct {
        const char *name, *machine;
    } rows[] = {
#define PROCESSOR(name, row, machine, ...) {name, #machine},
#include "lang/processors.def"
#undef PROCESSOR
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Target *target = target_make(arena, rows[i].name, 1);
        is_text(target->machine->name, rows[i].machine, "the machine of %s", rows[i].name);
        is_text(complaint_of_llvm(arena, target->triple, target->cpu, target->features), "", "LLVM knows it");
    }
    test_features(arena, target_find("x86-64"));
    test_features(arena, target_find("aarch64"));
    const char *nobody = complaint_of_llvm(arena, target_find("x86-64")->triple, "nobody", "");
    ok(strstr(nobody, "nobody") != NULL, "of a name that it does not know it says so: %s", nobody);
}

/* --- what they reach --- */

enum { POINTS = 40, NESTS_MOST = 4000 };

typedef struct Nests {
    int count;
    Nest *items[NESTS_MOST];
} Nests;

/* The nests of some points of a program's space. */
static void add_points(Arena *arena, Nests *nests, Program *program, const Target *target) {
    Space *space = space_new(arena, program, target, NULL);
    Random random = {1};
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    for (int i = 0; i < POINTS; i++) {
        point_random(space, &random, point);
        Nest *nest = point_plausible(space, point) ? point_nest(arena, space, point, -1) : NULL;
        if (nest && nests->count < NESTS_MOST)
            nests->items[nests->count++] = nest;
    }
}

static void add_text(Arena *arena, Nests *nests, const char *format, const Target *target) {
    const Schedule *schedule;
    const char *text = arena_printf(arena, format, target->family->name);
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    Nest *nest = nest_build(arena, program, schedule, NULL, target, NULL);
    ok(nest != NULL, "a schedule of the test's own");
    if (nest)
        nests->items[nests->count++] = nest;
}

static void add_programs(Arena *arena, Nests *nests, const Target *target) {
    Program *programs[] = {
        program_matmul(arena, TYPE_FLOAT, 512, 512, 512),
        program_matmul(arena, TYPE_FLOAT, 64, 2048, 4096),
        program_matmul(arena, TYPE_FLOAT, 4096, 4096, 32),
        program_transpose(arena, TYPE_FLOAT, 2048, 2048),
        program_row_sum(arena, TYPE_FLOAT, 4096, 4096),
        program_softmax(arena, 512, 4096),
        program_scores(arena, 512, 512, 64),
        program_blur(arena, TYPE_FLOAT, 1 << 22),
        program_embed(arena, 5000, 256, 8, 128),
        program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 64, 56, 56, 64, 3, 3, 1, 1, 1}),
        program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 32, 3, 3, 2, 1, 1}),
    };
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        add_points(arena, nests, programs[p], target);
    static const char sums[] =
        "combiner sums(float m, float s; float n, float t) associative commutative identity (-inf, 0) {\n"
        "m == n ? (m, s + t) : m > n ? (m, s + t * exp(n - m)) : (n, s * exp(m - n) + t) }\n"
        "def f(float(64, 4096) I) -> (m, s) { m(h), s(h) sums=! (I(h, r_w), 1) }\n";
    add_points(arena, nests, program_of_text(arena, sums, NULL, 0), target);
    add_text(arena, nests,
             "def f(float(64, 96) I, float(3) F) -> (O) { O(h, w) +=! I(h, 2*w + r_j) * F(r_j) where w in 0:32,"
             " r_j in 0:3 }\n"
             "schedule f on %s { w_o, w_v = split(O.w, 16)\n reorder(O.h, w_o, O.r_j, w_v)\n vectorize(w_v)\n"
             " unroll(O.r_j)\n"
             "acc = cache_write(O, at=w_o, scope=register) }",
             target);
    add_text(arena, nests, /* too little work for threads */
             "def f(float(8, 64) I) -> (O) { O(h, w) = I(h, w) + 1 }\n"
             "schedule f on %s { parallel(O.h) }",
             target);
    add_text(arena, nests, /* lanes of bytes, apart from each other */
             "def f(uint8(16, 90) I) -> (O) { O(j, i) = I(i, j) + 1 where i in 0:16, j in 0:90 }\n"
             "schedule f on %s { i_o, i_v = split(O.i, 16)\n reorder(O.j, i_o, i_v)\n vectorize(i_v) }",
             target);
    add_text(arena, nests, /* rows a page apart: many lines of one set */
             "def f(float(64, 1024) A, float(1024, 64) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }\n"
             "schedule f on %s { i_o, i_i = split(C.i, 16)\n j_o, j_v = split(C.j, 16)\n reorder(i_o, j_o, C.r_k, i_i,"
             " j_v)\n"
             "vectorize(j_v)\n unroll(i_i)\n acc = cache_write(C, at=j_o, scope=register) }",
             target);
}

/* Nests that are thought to take another time on a changed machine. */
static int changed_nests(Arena *arena, const Nests *nests, const Machine *machine) {
    Arena *scratch = arena_new();
    int changed = 0;
    for (int n = 0; n < nests->count; n++) {
        Target target = *nests->items[n]->target, other = target;
        Nest nest = *nests->items[n];
        other.machine = machine;
        arena_reset(scratch);
        double before = static_seconds(scratch, &nest, &target);
        nest.target = &other;
        changed += before != static_seconds(scratch, &nest, &other);
    }
    arena_free(scratch);
    return changed;
}

/* What a space offers, where it starts, the schedule there and which points fit, as a number. */
static uint64_t space_digest(Arena *arena, Program *program, const Target *target) {
    Space *space = space_new(arena, program, target, NULL);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    Random random = {1};
    uint64_t digest = 0;
    for (int g = 0; g < space->groups.count; g++)
        for (int i = 0; i < space->groups.items[g]->genes.count; i++) {
            const Gene *gene = &space->groups.items[g]->genes.items[i];
            digest = hash_mix(digest + (uint64_t)gene->count * 64 + (uint64_t)gene->start);
        }
    for (int i = 0; i < 50; i++) {
        point_random(space, &random, point);
        digest = hash_mix(digest ^ point_hash(space, point));
    }
    Text text = {.arena = arena};
    point_start(space, point);
    schedule_print(&text, point_schedule(arena, space, point));
    return hash_mix(digest ^ hash_text(text.text));
}

static bool changes_space(Arena *arena, const Target *target, const Machine *machine) {
    static const char sum[] = "def f(float(512, 512) I) -> (s) { s +=! I(r_h, r_w) }";
    Program *programs[] = {program_matmul(arena, TYPE_FLOAT, 64, 64, 64), program_row_sum(arena, TYPE_FLOAT, 64, 4096),
                           program_of_text(arena, sum, NULL, 0),
                           program_transpose(arena, TYPE_FLOAT, 200, 200),
                           program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 64, 28, 28, 64, 3, 3, 1, 1, 1})};
    Target other = *target;
    other.machine = machine;
    bool changes = false;
    for (size_t p = 0; p < sizeof programs / sizeof *programs && !changes; p++)
        changes = space_digest(arena, programs[p], target) != space_digest(arena, programs[p], &other);
    return changes;
}

/* Half of each number of a row makes another estimate of some nest, or another space. */
static void test_reach(Arena *arena, const Target *const *targets, int target_total) {
    Nests *nests = ARENA_ARRAY(arena, Nests, target_total);
    for (int t = 0; t < target_total; t++)
        add_programs(arena, &nests[t], targets[t]);
    for (int c = 0; c < COLUMNS; c++)
        for (int i = 0; i < columns[c].count; i++) {
            int changed = 0;
            bool any = false;
            for (int t = 0; t < target_total && changed == 0; t++) {
                Machine machine = *targets[t]->machine;
                any |= value_of(&machine, &columns[c], i) > 0;
                scale(&machine, &columns[c], i, 0.5);
                changed = changed_nests(arena, &nests[t], &machine);
                changed += changed == 0 && changes_space(arena, targets[t], &machine);
            }
            ok(changed > 0 || !any, "%s[%d] reaches a choice: %d of %d", columns[c].name, i, changed, nests[0].count);
        }
}

/* --- as the numbers say --- */

static const char matmul[] = "def f(float(96, 512) A, float(512, 96) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }\n"
                             "schedule f on %s { i_o, i_i = split(C.i, 4)\n j_o, j_i, j_v = split(C.j, 4, 4)\n"
                             "reorder(i_o, j_o, C.r_k, i_i, j_i, j_v)\n vectorize(j_v)\n unroll(i_i, j_i)\n"
                             "acc = cache_write(C, at=j_o, scope=register) }";

static double seconds_on(Arena *arena, const char *processor, const Machine *machine) {
    const Schedule *schedule;
    Target target = *target_make(arena, processor, 1);
    Program *program = scheduled_program_of_text(arena, arena_printf(arena, matmul, target.family->name), &schedule);
    target.machine = machine ? machine : target.machine;
    Nest *nest = nest_build(arena, program, schedule, NULL, &target, NULL);
    return nest ? static_seconds(arena, nest, &target) : HUGE_VAL;
}

static void test_numbers(Arena *arena) {
    Machine twice = machines[MACHINE_arm_server];
    twice.clock_rate *= 2;
    double one = seconds_on(arena, "neoverse-n1", NULL), half = seconds_on(arena, "neoverse-n1", &twice);
    is_close(half / one, 0.5, 1e-9, "twice the cycles a second take half of the time");
    /* 16 multiply-adds of a tile take 8 cycles of 2.8e9, or 16 of 1.5e9, beside what the loops and memory take. */
    double little = seconds_on(arena, "cortex-a53", NULL), ratio = 2 * 2.8 / 1.5;
    ok(little > 0.8 * ratio * one && little < 1.6 * ratio * one,
       "a small core, of one multiply-add a cycle and half of the clock, takes %.2f times as long: about %.2f",
       little / one, ratio);
    double haswell = seconds_on(arena, "haswell", NULL), zen = seconds_on(arena, "znver3", NULL);
    ok(haswell == zen, "processors of one machine take as long");
}

/* Instructions that fetch what a line of a cache holds. */
static int prefetches_for(Arena *arena, const char *processor) {
    static const char text[] = "def f(float(64, 1024) A) -> (B) { B(i, j) = A(i, j) * 2 }\n"
                               "schedule f on arm { j_o, j_i = split(B.j, 256)\n prefetch(A, j_o, 1) }";
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    Nest *nest = nest_build(arena, program, schedule, NULL, target_make(arena, processor, 1), NULL);
    Text printed = {.arena = arena};
    int count = 0;
    if (nest)
        kernel_print(&printed, expand(arena, nest, &(ExpandOptions){.verify_each = true}));
    for (const char *at = printed.text; at && (at = strstr(at, "prefetch ")); at++)
        count++;
    return count;
}

static void test_lines(Arena *arena) {
    int usual = prefetches_for(arena, "neoverse-n1"), apple = prefetches_for(arena, "apple-m1"),
        wide = prefetches_for(arena, "a64fx");
    is_int(usual, 17, "1024 bytes are fetched by lines of 64 bytes, and the last element");
    is_int(apple, 9, "by lines of 128 bytes");
    is_int(wide, 5, "by lines of 256 bytes");
}

int main(void) {
    Arena *arena = arena_new();
    const Target *targets[] = {target_make(arena, "x86-64-v4", 0), target_make(arena, "neoverse-n1", 4)};
    test_rows();
    test_processors(arena);
    test_reach(arena, targets, sizeof targets / sizeof *targets);
    test_numbers(arena);
    test_lines(arena);
    arena_free(arena);
    return done_testing();
}
