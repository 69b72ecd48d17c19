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
blocks='reorder\([^)]*k_o, [ij]_m, [^)]*k_m, k_i'

like "$(chosen "$product(M=256, K=16384, N=256)")" "$blocks.*cache_write\(C, at=[ij]_m, scope=register" \
    "a loop over blocks is outside of the register tile"
like "$(chosen "$product(M=256, K=16384, N=256)" -fstrict)" "$blocks" "under -fstrict, too: the order stays"
like "$(chosen "$product(M=256, K=16384, N=256)" --threads=2)" 'parallel\((task|[ij]_o)\)' \
    "threads share tiles, not blocks"
unlike "$(chosen "$product(M=256, K=256, N=256)")" "$blocks" "a short sum stays whole"
unlike "$(chosen "$product(M=4, K=16384, N=256)")" "$blocks" "so does one that uses an operand a few times only"
unlike "$(chosen "$product(M=256, N=256)")" "$blocks" "and one of unknown length"
unlike "$(chosen 'def f(float(M,K) A, float(K,N) B) -> (D) { C(i,j) +=! A(i,k) * B(k,j) D(i,j) = max(C(i,j), 0) }
    export f(M=256, K=16384, N=256)')" "$blocks" "and one that is followed in its tile: it must be complete there"

if runs_here x86-64-v3; then
    chosen "$product(M=96, K=8200, N=100)" --target=x86-64-v3 >"$work/chosen"
    like "$(cat "$work/chosen")" "$blocks" "where the last block is shorter"
    runs "it computes the sum" "$TENSORC" -run --target=x86-64-v3 --threads=1 --db="$work/none.db" "$work/f.tensor"
fi

done_testing
