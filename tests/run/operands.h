/* operands.h - operands and results of operators that are compared with plain C. Whoever includes it says first how
 * many elements each has at most (LARGEST) and how far a result may be off, relative to one or to itself
 * (TOLERANCE). */
#include "tests/tap.h"

static float got[LARGEST], wanted[LARGEST];

static void fill(float *values, unsigned seed, float low) {
    for (int i = 0; i < LARGEST; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = low + (float)(seed >> 16) / 32768.0f;
    }
}

/* The first `count` results agree, and nothing after them was written. */
static void compare(const char *name, int status, int count) {
    int different = 0;
    for (int i = 0; i < count; i++)
        different += !(fabs((double)got[i] - wanted[i]) <= TOLERANCE * (1 + fabs(wanted[i])));
    ok(status == 0 && different == 0 && got[count] == 12345, "%s", name);
    if (different || status)
        diag_line("status %d, %d of %d differ; the first element is %g, wanted %g", status, different, count, got[0],
                  wanted[0]);
    for (int i = 0; i < LARGEST; i++)
        got[i] = 12345;
}
