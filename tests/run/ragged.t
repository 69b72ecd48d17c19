#!/bin/sh
# ragged.t - terms that conditions read from memory choose: loops run over them alone, whatever the ends are.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >ragged.tensor <<'END'
def spmv(int32(R1) ptr, int32(Z) col, float(Z) val, float(C) x) -> (y) {
    y(r) +=! val(z) * x(col(z)) where r in 0:R1-1, z in ptr(r):ptr(r + 1)
}
def bag(int32(R1) ptr, int32(Z) col, float(V, D) table) -> (s) {
    s(r, d) +=! table(col(z), d) where r in 0:R1-1, ptr(r) <= z && z < ptr(r + 1)
}
def rows(float(R, K) a, int64(R) from, int64(R) to) -> (most, sum) {
    most(r) max=! a(r, k) where k >= 2 * from(r) - 3, k <= to(r)
    sum(r) +=! a(r, k) where k >= 2 * from(r) - 3 && k <= to(r)
}
def far(int64(R1) ptr, float(Z) val) -> (y) { y(r) +=! val(z) where r in 0:R1-1, z in ptr(r):ptr(r + 1) }
def both(float(M, K) a, float(K, N) b, int32(M) length) -> (c) { c(i, j) +=! a(i, k) * b(k, j) where k in 0:length(i) }
END
for export in "as known" ", R1=12, Z=40, C=10, V=10, D=5, R=11, K=37, M=11, N=9"; do
    case $export in
    as*) for name in spmv bag rows far both; do echo "export $name as ${name}_any"; done ;;
    *) for name in spmv:R1=12,Z=40,C=10 bag:R1=12,Z=40,V=10,D=5 rows:R=11,K=37 far:R1=12,Z=40 both:M=11,K=37,N=9; do
           echo "export ${name%%:*}(${name#*:}) as ${name%%:*}_known"
       done ;;
    esac
done >>ragged.tensor
cat >main.c <<'END'
#include "ragged.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
enum { R = 11, Z = 40, C = 10, D = 5, K = 37, N = 9 };
static float val[Z], x[C], table[C][D], a[R][K], b[K][N], y[R], s[R][D], most[R], sum[R], all[R], c[R][N];
static int32_t ptr[R + 1], col[Z], length[R];
static int64_t from[R], to[R], wide[R + 1];
static int wrong;
static void same(const char *what, int seed, float got, float wanted) {
    if (got != wanted && wrong++ < 5) printf("%s of %d: %g, not %g\n", what, seed, (double)got, (double)wanted);
}
static void fill(int seed) {
    srand((unsigned)seed);
    for (int z = 0; z < Z; z++) val[z] = (float)(rand() % 9 - 4), col[z] = rand() % C;
    for (int i = 0; i < C; i++) x[i] = (float)(rand() % 7 - 3);
    for (int i = 0; i < C * D; i++) table[0][i] = (float)(rand() % 7 - 3);
    for (int i = 0; i < R * K; i++) a[0][i] = (float)(rand() % 9 - 4);
    for (int i = 0; i < K * N; i++) b[0][i] = (float)(rand() % 9 - 4);
    for (int r = 0; r <= R; r++) ptr[r] = seed % 3 == 0 ? r * Z / R : rand() % (Z + 21) - 10;
    for (int r = 0; r < R; r++) length[r] = rand() % (K + 11) - 5, from[r] = rand() % 25 - 4, to[r] = rand() % 50 - 5;
    for (int r = 0; r <= R; r++) wide[r] = ptr[r];
    if (seed % 5 == 0) wide[3] = INT64_MAX, wide[4] = INT64_MIN, wide[7] = INT64_MIN, wide[8] = INT64_MAX;
    if (seed % 5 == 0) ptr[3] = INT32_MAX, ptr[7] = INT32_MIN,
        from[2] = INT64_C(1) << 40, to[1] = INT64_MAX, to[4] = INT64_MIN;
}
/* Whether any element of col that is asked for is outside; the others may be, and
    of every fourth seed none is but one. */
