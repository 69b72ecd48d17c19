#!/bin/sh
# Rules of the source: which stages they hold for, what -O2 makes of them, and what is said of those that are not legal.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >defs.tensor <<'END_OF_DEFS'
def transposed(float(M, N) x) -> (y) { y(i, j) = x(j, i) * 2 }
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
def plain(float(M, N) x) -> (y) { y(i, j) = x(i, j) * 2 }
def chain(float(H, W) a) -> (d) {
    b(y, x) = (a(y, x) + a(y + 1, x) + a(y + 2, x)) / 3
    c(y, x) = exp(b(y, x) + b(y + 1, x + 1) + b(y + 2, x + 2))
    d(y, x) = (c(y, x) + c(y + 1, x) + c(y + 2, x)) / 3
}
def both(float(M, N) x, float(M, N) z) -> (y, w) {
    y(i, j) = x(i, j) * 2
    w(i, j) = z(i, j) * 3
}
END_OF_DEFS
# rules EXPORT RULES: compiles with them. What was chosen in `chosen`, what is not legal in
# `misfits`, what applies to no stage in `idle`, the block in `found`.
rules() {
    { cat defs.tensor; echo "export $1 as f"; echo "$2"; } >file.tensor
    capture "$TENSORC" -O2 -v --target=x86-64-v4 --threads=1 --emit-schedule=all -c file.tensor -o file.o
    sed -n 's/^tensorc: f: by rules of the source: //p' err >chosen
    sed -n 's/^tensorc: f: not legal by rules of the source: //p' err >misfits
    sed -n 's/^tensorc: f: apply to no stage, rules of the source: //p' err >idle
    tr -s ' \n' ' ' <all >found
}
unrolled='rule unrolled on x86 applies elementwise, rank == 2, extent[0] <= 8 { unroll(axis[0]) vectorize(axis[1]) }'

rules 'plain(M=5, N=7)' "$unrolled"
is "$status $(cat chosen)" "0 unrolled for y" "a rule that is better than what the compiler has" || diag_file err
is "$(cat found)" "schedule f on x86-64-v4 { unroll(y.i) vectorize(y.j) } " "gives the schedule"
rules 'both(M=5, N=7)' "$unrolled"
is "$(tr ',' '\n' <chosen | wc -w)" 6 "for each stage by itself" || diag_file err
rules 'transposed(N=5, M=7)' "$unrolled"
is "$status $(cat chosen misfits idle)" "0 " "not where its lanes are gathered one by one" || diag_file err
rules 'transposed(N=5, M=8)' "$unrolled"
is "$status $(cat chosen misfits idle)" "0 " "nor where it gains next to nothing" || diag_file err
rules 'plain(M=9, N=7)' "$unrolled"
is "$status $(cat chosen misfits)" "0 " "not where a condition does not hold"
rules 'plain(M=5, N=7)' "$(echo "$unrolled" | sed 's/x86/arm/')"
is "$status $(cat chosen misfits)" "0 " "nor for another target"
rules 'plain' "$unrolled"
is "$status $(cat chosen misfits)" "0 " "nor where an extent is not known"
rules 'plain(M=5, N=7)' "$unrolled
schedule f on x86 { unroll(y.i) }"
is "$status $(cat chosen misfits)" "0 " "nor for a stage of a block"
rules 'matmul(M=5, K=7, N=11)' 'rule sums on x86 applies reuse, terms[0] < lanes {
    io, ii = split(axis[0], ?rows in {3, 5})
    reorder(io, sum[0], ii, axis[1])
    R = cache_write(stage, at=io, scope=register)
    vectorize(R.axis[1])
    unroll(R.ii, R.sum[0])
    require(rows > 3)
}'
is "$status $(cat misfits idle)" "0 " "formal names, holes and constraints" || diag_file err
rules 'plain(M=5, N=7)' 'rule rows on x86 applies elementwise, extent[1] < lanes {
    io, ii = split(axis[0], ?rows in {3, 5})
    R = cache_write(stage, at=io, scope=register)
    vectorize(R.axis[1])
    unroll(R.ii)
    require(rows > 3)
}'
is "$status $(cat chosen)" "0 rows for y" "also in a rule that is chosen" || diag_file err
like "$(cat found)" 'split\(y.i, 5\) (.*) = cache_write\(y, at=.*, scope=register\) vectorize\(\1.j\) unroll\(\1.ii\)' \
    "become the program's"
