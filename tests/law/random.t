#!/bin/sh
# Random programs, compiled and run at every -O, and under random schedules: their objects compute what the interpreter
# says. RANDOM_RUNS asks for another number of them, RANDOM_FIRST for other ones.
. "${srcdir:-.}/tests/lib.sh"

# generate "SEED [SCHEDULES]" FILE: an empty program would compile, and say nothing.
generate() {
    # shellcheck disable=SC2086
    "$builddir/tests/unit/random_programs" $1 >"$2" && [ -s "$2" ]
}

x86=$(uname -m | sed -n 's/x86_64/yes/p') # the schedules are made for it
first=${RANDOM_FIRST:-1}
last=$((first + ${RANDOM_RUNS:-8} - 1))
for seed in $(seq "$first" "$last"); do
    ok "random program $seed is made" generate "$seed" "$work/$seed.tensor"
    for level in 0 1 2; do
        runs "random program $seed at -O$level" "$TENSORC" -run -O$level -w "$work/$seed.tensor"
    done
    runs "random program $seed, strict: the same bits" "$TENSORC" -run -O2 -fstrict -w "$work/$seed.tensor"
    [ "$x86" ] || continue
    ok "random program $seed with random schedules is made" generate "$seed 8" "$work/$seed.scheduled.tensor"
    runs "random program $seed under a random schedule" "$TENSORC" -run -O0 -w "$work/$seed.scheduled.tensor"
done
done_testing
