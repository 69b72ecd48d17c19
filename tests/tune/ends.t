#!/bin/sh
# ends.t - searches that are ended from outside leave nothing behind; databases that cannot be used or written say what
# to do.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

small_product k.tensor
measured() { "$TENSORC" db export --db="$1" 2>/dev/null | grep -c '^outcome'; }
# begin NAME TRIALS: a search in the background, with some results in its database.
begin() {
    "$TENSORC" -O tune --threads=1 --db="$1.db" --trials="$2" -c k.tensor -o "$1.o" 2>"$1.err" &
    search=$!
    waited=0
    while [ "$(measured "$1.db")" -lt 3 ] && [ "$waited" -lt 6000 ] && kill -0 "$search" 2>/dev/null; do
        waited=$((waited + 1))
        sleep 0.1
    done
    helpers=$(cat "/proc/$search/task/$search/children" 2>/dev/null)
}
# helpers_end: waits until none of its processes runs any more; those that nobody has reaped are none.
helpers_end() {
    waited=0
    for helper in $helpers; do
        while grep -q '^State:[[:space:]]*[^ZX]' "/proc/$helper/status" 2>/dev/null; do
            waited=$((waited + 1))
            [ "$waited" -lt 2000 ] || return 1
            sleep 0.05
        done
    done
}
# only NAME WHAT...: there are no files of it but these.
only() {
    only_name=$1; shift
    is "$(find . -name "*$only_name*" -o -name '.tensorc-*' | sort | tr '\n' ' ')" "$(printf './%s ' "$@")" \
        "$only_name: no other file is left"
}

# ignored SIGNAL: whether this test was started, by nohup say, so that its processes ignore it.
ignored() { sh -c "kill -$1 \$\$"; }

for name in TERM HUP; do
    if ignored $name 2>/dev/null; then
        skip "SIG$name is ignored here" 7
        continue
    fi
    begin $name 100000
    [ -n "$helpers" ] || [ ! -r "/proc/$$/task/$$/children" ]
    report $? "SIG$name: a search has processes of its own"
    kill -$name $search
    wait $search
    is "$?" 0 "SIG$name ends it well" || diag_file $name.err
    ok "SIG$name: its processes have ended" helpers_end
    like "$(cat $name.err)" '^tensorc: tuned product: .*; stopped early$' "SIG$name: it says so"
    only $name $name.db $name.err $name.o
    runs "SIG$name: what was found is kept" "$TENSORC" -O2 --threads=1 --db=$name.db -c k.tensor -o again
    same $name.o again "SIG$name: and is what was compiled"
done

{ cat k.tensor; echo 'export matmul(M=40, K=48, N=56) as second'; } >both.tensor
"$TENSORC" -O tune --threads=1 --trials=100000 --db=both.db -c both.tensor -o both.o 2>both.err &
search=$!
waited=0
while [ "$(measured both.db)" -lt 3 ] && [ "$waited" -lt 6000 ]; do waited=$((waited + 1)); sleep 0.1; done
kill -TERM $search
wait $search
is "$(grep -c '^tensorc: tuned [a-z]*: .*; stopped early$' both.err)" 2 \
    "functions that are searched together each have their best" || diag_file both.err
runs "it is kept" "$TENSORC" -O2 --threads=1 --db=both.db -c both.tensor -o again
same both.o again "and is what was compiled"

begin killed 100000
kill -KILL $search
wait $search 2>/dev/null
ok "killed: its processes end by themselves" helpers_end
runs "killed: the database is whole" "$TENSORC" -O tune --threads=1 --tune-frozen --db=killed.db -c k.tensor -o again
# What was written when it was killed may have left SQLite's journal, which the next one to write takes away.
runs "killed: its records are read" "$TENSORC" db export kept.text --db=killed.db
runs "killed: and it takes others" "$TENSORC" db import kept.text --db=killed.db
only killed killed.db killed.err

# What a shell starts in the background it protects from Ctrl-C.
begin ignoring 30
kill -INT $search 2>/dev/null
wait $search
is "$?" 0 "a search that ignores Ctrl-C"
unlike "$(cat ignoring.err)" 'stopped early' "goes on to its end"

# A runner's processes end with the search, also what it started itself and what never reads.
"$TENSORC" -O tune --threads=1 --trials=3 --runner='echo $$ >group; sleep 1000; true' --db=orphan.db -c k.tensor \
    -o orphan.o \
    2>orphan.err &
