#!/bin/sh
# written_out.t - statements that compute what a def computes which others implement: taken for calls of it, or not.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# As many cases as lines: BY PLACE SIZES STATEMENTS of a def of images x, filters k and results y.
number=0
case_of() {
    number=$((number + 1))
    printf 'def f(%s x, %s k) -> (y) {\n%s\n}\nexport f(%s)\n' "$3" "$4" "$6" "$5" >"c$number.tensor"
    echo "schedule f on x86 { algorithm($1, at=$2) }" >>"c$number.tensor"
}
is_call() {
    case_of "$@"
    runs "is $1: $6" "$TENSORC" -run -O2 -ffp-error=1e-4 "c$number.tensor"
    like "$(cat "$work/out")" "checked.*, $2 by $1 " "results are within its error"
}
is_none() {
    case_of "$@"
    exits 1 "is not $1: $6" "$TENSORC" -run -O2 -ffp-error=1e-4 "c$number.tensor"
    like "$(cat "$work/err")" "no algorithm '$1' can compute" "as it says"
    sed '$d' "c$number.tensor" >plain.tensor
    runs "and right as it is written" "$TENSORC" -run -O2 -ffp-error=1e-4 plain.tensor
}

nhwc=conv2d_nhwc_winograd4 chw=conv2d_chw_winograd4
images='float(N, H, W, C)' filters='float(3, 3, C, M)' sizes='N=2, H=7, W=9, C=5, M=6'
is_call $nhwc y "$images" "const $filters" "$sizes" 'y(n, i, j, o) +=! x(n, i + a, j + b, c) * k(a, b, c, o)'
is_call $nhwc y "$images" "$filters" "$sizes" \
    'y(n, i, j, o) +=! k(r_b, r_a, r_c, o) * (x(n, r_b + i - 1, r_a + j - 1, r_c) else 0) where i in 0:H, j in 0:W'
is_call $nhwc t "$images" "$filters" "$sizes" \
    't(n, i, j, o) +=! x(n, i + a, j + b, c) * k(a, b, c, o)  y(n, o) max=! t(n, r_i, r_j, o)'
is_call $nhwc t "$images" "$filters" "$sizes" \
    'p(n, i, j, c) = (x(n, i - 1, j, c) else 3) where i in 0:H+2
     t(n, i, j, o) +=! p(n, i + a, j + b, c) * k(a, b, c, o)  y(n, i, j, o) = tanh(t(n, i, j, o))'
is_call conv2d_nhwc_winograd4_dilated y "$images" "$filters" "$sizes" \
    'y(n, i, j, o) +=! (x(n, i + 3*a - 2, j + 3*b - 2, c) else 0) * k(a, b, c, o) where i in 0:H-2, j in 0:W-2'
image='float(C, H, W)' filters='float(M, C, 3, 3)' sizes='H=7, W=9, C=5, M=6'
is_call $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b)'
is_call $chw y "$image" "$filters" 'H=7, W=9, C=6, M=6' \
    't(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b)  y(o, i, j) +=! t(c, i + a, j + b) * k(o, c, a, b)'
is_call conv2d_winograd4 y 'float(N, C, H, W)' "$filters" "N=3, $sizes" \
    'y(n, o, i, j) +=! x(n, c, i + a, j + b) * k(o, c, a, b)'
is_call conv1d_nlc_winograd4 y 'float(N, L, C)' 'float(3, C, M)' 'N=1, L=11, C=4, M=7' \
    'y(n, l, m) +=! (x(n, l + k0 - 1, c) else 0) * k(k0, c, m) where l in 0:L'

is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, 2 - a, 2 - b)'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, b, a)'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b) where i in 0:3, a in 0:3'
is_none $chw y "$image" "$filters" "$sizes" \
    'y(o, i, j) +=! (x(c, i + a - 1, j + b) else 0) * k(o, c, a, b) where i in 0:H, j in 0:W-2'
is_none $chw y "$image" "$filters" "$sizes" \
    'y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else 1) * k(o, c, a, b) where i in 0:H, j in 0:W'
is_none $chw y "$image" "$filters" "$sizes" \
    'y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else edge) * k(o, c, a, b) where i in 0:H, j in 0:W'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b) where c in 0:4'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! 2 * x(c, i + a, j + b) * k(o, c, a, b)'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b) where a < 2'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) max=! x(c, i + a, j + b) * k(o, c, a, b)'
is_none $chw y "$image" "$filters" "$sizes" \
    'y(o, i, j) = x(o, i + 1, j + 1)  where i in 0:H-2, j in 0:W-2, o in 0:5
     y(o, i, j) += x(c, i + a, j + b) * k(o, c, a, b) where o in 0:5'
is_none $chw y "$image" "$filters" "$sizes" 'y(o, i, j) +=! x(c, 2*i + a, j + b) * k(o, c, a, b)'
is_none $chw y 'double(C, H, W)' 'double(M, C, 3, 3)' "$sizes" 'y(o, i, j) +=! x(c, i + a, j + b) * k(o, c, a, b)'

# Without an error allowed, or with the order kept, nothing is taken; a def of the file's own comes before the
# library's.
sed '$d' c1.tensor >plain.tensor
for options in -O2 "-O2 -fstrict -ffp-error=1e-4 -w"; do
    runs "with $options" "$TENSORC" -run $options plain.tensor
    unlike "$(cat "$work/out")" ' by ' "as it is written"
done
cat >own.tensor <<'EOT'
def sums[K=4](float(N) X) -> (Y) { Y(i) +=! X(i + k) where k in 0:K, i in 0:N - K + 1 }
def sums4(float(N) X) -> (Y) implements sums[K=4] where N >= 8 {
    pair(i) = X(i) + X(i + 1)
    Y(i) = pair(i) + pair(i + 2) where i in 0:N - 3
}
def f(float(L) z) -> (a, b) {
    a(t) +=! z(t + u) where u in 0:4, t in 0:L - 3
    b(t) +=! z(t + u) where u in 0:5, t in 0:L - 4
}
export f(L=33)
schedule f on x86 { algorithm(sums4, at=a) }
EOT
runs "a file's own algorithms" "$TENSORC" -run -O2 own.tensor
like "$(cat "$work/out")" 'a by sums4' "hold for what is written out"
sed 's/at=a/at=b/' own.tensor >other.tensor
exits 1 "where they hold" "$TENSORC" -run -O2 other.tensor
done_testing
