#!/bin/sh
# What -O2 makes of few results of long reductions (split-K): partial results of pieces, in a register tile with some
# pieces side by side, and right results.
. "${srcdir:-.}/tests/lib.sh"

cat >"$work/defs" <<'EOF'
def product(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
def followed(float(M, K) A, float(K, N) B, float(N) b) -> (Y) {
    C(i, j) +=! A(i, r_k) * B(r_k, j)
    Y(i, j) = max(C(i, j) + b(j), 0)
}
def transposed(float(K, M) A, float(K, N) B) -> (C) { C(i, j) +=! A(r_k, i) * B(r_k, j) }
def furthest(double(M, K) A, double(N, K) B) -> (C) { C(i, j) max=! abs(A(i, r_k) - B(j, r_k)) }
def added(float(M, K) A, float(K, N) B, float(M, N) D) -> (C) {
    C(i, j) = D(i, j)
    C(i, j) += A(i, r_k) * B(r_k, j)
}
def two(float(M, L, K) A, float(K, L, N) B) -> (C) { C(i, j) +=! A(i, r_l, r_k) * B(r_k, r_l, j) }
EOF

# chosen EXPORT THREADS [OPTION]: the statements of the schedule, in one line.
chosen() {
    { cat "$work/defs"; echo "export $1 as f"; } >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=$2 ${3:-} --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | tr '\n' ' '
}

long='M=4, K=200000, N=16'
like "$(chosen "product($long)" 1)" 'C_s = rfactor\(r_k_t\).*r_k_ti = split\(C_s.r_k_t, [248]\).*unroll\([^)]*r_k_ti' \
    "one thread computes pieces side by side"
like "$(chosen "product($long)" 8)" \
    'C_s = rfactor\(r_k_t\).*(task = fuse\((C_s.r_k_t|r_k_to).*parallel\(task|parallel\(r_k_to)' \
    "threads share them"
like "$(chosen "followed($long)" 8)" 'C_s = rfactor\(r_k_t\)' "also where something follows"
unlike "$(chosen "product($long)" 8 -fstrict)" 'rfactor' "not where the order of sums is kept"
unlike "$(chosen 'product(M=4, K=1000, N=16)' 8)" 'rfactor' "nor a short reduction"

for f in 'product(M=3, K=20011, N=17)' 'product(M=1, K=20001, N=33)' 'followed(M=4, K=20001, N=16)' \
    'transposed(M=5, K=20011, N=12)' 'furthest(M=5, K=20011, N=12)' 'added(M=5, K=20011, N=12)' \
    'two(M=4, L=3, K=20007, N=8)'; do
    for threads in 1 2; do
        chosen "$f" $threads >/dev/null
        runs "$f for threads=$threads" "$TENSORC" -run -O2 --target=host --threads=$threads --db="$work/none.db" \
            "$work/f.tensor"
        like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked' "and it is right"
    done
done

# The last piece has fewer terms, in loops whose ends are tests: none of them adds what a copy does not hold.
for terms in 45 47 43 6 5; do
    cat >"$work/f.tensor" <<EOF
def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
export f(M=4, K=$terms, N=16)
schedule f on x86 {
    t, r = split(C.r_k, 6)
    S = rfactor(t)
    ko, ki = split(S.r, 4)
    reorder(S.t, S.j, S.i, ko, ki)
    unroll(ki)
    acc = cache_write(S, at=S.i, scope=register)
    A_p = cache_read(A, at=S.i)
    B_p = cache_read(B, at=S.t)
}
EOF
    runs "$terms terms in pieces of 6 by 4" "$TENSORC" -run -O2 --target=x86-64-v3 --threads=1 "$work/f.tensor"
done
done_testing
