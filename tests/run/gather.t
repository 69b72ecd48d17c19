#!/bin/sh
# Gathering in lanes: what a mask leaves out touches no memory, whatever its index, for elements of every size.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

for type in int8 uint16 int32 double; do
    cat <<END
def zero_$type($type(N) A, int64(M) I) -> (O) { O(i) = A(I(i)) else $type(0) }
def seven_$type($type(N) A, int64(M) I) -> (O) { O(i) = A(I(i)) else $type(7) }
export zero_$type
export seven_$type(M=37)
schedule zero_$type on x86 { o, l = split(O.i, 16)  vectorize(l) }
schedule seven_$type on x86 { o, l = split(O.i, 8)  vectorize(l) }
END
done >gather.tensor
cat >main.c <<'END'
#include "gather.h"
#include <stdio.h>
enum { N = 5, M = 37 };
#define CHECK(TYPE, NAME)                                                                                              \
    do {                                                                                                               \
        TYPE A[N], zero[M], seven[M];                                                                                  \
        for (int i = 0; i < N; i++)                                                                                    \
            A[i] = (TYPE)(i + 1);                                                                                      \
        int status = zero_##NAME(N, M, A, I, zero) | seven_##NAME(N, A, I, seven);                                     \
        for (int i = 0; i < M; i++) {                                                                                  \
            int inside = I[i] >= 0 && I[i] < N;                                                                        \
            status |= zero[i] != (TYPE)(inside ? I[i] + 1 : 0) || seven[i] != (TYPE)(inside ? I[i] + 1 : 7);           \
        }                                                                                                              \
        printf("%d", status);                                                                                          \
    } while (0)
int main(void) {
    int64_t I[M];
    for (int i = 0; i < M; i++)
        I[i] = i % 3 == 0 ? i % N : i % 3 == 1 ? INT64_C(1) << 40 : -(INT64_C(1) << 41);
    CHECK(int8_t, int8);
    CHECK(uint16_t, uint16);
    CHECK(int32_t, int32);
    CHECK(double, double);
    return 0;
}
END
# on TARGET FLAG: the processors that run the target have the flag.
on() {
    runs "compiles for $1" "$TENSORC" -w --target="$1" -c gather.tensor -o gather.o --header gather.h
    if ! grep -qw "$2" /proc/cpuinfo 2>/dev/null; then skip "this processor has no $2" 2; return; fi
    runs "links" $CC -std=c11 -I. -I"$srcdir" main.c gather.o -o application -fopenmp -lm
    is "$(./application 2>&1)" "0000" "only lanes inside are read on $1"
}
on x86-64-v2 sse4_2
on x86-64-v3 avx2
on x86-64-v4 avx512vl

# The second comparison of a check reads what the first has read: it needs no guard, which each read in it would carry.
deep() { awk -v n="$1" 'BEGIN {
    for (at = "i"; n > 0; n--) at = "A(" at ")"
    print "def f(int32(N) A, float(N) x) -> (y) { y(i) = x(" at ") where i in 0:N }\nexport f" }'; }
deep 12 >deep.tensor
capture "$TENSORC" -w --target=x86-64-v3 -emit-ir -o deep.ir deep.tensor
is "$(grep -c 'check .*A(\[i, 0\])' deep.ir) $(grep 'check .*A(\[i, 0\]).*status 2' deep.ir | grep -c where)" "11 0" \
    "checks of gathers in gathers have no guards"
deep 150 >deeper.tensor
capture "$TENSORC" -w --target=x86-64-v3 -emit-ir -o deeper.ir deeper.tensor
is "$status $(($(wc -c <deeper.ir) < 2000000))" "0 1" \
    "a hundred and fifty gathers in each other: their code grows by the square"

# Tensors that do not count from 0: what the header asks of an index, and what -run gives it.
cat >from.tensor <<'END'
def from_two(float(N) a, int32(K) ix) -> (y) { t(j) = a(j - 2) where j in 2:N + 2  y(k) = t(ix(k)) }
def from_before(float(N) a, int32(K) ix) -> (y) { t(j) = a(j + 1) where j in -1:N - 1  y(k) = t(ix(k)) }
def to_one(float(N) a, int32(N) ix) -> (y) { y(j) = float(0) where j in 1:N + 1  y(ix(i)) += a(i) }
END
"$TENSORC" -w -c from.tensor -o from.o --header from.h
is "$(sed -n 's/^ \* Requires \(.*ix.*\)\.$/\1/p' from.h | tr '\n' ';')" \
    "2 <= ix(k) < N + 2;-1 <= ix(k) < N - 1;1 <= ix(i) < N + 1;" "indices are asked for as the source counts them"
runs "and -run has such contents" "$TENSORC" -w -run -DN=5 -DK=300 from.tensor

# An index on several lines with comments, in a file whose name is no plain text.
printf 'def f(float(N) x, int32(M) ids) -> (y) {\n    y(i) = x(ids(i)   # a comment */ \\\n        + 1)\n}\n' >'a
\b.tensor'
runs "a header of a file with a name of two lines" "$TENSORC" -c 'a
\b.tensor' -o lines.o --header lines.h
is "$(sed -n 's/.*Requires \(.*ids.*\)\.$/\1/p' lines.h)" "0 <= ids(i) + 1 < N" "says what it asks on one line"
like "$(head -1 lines.h)" '^/\* Made by tensorc from a\\x0A\\b\.tensor\.$' "and escapes with their backslashes"
ok "and is C without warnings" "$CC" -Wall -Wextra -Werror -fsyntax-only -x c lines.h

done_testing
