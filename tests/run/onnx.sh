# onnx.sh - what the tests of `tensorc import` share: models that are made of lines, imported and run. Sourced in the
# work folder.
$CC -O1 -o onnx_model "$srcdir/tests/run/onnx_model.c" 2>cc.err || skip_all "no C program can be made here"

# model NAME: the model that standard input describes, as NAME.onnx.
model() { ./onnx_model >"$1.onnx"; }
# floats FILE BYTES: those at its end.
floats() { tail -c "$2" "$1" | od -An -f | xargs; }
# imports NAME: NAME.onnx becomes NAME.tensor.
imports() { runs "$1 is imported" "$TENSORC" import "$1.onnx" -o "$1.tensor"; }
# computes NAME WORDS...: a run of NAME.tensor on seeded inputs leaves its result y.
computes() {
    computes_name=$1; shift
    runs "$computes_name runs" "$TENSORC" -run -O0 -fstrict --threads=1 --trials=1 "$@" "$computes_name.tensor" \
        --output=y="$computes_name.npy"
}
# refused NAME PATTERN: one line, which matches, and no file.
refused() {
    rm -f "$1.tensor"
    exits 1 "$1 is refused" "$TENSORC" import "$1.onnx" -o "$1.tensor"
    like "$(cat err)" "$2" "and says why"
    is "$(wc -l <err | tr -d ' ')" 1 "in one line"
    ok "without a file" test ! -e "$1.tensor"
}
# numbers FILE: of its floats, behind the head of 128 bytes.
numbers() {
    od -An -v -t f4 -j 128 "$1" |
        awk '{ for (i = 1; i <= NF; i++) { t = sprintf("%.3f", $i); sub(/\.?0+$/, "", t); print t == "-0" ? 0 : t } }' |
        xargs
}
# writes NAME WHAT OPTIONS...: NAME.onnx is imported as the text of standard input, and runs.
writes() {
    writes_name=$1 writes_what=$2; shift 2
    cat >wanted
    imports "$writes_name"
    sed '/^import/d; /^export/,$d; /^$/d' "$writes_name.tensor" >found
    same wanted found "$writes_what"
    computes "$writes_name" "$@"
}
