#!/bin/sh
# constants.t - export f(w="w.npy"): contents bound when the program is compiled, in objects, runs and searches.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# Constants are what another program computed.
cat >make.tensor <<'END'
def weights(int32(K, N) from) -> (float(K, N) w) { w(k, n) = float(from(k, n) % 8) / 2 + float(k) - float(n) }
def indices(int32(N) from) -> (int32(N) ids) { ids(n) = (n * 3) % 5 }
export weights(K=9, N=20)
export weights(K=7, N=3) as small
export indices(N=6)
END
runs "weights are written" "$TENSORC" -run --threads=1 make.tensor --output=w=w.npy --output=ids=ids.npy
mkdir data other
# Both exports have a result w; the last one stands.
mv w.npy data/small.npy
sed -i '/small/d' make.tensor
runs "and those of another shape" "$TENSORC" -run --threads=1 make.tensor --output=w=w.npy

cat >dense.tensor <<'END'
def dense(float(M, K) X, const float(K, N) w, float(K, N) v) -> (Y) { Y(i, j) +=! X(i, r_k) * (w(r_k, j) + v(r_k, j)) }
def pick(float(V, D) table, const int32(L) ids) -> (O) { O(l, d) = table(ids(l), d) }
export dense(w="w.npy")
export dense(w="small.npy", v="small.npy", M=5) as both
export pick(ids="ids.npy", D=3)
END
for level in -O0 -O2 "-O tune --trials=6 --db=t.db"; do
    # shellcheck disable=SC2086
    runs "$level: results are those of the interpreter" "$TENSORC" -run $level -Idata -DM=13 -DV=5 dense.tensor
done
cp w.npy kept.npy
cat >main.c <<'END'
#include "dense.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    float x[13 * 9], v[9 * 20] = {0}, y[13 * 20], table[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, w[180], o[18];
    FILE *file = fopen("kept.npy", "rb");
    fseek(file, -(long)sizeof w, SEEK_END);
    if (fread(w, 1, sizeof w, file) != sizeof w) return 9;
    for (int i = 0; i < 13 * 9; i++) x[i] = i % 7 - 3;
    if (dense(13, x, v, y)) return 1;
    for (int i = 0; i < 13; i++)
        for (int j = 0; j < 20; j++) {
            float sum = 0;
            for (int k = 0; k < 9; k++) sum += x[i * 9 + k] * w[k * 20 + j];
            if (sum != y[i * 20 + j]) return 2;
        }
    if (pick(3, table, o) != TENSORC_BAD_INDEX) return 3;
    return 0;
}
END
runs "an object" "$TENSORC" -c -Idata dense.tensor -o dense.o --header dense.h -MD -MF dense.d
ok "its header and it make a program" $CC -Wall -Wextra -Werror main.c dense.o -o main -fopenmp -lm
runs "which computes with the constants" ./main
like "$(cat dense.h)" '/\* dense with K = 9, N = 20' "the shape gives the sizes"
like "$(cat dense.h)" 'w: a constant of the object, float\(9, 20\)' "the header says what is gone"
like "$(cat dense.h)" 'int dense\(int64_t M, const float \*X, const float \*v, float \*Y\);' "the argument is gone"
like "$(cat dense.h)" 'int both\(const float \*X, float \*Y\);' "both are"
like "$(cat dense.d)" 'w\.npy' "the dependencies name the files"
like "$(cat dense.d)" 'data/small\.npy' "also those of -I"
mv w.npy elsewhere.npy
runs "the object has the contents" ./main
mv elsewhere.npy w.npy
runs "once more" "$TENSORC" -c -Idata dense.tensor -o again.o
same dense.o again.o "the same bytes"
like "$(readelf -SW dense.o)" '\.rodata +PROGBITS .* 64$' "aligned to 64 bytes"
ok "a shared library without relocations in its code" $CC -shared -Wl,-z,defs,-z,text dense.o -o libdense.so -fopenmp \
    -lm

runs "assembly" "$TENSORC" -S -Idata dense.tensor -o dense.s
like "$(cat dense.s)" '\.long' "shows elements"
ok "assembles" $CC main.c dense.s -o main -fopenmp -lm
runs "to the same" ./main
runs "LLVM text" "$TENSORC" -emit-llvm -Idata dense.tensor -o dense.ll
like "$(cat dense.ll)" 'dense\.[^ ]*w = internal constant \[180 x float\] \[float' "shows elements too"

