#!/bin/sh
# copied_parts.t - a copy holds what its readers read of each dimension: a layer of all weights, a part of the rows.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# holds NAME SHAPE: the copy P of the function has that shape, and the results are as interpreted.
holds() {
    like "$("$TENSORC" -O0 --explain-schedule -c "$1.tensor" -o "$1.o" 2>&1)" "P: $2  #" "$1: a copy of $2"
    for threads in 1 2; do
        runs "$1 with $threads threads" "$TENSORC" -run -O0 --threads=$threads "$1.tensor"
    done
}
schedule='P = cache_read(w, layout=(d0, d2, d1))'
cat >layer.tensor <<EOF
def layer(float(N, 24) x, float(5, 40, 24) w) -> (y) { y(i, j) +=! x(i, k) * w(3, j, k) }
export layer(N=7)
schedule layer on x86 { $schedule }
EOF
holds layer '1 x 24 x 40'
cat >rows.tensor <<EOF
def rows(float(N, 24) x, float(5, 40, 24) w) -> (y) {
    y(i, j) +=! x(i, k) * w(3, j + 8, k) * w(2, j + 9, 23 - k) where j in 0:17
}
export rows(N=7)
schedule rows on x86 { $schedule }
EOF
holds rows '2 x 24 x 18'
# Of indices beyond the tensor it holds what stands for them, also where a condition keeps them from being read.
cat >guarded.tensor <<EOF
def guarded(float(24) x, float(2, 40, 24) w) -> (y) {
    y(i) +=! i < 9 ? w(1, i + 31, k) * x(k) : x(k) where i in 0:20
}
export guarded
schedule guarded on x86 { $schedule }
EOF
holds guarded '1 x 24 x 20'
cat >blocks.tensor <<'EOF'
def blocks(float(N, 24) x, float(5, 40, 24) w) -> (y) { y(i, j) +=! x(i, k) * w(4, j + 5, k) where j in 0:35 }
export blocks(N=7)
schedule blocks on x86 {
    jo, ji = split(y.j, 16)
    reorder(y.i, jo, y.k, ji)
    vectorize(ji)
    P = cache_read(w, layout=(d0, d1/16, d2, d1%16))
}
EOF
holds blocks '1 x 3 x 24 x 16'
cat >outside.tensor <<EOF
def outside(float(24) x, float(2, 40, 24) w) -> (y) {
    y(i) +=! (w(1, i + 31, k) else 2) * x(k) where i in 0:20
}
export outside
schedule outside on x86 { $schedule }
EOF
holds outside '1 x 24 x 20'
# All of a dimension where indices are read, and where sizes say how much.
cat >gathered.tensor <<EOF
def gathered(float(24) x, int32(7) at, float(2, 40, 24) w) -> (y) { y(i) +=! w(1, at(i), k) * x(k) }
export gathered
schedule gathered on x86 { $schedule }
EOF
holds gathered '1 x 24 x 40'
cat >sized.tensor <<EOF
def sized(float(24) x, float(2, N, 24) w) -> (y) { y(i) +=! w(1, i + 3, k) * x(k) where i in 0:N - 3 }
export sized
schedule sized on x86 { $schedule }
EOF
like "$("$TENSORC" -O0 --explain-schedule -c sized.tensor -o sized.o 2>&1)" "P: 1 x 24 x N  #" "of run-time sizes all"
for size in 3 4 20; do
    runs "sized, N = $size" "$TENSORC" -run -O0 -DN=$size sized.tensor
done

# Layers in turn copy their own weights alone.
cat >layers.tensor <<'EOF'
import "nn"
def f[L=6](float(T, B, H) x, const float(L, 4, H, H) wx, const float(L, 4, H, H) wh, const float(L, 4, H) b,
           float(B, H) h0, float(B, H) c0) -> (y) {
    y(t, b, h) = x(t, b, h)
    for l in 0:L { y, c = lstm(y, h0, c0, wx(l), wh(l), b(l)) }
}
export f(T=90, B=2, H=256)
EOF
text=$("$TENSORC" -O2 --threads=1 --target=x86-64-v4 --explain-schedule -c layers.tensor -o layers.o 2>&1)
like "$text" '_wh_p: 16 x 1 x 4 x 256 x 16  #' "a recurrent layer copies its own weights"
unlike "$text" '_wh_p: 16 x 6 ' "and not those of all layers"

done_testing
