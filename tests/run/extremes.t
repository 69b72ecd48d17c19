#!/bin/sh
# extremes.t - maxima and minima: registers begin with the first term where it is known to be the first, and NaN,
# infinities and conditions mean what they mean in the interpreter.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >rows.tensor <<'EOF'
def most(float(N, M) x) -> (y) { y(i) max=! x(i, j) }
def least(double(N, M) x) -> (y) { y(i) min=! x(i, j) }
def whole(float(N, M) x) -> (y) { y() max=! x(i, j) }
def window(float(N, M) x) -> (y) {
    y(i, j) max=! (x(i + a - 1, j + b - 1) else -1.0 / 0.0) where i in 0:N, j in 0:M, a in 0:3, b in 0:3
}
def masked(float(N, M) x) -> (y) { y(i) max=! x(i, j) where x(i, j) < 0.5, j <= i }
def strange(float(N, M) x) -> (y, z) {
    s(i, j) = (i * j) % 7 == 2 ? -1.0 / 0.0 : (i + 2 * j) % 11 == 9 ? 1.0 / 0.0 : x(i, j)
    v(i, j) = (i + j) % 5 == 3 ? log(x(i, j) - 10) : s(i, j)
    y(i) max=! v(i, j)
    z(j) min=! v(i, j)
}
export most export least export whole export window export masked export strange
EOF
for sizes in "1 1" "3 2" "2 15" "5 16" "4 17" "7 33" "16 64" "33 100"; do
    for option in -O1 "-O2 --threads=1"; do
        # shellcheck disable=SC2086
        runs "sizes $sizes, $option" "$TENSORC" -run -w $option -DN="${sizes% *}" -DM="${sizes#* }" rows.tensor
    done
done

# ir ROWS COLUMNS DEF: its loop IR for AVX-512.
ir() {
    echo "$3 export f(N=$1, M=$2)" >f.tensor
    "$TENSORC" -w -O2 --threads=1 --target=x86-64-v4 -emit-ir f.tensor -o -
}
row='def f(float(N, M) x) -> (y) { y(i) max=! x(i, j) }'
whole=$(ir 1000 32 "$row") cut=$(ir 1000 33 "$row")
like "$whole" 's0_j_p\(.*\) = x\(' "a register begins with its first term"
is "$(echo "$whole" | grep -c 'broadcast(-inf')" 0 "no register is filled before"
is "$(echo "$cut" | grep -c 'broadcast(-inf.*where')" 1 "lanes beyond the end hold what changes nothing"
sum=$(ir 1000 32 'def f(float(N, M) x) -> (y) { y(i) +=! x(i, j) }')
like "$sum" 's0_j_p\(.*\) = broadcast\(0' "a sum begins with 0: 0 + -0 is not -0"
done_testing
