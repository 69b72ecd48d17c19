#!/bin/sh
# cache.t - caches that grow by a row a call: attention step by step is that of all positions at once; a row that is
# stored costs a row; defs that change their results in place are called by others.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >steps.tensor <<'END'
import "nn"
# Two layers, each with caches of its own.
def layer(float(B, H, D) x, float(H, D) scale, int32 position)
    -> (y, inout float(B, T, H, D) keys, inout float(B, T, H, D) values) {
    k(b, h, d) = x(b, h, d) * scale(h, d)
    v(b, h, d) = x(b, h, d) + scale(h, d)
    a, keys, values = attention_step(x, k, v, position)
    y(b, h, d) = x(b, h, d) + a(b, h, d)
}
def network(float(B, H, D) x, float(2, H, D) scales, int32 position)
    -> (y, inout float(B, T, H, D) keys1, inout float(B, T, H, D) values1,
           inout float(B, T, H, D) keys2, inout float(B, T, H, D) values2) {
    first(h, d) = scales(0, h, d)
    second(h, d) = scales(1, h, d)
    t, keys1, values1 = layer(x, first, position)
    y, keys2, values2 = layer(t, second, position)
}
def whole_layer(float(B, T, H, D) x, float(H, D) scale) -> (y) {
    k(b, t, h, d) = x(b, t, h, d) * scale(h, d)
    v(b, t, h, d) = x(b, t, h, d) + scale(h, d)
    a = causal_multi_head_attention(x, k, v)
    y(b, t, h, d) = x(b, t, h, d) + a(b, t, h, d)
}
def whole(float(B, T, H, D) x, float(2, H, D) scales) -> (y) {
    first(h, d) = scales(0, h, d)
    second(h, d) = scales(1, h, d)
    y = whole_layer(whole_layer(x, first), second)
}
export attention_step as step
export attention_step(B=2, H=6, G=3, D=8, E=5, T=29) as step_known
export causal_multi_head_attention as all
export network(B=2, H=3, D=8, T=29)
export whole(B=2, H=3, D=8, T=29)
END
cat >main.c <<'END'
#include "steps.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
enum { B = 2, H = 6, G = 3, D = 8, E = 5, T = 29, W = 3 };
static float q[B][T][H][D], k[B][T][G][D], v[B][T][G][E], all_y[B][T][H][E];
static float keys[B][T][G][D], values[B][T][G][E], known_keys[B][T][G][D], known_values[B][T][G][E];
static float x[B][T][W][D], scales[2][W][D], all_x[B][T][W][D], caches[4][B][T][W][D];
static int wrong;
static void fill(float *to, int count, unsigned seed) {
    for (int i = 0; i < count; i++)
        to[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 16) / 32768.0f - 1;
}
static void near(const char *what, float got, float wanted, int t) {
    if (!(fabsf(got - wanted) <= 2e-5f * (1 + fabsf(wanted))) && wrong++ < 5)
        printf("%s at step %d: %g, wanted %g\n", what, t, got, wanted);
}
static void one_step(int t, int known) {
    float query[B][H][D], key[B][G][D], value[B][G][E], y[B][H][E];
    for (int b = 0; b < B; b++) {
        memcpy(query[b], q[b][t], sizeof query[b]);
        memcpy(key[b], k[b][t], sizeof key[b]);
        memcpy(value[b], v[b][t], sizeof value[b]);
    }
    int status = known ? step_known(&query[0][0][0], &key[0][0][0], &value[0][0][0], t, &y[0][0][0],
                                    &known_keys[0][0][0][0], &known_values[0][0][0][0])
                       : step(B, H, D, G, E, T, &query[0][0][0], &key[0][0][0], &value[0][0][0], t, &y[0][0][0],
                              &keys[0][0][0][0], &values[0][0][0][0]);
    wrong += status != 0;
    for (int i = 0; i < B * H * E; i++)
        near(known ? "known sizes" : "run-time sizes", (&y[0][0][0])[i], all_y[i / (H * E)][t][i / E % H][i % E], t);
}
static void check_rows(int t) {
    for (int i = 0; i < B * T * G * D; i++) {
        int row = i / (G * D) % T;
        float wanted = row <= t ? (&k[0][0][0][0])[i] : 7;
        wrong += (&keys[0][0][0][0])[i] != wanted || (&known_keys[0][0][0][0])[i] != wanted;
    }
}
int main(void) {
    fill(&q[0][0][0][0], B * T * H * D, 1), fill(&k[0][0][0][0], B * T * G * D, 2);
    fill(&v[0][0][0][0], B * T * G * E, 3), fill(&x[0][0][0][0], B * T * W * D, 4);
    fill(&scales[0][0][0], 2 * W * D, 5);
    for (int i = 0; i < B * T * G * D; i++)
        (&keys[0][0][0][0])[i] = (&known_keys[0][0][0][0])[i] = 7;
    if (all(B, T, H, D, T, G, E, &q[0][0][0][0], &k[0][0][0][0], &v[0][0][0][0], &all_y[0][0][0][0]) ||
        whole(&x[0][0][0][0], &scales[0][0][0], &all_x[0][0][0][0]))
        return 1;
    for (int t = 0; t < T; t++) {
        one_step(t, 0);
        one_step(t, 1);
        check_rows(t);
        float now[B][W][D], y[B][W][D];
        for (int b = 0; b < B; b++)
            memcpy(now[b], x[b][t], sizeof now[b]);
        wrong += network(&now[0][0][0], &scales[0][0][0], t, &y[0][0][0], &caches[0][0][0][0][0],
                         &caches[1][0][0][0][0], &caches[2][0][0][0][0], &caches[3][0][0][0][0]) != 0;
        for (int i = 0; i < B * W * D; i++)
            near("two layers", (&y[0][0][0])[i], all_x[i / (W * D)][t][i / D % W][i % D], t);
    }
    return wrong != 0;
}
END
for level in -O0 -O2; do
    runs "compiles $level" "$TENSORC" -c -Wall -Werror $level --threads=1 steps.tensor -o steps.o --header steps.h
    ok "links" $CC -O1 -o main main.c steps.o -lm
    runs "steps are as all positions at once, and other rows stay" ./main || diag_file "$work/out"
