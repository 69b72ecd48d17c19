#!/bin/sh
# shared.t - equal nests of a long function are one function: its results, how much code it has, and what is said of it.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O1 -O2 "-O2 --threads=1"; do
    # shellcheck disable=SC2086
    runs "compiles with $level" "$TENSORC" -w $level -c "$here/shared.tensor" -o shared.o --header shared.h
    ok "links" $CC -std=c11 -Wall -Wextra -Werror -I. "$here/shared.c" shared.o -o application -lm
    runs "runs" ./application || diag_file out
done

# --- the code of 70 layers is not much more than that of a few
"$TENSORC" -w -O2 --target=x86-64-v3 -S "$here/shared.tensor" -o long.s
sed 's/L=70/L=3/' "$here/shared.tensor" >few.tensor
"$TENSORC" -w -O2 --target=x86-64-v3 -S few.tensor -o few.s
long=$(grep -c . long.s) few=$(grep -c . few.s)
ok "70 layers have less than twice the code of 3: $long and $few lines" test "$long" -lt "$((2 * few))"

# --- what is said
capture "$TENSORC" -w -O1 --target=x86-64-v3 --explain-schedule -c "$here/shared.tensor" -o shared.o
like "$(cat out)" '^equal nests are one function: [0-9]* nests, [0-9]* functions$' "that nests are one function"
capture "$TENSORC" -w -O1 --target=x86-64-v3 --explain-schedule -c few.tensor -o few.o
is "$(grep -c 'equal nests' out)" 0 "and nothing where they are not"
"$TENSORC" -w -O0 --target=x86-64-v3 -emit-ir "$here/shared.tensor" -o - | sed 's/^ *//' >ir
ok "the loop IR has the nests" grep -q '^nest 1(float ' ir
ok "and where they run" grep -q '^run nest 1(' ir
# Where no two are equal, those of a very long function are apart nevertheless.
cat >apart.tensor <<'EOF'
def step[L](float(N) y) -> (float(N) z) {
    t(i) = (y(i - L) else wrap) * (L * 0.001 + 0.5) where i in 0:N + L
    z(i) = t(i + L) + i / (L + 2)
}
def f(float(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:STEPS { y = step[L=l](y) }
}
export f
EOF
sed 's/STEPS/150/' apart.tensor >many.tensor
sed 's/STEPS/30/' apart.tensor >fewer.tensor
capture "$TENSORC" -w -O0 --target=x86-64-v3 --explain-schedule -c many.tensor -o many.o
like "$(cat out)" "the function is long, so nests are functions of their own: 301" "nests that differ are functions"
runs "and compute what is interpreted" "$TENSORC" -run -w -O1 -DN=37 many.tensor
capture "$TENSORC" -w -O0 --target=x86-64-v3 --explain-schedule -c fewer.tensor -o fewer.o
is "$(grep -c 'of their own' out)" 0 "those of a shorter one are not"
# few NAME MOST WHAT: steps of NAME.tensor that differ in WHAT are fewer functions than MOST.
few() {
    for target in x86-64-v3 aarch64; do
        capture "$TENSORC" -w -O2 --target="$target" --explain-schedule -c "$1.tensor" -o "$1.o"
        functions=$(sed -n 's/^equal nests are one function: [0-9]* nests, \([0-9]*\) functions$/\1/p' out)
        ok "steps that differ in $3 are a few functions for $target: ${functions:-none}" \
            test "${functions:-999}" -lt "$2"
    done
}
# Those of a very long function that differ in numbers alone are one; also where these say how far loops go.
cat >numbers.tensor <<'EOF'
def f(float(N, N) x, float(N, N) w) -> (y, z) {
    y(i, j) = x(i, j)
    z(i) = x(i, 0)
    for l in 0:300 {
        t(i, j) +=! y(i, k) * w(k, j) * (l * 0.001 + 0.2) where k in 0:l % 7 + 1
        y(i, j) = min(max(t(i, j), -0.5 * l), l) / (l + 0.5)
        z(i) = (z(i - l % 5) else l) + z(i) * l where i in l % 6:N
    }
}
export f(N=19)
EOF
few numbers 60 numbers
for level in -O0 -O1 "-O2 --threads=1" "-O2 -fstrict"; do
    # shellcheck disable=SC2086
    runs "and compute what is interpreted with $level" "$TENSORC" -run -w $level numbers.tensor
done
# In a very long function divisors and factors are such numbers, too.
cat >divisors.tensor <<'EOF'
def f(int32(N) x, uint8(N) b) -> (y, c) {
    y(i) = x(i)
    c(i) = b(i)
    for l in 0:300 {
        y(i) = (y(i) * (2 * l + 1) + c(i)) % (l + 7) - y(i) / (l + 3) * 100
        c(i) = c(i) / uint8(l % 200 + 1) + uint8(y(i)) + b((i * (l + 2)) % N)
        y(i) = y(i) * 5 + y(i / (l + 2)) where i in 0:N
    }
}
export f(N=37)
EOF
few divisors 20 divisors
for level in -O0 -O1 "-O2 --threads=1" "-O2 -fstrict -DN=36"; do
    # shellcheck disable=SC2086
    runs "and compute what is interpreted with $level" "$TENSORC" -run -w $level divisors.tensor
done
# What is known of a number is what is known of those that it stands for: these products wrap.
cat >wraps.tensor <<'EOF'
def f(int64(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:300 {
        t(i) = (i + l + 1) * 6364136223846793005 % 1000003 + y(N - 1 - i)
        y(i) = (i + 2 * l) * 4611686018427387904 / 3 + t(N - 1 - i) - ((i + l + 9) * 4611686018427387904 > 0 ? 1 : 2)
    }
}
export f(N=37)
EOF
capture "$TENSORC" -w -O0 --explain-schedule -c wraps.tensor -o wraps.o
like "$(cat out)" "equal nests are one function" "values that wrap are computed with numbers that differ"
runs "and compute what is interpreted" "$TENSORC" -run -w -O0 wraps.tensor
# Nests that read what the caller's buffer holds, and store none of it, may stand before a check.
cat >held.tensor <<'EOF'
def f(float(N) x, int32(N) at) -> (inout float(N) y) {
    t(i) = x(i)
    for l in 0:40 { t(i) = (t(N - 1 - i) * 2 + sin(y(i))) * y(N - 1 - i) }
    y(i) = t(i) > 0 ? t(at(i)) : 0
}
export f
EOF
runs "nests before a check" "$TENSORC" -O1 --explain-schedule -c held.tensor -o held.o
like "$(cat "$work/err")$(cat "$work/out")" "equal nests are one function" "are shared"
runs "and compute what is interpreted" "$TENSORC" -run -O1 -DN=40 held.tensor

# Reductions whose parts are vectors in registers at the root: what follows is not inside their allocation.
cat >normalised.tensor <<'EOF'
def normalise(float(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:STEPS { m() max=! abs(y(i))  s() +=! y(i) * y(i)  y(i) = y(i) / (m() + 1) - y(N - 1 - i) / (s() + 1) }
}
export normalise
EOF
for steps in 40 80; do
    sed "s/STEPS/$steps/" normalised.tensor >steps.tensor
    "$TENSORC" -w -O2 --target=x86-64-v3 -S steps.tensor -o "$steps.s"
done
forty=$(grep -c . 40.s) eighty=$(grep -c . 80.s)
ok "80 steps with reductions have less than half more code than 40: $eighty and $forty lines" \
    test "$((2 * eighty))" -lt "$((3 * forty))"
runs "and compute what is interpreted" "$TENSORC" -run -O2 -DN=67 steps.tensor

done_testing
