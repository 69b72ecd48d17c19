/* depfile.c - make rules that name what an object was made from. */
#include "backends/emit/emit.h"

#include <string.h>

/* GNU make: a blank needs a backslash, and so do each backslash before one, # and :; $ is doubled. */
char *make_escape(Arena *arena, const char *name) {
    Text text = {.arena = arena};
    text_add(&text, "%s", "");
    for (const char *at = name; *at; at++) {
        if (*at == ' ' || *at == '\t') {
            for (const char *back = at; back > name && back[-1] == '\\'; back--)
                text_add(&text, "\\");
            text_add(&text, "\\");
        } else if (*at == '$') {
            text_add(&text, "$");
        } else if (*at == '#' || *at == ':') {
            text_add(&text, "\\");
        }
        text_add(&text, "%c", *at);
    }
    return text.text;
}

char *emit_depfile(Arena *arena, const char *targets, const char *const *files, int count, bool phony) {
    Text text = {.arena = arena};
    text_add(&text, "%s:", targets);
    for (int i = 0; i < count; i++)
        text_add(&text, "%s%s", count > 1 ? " \\\n  " : " ", make_escape(arena, files[i]));
    text_add(&text, "\n");
    for (int i = 1; phony && i < count; i++) /* the first is what is compiled: without it nothing can be made */
        text_add(&text, "\n%s:\n", make_escape(arena, files[i]));
    return text.text;
}
