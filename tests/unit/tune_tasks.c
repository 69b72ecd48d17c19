/* tune_tasks.c - tunings of functions of several tasks, against simulated toolchains, one for each task. */
#include "autosched/autosched.h"
#include "tests/tap.h"
#include "tests/unit/simulated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

static char *folder;

static const char four_products[] =
    "def f(float(96, 96) x, float(96, 96) a, float(96, 96) b, float(96, 96) c, float(96, 96) d) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * b(r_k, j)\n"
    "v(i, j) +=! u(i, r_k) * c(r_k, j)  y(i, j) +=! v(i, r_k) * d(r_k, j) }";
static const char three_kinds[] =
    "def f(float(96, 96) x, float(96, 96) a, float(96, 64) b, float(64, 32) c) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * b(r_k, j)  y(i, j) +=! u(i, r_k) * c(r_k, j) }";
static const char similar_products[] =
    "def f(float(96, 96) x, float(96, 128) a, float(128, 160) b, float(160, 96) c) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * b(r_k, j)  y(i, j) +=! u(i, r_k) * c(r_k, j) }";
static const char with_epilogue[] = "def f(float(96, 96) x, float(96, 96) a, float(96) b) -> (y) {\n"
                                    "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) = max(t(i, j) + b(j), 0) }";
static const char with_epilogues[] =
    "def f(float(96, 96) x, float(96, 128) a, float(128) b, float(128, 64) c) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  s(i, j) = max(t(i, j) + b(j), 0)\n"
    "u(i, j) +=! s(i, r_k) * c(r_k, j)  y(i, j) = max(u(i, j), 0) }";
static const char equal_epilogues[] =
    "def f(float(96, 96) x, float(96, 96) a, float(96) b, float(96, 96) c, float(96) d) -> (y) {\n"
    "t(i, j) +=! x(i, r_k) * a(r_k, j)  s(i, j) = max(t(i, j) + b(j), 0)\n"
    "u(i, j) +=! s(i, r_k) * c(r_k, j)  y(i, j) = max(u(i, j) + d(j), 0) }";
static const char one_product[] =
    "def g(float(96, 96) p, float(96, 96) q) -> (r) { r(i, j) +=! p(i, r_k) * q(r_k, j) }";

/* Lends a simulated toolchain for each task. */
typedef struct Lender {
    Workshop workshop;
    Arena *arena;
    const Target *target;
    LIST(Simulated *) lent;
    int open, most_open, failure_rate;
    bool refuses;
    int stop_after;     /* measurements of a task */
    const char *lonely; /* see Simulated */
} Lender;

static const Toolchain *lend(void *context, Program *program) {
    Lender *lender = context;
    if (lender->refuses)
        return NULL;
    Simulated *simulated = ARENA_NEW(lender->arena, Simulated);
    simulated_open(simulated, lender->arena, program, lender->target);
    simulated->failure_rate = lender->failure_rate;
    simulated->stop_after = lender->stop_after;
    simulated->lonely = lender->lonely;
    list_push(lender->arena, &lender->lent, simulated);
    lender->open++;
    lender->most_open = lender->open > lender->most_open ? lender->open : lender->most_open;
    return &simulated->toolchain;
}

static void take_back(void *context, const Toolchain *toolchain) {
    ((Lender *)context)->open--;
    (void)toolchain;
}

static void end_lender(Lender *lender) {
    for (int i = 0; i < lender->lent.count; i++)
        simulated_close(lender->lent.items[i]);
}

static int measured_by(const Lender *lender) {
    int sum = 0;
    for (int i = 0; i < lender->lent.count; i++)
        sum += lender->lent.items[i]->measured;
    return sum;
}

static Database *open_database(Arena *arena, const char *name) {
    return database_for_test(arena, arena_printf(arena, "%s/%s", folder, name));
}

static int records_of(Arena *arena, Database *database, const Program *program, const Target *target) {
    Record *records;
    return database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
}

typedef struct Run {
    TuneResult *result;
    Lender lender;
    int whole; /* measured of the function itself */
} Run;

static TuneOptions options_for(int trials) {
    return (TuneOptions){
        .trials = trials, .search = "anneal", .cost_model = "xgboost", .seed = 7, .threads = 2, .maker = "a compiler"};
}

