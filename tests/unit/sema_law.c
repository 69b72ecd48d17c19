/* sema_law.c - what the proof of bounds promises, on programs made at random: whenever the requirements hold, every
 * read without an `otherwise` is inside its tensor for all values of the axes, and no extent is negative.
 *
 * The programs are one statement each: reads with affine, divided and clamped indices under conditions, ranges given or
 * inferred. Those that sema refuses count for nothing but that they are refused without a crash.
 */
#include "sema/sema.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { PROGRAMS = 600, VALUE_LIMIT = 16 };

typedef struct Random {
    uint64_t state;
} Random;

static int pick(Random *random, int count) {
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random->state >> 33) % (uint64_t)count);
}

/* --- programs
 * ---------------------------------------------------------------------------------------------------------- */

static const char *size_text(Random *random, Arena *arena) {
    static const char *const names[] = {"M", "N", "K"};
    const char *a = names[pick(random, 3)], *b = names[pick(random, 3)];
    switch (pick(random, 6)) {
    case 0: return arena_printf(arena, "%d", 1 + pick(random, 6));
    case 1: return arena_printf(arena, "%s + %d", a, pick(random, 4));
    case 2: return arena_printf(arena, "%s + %s", a, b);
    case 3: return arena_printf(arena, "(%s + %d) / %d", a, pick(random, 3), 1 + pick(random, 3));
    case 4: return arena_printf(arena, "%d * %s", 1 + pick(random, 3), a);
    default: return a;
    }
}

static const char *index_text(Random *random, Arena *arena) {
    static const char *const names[] = {"i", "j", "r"};
    const char *a = names[pick(random, 3)], *b = names[pick(random, 3)];
    int factor = 1 + pick(random, 3), offset = pick(random, 7) - 3;
    switch (pick(random, 12)) {
    case 0: return arena_printf(arena, "%d * %s + %s + %d", factor, a, b, offset);
    case 1: return arena_printf(arena, "%s - %s + %d", a, b, offset);
    case 2: return arena_printf(arena, "(%s + %d) / %d", a, offset, factor);
    case 3: return arena_printf(arena, "(%d * %s + %d) %% %d", factor, a, offset, 2 + pick(random, 3));
    case 4: return arena_printf(arena, "min(%s + %d, %s)", a, offset, size_text(random, arena));
    case 5: return arena_printf(arena, "max(%s - %d, 0)", a, pick(random, 3));
    case 6: return arena_printf(arena, "%s - 1 - %s", size_text(random, arena), a);
    case 7: return arena_printf(arena, "%s > %d ? %s - %d : %s", a, pick(random, 3), a, pick(random, 3), b);
    case 8: return arena_printf(arena, "%s * %s + %s", a, names[pick(random, 3)], b);
    case 9: return arena_printf(arena, "%d * %s + %d", factor, a, offset);
    default: return a;
    }
}

static const char *read_text(Random *random, Arena *arena) {
    const char *tensor = pick(random, 2) ? "A" : "B";
    return *tensor == 'A' ? arena_printf(arena, "A(%s, %s)", index_text(random, arena), index_text(random, arena))
                          : arena_printf(arena, "B(%s)", index_text(random, arena));
}

static const char *condition_text(Random *random, Arena *arena) {
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "=="};
    const char *first = arena_printf(arena, "%s %s %s", index_text(random, arena), comparisons[pick(random, 5)],
                                     pick(random, 2) ? size_text(random, arena) : "0");
    if (pick(random, 3))
        return first;
    return arena_printf(arena, "%s(%s %s %s >= %d)", pick(random, 3) ? "" : "!", first, pick(random, 2) ? "&&" : "||",
                        index_text(random, arena), pick(random, 3));
}

static const char *value_text(Random *random, Arena *arena, int depth) {
    switch (pick(random, depth ? 6 : 2)) {
    case 2:
        return arena_printf(arena, "(%s ? %s : %s)", condition_text(random, arena),
                            value_text(random, arena, depth - 1), value_text(random, arena, depth - 1));
    case 3:
        return arena_printf(arena, "%s + %s", value_text(random, arena, depth - 1),
                            value_text(random, arena, depth - 1));
    case 4: return arena_printf(arena, "(%s else %s)", read_text(random, arena), pick(random, 2) ? "0" : "edge");
    default: return read_text(random, arena);
    }
}

static const char *where_text(Random *random, Arena *arena) {
    Text text = {.arena = arena};
    for (int i = 0, count = 0; i < 3; i++)
        if (pick(random, 3))
            text_add(&text, "%s %c in %d:%s", count++ ? "," : " where", "ijr"[i], pick(random, 4) ? 0 : pick(random, 3),
                     size_text(random, arena));
    return text.text ? text.text : "";
}

