/* passes.h - the door of the passes: one a file, in the order in which expand.c runs them. Each replaces the kernel's
 * body by one that means the same.
 */
#ifndef LOWER_KERNEL_PASSES_PASSES_H
#define LOWER_KERNEL_PASSES_PASSES_H

#include "lower/kernel/kernel.h"

void pass_share(Kernel *kernel);
/* Gives the kernel the notes of its shared nests, for each statement that runs one. */
void take_shared_notes(Kernel *kernel);
void pass_guards(Kernel *kernel);
void pass_flatten(Kernel *kernel);
void pass_simplify(Kernel *kernel);
void pass_tensorize(Kernel *kernel);
void pass_vectorize(Kernel *kernel);
void pass_unroll(Kernel *kernel);
void pass_narrow(Kernel *kernel);
void pass_place(Kernel *kernel);
void pass_rows(Kernel *kernel);
void pass_ends(Kernel *kernel);
void remainders_near_ends(Kernel *kernel); /* the last part of pass_ends (near.c) */
void pass_transpose(Kernel *kernel);
void pass_across(Kernel *kernel);
void pass_interleave(Kernel *kernel);
void pass_begin(Kernel *kernel);
void pass_offsets(Kernel *kernel);
void pass_alone(Kernel *kernel);

#endif
