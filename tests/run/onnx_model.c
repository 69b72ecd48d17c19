/* onnx_model.c - writes an ONNX model that is described by lines of standard input, in the wire format of protobuf:
 *
 *   opset NUMBER
 *   input NAME TYPE SIZES, output NAME TYPE SIZES       1,3,N: a size may be a name; - for none
 *   tensor NAME TYPE SIZES FORM VALUES...               raw: as bytes; repeat: the same, again and again; packed: as
 *                                                       numbers; loose: each by itself; FILE@OFFSET: in another file
 *   node KIND INPUTS OUTPUTS KEY=VALUE...               a,b; - for none; 3, 0.5, ints:1,2, floats:1,2, text:linear,
 *                                                       tensor:TYPE:SIZES:VALUE; @NAME: that of the call
 *   function NAME INPUTS OUTPUTS KEY=VALUE...           of the domain "own", with defaults; the nodes up to a line
 *                                                       `end` are its own. Calls of it have the word domain=own.
 *   graph NAME INPUTS OUTPUTS                           for an attribute KEY=graph:NAME of a later node; the tensors
 *                                                       and nodes up to a line `end` are its own.
 *
 * With a number it copies a file and changes some bytes, by that number.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Buffer {
    unsigned char *bytes;
    size_t length, capacity;
} Buffer;

static void put_bytes(Buffer *to, const void *bytes, size_t length) {
    if (to->length + length > to->capacity) {
        to->capacity = 2 * (to->length + length);
        to->bytes = realloc(to->bytes, to->capacity);
    }
    if (length)
        memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_number(Buffer *to, uint64_t value) {
    for (; value > 127; value >>= 7)
        put_bytes(to, (unsigned char[]){(unsigned char)(value | 128)}, 1);
    put_bytes(to, (unsigned char[]){(unsigned char)value}, 1);
}

static void put_integer(Buffer *to, int field, int64_t value) {
    put_number(to, (uint64_t)field << 3);
    put_number(to, (uint64_t)value);
}

static void put_message(Buffer *to, int field, const void *bytes, size_t length) {
    put_number(to, (uint64_t)field << 3 | 2);
    put_number(to, length);
    put_bytes(to, bytes, length);
}

static void put_buffer(Buffer *to, int field, Buffer *message) {
    put_message(to, field, message->bytes, message->length);
    free(message->bytes);
}

static void put_text(Buffer *to, int field, const char *text) {
    put_message(to, field, text, strlen(text));
}

static void put_float(Buffer *to, int field, float value) {
    put_number(to, (uint64_t)field << 3 | 5);
    put_bytes(to, &value, sizeof value);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static const struct Type {
    const char *name;
    int number, bytes;
} types[] = {{"float", 1, 4}, {"uint8", 2, 1},  {"int8", 3, 1}, {"int32", 6, 4},
             {"int64", 7, 8}, {"string", 8, 1}, {"bool", 9, 1}};

static const struct Type *type_of(const char *name) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    fprintf(stderr, "no type %s\n", name);
    exit(2);
}

/* The next word up to a separator; NULL: there is none. */
static char *next_word(char **rest, const char *separators) {
    *rest += strspn(*rest, separators);
    if (!**rest)
        return NULL;
    char *word = *rest;
    *rest += strcspn(*rest, separators);
    if (**rest)
        *(*rest)++ = 0;
    return word;
}

static char *must_have(char **rest) {
    char *word = next_word(rest, " \n");
    if (!word) {
        fprintf(stderr, "a word is missing\n");
        exit(2);
    }
    return word;
}

