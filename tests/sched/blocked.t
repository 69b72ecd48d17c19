#!/bin/sh
# What -O2 chooses for long sums with reuse: blocks of the sum around the register tile, where the estimate is clearly
# better.
. "${srcdir:-.}/tests/lib.sh"

# Leaves the outermost loop over i out of the order where it has one iteration: tiles of $1 rows and more.
without_single() {
    awk -v rows="${1:-0}" '/^ *i_o, i_m, i_i = split/ { split($0, at, /[(,)]/); single = at[5] * at[6] >= rows }
        single && rows && /^ *reorder/ { sub(/i_o, /, "") }
        { print }'
}
# chosen PROGRAM [OPTION...]: the statements of its schedule, in one line.
chosen() {
    echo "$1" >"$work/f.tensor"
    rows=$(echo "$1" | sed -n 's/.*(M=\([0-9]*\).*/\1/p')
    shift
    "$TENSORC" -O2 --target=x86-64-v4 --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" -o "$work/f.o" \
        --threads=1 "$@" 2>&1 | without_single "$rows" | tr '\n' ' '
}
product='def f(float(M,K) A, float(K,N) B) -> (float(M,N) C) { C(i,j) +=! A(i,k) * B(k,j) } export f'
blocks='reorder\([^)]*k_o, [ij]_[om], [^)]*k_m, k_i'

like "$(chosen "$product(M=256, K=16384, N=256)")" "$blocks.*cache_write\(C, at=[ij]_m, scope=register" \
    "a loop over blocks is outside of the register tile"
like "$(chosen "$product(M=256, K=16384, N=256)" -fstrict)" "$blocks" "under -fstrict, too: the order stays"
like "$(chosen "$product(M=256, K=16384, N=256)" --threads=2)" 'parallel\((task|[ij]_o)\)' \
    "threads share tiles, not blocks"
unlike "$(chosen "$product(M=256, K=256, N=256)")" "$blocks" "a short sum stays whole"
unlike "$(chosen "$product(M=4, K=16384, N=256)")" "$blocks" "so does one that uses an operand a few times only"
unlike "$(chosen "$product(M=256, N=256)")" "$blocks" "and one of unknown length"

followed='def f(float(M,K) A, float(K,N) B, float(N) b) -> (float(M,N) D) {
    C(i,j) +=! A(i,k) * B(k,j)
    D(i,j) = max(C(i,j) + b(j), 0)
} export f'
resumed='compute_at\(C, ([ij]_o|task)\).*reorder\(k_o, .*cache_write\(C, at=[ij]_tm, scope=register'
like "$(chosen "$followed(M=256, K=16384, N=256)")" "$resumed" \
    "what follows a sum is computed behind the last block, tile by tile"
like "$(chosen "$followed(M=256, K=16384, N=256)" --threads=2)" "parallel.*$resumed" "by threads, too"
unlike "$(chosen "$followed(M=256, K=256, N=256)")" "$resumed" "a short sum that is followed stays whole in registers"
padded='def f(float(H,W,C) I, float(O,C,3,3) F, float(O) b) -> (Q) {
    T(h,w,o) +=! (I(h + kh - 1, w + kw - 1, c) else 0) * F(o, c, kh, kw) where h in 0:H, w in 0:W
    Q(h,w,o) = max(T(h,w,o) + b(o), 0)
} export f'
like "$(chosen "$padded(H=28, W=28, C=2048, O=256)")" 'compute_at\(T, [hwo]_o\).*reorder\(c_o, ' \
    "so are sums with a padded operand"

if runs_here x86-64-v3; then
    chosen "$product(M=96, K=8209, N=100)" --target=x86-64-v3 >"$work/chosen"
    like "$(cat "$work/chosen")" "$blocks" "where the last block is shorter"
    runs "it computes the sum" "$TENSORC" -run --target=x86-64-v3 --threads=1 --db="$work/none.db" "$work/f.tensor"
    for threads in 1 2; do
        chosen "$followed(M=96, K=8200, N=100)" --target=x86-64-v3 --threads=$threads >"$work/chosen"
        like "$(cat "$work/chosen")" "$resumed" "and what follows it, $threads threads"
        runs "it computes that" "$TENSORC" -run --target=x86-64-v3 --threads=$threads --db="$work/none.db" \
            "$work/f.tensor"
    done
fi

done_testing
