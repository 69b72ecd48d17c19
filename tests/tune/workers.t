#!/bin/sh
# workers.t - tuning with workers that die, hang or cannot start; every search and cost model; what cannot be measured.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >conv.tensor <<'END'
import "nn"
def layer(float(N, C, H, W) I, float(M, C, 3, 3) F, float(M) B) -> (O) {
    t = conv2d[P=1](I, F)
    O(n, m, h, w) = max(t(n, m, h, w) + B(m), 0)
}
export layer(N=1, C=16, H=14, W=14, M=32) as layer
END
db=$work/t.db
tune() { capture "$TENSORC" -O tune --db="$db" "$@"; }

# A worker that dies, hangs, or cannot start: outcomes, and an object all the same.
db=$work/bad.db
mortal 12
tune --trials=6 --runner="sh ./mortal.sh" -c conv.tensor -o dying.o
is "$status" 0 "workers that are killed do not end the search" || diag_file err
ok "an object is there" test -s dying.o

# What never answered is no worker: an error with its last words, and nothing that a later search would believe.
fails() {
    fails_name=$1 fails_said=$2; shift 2
    rm -f none.db none.o
    exits 1 "$fails_name: an error" "$@" -O tune --db=none.db --trials=3 -c conv.tensor -o none.o
    like "$(cat err)" "^tensorc: error: layer cannot be tuned: the (runner|worker) '.*' does not start: $fails_said" \
        "$fails_name: and its reason"
    [ ! -e none.o ] && ! "$TENSORC" db export --db=none.db | grep -q '^outcome'
    report $? "$fails_name: nothing is left"
}
fails "a command that fails" 'the worker exited with status 1$' "$TENSORC" --runner=false
fails "a command that is not there" 'the worker exited with status 127: .*not found$' \
    "$TENSORC" --runner=no-such-command
fails "a machine that is not there" 'the worker exited with status 255: ssh: no host$' \
    "$TENSORC" --runner='echo ssh: no host >&2; exit 255'
fails "a command that is no worker" 'what it answers is not what tensorc-worker' "$TENSORC" --runner=cat
fails "a worker that is not there" 'the worker exited with status 127: No such file' env \
    TENSORC_WORKER=/nowhere/worker "$TENSORC"
fails "a worker that is none" 'the worker exited with status' env TENSORC_WORKER="$(command -v true)" "$TENSORC"
printf '\001\002\003' >garbage && chmod +x garbage
fails "a worker that is no program" 'the worker exited with status 127: ' env TENSORC_WORKER=./garbage "$TENSORC"
# One that answers at first and then ends in each run has no time for anything, but the machine is not busy.
cat >ends.sh <<END
dd bs=1 count=60 2>/dev/null | "$(dirname "$TENSORC")/tensorc-worker"
exit 9
END
printf 'def scale(float(64) x) -> (y) { y(i) = x(i) * 2 }\nexport scale\n' >scale.tensor
tune --trials=4 --runner='sh ./ends.sh' --db=ends.db -c scale.tensor -o ends.o
like "$status $(cat err)" '^0 .*: 1 trial in .*, 1 without a result \(the worker exited with status 9\)' \
    "a worker that ends in each run is the reason" || diag_file err
like "$(cat err)" 'warning: scale is not tuned: its default schedule does not run on this machine: the worker exited' \
    "and a warning"
unlike "$(cat err)" 'busy' "not a busy machine"
"$TENSORC" db export --db=ends.db | grep -q '^outcome'
is "$?" 1 "nothing is recorded"

# A connection that is lost after the first worker: the search ends, and the next one goes on.
cat >cut.sh <<END
if [ -e used ]; then exec sh ./ends.sh; fi
: >used
dd bs=1048576 count=24 2>/dev/null | "$(dirname "$TENSORC")/tensorc-worker"
exit 9
END
tune --trials=100 --threads=1 --runner='sh ./cut.sh' --db=cut.db -c conv.tensor -o cut.o
is "$status" 0 "a connection that is lost"
like "$(cat err)" 'warning: layer is not tuned to the end: .*the worker exited with status 9' \
    "ends the search with a warning" || diag_file err
ok "what was found before is compiled" test -s cut.o
runs "the next search" "$TENSORC" -O tune --trials=100 --threads=1 --db=cut.db -c conv.tensor -o cut.o
like "$(cat err)" 'tuned layer: [0-9]+ trials in .*, after [0-9]+ in the database' "goes on" || diag_file err