static int is_none(const char *word) {
    return !strcmp(word, "-");
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static void put_declared(Buffer *graph, int field, char *rest) {
    Buffer declared = {0}, type = {0}, tensor = {0}, shape = {0};
    put_text(&declared, 1, must_have(&rest));
    put_integer(&tensor, 1, type_of(must_have(&rest))->number);
    char *sizes = must_have(&rest);
    for (char *size; !is_none(sizes) && (size = next_word(&sizes, ","));) {
        Buffer one = {0};
        if (isdigit((unsigned char)*size))
            put_integer(&one, 1, atoll(size));
        else
            put_text(&one, 2, size);
        put_buffer(&shape, 1, &one);
    }
    put_buffer(&tensor, 2, &shape);
    put_buffer(&type, 1, &tensor);
    put_buffer(&declared, 2, &type);
    put_buffer(graph, field, &declared);
}

static void put_value(Buffer *to, const struct Type *type, const char *text) {
    float real = strtof(text, NULL);
    int64_t integer = atoll(text);
    put_bytes(to, type->number == 1 ? (void *)&real : (void *)&integer, (size_t)type->bytes);
}

static void put_values(Buffer *tensor, const struct Type *type, int64_t count, const char *form, char *rest) {
    Buffer values = {0};
    int field = type->number == 1 ? 4 : type->number == 7 ? 7 : 5;
    for (char *word; (word = next_word(&rest, " \n"));)
        if (!strcmp(form, "loose") && type->number == 1)
            put_float(tensor, field, strtof(word, NULL));
        else if (!strcmp(form, "loose"))
            put_integer(tensor, field, atoll(word));
        else if (!strcmp(form, "packed") && type->number != 1)
            put_number(&values, (uint64_t)atoll(word));
        else
            put_value(&values, type, word);
    size_t once = values.length, wanted = (size_t)(count * type->bytes);
    for (size_t i = 0; once && !strcmp(form, "repeat") && values.length < wanted; i++) {
        unsigned char byte = values.bytes[i % once];
        put_bytes(&values, &byte, 1);
    }
    bool is_raw = !strcmp(form, "raw") || !strcmp(form, "repeat");
    if (strcmp(form, "loose"))
        put_buffer(tensor, is_raw ? 9 : field, &values);
}

static void put_entry(Buffer *tensor, const char *key, const char *value) {
    Buffer entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_buffer(tensor, 13, &entry);
}

static Buffer tensor_of(const char *name, const struct Type *type, char *sizes, const char *form, char *rest) {
    Buffer tensor = {0};
    char *at = strchr(form, '@');
    int64_t count = 1;
    for (char *size; !is_none(sizes) && (size = next_word(&sizes, ","));) {
        put_integer(&tensor, 1, atoll(size));
        count *= atoll(size);
    }
    put_integer(&tensor, 2, type->number);
    put_text(&tensor, 8, name);
    if (at) {
        *at = 0;
        put_entry(&tensor, "location", form);
        put_entry(&tensor, "offset", at + 1);
        put_integer(&tensor, 14, 1);
    } else
        put_values(&tensor, type, count, form, rest);
    return tensor;
}

static void put_tensor(Buffer *graph, char *rest) {
    char *name = must_have(&rest);
    const struct Type *type = type_of(must_have(&rest));
    char *sizes = must_have(&rest), *form = must_have(&rest);
    Buffer tensor = tensor_of(name, type, sizes, form, rest);
    put_buffer(graph, 5, &tensor);
}

static void put_list(Buffer *attribute, char *list, int reals) {
    for (char *word; (word = next_word(&list, ","));)
        if (reals)
            put_float(attribute, 7, strtof(word, NULL));
        else
            put_integer(attribute, 8, atoll(word));
}

enum { KIND_FLOAT = 1, KIND_INTEGER = 2, KIND_TEXT = 3, KIND_TENSOR = 4, KIND_GRAPH = 5 };
enum { KIND_FLOATS = 6, KIND_INTEGERS = 7, MOST_GRAPHS = 256 };

static struct Graph {
    const char *name;
    Buffer graph;
} graphs[MOST_GRAPHS];
static int graph_count;

static Buffer graph_named(const char *name) {
    Buffer copy = {0};
    int i = 0;
    while (i < graph_count && strcmp(graphs[i].name, name))
        i++;
    if (i == graph_count) {
        fprintf(stderr, "no graph %s\n", name);
        exit(2);
    }
    put_bytes(&copy, graphs[i].graph.bytes, graphs[i].graph.length);
    return copy;
}

static void put_attribute(Buffer *node, int field, char *word) {
    Buffer attribute = {0};
    char *value = strchr(word, '='), *rest;
    int kind = KIND_INTEGER;
    *value++ = 0;
    put_text(&attribute, 1, word);
    if (*value == '@')
        put_text(&attribute, 21, value + 1);
    else if (!strncmp(value, "ints:", 5)) {
        kind = KIND_INTEGERS;
        put_list(&attribute, value + 5, 0);
    } else if (!strncmp(value, "floats:", 7)) {
        kind = KIND_FLOATS;
        put_list(&attribute, value + 7, 1);
    } else if (!strncmp(value, "text:", 5)) {
        kind = KIND_TEXT;
        put_text(&attribute, 4, value + 5);
    } else if (!strncmp(value, "tensor:", 7)) {
        rest = value + 7;
        const struct Type *type = type_of(next_word(&rest, ":"));
        char *sizes = next_word(&rest, ":");
        Buffer tensor = tensor_of("", type, sizes, "raw", rest);
        kind = KIND_TENSOR;
        put_buffer(&attribute, 5, &tensor);
    } else if (!strncmp(value, "graph:", 6)) {
        kind = KIND_GRAPH;
        Buffer graph = graph_named(value + 6);
        put_buffer(&attribute, 6, &graph);
    } else if (strchr(value, '.')) {
        kind = KIND_FLOAT;
        put_float(&attribute, 2, strtof(value, NULL));
    } else
        put_integer(&attribute, 3, atoll(value));
    put_integer(&attribute, 20, kind);
    put_buffer(node, field, &attribute);
}

static void put_names(Buffer *node, int field, char *names) {
    for (char *name; !is_none(names) && (name = next_word(&names, ","));)
        put_text(node, field, is_none(name) ? "" : name);
}

static void put_node(Buffer *to, int field, char *rest) {
    Buffer node = {0};
    char *kind = must_have(&rest);
    put_names(&node, 1, must_have(&rest));
    put_names(&node, 2, must_have(&rest));
    put_text(&node, 4, kind);
    for (char *word; (word = next_word(&rest, " \n"));)
        if (!strncmp(word, "name=", 5))
            put_text(&node, 3, word + 5);
        else if (!strncmp(word, "domain=", 7))
            put_text(&node, 7, word + 7);
        else
            put_attribute(&node, 5, word);
    put_buffer(to, field, &node);
}

static void put_function(Buffer *model, char *rest) {
    static char line[1 << 16];
    Buffer function = {0};
    put_text(&function, 1, must_have(&rest));
    put_names(&function, 4, must_have(&rest));
    put_names(&function, 5, must_have(&rest));
    put_text(&function, 10, "own");
    for (char *word; (word = next_word(&rest, " \n"));)
        put_attribute(&function, 11, word);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n")) {
        rest = line;
        next_word(&rest, " \n");
        put_node(&function, 7, rest);
    }
    put_buffer(model, 25, &function);
}

