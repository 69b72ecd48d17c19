#!/bin/sh
# --explain-schedule: the loops that were chosen, buffers and their sizes, what an iteration of each loop touches.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/sched
cd "$here" || exit 1

runs "the schedules are explained" "$TENSORC" -c explained.tensor --target=x86-64-v4 -o "$work/o.o" --explain-schedule
golden "$here/explained.text" "$work/out" "what is said"
capture "$TENSORC" -d help
like "$(cat "$work/out")" '^ +n +the loop nest' "-d help names the nest"
is "$(sed -n 's/^  \([a-z]\)  .*/\1/p' "$work/out" | sort | uniq -d)" "" "each letter stands for one thing"
runs "a kernel after each pass" "$TENSORC" -emit-ir explained.tensor --target=x86-64-v4 -o "$work/o.ir" -d ngsfvuarxlio
like "$(cat "$work/err")" '^# after offsets' "-d shows the last pass"
like "$(cat "$work/err")" '^# after build' "and what the passes begin with"
runs "the time of each step" "$TENSORC" -emit-ir explained.tensor --target=x86-64-v4 -o "$work/o.ir" -ftime-report
unlike "$(cat "$work/err")" '^# ' "which are named by the step that they are part of"
like "$(cat "$work/err")" '^lower: place +[0-9.]+ ms' "each of them"
like "$(cat "$work/err")" '^lower, in all +[0-9.]+ ms' "and the whole"
exits 2 "an unknown letter" "$TENSORC" -d y explained.tensor
like "$(cat "$work/err")" "-d: no letter 'y'" "is named"

# copies ROWS TERMS: how many loops are left of one over ROWS whose copies of a sum of TERMS terms are to be unrolled.
copies() {
    terms=$(seq 0 $(($2 - 1)) | sed 's/.*/a(i + &) * b(&)/' | paste -sd+ -)
    echo "def f(float(N) a, float(K) b) -> (float(M) c) { c(i) = $terms } export f(M=$1, N=$(($1 + $2)), K=$2)
schedule f on x86 { unroll(c.i) }" >"$work/copies.tensor"
    "$TENSORC" -w -emit-ir "$work/copies.tensor" --target=x86-64-v4 -o - >"$work/copies.ir"
    printf '%s, %s' "$(grep -c ' for i in ' "$work/copies.ir")" "$(grep -c ' c(.*) = ' "$work/copies.ir")"
}
is "$(copies 64 4)" "0, 64" "copies of a short body are made"
is "$(copies 256 800)" "1, 1" "copies that would make code generators slow are not: the loop stays"

# nests NUMBER: so many nests whose copies are some 300,000 nodes each; the loops that are left of them.
nests() {
    { echo "def f(float(N) a, float(N) b) -> (x, y, z) {"
        for t in $1; do echo "    $t(i, j) = a(i) * 2 + b(j) * a(i) + b(i) * a(j) + 1"; done
        echo "} export f(N=127) schedule f on x86 {"
        for t in $1; do echo "unroll($t.i) unroll($t.j)"; done
        echo "}"; } | sed "s/x, y, z/$(echo "$1" | sed 's/ /, /g')/" >"$work/nests.tensor"
    "$TENSORC" -w -emit-ir "$work/nests.tensor" --target=x86-64-v4 -o - | grep -c '^ *for '
}
is "$(nests "x")" "0" "a large nest is unrolled"
is "$(nests "x y z")" "0" "three of them are, too: each has a budget of its own"
copies 256 800 >/dev/null
runs "what stays a loop is a warning" "$TENSORC" -emit-ir "$work/copies.tensor" --target=x86-64-v4 -o "$work/o.ir" \
    --explain-schedule
like "$(cat "$work/err")" \
    'warning: some loops are not unrolled or vectorized as the schedule says: c.i '\
'\(its copies would be too much code\)' \
    "that names it"
like "$(cat "$work/out")" '^for i in 0:256 unrolled .*# stays a loop: its copies would be too much code' \
    "and explained beside the loop"
# What a group copies for the whole program was once taken from all groups that read it, whose schedules were refused
# then.
runs "groups that read the same tensors" "$TENSORC" -emit-ir -v --target=x86-64-v4 --threads=1 ../tune/stacked.tensor \
    -o "$work/o.ir"
unlike "$(cat "$work/err")" 'left with plain loops' "are legal together"
# Stages that strips of rows compute have no loops of their own that could be refused.
cat >"$work/unsharp.tensor" <<'END'
def unsharp(float(C, H, W) I) -> (O) {
    gray(y, x) = 0.299 * I(0, y, x) + 0.587 * I(1, y, x) + 0.114 * I(2, y, x)
    by(y, x) = (gray(y - 1, x) else edge) * 0.25 + gray(y, x) * 0.5 + (gray(y + 1, x) else edge) * 0.25
    bxy(y, x) = (by(y, x - 1) else edge) * 0.25 + by(y, x) * 0.5 + (by(y, x + 1) else edge) * 0.25
    ratio(y, x) = (2 * gray(y, x) - bxy(y, x)) / gray(y, x)
    O(c, y, x) = ratio(y, x) * I(c, y, x)
}
export unsharp(C=3, H=1080, W=1920)
END
runs "a pipeline in strips" "$TENSORC" -c -O2 -v --target=x86-64-v4 --threads=1 "$work/unsharp.tensor" \
    -o "$work/o.o" --emit-schedule="$work/strips"
like "$(cat "$work/strips")" '_strip, ' "is chosen"
unlike "$(cat "$work/err")" 'left with plain loops' "and no stage of it is called plain"

# A loop whose work is known to be too little is no parallel one, and what is said is what is emitted.
cat >"$work/little.tensor" <<'END'
def f(float(N) x) -> (y) { y(i) = x(i) * 2 }
export f(N=100) as little
export f(N=1000000) as much
export f as whatever
schedule little on x86 { o, i = split(y.i, 8) parallel(o) }
schedule much on x86 { o, i = split(y.i, 8) parallel(o) }
END
runs "little work for threads" "$TENSORC" -emit-ir -v --explain-schedule --target=x86-64-v4 --threads=2 \
    "$work/little.tensor" -o "$work/o.ir"
is "$(grep -c 'too little work for threads, so one runs it: o$' "$work/out")" 1 "is explained"
like "$(cat "$work/err")" 'tensorc: little: too little work for threads, so one runs it: o$' "and said"
kernel() { sed -n "/^kernel.* $1 target/,/^}/p" "$work/o.ir"; }
like "$(kernel little)" '^ *for o in' "is a serial loop"
like "$(kernel much)" 'parallel for o in' "much work has one"
like "$(kernel whatever)" 'parallel for' "and so has work that run-time sizes decide"
done_testing
