/* memory.c - that a tensor's bytes fit into int64: decided here where its extents are known, or small enough for every
 * size that a call accepts; else a requirement.
 */
#include "lang/program.h"
#include "sema/check.h"

static bool has_variable(const Expr *extent) {
    EACH_EXPR(e, extent)
        if (e->kind == EXPR_VAR)
            return true;
    return false;
}

enum { FACTOR_LIMIT = 1 << 20 };

static bool growth_of(Arena *arena, Expr *e, int64_t *factor);

/* What an atom is at most: factor * 2^40. Quotients by numbers are at most what is divided. */
static bool atom_growth(Arena *arena, const Expr *atom, int64_t *factor) {
    int64_t divisor, other;
    *factor = 1;
    if (atom->kind == EXPR_VAR)
        return true;
    if (atom->kind != EXPR_OP || (atom->op != OP_DIV && atom->op != OP_MIN && atom->op != OP_MAX))
        return false;
    if (atom->op == OP_DIV)
        return expr_is_int(atom->args[1], &divisor) && divisor > 0 && growth_of(arena, atom->args[0], factor);
    if (!growth_of(arena, atom->args[0], factor) || !growth_of(arena, atom->args[1], &other))
        return false;
    *factor = other > *factor ? other : *factor;
    return true;
}

/* The same of a sum. Terms with a minus sign count as 0, where they are known to be none that grow. */
static bool growth_of(Arena *arena, Expr *e, int64_t *factor) {
    Affine p;
    if (!size_affine(arena, e, &p))
        return false;
    *factor = p.constant > 0 ? p.constant : 0;
    for (int i = 0; i < p.count; i++) {
        const Term *term = &p.terms[i];
        Interval interval = expr_interval(term->atom);
        int64_t own = 0;
        bool falls = term->coefficient < 0 && interval.has_low && interval.low >= 0;
        if (!falls && (term->coefficient < 0 || !atom_growth(arena, term->atom, &own)))
            return false;
        if (term->coefficient >= FACTOR_LIMIT || own >= FACTOR_LIMIT || *factor >= FACTOR_LIMIT)
            return false;
        *factor += falls ? 0 : own * term->coefficient;
    }
    return true;
}

/* Whether the tensor has one run-time extent, whose factor is small enough for sizes up to 2^40 (the largest) to
 * fit. */
static bool is_small(Arena *arena, const Tensor *tensor, int64_t room) {
    int64_t factor = 0;
    for (int d = 0; d < tensor->rank; d++) {
        if (expr_is_int(tensor->dims[d], NULL))
            continue;
        if (factor || !growth_of(arena, tensor->dims[d], &factor))
            return false;
    }
    return factor <= room >> 40;
}

/* Names the tensor if its user knows the name, else by its shape. */
static const char *size_text(Arena *arena, const Tensor *tensor, const char *name) {
    Text text = {.arena = arena};
    text_add(&text, "%s", name ? name : element_info[tensor->type].spelling);
    for (int d = 0; !name && d < tensor->rank; d++)
        text_add(&text, "%s%s%s", d ? ", " : "(", expr_text(arena, tensor->dims[d]), d + 1 < tensor->rank ? "" : ")");
    text_add(&text, " to have less than 2^63 bytes");
    return text.text;
}

/* Requires that the bytes of a tensor fit into int64. This is decided here if the extents are known. Otherwise the call
 * checks INT64_MAX / bytes / d0 / d1 ... >= 1, which cannot overflow. */
void check_tensor_size(CallFrame *frame, const Tensor *tensor, const char *name) {
    Builder *builder = frame->builder;
    Arena *arena = builder->arena;
    int64_t room = INT64_MAX / element_info[tensor->type].bytes;
    bool known = true, fits = true;
    for (int d = 0; d < tensor->rank; d++) {
        int64_t extent;
        if (expr_is_int(tensor->dims[d], &extent))
            room = extent > 1 ? room / extent : room;
        else if (has_variable(tensor->dims[d]))
            known = false;
        else
            fits = false;
    }
    if (!fits || room == 0) {
        ERROR(frame, size_overflow, tensor->loc);
        note_calls(frame);
        return;
    }
    if (known || is_small(arena, tensor, room))
        return;
    Expr *left = expr_int(arena, room);
    for (int d = 0; d < tensor->rank; d++)
        if (!expr_is_int(tensor->dims[d], NULL))
            left = expr_binary(arena, OP_DIV, left, expr_binary(arena, OP_MAX, tensor->dims[d], expr_int(arena, 1)));
    require_in_words(builder, expr_binary(arena, OP_GE, left, expr_int(arena, 1)), STATUS_BAD_SIZE, tensor->loc,
                     size_text(arena, tensor, name));
}