search=$!
waited=0
while [ ! -s group ] && [ "$waited" -lt 600 ]; do waited=$((waited + 1)); sleep 0.1; done
while ! grep -q 'waiting for the runner' orphan.err && [ "$waited" -lt 600 ]; do waited=$((waited + 1)); sleep 0.1; done
like "$(cat orphan.err)" "^tensorc: waiting for the runner 'echo" "who waits for a runner says so"
helpers=
for process in /proc/[0-9]*; do
    # the fifth field of stat is the process group
    [ "$(sed 's/.*) //' "$process/stat" 2>/dev/null | cut -d' ' -f3)" = "$(cat group)" ] &&
        helpers="$helpers ${process#/proc/}"
done
[ "$(echo $helpers | wc -w)" -ge 2 ]
report $? "a runner has processes of its own"
kill -KILL $search
wait $search 2>/dev/null
ok "which end with a search that is killed" helpers_end

# --- the machine's lock
mkdir runtime
locks=runtime/tensorc-$(id -u)
locked() { env XDG_RUNTIME_DIR="$PWD/runtime" "$TENSORC" -O tune --threads=1 --trials=2 -c k.tensor -o locked.o "$@"; }
runs "a search makes a folder for its locks" locked --db=locked1.db
is "$(stat -c '%A' $locks) $(ls $locks | tr '\n' ' ')" "drwx------ device.lock gate.lock " "of its user alone"
if have flock; then
    for lock in device gate; do
        flock $locks/$lock.lock sleep 1000 &
        holder=$!
        while flock -n $locks/$lock.lock true; do sleep 0.1; done
        runs "a search ends in its time while another process holds the $lock" locked --db=locked2.db --budget=2
        like "$(cat err)" "^tensorc: waiting for another process of this user .*runtime/tensorc" \
            "and says what it waits for"
        for child in $(cat "/proc/$holder/task/$holder/children"); do kill "$child"; done
        wait $holder 2>/dev/null
    done
else
    skip "no flock here" 4
fi
rm -rf $locks
mkdir elsewhere
echo kept >elsewhere/victim
mkdir -m 700 $locks
ln -s "$PWD/elsewhere/victim" $locks/device.lock
ln -s "$PWD/elsewhere/new" $locks/gate.lock
runs "a lock that leads elsewhere" locked --db=locked3.db
like "$(cat err)" "^tensorc: warning: measurements are not kept apart from those of other processes: \
'.*runtime/tensorc-[0-9]*': .*symbolic links$" \
    "is gone around with a word"
is "$(ls elsewhere) $(cat elsewhere/victim)" "victim kept" "and nothing happens there"
rm -rf $locks
mkdir -m 777 $locks
chmod 777 $locks
: >$locks/device.lock
runs "a folder that others can enter is not used" locked --db=locked4.db
is "$(ls $locks)" "device.lock" "and stays as it is"

# --- limits
(
    ulimit -n 80
    exec "$TENSORC" -O tune --jobs=100 --threads=1 --trials=3 --db=few.db -c k.tensor -o few.o
) 2>few.err
is "$?" 0 "more jobs than files may be open"
like "$(cat few.err)" \
    '^tensorc: warning: [0-9]+ candidates are built at once, not 100: a process may have 80 files open' \
    "are fewer, and it says so"
runs "as many jobs as there are numbers" "$TENSORC" -O tune --jobs=2147483647 --threads=1 --trials=3 --db=few.db \
    -c k.tensor -o few.o
like "$(cat err)" '^tensorc: warning: [0-9]+ candidates are built at once, not 2147483647' "are fewer, too"

# --- databases
runs "a database" "$TENSORC" -O tune --threads=1 --trials=2 --db=good.db -c k.tensor -o good.o
cp good.db newer.db
printf '\000\000\000\011' | dd of=newer.db bs=1 seek=60 conv=notrunc 2>/dev/null
echo 'a text of somebody' >text.db
mkdir folder.db
for name in newer text folder; do
    [ $name = folder ] || cp $name.db $name.before
    exits 1 "$name: -O tune refuses it" "$TENSORC" -O tune --threads=1 --trials=2 --db=$name.db -c k.tensor -o refused.o
    like "$(cat err)" "^tensorc: error: cannot use the tuning database '$name.db': .*; name another with --db=FILE$" \
        "$name: and does not say that it may be deleted"
    runs "$name: -O2 goes on" "$TENSORC" -O2 --threads=1 --db=$name.db -c k.tensor -o plain.o
    like "$(cat err)" "^tensorc: warning: .*; compiling without it .name another with --db=FILE.$" \
        "$name: with a warning"
    [ $name = folder ] || same $name.db $name.before "$name: it is left as it is"
