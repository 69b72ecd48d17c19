#!/bin/sh
# records.t - records as text: what is imported comes back, what is refused is named with its line; and which of them
# -O2 takes.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
db() { "$TENSORC" db "$@"; }

cat >k.tensor <<'END'
def scale(float(N) x) -> (y) { y(i) = x(i) * 2 }
export scale(N=8) as small
END
runs "a search" "$TENSORC" -O tune --threads=1 --trials=1 --target=host --db=one.db -c k.tensor -o k.o
db export --db=one.db >one.txt
sed -n '/^task/p; /^target/p; /^threads/p' one.txt >key

# record OUTCOME SECONDS STATEMENT LINE...: one of this function.
record() {
    record_outcome=$1 record_seconds=$2 record_statement=$3; shift 3
    cat key
    printf 'outcome %s\nseconds %s\nspread 0\nrepeats 3\nseed 1\n' "$record_outcome" "$record_seconds"
    for line; do echo "$line"; done
    printf 'schedule\n    %s\n\n' "$record_statement"
}

# --- what is refused
record ok 1 'unroll(S0.x0)' >good.txt
# refused NAME MESSAGE: the text beside it, which stands after a good record.
refused() {
    { cat good.txt; cat; } >text.txt
    rm -f refused.db
    exits 1 "$1: refused" "$TENSORC" db import --db=refused.db text.txt
    is "$(cat err)" "tensorc: error: $2" "$1: said with its line"
    is "$(db export --db=refused.db | grep -c '^task')" 0 "$1: nothing is imported"
}
lines=$(wc -l <good.txt)
line() { echo "text.txt:$((lines + $1))"; }
refused "an unknown word" "$(line 1): unknown word 'speed'" <<END
speed 3
END
record ok fast 'unroll(S0.x0)' >bad.txt
refused "a time that is no number" "$(line 5): bad value of 'seconds'" <bad.txt
record good 1 'unroll(S0.x0)' >bad.txt
refused "an outcome that is none" "$(line 4): bad value of 'outcome'" <bad.txt
record ok 1 'unroll(S0.x0)' 'date 10000-01-01T00:00:00Z' >bad.txt
refused "a date after all dates" "$(line 9): bad value of 'date'" <bad.txt
record ok 1 'unroll(S0.x0)' 'date 0000-01-01T00:00:00Z' >bad.txt
refused "a date before all dates" "$(line 9): bad value of 'date'" <bad.txt
record ok 1 'unroll(S0.x0)' inputs >bad.txt
refused "a word without a value" "$(line 9): bad value of 'inputs'" <bad.txt
record ok 1 'unroll(S0.x0)' | sed '/^seed/d' >bad.txt
refused "a record without a seed" "$(line 10): the record lacks 'seed'" <bad.txt
sed '/^schedule/,$d' good.txt >bad.txt
refused "a record without a schedule" "$(line 9): the record lacks 'schedule'" <bad.txt
record ok 1 'unroll(S0.x0)' | sed 's/^    unroll/  unroll/' >bad.txt
refused "a statement that is not indented" "$(line 10): expected a statement of the schedule, indented by four blanks" \
    <bad.txt
record ok 0 'unroll(S0.x0)' >bad.txt
refused "a result without a time" "$(line 11): the outcome is ok, but there is no time" <bad.txt
record ok 1 "$(printf 'unroll(S0.x0)\033')" >bad.txt
refused "a control character" "$(line 11): a word of the record is not one" <bad.txt
printf 'task a\000b\n' >bad.txt
refused "a NUL byte" "$(line 1): a NUL byte" <bad.txt
# unread PATH MESSAGE: a file that cannot be read.
unread() {
    exits 1 "$1: cannot be imported" "$TENSORC" db import --db=refused.db good.txt "$1"
    is "$(cat err)" "tensorc: error: $2" "$1: says why"
    is "$(db export --db=refused.db | grep -c '^task')" 0 "$1: nothing is imported"
}
mkdir folder
unread folder "cannot read 'folder': Is a directory"
unread nowhere "cannot read 'nowhere': No such file or directory"
if [ -r /proc/self/mem ]; then
    unread /proc/self/mem "/proc/self/mem:1: cannot read on: Input/output error"
else
    skip "no file here fails while it is read" 3
