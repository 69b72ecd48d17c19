/* schedule.c - Schedules as source text, their holes, and the names of primitives.
 *
 * What is printed parses back to the same Schedule: records, --emit-schedule and the reader of both rely on it.
 */
#include "lang/program.h"

#include <ctype.h>
#include <string.h>

int prim_find(const char *spelling) {
    for (int op = 0; op < PRIM_COUNT; op++)
        if (!strcmp(prim_info[op].spelling, spelling))
            return op;
    return -1;
}

const PrimArg *prim_keyword(const Prim *prim, const char *key) {
    for (int i = 0; i < prim->arg_count; i++)
        if (prim->args[i].key && !strcmp(prim->args[i].key, key))
            return &prim->args[i];
    return NULL;
}

/* --- printing --- */

static void print_argument(Text *text, const PrimArg *argument);

static void print_items(Text *text, const PrimArg *argument) {
    for (int i = 0; i < argument->count; i++) {
        text_add(text, i ? ", " : "");
        print_argument(text, &argument->items[i]);
    }
}

static void print_argument(Text *text, const PrimArg *argument) {
    if (argument->key)
        text_add(text, "%s=", argument->key);
    switch (argument->kind) {
    case ARG_NAME: text_add(text, "%s", argument->name); break;
    case ARG_INT: text_add(text, "%lld", (long long)argument->value); break;
    case ARG_HOLE:
        text_add(text, argument->count ? "? in {" : "?");
        print_items(text, argument);
        text_add(text, argument->count ? "}" : "");
        break;
    case ARG_OP:
        print_argument(text, &argument->items[0]);
        text_add(text, "%c", argument->op);
        print_argument(text, &argument->items[1]);
        break;
    case ARG_LIST:
        text_add(text, "(");
        print_items(text, argument);
        text_add(text, ")");
        break;
    }
}

static void print_prim(Text *text, const Prim *prim) {
    for (int i = 0; i < prim->result_count; i++)
        text_add(text, "%s%s", prim->results[i], i + 1 < prim->result_count ? ", " : " = ");
    text_add(text, "%s(", prim_info[prim->op].spelling);
    for (int i = 0; i < prim->arg_count; i++) {
        text_add(text, i ? ", " : "");
        print_argument(text, &prim->args[i]);
    }
    text_add(text, ")\n");
}

/* Names joined by '-' or ':' stand bare, anything else in quotes. */
static void print_target(Text *text, const char *name) {
    bool bare = isalpha((unsigned char)*name) || *name == '_';
    for (const char *at = name; *at && bare; at++) {
        bool joint = *at == '-' || *at == ':', word = isalnum((unsigned char)*at) || *at == '_';
        bool digits_then_letter = isdigit((unsigned char)at[0]) && (isalpha((unsigned char)at[1]) || at[1] == '_');
        bool in_name = at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bare = (word || (joint && at[1] && (isalnum((unsigned char)at[1]) || at[1] == '_'))) &&
               (!digits_then_letter || in_name);
    }
    if (bare) {
        text_add(text, "%s", name);
        return;
    }
    text_add(text, "\"");
    for (const char *at = name; *at; at++)
        text_add(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    text_add(text, "\"");
}

void schedule_print_statements(Text *text, const Schedule *schedule) {
    text_add(text, "%s", "");
    for (int i = 0; i < schedule->count; i++)
        print_prim(text, &schedule->prims[i]);
}

void schedule_print(Text *text, const Schedule *schedule) {
    text_add(text, "schedule %s on ", schedule->subject);
    print_target(text, schedule->target);
    text_add(text, " {\n");
    for (int i = 0; i < schedule->count; i++) {
        text_add(text, "    ");
        print_prim(text, &schedule->prims[i]);
    }
    text_add(text, "}\n");
}

/* --- holes: numbered in the order of the text --- */

static int count_holes(const PrimArg *argument) {
    int holes = argument->kind == ARG_HOLE;
    for (int i = 0; i < argument->count; i++)
        holes += count_holes(&argument->items[i]);
    return holes;
}

static int prim_holes(const Prim *prim) {
    int holes = 0;
    for (int i = 0; i < prim->arg_count; i++)
        holes += count_holes(&prim->args[i]);
    return holes;
}

int schedule_hole_count(const Schedule *schedule) {
    int holes = 0;
    for (int i = 0; i < schedule->count; i++)
        holes += prim_holes(&schedule->prims[i]);
    return holes;
}

static PrimArg fill_argument(Arena *arena, const PrimArg *argument, const int64_t **choices) {
    PrimArg filled = *argument;
    if (argument->kind == ARG_HOLE) {
        filled.kind = ARG_INT;
        filled.value = *(*choices)++;
        filled.count = 0;
        filled.items = NULL;
    } else if (count_holes(argument)) {
        filled.items = ARENA_ARRAY(arena, PrimArg, argument->count);
        for (int i = 0; i < argument->count; i++)
            filled.items[i] = fill_argument(arena, &argument->items[i], choices);
    }
    return filled;
}

Schedule *schedule_fill(Arena *arena, const Schedule *schedule, const int64_t *choices) {
    Schedule *filled = ARENA_NEW(arena, Schedule);
    *filled = *schedule;
    filled->prims = ARENA_ARRAY(arena, Prim, schedule->count);
    for (int i = 0; i < schedule->count; i++) {
        Prim *prim = &filled->prims[i];
        *prim = schedule->prims[i];
        if (!prim_holes(prim))
            continue;
        const PrimArg *args = prim->args;
        prim->args = ARENA_ARRAY(arena, PrimArg, prim->arg_count);
        for (int a = 0; a < prim->arg_count; a++)
            prim->args[a] = fill_argument(arena, &args[a], &choices);
    }
    return filled;
}
