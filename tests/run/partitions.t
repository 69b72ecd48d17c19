#!/bin/sh
# Long functions, whose code several processes generate: the object is the same whatever their number, computes what
# the assembly does, defines the same names, and is there although processes cannot be started.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# Stages that are much code each, constants, math functions, an index that is checked; one function has a packed
# argument, the other has none.
awk 'function stage(k, t) {
    t = "t" k - 1
    printf "    t%d(i, j) = 0.3 * tanh(%s(i, j + 1) else wrap) + 0.%d * (%s(i + 1, j - %d) else edge)", k, t, k % 3 + 1,
        t, k % 5 + 1
    printf " - erf(%s(i - %d, j) else 0) / (1 + exp(%s(p(i), j))) + 0.1 * table(%d + j %% 7)", t, k % 3 + 1, t, k
    print " + (a(i - 1, j - 2) else reflect) where i in 0:N, j in 0:M"
    if (k % 8 == 0)
        printf "    m%d(i, j) +=! t%d(i, r) * w(r, j)\n    t%dx(i, j) = m%d(i, j) / float(M)\n", k, k, k, k
}
function define(name, word, k) {
    print "def " name "(float(N, M) a, " word "float(M, M) w, int32(N) p) -> (z) {"
    print "    table(i) = float(i * 7 % 13) where i in 0:300\n    t0(i, j) = a(i, j)"
    for (k = 1; k <= 24; k++)
        stage(k)
    print "    z(i, j) = t24(i, j) + t8x(i, j) + t16x(i, j) + t24x(i, j)\n}\nexport " name
}
BEGIN { define("wave", "const "); define("calm", "") }' >wave.tensor
cat >main.c <<'E2'
#include "wave.h"
#include <stdio.h>
#include <stdlib.h>
enum { N = 21, M = 37 };
static float a[N][M], w[M][M], z[N][M];
static int32_t p[N];
int main(void) {
    for (int i = 0; i < N * M; i++)
        a[0][i] = (float)(i * 37 % 101) / 101;
    for (int i = 0; i < M * M; i++)
        w[0][i] = (float)(i * 53 % 97) / 97;
    for (int i = 0; i < N; i++)
        p[i] = N - 1 - i;
    struct wave_packed_w *packed = aligned_alloc(64, ((size_t)wave_packed_w_size(M) + 63) / 64 * 64);
    int status = wave(N, M, a[0], w[0], p, z[0]);
    fwrite(z, sizeof z, 1, stdout);
    status |= wave_pack_w(M, w[0], packed) | wave_packed(N, M, a[0], packed, p, z[0]);
    fwrite(z, sizeof z, 1, stdout);
    status |= calm(N, M, a[0], w[0], p, z[0]);
    fwrite(z, sizeof z, 1, stdout);
    p[0] = N;
    status |= wave(N, M, a[0], w[0], p, z[0]) == 0;
    free(packed);
    return status;
}
E2

# has_parts OBJECT: code of one part names another's
has_parts() { readelf -rW "$1" | grep -q 'wave.*\.loop'; }
# names OBJECT: what it defines and uses; assemblers add a name of tables to what is -fPIC.
names() { nm -g "$1" | cut -c18- | grep -v _GLOBAL_OFFSET_TABLE_ | sort; }
# objects TARGET THREADS OPTION...: one.o by one process, whole.o by way of assembly; compared with others
objects() {
    objects_what="$*" target=$1 threads=$2
    shift 2
    set -- "$TENSORC" --target="$target" --threads="$threads" wave.tensor "$@"
    runs "$objects_what: by one process" "$@" --jobs=1 -c -o one.o --header wave.h
    runs "$objects_what: by three" "$@" --jobs=3 -c -o three.o
    same one.o three.o "$objects_what: they make the same object"
    ok "$objects_what: the object has parts" has_parts one.o
    runs "$objects_what: as assembly" "$@" -S -o whole.s
    ok "$objects_what: which is assembled" "$assembler" -c whole.s -o whole.o
    is "$(names one.o)" "$(names whole.o)" "$objects_what: others see the same names"
}
# results NAME: what the program with NAME.o computes, in NAME.z
results() { "$assembler" $static -std=c11 -o program main.c "$1.o" -lm -lpthread && $emulator ./program >"$1.z"; }
# compared: of one.o and whole.o
compared() {
    ok "$objects_what: the program runs" results one
    ok "$objects_what: so does that of the assembly" results whole
    same one.z whole.z "$objects_what: they compute the same"
}

