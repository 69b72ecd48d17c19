/* pieces.c - loops that run in pieces: loops that are cut at some values, and loops that are partly unrolled.
 *
 * Each piece has its own variable, whose extent shows how far it goes, so that conditions that hold in the whole piece
 * are decided. If a run-time loop is too short for a cut, the pieces behind it are empty: their extents are 0 or less.
 */
#include "lower/kernel/statements.h"

/* The values from begin to end, both over sizes. */
typedef struct Span {
    Expr *begin, *end;
} Span;

static Expr *simplified(Arena *arena, Op op, Expr *a, Expr *b) {
    return expr_simplify(arena, expr_binary(arena, op, a, b));
}

static Var *piece_var(Arena *arena, const Loop *loop, Expr *extent) {
    Var *var = ARENA_NEW(arena, Var);
    *var = *loop->var;
    var->extent = extent;
    return var;
}

static void add_piece(Arena *arena, Pieces *pieces, Piece piece) {
    int64_t extent;
    if (!expr_is_int(piece.extent, &extent) || extent > 0)
        list_push(arena, pieces, piece);
}

/* Adds the piece begin + factor * var (+ inner), and one for the rest of the span. */
static void add_unrolled(Arena *arena, const Loop *loop, LoopKind kind, Span span, Expr *length, Pieces *pieces) {
    Expr *factor = expr_int(arena, loop->unroll);
    Expr *count = simplified(arena, OP_DIV, length, factor);
    Var *outer = piece_var(arena, loop, count), *inner = piece_var(arena, loop, factor);
    Expr *first = expr_binary(arena, OP_MUL, expr_var(arena, outer), factor);
    Expr *value = expr_binary(arena, OP_ADD, expr_binary(arena, OP_ADD, first, expr_var(arena, inner)), span.begin);
    add_piece(arena, pieces, (Piece){outer, count, value, kind, inner, loop->unroll});
    Expr *left = simplified(arena, OP_SUB, length, expr_binary(arena, OP_MUL, count, factor));
    bool constant = expr_is_int(left, NULL);
    Var *rest = piece_var(arena, loop, constant ? left : expr_int(arena, loop->unroll - 1));
    Expr *begin = expr_binary(arena, OP_ADD, span.begin, expr_binary(arena, OP_MUL, count, factor));
    add_piece(arena, pieces,
              (Piece){rest, left, expr_binary(arena, OP_ADD, expr_var(arena, rest), expr_simplify(arena, begin)),
                      constant ? LOOP_UNROLLED : kind, NULL, 0});
}

static void add_span(Arena *arena, const Loop *loop, LoopKind kind, Span span, Pieces *pieces) {
    Expr *length = simplified(arena, OP_SUB, span.end, span.begin);
    if (loop->unroll > 1) {
        length = simplified(arena, OP_MAX, length, expr_int(arena, 0));
        add_unrolled(arena, loop, kind, span, length, pieces);
        return;
    }
    Var *var = piece_var(arena, loop, length);
    Expr *value = expr_binary(arena, OP_ADD, expr_var(arena, var), span.begin);
    add_piece(arena, pieces, (Piece){var, length, value, kind, NULL, 0});
}

/* Where a cut begins. A piece behind the end of a short loop is empty by its end, so its beginning needs no minimum.
 * Cuts from the end ascend; only the first of them can lie too early. */
static Expr *cut_begin(Arena *arena, Expr *extent, int64_t cut, int64_t least) {
    if (cut >= 0)
        return expr_int(arena, cut);
    return simplified(arena, OP_MAX, expr_binary(arena, OP_ADD, extent, expr_int(arena, cut)), expr_int(arena, least));
}

static Expr *cut_end(Arena *arena, Expr *extent, int64_t cut) {
    if (cut >= 0)
        return simplified(arena, OP_MIN, expr_int(arena, cut), extent);
    return simplified(arena, OP_ADD, extent, expr_int(arena, cut));
}

Pieces loop_pieces(Arena *arena, const Loop *loop, LoopKind kind) {
    Pieces pieces = {0};
    Expr *extent = loop->var->extent;
    if (loop->cut_count == 0 && loop->unroll <= 1) {
        list_push(arena, &pieces, ((Piece){loop->var, extent, NULL, kind, NULL, 0}));
        return pieces;
    }
    Expr *begin = expr_int(arena, 0);
    int64_t least = 0;
    for (int i = 0; i < loop->cut_count; i++) {
        add_span(arena, loop, kind, (Span){begin, cut_end(arena, extent, loop->cuts[i])}, &pieces);
        least = loop->cuts[i] > 0 ? loop->cuts[i] : least;
        begin = cut_begin(arena, extent, loop->cuts[i], least);
    }
    add_span(arena, loop, kind, (Span){begin, extent}, &pieces);
    return pieces;
}
