#!/bin/sh
# What -O2 makes of attention: one pass over blocks of queries where the weights are too many for a near cache, and
# right results.
. "${srcdir:-.}/tests/lib.sh"

# chosen SIZES THREADS: the statements of the schedule, in one line.
chosen() {
    printf 'import "nn"\nexport attention%s as f\n' "${1:+($1)}" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=${2:-1} --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | tr '\n' ' '
}

large='B=3, Q=514, K=1030, D=20, E=36'
like "$(chosen "$large")" 'compute_at\(mix, q_block\).*compute_at\(weight, q_block\).*compute_at\(score, q_block\)' \
    "scores, weights and their product are of one block of queries"
like "$(chosen "$large")" ' acc = cache_write\(score, .*of_acc = cache_write\(mix, ' \
    "both products have a register tile"
like "$(chosen "$large" 2)" 'fuse\(Y.b, q_block\) +parallel\(row\) +compute_at\(mix, row\)' "threads share the blocks"
like "$(chosen '')" 'compute_at\(mix, q_block\).*compute_at\(score, q_block\)' "also where sizes are known at run time"
like "$(chosen 'B=2, Q=64, K=64, D=32, E=32')" 'compute_at\(mix, [qe]_m, scope=register\)' \
    "few weights stay where they are, and the product is in the tile of what follows"

# Weights divided by their sum before the product with the values or after it.
spelled() {
    cat <<EOF
def attended(float(T, D) Q, float(S, D) K, float(S, E) V) -> (O) {
    s(i, j) +=! Q(i, r_d) * K(j, r_d)
    m(i) max=! s(i, r_j)
    e(i, j) = exp(0.125 * (s(i, j) - m(i)))
    l(i) +=! e(i, r_j)
    $1
}
export attended(T=$2) as f
EOF
}
before='p(i, j) = e(i, j) / l(i)  O(i, d) +=! p(i, r_j) * V(r_j, d)'
after='u(i, d) +=! e(i, r_j) * V(r_j, d)  O(i, d) = u(i, d) / l(i)'

# blocks NAME: what a block of the result's rows computes, and where the product has its register tile.
blocks() {
    "$TENSORC" -O2 --target=x86-64-v4 --threads=${2:-1} --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | grep -E "compute_at\([a-z]+, (i_block|row)\)|^    (i_block, i_rows|of_acc)" | tr '\n' ' '
}

spelled "$before" '1030, S=1024, D=20, E=36' >"$work/f.tensor"
first=$(blocks)
like "$first" 'split\(O.i.*compute_at\(p, i_block\).*compute_at\(s, i_block\).*of_acc = cache_write\(O, at=' \
    "a product that is the result itself has the blocks of rows, and its own register tile in them"
like "$(blocks f 2)" 'compute_at\(p, row\).*compute_at\(s, row\)|compute_at\(p, i_block\).*compute_at\(s, i_block\)' \
    "also with threads"
runs "weights divided before the product" "$TENSORC" -run -O2 --db="$work/none.db" "$work/f.tensor"
like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked' "and it is right"
spelled "$after" '1030, S=1024, D=20, E=36' >"$work/f.tensor"
like "$(blocks)" 'compute_at\(u, i_block\).*compute_at\(s, i_block\).*of_acc = cache_write\(u, at=' \
    "weights divided after the product are computed in the same blocks"
spelled "$before" '64, S=64, D=32, E=32' >"$work/f.tensor"
like "[$(blocks)]" '^\[ *\]$' "few weights are computed before the product that is the result"
cat >"$work/f.tensor" <<EOF
def chained(float(T, D) Q, float(S, D) K, float(S, E) V) -> (O) {
    s(i, j) +=! Q(i, r_d) * K(j, r_d)
    e(i, j) = exp(0.125 * s(i, j))
    O(i, d) +=! e(i, r_j) * V(r_j, d)
}
export chained(T=1030, S=1024, D=20, E=36) as f
EOF
like "[$(blocks)]" '^\[ *\]$' "without a softmax between them, products keep their own loops"

for sizes in "$large" 'B=1, Q=1021, K=1033, D=7, E=1' 'B=2, Q=1024, K=513, D=16, E=17'; do
    printf 'import "nn"\nexport attention(%s) as f\n' "$sizes" >"$work/f.tensor"
    runs "attention of $sizes" "$TENSORC" -run -O2 --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked' "and it is right"
done
done_testing
