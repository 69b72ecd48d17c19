#!/bin/sh
# `make bench` itself, with a small shape of each kind of workload and little tuning: it ends, every result is right,
# and the tables and the plot are there. Times are not looked at.
. "${srcdir:-.}/tests/lib.sh"

cat >"$work/small.txt" <<'EOF'
# KIND NAME BATCH numbers
conv1d            1D.0  1,2   17 5 7 3 2 1
conv2d            2D.0  2     9 10 5 7 3 2 1
conv3d            3D.0  1     4 5 6 3 5 3 1 1
group_conv2d      GR.0  2     8 7 6 10 3 1 1 2
group_conv2d      GR.1  1     8 7 3 10 3 2 1 2
dilated_conv2d    DI.0  1     9 8 3 17 3 1 1 2
depthwise_conv2d  DE.0  2     9 8 19 3 2 1
transposed_conv2d TR.0  2     3 5 6 18 4 2 1
capsule_conv2d    CA.0  1     5 6 3 4 3 2 1 4
conv_layer        LA.0  2     7 7 5 33 3 1 1
matmul            MM.0  1,3   13 17 19
matrix_norm       NO.0  1,5   23 29
tbs               TB.0  2     11 3 10
EOF
bench=$srcdir/tests/bench/bench
TABLES=$work/small.txt TRIALS=0 THREADS='1 2' ROUNDS=1 LIMIT=0
export TABLES TRIALS THREADS ROUNDS LIMIT
unset ONLY DB FP_ERROR WEIGHTS DNNL
runs "bench ends well" "$bench" "$TENSORC" "$work/bench"
cp "$work/out" "$work/table"
results=$work/bench/results.tsv
is "$(awk -F'\t' '$5 == "O2" && $11 == "right"' "$results" | wc -l)" 32 \
    "all 16 workloads are right with 1 thread and with 2"
unlike "$(cat "$work/table" "$results")" 'WRONG|FAILED' "no library is wrong"
like "$(cat "$work/table")" '^CA\.0 .*[0-9]%' "a workload without a library has its share of the peak"
like "$(cat "$work/table")" 'c -O2 of these: at most [0-9.]+ s .* [0-9]+ MB' "time and memory of the compiler are there"
like "$(cat "$work/table")" 'fsyntax-only.*best [0-9.]+ ms' "the compiler is timed"
like "$(tail -n 1 "$work/bench/plot.svg")" '^</svg>' "the plot is whole"

# library NAME KINDS...: it computes these kinds.
library() {
    name=$1; shift
    if grep -q "^skipped: $name" "$work/table"; then
        skip "$name is not installed" 1
        return
    fi
    is "$(awk -F'\t' -v name="$name" 'index($5, name) == 1 { print $3 }' "$results" | sort -u | tr '\n' ' ')" "$* " \
        "$name computes its kinds"
}
library OpenBLAS matmul matrix_norm
library oneDNN conv1d conv2d conv3d conv_layer depthwise_conv2d dilated_conv2d group_conv2d matmul tbs transposed_conv2d

# Tuning, what is kept of it, weights as arguments.
ONLY='2D|LA' TRIALS=2 THREADS=1 WEIGHTS=packed DB=$work/kept.db
export ONLY TRIALS THREADS WEIGHTS DB
runs "bench tunes" "$bench" "$TENSORC" "$work/bench"
like "$(cat "$work/out")" '^tuning 2D\.0, .* 2 trials in +[0-9.]+ s, +[0-9.]+ a second, each built in [1-9][0-9]* ms' \
    "trials a second are shown"
is "$(awk -F'\t' '$5 == "tuned" && $11 == "right"' "$results" | wc -l)" 2 "what was tuned is right"
runs "bench goes on" "$bench" "$TENSORC" "$work/bench"
unlike "$(cat "$work/out")" '^tuning ' "nothing is tuned twice"

# The tables of results that are known: 4 is the mean of 2 and 8 times a library, 2 that of the fastest of all.
line() {
    printf '%s\t%s\tconv2d\t1\t%s\t%s\t%s\t1\t1\t1e-7\t%s\t%s\tway\n' "$1" "$2" "$3" "$4" "$4" "$5" "${6:-100}"
}
{
    line operators A.0 O2 20 right
    line operators A.0 tuned 40 right
    line operators A.0 'library 1' 16 right 80
    line operators A.0 'library 1' 20 right
    line operators A.0 'library 2' 10 right
    line operators A.1 tuned 80 right
    line operators A.1 'library 1' 10 WRONG
    line operators A.1 'loose:library 1' 40 right
} >"$work/results"
runs "known results are reported" "$work/bench/report" "$work/results" "$work/plot"
like "$(cat "$work/out")" '^A +1\.00 +1\.00 +1\.00 +4\.00 +4\.00 +2\.00 +- +- +- +2\.00 +2\.00 +2\.00 +0\.50' \
    "means are geometric"
like "$(cat "$work/out")" '^A\.1 .*WRONG: library 1' "a wrong result is shown"

like "$(cat "$work/out")" '^A\.0 .*the machine was busy' "what else the machine did is shown"

done_testing
