#!/bin/sh
# Data flows one way through the folders: each includes headers of itself and of folders to its left only.
. "${srcdir:-.}/tests/lib.sh"

order="stdlib lang parser sema lower autosched backends driver"

# against FOLDER-LIST ROOT: each include of a folder to the right, as FILE:LINE: INCLUDE.
against() {
    left=
    for folder in $order; do
        left="$left $folder"
        find "$1/$folder" -type f \( -name '*.[chly]' -o -name '*.def' \) | sort | while read -r file; do
            awk -v left="$left" -v all="$order" -v file="${file#"$1"/}" '
                BEGIN { split(left, l, " "); for (i in l) may[l[i]] = 1; split(all, a, " "); for (i in a) folder[a[i]] = 1 }
                /^ *# *include *"/ {
                    split($0, quoted, "\""); split(quoted[2], path, "/")
                    if (quoted[2] !~ /\// || !(path[1] in folder) || !(path[1] in may)) print file ":" NR ": " quoted[2]
                }' "$file"
        done
    done
}

is "$(against "$srcdir" | grep -v '"config.h"' | grep -v ': config.h$')" "" "no include points to the right"

# The check itself sees what it looks for.
for folder in $order; do mkdir -p "$work/tree/$folder"; done
printf '#include "lang/a.h"\n#include "driver/main.h"\n' >"$work/tree/sema/x.c"
printf '  #  include "backends/code.h"\n#include <stdio.h>\n' >"$work/tree/lower/y.h"
printf '#include "a.h"\n' >"$work/tree/lang/z.c"
is "$(against "$work/tree")" "lang/z.c:1: a.h
sema/x.c:2: driver/main.h
lower/y.h:1: backends/code.h" "an include that points to the right, or names no folder, is seen"

done_testing
