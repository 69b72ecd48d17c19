#!/bin/sh
# What is said of schedules: each NAME.tensor here and, in NAME.expected, the messages and the exit status.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/sched
cd "$here" || exit 1

for file in *.tensor; do
    name=${file%.tensor}
    capture "$TENSORC" -fsyntax-only -Wall --target=x86-64-v4 "$file"
    { cat "$work/err"; echo "exit status $status"; } >"$work/$name.text"
    golden "$here/$name.expected" "$work/$name.text" "$name"
done

done_testing
