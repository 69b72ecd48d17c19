#!/bin/sh
# rounds.t - rows that go round, or stop at bounds, in run-time sizes: their lanes are read as rows under masks.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for options in -O0 -O1 -O2 "-O2 --threads=1" "-O2 --target=x86-64-v3" "-O2 --target=x86-64"; do
    target=${options#*--target=}
    if [ "$target" != "$options" ] && ! runs_here "$target"; then
        skip "this machine does not run $target" 3
        continue
    fi
    # shellcheck disable=SC2086
    runs "compiles with $options" "$TENSORC" -w $options -c "$here/rounds.tensor" -o rounds.o --header rounds.h
    ok "links" $CC -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -I. "$here/rounds.c" rounds.o -o application -lm \
        -lpthread
    runs "runs" ./application || diag_file out
done

# masks FUNCTION LENGTH: how the loop IR reads the row: "mask", where no lane is fetched by its own index
masks() {
    printf '%s\nexport f%s\n' "$1" "$2" >row.tensor
    "$TENSORC" -w -O2 --threads=1 --target=x86-64-v4 -emit-ir row.tensor -o row.ir
    grep -q 'x(ramp(.* where ' row.ir && ! grep -q '% broadcast(' row.ir
}
roll='def f(float(N, M) x) -> (y) { y(i, j) = x(i, (j + 37) % M) where i in 0:N, j in 0:M }'
ok "rows of run-time sizes that go round are rows under masks" masks "$roll" ""
ok "so are those of known sizes" masks "$roll" "(N=30, M=250)"
edge='def f(float(N, M) x) -> (y) { y(i, j) = (x(i, j + 1) else edge) where i in 0:N, j in 0:M }'
ok "and rows that stop at bounds" masks "$edge" ""
reflect='def f(float(N, M) x) -> (y) { y(i, j) = (x(i, j + 2) else reflect) where i in 0:N, j in 0:M }'
ok "and rows that turn back" masks "$reflect" ""
# Functions whose masked loads may have no lanes touch what these read in that case: else each takes very long.
printf '%s\nexport f\n' "$roll" >row.tensor
"$TENSORC" -w -O2 --threads=1 --target=x86-64-v4 -emit-llvm row.tensor -o row.ll
ok "zeros that masked loads may read are touched" grep -q 'load volatile i64, ptr @tensorc.zero' row.ll

done_testing
