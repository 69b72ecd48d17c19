/* complete.h - what the files of the completion of a user's block share. */
#ifndef AUTOSCHED_SPACE_BLOCK_COMPLETE_H
#define AUTOSCHED_SPACE_BLOCK_COMPLETE_H

#include "autosched/space/block/block.h"
#include "autosched/space/tile/tile.h"

/* STEPS: terms of a sum in one iteration; PLACE: the sums of the user's own inner loops are kept in registers. */
typedef enum Aspect { VECTORS, ALONG, ROWS, ROW_LOOP, STEPS, PLACE, WINDOW, THREADS, ASPECT_COUNT } Aspect;

/* A tensor that an open stage reads. */
typedef struct OpenOperand {
    const char *tensor;
    int gene; /* where it is copied: 0: nowhere, 1: at root, 2: in the stage's first loop, 3: in its second one, ... */
} OpenOperand;

typedef struct OpenStage {
    const char *name;
    int genes[ASPECT_COUNT]; /* -1: none */
    LIST(OpenOperand) operands;
} OpenStage;

/* What writes the statements that complete a block. */
typedef struct Completing {
    Space *space;
    Group *group;
    Sketch *sketch;
    const int *genes;
    Arena *scratch;
    const Nest *nest; /* of the statements so far */
} Completing;

/* The value of the choice. */
int64_t complete_choice(const Completing *c, const OpenStage *open, Aspect aspect);
/* Adds the statements if the nest is legal with them. */
bool complete_add(Completing *c, const Text *text);
/* Keeps the statements that were added from `before` on if the nest is legal with them. */
bool complete_keep(Completing *c, int before);
/* A name for what is made of a stage: "C_j_v". */
const char *complete_name(Completing *c, const NestStage *stage, const char *loop, const char *suffix);
/* The innermost serial loop before `end` that is (or is not) of a reduction and has several values; -1: none. */
int complete_inner_loop(const NestStage *stage, int end, bool reduction);
/* "C.j" */
const char *complete_loop(Arena *arena, const NestStage *stage, int loop);
void complete_write_list(Text *text, const char *op, const char *const *names, int count);

/* Finds what the user's schedule leaves open in its stages, and adds genes for it. */
void user_group_complete(Space *space, Group *group);
/* Adds the statements of these genes to a sketch with the user's. */
void complete_sketch(Space *space, Group *group, const int *genes, Sketch *sketch);

/* vectors.c: cuts vectors, and rows of a sum, off a stage's inner loops; what they sum is kept in registers. */
void complete_block(Completing *c, const OpenStage *open, const NestStage *stage, int lanes);
/* The loop whose values stand together in such a block, beside its lanes: of those of other axes, if there are any, the
 * number-th from inside, or the last one; -1: none. */
int complete_row_loop(const NestStage *stage, int lane_loop, int number);
/* The innermost loop outside of the reductions around the lanes, if those inside it may be all in registers; -1: none.
 */
int complete_held_loop(const NestStage *stage, int lane_loop);

/* pack.c: lists the operands that may be copied, with their genes; and writes the copies. */
void complete_list_operands(Space *space, Group *group, const Nest *nest, const NestStage *stage, OpenStage *open);
void complete_pack(Completing *c, const OpenStage *open);

#endif
