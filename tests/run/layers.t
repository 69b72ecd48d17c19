#!/bin/sh
# layers.t - const weights of all layers, of which each layer of a loop reads its own: packed layer by layer, with the
# same results as without; what stays as it is, and that this is said.
. "${srcdir:-.}/tests/lib.sh"
. "${srcdir:-.}/tests/run/arm.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O1 -O2; do
    # shellcheck disable=SC2086
    runs "compiles with $level" "$TENSORC" $level -c "$here/layers.tensor" -o layers.o --header layers.h
    ok "links" $CC -std=c11 -Wall -Wextra -Werror -I. "$here/layers.c" layers.o -o application -fopenmp -lm
    runs "runs" ./application || diag_file out
done
sed '/^def fours/,/^}/d' "$here/layers.tensor" >without.tensor
for sizes in "-DN=3 -DD=17 -DB=17" "-DN=1 -DD=16 -DB=2" "-DN=0 -DD=1 -DB=1"; do
    # shellcheck disable=SC2086
    runs "the interpreter agrees with $sizes" "$TENSORC" -run $sizes -DL=6 -DI=5 -DO=9 without.tensor
done
runs "and with 4 bits" "$TENSORC" -run -DN=3 -DD=34 -DJ=17 -DB=1 -DL=6 -DI=5 -DO=9 "$here/layers.tensor"

# --- what is said of it
capture "$TENSORC" -O1 --target=x86-64-v3 -v -S "$here/layers.tensor" -o layers.s
grep packed: err >said
while read -r line; do
    like "$(cat said)" "^tensorc: $line\$" "$line"
done <<'EOF'
floats_packed: rearranged by packing: w in 3 of 3 parts; packed as they are: b
some_packed: rearranged by packing: w in 2 of 2 parts
twice_packed: rearranged by packing: w in 2 of 3 parts
beside_packed: rearranged by packing: w in 1 of 2 parts
whole_packed: packed as they are: w; the same function as whole
pairs_packed: rearranged by packing: w in 4 of 4 parts
EOF
cat >known.tensor <<'EOF'
import "nn"
def product(float(N, I) X, float(O, I) W) -> (Y) { Y(n, o) +=! X(n, r_i) * W(o, r_i) }
def net(float(N, D) x, const float(2, D, D) w) -> (y) {
    y = identity_rows(x)
    for l in 0:2 { y = product(y, w(l)) }
}
export net(N=32, D=512)
EOF
capture "$TENSORC" -O2 --target=x86-64-v3 --explain-schedule -c known.tensor -o known.o
like "$(cat out)" '^[a-z0-9_]*w_part_1_p: 64 x 512 x 8, ahead of all calls' \
    "a layer's weights are made ahead of all calls"
like "$(cat out)" '^net_packed: rearranged by packing: w in 2 of 2 parts$' "as the explanation says in short"

# --- a schedule of the source finds the whole argument
cat known.tensor - >scheduled.tensor <<'EOF'
schedule net on x86 {
    inline(w.at_0)
    inline(w.at_1)
    P = cache_read(w, layout=(d0, d2, d1))
}
EOF
capture "$TENSORC" -O2 --target=x86-64-v3 -v --explain-schedule -c scheduled.tensor -o scheduled.o --header scheduled.h
like "$(cat out)" '^P: 2 x 512 x 512, ahead of all calls' "and packs it by one copy"
like "$(cat err)" 'net_packed: rearranged by packing: w$' "as is said"

on_arm layers
done_testing
