/* window.h - windows that go over an image: what convolutions and pooling share. */
#ifndef DRIVER_IMPORT_NODES_WINDOW_H
#define DRIVER_IMPORT_NODES_WINDOW_H

#include "driver/import/importer.h"

/* In each of `rank` dimensions of space. Index names are those of the result, and r_ with them inside a window. */
typedef struct Window {
    int rank;
    int64_t *kernel, *stride, *dilation, *before, *after;
    Size *input, *result;
    const char **indices, **inner;
    bool ceil;
} Window;

/* The indices of an image: batch, channel, space. */
const char **image_indices(Import *import, int rank);
/* By the attributes of the node, for an image of that shape, (batch, channel, space...). kernel: sizes of it, which the
 * attribute may give instead if it is NULL. */
Window window_attributes(Import *import, const Operand *image, const Size *kernel);
/* The same, with the sizes of the result. */
Window window_of(Import *import, const Operand *image, const Size *kernel);
/* Whether what is before and after is nowhere outside the image. */
bool window_is_inside(const Window *window);
/* Whether all dimensions have the same stride, dilation, and as much before as after. */
bool window_is_even(const Window *window);
/* "2*h + r_h - 1" of a dimension. */
const char *window_index(Import *import, const Window *window, int d);
/* Indices of the image: batch, channel, those of the window. */
const char **window_indices(Import *import, const Window *window, const char *batch, const char *channel);
/* " where h in 0:H, ..., r_h in 0:3" and so on. */
const char *window_ranges(Import *import, const Window *window);
/* (batch, channels, the result's space) */
Size *window_shape(Import *import, const Window *window, Size batch, Size channels);

#endif
