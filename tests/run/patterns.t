#!/bin/sh
# patterns.t - lanes that are apart by known numbers, as those that read a quotient or a remainder: one row of memory,
# shuffled; right for all shapes.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >reads.tensor <<'END'
def twice(float(H, W) x) -> (y) { y(h, w) = x(h / 2, w / 2) where h in 0:2*H, w in 0:2*W }
def thrice(half(H, W) x) -> (y) { y(h, w) = x(h, w / 3) where h in 0:H, w in 0:3*W }
def later(float(H, W) x) -> (y) { y(h, w) = x(h, (w + 5) / 2) where h in 0:H, w in 0:2*W-5 }
def parts(uint8(H, W) x) -> (y) {
    y(h, w) = w % 2 == 0 ? x(h, w / 2) % 16 : x(h, w / 2) / 16 where h in 0:H, w in 0:2*W }
def folded(float(H, W) x) -> (y) { y(h, w) = x(h, w % 4) + x(h, 3 - w % 4) where h in 0:H, w in 0:W }
def spread(double(H, W) x) -> (y) { y(h, w) = x(h, 3 * (w / 4) + 1) + x(h, w / 4) where h in 0:H, w in 0:W }
def down(float(H, W) x) -> (y) { y(h, w) = x(h, (2 * W - 1 - w) / 2) where h in 0:H, w in 0:2*W }
def dot(uint8(H, W) x) -> (int32(H) y) {
    y(h) +=! int32(k % 2 == 0 ? x(h, k / 2) % 16 : x(h, k / 2) / 16) where k in 0:2*W }
END
for shape in '0 4' '1 4' '3 5' '2 8' '3 15' '2 16' '3 17' '5 33' '2 64' '1 131'; do
    for target in $(targets_here); do
        runs "of $shape, $target" "$TENSORC" -run --threads=1 --target=$target -DH="${shape% *}" -DW="${shape#* }" \
            reads.tensor
    done
done
# Round a row, which is longer than a vector or not.
cat >rings.tensor <<'END'
def ring(uint8(H, W) g) -> (o) {
    o(y, x) +=! (g(y + i - 1, x + j - 1) else wrap) where y in 0:H, x in 0:W, i in 0:3, j in 0:3 }
def far(float(H, W) g) -> (o) { o(y, x) = (g(y, x - 7) else wrap) + (g(y, x + 5) else wrap) where y in 0:H, x in 0:W }
def roll(half(H, W) g) -> (o) { o(y, x) = g(y, (x + 3 * y + 5) % W) where x in 0:W }
def large(double(H, W) g) -> (o) { o(y, x) = g((y + 1) % H, (x + W - 1) % W) where y in 0:H, x in 0:W }
def more(float(H, W) g) -> (o) { o(y, x) = g(y, (x + 2) % W) where y in 0:H, x in 0:2*W+3 }
def edges(float(H, W) g) -> (o) {
    o(y, x) = (g(y, x - 1) else edge) + 3 * (g(y, x + 2) else edge) + (g(y - 1, x + 40) else edge)
        where y in 0:H, x in 0:W
}
def held(half(H, W) g) -> (o) {
    o(y, x) = g(y, min(max(x - 3, 1), max(W - 2, 0))) + g(y, min(2 * x, W - 1)) where y in 0:H, x in 0:W }
def nowhere(uint8(H, W) g) -> (o) {
    o(y, x) = g(y, max(x - 300, 0)) + g(y, min(x + 300, W - 1)) where y in 0:H, x in 0:W }
END
for shape in '1 1' '2 7' '3 16' '2 17' '3 31' '2 64' '1 65' '3 130'; do
    for target in $(targets_here); do
        runs "rings of $shape, $target" "$TENSORC" -run --threads=1 --target=$target -DH="${shape% *}" \
            -DW="${shape#* }" rings.tensor
    done
done

# Loops that were fused of pairs and triples.
cat >fused.tensor <<'END'
def pairs(float(N, 2) a, float(N, 2) b) -> (c) {
    c(n, p) = p == 0 ? a(n, 0) * b(n, 0) - a(n, 1) * b(n, 1) : a(n, 0) * b(n, 1) + a(n, 1) * b(n, 0) where p in 0:2
}
def triples(float(N, 3) a, float(N, 2) b) -> (c) { c(n, p) = a(n, 2 - p) + a(n, p) + b(n, 1) where p in 0:3 }
schedule pairs on x86 {
    f = fuse(c.n, c.p)
    g, l = split(f, 16)
    vectorize(l)
}
schedule triples on x86 {
    f = fuse(c.n, c.p)
    g, l = split(f, 12)
    vectorize(l)
}
END
for count in 1 4 8 15 16 33; do
    runs "pairs and triples, $count" "$TENSORC" -run --threads=1 -DN=$count fused.tensor
done

# assembly PROGRAM: of AVX-512.
assembly() {
    echo "$1" >f.tensor
    "$TENSORC" -S --target=x86-64-v4 --threads=1 f.tensor -o f.s
    cat f.s
}
unlike "$(assembly 'def f(float(H, W) x) -> (y) {
    y(h, w) = x(h / 2, w / 2) where h in 0:2*H, w in 0:2*W } export f(H=32, W=64)')" \
    'gather|vinsertps' "each element for two lanes is no gather"
unlike "$(assembly 'def f(uint8(N, P) x) -> (y) {
    y(n, k) = k % 2 == 0 ? x(n, k / 2) % 16 : x(n, k / 2) / 16 where n in 0:N, k in 0:2*P } export f(N=32, P=128)')" \
    'vpinsrb|movzbl' "halves of bytes, in vectors"
unlike "$(assembly 'def f(uint8(H, W) g) -> (o) {
    o(y, x) = (g(y, x - 1) else wrap) where y in 0:H, x in 0:W } export f(H=32, W=128)')" \
    'vpinsrb|movzbl' "round a row, in vectors"
unlike "$(assembly 'def f(float(H, W) g) -> (o) {
    o(y, x) = (g(y, x - 1) else edge) where y in 0:H, x in 0:W } export f(H=32, W=128)')" \
    'gather|vinsertps' "held at the ends of a row, in vectors"
done_testing
