/* command.c - `tensorc import NET.onnx -o NET.tensor`: reads the model, takes its nodes in their order, and writes the
 * source and, beside it, a folder with the weights. Nothing is written if a node is not known, and what fails leaves
 * nothing behind. The nodes are taken twice: the first time shows which words the statements have, so that the second
 * time names of the model may be all others.
 */
#include "driver/import/import.h"
#include "driver/import/importer.h"
#include "lang/files.h"
#include "lang/temporary.h"
#include "lang/terminal.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STATUS_USAGE = 2 };

typedef struct Words {
    const char *input, *output;
    LIST(struct BoundSize {
        const char *name;
        int64_t value;
        bool used;
    })
    sizes;
} Words;

/* --- the command line --------------------------------------------------------------------------------------------- */

static bool read_bound_size(Arena *arena, Words *words, const char *text) {
    const char *equals = strchr(text, '=');
    char *end = NULL;
    errno = 0;
    long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || equals == text || !equals[1] || *end || errno || value < 0)
        return false;
    struct BoundSize bound = {arena_strndup(arena, text, (size_t)(equals - text)), value, false};
    list_push(arena, &words->sizes, bound);
    return true;
}

/* -o FILE or -oFILE, and the like. NULL: it is another option. */
static const char *option_value(const char *option, int argc, char **argv, int *i) {
    if (strncmp(argv[*i], option, 2))
        return NULL;
    if (argv[*i][2])
        return argv[*i] + 2;
    return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool read_words(Arena *arena, int argc, char **argv, Words *words) {
    for (int i = 0; i < argc; i++) {
        const char *value;
        if (argv[i][0] != '-') {
            if (words->input)
                return false;
            words->input = argv[i];
        } else if ((value = option_value("-o", argc, argv, &i)))
            words->output = value;
        else if (!(value = option_value("-D", argc, argv, &i)) || !read_bound_size(arena, words, value))
            return false;
    }
    return words->input;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static const struct BoundSize *bound_size(const Words *words, const char *name) {
    for (int i = 0; i < words->sizes.count; i++)
        if (!strcmp(words->sizes.items[i].name, name)) {
            words->sizes.items[i].used = true;
            return &words->sizes.items[i];
        }
    return NULL;
}

/* A size by its name: bound on the command line, or known at run time. */
static Size named_size(Import *import, const Words *words, const char *like) {
    const struct BoundSize *bound = bound_size(words, like);
    if (bound)
        return size_number(bound->value);
    Name *known = name_find(&import->sizes, like);
    if (known)
        return size_symbol(known->operand->name);
    Operand *operand = ARENA_NEW(import->arena, Operand);
    operand->onnx = like;
    operand->name = fresh_name(import, like);
    name_add(import->arena, &import->names, operand->name, NAME_SIZE, operand);
    name_add(import->arena, &import->sizes, like, NAME_SIZE, operand);
    return size_symbol(operand->name);
}

/* A part of a name, without the blanks around it. */
static const char *trimmed(Import *import, const char *begin, size_t length) {
    for (; length && *begin == ' '; begin++)
        length--;
    while (length && begin[length - 1] == ' ')
        length--;
    return arena_strndup(import->arena, begin, length);
}

/* The sum that a name is, as exporters write it: "past + length", "past+1". Any other name is that of a size. */
static Size summed_size(Import *import, const Words *words, const char *name) {
    bool sum = strchr(name, '+') && !bound_size(words, name);
    for (const char *at = name; *at; at++)
        sum &= isalnum((unsigned char)*at) || strchr("_+ ", *at);
    if (!sum)
        return named_size(import, words, name);
    Size size = size_number(0);
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, "+");
        const char *part = trimmed(import, at, length);
        bool number = *part && strspn(part, "0123456789") == strlen(part) && strlen(part) < 10;
        size = size_add(import, size, number ? size_number(atoll(part)) : named_size(import, words, part));
        at += length + (at[length] == '+');
    }
    return size;
}

/* A size of an input. */
static Size declared_size(Import *import, const Words *words, const Declared *input, int dimension) {
    const DeclaredSize *size = &input->shape.items[dimension];
    if (size->size >= 0)
        return size_number(size->size);
    return *size->name ? summed_size(import, words, size->name)
                       : named_size(import, words, format(import, "%s_size_%d", input->name, dimension));
}