runs "paths begin at the file of the export" sh -c 'cd other && "$TENSORC" -c -I../data ../dense.tensor -o dense.o'
cat dense.tensor | "$TENSORC" -c -Idata - -o dense.o
report $? "those of standard input here"
exits 1 "no output over a constant" "$TENSORC" -c -Idata dense.tensor -o w.npy
like "$(cat err)" "is the input file" "says so"
capture "$TENSORC" -run -Idata -DM=13 -DV=5 dense.tensor --input=w=w.npy
is "$status" 1 "a constant takes no other contents"
exits 0 "-D against an export" "$TENSORC" -fsyntax-only -Idata -DK=9 dense.tensor
like "$(cat err)" '-DK binds nothing' "is warned of"
cat >versions.tensor <<'END'
def dense(float(M, K) X, const float(K, N) w) -> (Y) { Y(i, j) +=! X(i, r_k) * w(r_k, j) }
export dense(w="w.npy") tune (M=4), (M=1)
END
runs "versions for known sizes" "$TENSORC" -c versions.tensor -o versions.o
is "$(nm versions.o | grep -c 'r dense\..*w$')" 1 "share the contents"

# Stages over constants alone are computed at compile time, in the order that their buffers have.
cat >shapes.tensor <<'END'
def weights(int32(K, N) from) -> (float(K, N) w) { w(k, n) = float(from(k, n) % 8) / 2 + float(k) - float(n) }
def filters(int32(C, M) from) -> (int8(M, C, 3, 3) g) { g(m, c, a, b) = int8(from(c, m) + 3 * a - b) }
END
for shape in "1 1" "3 15" "5 16" "4 17" "7 0" "2 37"; do
    # shellcheck disable=SC2086
    set -- $shape
    sed "s/^def weights/export weights(K=$1, N=$2)\nexport filters(C=$1, M=$2)\n&/" shapes.tensor >sized.tensor
    runs "constants of $shape" "$TENSORC" -run --threads=1 sized.tensor --output=w=w.npy --output=g=g.npy
    cat >packed.tensor <<'END'
def mm(float(M, K) A, const float(K, N) w) -> (C) { C(i, j) +=! A(i, r_k) * w(r_k, j) }
def conv(int8(N, C, H, W) x, const int8(M, C, 3, 3) g) -> (int32(N, M, H, W) y) {
    y(n, m, h, w) +=! int32(x(n, c, h + a - 1, w + b - 1) else 0) * int32(g(m, c, a, b)) where h in 0:H, w in 0:W
}
def transformed(float(M, K) A, const float(K, N) w) -> (C, T) {
    scale(j) max=! fabs(w(r_k, j)) + 1
    v(k, j) = w(k, j) / scale(j)
    sum(j) +=! v(r_k, j)
    C(i, j) +=! A(i, r_k) * v(r_k, j)
    T(i, j) = A(i, 0) + sum(j) where exists w(0, j), exists A(i, 0)
}
export mm(w="w.npy", M=6) as copied
schedule copied on x86 {
    P = cache_read(w, layout=(j/16, k, j%16))
    storage_align(P, 0, 64, offset=16)
    jo, jl = split(C.j, 16)
    reorder(jo, C.i, C.r_k, jl)
    vectorize(jl)
}
export mm(w="w.npy", M=6) as laid
schedule laid on x86 { layout(w, (j/8, k/4, j/2%4, k%4, j%2)) }
export conv(g="g.npy", N=1, H=5, W=4) as filtered
schedule filtered on x86 { layout(g, (m/4, d2, d3, c, m%4)) }
export transformed(w="w.npy", M=3) as ahead
schedule ahead on x86 {
    layout(v, (j/4, k, j%4))
    parallel(v.k)
    io, ii = split(C.i, 2)
}
END
    runs "$shape: results are those of the interpreter" "$TENSORC" -run packed.tensor
    runs "$shape: at -O2 too" "$TENSORC" -run -O2 packed.tensor
done
runs "an object of them" "$TENSORC" --target=x86-64-v3 -c packed.tensor -o packed.o
is "$(nm packed.o | sed -n 's/.* r \([a-z].*\)/\1/p' | sort | tr '\n' ' ')" \
    "ahead.sum ahead.v copied.P filtered.g.cache laid.w.cache " "what nothing reads any more is left out"
