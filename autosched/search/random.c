/* random.c - random search: points drawn evenly. */
#include "autosched/search/policies.h"

const Setting random_settings[] = {COMMON_SETTINGS, END_OF_SETTINGS};

int propose_random(Search *search, int wanted, int **points) {
    return search_fill(search, wanted, points, 0);
}
