#!/bin/sh
# The same application for 64-bit ARM: cross-compiled, linked by the cross compiler, run by qemu.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1
cross=aarch64-linux-gnu-gcc

for level in -O0 -O2; do
    runs "tensorc --target=aarch64 $level" \
        "$TENSORC" -c $level --target=aarch64 "$here/objects.tensor" -o objects.o --header objects.h
    like "$(readelf -h objects.o)" 'Machine: *AArch64' "an object for 64-bit ARM"
    if ! have $cross; then skip "no $cross here" 2; continue; fi
    runs "links at $level" $cross -static -std=c11 -Wall -Wextra -Werror -I. -I"$srcdir" "$here/objects.c" objects.o \
        -o application -fopenmp -lm
    if ! have qemu-aarch64; then skip "no qemu-aarch64 here"; continue; fi
    OMP_NUM_THREADS=2
    export OMP_NUM_THREADS
    runs "runs at $level" qemu-aarch64 ./application || diag_file "$work/out" 200
done

# --- where temporaries live
wrap="-Wl,--wrap=aligned_alloc -Wl,--wrap=free"
runs "functions with temporaries" "$TENSORC" -c -O2 -w --threads=1 --target=aarch64 "$here/workspace.tensor" \
    -o workspace.o --header workspace.h
if have $cross && have qemu-aarch64; then
    # shellcheck disable=SC2086 # words
    runs "link" $cross -static -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. "$here/workspace.c" workspace.o \
        -o workspace $wrap -pthread -lm
    for mode in in address refused threads sizes; do
        runs "temporaries: $mode" qemu-aarch64 ./workspace $mode || diag_file "$work/out"
    done
else
    skip "no $cross or qemu-aarch64 here" 6
fi

# --- objects for several processors: make knows what each is made from
echo 'def twice(float(N) A) -> (B) { B(i) = 2 * A(i) }' >one.tensor
echo 'import "one"   def more(float(N) A) -> (B) { B = twice(twice(A)) }' >'two a.tensor'
runs "two targets" "$TENSORC" -c --target=x86-64-v3,aarch64 'two a.tensor' -o 'q r.o' -MD -MP
is "$(sed '/^$/,$d' 'q r.d' | tr -d '\\\n' | tr -s ' ')" 'q r.o q r.aarch64.o: two a.tensor one.tensor' \
    "a rule for both objects"
like "$(cat 'q r.d')" '^q\\ r\.o q\\ r\.aarch64\.o: ' "by names as make reads them"
runs "and a name for the rule" "$TENSORC" -c --target=x86-64-v3,aarch64 one.tensor -o q.o -MD -MF q.d -MT 'all of them'
is "$(head -1 q.d)" 'all of them: one.tensor' "takes the place of both, as for cc"
done_testing
