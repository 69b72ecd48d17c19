#!/bin/sh
# Floats divided by constants, which vectors do without the divider: the quotients are those of a division, of all kinds
# of numbers, also zeros, infinities and NaN.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

numbers='3 5 7 9 41 49 255 500 1000 -6 0.1 0.3 -0.7 1e-20 3e20 1.9999999'
{
    for type in float double; do
        number=0
        for by in $numbers; do
            echo "def ${type}_$number($type(N) x) -> (y) { y(i) = x(i) / $by }"
            echo "export ${type}_$number"
            number=$((number + 1))
        done
    done
} >divided.tensor
{
    cat <<'END'
#include "divided.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static uint64_t state = 1;
static uint64_t bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 32 | state << 32;
}
static int wrong;
/* Of any exponent, every other time of a middle one. */
#define CHECK(TYPE, INTEGER, LEAST, MIDDLE)                                                                            \
    static void check_##TYPE(int f(int64_t, const TYPE *, TYPE *), TYPE by, const char *name) {                        \
        enum { N = 20011 };                                                                                            \
        static TYPE x[N], y[N];                                                                                        \
        for (int i = 0; i < N; i++) {                                                                                  \
            INTEGER own = (INTEGER)bits();                                                                             \
            memcpy(&x[i], &own, sizeof own);                                                                           \
            x[i] = i % 2 ? x[i] : (TYPE)(MIDDLE);                                                                      \
        }                                                                                                              \
        const TYPE special[] = {0, -(TYPE)0, INFINITY, -INFINITY, NAN, 1, -1, by, by * 3, by * 255, -by * 7};          \
        memcpy(x, special, sizeof special);                                                                            \
        wrong += f(N, x, y) != 0;                                                                                      \
        for (int i = 0; i < N; i++) {                                                                                  \
            TYPE wanted = x[i] / by;                                                                                   \
            int same = isnan(wanted) ? isnan(y[i]) : y[i] == wanted && !signbit(y[i]) == !signbit(wanted);             \
            int tiny = fabs((double)wanted) < LEAST || fabs((double)x[i]) < LEAST;                                     \
            if (!same && !(tiny && fabs((double)y[i] - (double)wanted) <= fabs((double)wanted) * 1e-6 + 1e-44) &&      \
                wrong++ < 5)                                                                                           \
                printf("%s: %a / %a is %a, not %a\n", name, (double)x[i], (double)by, (double)y[i], (double)wanted);   \
        }                                                                                                              \
    }
CHECK(float, uint32_t, 1e-30, (int64_t)bits() * 0x1p-40)
CHECK(double, uint64_t, 1e-280, (int64_t)bits() * 0x1p-40)
int main(void) {
END
    for type in float double; do
        number=0
        suffix=$([ $type = float ] && echo f)
        for by in $numbers; do
            real=$(echo "$by" | grep -q '[.e]' && echo "$by$suffix" || echo "$by.0$suffix")
            echo "    check_$type(${type}_$number, $real, \"${type}_$number\");"
            number=$((number + 1))
        done
    done
    echo '    return wrong != 0; }'
} >main.c

for options in "-O0" "-O2" "-O2 --threads=1 --target=x86-64-v4" "-O2 --target=x86-64-v3" "-O2 -fstrict"; do
    target=${options#*--target=}
    if [ "$target" != "$options" ] && ! runs_here "$target"; then
        skip "this machine does not run $target" 3
        continue
    fi
    # shellcheck disable=SC2086
    runs "compiles with $options" "$TENSORC" -w $options -c divided.tensor -o divided.o --header divided.h
    ok "$options: links" "$CC" -std=c11 -O1 -ffp-contract=off -I. main.c divided.o -o main -lm -lpthread
    runs "$options: quotients are those of C" ./main || diag_file out
done
if have qemu-aarch64 && have aarch64-linux-gnu-gcc; then
    runs "ARM" "$TENSORC" --threads=1 --target=aarch64 -c divided.tensor -o divided.o
    ok "ARM: links" aarch64-linux-gnu-gcc -static -std=c11 -O1 -ffp-contract=off main.c divided.o -o main -lm -lpthread
    runs "ARM: quotients are those of C" qemu-aarch64 ./main || diag_file out
else
    skip "no emulator of ARM here" 3
fi

# divides OPTION...: how many divisions of vectors there are.
divides() {
    "$TENSORC" -w -O2 --threads=1 --target=x86-64-v4 "$@" -S one.tensor -o one.s && grep -c 'vdivp' one.s
}
echo 'def f(float(N) x) -> (y) { y(i) = x(i) / 255 } export f' >one.tensor
is "$(divides)" 0 "vectors are not divided by constants"
unlike "$(divides -fstrict)" '^0$' "but with -fstrict"
done_testing
