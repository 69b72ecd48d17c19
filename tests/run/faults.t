#!/bin/sh
# Bad input of every kind: one clear line (and, with a place, the source line below it), exit status 1 or 2, nothing
# left.
. "${srcdir:-.}/tests/lib.sh"
mkdir "$work/in" "$work/empty"
cd "$work/in" || exit 1

cat >good.tensor <<'EOF'
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
EOF
cat >gather.tensor <<'EOF'
def gather(float(V, D) T, int32(N) I) -> (O) { O(n, d) = T(I(n), d) }
EOF

# fault STATUS PATTERN NAME ARGUMENTS...: tensorc ends with a status that matches, and with one message that matches.
# Whatever it writes would be in ../empty.
fault() {
    wanted=$1 pattern=$2 name=$3; shift 3
    capture "$TENSORC" "$@"
    printf '%s\n' "$status" | grep -Eq "^($wanted)\$" &&
        grep -Eq -e "$pattern" "$work/err" &&
        [ "$(grep -Ec '(^tensorc|: error): ' "$work/err")" -le "$most" ] &&
        ! grep -q 'internal error' "$work/err" && [ -z "$(ls -A ../empty)" ]
    report $? "$name" && return 0
    diag_line "$*: status $status (wanted $wanted), pattern $pattern, left: $(ls -A ../empty | tr '\n' ' ')"
    diag_file "$work/err" 10
    rm -rf "$work/empty"
    mkdir "$work/empty"
}
# broken NAME PATTERN TEXT: a file with this text is refused with messages that have a place.
broken() {
    printf "$3" >broken.tensor
    most=20
    fault 1 "^broken\.tensor:[0-9]+:[0-9]+: error: .*$2" "$1" -c broken.tensor -o ../empty/k.o --header ../empty/k.h
    most=1
}
most=1
to="-o ../empty/k.o --header ../empty/k.h"

# --- the command line
fault 2 'no.*file' "no input"
fault 2 'frobnicate' "an unknown option" --frobnicate good.tensor
fault 2 '-Z' "an unknown short option" -Z good.tensor
fault 2 '-O.*9' "an unknown level" -O9 -c good.tensor $to
fault 2 "not 'tuned'" "a misspelt level" -O tuned -c good.tensor $to
fault 2 '--target=NAME' "an option of cc" -march=native -c good.tensor $to
fault 2 "'arm64'; did you mean 'aarch64'" "a target's other name" --target=arm64 -c good.tensor $to
fault 2 "'ARM64'; did you mean 'aarch64'" "the same in capitals" --target=ARM64 -c good.tensor $to
fault 2 "'native'; did you mean 'host'" "this machine's other name" --target=native -c good.tensor $to
fault 2 "'skylke'; did you mean 'skylake'" "a misspelt processor" --target=skylke -c good.tensor $to
fault 2 "no feature 'typo' that 'skylake' could have; they are sse4.1, .*avx512bf16" "a feature that is none" \
    --target=skylake+avx2+typo -c good.tensor $to
fault 2 "no feature 'avx512vni' that 'skylake' could have; did you mean 'avx512vnni'" "a misspelt feature" \
    --target=skylake+avx512vni -c good.tensor $to
fault 1 'needs the sizes M, K and N: give -DM=VALUE -DK=VALUE -DN=VALUE' "sizes that lack" -run good.tensor
{ cat good.tensor; echo 'export matmul tune (M=1, K=3), (M=2, K=4)'; } >open_rows.tensor
fault 1 'needs the size N: give -DN=VALUE, or all sizes in a row of tune' "a size that no row has" -run open_rows.tensor
{ cat good.tensor; echo 'export matmul tune (M=2, K=3, N=4), (M=5, K=3, N=4), (M=5, K=3, N=6)'; } >rows.tensor
sed 's/ tune .*//' rows.tensor >none.tensor
runs "-D fixes one size of the rows" "$TENSORC" -run -DM=7 rows.tensor
is "$(sed 's/:.*//' "$work/out")" "matmul (K=3, N=4)
matmul (K=3, N=6)" "the rows give the others, each once"
runs "-D fixes all of them" "$TENSORC" -run -DM=7 -DK=2 -DN=1 rows.tensor
is "$(grep -c . "$work/out")" 1 "no row is left"
for rows in rows none; do
    "$TENSORC" -DM=7 -DK=2 -DN=1 --target=x86-64-v3 -S -o - $rows.tensor >$rows.s
