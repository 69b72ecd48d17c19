#!/bin/sh
# HACKING.md against the tree: each file and folder that it names is there, and each folder of the compiler and of the
# tests is named. So are the files that comments name. Letters of passes are those of one pass each.
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
# folders ROOT: those that have sources. stdlib has more than one language's.
folders() {
    (cd "$1" && find stdlib lang parser sema lower autosched backends driver -name '*.c') | sed 's,/[^/]*$,,' | sort -u
    (cd "$1" && find tests -mindepth 1 -type f -name '*.[ct]') | sed -n 's,^\(tests/[^/]*\)/.*,\1,p' | sort -u
}

# unnamed FILE FOLDER...: the folders that the file does not name. Those of autosched it names without that one.
unnamed() {
    unnamed_file=$1; shift
    for folder; do
        grep -q "\`$folder[/\`]\|\`${folder#autosched/}\`" "$unnamed_file" || echo "$folder"
    done
}

folders "$srcdir" >"$work/folders"
[ "$(grep -c . "$work/folders")" -ge 25 ]
report $? "folders are found"
# shellcheck disable=SC2046
is "$(unnamed "$srcdir/HACKING.md" $(cat "$work/folders"))" "" \
    "each folder of the compiler and its tests has a place in it"
for table in $(cd "$srcdir" && find lang driver autosched lower backends -name '*.def'); do
    grep -q "$table" "$srcdir/HACKING.md" || echo "$table"
done >"$work/unnamed"
is "$(cat "$work/unnamed")" "" "each table has a place in it"

# comments ROOT FILE...: paths of files in the comments of C and LLVM IR, as FILE:LINE: PATH. Those in capital letters
# stand for others.
comments() {
    (cd "$1" && shift && awk '
        FNR == 1 { inside = 0 }
        {
            text = ""
            if (FILENAME ~ /\.ll$/) {
                if ((at = index($0, ";"))) text = substr($0, at + 1)
            } else for (rest = $0; rest != "";) {
                if (inside) {
                    at = index(rest, "*/")
                    text = text " " (at ? substr(rest, 1, at - 1) : rest)
                    rest = at ? substr(rest, at + 2) : ""
                    inside = !at
                } else if (match(rest, /"([^"\\]|\\.)*"|\/\*/)) {
                    inside = substr(rest, RSTART, 2) == "/*"
                    rest = substr(rest, RSTART + RLENGTH)
                } else
                    rest = ""
            }
            for (; match(text, /"[^"]*"|[A-Za-z0-9_.\/-]+/); text = substr(text, RSTART + RLENGTH)) {
                word = substr(text, RSTART, RLENGTH)
                sub(/\.$/, "", word)
                if (word ~ /^[a-z0-9_\/]*[a-z0-9_]\.(c|h|def|ll|y|l)$/) print FILENAME ":" FNR ": " word
            }
        }' "$@")
}

# astray ROOT FILE...: those that are no files of the tree, nor the ends of their paths, nor made by its build.
astray() {
    comments "$@" >"$work/comments"
    { (cd "$1" && shift && printf '%s\n' "$@"); printf '%s\n' parser/gram.c parser/gram.h parser/lex.c parser/lex.h; } |
        awk 'NR == FNR { for (path = $0; !(path in known); sub(/^[^\/]*\//, "", path)) known[path]; next }
            !($2 in known)' - "$work/comments"
}

if have git && git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$srcdir" ls-files '*.[chly]' '*.def' '*.ll' | (cd "$srcdir" && while read -r file; do
        test ! -e "$file" || echo "$file"
    done) >"$work/sources"
    # shellcheck disable=SC2046
    is "$(astray "$srcdir" $(cat "$work/sources"))" "" "each file that a comment names is there"
    [ "$(grep -c . "$work/comments")" -gt 500 ]
    report $? "comments are read"
fi

"$TENSORC" -d help | awk '{ print $1 }' | sort | uniq -d >"$work/twice"
is "$(cat "$work/twice")" "" "no two passes have one letter"

# The check itself sees what it looks for.
mkdir -p "$work/tree/lang" "$work/tree/sema" "$work/tree/lower/nest" "$work/tree/tests/odd"
touch "$work/tree/lower/nest/form.c" "$work/tree/sema/check.h" "$work/tree/tests/odd/z.t"
printf '%s\n' '/* a.c - see gone.c, nest/form.c, form.c,' \
    ' * lower/form.c (sema/check.h). */ char *x = "lost.c /* "; y.c' \
    '#include "nothing.h" /* NAME.c, "a-b.h", parser/gram.h, stray.def. */' >"$work/tree/lang/a.c"
printf '; of threads.ll\n' >"$work/tree/lang/b.ll"
is "$(astray "$work/tree" lang/a.c lang/b.ll lower/nest/form.c sema/check.h | tr '\n' ' ')" \
    'lang/a.c:1: gone.c lang/a.c:2: lower/form.c lang/a.c:3: stray.def lang/b.ll:1: threads.ll ' \
    "a comment that names a file that is not there is seen"
mkdir "$work/tree/parser" "$work/tree/autosched" "$work/tree/backends" "$work/tree/driver" "$work/tree/stdlib"
is "$(folders "$work/tree" | tr '\n' ' ')" 'lang lower/nest tests/odd ' "folders are those with sources"
printf 'In `lang/a.c` and `space`, but not in sema/check.c.\n' >"$work/page.md"
is "$(unnamed "$work/page.md" lang sema autosched/space tests/odd | tr '\n' ' ')" 'sema tests/odd ' \
    "a folder that is not named is seen"
printf 'See `lang/nowhere.c`, `lang/expr.h`, [x](GONE.md#y) and `nothing.c`;
`make check` and `Kernel` are no files.\n' \
    >"$work/page.md"
is "$(missing "$work/page.md" "$srcdir")" "GONE.md
lang/nowhere.c
nothing.c" "a file that is not there is seen"

done_testing
