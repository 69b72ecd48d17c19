/* rule.c - rules for schedules as source text, and the names in their conditions. */
#include "lang/program.h"

#include <stdlib.h>
#include <string.h>

const char *const predicate_spellings[PREDICATE_COUNT] = {
#define PREDICATE(id, spelling, ...) [PREDICATE_##id] = #spelling,
#include "lang/predicates.def"
#undef PREDICATE
};

static const bool indexed[PREDICATE_COUNT] = {
#define PREDICATE(id, spelling, index, ...) [PREDICATE_##id] = index,
#include "lang/predicates.def"
#undef PREDICATE
};

int predicate_find(const char *name, int *index) {
    size_t length = strcspn(name, "[");
    *index = name[length] ? atoi(name + length + 1) : -1;
    for (int p = 0; p < PREDICATE_COUNT; p++)
        if (strlen(predicate_spellings[p]) == length && !strncmp(predicate_spellings[p], name, length))
            return indexed[p] == (*index >= 0) ? p : -1;
    return -1;
}

void rule_print(Text *text, const Rule *rule) {
    Text block = {.arena = text->arena};
    schedule_print(&block, &rule->schedule);
    size_t head = strcspn(block.text, "{"), begin = strcspn(block.text, " ");
    text_add(text, "rule%.*s applies ", (int)(head - begin - 1), block.text + begin);
    for (int c = 0; c < rule->condition_count; c++) {
        text_add(text, c ? ", " : "");
        constraint_print(text, &rule->conditions[c]);
    }
    text_add(text, " %s", block.text + head);
}
