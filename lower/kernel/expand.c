/* expand.c - the second half of lowering: a nest becomes a kernel, and the passes of the table run over it. The
 * verifier runs after the last, or after each. Needs a nest that nest_build accepted. A broken invariant is an internal
 * error.
 */
#include "lang/clock.h"
#include "lang/diag.h"
#include "lang/terminal.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"
#include <string.h>

/* In order. The letter n prints the output of build. */
const Pass pass_table[] = {
    {"share", 'e', pass_share, "equal nests of a long function become one, which runs on other tensors each time"},
    {"guards", 'g', pass_guards, "conditions moved out of loops; loops split into full and partial tiles"},
    {"flatten", 'f', pass_flatten, "one element offset an access, simplified"},
    {"simplify", 's', pass_simplify, "simple conditions and extents; loops that run once removed"},
    {"tensorize", 't', pass_tensorize, "loops that an instruction runs become calls of it"},
    {"vectorize", 'v', pass_vectorize, "vectorized loops become vectors"},
    {"unroll", 'u', pass_unroll, "unrolled loops become copies of their bodies"},
    {"narrow", 'w', pass_narrow, "vectors of registers of which the first lanes alone are stored get shorter"},
    {"place", 'a', pass_place, "allocations moved out of loops; unused buffers removed"},
    {"rows", 'r', pass_rows, "reads whose lanes are apart by known numbers become rows and shuffles"},
    {"ends", 'd', pass_ends, "reads of rows that go round, or stop at bounds, become reads of rows under masks"},
    {"transpose", 'x', pass_transpose, "copies of square blocks by columns become rows, shuffles and stores"},
    {"across", 'l', pass_across, "the lanes of a register are combined into one element by halves"},
    {"interleave", 'i', pass_interleave, "lanes between those of others become contiguous accesses and shuffles"},
    {"begin", 'b', pass_begin, "registers of a maximum or minimum begin with its first term"},
    {"offsets", 'o', pass_offsets, "indices say which part of them changes in which loop"},
    {"alone", 'h', pass_alone, "parallel loops that are known to have too little work for threads become serial"},
};
const int pass_count = sizeof pass_table / sizeof *pass_table;

static void verify_after(const Kernel *kernel, const char *pass, bool flat) {
    const char *broken = kernel_verify(kernel->arena, kernel, flat);
    if (broken)
        INTERNAL_ERROR("after %s of %s: %s", pass, kernel->program->name, broken);
}

/* Prints the kernel after a pass if its letter is wanted; *printed is the text printed last. */
static void dump_after(const Kernel *kernel, const ExpandOptions *options, const char *name, char letter,
                       double seconds, char **printed) {
    FILE *stream = options->dump_stream ? options->dump_stream : stderr;
    if (options->time_passes)
        show(stream, "lower: %-17s %9.3f ms\n", name, 1e3 * seconds);
    if (!options->dump || !strchr(options->dump, letter))
        return;
    Text text = {.arena = kernel->arena};
    kernel_print(&text, kernel);
    bool unchanged = *printed && !strcmp(*printed, text.text);
    show(stream, "# after %s%s\n%s", name, unchanged ? " (unchanged)" : "", unchanged ? "" : text.text);
    *printed = text.text;
}

/* Runs the pass over the kernel and its shared nests. Whether one changed. */
static bool run_pass(Kernel *kernel, const Pass *pass) {
    const Stmt *body = kernel->body;
    pass->run(kernel);
    bool changed = kernel->body != body;
    for (int n = 0; n < kernel->shared.count; n++)
        changed |= run_pass(kernel->shared.items[n]->kernel, pass);
    return changed;
}

Kernel *expand(Arena *arena, const Nest *nest, const ExpandOptions *options) {
    static const ExpandOptions defaults;
    char *printed = NULL;
    if (!options)
        options = &defaults;
    double start = monotonic_seconds();
    Kernel *kernel = kernel_build(arena, nest, options);
    const bool verify_each = options->verify_each || options->dump;
    if (verify_each)
        verify_after(kernel, "build", false);
    dump_after(kernel, options, "build", 'n', monotonic_seconds() - start, &printed);
    for (int i = 0; i < pass_count; i++) {
        bool last = i == pass_count - 1;
        start = monotonic_seconds();
        bool changed = run_pass(kernel, &pass_table[i]);
        if (last ? !options->unverified : verify_each && changed)
            verify_after(kernel, verify_each ? pass_table[i].name : "the passes", last);
        dump_after(kernel, options, pass_table[i].name, pass_table[i].letter, monotonic_seconds() - start, &printed);
    }
    take_shared_notes(kernel);
    kernel->functions_called = !options->unverified && has_many_functions(arena, kernel);
    return kernel;
}
