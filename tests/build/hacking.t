#!/bin/sh
# HACKING.md against the tree: each file and folder that it names is there, and each folder of the compiler is named.
. "${srcdir:-.}/tests/lib.sh"

# named FILE: the paths in it, between backquotes or as targets of links.
named() {
    { grep -oE '`[^`]+`' "$1" | tr -d '`'; grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//; s/#.*//'; } |
        grep -E '^[a-z]+/[A-Za-z0-9_./-]*$|^[A-Z]+(\.md)?$|^[a-z_]+\.(am|ac|c|h)$' | sort -u
}

# missing FILE ROOT: the paths of the file that are not below ROOT. A file without a folder is one of the tree's.
missing() {
    named "$1" | while read -r path; do
        case $path in
        */* | *.md) [ -e "$2/$path" ] || echo "$path" ;;
        NEWS | LICENSE) [ -e "$2/$path" ] || echo "$path" ;;
        *.[ch]) [ -n "$(find "$2" -name "$path" -print -quit)" ] || echo "$path" ;;
        esac
    done
}

is "$(missing "$srcdir/HACKING.md" "$srcdir")" "" "each file that HACKING.md names is there"
for folder in lang parser sema lower/nest lower/kernel autosched/space autosched/model autosched/records \
    autosched/search \
    backends/emit backends/llvm backends/run driver; do
    grep -q "$folder/\|\`${folder#*/}\`" "$srcdir/HACKING.md" || echo "$folder"
done >"$work/unnamed"
is "$(cat "$work/unnamed")" "" "each folder of the compiler has a place in it"
for table in $(cd "$srcdir" && find lang driver autosched lower backends -name '*.def'); do
    grep -q "$table" "$srcdir/HACKING.md" || echo "$table"
done >"$work/unnamed"
is "$(cat "$work/unnamed")" "" "each table has a place in it"

# The check itself sees what it looks for.
printf 'See `lang/nowhere.c`, `lang/expr.h`, [x](GONE.md#y) and `nothing.c`;
`make check` and `Kernel` are no files.\n' \
    >"$work/page.md"
is "$(missing "$work/page.md" "$srcdir")" "GONE.md
lang/nowhere.c
nothing.c" "a file that is not there is seen"

done_testing
