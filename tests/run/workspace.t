#!/bin/sh
# Where temporaries live: in memory that calls leave to later ones, or in the caller's workspace.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1
wrap="-Wl,--wrap=aligned_alloc -Wl,--wrap=free"

# program COMPILER...: links workspace.c with workspace.o; leaves ./program.
program() {
    # shellcheck disable=SC2086 # words
    "$@" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. "$here/workspace.c" workspace.o -o program $wrap -pthread \
        -lm -ldl
}

for options in "-O0 --threads=1" "-O2 --threads=1" "-O2"; do
    case $options in *threads*) openmp= ;; *) openmp=-fopenmp ;; esac
    # shellcheck disable=SC2086
    runs "compiles with $options" "$TENSORC" $options -w -c -fPIC "$here/workspace.tensor" -o workspace.o \
        --header workspace.h
    # shellcheck disable=SC2086
    runs "links" program $CC $openmp -rdynamic -DLIBRARY
    # shellcheck disable=SC2086
    runs "links into a library" $CC -shared workspace.o $wrap -o libworkspace.so $openmp -lm
    for mode in in address refused more warm threads sizes forked unloaded; do
        runs "$options: $mode" ./program $mode || diag_file out
    done
done
runs "no more than a gigabyte waits" ./program limit || diag_file out

# --- several objects in a program
{ sed -n '/^def chain/,/^}/p' "$here/workspace.tensor"; echo 'export chain as other'; } >other.tensor
for link in "" -static; do
    for options in "-O0 --threads=1" "-O0 --threads=1 -g"; do
        # shellcheck disable=SC2086
        runs "compiles with $options" "$TENSORC" $options -w -c "$here/workspace.tensor" -o workspace.o \
            --header workspace.h
        # shellcheck disable=SC2086
        runs "and another object" "$TENSORC" $options -c other.tensor -o other.o --header other.h
        # shellcheck disable=SC2086
        runs "linked together $link" program $CC -DOTHER other.o $link
        runs "they share a pool" ./program objects || diag_file out
    done
done
done_testing
