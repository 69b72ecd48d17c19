/* ir_target.c - any text as the loop IR of one of the fixed programs: it is refused with a reason, or it prints to a
 * text that reads and prints the same; the verifier says yes or no. */
#include "lower/kernel/kernel.h"
#include "target.h"
#include "tests/unit/kernel_read.h"
#include "tests/unit/schedules.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Arena *arena = arena_new();
    const char *text, *why = NULL;
    const Target *target = target_find("x86-64-v4");
    const Program *program = input_program(arena, bytes, size, &text);
    const Kernel *kernel = program ? kernel_read(arena, program, target, text, &why) : NULL;
    if (program && !kernel && (!why || !*why))
        fail_input("refused without a reason", text);
    if (kernel) {
        Text once = {.arena = arena}, twice = {.arena = arena};
        kernel_print(&once, kernel);
        kernel_verify(arena, kernel, false);
        kernel_verify(arena, kernel, true);
        kernel = kernel_read(arena, program, target, once.text, &why);
        if (!kernel)
            fail_input(why, once.text);
        kernel_print(&twice, kernel);
        if (strcmp(once.text, twice.text))
            fail_input("what was printed prints in another way", once.text);
    }
    arena_free(arena);
    return 0;
}

void write_seeds(WriteSeed *write, void *context) {
    Random random = {2};
    const Target *target = target_find("x86-64-v4");
    for (int i = 0; i < 15 * FIXED_PROGRAMS; i++) {
        Arena *arena = arena_new();
        Text text = {.arena = arena};
        const Program *program = fixed_program(('A' + i % FIXED_PROGRAMS) % FIXED_PROGRAMS);
        const Schedule *schedule = random_schedule(arena, program, target, &random, i % 5);
        text_add(&text, "%c", 'A' + i % FIXED_PROGRAMS);
        kernel_print(&text, expand(arena, nest_build(arena, program, schedule, NULL, target, NULL), NULL));
        if (text.length < 4000)
            write(context, text.text, text.length);
        arena_free(arena);
    }
}
