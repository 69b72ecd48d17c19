/* brute.c - legality against brute force: random schedules of small programs, each run by a model that shares nothing
 * with lower/ (brute_model.h), and asked of nest_build.
 *
 * No schedule that breaks a dependence may be accepted, and of those that break none and have the right form nearly all
 * must be. BRUTE_CASES asks for another number of schedules, BRUTE_SEED for other ones, BRUTE_ONLY for a single one,
 * shown.
 */
#include "brute_model.h"
#include "parser/ast.h"
#include "schedules.h"
#include "tests/tap.h"
#include <ctype.h>
#include <stdlib.h>

enum { PRIMITIVES = 7, RULES = 60 };

static const char *const programs[] = {
    "def f(int32(N, M) A) -> (B) { T(i, j) = A(i, j) * 2 U(i, j) = T(i, j) + 1 B(i, j) = U(i, j) + T(i, j) }\n"
    "export f(N=3, M=4)\n",
    "def f(int32(N, M) A) -> (B) { T(i, j) = A(i, j) * 2 B(i, j) = T(i, j) + T(N - 1 - i, j) }\nexport f(N=4, M=3)\n",
    "def f(int32(N, M) A) -> (B) { T(i, j) = A(i, j) * 2 B(j, i) = T(i, j) + T(i, M - 1 - j) }\nexport f(N=3, M=4)\n",
    "def f(int32(M, K) A, int32(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }\nexport f(M=3, N=4, K=3)\n",
    "def f(int32(M, K) A, int32(K, N) B, int32(N) b) -> (D) { C(i, j) +=! A(i, r_k) * B(r_k, j)\n"
    "  D(i, j) = C(i, j) + b(j) }\nexport f(M=3, N=4, K=3)\n",
    "def f(int32(C, W) I, int32(M, C, 3) F) -> (O) {\n"
    "  P(c, x) = (I(c, x - 1) else 0) where x in 0:W+2\n"
    "  O(m, w) +=! P(r_c, w + r_k) * F(m, r_c, r_k) }\nexport f(C=2, W=4, M=2)\n",
    "def f(int32(N, M) A) -> (B) { X(i, j) = A(i, j) + A(i, j + 1) + A(i, j + 2)\n"
    "  B(i, j) = X(i, j) + X(i + 1, j) + X(i + 2, j) }\nexport f(N=6, M=5)\n",
    "def f(int32(N, D) X) -> (Y) { T(n) max=! X(n, r_d) E(n, d) = X(n, d) - T(n) S(n) +=! E(n, r_d)\n"
    "  Y(n, d) = E(n, d) / S(n) }\nexport f(N=3, D=4)\n",
    "def f(int32(N) A) -> (B) { B(i) = A(i) * 2 B(i) = B(i) + B(N - 1 - i) B(i) += A(i) * A(r_j) where i in 1:N }\n"
    "export f(N=5)\n",
    "def f(int32(N, K) A, int32(K) X) -> (Y) { Y(i) += A(i, r_k) * X(r_k) }\nexport f(N=4, K=3)\n",
    "def f(int32(N, K) A) -> (Y, Z) { T(k) +=! A(r_i, k) Y(i) = T(0) where i in 0:N Y(i) += A(i, r_k) * T(r_k)\n"
    "  Z(k) = T(k) + Y(0) }\nexport f(N=4, K=3)\n",
    "def f(int32(N) A) -> (B) { T(i) = A(i) + 1 U(i) = T(i) * 2 V(i) = (U(i - 1) else 5) + T(i)\n"
    "  B(i) = V(i) + (V(i + 1) else edge) }\nexport f(N=5)\n",
    "def f(int32(M, K) A, int32(K, N) B) -> (C) { T(i, k) = A(i, k) + 1 C(i, j) +=! T(i, r_k) * B(r_k, j) }\n"
    "export f(M=0, N=3, K=2)\n",
    "def f(int32(M, K) A, int32(K, N) B) -> (C) { T(i, k) = A(i, k) + 1 C(i, j) +=! T(i, r_k) * B(r_k, j) }\n"
    "export f(M=2, N=3, K=0)\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* --- schedules ---------------------------------------------------------------------------------------------------- */

typedef struct Maker {
    Arena *arena;
    Random random;
    const Program *program;
    Model *model;
    LIST(Prim) prims;
    LIST(PrimArg) args;
    int names;
} Maker;

static int pick(Maker *m, int limit) {
    return (int)random_below(&m->random, limit);
}

static void add_name(Maker *m, const char *key, const char *name) {
    list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_NAME, .key = key, .name = name}));
}

