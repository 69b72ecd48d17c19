#!/bin/sh
# functions.t - functions of float and double are sequences of instructions where they are computed in vectors, for any
# target; of single numbers some are the C library's.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# own ARITY: the functions that are sequences of instructions; angles of double may be large ones, which are not.
own() {
    sed -n 's/^FUNCTION([A-Z0-9]*, "\([a-z0-9]*\)", '"$1"', .* OWN(.*/\1/p' "${srcdir:-.}/lang/ops.def" |
        grep -vx -e sin -e cos -e tan
}
one=$(own 1)
two=$(own 2)
like "$(echo $one $two | wc -w)" '^[2-9][0-9]$' "functions of ops.def are looked at"

# program TYPE: a function of 64 elements for each of these.
program() {
    for name in $one; do
        echo "def t_$name($1(N) x) -> (y) { y(n) = $name(x(n)) } export t_$name(N=64)"
    done
    for name in $two; do
        echo "def t_$name($1(N) x, $1(N) z) -> (y) { y(n) = $name(x(n), z(n)) } export t_$name(N=64)"
    done
}

# called FLAGS: functions outside of the object that its code calls, in one line. What keeps the memory of temporaries
# (backends/runtime/memory.ll) is in every object.
called() {
    "$TENSORC" "$@" -S f.tensor -o f.s >log 2>&1 || echo "no code"
    awk '/^[A-Za-z_][A-Za-z0-9_.]*:/ { at = $1; sub(/:.*/, "", at); own[at] = 1 }
        at !~ /^tensorc[._](put|release|waiting|allocate)/ && $1 ~ /^(callq?|jmp|bl|b)$/ &&
        $2 ~ /^[a-z][a-z0-9]*(@PLT)?$/ {
            sub(/@PLT/, "", $2)
            calls[$2]++
        }
        END { for (name in calls) if (!own[name]) print name, calls[name] }' f.s | sort | tr '\n' ' '
}

for type in float double half; do
    program $type >f.tensor
    for target in x86-64-v3 x86-64-v4 aarch64; do
        is "$(called -O2 --target=$target --threads=1)" "" "$type, $target: none is a call"
    done
done
program double >f.tensor
for name in sin cos tan; do
    echo "def f(double(N) x) -> (y) { y(n) = $name(x(n)) } export f(N=4096)" >f.tensor
    is "$(called -O2 --target=x86-64-v4 --threads=1)" "$name 8 " \
        "$name of double is one of large angles, once for each lane"
    is "$(called -O2 --target=aarch64 --threads=1)" "$name 2 " "so for another target"
done
echo 'def f(double(N) x) -> (y) { y(n) = pow(x(n), 0.7) } export f(N=4096)' >f.tensor
like "$(called -O2 --target=x86-64 --threads=1)" '^pow [0-9]+ $' "pow of double takes fused multiply-adds"
echo 'def f(float(N) x, double(N) z) -> (y) { y(n) = pow(x(n), 0.7) + erf(z(n)) } export f(N=1)' >f.tensor
is "$(called -O0 --target=x86-64-v3 --threads=1)" "erf 1 powf 1 " "single numbers"
done_testing
