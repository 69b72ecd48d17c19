#!/bin/sh
# transpose.t - copies of blocks by columns: loads, shuffles and stores in place of gathers, the same values.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# block TYPE LANES COLUMNS [TURNS]: a copy whose lanes lie K apart, COLUMNS neighbours along K together, by turns with
# those of other blocks.
block() {
    cat <<END
def f($1(N, K) X) -> (Y) { Y(k, n) = X(n, k) }
export f(N=128, K=192)
export f(N=67, K=65) as odd
export f(N=63, K=130) as brief
export f(N=3, K=2) as few
export f(N=$2, K=$2) as square
export f(N=1) as any
schedule f on x86 {
    no, ni, nv = split(Y.n, ${4:-1}, $2)
    ko, ki = split(Y.k, $3)
    reorder(ko, no, ki, ni, nv)
    vectorize(nv)
    unroll(ki, ni)
}
END
}

while read -r type lanes columns turns; do
    block "$type" "$lanes" "$columns" "$turns" >block.tensor
    ok "$type, $lanes lanes of $columns by $turns: an object" "$TENSORC" -c --target=x86-64 block.tensor
    runs "$type, $lanes lanes of $columns by $turns: values" "$TENSORC" -run --threads=1 -DK=70 block.tensor
done <<END
float 16 16 1
float 16 8 1
float 16 4 1
float 16 12 1
float 16 2 1
float 16 24 2
float 16 8 3
float 8 8 1
float 8 4 2
float 4 4 4
double 8 8 1
double 8 4 1
double 8 2 1
double 4 2 2
double 2 2 1
int32 16 8 1
half 16 16 1
half 32 8 1
half 16 8 2
int8 16 16 1
uint8 64 64 1
uint8 64 32 1
uint8 64 16 1
uint8 32 8 1
END

assembly() { "$TENSORC" -S --target=x86-64-v4 block.tensor -o -; }
for shape in "16 16" "16 8" "16 4" "16 8 2" "16 16 2" "8 4"; do
    block float $shape | grep -v -e odd -e brief -e few -e any >block.tensor
    unlike "$(assembly)" 'gather|vpinsr|vinsertps' "$shape: no lane is loaded alone"
    like "$(assembly)" 'vunpcklps' "$shape: there are shuffles instead"
done

# What is read every second column is no block.
cat >apart.tensor <<'END'
def f(float(N, K) X) -> (Y) { Y(k, n) = X(n, 2 * k) where k in 0:K/2 }
export f(N=32, K=64)
schedule f on x86 {
    no, nv = split(Y.n, 16)
    ko, ki = split(Y.k, 16)
    reorder(ko, no, ki, nv)
    vectorize(nv)
    unroll(ki)
}
END
runs "every second column" "$TENSORC" -run --threads=1 apart.tensor

# -O2 packs the operand of a product that is given by columns in such blocks.
cat >columns.tensor <<'END'
def f(float(M, K) A, float(N, K) B) -> (C) { C(i, j) +=! A(i, r_k) * B(j, r_k) }
export f(M=37, K=112, N=128)
END
runs "a product by columns" "$TENSORC" -run -O2 --threads=1 columns.tensor
unlike "$("$TENSORC" -S -O2 --target=x86-64-v4 --threads=1 columns.tensor -o - )" 'vgather' "without a gather"
done_testing
