/* make.c - a case from a seed and a number: a random program, sizes, and a schedule, or the way one is chosen. */
#include "fuzz.h"
#include "tests/unit/random_program.h"
#include <string.h>

/* One case in so many is a product that an instruction may compute, one is a program of stages that belong together;
 * one schedule in so many has holes, one is a point of the space of schedules. */
enum { PRIMITIVES = 10, PRODUCT_EVERY = 15, PRODUCT = 5, WHOLE_EVERY = 6, WHOLE = 4 };
enum { HOLES_EVERY = 10, POINT_EVERY = 8, POINT = 3 };

static uint64_t mix(uint64_t seed, uint64_t number) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 29;
}

/* Most cases have bound sizes, some leave all or some of them to run time. */
static const char *choose_symbolic(Arena *arena, Random *random, const struct Binding *bindings) {
    Text text = {.arena = arena};
    int64_t kind = random_below(random, 5);
    text_add(&text, "%s", "");
    for (int i = 0; i < RANDOM_SIZES && kind < 2; i++)
        if (kind == 0 || random_below(random, 2))
            text_add(&text, "%s", bindings[i].name);
    return text.text;
}

/* What is not said is the simplest: a bound size, no strictness. */
static const char *header(Arena *arena, const FuzzOptions *options, uint64_t number, Random *random, int level,
                          const struct Binding *bindings, const char *target) {
    bool object = options->object_every && number % (uint64_t)options->object_every == 0;
    const char *symbolic = choose_symbolic(arena, random, bindings);
    Text text = {.arena = arena};
    text_add(&text, "# fuzz: seed=%llu case=%llu engine=%s target=%s threads=%d level=%d data=%d",
             (unsigned long long)options->seed, (unsigned long long)number, object ? "object" : "kernel",
             object ? "host" : target, 1 + (int)random_below(random, 2), level, (int)random_below(random, 100000));
    text_add(&text, "%s%s", random_below(random, 12) ? "" : " strict=1", random_below(random, 4) ? "" : " explain=1");
    text_add(&text, "%s", level == 3 && number % 4 == 1 ? " complete=1" : "");
    text_add(&text, "%s", number % 3 == 2 ? " automatic=1" : "");
    text_add(&text, "%s%s", *symbolic ? " symbolic=" : "", symbolic);
    if (*symbolic && random_below(random, 3) == 0)
        text_add(&text, " %s=%c", random_below(random, 3) ? "bound" : "limited", *symbolic);
    text_add(&text, "\n");
    return text.text;
}

static const char *choose_target(Random *random) {
    static const char *const targets[] = {"x86-64-v4", "x86-64-v4", "x86-64-v4", "x86-64-v3",
                                          "x86-64-v3", "x86-64",    "x86-64",    "device"};
    return targets[random_below(random, sizeof targets / sizeof *targets)];
}

/* Three of four cases have a schedule; one of ten may have one that is refused. */
static int choose_level(Random *random) {
    int64_t kind = random_below(random, 20);
    return kind == 0 ? 0 : kind < 4 ? 1 : kind == 4 ? 2 : 3;
}

static const Schedule *make_schedule(Arena *arena, const Checked *checked, Random *random, Counters *counters,
                                     const Schedule *first) {
    ScheduleMaking making = {.arbitrary = random_below(random, 8) == 0, .first = first};
    if (counters) {
        making.accepted = counters->accepted;
        making.refused = counters->rejected;
    }
    int count = 1 + (int)random_below(random, first ? PRIMITIVES / 2 : PRIMITIVES);
    Schedule *schedule = random_schedule_made(arena, checked->program, checked->target, random, count, &making);
    schedule->subject = "f";
    if (random_below(random, HOLES_EVERY) == 0)
        dig_holes(arena, schedule, random);
    return schedule;
}

const char *make_case(Arena *arena, const FuzzOptions *options, uint64_t number, Counters *counters) {
    struct Binding bindings[RANDOM_SIZES];
    Random random = {mix(options->seed, number)};
    Text text = {.arena = arena};
    Checked checked;
    const char *why;
    bool whole = number % WHOLE_EVERY == WHOLE, point = (whole && number % 5) || number % POINT_EVERY == POINT;
    uint64_t seed = (uint64_t)random_below(&random, INT64_MAX);
    ProductCase made = {0};
    if (number % PRODUCT_EVERY == PRODUCT)
        made = random_product(arena, &random, bindings);
    else if (whole)
        made.program = random_whole(arena, &random, bindings);
    else if (number % 4)
        made.program = random_program_of_all(arena, seed, &options->forms, bindings);
    else
        made.program = random_program(arena, seed, true, bindings);
    const char *target = made.target ? made.target : choose_target(&random);
    if (point && !strcmp(target, "device"))
        target = "x86-64";
    int level = point ? 3 : choose_level(&random);
    if (!strcmp(target, "device") && level > 0)
        level = 3; /* no default schedule is made for it */
    text_add(&text, "%s%s", header(arena, options, number, &random, level, bindings, target), made.program);
    if (level < 3 || !read_text(arena, text.text, &checked, &why)) /* what is refused will be seen to be */
        return text.text;
    fuzz_step = "making a schedule";
    const Schedule *schedule = point ? random_point(arena, checked.program, checked.target, &random)
                                     : make_schedule(arena, &checked, &random, counters, made.schedule);
    if (schedule)
        schedule_print(&text, schedule);
    return text.text;
}
