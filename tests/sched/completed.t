#!/bin/sh
# What -O2 adds to a block that leaves something open, and what it leaves as it is written.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# block NAME STATEMENTS [OPTION...]: compiles NAME of defs.tensor with them. Lines of what was added in `added`, the
# block in `found`.
block() {
    name=$1 statements=$2
    shift 2
    { cat defs.tensor; echo "export $name as f schedule f on x86 { $statements }" | sed "s/export $name/&$sizes/"; } \
        >file.tensor
    capture "$TENSORC" -O2 -v --target=x86-64-v4 --threads=1 --emit-schedule=found "$@" -c file.tensor -o file.o
    sed -n 's/^tensorc: f: completed: //p' err >added
}
cat >defs.tensor <<'END_OF_DEFS'
def blur(float(H, W) I) -> (O) {
    bx(y, x) = (I(y, x) + I(y, x + 1) + I(y, x + 2)) / 3
    O(y, x) = (bx(y, x) + bx(y + 1, x) + bx(y + 2, x)) / 3
}
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
def transposed(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, r_k) * B(j, r_k) }
def conv(float(C, H, W) I, float(K, C, 3, 3) F) -> (O) {
    O(k, y, x) +=! (I(r_c, y + r_i - 1, x + r_j - 1) else 0) * F(k, r_c, r_i, r_j) where y in 0:H, x in 0:W
}
def twice(float(M, K) A, float(K, N) B) -> (C, D) {
    t(i, j) = B(i, j) * 2
    C(i, j) +=! A(i, r_k) * B(r_k, j)
    D(i, j) = sqrt(t(i, j))
}
def layer(float(M, K) A, float(N, K) B, float(N) c) -> (D) {
    t(i, j) +=! A(i, r_k) * B(j, r_k)
    D(i, j) = max(t(i, j) + c(j), 0)
}
def pair(float(M, K) A, float(K, N) B, float(N, K) c) -> (E) {
    t(i, j) +=! A(i, r_k) * B(r_k, j)
    D(i, j) = max(t(i, j), 0)
    E(i, l) +=! D(i, r_j) * c(r_j, l)
}
def dot(float(K) A, float(K) B) -> (C) { C() +=! A(r_k) * B(r_k) }
def steps(float(T, N) x) -> (h) { scan t { h(t, j) = x(t, j) + (h(t-1, j) else 0) } }
def rnn(float(T, B, I) x, const float(H, I) wx, const float(H, H) wh) -> (h) {
    scan t {
        p(t, b, j) +=! x(t, b, r_i) * wx(j, r_i)
        a(t, b, j) +=! (h(t-1, b, r_k) else 0) * wh(j, r_k)
        h(t, b, j) = tanh(p(t, b, j) + a(t, b, j))
    }
}
END_OF_DEFS

# --- stages that read what the block copies or inlines
sizes='(M=64, N=96, K=80)'
block layer 'P = cache_read(B, layout=(d0/16, d1, d0%16))'
is "$status $(grep -c 'plain loops' err) $(grep -c cache_write added)" "0 0 1" \
    "sums in registers of a stage that reads a copy" || diag_file err
block pair 'inline(D)'
is "$status $(grep -c 'plain loops' err) $(grep -c 'cache_write(E' added)" "0 0 1" \
    "and of one that reads what is inlined" || diag_file err

# --- stages that the block names
sizes='(H=258, W=514)'
block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi)'
is "$status $(grep -c '^vectorize(' added)" "0 2" "vectors for both stages of a blur" || diag_file err
is "$(sed -n 2,3p found | paste -sd' ' - | tr -s ' ')" " yo, yi = split(O.y, 64) compute_at(bx, yi)" \
    "after the statements of the block"
like "$(cat added)" '^store_at\(bx, O.yo\)' "and a window of rows"
cp file.o whole.o
{ cat defs.tensor; echo "export blur$sizes as f"; sed 's/ on .*{/ on x86 {/' found; } >pasted.tensor
runs "what was found, pasted in" "$TENSORC" -O2 --target=x86-64-v4 --threads=1 -c pasted.tensor -o pasted.o
same whole.o pasted.o "gives the same object"
block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi)' --explain-schedule
like "$(cat out)" '^completed: vectorize' "--explain-schedule says what was added"
block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi)' --threads=4
is "$(grep -c '^parallel(O.yo)' added)" 1 "threads, where there are several"
block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi) xo, xv = split(O.x, 16) vectorize(xv)'
is "$(grep -c '^vectorize(' added) $(grep -c 'O[._]' added)" "1 1" \
    "a stage with vectors is as it is written, but for the place of the other's buffer" ||
    diag_file added
