#!/bin/sh
# tasks.t - -O tune of a function of several tasks: equal ones are searched once, the next function is served by them.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >net.tensor <<'END'
def layer(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
def net(float(M, M) x, float(M, M) a, float(M, M) b, float(M, M) c) -> (y) {
    t = layer(x, a)
    u(i, j) = max(t(i, j), 0.0)
    v = layer(u, b)
    y(i, j) +=! v(i, r_k) * c(r_k, j)
}
export net(M=48)
END
cat >deep.tensor <<'END'
def deep(float(M, M) x, float(M, M) a, float(M, M) b, float(M, M) c, float(M, M) d) -> (y) {
    t(i, j) +=! x(i, r_k) * a(r_k, j)
    u(i, j) +=! t(i, r_k) * b(r_k, j)
    v(i, j) +=! u(i, r_k) * c(r_k, j)
    y(i, j) +=! v(i, r_k) * d(r_k, j)
}
export deep(M=48)
END
tune() { capture "$TENSORC" -O tune --threads=1 --seed=7 "$@"; }
# The trials of each task: as -v says, and as they are in the log.
said() { sed -n 's/^tensorc: task [^:]*: \([0-9]*\) trial.*/\1/p' "$1"; }
logged() { grep '"event": *"trial"' "$1" | grep -o '"task": "[^"]*"' | sort | uniq -c | awk '{ print $1 }'; }
events() { grep -c "\"event\": *\"$1\"" "$2"; }
tasks() { "$TENSORC" db ls "--db=$1" | grep -c -E '^[0-9a-f]{32}'; }

tune --trials=40 --log=trials.log --db=net.db -c net.tensor -o net.o
like "$(cat err)" '^tensorc: tuned net: 40 trials in ' "a function of three products is tuned" || diag_file err
is "$(grep -c 'tensorc: task' err)" 0 "of its tasks nothing is said without -v" || diag_file err
is "$(events trial trials.log)" 40 "each trial is in the log"
is "$(tasks net.db)" 3 "the records are of the function and of two tasks: two products are equal but for names" ||
    "$TENSORC" db ls --db=net.db | diag_file /dev/stdin
tune --trials=40 --db=net.db -c net.tensor -o again.o
is "$status $(cat err)" "0 " "and nothing is left to be done" || diag_file err
same net.o again.o "the same object"
runs "-O2 finds it" "$TENSORC" --threads=1 --db=net.db -c net.tensor -o found.o
same net.o found.o "the same object again"
runs "so does --tune-frozen" "$TENSORC" -O tune --threads=1 --tune-frozen --db=net.db -c net.tensor -o frozen.o
same net.o frozen.o "and takes the same"

# --- another function of the same products
capture "$TENSORC" -v --threads=1 --db=net.db -c deep.tensor -o deep.o
like "$(cat err)" 'deep: scheduled by the database' "-O2 schedules a function by the records of its tasks" ||
    diag_file err
runs "--tune-frozen takes them, too" "$TENSORC" -O tune --threads=1 --tune-frozen --db=net.db -c deep.tensor -o frozen.o
same deep.o frozen.o "the same object"
sed 's/M=48/M=40/' deep.tensor >other.tensor
exits 1 "but not where a task has none" "$TENSORC" -O tune --threads=1 --tune-frozen --db=net.db -c other.tensor -o no.o
runs "its results are right" "$TENSORC" -run --threads=1 --db=net.db deep.tensor
tune --trials=12 --log=again.log --db=net.db -c deep.tensor -o tuned.o
[ "$(events trial again.log)" -le 4 ]
report $? "what was tuned there is not searched again" || diag_file again.log
like "$(cat err)" 'tuned deep: [234] trials in .*, after [0-9]+ in the database' \
    "only what is put together is measured" || diag_file err

# --- the scheduler
capture "$TENSORC" --scheduler=help
like "$(cat out)" '^  round-robin ' "the schedulers are listed"
capture "$TENSORC" --scheduler=gradient:help
like "$(cat out)" '^  objective .*\(f3\)$' "and their settings"
exits 2 "an unknown one is refused" "$TENSORC" --scheduler=fair net.tensor
exits 2 "so is an unknown objective" "$TENSORC" --scheduler=gradient:objective=f9 net.tensor
like "$(cat err)" "'objective' is one of f1, f2, f3, f4" "with those that there are"
tune -v --trials=30 --scheduler=round-robin --log=turns.log --db=turns.db -c net.tensor -o turns.o
like "$(cat err)" 'tuned net: 30 trials' "tasks take turns" || diag_file err

# --- what is said of tasks
gain='[0-9.]+ [mun]s .*, [0-9.]+ times the default'
like "$(cat err)" "^tensorc: task net\.u: [0-9]+ trials; $gain" "-v says what became of a task" || diag_file err
like "$(cat err)" "^tensorc: task net\.v, 2 equal ones: [0-9]+ trials; $gain" "and how many equal ones it stands for" ||
    diag_file err
is "$(said err | sort -n | tr '\n' ' ')" "$(logged turns.log | sort -n | tail -n 2 | tr '\n' ' ')" \
    "with the trials of each that are in the log" || diag_file err
tune --trials=7 --log=few.log --db=few.db -c net.tensor -o few.o
is "$(logged few.log)" 7 "fewer than 4 trials for each task are all of the whole"

# --- functions of one file
cat >file.tensor <<'END'
def net(float(M, M) x, float(M, M) a, float(M, M) b) -> (y) {
    t(i, j) +=! x(i, r_k) * a(r_k, j)
    y(i, j) +=! t(i, r_k) * b(r_k, j)
}
def deep(float(M, M) x, float(M, M) a, float(M, M) b, float(M, M) c) -> (y) {
    t(i, j) +=! x(i, r_k) * a(r_k, j)
    u(i, j) +=! t(i, r_k) * b(r_k, j)
    y(i, j) +=! u(i, r_k) * c(r_k, j)
}
export net(M=40)
export deep(M=40)
END
tune -v --trials=40 --log=file.log --db=file.db -c file.tensor -o file.o
like "$(cat err)" "^tensorc: task net\.t, 2 equal ones: [0-9]+ trials; " "the first function searches the task" ||
    diag_file err
like "$(cat err)" "^tensorc: task net\.t, 3 equal ones: searched for another function$" \
    "which the second one has, too" ||
    diag_file err
like "$(cat err)" '^tensorc: tuned deep: [1-9][0-9]* trials? in ' "what is put together of it is measured there" ||
    diag_file err
is "$(events trial file.log)" 40 "all trials are those of both" || diag_file err
is "$(grep '"event": "trial"' file.log | grep -o '"task": "[^"]*", .*"schedule": "[^"]*"' | sort | uniq -d | wc -l)" 0 \
    "no schedule of it is measured twice"
tune --trials=40 --db=file.db -c file.tensor -o again.o
is "$status $(cat err)" "0 " "and nothing is left to be done in either" || diag_file err
same file.o again.o "the same object"

# --- functions that have nothing in common
cat >file.tensor <<'END'
def product(float(M, M) a, float(M, M) b) -> (c) { c(i, j) +=! a(i, r_k) * b(r_k, j) }
def rows(float(M, N) a) -> (s) { s(i) +=! a(i, r_j) }
def add(float(N) a, float(N) b) -> (c) { c(i) = a(i) + b(i) }
export product(M=40)
export rows(M=20, N=30)
export add(N=50)
END
tune --trials=36 --progress=0.01 --log=three.log --db=three.db -c file.tensor -o three.o
is "$(events trial three.log)" 36 "three functions share the trials" || diag_file err
is "$(grep -c '^tensorc: tuned \(product\|rows\|add\): ' err)" 3 "of each it is said what became of it" || diag_file err
like "$(cat err)" '^tensorc: tuning [a-z]*: [0-9]+ trials.*; 3 functions: [0-9]+/36 trials' \
    "and how far they all are" ||
    diag_file err
tune --trials=36 --db=three.db -c file.tensor -o again.o
is "$status $(cat err)" "0 " "what one has left to others it is not given again" || diag_file err
same three.o again.o "the same object"
cat >border.tensor <<'END'
def f(float(256, 256) x, float(256, 256) a, float(256) b) -> (y) {
    t(i, j) +=! x(i, r_k) * a(r_k, j)
    y(i, j) = max(t(i, j) + b(j), 0)
}
END
tune -v --trials=50 --db=border.db -c border.tensor -o border.o
like "$(cat err)" '^tensorc: border behind t in task f: [0-9.]+ times the speed, (not )?taken' \
    "-v says of another border what became of it" || diag_file err
sed -i 's/a(i) + b(i)/a(i) - b(i)/' file.tensor
tune -v --trials=36 --log=changed.log --db=three.db -c file.tensor -o changed.o
is "$(tasks three.db)" 4 "a function that was changed is searched"
like "$(cat err)" '^tensorc: product: found in the tuning database' "alone" || diag_file err
# --- one that the interpreter takes too long for: compiled code gives the values, and all is measured
sed 's/M=48/M=384/' net.tensor >long.tensor
tune -v --trials=6 --db=long.db -c long.tensor -o long.o
like "$(cat err)" '^tensorc: tuned net: 6 trials in ' "a long function is tuned" || diag_file err
unlike "$(cat err)" 'interpreter|wrong' "its own code gives the values" || diag_file err

# --- many tasks: a proposal for all of them together is long to make
awk 'BEGIN {
    printf "def many(float(64, 64) x"
    for (k = 1; k <= 14; k++) printf ", float(64, %d) a%d", 8 * k, k
    printf ") -> (y1"
    for (k = 2; k <= 14; k++) printf ", y%d", k
    print ") {"
    for (k = 1; k <= 14; k++) printf "    y%d(i, j) +=! x(i, r_k) * a%d(r_k, j)\n", k, k
    print "}\nexport many"
}' >many.tensor
tune -v --trials=50 --progress=1 --db=many.db -c many.tensor -o many.o
like "$(cat err)" '^tensorc: task many.y14: ([4-9]|[1-9][0-9]) trials;' \
    "many tasks are searched one by one, the longest first" || diag_file err
unlike "$(cat err)" '^tensorc: task many.y1: ([4-9]|[1-9][0-9]) trials;' \
    "where trials are few, the shortest has fewer" || diag_file err
like "$(cat err)" '^tensorc: tuning many: [0-9]+/50 trials.*, now y[0-9]+ \([0-9]+ % of it\), [0-9]+ s' \
    "the task whose turn it is has its name and its share in the progress" || diag_file err

done_testing