done
same none.s rows.s "and nothing in the code"
{ cat good.tensor; echo 'export matmul tune (M=2, K=3, N=4), (N=4, M=2, K=3), (K=2, M=3, N=4)'; } >orders.tensor
runs "rows with their sizes in another order" "$TENSORC" -run orders.tensor
is "$(grep -c . "$work/out")" 2 "are the same rows"
for word in -h help; do
    runs "$word" "$TENSORC" $word
    like "$(cat "$work/out")" '^usage: tensorc' "prints what --help does"
done
for words in 'db help' 'db -h' 'db --help' 'db ls -h' 'db prune 3 --help' 'import -h' 'import --help' \
    'import net.onnx -h'; do
    # shellcheck disable=SC2086
    runs "$words" "$TENSORC" $words
    like "$(cat "$work/out")" "^usage: tensorc ${words%% *} " "prints how it is used"
done
runs "the targets are listed" "$TENSORC" --target=help
like "$(cat "$work/out")" 'avx512vnni' "with the features that they may have"
printf '%s\n' 'def rows(float(M, N) x) -> (y) { y(i) +=! x(i, j) }' \
    'export rows tune (M=8, N=9), (M=3), (M=1, N=20)' >rows.tensor
runs "sizes of tune" "$TENSORC" -run rows.tensor
is "$(sed 's/: .*//' "$work/out" | tr '\n' ';')" 'rows (M=8, N=9);rows (M=1, N=20);' "are run with"
is "$(cat "$work/err")" 'tensorc: rows: not run with rows of tune that leave sizes open: (M=3)' \
    "those that are not are named"
echo "echo started >>started; exec '$(dirname "$TENSORC")/tensorc-worker'" >elsewhere.sh
runs "with a runner" "$TENSORC" -run rows.tensor --runner='sh ./elsewhere.sh'
is "$(sed 's/: .*//' "$work/out" | tr '\n' ';') $(wc -l <started | tr -d ' ')" 'rows (M=8, N=9);rows (M=1, N=20); 2' \
    "they are run with in its workers"
sized='-run -DM=2 -DK=3 -DN=4 good.tensor'
fault 1 "matmul: the runner 'false' does not start" "a runner that does not start" $sized --runner=false
foreign=cortex-a53
if runs_here $foreign; then foreign=haswell; fi
fault 1 "not $foreign; --runner names a command" "a processor that needs one" $sized --target=$foreign
fault 1 'the object is for another processor' "and has the wrong one" \
    $sized --target=$foreign --runner='sh ./elsewhere.sh'
fault 2 "did you mean '--trials'" "an option that is nearly one" --trails=3 -c good.tensor $to
fault 1 "there is no tuning database 'none.db'" "a database to list that is not there" db ls --db=none.db
fault 1 "there is no tuning database 'none.db'" "and one to export" db export --db=none.db
fault 1 "there is no tuning database 'none.db'" "and one to prune, which is not made" db prune --db=none.db
fault 2 'trials' "--trials wants a number" --trials=many -c good.tensor $to
fault 2 'trials' "--trials of a negative number" --trials=-3 -O tune -c good.tensor $to
fault 2 'threads' "--threads wants a number" --threads=2x -c good.tensor $to
fault 2 'budget' "--budget wants a time" --budget=soon -c good.tensor $to
fault 2 'z80' "an unknown target" --target=z80 -c good.tensor $to
fault 2 'MF' "a dependency file for standard output" -c good.tensor -MD -o -
for report in --explain-schedule --dump-features --emit-schedule=../empty/s "-d n" "-d pf"; do
    # shellcheck disable=SC2086
    fault 2 '^tensorc: error: -.* reports nothing with -fsyntax-only' "a check with $report" -fsyntax-only $report \
        good.tensor
done
runs "a check prints the tree and the program" "$TENSORC" -fsyntax-only -d pc good.tensor
name='line
break.tensor'
cp good.tensor "$name"
fault 1 "-MD: make cannot read the name of a file with a line break: 'line.x0Abreak.tensor'" \
    "a dependency file with a line break in a name" -c "$name" $to -MD -MF ../empty/k.d
