#!/bin/sh
# The same variants as in schedules.t, with sizes that are known at run time only: objects against objects of -O0.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/law
cd "$work" || exit 1

for file in matmul softmax stencil; do
    def=$(sed -n 's/^def \([a-z0-9_]*\).*/\1/p' "$here/$file.tensor")
    { sed '/^# variant /,$d' "$here/$file.tensor"; echo "export $def as plain_$def"; } >plain.tensor
    runs "$file at -O0" "$TENSORC" -c -O0 plain.tensor -o plain.o --header plain.h
    for variant in $(sed -n 's/^# variant \([a-z0-9_]*\).*/\1/p' "$here/$file.tensor"); do
        {
            sed '/^# variant /,$d' "$here/$file.tensor"
            echo "export $def as scheduled_$def"
            awk -v wanted="$variant" '/^# variant / { on = $3 == wanted; next } on' "$here/$file.tensor"
        } >scheduled.tensor
        runs "$file, $variant, compiles" "$TENSORC" -c scheduled.tensor -o scheduled.o --header scheduled.h
        runs "links" $CC -std=c11 -DLAW_"$def" -I. -I"$srcdir" "$here/symbolic.c" plain.o scheduled.o -o law -fopenmp \
            -lm
        runs "$file, $variant, is plain at all sizes" env OMP_NUM_THREADS=2 ./law
    done
done

done_testing
