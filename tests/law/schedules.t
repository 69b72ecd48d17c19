#!/bin/sh
# The law of schedules: whatever a schedule does, the result is the interpreter's, at every size. Each NAME.tensor here
# holds a def, sizes (`# sizes: M=0,1,17 N=5`: all combinations, of which every one is exported) and variants, each a
# schedule after a line `# variant NAME`; the file of a variant is what stands before the first variant, the exports,
# and its own lines.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/law
cd "$work" || exit 1

# exports FILE: an export for each combination of the sizes.
exports() {
    awk '
        function combine(i, bindings,   n, v, values) {
            if (i > count) { printf "export %s(%s) as law_%d\n", def, substr(bindings, 3), ++made; return }
            n = split(list[i], values, ",")
            for (v = 1; v <= n; v++) combine(i + 1, bindings ", " name[i] "=" values[v])
        }
        /^def / { def = $2; sub(/[^A-Za-z0-9_].*/, "", def) }
        /^# sizes:/ {
            count = 0
            for (f = 3; f <= NF; f++) { split($f, part, "="); name[++count] = part[1]; list[count] = part[2] }
            pending[++lines] = 1
            for (i = 1; i <= count; i++) { saved_name[lines, i] = name[i]; saved_list[lines, i] = list[i] }
            saved_count[lines] = count
        }
        /^# variant / { exit }
        END {
            for (l = 1; l <= lines; l++) {
                count = saved_count[l]
                for (i = 1; i <= count; i++) { name[i] = saved_name[l, i]; list[i] = saved_list[l, i] }
                combine(1, "")
            }
        }' "$1"
}

for file in "$here"/*.tensor; do
    name=$(basename "$file" .tensor)
    for variant in $(sed -n 's/^# variant \([a-z0-9_]*\).*/\1/p' "$file"); do
        {
            sed '/^# variant /,$d' "$file"
            exports "$file"
            awk -v wanted="$variant" '/^# variant / { on = $3 == wanted; next } on' "$file"
        } >"$name-$variant.tensor"
        runs "$name, $variant" "$TENSORC" -run --threads=2 "$name-$variant.tensor"
    done
done

done_testing
