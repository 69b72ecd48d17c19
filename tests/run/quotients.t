#!/bin/sh
# Quotients and remainders of indices by numbers: in lanes and one by one, for indices that go round never, once, twice
# and more often, begin below 0, and lie far from 0. Values are those of C.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# all PREFIX: stages for each offset and divisor
offsets='0 1 5 11 12 13 23 30 -1 -12 -13 -40 100 -100 1000000007 -1000000007'
divisors='1 2 3 7 8 11 12 13 37 64 1000'
name() { echo "${1}_$2_$3" | tr - m; }
each() {
    for offset in $offsets; do for divisor in $divisors; do "$@" "$offset" "$divisor"; done; done
}
# One index at a time in front of lanes, and the lanes themselves.
stage() {
    q=$(name q "$@") r=$(name r "$@")
    echo "    $q(i, j) = int64((i + ($1)) / $2) * 1000 + int64((j + ($1)) / $2) where i in 0:13, j in 0:37"
    echo "    $r(i, j) = int64((i + ($1)) % $2) * 1000 + int64((j + ($1)) % $2) where i in 0:13, j in 0:37"
}
results() { printf '%s%s, %s' "$comma" "$(name q "$@")" "$(name r "$@")"; comma=', '; }
comma=''
{
    echo "def all() -> ($(each results)) {"
    each stage
    echo "}"
    echo "export all"
} >all.tensor
compared() { printf 'compared(%s, %s, %s, %s);\n' "$(name q "$@")" "$(name r "$@")" "$1" "$2"; }
declared() { printf 'static int64_t %s[N][M], %s[N][M];\n' "$(name q "$@")" "$(name r "$@")"; }
argument() { printf '%s%s[0], %s[0]' "$comma" "$(name q "$@")" "$(name r "$@")"; comma=', '; }
{
    cat <<'E2'
#include "all.h"
enum { N = 13, M = 37 };
static int wrong;
static int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int64_t rest(int64_t a, int64_t b) { return a - quotient(a, b) * b; }
static void compared(int64_t q[N][M], int64_t r[N][M], int64_t offset, int64_t divisor) {
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < M; j++) {
            wrong += q[i][j] != quotient(i + offset, divisor) * 1000 + quotient(j + offset, divisor);
            wrong += r[i][j] != rest(i + offset, divisor) * 1000 + rest(j + offset, divisor);
        }
}
E2
    each declared
    comma=''
    echo "int main(void) { int status = all($(each argument));"
    each compared
    echo "return wrong + status != 0; }"
} >main.c
for target in x86-64 x86-64-v3 x86-64-v4; do
    for level in -O1 -O2; do
        runs "$target, $level" "$TENSORC" $level --threads=1 --target=$target -c all.tensor -o all.o --header all.h
        if runs_here $target; then
            ok "$target, $level: links" "$CC" -std=c11 -o main main.c all.o -lm -lpthread
            ok "$target, $level: is right" ./main
        else
            skip "this machine does not run $target" 2
        fi
    done
done
if have qemu-aarch64 && have aarch64-linux-gnu-gcc; then
    runs "ARM" "$TENSORC" --threads=1 --target=aarch64 -c all.tensor -o all.o
    ok "ARM: links" aarch64-linux-gnu-gcc -static -std=c11 -o main main.c all.o -lm -lpthread
    ok "ARM: is right" qemu-aarch64 ./main
else
    skip "no emulator of ARM here" 3
fi

# Integers by one run-time value, and by another in each lane: of all types, at their ends, by 0 and by -1.
types='int8 int16 int32 int64 uint8 uint16 uint32 uint64'
for type in $types; do
    echo "def one_$type($type(N) x, $type d) -> (q, r) { q(i) = x(i) / d  r(i) = x(i) % d } export one_$type"
    echo "def each_$type($type(N) x, $type(M) d) -> (q, r) {"
    echo "    q(i, j) = x(i) / d(j)  r(i, j) = x(i) % d(j) }"
    echo "export each_$type"
