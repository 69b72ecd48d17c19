/* sequence.h - how many instructions code generators need for what no instruction does: estimates, the same on all
 * targets. Lowering counts the code of a kernel by them, the spaces of schedules that of an unrolled tile.
 */
#ifndef LANG_SEQUENCE_H
#define LANG_SEQUENCE_H

#include "lang/tensorc.h"

enum {
    SEQUENCE_FUNCTION = 24,  /* a math function, in place, for a register */
    SEQUENCE_SATURATING = 6, /* a float as an integer, for a register */
    SEQUENCE_FETCHED = 4,    /* a lane that lies apart in memory, loaded and put into its place */
    SEQUENCE_DIVIDED = 4,    /* a lane of a quotient or remainder of integers */
    SEQUENCE_EMULATED = 6,   /* an operation on a register of indices, where registers lack it */
    SEQUENCE_REFINED = 6,    /* a quotient of floats by a constant without the divider, for a register */
    SEQUENCE_ENDS = 20       /* a row that goes round, or stops at bounds */
};

/* Of a register of half or bfloat16 that is widened to float, of one that is rounded to the type, and of both; 0 for
 * other types. */
int sequence_widened(const Target *target, ElementType type);
int sequence_rounded(const Target *target, ElementType type);
int sequence_kept(const Target *target, ElementType type);

#endif
