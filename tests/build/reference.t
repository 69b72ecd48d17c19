#!/bin/sh
# lang/REFERENCE.md names each operator and function of lang/ops.def and each primitive of lang/prims.def, and so do the
# words that fuzzers put into texts for primitives and their named arguments.
. "${srcdir:-.}/tests/lib.sh"
reference=$srcdir/lang/REFERENCE.md

# column NUMBER FILE ROW...: that column of such rows, without quotes.
column() {
    number=$1 file=$2
    shift 2
    for row; do sed -n "s/^$row(\(.*\)/\1/p" "$file"; done | awk -F', ' \
        "{ gsub(/\"/, \"\", \$$number); print \$$number }"
}

# Rows of tables have no other bars, and a choice has places for its operands.
tables() { sed -n 's/\\|/|/g; s/`c ? a : b`/`?:`/; /^|/p' "$reference"; }

column 2 "$srcdir/lang/ops.def" OPERATOR COMPARISON FUNCTION | sort -u >"$work/operators"
column 2 "$srcdir/lang/prims.def" PRIMITIVE | sort -u >"$work/primitives"
tables >"$work/tables"
for list in operators primitives; do
    [ "$(wc -l <"$work/$list")" -gt 20 ]
    report $? "$list are read"
done

while read -r spelling; do
    grep -qF -- "\`$spelling\`" "$work/tables" || echo "$spelling"
done <"$work/operators" >"$work/missing"
is "$(cat "$work/missing")" "" "a table has each operator and function"

while read -r primitive; do
    grep -q "[\` ]$primitive(" "$work/tables" || echo "$primitive"
done <"$work/primitives" >"$work/missing"
is "$(cat "$work/missing")" "" "a table has each primitive"

# Named arguments stand in prims.def behind a blank.
{
    cat "$work/primitives"
    column 3 "$srcdir/lang/prims.def" PRIMITIVE | sed -n 's/^[^ ]* //p' | tr ' ' '\n' | sed 's/$/=/'
} | while read -r word; do
    grep -qxF "\"$word\"" "$srcdir/tests/fuzz/tensor.dict" || echo "$word"
done | sort -u >"$work/missing"
is "$(cat "$work/missing")" "" "the words of fuzzers have each primitive and its named arguments"

column 2 "$srcdir/lang/predicates.def" PREDICATE | while read -r predicate; do
    grep -qE "\`$predicate(\[0\])?\`" "$work/tables" || echo "$predicate"
done >"$work/missing"
is "$(cat "$work/missing")" "" "a table has each condition of rules"

done_testing
