#!/bin/sh
# instr.t - tensorize: matrix products by the instructions of stdlib/instr.tensor, for sizes that tiles do not divide,
# against the interpreter where this processor has the instruction, and by qemu for 64-bit ARM.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# product TYPE_A TYPE_B SUM INSTR LANES DEPTH FAMILY EXPORT: a product and its schedule.
product() {
    cat <<END
import "instr"
def product($1(M, K) A, $2(K, N) B) -> (C) {
    C(i, j) +=! $3(A(i, r_k)) * $3(B(r_k, j))
}
export product$8
schedule product on $7 {
    io, ii = split(C.i, 3)
    jo, ju, jl = split(C.j, 2, $5)
    ko, ki = split(C.r_k, $6)
    reorder(jo, io, ko, ii, ju, jl, ki)
    P = cache_read(B, at=jo, layout=(j/$5, k/$6, j%$5, k%$6))
    R = cache_write(C, at=io, scope=register)
    tensorize(jl, $4)
    unroll(ii, ju)
}
END
}

# What is checked for each: sizes that are multiples of the tiles and sizes that are not.
shapes="1,1,1 3,16,4 2,17,5 7,33,31 12,64,64 13,61,67 5,15,3 4,32,0 0,8,8 6,0,4"
# on_this_machine TARGET MNEMONIC ARGUMENTS OF product
on_this_machine() {
    target=$1 mnemonic=$2; shift 2
    product "$@" "" >product.tensor
    "$TENSORC" -S --target="$target" -DM=24 -DN=64 -DK=64 product.tensor -o product.s
    like "$(cat product.s)" "$mnemonic" "$4 is in the code"
    if ! runs_here "$target"; then skip "this machine is no $target: $4"; return; fi
    wrong=
    for shape in $shapes; do
        m=${shape%%,*} rest=${shape#*,}
        "$TENSORC" -run --target="$target" -DM="$m" -DN="${rest%,*}" -DK="${rest#*,}" product.tensor >out 2>err ||
            wrong="$wrong $shape"
    done
    is "$wrong" "" "$4 computes what the source says" || diag_file err
}
vnni=x86-64-v4+avx512vnni
bf16=x86-64-v4+avx512bf16
on_this_machine $vnni vpdpbusd uint8 int8 int32 dot4_avx512 16 4 x86
on_this_machine $vnni 'vpdpbusd.*%ymm' uint8 int8 int32 dot4_avx512_256 8 4 x86
on_this_machine $vnni 'vpdpbusd.*%xmm' uint8 int8 int32 dot4_avx512_128 4 4 x86
on_this_machine x86-64-v3+avxvnni 'vpdpbusd' uint8 int8 int32 dot4_avxvnni 8 4 x86
on_this_machine $vnni vpdpwssd int16 int16 int32 dot2_int16_avx512 16 2 x86
on_this_machine $bf16 vdpbf16ps bfloat16 bfloat16 float dot2_bf16_avx512 16 2 x86
on_this_machine $bf16 'vdpbf16ps.*%ymm' bfloat16 bfloat16 float dot2_bf16_avx512_256 8 2 x86

# --- schedules that nobody wrote: a matching instruction is used by itself
cat >defaults.tensor <<'END'
import "instr"
def relu(uint8(M, K) A, int8(K, N) B, int32(N) b) -> (D) {
    C(i, j) +=! int32(A(i, r_k)) * int32(B(r_k, j))
    D(i, j) = max(C(i, j) + b(j), 0)
}
def dense(uint8(M, K) X, int8(N, K) W) -> (C) { C(i, j) +=! int32(X(i, r_k)) * int32(W(j, r_k)) }
def batched(uint8(B, M, K) X, int8(B, K, N) W) -> (C) { C(b, i, j) +=! int32(X(b, i, r_k)) * int32(W(b, r_k, j)) }
def conv(uint8(N, H, W, C) I, int8(KH, KW, C, M) F) -> (O) {
    O(n, h, w, m) +=! int32(I(n, h + r_kh, w + r_kw, r_c)) * int32(F(r_kh, r_kw, r_c, m))
}
export relu(M=130, K=66, N=70)
export dense(M=131, K=67, N=64)
export batched(B=3, M=50, K=64, N=33)
export conv(N=2, H=9, W=10, C=18, M=40, KH=3, KW=3)
END
"$TENSORC" -c -O1 --target=$vnni defaults.tensor -o fixed.o --emit-schedule=fixed
is "$(grep -c dot4_avx512 fixed)" 4 "the fixed heuristics use the instruction in each"
if runs_here $vnni; then
    runs "and are right" "$TENSORC" -run -O1 --target=$vnni defaults.tensor
    runs "-O2 is right" "$TENSORC" -run -O2 --target=$vnni defaults.tensor
    runs "-O tune is right" "$TENSORC" -run -O tune --target=$vnni --trials=16 --db=t.db defaults.tensor
else
    skip "this machine is no $vnni" 3
fi

# --- bodies of LLVM IR, and the check of what an instruction means
cat >ir.tensor <<'END'
instr twice(int32(4) c, int32(4) a) on x86 { c(i) = a(i) + a(i) } =
    "%sum = add <4 x i32> %a, %a"
    "ret <4 x i32> %sum"
instr add_product(float(4) acc, float(4) a, float(4) b) on x86 { acc(i) += a(i) * b(i) } =
    "declare <4 x float> @llvm.fmuladd.v4f32(<4 x float>, <4 x float>, <4 x float>)"
    "define <4 x float> @f(<4 x float> %c, <4 x float> %a, <4 x float> %b) {"
    "  %sum = call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %c)"
    "  ret <4 x float> %sum"
    "}"
def doubled(int32(N, 4) A) -> (C) { C(n, i) = A(n, i) + A(n, i) }
schedule doubled on x86 { tensorize(C.i, twice) }
def product(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
schedule product on x86 {
    jo, ji = split(C.j, 4)
    reorder(C.i, jo, C.r_k, ji)
    tensorize(ji, add_product)
}
export doubled(N=5)
export product(M=5, N=9, K=7)
END
if [ "$(uname -m)" = x86_64 ]; then
    runs "bodies of LLVM IR" "$TENSORC" -v -run ir.tensor
    like "$(cat "$work/out")" 'doubled.*all results checked' "one that is statements alone"
    like "$(cat "$work/out")" 'product.*all results checked' "one that is a function"
    like "$(cat "$work/err")" 'instr twice does what it means on this machine' "what it means is checked"
    unlike "$("$TENSORC" -S ir.tensor -o - | sed '/^tensorc_release:/,/^\.Lfunc_end/d')" 'call' \
        "the functions are inlined"
    runs "for another machine" "$TENSORC" -v -S --target=x86-64-v4+avx512bf16+avx512fp16 -o /dev/null ir.tensor
fi

# --- standard input, output and error closed: checked the same, and what the compiler opens does not take their places
if [ "$(uname -m)" = x86_64 ]; then
    sed 's/add <4 x i32> %a, %a/mul <4 x i32> %a, %a/' ir.tensor >wrong.tensor
    # closed WHICH FILE: its object and header, a search in a database among it, with those descriptors closed
    closed() {
        rm -f out.o out.h
        sh -c 'exec "$1" -O tune -v --threads=1 --trials=2 --db=closed.db -c "$2" -o out.o --header out.h '"$1" - \
            "$TENSORC" "$2"
    }
    sed 's/^export.*//; s/^schedule product.*/export product(M=5, N=9, K=7)/; /jo, ji/,/^}/d' ir.tensor >tuned.tensor
    closed '' ir.tensor 2>/dev/null
    cp out.o open.o && cp out.h open.h
    for which in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        closed "$which" ir.tensor >out 2>err
        is "$? $(cmp open.o out.o && cmp open.h out.h && echo same)" "0 same" \
            "$which: a correct instruction is none other" || diag_file err
        closed "$which" wrong.tensor >out 2>err
        is "$? $(ls out.o out.h 2>/dev/null)" "1 " "$which: a wrong one is refused"
        rm -f closed.db
        closed "$which" tuned.tensor >out 2>err
        is "$?" 0 "$which: a search" || diag_file err
        is "$("$TENSORC" db export --db=closed.db | grep -c '^outcome ok')" 2 "$which: keeps its results"
    done
    "$TENSORC" -S ir.tensor -o - 2>/dev/null >&-
    is "$?" 1 "output that cannot be written is an error"
fi

# --- an instruction that does not come back is given up
cat >endless.tensor <<'END'
instr twice(int32(4) c, int32(4) a) on x86 { c(i) = a(i) + a(i) } =
    "br label %again"
    "again:"
    "br label %again"
def doubled(int32(N, 4) A) -> (C) { C(n, i) = A(n, i) + A(n, i) }
schedule doubled on x86 { tensorize(C.i, twice) }
END
if [ "$(uname -m)" = x86_64 ]; then
    exits 1 "an instruction that does not end" timeout 300 "$TENSORC" -S -o /dev/null endless.tensor
    like "$(cat "$work/err")" "instruction 'twice' compiles, but its check fails: the run took longer than 5 s" \
        "the message says so"
fi

# --- run-time sizes, 64-bit ARM
cat >main.c <<'END'
#include "product.h"
#include <stdio.h>
#include <stdlib.h>
static unsigned long state = 1;
static int wrong(int M, int N, int K) {
    LEFT *a = malloc(M * K + 1);
    RIGHT *b = malloc(K * N + 1);
    SUM *c = malloc(4 * M * N + 4);
    int bad = 0;
    for (int i = 0; i < M * K; i++) a[i] = (LEFT)((state = state * 6364136223846793005ul + 1) >> 40);
    for (int i = 0; i < K * N; i++) b[i] = (RIGHT)((state = state * 6364136223846793005ul + 1) >> 40);
    if (product(M, K, N, a, b, c)) return 1;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            SUM sum = 0;
            for (int k = 0; k < K; k++) sum += (SUM)a[i * K + k] * (SUM)b[k * N + j];
            bad |= sum != c[i * N + j];
        }
    free(a); free(b); free(c);
    return bad;
}
int main(void) {
    static const int sizes[] = {0, 1, 3, 4, 5, 8, 13, 17};
    int bad = 0;
    for (int m = 0; m < 8; m++)
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < 8; k++) bad += wrong(sizes[m], sizes[n], sizes[k]);
    printf("%d wrong\n", bad);
    return bad != 0;
}
END
cross=aarch64-linux-gnu-gcc
# on_arm TARGET CPU OF QEMU, LEFT RIGHT SUM OF C, MNEMONIC, ARGUMENTS OF product
on_arm() {
    target=$1 cpu=$2 left=$3 right=$4 sum=$5 mnemonic=$6; shift 6
    product "$@" "" >product.tensor
    runs "$4 for $target" "$TENSORC" -c --target="$target" --threads=1 product.tensor -o product.o --header product.h
    "$TENSORC" -S --target="$target" product.tensor -o product.s
    like "$(cat product.s)" "$mnemonic" "$4 is in the code"
    if ! have $cross || ! have qemu-aarch64; then skip "no $cross or no qemu-aarch64 here" 2; return; fi
    runs "$4 links" $cross -static -std=c11 -I. -I"$srcdir" -DLEFT="$left" -DRIGHT="$right" -DSUM="$sum" main.c \
        product.o \
        -o main -lm
    if ! qemu-aarch64 -cpu help | grep -qw "$cpu"; then skip "this qemu has no processor $cpu"; return; fi
    is "$(qemu-aarch64 -cpu "$cpu" ./main)" "0 wrong" "$4 computes what the source says"
}
on_arm aarch64+dotprod max int8_t int8_t int32_t 'sdot' int8 int8 int32 dot4_arm 4 4 arm
on_arm neoverse-n1 max uint8_t uint8_t uint32_t 'udot' uint8 uint8 uint32 dot4_unsigned_arm 4 4 arm
on_arm aarch64+i8mm max uint8_t int8_t int32_t 'usdot' uint8 int8 int32 dot4_mixed_arm 4 4 arm

done_testing
