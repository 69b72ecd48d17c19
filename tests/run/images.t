#!/bin/sh
# The operators of nn_images against plain C at -O0 and -O2, at run-time sizes; each def of the file has its test.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O2; do
    runs "tensorc $level" "$TENSORC" -c $level --threads=1 "$here/images.tensor" -o images.o --header images.h
    runs "links" $CC -std=c11 -Wall -Wextra -Werror -I. -I"$srcdir" "$here/images.c" images.o -o application -lm
    runs "every operator at $level is as in plain C" ./application || diag_file "$work/out" 60
done

sed -n 's/^def \([a-z_0-9]*\).*/\1/p' "$srcdir/stdlib/nn_images.tensor" | sort >defs
grep -o '[a-z_0-9]*' "$here/images.tensor" | sort -u >words
is "$(comm -23 defs words | tr '\n' ' ')" "" "every operator is tested"

runs "every operator at known sizes is as interpreted" "$TENSORC" -run --threads=1 --trials=1 "$here/images.tensor" \
    -DN=2 -DC=6 -DT=4 -DH=9 -DW=19 -DM=5 -DKT=2 -DKH=3 -DKW=3 -DL=17 -DK=3 -DD=7 -DE=5

cat >flat.tensor <<'END'
import "nn"
export flatten(N=1, C=64, H=56, W=56)
schedule flatten on x86 {
    o, m, v = split(Y.d, 224, 32)
    vectorize(v)
    exactly()
}
END
runs "flatten compiles" "$TENSORC" -c --threads=1 --target=x86-64-v4 -d o flat.tensor -o flat.o
grep 'Y(.* = X(' "$work/err" >copies
unlike "$(cat copies)" '[/%]' "it is a copy without quotients"
is "$([ -s copies ] && echo found)" found "that is printed"

done_testing
