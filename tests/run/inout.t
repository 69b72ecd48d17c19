#!/bin/sh
# inout.t - results that begin with what the caller's buffer holds: right wherever and in whatever order it is read, at
# all -O; silent where the header says it, a warning where it does not; `inout` is a name everywhere else.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >in_place.tensor <<'END'
def axpy(float a, float(N) x) -> (inout float(N) y) { y(i) += a * x(i) }
def axpy_written_out(float a, float(N) x) -> (inout float(N) y) { y(i) = y(i) + a * x(i) }
def reversed() -> (inout float(N) y) { y(i) = y(N - 1 - i) where i in 0:N }
def shifted(float(N) x) -> (inout float(M) y) where M > N { y(i) = y(i + 1) + x(i) where i in 0:N }
def relative() -> (inout float(N) y) { top() max=! y(i)  y(i) = y(i) - top() }
def times_sum(float(N) x) -> (inout float(N) y) { y(i) +=! y(i) * x(k) where i in 0:N }
def running() -> (inout float(N) y) { scan t { y(t) = (y(t-1) else 0) + y(t) } }
def floored() -> (inout int32(N) y) { y(i) = 0 where y(i) < 0 }
def both(float(N) x) -> (inout float(N) y, z) { z(i) = y(i + 1) * 2 where i in 0:N - 1  y(i) += x(i) }
def backwards(float(N) x) -> (y) { y(i) = x(N - 1 - i) where i in 0:N }
def called() -> (inout float(N) y) { y = backwards(y) }
def both_of(float(N) a) -> (b, c) { b(i) = a(N - 1 - i) * 2 where i in 0:N  c(i) = a(i) + b(i) }
def read_after() -> (inout float(N) y, z) { y, z = both_of(y) }
def by_axpy(float(N) x) -> (inout float(N) y) { y = axpy(3.0, x) }
def two_times(float(N) x) -> (inout float(N) y, inout float(N) z) {
    y = by_axpy(x)
    z = by_axpy(y)
    y = axpy(0.5, z)
}
def by_tensors(float(N) x) -> (y) {
    t(i) = x(N - 1 - i) where i in 0:N
    t = axpy(2.0, x)
    y(i) = t(i) + t(N - 1 - i) where i in 0:N
}
def itself_too() -> (inout float(N) y) { y = axpy(2.0, y) }
def twice(float(N) x) -> (inout float(N) y) { y(i) += x(i)  y(i) = y(i) * y(N - 1 - i) where i in 0:N }
def counted(uint8(N) b) -> (inout int32(256) h) { h(b(i)) += 1 }
def found(float(M) x) -> (inout int32(N) at, z) { z(i) = x(at(i))  at(i) = at(i) - 1 }
combiner larger(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
def best_of(float(N, M) x) -> (inout float(N) v, inout int32(N) at) { v(n), at(n) larger= (x(n, m) + v(n), m) }
END
names=$(sed -n 's/^def \([a-z_]*\).*/\1/p' in_place.tensor | grep -v -e backwards -e both_of)
for name in $names; do echo "export $name"; done >>in_place.tensor
runs "compiles" "$TENSORC" -Wall -Werror -c --threads=1 in_place.tensor -o in_place.o --header in_place.h
is "$(cat err)" "" "without a warning"
is "$(grep -c '   y: read and written, float(N)$' in_place.h)" 13 "the header says what is read and written"
like "$(cat in_place.h)" '^int axpy\(int64_t N, float a, const float \*x, float \*y\);' "among the outputs"
for level in 0 1 2; do
    for size in 1 2 9 64; do
        runs "as interpreted, -O$level N=$size" "$TENSORC" -run -O$level -DN=$size -DM=$((size + 3)) in_place.tensor
    done
done

cat >main.c <<'END'
#include "in_place.h"
int main(void) {
    enum { N = 7 };
    float x[N], y[N], z[N - 1], flip[N], sums[N];
    for (int i = 0; i < N; i++)
        x[i] = i, y[i] = 10 * i, flip[i] = i, sums[i] = 1;
    if (axpy(N, 2, x, y) || reversed(N, flip) || running(N, sums))
        return 1;
    for (int i = 0; i < N; i++)
        if (y[i] != 12 * i || flip[i] != N - 1 - i || sums[i] != i + 1)
            return 2;
    if (both(N, x, y, z))
        return 3;
    for (int i = 0; i < N; i++)
        if (y[i] != 13 * i || (i < N - 1 && z[i] != 24 * (i + 1)))
            return 4;
    return 0;
}
END
ok "links" $CC -o main main.c in_place.o -lm
ok "a program sees its buffers changed" ./main

# What the caller left is read before the first loop that overwrites it, which may be that of the initialisation.
cat >begun.tensor <<'EOF'
def f(int16(M) a) -> (inout int32(K) y) {
    y(2 * r_s) max=! y(1) * a(r_s)
    y(i) += r_a where i in 0:K, r_a in 0:2
}
export f(M=2, K=3)
schedule f on x86 {
    begin = decompose(y, y.i)
    compute_at(y[0], begin.i)
}
EOF
exits 1 "another element cannot be read in the loops of the initialisation" "$TENSORC" -c begun.tensor -o begun.o
like "$(cat err)" "reads what the caller.s buffer of y held where the nest of begin overwrites it" "says the error"
sed '/compute_at/d' begun.tensor >before.tensor
runs "before them it can" "$TENSORC" -run before.tensor

printf '%s\n' 'def inout(float inout, float(N) on) -> (y) { y(i) = on(i) * inout }' \
    'def result(float(N) x) -> (inout) { inout(i) = x(i) }' \
    'def typed(float(N) x) -> (float(N) inout) { inout(i) = x(i) }' \
    'export inout(N=5) as a_name' 'export result(N=5)' 'export typed(N=5)' >name.tensor
runs "inout is a name elsewhere" "$TENSORC" -run -Wall -Werror name.tensor

echo 'def f(float(N) x) -> (float(N) y) { y(i) += x(i) }' >silent.tensor
runs "a result that is added to" "$TENSORC" -fsyntax-only silent.tensor
like "$(cat err)" 'warning: this reads what the caller left' "is warned of where the header does not say it"
like "$(cat err)" 'hint: .*the header says it: inout float\(N\) y$' "and what the header would say"
done_testing
