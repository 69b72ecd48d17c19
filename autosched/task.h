/* task.h - the canonical form of a program: its hash, and schedules in names that do not depend on the source's.
 *
 * Stages are S0, S1, ..., the loops of their axes S0.x0, of their reductions S0.r0, of scans C0.x0, other tensors T0,
 * T1, ...; local names that a schedule gives stay. What one program's search stored is so of use to every program of the same
 * structure.
 */
#ifndef AUTOSCHED_TASK_H
#define AUTOSCHED_TASK_H

#include "autosched/autosched.h"

typedef struct Task {
    const Program *program;
    const char *key; /* hexadecimal: task_hash, with the user's schedule where there is one */
    bool renames;    /* false with a user's schedule: its text is part of the key, names included */
    int stage_count;
    const Stage **stages; /* in canonical order */
    int tensor_count;
    const Tensor **tensors; /* those without a stage */
    int scan_count;
    const Scan **scans;
} Task;

Task *task_new(Arena *arena, const Program *program, const Schedule *user);
/* The schedule's statements in canonical names. */
const char *task_text(Arena *arena, const Task *task, const Schedule *schedule);
/* The schedule of such a text in the program's names; NULL when it cannot be read. Not checked for legality. */
Schedule *task_schedule(Arena *arena, const Task *task, const Target *target, const char *text);

#endif
