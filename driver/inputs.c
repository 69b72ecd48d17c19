/* inputs.c - files as the contents of arguments: found by name, with type and shape checked.
 *
 * With -run each file must fit. A search has several functions, and versions of one for several sizes. There a file is
 * used for those that it fits, and it must fit at least one.
 */
#include "driver/inputs.h"
#include "lang/npy.h"
#include <string.h>

const char *argument_name(const Argument *a) {
    return a->tensor ? a->tensor->name : a->scalar->name;
}

int64_t *argument_shape(Compilation *c, const Program *program, const int64_t *sizes, const Tensor *tensor) {
    int64_t *shape = ARENA_ARRAY(c->arena, int64_t, (tensor ? tensor->rank : 0) + 1);
    SizeValue *values = ARENA_ARRAY(c->arena, SizeValue, program->size_count + 1);
    int count = sizes ? program->size_count : 0;
    for (int i = 0; i < count; i++)
        values[i] = (SizeValue){program->sizes[i], sizes[i]};
    for (int d = 0; tensor && d < tensor->rank; d++)
        expr_evaluate(tensor->dims[d], values, count, &shape[d]);
    return shape;
}

/* NULL, with the reason, if the file cannot be read or does not fit. */
static const Array *read_input(Compilation *c, const Program *program, const int64_t *sizes, const Argument *a,
                               const NamedFile *file, const char **why) {
    int rank = a->tensor ? a->tensor->rank : 0;
    const int64_t *shape = argument_shape(c, program, sizes, a->tensor);
    const Array *array = npy_load(c->arena, file->path, argument_element_type(a), why);
    bool same = array && array->rank == rank;
    for (int d = 0; same && d < rank; d++)
        same = array->shape[d] == shape[d];
    if (array && !same)
        *why = arena_printf(c->arena, "its shape is %s, but %s is needed",
                            npy_shape_text(c->arena, array->rank, array->shape), npy_shape_text(c->arena, rank, shape));
    return same ? array : NULL;
}

static size_t input_bytes(const Argument *a, const Array *array) {
    return (size_t)array->elements * (size_t)element_info[argument_element_type(a)].bytes;
}

bool load_input(Compilation *c, const Program *program, const int64_t *sizes, const Argument *a, const NamedFile *file,
                void *data) {
    const char *why = "";
    const Array *array = read_input(c, program, sizes, a, file, &why);
    if (array && data)
        memcpy(data, array->data, input_bytes(a, array));
    if (!array)
        complain("cannot read '%s' as %s of %s: %s", file->path, file->name, program->symbol, why);
    return array != NULL;
}

bool argument_has_contents(const Program *program, const Argument *a) {
    return !a->tensor || a->tensor->role != ROLE_OUTPUT || program_reads_former(program, a->tensor);
}

/* The argument that takes contents; NULL: there is none of that name. */
static const Argument *find_argument(const Program *program, const char *name) {
    for (int i = 0; i < program->argument_count; i++)
        if (!strcmp(argument_name(&program->arguments[i]), name) &&
            argument_has_contents(program, &program->arguments[i]))
            return &program->arguments[i];
    return NULL;
}

bool refuse_output_as_input(Program *const *programs, int count, const char *name) {
    for (int p = 0; p < count; p++)
        for (int i = 0; i < programs[p]->argument_count; i++) {
            const Argument *a = &programs[p]->arguments[i];
            if (strcmp(argument_name(a), name) || argument_has_contents(programs[p], a))
                continue;
            complain("%s of %s has no contents before the call: it is a result that is not inout", name,
                     programs[p]->symbol);
            return true;
        }
    return false;
}

const char *given_inputs(Compilation *c, const Program *program) {
    const NamedFiles *files = &c->options->run_inputs;
    Text text = {.arena = c->arena};
    for (int f = 0; f < files->count; f++)
        if (find_argument(program, files->items[f].name))
            text_add(&text, "%s'%s' as %s", text.length ? ", " : "", files->items[f].path, files->items[f].name);
    return text.text;
}

const char *random_term_counts(Compilation *c, const Program *program) {
    const Tensor *counts = program_term_counts(program_meaning(program));
    const Argument *argument = counts ? find_argument(program, counts->name) : NULL;
    const NamedFiles *files = &c->options->run_inputs;
    for (int f = 0; f < files->count && argument; f++)
        if (!strcmp(argument_name(argument), files->items[f].name))
            return NULL;
    return argument ? argument_name(argument) : NULL;
}

/* The hash of Fowler, Noll and Vo; never 0. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash ? hash : 1;
}

void *const *search_inputs(Compilation *c, const Program *program, const char **name, const char **unfit) {
    const NamedFiles *files = &c->options->run_inputs;
    void **inputs = ARENA_ARRAY(c->arena, void *, program->argument_count + 1);
    uint64_t hash = 0; /* of all given contents */
    const char *why;
    Text left = {.arena = c->arena};
    for (int f = 0; f < files->count; f++) {
        const Argument *a = find_argument(program, files->items[f].name);
        const Array *array = a ? read_input(c, program, NULL, a, &files->items[f], &why) : NULL;
        if (a && !array)
            text_add(&left, "%s'%s' as %s: %s", left.length ? "; " : "", files->items[f].path, files->items[f].name,
                     why);
        if (!array)
            continue;
        int64_t number = a - program->arguments;
        inputs[number] = array->data;
        hash = hash_bytes(hash_bytes(hash, &number, sizeof number), array->data, input_bytes(a, array));
    }
    *name = hash ? arena_printf(c->arena, "%016llx", (unsigned long long)hash) : NULL;
    *unfit = left.text;
    return hash ? inputs : NULL;
}

static bool input_fits(Compilation *c, Program *const *programs, int count, const NamedFile *file) {
    const char *why = NULL;
    const Program *last = NULL;
    for (int p = 0; p < count; p++) {
        const Argument *a = find_argument(programs[p], file->name);
        if (a && read_input(c, programs[p], NULL, a, file, &why))
            return true;
        last = a ? programs[p] : last;
    }
    if (last)
        complain("cannot read '%s' as %s of %s: %s", file->path, file->name, last->symbol, why);
    else if (!refuse_output_as_input(programs, count, file->name))
        complain("no argument of a function that is searched for is called '%s'", file->name);
    return false;
}

bool search_inputs_fit(Compilation *c, Program *const *programs, int count) {
    for (int f = 0; f < c->options->run_inputs.count; f++)
        if (!input_fits(c, programs, count, &c->options->run_inputs.items[f]))
            return false;
    return true;
}