static int spoil(int seed, int inside) {
    int asked = 0, one = rand() % Z;
    for (int z = 0; z < Z; z++) {
        int used = 0;
        for (int r = 0; r < R; r++) used |= z >= ptr[r] && z < ptr[r + 1];
        if (seed % 4 == 0 ? z == one : used != inside && (seed + z) % 4 == 0)
            col[z] = rand() % 2 ? C : -1, asked |= used;
    }
    return asked ? TENSORC_BAD_INDEX : 0;
}
static void expect(int seed) {
    for (int r = 0; r < R; r++) {
        float t = 0, m = -INFINITY, u = 0, w = 0, e[D] = {0}, f[N] = {0};
        for (int z = 0; z < Z; z++) w += z >= wide[r] && z < wide[r + 1] ? val[z] : 0;
        for (int z = 0; z < Z; z++)
            if (z >= ptr[r] && z < ptr[r + 1]) {
                t += val[z] * x[col[z]];
                for (int d = 0; d < D; d++) e[d] += table[col[z]][d];
            }
        for (int k = 0; k < K; k++) {
            if (k >= 2 * from[r] - 3 && k <= to[r]) m = fmaxf(m, a[r][k]), u += a[r][k];
            for (int j = 0; j < N; j++) f[j] += k < length[r] ? a[r][k] * b[k][j] : 0;
        }
        same("spmv", seed, y[r], t), same("most", seed, most[r], m), same("sum", seed, sum[r], u),
        same("far", seed, all[r], w);
        for (int d = 0; d < D; d++) same("bag", seed, s[r][d], e[d]);
        for (int j = 0; j < N; j++) same("both", seed, c[r][j], f[j]);
    }
}
static void is(const char *what, int seed, int got, int wanted) {
    if (got != wanted && wrong++ < 5) printf("%s of %d: status %d, not %d\n", what, seed, got, wanted);
}
int main(void) {
    for (int seed = 0; seed < 200; seed++)
        for (int known = 0; known < 2; known++) {
            fill(seed);
            int status = spoil(seed, seed % 2);
            is("spmv", seed, known ? spmv_known(ptr, col, val, x, y)
                : spmv_any(R + 1, Z, C, ptr, col, val, x, y), status);
            is("bag", seed, known ? bag_known(ptr, col, table[0], s[0])
                : bag_any(R + 1, Z, C, D, ptr, col, table[0], s[0]), status);
            is("rows", seed, known ? rows_known(a[0], from, to, most, sum)
                : rows_any(R, K, a[0], from, to, most, sum), 0);
            is("far", seed, known ? far_known(wide, val, all) : far_any(R + 1, Z, wide, val, all), 0);
            is("both", seed, known ? both_known(a[0], b[0], length, c[0])
                : both_any(R, K, N, a[0], b[0], length, c[0]), 0);
            if (!status) expect(seed);
        }
    for (int r1 = 2; r1 < 5; r1++) /* one row of many elements, and several */
        for (int end = 598; end <= 600; end++) {
            static int32_t many[600];
            static float ones[600], sums[3];
            many[599] = -1;
            is("many", end, spmv_any(r1, 600, C, (int32_t[]){0, end, 0, 0}, many, ones, x, sums),
                end > 599 ? TENSORC_BAD_INDEX : 0);
        }
    for (int r1 = 1; r1 < 3; r1++) is("no rows", r1, spmv_any(r1, 0, C, (int32_t[]){5, -5}, col, val, x, y), 0);
    printf("%d wrong\n", wrong);
    return 0;
}
END
# on TARGET FLAG LEVEL: the processors that run the target have the flag.
on() {
    runs "compiles for $1 with $3" "$TENSORC" -w "$3" --target="$1" --threads=1 -c ragged.tensor -o ragged.o --header \
        ragged.h
    if ! grep -qw "$2" /proc/cpuinfo 2>/dev/null; then skip "this processor has no $2" 2; return; fi
    runs "links" $CC -std=c11 -I. main.c ragged.o -o application -fopenmp -lm
    is "$(./application 2>&1)" "0 wrong" "what is chosen is summed, and nothing else counts"
}
on x86-64-v2 sse4_2 -O2
on x86-64-v3 avx2 -O2
on x86-64-v4 avx512vl -O2
on x86-64-v4 avx512vl -O0
runs "the interpreter agrees" "$TENSORC" -run -O2 -DC=4 -DR1=6 -DZ=17 -DV=3 -DD=2 -DR=5 -DK=19 -DM=5 -DN=3 ragged.tensor
like "$("$TENSORC" -w -emit-ir --target=x86-64-v4 --threads=1 ragged.tensor -o -)" \
    'for z in 0:max\(min\(40, int64\(ptr' "requirements are asked where they are needed"
