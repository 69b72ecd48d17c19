/* header.c - the C header of generated functions: plain prototypes, valid in C and C++. Comments tell what a caller
 * must know: shapes, the first index, requirements, which sizes were bound.
 */
#include "backends/emit/emit.h"
#include "lang/expr.h"
#include "lang/foreign.h"
#include "lang/terminal.h"

#include <ctype.h>
#include <string.h>

/* --- names --- */

typedef LIST(const char *) HeaderNames;

static bool is_taken(const HeaderNames *names, const char *name) {
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

/* The name itself if C allows it, else with underscores appended. */
static const char *parameter_name(Arena *arena, HeaderNames *names, const char *name) {
    while (is_word_of_c(name) || is_taken(names, name))
        name = arena_printf(arena, "%s_", name);
    list_push(arena, names, name);
    return name;
}

/* Upper case, with underscores for what macros may not contain; then a number keeps "a-b.h" and "a_b.h" apart. */
static const char *include_guard(Arena *arena, const char *name) {
    Text text = {.arena = arena};
    uint32_t hash = 2166136261u;
    bool replaced = false;
    text_add(&text, isalpha((unsigned char)*name) ? "" : "TENSORC_");
    for (const char *at = name; *at; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = c < 128 && (isalnum(c) || c == '_');
        text_add(&text, "%c", plain ? toupper(c) : '_');
        replaced |= !plain && c != '.';
        hash = (hash ^ c) * 16777619u;
    }
    if (replaced)
        text_add(&text, "_%08X", (unsigned)hash);
    return text.text;
}

/* No text may end the comment that holds it. */
static void add_comment_text(Text *text, const char *comment) {
    comment = shown_line(text->arena, comment);
    for (const char *at = comment; *at; at++) {
        bool breaks = *at == '/' && at > comment && at[-1] == '*';
        text_add(text, breaks ? " %c" : "%c", *at);
    }
}

/* --- comments --- */

static const char *source_name(const Program *program, int parameter) {
    if (parameter < program->size_count)
        return program->sizes[parameter]->name;
    const Argument *argument = &program->arguments[parameter - program->size_count];
    return argument->tensor ? argument->tensor->name : argument->scalar->name;
}

/* The words with the names that the prototype has for sizes and arguments. names: one for each parameter. */
static const char *with_names(Arena *arena, const Program *program, const char *const *names, const char *words) {
    Text text = {.arena = arena};
    while (*words) {
        size_t length = 0;
        while (isalnum((unsigned char)words[length]) || words[length] == '_')
            length++;
        const char *word = arena_printf(arena, "%.*s", (int)(length ? length : 1), words);
        words += length ? length : 1;
        for (int i = 0; length && i < program->size_count + program->argument_count; i++)
            if (strcmp(word, source_name(program, i)) == 0) {
                word = names[i];
                break;
            }
        text_add(&text, "%s", word);
    }
    return text.text ? text.text : "";
}

static void add_shape(Text *out, Arena *arena, const Program *program, const char *const *names, const Tensor *tensor) {
    Text text = {.arena = arena};
    text_add(&text, "(");
    for (int d = 0; d < tensor->rank; d++)
        text_add(&text, "%s%s", d ? ", " : "", expr_text(arena, tensor->dims[d]));
    text_add(&text, ")");
    bool shifted = false;
    for (int d = 0; tensor->lower && d < tensor->rank; d++)
        shifted |= !expr_is_zero(tensor->lower[d]);
    if (shifted) {
        text_add(&text, ", element 0 is %s(", tensor->name);
        for (int d = 0; d < tensor->rank; d++)
            text_add(&text, "%s%s", d ? ", " : "", expr_text(arena, tensor->lower[d]));
        text_add(&text, ")");
    }
    text_add(out, "%s%s", element_info[tensor->type].spelling, with_names(arena, program, names, text.text));
}

static void add_argument_comment(Text *text, Arena *arena, const Program *program, const char *const *names,
                                 int number) {
    const Argument *argument = &program->arguments[number];
    const char *name = names[program->size_count + number];
    if (argument->scalar) {
        text_add(text, " *   %s: %s\n", name, element_info[argument->scalar->type].spelling);
        return;
    }
    const char *way = argument->tensor->role == ROLE_INPUT              ? argument->tensor->constant ? "const, " : ""
                      : program_reads_former(program, argument->tensor) ? "read and written, "
                                                                        : "written, ";
    text_add(text, " *   %s: %s", name, way);
    add_shape(text, arena, program, names, argument->tensor);
    text_add(text, "\n");
}

/* Each requirement once: two reads may need the same. */
static void add_requirements(Text *text, Arena *arena, const Program *program, const char *const *names) {
    HeaderNames said = {0};
    for (int i = 0; i < program->requirement_count; i++) {
        const Requirement *requirement = &program->requirements[i];
        const char *words = requirement->text ? requirement->text : expr_text(arena, requirement->condition);
        if (is_taken(&said, words))
            continue;
        list_push(arena, &said, words);
        text_add(text, " * Requires ");
        add_comment_text(text, with_names(arena, program, names, words));
        text_add(text, ".\n");
    }
}

static void add_comment(Text *text, Arena *arena, const Program *program, const char *const *names) {
    text_add(text, "/* ");
    add_comment_text(text, program->name);
    for (int i = 0; i < program->bound_count; i++)
        text_add(text, "%s%s = %lld", i ? ", " : " with ", program->bounds[i].name,
                 (long long)program->bounds[i].value);
    text_add(text, "\n");
    for (int i = 0; i < program->argument_count; i++)
        add_argument_comment(text, arena, program, names, i);
    for (int i = 0; i < program->tensor_count; i++)
        if (program->tensors[i]->role == ROLE_CONSTANT) {
            text_add(text, " *   %s: a constant of the object, ", program->tensors[i]->name);
            add_shape(text, arena, program, names, program->tensors[i]);
            text_add(text, "\n");
        }
    add_requirements(text, arena, program, names);
    text_add(text, " */\n");
}

/* --- prototypes --- */

static const char **name_parameters(Arena *arena, const Program *program) {
    HeaderNames taken = {0};
    const char **names = ARENA_ARRAY(arena, const char *, program->size_count + program->argument_count + 1);
    for (int i = 0; i < program->size_count + program->argument_count; i++)
        names[i] = parameter_name(arena, &taken, source_name(program, i));
    return names;
}

static void add_parameter(Text *text, const Program *program, const Argument *argument, const char *name, bool packed) {
    const Tensor *tensor = argument->tensor;
    if (packed && argument_is_packed(argument))
        text_add(text, "const struct %s_packed_%s *%s", program->symbol, tensor->name, name);
    else if (tensor)
        text_add(text, "%s%s *%s", tensor->role == ROLE_INPUT ? "const " : "", element_info[tensor->type].c_type, name);
    else
        text_add(text, "%s %s", element_info[argument->scalar->type].c_type, name);
}

/* NAME(sizes..., arguments...), with a first parameter for the workspace if it has a name. */
static void add_prototype(Text *text, const Program *program, const char *const *names, const char *ending,
                          const char *workspace, bool packed) {
    int count = program->size_count + program->argument_count;
    text_add(text, "int %s%s(%s%s", program->symbol, ending, workspace ? "void *" : "", workspace ? workspace : "");
    for (int i = 0; i < program->size_count; i++)
        text_add(text, "%sint64_t %s", i || workspace ? ", " : "", names[i]);
    for (int i = program->size_count; i < count; i++) {
        text_add(text, "%s", i || workspace ? ", " : "");
        add_parameter(text, program, &program->arguments[i - program->size_count], names[i], packed);
    }
    text_add(text, "%s);\n", count || workspace ? "" : "void");
}

/* NAME, NAME_workspace_size and NAME_in. */
static void add_ways_in(Text *text, const Program *program, const char *const *names, bool packed) {
    const char *ending = packed ? "_packed" : "", *in = packed ? "_packed_in" : "_in";
    HeaderNames taken = {0};
    for (int i = 0; i < program->size_count + program->argument_count; i++)
        list_push(text->arena, &taken, names[i]);
    add_prototype(text, program, names, ending, NULL, packed);
    text_add(text, "size_t %s%s_workspace_size(", program->symbol, ending);
    for (int i = 0; i < program->size_count; i++)
        text_add(text, "%sint64_t %s", i ? ", " : "", names[i]);
    text_add(text, "%s);\n", program->size_count ? "" : "void");
    add_prototype(text, program, names, in, parameter_name(text->arena, &taken, "workspace"), packed);
    text_add(text, "\n");
}

/* The runtime's header has the same lines: a macro may be defined twice if both are the same. */
static void add_statuses(Text *text) {
#define STATUS(id, value, words) text_add(text, "#define TENSORC_%s %d /* %s */\n", #id, value, words);
#include "lang/status.def"
#undef STATUS
    text_add(text, "\n");
}

/* --- packed arguments --- */

static const char *size_name(const Program *program, const char *const *names, const Var *size) {
    int i = 0;
    while (program->sizes[i] != size)
        i++;
    return names[i];
}

/* The type, which only NAME_pack_ARG fills, and the two functions that make one. */
static void add_packed_argument(Text *text, const Program *program, const char *const *names, const Tensor *tensor) {
    Arena *arena = text->arena;
    int count;
    const Var **sizes = packing_sizes(arena, program, tensor, &count);
    HeaderNames taken = {0};
    Text parameters = {.arena = arena};
    for (int i = 0; i < count; i++) {
        list_push(arena, &taken, size_name(program, names, sizes[i]));
        text_add(&parameters, "%sint64_t %s", i ? ", " : "", taken.items[i]);
    }
    const char *symbol = program->symbol, *from = parameter_name(arena, &taken, "from");
    text_add(text, "struct %s_packed_%s;\nint64_t %s_packed_%s_size(%s);\n", symbol, tensor->name, symbol, tensor->name,
             count ? parameters.text : "void");
    text_add(text, "int %s_pack_%s(%s%sconst %s *%s, struct %s_packed_%s *%s);\n", symbol, tensor->name,
             count ? parameters.text : "", count ? ", " : "", element_info[tensor->type].c_type, from, symbol,
             tensor->name, parameter_name(arena, &taken, "to"));
}

/* Those sizes that a const argument has, each with a comma behind it. */
static const char *packing_parameters(Arena *arena, const Program *program, const char *const *names) {
    Text text = {.arena = arena, .text = ""};
    for (int i = 0; i < program->size_count; i++)
        if (is_packing_size(program, program->sizes[i]))
            text_add(&text, "int64_t %s, ", names[i]);
    return text.text;
}

/* NAME_packed_all(sizes..., packed, arguments that are not...), with a first parameter if the workspace has a name. */
static void add_call_with_block(Text *text, const Program *program, const char *const *names, const char *block,
                                const char *workspace) {
    text_add(text, "int %s_packed_all%s(", program->symbol, workspace ? "_in" : "");
    if (workspace)
        text_add(text, "void *%s, ", workspace);
    for (int i = 0; i < program->size_count; i++)
        text_add(text, "int64_t %s, ", names[i]);
    text_add(text, "const struct %s_packed *%s", program->symbol, block);
    for (int i = 0; i < program->argument_count; i++)
        if (!argument_is_packed(&program->arguments[i])) {
            text_add(text, ", ");
            add_parameter(text, program, &program->arguments[i], names[program->size_count + i], false);
        }
    text_add(text, ");\n");
}

/* All packed arguments in one block. */
static void add_packed_together(Text *text, const Program *program, const char *const *names) {
    const char *symbol = program->symbol, *sizes = packing_parameters(text->arena, program, names);
    HeaderNames taken = {0};
    for (int i = 0; i < program->size_count + program->argument_count; i++)
        list_push(text->arena, &taken, names[i]);
    text_add(text,
             "/* The same with all of them in one block, which is best at a multiple of 64 bytes. %s_pack_all\n"
             " * makes it, of %s_packed_size bytes (0 for sizes that it refuses). Both take those sizes that any of\n"
             " * them has. */\n",
             symbol, symbol);
    text_add(text, "struct %s_packed;\nint64_t %s_packed_size(%.*s);\nint %s_pack_all(%s", symbol, symbol,
             *sizes ? (int)strlen(sizes) - 2 : 4, *sizes ? sizes : "void", symbol, sizes);
    for (int i = 0; i < program->argument_count; i++)
        if (argument_is_packed(&program->arguments[i])) {
            add_parameter(text, program, &program->arguments[i], names[program->size_count + i], false);
            text_add(text, ", ");
        }
    text_add(text, "struct %s_packed *%s);\n", symbol, parameter_name(text->arena, &taken, "to"));
    const char *block = parameter_name(text->arena, &taken, "packed");
    add_call_with_block(text, program, names, block, NULL);
    add_call_with_block(text, program, names, block, parameter_name(text->arena, &taken, "workspace"));
    text_add(text, "\n");
}

static void add_packed_functions(Text *text, const Program *program, const char *const *names) {
    const char *symbol = program->symbol;
    if (!program_is_packed(program))
        return;
    text_add(text,
             "/* %s with its const arguments packed. %s_pack_ARG packs one, once for all calls, into memory of\n"
             " * %s_packed_ARG_size bytes (0 for sizes that it refuses); how it lies there is for %s_packed alone to "
             "know.\n * Both take those sizes that ARG has, in the order of those of %s. */\n",
             symbol, symbol, symbol, symbol, symbol);
    for (int i = 0; i < program->argument_count; i++)
        if (argument_is_packed(&program->arguments[i]))
            add_packed_argument(text, program, names, program->arguments[i].tensor);
    add_ways_in(text, program, names, true);
    if (is_packed_together(program))
        add_packed_together(text, program, names);
}

/* --- the whole --- */

static const char head_comment[] =
    " *\n"
    " * Functions return 0 or a status. Arrays are contiguous and row-major; outputs overlap nothing.\n"
    " *\n"
    " * NAME takes memory for its temporaries from a pool, where it stays for later calls until tensorc_release, the\n"
    " * end of the program, or that of the library. NAME_in has them in its workspace instead: NAME_workspace_size\n"
    " * bytes at any address, for one call at a time. These are 0 for a function that needs none and for sizes that\n"
    " * it refuses, and SIZE_MAX if they are no number. Without a workspace (NULL) NAME_in is NAME.\n"
    " */\n";

char *emit_header(Arena *arena, const Program *const *programs, int count, const char *name, const char *source) {
    Text text = {.arena = arena};
    const char *guard = include_guard(arena, name);
    text_add(&text, "/* Made by tensorc from ");
    add_comment_text(&text, source);
    text_add(&text, ".\n%s", head_comment);
    text_add(&text, "#ifndef %s\n#define %s\n\n#include <stddef.h>\n#include <stdint.h>\n\n", guard, guard);
    add_statuses(&text);
    text_add(&text, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                    "/* Frees what calls have left for later ones. */\nvoid tensorc_release(void);\n\n");
    for (int i = 0; i < count; i++) {
        const char **names = name_parameters(arena, programs[i]);
        add_comment(&text, arena, programs[i], names);
        add_ways_in(&text, programs[i], names, false);
        add_packed_functions(&text, programs[i], names);
    }
    text_add(&text, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return text.text;
}
