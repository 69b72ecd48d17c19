#!/bin/sh
# `make bench-networks` with one round of its least network: the row is there, and the source that it compiles is one.
. "${srcdir:-.}/tests/lib.sh"

if ! have python3; then
    skip "no python3" 3
else
    ONLY=dqn ROUNDS=1 CALLS=1
    export ONLY ROUNDS CALLS
    runs "the program is built" $CC -O1 "$srcdir/tests/bench/networks.c" -o "$work/program" -ldl
    runs "bench-networks ends well" "$srcdir/tests/bench/networks" "$TENSORC" "$work/program" "$work"
    like "$(cat "$work/out")" '^dqn +[0-9]+\.[0-9]+ +[0-9]+\.[0-9]+ ' "the network has its row"
fi

done_testing