# A default that dies by a signal, where all others do well.
cat >dies.sh <<END
[ -e lived ] && exec "$(dirname "$TENSORC")/tensorc-worker"
dd bs=1 count=60 2>/dev/null | "$(dirname "$TENSORC")/tensorc-worker"
echo >>deaths
[ "\$(wc -l <deaths)" -ge 2 ] && : >lived
kill -SEGV \$\$
END
tune --trials=8 --threads=1 --runner='sh ./dies.sh' --db=dies.db -c scale.tensor -v -o dies.o
is "$status" 0 "a default that dies twice"
like "$(cat err)" 'warning: scale is not tuned: its default schedule does not run on this machine: .*signal 11' \
    "ends the search" || diag_file err
unlike "$(cat err)" ' crashed' "which does not count as a crash"
like "$(cat err)" 'scale: scheduled by the default' "the code is that of the default"
is "$("$TENSORC" db export --db=dies.db | grep -c '^outcome')" 0 "nothing is recorded"
runs "-O2 with the same database" "$TENSORC" -O2 --threads=1 --db=dies.db -c scale.tensor -o plain.o
same dies.o plain.o "gives the same"

runs "closed standard files" sh -c '"$1" -O tune --db=closed.db --trials=2 -c conv.tensor -o closed.o <&-' - "$TENSORC"
ok "leave the worker its own" grep -q 'tuned layer: 2 trials .*the default.s speed' err
"$TENSORC" -O tune --db=closed.db --trials=3 -c conv.tensor -o closed.o <&- >&- 2>&-
is "$?" 0 "so do all three"
"$TENSORC" db export --db=closed.db | grep -q 'outcome crash'
is "$?" 1 "and nothing crashes"

# The threads of a worker wait for each other as those of the program will: what the environment says of that is theirs.
# It has a session of its own, with its share of the processors; a command keeps that of the compiler, with its
# terminal.
cat >tells.sh <<END
#!/bin/sh
echo "\$OMP_WAIT_POLICY \$GOMP_SPINCOUNT \$OMP_PROC_BIND" >policy
# the sixth field of stat is the session
[ "\$(sed 's/.*) //' /proc/\$\$/stat | cut -d' ' -f4)" = \$\$ ] && echo own >session || echo shared >session
exec $(dirname "$TENSORC")/tensorc-worker
END
chmod +x tells.sh
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=12 OMP_PROC_BIND=close
runs "a worker that tells" env TENSORC_WORKER=./tells.sh "$TENSORC" -O tune --db=tells.db --trials=1 -c conv.tensor \
    -o tells.o
is "$(cat policy session)" "passive 12 close
own" "waits as it is told, in a session of its own"
runs "a command that tells" "$TENSORC" -O tune --db=tells2.db --trials=1 --runner='exec ./tells.sh' -c conv.tensor \
    -o tells.o
is "$(cat policy session)" "passive 12 close
shared" "does so in the session of the compiler"
unset OMP_WAIT_POLICY GOMP_SPINCOUNT OMP_PROC_BIND

fails "a command that does not answer" 'it has not answered for [0-9]*(\.[0-9]*)? s$' \
    "$TENSORC" --budget=3 --runner='exec sleep 1000'
fails "a command that writes something else" "what it answers is not what tensorc-worker .*: 'Welcome to .x1B'\$" \
    "$TENSORC" --runner='printf "Welcome to \033\n"; exec cat'
fails "a command that says much" 'the worker exited with status 4; it wrote: 3 [|] 4 [|] 5 [|] .* [|] 12$' \
    "$TENSORC" --runner='seq 1 12 >&2; exit 4'
# The worker of this machine is not at fault where the time is short.
cat >slow.sh <<END
#!/bin/sh
exec sleep 1000
END
chmod +x slow.sh
runs "a worker that had no time to start" env TENSORC_WORKER=./slow.sh "$TENSORC" -O tune --budget=1 --trials=3 \
    --db=slow.db -c conv.tensor -o slow.o
like "$(cat err)" 'warning: layer is not tuned for host: there was no time to start the worker$' "has a warning"
ok "the default is emitted then" test -s slow.o

# --- while it searches: lines in a log now and then, one that ticks on a terminal, also when no trial ends
"$TENSORC" -O tune --threads=1 --budget=3 --progress=0.2 --db=log.db -c conv.tensor -o log.o 2>log.err
[ "$(grep -c '^tensorc: tuning layer: [0-9]*/200 trials.*, [0-9]* s' log.err)" -ge 3 ]
report $? "a log has lines about a search" || diag_file log.err
unlike "$(cat log.err)" "$(printf '[\033\r]')" "and nothing that is for terminals"
worker=$(dirname "$TENSORC")/tensorc-worker
if have script; then
    cat >ticks.sh <<END
