#!/bin/sh
# What -O2 chooses for reductions that a stage follows element by element: vectors, whatever the number of indices, the
# combiner, and whether sizes are known.
. "${srcdir:-.}/tests/lib.sh"

# chosen PROGRAM: the statements of its schedule, in one line.
chosen() {
    echo "$1" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | tr '\n' ' '
}

for sizes in '' '(A=3, B=5, C=40, D=50)'; do
    for combine in '+' 'max' '*'; do
        at="of $combine ${sizes:-at run time}"
        like "$(chosen "def f(float(A,B,C,D) x) -> (y) {
            s(a) $combine=! x(a,b,c,d) y(a) = s(a) / 2 } export f$sizes")" \
            'rfactor' "one index, vectors of partial results $at"
        like "$(chosen "def f(float(A,B,C,D) x) -> (y) {
            s(a,b) $combine=! x(a,b,c,d) y(a,b) = s(a,b) / 2 } export f$sizes")" \
            'rfactor' "two, vectors of partial results $at"
        like "$(chosen "def f(float(A,B,C,D) x) -> (y) {
            s(a,b,c) $combine=! x(a,b,c,d) y(a,b,c) = s(a,b,c) / 2 } export f$sizes")" \
            'rfactor' "three, vectors of partial results $at"
        like "$(chosen "def f(float(A,B,C,D) x) -> (y) {
            s(a,d) $combine=! x(a,b,c,d) y(a,d) = s(a,d) / 2 } export f$sizes")" \
            '(reorder\(s.b, s.c,|compute_at\(s, a_m).*vectorize' "across the last index, vectors of results $at"
    done
done

# Reductions of all elements, whatever reads them: another one, elements, a value without indices.
for sizes in '' '(A=30, B=40)'; do
    for reader in 'y(a,b) = x(a,b) / (s() + 1)' 'y(a,b) = x(a,b) / (s() + 1) + x(A - 1 - a,b) * m()' 'y() = s() / m()' \
        'e() +=! exp(x(a,b) - s()) y(a,b) = exp(x(a,b) - m()) / e()' 'u() = s() - m() y(a) = x(a,0) * u()'; do
        made=$(chosen "def f(float(A,B) x) -> (y) { s() +=! x(a,b) * x(a,b) m() max=! x(a,b) $reader } export f$sizes")
        like "$made" '_s0_b_p = rfactor' "of all elements${sizes:+ of known sizes}, then $reader"
    done
done
like "$(chosen 'def f(float(N) x) -> (y) { s() +=! x(i) y() = s() / N } export f(N=7)')" \
    's.* = split|unroll\(s' "of a few elements"

# The reduction that runs along memory has the vectors, wherever it is written, in both directions, and as what is
# inlined reads it. Where none does for all that is read, that is one along which a part is contiguous.
for program in 'y() +=! w(i) * x(i,j)' 'y() +=! v(j) * x(i,j) * w(i)' 'y() +=! v(J - 1 - j) * x(i,j)' \
    'y() max=! x(I - 1 - i,J - 1 - j) - w(i)' 't(j,i) = abs(x(i,j)) y() +=! t(j,i)'; do
    like "$(chosen "def f(float(I,J) x, float(I) w, float(J) v) -> (y) { $program } export f(I=30, J=40)")" \
        '_j_[ov][^)]* = split.*_j_p = rfactor' "neighbours of memory are lanes: $program"
done
like "$(chosen 'def f(float(J,L,K) x, float(K,J,L) w) -> (y) { y() min=! x(j,l,k) - w(k,j,l) }
    export f(J=40, K=30, L=20)')" \
    'rfactor' "a part of what is read is contiguous"
unlike "$(chosen 'def f(float(I,J) x, float(L) w) -> (y) { t(i,j,l) = max(x(i,j), w(l))  y(i) +=! t(i,j,l) }
    export f(I=30, J=40, L=33)')" 'fuse\(y.j, y.l' "two reductions are no row of what is inlined"

like "$(chosen 'def f(float(N,M,C) x) -> (y) { s(n,m) +=! x(n,m,c) t(n,m) max=! x(n,m,c) y(n,m) = s(n,m) / t(n,m) }
    export f(N=4, M=8, C=200)')" 's[0-9]_c_p = rfactor.*s[0-9]_c_p = rfactor' "two reductions of the same rows"
like "$(chosen 'def f(float(N,C) x) -> (y) { s(c) +=! x(n,c) y(c) = s(c) / 2 } export f(N=512, C=300)')" \
    'compute_at\(s, c_m, scope=register.*vectorize' "of columns, in the tile of what follows"
like "$(chosen 'def f(float(N,I) x, float(O,I) w, float(O) b) -> (y) {
    s(n,o) +=! x(n,i) * w(o,i) y(n,o) = s(n,o) + b(o) }
    export f(N=1, I=512, O=512)')" 'rfactor' "a matrix by one row is rows of the matrix, whatever follows"
