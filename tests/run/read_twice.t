#!/bin/sh
# read_twice.t - reductions that read one tensor in two ways: each is copied for itself, as if it were two tensors.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >twice.tensor <<'END'
def gram(float(M, K) A) -> (C) { C(i, j) +=! A(i, k) * A(j, k) }
def covariance(float(K, M) A) -> (C) { C(i, j) +=! A(k, i) * A(k, j) }
def square(float(M, M) A) -> (C) { C(i, j) +=! A(i, k) * A(k, j) }
def squares(float(M, K) A) -> (C) { C(i, j) +=! (A(i, k) - A(j, k)) * (A(i, k) - A(j, k)) }
def wide(int8(M, K) A) -> (int32(M, M) C) { C(i, j) +=! int32(A(i, k)) * int32(A(j, k)) }
def heads(float(3, B, M, K) X) -> (Y) {
    score(b, i, j) +=! X(0, b, i, k) * X(1, b, j, k)
    top(b, i) max=! score(b, i, j)
    weight(b, i, j) = exp(score(b, i, j) - top(b, i))
    total(b, i) +=! weight(b, i, j)
    mix(b, i, k) +=! weight(b, i, j) * X(2, b, j, k)
    Y(i, b, k) = mix(b, i, k) / total(b, i)
}
END
sizes=0
for name in gram covariance squares wide heads; do
    for size in 0,3 1,1 3,0 15,31 17,33 61,5; do
        sizes=$((sizes + 1))
        echo "export $name(M=${size%,*}, K=${size#*,}$([ $name = heads ] && echo ', B=2')) as ${name}_$sizes"
    done
    echo "export $name as ${name}_any"
done >>twice.tensor
for size in 1 15 40 67; do echo "export square(M=$size) as square_$size"; done >>twice.tensor
for level in -O1 -O2; do
    runs "$level" "$TENSORC" -run $level -DM=37 -DK=45 -DB=2 twice.tensor
done
for target in x86-64-v3 x86-64-v4; do
    if ! runs_here $target; then skip "this machine is no $target"; continue; fi
    runs "for $target" "$TENSORC" -run -O2 --target=$target -DM=53 -DK=18 -DB=1 twice.tensor
done
cat >large.tensor <<'END'
def gram(float(M, K) A) -> (C) { C(i, j) +=! A(i, k) * A(j, k) }
export gram(M=512, K=512)
END
"$TENSORC" -c --target=x86-64-v4 -O2 large.tensor -o large.o --emit-schedule=used.tensor
like "$(cat used.tensor)" 'cache_read\(A, reader=[a-z_]*, read=1, .*layout=\(d0/16, d1, d0%16\)\)' \
    "the operand that runs across the lanes is packed alone"
done_testing
