#!/bin/sh
# whole_reductions.t - reductions of all elements to one, in any order of their indices: what -O2 computes is what is
# interpreted, for sizes around those of vectors.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >whole.tensor <<'EOF'
def f(float(I, J) x, float(J, I) z, float(I) w, float(J) v) -> (a, b, c, d, e, g, h) {
    a() +=! w(i) * x(i, j)
    b() max=! v(j) * x(i, j) + w(i)
    c() +=! v(J - 1 - j) * x(i, j)
    d() min=! x(I - 1 - i, J - 1 - j) - w(i)
    t(j, i) = abs(x(i, j))
    e() +=! t(j, i)
    g() +=! x(i, j) * z(j, i)
    m() +=! x(i, j) * x(i, j)
    h(i, j) = x(i, j) / (m() + 1) + (z(j, i - 1) else 0) where j in 0:J
}
def k(int32(I, J, K) x, int32(K, I) z) -> (a, b, c, d) {
    a() +=! z(k, i) * x(i, j, k)
    b() max=! x(i, j, K - 1 - k) - z(k, i)
    c() min=! (x(i, j, k + 1) else 0) * z(k, I - 1 - i) where k in 0:K
    t(k, j, i) = x(i, j, k) * 2
    d() +=! t(k, j, i) - z(k, i)
}
export f
export k
EOF
for sizes in "0 5 3" "1 1 1" "7 15 2" "16 16 16" "17 31 5" "3 33 40" "40 1 17"; do
    # shellcheck disable=SC2086
    set -- $sizes
    for options in "--threads=1" "--threads=2" "--threads=1 -fstrict"; do
        # shellcheck disable=SC2086
        runs "sizes $sizes with $options" "$TENSORC" -w -run -O2 $options --db=none.db -DI=$1 -DJ=$2 -DK=$3 whole.tensor
        like "$(cat out err 2>/dev/null)" "f: .*checked" "and are checked"
    done
done
runs "large ones" "$TENSORC" -w -run -O2 --db=none.db -DI=300 -DJ=1000 -DK=9 whole.tensor

done_testing
