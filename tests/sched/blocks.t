#!/bin/sh
# Which of several schedule blocks a function gets: by the name that a block is for, and then by its target.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# factor TARGETS: how the blocks of file.tensor unroll the loop j for these, one word a target; - where none does.
factor() {
    "$TENSORC" -O0 -c file.tensor --target="$1" -o file.o --explain-schedule >explained || echo failed
    sed -n 's/.*for j in.* unrolled by \([0-9]*\).*/\1/p; s/.*for j in 0:N  *#.*/-/p' explained | paste -sd' ' -
}

cat >file.tensor <<'END'
def v(int32(M, N) a) -> (b) { b(i, j) = a(i, j) + 1 }
export v as f
schedule v on arm { unroll(b.j, factor=4) }
schedule v on x86-64-v4 { unroll(b.j, factor=5) }
schedule f on x86 { unroll(b.j, factor=3) }
END
is "$(factor x86-64-v4)" 3 "the block for the export wins"
is "$(factor aarch64)" 4 "the block for the def holds where none is for the export"
is "$(factor x86-64-v4,aarch64)" "3 4" "each target has its own"

cat >file.tensor <<'END'
def f(int32(M, N) a) -> (b) { b(i, j) = a(i, j) + 1 }
schedule f on x86-64-v4 { unroll(b.j, factor=4) }
schedule f on x86 { unroll(b.j, factor=5) }
schedule f on x86-64-v2 { unroll(b.j, factor=2) }
schedule f on x86-64 { unroll(b.j, factor=6) }
END
is "$(factor x86-64) $(factor x86-64-v2) $(factor x86-64-v3) $(factor x86-64-v4)" "6 2 2 4" \
    "the highest level that the target includes"
is "$(factor haswell) $(factor znver4) $(factor znver4+avx512bf16)" "2 4 4" "processors include the level of their row"
is "$(factor aarch64)" - "another family has none"

sed 's/x86-64-v4/znver4/' file.tensor >named.tensor && mv named.tensor file.tensor
capture "$TENSORC" -fsyntax-only file.tensor
is "$(cat err)" "" "processors are targets by their names"
is "$(factor znver4) $(factor x86-64-v4)" "4 2" "and more specific than their levels"
done_testing