static int pick_stage(Maker *m) {
    for (int tries = 0; tries < 20; tries++) {
        int stage = pick(m, model_stage_count(m->model));
        if (model_loop_count(m->model, stage) > 0)
            return stage;
    }
    return -1;
}

static bool add_loops(Maker *m, int count, bool adjacent) {
    int stage = pick_stage(m), loops = stage < 0 ? 0 : model_loop_count(m->model, stage);
    if (loops < count)
        return false;
    int first = pick(m, loops - count + 1), step = adjacent ? 1 : 1 + pick(m, loops);
    bool used[16] = {false};
    for (int i = 0, at = first; i < count; i++, at = (at + step) % loops) {
        while (used[at])
            at = (at + 1) % loops;
        used[at] = true;
        add_name(m, NULL, model_loop_name(m->model, stage, at));
    }
    return true;
}

static bool make_split(Maker *m) {
    bool made = add_loops(m, 1, true);
    for (int i = pick(m, 4) ? 1 : 2; i > 0; i--)
        list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .value = 1 + pick(m, 4)}));
    static const char *const tails[] = {"guard", "mask", "shift", "exact"};
    if (pick(m, 3) == 0)
        add_name(m, "tail", tails[pick(m, 4)]);
    return made;
}

static bool make_fuse(Maker *m) {
    return add_loops(m, 2, true);
}

static bool make_reorder(Maker *m) {
    return add_loops(m, 2 + pick(m, 2), false);
}

static bool make_kind(Maker *m) {
    return add_loops(m, 1, true);
}

static bool make_stage(Maker *m) {
    int stage = pick(m, model_stage_count(m->model));
    add_name(m, NULL, model_stage_name(m->model, stage));
    return model_stage_is_temporary(m->model, stage);
}

/* Most often at a loop of a reader. */
static bool make_compute_at(Maker *m) {
    int stage = pick(m, model_stage_count(m->model));
    int reader = pick(m, 5) ? model_reader(m->model, stage, 0) : pick_stage(m);
    if (!model_stage_is_temporary(m->model, stage) || reader < 0 || !model_loop_count(m->model, reader))
        return false;
    add_name(m, NULL, model_stage_name(m->model, stage));
    add_name(m, NULL, model_loop_name(m->model, reader, pick(m, model_loop_count(m->model, reader))));
    return true;
}

/* At a loop of a stage that may be around it, or at the root. */
static bool make_store_at(Maker *m) {
    int stage = pick(m, model_stage_count(m->model));
    int reader = pick(m, 5) ? model_reader(m->model, stage, 0) : pick_stage(m);
    if (!model_stage_is_temporary(m->model, stage) || reader < 0 || !model_loop_count(m->model, reader))
        return false;
    add_name(m, NULL, model_stage_name(m->model, stage));
    add_name(m, NULL,
             pick(m, 3) ? model_loop_name(m->model, reader, pick(m, model_loop_count(m->model, reader))) : "root");
    return true;
}

static bool make_cache_write(Maker *m) {
    int stage = pick_stage(m);
    if (stage < 0)
        return false;
    add_name(m, NULL, model_stage_name(m->model, stage));
    if (pick(m, 5))
        add_name(m, "at", model_loop_name(m->model, stage, pick(m, model_loop_count(m->model, stage))));
    return true;
}

/* One or two reduction loops of a stage, of which there may be none. */
static bool make_rfactor(Maker *m) {
    return add_loops(m, 1 + (pick(m, 4) == 0), true);
}

static bool make_cache_read(Maker *m) {
    const Tensor *tensor = m->program->tensors[pick(m, m->program->tensor_count)];
    int stage = pick_stage(m);
    add_name(m, NULL, tensor->name);
    if (stage < 0)
        return false;
    if (pick(m, 5))
        add_name(m, "at", model_loop_name(m->model, stage, pick(m, model_loop_count(m->model, stage))));
    if (pick(m, 3))
        return true;
    add_name(m, "reader", model_stage_name(m->model, pick(m, model_stage_count(m->model))));
    if (pick(m, 2))
        list_push(m->arena, &m->args, ((PrimArg){.kind = ARG_INT, .key = "read", .value = pick(m, 2)}));
    return true;
}

