#!/bin/sh
# Chains of stages with `else wrap`: what is computed at a loop is a box around it, which goes on beyond the ends, and
# values are those of the interpreter, also where tiles go beyond the ends and where sizes are smaller than the reach.
. "${srcdir:-.}/tests/lib.sh"
outside=wrap position=' + y + 0.5 * x'
. "${srcdir:-.}/tests/run/chains.sh"
cd "$work" || exit 1

all_tiles "1 1,1 2,3 3,4 5,7 16,17 31" "1 1,1 2,5 3"

# A sum that is stored from registers reads at its own place, too.
cat >own.tensor <<'END'
def own(float(H, W) a, float(3) f) -> (d) {
    b(y, x) = a(y, x) * a(y, x) where y in 0:H, x in 0:W
    c(y, x) +=! b(y, x) * f(k) where k in 0:3
    d(y, x) = (c(y - 1, x) else wrap) + (c(y + 1, x) else wrap) where y in 0:H, x in 0:W
}
export own(H=37, W=50)
END
for family in x86 arm; do
    echo "schedule own on $family { exactly() yo, yi = split(d.y, 8) compute_at(c, yo) s = cache_write(c, at=c.y)"
    echo "compute_at(b, yo) }"
done >>own.tensor
runs "compiles" "$TENSORC" -c own.tensor -o own.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "b: 10 x 50 .*from" "what a sum reads at its own place is a box, too"
runs "is right" "$TENSORC" own.tensor -run

# What one block of d needs of c and b.
chain 1024 2048 1 1 >chain.tensor
{ cat chain.tensor; tiled 16 64 xo | sed 's/{$/{ exactly()/'; } >tiled.tensor
runs "compiles" "$TENSORC" -c tiled.tensor -o tiled.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "c: 18 x 66 .*from" "a box is what the block reads"
like "$(cat "$work/out" "$work/err")" "b: 20 x 66 .*from" "and so is that of the stage before it"
runs "is right" "$TENSORC" tiled.tensor -run

# The extent is not known: the same boxes, also where they are larger than the whole.
{ chain 9 9 1 1 | sed 's/^export.*/export chain/'; tiled 16 64 xo | sed 's/{$/{ exactly()/'; } >any.tensor
runs "compiles" "$TENSORC" -c any.tensor -o any.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "c: 18 x 66" "run-time sizes: what the block reads"
for sizes in "1 1" "1 2" "2 1" "2 2" "3 4" "20 70" "0 5" "5 0"; do
    runs "run-time sizes $sizes" "$TENSORC" any.tensor -run -DH="${sizes% *}" -DW="${sizes#* }"
done

# both NAME STATEMENTS: a schedule of NAME for the families that tests run on.
both() {
    for family in x86 arm; do
        printf 'schedule %s on %s { %s }\n' "$1" "$family" "$2"
    done
}

# The reader is larger than what it reads, and goes round several times.
cat >larger.tensor <<'END'
def larger(float(N) a) -> (c) {
    b(i) = a(i) + 1 where i in 0:N
    c(i) = (b(i - 1) else wrap) + (b(i + 3) else wrap) where i in 0:60
}
export larger(N=20)
export larger(N=4) as fewer
END
both larger 'o, i = split(c.i, 2) compute_at(b, o)' >>larger.tensor
both fewer 'o, i = split(c.i, 2) compute_at(b, o)' >>larger.tensor
runs "a reader that is larger" "$TENSORC" larger.tensor -run

# Sums in registers, copies, windows, what is read at other places, under conditions and with another else.
cat >kinds.tensor <<'END'
def kinds(float(H, W) a, float(3, 3) f) -> (d) {
    b(y, x) +=! (a(y + i - 1, x + j - 1) else wrap) * f(i, j) where y in 0:H, x in 0:W
    c(y, x) +=! (b(y + i - 1, x + j - 1) else wrap) * f(i, j) where y in 0:H, x in 0:W
    d(y, x) = c(y, x) > 0 ? (c(y - 2, x) else wrap) : y > 3 ? (c(y - 1, x + 1) else wrap) : c(y, x) where y in 0:H
}
export kinds(H=37, W=50)
END
cat >zero.tensor <<'END'
def kinds(float(H, W) a) -> (d) {
    b(y, x) = (a(y + 1, x) else wrap) where y in 0:H, x in 0:W
    c(y, x) = (b(y + 1, x) else wrap) + (b(y - 1, x) else 0) + (b(y, x + 1) else edge) where y in 0:H, x in 0:W
    d(y, x) = (c(y + 1, x) else wrap) + c(y, x) where y in 0:H, x in 0:W
}
export kinds(H=37, W=50)
END
tile='yo, xo, yi, xi = tile(d.y, d.x, 8, 16)'
number=0
while read -r statements; do
    number=$((number + 1))
    for program in kinds zero; do
        case "$program $statements" in zero*cache* | zero*b.i*) continue ;; esac
        { cat $program.tensor; both kinds "$tile $statements"; } >placed.tensor
        runs "$program, schedule $number" "$TENSORC" placed.tensor -run
    done
done <<'END'
compute_at(c, xo) compute_at(b, xo)
compute_at(c, xo) compute_at(b, c.y)
compute_at(c, xo) compute_at(b, yo) parallel(yo)
compute_at(c, yi) store_at(c, xo) compute_at(b, yo)
compute_at(c, yi) store_at(c, yo) compute_at(b, yi) store_at(b, xo)
compute_at(c, yo) store_at(c, root) compute_at(b, yo)
compute_at(c, xo) compute_at(b, yo) double_buffer(c)
compute_at(c, xo) compute_at(b, xo) reorder(b.y, b.i, b.j, b.x) vectorize(b.x) vectorize(xi)
compute_at(c, xo) s = cache_write(c, at=c.y) compute_at(b, xo) t = cache_write(b, at=b.x, scope=register)
compute_at(c, xo) compute_at(b, xo) q = cache_read(a, at=xo)
compute_at(c, xo) u, v = split(c.y, 3) reorder(v, u) compute_at(b, u)
END

# An instruction does not read modulo the extent: what it computes stays whole.
cat >instruction.tensor <<'END'
instr add_product(float(4) acc, float(4) a, float(4) b) on x86 { acc(i) += a(i) * b(i) } =
    "%product = fmul <4 x float> %a, %b"
    "%sum = fadd <4 x float> %acc, %product"
    "ret <4 x float> %sum"
def rows(float(N, M) a, float(M, K) w) -> (c) {
    b(i, j) +=! a(i, m) * w(m, j)
    c(i, j) = (b(i, j - 1) else wrap) + (b(i, j + 1) else wrap) where i in 0:N, j in 0:K
}
export rows(N=32, M=9, K=64)
schedule rows on x86 {
    exactly()
    o, v = split(c.j, 16)
    compute_at(b, o)
    bo, bi = split(b.j, 4)
    reorder(b.i, bo, b.m, bi)
    tensorize(bi, add_product)
}
END
runs "an instruction" "$TENSORC" --target=x86-64-v3 -c instruction.tensor -o instruction.o --explain-schedule

done_testing
