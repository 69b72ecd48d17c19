#!/bin/sh
# strides.t - lanes that lie in memory from the last to the first: contiguous accesses and a shuffle, the same values.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# values NAME FLAGS...: the program's values, by its default schedules, on processors with masks, with some and without.
values() {
    name=$1
    shift
    for target in host x86-64-v3 x86-64; do
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
    for n in 1 2 7 15 17 31 64 65 127 1000; do
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
    unlike "$("$TENSORC" -S --threads=1 --target=$target long.tensor -o -)" 'gather|pinsr' "no lane is loaded alone, $target"
done
done_testing
