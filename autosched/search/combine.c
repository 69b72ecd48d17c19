/* combine.c - the choices of all groups together, as one schedule.
 *
 * Each is legal by itself. Of those that are not legal together, some stay plain, and the schedule names them; others
 * are made smaller, or stay plain, too, where the function would be too much code (fit.c).
 */
#include "autosched/search/policies.h"

#include <string.h>

static void leave_plain(Space *space, int first, int count, bool plain, const bool *before) {
    for (int g = first; g < first + count; g++)
        space->groups.items[g]->skipped = plain || before[g];
}

static bool together_legal(Space *space, const int *point) {
    Arena *scratch = arena_new();
    bool legal = point_nest(scratch, space, point, -1) != NULL;
    arena_free(scratch);
    return legal;
}

/* Stops groups from being plain, as many as are legal together: a refused range is halved. Whether all of them are. */
static bool add_legal(Space *space, const int *point, int first, int count, const bool *before) {
    leave_plain(space, first, count, false, before);
    if (count == 0 || together_legal(space, point))
        return count > 0;
    leave_plain(space, first, count, true, before);
    if (count == 1)
        return false;
    add_legal(space, point, first, count / 2, before);
    add_legal(space, point, first + count / 2, count - count / 2, before);
    return false;
}

/* The stages of some groups, for messages: "a, b and 3 more". NULL: none. */
static const char *names_of(Arena *arena, const Space *space, const bool *which) {
    enum { NAMED = 4 };
    Text text = {.arena = arena};
    int count = 0;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        bool named = which[g] && group->root; /* a block has no root */
        if (named && count++ < NAMED)
            text_add(&text, "%s%s", count > 1 ? ", " : "", group->root->name);
    }
    if (count > NAMED)
        text_add(&text, " and %d more", count - NAMED);
    return text.text;
}

bool group_is_replaced(const Space *space, const Group *group, const int *point) {
    return group->apart && group_is_used(space, group->apart->group, point);
}

/* Whether the group is plain though the model chose otherwise. */
static bool is_refused(const Space *space, const Group *group, const int *point, bool before) {
    return group->skipped && (!before || group->hopeless) && !group_is_replaced(space, group, point);
}

/* The schedule with smaller tiles and plain loops where the nest is too much code; NULL: all fits. Each is legal by
 * itself; where they are not together, all stay as they were. */
static Schedule *fit_together(Arena *arena, Space *space, int *point, Fit *fit, const Nest **nest) {
    const Nest *fitted;
    size_t bytes = sizeof *point * (size_t)space->gene_count;
    int *before = ARENA_ARRAY(arena, int, space->gene_count + 1), groups = space->groups.count;
    bool *smaller = ARENA_ARRAY(arena, bool, groups + 1), *plain = ARENA_ARRAY(arena, bool, groups + 1);
    memcpy(before, point, bytes);
    memcpy(smaller, fit->smaller, sizeof *smaller * (size_t)groups);
    memcpy(plain, fit->plain, sizeof *plain * (size_t)groups);
    if (!fit_code(space, *nest, point, fit))
        return NULL;
    Schedule *schedule = point_schedule_with(arena, space, point, &fitted);
    if (fitted) {
        *nest = fitted;
        return schedule;
    }
    memcpy(point, before, bytes);
    memcpy(fit->smaller, smaller, sizeof *smaller * (size_t)groups);
    for (int g = 0; g < groups; g++) {
        space->groups.items[g]->skipped &= plain[g] || !fit->plain[g];
        fit->plain[g] = plain[g];
    }
    return NULL;
}

/* Of all groups, or of as many as are legal together. The nest of a long function takes long to build: the first one
 * says what is legal, and is kept. */
static Schedule *legal_schedule(Arena *arena, Space *space, const int *point, const bool *before, const Nest **nest) {
    int groups = space->groups.count;
    leave_plain(space, 0, groups, false, before);
    Schedule *schedule = point_schedule_with(arena, space, point, nest);
    if (*nest)
        return schedule;
    if (!add_legal(space, point, 0, groups, before) && !together_legal(space, point))
        return NULL;
    return point_schedule_with(arena, space, point, nest);
}

Schedule *complete_schedule(Arena *arena, Space *space, const int *point) {
    const Nest *nest;
    Schedule *schedule = point_schedule_with(arena, space, point, &nest);
    return nest ? schedule_prefetch(arena, schedule, &nest) : schedule;
}

Schedule *space_combine(Arena *arena, Space *space, int *point, Fit *fit, const Nest **nest) {
    int groups = space->groups.count;
    bool *before = ARENA_ARRAY(arena, bool, groups + 1), *shorter = ARENA_ARRAY(arena, bool, groups + 1);
    for (int g = 0; g < groups; g++)
        before[g] = space->groups.items[g]->skipped;
    Schedule *schedule = legal_schedule(arena, space, point, before, nest);
    if (!schedule)
        return NULL;
    Schedule *fitted = fit && *nest ? fit_together(arena, space, point, fit, nest) : NULL;
    schedule = fitted ? fitted : schedule;
    if (*nest)
        schedule = schedule_prefetch(arena, schedule, nest);
    for (int g = 0; g < groups; g++) {
        Group *group = space->groups.items[g];
        before[g] = is_refused(space, group, point, before[g]) && !(fit && fit->plain[g]);
        shorter[g] = !group->skipped && group_sketch(space, group, point + group->first_gene)->shorter;
    }
    schedule->refused = names_of(arena, space, before);
    schedule->smaller = fit ? names_of(arena, space, fit->smaller) : NULL;
    schedule->plain = fit ? names_of(arena, space, fit->plain) : NULL;
    schedule->shorter = names_of(arena, space, shorter);
    schedule->points = fit && fit->least < GROUP_POINTS ? fit->least : 0;
    schedule->ruled = point_rules(arena, space, point);
    schedule->misfits = space->misfits.text ? arena_strdup(arena, space->misfits.text) : NULL;
    schedule->gaps = space->gaps.text ? arena_strdup(arena, space->gaps.text) : NULL;
    schedule->idle = space->idle.text ? arena_strdup(arena, space->idle.text) : NULL;
    return schedule;
}
