#!/bin/sh
# Axes of one value: layers with a batch of one row compute what they say, however they are scheduled.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >layers.tensor <<'END'
def two(float(1, 45) x, const float(9, 45) w, const float(9) b, const float(21, 9) v, const float(21) c) -> (y) {
    h(n, o) +=! x(n, k) * w(o, k)
    g(n, o) = max(h(n, o) + b(o), 0)
    z(n, o) +=! g(n, k) * v(o, k)
    y(n, o) = z(n, o) + c(o)
}
def pooled(float(1, 9, 7, 7) x, const float(21, 9) w) -> (y) {
    p(n, c) +=! x(n, c, i, j)
    m(n, c) = p(n, c) / 49
    y(n, o) +=! m(n, c) * w(o, c)
}
def convolution(float(1, 5, 11, 13) x, const float(19, 5, 3, 3) w, const float(19) b) -> (y) {
    c(n, o, i, j) +=! x(n, k, i + p, j + q) * w(o, k, p, q)
    y(n, o, i, j) = max(c(n, o, i, j) + b(o), 0)
}
def point(float(1, 24, 9, 9) x, const float(11, 24) w, float(1, 11, 9, 9) r) -> (y) {
    c(n, o, i, j) +=! x(n, k, i, j) * w(o, k)
    y(n, o, i, j) = min(max(c(n, o, i, j) + r(n, o, i, j), 0), 6)
}
def column(float(1, 40, 1) x, const float(40, 17) w, const float(17) b) -> (y) {
    z(n, o, m) +=! x(n, c, m) * w(c, o)
    y(n, o, m) = max(z(n, o, m) + b(o), 0)
}
def one(float(1, 40) x, const float(1, 40) w) -> (y) {
    z(n, o) +=! x(n, c) * w(o, c)
    y(n, o) = z(n, o) * z(n, o)
}
def transposed(float(1, 8, 30) x, const float(30, 12) w) -> (y) {
    z(n, s, o) +=! x(n, s, c) * w(c, o)
    y(n, o, s) = max(z(n, s, o), 0) where n in 0:1, o in 0:12, s in 0:8
}
def attention(float(1, 2, 7, 16) q, float(1, 2, 9, 16) k, float(1, 2, 9, 16) v) -> (y) {
    s(b, h, i, j) +=! q(b, h, i, d) * k(b, h, j, d)
    m(b, h, i) max=! s(b, h, i, j)
    e(b, h, i, j) = exp((s(b, h, i, j) - m(b, h, i)) * 0.25)
    t(b, h, i) +=! e(b, h, i, j)
    o(b, h, i, d) +=! e(b, h, i, j) * v(b, h, j, d)
    y(b, h, i, d) = o(b, h, i, d) / t(b, h, i)
}
END
sed -n 's/^def \([a-z]*\).*/export \1/p' layers.tensor >exports
cat exports >>layers.tensor
for threads in 1 2; do
    for level in 1 2; do
        runs "layers of one row, -O$level, $threads threads" "$TENSORC" -O$level --threads=$threads --db=none.db -run \
            layers.tensor
        is "$(grep -c . "$work/out")" "$(grep -c . exports)" "each was run"
    done
done

done_testing