fi
runs "an import" "$TENSORC" db import --db=two.db good.txt one.txt
is "$(cat out)" "2 records imported" "says how many there were"

# --- inputs: -O2 takes the records of those that were given last, for times on others cannot be compared
{
    record ok 1e-09 'unroll(S0.x0)'
    record ok 1e-08 'a, b = split(S0.x0, 2)' 'date 2030-01-01T00:00:00Z' 'inputs aaaa'
    record ok 1e-07 'a, b = split(S0.x0, 4)' 'date 2030-01-02T00:00:00Z' 'inputs bbbb'
} >inputs.txt
# takes DATABASE STATEMENT NAME: what -O2 takes of it.
takes() {
    rm -f found
    "$TENSORC" -O2 --threads=1 --target=host --db="$1" --emit-schedule=found -c k.tensor -o k.o
    like "$(cat found)" "$2" "$3" || diag_file found
}
runs "records on several inputs" "$TENSORC" db import --db=inputs.db inputs.txt
db export --db=inputs.db | sed '/^#/d; /^$/d' | sort >back.txt
sed '/^$/d' inputs.txt | sort >all.txt
same all.txt back.txt "stand beside each other"
takes inputs.db 'split.*4' "the last ones are taken, however fast the others are"
runs "pruned" "$TENSORC" db prune --db=inputs.db
is "$(cat out)" "0 records removed" "the best of each stays"
sed 's/2030-01-02/2029-01-02/' inputs.txt >older.txt
runs "an older date" "$TENSORC" db import --db=older.db older.txt
takes older.db 'split.*2' "makes others the last"
sed 's/split(S0.x0, 4)/split(S7.x0, 4)/' inputs.txt >foreign.txt
runs "a schedule that is none" "$TENSORC" db import --db=foreign.db foreign.txt
takes foreign.db 'unroll\(y\.i\)' "leaves random ones"
grep -v '^inputs\|^date' older.txt >random.txt
runs "without inputs" "$TENSORC" db import --db=random.db random.txt
takes random.db 'unroll\(y\.i\)' "the fastest is taken"

# --- names of files with bytes that no terminal should get: they are shown escaped, and come back
escape=$(printf '\033')
odd=$(printf 'x\033[31my\302\233z\377\\x41\\.tensor')
cp k.tensor "$odd"
runs "a search for a file of an odd name" "$TENSORC" -O tune --threads=1 --trials=1 --target=host --db=odd.db \
    -c "$odd" -o k.o
db ls --db=odd.db >out
is "$(tail -1 out | sed 's/.* //')" 'x\x1B[31my\u009Bz\xFF\x41\.tensor' "is listed" || diag_file out
db export --db=odd.db >odd.txt
is "$(grep '^file' odd.txt)" 'file x\x1B[31my\xC2\x9Bz\xFF\x5Cx41\.tensor' "and exported without them"
runs "the export is imported" "$TENSORC" db import --db=odd2.db odd.txt
runs "by merging, too" "$TENSORC" db merge --db=odd3.db odd2.db
db export --db=odd3.db >odd3.txt
same odd.txt odd3.txt "the same records"
"$TENSORC" -O tune --threads=1 --trials=1 --target=host --db=odd3.db --log=- -c "$odd" -o k.o 2>err >out
is "$status $(cat out err)" "0 " "which are known"
sed 's/^file .*/file x\\x00y/' odd.txt >nul.txt
exits 1 "a byte of 0 in it" "$TENSORC" db import --db=odd4.db nul.txt
is "$(cat err | sed 's/:[0-9]*:/:N:/')" "tensorc: error: nul.txt:N: bad value of 'file'" "is refused"
{ cat odd.txt; printf '    # \302\233\n'; } | sed '/^$/d' >control.txt
exits 1 "a control character in a schedule" "$TENSORC" db import --db=odd4.db control.txt
like "$(cat err)" 'a word of the record is not one$' "is refused" || diag_file err
unlike "$(cat odd.txt out)" "$escape" "nothing of it is raw"

# --- what cannot be written is said once
if [ -c /dev/full ]; then
    for command in ls stats export; do
        "$TENSORC" db $command --db=one.db >/dev/full 2>err
        is "$? $(sed 's/: [A-Z].*//' err)" "1 tensorc: error: cannot write 'standard output'" "db $command"
    done
fi
done_testing
