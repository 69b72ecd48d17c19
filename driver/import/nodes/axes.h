/* axes.h - some dimensions of a tensor, which are reduced: what reductions and normalisations share. */
#ifndef DRIVER_IMPORT_NODES_AXES_H
#define DRIVER_IMPORT_NODES_AXES_H

#include "driver/import/importer.h"

typedef struct Axes {
    int rank;
    bool *reduced;
    const char **indices; /* of all dimensions */
    const char **inner;   /* the same, with names of their own for those that are reduced */
    int kept;             /* how many are not reduced */
    const char **outer;   /* their indices */
    Size *outer_shape;
    Size count; /* of the elements that are reduced to one */
} Axes;

Axes axes_of(Import *import, const Operand *x, const bool *reduced);
/* The dimensions from one on. */
Axes axes_from(Import *import, const Operand *x, int first);
/* The dimension alone. */
Axes axes_one(Import *import, const Operand *x, int axis);
/* NAME(indices of what is kept) */
const char *outer_element(Import *import, const Axes *axes, const char *name);
/* Statements for the mean and for 1 / sqrt(variance + epsilon); the names of both. */
void print_moments(Import *import, const Operand *x, const Axes *axes, const char *of, double epsilon,
                   const char **mean, const char **scale);

#endif