static Run tune_function(Arena *arena, const Program *program, const Target *target, Database *database, Run run,
                         TuneOptions options) {
    Simulated simulated;
    simulated_open(&simulated, arena, program, target);
    simulated.lonely = run.lender.lonely;
    run.lender.workshop = (Workshop){&run.lender, lend, take_back};
    run.lender.arena = arena;
    run.lender.target = target;
    options.workshop = &run.lender.workshop;
    run.result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    run.whole = simulated.measured;
    simulated_close(&simulated);
    end_lender(&run.lender);
    return run;
}

/* Equal products are searched once; the function has what is put together, and the next function has it too. */
static void test_equal(Arena *arena, const Target *target) {
    enum { TRIALS = 60 };
    Database *database = open_database(arena, "equal.db");
    Program *program = program_of_text(arena, four_products, NULL, 0);
    Program *alone = program_of_text(arena, one_product, NULL, 0);
    Run run = tune_function(arena, program, target, database, (Run){0}, options_for(TRIALS));
    is_int(run.result->trials, TRIALS, "a function of four equal products is searched with so many trials");
    is_int(run.lender.lent.count, 1, "the products are one task");
    is_int(measured_by(&run.lender) + run.whole, TRIALS, "all of them are measured");
    ok(run.whole >= 2 && run.whole <= TRIALS / 3, "%d of them are of the function", run.whole);
    is_int(run.lender.open, 0, "what was lent is given back");
    const TaskResult *task = run.result->tasks.items;
    ok(run.result->tasks.count == 1 && task->count == 4 && task->result->trials == measured_by(&run.lender),
       "the result has the task, which stands for four, and its %d trials", task->result->trials);
    ok(run.result->seconds > 0 && run.result->seconds <= run.result->default_seconds, "nothing slower is kept");
    is_int(records_of(arena, database, alone, target), measured_by(&run.lender), "the task's records are its own");
    is_int(records_of(arena, database, program, target), run.whole, "and so are the function's");
    int used;
    bool spent;
    TuneOptions options = options_for(TRIALS);
    ok(searches_are_known(arena, database, &program, 1, target, NULL, &options, &used, &spent),
       "then the function is known");
    Run next = tune_function(arena, alone, target, database, (Run){0}, options_for(30));
    ok(next.result->from_database && next.whole == 0, "a function that is the task has nothing to measure");
    database_close(database);
}

/* Different ones share the trials, and few toolchains are open at once. */
static void test_different(Arena *arena, const Target *target) {
    static const char *const schedulers[] = {"gradient", "round-robin", "gradient:objective=f4,patience=1000"};
    Program *program = program_of_text(arena, three_kinds, NULL, 0);
    for (int s = 0; s < 3; s++) {
        TuneOptions options = options_for(90);
        options.scheduler = schedulers[s];
        Run run = tune_function(arena, program, target, NULL, (Run){0}, options);
        int least = run.lender.lent.count ? run.lender.lent.items[0]->measured : 0;
        for (int i = 0; i < run.lender.lent.count; i++)
            least = run.lender.lent.items[i]->measured < least ? run.lender.lent.items[i]->measured : least;
        ok(run.result->trials == 90 && run.lender.lent.count == 3 && least > 3,
           "%s: each of %d tasks gets trials, at least %d", schedulers[s], run.lender.lent.count, least);
        ok(run.result->seconds <= run.result->default_seconds, "and nothing slower is kept");
    }
}

/* The mean logarithm of the seconds of what searches with several seeds find for the tasks of the program. */
static double mean_of_tasks(Arena *arena, const Target *target, const char *model) {
    enum { SEEDS = 16 };
    Program *program = program_of_text(arena, similar_products, NULL, 0);
    double sum = 0;
    int count = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        TuneOptions options = options_for(36);
        options.cost_model = model;
        options.seed = (uint64_t)seed;
        options.scheduler = "round-robin";
        Run run = tune_function(arena, program, target, NULL, (Run){0}, options);
        for (int t = 0; t < run.result->tasks.count; t++, count++)
            sum += log(run.result->tasks.items[t].result->seconds);
    }
    return sum / count;
}

