/* values.c - random programs against an oracle that shares no code with the compiler (source_run.h).
 *
 *     values [--cases=N] [--first=N] [--seed=S] [--time=SECONDS] [--print]      cases from numbers
 *     values FILE...                                                            cases from files
 *     VALUES_WHY=1 shows what is left out and why.
 *
 * Both the interpreter and an object have to agree with it. Cases run in processes forked for a batch each. What is
 * wrong is printed with its text, the last line says what there was; exit status 0: nothing is wrong.
 */
#include "tests/fuzz/values.h"
#include "autosched/autosched.h"
#include "backends/backends.h"
#include "fuzz.h"
#include "lang/clock.h"
#include "lower/kernel/statements.h"
#include "parser/ast.h"
#include "sema/interpreter.h"
#include "tests/fuzz/source_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 50, ARGUMENTS = 16, SHOWN = 20 };

typedef struct Totals {
    int64_t current, cases, refused, open, outside, compared, wrong;
} Totals;

typedef struct Case {
    Arena *arena;
    const char *text;
    Checked checked;
    Totals *totals;
    int count;
    void *given[ARGUMENTS], *found[ARGUMENTS];
    int64_t bytes[ARGUMENTS];
    SourceResults results;
} Case;

/* --- arguments --- */

static bool fill_case(Case *c) {
    const Program *program = c->checked.program;
    c->count = program->argument_count;
    if (c->count > ARGUMENTS)
        return false;
    for (int i = 0; i < c->count; i++) {
        const Argument *a = &program->arguments[i];
        ElementType type = a->tensor ? a->tensor->type : a->scalar->type;
        int64_t elements = argument_elements(program, c->checked.sizes, i);
        c->bytes[i] = elements * element_info[type].bytes;
        c->given[i] = arena_alloc(c->arena, (size_t)c->bytes[i] + 16);
        c->found[i] = arena_alloc(c->arena, (size_t)c->bytes[i] + 16);
        values_fill(type, c->given[i], elements, c->checked.data * 64 + (uint64_t)i,
                    strstr(c->text, "small=1") != NULL);
    }
    return true;
}

/* --- the oracle --- */

static bool ask_oracle(Case *c) {
    Sources *sources = ARENA_NEW(c->arena, Sources);
    sources->arena = c->arena;
    Diagnostics *diagnostics = diag_new(c->arena, sources, (DiagOptions){.stream = stderr, .no_warnings = true});
    uint32_t file = (uint32_t)source_add(sources, "case", c->text, strlen(c->text), false);
    AstFile *tree = parse_file(c->arena, sources, file, diagnostics);
    bool known = source_run(c->arena, tree, c->checked.strict, c->given, &c->results);
    c->totals->open += c->results.why != NULL;
    c->totals->outside += c->results.outside;
    if (c->results.why && getenv("VALUES_WHY")) /* what is left out, and why */
        printf("open: %s\n", c->results.why);
    return known || c->results.outside;
}

static void tell(Case *c, const char *who, const char *what) {
    c->totals->wrong++;
    if (c->totals->wrong <= SHOWN)
        printf("--- %s: %s\n%s\n", who, what, c->text);
    fflush(stdout);
}

static const char *shown(Arena *arena, const Datum *d) {
    return datum_is_float(d) ? arena_printf(arena, "%.17g", d->real)
                             : arena_printf(arena, "%lld", (long long)d->integer);
}

static bool compare(Case *c, const char *who, int status) {
    const Program *program = c->checked.program;
    int first = c->count - c->results.count;
    if (status != (c->results.outside ? 2 : 0)) {
        tell(c, who, arena_printf(c->arena, "status %d", status));
        return false;
    }
    for (int r = 0; r < c->results.count && !c->results.outside; r++) {
        const SourceTensor *wanted = c->results.tensors[r];
        ElementType type = program->arguments[first + r].tensor->type;
        if (type != wanted->type || c->bytes[first + r] != wanted->count * element_info[type].bytes) {
            tell(c, who,
                 arena_printf(c->arena, "%s is another tensor: %s of %lld bytes, not %s of %lld elements", wanted->name,
                              element_info[type].spelling, (long long)c->bytes[first + r],
                              element_info[wanted->type].spelling, (long long)wanted->count));
            return false;
        }
        for (int64_t e = 0; e < wanted->count; e++) {
            Datum found = datum_load(type, (char *)c->found[first + r] + e * element_info[type].bytes);
            c->totals->compared += wanted->data[e].certainty != UNKNOWN;
            if (datum_allows(&wanted->data[e], &found))
                continue;
            tell(c, who,
                 arena_printf(c->arena, "element %lld of %s is %s, should be %s", (long long)e, wanted->name,
                              shown(c->arena, &found), shown(c->arena, &wanted->data[e])));
            return false;
        }
    }
    return true;
}

/* --- who is judged --- */

static void reset(Case *c) {
    for (int i = 0; i < c->count; i++)
        memcpy(c->found[i], c->given[i], (size_t)c->bytes[i]);
}

static bool judge_interpreter(Case *c) {
    const Program *program = c->checked.program;
    int status = 0;
    const char *why = NULL;
    reset(c);
    Interpreter *interpreter = interpreter_new(program, c->checked.sizes, c->given, &status, &why);
    for (int i = 0; interpreter && i < c->count; i++)
        if (program->arguments[i].tensor && program->arguments[i].tensor->role == ROLE_OUTPUT)
            interpreter_tensor(interpreter, program->arguments[i].tensor, c->found[i]);
    interpreter_free(interpreter);
    return compare(c, "interpreter", status);
}

