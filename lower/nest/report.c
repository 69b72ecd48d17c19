/* report.c - a refused primitive as a diagnostic: the rule, the nest, what would be legal. */
#include "lower/nest/nest.h"

#include <string.h>

/* Indents the lines of the nest for a note, without the last line break. */
static const char *indented(Arena *arena, const char *nest) {
    Text text = {.arena = arena};
    for (const char *line = nest; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        text_add(&text, "\n    %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return text.length > 0 ? text.text : " empty";
}

bool nest_report(Diagnostics *diagnostics, const NestError *error) {
    Arena *scratch = arena_new();
    diag(diagnostics, DIAG_schedule_rule, error->loc, error->rule);
    diag_note(diagnostics, (Loc){0}, "the loop nest before this statement:%s", indented(scratch, error->nest));
    for (int i = 0; i < error->alternative_count; i++)
        diag_hint(diagnostics, error->goes_before[i] ? "legal before it: %s" : "legal here: %s",
                  error->alternatives[i]);
    arena_free(scratch);
    return false;
}
