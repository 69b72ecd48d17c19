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

# What goes round once is no division.
cat >turn.tensor <<'END'
def turn(float(H, W) a) -> (b) {
    b(y, x) = (a(y - 1, x) else wrap) + (a(y, x - 1) else wrap) where y in 0:H, x in 0:W
}
export turn(H=99, W=100)
END
for target in x86-64-v3 x86-64-v4; do
    runs "what goes round once, $target" "$TENSORC" -O2 -emit-llvm --target=$target turn.tensor -o turn.ll
    is "$(grep -cE ' = [us](rem|div) ' turn.ll)" 0 "has no divisions"
done
done_testing
