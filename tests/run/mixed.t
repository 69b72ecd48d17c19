#!/bin/sh
# Networks of too many layers to try all combinations of algorithms: some layers take one, others another one or none,
# in the layout that suits them; and a block names any.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# network NAME CONVOLUTION HEADER TEXT...: source with a layer of 3 by 3, one that shrinks its images, and the text
last_nhwc='float(N, H, W, C) I, const float(KH, KW, C, M) F'
first_nchw='float(N, C, H, W) I, const float(M, C, KH, KW) F'
network() {
    name=$1 conv=$2 header=$3
    shift 3
    {
        echo 'import "nn"'
        echo "def layer($header) -> (O) { O = relu($conv[P=1](I, F)) }"
        echo "def shrunk($header) -> (O) { O = relu($conv[P=1, S=2](I, F)) }"
        echo "$@"
        echo "export $name"
    } >"$name.tensor"
}
layers='t1 = layer(x, w1) t2 = layer(t1, w2) t3 = shrunk(t2, w3) t4 = layer(t3, w4) t5 = layer(t4, w5)
    t6 = shrunk(t5, w6) t7 = layer(t6, w7) y = layer(t7, w8)'
network last conv2d_nhwc "$last_nhwc" "def last(float(1, 56, 56, 64) x, const float(3, 3, 64, 64) w1,
    const float(3, 3, 64, 64) w2, const float(3, 3, 64, 256) w3, const float(3, 3, 256, 256) w4,
    const float(3, 3, 256, 256) w5, const float(3, 3, 256, 512) w6, const float(3, 3, 512, 512) w7,
    const float(3, 3, 512, 512) w8) -> (y) { $layers }"
network first conv2d "$first_nchw" "def first(float(1, 64, 56, 56) x, const float(64, 64, 3, 3) w1,
    const float(64, 64, 3, 3) w2, const float(256, 64, 3, 3) w3, const float(256, 256, 3, 3) w4,
    const float(256, 256, 3, 3) w5, const float(512, 256, 3, 3) w6, const float(512, 512, 3, 3) w7,
    const float(512, 512, 3, 3) w8) -> (y) { $layers }"
# chosen NAME: "LAYER ALGORITHM" lines of -O2
chosen() {
    "$TENSORC" -O2 --threads=1 -ffp-error=1e-4 --target=x86-64-v4 --db=none.db --emit-schedule=- -c "$1.tensor" \
        -o "$1.o" | sed -n 's/[# ]*algorithm(\([a-z0-9_]*\)\(, at=\([a-z0-9]*\)\)\{0,1\}.*/\3 \1/p' | sed 's/^ //'
}
like "$(chosen last)" '^t1 conv2d_nhwc_winograd4' "the first layers multiply least"
chosen first >first
is "$(grep -c '_winograd[24]$' first) $(grep -c '^t[12] .*_winograd4$' first) $(grep -c '^y .*_winograd2$' first)" \
    "6 2 1" "the last ones take smaller tiles"
like "$(cat first)" '(^| )channels_last( |$)' "and channels come last besides, where a network counts them first"

# Any combination can be named.
small='float(1, 9, 7, 3) x, const float(3, 3, 3, 5) w1, const float(3, 3, 5, 5) w2, const float(3, 3, 5, 6) w3,
    const float(3, 3, 6, 6) w4, const float(3, 3, 6, 6) w5, const float(3, 3, 6, 4) w6, const float(3, 3, 4, 4) w7,
    const float(3, 3, 4, 4) w8'
network named conv2d_nhwc "$last_nhwc" "def named($small) -> (y) { $layers }
schedule named on x86 {
    algorithm(conv2d_nhwc_winograd2, at=t1.O.conv2d_nhwc)
    algorithm(conv2d_nhwc_winograd4, at=t5.O.conv2d_nhwc)
    algorithm(conv2d_nhwc_winograd4, at=y.O.conv2d_nhwc)
}"
runs "a block names any combination" "$TENSORC" -run -O0 -ffp-error=1e-4 named.tensor
like "$(cat "$work/out")" 'all results checked, .*winograd2.*winograd4.*winograd4' "and computes by it"
sed 's/winograd4, at=y/winograd4_strided, at=y/' named.tensor >none.tensor
exits 1 "but one that does not fit" "$TENSORC" -c -O0 -ffp-error=1e-4 none.tensor -o none.o

done_testing
