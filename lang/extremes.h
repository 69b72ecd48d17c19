/* extremes.h - the smaller and the larger of two numbers. Of real ones as fmin and fmax give, but without a call; where
 * one is NaN it is the second.
 */
#ifndef LANG_EXTREMES_H
#define LANG_EXTREMES_H

#include <stdint.h>

static inline double smaller(double a, double b) {
    return a < b ? a : b;
}

static inline double larger(double a, double b) {
    return a > b ? a : b;
}

static inline int64_t smaller_int(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t larger_int(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
