#!/bin/sh
# Calls to the system that fail, one by one: the compiler ends with a line and a status, or goes around it; it never
# hangs, is never ended by a signal, and leaves no part of a file.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

small_product k.tensor
make_failing
ENOMEM=12 EIO=5 ENOSPC=28 EMFILE=24 EAGAIN=11 ENOLCK=37 EINVAL=22

# failing NAME ERROR AT ARGUMENTS...: the call fails in the compiler; the status is 0, 1 or 3, and all but 0 have a
# line.
failing() {
    failing_name="$1 $3${FAIL_ON:+ and on} fails: $4 $5" name=$1 error=$2 at=$3
    shift 3
    rm -f out.o
    capture timeout -s ALRM 100 env FAIL_NAME=$name FAIL_ERROR=$error FAIL_AT=$at LD_PRELOAD="$failing" "$TENSORC" "$@"
    case $status in
        0) true ;;
        1 | 3) grep -q '^tensorc: \(internal \)\{0,1\}error: ' err ;;
        *) false ;;
    esac && [ "$(grep -c 'error: ' err)" -le 1 ] && ! ls -A | grep -q '^\.tensorc-' &&
        { [ "$status" -eq 0 ] || [ ! -e out.o ]; }
    report $? "$failing_name" && return 0
    diag_line "status $status, left: $(ls -A | tr '\n' ' ')"
    diag_file err
}

# --- memory
# no_memory FUNCTION ERROR AT ARGUMENTS...: as failing, where memory can fail.
no_memory() {
    if sanitized; then skip "$1 is the sanitizer's, which is not made to fail"; else failing "$@"; fi
}
for at in 1 2 3 5 10 21 50 100 300 1000 3000; do no_memory malloc $ENOMEM $at -c k.tensor -o out.o; done
for at in 1 3 10 100; do
    no_memory calloc $ENOMEM $at -c k.tensor -o out.o
    no_memory realloc $ENOMEM $at -c k.tensor -o out.o
done
for at in 1 2; do FAIL_ON=1 failing mmap $ENOMEM $at -c k.tensor -o out.o; done
no_memory malloc $ENOMEM 1 -c k.tensor -o out.o
sanitized || is "$status $(cat err)" "3 tensorc: internal error: out of memory" "out of memory is one line"

# --- files
for name in write close linkat rename fchmod open read; do
    for at in 1 2 3; do failing $name $EIO $at -c k.tensor -o out.o --header out.h; done
done
echo old >kept.h
failing write $ENOSPC 1 -c k.tensor -o out.o --header kept.h
is "$status $(cat kept.h)" "1 old" "a header that cannot be written stays as it was"
FAIL_ON=1
export FAIL_ON
for at in 1 2 3; do failing stat $EIO $at -c k.tensor -o out.o --header out.h; done
failing linkat $EINVAL 1 -c k.tensor -o out.o
is "$status" 0 "a system without names for nameless files is gone around"
failing rename $EIO 1 -c k.tensor -o out.o --header kept.h
is "$status $(cat kept.h)" "1 old" "a header that cannot be renamed stays as it was"

# --- killed at a moment: the same
FAIL_KILL=1
export FAIL_KILL
for name in write linkat; do
    rm -f out.o
    capture env FAIL_NAME=$name FAIL_AT=1 LD_PRELOAD="$failing" "$TENSORC" -c k.tensor -o out.o
    is "$status $(ls -A | grep -c -e '^\.tensorc-' -e '^out\.o')" "137 0" "killed at the first $name, nothing is left"
done
# Over an old file, and where no file is without a name, something may be left: the next one to write the file takes it
# away.
echo old >kept.h
unset FAIL_KILL FAIL_ON
for at in 1 2; do
    for nameless in 0 1; do
        echo old >out.o
        FAIL_TMPFILE=$nameless
        export FAIL_TMPFILE
        capture env FAIL_KILL=1 FAIL_NAME=rename FAIL_AT=$at LD_PRELOAD="$failing" "$TENSORC" -c k.tensor -o out.o \
            --header kept.h
        is "$status $(ls -A | grep -c '^\.tensorc-')" "137 1" "killed at rename $at, nameless files: $nameless"
        runs "written again" env LD_PRELOAD="$failing" "$TENSORC" -c k.tensor -o out.o --header kept.h
        is "$(ls -A | grep '^\.tensorc-')" "" "what was left is gone"
    done
done
unset FAIL_TMPFILE

# --- searches: from some call on all fail
search() {
    rm -f t.db t.db-journal
    failing "$@" -O tune --threads=1 --jobs=2 --trials=2 --budget=6 --db=t.db -c k.tensor -o out.o
}
search flock $ENOLCK 1
is "$status" 0 "a system without locks is gone around"
like "$(cat err)" \
    '^tensorc: warning: measurements are not kept apart from those of other processes: flock: No locks available$' \
    "with a word"
