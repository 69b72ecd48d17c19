#!/bin/sh
# Temporaries that the source spells channels first lie channels last where -O2 estimates that to be faster: layouts are
# one choice for a producer and its consumers. And what stays as it is spelt.
. "${srcdir:-.}/tests/lib.sh"

convs='def f(float(C, H, W) x, float(O, C, 3, 3) v, float(O) b, float(P, O, 3, 3) w, float(P) c) -> (z) {
    s(o, y, q) +=! (x(r_c, y + r_dy - 1, q + r_dx - 1) else 0) * v(o, r_c, r_dy, r_dx) where y in 0:H, q in 0:W
    t(o, y, q) = max(s(o, y, q) + b(o), 0)
    u(o, y, q) +=! (t(r_c, y + r_dy - 1, q + r_dx - 1) else 0) * w(o, r_c, r_dy, r_dx) where y in 0:H, q in 0:W
    z(o, y, q) = max(u(o, y, q) + c(o), 0)
}'

# chosen DEF SIZES: the statements of the schedule, in one line. The def stays in f.tensor.
chosen() {
    printf '%s\nexport f(%s)\n' "$1" "$2" >"$work/f.tensor"
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
        -o "$work/f.o" 2>&1 | tr '\n' ' '
}
like "$(chosen "$convs" 'C=64, O=64, P=64, H=20, W=20')" 'algorithm\(channels_(last|inside)\)' \
    "what lies between two convolutions"
unlike "$(chosen "$convs" 'C=64, O=4, P=64, H=56, W=56')" 'algorithm' "few channels fill no vector"

# is_right DEF SIZES ALGORITHM [OPTION]
is_right() {
    printf '%s\nexport f(%s)\nschedule f on x86 { algorithm(%s) }\n' "$1" "$2" "$3" >"$work/f.tensor"
    runs "$2 by $3" "$TENSORC" -run -O2 ${4:-} --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" "checked.*, by $3" "and they are right"
}
for channels in 8 15 16 17; do
    is_right "$convs" "C=3, O=$channels, P=5, H=7, W=9" channels_last
    is_right "$convs" "C=3, O=$channels, P=17, H=1, W=16" channels_inside
done
is_right "$convs" "C=3, O=16, P=16, H=7, W=9" channels_last -fstrict
is_right "$convs" "C=3, O=16, P=16, H=0, W=9" channels_last

block='def f(float(N, C, H, W) x, float(E, C) a, float(E, 3, 3) k, float(C, E) w) -> (z) {
    t(n, o, y, q) +=! x(n, r_c, y, q) * a(o, r_c)
    d(n, c, y, q) +=! (t(n, c, 2*y + r_dy - 1, 2*q + r_dx - 1) else 0) * k(c, r_dy, r_dx)
        where r_dy in 0:3, r_dx in 0:3, y in 0:H/2, q in 0:W/2
    m(n, c, y, q) max=! d(n, c, 2*y + r_dy, 2*q + r_dx) where r_dy in 0:2, r_dx in 0:2, y in 0:H/4, q in 0:W/4
    s(n, o, y, q) +=! m(n, r_c, y, q) * w(o, r_c)
    z(n, o, y, q) = s(n, o, y, q) + x(n, o, y, q)
}'
is_right "$block" "N=2, C=11, E=24, H=13, W=18" channels_last
is_right "$block" "N=2, C=11, E=24, H=13, W=18" channels_inside

# With no reduction among the dimensions before the window, the one that has weights is the channels.
cat >"$work/f.tensor" <<'END'
def f(float(C, H, W) x, float(C, 3) k) -> (z) {
    t(c, y, q) = x(c, y, q) * 2
    z(c, y, q) +=! t(c, y, q + r) * k(c, r)
}
export f(C=64, H=20, W=22)
schedule f on x86 { algorithm(channels_last) }
END
like "$("$TENSORC" -O0 --target=x86-64-v4 --explain-schedule -c "$work/f.tensor" -o "$work/f.o")" 't\(y, q, c\) =' \
    "a window of one dimension, for each channel alone"

# left DEF SIZES WHAT: the algorithm is not there to be asked for.
left() {
    printf '%s\nexport f(%s)\nschedule f on x86 { algorithm(channels_last) }\n' "$1" "$2" >"$work/f.tensor"
    exits 1 "$3" "$TENSORC" -O2 --target=x86-64-v4 -c "$work/f.tensor" -o "$work/f.o"
}
left 'def f(float(C, H, W) x) -> (z) {
    t(c, y, q) = x(c, y, q) * x(c, y, q)
    z(c, y, q) = t(c, y, q) + t(c, y + 1, q)
}' 'C=64, H=20, W=20' "what no stage reads in windows of its last dimension"
left 'def f(float(C, H, W) x) -> (t, z) {
    t(c, y, q) = x(c, y, q) * x(c, y, q)
    z(c, y, q) = t(c, y, q) + t(c, y, q + 1) where q in 0:W-1
}' 'C=64, H=20, W=20' "a result"
left 'def f(float(H, W, C) x) -> (z) {
    t(y, q, c) = x(y, q, c) * x(y, q, c)
    z(y, q, c) = t(y, q, c) + t(y, q + 1, c)
}' 'C=64, H=20, W=20' "what lies so already"
left 'def f(float(C, H, W) x, int32(C) at) -> (z) {
    t(c, y, q) = x(c, y, q) * x(c, y, q)
    z(c, y, q) = t(at(c), y, q) + t(at(c), y + 1, q + 1)
}' 'C=64, H=20, W=20' "what is read at channels from memory"
done_testing
