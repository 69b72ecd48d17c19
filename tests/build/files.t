#!/bin/sh
# The tarball is complete: every file of the repository that a build, a test or a reader needs is in `make distdir`.
. "${srcdir:-.}/tests/lib.sh"

have git && git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1 || skip_all "no repository here to compare with"

# What stays behind on purpose: how the repository itself is kept.
git -C "$srcdir" ls-files | grep -Ev '(^|/)\.gitignore$|^\.ci/' | sort >"$work/tracked"
# The tarball is made in a copy of the build's configuration, so that the build stands still under other tests.
mkdir "$work/build"
runs "a second build folder is configured" sh -c "cd '$work/build' && '$srcdir/configure' -q"
make -C "$work/build" -s distdir distdir=tree >"$work/distdir.log" 2>&1
report $? "make distdir" || diag_file "$work/distdir.log"
(cd "$work/build/tree" && find . -type f | sed 's#^\./##' | sort) >"$work/carried"
is "$(comm -23 "$work/tracked" "$work/carried")" "" "the tarball carries every tracked file"
is "$(cd "$srcdir" && git ls-files -s tests | grep '\.t$' | grep -v '^100755')" "" "all test programs can be run"

done_testing
