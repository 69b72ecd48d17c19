#!/bin/sh
# The examples of the language reference: `tensor` ones compile, `tensor run` ones also compute what the interpreter
# does, `tensor error` ones are refused with a message and status 1, `tensor TARGET` ones compile for that target. The
# examples of the README compile too.
. "${srcdir:-.}/tests/lib.sh"

# extract FILE PREFIX: writes each example to PREFIX-LINE.tensor and prints "kind PREFIX-LINE.tensor".
extract() {
    awk -v prefix="$work/$2" '
        /^```tensor/ { kind = $2 ? $2 : "check"; file = prefix "-" NR ".tensor";
            printf "" > file; print kind, file; next }
        /^```/ { if (file) close(file); file = ""; next }
        file { print > file }' "$1"
}

{
    extract "$srcdir/lang/REFERENCE.md" reference
    extract "$srcdir/README.md" readme
} >"$work/list"
[ "$(grep -c . "$work/list")" -ge 20 ]
report $? "the examples are found"

while read -r kind file; do
    name=$(basename "$file" .tensor)
    case $kind in
        check) runs "$name compiles" "$TENSORC" -c "$file" -o "$work/example.o" ;;
        run) runs "$name runs as interpreted" "$TENSORC" -run "$file" ;;
        error)
            exits 1 "$name is refused" "$TENSORC" -c "$file" -o "$work/example.o"
            like "$(cat "$work/err")" "^$file:[0-9]+:[0-9]+: error: " "$name: the message has a place"
            ;;
        *) runs "$name compiles for $kind" "$TENSORC" --target="$kind" -c "$file" -o "$work/example.o" ;;
    esac
    [ "$kind" = error ] || "$TENSORC" -fsyntax-only -Wall "$file" 2>>"$work/warnings"
done <"$work/list"
is "$(grep 'warning: ' "$work/warnings" | grep -v 'this statement has no effect$')" "" \
    "no example is warned of what it computes"

done_testing
