#!/bin/sh
# strides.t - lanes that lie in memory from the last to the first, or between the elements of other lanes: contiguous
# accesses and shuffles, the same values.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# values NAME FLAGS...: the program's values, by its default schedules, on processors with masks, with some and without.
values() {
    name=$1
    shift
    for target in $(targets_here); do
        runs "$name, $target" "$TENSORC" -run --threads=1 --target=$target "$@" "$name.tensor"
    done
}

# --- from the last to the first ---

# down TYPE: reads whose lanes go down, by default schedules.
down() {
    cat <<END
def flip($1(N) x) -> (y) { y(i) = x(N - 1 - i) where i in 0:N }
def both($1(H, W) x) -> (y) { y(i, j) = x(H - 1 - i, W - 1 - j) where i in 0:H, j in 0:W }
def outside($1(N) x) -> (y) { y(i) = (x(N + 3 - i) else 1) where i in 0:N+9 }
END
    for n in 1 2 15 17 64 65 127; do
        printf 'export flip(N=%d) as flip%d\nexport both(H=3, W=%d) as both%d\n' $n $n $n $n
        printf 'export outside(N=%d) as outside%d\n' $n $n
    done
}
for type in float uint8 half; do
    down $type >down.tensor
    values down
done
cat >written.tensor <<'END'
def flip(float(N) x) -> (y) { y(i) = x(N - 1 - i) where i in 0:N }
def pairs(float(M) x) -> (y) { y(i) = x(M - 1 - 2 * i) where i in 0:M/2 }
schedule flip on x86 {
    io, iv = split(y.i, 12)
    vectorize(iv)
}
schedule pairs on x86 {
    io, iv = split(y.i, 16)
    vectorize(iv)
}
END
for n in 0 1 11 12 13 15 16 17 33 101; do
    printf 'export flip(N=%d) as flip%d\nexport pairs(M=%d) as pairs%d\n' $n $n $((2 * n + 1)) $n
done >>written.tensor
values written

cat >run.tensor <<'END'
def flip(uint8(H, W) x) -> (y) { y(i, j) = x(i, W - 1 - j) where i in 0:H, j in 0:W }
export flip
END
for n in 0 1 15 16 17 63 64 65 131; do
    values run -DH=3 -DW=$n
done

cat >long.tensor <<'END'
def flip(uint8(N) x) -> (y) { y(i) = x(N - 1 - i) where i in 0:N }
export flip(N=4096)
END
for target in x86-64-v4 x86-64-v3; do
    unlike "$("$TENSORC" -S --threads=1 --target=$target long.tensor -o -)" 'gather|pinsr' \
        "no lane is loaded alone, $target"
done

# --- between each other ---

# columns TYPE COUNT LANES: rows of COUNT elements, the lanes along the rows; all columns, some of them, one alone.
columns() {
    cat <<END
def reversed($1(N, $2) x) -> (y) { y(n, c) = x(n, $(($2 - 1)) - c) where c in 0:$2 }
def mixed($1(N, $2) x, $1(N, $2) z) -> (y) { y(n, c) = x(n, (c + 1) % $2) + z(n, c) where c in 0:$2 }
def few($1(N, $2) x) -> (y) { y(n) = x(n, 0) + x(n, $(($2 / 2))) }
def one($1(N, $2) x) -> (y) { y(n) = x(n, 0) }
END
    for def in reversed mixed few one; do
        loop='' unroll=''
        case $def in reversed | mixed) loop=', y.c' unroll='unroll(y.c)' ;; esac
        cat <<END
schedule $def on x86 {
    no, nv = split(y.n, $3)
    reorder(no$loop, nv)
    vectorize(nv)
    $unroll
}
END
        for n in 0 1 $(($3 - 1)) $3 $(($3 + 1)) 61; do
            echo "export $def(N=$n) as $def$n"
        done
        echo "export $def"
    done
}
while read -r type count lanes; do
    columns $type $count $lanes >columns.tensor
    for target in $(targets_here); do
        runs "$type, $count columns of $lanes lanes, $target" "$TENSORC" -run --threads=1 --target=$target -DN=67 \
            columns.tensor
    done
