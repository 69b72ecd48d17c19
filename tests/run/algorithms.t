#!/bin/sh
# algorithms.t - defs that implement others: results within their errors, chosen by blocks and by tuning, kept in the database.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# Windows at every border of a tile; each export computed by one algorithm.
{
    echo 'import "nn"'
    number=0
    for def in conv2d_nhwc; do
        for algorithm in winograd2 winograd4; do
            for sizes in 'H=3, W=3, P=0' 'H=1, W=2, P=1' 'H=4, W=7, P=1' 'H=9, W=5, P=2' 'H=8, W=6, P=0' 'H=5, W=17, P=1'; do
                for channels in 'C=1, M=1' 'C=17, M=16' 'C=5, M=33'; do
                    number=$((number + 1))
                    echo "export $def(N=$((number % 2 + 1)), $sizes, $channels, KH=3, KW=3) as f$number"
                    echo "schedule f$number on x86 { algorithm(${def}_$algorithm) }"
                done
            done
        done
    done
} >borders.tensor
for level in -O0 -O2; do
    runs "$level: results are within the errors" "$TENSORC" -run $level -ffp-error=1e-4 borders.tensor
    is "$(grep -c 'all results checked, by conv2d' "$work/out")" "$(grep -c ^schedule borders.tensor)" "$level: every one by its algorithm"
done

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
runs "tuning chooses among them" "$TENSORC" -run -O tune --trials=20 --db=t.db -ffp-error=1e-4 --emit-schedule=found.tensor two.tensor
like "$(cat "$work/err")" 'tuned layers, first by conv2d_nhwc_winograd' "those of the first layer were measured"
cp "$work/out" first
runs "and finds its choice again" "$TENSORC" -run -O tune --trials=20 --tune-frozen --db=t.db -ffp-error=1e-4 two.tensor
is "$(sed 's/.*sampled points//; s/.*checked//' "$work/out")" "$(sed 's/.*sampled points//; s/.*checked//' first)" "the same algorithms"
cat two.tensor found.tensor >pasted.tensor
runs "what was emitted can be pasted" "$TENSORC" -run -ffp-error=1e-4 pasted.tensor
is "$(sed 's/.*sampled points//; s/.*checked//' "$work/out")" "$(sed 's/.*sampled points//; s/.*checked//' first)" "with the same algorithms"
runs "-fstrict allows none" "$TENSORC" -run -O2 -fstrict -ffp-error=1e-4 two.tensor
unlike "$(cat "$work/out")" winograd "not one"

# A def that breaks its promise is found out.
cat >broken.tensor <<'EOT'
def sum(float(N, K) X) -> (Y) { Y(i) +=! X(i, r_k) }
def most(float(N, K) X) -> (Y) implements sum where K == 64 error 1e-3 { Y(i) +=! X(i, r_k) where r_k in 0:60 }
def exact(float(N, K) X) -> (Y) implements sum { t(i, k) +=! X(i, 2 * k + r) where k in 0:K / 2, r in 0:2   Y(i) +=! t(i, r_k) }
export sum(N=40, K=64) as a
export sum(N=40, K=64) as b
export sum(N=40, K=65) as c
schedule a on x86 { algorithm(most) }
schedule b on x86 { algorithm(exact) }
EOT
exits 1 "a wrong implementation is seen" "$TENSORC" -run -O0 -ffp-error=1e-2 broken.tensor
like "$(cat "$work/err")" 'a: [0-9]+ elements of Y are wrong' "in its results"
like "$(cat "$work/out")" '^b: .*by exact$' "one without an error is allowed"
exits 2 "a bound is a number" "$TENSORC" -ffp-error=much two.tensor

done_testing
