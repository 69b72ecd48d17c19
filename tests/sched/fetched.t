#!/bin/sh
# Reads that are fetched lane by lane: what the model chooses for them is short code, whatever the type of the elements
# and however many there are, and other reads keep their vectors.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# lanes TARGET: of the vectors of y in file.tensor; - without.
lanes() {
    "$TENSORC" -O2 -c file.tensor --target="$1" -o file.o --explain-schedule >explained || echo failed
    awk '/ vectorized/ { sub(/.*0:/, ""); v = $1 } /y\(i\) =/ { print v ? v : "-" }' explained | paste -sd' ' -
}

# instructions TARGET: lines of LLVM code.
instructions() {
    "$TENSORC" -O2 -emit-llvm file.tensor --target="$1" -o file.ll || echo failed
    grep -c . file.ll
}

element() {
    echo "def f($1(N) x) -> (y) { y(i) = $2 where i in 0:N } export f" >file.tensor
}

element uint8 "x(i) + x(i)"
is "$(lanes x86-64-v3) $(lanes x86-64-v4)" "32 64" "rows of bytes fill registers"
element uint8 "(x(max(0, min((i + 1) % N + 2, N - 1)))) + x(i)"
is "$(lanes x86-64-v3) $(lanes x86-64-v4)" "8 16" "bytes that are fetched one by one fill two registers with indices"
element float "(x(max(0, min((i + 1) % N + 2, N - 1)))) + x(i)"
is "$(lanes x86-64-v3) $(lanes x86-64-v4)" "8 16" "floats do so by themselves"
element uint8 "(x(i - 1) else edge) + x(i)"
is "$(lanes x86-64-v3) $(lanes x86-64-v4)" "8 64" "a row with its ends fills a register where a mask can tell them"

# Chains of stages that read each other around their ends.
{
    echo "def f(uint8(N) x0) -> (x20) {"
    for s in $(seq 20); do
        echo "    x$s(i) = (x$((s - 1))(i - 1) else wrap) + (x$((s - 1))(i + 2) else edge) where i in 0:N"
    done
    echo "}"
    echo "export f"
} >file.tensor
for target in x86-64 x86-64-v3 x86-64-v4; do
    count=$(instructions $target)
    ok "20 stages of bytes for $target: $count lines of code" [ "$count" -lt 2500 ]
done

# Many such reads in each of many stages, of halves that a processor does not convert.
{
    echo "def f(half(N, M) x0) -> (x12) {"
    for s in $(seq 12); do
        p=x$((s - 1))
        echo "    x$s(i, j) +=! half(($p(i, j + r - 1) else wrap) * ($p(i - 1, j + 2) else edge) +"
        echo "        ($p(i + 1, j + r) else reflect)) where i in 0:N, j in 0:M, r in 0:8"
    done
    echo "}"
    echo "export f(N=7, M=64)"
} >file.tensor
for target in x86-64 x86-64-v3; do
    count=$(instructions $target)
    ok "12 sums of halves for $target: $count lines of code" [ "$count" -lt 12000 ]
done
done_testing
