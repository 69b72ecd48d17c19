#!/bin/sh
# sharing.t - what functions, algorithms and targets share of -O tune: trials, worker processes, records of other
# machines.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >defs.tensor <<'END'
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
def scale(float(N) x) -> (y) { y(i) = x(i) * 2 }
END
{ cat defs.tensor; echo 'export matmul(M=48, K=40, N=64) as product'; } >one.tensor
tune() { capture "$TENSORC" -O tune --threads=1 --seed=7 "$@"; }
# trials FUNCTION: how many its search says that it had.
trials() { sed -n "s/^tensorc: tuned $1: \([0-9]*\) trials* .*/\1/p" err; }

# --- trials
tune --trials=4 --target=host,aarch64 --db=targets.db -c one.tensor -o targets.o
is "$status $(trials product)" "0 4" "a target that is not measured takes no trials from the other" || diag_file err
{
    cat one.tensor
    echo 'export matmul(M=8, K=4, N=16) as fixed'
    echo 'schedule fixed on x86 { unroll(C.r_k) }'
} >block.tensor
tune --trials=4 --db=block.db -c block.tensor -o block.o
is "$status $(trials product)" "0 4" "nor does a function whose block leaves nothing to choose" || diag_file err
{ cat defs.tensor; echo 'export scale(N=4) as small export matmul(M=48, K=40, N=64) as product'; } >small.tensor
tune --trials=40 --db=small.db -c small.tensor -o small.o
[ "$(trials small)" -lt 20 ]
report $? "a small space is searched with few trials ($(trials small))" || diag_file err
is "$(($(trials small) + $(trials product)))" 40 "the next function has those that are left" || diag_file err
tune --trials=40 --db=small.db -c small.tensor -o again.o
is "$status $(cat err)" "0 " "and nothing is left to be done" || diag_file err
same small.o again.o "the same object"

# --- budgets: one that was spent is done, until there is more of it
tune --budget=4 --trials=100000 --db=spent.db -c one.tensor -o spent.o
like "$(cat err)" 'tuned product: ' "a budget is spent"
tune --budget=4 --trials=100000 --db=spent.db -c one.tensor -o again.o
is "$status $(cat err)" "0 " "the same one again is known" || diag_file err
same spent.o again.o "to the same object"
{ cat one.tensor; echo 'export scale(N=4) as small'; } >two.tensor
tune --budget=4 --trials=100000 --db=spent.db -c two.tensor -o two.o
is "$status $(grep -c 'tuned product' err) $(grep -c 'tuned small' err)" "0 0 1" \
    "what is new in the source is searched for" ||
    diag_file err
[ "$(sed -n 's/^tensorc: tuned small: .* in \([0-9]*\)[0-9.]* s.*/\1/p' err)" -le 2 ]
report $? "with its share of the budget" || diag_file err
{ cat defs.tensor; echo 'export scale(N=4) as small'; } >only.tensor
tune --budget=4 --trials=100000 --db=spent.db -c only.tensor -o only.o
is "$status $(cat err)" "0 " "without the other function nothing is left to be done" || diag_file err
tune --budget=4 --trials=100000 --seed=8 --db=spent.db -c two.tensor -o two.o
is "$status $(cat err)" "0 " "nor is with another seed" || diag_file err
tune --budget=6 --trials=100000 --db=spent.db -c one.tensor -o more.o
like "$(cat err)" 'tuned product: .*, after [0-9]+ in the database' "a larger one goes on"

# --- inputs: given to each function that has them and that they fit; the interpreter computes with the same
cat >make.tensor <<'END'
def offsets(int32(R) from) -> (int32(R) row) { row(r) = 3 * r }
export offsets(R=9)
def far(int32(R) from) -> (int32(R) row) { row(r) = 100 * r }
export far(R=9)
END
"$TENSORC" -run make.tensor --output=row=row.npy >made 2>&1 # both write one: the last is kept
sed '/far/d' make.tensor >near.tensor
"$TENSORC" -run near.tensor --output=row=near.npy >made 2>&1
cat >picked.tensor <<'END'
def picked(int32(R) row, float(N) val) -> (y) { y(r) +=! val(row(r) + k) where k in 0:4 }
END
{ cat picked.tensor defs.tensor; echo 'export picked tune (R=9, N=32), (R=5, N=32) export scale(N=32) as other'; } \
    >inputs.tensor
