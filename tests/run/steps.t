#!/bin/sh
# steps.t - scans of which the last steps alone are read in the end: what they keep is that of these steps, right for
# all numbers of steps and rows.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >body.tensor <<'END'
def last(float(T, N) x) -> (y) { scan t { p(t, n) = (p(t-1, n) else 1) / 2 + x(t, n) }  y(n) = p(T - 1, n) }
def power(float(T, N) x) -> (y) {
    scan t { p(t, n) = (p(t-1, n) else 0) * 2 + x(0, n) where t in 0:T, exists x(0, n) }
        y(n) = p(T - 1, n) }
def along(float(T, N) x) -> (y) { scan t { p(n, t) = max((p(n, t-1) else -3), x(t, n)) }  y(n) = p(n, T - 1) * 2 }
def pairs(float(T, N) x) -> (y) {
    scan t { p(t, n) = (p(t-1, n) else 1) - (p(t-2, n) else 2) + x(t, n) }
    y(n) = p(T - 1, n) + (p(T - 2, n) else 0)
}
def first(float(T, N) x) -> (y) { scan t { p(t, n) = (p(t-1, n) else 1) / 2 + x(t, n) }  y(n) = p(T - 1, n) + p(0, n) }
def whole(float(T, N) x) -> (y) { scan t { p(t, n) = (p(t-1, n) else 1) / 2 + x(t, n) }  y(n) max=! p(t, n) }
def states(float(T, N) x) -> (y) {
    scan t {
        a(t, n) = (h(t-1, n) else 0) + x(t, n)
        c(t, n) = (c(t-1, n) else 1) - a(t, n)
        h(t, n) = c(t, n) / 2 + a(t, n)
    }
    y(n) = h(T - 1, n) - c(T - 1, n)
}
def mixed(float(T, N) x) -> (y) {
    scan t {
        s(t) +=! (p(t-1, n) else 0) * x(t, n)
        p(t, n) = x(t, n) % 3 - s(t) % 2
    }
    y(n) = p(T - 1, n)
}
def several(float(T, N) x) -> (y) {
    scan t {
        a(n, t) = max((a(n, t-1) else -9), x(t, n) * (t % 3 - 1)) - (b(n, t-1) else 1)
        b(n, t) = (b(n, t-1) else 4) % 7 + (a(n, t-1) else 2) % 5
        y(n, t) = a(n, t) + b(n, t) + (y(n, t-1) else 4) % 3
    }
}
def alone(double(T, N) x) -> (y, w, int32(T) k) {
    scan t {
        y(t) = max((y(t-1) else 0), x(t, 0) * (t % 3 - 1)) - (w(t-1) else 1) + (k(t-1) else 0)
        w(t) = (w(t-1) else 2) % 7 + (y(t-1) else 3) % 5 + min(x(t, 0), (w(t-1) else 1))
        k(t) = t == 2 ? 5 : (k(t-1) else 1) % 9 + (k(t-2) else 3)
    }
}
def parts(float(T, N) x) -> (y) {
    scan t {
        p(t, n) = x(t, n)
        p(t, n) = p(t-1, n) + p(t-2, n) where t in 2:T
    }
    y(n) = p(T - 1, n)
}
def shifted(float(T, N) x) -> (y) { scan t { p(t, n) = (p(t-1, n-1) else 1) / 2 + x(t, n) }  y(n) = p(T - 1, n) }
def chosen(float(T, N) x) -> (y) {
    scan t { p(t, n) = x(t, n) > 3 ? x(t, n) : t == 2 ? 7.0 : (p(t-1, n) else 5) }
    y(n) = p(T - 1, n)
}
END
for shape in '3 1' '2 20' '2 1' '3 16' '4 17' '5 64' '9 33' '33 5' '2 300'; do
    for threads in 1 2; do
        runs "$shape, threads: $threads" "$TENSORC" -run --threads=$threads -DT="${shape% *}" -DN="${shape#* }" \
            body.tensor
    done
    runs "$shape without a schedule" "$TENSORC" -run -O0 -DT="${shape% *}" -DN="${shape#* }" body.tensor
done

# Of sizes that are known at run time only, against loops in C.
cat >sizes.tensor <<'END'
def last(float(T, N) x) -> (y) { scan t { p(t, n) = (p(t-1, n) else 1) / 2 + x(t, n) }  y(n) = p(T - 1, n) }
def pairs(float(T, N) x) -> (y) {
    scan t { p(t, n) = (p(t-1, n) else 1) - (p(t-2, n) else 2) + x(t, n) }
    y(n) = p(T - 1, n) + (p(T - 2, n) else 0)
}
export last
export pairs
END
cat >main.c <<'END'
#include "sizes.h"
#include <stdio.h>
enum { ROOM = 40 * 100 };
static float x[ROOM], y[ROOM];
static float before(const float *p, int t, int by, float otherwise) { return t < by ? otherwise : p[t - by]; }
int main(void) {
    static const int steps[] = {1, 2, 3, 4, 7, 8, 31, 40}, rows[] = {0, 1, 3, 15, 16, 17, 33, 63, 64, 65, 100};
    float p[2][40];
    int wrong = 0;
    for (int i = 0; i < ROOM; i++) x[i] = (float)(i % 37) - 11;
    for (int s = 0; s < 8; s++)
        for (int r = 0; r < 11; r++)
            for (int kind = 0; kind < 2; kind++) {
                int count = steps[s], n = rows[r];
                wrong += (kind ? pairs : last)(count, n, x, y) != 0;
                for (int i = 0; i < n; i++) {
                    for (int t = 0; t < count; t++) {
                        p[0][t] = before(p[0], t, 1, 1) / 2 + x[t * n + i];
                        p[1][t] = before(p[1], t, 1, 1) - before(p[1], t, 2, 2) + x[t * n + i];
                    }
                    float want = p[kind][count - 1] + (kind ? before(p[1], count - 1, 1, 0) : 0);
                    if (y[i] != want && wrong++ < 5)
                        printf("%d steps of %d: %g, not %g\n", count, n, y[i], want);
                }
            }
    return wrong != 0;
}
END
for target in $(targets_here); do
    runs "compiles, $target" "$TENSORC" -c --threads=1 --target=$target sizes.tensor -o sizes.o --header sizes.h
    ok "links, $target" $CC -O1 -ffp-contract=off -o main main.c sizes.o -lm
    runs "right at all sizes, $target" ./main
done

# kernel PROGRAM: what it is lowered to.
kernel() {
    echo "$1" >f.tensor
    "$TENSORC" -emit-ir --target=x86-64-v4 --threads=1 f.tensor -o f.ir
    cat f.ir
}
like "$(kernel "$(sed -n '/^def last/p' body.tensor) export last(T=64, N=256)")" 'p_2\(1, 256\)|p\(1, 256\)' \
    "one step is kept"
unlike "$(kernel "$(sed -n '/^def last/p' body.tensor) export last(T=64, N=256)")" ' p(_2)?\(.*t' \
    "and stored after the last"
like "$(kernel "$(sed -n '/^def pairs/,/^}/p' body.tensor) export pairs(T=64, N=256)")" 'p(_[0-9])?\(4, 256\)' \
    "three, of four"
like "$(kernel "$(sed -n '/^def first/p' body.tensor) export first(T=64, N=256)")" 'p\(64, 256\)' \
    "all where the first is read"
like "$(kernel "$(sed -n '/^def whole/p' body.tensor) export whole(T=64, N=256)")" 'p\(64, 256\)' \
    "all where all are read"
done_testing
