#!/bin/sh
# The standard library: every operator against plain C at -O0 and -O2, and every def of it has its test.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O2; do
    runs "tensorc $level" "$TENSORC" -c $level "$here/operators.tensor" -o operators.o --header operators.h
    runs "links" $CC -std=c11 -Wall -Wextra -Werror -I. -I"$srcdir" "$here/operators.c" operators.o -o application \
        -fopenmp -lm
    runs "every operator at $level is as in plain C" ./application || diag_file "$work/err" 60
done

sed -n 's/^def \([a-z_0-9]*\).*/\1/p' "$srcdir/stdlib/nn.tensor" | sort >defs
grep -o '[a-z_0-9]*' "$here/operators.tensor" | sort -u >words
is "$(comm -23 defs words | tr '\n' ' ')" "" "every operator is tested"

runs "every operator is as interpreted" "$TENSORC" -run "$here/operators.tensor"

done_testing
