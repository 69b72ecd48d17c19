/* instr.h - whether loops can be run by a hardware instruction: what tensorize asks.
 *
 * The meaning of an instruction is a small stage over the elements of its operands. An instruction runs the loops of a
 * stage when two things hold. Renaming operands to reads, and indices to loops, turns the meaning into the stage. And
 * every operand lies in memory as the instruction wants it in a register: row major without gaps, or, where the operand
 * does not depend on its outer indices, one copy of the rest.
 */
#ifndef LOWER_INSTR_INSTR_H
#define LOWER_INSTR_INSTR_H

#include "lang/expr.h"

/* The indices of the meaning: those of the first operand, then the reductions. */
int instr_index_count(const Instr *instr);
const Var *instr_index(const Instr *instr, int index);
int64_t instr_extent(const Instr *instr, int index);
/* The index of the meaning that dimension d of an operand is. */
int instr_operand_index(const Instr *instr, int operand, int d);
int64_t tensor_extent(const Tensor *tensor, int d); /* of an operand */
int64_t instr_lanes(const Instr *instr, int operand);
/* Whether the instruction reads what its first operand holds. */
bool instr_accumulates(const Instr *instr);
/* Whether zero operands add nothing: steps that a guard cuts off a reduction may then run with zeros. */
bool instr_ignores_zeros(const Instr *instr);
bool instr_zero(const Expr *e); /* what such instructions ignore: 0, 0.0 and -0.0 */

/* Whether a value matches the meaning: the same operators, casts and types; operands of + and * in either order.
 * reads[operand_count] gets the reads that the operands stand for, NULL for the first. On false *wanted and *found
 * (each may be NULL) get the parts that differ. */
bool instr_match(Arena *arena, const Instr *instr, const Expr *value, const Expr **reads, const Expr **wanted,
                 const Expr **found);

/* The value that is added where the predicates hold: v of p ? v : 0. For an instruction that ignores zeros. */
const Expr *instr_added(const Instr *instr, const Expr *value);

/* Visits every assignment of loops to the instruction's indices: loop_of[index], or -1 for an index of one value. Each
 * loop is used once and agrees with its index in extent and in being a reduction or not. Stops when visit returns true,
 * and returns that. */
typedef struct InstrLoop {
    int64_t extent;
    bool reduction;
} InstrLoop;
typedef bool VisitLoops(const int *loop_of, void *context);
bool instr_assign(const Instr *instr, const InstrLoop *loops, int count, VisitLoops *visit, void *context);

/* How an operand lies in memory, given the stride of each of its dimensions in elements: its innermost `block` elements
 * lie one after another, and all others repeat that block. Returns the block, or 0 if it lies in no such way. */
int64_t instr_block(const Instr *instr, int operand, const int64_t *strides);

#endif
