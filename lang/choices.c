/* choices.c - reads a name from a list and its settings. */
#include "lang/choices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int setting_count(const NamedChoice *choice) {
    int count = 0;
    while (choice->settings && choice->settings[count].name)
        count++;
    return count;
}

int choice_row(const char *text, const NamedChoice *choices) {
    size_t length = strcspn(text, ":");
    for (int row = 0; choices[row].name; row++)
        if (strlen(choices[row].name) == length && !strncmp(choices[row].name, text, length))
            return row;
    return -1;
}

static const char *known_settings(Arena *arena, const NamedChoice *choice) {
    Text text = {.arena = arena};
    for (int s = 0; s < setting_count(choice); s++)
        text_add(&text, "%s%s%s", s ? ", " : "", choice->settings[s].name,
                 choice->settings[s].kind == SETTING_FLAG   ? ""
                 : choice->settings[s].kind == SETTING_WORD ? "=WORD"
                                                            : "=N");
    return text.text ? arena_printf(arena, "it takes %s", text.text) : "it takes none";
}

static const char *read_word(Arena *arena, const Setting *setting, const char *value, double *number) {
    Text text = {.arena = arena};
    for (int w = 0; setting->words[w]; w++) {
        if (value && !strcmp(setting->words[w], value)) {
            *number = w;
            return NULL;
        }
        text_add(&text, "%s%s", w ? ", " : "", setting->words[w]);
    }
    return arena_printf(arena, "'%s' is one of %s", setting->name, text.text);
}

static const char *read_value(Arena *arena, const Setting *setting, const char *value, double *number) {
    if (setting->kind == SETTING_FLAG) {
        *number = 1;
        return value ? arena_printf(arena, "'%s' takes no value", setting->name) : NULL;
    }
    if (setting->kind == SETTING_WORD)
        return read_word(arena, setting, value, number);
    char *end = "";
    *number = value ? strtod(value, &end) : NAN;
    bool whole = setting->kind == SETTING_REAL || *number == floor(*number);
    if (value && *value && !*end && whole && *number >= setting->least && *number <= setting->most)
        return NULL;
    return arena_printf(arena, "'%s' needs a %snumber from %g to %g", setting->name,
                        setting->kind == SETTING_COUNT ? "whole " : "", setting->least, setting->most);
}

/* Reads one setting, "chains=128" or "cold", which this may change. */
static const char *read_setting(Arena *arena, char *word, const NamedChoice *choice, double *values) {
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    for (int s = 0; s < setting_count(choice); s++)
        if (!strcmp(choice->settings[s].name, word))
            return read_value(arena, &choice->settings[s], value, &values[s]);
    return arena_printf(arena, "'%s' has no setting '%s'; %s", choice->name, word, known_settings(arena, choice));
}

const char *choice_read(Arena *arena, const char *text, const NamedChoice *choices, int *row, double **values) {
    *row = choice_row(text, choices);
    if (*row < 0)
        return "";
    const NamedChoice *choice = &choices[*row];
    int count = setting_count(choice);
    *values = ARENA_ARRAY(arena, double, count + 1);
    for (int s = 0; s < count; s++)
        (*values)[s] = choice->settings[s].standard;
    const char *wrong = NULL, *at = text + strlen(choice->name);
    while (*at && !wrong) {
        size_t length = strcspn(++at, ",");
        wrong = read_setting(arena, arena_strndup(arena, at, length), choice, *values);
        at += length;
    }
    return wrong;
}
