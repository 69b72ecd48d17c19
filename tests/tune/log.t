#!/bin/sh
# log.t - --log=FILE of -O tune: a line of JSON for each candidate that was measured, added to what is there.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

small_product k.tensor
tune() { "$TENSORC" -O tune --threads=1 --seed=7 "$@"; }

runs "a search with a log" tune --trials=5 --db=one.db --log=log -c k.tensor -o k.o
"$TENSORC" db export --db=one.db >one.txt
is "$(grep -c '"event": "trial"' log)" "$(grep -c '^task' one.txt)" "has a line for each record" || diag_file log
is "$(sed -n 's/^{"event": "trial".* "trial": \([0-9]*\),.*}$/\1/p' log | sort -n | uniq | tr '\n' ' ')" \
    "$(sed -n 's/^trial //p' one.txt | sort -n | tr '\n' ' ')" "with its number"
like "$(cat log)" '"event": "race"' "and one for what was raced"
like "$(grep '"event": "looks"' log)" '"reference": [0-9.e-]*,' "and one for what a batch knows at its end"
is "$(sed -n 's/.*"event": "looks".* "trial": \([0-9]*\),.*/\1/p' log | sort | uniq -d)" "" "of each trial at most"
is "$(grep -c '^{"event": "[a-z]*", "task": "[0-9a-f]*", .*}$' log)" "$(wc -l <log | tr -d ' ')" "each is whole" ||
    diag_file log
like "$(cat log)" '"schedule": ".*\\u000a.*", "outcome": "ok", "seconds": [0-9.e-]*,' \
    "with its schedule in one line and its time"
like "$(cat log)" '"policy": "default", "model": "xgboost", "features"' "the default is not predicted"
like "$(cat log)" '"policy": "anneal", "model": "xgboost", "prediction": -?[0-9.e-]*, "features"' "what is proposed is"
unlike "$(cat log)" 'nan|inf[,}]' "what is not known is not there"
if have python3; then
    ok "it is JSON" python3 -c 'import json; [json.loads(line) for line in open("log")]'
else
    skip "no python3"
fi

cp log before
runs "another search" tune --trials=8 --db=one.db --log=log -c k.tensor -o k.o
head -n "$(wc -l <before)" log >start
same before start "adds to the log"
[ "$(wc -l <log)" -gt "$(wc -l <before)" ]
report $? "its own lines"
cp log before
runs "a search that has nothing to do" tune --trials=8 --db=one.db --log=log -c k.tensor -o k.o
same before log "adds none"

# --- errors, before the search
# refused LOG MESSAGE: -O tune refuses the log before it searches.
refused() {
    rm -f refused.db
    exits 1 "a log '$1'" tune --trials=2 --db=refused.db --log="$1" -c k.tensor -o k.o
    is "$(cat err)" "tensorc: error: $2" "is refused" || diag_file err
    [ ! -s refused.db ]
    report $? "before the search"
}
mkdir folder
refused folder "cannot write 'folder': Is a directory"
refused nowhere/log "cannot write 'nowhere/log': No such file or directory"
refused k.o "'k.o' is to be written twice"
refused k.tensor "the output 'k.tensor' is the input file 'k.tensor'"
refused refused.db "the output 'refused.db' is the tuning database 'refused.db'"
if [ -c /dev/full ]; then
    exits 1 "a log that is full" tune --trials=2 --db=full.db --log=/dev/full -c k.tensor -o full.o
    like "$(cat err)" "^tensorc: error: cannot write '/dev/full': No space left on device$" "is said"
    [ -s full.o ]
    report $? "after the search, which is complete"
else
    skip "no /dev/full" 3
fi
runs "without a search the log is not touched" "$TENSORC" -O2 --log=untouched --db=one.db -c k.tensor -o k.o
[ ! -e untouched ]
report $? "nor made"
done_testing