sizes='(M=96, K=64, N=96)'
block matmul 'reorder(C.r_k, C.j, C.i)'
is "$(grep -c '^vectorize(C_i_v)' added)" 1 "vectors for another order of loops" || diag_file err
is "$("$TENSORC" -O2 --target=x86-64-v4 --threads=1 -d n -c file.tensor -o file.o 2>&1 |
    sed -n 's/^ *for \([rij]_*k*\)_*[a-z]* .*/\1/p' | head -n 1)" \
    r_k "that the block gives stays the order"
block matmul 'io, ii = split(C.i, 24)'
is "$(grep -c 'cache_write(C, at=.*, scope=register)' added) $(grep -c '^vectorize(' added)" "1 1" \
    "sums are kept in registers"
sizes='(M=512, K=512, N=512)'
block transposed 'a, b, c, d = tile(C.i, C.j, 64, 64)'
like "$(cat added)" '^C_B_p = cache_read\(B, .*layout=\(d0/16, d1, d0%16\)\)' "an operand of a stride is packed"
is "$(grep -c '^vectorize(C_B_p' added)" 1 "in vectors"
block transposed 'a, b, c, d = tile(C.i, C.j, 64, 64) P = cache_read(B, at=b, layout=(d0/16, d1, d0%16))'
is "$status $(grep -c 'cache_read(P' added) $(grep -c 'cache_read(B' added)" "0 0 0" "but not what the block packs" ||
    diag_file added
block transposed 'a, b, c, d = tile(C.i, C.j, 64, 64)' --threads=4
is "$(grep -c '^parallel(C.a)' added) $(grep -c '^vectorize(C_B_p' added)" "1 1" "beside threads" || diag_file added
block matmul 'a, b, c, d = tile(C.i, C.j, 4, 32) reorder(a, b, C.r_k, c, d)'
like "$(cat added)" '^C_sums = cache_write\(C, at=C.b, scope=register\)' "a tile of the block stays in registers" ||
    diag_file added
like "$(cat added)" '^unroll\(C_sums.c, C_d_o\)' "with all of its rows"
block matmul 'a, b = split(C.j, 64)'
like "$(cat added)" ' = split\(C.i, ' "rows are of another axis than the lanes" || diag_file added
sizes='(C=16, H=56, W=56, K=64)'
block conv 'a, b = split(O.k, 16)'
is "$status $(grep -c 'cache_read(I' added)" "0 1" "what is read outside is copied with its ends" || diag_file added
sizes='(K=4096)'
block dot 'ko, ki = split(C.r_k, 1024)'
is "$(grep -c 'rfactor(.*, scope=register)' added)" 2 "those of one element in lanes" || diag_file err

# --- stages that it does not name
sizes='(M=64, K=64, N=64)'
block twice 'io, ii = split(C.i, 8) jo, jv = split(C.j, 16) reorder(io, jo, C.r_k, ii, jv) vectorize(jv) unroll(ii)'
is "$status $(grep -c '^inline(t)' added)" "0 1" "are inlined as without the block" || diag_file err
is "$(grep -c '^vectorize(' added) $(grep -c 'C[._]' added)" "1 0" "or get vectors; the others stay" || diag_file added

# --- stages of a scan
sizes='(T=8, B=4, I=64, H=128)'
block rnn 'jo, ji = split(a.j, 64)'
is "$status $(grep -c '^compute_root(p)' added)" "0 1" "what needs no earlier step is computed before the scan" ||
    diag_file err
like "$(cat added)" '^a_sums = cache_write\(a, at=.*, scope=register\)' "a sum of a step is kept in registers"
like "$(cat added)" '^a_wh_p = cache_read\(wh, layout=\(d0/16, d1, d0%16\)\)' "what all steps read is packed once"
is "$(grep -c '^vectorize(j_v)' added)" 1 "stages that the block does not name get vectors" || diag_file added
block rnn 'bo, bi = split(p.b, 2)'
is "$status $(grep -c 'compute_root(p)' found)" "0 0" "but one that it names stays in its scan" || diag_file added
block rnn 'compute_root(p) compute_at(a, scan.t)'
is "$status $(grep -c '^p_sums = ' added) $(grep -c '^a_sums = ' added)" "0 1 1" "unless it says otherwise" ||
    diag_file added