/* One model of similar tasks: what the trials of one taught helps the others. */
static void test_similar(Arena *arena, const Target *target) {
    double gain = mean_of_tasks(arena, target, "xgboost:own") - mean_of_tasks(arena, target, "xgboost");
    ok(gain > 0.05, "in as many trials tasks that share a model are %.2f times as fast as with models of their own",
       exp(gain));
}

static const BorderResult *taken_border(const Run *run) {
    for (int b = 0; b < run->result->borders.count; b++)
        if (run->result->borders.items[b].taken)
            return &run->result->borders.items[b];
    return NULL;
}

typedef struct BorderCase {
    const char *name, *text;
    const char *stage;                /* from behind which a border is wanted */
    int default_tasks, default_parts; /* by the rules; 0: the function is searched as a whole */
    int tasks, parts;                 /* with the border */
} BorderCase;

static int count_parts(const Run *run) {
    int count = 0;
    for (int t = 0; t < run->result->tasks.count; t++)
        count += run->result->tasks.items[t].count;
    return count;
}

static void test_border(Arena *arena, const Target *target, const BorderCase *wanted) {
    enum { TRIALS = 100 };
    Program *program = program_of_text(arena, wanted->text, NULL, 0);
    Run plain = tune_function(arena, program, target, NULL, (Run){0}, options_for(TRIALS));
    ok(plain.result->borders.count > 0 && !taken_border(&plain), "%s: of %d other borders none is taken", wanted->name,
       plain.result->borders.count);
    ok(plain.result->tasks.count == wanted->default_tasks && count_parts(&plain) == wanted->default_parts,
       "it has the tasks of the rules");
    Run run = tune_function(arena, program, target, NULL, (Run){.lender.lonely = wanted->stage}, options_for(TRIALS));
    const BorderResult *border = taken_border(&run);
    ok(border && !strcmp(border->stage, wanted->stage) && border->seconds < border->before,
       "one is taken where the function is faster with it");
    ok(run.result->tasks.count == wanted->tasks && count_parts(&run) == wanted->parts, "and makes %d tasks of %d parts",
       run.result->tasks.count, count_parts(&run));
    ok(run.result->seconds < 0.5 * run.result->default_seconds, "%.2f times as fast as the default",
       run.result->default_seconds / run.result->seconds);
    is_int(run.result->trials, TRIALS, "all are of the same trials");
    is_int(run.lender.open + plain.lender.open, 0, "what was lent is given back");
    is_int(measured_by(&run.lender) + run.whole, TRIALS, "and each is measured once");
}

/* A search that goes on finds the same border, with what it has not measured yet. */
static void test_border_again(Arena *arena, const Target *target) {
    Database *database = open_database(arena, "borders.db");
    Program *program = program_of_text(arena, with_epilogues, NULL, 0);
    Run begun = {.lender.lonely = "u"};
    TuneOptions options = options_for(100);
    int used;
    bool spent;
    Run first = tune_function(arena, program, target, database, begun, options);
    ok(taken_border(&first) && searches_are_known(arena, database, &program, 1, target, NULL, &options, &used, &spent),
       "a function that was searched with another border is known");
    Run more = tune_function(arena, program, target, database, begun, options_for(140));
    int measured = measured_by(&more.lender) + more.whole;
    ok(taken_border(&more) && !strcmp(taken_border(&more)->stage, "u"), "a longer search takes the same border");
    ok(measured >= 40 && measured <= 60, "and measures %d more", measured);
    database_close(database);
}

