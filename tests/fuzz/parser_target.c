/* parser_target.c - any bytes as a .tensor file: parsing and checking end, and what has no syntax error prints to a
 * text that parses and prints the same. */
#include "parser/ast.h"
#include "sema/sema.h"
#include "stdlib/stdlib.h"
#include "target.h"
#include "tests/unit/parsing.h"

static AstFile *parse_bytes_of(Sources *sources, const char *text, size_t length, Diagnostics *diagnostics) {
    uint32_t file = (uint32_t)source_add(sources, "input", text, length, false);
    return parse_file(sources->arena, sources, file, diagnostics);
}

static void check_print(Arena *arena, const AstFile *tree) {
    Text once = {.arena = arena}, twice = {.arena = arena};
    Sources sources = {.arena = arena};
    Diagnostics *diagnostics = diag_new(arena, &sources, (DiagOptions){.stream = stderr});
    text_add(&once, "%s", "");
    text_add(&twice, "%s", "");
    ast_print(&once, tree);
    const AstFile *again = parse_bytes_of(&sources, once.text, once.length, diagnostics);
    if (diag_error_count(diagnostics))
        fail_input("what was printed does not parse", once.text);
    ast_print(&twice, again);
    if (strcmp(once.text, twice.text))
        fail_input("what was printed prints in another way", once.text);
}

static uint32_t no_embedded(void *context, Sources *sources, const char *name) {
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Arena *arena = arena_new();
    Reading reading;
    reading_begin(&reading, arena);
    AstFile *tree = parse_bytes_of(&reading.sources, (const char *)bytes, size, reading.diagnostics);
    if (!diag_error_count(reading.diagnostics)) {
        check_print(arena, tree);
        SemaOptions options = {.find_embedded = no_embedded};
        if (!tree->imports.count)
            sema_check(arena, &reading.sources, tree, &options, reading.diagnostics);
    }
    reading_end(&reading);
    arena_free(arena);
    return 0;
}

void write_seeds(WriteSeed *write, void *context) {
    write(context, whole_grammar, sizeof whole_grammar - 1);
    for (const StdlibFile *file = stdlib_files; file->name; file++)
        write(context, file->text, file->length);
}
