#!/bin/sh
# Every refusal of a primitive has a golden: each format that lower/nest/*.c refuses with occurs in a NAME.expected
# here, or, where no source text leads to it, as a text that a unit test wants.
. "${srcdir:-.}/tests/lib.sh"

# The formats of all calls refuse(state, FORMAT, ...), refuse_at(state, x, FORMAT, ...) and so on, one a line.
formats() {
    cat "$srcdir"/lower/nest/*.c | awk '
    { text = text $0 "\n" }
    END {
        while (match(text, /refuse(_at|_loop|_stage)?\(/)) {
            plain = substr(text, RSTART, RLENGTH) == "refuse("
            text = substr(text, RSTART + RLENGTH)
            argument = 1; depth = 1; format = ""; joined = 0
            for (i = 1; depth > 0 && i <= length(text); i++) {
                c = substr(text, i, 1)
                if (c == "\"") {
                    word = ""
                    for (i++; (c = substr(text, i, 1)) != "\""; i++) {
                        if (c == "\\") { i++; c = c substr(text, i, 1) }
                        word = word c
                    }
                    if (argument == (plain ? 2 : 3)) { format = joined ? format word : word; joined = 1 }
                    continue
                }
                if (c ~ /[ \t\n]/) continue
                if (joined && format != "") print format
                joined = 0; format = ""
                if (c == "(" || c == "[" || c == "{") depth++
                if (c == ")" || c == "]" || c == "}") depth--
                if (c == "," && depth == 1) argument++
            }
        }
    }' | grep -v '^%s$' | sort -u
}

# Texts that tests want: messages of the goldens, and strings of unit tests, broken ones joined.
wanted() {
    sed -n 's/^[^ ]*: error: //p' "$srcdir"/tests/sched/*.expected
    for file in nest devices; do
        awk '{ text = text $0 } END { gsub(/"[ \t]*"/, "", text); n = split(text, parts, "\"");
            for (i = 2; i <= n; i += 2) print parts[i] }' \
            "$srcdir/tests/unit/$file.c"
    done
}

formats >"$work/formats"
wanted >"$work/wanted"
[ "$(wc -l <"$work/formats")" -gt 80 ]
report $? "the formats are found"
sed -e 's/\\"/"/g' -e 's/[][\\.*^$()+?{}|]/\\&/g' -e 's/%\(lld\|d\)/-?[0-9]+/g' -e 's/%s/.*/g' -e 's/%%/%/g' \
    "$work/formats" >"$work/patterns"
paste -d '\n' "$work/patterns" "$work/formats" | while read -r pattern; do
    read -r format
    grep -Eq -e "^$pattern\$" "$work/wanted" || printf '%s\n' "$format"
done >"$work/missing"
is "$(cat "$work/missing")" "" "every refusal has a golden"

done_testing
