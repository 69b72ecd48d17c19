#!/bin/sh
# What a packager does: make the tarball's tree, build it elsewhere with the sources read-only, install into DESTDIR,
# use what was installed, uninstall, clean. (`make distcheck` does this too, and runs all tests again.)
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

mkdir here vpath
(cd here && "$srcdir/configure" -q) >log 2>&1 && make -C here -s distdir distdir=tree >>log 2>&1 &&
    chmod -R a-w here/tree
report $? "the tarball's tree is made" || diag_file log
cd vpath || exit 1
runs "it is configured from another folder" ../here/tree/configure -q --prefix=/usr CFLAGS=-O0
runs "it builds with the sources read-only" make -s -j2
runs "make install DESTDIR=" make -s install DESTDIR="$work/root"
is "$(ls "$work/root/usr/bin" | tr '\n' ' ')" "tensorc tensorc-worker " "the two programs are installed"
cd "$work/root/usr/share/doc/tensorc" || exit 1
[ -f README.md ] && [ -f lang/REFERENCE.md ] && [ -f stdlib/OPERATORS.md ]
report $? "README, reference and the list of operators are installed"
lost=
for page in *.md */*.md; do
    links=$(grep -o '](\([^)#: ]*[.a-z]*\)[)#]' "$page" | sed 's/^](//; s/[)#]$//' | grep -E '\.md$|^(LICENSE|NEWS)$')
    for link in $links; do
        [ -f "$(dirname "$page")/$link" ] || lost="$lost $page:$link"
    done
done
is "$lost" "" "their links lead somewhere"
cd "$work/vpath" || exit 1
is "$(cd "$work/root/usr/share/tensorc/stdlib" && cat *.tensor | cksum)" "$(cat "$srcdir"/stdlib/*.tensor | cksum)" \
    "and the sources of the operators, to be read"
cat >k.tensor <<'EOF'
import "nn"
export matmul(M=5, N=6, K=7)
EOF
runs "the installed compiler compiles and runs, with its worker" "$work/root/usr/bin/tensorc" -run k.tensor
rm k.tensor
runs "make uninstall" make -s uninstall DESTDIR="$work/root"
is "$(find "$work/root" -type f)" "" "make uninstall leaves no file"
runs "make distclean" make -s distclean
is "$(find . -type f)" "" "make distclean leaves no file"

done_testing
