/* offers.c - what a hole of a schedule that stands for a loop, a place or an order may become, as a list of choices.
 *
 * A hole is looked at where it stands: in the nest of the statements before it, in which no hole for names is left.
 * Choices that are legal there with one of a few sizes are offered, and those after which the nest is not legal yet
 * where statements follow that may mend it; if there are none, all. A list of the source offers what of it is
 * loops there.
 */
#include "lower/nest/state.h"

#include <string.h>

enum { ORDERED_LOOPS = 4, OFFERS_MOST = 64, REASONS_MOST = 4 };

typedef LIST(PrimArg) Items;

typedef struct Offering {
    Arena *arena, *scratch; /* of what is offered, and of what is tried */
    const Program *program;
    const Target *target;
    const Schedule *schedule;
    int prim;               /* the statement of the hole */
    const NestState *state; /* before it */
} Offering;

static const char *leaf_path(Arena *arena, const StageState *stage, int leaf) {
    return arena_printf(arena, "%s.%s", stage->name, stage->leaves.items[leaf]->variable.name);
}

/* --- the nest before a statement --- */

/* The statements before the hole's, and that one with a choice in place of the hole (NULL: without it). sample: of the
 * sizes. */
static NestState *state_with(Offering *offering, const PrimArg *hole, const PrimArg *choice, int sample,
                             Refusal *refusal) {
    Schedule copy = *offering->schedule;
    Arena *arena = offering->scratch;
    copy.count = offering->prim;
    copy.prims = ARENA_ARRAY(arena, Prim, copy.count + 1);
    for (int p = 0; p <= offering->prim; p++)
        copy.prims[p] = offering->schedule->prims[p];
    if (choice != NULL) {
        Prim *prim = &copy.prims[copy.count++];
        PrimArg *args = ARENA_ARRAY(arena, PrimArg, prim->arg_count);
        for (int a = 0; a < prim->arg_count; a++) {
            args[a] = prim->args[a];
            if (&prim->args[a] == hole) {
                args[a].count = 1;
                args[a].items = (PrimArg *)choice;
            }
        }
        prim->args = args;
    }
    const Schedule *filled = schedule_fill(arena, &copy, schedule_sample(arena, &copy, sample));
    return build_prefix(arena, offering->program, filled, filled->count, NULL, offering->target, choice != NULL,
                        refusal);
}

/* --- candidates --- */

static void offer_loops(Offering *offering, const char *except, Items *items) {
    for (int s = 0; s < offering->state->stages.count; s++) {
        const StageState *stage = offering->state->stages.items[s];
        if (stage->nest.inlined || (except != NULL && strcmp(stage->name, except) == 0))
            continue;
        for (int l = 0; l < stage->leaves.count; l++)
            list_push(offering->arena, items, arg_name(leaf_path(offering->arena, stage, l)));
    }
}

static PrimArg order_item(Arena *arena, const char *const *names, const int *order, int count) {
    PrimArg *loops = ARENA_ARRAY(arena, PrimArg, count);
    for (int i = 0; i < count; i++)
        loops[i] = arg_name(names[order[i]]);
    return (PrimArg){.kind = ARG_LIST, .count = count, .items = loops};
}

/* All orders from place `from` on; that of the program first. */
static void offer_permutations(Offering *offering, const char *const *names, int *order, int from, int count,
                               Items *items) {
    if (from == count) {
        list_push(offering->arena, items, order_item(offering->arena, names, order, count));
        return;
    }
    for (int i = from; i < count; i++) {
        int rotated = order[i];
        memmove(order + from + 1, order + from, sizeof *order * (size_t)(i - from));
        order[from] = rotated;
        offer_permutations(offering, names, order, from + 1, count, items);
        memmove(order + from, order + from + 1, sizeof *order * (size_t)(i - from));
        order[i] = rotated;
    }
}

/* The present order, and each that one loop's move makes of it. */
static void offer_moves(Offering *offering, const char *const *names, int count, Items *items) {
    int order[count];
    for (int i = 0; i < count; i++)
        order[i] = i;
    list_push(offering->arena, items, order_item(offering->arena, names, order, count));
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++) {
            int next = 0;
            for (int i = 0; i < count; i++) {
                next += next == from;
                order[i] = i == to ? from : next++;
            }
            if (from != to && from != to + 1)
                list_push(offering->arena, items, order_item(offering->arena, names, order, count));
        }
}

/* The stage whose loops a reorder without names is about: of the last statement before that names one, or else the last
 * stage. */
static const StageState *stage_in_hand(Offering *offering) {
    NestState *state = (NestState *)offering->state;
    for (int p = offering->prim - 1; p >= 0; p--) {
        const Prim *prim = &offering->schedule->prims[p];
        for (int r = 0; r < prim->result_count; r++)
            for (int s = 0; s < state->stages.count; s++)
                if (stage_has_loop(state, state->stages.items[s], prim->results[r]))
                    return state->stages.items[s];
    }
    for (int s = state->stages.count - 1; s >= 0; s--)
        if (!state->stages.items[s]->nest.inlined && state->stages.items[s]->leaves.count > 1)
            return state->stages.items[s];
    return NULL;
}

