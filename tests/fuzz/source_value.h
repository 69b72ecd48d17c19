/* source_value.h - single values in their exact types, as sections 3, 7 and 14 of the reference say: nothing of it is
 * the compiler's, so that a fault of the compiler is not its own oracle's.
 */
#ifndef TESTS_SOURCE_VALUE_H
#define TESTS_SOURCE_VALUE_H

#include "lang/tensorc.h"

/* How much the rules say of a value. */
typedef enum Certainty {
    CERTAIN, /* this one; of floats also 0 with either sign where zeros met */
    NEAR,    /* within 4 units in the last place */
    UNKNOWN  /* anything: nothing is compared */
} Certainty;

/* index: a whole number of the world of indices and literals, exact until it meets a value; fixed: of literals and
 * sizes alone. number: made of such and of literal floats; then `precise` is it in double. loose: a product that was
 * rounded, which outside -fstrict a sum may take in whole. */
typedef struct Datum {
    ElementType type;
    Certainty certainty;
    bool index, fixed, number, loose;
    int64_t integer;
    double real, precise;
} Datum;

Datum datum_integer(ElementType type, int64_t integer);
Datum datum_index(int64_t integer);
Datum datum_literal(double real);
Datum datum_load(ElementType type, const void *at);
void datum_store(const Datum *datum, void *at);
Datum datum_as(Datum datum, ElementType type); /* by promotion, assignment or TYPE(..) */
Datum datum_value(Datum datum);                /* of an index the int32 or int64 that it is */
bool datum_is_float(const Datum *datum);
ElementType type_of_both(ElementType a, ElementType b);
/* strict: -fstrict holds. */
Datum datum_operator(Op op, const Datum *args, int count, bool strict);
/* Whether a value that was found is what the rules allow. */
bool datum_allows(const Datum *wanted, const Datum *found);

#endif
