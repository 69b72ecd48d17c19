# lib.sh - the Test Anything Protocol for tests in sh: `. "${srcdir:-.}/tests/lib.sh"` first, `done_testing` last.
#
# Each test is one call: a name and a command, or two texts. Commands run with their output in $work/out and $work/err;
# $work is a folder of the test's own that is removed at the end. ACCEPT=1 rewrites golden files instead of comparing.
# By hand: make in the build folder first, then `srcdir=SOURCES TENSORC=BUILD/tensorc tests/FOLDER/NAME.t`.

set -u
# Whatever the environment says elsewhere: one language of messages and of sorting, files that their owner may write, as
# many threads as a test asks for.
LC_ALL=C
export LC_ALL
umask 022
unset CDPATH OMP_NUM_THREADS OMP_THREAD_LIMIT OMP_DYNAMIC OMP_SCHEDULE OMP_PROC_BIND OMP_PLACES
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-$srcdir}" && pwd)
TENSORC=${TENSORC:-$builddir/tensorc}
CC=${CC:-cc}
ACCEPT=${ACCEPT:-}
export srcdir builddir TENSORC CC
tests_run=0
tests_failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/tensorc-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# No test waits for searches of others of the same user, or makes them wait: its locks are its own.
XDG_RUNTIME_DIR=$work/.runtime
mkdir "$XDG_RUNTIME_DIR" || exit 1
export XDG_RUNTIME_DIR
# No test reads or writes the user's own tuning database.
TENSORC_DB=$work/default.tuning.db
export TENSORC_DB

diag_line() { printf '%s\n' "$*" | sed 's/^/# /' >&2; }
diag_file() { sed 's/^/# /' "$1" | head -n "${2:-40}" >&2; }

# report STATUS NAME: the numbered line.
report() {
    tests_run=$((tests_run + 1))
    if [ "$1" -eq 0 ]; then
        printf 'ok %d - %s\n' "$tests_run" "$2"
    else
        tests_failed=$((tests_failed + 1))
        printf 'not ok %d - %s\n' "$tests_run" "$2"
    fi
    return "$1"
}

# capture COMMAND...: runs it; leaves $status, $work/out, $work/err.
capture() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# ok NAME COMMAND...: the command succeeds.
ok() {
    ok_name=$1; shift
    "$@" </dev/null
    report $? "$ok_name"
}

# runs NAME COMMAND...: exit status 0; otherwise its messages are shown.
runs() { exits 0 "$@"; }

# exits STATUS NAME COMMAND...: exactly this exit status.
exits() {
    exits_wanted=$1 exits_name=$2; shift 2
    capture "$@"
    [ "$status" -eq "$exits_wanted" ]
    report $? "$exits_name" && return 0
    diag_line "$* ended with status $status, wanted $exits_wanted"
    diag_file "$work/err"
    return 1
}

# is GOT WANTED NAME: two equal texts.
is() {
    [ "$1" = "$2" ]
    report $? "$3" || { diag_line "got:    $1"; diag_line "wanted: $2"; return 1; }
}

# like TEXT PATTERN NAME: the text has a line that matches the extended regular expression; unlike: it has none.
like() {
    printf '%s\n' "$1" | grep -Eq -e "$2"
    report $? "$3" || { diag_line "got:     $1"; diag_line "pattern: $2"; return 1; }
}
unlike() {
    ! printf '%s\n' "$1" | grep -Eq -e "$2"
    report $? "$3" || { diag_line "got:         $1"; diag_line "not wanted: $2"; return 1; }
}

# same FILE FILE NAME: two files are equal byte for byte.
same() {
    cmp -s "$1" "$2"
    report $? "$3" || { diff -u "$1" "$2" | head -n 40 | sed 's/^/# /' >&2; return 1; }
}

# golden EXPECTED ACTUAL NAME: equal texts; with ACCEPT=1 the expected one is rewritten.
golden() {
    if [ -n "$ACCEPT" ] && ! cmp -s "$1" "$2"; then cp "$2" "$1"; fi
    if [ -f "$1" ]; then same "$1" "$2" "$3"; else
        report 1 "$3"
        diag_line "$1 is missing: run with ACCEPT=1 to write it"
        return 1
    fi
}

# skip REASON [COUNT]: tests that cannot run here.
skip() {
    skip_count=${2:-1}
    while [ "$skip_count" -gt 0 ]; do
        tests_run=$((tests_run + 1)) skip_count=$((skip_count - 1))
        printf 'ok %d # SKIP %s\n' "$tests_run" "$1"
    done
}
skip_all() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }

# sanitized: whether the compiler is built with a sanitizer of addresses, which limits of memory do not go with.
sanitized() { grep -q __asan_init "$TENSORC"; }

# have PROGRAM: whether it can be called.
have() { command -v "$1" >/dev/null 2>&1; }

# small_product FILE: a program that is soon tuned.
small_product() {
    cat >"$1" <<'END'
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
export matmul(M=48, K=40, N=64) as product
END
}

# mortal READS: leaves ./mortal.sh, a worker that ends after so many pieces of what it is sent, and counts itself in
# ./started.
mortal() {
    cat >mortal.sh <<END
echo started >>started
dd bs=1048576 count=$1 2>/dev/null | "$(dirname "$TENSORC")/tensorc-worker"
END
}

# make_failing: leaves ./failing.so, which makes calls to the system fail when $failing is preloaded, or skips the test.
# The sanitizer of addresses wants to be the first; its functions call ours, but for those that give memory.
make_failing() {
    $CC -shared -fPIC -O1 -w -D_GNU_SOURCE -o failing.so "$srcdir/tests/run/failing.c" -ldl 2>/dev/null ||
        skip_all "no shared library can be made here"
    failing=$work/failing.so
    if sanitized; then failing="$($CC -print-file-name=libasan.so) $failing"; fi
    FAIL_NAME=flock LD_PRELOAD=$failing "$TENSORC" --version >/dev/null 2>&1 && have timeout ||
        skip_all "nothing can be loaded before the compiler here"
}

# runs_here TARGET: whether this machine runs its code, as tensorc sees it: $TENSORC_HOST says what the machine stands
# for.
runs_here() {
    [ -f "$work/probe.tensor" ] || echo 'def probe(float(1) a) -> (b) { b(i) = a(i) }' >"$work/probe.tensor"
    "$TENSORC" -run -O0 --threads=1 --trials=1 --target="$1" "$work/probe.tensor" >/dev/null 2>&1
}

# targets_here: this machine and what else it runs of rows with vectors of other lengths.
targets_here() {
    for target in x86-64 x86-64-v3; do
        if runs_here $target; then echo $target; fi
    done
    echo host
}

# plain_and_fast: on each target main.c compares what plain.tensor, without optimisation, and fast.tensor compute.
plain_and_fast() {
    for target in $(targets_here); do
        runs "plain, $target" "$TENSORC" -c -O0 --threads=1 --target=$target plain.tensor -o plain.o --header plain.h
        runs "compiles, $target" "$TENSORC" -c --threads=1 --target=$target fast.tensor -o fast.o --header fast.h
        ok "links, $target" $CC -O1 -o main main.c fast.o plain.o -lm
        runs "right at all sizes, $target" ./main
    done
}

done_testing() {
    printf '1..%d\n' "$tests_run"
    [ "$tests_failed" -eq 0 ]
    exit $?
}