static void offer_orders(Offering *offering, const Prim *prim, Items *items) {
    const StageState *stage = prim->arg_count == 1 ? stage_in_hand(offering) : NULL;
    int count = prim->arg_count > 1 ? prim->arg_count - 1 : stage != NULL ? stage->leaves.count : 0;
    const char *names[count + 1];
    int order[count + 1];
    for (int i = 0; i < count; i++) {
        order[i] = i;
        names[i] = stage != NULL ? leaf_path(offering->arena, stage, i) : prim->args[i].name;
    }
    if (count == 0)
        return;
    if (count <= ORDERED_LOOPS)
        offer_permutations(offering, names, order, 0, count, items);
    else
        offer_moves(offering, names, count, items);
}

static void offer_all(Offering *offering, const Prim *prim, Items *items) {
    if (prim->op == PRIM_REORDER) {
        offer_orders(offering, prim, items);
        return;
    }
    bool place = prim->op == PRIM_COMPUTE_AT || prim->op == PRIM_STORE_AT;
    offer_loops(offering, place ? prim->args[0].name : NULL, items);
    if (place)
        list_push(offering->arena, items, arg_name("root"));
    if (prim->op == PRIM_COMPUTE_AT)
        list_push(offering->arena, items, arg_name("inline"));
}

/* --- what is legal --- */

/* OPEN: the statement is legal, the nest after it is not yet: a later statement may mend it. */
typedef enum OfferVerdict { REFUSED, OPEN, LEGAL } OfferVerdict;

/* Of a choice, with the best of some sizes; *refusal says what is wrong with the first ones. */
static OfferVerdict judge(Offering *offering, const PrimArg *hole, const PrimArg *choice, Refusal *refusal) {
    OfferVerdict verdict = REFUSED;
    for (int sample = 0; sample < SIZE_SAMPLES && verdict != LEGAL; sample++) {
        Refusal later = {0}, *own = sample == 0 ? refusal : &later;
        if (state_with(offering, hole, choice, sample, own) != NULL)
            verdict = LEGAL;
        else if (own->prim < 0)
            verdict = OPEN;
    }
    return verdict;
}

static bool is_place_word(const Prim *prim, const char *name) {
    return (prim->op == PRIM_COMPUTE_AT && strcmp(name, "inline") == 0) ||
           ((prim->op == PRIM_COMPUTE_AT || prim->op == PRIM_STORE_AT) && strcmp(name, "root") == 0);
}

/* Whether what the item names is a loop where the hole stands; if not, *refusal says why. */
static bool is_loop(Offering *offering, const PrimArg *item, Refusal *refusal) {
    const Prim *prim = &offering->schedule->prims[offering->prim];
    NestState *state = (NestState *)offering->state;
    for (int i = 0; item->kind == ARG_LIST && i < item->count; i++)
        if (!is_loop(offering, &item->items[i], refusal))
            return false;
    state->refusal = refusal;
    return item->kind != ARG_NAME || is_place_word(prim, item->name) || argument_loop(state, prim, item) != NULL;
}

/* A hole of reorder may stand for several loops: it is the last argument. */
static bool stands_last(const Prim *prim, const PrimArg *hole) {
    return prim->op != PRIM_REORDER || hole == &prim->args[positional_count(prim) - 1];
}

static Offering offering_of(Arena *arena, Arena *scratch, const HoleQuestion *question) {
    Refusal refusal = {0};
    Offering offering = {.arena = arena,
                         .scratch = scratch,
                         .program = question->program,
                         .target = question->target,
                         .schedule = question->schedule,
                         .prim = question->prim};
    offering.state = state_with(&offering, question->hole, NULL, 0, &refusal);
    return offering;
}

static void candidates(Offering *offering, const PrimArg *hole, Items *items) {
    const Prim *prim = &offering->schedule->prims[offering->prim];
    Refusal ignored = {0};
    if (offering->state == NULL || !stands_last(prim, hole))
        return;
    if (hole->count == 0)
        offer_all(offering, prim, items);
    for (int i = 0; i < hole->count; i++)
        if (is_loop(offering, &hole->items[i], &ignored))
            list_push(offering->arena, items, hole->items[i]);
}

static void add_all(Arena *arena, Items *items, const Items *more) {
    for (int i = 0; i < more->count && items->count < OFFERS_MOST; i++)
        list_push(arena, items, more->items[i]);
}

/* Whether statements that change loops follow. */
static bool has_next(const HoleQuestion *question) {
    bool next = false;
    for (int p = question->prim + 1; p < question->schedule->count; p++)
        next |= question->schedule->prims[p].op != PRIM_EXACTLY && question->schedule->prims[p].op != PRIM_REQUIRE;
    return next;
}