unlike "$(chosen 'def f(float(N,W) x) -> (y) {
    s(n,w) +=! x(n,2*w+k) where k in 0:2, w in 0:(W/2) y(n,w) = s(n,w) / 2 } export f')" \
    'vectorize\(s0' "where nothing lies along a row and sizes are not known, the reduction stays plain"
for sizes in '' '(N=512, A=100, B=3)'; do
    like "$(chosen "def f(float(N,A,B) x) -> (y) { y(n) +=! x(n,a,b) } export f$sizes")" \
        'fuse\(y.a, y.b\).*rfactor' "short rows side by side are one row ${sizes:-at run time}"
    unlike "$(chosen "def f(float(N,A,B) x, float(N,B,A) z) -> (y) { y(n) +=! x(n,a,b) * z(n,b,a) } export f$sizes")" \
        'fuse' "not where something is read in another order ${sizes:-at run time}"
    unlike "$(chosen "def f(float(N,A,B) x) -> (y) { y(n) +=! x(n,a,b) where b in 0:B-1 } export f$sizes")" \
        'fuse' "nor parts of rows ${sizes:-at run time}"
done
for sizes in '' '(T=1055, K=32)'; do
    like "$(chosen "def f(float(T) x, float(K) h) -> (y) { y(t) +=! x(t + k) * h(k) } export f$sizes")" \
        'split\(y.t, .*16\).*vectorize\(t_v\)' "a filter, in vectors of results ${sizes:-at run time}"
done
like "$(chosen 'def f(float(T) x, float(K) h) -> (y) { y(t) +=! x(t + k) * h(k) } export f(T=1007, K=1000)')" \
    'rfactor' "where there are few of these, in vectors of partial results"
for sizes in '' '(A=4, N=256, D=64)'; do
    unlike "$(chosen "def f(float(N,D) x) -> (v) {
        m(d) +=! x(n,d) v(d) +=! (x(n,d) - m(d)) * (x(n,d) - m(d)) } export f$sizes")" \
        'rfactor|compute_at\(m, d' "two reductions of columns, one after the other ${sizes:-at run time}"
    like "$(chosen "def f(float(A,N,D) x) -> (v) {
        m(a,d) +=! x(a,n,d) v(a,d) +=! (x(a,n,d) - m(a,d)) * m(a,d) } export f$sizes")" \
        'compute_at\(m, (a_block|v.a)\).*reorder\(m.n, .*vectorize.*reorder\(v.n, .*vectorize' \
        "of some matrices, a row of results at a time ${sizes:-at run time}"
done

# Combiners of a program's own, of tuples.
first='(v > w || (v == w && i < j)) ? (v, i) : (w, j)'
declared="combiner top(float v, int32 i; float w, int32 j) associative commutative
    identity (-inf, 2147483647) { $first }"
for sizes in '' '(N=32, D=512)'; do
    like "$(chosen "$declared def f(float(N,D) x) -> (y, at) { y(n), at(n) top=! (x(n,d), d) } export f$sizes")" \
        'rfactor\(s0_d_v.*vectorize\(s0_d_q_q8.*vectorize\(s0_d_q_q2' \
        "long rows, in lanes that are combined by halves ${sizes:-at run time}"
    like "$(chosen "$declared def f(float(N,D) x) -> (y, at) { y(d), at(d) top=! (x(n,d), n) } export f$sizes")" \
        'vectorize\(d_v\).*cache_write\(y, .*register' "columns, in vectors of results ${sizes:-at run time}"
done
unlike "$(chosen "$declared def f(float(N,D) x) -> (y, at) { y(n), at(n) top=! (x(n,d), d) } export f(N=256, D=32)")" \
    'rfactor' "short rows, in vectors of results, too"
unlike "$(chosen "combiner top(float v, int32 i; float w, int32 j) associative identity (-inf, 2147483647) { $first }
    def f(float(N,D) x) -> (y, at) { y(n), at(n) top=! (x(n,d), d) } export f(N=32, D=512)")" \
    'rfactor' "not where the order counts"
pooling=$(chosen "$declared def f[K=2](float(C,H,W) x) -> (y, at) {
        y(c,h,w), at(c,h,w) top=! (x(c, K*h+i, K*w+j), i) where i in 0:K, j in 0:K
    } export f(C=8, H=64, W=64)")
accumulators=2
for axis in c h w; do # one row of an axis that is not split
    rows=$(echo "$pooling" | sed -n "s/.*split(y\\.$axis, [0-9]*, \\([0-9]*\\).*/\\1/p")
    accumulators=$((accumulators * ${rows:-1}))
done
like "$pooling" 'vectorize\(w_v\)' "results of a combiner side by side are in vectors"
is "$(($accumulators < 32))" 1 "the accumulators of all results fit the registers"
for sizes in '' '(H=8, D=64, T=200)'; do
    like "$(chosen "def f(float(H,D) q, float(T,H,D) k) -> (s) { s(h,t) +=! q(h,d) * k(t,h,d) } export f$sizes")" \
        'rfactor' "of keys that one query reads once, along memory ${sizes:-at run time}"
    like "$(chosen "def f(float(H,D) q, float(T,H,D) k) -> (y) {
        s(h,t) +=! q(h,d) * k(t,h,d) m(h) max=! s(h,t) y(h,t) = s(h,t) - m(h) } export f$sizes")" \
        's[0-9]_d_p = rfactor' "also where their rows are read then ${sizes:-at run time}"
done
unlike "$(chosen 'def f(float(M,K) a, float(N,K) b) -> (y) {
    y(m,n) +=! a(m,k) * b(n,k) } export f(M=64, N=64, K=64)')" \
    'rfactor' "not of what many read"
groups='s(n,c) +=! x(n,c,i,j)  m(n,g) +=! s(n,8*g+k) / 9 where g in 0:C/8, k in 0:8'
for sizes in '' '(N=1, C=64, H=40, W=40)'; do
    like "$(chosen "def f(float(N,C,H,W) x) -> (y) { $groups  y(n,c,h,w) = x(n,c,h,w) - m(n,c/8) } export f$sizes")" \
        's0_j_p = rfactor' "of rows that share some axes alone with what reads them ${sizes:-at run time}"
done
done_testing
