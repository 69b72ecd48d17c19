/* nodes.h - the door of what prints the statements of nodes: a function for each operator, by operators.def. */
#ifndef DRIVER_IMPORT_NODES_NODES_H
#define DRIVER_IMPORT_NODES_NODES_H

#include "driver/import/importer.h"

/* For all elements of a shape, the value, which may be of another type; ranges where the inputs do not give them. */
void print_elements(Import *import, int number, ElementType type, int rank, const Size *shape, const char *value);

/* gathers.c: an index as one from 0 on. */
const char *from_begin(Import *import, const char *index, Size size);

/* quantised.c: what operators of integers share */
/* int32 elements of an operand less its zero point, of which there may be one for each index of an axis. */
Operand *without_zero(Import *import, Operand *operand, Operand *zero, int axis);
/* The node's result: a sum times the scales of two inputs, divided by the scale of the result, rounded, and its zero
 * point added. They are inputs by their numbers; a zero point follows its scale. The second scale may be one for each
 * index of an axis. */
void print_requantized(Import *import, const char *sum, int scale, int other_scale, int result_scale, int rank,
                       const Size *shape, int axis, const char *const *indices);

#define OPERATOR(kind, maker, least, most, attributes) void print_##maker(Import *import);
#include "driver/import/operators.def"

#endif
