/* targets.c - the names that --target= takes: listed, and what is wrong with one that is none. */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

static void print_features(const char *family, const char *title) {
    const char *spelling;
    int column = printf("  %-16s %s:", "NAME+FEATURE", title);
    for (int i = 0; (spelling = cpu_feature_spelling(i, family)); i++) {
        if (*spelling && column > 100)
            column = printf("\n  %-16s ", "") - 1;
        column += *spelling ? printf(" %s", spelling) : 0;
    }
    puts("");
}

int print_targets(void) {
    for (int i = 0; i < target_count(); i++)
        printf("  %-16s %s\n", target_row(i)->name, target_row(i)->summary);
    puts("  CPU              any processor name of LLVM, such as cortex-a53, znver4 or sapphirerapids");
    print_features("x86", "on x86");
    print_features("arm", "on ARM");
    return 0;
}

static void complain_feature(Arena *arena, const char *base, const char *word, const char *family) {
    const char *spelling;
    Text text = {.arena = arena};
    for (int i = 0; (spelling = cpu_feature_spelling(i, family)); i++)
        if (*spelling)
            text_add(&text, "%s%s", text.length ? ", " : "", spelling);
    complain("no feature '%s' that '%s' could have; they are %s", word, base, text.text);
}

void complain_target(Arena *arena, const char *name) {
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
        if (!cpu_feature_name(target->family, word))
            complain_feature(arena, base, word, target->family);
    }
}
