#!/bin/sh
# Data flows one way through the folders: each file includes headers of its own folder, of folders to the left of it,
# and the doors of folders inside of its own. What stands in a folder of a folder is private to that, but for its door:
# the header that has its name.
. "${srcdir:-.}/tests/lib.sh"

order="stdlib lang parser sema lower/instr lower/nest lower/kernel lower/kernel/passes autosched/space
    autosched/space/tile autosched/space/block autosched/model autosched/records autosched/search
    autosched backends/emit backends/run backends/runtime backends/llvm backends/llvm/functions backends
    driver driver/import driver/import/nodes"

# against ROOT: each include of a folder to the right, or past the door of one, as FILE:LINE: INCLUDE.
against() {
    (cd "$1" && find stdlib lang parser sema lower autosched backends driver -type f \
        \( -name '*.[chly]' -o -name '*.def' \)) | sort | while read -r file; do
        awk -v all="$order" -v file="$file" '
            function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
            function name_of(path) { sub(/.*\//, "", path); return path }
            function may_use(path,    to) {
                to = folder_of(path)
                if (path !~ /\// || !(to in place)) return 0
                if (to == own) return 1
                if (place[to] > place[own] && index(to, own "/") != 1) return 0
                return to !~ /\// || index(own, to "/") == 1 || name_of(path) == name_of(to) ".h"
            }
            BEGIN { own = folder_of(file); count = split(all, a, /[ \n]+/);
                for (i = 1; i <= count; i++) place[a[i]] = i }
            /^ *# *include *"/ { split($0, quoted, "\""); if (!may_use(quoted[2])) print file ":" NR ": " quoted[2] }' \
                "$1/$file"
    done
}

is "$(against "$srcdir" | grep -v ': config.h$')" "" "no include points to the right, or past a door"
for folder in $(cd "$srcdir" && find lower autosched backends -name '*.c' | sed 's,/[^/]*$,,' | sort -u); do
    case " $(echo $order) " in *" $folder "*) ;; *) echo "$folder" ;; esac
done >"$work/unknown"
is "$(cat "$work/unknown")" "" "all folders have a place in the order"

# The check itself sees what it looks for.
for folder in $order; do mkdir -p "$work/tree/$folder"; done
printf '#include "lang/a.h"\n#include "driver/main.h"\n' >"$work/tree/sema/x.c"
printf '  #  include "backends/code.h"\n#include <stdio.h>\n' >"$work/tree/lower/nest/y.h"
printf '#include "a.h"\n' >"$work/tree/lang/z.c"
printf '#include "lower/nest/nest.h"\n#include "lower/nest/state.h"\n#include "lower/kernel/statements.h"\n' \
    >"$work/tree/lower/kernel/k.c"
printf '#include "autosched/search/search.h"\n#include "autosched/autosched.h"\n' >"$work/tree/autosched/space/s.c"
printf '#include "autosched/space/space.h"\n#include "autosched/space/groups.h"\n' >"$work/tree/autosched/autosched.h"
printf '#include "backends/llvm/code.h"\n' >"$work/tree/backends/llvm/functions/f.c"
printf '#include "backends/llvm/functions/functions.h"\n#include "backends/llvm/functions/f.h"\n' \
    >"$work/tree/backends/llvm/math.c"
printf '#include "backends/llvm/llvm.h"\n' >"$work/tree/backends/run/builders.c"
is "$(against "$work/tree")" "autosched/autosched.h:2: autosched/space/groups.h
autosched/space/s.c:1: autosched/search/search.h
autosched/space/s.c:2: autosched/autosched.h
backends/llvm/math.c:2: backends/llvm/functions/f.h
backends/run/builders.c:1: backends/llvm/llvm.h
lang/z.c:1: a.h
lower/kernel/k.c:2: lower/nest/state.h
lower/nest/y.h:1: backends/code.h
sema/x.c:2: driver/main.h" "an include that points to the right, past a door, or names no folder, is seen"

done_testing
