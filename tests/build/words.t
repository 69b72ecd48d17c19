#!/bin/sh
# The text of the sources: no line passes 120 columns, words that were replaced do not come back, and no name stands for
# two types.
. "${srcdir:-.}/tests/lib.sh"

have git && git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1 ||
    skip_all "no repository here that says which files are sources"

# texts ROOT FILES: the lines of the files that are written by hand, as FILE:LINE:TEXT.
texts() {
    while read -r file; do
        case $file in
        *.npy | tests/*.expected | tests/ir/*.ir | tests/sched/*.text) ;; # what programs wrote
        tests/unit/sema.cases | tests/fuzz/*/*) ;;                        # programs, one a line, or found by chance
        stdlib/OPERATORS.md) ;;                                          # made of the sources of the operators
        *) (cd "$1" && grep -anH '' "$file") ;;
        esac
    done <"$2"
}

# long ROOT FILES: where lines pass 120 columns; but those that cannot be broken, or that are read as columns.
long() {
    texts "$1" "$2" | awk '
        { place = $0; sub(/^[^:]*:[0-9]*:/, ""); file = place; sub(/:.*/, "", file) }
        length <= 120 { next }
        file ~ /\.md$/ && /^\|/ { next }                             # a row of a table
        file ~ /(^|\/)Makefile\.am$/ && /^[A-Za-z_]+ \+?= / { next } # the files of a folder
        file ~ /\.tensor$/ && !/^ *#/ { next }                       # a formula
        file ~ /^tests\/bench\/.*\.txt$/ && !/^#/ { next }           # a row of a table
        file == "tests/tune/reports.t" && /^  *(trial outcome|[0-9]+ (ok|crash) )/ { next } # a row of what is shown
        { print substr(place, 1, length(place) - length) substr($0, 1, 40) }'
}

# replaced ROOT FILES: where words stand in place of which there are better ones: expensive, depends on, at run time,
# transient or through, transposed or rotated or reflected, NaN.
replaced() {
    words="dear(er|est|ly)?|(hangs?|hung|hanging) on|of (run|compile) time|passing|turned|not a number"
    texts "$1" "$2" | grep -av '^tests/build/words\.t:' | grep -av 'not a number of ' |
        grep -aiE "^[^:]*:[0-9]*:(.*[^a-z])?($words)([^a-z]|$)"
}

