#!/bin/sh
# algorithms.t - defs that implement others: results within their errors, chosen by blocks and by tuning, kept in the
# database.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# Windows at every border of a tile; each export computed by one algorithm: DEF ALGORITHM SIZES.
number=0
one() {
    number=$((number + 1))
    if [ $((number / 2 % 2)) -eq 0 ]; then channels='C=17, M=16'; else channels='C=3, M=33'; fi
    echo "export $1(N=$((number % 2 + 1)), $3, $channels) as f$number"
    echo "schedule f$number on x86 { algorithm($1_$2) }"
}
{
    echo 'import "nn"'
    for sizes in 'H=3, W=3, P=0' 'H=1, W=2, P=1' 'H=4, W=7, P=1' 'H=9, W=5, P=2' 'H=5, W=17, P=1'; do
        one conv2d_nhwc winograd2 "$sizes, KH=3, KW=3"
        one conv2d_nhwc winograd4 "$sizes, KH=3, KW=3"
        one conv2d winograd2 "$sizes, KH=3, KW=3"
        one conv2d winograd4 "$sizes, KH=3, KW=3"
    done
    for sizes in 'L=3, P=0' 'L=1, P=1' 'L=4, P=2' 'L=7, P=0' 'L=18, P=1'; do
        one conv1d_nlc winograd4 "$sizes, K=3"
    done
    for sizes in 'L=5, P=0' 'L=2, P=2' 'L=9, P=1' 'L=17, P=2'; do
        one conv1d_nlc winograd4_of5 "$sizes, K=5"
    done
    for sizes in 'H=5, W=6, P=0, D=2' 'H=3, W=9, P=1, D=2' 'H=13, W=8, P=2, D=3' 'H=14, W=14, P=1, D=2'; do
        one conv2d_nhwc winograd4_dilated "$sizes, KH=3, KW=3"
        one conv2d winograd4_dilated "$sizes, KH=3, KW=3"
    done
    for sizes in 'H=7, W=7, P=1, D=2' 'H=11, W=5, P=2, D=3'; do
        one conv2d_nhwc winograd3_dilated "$sizes, KH=3, KW=3"
    done
    for sizes in 'H=3, W=4, P=0' 'H=1, W=2, P=1' 'H=9, W=6, P=1' 'H=17, W=12, P=2'; do
        one conv2d_nhwc winograd2_strided "$sizes, S=2, KH=3, KW=3"
        one conv2d_nhwc winograd4_strided "$sizes, S=2, KH=3, KW=3"
    done
    for sizes in 'H=7, W=8, P=0' 'H=1, W=2, P=3' 'H=8, W=11, P=3'; do
        one conv2d_nhwc winograd4_strided_of7 "$sizes, S=2, KH=7, KW=7"
    done
    one group_conv2d_nhwc winograd4_strided_of7 "H=7, W=5, S=2, P=3, KH=7, KW=7, G=2"
    one group_conv2d_nhwc winograd4_strided_of7 "H=9, W=8, S=2, P=1, KH=7, KW=7, G=1"
    one conv3d_nthwc winograd4_strided_of7 "T=2, H=3, W=4, S=2, P=3, KT=2, KH=7, KW=7"
    one conv3d_nthwc winograd4_strided_of7 "T=3, H=7, W=7, S=2, P=0, KT=3, KH=7, KW=7"
    for sizes in 'L=3, P=0' 'L=1, P=1' 'L=12, P=1' 'L=19, P=2'; do
        one conv1d_nlc winograd4_strided "$sizes, S=2, K=3"
    done
    for sizes in 'H=3, W=4, P=0, G=2' 'H=5, W=2, P=1, G=3' 'H=9, W=7, P=2, G=1'; do
        one group_conv2d_nhwc winograd4 "$sizes, KH=3, KW=3"
        one group_conv2d winograd4 "$sizes, KH=3, KW=3"
    done
    for sizes in 'H=1, W=2, S=2, P=1, KH=4, KW=4' 'H=5, W=4, S=2, P=1, KH=4, KW=4' 'H=2, W=3, S=4, P=2, KH=8, KW=8'; do
        one transposed_conv2d_nhwc winograd2 "$sizes"
        one transposed_conv2d_nhwc winograd4 "$sizes"
    done
    for sizes in 'T=3, H=3, W=3, P=0, KT=3' 'T=1, H=2, W=5, P=1, KT=2' 'T=2, H=7, W=6, P=1, KT=1'; do
        one conv3d_nthwc winograd4 "$sizes, KH=3, KW=3"
    done
} >borders.tensor
for level in -O0 -O2; do
    runs "$level: results are within the errors" "$TENSORC" -run $level -ffp-error=1e-4 borders.tensor
    is "$(grep -c 'all results checked, by .*conv' "$work/out")" "$(grep -c ^schedule borders.tensor)" \
        "$level: every one by its algorithm"