capture "$TENSORC" --target=x86-64-v3 -c packed.tensor -o packed.o --explain-schedule
like "$(cat out)" '^P: 3 x 2 x 16 as \(d0 align 64 offset 16, d1, d2\), ahead of all calls' "an explanation says so"
capture "$TENSORC" -emit-ir packed.tensor -o -
like "$(cat out)" '^    constant float P\(3, 2, 16\) as \(d0 align 64 offset 16, d1, d2\)$' "and the loop IR"
# Copies in all directions, with parts of rows, or all of them, outside of what they copy.
cat >transposed.tensor <<'END'
def transposed(const float(N) u, float(M) a) -> (O) {
    r(i, j) = (u(9 - 2*j + i) else 7) where i in 0:5, j in 0:9
    s(i, j) = (u(3*j + i - 4) else 5) where i in 0:5, j in 0:9
    t(i, j) = (u(i - 2) else 3) where i in 0:5, j in 0:9
    O(m, i, j) = (r(i, j) + 10*s(i, j) + 100*t(i, j)) * a(m)
}
def weights(int32(N) from) -> (float(N) u) { u(n) = float(from(n)) }
export weights(N=11)
END
runs "a short vector" "$TENSORC" -run --threads=1 transposed.tensor --output=u=u.npy
sed -i 's/^export.*/export transposed(u="u.npy", M=2)/' transposed.tensor
for level in -O0 -O2; do
    runs "copied in all directions at $level" "$TENSORC" -run --threads=1 $level transposed.tensor
done
cat >large.tensor <<'END'
def grown(const float(N) u, float(M) a) -> (C) {
    o(i, j) = u(i) * u(j)
    C(m, i, j) = o(i, j) + a(m)
}
def weights(int32(N) from) -> (float(N) u) { u(n) = float(from(n)) }
export weights(N=2000)
END
runs "a vector" "$TENSORC" -run --threads=1 large.tensor --output=u=u.npy
sed -i 's/^export.*/export grown(u="u.npy", M=2)/' large.tensor
runs "its outer product" "$TENSORC" -c -O0 large.tensor -o large.o
[ "$(wc -c <large.o)" -lt 100000 ]
report $? "is not put into the object"

# Large contents get into the object when the code is there.
cat >heavy.tensor <<'END'
def heavy(float(M, K) X, const float(K, N) w) -> (Y) { Y(i, j) +=! X(i, r_k) * w(r_k, j) }
def weights(int32(K, N) from) -> (float(K, N) w) { w(k, n) = float(from(k, n) % 8) }
export weights(K=600, N=601)
END
runs "a large matrix" "$TENSORC" -run --threads=1 heavy.tensor --output=w=heavy.npy
sed -i 's/^export.*/export heavy(w="heavy.npy") tune (M=4), (M=1)/' heavy.tensor
cat >heavy.c <<'END'
#include "heavy.h"
#include <stdio.h>
static float x[5 * 600], y[5 * 601], w[600 * 601];
int main(void) {
    FILE *file = fopen("heavy.npy", "rb");
    fseek(file, -(long)sizeof w, SEEK_END);
    if (fread(w, 1, sizeof w, file) != sizeof w) return 9;
    for (int i = 0; i < 5 * 600; i++) x[i] = i % 7 - 3;
    for (int m = 1; m <= 5; m++) {
        if (heavy(m, x, y)) return 1;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < 601; j++) {
                float sum = 0;
                for (int k = 0; k < 600; k++) sum += x[i * 600 + k] * w[k * 601 + j];
                if (sum != y[i * 601 + j]) return 2;
            }
    }
    return 0;
}
END
for level in -O0 -O2; do
    runs "$level: in an object" "$TENSORC" -c "$level" heavy.tensor -o heavy.o --header heavy.h
    ok "that links" $CC heavy.c heavy.o -o heavy -fopenmp -lm
    runs "and computes with it" ./heavy
    runs "in a run" "$TENSORC" -run "$level" -DM=3 heavy.tensor
