#!/bin/sh
# --explain-schedule: the loops that were chosen, buffers and their sizes, what an iteration of each loop touches.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/sched
cd "$here" || exit 1

runs "the schedules are explained" "$TENSORC" -c explained.tensor --target=x86-64-v4 -o "$work/o.o" --explain-schedule
golden "$here/explained.text" "$work/out" "what is said"
capture "$TENSORC" -d help
like "$(cat "$work/out")" '^ +n +the loop nest' "-d help names the nest"
runs "a kernel after each pass" "$TENSORC" -emit-ir explained.tensor --target=x86-64-v4 -o "$work/o.ir" -d ngsfvup
like "$(cat "$work/err")" '^# after place' "-d shows the last pass"
exits 2 "an unknown letter" "$TENSORC" -d x explained.tensor
like "$(cat "$work/err")" "-d: no letter 'x'" "is named"

done_testing
