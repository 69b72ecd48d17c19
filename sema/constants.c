/* constants.c - export f(w="w.npy"): arguments whose contents are known at compile time.
 *
 * The file is searched in the folder of the source, then in the folders of -I. Its shape gives values to the sizes in
 * the argument's header. The argument becomes a constant of the program. A folder, export f(weights="dir/"), stands for
 * a file for each const argument that is not bound otherwise: dir/NAME.npy.
 */
#include "sema/check.h"

#include <errno.h>
#include <string.h>

/* --- files --- */

static const Array *loaded_array(const Checker *checker, const char *path, ElementType type) {
    for (int i = 0; i < checker->arrays.count; i++)
        if (checker->arrays.items[i]->type == type && strcmp(checker->arrays.items[i]->path, path) == 0)
            return checker->arrays.items[i];
    return NULL;
}

static bool is_there(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file || errno != ENOENT;
}

static const char *find_path(Checker *checker, const SourceFile *from, const char *name) {
    const char *slash = strrchr(from->path, '/');
    if (name[0] == '/' || !slash)
        slash = from->path - 1;
    const char *beside = arena_printf(checker->arena, "%.*s%s", (int)(slash + 1 - from->path), from->path, name);
    for (int i = -1; i < checker->options->path_count && name[0] != '/'; i++) {
        const char *path = i < 0 ? beside : arena_printf(checker->arena, "%s/%s", checker->options->paths[i], name);
        if (is_there(path))
            return path;
    }
    return beside;
}

static const Array *load_array(CallFrame *frame, const AstBinding *binding, const char *path, ElementType type) {
    Checker *checker = frame->builder->checker;
    const char *why = "";
    const Array *known = loaded_array(checker, path, type);
    if (known)
        return known;
    Array *array = npy_load(checker->arena, path, type, &why);
    if (!array) {
        ERROR(frame, constant_unreadable, binding->name.loc, binding->text, binding->name.text, why);
        return NULL;
    }
    list_push(checker->arena, &checker->arrays, array);
    list_push(checker->arena, &checker->module->files, path);
    return array;
}

/* --- arguments --- */

static const AstParameter *find_argument(const AstDef *def, const char *name) {
    for (int i = 0; i < def->arguments.count; i++)
        if (strcmp(def->arguments.items[i].name.text, name) == 0)
            return &def->arguments.items[i];
    return NULL;
}

/* The name under which an export binds a folder. */
static bool is_folder_name(const char *name) {
    return strcmp(name, "weights") == 0;
}

const Array *constant_array(CallFrame *frame, const AstBinding *binding) {
    const AstDef *def = frame->definition->ast;
    const AstParameter *argument = find_argument(def, binding->name.text);
    Checker *checker = frame->builder->checker;
    if (argument && argument->is_tensor)
        return load_array(frame, binding, find_path(checker, checker->files.items[0], binding->text), argument->type);
    ERROR(frame, constant_not_tensor, binding->name.loc, binding->name.text, def->name.text);
    if (is_folder_name(binding->name.text)) {
        HINT(frame, "a folder ends with '/': weights=\"%s/\"", *binding->text ? binding->text : ".");
        return NULL;
    }
    Nearest nearest = {.name = binding->name.text};
    for (int i = 0; i < def->arguments.count; i++)
        if (def->arguments.items[i].is_tensor)
            nearest_offer(&nearest, def->arguments.items[i].name.text);
    if (nearest.best)
        HINT(frame, "did you mean '%s'?", nearest.best);
    return NULL;
}

/* --- folders --- */

bool is_folder(const AstBinding *binding) {
    size_t length = binding->text ? strlen(binding->text) : 0;
    return length && binding->text[length - 1] == '/';
}

/* Whether the folder gives the argument its contents: nothing else of the export does. */
static bool takes_file(const AstParameter *argument, const AstBindings *list, const Bounds *bounds) {
    bool takes = argument->constant && argument->is_tensor;
    for (int i = 0; i < list->count; i++)
        takes &= is_folder(&list->items[i]) || strcmp(list->items[i].name.text, argument->name.text) != 0;
    for (int i = 0; i < bounds->count; i++)
        takes &= strcmp(bounds->items[i].name, argument->name.text) != 0;
    return takes;
}

