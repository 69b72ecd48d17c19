/* choices.h - a name from a list, with settings: "anneal:chains=128,cold", as the command line and records have it. */
#ifndef LANG_CHOICES_H
#define LANG_CHOICES_H

#include "lang/arena.h"

#include <stdbool.h>

typedef enum SettingKind { SETTING_FLAG, SETTING_COUNT, SETTING_REAL, SETTING_WORD } SettingKind;

typedef struct Setting {
    const char *name;
    SettingKind kind;
    double standard, least, most; /* standard: its value where it is not set */
    const char *summary;
    const char *const *words; /* of a WORD, whose value is the number of one; ends with NULL */
} Setting;

/* One value that an option may name. */
typedef struct NamedChoice {
    const char *name, *summary;
    const Setting *settings; /* ends with a NULL name; NULL: there are none */
} NamedChoice;

/* Finds the row that a text names and reads its settings into *values, a value for each of them, in the arena. Returns
 * NULL, or what is wrong: a text that names no row gives "". choices ends with a NULL name. */
const char *choice_read(Arena *arena, const char *text, const NamedChoice *choices, int *row, double **values);
/* The row whose name begins the text, up to a colon; -1: none. */
int choice_row(const char *text, const NamedChoice *choices);

#endif
