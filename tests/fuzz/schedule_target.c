/* schedule_target.c - any text as the schedule of one of the fixed programs: it is refused with a rule, or it becomes a
 * kernel that the verifier takes after every pass. */
#include "lower/kernel/kernel.h"
#include "parser/ast.h"
#include "target.h"
#include "tests/unit/schedules.h"
#include <string.h>

/* Kernels of schedules with many copies take long and say little more. */
static bool is_small(const Nest *nest) {
    double copies = 0;
    for (int s = 0; s < nest->stage_count; s++) {
        double own = 1;
        for (const NestStage *stage = nest->stages[s]; stage; stage = stage->parent)
            for (int i = 0; i < stage->loop_count; i++)
                if (stage->loops[i]->kind != LOOP_SERIAL)
                    own *= (double)(stage->loops[i]->extent > 1 ? stage->loops[i]->extent : 1);
        copies += own;
    }
    return copies < 2000;
}

static void check_schedule(Arena *arena, const Program *program, const Schedule *schedule, const char *text) {
    const Target *target = target_find("x86-64-v4");
    NestError error = {0};
    if (schedule_hole_count(schedule))
        return;
    const Nest *nest = nest_build(arena, program, schedule, NULL, target, &error);
    if (!nest && (!error.rule || !*error.rule || !error.nest))
        fail_input("refused without a rule", text);
    if (!nest != !nest_build(arena, program, schedule, NULL, target, NULL))
        fail_input("refused only with an explanation, or without", text);
    if (nest && is_small(nest))
        expand(arena, nest, NULL);
}

static void check_print(Arena *arena, const Schedule *schedule) {
    Text once = {.arena = arena}, twice = {.arena = arena};
    Sources sources = {.arena = arena};
    schedule_print_statements(&once, schedule);
    text_add(&twice, "%s", "");
    Diagnostics *diagnostics = diag_new(arena, &sources, (DiagOptions){.stream = stderr});
    uint32_t file = (uint32_t)source_add(&sources, "printed", once.text, once.length, false);
    const Schedule *again = parse_schedule(arena, &sources, file, diagnostics);
    if (!again)
        fail_input("what was printed does not parse", once.text);
    schedule_print_statements(&twice, again);
    if (strcmp(once.text, twice.text))
        fail_input("what was printed prints in another way", once.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Arena *arena = arena_new();
    const char *text;
    const Program *program = input_program(arena, bytes, size, &text);
    Reading reading;
    reading_begin(&reading, arena);
    uint32_t file = program ? (uint32_t)source_add(&reading.sources, "schedule", text, strlen(text), false) : 0;
    const Schedule *schedule = program ? parse_schedule(arena, &reading.sources, file, reading.diagnostics) : NULL;
    if (schedule) {
        check_print(arena, schedule);
        check_schedule(arena, program, schedule, text);
    }
    reading_end(&reading);
    arena_free(arena);
    return 0;
}

void write_seeds(WriteSeed *write, void *context) {
    Random random = {1};
    for (int i = 0; i < 40 * FIXED_PROGRAMS; i++) {
        Arena *arena = arena_new();
        Text text = {.arena = arena};
        text_add(&text, "%c", 'A' + i % FIXED_PROGRAMS);
        const ScheduleMaking making = {.arbitrary = i % 4 == 0};
        const Schedule *schedule =
            random_schedule_made(arena, fixed_program(('A' + i % FIXED_PROGRAMS) % FIXED_PROGRAMS),
                                 target_find("x86-64-v4"), &random, 1 + i % 9, &making);
        schedule_print_statements(&text, schedule);
        write(context, text.text, text.length);
        arena_free(arena);
    }
}
