#!/bin/sh
# variants.t - export ... tune (SIZES), ...: versions for known sizes, which the general function calls.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >gemm.tensor <<'END'
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
export matmul as gemm tune (M=24, N=32, K=16), (M=1, N=32)
END
cat >main.c <<'END'
#include "gemm.h"
#include <stdio.h>
#include <stdlib.h>
static int wrong(int M, int N, int K) {
    float *a = malloc(4 * M * K + 4), *b = malloc(4 * K * N + 4), *c = malloc(4 * M * N + 4);
    int bad = 0;
    for (int i = 0; i < M * K; i++) a[i] = i % 7 - 3;
    for (int i = 0; i < K * N; i++) b[i] = i % 5 - 2;
    if (gemm(M, K, N, a, b, c)) return -1;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
            bad += sum != c[i * N + j];
        }
    return bad;
}
int main(void) {
    printf("%d %d %d %d %d\n", wrong(24, 32, 16), wrong(1, 32, 7), wrong(24, 32, 15), wrong(5, 3, 2), wrong(1, 32, 0));
    return gemm(-1, 16, 32, 0, 0, 0) != 1;
}
END
for level in -O0 -O2 "-O tune --trials=4 --db=t.db"; do
    # shellcheck disable=SC2086
    runs "compiles with $level" "$TENSORC" $level -g -c gemm.tensor -o gemm.o --header gemm.h \
        --emit-schedule=gemm.schedule
    like "$(nm gemm.o)" ' t gemm\.M24\.N32\.K16$' "a version for the first row"
    like "$(nm gemm.o)" ' t gemm\.M1\.N32$' "and for the second"
    ok "links" $CC -o main main.c gemm.o -fopenmp -lm
    is "$(./main)" "0 0 0 0 0" "the versions and the general function are right"
done
is "$(grep -c '^schedule' gemm.schedule)" 1 "one schedule can be pasted"
is "$(grep -c '^# schedule' gemm.schedule)" 2 "those of the versions are comments"
runs "tuned once, found later" "$TENSORC" -O tune --tune-frozen --trials=4 --db=t.db -g -c gemm.tensor -o again.o
same gemm.o again.o "and the object is the same"

cat >single.tensor <<'END'
def product(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, r_k) * B(j, r_k) }
export product
export product as plain tune (N=3)
END
cat >single.c <<'END'
#include "single.h"
#include <stdio.h>
static float a[64 * 70], b[64 * 70], c[64 * 64];
static int wrong(int M, int N, int K) {
    int bad = product(M, K, N, a, b, c);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k];
            bad += sum != c[i * N + j];
        }
    return bad;
}
int main(void) {
    int bad = 0;
    for (int i = 0; i < 64 * 70; i++) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
    for (int M = 0; M < 10; M++)
        for (int N = 0; N < 64; N += N < 18 ? 1 : 15)
            for (int K = 0; K < 70; K += K < 18 ? 1 : 17) bad += wrong(M, N, K);
    printf("%d\n", bad);
    return 0;
}
END
runs "a size of one value" "$TENSORC" -O2 -g -c single.tensor -o single.o --header single.h
is "$(nm single.o | sed -n 's/.* t \(.*\.[A-Z]1\)$/\1/p')" product.M1 \
    "has a version where what is used again is used once"
is "$(nm single.o | sed -n 's/.* t \(.*\.to[0-9]*\)$/\1/p')" product.N.to4 \
    "and one for few columns, which are sums along memory"
ok "links" $CC -o single single.c single.o -fopenmp -lm
is "$(./single)" 0 "and both are right at all sizes"

cat >few.tensor <<'END'
def product(float(M, K) A, float(K, N) B, float(N) bias) -> (C) {
    t(i, j) +=! A(i, r_k) * B(r_k, j)
    C(i, j) = max(t(i, j) + bias(j), 0)
}
def transposed(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, r_k) * B(j, r_k) }
END
cat >few.c <<'END'
#include "few.h"
#include <stdio.h>
#include <string.h>
static float a[20 * 9], b[9 * 200], bias[200], c[21 * 200];
static int wrong(int M, int N, int K) {
    memset(c, 1, sizeof c);
    int bad = product(M, K, N, a, b, bias, c);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = bias[j];
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
            bad += c[i * N + j] != (sum > 0 ? sum : 0);
        }
    for (int i = M * N; i < 21 * 200; i++) bad += memcmp(&c[i], "\1\1\1\1", 4) != 0;
    return bad;
}
int main(void) {
    static const int lengths[] = {0, 1, 7, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 80, 81, 95, 96, 97, 113, 129,
        191, 192, 193, 200};
    int bad = 0;
    for (int i = 0; i < 20 * 9; i++) a[i] = i % 7 - 3;
    for (int i = 0; i < 9 * 200; i++) b[i] = i % 5 - 2, bias[i % 200] = i % 3;
    for (int M = 0; M < 20; M++)
        for (int n = 0; n < (int)(sizeof lengths / sizeof *lengths); n++)
            for (int K = 0; K < 10; K += 3) bad += wrong(M, lengths[n], K);
    printf("%d\n", bad);
    return 0;
}
END
for target in $(targets_here); do
    runs "a size of few values, $target" "$TENSORC" -O2 --target=$target --threads=1 -c few.tensor -o few.o --header \
        few.h
    is "$(nm few.o | sed -n 's/.* t \(product.*\.to[0-9]*\)$/\1/p')" product.M.to16 \
        "has a version where what is used again is read in place"
    ok "links" $CC -o few few.c few.o -lm
    is "$(./few)" 0 "and all are right at all sizes, $target"
done