# types ROOT FILES: the types that the compiler's sources define, as NAME FILE. `typedef struct A A;` defines none.
types() {
    grep -E '\.([chly]|def)$' "$2" | grep -vE '^(tests|examples)/' | (cd "$1" && xargs awk '
        FNR == 1 { open = 0 }
        { sub(/ *\/\*.*/, "") }
        /^ *(static |const )*(struct|enum|union) [A-Za-z0-9_]+ \{$/ { print $(NF - 1), FILENAME }
        open && /^ *\} [A-Za-z0-9_]+;/ { open = 0; sub(/;.*/, ""); print $2, FILENAME }
        /^ *typedef .*\{$/ { open = 1; next }
        /^ *typedef (struct|enum|union) [A-Za-z0-9_]+ [A-Za-z0-9_]+;/ && $3 ";" == $4 { next }
        /^ *typedef / {
            sub(/;.*/, "")
            if (match($0, /\(\*[A-Za-z0-9_]+\)/)) name = substr($0, RSTART + 2, RLENGTH - 3)
            else if (!/LIST\(/ && match($0, /[A-Za-z0-9_]+\(/)) name = substr($0, RSTART, RLENGTH - 1)
            else {
                sub(/\[.*/, "")
                match($0, /[A-Za-z0-9_]+$/)
                name = substr($0, RSTART, RLENGTH)
            }
            print name, FILENAME
        }')
}

# ambiguous ROOT FILES: the types that stand in two files, as NAME FILE FILE.
ambiguous() {
    types "$1" "$2" | sort -u | awk '$1 == name { print name, file, $2 } { name = $1; file = $2 }'
}

git -C "$srcdir" ls-files | while read -r file; do
    test ! -e "$srcdir/$file" || echo "$file"
done >"$work/files"
is "$(long "$srcdir" "$work/files")" "" "no line passes 120 columns"
is "$(replaced "$srcdir" "$work/files")" "" "no word is there that was replaced"
is "$(ambiguous "$srcdir" "$work/files")" "" "no name stands for two types"
[ "$(types "$srcdir" "$work/files" | grep -c .)" -gt 600 ]
report $? "types are found"

# The check itself sees what it looks for, and nothing else.
mkdir -p "$work/tree/lang" "$work/tree/stdlib"
cd "$work/tree" || exit 1
wide=$(printf '%0120d' 0)
printf '/*\n%s\n%s1\n' "$wide" "$wide" >lang/a.c
printf '| %s |\n%s1\n' "$wide" "$wide" >PAGE.md
printf 'x(i) = %s\n# %s\n' "$wide" "$wide" >stdlib/a.tensor
printf 'lib_SOURCES += %s\n\techo %s\n' "$wide" "$wide" >Makefile.am
printf 'A Dear one\nendear, deary\nit hangs on sizes\nof run-time sizes, at run time\nof run time\npassing\n' >lang/b.h
printf 'returned\na_turned\nnot a number\nnot a number of rows\n' >lang/c.h
printf '%s\n' lang/a.c PAGE.md stdlib/a.tensor Makefile.am lang/b.h lang/c.h >"$work/files"
is "$(long . "$work/files" | cut -d: -f1,2 | tr '\n' ' ')" 'lang/a.c:3 PAGE.md:2 stdlib/a.tensor:2 Makefile.am:2 ' \
    "a long line is seen, but where lines cannot be broken"
is "$(replaced . "$work/files" | cut -d: -f1,2 | tr '\n' ' ')" \
    'lang/b.h:1 lang/b.h:3 lang/b.h:5 lang/b.h:6 lang/c.h:2 lang/c.h:3 ' \
    "a word that was replaced is seen, but not in others"

mkdir -p "$work/tree/sema" "$work/tree/tests"
printf 'typedef struct Tag Tag;\ntypedef LIST(Tag *) Tags;\n' >lang/d.h
printf 'typedef struct Open {\n    int a;\n} Open; /* one */\n' >>lang/d.h
printf 'typedef enum Kind { A, B } Kind;\ntypedef int (*Call)(int a);\ntypedef Form Sum; /* one */\n' >lang/e.h
printf 'struct Tag {\n    int a;\n};\ntypedef bool Visit(const Tag *tag,\n                   int a);\n' >lang/f.c
printf 'typedef struct Tag Tag;\nstruct Tag *tag;\nstatic int Open;\n' >sema/a.c
for name in Tags Open Kind Call Sum Tag Visit; do
    printf 'typedef struct %s {\n    int a;\n} %s;\n' "$name" "$name" >"sema/$name.h"
    echo "sema/$name.h"
done >"$work/files"
cp sema/Open.h tests/a.c
printf '%s\n' lang/d.h lang/e.h lang/f.c sema/a.c tests/a.c >>"$work/files"
is "$(ambiguous . "$work/files")" "$(printf '%s\n' 'Call lang/e.h sema/Call.h' 'Kind lang/e.h sema/Kind.h' \
    'Open lang/d.h sema/Open.h' 'Sum lang/e.h sema/Sum.h' 'Tag lang/f.c sema/Tag.h' 'Tags lang/d.h sema/Tags.h' \
    'Visit lang/f.c sema/Visit.h')" "a name of two types is seen, but not a type that is announced or a test's"
grep -v '^sema/[A-Z]' "$work/files" >"$work/single"
is "$(ambiguous . "$work/single")" "" "types of one file each are not"

done_testing
