/* whole.c - programs of several stages that a compiler schedules together: pipelines of stencils, attention and other
 * rows, layers; and schedules that are points of their spaces.
 *
 * Points are drawn for a machine with small caches: there what is small for a real one is large, so that strips, packed
 * operands and sums in pieces are drawn too.
 */
#include "autosched/autosched.h"
#include "autosched/space/space.h"
#include "fuzz.h"
#include "lang/machine.h"

#include <stdarg.h>
#include <string.h>

enum { STAGES_MOST = 6, DRAWS = 6 };

static int below(Random *random, int limit) {
    return (int)random_below(random, limit);
}

static const char *one_of(Random *random, const char *const *texts, int count) {
    return texts[below(random, count)];
}
#define ONE_OF(random, ...)                                                                                            \
    one_of(random, (const char *const[]){__VA_ARGS__}, sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *))

static void choose_sizes(Random *random, struct Binding *bindings) {
    static const int values[] = {0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 23, 31, 32, 33};
    static const char *const names[RANDOM_SIZES] = {"N", "M", "K"};
    for (int i = 0; i < RANDOM_SIZES; i++)
        bindings[i] = (struct Binding){names[i], values[below(random, sizeof values / sizeof *values)]};
}

/* --- pipelines: stages of two dimensions that read each other's neighbours ---------------------------------------- */

typedef struct Plane {
    const char *name, *rows, *columns; /* extents */
} Plane;

typedef struct Pipes {
    Arena *arena;
    Text *text;
    Random *random;
    const char *type;
    Plane planes[STAGES_MOST + 2];
    int count;
} Pipes;

static const char *read_at(Pipes *pipes, const Plane *plane, const char *row, const char *column) {
    const char *otherwise = ONE_OF(pipes->random, "edge", "edge", "wrap", "reflect", "0");
    if (!strcmp(otherwise, "0"))
        otherwise = arena_printf(pipes->arena, "%s(0)", pipes->type);
    if (below(pipes->random, 8) == 0)
        return arena_printf(pipes->arena, "%s(min(max(%s, 0), %s - 1), j)", plane->name, row, plane->rows);
    return arena_printf(pipes->arena, "(%s(%s, %s) else %s)", plane->name, row, column, otherwise);
}

/* A few neighbours, weighted. */
static const char *neighbours(Pipes *pipes, const Plane *plane) {
    Text sum = {.arena = pipes->arena};
    int count = 1 + below(pipes->random, 4);
    for (int n = 0; n < count; n++) {
        const char *row = ONE_OF(pipes->random, "i", "i - 1", "i + 1", "i + 2");
        const char *column = ONE_OF(pipes->random, "j", "j", "j - 1", "j + 1", "j + 3");
        text_add(&sum, "%s%s(%d) * %s", n ? " + " : "", pipes->type, 1 + below(pipes->random, 3),
                 read_at(pipes, plane, row, column));
    }
    return sum.text;
}

static const Plane *some_plane(Pipes *pipes, const Plane *like) {
    int number = below(pipes->random, pipes->count);
    for (int p = 0; p < pipes->count; p++) {
        const Plane *plane = &pipes->planes[(number + p) % pipes->count];
        if (!like || (!strcmp(plane->rows, like->rows) && !strcmp(plane->columns, like->columns)))
            return plane;
    }
    return like;
}

/* One stage, most often of the last one. */
static void add_stage(Pipes *pipes, int number) {
    Random *random = pipes->random;
    const Plane *from = below(random, 4) ? &pipes->planes[pipes->count - 1] : some_plane(pipes, NULL);
    const char *rows = from->rows, *name = arena_printf(pipes->arena, "T%d", number), *value, *update = "=", *more = "";
    switch (below(random, 7)) {
    case 0: /* half as many rows */
        value = arena_printf(pipes->arena, "%s(2*i, j) - %s(2*i + 1, j)", from->name, from->name);
        rows = arena_printf(pipes->arena, "(%s)/2", rows);
        break;
    case 1: /* twice as many */
        value = arena_printf(pipes->arena, "%s(i/2, j) + %s(3)", from->name, pipes->type);
        rows = arena_printf(pipes->arena, "2*(%s)", rows);
        break;
    case 2: /* a short sum */
        value = read_at(pipes, from, "i + r_a - 1", "j + r_b");
        update = ONE_OF(random, "+=!", "+=!", "max=!");
        more = ", r_a in 0:3, r_b in 0:2";
        break;
    case 3: /* element by element */
        value = arena_printf(pipes->arena, "%s(i, j) * %s(i, j)", from->name, some_plane(pipes, from)->name);
        break;
    default:
        value = neighbours(pipes, from);
        if (below(random, 2))
            value = arena_printf(pipes->arena, "%s - %s(i, j)", value, some_plane(pipes, from)->name);
    }
    Plane plane = {name, rows, from->columns};
    text_add(pipes->text, "    %s(i, j) %s %s where i in 0:%s, j in 0:%s%s\n", name, update, value, rows, plane.columns,
             more);
    pipes->planes[pipes->count++] = plane;
}