done

# Large enough for blocks of transformed tiles to be computed inside of the loops of the results: images, groups and
# rows of tiles.
cat >blocks.tensor <<'EOT'
import "nn"
def layer(float(N, H, W, C) I, const float(KH, KW, C, M) F, const float(M) bias) -> (O) {
    t = conv2d_nhwc[P=1](I, F)
    O(n, h, w, m) = max(t(n, h, w, m) + bias(m), 0)
}
export layer(N=3, H=61, W=43, C=24, M=20, KH=3, KW=3) as rows
export layer(N=1, H=58, W=64, C=16, M=32, KH=3, KW=3) as image
export group_conv2d_nhwc(N=5, H=13, W=15, G=3, C=16, M=19, KH=3, KW=3, P=1) as groups
export conv2d_nhwc(N=7, H=29, W=27, C=16, M=16, KH=3, KW=3, P=1, D=2) as dilated
export transposed_conv2d_nhwc(N=3, H=31, W=18, C=32, M=17, KH=4, KW=4, S=2, P=1) as transposed
schedule rows on x86 { algorithm(conv2d_nhwc_winograd4, at=t) }
schedule image on x86 { algorithm(conv2d_nhwc_winograd4, at=t) }
schedule groups on x86 { algorithm(group_conv2d_nhwc_winograd4) }
schedule dilated on x86 { algorithm(conv2d_nhwc_winograd4_dilated) }
schedule transposed on x86 { algorithm(transposed_conv2d_nhwc_winograd2) }
EOT
for threads in 1 2; do
    if runs_here x86-64-v3; then
        runs "blocks with threads: $threads" "$TENSORC" -run -O2 --threads=$threads --target=x86-64-v3 -ffp-error=1e-4 \
            blocks.tensor
        is "$(grep -c 'sampled points, .*by .*winograd' "$work/out")" 5 "all results are within the errors"
    else
        skip "this machine does not run x86-64-v3" 2
    fi
    "$TENSORC" -c -O2 --threads=$threads --target=x86-64-v3 -ffp-error=1e-4 --emit-schedule=blocks.$threads \
        blocks.tensor -o blocks.o
    is "$(grep -c '^ *compute_at(\(t[.]\)*V, ' blocks.$threads)" 5 "which are computed in blocks"
done

# A block of one image and its weights are too large for the second cache; all images for the last one.
cat >images.tensor <<'EOT'
import "nn"
export conv2d_nhwc(N=16, H=56, W=56, C=64, M=64, KH=3, KW=3, S=2, P=1) as images
schedule images on x86 { algorithm(conv2d_nhwc_winograd4_strided) }
EOT
"$TENSORC" -c -O2 --threads=1 --target=x86-64-v4 -ffp-error=1e-4 --emit-schedule=images.block images.tensor -o images.o
like "$(cat images.block)" 'compute_at\(V, ' "an image at a time"
# choice COMMAND...: the algorithms that are chosen.
choice() { "$TENSORC" -v -c --threads=1 -ffp-error=1e-4 "$@" -o choice.o 2>&1 | sed -n 's/.*: scheduled by .*; //p'; }
cat >two.tensor <<'EOT'
import "nn"
def layers(float(N, H, W, C) I, const float(3, 3, C, M) F, const float(3, 3, M, M) G, float(M) bias) -> (O) {
    first = conv2d_nhwc[P=1](I, F)
    second = conv2d_nhwc[P=1](first, G)
    O(n, h, w, m) = max(second(n, h, w, m) + bias(m), 0)
}
export layers(N=1, H=12, W=12, C=16, M=32)
EOT
runs "without -ffp-error they are as written" "$TENSORC" -run -O2 two.tensor
unlike "$(cat "$work/out")" winograd "no algorithm with an error is taken"
runs "tuning chooses among them" "$TENSORC" -v -run -O tune --trials=12 --db=t.db -ffp-error=1e-4 \
    --emit-schedule=found.tensor two.tensor
like "$(cat "$work/err")" '^tensorc: layers, first by conv2d_nhwc_winograd[^:]*: [1-9][0-9]* trials?' \
    "those of the first layer were measured"