fault 1 'line break' "and with one in a target" -c good.tensor -o "../empty/k
k.o" -MD
fault 2 '-MF needs -MD' "a dependency file without -MD" -c good.tensor $to -MF ../empty/k.d
fault 2 '-MT needs -MD' "the target of a rule without -MD" -c good.tensor $to -MT k.o
fault 2 '-MP needs -MD' "empty rules without -MD" -c good.tensor $to -MP
fault 2 'search' "an unknown search" --search=luck -O tune -c good.tensor $to
fault 2 "'anneal' has no setting 'luck'; it takes cold, batch=N" "an unknown setting" --search=anneal:luck -O tune \
    -c good.tensor $to
fault 2 "'none' has no setting 'cold'; it takes none" "a setting of a model that has none" --cost-model=none:cold \
    -O tune -c good.tensor $to
fault 2 'cost-model' "an unknown cost model" --cost-model=luck -O tune -c good.tensor $to
fault 2 'o' "-o without its argument" -c good.tensor -o
fault 2 'D' "-D without a value" -c good.tensor -DN $to
fault 2 'D' "-D with a word" -c good.tensor -DN=many $to
fault 2 'D' "-D with a number that overflows" -c good.tensor -DN=99999999999999999999 $to
fault '1|2' 'N' "-D with a negative size" -c good.tensor -DN=-1 $to

# --- files
fault '1|2' 'nowhere\.tensor' "a file that is not there" -c nowhere.tensor $to
fault '1|2' 'directory|\.\.' "a folder as input" -c .. $to
fault '1|2' 'nowhere' "an output folder that is not there" -c good.tensor -o ../nowhere/k.o
fault '1|2' 'empty' "a folder as output" -c good.tensor -o ../empty
fault '1|2' 'nowhere' "a header that cannot be written" -c good.tensor -o ../empty/k.o --header ../nowhere/k.h
fault '1|2' 'nowhere' "a dependency file that cannot be written" -c good.tensor -o ../empty/k.o -MD -MF ../nowhere/k.d
cp good.tensor kept.tensor
fault 1 "kept\.tensor' is the input" "an output that is the input" -c kept.tensor -o ./kept.tensor
same good.tensor kept.tensor "the input stays as it was"
fault 1 'twice' "an output that is another output" -c good.tensor -o ../empty/k.o --header ../empty/k.o
# What a file is counts, not how its name is spelt; it need not be there yet.
fault 1 'twice' "a header that is the object, through ./" -c good.tensor -o ../empty/k.o --header ../empty/./k.o
ln -s ../empty linked
fault 1 'twice' "and through a link to its folder" -c good.tensor -o ../empty/k.o --header linked/k.o
fault 1 'twice' "a dependency file that is the object" -c good.tensor -o ../empty/k.o -MD -MF ../empty/../empty/k.o
fault 1 'twice' "schedules that are the header" -c good.tensor $to --emit-schedule=linked/k.h
fault 1 'twice' "two results in one file" -run -DV=2 -DD=2 -DN=2 gather.tensor --output=O=linked/o.npy \
    --output=O=../empty/o.npy
fault 1 "output 'kept\.tensor' is the input" "a result in the place of the source" \
    -run -DM=2 -DN=2 -DK=2 kept.tensor --output=C=kept.tensor
mkdir other
cp good.tensor other/good.tensor
fault 1 "'good.o' is to be written twice" "two inputs of one name" -c good.tensor other/good.tensor
for db in ../empty/k.o linked/k.o ../empty/./k.o; do
    fault 1 "output '../empty/k.o' is the tuning database" "an output that is to be the database $db" \
        -c good.tensor -o ../empty/k.o --db=$db
done
fault 1 "is the tuning database 'linked/k" "a header that is to be the database of a search" \
    -O tune --trials=1 -c good.tensor -DM=8 -DN=8 -DK=8 -o ../empty/k.o --header ../empty/k --db=linked/k
fault 1 'is the tuning database' "the file -wal" -c good.tensor -o ../empty/k.o --emit-schedule=k.db-wal --db=k.db
fault 1 'is the tuning database' "the file -shm" -c good.tensor -o ../empty/k.o --emit-schedule=k.db-shm --db=k.db
fault 1 'is the tuning database' "the file beside the database" -c good.tensor -o k.db-journal --db=k.db
: >blank.tensor
fault 1 "input file 'blank.tensor' is the tuning database" "an input that is the database" \
    -O tune -c blank.tensor $to --db=blank.tensor
