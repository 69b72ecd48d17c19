#!/bin/sh
# Objects and headers in applications: linked into C and C++ programs, into a shared library, at each -O.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

# application LANGUAGE COMPILER...: compiles objects.c as it and links objects.o; leaves ./application.
application() {
    language=$1; shift
    "$@" -x "$language" -Wall -Wextra -Werror -I. -I"$srcdir" "$here/objects.c" -x none objects.o -o application -lm
}

for level in -O0 -O1 -O2 -O3; do
    runs "tensorc $level" "$TENSORC" -c $level "$here/objects.tensor" -o objects.o --header objects.h
    runs "links into a C program at $level" application c $CC -std=c11
    runs "runs at $level" ./application || diag_file "$work/out" 200
done

undefined=$(nm -u objects.o | awk '{ print $2 }' | grep -Ev '^_GLOBAL_OFFSET_TABLE_$')
# Every name must be libc's or libm's: a program that has nothing else links.
printf 'int main(void) { return 0; }\n' >empty.c
runs "nothing is undefined but libc and libm ($(echo $undefined))" $CC empty.c objects.o -o empty -lm

if have g++; then
    runs "links into a C++ program" application c++ g++ -std=c++17
    runs "runs in a C++ program" ./application
else
    skip "no g++ here" 2
fi

runs "tensorc -fPIC -g" "$TENSORC" -c -fPIC -g "$here/objects.tensor" -o objects.o --header objects.h
runs "links into a shared library" $CC -shared -Wl,-z,defs objects.o -o libobjects.so -lm
if readelf -d libobjects.so | grep -q TEXTREL; then textrel=yes; else textrel=no; fi
is "$textrel" no "the shared library has no relocations in its code"
runs "links with debugging information" application c $CC -std=c11
runs "runs with debugging information" ./application
like "$(readelf --debug-dump=decodedline objects.o 2>/dev/null)" 'objects\.tensor' "-g names the lines of the source"

runs "tensorc --threads=1" "$TENSORC" -c --threads=1 "$here/objects.tensor" -o objects.o --header objects.h
runs "links with one thread" application c $CC -std=c11
runs "runs with one thread" ./application

runs "tensorc -S" "$TENSORC" -S "$here/objects.tensor" -o objects.s
runs "the assembly assembles" $CC -c objects.s -o objects.o
runs "tensorc --header alone" "$TENSORC" -c "$here/objects.tensor" -o other.o --header objects.h
runs "the assembly links" application c $CC -std=c11
runs "the assembly runs" ./application

done_testing
