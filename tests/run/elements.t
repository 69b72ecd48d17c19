#!/bin/sh
# elements.t - what is computed element by element and read more than once: with its reader, in its vectors; right at
# all sizes, and nothing beyond is touched.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# Quotients are too expensive to be computed twice, and exact here.
cat >body.tensor <<'END'
def line(float(N, C) X, float(N) Z) -> (Y) { d(n) = Z(n) / 4  Y(n) = d(n) * 3 + d(n) }
def plane(float(N, C) X, float(N) Z) -> (Y) { d(n, c) = X(n, c) / 4  Y(n, c) = d(n, c) * 3 + d(n, c) }
def chain(float(N, C) X, float(N) Z) -> (Y) {
    d(n, c) = X(n, c) / 4
    e(n, c) = d(n, c) / 2 - d(n, c)
    f(n, c) = e(n, c) / 8 + d(n, c) - e(n, c)
    Y(n, c) = f(n, c) + e(n, c) / 2 + f(n, c) * 3
}
def scaled(float(N, C) X, float(N) Z) -> (Y) { d(n, c) = X(n, c) / 4 - Z(n)  Y(n, c) = d(n, c) * 3 + d(n, c) }
def transposed(float(N, C) X, float(N) Z) -> (Y) { d(c, n) = X(n, c) / 4  Y(c, n) = d(c, n) * 3 + d(c, n) }
def chosen(float(N, C) X, float(N) Z) -> (Y) {
    d(n, c) = X(n, c) / 4
    Y(n, c) = d(n, c) > 5 ? d(n, c) * 2 : d(n, c) - c
}
def beside(float(N, C) X, float(N) Z) -> (Y) { d(n, c) = X(n, c) / 4  Y(n, c) = d(n, c) * 3 + (d(n, c - 1) else 0) }
def bytes(float(N, C) X, float(N) Z) -> (Y) {
    d(n, c) = uint8(int32(X(n, c)) % 100) / uint8(3)
    Y(n, c) = float(d(n, c) * d(n, c) + uint8(1))
}
def squares(float(N, C) X, float(N) Z) -> (Y) { d(n, c) = X(n, c) % 7 / 4  Y(n) +=! d(n, c) * d(n, c) + d(n, c) }
def bent(float(N, C) X, float(N) Z) -> (Y) { d(c, n) = X(n, c) % 7 / 4  Y(n) +=! d(c, n) * d(c, n) }
def again(float(N, C) X, float(N) Z) -> (Y) { d(n) = Z(n) % 7 / 4  Y(n) +=! d(n) * X(n, c) % 3 }
def halves(float(N, C) X, float(N) Z) -> (Y) { Y(n, c) = c % 2 == 0 ? X(n, c / 2) : X(n, c / 2) * 3 - 1 where c in 0:C }
def thirds(float(N, C) X, float(N) Z) -> (Y) { Y(n, c) = X(n, c / 3) + X(n, (c + 1) / 2) where c in 0:C }
def wide(float(N, C) X, float(N) Z) -> (Y) { d(n, c) = double(X(n, c)) / 4  Y(n, c) = float(d(n, c) * 3 + d(n, c)) }
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
enum { ROOM = 70 * 70 };
static float x[ROOM], z[ROOM], y[2][ROOM + 64];
typedef int Function(int64_t, int64_t, const float *, const float *, float *);
static const struct { const char *name; Function *fast, *plain; } functions[] = {
END
    for name in $names; do echo "    {\"$name\", $name, plain_$name},"; done
    cat <<'END'
};
int main(void) {
    static const int sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 67};
    int wrong = 0;
    for (int i = 0; i < ROOM; i++) x[i] = (float)(i % 251), z[i] = (float)-i;
    for (int n = 0; n < 18; n++)
        for (int c = 0; c < 18; c++)
            for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
                memset(y, 1, sizeof y);
                int status = functions[f].fast(sizes[n], sizes[c], x, z, y[0]);
                status |= functions[f].plain(sizes[n], sizes[c], x, z, y[1]);
                if ((status || memcmp(y[0], y[1], sizeof y[0])) && wrong++ < 5)
                    printf("%s of %d %d\n", functions[f].name, sizes[n], sizes[c]);
            }
    return wrong != 0;
}
END
} >main.c
plain_and_fast
sed '/^def bytes/,/^}/d' body.tensor >known.tensor
for shape in '0 5' '1 1' '7 3' '100 3' '15 16' '16 17' '33 31' '5 97'; do
    runs "of $shape" "$TENSORC" -run --threads=1 -DN="${shape% *}" -DC="${shape#* }" known.tensor
done

# chosen PROGRAM: the statements of its schedule, in one line.
chosen() {
    echo "$1" >f.tensor
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 --emit-schedule=- -c f.tensor -o f.o 2>&1 | tr '\n' ' '
}
for sizes in '' '(N=1000)'; do
    like "$(chosen "def f(float(N) s) -> (c) {
        d(n) = log(s(n))  e(n) = exp(d(n)) / d(n)  c(n) = e(n) * d(n) - e(n) } export f$sizes")" \
        'vectorize.*compute_at\(e, .*register\).*vectorize.*compute_at\(d, .*register\).*vectorize' \
        "vectors in registers ${sizes:-at run time}"
done
for sizes in '' '(N=1000, M=3)'; do
    like "$(chosen "def f(float(N, M) s) -> (c) {
        d(n, m) = log(s(n, m))  c(n, m) = exp(d(n, m)) * d(n, m) } export f$sizes")" \
        'inline\(d\).*fuse\(c.n, c.m\).*vectorize' "rows that do not fill vectors are one ${sizes:-at run time}"
done
like "$(chosen 'def f(float(N, M) s) -> (c) { d(n, m) = log(s(n, m))  c(n) +=! exp(d(n, m)) * d(n, m) } export f')" \
    'inline\(d\).*rfactor' "in a reduction, where it is read for one element of it alone"
unlike "$(chosen 'def f(float(N, M) s) -> (c) { d(n) = log(s(n, 0))  c(n) +=! s(n, m) * d(n) } export f')" \
    'inline\(d\)' "not where a reduction reads it again for others"
like "$(chosen 'def f(float(N, M) s) -> (c) {
    a(n) +=! s(n, m)  d(n, m) = log(s(n, m) - a(n))  c(n, m) = exp(d(n, m)) * d(n, m) }
    export f(N=100, M=300)')" 'compute_at\(d, n_block\)' "not where rows are reduced as well"
done_testing
