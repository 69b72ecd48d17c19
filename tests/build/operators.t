#!/bin/sh
# The list of the library's operators, stdlib/OPERATORS.md: what stdlib/document.sh makes of the sources, with every
# def, combiner and instr that the parser finds in them, each with a comment. ACCEPT=1 writes it anew. Also that
# copies of the sources compile.
. "${srcdir:-.}/tests/lib.sh"
cd "$srcdir/stdlib" || exit 1
document=$srcdir/stdlib/OPERATORS.md

# The operators that a text has, by kind and name; the parser's has another order.
headers() { sed -En 's/^(def|combiner|instr) ([A-Za-z0-9_]+).*/\1 \2/p' "$@" | sort; }

runs "every operator has a comment" sh document.sh nn.tensor nn_images.tensor nn_attention.tensor \
    nn_quantized.tensor winograd.tensor instr.tensor
if [ -n "$ACCEPT" ]; then cp "$work/out" "$document"; fi
cmp "$work/out" "$document"
report $? "OPERATORS.md is what the sources say (ACCEPT=1 make check CHECKS=.../tests/build/operators.t writes it)" ||
    diff "$document" "$work/out" | sed 's/^/# /' | head -n 20 >&2

for file in *.tensor; do
    "$TENSORC" -fsyntax-only -d p "$file" 2>&1 | headers >"$work/parsed"
    [ -s "$work/parsed" ]
    report $? "$file has operators"
    awk -v file="## $file" '/^## / { wanted = $0 == file } wanted' "$document" | headers >"$work/listed"
    is "$(cat "$work/listed")" "$(cat "$work/parsed")" "all operators of $file are listed, each once"
done

# A copy of the sources is what is embedded.
echo 'import "nn"  export lstm(T=3, B=2, I=5, H=4)' >"$work/copied.tensor"
runs "what is embedded compiles" "$TENSORC" -O1 -c "$work/copied.tensor" -o "$work/embedded.o"
runs "a copy of it, too" "$TENSORC" -O1 -c "$work/copied.tensor" -I "$srcdir/stdlib" -o "$work/copied.o"
cmp "$work/embedded.o" "$work/copied.o"
report $? "to the same code"

cat >"$work/bare.tensor" <<'END'
# bare.tensor - a library of two.

# --- section -----------
# What the section says.

# Twice x, `2*x`, or 2*x.
def twice(float(N) x)
    -> (y) { y(i) = 2 * x(i) }
def thrice(float(N) x) -> (y) { y(i) = 3 * x(i) }
END
exits 1 "an operator without a comment is refused" sh document.sh "$work/bare.tensor"
is "$(cat "$work/err")" "$work/bare.tensor:9: def thrice has no comment" "it is named with its place"
like "$(cat "$work/out")" '^Twice x, `2\*x`, or 2\\\*x\.$' \
    "a star is no emphasis, and is as it stands between backquotes"
like "$(cat "$work/out")" '^    -> \(y\)$' "a header may have several lines"
like "$(cat "$work/out")" '^What the section says\.$' "a section says what holds for its operators"

done_testing