cat >rows.tensor <<'END'
def softmax(float(N, D) X) -> (Y) {
    top(n) max=! X(n, r_d)
    e(n, d) = exp(X(n, d) - top(n))
    total(n) +=! e(n, r_d)
    Y(n, d) = e(n, d) / total(n)
}
def centred(float(N, D) X) -> (Y) { s(n) +=! X(n, r_d)  Y(n, d) = X(n, d) * D - s(n) }
END
{ cat rows.tensor; echo 'export softmax'; echo 'export centred'; } >fast.tensor
{ cat rows.tensor; echo 'export softmax as plain_softmax'; echo 'export centred as plain_centred'; } >plain.tensor
cat >rows.c <<'END'
#include "fast.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
static float x[20 * 300], y[2][20 * 300 + 64];
int main(void) {
    static const int lengths[] = {0, 1, 2, 7, 15, 16, 17, 31, 33, 47, 48, 63, 64, 65, 95, 97, 127, 129,
        200, 255, 256, 257, 300};
    int bad = 0;
    for (int i = 0; i < 20 * 300; i++) x[i] = (float)(i * 7 % 11 - 5);
    for (int N = 0; N < 20; N++)
        for (int l = 0; l < (int)(sizeof lengths / sizeof *lengths); l++) {
            int D = lengths[l];
            memset(y, 1, sizeof y);
            bad += centred(N, D, x, y[0]) + plain_centred(N, D, x, y[1]) + (memcmp(y[0], y[1], sizeof y[0]) != 0);
            bad += softmax(N, D, x, y[0]) + plain_softmax(N, D, x, y[1]);
            for (int i = 0; i < 20 * 300 + 64; i++) bad += !(fabsf(y[0][i] - y[1][i]) <= 1e-5f);
        }
    printf("%d\n", bad);
    return 0;
}
END
for target in $(targets_here); do
    runs "plain" "$TENSORC" -O0 --target=$target --threads=1 -c plain.tensor -o plain.o --header plain.h
    runs "short rows, $target" "$TENSORC" -O2 --target=$target --threads=1 -c fast.tensor -o fast.o --header fast.h
    is "$(nm fast.o | sed -n 's/.* t \(.*\.to[0-9]*\)$/\1/p' | sort | tr '\n' ' ')" "centred.D.to256 softmax.D.to256 " \
        "have versions"
    ok "links" $CC -o rows rows.c plain.o fast.o -lm
    is "$(./rows)" 0 "and all are right at all sizes, $target"
done

cat >small.tensor <<'END'
def add(int32(M, N) a) -> (b) { b(i, j) = a(i, j) + 1 }
export add as f tune (M=16, N=2), (M=1, N=64), (M=0, N=0)
schedule f on x86 {
    jo, ji = split(b.j, 8, tail=mask)
    vectorize(ji)
    unroll(b.i, factor=4)
    partition(jo, 2)
}
END
runs "one schedule serves all sizes" "$TENSORC" -O2 --target=x86-64-v4 -c small.tensor -o small.o
is "$(cat "$work/err")" "" "and nothing is said of those that it does not change"

{
    echo 'def sums(int32(N, 3) a) -> (b, c) { b(i) +=! a(i, r_k)  c(i) = a(i, 0) * 2 }'
    for n in 0 1 2 3 4 5 7; do echo "export sums(N=$n) as sums$n"; done
    echo 'schedule sums on x86 {
        partition(b.i, 2, 4, -3, -1)
        unroll(b.i, factor=3)
        partition(b.r_k, 2, -2)
        parallel(c.i)
        partition(c.i, 3, -2)
    }'
} >cuts.tensor
runs "loops shorter than their cuts run" "$TENSORC" -run --target=host -w --trials=1 cuts.tensor
is "$(grep -c 'all results checked' "$work/out")" 7 "and are right at all sizes"

cat >ones.tensor <<'END'
def product(float(M, K) A, float(K, N) B) -> (C) {
    t(i, k) = A(i, k) * 2
    C(i, j) +=! t(i, r_k) * B(r_k, j)
}
export product(M=17, K=5, N=20) as known
export product(K=5, N=20) as run_time
schedule product on x86 {
    layout(t, (i/1, k/4%1, i%1, k/4, k%4, i/64%1))
    P = cache_read(B, layout=(j/1, k, j%8/8, j%1))
    reorder(P.j_2, P.j_0, P.j_1, P.k)
}
export product(M=1, K=5, N=20) as one
schedule one on x86 { layout(t, (i/?n, k, i%?n)) }
END
runs "layouts with components of one value run" "$TENSORC" -run -DM=13 --target=host --trials=1 ones.tensor
is "$(grep -c 'all results checked' "$work/out")" 3 "and are right"
# layers NUMBER: products and stencils, of run-time sizes.
layers() {
    {
        echo "def f(float(M, K) x0, float(K, K) w) -> (x$1) {"
        for s in $(seq "$1"); do
            p=x$((s - 1)) read="y$s(i, j)"
            echo "    y$s(i, j) +=! $p(i, r_k) * w(r_k, j)"
            echo "    x$s(i, j) = $read + (y$s(i - 1, j) else edge) * (y$s(i, j + 1) else wrap)"
            echo "        + (y$s(i + 1, j) else 0)"
            echo "        where i in 0:M, j in 0:K"
        done
        echo "} export f"
    } >layers.tensor
}
layers 3
runs "a short function" "$TENSORC" -O2 -v -c layers.tensor -o layers.o
like "$(nm layers.o)" ' t f\.M1$' "has a version for 1 row"
unlike "$(cat err)" 'no versions' "of which nothing is said"
layers 40
runs "a long function" "$TENSORC" -O2 -v -c layers.tensor -o layers.o
unlike "$(nm layers.o)" ' t f\.M' "has none"
like "$(cat err)" '^tensorc: f: no versions for small sizes, as they would be too much code$' "and -v says so"

done_testing
