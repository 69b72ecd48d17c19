/* source.c - the text of the file: a def with the model's inputs, its weights and its outputs, and an export that binds
 * the weights.
 */
#include "driver/import/importer.h"
#include <string.h>

enum { LINE_WIDTH = 118 };

/* "const float(64, 3, 7, 7) w" */
static const char *declared_tensor(Import *import, const char *before, ElementType type, const char *name, int rank,
                                   const Size *shape) {
    const char **sizes = ARENA_ARRAY(import->arena, const char *, rank + 1);
    for (int d = 0; d < rank; d++)
        sizes[d] = size_text(import, shape[d]);
    return format(import, "%s%s(%s) %s", before, element_info[type].spelling, joined(import, sizes, rank, ", "), name);
}

/* Words with commas between, in lines that begin with blanks. */
static void add_list(Text *text, const char *const *words, int count, int indent, size_t column) {
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]) + 2;
        if (i && column + length > LINE_WIDTH) {
            text_add(text, "\n%*s", indent, "");
            column = (size_t)indent;
        }
        text_add(text, i + 1 < count ? "%s, " : "%s", words[i]);
        column += length;
    }
}

typedef LIST(const char *) Lines;

static void add_head(Import *import, Text *text, const char *name) {
    Lines words = {0}, results = {0};
    for (int i = 0; i < import->inputs.count; i++) {
        const Operand *o = import->inputs.items[i];
        list_push(import->arena, &words, declared_tensor(import, "", o->type, o->name, o->rank, o->shape));
    }
    for (int i = 0; i < import->weights.count; i++) {
        const Weight *w = &import->weights.items[i];
        list_push(import->arena, &words,
                  declared_tensor(import, "const ", w->operand->type, w->name, w->rank, w->shape));
    }
    for (int i = 0; i < import->outputs.count; i++) {
        const Operand *o = import->outputs.items[i];
        list_push(import->arena, &results, declared_tensor(import, "", o->type, o->name, o->rank, o->shape));
    }
    text_add(text, "def %s(", name);
    add_list(text, words.items, words.count, 8, strlen(name) + 5);
    text_add(text, ")\n    -> (");
    add_list(text, results.items, results.count, 8, 8);
    text_add(text, ") {\n");
}

static void add_export(Import *import, Text *text, const char *name, const char *folder) {
    Lines words = {0};
    for (int i = 0; i < import->weights.count; i++) {
        const char *weight = import->weights.items[i].name;
        list_push(import->arena, &words, format(import, "%s=\"%s/%s.npy\"", weight, folder, weight));
    }
    text_add(text, words.count ? "export %s(" : "export %s", name);
    add_list(text, words.items, words.count, 4, strlen(name) + 8);
    text_add(text, words.count ? ")\n" : "\n");
}

const char *source_text(Import *import, const char *name, const char *folder) {
    Text text = {.arena = import->arena};
    text_add(&text, "import \"nn\"\n\n");
    add_head(import, &text, name);
    for (int i = 0; i < import->steps.count; i++)
        text_add(&text, "%s", import->steps.items[i].text);
    text_add(&text, "}\n");
    add_export(import, &text, name, folder);
    return text.text;
}
