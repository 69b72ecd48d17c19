/* form.h - indices of a nest as sums over its loops: the arithmetic behind boxes, guards and footprints.
 * Private to lower/.
 *
 * A Form is constant + sum of factor * atom, each atom once; an atom is a loop, a run-time size, or a floor
 * division, modulo, minimum or maximum of forms. Divisions and modulos by constants are taken apart as far as the
 * loops' extents allow: (16*jo + ji) / 16 is jo where 0 <= ji < 16. Forms are never changed once made. Arithmetic
 * that leaves 64 bits sets Forms.overflow and gives some form; the caller looks at it before it trusts a result.
 */
#ifndef LOWER_NEST_FORM_H
#define LOWER_NEST_FORM_H

#include "lower/nest/nest.h"

typedef struct Form Form;

typedef enum AtomKind {
    ATOM_LOOP, /* 0 <= loop < loop's extent */
    ATOM_SIZE, /* expr: a size or another expression over sizes */
    ATOM_DIV,  /* a / b, floor */
    ATOM_MOD,  /* a % b, floor */
    ATOM_MIN,  /* min(a, b) */
    ATOM_MAX
} AtomKind;

typedef struct Atom {
    AtomKind kind;
    bool has_loops;      /* is a loop or has one below */
    const Loop *loop;    /* LOOP */
    const Form **extent; /* LOOP: where its extent stands, known once its stage was inferred */
    Expr *expr;          /* LOOP, SIZE */
    const Form *a, *b;
    const Form *limit; /* MOD and DIV: known to be below this and not negative; or NULL */
} Atom;

typedef struct FormTerm {
    int64_t factor; /* never 0 */
    const Atom *atom;
} FormTerm;

struct Form {
    int64_t constant;
    int count;
    FormTerm terms[];
};

typedef struct Forms {
    Arena *arena;
    bool overflow;
} Forms;

const Form *form_int(Forms *forms, int64_t value);
const Form *form_atom(Forms *forms, const Atom *atom);
const Form *form_add(Forms *forms, const Form *a, const Form *b);
const Form *form_add_scaled(Forms *forms, const Form *a, int64_t factor, const Form *b); /* a + factor * b */
const Form *form_add_int(Forms *forms, const Form *a, int64_t value);
/* NULL when both hold loops or one is not affine. */
const Form *form_multiply(Forms *forms, const Form *a, const Form *b);
/* By 0, as of a fused loop that never runs, they give something. */
const Form *form_divide(Forms *forms, const Form *a, const Form *b);
const Form *form_modulo(Forms *forms, const Form *a, const Form *b);
/* a / b of which 0 <= a / b < limit is known; limit may be NULL. */
const Form *form_divide_below(Forms *forms, const Form *a, const Form *b, const Form *limit);
const Form *form_extreme(Forms *forms, AtomKind min_or_max, const Form *a, const Form *b);

bool form_is_int(const Form *form, int64_t *value); /* value may be NULL */
bool form_equal(const Form *a, const Form *b);
uint64_t form_hash(const Form *form); /* the same of equal ones */
/* Proved for all values of loops and sizes: a < b, a <= b. */
bool form_below(Forms *forms, const Form *a, const Form *b);
bool form_at_most(Forms *forms, const Form *a, const Form *b);
/* A bound over sizes alone that is not exceeded; NULL when there is none that is known. */
const Form *form_upper(Forms *forms, const Form *form);
const Form *form_lower(Forms *forms, const Form *form);

Expr *form_expr(Forms *forms, const Form *form);
/* An index expression over variables that stand for forms; NULL when it is not affine in them (a product of two, a read
 * from memory). find gives the form of an axis, NULL when it is none. */
typedef const Form *FindForm(const void *context, const Var *var);
const Form *form_of_expr(Forms *forms, const Expr *e, FindForm *find, const void *context);

/* The values that a form takes while the loops that `outside` denies run and the others stand still: from low, an
 * expression over what stands still, up to low + width, width over sizes. False when nothing is known. */
typedef bool LoopOutside(const void *context, const Loop *loop);
bool form_span(Forms *forms, const Form *form, LoopOutside *outside, const void *context, const Form **low,
               const Form **width);
/* Visits every loop in a form, also those inside divisions; stops at and returns the first that visit answers true
 * for. */
const Loop *form_find_loop(const Form *form, LoopOutside *visit, const void *context);
bool form_has_loop(const Form *form, const Loop *loop); /* also inside a division */

#endif