like "$(cat "$work/err")" '^tensorc: tuned layers.*: 12 trials of 9 algorithms in ' "one line says it all"
cp "$work/out" first
runs "and finds its choice again" "$TENSORC" -run -O tune --trials=12 --tune-frozen --db=t.db -ffp-error=1e-4 two.tensor
is "$(sed 's/.*sampled points//; s/.*checked//' "$work/out")" "$(sed 's/.*sampled points//; s/.*checked//' first)" \
    "the same algorithms"
cat two.tensor found.tensor >pasted.tensor
runs "what was emitted can be pasted" "$TENSORC" -run -ffp-error=1e-4 pasted.tensor
is "$(sed 's/.*sampled points//; s/.*checked//' "$work/out")" "$(sed 's/.*sampled points//; s/.*checked//' first)" \
    "with the same algorithms"

# What cannot be kept is compiled all the same. Root may write whatever it wants to.
unprivileged() {
    if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid=65534 --clear-groups "$@"; fi
}
echo 'import "nn" export conv2d_nhwc(N=1, H=28, W=28, C=32, M=32, KH=3, KW=3, P=1) as square' >square.tensor
mkdir kept && runs "the algorithm as written is tuned" "$TENSORC" -c -O tune --trials=1 --threads=1 --db=kept/t.db \
    square.tensor -o square.o
if unprivileged true 2>/dev/null; then
    chmod 755 . && chmod 555 kept && chmod 444 kept/t.db
    runs "another is with a database that cannot be written" unprivileged "$TENSORC" -run -O tune --trials=12 \
        --threads=1 --db=kept/t.db -ffp-error=1e-4 square.tensor
    chmod 755 kept && chmod 644 kept/t.db
    like "$(cat "$work/err")" 'measurements are not kept' "which is said"
    is "$(sed -n 's/.*sampled points//p' "$work/out")" \
        "$(sed -n 's/^tensorc: tuned square\(.*\): [0-9]* trials\{0,1\} .*/\1/p' "$work/err")" \
        "and what was measured is compiled, not what was recorded before" || diag_file "$work/err"
else
    skip "root needs setpriv" 3
fi

echo 'import "nn" export conv2d_nhwc(N=1, H=56, W=56, C=64, M=64, KH=3, KW=3, P=1) as wide' >wide.tensor
for threads in 1 2; do
    "$TENSORC" -c -O2 --threads=$threads -ffp-error=1e-4 --target=x86-64-v4 --emit-schedule=wide.$threads wide.tensor \
        -o wide.o
    like "$(cat wide.$threads)" 'algorithm\(conv2d_nhwc_winograd4\)' \
        "-O2 takes the faster algorithm with threads: $threads"
