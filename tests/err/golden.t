#!/bin/sh
# What the user reads when a file is wrong: each NAME.tensor here and, in NAME.expected, the messages and the exit
# status. A line `# options: ...` in the file replaces the usual options. Every row of diagnostics.def must occur
# somewhere.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/err
cd "$here" || exit 1

# The options of a file: its own, or those of a check with all warnings.
options_of() {
    own=$(sed -n 's/^# options: *//p' "$1" | head -n 1)
    echo "${own:--fsyntax-only -Wall}"
}

for file in *.tensor; do
    name=${file%.tensor}
    case $name in _*) continue ;; esac # what other files import
    # shellcheck disable=SC2046 # options are words
    capture "$TENSORC" $(options_of "$file") "$file"
    { cat "$work/err"; echo "exit status $status"; } >"$work/$name.text"
    golden "$here/$name.expected" "$work/$name.text" "$name"
    # shellcheck disable=SC2046
    "$TENSORC" $(options_of "$file") -fdiagnostics-format=json "$file" >/dev/null 2>>"$work/json" </dev/null
done
for file in ../sched/*.tensor; do
    "$TENSORC" -fsyntax-only --target=x86-64-v4 -fdiagnostics-format=json "$file" >/dev/null 2>>"$work/json" </dev/null
done

# What takes a long file. beyond LIMIT PATTERN WHERE: a file with more than it may have is refused with such a message.
beyond() {
    cat >"$work/long.tensor"
    exits 1 "$1" "$TENSORC" -fsyntax-only -fdiagnostics-format=json "$work/long.tensor"
    cat "$work/err" >>"$work/json"
    like "$(cat "$work/err")" "$2" "$3"
}
{
    echo 'def f('
    awk 'BEGIN { for (i = 0; i < 4096; i++) print "float(3) x" i "," }'
    echo 'float(3) y) -> (z) { z(i) = y(i) }'
} >"$work/arguments"
beyond "more arguments than a function may have" \
    "'f' has 4098 arguments, sizes included: a function has at most 4096" "with the limit" <"$work/arguments"
{
    printf 'def f(float(N) x) -> (y) { y(i) = x(i) }\nexport f\nschedule f on x86 {\n'
    awk 'BEGIN { for (i = 0; i < 100000; i++) print "parallel(y.i)" }'
    echo '}'
} >"$work/primitives"
beyond "more statements than a schedule may have" '"line": 20004,.*"a schedule has at most 20000 statements"' \
    "with the place and the limit" <"$work/primitives"

sed -n 's/^DIAGNOSTIC(\([a-z0-9_]*\),.*/\1/p' "$srcdir/lang/diagnostics.def" | sort -u >"$work/rows"
sed -n 's/.*"id": "\([a-z0-9_]*\)".*/\1/p' "$work/json" | sort -u >"$work/shown"
is "$(comm -23 "$work/rows" "$work/shown" | tr '\n' ' ')" "" "every diagnostic has a golden"

done_testing
