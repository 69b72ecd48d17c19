#!/bin/sh
# What is said of schedules: each NAME.tensor here and, in NAME.expected, the messages and the exit status.
# A line `# options: ...` in the file adds to the options.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/sched
cd "$here" || exit 1

for file in *.tensor; do
    name=${file%.tensor}
    # shellcheck disable=SC2046 # options are words
    capture "$TENSORC" -fsyntax-only -Wall --target=x86-64-v4 $(sed -n 's/^# options: *//p' "$file") "$file"
    { cat "$work/err"; echo "exit status $status"; } >"$work/$name.text"
    golden "$here/$name.expected" "$work/$name.text" "$name"
done

done_testing
