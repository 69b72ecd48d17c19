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
done_testing