static const struct {
    PrimOp op;
    bool (*make)(Maker *m);
    int weight;
} makers[] = {
    {PRIM_SPLIT, make_split, 5},
    {PRIM_FUSE, make_fuse, 2},
    {PRIM_REORDER, make_reorder, 4},
    {PRIM_UNROLL, make_kind, 1},
    {PRIM_VECTORIZE, make_kind, 2},
    {PRIM_PARALLEL, make_kind, 3},
    {PRIM_COMPUTE_AT, make_compute_at, 6},
    {PRIM_COMPUTE_ROOT, make_stage, 1},
    {PRIM_INLINE, make_stage, 1},
    {PRIM_CACHE_WRITE, make_cache_write, 3},
    {PRIM_CACHE_READ, make_cache_read, 2},
    {PRIM_RFACTOR, make_rfactor, 4},
    {PRIM_STORE_AT, make_store_at, 4},
    /* What the model does not know. */
    {PRIM_TILE, NULL, 0},
    {PRIM_PARTITION, NULL, 0},
    {PRIM_BIND, NULL, 0},
    {PRIM_DOUBLE_BUFFER, NULL, 0},
    {PRIM_REVERSE_INLINE, NULL, 0},
    {PRIM_DECOMPOSE, NULL, 0},
    {PRIM_SET_SCOPE, NULL, 0},
    {PRIM_PREFETCH, NULL, 0},
    {PRIM_REQUIRE, NULL, 0},
    {PRIM_EXACTLY, NULL, 0},
    {PRIM_ALGORITHM, NULL, 0},
    {PRIM_TENSORIZE, NULL, 0},
    {PRIM_LAYOUT, NULL, 0},
    {PRIM_STORAGE_ALIGN, NULL, 0},
};
enum { MAKERS = sizeof makers / sizeof *makers };

static void name_results(Maker *m, Prim *prim) {
    const char *results = prim_info[prim->op].results;
    bool buffer = prim->op == PRIM_CACHE_READ || prim->op == PRIM_CACHE_WRITE || prim->op == PRIM_RFACTOR;
    prim->result_count = *results == 'N' ? prim->arg_count - (prim_keyword(prim, "tail") != NULL) : *results - '0';
    prim->results = ARENA_ARRAY(m->arena, const char *, prim->result_count);
    for (int i = 0; i < prim->result_count; i++)
        prim->results[i] = arena_printf(m->arena, "%c%d", buffer ? 'Q' : 'L', ++m->names);
}

static bool make_prim(Maker *m, Prim *prim) {
    int left = 0, chosen = 0;
    for (int i = 0; i < MAKERS; i++)
        left += makers[i].weight;
    left = pick(m, left);
    while (left >= makers[chosen].weight)
        left -= makers[chosen++].weight;
    m->args.count = m->args.capacity = 0;
    m->args.items = NULL;
    if (!makers[chosen].make(m))
        return false;
    *prim = (Prim){.op = makers[chosen].op, .arg_count = m->args.count, .args = m->args.items};
    name_results(m, prim);
    return true;
}

static void rebuild(Maker *m) {
    m->model = model_new(m->arena, m->program);
    for (int i = 0; i < m->prims.count; i++)
        model_apply(m->model, &m->prims.items[i]);
}