static void judge_object(Case *c) {
    static const Effort efforts[] = {EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_MODEL};
    const Checked *checked = &c->checked;
    const char *why = NULL;
    const Schedule *schedule =
        autosched_default(c->arena, checked->program, checked->target, NULL, efforts[checked->level], checked->data);
    const Nest *nest = nest_build(c->arena, checked->program, schedule, NULL, checked->target, NULL);
    if (!nest) {
        tell(c, "object", "the schedule is refused");
        return;
    }
    ExpandOptions options = {.strict = checked->strict, .verify_each = true};
    Kernel *kernel = expand(c->arena, nest, &options);
    reset(c);
    int status = object_run(c->arena, kernel, checked, c->found, c->bytes, &why);
    if (why)
        tell(c, "object", why);
    else
        compare(c, "object", status);
}

static void run_text(const char *text, Totals *totals) {
    Arena *arena = arena_new();
    Case c = {.arena = arena, .text = text, .totals = totals};
    const char *why = NULL;
    totals->cases++;
    if (!read_text(arena, text, &c.checked, &why)) {
        totals->refused++;
        if (getenv("VALUES_WHY"))
            printf("refused: %s\n%s\n", why, text);
    } else if (fill_case(&c) && ask_oracle(&c) && judge_interpreter(&c)) {
        judge_object(&c);
    }
    arena_free(arena);
}

/* --- many --- */

typedef struct Wish {
    uint64_t seed;
    int64_t first, cases, seconds;
    bool print;
} Wish;

static const char *targets[] = {"host", "host", "host", "host"};

static void find_targets(void) {
#if defined(__x86_64__)
    targets[1] = "x86-64";
    targets[2] = __builtin_cpu_supports("sse4.2") ? "x86-64-v2" : "x86-64";
    targets[3] = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "x86-64-v3" : "x86-64";
#endif
}

static const char *make_text(Arena *arena, const Wish *wish, int64_t number) {
    Random random = {wish->seed * 1000003 + (uint64_t)number * 2654435761u + 12345};
    for (int i = 0; i < 4; i++)
        random_below(&random, 2);
    bool shapes = number % 2;
    Text text = {.arena = arena};
    text_add(&text, "# fuzz: seed=%llu case=%lld engine=object target=%s threads=%d level=%d data=%d strict=%d%s%s\n",
             (unsigned long long)wish->seed, (long long)number, targets[random_below(&random, 4)],
             1 + (int)random_below(&random, 2), (int)random_below(&random, 3), (int)random_below(&random, 100000),
             (int)random_below(&random, 2), shapes ? " small=1" : "", random_below(&random, 4) ? "" : " symbolic=N");
    text_add(&text, "%s", shapes ? values_of_shapes(arena, &random) : values_of_elements(arena, &random));
    return text.text;
}

static void run_batch(const Wish *wish, Totals *totals, int64_t end) {
    for (; totals->current < end; totals->current++) {
        Arena *arena = arena_new();
        const char *text = make_text(arena, wish, totals->current);
        if (wish->print)
            printf("%s", text);
        run_text(text, totals);
        arena_free(arena);
    }
}

/* A batch that ends early goes on behind the case that ended it. */
static void run_forked(const Wish *wish, Totals *totals, int64_t end) {
    while (totals->current < end) {
        fflush(NULL);
        pid_t process = fork();
        if (!process) {
            run_batch(wish, totals, end);
            fflush(NULL);
            _exit(0);
        }
        int status = 0;
        waitpid(process, &status, 0);
        if (status) {
            totals->wrong++;
            printf("--- --seed=%llu --first=%lld: the process ends with %d\n", (unsigned long long)wish->seed,
                   (long long)totals->current, status);
            totals->current++;
        }
    }
}

static void run_numbers(const Wish *wish, Totals *totals) {
    double start = monotonic_seconds();
    totals->current = wish->first;
    int64_t end = wish->first + wish->cases;
    while (totals->current < end && (!wish->seconds || monotonic_seconds() - start < (double)wish->seconds))
        run_forked(wish, totals, totals->current + BATCH < end ? totals->current + BATCH : end);
}

static char *whole_file(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    if (!file || !text || !fread(text, 1, (1 << 16) - 1, file)) {
        fprintf(stderr, "values: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

/* False where it is none: a file's name. */
static bool take_option(Wish *wish, const char *option) {
    const struct {
        const char *name;
        int64_t *value;
    } options[] = {{"--cases=", &wish->cases},
                   {"--first=", &wish->first},
                   {"--time=", &wish->seconds},
                   {"--seed=", (int64_t *)&wish->seed}};
    if (!strcmp(option, "--print"))
        return wish->print = true;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        size_t length = strlen(options[i].name);
        if (strncmp(option, options[i].name, length))
            continue;
        *options[i].value = strtoll(option + length, NULL, 10);
        return true;
    }
    return false;
}

int main(int count, char **arguments) {
    Wish wish = {.seed = 1, .cases = 400};
    int files = 0;
    Totals *totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (totals == MAP_FAILED)
        return 2;
    find_targets();
    for (int i = 1; i < count; i++) {
        if (take_option(&wish, arguments[i]))
            continue;
        char *text = whole_file(arguments[i]);
        run_text(text, totals);
        free(text);
        files++;
    }
    if (!files)
        run_numbers(&wish, totals);
    printf("cases %lld, refused %lld, left open %lld, status 2 %lld, values compared %lld, wrong %lld\n",
           (long long)totals->cases, (long long)totals->refused, (long long)totals->open, (long long)totals->outside,
           (long long)totals->compared, (long long)totals->wrong);
    return totals->wrong != 0;
}