[ ! -s blank.tensor ]
report $? "and stays as it is"
same good.tensor kept.tensor "so does a source that a result was to replace"
for file in input output; do
    fault 1 "no (argument|result) is called 'ghost'" "a name that is no argument for --$file" \
        -run -DV=2 -DD=2 -DN=0 gather.tensor --$file=ghost=ghost.npy
    is "$(cat "$work/out")" "" "nothing runs"
done
fault 1 "no result is called 'T'" "an input is no result" -run -DV=2 -DD=2 -DN=0 gather.tensor --output=T=../empty/t.npy
fault 1 '^tensorc: error: C of matmul has no contents before the call' "a result is no input" -run good.tensor \
    --input=C=../empty/t.npy
fault 1 'returned status 2: 0 <= I.n. < 0, but not for n = 0, where I is 0$' "a run that fails is all that is said" \
    -run -DV=0 -DD=2 -DN=2 gather.tensor --output=O=../empty/o.npy
if [ -w /dev/full ]; then
    fault '1|2' '/dev/full' "a full device" -c good.tensor -o /dev/full
    fault '1|2' '/dev/full' "a full device for the header" -c good.tensor -o ../empty/k.o --header /dev/full
    "$TENSORC" --help 2>&1 >/dev/full | grep -c 'cannot write to standard output' >"$work/said"
    is "$(cat "$work/said")" 1 "a full device behind standard output"
    for name in one two; do echo "export matmul(M=2, K=2, N=2) as $name"; done | cat good.tensor - >twice.tensor
    "$TENSORC" -run twice.tensor --output=C=- 2>"$work/said" >/dev/full
    is "$? $(cat "$work/said")" "1 tensorc: error: cannot write '-': No space left on device" \
        "results of several functions on a full device"
else
    skip "no /dev/full here" 4
fi
# Here nobody reads any more before anything is written.
for words in '--help' '-S good.tensor -o -' '-run -DV=2 -DD=2 -DN=2 gather.tensor' \
    '-run -DV=2 -DD=2 -DN=2 gather.tensor --output=O=-'; do
    rm -f "$work/unread"
    {
        until [ -e "$work/unread" ]; do sleep 0.1; done
        "$TENSORC" $words 2>"$work/said"
        echo "$?" >>"$work/said"
    } | { exec 0<&-; : >"$work/unread"; }
    is "$(cat "$work/said")" "0" "$words: a reader that went away is no fault"
done
(
    ulimit -f 1
    exec "$TENSORC" -c good.tensor -o grown.o
) 2>"$work/err"
is "$? $(grep -c "^tensorc: error: cannot write 'grown.o'" "$work/err") $(ls -A | grep -c -e grown -e '^\.tensorc')" \
    "1 1 0" \
    "a file that may not grow"
if mkdir ../small && mount -t tmpfs -o size=4k none ../small 2>/dev/null; then
    fault '1|2' 'small' "a full disk" -c good.tensor -o ../small/k.o
    is "$(ls -A ../small)" "" "a full disk: no part of the object is left"
    umount ../small
else
    skip "a small file system cannot be mounted here" 2
fi
printf 'import "ghost"\n' >ghostly.tensor
fault 1 '^ghostly\.tensor:1:.*ghost' "an import that is not there" -c ghostly.tensor $to
printf 'import "round"\ndef f(float(N) a) -> (b) { b(i) = a(i) }\n' >round.tensor
capture "$TENSORC" -fsyntax-only round.tensor
case $status in 0 | 1) report 0 "a file that imports itself ends" ;; *) report 1 \
    "a file that imports itself ends" ;; esac
# A file is one file, however its path is spelled.
mkdir circle circle/a circle/b
printf 'import "../b/y"\nimport "./x"\ndef f(float(N) a) -> (b) { b = g(a) }\n' >circle/a/x.tensor
printf 'import "../a/x"\nimport "../linked"\ndef g(float(N) a) -> (b) { b(i) = a(i) }\n' >circle/b/y.tensor
ln -s b/y.tensor circle/linked.tensor
runs "a circle of imports by paths that grow ends" timeout 60 "$TENSORC" -MD -c circle/a/x.tensor -o circle.o
is "$(tr -d '\\\n' <circle.d)" "circle.o:   circle/a/x.tensor   circle/a/../b/y.tensor" "each file of it is read once"
mkdir chain
awk 'BEGIN { for (i = 0; i < 10000; i++) { name = "chain/c" i ".tensor"
    if (i < 9999) print "import \"c" i + 1 "\"" >name
    print "def f" i "(float(N) a) -> (b) { b" (i % 10 < 9 ? " = f" i + 1 "(a)" : "(i) = a(i)") " }" >name;
    close(name) } }'
