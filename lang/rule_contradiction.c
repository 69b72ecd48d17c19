/* rule_contradiction.c - conditions of a rule that no stage meets, as far as that is easy to see: comparisons of one
 * predicate with an integer, and what one predicate says of another. What it names never holds; it does not name all.
 */
#include "lang/program.h"

#include <string.h>

/* What is known of a predicate: least <= value <= most. */
typedef struct PredicateBounds {
    const char *name;
    int64_t least, most;
} PredicateBounds;

typedef struct KnownPredicates {
    Arena *arena;
    LIST(PredicateBounds) bounds;
} KnownPredicates;

/* If the first is at least 1, the second is within these bounds. */
static const struct Implication {
    Predicate first, second;
    int64_t least, most;
} implications[] = {
    {PREDICATE_REDUCTION, PREDICATE_SUMS, 1, INT64_MAX}, {PREDICATE_REUSE, PREDICATE_SUMS, 1, INT64_MAX},
    {PREDICATE_SUMS, PREDICATE_REDUCTION, 1, INT64_MAX}, {PREDICATE_ELEMENTWISE, PREDICATE_SUMS, 0, 0},
    {PREDICATE_ELEMENTWISE, PREDICATE_STENCIL, 0, 0},
};

/* Predicates are never negative: one that has no value makes a rule not apply. */
static PredicateBounds *bounds_of(KnownPredicates *known, const char *name) {
    for (int i = 0; i < known->bounds.count; i++)
        if (strcmp(known->bounds.items[i].name, name) == 0)
            return &known->bounds.items[i];
    list_push(known->arena, &known->bounds, ((PredicateBounds){name, 0, INT64_MAX}));
    return &known->bounds.items[known->bounds.count - 1];
}

static void narrow(KnownPredicates *known, const char *name, int64_t least, int64_t most) {
    PredicateBounds *bounds = bounds_of(known, name);
    bounds->least = bounds->least < least ? least : bounds->least;
    bounds->most = bounds->most > most ? most : bounds->most;
}

/* An index needs so many axes, or reductions. */
static void need_loops(KnownPredicates *known, const PrimArg *condition) {
    int index, predicate = condition->kind == ARG_NAME ? predicate_find(condition->name, &index) : -1;
    if (predicate == PREDICATE_EXTENT || predicate == PREDICATE_TERMS)
        narrow(known, predicate_spellings[predicate == PREDICATE_EXTENT ? PREDICATE_RANK : PREDICATE_SUMS],
               (int64_t)index + 1, INT64_MAX);
    for (int i = 0; i < condition->count; i++)
        need_loops(known, &condition->items[i]);
}

static char mirrored(char op) {
    static const char pairs[] = "<>lg";
    const char *at = strchr(pairs, op);
    return at ? pairs[(at - pairs) ^ 1] : op;
}

static void compare(KnownPredicates *known, const char *name, char op, int64_t value) {
    PredicateBounds *bounds = bounds_of(known, name);
    switch (op) {
    case '<': narrow(known, name, 0, value > 0 ? value - 1 : -1); return;
    case 'l': narrow(known, name, 0, value); return;
    case '>': narrow(known, name, value < INT64_MAX ? value + 1 : value, INT64_MAX); return;
    case 'g': narrow(known, name, value, INT64_MAX); return;
    case '=': narrow(known, name, value, value); return;
    default: narrow(known, name, bounds->least + (bounds->least == value), bounds->most - (bounds->most == value));
    }
}

static void add_condition(KnownPredicates *known, const PrimArg *condition) {
    need_loops(known, condition);
    if (condition->kind == ARG_NAME)
        narrow(known, condition->name, 1, INT64_MAX);
    if (condition->kind != ARG_OP)
        return;
    const PrimArg *a = &condition->items[0], *b = &condition->items[1];
    if (a->kind == ARG_NAME && b->kind == ARG_INT)
        compare(known, a->name, condition->op, b->value);
    if (a->kind == ARG_INT && b->kind == ARG_NAME)
        compare(known, b->name, mirrored(condition->op), a->value);
}

static bool is_empty(KnownPredicates *known) {
    for (size_t i = 0; i < sizeof implications / sizeof *implications; i++) {
        const struct Implication *row = &implications[i];
        if (bounds_of(known, predicate_spellings[row->first])->least > 0)
            narrow(known, predicate_spellings[row->second], row->least, row->most);
    }
    bool empty = false;
    for (int i = 0; i < known->bounds.count; i++)
        empty |= known->bounds.items[i].least > known->bounds.items[i].most;
    return empty;
}

const PrimArg *rule_contradiction(const Rule *rule) {
    KnownPredicates known = {.arena = arena_new()};
    const PrimArg *never = NULL;
    for (int p = PREDICATE_REDUCTION; p <= PREDICATE_REUSE; p++)
        narrow(&known, predicate_spellings[p], 0, 1);
    for (int c = 0; c < rule->condition_count && !never; c++) {
        add_condition(&known, &rule->conditions[c]);
        never = is_empty(&known) ? &rule->conditions[c] : NULL;
    }
    arena_free(known.arena);
    return never;
}
