#!/bin/sh
# conditions.t - def f(...) -> (...) where ...: what a function asks of its sizes before it does anything.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >conditions.tensor <<'END'
def halves(float(N) A) -> (B) where N % 2 == 0, N != 6 { B(i) = A(2*i) + A(2*i + 1) where i in 0:N/2 }
def first(float(N) A, float(M) B) -> (C) where M <= N { C(i) = A(i) + B(i) where i in 0:M }
def quarters(float(N) A) -> (C) {
    B = halves(A)
    C = halves(B)
}
export halves
export first
export quarters
END
cat >main.c <<'END'
#include "conditions.h"
#include <stdio.h>
int main(void) {
    float a[16], b[16], wrong = 0;
    for (int i = 0; i < 16; i++) a[i] = (float)i;
    for (int n = 0; n <= 16; n++) {
        b[0] = -1;
        int good = n % 2 == 0 && n != 6;
        wrong += halves(n, a, b) != (good ? TENSORC_OK : TENSORC_BAD_SIZE);
        wrong += b[0] != (good && n ? 1.0f : -1.0f);
        good = n % 4 == 0 && n != 12;
        b[0] = -1;
        wrong += quarters(n, a, b) != (good ? TENSORC_OK : TENSORC_BAD_SIZE);
        wrong += b[0] != (good && n ? 6.0f : -1.0f);
        for (int m = 0; m <= 16; m++) wrong += first(n, m, a, a, b) != (m <= n ? TENSORC_OK : TENSORC_BAD_SIZE);
    }
    printf("%g wrong\n", (double)wrong);
    return 0;
}
END
runs "compiles" "$TENSORC" -c conditions.tensor -o conditions.o --header conditions.h
runs "links" $CC -std=c11 -I. main.c conditions.o -o application -fopenmp -lm
is "$(./application)" "0 wrong" "sizes that do not fit are refused, and nothing is written"
is "$(grep -c 'Requires N % 2 == 0' conditions.h)" 2 "the header says so, of calls too"
is "$(sed -n '/^int halves/,/^int first/p' conditions.h | grep -c 'Requires M')" 1 \
    "what is required is known where accesses are proved"
runs "runs" "$TENSORC" -run conditions.tensor -DN=16 -DM=7
exits 1 "is refused" "$TENSORC" -run conditions.tensor -DN=15 -DM=7
like "$(cat "$work/err")" "'halves' does not allow these sizes: it needs N % 2 == 0" "with the condition"

# An algorithm is taken where the def that it stands for is known to be for the sizes.
cat >algorithm.tensor <<'END'
def sums(float(N) A) -> (B) where N % 2 == 0 { B(i) = A(i) + 1 }
def other(float(N) A) -> (B) implements sums where N > 0 { B(i) = 1 + A(i) }
export sums
export sums(N=4) as four
schedule four on x86 { algorithm(other) }
END
runs "an algorithm of a def with conditions" "$TENSORC" -run algorithm.tensor -DN=8
sed 's/schedule four/schedule sums/' algorithm.tensor >unknown.tensor
exits 1 "is not taken where they are not known" "$TENSORC" -c unknown.tensor -o unknown.o

# Each requirement once, with the least coefficients; what always holds is none.
cat >least.tensor <<'END'
def split[G=1](float(C) x) -> (y) where C % G == 0, 2*C >= 1, 0 < C, C >= 1 { y(i) = x(i) }
def ends(float(2*M) x, float(M) w) -> (y, z) {
    y(i) = w(i) + x(i) where i in 0:1
    z(i) = w(i) where i in 0:1
}
def doubled(float(H) a, float(K) b, float(M) c) -> (y)
    where 4*H == 6*K, 3*K == 2*H, H + K >= 2*M, M + M <= K + H { y(i) = a(i) }
def every_other(float(M) x) -> (y) { y(i) = x(2*i) where i in 0:(M + 1)/2 }
def pairs(float(2*M) x) -> (float(M) y) { y(i) = x(2*i) + x(2*i + 1) }
def steps(float(M + 1) x) -> (float(M) y) { y(i) = x(i + 1) - x(i) }
def grid(float(M*N) x, float(N) w) -> (float(M, N) y) { y(i, j) = x(i*N + j) * w(j) }
def paired(float(P) x) -> (y) { y = pairs(x) }
def second(float(P) x) -> (y) { y = steps(steps(x)) }
def gridded(float(P) x, float(Q) w) -> (y) { y = grid(x, w) }
END
# required DEF: by its header, but for how large each size may be.
required() {
    "$TENSORC" -c least.tensor -o least.o --header least.h &&
        sed -n "/^\/\* $1/,/^ \*\//p" least.h | sed -n 's/^ \* Requires \(.*\)\.$/\1/p' | grep -v '^0 <= ' | tr '\n' ';'
}
is "$(required split)" "1 <= C;" "conditions that mean the same are one, and no remainder of 1 is asked for"
is "$(required ends)" "1 <= M;" "accesses that need the same of a size"
is "$(required doubled)" "2 * H == 3 * K;H + K >= 2 * M;" "equations, and terms in another order"
is "$(required every_other)" "" "a part of an argument has no more bytes than the argument"
is "$(required paired)" "P to be a multiple of 2;" "a division without a rest in words"
is "$(required second)" "P - 2 >= 0;" "what follows from another requirement is none"
like "$(required gridded)" "^P to be a multiple of Q;" "a rest of a size"
echo 'def odd(float(H) a, float(K) b) -> (y) where 2*H == 2*K + 1 { y(i) = a(i) }' >never.tensor
exits 1 "what no sizes fulfil is an error" "$TENSORC" -fsyntax-only never.tensor
like "$(cat "$work/err")" "'odd' does not allow these sizes: it needs 2 \* H == 2 \* K \+ 1" "with the condition"

# --- i != 0 of i in 0:N is i >= 1
cat >unequal.tensor <<'END'
def first(float(N) a) -> (y) { y(i) = i == 0 ? 0.0 : a(i - 1) where i in 0:N }
def last(float(N) a) -> (y) { y(i) = i != N ? a(i) : 0.0 where i in 0:N + 1 }
def both(float(N) a) -> (y) { y(i) = i != 0 && i != N - 1 ? a(i - 1) + a(i + 1) : a(i) where i in 0:N }
def either(float(N) a) -> (y) { y(i) = i == 0 || i == N - 1 ? a(i) : a(i - 1) + a(i + 1) where i in 0:N }
def sums(float(N) x) -> (t) { scan s { t(s) = s == 0 ? x(s) : t(s - 1) + x(s) where s in 0:N } }
END
for n in 0 1 2 7 33; do
    runs "ends that conditions leave out, of $n" "$TENSORC" -w -run -DN=$n unequal.tensor
done
"$TENSORC" -w -c unequal.tensor -o unequal.o --header unequal.h
is "$(grep -c 'Requires' unequal.h)" "$(grep -c 'Requires 0 <= N' unequal.h)" "and nothing is asked of sizes"
echo 'def inner(float(N) a) -> (y) { y(i) = i == 1 ? 0.0 : a(i - 1) where i in 0:N }' >inner.tensor
exits 1 "a value between the ends proves nothing" "$TENSORC" -fsyntax-only inner.tensor
done_testing