/* Inputs and outputs of which the model says nothing but their names. */
static void put_undeclared(Buffer *graph, int field, char *names) {
    for (char *name; !is_none(names) && (name = next_word(&names, ","));) {
        Buffer declared = {0};
        put_text(&declared, 1, name);
        put_buffer(graph, field, &declared);
    }
}

static void read_graph(char *rest) {
    static char line[1 << 16];
    struct Graph *own = &graphs[graph_count];
    if (graph_count == MOST_GRAPHS)
        exit(2);
    own->name = strdup(must_have(&rest));
    put_text(&own->graph, 2, own->name);
    put_undeclared(&own->graph, 11, must_have(&rest));
    put_undeclared(&own->graph, 12, must_have(&rest));
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n")) {
        rest = line;
        if (!strcmp(next_word(&rest, " \n"), "tensor"))
            put_tensor(&own->graph, rest);
        else
            put_node(&own->graph, 1, rest);
    }
    graph_count++;
}

static int read_lines(void) {
    static char line[1 << 16];
    Buffer model = {0}, graph = {0}, opset = {0};
    put_integer(&model, 1, 9);
    put_text(&graph, 2, "graph");
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line, *word = next_word(&rest, " \n");
        if (!word)
            continue;
        if (!strcmp(word, "opset"))
            put_integer(&opset, 2, atoll(must_have(&rest)));
        else if (!strcmp(word, "input") || !strcmp(word, "output"))
            put_declared(&graph, *word == 'i' ? 11 : 12, rest);
        else if (!strcmp(word, "tensor"))
            put_tensor(&graph, rest);
        else if (!strcmp(word, "node"))
            put_node(&graph, 1, rest);
        else if (!strcmp(word, "function"))
            put_function(&model, rest);
        else if (!strcmp(word, "graph"))
            read_graph(rest);
        else
            return 2;
    }
    put_buffer(&model, 7, &graph);
    put_buffer(&model, 8, &opset);
    return fwrite(model.bytes, 1, model.length, stdout) != model.length;
}

/* Some bytes of a file become others. */
static int damage(unsigned seed) {
    static unsigned char bytes[1 << 16];
    size_t length = fread(bytes, 1, sizeof bytes, stdin);
    uint64_t random = seed * 6364136223846793005u + 1442695040888963407u;
    for (unsigned i = 0; length && i < 1 + seed % 3; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bytes[(random >> 33) % length] = (unsigned char)(random >> 20);
    }
    return fwrite(bytes, 1, length, stdout) != length;
}

int main(int argc, char **argv) {
    return argc > 1 ? damage((unsigned)atoi(argv[1])) : read_lines();
}