cp file.o whole.o
{ cat defs.tensor; echo "export rnn$sizes as f"; sed '/^#/d; s/ on .*{/ on x86 {/' found; } >pasted.tensor
runs "what was found, pasted in" "$TENSORC" -O2 --target=x86-64-v4 --threads=1 -c pasted.tensor -o pasted.o
sizes='(T=8, N=32)'
block steps 'jo, ji = split(h.j, 16)'
is "$status $(cat added)" "0 vectorize(h.ji)" "a block of a single step, too" || diag_file added
block steps 'to, ti = split(scan.t, 4)'
is "$status $(grep -c '^vectorize' added)" "0 1" "with the steps in blocks" || diag_file added

# --- statements without effect
sizes='(H=130, W=258)'
block blur 'compute_at(bx, O.y) compute_at(bx, O.y) reorder(? in {(O.y, O.x)})'
is "$status $(grep -c 'compute_at(bx' found) $(grep -c 'reorder(O.y, O.x)' found)" "0 1 0" "are left out" ||
    diag_file found
block blur 'compute_at(bx, O.y) store_at(bx, root) store_at(bx, O.y) reorder(? in {(O.y, O.x)})'
is "$status $(grep -c 'store_at(bx, O.y)' found)" "0 1" "but not one that undoes an earlier one" || diag_file found

# --- as it is written
sizes='(H=258, W=514)'
block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi) exactly()'
is "$status $(cat added)" "0 " "exactly() adds nothing"
like "$(cat err)" 'scheduled by the source$' "to the source"
for level in 0 1; do
    block blur 'yo, yi = split(O.y, 64) compute_at(bx, yi)' -O$level
    is "$status $(cat added)" "0 " "nor does -O$level"
    is "$(grep -c 'exactly()' found)" 1 "and the block that it writes stays so"
done
sizes='(T=8, N=32)'
block steps 'exactly(h)'
like "$(cat err)" 'exactly takes 0 arguments, not 1' "exactly has no arguments"

# --- the results are those of the interpreter
cat >run.tensor <<'END_OF_RUN'
export blur(H=67, W=131) as b schedule b on x86 { yo, yi = split(O.y, 8) compute_at(bx, yi) }
export matmul(M=29, K=31, N=47) as m schedule m on x86 { io, ii = split(C.i, 8) }
export matmul(M=17, K=23, N=19) as n schedule n on x86 { reorder(C.j, C.i, C.r_k) }
export dot(K=1001) as d schedule d on x86 { ko, ki = split(C.r_k, 128) }
export twice(M=33, K=33, N=33) as t schedule t on x86 { parallel(C.i) }
export transposed(M=37, K=97, N=71) as e schedule e on x86 { a, b, c, d = tile(C.i, C.j, 16, 32) }
export transposed(M=16, K=1, N=15) as g schedule g on x86 { a, b = split(C.j, 16) }
export transposed as q schedule q on x86 { a, b, c, d = tile(C.i, C.j, 8, 64) }
export matmul(M=61, K=97, N=71) as h schedule h on x86 { a, b, c, d = tile(C.i, C.j, 4, 32) reorder(a, b, C.r_k, c, d) }
export rnn(T=5, B=3, I=7, H=33) as r schedule r on x86 { jo, ji = split(a.j, 8) }
export rnn(T=1, B=1, I=1, H=16) as s schedule s on x86 { compute_root(p) compute_at(a, scan.t) }
export rnn as v schedule v on x86 { bo, bi = split(h.b, 2) }
export steps(T=7, N=131) as u schedule u on x86 { to, ti = split(scan.t, 4) jo, ji = split(h.j, 48) }
export conv(C=5, H=17, W=37, K=33) as o schedule o on x86 { a, b = split(O.k, 16) }
END_OF_RUN
cat defs.tensor run.tensor >both.tensor
if [ "$(uname -m)" = x86_64 ]; then
    runs "completed blocks run" "$TENSORC" -O2 -D M=17 -D N=65 -D K=31 -D T=3 -D B=5 -D I=9 -D H=17 -run both.tensor
    is "$(grep -c 'all results checked' out)" 14 "and compute what they mean" || diag_file out
fi
done_testing
