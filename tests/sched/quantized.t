#!/bin/sh
# What -O2 makes of products with weights of 8 and 4 bits: what a weight becomes is computed once for many rows, in
# vectors of weights, which are copied in the order of their use where elements are too narrow to be gathered.
. "${srcdir:-.}/tests/lib.sh"

cat >"$work/f.tensor" <<'EOF'
import "nn"
def bytes(float(M, K) X, const int8(N, K) W, const float(N, B) scale) -> (Y) { Y = dense_int8(X, W, scale) }
def nibbles(float(M, K) X, const uint8(N, J) W, const float(N, B) scale, const float(N, B) zero) -> (Y) {
    Y = dense_int4(X, W, scale, zero)
}
export bytes(M=32, K=2048, N=1024, B=64)
export nibbles(M=32, K=2048, N=1024, J=1024, B=64)
EOF
runs "compiles" "$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db="$work/none.db" --explain-schedule \
    -c "$work/f.tensor" -o "$work/f.o"
shown=$(sed -n '/^bytes:/,/^bytes_packed:/p' "$work/out")
like "$shown" '^ *W_p: [0-9]+ x 2048 x 16' "rows of 16 weights are copied in each call"
unlike "$shown" '^ *X_p: ' "and inputs are not"
shown=$(sed -n '/^bytes_packed:/,/^nibbles:/p' "$work/out")
like "$shown" '^ *W_p: [0-9]+ x 2048 x 16, ahead of all calls' "or before all calls"
like "$shown" '^ *acc: ([8-9]|[1-9][0-9]) x (16|32|48) in registers' "each serves eight rows or more"
like "$(sed -n '/^nibbles_packed:/,$p' "$work/out")" '^ *W_p: [0-9]+ x 1024 x 16, ahead of all calls' \
    "halves of bytes, too"

# --- right results, also of rows and columns that fill no tile
cat >"$work/g.tensor" <<'EOF'
import "f"
export bytes(M=19, K=96, N=37, B=3)
export nibbles(M=19, K=96, N=37, J=48, B=3)
EOF
runs "runs" "$TENSORC" -run -O2 --db="$work/none.db" "$work/g.tensor"
done_testing
