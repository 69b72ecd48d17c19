#!/bin/sh
# Scattering in objects: an index outside refuses the call before anything is written, or its term is left out.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >scatter.tensor <<'END'
def add(float(N, D) X, int32(N) ids) -> (float(V, D) O) { O(ids(n), d) += X(n, d) where ids(n) != -9 }
export add(N=4, D=5, V=3)
def triangle(float(N, N) X, float(N) y) -> (z) { z(i) +=! X(i, j) * y(j) where j in 0:i+1 }
export triangle(N=9)
END
cat >main.c <<'END'
#include "scatter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    float X[4 * 5], O[3 * 5], L[9 * 9], y[9], z[9], sum = 0, triangle_sum = 0;
    int32_t ids[4] = {2, 0, count > 1 ? atoi(arguments[1]) : 2, 2};
    for (int i = 0; i < 20; i++)
        X[i] = 1;
    for (int i = 0; i < 15; i++)
        O[i] = 100;
    for (int i = 0; i < 81; i++)
        L[i] = i % 9 > i / 9 ? NAN : 1; /* above the diagonal nothing is read */
    for (int i = 0; i < 9; i++)
        y[i] = 1;
    int status = add(X, ids, O), other = triangle(L, y, z);
    for (int i = 0; i < 15; i++)
        sum += O[i];
    for (int i = 0; i < 9; i++)
        triangle_sum += z[i];
    printf("%d %g %g %g %d %g\n", status, sum, O[0], O[10], other, triangle_sum);
    return 0;
}
END

# build OPTIONS...: leaves ./application.
build() {
    runs "tensorc $*" "$TENSORC" -w "$@" -c scatter.tensor -o scatter.o --header scatter.h
    runs "links" $CC -std=c11 -I. -I"$srcdir" main.c scatter.o -o application -fopenmp -lm
}
for level in -O0 -O2; do
    build $level
    is "$(./application)" "0 1520 101 103 0 45" "terms are added to what is there at $level"
    is "$(./application 3)" "2 1500 100 100 0 45" "an index too large: nothing is written at $level"
    is "$(./application -1)" "2 1500 100 100 0 45" "an index below 0: nothing is written at $level"
    is "$(./application -9)" "0 1515 101 102 0 45" "a term that the predicate leaves out is not checked at $level"
    build $level -funchecked-gather
    is "$(./application 3)" "0 1515 101 102 0 45" "unchecked at $level: the term is left out"
    is "$(./application -2147483648)" "0 1515 101 102 0 45" "unchecked at $level: far outside too"
done

done_testing