tune --trials=6 --input=row=near.npy --db=inputs.db -c inputs.tensor -o inputs.o
is "$status" 0 "a search takes what arguments hold from files" || diag_file err
unlike "$(cat err)" 'wrong' "and nothing is wrong"
is "$(grep -c 'random contents' err) $(grep 'random contents' err)" \
    "1 tensorc: picked.R5.N32 is measured with random contents \
where a file does not fit: 'near.npy' as row: its shape is (9,), but (5,) is needed" \
"a function that they do not fit is named"
"$TENSORC" db export --db=inputs.db >inputs.txt
is "$(grep -c '^inputs [0-9a-f]*$' inputs.txt)" \
    "$(awk '/^function picked.R9/ { n++ } END { print n + 0 }' inputs.txt)" \
    "records of the function that they fit say so ($(grep -c "^inputs" inputs.txt))" || diag_file inputs.txt
tune --trials=6 --input=row=near.npy --db=inputs.db -c inputs.tensor -o again.o
unlike "$(cat err)" 'tuned picked' "the same are not searched with again"
sed 's/3 \* r/2 * r/' near.tensor >other.tensor
"$TENSORC" -run other.tensor --output=row=other.npy >made 2>&1
tune --trials=6 --input=row=other.npy --db=inputs.db -c inputs.tensor -o other.o
like "$(cat err)" 'tuned picked.R9.N32: [0-9]+ trials? in' "others are"
tune --trials=6 --db=inputs.db -c inputs.tensor -o random.o
like "$(cat err)" 'tuned picked.R9.N32: [0-9]+ trials? in [0-9.]+ s[,;] (each|[0-9])' \
    "random ones are, too: other results do not count" ||
    diag_file err
is "$("$TENSORC" db export --db=inputs.db | grep '^inputs' | sort -u | wc -l | tr -d ' ')" 2 "and stay"
tune --trials=6 --db=inputs.db -c inputs.tensor -o again.o
unlike "$(cat err)" 'tuned picked' "all are searched with once"
same random.o again.o "to the same object"
tune --trials=6 --input=row=near.npy --db=inputs.db -c inputs.tensor -o again.o
unlike "$(cat err)" 'tuned picked' "also the first ones"
same inputs.o again.o "to their object"
"$TENSORC" db ls --db=inputs.db >listed
is "$(grep -c 'Z  [0-9a-f-]* *picked.R9.N32 ' listed) $(awk '/picked.R9/ { print $9 }' listed | sort -u | wc -l |
    tr -d ' ')" "3 3" \
    "db ls has a line for each" || diag_file listed
tune --trials=6 --input=row=row.npy --db=far.db -c inputs.tensor -o far.o
is "$status $(cat err)" "1 tensorc: error: picked.R9.N32 cannot be tuned: the inputs that are given, 'row.npy' as row: \
0 <= row(r) + k < N, but not for r = 1, k = 0, where row is 100" "indices out of range: an error, with the place"
tune --trials=6 --input=y=row.npy --db=far.db -c inputs.tensor -o far.o
is "$status $(cat err)" \
    "1 tensorc: error: y of picked has no contents before the call: it is a result that is not inout" \
    "a result takes no contents"
tune --trials=6 --input=from=row.npy --db=far.db -c inputs.tensor -o far.o
is "$status $(cat err)" "1 tensorc: error: no argument of a function that is searched for is called 'from'" \
    "nor is there an argument of another name"
tune --trials=6 --input=x=near.npy --db=far.db -c inputs.tensor -o far.o
like "$status $(cat err)" "^1 tensorc: error: cannot read 'near.npy' as x of other: .*float" "a type that does not fit"
sed 's/(R=9, N=32), //' inputs.tensor >five.tensor
tune --trials=6 --input=row=near.npy --db=far.db -c five.tensor -o far.o
is "$status $(cat err)" \
    "1 tensorc: error: cannot read 'near.npy' as row of picked: its shape is (9,), but (5,) is needed" \
    "a shape that fits none"

# Random ends of rows say little about the time of real ones.
echo 'def bag(float(T) x, int32(R) row) -> (y) { y(r) +=! x(p) where r in 0:R-1, p in row(r):row(r + 1) }
    export bag(T=64, R=9)' >bag.tensor
random='bag is measured with random contents of row, .*: --input=row=FILE.npy gives real ones'
tune --trials=2 --db=bag.db -c bag.tensor -o bag.o
like "$status $(cat err)" "^0 tensorc: $random" "random contents that decide how many terms there are are said"
tune --trials=2 --db=bag.db --input=row=near.npy -c bag.tensor -o bag.o
unlike "$status $(cat err)" "random" "given ones are not"

