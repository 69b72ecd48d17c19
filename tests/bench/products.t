#!/bin/sh
# `make bench-instr` with one round: the instruction's product is right and has its row for one thread and for two.
. "${srcdir:-.}/tests/lib.sh"

if ! runs_here x86-64-v4+avx512vnni; then
    skip "this machine has no avx512vnni" 3
else
    ROUNDS=1
    export ROUNDS
    runs "bench-instr ends well" "$srcdir/tests/bench/products" "$TENSORC" "$work/products"
    is "$(grep -cE '^  (own time|clock) +int8 +[0-9.]+ +[0-9.]+' "$work/out")" 4 "int8 has its rows"
    unlike "$(cat "$work/out")" 'WRONG' "the results are right"
fi

done_testing
