#!/bin/sh
# wide_lanes.t - vectors of more lanes than a word has bits, of which a guard leaves some out: loads and stores, all
# types, on processors with and without instructions for them.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# wide TYPE LANES: a shifted copy, and what is stored where the data says so.
wide() {
    cat <<PROGRAM
def f($1(N) A) -> (B, C) {
    B(i) = A(i+1) where i in 0:N-1
    C(i) = A(i) + A(i) where i in 0:N
}
export f
schedule f on x86 {
    o, v = split(B.i, $2)
    vectorize(v)
    p, w = split(C.i, $2)
    vectorize(w)
}
PROGRAM
}

for type in int8 half float double; do
    for lanes in 64 65 128; do
        wide $type $lanes >wide.tensor
        for target in x86-64 x86-64-v3; do
            for elements in 1 40 $((lanes - 1)) $((lanes + 2)) 160; do
                runs "$type, $lanes lanes, $elements elements on $target" \
                    "$TENSORC" -run --threads=1 --target=$target -DN=$elements wide.tensor
            done
        done
    done
done
wide int8 256 >wide.tensor
runs "256 lanes" "$TENSORC" -run --threads=1 --target=x86-64 -DN=300 wide.tensor
sed 's/ on x86 / on arm /' wide.tensor >arm.tensor
runs "256 lanes for another family" "$TENSORC" -c --target=aarch64 arm.tensor

done_testing