done <<END
float 2 16
float 3 16
float 6 32
float 9 16
float 16 16
double 3 8
uint8 3 64
int16 3 32
half 4 16
END

# -O2 finds such lanes by itself, for sizes known at compile time and for run-time sizes.
cat >found.tensor <<'END'
def cross(float(N, 3) a, float(N, 3) b) -> (c) {
    c(n, i) = a(n, (i + 1) % 3) * b(n, (i + 2) % 3) - a(n, (i + 2) % 3) * b(n, (i + 1) % 3) where i in 0:3 }
def product(float(N, 2) a, float(N, 2) b) -> (c) {
    c(n, p) = p == 0 ? a(n, 0) * b(n, 0) - a(n, 1) * b(n, 1) : a(n, 0) * b(n, 1) + a(n, 1) * b(n, 0) where p in 0:2 }
def turn(float(3, 3) m, float(N, 3) v) -> (y) { y(n, i) +=! m(i, j) * v(n, j) }
def bgr(uint8(H, N, 3) x) -> (y) { y(h, w, c) = x(h, w, 2 - c) where c in 0:3 }
export cross(N=1000) as cross1
export product(N=1000) as product1
export turn(N=1000) as turn1
export bgr(H=9, N=96) as bgr1
END
values found
{ sed '/^export/d' found.tensor; printf 'export cross\nexport product\nexport turn\nexport bgr\n'; } >any.tensor
for n in 1 15 16 17 131; do
    values any -DN=$n -DH=3
done

# Rows of a few elements are lanes themselves.
cat >rows.tensor <<'END'
def unit(float(N, 3) x) -> (y) { s(n) +=! x(n, i) * x(n, i)   y(n, i) = x(n, i) / sqrt(s(n) + 1) }
def softmax(float(N, H, D) x) -> (y) {
    m(n, h) max=! x(n, h, d)  e(n, h, d) = exp(x(n, h, d) - m(n, h))  t(n, h) +=! e(n, h, d)
    y(n, h, d) = e(n, h, d) / t(n, h) }
def inverse(float(N, 2, 2) a) -> (b) {
    c(n, i, j) = i == j ? a(n, 1 - i, 1 - j) : -a(n, i, j) where i in 0:2, j in 0:2
    det(n) +=! a(n, 0, j) * c(n, j, 0)
    b(n, i, j) = det(n) == 0 ? 0.0 : c(n, i, j) / det(n)
}
def lengths(uint8(N, 3) x) -> (float(N) y, float(N, 3) z) {
    s(n) +=! float(x(n, i))   y(n) = s(n)   z(n, i) = float(x(n, i)) - s(n) / 3 }
END
for n in 1 15 16 17 33 65 127; do
    for def in unit inverse lengths; do
        echo "export $def(N=$n) as $def$n"
    done
    echo "export softmax(N=3, H=$n, D=4) as softmax$n"
done >>rows.tensor
values rows
{ sed '/^export/d' rows.tensor; printf 'export unit\nexport inverse\nexport lengths\nexport softmax(D=3)\n'; } \
    >any.tensor
for n in 0 1 15 16 17 131; do
    values any -DN=$n -DH=5
done
runs "rows as lanes, in threads" "$TENSORC" -run --threads=2 -DN=77 -DH=3 any.tensor
like "$(echo 'export unit(N=4096) as many' | cat any.tensor - | "$TENSORC" -c --explain-schedule --threads=1 \
    --target=x86-64-v4 -DN=77 -DH=3 - -o rows.o | sed -n '/^many/,$p')" 's: 16 in registers' \
    "rows of three elements are lanes"
for target in x86-64-v4 x86-64-v3; do
    unlike "$(sed '/^export bgr/d; s/N=1000/N=1024/' found.tensor >whole.tensor; "$TENSORC" -S -O2 --threads=1 \
        --target=$target whole.tensor -o -)" \
        'gather|scatter|pinsr|vextractps' "no lane is loaded or stored alone, $target"
done
like "$("$TENSORC" -S -O2 --threads=1 --target=aarch64 whole.tensor -o - | grep -o -w 'ld3\|st3\|ld2\|st2' | sort -u |
    paste -sd' ' -)" \
    '^ld2 ld3 st2 st3$' "whole columns are one load and one store on ARM"
done_testing