rules 'transposed(N=5, M=7)' 'rule order on x86 applies elementwise { reorder(axis[0], axis[1], ?) vectorize(?) }'
is "$status $(cat misfits)" "0 " "holes for orders and loops" || diag_file err

strips='rule strips on x86 applies stencil, producers == 2 {
    yo, yi = split(axis[0], ? in {4, 8})
    compute_at(producer[0], yi) store_at(producer[0], yo)
    compute_at(producer[1], yi) store_at(producer[1], yo)
    xo, xv = split(axis[1], 16) vectorize(xv)
    po, pv = split(producer[0].axis[1], 16) vectorize(pv)
    qo, qv = split(producer[1].axis[1], 16) vectorize(qv)
}'
rules 'chain(H=200, W=300)' "$strips"
is "$status $(cat misfits idle)" "0 " "producers of producers" || diag_file err
rules 'chain(H=200, W=300)' "$(echo "$strips" | sed 's/== 2/> 0/; s/producer\[1\]/producer[2]/g')"
is "$status $(cat misfits)" "0 strips for d" "but no more than there are" || diag_file err

# --- what is not legal
rules 'matmul(M=50, K=70, N=110)' 'rule lanes_of_sums on x86 applies reduction { vectorize(sum[0]) }
rule third_axis on x86 applies reduction { vectorize(axis[2]) }'
is "$status $(cat chosen)" "0 " "what is not legal is not chosen" || diag_file err
is "$(cat misfits)" "lanes_of_sums for C, third_axis for C" "and told"
rules 'matmul(M=50, K=70, N=110)' 'rule lanes_of_sums on x86 applies elementwise { vectorize(sum[0]) }'
is "$status $(cat misfits)" "0 " "but not where it does not apply"
is "$(cat idle)" "lanes_of_sums" "where it is said to apply to no stage" || diag_file err
rules 'both(M=5, N=7)' "$unrolled
rule wide on x86 applies elementwise, extent[0] > 8 { unroll(axis[0]) }
rule on_arm on arm applies reduction { vectorize(axis[0]) }
rule sums on x86 applies reduction { vectorize(axis[0]) }"
is "$status $(cat idle)" "0 wide, sums" "all such rules for the target are named in one line" || diag_file err
capture "$TENSORC" -O2 --explain-schedule --target=x86-64-v4 --threads=1 -c file.tensor -o file.o
is "$(grep -h '^apply to no stage, rules of the source: ' out err)" \
    "apply to no stage, rules of the source: wide, sums" \
    "also beside the loops" || diag_file out
rules 'both(M=5, N=7)' "$unrolled"
is "$status $(cat idle)" "0 " "and none that applies to a stage" || diag_file err
printf 'def rule(float(N) applies) -> (rules) { rules(i) = applies(i) }\n' >names.tensor
runs "rule and applies are names elsewhere" "$TENSORC" -fsyntax-only names.tensor

# --- the results are those of the interpreter
if [ "$(uname -m)" = x86_64 ]; then
    { cat defs.tensor; echo "$unrolled"; echo \
        'export transposed(N=5, M=7) export both(N=8, M=3) export matmul(M=64, K=17, N=33)'
        echo "$strips export chain(H=67, W=131)"
        echo 'rule lanes on x86 applies reuse {
            jo, jv = split(axis[1], ? in {4, 8, 16}) reorder(jo, sum[0], jv) vectorize(jv) }'; } >run.tensor
    runs "functions by rules run" "$TENSORC" -O2 -run run.tensor
    is "$(grep -c 'all results checked' out)" 4 "and compute what they mean" || diag_file out
fi
done_testing