done

# Without a home there is no place for a database that is not named: the current folder is none.
for variables in '-u HOME' 'HOME='; do
    without="env -u TENSORC_DB -u XDG_DATA_HOME $variables"
    mkdir homeless && cd homeless
    runs "$variables: -O2 compiles" $without "$TENSORC" -O2 --threads=1 -c ../k.tensor -o ../k.o
    exits 1 "$variables: -O tune needs a database" \
        $without "$TENSORC" -O tune --trials=2 --threads=1 -c ../k.tensor -o ../k.o
    like "$(cat ../err)" 'HOME is not set; name one with --db=FILE' "$variables: and says so"
    exits 1 "$variables: so does tensorc db" $without "$TENSORC" db ls
    is "$(ls -A)" "" "$variables: nothing is left in the current folder"
    cd .. && rm -rf homeless
done

# Only the first page is whole: what cannot be read is not there.
head -c 4096 good.db >holed.db
tail -c +4097 good.db | tr '\000-\377' '\377' >>holed.db
runs "-O2 goes on with a database that is damaged inside" "$TENSORC" -O2 --threads=1 --db=holed.db -c k.tensor \
    -o holed.o
like "$(cat err)" '^tensorc: warning: a record of the tuning database could not be read, .*, delete the file, ' \
    "with a warning"
exits 1 "-O tune refuses it" "$TENSORC" -O tune --threads=1 --trials=2 --db=holed.db -c k.tensor -o refused.o
exits 1 "so does --tune-frozen" "$TENSORC" -O tune --tune-frozen --threads=1 --db=holed.db -c k.tensor -o refused.o

# Who reads the first lines alone has them without a word: here before anything is written nobody reads any more.
{
    until [ -e unread ]; do sleep 0.1; done
    "$TENSORC" db export --db=good.db 2>unread.err
    echo $? >>unread.err
} | { exec 0<&-; : >unread; }
is "$(cat unread.err)" "0" "an export that is not read to its end says nothing"

# --- what cannot be written is refused before a search
mkdir folder.o
# refused PATH OPTION...: nothing was searched for, nothing is left.
refused() {
    refused_path=$1; shift
    rm -f paths.db*
    exits 1 "$*: refused" "$TENSORC" -O tune --threads=1 --trials=1000000 --db=paths.db -c k.tensor "$@"
    is "$(cat err)" "$(sed "s|PATH|$refused_path|" wanted)" "$*: in one line"
    [ ! -e paths.db ]
    report $? "$*: before anything is searched for"
}
echo "tensorc: error: cannot write 'PATH': No such file or directory" >wanted
refused nowhere/k.o -o nowhere/k.o
refused nowhere/k.h -o k.o --header nowhere/k.h
refused nowhere/k.d -o k.o -MD -MF nowhere/k.d
refused nowhere/found -o k.o --emit-schedule=nowhere/found
echo "tensorc: error: cannot write 'PATH': Is a directory" >wanted
refused folder.o -o folder.o
is "$(find . -name '.tensorc-*' -o -path './folder.o/*')" "" "no file is left"

# Files may not grow beyond a database of one result, as on a full disk. Shells count blocks of 512 or 1024 bytes.
"$TENSORC" -O tune --threads=1 --trials=1 --db=one.db -c k.tensor -o one.o 2>/dev/null
sh -c 'ulimit -f 1 && dd if=/dev/zero of=block bs=512 count=4' 2>/dev/null || :
(
    ulimit -f $(($(wc -c <one.db) / $(wc -c <block)))
    exec "$TENSORC" -O tune --threads=1 --trials=30 --db=full.db -c k.tensor -o full.o
) 2>full.err
is "$?" 0 "a search whose database has no room for its results" || diag_file full.err
like "$(cat full.err)" 'warning: the tuning database cannot be written: [0-9]+ measurements are not kept' "says so"
ok "and compiles what it found" test -s full.o
runs "later there is room" "$TENSORC" -O tune --threads=1 --trials=30 --db=full.db -c k.tensor -o full.o
[ "$(measured full.db)" -ge 25 ]
report $? "and nothing was damaged ($(measured full.db) results)"
done_testing
