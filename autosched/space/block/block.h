/* block.h - the door of a user's schedule in a space: its holes as genes, and what it leaves open. */
#ifndef AUTOSCHED_SPACE_BLOCK_BLOCK_H
#define AUTOSCHED_SPACE_BLOCK_BLOCK_H

#include "autosched/space/groups.h"

void user_group_new(Space *space, Group *group, const Schedule *user);
/* Adds a gene for each hole of the schedule, in their order; returns the first. tree: of those for names; or NULL. */
int group_add_holes(Space *space, Group *group, const Schedule *schedule, const HoleTree *tree);
/* Adds the statements with the choices of these genes, from the first on (choices: their values, which become those
 * that they stand for). */
void sketch_add_filled(Space *space, Group *group, const Schedule *schedule, HoleTree *tree, int first,
                       int64_t *choices, Sketch *sketch);
/* Whether the constraints of the user's schedule hold. */
bool user_allows(const Space *space, const Group *group, const int *genes);
/* Which stages of the program the schedule names, and its loops. [stages of the program] */
bool *schedule_names_stages(Arena *arena, const Program *program, const Schedule *schedule);

#endif
