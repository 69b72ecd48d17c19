/* mixed.c - which calls take which implementation where there are too many calls to try all combinations.
 *
 * An implementation that multiplies less has more weights, and a larger error. It pays where each weight is used for
 * many elements: in the first layers of a network more than in the last ones. So the calls that have the same
 * implementations to choose from are ordered by how many elements they have for each weight. The first ones take the
 * implementation with the largest error, the next ones the one with the next largest, the last ones none; where each
 * begins is what the choices differ in.
 */
#include "sema/check.h"

#include <string.h>

enum { MOST_LEVELS = 5, MOST_OPTIONS = 2 };

/* A call, and its implementations in the order of `found`. */
typedef struct ReplacedCall {
    const char *name;
    LIST(const Replacement *) options;
    double reuse;
    int level;
} ReplacedCall;

typedef LIST(ReplacedCall) ReplacedCalls;

/* --- calls -------------------------------------------------------------------------------------------------------- */

static double elements_of(const CallFrame *frame, const AstParameter *argument) {
    const Symbol *symbol = frame_symbol(frame, argument->name.text);
    double elements = 1;
    int64_t extent;
    if (!symbol || symbol->kind != SYMBOL_TENSOR)
        return 0;
    for (int d = 0; d < symbol->variable->view.rank; d++)
        elements *= expr_is_int(symbol->variable->view.dims[d], &extent) ? (double)extent : 0;
    return elements;
}

double elements_for_each_weight(const CallFrame *frame) {
    const AstParameters *arguments = &frame->definition->ast->arguments;
    double elements = 0, weights = 0;
    for (int i = 0; i < arguments->count; i++)
        if (arguments->items[i].is_tensor)
            *(i > 0 ? &weights : &elements) += elements_of(frame, &arguments->items[i]);
    return weights > 0 ? elements / weights : 0;
}

static ReplacedCall *call_named(ReplacedCalls *calls, const char *name) {
    for (int i = 0; i < calls->count; i++)
        if (strcmp(calls->items[i].name, name) == 0)
            return &calls->items[i];
    return NULL;
}

static ReplacedCalls list_calls(Arena *arena, const Algorithms *algorithms) {
    ReplacedCalls calls = {0};
    for (int i = 0; i < algorithms->found.count; i++) {
        const Replacement *found = &algorithms->found.items[i];
        ReplacedCall *call = call_named(&calls, found->name);
        if (!call)
            list_push(arena, &calls, ((ReplacedCall){.name = found->name, .reuse = found->reuse}));
        call = call ? call : &calls.items[calls.count - 1];
        list_push(arena, &call->options, found);
    }
    return calls;
}

static bool same_options(const ReplacedCall *a, const ReplacedCall *b) {
    bool same = a->options.count == b->options.count;
    for (int i = 0; same && i < a->options.count; i++)
        same = a->options.items[i]->definition == b->options.items[i]->definition;
    return same;
}

/* The calls that have the same options as most. */
static ReplacedCalls largest_family(Arena *arena, const ReplacedCalls *calls) {
    ReplacedCalls largest = {0};
    for (int i = 0; i < calls->count; i++) {
        ReplacedCalls family = {0};
        for (int k = 0; k < calls->count; k++)
            if (same_options(&calls->items[k], &calls->items[i]))
                list_push(arena, &family, calls->items[k]);
        largest = family.count > largest.count ? family : largest;
    }
    return largest;
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

/* How many different values of the list are larger. */
static int count_larger(const double *values, int count, double value) {
    int larger = 0;
    for (int i = 0; i < count; i++)
        larger += values[i] > value;
    return larger;
}

/* Numbers the calls by their reuse, the largest first; a few levels in all. Returns how many. */
static int number_levels(Arena *arena, ReplacedCalls *family) {
    double *values = ARENA_ARRAY(arena, double, family->count + 1);
    int levels = 0;
    for (int i = 0; i < family->count; i++) {
        int known = 0;
        while (known < levels && values[known] != family->items[i].reuse)
            known++;
        values[known] = family->items[i].reuse;
        levels += known == levels;
    }
    for (int i = 0; i < family->count; i++) {
        int level = count_larger(values, levels, family->items[i].reuse);
        family->items[i].level = levels > MOST_LEVELS ? level * MOST_LEVELS / levels : level;
    }
    return levels > MOST_LEVELS ? MOST_LEVELS : levels;
}

/* The option with the number'th largest error; NULL: there are fewer. */
static const Replacement *option_at(const ReplacedCall *call, int number) {
    for (int i = 0; i < call->options.count; i++) {
        const Replacement *option = call->options.items[i];
        int larger = 0;
        for (int k = 0; k < call->options.count; k++)
            larger += call->options.items[k]->error > option->error ||
                      (call->options.items[k]->error == option->error && k < i);
        if (larger == number)
            return option;
    }
    return NULL;
}

/* ends: of each option, the level before which it is taken. */
static ChosenPlaces choose_by_levels(Arena *arena, const ReplacedCalls *family, const int *ends) {
    ChosenPlaces chosen = {0};
    for (int i = 0; i < family->count; i++) {
        int option = 0;
        while (option < MOST_OPTIONS && family->items[i].level >= ends[option])
            option++;
        const Replacement *taken = option < MOST_OPTIONS ? option_at(&family->items[i], option) : NULL;
        if (taken)
            list_push(arena, &chosen, *taken);
    }
    return chosen;
}

void add_mixed(Arena *arena, const Algorithms *algorithms, ChosenList *list) {
    ReplacedCalls calls = list_calls(arena, algorithms), family = largest_family(arena, &calls);
    int levels = number_levels(arena, &family);
    bool two = family.count > 0 && family.items[0].options.count > 1;
    for (int first = 0; first <= levels; first++)
        for (int second = two ? first : levels; second <= levels; second++) {
            const int ends[MOST_OPTIONS] = {first, two ? second : first};
            bool uniform = first == levels || (first == 0 && (!two || second == 0 || second == levels));
            if (!uniform)
                list_push(arena, list, choose_by_levels(arena, &family, ends));
        }
}
