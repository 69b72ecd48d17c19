#!/bin/sh
# Random programs under random schedules mean what the interpreter says; and the fuzzer sees what is wrong, and makes it
# small. FUZZ_CASES asks for another number of cases, FUZZ_SEED for other ones.
. "${srcdir:-.}/tests/lib.sh"
fuzz=$builddir/tests/fuzz/fuzz
first=${FUZZ_SEED:-1}

for seed in $first $((first + 1)); do
    runs "${FUZZ_CASES:-350} cases of seed $seed" "$fuzz" --cases="${FUZZ_CASES:-350}" --seed="$seed" \
        --found="$work/found"
    [ "$status" -eq 0 ] || diag_file "$work/out" 200
done
like "$(cat "$work/out")" 'mismatch 0, memory 0, .* crash 0, timeout 0' "and what was found is counted"

# A recurrence whose alternative is a constant has the type that the generator says: of what it is computed with.
for number in "90 --case=21345" "101 --case=86023"; do
    runs "the program of --seed=$number is not refused" "$fuzz" --seed=$number
done

# What was found and mended stays so.
runs "the cases that once failed" "$fuzz" "$srcdir"/tests/fuzz/cases/*.tensor
is "$(cat "$work/out")" "" "say nothing"

# What the source says by itself, for values at the ends of every type and indices that begin anywhere.
values=$builddir/tests/fuzz/values
runs "programs of seed $first against an oracle that shares no code with the compiler" \
    "$values" --cases="${VALUES_CASES:-240}" --seed="$first"
[ "$status" -eq 0 ] || diag_file "$work/out" 60
like "$(tail -n 1 "$work/out")" "^cases ${VALUES_CASES:-240}, refused [0-9]*, left open [0-9], .* wrong 0\$" \
    "are judged, few left out"
runs "those that once failed" "$values" "$srcdir"/tests/fuzz/exact/*.tensor
[ "$status" -eq 0 ] || diag_file "$work/out" 60
like "$(tail -n 1 "$work/out")" 'refused 0, left open 0, status 2 0, values compared [0-9]{3,}, wrong 0' \
    "are right, all of them"

# What is built into every kernel: m: products are sums; l: loops miss their last step; s: stores go too far.
for plant in m l s; do
    exits 1 "a planted fault of kind $plant is found" \
        "$fuzz" --cases=80 --objects=0 --plant=$plant --show=1 --reduce=1000 --found="$work/found-$plant"
    like "$(cat "$work/out")" '^--- --seed=1 --case=[0-9]+: (mismatch|memory)$' "as what it is"
    found=$(echo "$work/found-$plant"/*.tensor)
    lines=$(wc -l <"$found")
    ok "reduced to a file of a few lines, not $lines" [ "$lines" -le 7 ]
    exits 1 "that fails in the same way" "$fuzz" --plant=$plant "$found"
    runs "and not without the fault" "$fuzz" "$found"
done
done_testing
