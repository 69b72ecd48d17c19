#!/bin/sh
# What a function would compute again is computed once, in a stage of its own, by -O2: factors of products, and
# functions that several stages compute. And what is left where it is.
. "${srcdir:-.}/tests/lib.sh"

# chosen DEF SIZES [OPTION]: the statements of the schedule, in one line. The def stays in f.tensor.
chosen() {
    printf '%s\nexport f(%s)\n' "$1" "$2" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 ${3:-} --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | tr '\n' ' '
}

# is_right WHAT
is_right() {
    runs "$1" "$TENSORC" -run -O2 ${2:-} --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked, by temporaries' "and they are right"
}

weights='def f(float(M, K) e, float(M) l, float(K, N) V) -> (O) { O(i, d) +=! e(i, r_j) / l(i) * V(r_j, d) }'
like "$(chosen "$weights" 'M=96, K=257, N=65')" 'algorithm\(temporaries\).*vectorize\(.*(O.term|r_j_v)' \
    "a factor that does not depend on an axis of the product"
is_right "weights of a product"
is_right "weights of a strict product" -fstrict
like "$(chosen "$weights" '')" 'algorithm\(temporaries\)' \
    "also where its axis may have no values, as all reads are inside"
scaled='def f(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! 0.125 * A(i, r_k) * B(j, r_k) }'
like "$(chosen "$scaled" 'M=96, K=64, N=96')" 'algorithm\(temporaries\)' "also one of constants"
is_right "scaled factors"
again='def f(float(N, D) X) -> (Y) {
    top(n) max=! X(n, r_d)
    sum(n) +=! exp(X(n, r_d) - top(n))
    Y(n, d) = exp(X(n, d) - top(n)) / sum(n)
}'
like "$(chosen "$again" 'N=65, D=1030')" 'algorithm\(temporaries\).*compute_at\(sum.term, ' "a function in two stages"
is_right "shared exponentials"
like "$(chosen "$again" 'N=65')" 'algorithm\(temporaries\).*compute_at\(sum.term, ' \
    "also where a size is known at run time"
like "$(chosen 'def f(float(N, D) X) -> (E, s) {
    E(n, d) = exp(X(n, d))
    s(n) +=! exp(X(n, r_d))
}' 'N=64, D=1024')" 'algorithm\(temporaries\)' "a stage that computes nothing else is read"
unlike "$(cat "$work/out" "$work/err" 2>/dev/null)" 'E.term' "in place of another one"
is_right "a result that is read"

# left DEF SIZES WHAT: the algorithm is not there to be asked for.
left() {
    printf '%s\nexport f(%s)\nschedule f on x86 { algorithm(temporaries) }\n' "$1" "$2" >"$work/f.tensor"
    exits 1 "$3" "$TENSORC" -O2 --target=x86-64-v4 -c "$work/f.tensor" -o "$work/f.o"
}
left 'def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }' 'M=96, K=64, N=96' \
    "what is only read"
left 'def f(float(H, W) I, float(C, 3, 3) F) -> (O) {
    O(c, h, w) +=! (2 * I(h + r_y, w + r_x)) * F(c, r_y, r_x)
}' 'H=32, W=32, C=16' "what would be a larger tensor than those that it reads"
left 'def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! (i < r_k ? 2 * A(i, r_k) : 0) * B(r_k, j) }' \
    'M=96, K=64, N=4' "few values of the other axis"
left 'def f(float(M, K) A, float(K, N) B, int32(M) n) -> (C) {
    C(i, j) +=! 2 * A(i, r_k) * B(r_k, j) where r_k < n(i)
}' 'M=96, K=64, N=96' "what a condition leaves out"
left 'def f(float(M, L) A, float(K, N) B) -> (C) { C(i, j) +=! 2 * A(i, r_k) * B(r_k, j) where r_k in 0:K }' 'M=96' \
    "what would be read outside where the other axis has no values"
left 'def f(float(M, K) A, int32(K) at, float(K, N) B) -> (C) {
    C(i, j) +=! (A(i, r_k) + A(i, at(r_k))) * B(r_k, j)
}' 'M=96, K=64, N=96' "what is read at an index from memory"
done_testing
