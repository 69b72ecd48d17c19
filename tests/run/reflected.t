#!/bin/sh
# Chains of stages with `else reflect`: what is computed at a loop is a box around it, as with `else edge`, and values
# are those of the interpreter, also where tiles go beyond the ends and where sizes are hardly larger than the reach.
. "${srcdir:-.}/tests/lib.sh"
outside=reflect position=''
. "${srcdir:-.}/tests/run/chains.sh"
cd "$work" || exit 1

all_tiles "3 3,4 5,7 16,16 17,17 31,33 40" "1 1,2 1,1 2,2 2"

# What one block of d needs of c and b.
chain 1024 2048 1 1 >chain.tensor
{ cat chain.tensor; tiled 16 64 xo; } | sed 's/ {$/ { exactly()/; s/def\(.*\) exactly()/def\1/' >tiled.tensor
runs "compiles" "$TENSORC" -c tiled.tensor -o tiled.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "c: 18 x 66 .*from" "a box is what the block reads"
like "$(cat "$work/out" "$work/err")" "b: 20 x 66 .*from" "and so is that of the stage before it"
runs "is right" "$TENSORC" tiled.tensor -run

# The extent is not known: with a size of 1 or 2 an index may turn back anywhere.
{ chain 9 9 1 1 | sed 's/^export.*/export chain/'; tiled 16 64 xo; } >any.tensor
runs "compiles" "$TENSORC" -c any.tensor -o any.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "c: H x W" "run-time sizes: the whole"
for sizes in "1 1" "1 2" "2 1" "2 2" "3 4" "20 70"; do
    runs "run-time sizes $sizes" "$TENSORC" any.tensor -run -DH="${sizes% *}" -DW="${sizes#* }"
done

# The reader is larger than what it reads, and looks further than that is long.
cat >larger.tensor <<'END'
def larger(float(N) a) -> (c) {
    b(i) = a(i) + 1 where i in 0:N
    c(i) = (b(i - 1) else reflect) + (b(i + 3) else reflect) where i in 0:60
}
export larger(N=20)
export larger(N=4) as fewer
schedule larger on x86 { o, i = split(c.i, 2) compute_at(b, o) }
schedule larger on arm { o, i = split(c.i, 2) compute_at(b, o) }
schedule fewer on x86 { o, i = split(c.i, 2) compute_at(b, o) }
schedule fewer on arm { o, i = split(c.i, 2) compute_at(b, o) }
END
runs "a reader that is larger" "$TENSORC" larger.tensor -run

# By the default, too: stages stand in strips.
runs "compiles" "$TENSORC" -O2 --target=x86-64-v3 --threads=1 -c chain.tensor -o chain.o --explain-schedule
like "$(cat "$work/out" "$work/err")" "strip" "the default computes them in strips"
is "$(cat "$work/out" "$work/err" | grep -c '[bc]: 1024 x 2048')" 0 "and keeps no whole stage"

done_testing
