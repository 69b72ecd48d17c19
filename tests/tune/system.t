#!/bin/sh
# system.t - searches on a system that lacks something: /proc, or now and then room for one more process.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
make_failing

small_product k.tensor
search() { capture "$TENSORC" -v -O tune --threads=1 --jobs=2 -c k.tensor "$@"; }
# results_of FILE: of each record of an export that is ok a line "SCHEDULE|SECONDS", in order of the schedules.
results_of() {
    awk '/^$/ { if (ok && text) print text "|" seconds; text = ""; ok = 0; inside = 0 }
        /^outcome ok/ { ok = 1 } /^seconds/ { seconds = $2 }
        inside && !/#/ { text = text ";" $0 } /^schedule/ { inside = 1 }
        END { if (ok && text) print text "|" seconds }' "$1" | LC_ALL=C sort
}
export_of() { "$TENSORC" db export --db="$1.db" >"$1.txt" 2>/dev/null; results_of "$1.txt" >"$1.times"; }

# On a busy machine no two times may be sure enough for it.
ratio="(, [0-9.]* times the default's speed)?"

# --- without /proc
search -O0 -o plain.o
no_proc() { FAIL_PATH=/proc LD_PRELOAD=$failing search "$@"; }
no_proc --db=none.db --trials=4 -o none.o
is "$status" 0 "a search without /proc" || diag_file err
like "$(cat err)" "^tensorc: tuned product: 4 trials in [^,]*, each built in [^,]*$ratio\$" \
    "measures all"
like "$(cat err)" '^tensorc: product: scheduled by tuning$' "and takes the best"
is "$("$TENSORC" db export --db=none.db | grep '^outcome' | sort | uniq -c | tr -s ' ')" " 4 outcome ok" \
    "its records are results"
TENSORC_WORKER=/nowhere no_proc --db=none.db --trials=4 -o none.o
like "$(cat err)" '^tensorc: product: found in the tuning database$' "which are found again, without a worker"
search --db=kept.db --trials=4 -o kept.o
export_of kept
cp kept.db more.db
no_proc --db=more.db --trials=8 -o more.o
export_of more
is "$(cut -d'|' -f1 kept.times | while read -r schedule; do grep -cF "$schedule|" more.times; done | sort -u)" 1 \
    "no result is replaced by a failure"
is "$(wc -l <more.times)" 8 "others are added"
mkdir alone
cp "$TENSORC" alone/tensorc
(cd alone && FAIL_PATH=/proc LD_PRELOAD=$failing ./tensorc -v -O tune --threads=1 --trials=3 --db=alone.db \
    -c ../k.tensor -o k.o) 2>err
is "$?" 0 "without /proc and tensorc-worker" || diag_file err
like "$(cat err)" "^tensorc: tuned product: 3 trials in [^,]*, each built in [^,]*$ratio\$" \
    "the compiler is its own worker"

# --- no room for one more process now and then: what was measured is kept, and nothing slower than the default
# A worker that is killed at every 30th piece of what it is sent and builders at the 9th, so that others have to be
# started.
cat >dying.sh <<END
#!/bin/sh
unset FAIL_EACH FAIL_CHILD
export FAIL_NAME=read FAIL_AT=30 FAIL_KILL=1
exec "$(dirname "$TENSORC")/tensorc-worker"
END
chmod +x dying.sh
search --db=first.db --trials=1 -o first.o
export_of first
default=$(cut -d'|' -f1 first.times)
few() {
    TENSORC_WORKER=./dying.sh FAIL_CHILD=9 FAIL_NAME=fork FAIL_ERROR=11 FAIL_AT=$1 FAIL_EACH=$2 \
        LD_PRELOAD=$failing search --db=few.db --trials=12 --budget=20 --emit-schedule=few -o few.o
}
for at in 1 2 3 5; do
    for each in 2 3; do
        rm -f few.db few
        few $at $each
        is "$status" 0 "fork $at and each $each. after it fails" || diag_file err
        export_of few
        compiled=$(sed 's/C\.i/S0.x0/; s/C\.j/S0.x1/; s/C\.r_k/S0.r0/; s/(C,/(S0,/' few |
            awk '/^schedule/ { next } /^}/ { exit } !/#/ { text = text ";" $0 } END { print text }')
        was=$(grep -F -e "$default|" few.times | cut -d'|' -f2) now=$(grep -F -e "$compiled|" few.times | cut -d'|' -f2)
        awk -v was="${was:-0}" -v now="${now:-0}" 'BEGIN { exit !(was == 0 || now > 0 && now <= was) }'
        report $? "nothing slower than the default is kept: ${now:-unknown} beside ${was:-unknown}" || diag_file few.txt
        is "$(grep '^outcome' few.txt | grep -v -c ok)" 0 "and no failure is recorded" || diag_file few.txt
    done
done
done_testing
