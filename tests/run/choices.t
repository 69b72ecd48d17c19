#!/bin/sh
# choices.t - what chooses between values by indices (concatenations, masks, values outside, the first step of a scan)
# and what turns dimensions over, with sizes that are known at run time only: right at all sizes, and nothing beyond is
# touched.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >body.tensor <<'END'
def beside(float(N, C) X, float(N, D) Z) -> (Y) {
    Y(n, j) = j < C ? (X(n, j) else 0) : (Z(n, j - C) else 0) where j in 0:C+D
}
def thrice(float(N, C) X, float(N, D) Z) -> (Y) {
    Y(n, j) = j < C ? (X(n, j) else 0) : (j < C+D ? (Z(n, j - C) else 0) : (X(n, j - C - D) else 0)) where j in 0:C+D+C
}
def below(float(N, C) X, float(N, D) Z) -> (Y) {
    Y(j, n) = j < C ? (X(n, j) else 0) : (Z(n, j - C) else 0) where j in 0:C+D, n in 0:N
}
def causal(float(N, C) X, float(N, D) Z) -> (Y) { Y(i, j) = j <= i ? X(i, j) * 2 : Z.1 + 0 }
def shifted(float(N, C) X, float(N, D) Z) -> (Y) { Y(i, j) = (X(i, j + D - 3) else -3) where i in 0:N, j in 0:C }
def transposed(float(N, C, D) X, float(N, D) Z) -> (Y) { Y(d, n, c) = X(n, c, d) }
def flipped(float(N, C, D) X, float(N, D) Z) -> (Y) { Y(n, d, c) = X(n, c, d) }
def summed(float(N, C) X, float(N, D) Z) -> (Y) { scan t { Y(n, t) = (Y(n, t - 1) else 0) + X(n, t) } }
def highest(float(N, C) X, float(N, D) Z) -> (Y) {
    scan t { Y(n, t) = max(X(n, t) * (t % 3 - 1), (Y(n, t - 1) else Z.1 + 0)) } }
def later(float(N, C) X, float(N, D) Z) -> (Y) {
    scan t { Y(n, t) = max((Y(n, t - 1) else 0) - X(n, t), (Y(n, t - 2) else 3)) where t in 0:C, n in 0:N }
}
END
names=$(sed -n 's/^def \([a-z]*\).*/\1/p' body.tensor)
{ cat body.tensor; for name in $names; do echo "export $name"; done; } >fast.tensor
{ cat body.tensor; for name in $names; do echo "export $name as plain_$name"; done; } >plain.tensor
{
    cat <<'END'
#include "fast.h"
#include "plain.h"
#include <stdio.h>
#include <string.h>
enum { ROOM = 17 * 50 * 50 };
static float x[ROOM], z[ROOM], y[2][ROOM + 64];
typedef int Function(int64_t, int64_t, int64_t, const float *, const float *, float *);
static const struct { const char *name; Function *fast, *plain; } functions[] = {
END
    for name in $names; do echo "    {\"$name\", $name, plain_$name},"; done
    cat <<'END'
};
int main(void) {
    static const int counts[] = {0, 1, 3, 4, 16, 17}, sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 50};
    int wrong = 0;
    for (int i = 0; i < ROOM; i++) x[i] = (float)(i + 1), z[i] = (float)-i;
    for (int n = 0; n < 6; n++)
        for (int c = 0; c < 15; c++)
            for (int d = 0; d < 15; d++)
                for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
                    memset(y, 1, sizeof y);
                    int status = functions[f].fast(counts[n], sizes[c], sizes[d], x, z, y[0]);
                    status |= functions[f].plain(counts[n], sizes[c], sizes[d], x, z, y[1]);
                    if ((status || memcmp(y[0], y[1], sizeof y[0])) && wrong++ < 5)
                        printf("%s of %d %d %d\n", functions[f].name, counts[n], sizes[c], sizes[d]);
                }
    return wrong != 0;
}
END
} >main.c
plain_and_fast
done_testing
