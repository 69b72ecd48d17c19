/* forms.h - indices as linear forms: arrays of doubles over the chain of loops around a stage, the constant last. They
 * are estimates: sizes are typical ones, and what is not linear has a slope. The affine sums of lang/form.h are exact.
 */
#ifndef AUTOSCHED_MODEL_FORMS_H
#define AUTOSCHED_MODEL_FORMS_H

#include "autosched/model/profile.h"

enum { BLOCK_MOST = 64 /* elements of the blocks of a layout, which begin at 0 */ };

typedef struct LinearForms {
    Arena *arena;
    const Nest *nest;
    int count; /* loops in the chain */
    const Loop **loops;
    const Stage *stage;
    double *axes;   /* [(axes + reductions) * (count + 1)] */
    double typical; /* of run-time sizes */
    bool irregular;
} LinearForms;

void linear_clear(const LinearForms *forms, double *form);
void linear_form(LinearForms *forms, const Expr *e, double *form);
/* A form without loops, at least 1. */
double linear_constant(const Expr *e, double typical);
double extent_of(const LinearForms *forms, int loop);
/* Whether it has other values in other lanes of a vectorized loop. */
bool moves_in_lanes(const LinearForms *forms, const double *form);
/* Reduces the stage's iterations and the extents of its loops to what runs; values are the axes' forms over the loops,
 * which the forms know from then on. */
void fill_iterations(LinearForms *forms, StageFacts *facts, double *values);

#endif
