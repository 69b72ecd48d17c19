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
runs "a kernel after each pass" "$TENSORC" -emit-ir explained.tensor --target=x86-64-v4 -o "$work/o.ir" -d ngsfvua
like "$(cat "$work/err")" '^# after place' "-d shows the last pass"
like "$(cat "$work/err")" '^# after build' "and what the passes begin with"
runs "the time of each step" "$TENSORC" -emit-ir explained.tensor --target=x86-64-v4 -o "$work/o.ir" -ftime-report
unlike "$(cat "$work/err")" '^# ' "which are named by the step that they are part of"
like "$(cat "$work/err")" '^lower: place +[0-9.]+ ms' "each of them"
like "$(cat "$work/err")" '^lower, in all +[0-9.]+ ms' "and the whole"
exits 2 "an unknown letter" "$TENSORC" -d x explained.tensor
like "$(cat "$work/err")" "-d: no letter 'x'" "is named"

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
done_testing
