#!/bin/sh
# What a call allocates for its temporaries: those that are not needed at the same time share bytes, for known sizes and
# for run-time sizes; and what they hold is right.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >memory.tensor <<'END'
def chain(float(N) x) -> (y) {
    a(i) = x(i) + 1
    b(i) = a(i) * a(N - 1 - i)
    c(i) = b(i) - b(N - 1 - i) + 2
    d(i) = c(i) * c(N - 1 - i)
    e(i) = d(i) + d(N - 1 - i)
    y(i) = e(i) + e(N - 1 - i)
}
def kept(float(N) x) -> (y) {
    a(i) = x(i) + 1
    b(i) = a(i) * a(N - 1 - i)
    c(i) = b(i) - b(N - 1 - i) + 2
    d(i) = c(i) * c(N - 1 - i)
    y(i) = d(i) + a(N - 1 - i)
}
def steps(float(N) x) -> (y) {
    a(i) = x(i) + 1
    b(i, j) = a(i) * a(N - 1 - i) + j where j in 0:3
    c(i, j) = b(i, j) - b(N - 1 - i, 2 - j) where j in 0:3
    d(i) = c(i, 0) * c(N - 1 - i, 1)
    y(i) = d(i) + d(N - 1 - i)
}
def blocks(float(N) x) -> (y) {
    a(i) = x(i) + 1
    b(i) = a(i) * a(N - 1 - i)
    c(i) = b(i) - b(N - 1 - i) + 2
    y(i) = c(i) * c(i)
}
END
{
    for f in chain kept steps blocks; do printf 'export %s(N=20000) as %s_known\nexport %s\n' $f $f $f; done
    for f in blocks blocks_known; do # a slice for each of two threads, of what a block of rows needs
        printf 'schedule %s on x86 { o, i = split(y.i, 10000) parallel(o) compute_at(c, o) }\n' $f
    done
} >>memory.tensor

cat >main.c <<'END'
#include "memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MOST = 20000, HEAD = 64 }; /* bytes in front of a block of the pool */
static size_t asked;
void *aligned_alloc(size_t alignment, size_t bytes) {
    void *made;
    asked = bytes;
    if (posix_memalign(&made, alignment, bytes))
        return NULL;
    memset(made, 0x7f, bytes); /* what is read before it is stored shows */
    return made;
}
static float x[MOST], y[MOST], t[4][3 * MOST];
static void wanted(int f, int n, float *to) {
    float *a = t[0], *b = t[1], *c = t[2], *d = t[3];
    for (int i = 0; i < n; i++) a[i] = x[i] + 1;
    if (f == 2) {
        for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) b[3 * i + j] = a[i] * a[n - 1 - i] + (float)j;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 3; j++)
                c[3 * i + j] = b[3 * i + j] - b[3 * (n - 1 - i) + 2 - j];
        for (int i = 0; i < n; i++) d[i] = c[3 * i] * c[3 * (n - 1 - i) + 1];
        for (int i = 0; i < n; i++) to[i] = d[i] + d[n - 1 - i];
        return;
    }
    for (int i = 0; i < n; i++) b[i] = a[i] * a[n - 1 - i];
    for (int i = 0; i < n; i++) c[i] = b[i] - b[n - 1 - i] + 2;
    for (int i = 0; i < n; i++) d[i] = c[i] * c[n - 1 - i];
    if (f == 0)
        for (int i = 0; i < n; i++) b[i] = d[i] + d[n - 1 - i];
    for (int i = 0; i < n; i++)
        to[i] = f == 0 ? b[i] + b[n - 1 - i] : f == 1 ? d[i] + a[n - 1 - i] : c[i] * c[i];
}
static int wrong(int f, int n) {
    static float right[MOST];
    int count = 0;
    wanted(f, n, right);
    for (int i = 0; i < n; i++) {
        float apart = y[i] - right[i];
        count += !(apart < 0.001f && apart > -0.001f);
    }
    return count;
}
typedef int Known(const float *, float *);
typedef int Any(int64_t, const float *, float *);
int main(void) {
    static const char *const names[] = {"chain", "kept", "steps", "blocks"};
    static Known *const known[] = {chain_known, kept_known, steps_known, blocks_known};
    static Any *const any[] = {chain, kept, steps, blocks};
    static const int sizes[] = {0, 1, 2, 15, 16, 17, 31, 4999, 5000, 5001, 20000};
    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i % 13) / 8 - 0.5f;
    for (int f = 0; f < 4; f++) {
        memset(y, 0, sizeof y);
        tensorc_release();
        int status = known[f](x, y), bad = wrong(f, MOST);
        printf("%s known %d %d %zu\n", names[f], status, bad, asked - HEAD);
        status = bad = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            memset(y, 0, sizeof y);
            tensorc_release();
            status |= any[f](sizes[s], x, y);
            bad += wrong(f, sizes[s]);
        }
        printf("%s any %d %d %zu\n", names[f], status, bad, asked - HEAD);
    }
    return 0;
}
END
# bytes FUNCTION SIZES: what was asked for, if the results are right
bytes() { sed -n "s/^$1 $2 0 0 //p" "$work/out"; }

for level in -O0 -O2; do
    runs "$level: compiles" "$TENSORC" $level --target=x86-64-v2 --threads=2 -c memory.tensor -o memory.o \
        --header memory.h
    runs "$level: links" "$CC" -std=c11 -D_GNU_SOURCE main.c memory.o -fopenmp -lm -o program
    runs "$level: runs" ./program
    cp out "ran$level"
    for f in chain kept steps blocks; do
        for sizes in known any; do
            like "$(bytes $f $sizes)" '^[0-9]+$' "$level: $f with $sizes sizes is right"
        done
    done
done
cp ran-O0 out
for sizes in known any; do
    is "$(bytes chain $sizes)" $((2 * 80000)) "five stages of a chain take two buffers, $sizes sizes"
    is "$(bytes kept $sizes)" $((3 * 80000)) "what is read again at the end stays"
    ok "large buffers hold small ones before and after, $sizes sizes" \
        [ "$(bytes steps $sizes)" -le $((2 * 240000 + 128)) ]
    is "$(bytes blocks $sizes)" $((2 * 80000)) "slices of two threads lie where a buffer was, $sizes sizes"
done

# --- the larger one of the last two stages lies where the three before it were: 7 rows, by size alone they would be 9
cat >uneven.tensor <<'END'
def uneven(float(N) x) -> (y) {
    a(i, j) = x(i) + j where j in 0:3
    b(i, j) = a(N - 1 - i, j) * 2 where j in 0:3
    c(i, j) = b(N - 1 - i, j) - 1 where j in 0:3
    d(i, j) = c(N - 1 - i, j % 3) where j in 0:4
    y(i) = d(N - 1 - i, 3) + d(i, 0)
}
export uneven(N=16384)
END
runs "stages of several sizes" "$TENSORC" -O0 -c uneven.tensor -o uneven.o --header uneven.h
printf '%s\n' '#include "uneven.h"' '#include <stdio.h>' \
    'int main(void) { return printf("%zu\n", uneven_workspace_size() - 63) < 0; }' >uneven.c
runs "link" "$CC" -std=c11 uneven.c uneven.o -fopenmp -lm -o uneven
runs "run" ./uneven
is "$(cat out)" $((7 * 16384 * 4)) "take the least bytes"
runs "and are right" "$TENSORC" -O0 -run uneven.tensor
done_testing