static void print_pipeline(Arena *arena, Text *text, Random *random) {
    Pipes pipes = {arena, text, random, ONE_OF(random, "float", "float", "float", "double", "int32", "int16"),
                   .count = 1};
    int stages = 2 + below(random, STAGES_MOST - 1);
    bool two = below(random, 6) == 0;
    pipes.planes[0] = (Plane){"X", "M", "N"};
    text_add(text, "def f(%s(M, N) X, %s(K) A) -> (%sT%d) {\n", pipes.type, pipes.type, two ? "T0, " : "", stages - 1);
    for (int s = 0; s < stages; s++)
        add_stage(&pipes, s);
}

/* --- rows: attention and its like --------------------------------------------------------------------------------- */

static void print_rows(Arena *arena, Text *text, Random *random) {
    bool attention = below(random, 3), before = below(random, 2), shifted = below(random, 4);
    const char *causal = attention && below(random, 4) == 0 ? ", r_j <= i" : "";
    (void)arena;
    text_add(text, "def f(float(M, K) X, float(N, K) A, float(N, K) V) -> (O) {\n");
    text_add(text, "    s(i, j) +=! X(i, r_k) * A(j, r_k) where i in 0:M, j in 0:N, r_k in 0:K\n");
    if (shifted)
        text_add(text, "    m(i) max=! s(i, r_j) where i in 0:M, r_j in 0:N%s\n", causal);
    text_add(text, "    e(i, j) = exp(%s) where i in 0:M, j in 0:N\n",
             shifted ? "0.25 * s(i, j) - 0.25 * m(i)" : "0.01 * s(i, j)");
    text_add(text, "    d(i) +=! e(i, r_j) where i in 0:M, r_j in 0:N%s\n", causal);
    if (!attention) {
        text_add(text, "    O(i, j) = e(i, j) / d(i) where i in 0:M, j in 0:N\n");
    } else if (before) {
        text_add(text, "    p(i, j) = e(i, j) / d(i) where i in 0:M, j in 0:N\n");
        text_add(text, "    O(i, c) +=! p(i, r_j) * V(r_j, c) where i in 0:M, c in 0:K, r_j in 0:N%s\n", causal);
    } else {
        text_add(text, "    o(i, c) +=! e(i, r_j) * V(r_j, c) where i in 0:M, c in 0:K, r_j in 0:N%s\n", causal);
        text_add(text, "    O(i, c) = o(i, c) / d(i) where i in 0:M, c in 0:K\n");
    }
}

/* --- layers: sums of many terms, one after another ---------------------------------------------------------------- */

static void print_layers(Arena *arena, Text *text, Random *random) {
    int layers = 1 + below(random, 3);
    const char *from = "X", *input = "K", *constant = below(random, 2) ? "const " : "";
    text_add(text, "def f(float(M, K) X, %sfloat(3, K, N) F, %sfloat(3, N, N) G) -> (T%d) {\n", constant, constant,
             layers - 1);
    for (int l = 0; l < layers; l++) {
        const char *weights = l ? "G" : "F", *window = ONE_OF(random, "", "r_w in 0:3", "r_w in 0:3");
        const char *at = *window ? ONE_OF(random, "i + r_w - 1", "i + r_w", "2*i + r_w - 2") : "i";
        const char *sum = below(random, 2) ? arena_printf(arena, "S%d", l) : arena_printf(arena, "T%d", l);
        text_add(text,
                 "    %s(i, c) +=! (%s(%s, r_c) else 0) * %s(%s, r_c, c) where i in 0:M, c in 0:N, r_c in 0:%s%s%s\n",
                 sum, from, at, weights, *window ? "r_w" : "1", input, *window ? ", " : "", window);
        if (*sum == 'S')
            text_add(text, "    T%d(i, c) = max(%s(i, c) * 0.25 - %s, 0) where i in 0:M, c in 0:N\n", l, sum,
                     l && below(random, 2) ? arena_printf(arena, "%s(i, c)", from) : "0.5");
        from = arena_printf(arena, "T%d", l);
        input = "N";
    }
}

const char *random_whole(Arena *arena, Random *random, struct Binding *bindings) {
    Text text = {.arena = arena};
    choose_sizes(random, bindings);
    switch (below(random, 5)) {
    case 0: print_rows(arena, &text, random); break;
    case 1: print_layers(arena, &text, random); break;
    default: print_pipeline(arena, &text, random);
    }
    text_add(&text, "}\nexport f(N=%d, M=%d, K=%d)\n", (int)bindings[0].value, (int)bindings[1].value,
             (int)bindings[2].value);
    return text.text;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static const Target *with_small_caches(Arena *arena, const Target *target) {
    Target *small = ARENA_NEW(arena, Target);
    Machine *machine = ARENA_NEW(arena, Machine);
    *small = *target;
    *machine = *target->machine;
    for (int level = 0; level < 3; level++)
        machine->cache_bytes[level] = (int64_t)256 << (2 * level);
    small->machine = machine;
    return small;
}

const Schedule *random_point(Arena *arena, const Program *program, const Target *target, Random *random) {
    const Target *drawn_for = below(random, 4) ? with_small_caches(arena, target) : target;
    Space *space = space_new(arena, program, drawn_for, NULL);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    for (int draw = 0; draw < DRAWS; draw++) {
        point_random(space, random, point);
        const Schedule *schedule = point_plausible(space, point) ? point_schedule(arena, space, point) : NULL;
        if (schedule && nest_build(arena, program, schedule, NULL, target, NULL))
            return schedule;
    }
    return NULL;
}
