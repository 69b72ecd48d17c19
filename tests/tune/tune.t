#!/bin/sh
# Tuning as a user meets it: what it leaves, resuming, interruption, kill -9, two at a time, workers that end or
# crash.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

small_product k.tensor
tune() { "$TENSORC" -O tune --db=tune.db --seed=7 "$@"; }
# measured DB: how many candidates the database holds, by its own text form.
measured() { "$TENSORC" db export --db="$1" 2>/dev/null | grep -c '^outcome'; }

# --- what a search leaves
runs "tunes" tune --trials=6 -c k.tensor -o tuned.o --header k.h --emit-schedule=found.tensor
# On a busy machine a candidate may run out of time, and no two times may be sure enough for a ratio.
line='^tensorc: tuned product: N trials? in N s,( N out of time \(.*\),)? each built in N ms; N us \(N GFLOP/s\)'
like "$(sed 's/[0-9.][0-9.]*/N/g; s/ [mn]s (/ us (/' err)" "$line(, N times the default's speed)?\$" \
    "with one line of figures" || diag_file err
[ -s tuned.o ] && [ -s k.h ] && [ -s tune.db ]
report $? "an object, a header, a database"
like "$(cat found.tensor)" '^schedule product on ' "--emit-schedule writes a schedule block"
runs "the same again" tune --trials=6 -c k.tensor -o again.o
same tuned.o again.o "what was searched is found: the same object"
runs "--tune-frozen with everything there" tune --trials=6 --tune-frozen -c k.tensor -o frozen.o
same tuned.o frozen.o "the same object again"
exits 1 "--tune-frozen with nothing there" "$TENSORC" -O tune --tune-frozen --db=empty.db -c k.tensor -o none.o
[ ! -e none.o ]
report $? "and nothing is left"
cat k.tensor found.tensor >pasted.tensor
runs "the schedule that was found, pasted in" "$TENSORC" -O2 --db=other.db -c pasted.tensor -o pasted.o
same tuned.o pasted.o "gives the same object"
runs "-O2 finds the record" "$TENSORC" -O2 --db=tune.db -c k.tensor -o default.o
same tuned.o default.o "and gives the same object"
runs "the tuned object runs as interpreted" "$TENSORC" -run --db=tune.db k.tensor

# --- going on
before=$(measured tune.db)
runs "more trials" tune --trials=10 -c k.tensor -o more.o
like "$(cat err)" "^tensorc: tuned product: $((10 - before)) trials? in .*, after $before in the database, " \
    "are counted apart from those that were there"
after=$(measured tune.db)
[ "$before" -le 6 ] && [ "$after" -gt "$before" ] && [ "$after" -le 10 ]
report $? "go on from what is there ($before, then $after)"

# --- failures say why: here two of the records that are there, for reasons that differ in their numbers alone
"$TENSORC" db export --db=tune.db >good.txt
awk '/^task/ { n++ } n > 2 && n < 5 && /^outcome/ { print "outcome crash";
    print "why the worker met " n " gremlins"; next }
     n > 2 && n < 5 && /^seconds/ { print "seconds 0"; next } { print }' good.txt >bad.txt
"$TENSORC" db import --db=bad.db bad.txt >imported
is "$("$TENSORC" db export --db=bad.db | grep -c '^why the worker met [34] gremlins$')" 2 "an export says why"
runs "a search that goes on from failures" "$TENSORC" -v -O tune --db=bad.db --seed=7 --trials=12 -c k.tensor -o bad.o
like "$(cat err)" '^tensorc: tuned product: .*, 2 crashed .the worker met [34] gremlins., ' "says so, too"
like "$(cat err)" '^tensorc: product: 2 crashed: the worker met [34] gremlins$' "with -v for each reason"

# started COUNT DB: waits until a search in the background has put so many records into the database.
started() {
    waited=0
    while [ "$(measured "$2")" -lt "$1" ]; do
        waited=$((waited + 1))
        [ "$waited" -lt 6000 ] && kill -0 "$search" 2>/dev/null || return 1
        sleep 0.1
    done
}

# A shell ignores SIGINT for what it starts in the background; `env` of GNU sets it back.
if env --default-signal=INT true 2>/dev/null; then
    env --default-signal=INT "$TENSORC" -O tune --db=interrupted.db --trials=100000 -c k.tensor -o interrupted.o \
        2>interrupted.err &
    search=$!
    ok "a long search is under way" started 3 interrupted.db
    kill -INT "$search"
    wait "$search"
    is "$?" 0 "it ends well when it is interrupted" || diag_file interrupted.err
    [ -s interrupted.o ]
    report $? "with an object of the best so far"
else
    skip "env cannot set signals back here" 3
fi
"$TENSORC" -O tune --db=killed.db --trials=100000 -c k.tensor -o killed.o 2>/dev/null &
search=$!
ok "another search is under way" started 3 killed.db
kill -KILL "$search"
wait "$search" 2>/dev/null
[ ! -e killed.o ] && [ -z "$(find . -name '*killed.o*')" ]
report $? "killed, it leaves no part of an object"
before=$(measured killed.db)
"$TENSORC" db export --db=killed.db | sed -n 's/^trial //p' | sort -n >numbers
is "$(cat numbers)" "$(seq "$before")" "it leaves each trial before the last one, with its number" || diag_file numbers
is "$("$TENSORC" db export --db=killed.db | grep -c '^wall \|^policy \|^features \|^toolchain ')" $((4 * before)) \
    "and with all that is known of it"
