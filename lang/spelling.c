/* spelling.c - edit distance (optimal string alignment) of short names. Upper and lower case are the same letter. */
#include "lang/spelling.h"
#include "lang/extremes.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 64 }; /* longer names get no hint */

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

int spelling_distance(const char *a, const char *b, int most) {
    int rows[3][LONGEST + 1];
    int length_a = (int)strlen(a), length_b = (int)strlen(b);
    if (length_a > LONGEST || length_b > LONGEST || length_a > length_b + most || length_b > length_a + most)
        return most + 1;
    for (int j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            row[j] =
                smaller_int(above[j - 1] + !same_letter(a[i - 1], b[j - 1]), smaller_int(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                row[j] = smaller_int(row[j], two_above[j - 2] + 1);
        }
    }
    return smaller_int(rows[length_a % 3][length_b], most + 1);
}

const char *spelling_nearest(const char *word, const char *const *candidates, int count) {
    int length = (int)strlen(word), most = length < 6 ? 1 : length / 3, best = most + 1;
    const char *nearest = NULL;
    for (int i = 0; i < count; i++) {
        int distance = spelling_distance(word, candidates[i], most);
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
