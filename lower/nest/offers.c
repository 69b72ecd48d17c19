/* offers.c - what the holes of a schedule that stand for loops, places and orders may become, as lists of choices.
 *
 * A hole is looked at where it stands: in the nest of the statements before it, their holes filled with their first
 * choices. Choices that are legal there are offered; if none is, because a later statement has to come first, all.
 */
#include "lower/nest/state.h"

#include <string.h>

enum { ORDERED_LOOPS = 4, OFFERS_MOST = 64 };

typedef LIST(PrimArg) Items;

typedef struct Offering {
    Arena *arena;
    const Program *program;
    const Target *target;
    Schedule *schedule;     /* a copy: holes get their lists */
    int prim;               /* the statement of the hole */
    const NestState *state; /* before it */
    NestError *error;       /* or NULL */
    bool wrong;             /* a list of the source names what is no loop: *error says what */
} Offering;

static PrimArg name_item(const char *name) {
    return (PrimArg){.kind = ARG_NAME, .name = name};
}

static const char *leaf_path(Arena *arena, const StageState *stage, int leaf) {
    return arena_printf(arena, "%s.%s", stage->name, stage->leaves.items[leaf]->variable.name);
}

/* --- the nest before a statement --- */

/* The statements before the hole's, and that one with a choice in place of the hole (NULL: without it). */
static NestState *state_with(Offering *offering, const PrimArg *hole, const PrimArg *choice, bool checked,
                             Refusal *refusal) {
    Schedule copy = *offering->schedule;
    copy.count = offering->prim;
    copy.prims = ARENA_ARRAY(offering->arena, Prim, copy.count + 1);
    for (int p = 0; p <= offering->prim; p++)
        copy.prims[p] = offering->schedule->prims[p];
    if (choice != NULL) {
        Prim *prim = &copy.prims[copy.count++];
        PrimArg *args = ARENA_ARRAY(offering->arena, PrimArg, prim->arg_count);
        for (int a = 0; a < prim->arg_count; a++) {
            args[a] = prim->args[a];
            if (&prim->args[a] == hole) {
                args[a].count = 1;
                args[a].items = (PrimArg *)choice;
            }
        }
        prim->args = args;
    }
    const Schedule *filled = schedule_fill(offering->arena, &copy, schedule_first_choices(offering->arena, &copy));
    return build_prefix(offering->arena, offering->program, filled, filled->count, NULL, offering->target, checked,
                        refusal);
}

/* --- lists --- */

static void offer_loops(Offering *offering, const char *except, Items *items) {
    for (int s = 0; s < offering->state->stages.count; s++) {
        const StageState *stage = offering->state->stages.items[s];
        if (stage->nest.inlined || (except != NULL && strcmp(stage->name, except) == 0))
            continue;
        for (int l = 0; l < stage->leaves.count; l++)
            list_push(offering->arena, items, name_item(leaf_path(offering->arena, stage, l)));
    }
}

static PrimArg order_item(Arena *arena, const char *const *names, const int *order, int count) {
    PrimArg *loops = ARENA_ARRAY(arena, PrimArg, count);
    for (int i = 0; i < count; i++)
        loops[i] = name_item(names[order[i]]);
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
                if (stage_has_loop(state->stages.items[s], prim->results[r]))
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
        list_push(offering->arena, items, name_item("root"));
    if (prim->op == PRIM_COMPUTE_AT)
        list_push(offering->arena, items, name_item("inline"));
}

static void keep_legal(Offering *offering, const PrimArg *hole, Items *items) {
    Items legal = {0};
    for (int i = 0; i < items->count && legal.count < OFFERS_MOST; i++) {
        Refusal ignored = {0};
        if (state_with(offering, hole, &items->items[i], true, &ignored) != NULL)
            list_push(offering->arena, &legal, items->items[i]);
    }
    if (legal.count > 0)
        *items = legal;
}

/* --- lists of the source --- */

static bool is_place_word(const Prim *prim, const char *name) {
    return (prim->op == PRIM_COMPUTE_AT && strcmp(name, "inline") == 0) ||
           ((prim->op == PRIM_COMPUTE_AT || prim->op == PRIM_STORE_AT) && strcmp(name, "root") == 0);
}