runs "a chain of ten thousand imports" sh -c "ulimit -s 512; timeout 60 '$TENSORC' -fsyntax-only chain/c0.tensor"

# --- sources
broken "an empty argument list with rubbish" "" 'def f(,) -> (b) { }\n'
broken "a file cut off" "" 'def f(float(N) a) -> (b) { b(i) = a('
broken "a stray byte" "" 'def f(float(N) a) -> (b) { b(i) = a(i) \001 }\n'
broken "a NUL byte" "" 'def f(float(N) a) -> (b) { b(i) = \000 a(i) }\n'
broken "bytes that are no text" "" '\377\376\200\n'
broken "an unfinished string" "" 'import "nn\n'
broken "a number that overflows" "" 'def f(float(N) a) -> (b) { b(i) = a(i) * 99999999999999999999 }\n'
broken "a size that overflows" "" 'def f(float(N) a) -> (b) { b(i) = a(i) }\nexport f(N=99999999999999999999)\n'
broken "sizes whose product overflows" "" \
    'def f(float(M, N) a) -> (b) { b(i, j) = a(i, j) }\nexport f(M=4611686018427387904, N=4611686018427387904)\n'
broken "a tensor of more bytes than there are" "" \
    'def f(float(N) a) -> (b) { b(i) = a(i) }\nexport f(N=9223372036854775807)\n'
broken "a negative size" "" 'def f(float(N) a) -> (b) { b(i) = a(i) }\nexport f(N=-4)\n'
broken "a division by zero in a range" "" 'def f(float(N) a) -> (b) { b(i) = a(0) where i in 0:N/0 }\n'
broken "an export of nothing" "ghost" 'export ghost\n'
broken "a name that is not defined" "ghost" 'def f(float(N) a) -> (b) { b(i) = ghost(i) + a(i) }\n'
broken "two functions of one name" "" \
    'def f(float(N) a) -> (b) { b(i) = a(i) }\nexport f(N=1) as g\nexport f(N=2) as g\n'

# Nesting without end ends in a message or in a program, never in a crash.
nested() { awk -v n="$1" -v before="$2" -v after="$3" 'BEGIN {
    printf "def f(float(N) a) -> (b) { b(i) = "
    for (i = 0; i < n; i++) printf "%s", before
    printf "a(i)"
    for (i = 0; i < n; i++) printf "%s", after
    print " }" }'; }
for kind in "( )" "- " "exp( )" "1+ "; do
    nested 20000 "${kind% *}" "${kind#* }" >nested.tensor
    capture "$TENSORC" -fsyntax-only nested.tensor
    [ "$status" -le 1 ]
    report $? "20000 times '$kind'" || diag_line "status $status"
done

# Sums and conditions without end are refused at once.
long() { awk -v n="$1" -v part="$2" -v between="$3" 'BEGIN {
    printf "def f(float(N) a) -> (b) { b(i) = a(i) where "
    for (i = 0; i < n; i++) { piece = part; gsub("#", i + 1, piece); printf "%s%s", i ? between : "", piece }
    print " }" }'; }
long 100000 "i < N + #" ", " >long.tensor
fault 1 "more than 500 conditions after 'where'" "a hundred thousand conditions" -fsyntax-only long.tensor
long 1900 "N / #" " + " | sed 's/where /where i in 0:/' >long.tensor
fault 1 "the range of 'i' is a sum of more than 64 terms" "a range of two thousand terms" -fsyntax-only long.tensor
long 16 "(N / # + 1)" " * " | sed "s/where /where i in 0:/" >long.tensor
fault 1 "the range of 'i' is a sum of more than 64 terms" "a product whose terms double with each factor" \
    -fsyntax-only long.tensor
