/* instr.h - hardware instructions against loops: what tensorize asks.
 *
 * The meaning of an instruction is a small stage over the elements of its operands. Loops of a stage are the
 * instruction when a renaming of its operands to reads and of its indices to loops makes the one the other, and every
 * operand lies in memory as the instruction wants it in a register: row major, without gaps, or, where the operand does
 * not change with its outer indices, one copy of the rest.
 */
#ifndef LOWER_INSTR_INSTR_H
#define LOWER_INSTR_INSTR_H

#include "lang/expr.h"

/* The indices of the meaning: those of the first operand, then the reductions. */
int instr_index_count(const Instr *instr);
const Var *instr_index(const Instr *instr, int index);
int64_t instr_extent(const Instr *instr, int index);
/* Which of them dimension d of an operand is. */
int instr_operand_index(const Instr *instr, int operand, int d);
int64_t tensor_extent(const Tensor *tensor, int d); /* of an operand */
int64_t instr_lanes(const Instr *instr, int operand);
/* Whether the instruction reads what its first operand holds. */
bool instr_accumulates(const Instr *instr);
/* Whether operands of zeros add nothing: cut off steps of a reduction may then run with zeros. */
bool instr_ignores_zeros(const Instr *instr);
bool instr_zero(const Expr *e); /* what those ignore: 0, 0.0 and -0.0 */

/* Whether a value is the meaning's: the same operators, casts and types, operands of + and * either way. reads
 * [operand_count] gets what the operands are in it, NULL for the first. False: *wanted and *found are the parts that
 * differ, where the pointers are given. */
bool instr_match(Arena *arena, const Instr *instr, const Expr *value, const Expr **reads, const Expr **wanted,
                 const Expr **found);

/* What is added where the predicates of a value hold: v of p ? v : 0, for an instruction that ignores zeros. */
const Expr *instr_added(const Instr *instr, const Expr *value);

/* Visits assignments of loops to the indices of the instruction, loop_of[index], -1 for an index of one value: each
 * loop once, extents and sorts alike. Stops when visit answers true, and returns that. */
typedef struct InstrLoop {
    int64_t extent;
    bool reduction;
} InstrLoop;
typedef bool VisitLoops(const int *loop_of, void *context);
bool instr_assign(const Instr *instr, const InstrLoop *loops, int count, VisitLoops *visit, void *context);

/* How the elements of an operand are found in memory: element p of its innermost `block` ones at p from the first, the
 * block again for each further one. strides: of each dimension of the operand, in elements. 0: not so. */
int64_t instr_block(const Instr *instr, int operand, const int64_t *strides);

#endif
