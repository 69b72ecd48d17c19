#!/bin/sh
# Recurrences from source to application, against plain C, at every -O, on one thread and on two.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O1 -O2 "-O2 --threads=1"; do
    # shellcheck disable=SC2086
    runs "tensorc $level" "$TENSORC" -c $level "$here/recurrences.tensor" -o recurrences.o --header recurrences.h
    runs "links" $CC -std=c11 -Wall -Wextra -Werror -I. -I"$srcdir" "$here/recurrences.c" recurrences.o -o application \
        -fopenmp -lm
    runs "recurrences at $level are as in plain C" env OMP_NUM_THREADS=2 ./application || diag_file "$work/err" 60
done

runs "recurrences are as interpreted" "$TENSORC" -run -O2 -DT=37 -DB=3 -DI=5 -DH=9 -DN=50 -DS=4 \
    "$here/recurrences.tensor"
runs "a recurrence is tuned" "$TENSORC" -run -O tune --trials=6 --db=new.tuning.db -DT=6 -DB=3 -DI=5 -DH=16 -DN=20 \
    -DS=4 "$here/recurrences.tensor"
runs "and found again" "$TENSORC" -run -O tune --tune-frozen --db=new.tuning.db -DT=6 -DB=3 -DI=5 -DH=16 -DN=20 -DS=4 \
    "$here/recurrences.tensor"
# What was found is of use to the same recurrence in other words: its steps, tensors and indices have other names.
sed -e '/^export/d; /^def machine/,$d; /^# A machine/d' \
    -e 's/scan t/scan step/; s/(t, /(step, /g; s/(t-1/(step-1/g; s/\bc(/cell(/g; s/\bj\b/unit/g' \
    "$here/recurrences.tensor" >words.tensor
echo 'export lstm as other' >>words.tensor
runs "and by a program in other words" "$TENSORC" -run -O tune --tune-frozen --db=new.tuning.db -DT=6 -DB=3 -DI=5 \
    -DH=16 words.tensor

# Columns that do not fill a vector: what a scan computes, and reads itself, cannot be copied for the product alone.
cat >product.tensor <<'EOF'
def f(float(T, H) x, const float(H, H) a, float(H) init) -> (y) {
    scan t { h(t, j) = (h(t - 1, j) else init(j)) * 0.5 + 0.1 * x(t, j) }
    y(t, j) +=! h(t, r) * a(r, j) where t in 0:T, j in 0:H
}
export f(H=17)
EOF
runs "a product of what a scan computes, as interpreted" "$TENSORC" -run -O2 -DT=9 product.tensor
runs "and compiled" "$TENSORC" -O2 -v --threads=1 --target=x86-64-v4 -c product.tensor -o product.o
unlike "$(cat err)" "plain loops" "is scheduled like any other"
done_testing
