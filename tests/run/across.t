#!/bin/sh
# across.t - reductions whose vectors are combined to one value: by halves, and the same value for all types.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >rows.tensor <<'END'
def most(float(N, D) X) -> (t) { t(n) max=! X(n, r_d) }
def least(float(N, D) X) -> (t) { t(n) min=! X(n, r_d) }
def total(float(N, D) X) -> (t) { t(n) +=! X(n, r_d) }
def product(double(N, D) X) -> (t) { t(n) *=! X(n, r_d) }
def most_of_int(int32(N, D) X) -> (t) { t(n) max=! X(n, r_d) }
def total_of_bytes(uint8(N, D) X) -> (t) { t(n) +=! X(n, r_d) }
def total_of_half(half(N, D) X) -> (t) { t(n) +=! X(n, r_d) }
def most_of_bfloat16(bfloat16(N, D) X) -> (t) { t(n) max=! X(n, r_d) }
def least_of_bytes(int8(N, D) X) -> (t) { t(n) min=! X(n, r_d) }
END
for length in 8 9 16 17 33 64 100 257; do
    runs "rows of $length" "$TENSORC" -run -O2 --threads=1 -DN=5 -DD=$length rows.tensor
done
runs "without SSE4" "$TENSORC" -run -O2 --target=x86-64 --threads=1 -DN=5 -DD=100 rows.tensor
runs "in the order of the source" "$TENSORC" -run -O2 -fstrict --threads=1 -DN=5 -DD=100 rows.tensor
# Of one row each thread reduces a piece.
for length in 300000 300007; do
    runs "one row of $length" "$TENSORC" -run -O2 --threads=3 -DN=1 -DD=$length rows.tensor
done
# schedules_for FILE ARGUMENTS...: what is chosen for one processor, whatever this machine is.
schedules_for() {
    schedules=$1; shift
    "$TENSORC" -c -O2 --target=x86-64-v4 --emit-schedule="$schedules" "$@" -o scheduled.o
}
schedules_for row.300007 --threads=3 -DN=1 -DD=300007 rows.tensor
for name in most total product; do
    like "$(sed -n "/^schedule $name on/,/^}/p" row.300007)" 'parallel' "threads share it: $name"
done
ok "as a library, in so many pieces" "$TENSORC" -c -O2 --threads=0 -DN=1 -DD=300007 rows.tensor -o row.o
runs "in the order of the source" "$TENSORC" -run -O2 -fstrict --threads=3 -DN=1 -DD=300007 rows.tensor
schedules_for strict -fstrict --threads=3 -DN=1 -DD=300007 rows.tensor
unlike "$(sed -n '/^schedule total on/,/^}/p' strict)" 'parallel' "by one thread"
# Of matrices several rows are read side by side, also of those that threads share.
cat >matrices.tensor <<'END'
def norm(float(N, H, W) X) -> (s) { s(n) +=! X(n, r_i, r_j) * X(n, r_i, r_j) }
def highest(int32(N, H, W) X) -> (t) { t(n) max=! X(n, r_i, r_j) }
def mean(float(N, C, H, W) X) -> (m) {
    s(n) +=! X(n, r_c, r_i, r_j)
    m(n) = s(n) / 8
}
END
for shape in '4 16' '8 9' '8 130' '7 33' '3 100' '64 1000' '0 17' '16 0'; do
    for threads in 1 3; do
        runs "matrices of $shape by $threads" "$TENSORC" -run -O2 --threads=$threads -DN=1 -DC=3 -DH="${shape% *}" \
            -DW="${shape#* }" matrices.tensor
    done
done
schedules_for few --threads=3 -DN=1 -DC=3 -DH=8 -DW=130 matrices.tensor
schedules_for short --threads=3 -DN=1 -DC=3 -DH=8 -DW=9 matrices.tensor
schedules_for odd --threads=3 -DN=1 -DC=3 -DH=7 -DW=33 matrices.tensor
for name in norm highest mean; do
    like "$(sed -n "/^schedule $name on/,/^}/p" few)" '_m, .*_n = split(.*, 2)' "four streams: $name"
done
for name in norm highest mean; do
    like "$(sed -n "/^schedule $name on/,/^}/p" short)" '_f = fuse\(.*r_i, .*r_j\)' "short rows are one loop: $name"
done
unlike "$(cat odd)" '_n = split' "not of rows that these do not divide"
# Where neighbours lie side by side in all that is read, they are computed side by side.
cat >columns.tensor <<'END'
def filter(float(N, T) x, float(8) h) -> (y) { y(t) +=! x(0, t + k) * h(k) where t in 0:T-7, exists x(0, t) }
def window(float(N, T) x, float(8) h) -> (y) { y(n, t) max=! x(n, t + k) where k in 0:8, t in 0:T-7 }
def spread(float(N, T) x, float(8) h) -> (y) { m(t) +=! x(n, t)  y(t) +=! (x(n, t) - m(t)) * (x(n, t) - m(t)) }
def spreads(float(N, T) x, float(8) h) -> (y) {
    m(k, t) max=! x(n, t) * h(k)
    y(k, t) +=! (x(n, t) - m(k, t)) * m(k, t)
}
END
for shape in '1 7' '1 8' '3 9' '2 64' '5 71' '4 72' '9 103' '2 300'; do
    runs "columns of $shape" "$TENSORC" -run -O2 --threads=1 -DN="${shape% *}" -DT="${shape#* }" columns.tensor
done
ok "for another architecture" "$TENSORC" -c -O2 --target=aarch64 --threads=1 -DN=5 -DD=100 rows.tensor

echo 'def most(float(N, D) X) -> (t) { t(n) max=! X(n, r_d) } export most(N=9, D=256)' >most.tensor
"$TENSORC" -S -O2 --target=x86-64-v4 --threads=1 most.tensor -o most.s
like "$(cat most.s)" 'vextractf' "halves of a register"
unlike "$(cat most.s)" 'vcmplt' "no lane is compared alone"
done_testing
