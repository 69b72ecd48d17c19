#!/bin/sh
# narrow.t - floats that were cut to a range, then made integers of 8 or 16 bits: what is cut once is not cut again,
# numbers outside and what is no number are as with any other float.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >body.tensor <<'END'
def bytes(float(N) X) -> (int8(N) Q) { Q(i) = int8(min(max(round(X(i)), -128), 127)) }
def above(float(N) X) -> (int8(N) Q) { Q(i) = int8(min(X(i), 127)) }
def naturals(float(N) X) -> (uint8(N) Q) { Q(i) = uint8(max(min(rint(X(i)), 255), 0)) }
def beyond(float(N) X) -> (uint8(N) Q) { Q(i) = uint8(round(max(min(X(i), 254.7), -0.7))) }
def words(float(N) X) -> (int16(N) Q) { Q(i) = int16(max(min(X(i), 32767), -32768)) }
def wider(float(N) X) -> (int16(N) Q) { Q(i) = int16(max(min(X(i), 40000), -32768)) }
END
names=$(sed -n 's/^def \([a-z]*\).*/\1/p' body.tensor)
{ cat body.tensor; for name in $names; do echo "export $name"; done; } >fast.tensor
{
    cat <<'END'
#include "fast.h"
#include <math.h>
#include <stdio.h>
static float x[500];
static int8_t q[500];
static uint8_t u[500];
static int16_t w[500];
static float cut(float value, float low, float high) {
    return isnan(value) ? 0 : value < low ? low : value > high ? high : value; }
int main(void) {
    static const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 1e30f, -1e30f,
        127.5f, -128.5f, 127.49f, 128, -129, 255,
                                    255.5f, 256, -0.5f, 0.5f, 32767.5f, 32768, -32769, 3e9f, -3e9f};
    int wrong = 0;
    for (int i = 0; i < 500; i++)
        x[i] = i % 3 ? (float)(i * 7919 % 80000 - 40000) / (i % 3 == 1 ? 100 : 1) : special[i / 3 % 21];
#define EACH(function, to, value) \
    function(500, x, to); \
    for (int i = 0; i < 500; i++) wrong += to[i] != (value);
    EACH(bytes, q, (int8_t)cut(roundf(x[i]), -128, 127))
    EACH(above, q, (int8_t)cut(x[i], -128, 127))
    EACH(naturals, u, (uint8_t)cut(rintf(x[i]), 0, 255))
    EACH(beyond, u, (uint8_t)cut(roundf(cut(x[i], -0.7f, 254.7f)), 0, 255))
    EACH(words, w, (int16_t)cut(x[i], -32768, 32767))
    EACH(wider, w, (int16_t)cut(x[i], -32768, 32767))
    printf("%d\n", wrong);
    return 0;
}
END
} >main.c
for target in $(targets_here); do
    runs "compiles, $target" "$TENSORC" -c --threads=1 --target=$target fast.tensor -o fast.o --header fast.h
    ok "links, $target" $CC -O1 -o main main.c fast.o -lm
    is "$(./main)" 0 "right, $target"
done
done_testing
