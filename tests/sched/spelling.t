#!/bin/sh
# How a computation is spelled does not decide how it is scheduled.
. "${srcdir:-.}/tests/lib.sh"

# schedule_of EXPRESSION: what -O2 chooses for softened images
schedule_of() {
    printf 'def f(float(H, W) I) -> (O) {\n%s\n}\nexport f(H=512, W=1000)\n' "$1" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c "$work/f.tensor" -o "$work/f.o" --db="$work/none.db" \
        --emit-schedule="$work/f.schedule" && cat "$work/f.schedule"
}
for word in edge wrap reflect; do
    like "$(schedule_of "O(y, x) = I(y, x) + (I(y, x + 1) else $word) where y in 0:H, x in 0:W")" 'partition\(.*, 1, -1\)' \
        "the ends of rows are cut off: else $word"
done
# structure EXPRESSION: the primitives without the sizes of tiles
structure() { schedule_of "$1" | grep -v split; }
mean='s(y) +=! I(y, r_x)   m(y) = s(y) %s   q(y) +=! (I(y, r_x) - m(y)) * (I(y, r_x) - m(y))   O(y, x) = (I(y, x) - m(y)) * q(y)'
# shellcheck disable=SC2059 # the format is the program
is "$(structure "$(printf "$mean" '/ 3')")" "$(structure "$(printf "$mean" '* 0.25')")" "a quotient by a constant is as cheap as a product"
done_testing