exec "$TENSORC" -O tune --threads=1 --budget=5 --db=ticks.db \
    --runner="timeout -s STOP 1 $worker" -c conv.tensor -o ticks.o
END
    script -qec "sh ./ticks.sh" /dev/null >ticks.out 2>&1 </dev/null
    [ "$(tr '\r' '\n' <ticks.out | sed -n 's/.*tuning layer: .*trials.*, \([0-9]*\) s.*/\1/p' | sort -u | wc -l)" -ge \
        3 ]
    report $? "a terminal has one that ticks while a worker stands still" || diag_file ticks.out
else
    skip "there is no script here"
fi

# A machine that cannot run anything this time: the code is that of -O2, and nothing is written down.
small_product small.tensor
sed 's/M=48, K=40, N=64/M=2000000, K=2000000, N=2000000/' small.tensor >large.tensor
unmeasured() {
    unmeasured_name=$1 unmeasured_said=$2; shift 2
    rm -f none.db
    runs "$unmeasured_name: compiles" env "$@" -v -O tune --db=none.db --trials=4 -o none.o
    like "$(cat err)" "^tensorc: warning: product is not tuned( for host)?: $unmeasured_said" \
        "$unmeasured_name: says why"
    like "$(cat err)" '^tensorc: product: scheduled by the default' "$unmeasured_name: by the default"
    is "$("$TENSORC" db export --db=none.db | grep -c '^outcome')" 0 "$unmeasured_name: nothing is recorded"
    runs "$unmeasured_name: -O2" env "$@" -O2 --db=none.db -o default.o
    same none.o default.o "$unmeasured_name: gives the same"
}
unmeasured "arguments larger than memory" 'its arguments take .* GB, for which a memory of .* GB is too small' \
    "$TENSORC" -c large.tensor
unmeasured "too many threads" 'the machine does not have that many threads' "$TENSORC" --threads=1000000 -c small.tensor
unmeasured "too many threads of the environment" 'the machine does not have that many threads' \
    OMP_NUM_THREADS=100000 "$TENSORC" -c small.tensor

# What it had measured well stays, and records of failures alone are no reason to measure nothing.
runs "a search" "$TENSORC" -O tune --db=kept.db --trials=4 -c small.tensor -o kept.o
"$TENSORC" db export --db=kept.db >kept.txt
runs "another, on a machine without threads" \
    env OMP_NUM_THREADS=100000 "$TENSORC" -O tune --db=kept.db --trials=8 -c small.tensor -o broken.o
"$TENSORC" db export --db=kept.db >broken.txt
same kept.txt broken.txt "the records are as they were"
same kept.o broken.o "and so is the object"
sed 's/^outcome ok/outcome crash/; s/^seconds .*/seconds 0/' kept.txt >crashes.txt
runs "records of crashes" "$TENSORC" db import --db=crashes.db crashes.txt
runs "are searched again" "$TENSORC" -v -O tune --db=crashes.db --trials=4 -c small.tensor -o again.o
like "$(cat err)" 'tuned product: 4 trials in [^,]*, each built in ' "all of them"
like "$(cat err)" '^tensorc: product: scheduled by tuning' "with a result"
runs "failures do not replace results" "$TENSORC" db import --db=kept.db crashes.txt
"$TENSORC" db export --db=kept.db >broken.txt
same kept.txt broken.txt "when they are imported"

# --search and --cost-model: every name of the lists works.
for name in $("$TENSORC" --search=help | awk '{print $1}'); do
    tune --trials=3 --search="$name" --db="$work/search-$name.db" -c conv.tensor -o s.o
    is "$status" 0 "--search=$name" || diag_file err
done
for name in $("$TENSORC" --cost-model=help | awk '{print $1}'); do
    tune --trials=3 --cost-model="$name" --db="$work/model-$name.db" -c conv.tensor -o s.o
    is "$status" 0 "--cost-model=$name" || diag_file err
done

# The object is the same for the same input, database and seed, and what cannot be measured says so.
tune --trials=3 --target=aarch64 -c conv.tensor -o arm.o
is "$status" 0 "a target that does not run here compiles"
like "$(cat err)" 'warning: layer is not tuned for aarch64' "and says that it was not tuned"
cat >symbolic.tensor <<'END'
def scale(float(N) x) -> (y) { y(i) = x(i) * 2 }
END
tune --trials=3 -c symbolic.tensor -o symbolic.o
is "$status" 0 "run-time sizes compile"
like "$(cat err)" 'warning: scale is not tuned' "and say that they were not tuned"
done_testing
