/* brute_model.h - what a schedule says, by running it: an interpretation of the primitives of its own, which shares
 * nothing with lower/.
 *
 * A model holds the stages of a small program with all sizes bound. Primitives change its loops; running it executes
 * every instance of every stage in the order that the schedule says, on values that stand for what was computed from
 * what: a sum of a reduction's terms in any order is one value, anything else another. So a schedule is legal when
 * nothing reads what is not there (yet, or any more), when the outputs are those of the program, and when no two
 * iterations of a parallel or vectorized loop touch an element that one of them writes.
 */
#ifndef TESTS_BRUTE_MODEL_H
#define TESTS_BRUTE_MODEL_H

#include "lang/program.h"

typedef struct Model Model;

typedef enum Verdict {
    VERDICT_LEGAL,
    VERDICT_ILLEGAL, /* breaks a dependence */
    VERDICT_FORM     /* not what the primitives take, whatever the dependences: the rules that the reference states */
} Verdict;

Model *model_new(Arena *arena, const Program *program);
/* false: the form is wrong. */
bool model_apply(Model *model, const Prim *prim);
/* Runs the schedule so far. *why: what was seen. */
Verdict model_run(Model *model, const char **why);

/* --- for makers of schedules --- */

int model_stage_count(const Model *model);
const char *model_stage_name(const Model *model, int stage);
bool model_stage_is_temporary(const Model *model, int stage);
int model_loop_count(const Model *model, int stage); /* 0 where it is inlined, or its loops have names we do not know */
const char *model_loop_name(Model *model, int stage, int loop); /* "C.i" */
/* The number of a stage that reads this one, the first from `from` on, or -1. */
int model_reader(const Model *model, int stage, int from);

#endif