awk 'BEGIN { e = "N"; for (i = 1; i <= 100; i++) e = "min(M + " i ", max(" e ", M * " i "))"
    print "def f(float(N) a, float(M) c) -> (b) { b(i) = a(i) where i in 0:" e " }" }' >long.tensor
awk 'BEGIN { printf "def f(float(N) x"; for (i = 1; i < 400000; i++) printf ", float(N) x%d", i
    print ") -> (y) { y(i) = x(i) }"; print "def g(float(N) x) -> (y) { y(i) = x(i) }"; print "export g" }' >many.tensor
# shellcheck disable=SC2016 # of the other shell
runs "four hundred thousand arguments, in processor time" \
    sh -c 'ulimit -t 60 && exec "$0" -fsyntax-only many.tensor' "$TENSORC"
sed 's/^export g/export f/' many.tensor >exported.tensor
# shellcheck disable=SC2016 # of the other shell
exits 1 "a function of them is refused as soon" \
    sh -c 'ulimit -t 60 && exec "$0" -c -O1 exported.tensor -o ../empty/k.o' "$TENSORC"
like "$(cat "$work/err")" "'f' has 400002 arguments, sizes included: a function has at most 4096" "with the limit"
runs "a hundred minima inside one another" timeout 60 "$TENSORC" -fsyntax-only long.tensor
awk 'BEGIN { printf "def f(float(N"; for (i = 1; i < 100000; i++) printf ", N"
    print ") a) -> (y) { y(i) = 1.0 where i in 0:N }" }' >long.tensor
fault 1 "a tensor has at most 64 dimensions" "a hundred thousand dimensions" -fsyntax-only long.tensor
sed 's/def f(float(N, \(.*\)) a) ->.*/def f(float(N) a) -> (y) { y(N, \1) = a(0) }/' long.tensor >indices.tensor
fault 1 "a tensor has at most 64 dimensions" "as many indices of a result" -fsyntax-only indices.tensor
awk 'BEGIN { print "def f(float(N) a) -> (y) { t0(i) = a(i)"
    for (i = 1; i < 100000; i++) print "t" i "(i) = t" i - 1 "(i) + 1"; print "y(i) = t99999(i) }" }' >long.tensor
fault 1 "a function has at most 4000 statements" "a hundred thousand statements" -fsyntax-only long.tensor
is "$(grep -c ': error: ' "$work/err")" 1 "it is said once"
sed 's/{ t0/{ scan i { t0/; s/}$/} }/' long.tensor >scan.tensor
fault 1 "a function has at most 4000 statements" "as many in a scan" -fsyntax-only scan.tensor
awk 'BEGIN { print "def g(float(N) a) -> (y) { t0(i) = a(i)"
    for (i = 1; i < 2000; i++) print "t" i "(i) = t" i - 1 "(i) + 1"; print "y(i) = t1999(i) }"
    print "def f(float(N) a) -> (y) { b = g(a) c = g(b) d = g(c) e = g(d) y = g(e) }" }' >long.tensor
fault 1 "long\.tensor.*error: a function has at most 4000 statements" "ten thousand in five calls" \
    -fsyntax-only long.tensor
awk 'BEGIN { print "def g(float(N) a) -> (b) { b(i) = a(i) + 1 }"; print "def f(float(N) a) -> (b) { b = g(a)"
    for (i = 0; i < 100000; i++) print "b = g(b)"; print "}" }' >long.tensor
# shellcheck disable=SC2016 # of the other shell
exits 1 "a hundred thousand calls for results of one name, in processor time" \
    sh -c 'ulimit -t 30 && exec "$0" -fsyntax-only long.tensor' "$TENSORC"
like "$(cat "$work/err")" 'long\.tensor:4002:.*error: a function has at most 4000 statements' "with the limit"
awk 'BEGIN { print "instr q(float(4) acc, float(4) a) on x86 { acc(i) += a(i) } ="
    for (i = 0; i < 400000; i++) print "\"x\""; print "def f(float(N) a) -> (y) { y(i) = a(i) }" }' >long.tensor
# shellcheck disable=SC2016 # of the other shell
runs "an instruction of four hundred thousand lines, in processor time" \
    sh -c 'ulimit -t 30 && exec "$0" -fsyntax-only long.tensor' "$TENSORC"
