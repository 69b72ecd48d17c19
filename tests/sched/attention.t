#!/bin/sh
# What -O2 makes of attention: one pass over blocks of queries where the weights are too many for a near cache, and right
# results.
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
like "$(chosen "$large")" ' acc = cache_write\(score, .*of_acc = cache_write\(mix, ' "both products have a register tile"
like "$(chosen "$large" 2)" 'fuse\(Y.b, q_block\) +parallel\(row\) +compute_at\(mix, row\)' "threads share the blocks"
like "$(chosen '')" 'compute_at\(mix, q_block\).*compute_at\(score, q_block\)' "also where sizes are known at run time"
like "$(chosen 'B=2, Q=64, K=64, D=32, E=32')" 'compute_at\(mix, e_m, scope=register\)' \
    "few weights stay where they are, and the product is in the tile of what follows"

for sizes in "$large" 'B=1, Q=1021, K=1033, D=7, E=1' 'B=2, Q=1024, K=513, D=16, E=17'; do
    printf 'import "nn"\nexport attention(%s) as f\n' "$sizes" >"$work/f.tensor"
    runs "attention of $sizes" "$TENSORC" -run -O2 --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked' "and it is right"
done
done_testing
