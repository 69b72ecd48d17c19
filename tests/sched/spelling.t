#!/bin/sh
# How a computation is spelled does not decide how it is scheduled.
. "${srcdir:-.}/tests/lib.sh"

# schedule_of EXPRESSION: what -O2 chooses for softened images
schedule_of() {
    printf 'def f(float(H, W) I) -> (O) {\n%s\n}\nexport f(H=512, W=1000)\n' "$1" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c "$work/f.tensor" -o "$work/f.o" --db="$work/none.db" \
        --emit-schedule="$work/f.schedule" && cat "$work/f.schedule"
}
# cuts EXPRESSION: the statements that cut off the ends of rows
cuts() { schedule_of "$1" | grep partition; }
# plain_pieces EXPRESSION: of the pieces of rows, how many have vectors but no index that is limited or a remainder, and
# no mask
plain_pieces() {
    schedule_of "$1" >"$work/lines"
    "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -emit-ir "$work/f.tensor" -o - --db="$work/none.db" >"$work/f.ir"
    awk '{ match($0, /^ */) } RLENGTH <= depth { piece = "" }
        /for x_m/ { piece = NR; depth = RLENGTH }
        piece && /I\(.*ramp/ { vectors[piece] = 1 }
        piece && /I\(.*(min\(|max\(|%| where )/ { limits[piece] = 1 }
        END { for (p in vectors) plain += !limits[p]
              print plain + 0 }' "$work/f.ir"
}
for word in edge wrap reflect; do
    right="O(y, x) = I(y, x) + (I(y, x + 1) else $word) where y in 0:H, x in 0:W"
    like "$(cuts "$right")" 'partition\(x_m, -1\)' "the end of rows is cut off: else $word"
    sum="O(y, x) +=! (I(y, x + r - 2) else $word) * (r + 1) where y in 0:H, x in 0:W, r in 0:5"
    like "$(cuts "$sum")" 'partition\(x_m, 1, -1\)' "also of sums: else $word"
    is "$(plain_pieces "$sum")" 1 "between the ends vectors are contiguous: else $word"
    square="O(y, x) +=! (I(y + q - 1, x + r - 1) else $word) * (q + 2 * r) where y in 0:H, x in 0:W, q in 0:3, r in 0:3"
    like "$(cuts "$square")" 'partition\(x_m, 1, -1\)' "sums over two axes: else $word"
    wide="O(y, x) = (I(y, x - 300) else $word) + (I(y, x + 301) else $word) where y in 0:H, x in 0:W"
    is "$(plain_pieces "$wide")" 1 "as many tiles are cut off as the reach says: else $word"
done
# structure EXPRESSION: the primitives without the sizes of tiles
structure() { schedule_of "$1" | grep -v split; }
mean='s(y) +=! I(y, r_x)   m(y) = s(y) %s   q(y) +=! (I(y, r_x) - m(y)) * (I(y, r_x) - m(y))
O(y, x) = (I(y, x) - m(y)) * q(y)'
# shellcheck disable=SC2059 # the format is the program
is "$(structure "$(printf "$mean" '/ 3')")" \
    "$(structure "$(printf "$mean" '* 0.25')")" \
    "a quotient by a constant is as cheap as a product"

# Steps that read neighbours are computed in strips; a name for what one stage alone reads, each element once, changes
# nothing.
around() {
    printf '(%s(y - 1, x) else edge) + (%s(y + 1, x) else edge) + (%s(y, x - 1) else edge) + (%s(y, x + 1) else edge)' \
        "$1" "$1" "$1" "$1"
}
range='where y in 0:H, x in 0:W'
step() { echo "$2(y, x) = 0.25 * ($(around "$1")) $range"; }
named() { echo "s$2(y, x) = $(around "$1") $range $2(y, x) = 0.25 * s$2(y, x) $range"; }
strips() { structure "$1" | grep -v inline | sed 's/g[0-9]_//g'; }
whole=$(strips "$(step I b) $(step b c) $(step c O)")
like "$whole" 'store_at\(b, ' "steps are computed in strips"
is "$(strips "$(named I b) $(named b c) $(named c O)")" "$whole" "also where the sum of neighbours has a name"

# Each element of the first stage is read once: rows that one stage reads are no more expensive than in two.
# pool STATEMENTS: the primitives without the sizes of tiles
pool() {
    printf 'def f(float(C, H, W) I) -> (O) {\n%s\n}\nexport f(C=64, H=112, W=112)\n' "$1" >"$work/p.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 -c "$work/p.tensor" -o "$work/p.o" --db="$work/none.db" \
        --emit-schedule=- | grep -v split
}
stages='r(c, y, x) = max(I(c, 2*y, x), I(c, 2*y + 1, x))   O(c, y, x) = max(r(c, y, 2*x), r(c, y, 2*x + 1))'
like "$(pool "$stages")" 'inline\(r\)' "a pool of two stages is computed as one"

# Rows that are summed move into the last cache once, in narrow tiles of long strips too: these gain nothing.
printf 'def f(float(H, W) I) -> (O) {
    b(y, x) +=! I(y, x + r) where r in 0:3
    O(y, x) = (b(y, x) + b(y + 1, x) + b(y + 2, x)) / 9
}
export f(H=1026, W=2050)\n' >"$work/b.tensor"
sums=$("$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c "$work/b.tensor" -o "$work/b.o" --db="$work/none.db" \
    --emit-schedule=-)
like "$sums" 'store_at\(b, ' "a blur of sums is computed in strips"
width=2048 # of a strip; where there are tiles, of one
if echo "$sums" | grep -q 'store_at(b, g[0-9]_tile)'; then
    width=$(($(echo "$sums" | sed -n 's/.*= split(O\.x, \([0-9, ]*\))/\1/p' | tr ',' '*')))
fi
ok "which are as wide as the image: $width" test "$width" -ge 2048
# mlp AXIS EXTENT: what -O2 chooses for two layers, whose results may have one more axis
mlp() {
    cat >"$work/mlp.tensor" <<EOF
def f(float($2 700) x, const float(96, 700) w, const float(96) b, const float(18, 96) v, const float(18) c) -> (y) {
    h($1 o) +=! x($1 k) * w(o, k)
    g($1 o) = max(h($1 o) + b(o), 0)
    z($1 o) +=! g($1 k) * v(o, k)
    y($1 o) = z($1 o) + c(o)
}
export f
EOF
    "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c "$work/mlp.tensor" -o "$work/mlp.o" --db="$work/none.db" \
        --emit-schedule="$work/mlp.schedule" && cat "$work/mlp.schedule"
}
vector=$(mlp "" "")
like "$vector" 'rfactor\(g2_.*vectorize|vectorize\(g2_.*k_v' "sums of a layer's rows have vectors"
is "$(mlp "n," "1,")" "$vector" "a batch of one row is scheduled as the row"

# layer AXIS EXTENT: what -O2 chooses for a convolution and its activation, which may have one more axis
layer() {
    cat >"$work/layer.tensor" <<EOF
def f(float($2 32, 30, 30) x, const float(64, 32, 3, 3) w, const float(64) b) -> (y) {
    c($1 o, i, j) +=! x($1 k, i + p, j + q) * w(o, k, p, q)
    y($1 o, i, j) = max(c($1 o, i, j) + b(o), 0)
}
export f
EOF
    "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c "$work/layer.tensor" -o "$work/layer.o" --db="$work/none.db" \
        --emit-schedule=-
}
for batch in "" "1,"; do
    like "$(layer "${batch:+n,}" "$batch")" 'compute_at\(c, [a-z_]*, scope=register\)' \
        "an activation is computed with its convolution: ${batch:-no} batch"
done

done_testing