awk 'BEGIN { for (i = 0; i < 60000; i++) print "combiner c" i "(float v; float w) identity (0.0) { v + w }"
    for (i = 0; i < 60000; i++) print "def f" i "(float(N) a) -> (y) { y(i) = a(i) + 1 }"
    for (i = 1; i <= 60000; i++) print "export f0(N=" i ") as g" i }' >many.tensor
awk 'BEGIN { print "def f(float(N) a) -> (y) { y(i) = a(i) }"; printf "export f tune (N=1)"
    for (i = 2; i <= 100000; i++) printf ", (N=%d)", i }' >rows.tensor
# shellcheck disable=SC2016 # of the other shell
runs "a hundred thousand rows of tune, in processor time" \
    sh -c 'ulimit -t 30 && exec "$0" -fsyntax-only rows.tensor' "$TENSORC"
# shellcheck disable=SC2016 # of the other shell
runs "sixty thousand combiners, functions and exports, in processor time" \
    sh -c 'ulimit -t 30 && exec "$0" -fsyntax-only many.tensor' "$TENSORC"
awk 'BEGIN { printf "def f(float(N) a) -> (y) { y(i) = a(i) + "; for (i = 0; i < 300000; i++) printf "q"
    print "(i) }" }' >long.tensor
fault 1 "'qqq.*\.\.\.q*' is not defined" "a name without end" -fsyntax-only long.tensor
ok "of it the message shows the beginning and the end" [ "$(wc -c <"$work/err")" -lt 3000 ]

# Many errors: twenty are shown.
awk 'BEGIN { for (i = 0; i < 100; i++) print "def f" i "(float(N) a) -> (b) { b(i) = nowhere" i "(i) + a(i) }" }' \
    >many.tensor
capture "$TENSORC" -fsyntax-only many.tensor
is "$status $(grep -c ': error: ' "$work/err")" "1 20" "of a hundred errors twenty are shown"

# --- the database
head -c 5000 /dev/urandom >rubbish.db
fault '1|2' 'rubbish\.db' "a database that is none" -O tune --trials=1 --db=rubbish.db -c good.tensor -DM=8 -DN=8 \
    -DK=8 $to
fault '1|2' 'tuning.db' "a database in a folder that is not there" db ls --db=/dev/null/tuning.db
runs "-O2 makes do without a database that is none" "$TENSORC" -O2 --db=rubbish.db -c good.tensor -o k.o
like "$(cat "$work/err")" "^tensorc: warning: .*rubbish\.db" "and says so"
fault 1 'nowhere\.db' "--tune-frozen without a database" -O tune --tune-frozen --db=nowhere.db -c good.tensor -DM=8 \
    -DN=8 -DK=8 $to
runs "and without a default one" env TENSORC_DB=rubbish.db "$TENSORC" -c good.tensor -o k.o
like "$(cat "$work/err")" "^tensorc: warning: .*rubbish\.db" "and says so"
runs "tunes into a database" "$TENSORC" -O tune --trials=2 --db=whole.db -c good.tensor -DM=8 -DN=8 -DK=8 -o k.o
if [ -w /dev/full ]; then
    fault 1 'full.*(disk|full)' "a database that cannot be written" -O tune --trials=1 --db=/dev/full -c good.tensor \
        -DM=8 -DN=8 -DK=8 $to
else
    skip "no /dev/full here"
fi
cp whole.db kept.db
ln -s whole.db through.db
for output in whole.db ./whole.db through.db "$PWD/whole.db"; do
    fault 1 "output '$output' is the tuning database 'whole.db' itself" "an export onto the database: $output" \
        db export "$output" --db=whole.db
done
fault 1 'is a database' "an export onto another database" db export kept.db --db=whole.db
fault 1 "output 'through.db' is the tuning database" "an object onto the database" -c good.tensor -o through.db \
    --db=whole.db
same whole.db kept.db "the database stays as it was"
(
    ulimit -f 0
    exec "$TENSORC" db export --db=whole.db grown.txt
) 2>"$work/err"
is "$? $(ls -A | grep -c -e grown -e '^\.tensorc')" "1 0" "an export that may not grow leaves nothing"
head -c 2000 whole.db >cut.db
fault '1|2' 'cut\.db' "a truncated database" -O tune --trials=1 --db=cut.db -c good.tensor -DM=8 -DN=8 -DK=8 $to
fault '1|2' 'cut\.db' "tensorc db on a truncated database" db ls --db=cut.db

done_testing
