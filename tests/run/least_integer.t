#!/bin/sh
# least_integer.t - -9223372036854775808, which is no minus before an integer of 64 bits: as a value, in operations and
# as an identity, compiled and in the interpreter.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >least.tensor <<'END'
combiner most(int64 v; int64 w) associative commutative identity (-9223372036854775808) { max(v, w) }
def least(int64(N) x) -> (a, b, c, d, e) {
    a(i) = -9223372036854775808 where i in 0:N
    b(i) = x(i) + int64(-9223372036854775808)
    c(i) = max(x(i), -0x8000000000000000) - -9223372036854775808 / 2
    d() most=! x(i)
    e() = double(-9223372036854775808)
}
export least
END
cat >main.c <<'END'
#include "least.h"
#include <stdio.h>
int main(void) {
    int64_t x[3] = {0, -5, INT64_MIN}, a[3], b[3], c[3], d;
    double e;
    if (least(3, x, a, b, c, &d, &e))
        return 1;
    printf("%d %d %d %d %d\n", a[2] == INT64_MIN, b[0] == INT64_MIN && b[1] == INT64_MAX - 4 && b[2] == 0,
           c[1] == (INT64_C(1) << 62) - 5 && c[2] == -(INT64_C(1) << 62), d == 0, e == -9223372036854775808.0);
    return 0;
}
END
runs "it compiles" "$TENSORC" -c least.tensor -o least.o --header=least.h
runs "with a main" "$CC" -o least main.c least.o -lm -lpthread
runs "it runs" ./least
is "$(cat out)" "1 1 1 1 1" "with these values"
sed -i 's/^export.*/export least(N=9)/' least.tensor
runs "the interpreter agrees" "$TENSORC" -run least.tensor
done_testing