done >values.tensor
{
    cat <<'E2'
#include "values.h"
#include <stdio.h>
enum { N = 301, M = 67 };
static int wrong;
static int64_t quotient(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static uint64_t whole(uint64_t a, uint64_t b) { return b ? a / b : 0; }
static int64_t rest(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a - quotient(a, b) * b; }
static uint64_t left(uint64_t a, uint64_t b) { return b ? a % b : 0; }
static uint64_t state = 7;
static uint64_t bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t all = state >> 32 | state << 32;
    return (state >> 8) % 3 ? all : all >> (state >> 20) % 64;
}
/* Multiples of divisors and their neighbours, and any numbers. */
#define CHECK(TYPE, C, LEAST, MOST, QUOTIENT, REST)                                                                    \
    static void check_##TYPE(void) {                                                                                   \
        static C x[N], d[M], q[N], r[N], qs[N][M], rs[N][M];                                                           \
        const C ends[] = {LEAST, LEAST + 1, MOST, MOST - 1, 0, 1, 2, 3, 7, 10, (C)-1, (C)-2, (C)-3, (C)-7};            \
        const int few = sizeof ends / sizeof *ends;                                                                    \
        for (int j = 0; j < M; j++)                                                                                    \
            d[j] = j < few ? ends[j] : (C)bits();                                                                      \
        for (int i = 0; i < N; i++)                                                                                    \
            x[i] = i < few ? ends[i] : i % 2 ? (C)bits() : (C)(d[i % M] * (C)bits() - (C)(i % 3));                     \
        wrong += each_##TYPE(N, M, x, d, &qs[0][0], &rs[0][0]) != 0;                                                   \
        for (int j = 0; j < M; j++) {                                                                                  \
            wrong += one_##TYPE(N, x, d[j], q, r) != 0;                                                                \
            for (int i = 0; i < N; i++) {                                                                              \
                C wq = (C)QUOTIENT(x[i], d[j]), wr = (C)REST(x[i], d[j]);                                              \
                if ((q[i] != wq || r[i] != wr || qs[i][j] != wq || rs[i][j] != wr) && wrong++ < 5)                     \
                    printf(#TYPE ": %lld by %lld is %lld and %lld, of lanes %lld and %lld\n", (long long)x[i],         \
                           (long long)d[j], (long long)q[i], (long long)r[i], (long long)qs[i][j],                     \
                           (long long)rs[i][j]);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
CHECK(int8, int8_t, INT8_MIN, INT8_MAX, quotient, rest)
CHECK(int16, int16_t, INT16_MIN, INT16_MAX, quotient, rest)
CHECK(int32, int32_t, INT32_MIN, INT32_MAX, quotient, rest)
CHECK(int64, int64_t, INT64_MIN, INT64_MAX, quotient, rest)
CHECK(uint8, uint8_t, 0, UINT8_MAX, whole, left)
CHECK(uint16, uint16_t, 0, UINT16_MAX, whole, left)
CHECK(uint32, uint32_t, 0, UINT32_MAX, whole, left)
CHECK(uint64, uint64_t, 0, UINT64_MAX, whole, left)
int main(void) {
E2
    for type in $types; do echo "    check_$type();"; done
    echo '    return wrong != 0; }'
} >values.c
for target in x86-64 x86-64-v3 x86-64-v4; do
    runs "values, $target" "$TENSORC" -O2 -w --threads=1 --target=$target -c values.tensor -o values.o --header values.h
    if runs_here $target; then
        ok "values, $target: links" "$CC" -std=c11 -fwrapv -o values values.c values.o -lm -lpthread
        runs "values, $target: is right" ./values || diag_file out
    else
        skip "this machine does not run $target" 2
    fi
done
if have qemu-aarch64 && have aarch64-linux-gnu-gcc; then
    runs "values, ARM" "$TENSORC" -w --threads=1 --target=aarch64 -c values.tensor -o values.o
    ok "values, ARM: links" aarch64-linux-gnu-gcc -static -std=c11 -fwrapv -o values values.c values.o -lm -lpthread
    runs "values, ARM: is right" qemu-aarch64 ./values || diag_file out
else
    skip "no emulator of ARM here" 3
fi
printf 'def f(int32(N) x, int32 d) -> (y) { y(i) = x(i) / d }\nexport f\n' >one.tensor
runs "an integer by one value" "$TENSORC" -O2 -emit-llvm --threads=1 --target=x86-64-v4 one.tensor -o one.ll
is "$(grep -c ' sdiv <' one.ll)" 0 "lanes are not divided one by one"

# What goes round once is no division.
cat >turn.tensor <<'END'
def turn(float(H, W) a) -> (b) {
    b(y, x) = (a(y - 1, x) else wrap) + (a(y, x - 1) else wrap) where y in 0:H, x in 0:W
}
export turn(H=99, W=100)
END
for target in x86-64-v3 x86-64-v4; do
    runs "what goes round once, $target" "$TENSORC" -O2 -emit-llvm --threads=1 --target=$target \
        turn.tensor -o turn.ll
    is "$(grep -cE ' = [us](rem|div) ' turn.ll)" 0 "has no divisions"
done
done_testing