static void add_input(Import *import, const Words *words, const Declared *declared) {
    ElementType type;
    const Operand *before = find_operand(import, declared->name);
    if (before && !before->known)
        refuse_node(import, "it has two inputs '%s'", declared->name);
    if (before) /* a tensor of the file is its default */
        return;
    if (!onnx_type(declared->type, &type) || !declared->has_shape) {
        refuse_node(import, "input '%s' is no tensor of a type and a rank that are known here", declared->name);
        return;
    }
    Size *shape = new_shape(import, declared->shape.count);
    for (int d = 0; d < declared->shape.count; d++)
        shape[d] = declared_size(import, words, declared, d);
    Operand *operand = new_operand(import, declared->name, type, declared->shape.count, shape);
    operand->name = fresh_name(import, declared->name);
    name_add(import->arena, &import->names, operand->name, NAME_TENSOR, operand);
    list_push(import->arena, &import->inputs, operand);
}

/* An output is named before the nodes are taken, so that its name is its own. */
static void add_output(Import *import, const Declared *declared) {
    Operand *operand = ARENA_NEW(import->arena, Operand);
    operand->onnx = declared->name;
    operand->name = fresh_name(import, declared->name);
    list_push(import->arena, &import->outputs, operand);
}

static const char *declared_sizes(Import *import, const Declared *declared) {
    const char **words = ARENA_ARRAY(import->arena, const char *, declared->shape.count + 1);
    for (int d = 0; d < declared->shape.count; d++) {
        const DeclaredSize *size = &declared->shape.items[d];
        words[d] = size->size >= 0 ? format(import, "%lld", (long long)size->size) : *size->name ? size->name : "?";
    }
    return joined(import, words, declared->shape.count, ", ");
}

static const char *made_sizes(Import *import, const Operand *made) {
    const char **words = ARENA_ARRAY(import->arena, const char *, made->rank + 1);
    for (int d = 0; d < made->rank; d++)
        words[d] = size_shown(import, made->shape[d]);
    return joined(import, words, made->rank, ", ");
}

/* Whether the model itself says that a result has another shape. */
static bool is_other_shape(const Declared *declared, const Operand *made) {
    bool other = declared->shape.count != made->rank;
    for (int d = 0; d < made->rank && !other; d++) {
        int64_t size = declared->shape.items[d].size;
        other = size >= 0 && size_known(made->shape[d]) && size != made->shape[d].factor;
    }
    return declared->has_shape && other;
}

/* A shape that is declared wrongly is a warning: nothing is computed with it. */
static void compare_output(Import *import, const Declared *declared, const Operand *made) {
    ElementType type;
    if (onnx_type(declared->type, &type) && type != made->type)
        refuse_node(import, "the output '%s' is declared as %s, but made as %s", declared->name,
                    element_info[type].spelling, element_info[made->type].spelling);
    else if (is_other_shape(declared, made))
        warn_of_model(import, "the output '%s' is declared with the sizes (%s), but has the sizes (%s)", declared->name,
                      declared_sizes(import, declared), made_sizes(import, made));
}

/* The node's output with that name; or a copy of an input or of a weight. */
static void finish_output(Import *import, int number) {
    Operand *named = import->outputs.items[number], *made = find_operand(import, named->onnx);
    if (!made) {
        refuse_node(import, "nothing makes the output '%s'", named->onnx);
        return;
    }
    compare_output(import, import->model->graph.outputs.items[number], made);
    bool copy = made->known || strcmp(made->name, named->name);
    import->outputs.items[number] = made;
    if (!copy)
        return;
    Operand *result = ARENA_NEW(import->arena, Operand);
    *result = *made;
    result->name = named->name;
    result->known = false;
    const char **indices = index_names(import, made->rank);
    const char *value = read_at(import, made, indices);
    if (made->known)
        value = converted(import, made->type, value);
    statement(import, "%s = %s%s", element(import, named->name, made->rank, indices), value,
              where(import, made->rank, indices, made->shape, NULL));
    import->outputs.items[number] = result;
}