/* A border that the rules do not set is found where the function is faster with it, and only there. */
static void test_borders(Arena *arena, const Target *target) {
    static const BorderCase cases[] = {
        {"an epilogue", with_epilogue, "t", 0, 0, 2, 2},
        {"the second epilogue", with_epilogues, "u", 2, 2, 3, 3},
        {"equal epilogues", equal_epilogues, "t", 1, 2, 2, 4},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        test_border(arena, target, &cases[c]);
    test_border_again(arena, target);
    Program *alone = program_of_text(arena, one_product, NULL, 0);
    Run run = tune_function(arena, alone, target, NULL, (Run){0}, options_for(60));
    ok(run.result->borders.count == 0 && run.lender.lent.count == 0 && run.whole == 60,
       "a function that can be cut nowhere pays nothing");
    Program *program = program_of_text(arena, with_epilogue, NULL, 0);
    run = tune_function(arena, program, target, NULL, (Run){.lender.lonely = "t"}, options_for(20));
    ok(run.result->borders.count == 0 && run.whole == 20, "nor does a short search");
    TuneOptions cold = options_for(60);
    cold.search = "anneal:cold";
    run = tune_function(arena, program, target, NULL, (Run){.lender.lonely = "t"}, cold);
    is_int(run.result->borders.count, 0, "a cold one has the borders of the rules");
}

/* A search that is stopped goes on where it was. */
static void test_stopped(Arena *arena, const Target *target) {
    enum { TRIALS = 60 };
    Database *database = open_database(arena, "stopped.db");
    Program *program = program_of_text(arena, four_products, NULL, 0);
    Run first = tune_function(arena, program, target, database, (Run){.lender.stop_after = 20}, options_for(TRIALS));
    ok(first.result->trials >= 20 && first.result->trials < TRIALS, "a search stops after %d trials",
       first.result->trials);
    Run second = tune_function(arena, program, target, database, (Run){0}, options_for(TRIALS));
    is_int(second.result->trials, TRIALS, "and goes on");
    is_int(measured_by(&first.lender) + measured_by(&second.lender) + first.whole + second.whole, TRIALS,
           "with what it has not measured yet");
    database_close(database);
}

/* Failures of tasks are those of the function; a task that cannot be measured alone leaves the whole to be searched. */
static void test_failures(Arena *arena, const Target *target) {
    Program *program = program_of_text(arena, four_products, NULL, 0);
    Run failing = tune_function(arena, program, target, NULL, (Run){.lender.failure_rate = 4}, options_for(60));
    int failed = 0;
    for (int outcome = 1; outcome < OUTCOME_COUNT; outcome++)
        failed += failing.result->failures.failed[outcome];
    ok(failed > 3 && failing.result->failures.reasons.count > 0, "%d failures of a task are counted", failed);
    Run refused = tune_function(arena, program, target, NULL, (Run){.lender.refuses = true}, options_for(40));
    ok(refused.result->trials == 40 && refused.whole == 40,
       "without toolchains for tasks a function is searched as a whole");
    Run few = tune_function(arena, program, target, NULL, (Run){0}, options_for(3));
    is_int(few.lender.lent.count, 0, "so is one with few trials");
}

/* Records of tasks make a schedule of a function that was not tuned. */
static void test_known(Arena *arena, const Target *target) {
    Database *database = open_database(arena, "known.db");
    Program *four = program_of_text(arena, four_products, NULL, 0);
    Program *three = program_of_text(arena, three_kinds, NULL, 0);
    Program *alone = program_of_text(arena, one_product, NULL, 0);
    ok(!tasks_schedule(arena, database, four, target, 2, 0, false), "without records there is no schedule");
    Run run = tune_function(arena, alone, target, database, (Run){0}, options_for(40));
    Schedule *all = tasks_schedule(arena, database, four, target, 2, 0, true);
    ok(all && all->count == 4 * run.result->schedule->count, "a record of a product makes four products' schedule");
    ok(tasks_schedule(arena, database, three, target, 2, 0, false) != NULL, "other tasks get the default");
    ok(!tasks_schedule(arena, database, three, target, 2, 0, true), "unless each is to have a record");
    ok(!tasks_schedule(arena, database, alone, target, 2, 0, false), "one task is no task of another");
    database_close(database);
}

int main(void) {
    char path[] = "/tmp/tensorc-tasks-XXXXXX";
    folder = mkdtemp(path);
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    test_equal(arena, &target);
    test_different(arena, &target);
    test_similar(arena, &target);
    test_borders(arena, &target);
    test_stopped(arena, &target);
    test_failures(arena, &target);
    test_known(arena, &target);
    if (system(arena_printf(arena, "rm -rf '%s'", folder)))
        diag_line("%s is left", folder);
    arena_free(arena);
    return done_testing();
}