/* Loads the file of an argument, or adds its name to those that are missing. */
static void bind_file(CallFrame *frame, const AstBinding *folder, const AstParameter *argument, Bounds *bounds,
                      Text *missing) {
    Checker *checker = frame->builder->checker;
    AstBinding file = {.name = {argument->name.text, folder->name.loc}};
    file.text = arena_printf(checker->arena, "%s%s.npy", folder->text, argument->name.text);
    const char *path = find_path(checker, checker->files.items[0], file.text);
    Bound bound = {.name = argument->name.text, .loc = folder->name.loc};
    if (!is_there(path))
        text_add(missing, "%s%s.npy", missing->length ? ", " : "", argument->name.text);
    else if ((bound.array = load_array(frame, &file, path, argument->type)))
        list_push(checker->arena, bounds, bound);
}

void bind_folder(CallFrame *frame, const AstBindings *list, const AstBinding *folder, Bounds *bounds) {
    const AstDef *def = frame->definition->ast;
    Text missing = {.arena = frame->builder->arena};
    int count = 0;
    if (!is_folder_name(folder->name.text)) {
        ERROR(frame, folder_name, folder->name.loc, folder->name.text);
        HINT(frame, "a folder is bound to all const arguments: weights=\"%s\"", folder->text);
        return;
    }
    for (int a = 0; a < def->arguments.count; a++)
        if (takes_file(&def->arguments.items[a], list, bounds)) {
            count++;
            bind_file(frame, folder, &def->arguments.items[a], bounds, &missing);
        }
    if (missing.length)
        ERROR(frame, folder_lacks, folder->name.loc, folder->text, missing.text);
    else if (!count)
        ERROR(frame, folder_unused, folder->name.loc, def->name.text, folder->text);
}

/* --- shapes --- */

static void bind_extent(CallFrame *frame, Bounds *bounds, const Bound *constant, const AstExpr *dim, int d) {
    if (dim->kind != AST_NAME)
        return;
    int64_t extent = constant->array->shape[d];
    for (int i = 0; i < bounds->count; i++) {
        const Bound *bound = &bounds->items[i];
        if (bound->array || strcmp(bound->name, dim->name.text) != 0)
            continue;
        if (bound->value == extent)
            return;
        ERROR(frame, constant_extent, constant->loc, d, constant->array->path, (long long)extent, bound->name,
              (long long)bound->value);
        NOTE(frame, bound->loc, "bound here");
        return;
    }
    Bound bound = {.name = dim->name.text, .value = extent, .loc = constant->loc};
    list_push(frame->builder->arena, bounds, bound);
}

static bool check_rank(CallFrame *frame, const Bound *constant, const AstParameter *argument) {
    const Array *array = constant->array;
    if (array->rank == argument->dims.count)
        return true;
    ERROR(frame, constant_rank, constant->loc, array->path,
          npy_shape_text(frame->builder->arena, array->rank, array->shape), argument->name.text, argument->dims.count,
          argument->dims.count == 1 ? "" : "s");
    return false;
}

bool bind_shapes(CallFrame *frame, Bounds *bounds) {
    const AstDef *def = frame->definition->ast;
    int count = bounds ? bounds->count : 0;
    for (int i = 0; i < count; i++) {
        Bound constant = bounds->items[i]; /* a copy, since the list grows */
        const AstParameter *argument = constant.array ? find_argument(def, constant.name) : NULL;
        if (!argument || !check_rank(frame, &constant, argument))
            continue;
        bounds->items[i].used = true;
        for (int d = 0; d < argument->dims.count; d++)
            bind_extent(frame, bounds, &constant, argument->dims.items[d], d);
    }
    for (int i = 0; frame->failed && i < bounds->count; i++)
        bounds->items[i].used = true; /* nothing is bound after an error: "unused" is not an error of its own */
    return !frame->failed;
}

void make_constant(CallFrame *frame, const Bound *constant, Tensor *tensor) {
    Arena *arena = frame->builder->arena;
    const Array *array = constant->array;
    for (int d = 0; d < tensor->rank; d++) {
        const char *what = arena_printf(arena, "dimension %d of '%s'", d, array->path);
        Expr *extent = expr_int(arena, array->shape[d]);
        require_equal(frame, extent, tensor->dims[d], constant->loc, what);
        tensor->dims[d] = extent;
    }
    tensor->role = ROLE_CONSTANT;
    tensor->data = array->data;
}