runs "a search goes on with its database" "$TENSORC" -O tune --db=killed.db --trials=$((before + 2)) -c k.tensor \
    -o killed.o
[ "$(measured killed.db)" -ge "$before" ]
report $? "and has lost nothing"

# --- a database that cannot be used: a search needs it, a compilation does not
head -c 3000 tune.db >damaged.db
runs "-O2 compiles without a damaged database" "$TENSORC" -O2 --db=damaged.db -c k.tensor -o undamaged.o
like "$(cat err)" \
    'warning: cannot use the tuning database.*compiling without it .delete the file, or name another with --db=FILE' \
    "and says what to do"
runs "as with none" "$TENSORC" -O2 --db=none.db -c k.tensor -o plain.o
same plain.o undamaged.o "to the same object"
capture "$TENSORC" -O tune --trials=2 --db=damaged.db -c k.tensor -o refused.o
is "$status" 1 "-O tune refuses it"
like "$(cat err)" 'error: cannot use the tuning database.*; delete the file, or name another' "and says what to do"

# --- constants, which candidates leave out: each new worker is told them again
cat >make.tensor <<'EOF'
def weights(int32(K, N) from) -> (float(K, N) w) { w(k, n) = float(from(k, n) % 8) / 2 + float(k % 5) - float(n % 3) }
export weights(K=120, N=64)
EOF
runs "weights are written" "$TENSORC" -run --db=none.db make.tensor --output=w=w.npy
sed '/export/d' k.tensor >constants.tensor
echo 'export matmul(M=48, B="w.npy") as constants' >>constants.tensor
mortal 12
runs "constants are tuned" "$TENSORC" -O tune --db=constants.db --trials=20 --runner="sh ./mortal.sh" \
    -c constants.tensor -o constants.o
[ "$(wc -l <started)" -gt 1 ]
report $? "by several workers, one after the other"
"$TENSORC" db export --db=constants.db >constants.txt
[ "$(grep -c '^outcome.*ok' constants.txt)" -gt 8 ]
report $? "most trials are good" || diag_file constants.txt
unlike "$(cat constants.txt)" 'wrong' "and none is wrong"
runs "the object is right" "$TENSORC" -run --db=constants.db constants.tensor

# --- sizes known at run time: the version for one row is a function of its own
cat >open.tensor <<'EOF'
def layer(float(M, K) X, float(N, K) W) -> (Y) { Y(i, j) +=! X(i, r_k) * W(j, r_k) }
export layer
export layer(N=64, K=64) as known
EOF
cat open.tensor k.tensor >rows.tensor
runs "functions of run-time sizes among others" "$TENSORC" -O tune --trials=6 --db=rows.db -c rows.tensor -o rows.o
like "$(cat err)" 'tuned known\.M1: 3 trials' "the version has its part of the trials"
like "$(cat err)" 'tuned product: 3 trials' "and what follows has the rest"
is "$(grep -c 'tuned' err)" 4 "no other is searched for" || diag_file err
is "$(sed -n 's/.*warning: \(.*\) is not tuned for sizes known at run time only.*/\1/p' err | tr '\n' ' ')" \
    "layer known " \
    "and those that are not are named"
runs "--tune-frozen has them all" "$TENSORC" -O tune --trials=6 --tune-frozen --db=rows.db -c rows.tensor \
    -o frozen_rows.o
same rows.o frozen_rows.o "and gives the same object"
runs "--tune-frozen without that version, which the source does not name" \
    "$TENSORC" -O tune --tune-frozen --db=tune.db -c rows.tensor -o default_row.o
like "$(nm default_row.o)" ' t known\.M1$' "has it by the default"
sed 's/ as known/& tune (M=1)/' rows.tensor >named.tensor
exits 1 "--tune-frozen without a version that the source names" \
    "$TENSORC" -O tune --tune-frozen --db=tune.db -c named.tensor -o named.o

# --- two at a time, as with make -j
sed 's/M=48/M=32/; s/product/other/' k.tensor >l.tensor
"$TENSORC" -O tune --db=shared.db --trials=4 -c k.tensor -o k2.o 2>k2.err &
first=$!
"$TENSORC" -O tune --db=shared.db --trials=4 -c l.tensor -o l2.o 2>l2.err
second=$?
wait "$first"
is "$? $second" "0 0" "two searches share a database" || { diag_file k2.err; diag_file l2.err; }

# --- workers that fail: the first ends after so much of what it is told, the second crashes at once
cat >flaky.sh <<'EOF'
#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
case $n in
    1) dd bs=1048576 count=12 2>/dev/null | "$WORKER"; exit ;;
    2) kill -SEGV $$ ;;
esac
exec "$WORKER"
EOF
WORKER=$(dirname "$TENSORC")/tensorc-worker
export WORKER
if [ -x "$WORKER" ]; then
    runs "a search outlives workers that end and crash" \
        "$TENSORC" -O tune --db=flaky.db --trials=12 --runner="sh ./flaky.sh" -c k.tensor -o flaky.o
    [ "$(cat count)" -ge 3 ]
    report $? "others were started after them ($(cat count) workers)"
    like "$(cat err)" '^tensorc: tuned product: 12 trials in ' "all trials are made" ||
        diag_file err
else
    skip "no tensorc-worker beside $TENSORC" 3
fi

done_testing
