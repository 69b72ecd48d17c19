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
is "$status $(grep -cE 'compute_at\(bx, (y.)\).* prefetch\(I, \1, 1\)' found)" "0 1" \
    "one choice for all holes of a name" || diag_file err
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
runs "a rule with two such holes is not legal" "$TENSORC" -O2 -v -w --target=x86-64-v4 --threads=1 -c rule.tensor \
    -o rule.o
like "$(cat err)" 'not legal by rules of the source: twice for C' "and said to be so"
block m 'jo, ji = split(C.j, 16) reorder(?) vectorize(ji)'
is "$status $(grep -cE 'reorder\(.*C.r_k.*, C.ji\) vectorize' found)" "0 1" \
    "loops between which and lanes there is no sum" || diag_file found
block m 'io, ii = split(C.i, 4) jo, ji = split(C.j, 16) reorder(ii, C.r_k, ?) reorder(io, jo, ?)'
is "$status" 0 "orders of some loops" || diag_file err
block m 'io, ii = split(C.i, 4) jo, ji = split(C.j, 16) R = cache_write(C, at=?, scope=register)'
like "$(cat found)" 'cache_write\(C, at=C\.(j|i)[oi], scope=register\)' "a place with a key" || diag_file err

# --- a hole depends on the holes before it
{ cat defs.tensor; echo 'schedule m on x86 { io, ii = split(C.i, 4) jo, ji = split(C.j, 16) reorder(?o)
    ko, ki = split(? in {C.r_k, ii, jo}, 4) vectorize(?) unroll(?u) }'; } >gaps.tensor
runs "many combinations of choices" "$TENSORC" -O2 -v -w --target=x86-64-v4 --threads=1 -c gaps.tensor -o gaps.o
like "$(cat err)" 'm: holes that may lack choices: .*\?u of unroll \(48 of [0-9]+ combinations' \
    "are not all looked at, which is said" || diag_file err
is "$(grep -c '?o of reorder' err)" 0 "but not of a hole of which all is known"
block m 'R = cache_write(C, at=? in {C.j, C.i}) unroll(? in {R.j})'
is "$status $(grep -c 'cache_write(C, at=C.i) unroll(R.j)' found)" "0 1" \
    "a list names a loop that one choice before makes" || diag_file err
block m 'R = cache_write(C, at=? in {C.j, C.i}) unroll(? in {R.q, R.j})'
is "$status $(grep -c 'R has no loop q' err)" "1 1" "but each of its names with some choice" || diag_file err
block m 'a, b = split(? in {C.i, C.j}, 16) reorder(? in {(C.r_k, C.i, C.a, C.b)})'
is "$status $(grep -c 'split(C.j, 16) reorder(C.r_k, C.i, C.a, C.b)' found)" "0 1" "also in orders" || diag_file err
block m 'R = cache_write(C, at=? in {C.j, C.i}) reorder(R.r_k, R.j) vectorize(?)'
is "$status $(grep -cE 'at=C.i\) reorder\(R.r_k, R.j\) vectorize\(R.j\)' found)" "0 1" \
    "a hole without a list has the loops of the choice" || diag_file err
block m 'io, ii = split(C.i, 4) jo, ji = split(C.j, 16) reorder(io, jo, C.r_k, ii, ji)
    R = cache_write(C, at=?, scope=register) unroll(R.ii) vectorize(R.ji)'
is "$status $(grep -c 'cache_write(C, at=C.jo, scope=register)' found)" "0 1" \
    "a place that only later statements make legal" || diag_file err

# --- no choice is legal
block m 'vectorize(? in {C.r_k})'
like "$(cat err)" 'no choice for this hole is legal: C.r_k: ' "a hole without a legal choice says why" || diag_file err
like "$(cat err)" '^file.tensor:8:[0-9]*: error: no choice' "at its place" || diag_file err
block m 'a, b = split(? in {C.i, C.j}, 16) vectorize(?)'
like "$(cat err)" 'no choice for this hole is legal: C.a: C.a is not innermost' \
    "also where each choice before it was tried" || diag_file err
block m 'R = cache_write(C, at=? in {C.j, C.i}) vectorize(? in {R.j})'
like "$(cat err)" 'no choice for this hole is legal: R.j: ' "nor with another choice before" || diag_file err
block m 'vectorize(C.i) vectorize(C.j) parallel(C.i) parallel(? in {C.i, C.j, C.r_k})'
is "$status" 1 "what is refused before a hole is not blamed on it" || diag_file err
is "$(grep -c 'for this hole' err)" 0 "but on its own statement" || diag_file err

# --- the place of an output
for statement in 'compute_at(O, ?)' 'compute_at(O, ? in {root})' 'store_at(O, ?)'; do
    block b "$statement"
    moved="so ${statement%%(*} cannot move it; use cache_write"
    is "$status $(grep -c "^file.tensor:8:[0-9]*: error: O is an output: .* $moved" err)" \
        "1 1" "$statement is refused" || diag_file err
done
block b 'Q = cache_write(O, at=?) compute_at(bx, ?)'
is "$status" 0 "what is made for an output has a place" || diag_file err

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