static void make_schedule(Maker *m, int count) {
    Prim prim;
    rebuild(m);
    for (int tries = 0; tries < 6 * count && m->prims.count < count; tries++) {
        if (!make_prim(m, &prim))
            continue;
        if (model_apply(m->model, &prim))
            list_push(m->arena, &m->prims, prim);
        else
            rebuild(m);
    }
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

typedef struct RefusalRule {
    char words[160];
    int count;
    uint64_t example;
} RefusalRule;

typedef struct Tally {
    int legal, illegal, form, accepted_legal, accepted_illegal, accepted_form;
    RefusalRule rules[RULES]; /* that refused what is legal */
    int with[PRIM_COUNT], refused[PRIM_COUNT];
} Tally;

/* The rule without the names and numbers in it. */
static void count_rule(Tally *tally, const char *text, uint64_t number) {
    char words[160];
    size_t length = 0;
    for (const char *at = text; *at && length < sizeof words - 20;) {
        size_t word = strcspn(at, " ");
        bool plain = true;
        for (size_t i = 0; i < word; i++)
            plain &= islower((unsigned char)at[i]) || ((at[i] == ',' || at[i] == ':' || at[i] == ';') && i + 1 == word);
        length +=
            (size_t)snprintf(words + length, sizeof words - length, "%.*s ", plain ? (int)word : 1, plain ? at : "*");
        at += word + (at[word] == ' ');
    }
    for (int i = 0; i < RULES; i++) {
        if (tally->rules[i].count && strcmp(tally->rules[i].words, words))
            continue;
        snprintf(tally->rules[i].words, sizeof words, "%s", words);
        tally->rules[i].example = tally->rules[i].count++ ? tally->rules[i].example : number;
        return;
    }
}

static void show(Maker *m, const char *what, uint64_t number, const char *why) {
    Text text = {.arena = m->arena};
    const Schedule schedule = {.count = m->prims.count, .prims = m->prims.items};
    schedule_print_statements(&text, &schedule);
    diag_line("BRUTE_ONLY=%llu: %s: %s\n%s\n%s", (unsigned long long)number, what, why ? why : "",
              programs[number % PROGRAMS], text.text);
}

static void judge(Maker *m, Tally *tally, uint64_t number, bool only) {
    const Schedule schedule = {.subject = "f", .target = "x86", .count = m->prims.count, .prims = m->prims.items};
    const Target *target = target_find("x86-64-v4");
    const char *why = NULL;
    NestError error = {0};
    Verdict verdict = model_run(m->model, &why);
    bool accepted = nest_build(m->arena, m->program, &schedule, NULL, target, NULL) != NULL;
    if (verdict == VERDICT_FORM) {
        tally->form++;
        tally->accepted_form += accepted;
    } else if (verdict == VERDICT_ILLEGAL) {
        tally->illegal++;
        tally->accepted_illegal += accepted;
        if (accepted)
            show(m, "accepted, but", number, why);
    } else if (!strstr(programs[number % PROGRAMS], "=0")) { /* where nothing runs everything is legal */
        tally->legal++;
        tally->accepted_legal += accepted;
        for (int i = 0; i < schedule.count; i++) {
            tally->with[schedule.prims[i].op]++;
            tally->refused[schedule.prims[i].op] += !accepted;
        }
        if (!accepted) {
            nest_build(m->arena, m->program, &schedule, NULL, target, &error);
            count_rule(tally, error.rule ? error.rule : "", number);
        }
    }
    if (only)
        show(m,
             verdict == VERDICT_LEGAL  ? "legal"
             : verdict == VERDICT_FORM ? "of the wrong form"
                                       : "illegal",
             number, accepted ? "accepted" : error.rule);
}

static void run_case(Tally *tally, uint64_t seed, uint64_t number, bool only) {
    Maker m = {.arena = arena_new(), .random = {seed * 0x9e3779b97f4a7c15u + number}};
    m.program = program_of_text(m.arena, programs[number % PROGRAMS], NULL, 0);
    make_schedule(&m, 1 + pick(&m, PRIMITIVES));
    judge(&m, tally, number, only);
    arena_free(m.arena);
}

static void report(const Tally *tally) {
    diag_line(
        "%d legal, of which %d are accepted (%.2f %%); %d illegal, of which %d are accepted; %d of the wrong form, "
        "of which %d are accepted",
        tally->legal, tally->accepted_legal, 100.0 * tally->accepted_legal / (tally->legal ? tally->legal : 1),
        tally->illegal, tally->accepted_illegal, tally->form, tally->accepted_form);
    for (int i = 0; i < RULES && tally->rules[i].count; i++)
        diag_line("%6d legal ones refused, number %llu: %s", tally->rules[i].count,
                  (unsigned long long)tally->rules[i].example, tally->rules[i].words);
    for (int op = 0; getenv("BRUTE_PRIMITIVES") && op < PRIM_COUNT; op++)
        diag_line("%-14s in %d legal schedules, %d of them refused", prim_info[op].spelling, tally->with[op],
                  tally->refused[op]);
}

static bool is_unknown(PrimOp op) {
    for (int i = 0; i < MAKERS; i++)
        if (makers[i].op == op)
            return makers[i].weight == 0;
    return false;
}

int main(void) {
    static Tally tally;
    uint64_t cases = from_environment("BRUTE_CASES", 20000), seed = from_environment("BRUTE_SEED", 1);
    uint64_t only = from_environment("BRUTE_ONLY", UINT64_MAX);
    if (only != UINT64_MAX) {
        run_case(&tally, seed, only, true);
        return done_testing();
    }
    for (uint64_t i = 0; i < cases; i++)
        run_case(&tally, seed, i, false);
    report(&tally);
    is_int(tally.accepted_illegal, 0, "of %d schedules that break a dependence none is accepted", tally.illegal);
    ok(tally.illegal > (int)cases / 20, "there are some");
    ok(tally.accepted_legal >= tally.legal * 0.95, "of %d schedules that break none %d are accepted", tally.legal,
       tally.accepted_legal);
    ok(tally.legal > (int)cases / 4, "there are some");
    for (PrimOp op = 0; op < PRIM_COUNT; op++)
        ok(is_unknown(op) || tally.with[op] > 0, "%s is in some of them, or unknown to the model",
           prim_info[op].spelling);
    return done_testing();
}
