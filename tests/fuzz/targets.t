#!/bin/sh
# Texts of every kind, as they are and changed at random, never take the compiler down: the inputs of tests/fuzz/TARGET,
# among them all that ever did, and seeds. FUZZ_MUTATIONS asks for another number of changes of each.
. "${srcdir:-.}/tests/lib.sh"
for target in parser schedule ir; do
    runs "the inputs of $target" "$builddir/tests/fuzz/${target}_target" "$srcdir/tests/fuzz/$target"/*
    runs "and changes of them" "$builddir/tests/fuzz/${target}_target" --mutations="${FUZZ_MUTATIONS:-30}" \
        "$srcdir/tests/fuzz/$target"/*
done
runs "changes of the programs of the tests" "$builddir/tests/fuzz/parser_target" --mutations="${FUZZ_MUTATIONS:-30}" \
    "$srcdir"/tests/*/*.tensor
done_testing
