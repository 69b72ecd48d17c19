#!/bin/sh
# Parameters that are defs: a block with one is the same program as the block written out, wherever the name comes from.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >library.tensor <<'END'
def halved(float(N, D) x) -> (y) { y(n, d) = x(n, d) / 2 }
def act(float(N, D) x) -> (y) { y(n, d) = x(n, d) + 1000 }
def apply[S=1, def act=halved](float(N, D) x) -> (y) {
    t = act(x)
    y(n, d) = S * t(n, d) + t(n, 0)
}
def pair[def first, def second=first](float(N, D) x) -> (y) { y = second(apply[act=first](x)) }
END
cat >passed.tensor <<'END'
import "library"
def halved(float(N, D) x) -> (y) { y(n, d) = x(n, d) * 100 }
def squared(float(N, D) x) -> (y) { y(n, d) = x(n, d) * x(n, d) }
def weighted[S=3](float(N, D) x) -> (y) { y(n, d) = x(n, d) * S }
def gates[def gate](float(N, D) x, float factor) -> (y) { y = gate(x, x, 2 * factor) }
def scaled(float(N, D) x, float(N, D) z, float factor) -> (y) { y(n, d) = (x(n, d) + z(n, d)) * factor }
def whole(float(N, D) x) -> (y) { y = apply[act=squared](apply[S=2, act=weighted](x)) }
export apply(N=5, D=33) as p_default
export apply[act=squared, S=4](N=5, D=33) as p_squared
export apply(act=halved, N=5, D=33) as p_own
export pair[first=squared](N=5, D=33) as p_pair
export pair[first=squared, second=weighted] as p_both
export gates[gate=scaled](N=5, D=33) as p_gates
export whole(N=5, D=33) as p_whole
END
cat >written.tensor <<'END'
def p_default(float(N, D) x) -> (y) { y(n, d) = x(n, d) / 2 + x(n, 0) / 2 }
def p_squared(float(N, D) x) -> (y) { y(n, d) = 4 * (x(n, d) * x(n, d)) + x(n, 0) * x(n, 0) }
def p_own(float(N, D) x) -> (y) { y(n, d) = x(n, d) * 100 + x(n, 0) * 100 }
def p_pair(float(N, D) x) -> (y) {
    t(n, d) = x(n, d) * x(n, d) + x(n, 0) * x(n, 0)
    y(n, d) = t(n, d) * t(n, d)
}
def p_both(float(N, D) x) -> (y) { y(n, d) = (x(n, d) * x(n, d) + x(n, 0) * x(n, 0)) * 3 }
def p_gates(float(N, D) x, float factor) -> (y) { y(n, d) = (x(n, d) + x(n, d)) * (2 * factor) }
def p_whole(float(N, D) x) -> (y) {
    t(n, d) = 2 * (x(n, d) * 3) + x(n, 0) * 3
    y(n, d) = t(n, d) * t(n, d) + t(n, 0) * t(n, 0)
}
export p_default(N=5, D=33) as w_default
export p_squared(N=5, D=33) as w_squared
export p_own(N=5, D=33) as w_own
export p_pair(N=5, D=33) as w_pair
export p_both as w_both
export p_gates(N=5, D=33) as w_gates
export p_whole(N=5, D=33) as w_whole
END
cat >main.c <<'END'
#include "passed.h"
#include "written.h"
#include <stdio.h>
#include <string.h>
enum { N = 5, D = 33, ALL = N * D };
static float x[ALL], passed[ALL], written[ALL];
static int wrong;
static void compare(const char *name, int status) {
    if (status || memcmp(passed, written, sizeof passed)) {
        printf("%s differs: %g, %g\n", name, passed[40], written[40]);
        wrong = 1;
    }
    memset(passed, 1, sizeof passed);
}
#define COMPARE(name) compare(#name, p_##name(x, passed) | w_##name(x, written))
int main(void) {
    for (int i = 0; i < ALL; i++)
        x[i] = (float)(i * 7 % 19) / 8 - 1;
    COMPARE(default);
    COMPARE(squared);
    COMPARE(own);
    COMPARE(pair);
    compare("both", p_both(N, D, x, passed) | w_both(N, D, x, written));
    compare("gates", p_gates(x, 0.5f, passed) | w_gates(x, 0.5f, written));
    COMPARE(whole);
    return wrong;
}
END
for level in -O0 -O2; do
    for file in passed written; do
        runs "$file $level" "$TENSORC" -c -fstrict $level --threads=1 $file.tensor -o $file.o --header $file.h
    done
    ok "links" $CC -O1 -o main main.c passed.o written.o -lm
    runs "what is passed at $level is what is written out" ./main
done
runs "as interpreted" "$TENSORC" -run --threads=1 --trials=1 -DN=3 -DD=5 passed.tensor
printf 'def only[def act](float(N) x) -> (y) { y = act(x) }\n' >only.tensor
runs "a def without a value for one is left out" "$TENSORC" -c only.tensor -o only.o
like "$(cat "$work/err")" "warning: 'only' is left out: one of its parameters has no value" "with a warning"
exits 0 "-D does not give one" "$TENSORC" -fsyntax-only -Dact=3 only.tensor
like "$(cat "$work/err")" '-Dact binds nothing' "and says so"
"$TENSORC" -fsyntax-only -d p passed.tensor 2>again.tensor
"$TENSORC" -fsyntax-only -d p again.tensor 2>twice.tensor
same again.tensor twice.tensor "what is printed of the tree is the same tree"

done_testing
