/* targets.c - the names for --target=: lists them, finds their targets, and reports unknown names and what a backend
 * cannot do.
 */
#include "driver/driver.h"
#include "lang/spelling.h"

#include <stdlib.h>
#include <string.h>

typedef const char *Spelling(int index, const char *family);

static void print_spellings(const char *what, const Family *family, Spelling *spelling_of) {
    const char *spelling;
    int column = printf("  %-16s on %s:", what, family->title);
    for (int i = 0; (spelling = spelling_of(i, family->name)); i++) {
        if (*spelling && column > 100)
            column = printf("\n  %-16s ", "") - 1;
        column += *spelling ? printf(" %s", spelling) : 0;
    }
    puts("");
}

int print_targets(void) {
    for (int i = 0; i < target_count(); i++)
        printf("  %-16s %s\n", target_row(i)->name, target_row(i)->summary);
    for (int f = 0; family_row(f); f++)
        print_spellings("CPU", family_row(f), processor_spelling);
    for (int f = 0; family_row(f); f++)
        print_spellings("NAME+FEATURE", family_row(f), cpu_feature_spelling);
    return 0;
}

static void complain_feature(Arena *arena, const char *base, const char *word, const char *family) {
    const char *spelling;
    LIST(const char *) known = {0};
    Text text = {.arena = arena};
    for (int i = 0; (spelling = cpu_feature_spelling(i, family)); i++) {
        if (!*spelling)
            continue;
        list_push(arena, &known, spelling);
        text_add(&text, "%s%s", text.length ? ", " : "", spelling);
    }
    const char *nearest = spelling_nearest(word, known.items, known.count);
    if (nearest)
        complain("no feature '%s' that '%s' could have; did you mean '%s'? --target=help lists them", word, base,
                 nearest);
    else
        complain("no feature '%s' that '%s' could have; they are %s", word, base, text.text);
}

static void complain_target(Arena *arena, const char *name) {
    size_t length = strcspn(name, "+");
    const char *base = arena_strndup(arena, name, length), *nearest = target_nearest(base);
    const Target *target = target_make(arena, base, 1);
    const char *stand_in = getenv("TENSORC_HOST");
    if (!target && stand_in && strcmp(base, "host") == 0)
        complain("TENSORC_HOST names no processor that this machine can stand for: '%s'", stand_in);
    else if (!target && nearest)
        complain("no target '%s'; did you mean '%s'? --target=help lists them", base, nearest);
    else if (!target)
        complain("no target '%s'; --target=help lists them", base);
    for (const char *at = name + length; target && *at; at += length) {
        at++;
        length = strcspn(at, "+");
        const char *word = arena_strndup(arena, at, length);
        if (!cpu_feature_name(target->family->name, word))
            complain_feature(arena, base, word, target->family->name);
    }
}

static unsigned wanted_abilities(const Options *o) {
    if (o->mode == MODE_IR || o->mode == MODE_SYNTAX)
        return 0;
    return (o->mode == MODE_ASSEMBLY ? CAN_ASSEMBLY : 0) | (o->mode == MODE_LLVM ? CAN_LLVM : 0) |
           (o->mode == MODE_RUN ? CAN_RUN : 0) | (o->debug ? CAN_DEBUG : 0) | (o->threads > 1 ? CAN_PARALLEL : 0);
}

const Target *find_target(Arena *arena, const Options *options, const char *name) {
    const Target *target = target_make(arena, name, options->threads);
    if (!target) {
        complain_target(arena, name);
        return NULL;
    }
    const Backend *backend = backend_of(target);
    const char *lacks = backend_lacks(arena, backend, wanted_abilities(options));
    if (lacks) {
        complain("target '%s': %s", target->name, lacks);
        return NULL;
    }
    return backend_can(backend, CAN_PARALLEL) ? target : target_make(arena, name, 1);
}

bool can_measure(const Compilation *c, const Target *target) {
    return (target->host || c->options->runner) && backend_can(backend_of(target), CAN_RUN);
}
