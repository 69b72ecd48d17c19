#!/bin/sh
# reports.t - what tensorc db ls, show and stats say of records that are known: whose they are, in which order, how
# good.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
db() { "$TENSORC" db "$@" --db=one.db; }

# record TASK OUTCOME SECONDS STATEMENT LINE...
record() {
    printf 'task %s\ntarget znver4\nthreads 2\noutcome %s\nseconds %s\nspread 0\nrepeats 3\nseed 1\n' "$1" "$2" "$3"
    record_statement=$4; shift 4
    for line; do echo "$line"; done
    printf 'schedule\n    %s\n\n' "$record_statement"
}
whose() {
    printf 'date 2030-01-0%sT00:00:00Z\nfunction f\noperator matmul\nfile f.tensor\ndevice a box\n' "$1"
    echo 'toolchain tensorc 9'
}
{
    record aa11 ok 0.5 'unroll(S0.x0)' "$(whose 2)" 'trial 2' 'policy anneal:cold' 'model xgboost' 'prediction -1.5' \
        'operations 1000' 'peak 4000' 'wall 1.5' 'reference 1.25' 'switches 12' 'processor_part 0.875' 'steal 0.02' \
        'undisturbed 2'
    record aa11 crash 0 'vectorize(S0.x0)' "$(whose 3)" 'trial 3' 'why the run ended' 'policy anneal:cold' \
        'model xgboost' 'prediction 2'
    record aa11 ok 2 'parallel(S0.x0)' "$(whose 1)" 'trial 1' 'policy default' 'model xgboost' 'operations 1000' \
        'peak 4000' \
        'wall 2.5'
    record aa11 ok 4 'parallel(S0.x0)' "$(whose 4)" 'inputs cafe' 'trial 1'
    record aa22 ok 1 'unroll(S0.x0)'
    record bb33 ok 1 'unroll(S0.x0)' 'function 7'
} >one.txt
runs "records" "$TENSORC" db import --db=one.db one.txt

runs "ls" db ls
is "$(sed -n 2,3p out | tr -s ' ')" "aa11 znver4 2 3 1 0.5 50.0% 2030-01-03T00:00:00Z - f matmul f.tensor
aa11 znver4 2 1 0 4 - 2030-01-04T00:00:00Z cafe f matmul f.tensor" \
    "says whose they are, when, how fast, and how near to the peak"
is "$(sed -n 4p out | tr -s ' ')" "aa22 znver4 2 1 0 1 - - - - - -" "and nothing of what is not known"

runs "show" db show aa1
cat >wanted <<'END'
task      aa11
function  f (matmul) of f.tensor
target    znver4, threads 2, inputs -
device    a box
toolchain tensorc 9
 trial outcome            seconds    best so far   prediction    reference  undisturbed switches processor  steal  policy; model; why
     1 ok                       2              2            -            -            -        -         -      -  default; xgboost
     2 ok                     0.5            0.5         -1.5         1.25       2 of 3       12       88%     2%  anneal:cold; xgboost
     3 crash                    -            0.5            2            -            -        -         -      -  anneal:cold; xgboost; the run ended
best      0.5 s, 50.0% of the peak
unroll(S0.x0)

task      aa11
function  f (matmul) of f.tensor
target    znver4, threads 2, inputs cafe
device    a box
toolchain tensorc 9
 trial outcome            seconds    best so far   prediction    reference  undisturbed switches processor  steal  policy; model; why
     1 ok                       4              4            -            -            -        -         -      -  -; -
best      4 s, - of the peak
parallel(S0.x0)
END
same wanted out "gives the trials of a task in their order, and the best"
exits 1 "several tasks" db show aa
is "$(cat err)" "tensorc: error: several tasks of 'one.db' begin with 'aa'" "are too many"
exits 1 "no task" db show 'a*'
is "$(cat err)" "tensorc: error: no task of 'one.db' begins with 'a*'" "is said"
exits 2 "show without a task" db show
exits 2 "a word too many" db ls --bogus
like "$(cat err)" "db ls: unexpected '--bogus'; usage: tensorc db ls$" "it is named"

runs "stats" db stats
sed -i '/^bytes/d' out
cat >wanted <<'END'
records           6
tasks             3
first      2030-01-01T00:00:00Z
last       2030-01-04T00:00:00Z
trials          4.0 s
outcome           5  ok
outcome           1  crash
target            6  znver4
threads           6  2
policy            3  -
policy            2  anneal:cold
policy            1  default
model             3  -
model             3  xgboost
device            4  a box
device            2  -
toolchain         4  tensorc 9
toolchain         2  -
END
same wanted out "count what there is"

# --- exported, imported and merged: everything comes back
db export >export.txt
runs "another database" "$TENSORC" db import --db=two.db export.txt
runs "a third one" "$TENSORC" db merge --db=three.db two.db
"$TENSORC" db export --db=three.db >again.txt
same export.txt again.txt "has the same"
is "$(grep -c '^prediction -1.5$\|^policy anneal:cold$\|^wall 1.5$\|^peak 4000$' again.txt)" 6 "with all that is known"

# --- the program: understood by a reader, and checked against its task
cat >k.tensor <<'END'
def scale(half(N) x) -> (y) { y(i) = max(x(i), 0) * 2 }
export scale(N=8) as small
END
runs "a search" "$TENSORC" -O tune --threads=1 --trials=1 --target=host --db=k.db -c k.tensor -o k.o
"$TENSORC" db export --db=k.db >k.txt
like "$(cat k.txt)" \
    '^    S0 stage each <half,output,0,8:int64\(\)> = MUL:half\(MAX:half\(T0<half,input,0,8:int64\(\)>:half\(x0:int64' \
    "a record has its program" || diag_file k.txt
runs "by which it is shown" "$TENSORC" db show --db=k.db ''
like "$(cat out)" '^S0 stage each <half,output' "too"
runs "it is imported" "$TENSORC" db import --db=k2.db k.txt
"$TENSORC" db export --db=k2.db >k2.txt
same k.txt k2.txt "with its program"
sed 's/<half,input/<float,input/' k.txt >forged.txt
exits 1 "another program" "$TENSORC" db import --db=k3.db forged.txt
like "$(cat err)" "^tensorc: error: forged.txt:[0-9]*: the program is not that of the task$" "is refused"
done_testing