static const char *program_text(Random *random, Arena *arena) {
    const char *again = "";
    if (pick(random, 3) == 0)
        again = arena_printf(arena, "    O(i, j) += %s where r in 0:2, i in %d:%s\n", value_text(random, arena, 1),
                             pick(random, 2), size_text(random, arena));
    return arena_printf(arena, "def f(float(M, N) A, float(K) B) -> (O) {\n    O(i, j) +=! %s%s\n%s}\n",
                        value_text(random, arena, 2), where_text(random, arena), again);
}

/* --- the promise
 * --------------------------------------------------------------------------------------------------------- */

typedef struct Walk {
    Arena *arena;
    SizeValue values[VALUE_LIMIT]; /* of sizes, then of the axes at hand */
    int count;
    int outside;
} Walk;

static int64_t value_of(const Walk *walk, const Expr *e) {
    int64_t value = INT64_MIN;
    if (!expr_evaluate(e, walk->values, walk->count, &value))
        diag_line("cannot be evaluated: %s", expr_text(walk->arena, e));
    return value;
}

static void visit_read(Walk *walk, const Expr *e) {
    for (int d = 0; d < e->count && !e->otherwise; d++) {
        int64_t index = value_of(walk, e->args[d]), extent = value_of(walk, e->tensor->dims[d]);
        if ((index < 0 || index >= extent) && walk->outside++ == 0)
            diag_line("%s: index %" PRId64 " of extent %" PRId64, expr_text(walk->arena, e), index, extent);
    }
}

/* All values of the axes from number `axis` on. */
static void walk_axes(Walk *walk, const Stage *stage, int axis) {
    if (axis == stage->axis_count + stage->reduction_count) {
        EACH_STAGE_READ(read, stage)
            visit_read(walk, read);
        return;
    }
    const Var *var = axis < stage->axis_count ? stage->axes[axis] : stage->reductions[axis - stage->axis_count];
    int64_t extent = value_of(walk, var->extent);
    if (extent < 0 && walk->outside++ == 0)
        diag_line("%s has extent %" PRId64, var->name, extent);
    walk->count++;
    for (int64_t v = 0; v < extent; v++) {
        walk->values[walk->count - 1] = (SizeValue){var, v};
        walk_axes(walk, stage, axis + 1);
    }
    walk->count--;
}

static bool requirements_hold(const Program *program, Walk *walk) {
    for (int i = 0; i < program->requirement_count; i++)
        if (!value_of(walk, program->requirements[i].condition))
            return false;
    return true;
}

/* How many size combinations were accepted; -1 when the promise is broken. */
static int check_program(Arena *arena, const Program *program, Random *random) {
    int accepted = 0;
    for (int trial = 0; trial < 8; trial++) {
        Walk walk = {.arena = arena, .count = program->size_count};
        for (int i = 0; i < program->size_count; i++)
            walk.values[i] = (SizeValue){program->sizes[i], pick(random, trial ? 7 : 2)};
        if (!requirements_hold(program, &walk))
            continue;
        accepted++;
        for (int s = 0; s < program->stage_count; s++)
            walk_axes(&walk, program->stages[s], 0);
        if (walk.outside)
            return -1;
    }
    return accepted;
}

static const Program *program_of(Arena *arena, const char *text) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    FILE *nowhere = fopen("/dev/null", "w");
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.no_warnings = true, .stream = nowhere});
    uint32_t file = (uint32_t)source_add(sources, "law.tensor", text, strlen(text), false);
    SemaOptions options = {.define_count = 0};
    Module *module = sema_check(arena, sources, parse_file(arena, sources, file, diagnostics), &options, diagnostics);
    int errors = diag_finish(diagnostics);
    fclose(nowhere);
    return errors ? NULL : module->units.items[0].program;
}

int main(int argc, char **argv) {
    Random random = {argc > 1 ? (uint64_t)atoll(argv[1]) : 1};
    int programs = 0, calls = 0, broken = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        Arena *arena = arena_new();
        const char *text = program_text(&random, arena);
        const Program *program = program_of(arena, text);
        int accepted = program ? check_program(arena, program, &random) : 0;
        if (accepted < 0 && broken++ == 0)
            diag_line("%s", text);
        programs += program != NULL;
        calls += accepted > 0 ? accepted : 0;
        arena_free(arena);
    }
    is_int(broken, 0, "programs in which a read without otherwise goes outside");
    ok(programs > PROGRAMS / 20, "%d of %d programs are accepted", programs, PROGRAMS);
    ok(calls > programs, "%d calls of them are", calls);
    return done_testing();
}
