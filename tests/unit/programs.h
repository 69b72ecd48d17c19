/* programs.h - small checked Programs made by hand, for unit tests of what works on Programs.
 *
 * A size that is negative becomes a run-time size with the given name; others are constants. Programs are what sema
 * would make of the source in the comment above each.
 */
#ifndef TESTS_PROGRAMS_H
#define TESTS_PROGRAMS_H

#include "lang/program.h"

/* --- building blocks: inputs, stages in order, then program_end --- */

enum { RANK_LIMIT = 8 }; /* of the programs of tests */

typedef struct ProgramBuilder {
    Arena *arena;
    const char *name;
    LIST(const Var *) sizes;
    LIST(const Tensor *) inputs;
    LIST(const Tensor *) outputs;
    LIST(const Tensor *) temporaries;
    LIST(const Stage *) stages;
    LIST(struct Binding) bounds;
} ProgramBuilder;

ProgramBuilder program_begin(Arena *arena, const char *name);
Program *program_end(ProgramBuilder *builder);
Expr *program_size(ProgramBuilder *builder, const char *name, int64_t value);
/* rank dims follow, of type Expr *. */
Tensor *program_tensor(ProgramBuilder *builder, Role role, ElementType type, const char *name, int rank, ...);
/* An axis or reduction index of a stage to come. */
Var *program_index(ProgramBuilder *builder, const char *name, Expr *extent, bool reduction);
/* tensor(axes) = value, over the axes found in the list: axis_count of them, then reduction_count reductions. */
Stage *program_stage(ProgramBuilder *builder, Tensor *tensor, Combine combine, Expr *initial, Expr *value,
                     int axis_count, int reduction_count, ...);
/* tensor(indices): rank indices follow, of type Expr *; otherwise may be NULL. */
Expr *program_read(ProgramBuilder *builder, const Tensor *tensor, Expr *otherwise, ...);

/* --- programs --- */

/* C(i, j) +=! A(i, r_k) * B(r_k, j) */
Program *program_matmul(Arena *arena, ElementType type, int64_t m, int64_t n, int64_t k);
/* Y(i, j) = X(j, i), X of M x N */
Program *program_transpose(Arena *arena, ElementType type, int64_t m, int64_t n);
/* S(i) +=! X(i, r_j) */
Program *program_row_sum(Arena *arena, ElementType type, int64_t m, int64_t n);
/* top(n) max=! X(n, r_d); e(n, d) = exp(X(n, d) - top(n)); sum(n) +=! e(n, r_d); Y(n, d) = e(n, d) / sum(n); float */
Program *program_softmax(Arena *arena, int64_t n, int64_t d);
/* The softmax of the rows of A (m x k) times B (n x k) transposed, which is p. */
Program *program_scores(Arena *arena, int64_t m, int64_t n, int64_t k);
/* a(i) = X(i) + X(i + 1) where i in 0:N+2; B(i) = a(i) + a(i + 1) + a(i + 2) where i in 0:N; X of N + 3 */
Program *program_blur(Arena *arena, ElementType type, int64_t n);
/* C(i, j) += A(i, r_k) * B(r_k, j): adds to what the caller's buffer holds */
Program *program_accumulate(Arena *arena, ElementType type, int64_t m, int64_t n, int64_t k);
/* O(b, l, d) = table(ids(b, l), d) with the run-time check of ids */
Program *program_embed(Arena *arena, int64_t v, int64_t d, int64_t b, int64_t l);

typedef struct ConvShape {
    int64_t n, c, h, w, m, kh, kw, stride, pad, dilation;
} ConvShape;
/* O(n, m, h, w) +=! (I(n, r_c, S*h + D*r_kh - P, S*w + D*r_kw - P) else 0) * F(m, r_c, r_kh, r_kw) */
Program *program_conv2d(Arena *arena, ElementType type, ConvShape shape);
/* The same as O[0], then O[1](n, m, h, w) = O[0](n, m, h, w) + b(m), then O(n, m, h, w) = max(O[1](n, m, h, w), 0) */
Program *program_conv_chain(Arena *arena, ElementType type, ConvShape shape);

#endif