static void check_item(Offering *offering, const PrimArg *item) {
    const Prim *prim = &offering->schedule->prims[offering->prim];
    NestState *state = (NestState *)offering->state;
    for (int i = 0; item->kind == ARG_LIST && i < item->count; i++)
        check_item(offering, &item->items[i]);
    if (offering->wrong || item->kind != ARG_NAME || is_place_word(prim, item->name))
        return;
    Refusal refusal = {.wanted = true};
    state->refusal = &refusal;
    if (argument_loop(state, prim, item) != NULL)
        return;
    offering->wrong = offering->error != NULL;
    Text nest = {.arena = offering->arena};
    text_add(&nest, "%s", "");
    nest_print(&nest, &state->nest);
    if (offering->error != NULL)
        *offering->error =
            (NestError){.prim = offering->prim, .loc = item->loc, .rule = refusal.rule, .nest = nest.text};
}

/* --- the whole --- */

static bool is_first_of_name(const Offering *offering, const PrimArg *hole) {
    return schedule_hole_first(offering->schedule, hole) == hole;
}

/* A hole of reorder may stand for several loops: it is the last argument. */
static bool stands_last(const Prim *prim, const PrimArg *hole) {
    return prim->op != PRIM_REORDER || hole == &prim->args[positional_count(prim) - 1];
}

static void refuse_hole(Offering *offering, PrimArg *hole) {
    Refusal refusal = {0};
    NestState *state = state_with(offering, hole, NULL, false, &refusal);
    Text nest = {.arena = offering->arena};
    text_add(&nest, "%s", "");
    if (state != NULL)
        nest_print(&nest, &state->nest);
    offering->wrong = offering->error != NULL;
    if (offering->error != NULL)
        *offering->error = (NestError){.prim = offering->prim,
                                       .loc = hole->loc,
                                       .rule = "a hole of reorder stands for an order of loops: it is the last argument",
                                       .nest = nest.text};
    Items items = {0};
    list_push(offering->arena, &items, name_item("?"));
    hole->count = items.count;
    hole->items = items.items;
}

static void offer(Offering *offering, PrimArg *hole) {
    Items items = {0};
    Refusal refusal = {0};
    if (!stands_last(&offering->schedule->prims[offering->prim], hole)) {
        refuse_hole(offering, hole);
        return;
    }
    offering->state = state_with(offering, hole, NULL, false, &refusal);
    if (offering->state != NULL && hole->count > 0) {
        for (int i = 0; i < hole->count; i++)
            check_item(offering, &hole->items[i]);
        return;
    }
    if (hole->count > 0)
        return;
    if (offering->state != NULL) {
        offer_all(offering, &offering->schedule->prims[offering->prim], &items);
        keep_legal(offering, hole, &items);
    }
    if (items.count == 0)
        list_push(offering->arena, &items, name_item("?"));
    hole->count = items.count;
    hole->items = items.items;
}

Schedule *nest_offers(Arena *arena, const Program *program, const Schedule *schedule, const Target *target,
                      NestError *error) {
    Schedule *copy = ARENA_NEW(arena, Schedule);
    *copy = *schedule;
    copy->prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    Offering offering = {.arena = arena, .program = program, .target = target, .schedule = copy, .error = error};
    for (int p = 0; p < schedule->count; p++) {
        copy->prims[p] = schedule->prims[p];
        copy->prims[p].args = ARENA_ARRAY(arena, PrimArg, schedule->prims[p].arg_count + 1);
        for (int a = 0; a < schedule->prims[p].arg_count; a++)
            copy->prims[p].args[a] = schedule->prims[p].args[a];
    }
    for (int p = 0; p < copy->count && !offering.wrong; p++)
        for (int a = 0; a < copy->prims[p].arg_count && !offering.wrong; a++) {
            offering.prim = p;
            if (prim_argument_names(&copy->prims[p], a) && is_first_of_name(&offering, &copy->prims[p].args[a]))
                offer(&offering, &copy->prims[p].args[a]);
        }
    return offering.wrong ? NULL : copy;
}