sed 's/R1=12,Z=40,C=10/R1=3,Z=600,C=10/; s/R1=12,Z=40,V/R1=4,Z=600,V/' ragged.tensor >long.tensor
"$TENSORC" -w -emit-ir --target=x86-64-v4 --threads=1 long.tensor -o long.ir
is "$(sed -n '/symbol spmv_known/,/^}/p' long.ir | grep -c outside)" 0 "long rows are looked at alone"
like "$(sed -n '/symbol bag_known/,/^}/p' long.ir)" 'if outside' "of short ones all elements are, and rows if one fails"

# Numbers that are read may be far from all sizes, and what is computed with them near, or wrapped.
cat >times.tensor <<'END'
def lasting(float(R, K) a, int64(R) from, int64(R) to, uint64(R) most) -> (apart, wrapped, behind, unsigned) {
    apart(r) +=! a(r, k) where k < to(r) - from(r)
    wrapped(r) +=! a(r, k) where from(r) - k > 0
    behind(r) +=! a(r, k) where from(r) + k < to(r)
    unsigned(r) +=! a(r, k) where k < most(r)
}
export lasting as lasting_any
export lasting(R=4, K=19) as lasting_known
END
cat >times.c <<'END'
#include "times.h"
#include <stdio.h>
enum { R = 4, K = 19 };
static const int64_t now = INT64_C(1700000000000000000);
int main(void) {
    float a[R][K], y[R], w[R], b[R], u[R];
    int64_t from[R] = {now, now + 1, INT64_MIN + 5, 3}, to[R] = {now + 5, now + 40, INT64_MIN + 12, INT64_MIN + 2};
    uint64_t most[R] = {INT64_MAX, INT64_MAX - 3, 7, 0};
    int wrong = 0, apart[R] = {5, K, 7, K}, wrapped[R] = {K, K, K - 6, 3},
        behind[R] = {5, K, 7, 0}, all[R] = {K, K, 7, 0};
    for (int i = 0; i < R * K; i++) a[0][i] = 1;
    for (int known = 0; known < 2; known++) {
        int status = known ? lasting_known(a[0], from, to, most, y, w, b, u)
                           : lasting_any(R, K, a[0], from, to, most, y, w, b, u);
        wrong += status != 0;
        for (int r = 0; r < R; r++)
            wrong += y[r] != apart[r] || w[r] != wrapped[r] || b[r] != behind[r] || u[r] != all[r];
    }
    printf("%d wrong\n", wrong);
    return 0;
}
END
for level in -O0 -O1 -O2; do
    runs "compiles with $level" "$TENSORC" -w "$level" --threads=1 -c times.tensor -o times.o --header times.h
    runs "links" $CC -std=c11 -I. times.c times.o -o times -fopenmp -lm
    is "$(./times 2>&1)" "0 wrong" "numbers of any size choose the same terms"
done
# Each reduction runs over the terms of its row alone, whatever else is tiled and shared out.
cat >sparse.tensor <<'END'
import "nn"
export sparse_matvec(Z=200000, M1=10001, N=10000) as vector
export sparse_matvec as vector_any
export sparse_matmul(Z=200000, M1=10001, N=10000, K=32) as matrix
export sparse_matmul as matrix_any
export embedding_bag(V=10000, D=64, N=200000, B1=10001) as bag
def active(float(Z) value, int32(Z) column, int32(M1) row, float(N, K) B, float(K) bias) -> (C) {
    t = sparse_matmul(value, column, row, B)
    C(i, k) = max(t(i, k) + bias(k), 0)
}
export active(Z=200000, M1=10001, N=10000, K=32)
END
for target in x86-64 x86-64-v3 x86-64-v4 aarch64; do
    for threads in 1 2; do
        runs "sparse products for $target, $threads" "$TENSORC" -O2 --threads=$threads --target=$target -emit-ir \
            sparse.tensor -o sparse.ir
        all=$(grep -c 'reduce ' sparse.ir) rows=$(grep -c 'reduce .* in 0:min(.*\(row\|offset\)(\[' sparse.ir)
        ok "$rows of $all reductions have the bounds of a row" [ "$rows" -ge 6 -a "$rows" -eq "$all" ]
        is "$(grep -c '\(row\|offset\)(ramp' sparse.ir)" 0 "and the ends of rows are not read in lanes"
    done