done
runs "as it is" "$TENSORC" -c -O0 heavy.tensor -o heavy.o
like "$(readelf -SW heavy.o)" '\.rodata +PROGBITS .*  A  .* 64$' "read-only, aligned to 64 bytes"
[ "$(wc -c <heavy.o)" -lt 2000000 ]
report $? "the contents that versions share are there once"
is "$(nm heavy.o | grep -c ' U heavy\.')" 0 "nothing of it is undefined"
is "$(readelf -sW heavy.o | grep -c 'OBJECT .*HIDDEN .* heavy\.')" 1 "one symbol, for no other object"
ok "a shared library" $CC -shared -Wl,-z,defs,-z,text heavy.o -o libheavy.so -fopenmp -lm
ok "strip reads it" strip -g heavy.o -o stripped.o
runs "for another processor" "$TENSORC" -c --target=aarch64 heavy.tensor -o arm.o
[ "$(readelf -sW arm.o | grep -c 'OBJECT .*HIDDEN .* heavy\.')" -gt 0 ]
report $? "likewise, in the orders of its versions"
if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
    ok "links" aarch64-linux-gnu-gcc -static heavy.c arm.o -o arm -fopenmp -lm
    runs "computes" qemu-aarch64 ./arm
else
    skip "aarch64-linux-gnu-gcc and qemu-aarch64 are not installed" 2
fi

# What is larger than the caches lies in memory as a tile's columns are read.
sed 's/^export.*/export weights(K=800, N=800)/' heavy.tensor >wider.tensor
runs "a larger matrix" "$TENSORC" -run --threads=1 wider.tensor --output=w=heavy.npy
sed -i 's/^export.*/export heavy(w="heavy.npy", M=64)/' wider.tensor
runs "a schedule for it" "$TENSORC" -c -O2 --target=x86-64 wider.tensor -o wider.o --emit-schedule=wider.schedule
columns=$(sed -n 's/.*cache_read(w, layout=(d1\/\([0-9]*\), d0, .*/\1/p' wider.schedule)
vectors=$(sed -n 's/.* = split(Y\.j, [0-9]*, \([0-9]*\), 4)/\1/p' wider.schedule)
is "$columns" "$((vectors * 4))" "packs panels as wide as the register tile"
[ "${vectors:-0}" -gt 1 ]
report $? "of several vectors"
runs "and is right" "$TENSORC" -run -O2 --target=x86-64 wider.tensor

# What a call makes of constants is packed, under a name of one word.
cat >called.tensor <<'END'
def doubled(float(N, C) X, const float(C, M) w) -> (O) {
    twice(c, m) = w(c, m) * 2
    O(n, m) +=! X(n, r_c) * twice(r_c, m)
}
def outer(float(N, C) X, const float(C, M) w) -> (Y) { Y = doubled(X, w) }
def weights(int32(K, N) from) -> (float(K, N) w) { w(k, n) = float(from(k, n) % 8) }
export weights(K=256, N=512)
END
runs "a matrix" "$TENSORC" -run --threads=1 called.tensor --output=w=square.npy
sed -i 's/^export.*/export outer(w="square.npy", N=64)/' called.tensor
runs "used in a call" "$TENSORC" -c -O2 --target=x86-64-v4 called.tensor -o called.o --emit-schedule=called.schedule
like "$(cat called.schedule)" 'Y_twice_p = cache_read\(Y\.twice,' "is packed"
cat called.tensor called.schedule >pasted.tensor
runs "by a schedule that can be pasted" "$TENSORC" -c -O2 --target=x86-64-v4 pasted.tensor -o pasted.o
ok "and gives the same object" cmp called.o pasted.o

# Constants that are 0 all over have no bytes to compare others with.
cat >zeros.tensor <<'END'
def weights(int32(N) from) -> (float(N) zero, float(N) one) { zero(n) = float(from(n) * 0)   one(n) = zero(n) + 1 }
export weights(N=3)
END
runs "zeros" "$TENSORC" -run --threads=1 zeros.tensor --output=zero=zero.npy --output=one=one.npy
cat >zeros.tensor <<'END'
def sums(float(M, 3) X, const float(3) a, const float(3) b, const float(3) c) -> (Y) {
    Y(i, j) = (X(i, j) + a(j)) * b(j) + c(j)
}
export sums(M=5, a="zero.npy", b="one.npy", c="zero.npy")
END
runs "zeros beside other constants of their size" "$TENSORC" -run --threads=1 zeros.tensor
done_testing
