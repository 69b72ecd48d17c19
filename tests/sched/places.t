#!/bin/sh
# Holes that stand for loops, places and orders: what they may become, and what -O2 makes of them.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >defs.tensor <<'END_OF_DEFS'
def blur(float(H, W) I) -> (O) {
    bx(y, x) = (I(y, x) + I(y, x + 1) + I(y, x + 2)) / 3
    O(y, x) = (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3
}
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
export blur(H=130, W=258) as b
export matmul(M=64, K=64, N=64) as m
END_OF_DEFS

# block NAME STATEMENTS: compiles a function with just them. The block that comes of it in `found`, on one line.
block() {
    { cat defs.tensor; echo "schedule $1 on x86 { $2 exactly() }"; } >file.tensor
    capture "$TENSORC" -O2 -w --target=x86-64-v4 --threads=1 --emit-schedule=all -c file.tensor -o file.o
    sed -n "/^schedule $1 on/,/^}/p" all | tr -s ' \n' ' ' >found
}

block b 'yo, yi = split(O.y, 16) compute_at(bx, ? in {yi})'
like "$(cat found)" 'compute_at\(bx, yi\)' "a place"
block b 'compute_at(bx, ? in {inline})'
like "$(cat found)" '\{ inline\(bx\)' "the place where it is read"
block b 'compute_at(bx, ? in {root})'
is "$status $(grep -c 'compute_at' found)" "0 0" "outside of all loops" || diag_file err
block b 'compute_at(bx, O.y) compute_at(bx, ? in {root})'
like "$(cat found)" 'compute_root\(bx\)' "which undoes a place before" || diag_file all
block b 'yo, yi = split(O.y, 16) compute_at(bx, yi) store_at(bx, ? in {yo})'
like "$(cat found)" 'store_at\(bx, yo\)' "a buffer's place"
block b 'yo, yi = split(O.y, 16) compute_at(bx, ?p in {yo, yi}) vectorize(bx.x) prefetch(I, ?p, 1)'
is "$status $(grep -cE 'compute_at\(bx, (y.)\).* prefetch\(I, \1, 1\)' found)" "0 1" "one choice for all holes of a name" || diag_file err
block b 'xo, xi = split(O.x, 16) compute_at(bx, O.y) vectorize(? in {O.y, xi})'
is "$status $(grep -cE 'vectorize\(xi\)' found)" "0 1" "the one loop that may run in lanes" || diag_file found
block m 'reorder(? in {(C.r_k, C.j, C.i)})'
like "$(cat found)" 'reorder\(C.r_k, C.j, C.i\)' "an order"
for order in '?, ?' '?, C.i' 'C.i, ?, C.j' '? in {(C.i, C.j)}, ?'; do
    block m "reorder($order)"
    is "$status $(grep -c 'a hole of reorder stands for an order of loops: it is the last argument' err)" "1 1" \
        "reorder($order) is refused" || diag_file err
done
{ cat defs.tensor; echo 'rule twice on x86 applies reuse { reorder(?, ?) }'; } >rule.tensor
runs "a rule with two such holes is not legal" "$TENSORC" -O2 -v -w --target=x86-64-v4 --threads=1 -c rule.tensor -o rule.o
like "$(cat err)" 'not legal by rules of the source: twice for C' "and said to be so"
block m 'jo, ji = split(C.j, 16) reorder(?) vectorize(ji)'
is "$status $(grep -cE 'reorder\(.*C.r_k.*, C.ji\) vectorize' found)" "0 1" "loops between which and lanes there is no sum" || diag_file found
block m 'io, ii = split(C.i, 4) jo, ji = split(C.j, 16) reorder(ii, C.r_k, ?) reorder(io, jo, ?)'
is "$status" 0 "orders of some loops" || diag_file err
block m 'io, ii = split(C.i, 4) jo, ji = split(C.j, 16) R = cache_write(C, at=?, scope=register)'
like "$(cat found)" 'cache_write\(C, at=C\.(j|i)[oi], scope=register\)' "a place with a key" || diag_file err

# --- the same at -O1, and when a block is completed
for level in 1 2; do
    { cat defs.tensor; echo 'schedule b on x86 { yo, yi = split(O.y, ? in {8, 16}) compute_at(bx, ?) }
        schedule m on x86 { io, ii = split(C.i, ?) reorder(?) }'; } >run.tensor
    if [ "$(uname -m)" = x86_64 ]; then
        runs "filled at -O$level" "$TENSORC" -O$level -run run.tensor
        is "$(grep -c 'results checked' out)" 2 "they mean the same" || diag_file out
    fi
done
done_testing
