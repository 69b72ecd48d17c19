#!/bin/sh
# What a processor is and can do stands in columns of lang/*.def: no code asks for the name of one, or of a family.
. "${srcdir:-.}/tests/lib.sh"

# names_in ROOT: comparisons of a name of a family, a processor or a triple with a text, as FILE:LINE.
names_in() {
    (cd "$1" && grep -rnE '(family|cpu|triple|architecture|machine)(->name)?(\[[0-9]\] *[!=]=|, *"[a-z])' \
        --include='*.[ch]' lang lower autosched backends driver |
        grep -E 'str[n]?cmp|\[[0-9]\] *[!=]=' | sed 's/^\([^:]*:[0-9]*\):.*/\1/' | sort)
}

is "$(names_in "$srcdir")" "" "no code asks for the name of a processor or a family"
is "$(cd "$srcdir" && grep -lE 'family.*"(x86|arm)"|"(x86|arm)".*family' -r --include='*.[ch]' lower autosched \
    backends driver)" "" \
    "no code passes the name of a family on"

# processors_in ROOT: texts that are the name of a processor, as FILE:LINE; but comments, and names that other tools
# use.
processors_in() {
    sed -n 's/^PROCESSOR(\("[^"]*"\),.*/\1/p' "$srcdir/lang/processors.def" >"$work/processors"
    (cd "$1" && grep -rnFf "$work/processors" --include='*.[ch]' lang lower autosched backends driver |
        grep -vE '^lang/foreign.c:|:[0-9]+: *(/\*|\*|//)' | sed 's/^\([^:]*:[0-9]*\):.*/\1/' | sort)
}
is "$(processors_in "$srcdir")" "" "no code names a processor"

# Each processor and target names a row of machines.def that stands there, and each row is named.
sed -n 's/^MACHINE(\([a-z0-9_]*\),.*/\1/p' "$srcdir/lang/machines.def" | sort >"$work/rows"
{ sed -n 's/^PROCESSOR("[^"]*", "[^"]*", \([a-z0-9_]*\),.*/\1/p' "$srcdir/lang/processors.def"
  tr '\n' ' ' <"$srcdir/lang/targets.def" | sed 's/TARGET(/\n&/g' |
      sed -n 's/^TARGET(.*", \([a-z0-9_]*\), *".*/\1/p'; } | sort -u >"$work/named"
is "$(cat "$work/named")" "$(cat "$work/rows")" \
    "all rows of machines.def are named by targets and processors, and no others"

# The check itself sees what it looks for.
for folder in lang lower autosched backends driver; do mkdir -p "$work/tree/$folder"; done
printf 'a = strcmp(target->family->name, "x86") == 0;\nb = target->family[0] == y;\n' >"$work/tree/lower/x.c"
printf 'a = strncmp(target->triple, "aarch64", 7);\nb = target->family == other->family;\n' >"$work/tree/backends/y.c"
printf 'static const char *const older[] = {"tigerlake"};\n' >"$work/tree/backends/z.c"
is "$(processors_in "$work/tree")" "backends/z.c:1" "a processor is seen"
is "$(names_in "$work/tree")" "backends/y.c:1
lower/x.c:1
lower/x.c:2" "a question for a name is seen"

done_testing
