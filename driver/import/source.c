/* source.c - the text of the file: a def with the model's inputs, its weights and its outputs, and an export that binds
 * the weights.
 */
#include "driver/import/importer.h"
#include <string.h>

enum { LINE_WIDTH = 118 };

const char *declared_tensor(Import *import, const char *before, ElementType type, const char *name, int rank,
                            const Size *shape) {
    const char **sizes = ARENA_ARRAY(import->arena, const char *, rank + 1);
    for (int d = 0; d < rank; d++)
        sizes[d] = size_alone(import, shape[d]);
    return format(import, "%s%s(%s) %s", before, element_info[type].spelling, joined(import, sizes, rank, ", "), name);
}

/* Words with commas between, in lines that begin with blanks. */
static void add_list(Text *text, const char *const *words, int count, int indent, size_t column) {
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]) + 2;
        bool new_line = i && column + length > LINE_WIDTH;
        if (new_line)
            text_add(text, "\n%*s", indent, "");
        text_add(text, i && !new_line ? " %s%s" : "%s%s", words[i], i + 1 < count ? "," : "");
        column = length + (new_line ? (size_t)indent : column);
    }
}

void add_head(Text *text, const char *name, const char *const *arguments, int argument_count,
              const char *const *results, int result_count) {
    Text given = {.arena = text->arena}, taken = {.arena = text->arena};
    text_add(&taken, "def %s(", name);
    add_list(&taken, arguments, argument_count, 8, strlen(name) + 5);
    add_list(&given, results, result_count, 8, 8);
    bool one_line = taken.length + given.length + 10 < LINE_WIDTH && !strchr(taken.text, '\n');
    text_add(text, one_line ? "%s) -> (%s) {\n" : "%s)\n    -> (%s) {\n", taken.text, given.length ? given.text : "");
}

/* Where a line of so many bytes is cut; 0: nowhere. */
static size_t place_to_cut(const char *line, size_t length, size_t width) {
    size_t indent = strspn(line, " "), cut = width;
    if (length <= width)
        return 0;
    while (cut > indent && line[cut] != ' ')
        cut--;
    return cut > indent ? cut : 0;
}

void add_statements(Text *text, const char *statements) {
    for (const char *line = statements; *line;) {
        size_t length = strcspn(line, "\n"), indent = strspn(line, " ") + 4, width = LINE_WIDTH;
        for (size_t cut; (cut = place_to_cut(line, length, width)); width = LINE_WIDTH - indent) {
            text_add(text, "%.*s\n%*s", (int)cut, line, (int)indent, "");
            line += cut + 1;
            length -= cut + 1;
        }
        text_add(text, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

typedef LIST(const char *) Lines;

static void add_main_head(Import *import, Text *text, const char *name) {
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
    add_head(text, name, words.items, words.count, results.items, results.count);
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
    for (int i = 0; i < import->blocks.count; i++)
        text_add(&text, "%s\n", import->blocks.items[i]);
    add_main_head(import, &text, name);
    for (int i = 0; i < import->steps.count; i++)
        add_statements(&text, import->steps.items[i].text);
    text_add(&text, "}\n");
    add_export(import, &text, name, folder);
    return text.text;
}
