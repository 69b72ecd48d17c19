#!/bin/sh
# The operators of nn_attention and nn_quantized against plain C at -O0 and -O2, at run-time sizes; each def of the
# files has its test.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O2; do
    runs "tensorc $level" "$TENSORC" -c $level --threads=1 "$here/transformers.tensor" -o transformers.o \
        --header transformers.h
    runs "links" $CC -std=c11 -Wall -Wextra -Werror -I. -I"$srcdir" "$here/transformers.c" transformers.o \
        -o application -lm
    runs "every operator at $level is as in plain C" ./application || diag_file "$work/out" 60
done

sed -n 's/^def \([a-z_0-9]*\).*/\1/p' "$srcdir/stdlib/nn_attention.tensor" \
    "$srcdir/stdlib/nn_quantized.tensor" | sort >defs
grep -o '[a-z_0-9]*' "$here/transformers.tensor" | sort -u >words
is "$(comm -23 defs words | tr '\n' ' ')" "" "every operator is tested"

runs "every operator at known sizes is as interpreted" "$TENSORC" -run --threads=1 --trials=1 \
    "$here/transformers.tensor" -DN=7 -DB=2 -DT=5 -DQ=3 -DK=8 -DH=6 -DG=2 -DD=6 -DP=3 -DE=6 -DM=3 -DJ=4

done_testing
