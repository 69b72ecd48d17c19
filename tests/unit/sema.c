/* sema.c - valid programs and what becomes of them: the cases of sema.cases, each a source and the Programs it gives.
 *
 * A case is "=== title", the source, "---", and what program_print says of each unit; lines that every program has (the
 * limits of its sizes and of its tensors' memory) are left out. ACCEPT=1 writes the file anew.
 */
#include "sema/sema.h"
#include "stdlib/stdlib.h"
#include "tests/tap.h"

#include <stdlib.h>

static uint32_t find_embedded(__attribute__((unused)) void *context, Sources *sources, const char *name) {
    const StdlibFile *file = stdlib_find(name);
    if (!file)
        return 0;
    const char *shown = arena_printf(sources->arena, "<stdlib>/%s.tensor", name);
    return (uint32_t)source_add(sources, shown, file->text, file->length, true);
}

/* A module of a text; messages go to a buffer. */
static Module *check(Arena *arena, const char *text, size_t length, char **messages) {
    size_t message_length;
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    FILE *stream = open_memstream(messages, &message_length);
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.stream = stream});
    uint32_t file = (uint32_t)source_add(sources, "case.tensor", text, length, false);
    SemaOptions options = {.find_embedded = find_embedded};
    Module *module = sema_check(arena, sources, parse_file(arena, sources, file, diagnostics), &options, diagnostics);
    int errors = diag_finish(diagnostics);
    fclose(stream);
    return errors ? NULL : module;
}

static bool is_common(const char *line, size_t length) {
    char *text = strndup(line, length);
    bool common =
        strncmp(text, "  require ", 10) == 0 &&
        (strstr(text, "/ max(") || (strstr(text, ">= 0 &&") && strstr(text, " <= ") && strstr(text, "status 1")));
    free(text);
    return common;
}

static void print_unit(Text *text, const Unit *unit) {
    Text whole = {.arena = text->arena};
    program_print(&whole, unit->program);
    for (const char *line = whole.text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (!is_common(line, length))
            text_add(text, "%.*s\n", (int)length, line);
        if (!line[length])
            break;
    }
    for (int t = 0; t < unit->tune_count; t++) {
        text_add(text, "  tune");
        for (int i = 0; i < unit->tunes[t].count; i++)
            text_add(text, " %s=%lld", unit->tunes[t].bindings[i].name, (long long)unit->tunes[t].bindings[i].value);
        text_add(text, "\n");
    }
}

static const char *result_of(Arena *arena, const char *source, size_t length) {
    char *messages = NULL;
    Text text = {.arena = arena};
    Module *module = check(arena, source, length, &messages);
    text_add(&text, "%s", module ? "" : messages);
    for (int i = 0; module && i < module->units.count; i++)
        print_unit(&text, &module->units.items[i]);
    free(messages);
    return text.text;
}

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t length = 0;
    FILE *copy = open_memstream(&text, &length);
    for (int c = getc(file); c != EOF; c = getc(file))
        putc(c, copy);
    fclose(copy);
    fclose(file);
    return text;
}

/* Where a line begins with the mark at or after text; the end of the text where none does. */
static const char *find_line(const char *text, const char *mark) {
    while (*text && strncmp(text, mark, strlen(mark)) != 0) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

/* One case; returns where the next begins. */
static const char *run_case(const char *at, FILE *accepted) {
    Arena *arena = arena_new();
    size_t line = strcspn(at, "\n");
    const char *title = arena_strndup(arena, at + 4, line - 4), *source = at + line + 1;
    const char *end = find_line(source, "==="), *dash = find_line(source, "---\n");
    const char *source_end = dash < end ? dash : end, *wanted = dash < end ? dash + 4 : end;
    size_t length = (size_t)(source_end - source);
    const char *got = result_of(arena, arena_strndup(arena, source, length), length);
    is_text(got, arena_strndup(arena, wanted, (size_t)(end - wanted)), "%s", title);
    if (accepted)
        fprintf(accepted, "=== %s\n%.*s---\n%s", title, (int)(source_end - source), source, got);
    arena_free(arena);
    return end;
}

static void run_cases(void) {
    const char *folder = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/unit/sema.cases", folder ? folder : ".");
    char *text = read_whole(path);
    ok(text != NULL, "the cases can be read");
    if (!text)
        return;
    const char *accept = getenv("ACCEPT");
    FILE *accepted = accept && *accept ? fopen(path, "wb") : NULL;
    for (const char *at = find_line(text, "==="); *at;)
        at = run_case(at, accepted);
    if (accepted)
        fclose(accepted);
    free(text);
}

int main(void) {
    run_cases();
    return done_testing();
}