done
# What is read many times is computed once, also where it is a copy of something: the first layer's results for the
# second.
sed 's/H=12, W=12, C=16/H=28, W=28, C=32/; s/, float(M) bias//; s/second = //; /max/d;
    s/ *conv2d_nhwc\[P=1\](first/    O = conv2d_nhwc[P=1](first/' two.tensor >row.tensor
choice -O2 --db=none.db --target=x86-64-v4 row.tensor >row
is "$(tr ' ' '\n' <row | grep -c winograd)" 2 "-O2 takes a fast algorithm for each of two layers"
cat >requantized.tensor <<'EOT'
def f(int8(N, K) A, const int8(K, M) B, const int8(M, L) D) -> (Y) {
    s(i, j) +=! int32(A(i, r_k)) * B(r_k, j)
    q(i, j) = min(max((s(i, j) * 77 + 8192) / 16384, -128), 127)
    Y(i, l) +=! q(i, r_j) * D(r_j, l)
}
def g(float(N, K) A, const float(K, M) B) -> (Y) {
    c(i, k) = exp(A(i, k)) + 1
    d(k, i) = c(i, k)
    Y(i, j) +=! d(r_k, i) * B(r_k, j)
}
export f(N=8, K=32, M=32, L=32)
export g(N=8, K=32, M=32)
EOT
runs "integers and copies of something expensive" "$TENSORC" -run -O2 --threads=1 requantized.tensor
"$TENSORC" -c -O2 --threads=1 --target=x86-64-v4 --emit-schedule=costs requantized.tensor -o costs.o
unlike "$(cat costs)" 'inline\([qd]\)' "are not computed again for each product"
like "$(cat costs)" 'inline\(c\)' "what is read once is"
runs "-fstrict allows none" "$TENSORC" -run -O2 -fstrict -ffp-error=1e-4 two.tensor
unlike "$(cat "$work/out")" winograd "not one"
runs "one algorithm is tuned" "$TENSORC" -c -O tune --trials=1 --threads=1 --db=written.db wide.tensor -o wide.o
choice -O2 --db=none.db wide.tensor >preferred
is "$(choice -O2 --db=written.db wide.tensor)" "$(cat preferred)" "records without the one that -O2 takes do not decide"
is "$(choice -O tune --budget=0.001 --db=short.db wide.tensor)" "$(cat preferred)" "nor does a search that had no time"
is "$(choice -O tune --budget=0.001 --db=written.db wide.tensor)" "$(cat preferred)" "with such records, too"

# The transform of the filters is part of what is packed.
cat >packed.tensor <<'EOT'
import "nn"
export conv2d_nhwc(N=2, H=9, W=7, C=17, M=19, KH=3, KW=3, P=1) as direct
export conv2d_nhwc(N=2, H=9, W=7, C=17, M=19, KH=3, KW=3, P=1) as fast
schedule direct on x86 { parallel(O.n) }
schedule fast on x86 { algorithm(conv2d_nhwc_winograd4) }
EOT
cat >main.c <<'EOT'
#include "packed.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
float image[2 * 9 * 7 * 17], filters[9 * 17 * 19], direct_out[2 * 9 * 7 * 19], fast_out[2 * 9 * 7 * 19];
int main(void) {
    for (int i = 0; i < 2 * 9 * 7 * 17; i++) image[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < 9 * 17 * 19; i++) filters[i] = (float)(i * 53 % 97) / 48 - 1;
    struct fast_packed_F *packed = malloc((size_t)fast_packed_F_size());
    double worst = 0;
    if (direct(image, filters, direct_out) || fast_pack_F(filters, packed) ||
        fast_packed(image, packed, fast_out)) return 1;
    for (int i = 0; i < 2 * 9 * 7 * 19; i++) worst = fmax(worst, fabs(direct_out[i] - fast_out[i]));
    printf("%s %s\n", worst < 1e-2 ? "same" : "other",
        fast_packed_F_size() >= 4 * 36 * 17 * 19 ? "transformed" : "plain");
    return 0;
}
EOT
runs "an object with packed filters" "$TENSORC" -c -O2 -ffp-error=1e-4 packed.tensor -o packed.o --header packed.h
# shellcheck disable=SC2086 # the compiler may have options
runs "links" $CC -std=c11 -I. -o packed main.c packed.o -fopenmp -lm
runs "and runs" ./packed
is "$(cat "$work/out")" "same transformed" "filters are transformed ahead of all calls"

# A def that breaks its promise is found out.
cat >broken.tensor <<'EOT'
def sum(float(N, K) X) -> (Y) { Y(i) +=! X(i, r_k) }
def most(float(N, K) X) -> (Y) implements sum where K == 64 error 1e-3 { Y(i) +=! X(i, r_k) where r_k in 0:60 }
def exact(float(N, K) X) -> (Y) implements sum {
    t(i, k) +=! X(i, 2 * k + r) where k in 0:K / 2, r in 0:2   Y(i) +=! t(i, r_k) }
export sum(N=40, K=64) as a
export sum(N=40, K=64) as b
export sum(N=40, K=65) as c
schedule a on x86 { algorithm(most) }
schedule b on x86 { algorithm(exact) }
EOT
exits 1 "a wrong implementation is seen" "$TENSORC" -run -O0 -ffp-error=1e-2 broken.tensor
like "$(cat "$work/err")" 'a: [0-9]+ elements of Y are wrong' "in its results"
like "$(cat "$work/out")" '^b: .*by exact$' "one without an error is allowed"
sed '/^schedule/d; /as [bc]$/d' broken.tensor >fails.tensor
runs "tuning goes on without it" "$TENSORC" -c -O tune --trials=12 --db=fails.db -ffp-error=1e-2 fails.tensor -o fails.o
like "$(cat "$work/err")" 'by most .*[0-9] wrong' "says so"
runs "and goes on once more" "$TENSORC" -c -O tune --trials=14 --db=fails.db -ffp-error=1e-2 fails.tensor -o fails.o
unlike "$(cat "$work/err")" 'by most [^;]* in [0-9.]* s$' "never without the failures"
exits 2 "a bound is a number" "$TENSORC" -ffp-error=much two.tensor

done_testing