# --- mistakes in what -run is to do after a search: said before it
rm -f early.db
for option in --output=none=none.npy --output=x=x.npy --input=none=near.npy --input=x=near.npy --output=C=none/C.npy; do
    tune --trials=6 --db=early.db -run small.tensor $option
    echo "$status $(cat err)"
done >said
cat >wanted <<'END'
1 tensorc: error: no result is called 'none'
1 tensorc: error: no result is called 'x'
1 tensorc: error: no argument is called 'none'
1 tensorc: error: cannot read 'near.npy' as x of small: it holds '<i4', but '<f4' (float) is needed
1 tensorc: error: cannot write 'none/C.npy': No such file or directory
END
sed -i 's/: save array.*//' said # the hint, which has a test of its own
same wanted said "mistakes in files of -run are said" || diag_file said
{ cat defs.tensor; echo 'export scale(N=4) as small export matmul tune (M=8, K=4)'; } >sizes.tensor
tune --trials=6 --db=early.db -run sizes.tensor
like "$status $(cat err)" '^1 tensorc: error: matmul: -run needs the size N' "and sizes that are missing"
[ ! -f early.db ]
report $? "before anything is searched"
runs "a run that makes an input" "$TENSORC" -O2 --threads=1 --db=none.db -run small.tensor --output=y=x.npy
tune --trials=6 --db=early.db -run small.tensor --input=x=x.npy --output=C=C.npy
is "$status" 0 "a search and a run" || diag_file err
[ -s C.npy ]
report $? "with its result"

# --- workers
worker=$(dirname "$TENSORC")/tensorc-worker
cat >counted.sh <<END
echo started >>count
exec "$worker"
END
cat >algorithms.tensor <<'END'
import "nn"
export conv2d_nhwc(N=1, H=10, W=10, C=8, M=16, KH=3, KW=3, P=1) as layer
END
tune --trials=6 --runner="sh ./counted.sh" --db=workers.db -ffp-error=1e-4 -c algorithms.tensor -o workers.o
is "$status $(wc -l <count | tr -d ' ')" "0 1" "the searches for all algorithms of a function share a worker" ||
    diag_file err
like "$(cat err)" 'trials of 3 algorithms in ' "of which there are several"
tune --trials=6 --runner="sh ./counted.sh" --db=workers.db -ffp-error=1e-4 -c algorithms.tensor -o again.o
is "$status $(wc -l <count | tr -d ' ')" "0 1" "what is known needs none" || diag_file err
same workers.o again.o "and is the same object"
"$TENSORC" db export --db=workers.db >workers.txt
"$TENSORC" db import --db=imported.db workers.txt >imported
"$TENSORC" db ls --db=imported.db >listed
like "$(cat listed)" '^[0-9a-f]+ .* [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z +- +layer +conv2d_nhwc +algorithms.tensor$' \
    "db ls says when, for which function and by what file each was measured" || diag_file listed
tune -v --trials=6 --db=imported.db -ffp-error=1e-4 -c algorithms.tensor -o again.o
like "$(cat err)" 'layer: found in the tuning database' "records that were imported are enough"
same workers.o again.o "to the same object, too"
"$TENSORC" db prune --db=workers.db >pruned
tune --trials=6 --runner="sh ./counted.sh" --db=workers.db -ffp-error=1e-4 -c algorithms.tensor -o again.o
like "$(cat err)" 'tuned layer[,:].* trials? of .* algorithms in' "what was removed is searched for again"

# --- records of another machine, for which nothing can be measured here
"$TENSORC" -O2 --threads=1 --target=cortex-a53 --db=none.db -c one.tensor -o default.o
"$TENSORC" db export --db=targets.db | sed 's/^target .*/target cortex-a53/' >foreign.txt
"$TENSORC" db import --db=foreign.db foreign.txt >imported
runs "-O2 takes a record for another processor" "$TENSORC" -O2 --threads=1 --target=cortex-a53 --db=foreign.db \
    -c one.tensor -o foreign.o
tune --trials=4 --target=cortex-a53 --db=foreign.db -c one.tensor -o tuned.o
is "$status $(cat err)" "0 " "-O tune takes it, too, where it cannot measure" || diag_file err
same foreign.o tuned.o "to the same object"
! cmp -s foreign.o default.o
report $? "which is not that of the default"
done_testing