done
runs "large ones are shared out" "$TENSORC" -O2 --threads=2 --target=x86-64-v3 -emit-ir sparse.tensor -o sparse.ir
is "$(grep -c '^    parallel ' sparse.ir)" "$(grep -c '^kernel ' sparse.ir)" "all of them"

# Columns outside, at each place of rows whose checks are whole vectors, parts of one, or both.
cat >columns.c <<'END'
#include "columns.h"
#include <stdio.h>
static int wrong;
static int call(int64_t n, int32_t *column, int32_t *row) {
    static float value[400], x[50], y[3];
    return columns(n, 3, 50, value, column, row, x, y);
}
int main(void) {
    static const int32_t bad[] = {-1, 50, INT32_MIN, INT32_MAX};
    for (int32_t n = 1; n <= 70; n++) {
        int32_t column[400] = {0}, row[3] = {0, n / 3, n};
        wrong += call(n, column, row) != TENSORC_OK;
        for (int32_t at = 0; at < n; at++)
            for (int b = 0; b < 4; b++) {
                column[at] = bad[b];
                wrong += call(n, column, row) != TENSORC_BAD_INDEX;
                column[at] = 49;
            }
        column[n] = -1; /* no row has it */
        wrong += call(n + 1, column, row) != TENSORC_OK;
    }
    printf("%d\n", wrong);
    return 0;
}
END
cat >columns.tensor <<'END'
import "nn"
export sparse_matvec as columns
END
for target in $(targets_here); do
    runs "compiles for $target" "$TENSORC" -w --target="$target" -c columns.tensor -o columns.o --header columns.h
    runs "links" $CC -std=c11 -I. -I"$srcdir/backends/runtime" columns.c columns.o -o columns -lm
    is "$(./columns 2>&1)" 0 "each column outside is seen on $target, and no other"
done

# How many terms there are is not known, nor are operations a second.
cat >rate.tensor <<'END'
def segments(float(T, D) x, int32(B1) off) -> (y) { y(b, d) +=! x(p, d) where p in off(b):off(b + 1) }
def whole(float(T, D) x) -> (y) { y(d) +=! x(p, d) }
export segments(T=64, D=8, B1=17)
export whole(T=64, D=8)
END
runs "runs" "$TENSORC" -run -O1 rate.tensor
unlike "$(grep segments: "$work/out")" 'FLOP' "no rate is printed where what is read decides how many terms there are"
like "$(grep whole: "$work/out")" 'FLOP' "one is printed of a whole sum"

# Sums over ranges that are read, beside rows that other statements share: no block of rows is computed of these.
cat >shared.tensor <<'END'
def lengths(float(N, D) y, int32(N) len) -> (z) {
    q(n, d) +=! y(p, d) where p in 0:len(n)
    u(n, d) = exp(q(n, d) * 0.01)
    z(n, d) = u(n, d) + (u(n, d + 1) else 0)
}
def ends(float(N, D) y, int32(N + 1) row) -> (z) {
    q(n, d) +=! y(p, d) where p in row(n):row(n + 1)
    u(n, d) = min(max(y(n, d) * 0.5 + q(n, d) * 0.2, -4), 4)
    z(n, d) = u(n, d) + (u(n, d - 1) else 0)
}
END
for sizes in "" "-DD=16" "-DN=700 -DD=128" "-DN=33"; do
    # shellcheck disable=SC2086
    runs "rows of ranges that are read compile${sizes:+ with $sizes}" "$TENSORC" -w $sizes -c shared.tensor -o shared.o
done
runs "and are right" "$TENSORC" -w -run -DN=70 -DD=35 shared.tensor
done_testing
