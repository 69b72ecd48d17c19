#!/bin/sh
# run_time.t - padded sums with sizes that are known at run time only: right at all sizes, on targets with and without
# masked memory and half precision, and small.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >sums.tensor <<'END'
def dense(half(N,H,W,C) I, half(3,3,C,M) F, float(M) b) -> (half(N,H,W,M) O) {
    t(n,h,w,m) +=! float(I(n,h+r_i-1,w+r_j-1,r_c) else 0) * float(F(r_i,r_j,r_c,m)) where h in 0:H, w in 0:W
    O(n,h,w,m) = half(max(t(n,h,w,m) + b(m), 0))
}
def deep(float(N,H,W,C) I, float(3,3,C) F, float(C) b) -> (O) {
    t(n,h,w,c) +=! (I(n,h+r_i-1,w+r_j-1,c) else 0) * F(r_i,r_j,c) where h in 0:H, w in 0:W
    O(n,h,w,c) = min(max(t(n,h,w,c) + b(c), 0), 6)
}
END
sed 's/float(/half(/g' sums.tensor | sed -n '/^def deep/,/^}/p' >halves.tensor
cat >main.c <<'END'
#include "fast.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 16 };
static unsigned char in[3][4 * ROOM], out[2][4 * ROOM];

static void fill(unsigned char *to, int count, int half) {
    for (int i = 0; i < count; i++) {
        int number = rand() % 5 - 2;
        unsigned short bits = (unsigned short)(number < 0 ? 0x8000 : 0) |
            (unsigned short)(abs(number) == 2 ? 0x4000 : abs(number) ? 0x3c00 : 0);
        float real = (float)number;
        memcpy(half ? to + 2 * i : to + 4 * i, half ? (void *)&bits : (void *)&real, half ? 2 : 4);
    }
}

static int differ(const char *name, int status, long n, long h, long w, long c, long m) {
    if (!status && !memcmp(out[0], out[1], sizeof out[0]))
        return 0;
    printf("%s of %ld %ld %ld %ld %ld: status %d\n", name, n, h, w, c, m, status);
    return 1;
}

/* Small whole numbers: sums are exact in any order. */
int main(void) {
    static const long counts[] = {0, 1, 3, 4, 5, 16, 17, 33};
    int wrong = 0;
    for (int half = 0; half < 2; half++)
        for (long h = 0; h < 8; h++)
            for (int i = 0; i < 8; i++) {
                long n = 1 + i % 3, w = (h * 5 + i) % 9, c = counts[i], m = counts[(i + h) % 8];
                for (int a = 0; a < 3; a++)
                    fill(in[a], ROOM, half);
                memset(out, 1, sizeof out);
                if (half) {
                    int status = deeph(n, h, w, c, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[0]);
                    plain_deeph(n, h, w, c, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[1]);
                    wrong += differ("halves", status, n, h, w, c, c);
                    fill(in[2], ROOM, 0);
                    memset(out, 1, sizeof out);
                    status = dense(n, h, w, c, m, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[0]);
                    plain_dense(n, h, w, c, m, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[1]);
                    wrong += differ("dense", status, n, h, w, c, m);
                    continue;
                }
                int status = deep(n, h, w, c, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[0]);
                plain_deep(n, h, w, c, (void *)in[0], (void *)in[1], (void *)in[2], (void *)out[1]);
                wrong += differ("deep", status, n, h, w, c, c);
            }
    return wrong != 0;
}
END
sed 's/^def deep/def deeph/' halves.tensor >>sums.tensor
{ cat sums.tensor; for name in dense deep deeph; do echo "export $name"; done; } >fast.tensor
{ cat sums.tensor; for name in dense deep deeph; do echo "export $name as plain_$name"; done; } >plain.tensor
for target in $(targets_here); do
    runs "plain, $target" "$TENSORC" -c -O0 --threads=1 --target=$target plain.tensor -o plain.o --header plain.h
    runs "compiles, $target" "$TENSORC" -c --threads=1 --target=$target fast.tensor -o fast.o --header fast.h
    runs "links" $CC -std=c11 -I. -I"$srcdir/backends/runtime" main.c plain.o fast.o -o main -lm
    runs "the same at all sizes, $target" ./main
done

# Tails are no branches where no instruction has a mask.
for target in x86-64 aarch64; do
    "$TENSORC" -emit-llvm --threads=1 --target=$target fast.tensor -o fast.ll
    unlike "$(grep -o '@llvm\.masked\.[a-z]*' fast.ll | sort -u)" '.' "no masked access, $target"
done
# A tile is there whole and cut short; not again for each side of the padding, nor unrolled beyond what it becomes.
for target in x86-64 x86-64-v3 x86-64-v4 sapphirerapids znver4 aarch64; do
    "$TENSORC" -c --target=$target fast.tensor -o fast.o
    size fast.o | awk 'NR == 2 { print $1 }' >text
    ok "less than 250,000 bytes, $target: $(cat text)" test "$(cat text)" -lt 250000
done
done_testing