done
runs "as interpreted" "$TENSORC" -run --threads=1 --trials=1 steps.tensor -DB=1 -DH=4 -DG=2 -DD=7 -DE=3 -DT=9 -DQ=3 \
    -DK=5

cat >rows.tensor <<'END'
def row(float(D) x, int32 position) -> (inout float(T, D) cache) { cache(t, d) = x(d) where t in 0:T, t == position }
def last(float(N) x, int32 from) -> (inout float(N) y) { y(n) = x(n) where n >= from }
def triangle(float(N, N) x) -> (inout float(N, N) y) { y(i, j) = x(i, j) where j <= i }
def chosen(float(N) x) -> (inout float(N) y) { y(n) = x(n) where x(n) > 0 }
def doubled(float(D) x, int32 position) -> (inout float(T, D) cache) {
    cache(t, d) = x(d) where t in 0:T, t == position
    cache(t, d) = cache(t, d) * 2 where t == position
}
export row
export last
export triangle
export chosen
export doubled
END
for level in -O0 -O1 -O2; do
    for sizes in "-DN=1 -DT=1 -DD=1" "-DN=37 -DT=5 -DD=33" "-DN=64 -DT=64 -DD=16"; do
        # shellcheck disable=SC2086
        runs "rows as interpreted $level $sizes" "$TENSORC" -run $level --trials=1 rows.tensor $sizes
    done
done
runs "the kernel of a row" "$TENSORC" -c --threads=1 -DT=1000 -DD=64 -DN=64 -d o rows.tensor -o rows.o
kernel=$(sed -n '/kernel row symbol/,/^}/p' err)
like "$kernel" 'cache\(.*\) = x\(' "one is stored"
unlike "$kernel" '= .*cache\(' "none is read"

done_testing
