#!/bin/sh
# What -O2 makes of products of one row, whose weights are read once: each element of the result is a sum of its own,
# along memory and in parallel, which no reader computes again.
. "${srcdir:-.}/tests/lib.sh"

cat >"$work/f.tensor" <<'EOF'
def normed(float(N, I) x, float(I) gamma, float(O, I) w) -> (y) {
    square(n) +=! x(n, r_d) * x(n, r_d)
    scale(n) = 1 / sqrt(square(n) / float(I) + 1e-5)
    a(n, d) = x(n, d) * scale(n) * gamma(d)
    y(n, o) +=! a(n, r_i) * w(o, r_i)
}
def transposed(float(N, I) x, float(O, I) w, float(P) c) -> (y) {
    p(n, o) +=! x(n, r_i) * w(o, r_i)
    h(n, g, d) = p(n, 64*g + d) where g in 0:O/64, d in 0:64
    t(n, g, d) = h(n, g, d) + (d < 32 ? h(n, g, d + 32) : h(n, g, d - 32)) * c(d % 32) where d in 0:64
    y(n, g, d) = t(n, g, d) * 2
}
def blocks(float(M, K) x, const int8(N, K) w, const float(N, B) scale) -> (y) {
    y(m, n) +=! x(m, K/B*b + r_s) * (float(w(n, K/B*b + r_s)) * scale(n, b)) where b in 0:B, r_s in 0:K/B
}
def lines(float(B, S) x) -> (y) { y() +=! x(r_b, r_s) }
export normed(N=1, I=2048, O=4096)
export blocks(M=1, K=2048, N=512, B=64)
export lines(B=64, S=1024)
export transposed(N=1, I=2048, O=2048, P=32)
EOF
runs "compiles" "$TENSORC" -O2 --target=x86-64-v4 --db="$work/none.db" --explain-schedule -c "$work/f.tensor" \
    -o "$work/f.o"
shown=$(cat "$work/out")
like "$shown" '^    for o in 0:4096 parallel' "a product behind a norm is parallel"
unlike "$shown" ' for r_i in ' "and in vectors"
like "$shown" '^inlined: h, t' "a product that is transposed is read through two others"
like "$shown" '^p: 1 x 2048 ' "and computed once"
like "$shown" '^ *(s[0-9]+_r_s)_p\(.*float\(w\(n, 32 \* \(4 \* \1_n \+ \1_m\) \+ ' \
    "short blocks of a row are read one after another"
like "$shown" '\+= x\(16 \* (s[0-9]+_r_s)_m \+ \1_n, ' "long ones in streams"

# --- right results, also of rows whose sizes are not those of vectors
cat >"$work/g.tensor" <<'EOF'
import "f"
export blocks(M=1, K=512, N=37, B=16)
export lines(B=12, S=300)
export normed(N=1, I=101, O=37)
export transposed(N=1, I=77, O=128, P=32)
EOF
runs "runs" "$TENSORC" -run -O2 --db="$work/none.db" "$work/g.tensor"
done_testing