# The folder that somebody else has made for this user.
user=4123456789
unset XDG_RUNTIME_DIR
capture env FAIL_USER=$user LD_PRELOAD="$failing" "$TENSORC" -O tune --threads=1 --trials=2 --db=user.db -c k.tensor \
    -o out.o
rmdir /tmp/tensorc-$user
is "$status" 0 "locks in a folder of somebody else are gone around"
like "$(cat err)" "^tensorc: warning: measurements are not kept apart from those of other processes: \
'/tmp/tensorc-$user': it is not a folder of this user alone$" \
    "with a word" || diag_file err
search fcntl $EAGAIN 1
# A database that somebody else has locked for ever is waited for within the budget, and not for as long as without one.
for wait in 1 2 3; do # the machine may be busy
    since=$(date +%s)
    capture env FAIL_ON=1 FAIL_NAME=fcntl FAIL_ERROR=$EAGAIN FAIL_AT=1 LD_PRELOAD="$failing" "$TENSORC" -O tune \
        --threads=1 \
        --trials=2 --budget=0.5 --db=locked.db -c k.tensor -o locked.o
    waited=$(($(date +%s) - since))
    [ $waited -ge 15 ] || break
done
[ $waited -lt 15 ]
report $? "a locked database: the end of the budget is the end ($waited s)"
like "$status $(cat err)" "^1 tensorc: error: cannot use the tuning database 'locked.db': database is locked" \
    "with an error" ||
    diag_file err
for at in 1 4; do
    search fork $EAGAIN $at
    search pipe2 $EMFILE $at
done
search fork $EAGAIN 3
search poll $EINVAL 1
search poll $ENOMEM 9
search mmap $ENOMEM 1
search open $EMFILE 1
for at in 100 3000; do
    if sanitized; then skip "malloc is the sanitizer's, which is not made to fail" 4; continue; fi
    FAIL_FORKED=1 search malloc $ENOMEM $at
    is "$status $("$TENSORC" db export --db=t.db | grep -c '^outcome')" "0 0" \
        "builds without memory: nothing is recorded"
    like "$(cat err)" '^tensorc: warning: product is not tuned: there is no memory to build it$' "which is what is said"
    unlike "$(cat err)" 'internal error' "and nothing else"
done
search write $ENOSPC 5
search pwrite64 $ENOSPC 1
search pwrite64 $ENOSPC 9
search fdatasync $EIO 1
unset FAIL_ON
for at in 1 2; do
    search flock $ENOLCK $at
    search fcntl $EAGAIN 9$at
    search fork $EAGAIN $at
    search poll $ENOMEM $at
done

# --- what concerns all functions is said once
sed 's/as product/as product\nexport matmul(M=48, K=40, N=32) as other/' k.tensor >two.tensor
capture env FAIL_ON=1 FAIL_NAME=flock FAIL_ERROR=$ENOLCK FAIL_AT=1 LD_PRELOAD="$failing" "$TENSORC" -O tune \
    --threads=1 \
    --jobs=2 --trials=4 --db=two.db -c two.tensor -o out.o
is "$status $(grep -c 'tuned' err) $(grep -c 'measurements are not kept apart' err)" "0 2 1" \
    "two functions, one word about locks" || diag_file err

# --- the tuning database
"$TENSORC" -O tune --threads=1 --trials=2 --db=whole.db -c k.tensor -o whole.o 2>/dev/null
echo old >export.txt
for at in 1 2; do
    failing write $ENOSPC $at db export --db=whole.db export.txt
    [ "$(head -n 1 export.txt)" = old ] || [ "$(grep -c '^outcome' export.txt)" -eq 2 ]
    report $? "an export is whole or not at all"
done
for at in 1 3 9; do
    no_memory malloc $ENOMEM ${at}0 db ls --db=whole.db
done
# The end of memory while SQLite reads it is not taken for damage.
if sanitized; then
    skip "malloc is the sanitizer's, which is not made to fail"
else
    for command in ls stats export; do
        for at in 0 1 2 3 4 5 6 7 8 9 10 11; do
            FAIL_NAME=malloc FAIL_ERROR=$ENOMEM FAIL_AT=$((300 + 107 * at)) LD_PRELOAD=$failing "$TENSORC" db $command \
                --db=whole.db >/dev/null 2>err || echo "$? $(cat err)"
        done
    done >ends
    is "$(sort -u ends)" "3 tensorc: internal error: out of memory" "a whole database that no memory is left to read" ||
        diag_file ends
fi

done_testing