assembler=$CC static='' emulator=''
for options in '1' '2 -fPIC'; do
    objects x86-64-v3 $options
    if runs_here x86-64-v3; then compared; else skip "this machine does not run x86-64-v3" 3; fi
done
if have qemu-aarch64 && have aarch64-linux-gnu-gcc; then
    assembler=aarch64-linux-gnu-gcc static=-static emulator=qemu-aarch64
    objects aarch64 2
    compared
else
    skip "no emulator of ARM here" 10
fi

# --- blocks so long that LLVM's order of them would take long

awk 'BEGIN {
    print "def lines(float(N) a) -> (z) {"
    for (stage = 1; stage <= 2; stage++) {
        printf "    %s(i) = 0.0", stage == 1 ? "y" : "z"
        for (k = 1; k <= 800; k++)
            printf " + (%s(i + %d) else 1)", stage == 1 ? "a" : "y", k
        print " where i in 0:N"
    }
    print "}\nexport lines"
}' >lines.tensor
cat >lines.c <<'E2'
#include "lines.h"
#include <math.h>
enum { N = 2500 };
static float a[N], z[N];
static double y[N];
static double sum(double (*value)(int), int i) {
    double all = 0;
    for (int k = 1; k <= 800; k++)
        all += i + k < N ? value(i + k) : 1;
    return all;
}
static double first(int i) { return a[i]; }
static double second(int i) { return y[i]; }
int main(void) {
    for (int i = 0; i < N; i++)
        a[i] = (float)(i * 37 % 101) / 101;
    int wrong = lines(N, a, z);
    for (int i = 0; i < N; i++)
        y[i] = sum(first, i);
    for (int i = 0; i < N; i++)
        wrong += !(fabs(z[i] - sum(second, i)) <= 1e-4 * z[i]);
    return wrong > 0;
}
E2
if runs_here x86-64-v3; then
    runs "lines of 800 reads" "$TENSORC" --target=x86-64-v3 --threads=1 -c lines.tensor -o lines.o --header lines.h
    ok "are linked" "$CC" -std=c11 -o lines lines.c lines.o -lm -lpthread
    ok "and right" ./lines
else
    skip "this machine does not run x86-64-v3" 3
fi

# --- processes that cannot be started, or do not end well

runs "as it should be" "$TENSORC" --target=x86-64-v3 --threads=1 -c wave.tensor -o right.o
make_failing
for name in fork pipe2; do
    rm -f out.o
    capture env FAIL_NAME=$name FAIL_AT=2 FAIL_ON=1 FAIL_ERROR=11 LD_PRELOAD="$failing" "$TENSORC" --target=x86-64-v3 \
        --threads=1 --jobs=2 -c wave.tensor -o out.o
    is "$status $(sort -u err)" "0 tensorc: warning: a part of the code is generated without a process of its own: \
Resource temporarily unavailable" "$name fails: gone around, with a word"
    same right.o out.o "and the object is the same"
done
# killed SIGNAL SHELL_COMMAND: each process of a part is sent the signal when it writes
killed() {
    rm -f out.o
    capture env FAIL_NAME=write FAIL_AT=1 FAIL_FORKED=1 FAIL_KILL=1 FAIL_SIGNAL="$1" LD_PRELOAD="$failing" \
        sh -c "$2 exec \"\$0\" --target=x86-64-v3 --threads=1 --jobs=2 -c wave.tensor -o out.o" "$TENSORC"
}
ended="1 tensorc: error: cannot generate code for x86-64-v3: a process that generates code was ended by signal"
killed 9 ''
is "$status $(cat err)" "$ended 9" "a process is killed: one line"
[ ! -e out.o ]
report $? "and no object"
killed 15 '' # not SIGHUP, which the tests may ignore themselves, under nohup
is "$status $(cat err)" "$ended 15" "a process is asked to end: one line"
killed 15 'trap "" TERM;'
is "$status $(cat err)" "0 " "but nothing where that is ignored"
same right.o out.o "and the object is the same"

done_testing