static void read_graph_of(Import *import, const Words *words) {
    const ModelGraph *graph = &import->model->graph;
    reserve_names(import);
    for (int i = 0; i < graph->tensors.count; i++)
        add_tensor(import, graph->tensors.items[i], graph->tensors.items[i]->name);
    for (int i = 0; i < graph->inputs.count; i++)
        add_input(import, words, graph->inputs.items[i]);
    for (int i = 0; i < graph->outputs.count; i++)
        add_output(import, graph->outputs.items[i]);
    import_nodes(import, &graph->nodes);
    import->node = NULL;
    for (int i = 0; i < import->outputs.count && !import->failed; i++)
        finish_output(import, i);
    end_step(import);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static const char *base_name(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return dot && dot != name ? arena_strndup(arena, name, (size_t)(dot - name)) : name;
}

/* "NAME_weights" for NAME.tensor, and for another NAME with its ending: outputs that are apart have folders that are,
 * but for NAME and NAME.tensor. */
static const char *weights_folder(Import *import, const char *output) {
    static const char ending[] = ".tensor";
    if (!strcmp(output, "-"))
        return format(import, "%s_weights", base_name(import->arena, import->model->path));
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    size_t length = strlen(name), last = sizeof ending - 1;
    if (length > last && !strcmp(name + length - last, ending))
        length -= last;
    return format(import, "%.*s_weights", (int)length, name);
}

/* Whether the output is there already and is a source that reads files of the folder. */
static bool reads_folder(Import *import, const char *output, const char *folder) {
    Bytes old;
    const char *why;
    if (!map_file(output, &old, &why) || !old.at)
        return false;
    const char *text = arena_strndup(import->arena, (const char *)old.at, (size_t)(old.end - old.at));
    munmap((void *)old.at, (size_t)(old.end - old.at));
    return strstr(text, format(import, "=\"%s/", folder));
}

static bool can_write_source(Import *import, const char *output) {
    FileIdentity from = file_identity(import->arena, import->model->path), to = file_identity(import->arena, output);
    bool same = file_is_same(&from, &to), can = !same && can_write_whole(output);
    if (same)
        complain("'%s' is the model itself: name another file with -o", output);
    else if (!can)
        complain("cannot write '%s': %s", output, strerror(errno));
    return can;
}

/* All paths are looked at before anything is written, and a failure leaves nothing behind. */
static int write_files(Import *import, const char *output, const char *text, const char *folder) {
    if (import->failed || !can_write_source(import, output))
        return 1;
    const char *beside = strchr(output, '/') ? folder_of(import->arena, output) : "";
    WeightFiles files = weight_files(import, format(import, "%s%s", beside, folder));
    if (import->failed || !weight_files_can_be_written(&files, reads_folder(import, output, folder)) ||
        !write_weights(&files))
        return 1;
    if (write_whole(output, text, strlen(text)))
        return 0;
    complain("cannot write '%s': %s", output, strerror(errno));
    remove_weights(&files);
    return 1;
}

static int write_source(Import *import, const char *output) {
    const char *folder = weights_folder(import, output);
    import->function =
        function_name(import, base_name(import->arena, strcmp(output, "-") ? output : import->model->path));
    find_blocks(import);
    return write_files(import, output, source_text(import, import->function, folder), folder);
}

/* The words beside names in the statements of a model. False after a message. */
static bool find_words(Arena *arena, Model *model, const Words *words, NameTable *found) {
    Arena *scratch = arena_new();
    Import import = {.arena = scratch, .model = model, .text = {.arena = scratch}};
    read_graph_of(&import, words);
    if (!import.failed)
        *found = words_beside_names(&import, arena);
    arena_free(scratch);
    return !import.failed;
}

static int import_model(Arena *arena, Model *model, const Words *words) {
    NameTable found;
    if (!find_words(arena, model, words, &found))
        return 1;
    Import import = {.arena = arena, .model = model, .words = &found, .text = {.arena = arena}};
    read_graph_of(&import, words);
    return import.failed ? 1 : write_source(&import, words->output);
}

static void warn_of_unused(const Words *words) {
    for (int i = 0; i < words->sizes.count; i++)
        if (!words->sizes.items[i].used)
            show(stderr, "tensorc: warning: -D%s binds nothing: no size that the model leaves open has this name\n",
                 words->sizes.items[i].name);
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

int import_command(Arena *arena, int argc, char **argv) {
    static const char usage[] = "usage: tensorc import NET.onnx [-o NET.tensor] [-DSIZE=NUMBER]";
    Words words = {0};
    if (asks_for_help(argc, argv))
        return show(stdout, "%s\n", usage), 0;
    if (!read_words(arena, argc, argv, &words)) {
        complain("%s", usage);
        return STATUS_USAGE;
    }
    if (!words.output)
        words.output = arena_printf(arena, "%s.tensor", base_name(arena, words.input));
    Model *model = onnx_open(arena, words.input);
    if (!model)
        return 1;
    int status = import_model(arena, model, &words);
    onnx_close(model);
    warn_of_unused(&words);
    return status;
}