/* The legal choices; where statements follow, then those that are open. */
Offer nest_offer(Arena *arena, const HoleQuestion *question) {
    Arena *scratch = arena_new(), *trial = arena_new();
    Offering offering = offering_of(arena, scratch, question);
    Items items = {0}, offered = {0}, open = {0};
    candidates(&offering, question->hole, &items);
    offering.scratch = trial;
    for (int i = 0; i < items.count; i++) {
        Refusal ignored = {0};
        arena_reset(trial);
        OfferVerdict verdict = judge(&offering, question->hole, &items.items[i], &ignored);
        if (verdict != REFUSED)
            list_push(arena, verdict == LEGAL ? &offered : &open, items.items[i]);
    }
    bool legal = offered.count > 0;
    if (has_next(question))
        add_all(arena, &offered, &open);
    add_all(arena, &offered, offered.count > 0 ? &(Items){0} : &items);
    if (offered.count == 0) /* no schedule is legal with it */
        list_push(arena, &offered, arg_name("?"));
    arena_free(trial);
    arena_free(scratch);
    return (Offer){offered.count, offered.items, legal};
}

/* --- what is wrong --- */

static bool blame(Offering *offering, Loc loc, const char *rule, NestError *error) {
    Text nest = {.arena = offering->arena};
    text_add(&nest, "%s", "");
    if (offering->state != NULL)
        nest_print(&nest, &offering->state->nest);
    *error = (NestError){.prim = offering->prim, .loc = loc, .rule = rule, .nest = nest.text};
    return false;
}

bool nest_offer_names_loop(Arena *arena, const HoleQuestion *question, const PrimArg *item, NestError *error) {
    Refusal refusal = {.wanted = true};
    Offering offering = offering_of(arena, arena, question);
    if (offering.state == NULL || is_loop(&offering, item, &refusal))
        return true;
    return blame(&offering, item->loc, refusal.rule, error);
}

/* Whether the hole is the place of a stage that no place but its own is legal for; *refusal says why. */
static bool places_output(Offering *offering, Refusal *refusal) {
    const Prim *prim = &offering->schedule->prims[offering->prim];
    NestState *state = (NestState *)offering->state;
    if (state == NULL || (prim->op != PRIM_COMPUTE_AT && prim->op != PRIM_STORE_AT))
        return false;
    state->refusal = refusal;
    const StageState *stage = argument_stage(state, prim, positional(prim, 0));
    return stage != NULL && stage_output(stage->nest.stage) != NULL && !check_movable(state, prim, stage);
}

bool nest_offer_stands_well(Arena *arena, const HoleQuestion *question, NestError *error) {
    Offering offering = offering_of(arena, arena, question);
    Refusal refusal = {.wanted = true};
    if (places_output(&offering, &refusal))
        return blame(&offering, question->hole->loc, refusal.rule, error);
    if (stands_last(&question->schedule->prims[question->prim], question->hole))
        return true;
    return blame(&offering, question->hole->loc,
                 "a hole of reorder stands for an order of loops: it is the last argument", error);
}

/* The names of choices that are refused for one reason. */
typedef struct Reason {
    const char *rule;
    Text names;
} Reason;

typedef struct Reasons {
    LIST(Reason) reasons;
} Reasons;

static void add_reason(Arena *arena, Reasons *list, const PrimArg *item, const char *rule) {
    int at = 0;
    while (at < list->reasons.count && strcmp(list->reasons.items[at].rule, rule) != 0)
        at++;
    if (at == list->reasons.count)
        list_push(arena, &list->reasons, ((Reason){rule, {.arena = arena}}));
    Text *names = &list->reasons.items[at].names;
    text_add(names, names->length > 0 ? ", " : "");
    argument_print(names, item);
}

static const char *reasons_text(Arena *arena, const Reasons *list) {
    Text text = {.arena = arena};
    int shown = list->reasons.count > REASONS_MOST ? REASONS_MOST : list->reasons.count;
    text_add(&text, "no choice for this hole is legal");
    for (int r = 0; r < shown; r++)
        text_add(&text, "%s %s: %s", r == 0 ? ":" : ";", list->reasons.items[r].names.text,
                 list->reasons.items[r].rule);
    if (list->reasons.count > shown)
        text_add(&text, "; and so on");
    return text.text;
}

bool nest_offer_is_empty(Arena *arena, const HoleQuestion *question, NestError *error) {
    Offering offering = offering_of(arena, arena, question);
    Items items = {0};
    Reasons reasons = {0};
    candidates(&offering, question->hole, &items);
    for (int i = 0; i < items.count && i < OFFERS_MOST; i++) {
        Refusal refusal = {.wanted = true};
        OfferVerdict verdict = judge(&offering, question->hole, &items.items[i], &refusal);
        if (verdict == LEGAL || (verdict == OPEN && has_next(question)))
            return false;
        add_reason(arena, &reasons, &items.items[i], refusal.rule);
    }
    if (items.count == 0)
        return false;
    blame(&offering, question->hole->loc, reasons_text(arena, &reasons), error);
    return true;
}
