#!/bin/sh
# `make bench` itself, with small shapes and few trials: it ends, every result is right, and the table is there.
. "${srcdir:-.}/tests/lib.sh"

cat >"$work/shapes.txt" <<'EOF'
matmul M40 0.0  40 33 24
conv2d small 0.0  2 9 10 5 7 3 2 1
EOF
SHAPES=$work/shapes.txt TRIALS=2 THREADS=2 ROUNDS=2
export SHAPES TRIALS THREADS ROUNDS
runs "bench ends well" "$srcdir/tests/bench/bench" "$TENSORC" "$work/bench"
like "$(cat "$work/out")" '^  small +[0-9.]+ s, +[0-9.]+ trials a second' "trials a second are shown"
like "$(cat "$work/out")" '^M40 .* [0-9.]+' "a matmul has its row"
like "$(cat "$work/out")" '^small .* [0-9.]+' "a convolution has its row"
unlike "$(cat "$work/out")" 'WRONG' "every result is right"
like "$(cat "$work/out")" 'fsyntax-only.*best [0-9.]+ ms' "the compiler is timed"

done_testing
