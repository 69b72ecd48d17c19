#!/bin/sh
# The examples build with their own makefiles and compute what plain C does; the demonstration runs to its end.
. "${srcdir:-.}/tests/lib.sh"

example() { make -s -C "$srcdir/examples/$1" TENSORC="$TENSORC" BUILD="$work/$1" TRIALS=2 CC="$CC"; }

for name in conv mlp; do
    runs "$name builds with -O tune and runs" example $name
    like "$(cat "$work/out")" 'correct$' "$name is correct"
    [ $name = mlp ] && like "$(cat "$work/out")" "64 of 64 recognised" "the network recognises its digits"
    capture make -n -C "$srcdir/examples/$name" TENSORC="$TENSORC" BUILD="$work/$name" TRIALS=2
    unlike "$(cat "$work/out")" "header|-c" "$name: nothing is built twice"
done

runs "decoder builds and runs" example decoder
is "$(grep -c '^[a-z0-9]*: prompt of 64 .* tokens/s; single .* tokens/s.*: correct$' "$work/out")" 3 \
    "with weights of each kind it computes what plain C does"
capture make -n -C "$srcdir/examples/decoder" TENSORC="$TENSORC" BUILD="$work/decoder"
unlike "$(cat "$work/out")" "header|-c" "decoder: nothing is built twice"

TRIALS=2
export TRIALS
runs "the demonstration" "$srcdir/examples/demo" "$TENSORC" "$work/demo"
is "$(grep -c 'GFLOP/s.*correct$' "$work/out")" 3 "shows three levels, each correct"

done_testing
