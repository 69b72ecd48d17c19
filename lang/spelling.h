/* spelling.h - finding what a misspelt name was meant to be, for hints. */
#ifndef LANG_SPELLING_H
#define LANG_SPELLING_H

/* Letters to insert, drop, replace or swap with the next one to get from a to b; counted up to `most` + 1. 0: the same
 * but for upper and lower case. */
int spelling_distance(const char *a, const char *b, int most);
/* The nearest candidate within a third of the word's length (at least one letter), or NULL. Ties: the first. */
const char *spelling_nearest(const char *word, const char *const *candidates, int count);

#endif
