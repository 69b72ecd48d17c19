/* foreign.h - what is spelled otherwise in other languages: types, and names of values and functions. */
#ifndef LANG_FOREIGN_H
#define LANG_FOREIGN_H

#include "lang/tensorc.h"

/* The type that a name of C, Rust, Python or NumPy stands for: "int", "f32", "uint"; TYPE_COUNT for any other. */
ElementType foreign_type(const char *name);
/* How what the name stands for elsewhere is written here; NULL: it is no such name. */
const char *foreign_hint(const char *name);
/* The operator for a reduction by this name: "+=!" for "sum"; NULL: there is none. */
const char *foreign_combiner(const char *name);
/* The target that a name of other tools stands for: "arm64", "native"; NULL: it is no such name. */
const char *foreign_target(const char *name);
/* A type whose name is nearly this one; NULL: none. */
const char *nearest_type(const char *name);
/* Whether programs of C or C++ cannot have a variable or a function of this name: keywords, macros, and types of what
 * headers include. */
bool is_word_of_c(const char *name);
/* Whether the C library has a function of this name, those of mathematics aside. */
bool is_function_of_c(const char *name);

#endif
