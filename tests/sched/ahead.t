#!/bin/sh
# What -O2 fetches ahead: blocks of constants that are read several times, one after another, by loops that have time
# for it; in equal parts.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# chosen [OPTION...]: the statements of the schedule of file.tensor, in one line; with what is reported.
chosen() {
    "$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db=none.db --emit-schedule=- -c file.tensor -o file.o "$@" 2>&1 |
        tr '\n' ' '
}
dense='def f(float(N, I) x, const float(O, I) w) -> (y) { y(n, o) +=! x(n, r_i) * w(o, r_i) }'
source() { echo "$*" >file.tensor; }

source "$dense export f(N=128, I=768, O=3072)"
like "$(chosen)" 'prefetch\(w_p, o_[om], 1, at=r_i_o\)' "panels of weights"
like "$(chosen --threads=2)" 'prefetch\(w_p, [a-z_]+, 1, at=r_i_o\)' "for threads, too"
"$TENSORC" -O2 -S --target=x86-64-v4 --threads=1 --db=none.db file.tensor -o file.s
like "$(grep -c prefetcht1 file.s)" '^[1-9]' "into the second cache"
unlike "$(grep -B8 prefetcht1 file.s)" 'div|imul' "their addresses are found without divisions"
source "$dense export f(N=1, I=768, O=3072)"
unlike "$(chosen)" prefetch "not what is read once"
source "$dense export f(N=128, I=64, O=64)"
unlike "$(chosen)" prefetch "nor what the first cache holds"
source "$dense export f(I=768, O=3072)"
unlike "$(chosen)" 'prefetch|error|warning' "nor where the number of rows is not known: nothing is said"
source 'def f(float(N, I) x, float(O, I) v) -> (y) { w(o, i) = exp(v(o, i))
    y(n, o) +=! x(n, r_i) * w(o, r_i) } export f(N=128, I=768, O=3072)'
unlike "$(chosen)" 'prefetch\(w' "nor what was just computed"
source 'def f(float(C, H, W) I, const float(O, C, 3, 3) F) -> (R) {
    R(o, h, w) +=! I(r_c, h + r_i, w + r_j) * F(o, r_c, r_i, r_j) where h in 0:H - 2, w in 0:W - 2 }
    export f(C=64, H=58, W=58, O=64)'
unlike "$(chosen)" 'prefetch\(I' "nor other arguments"
source 'def f(float(N, R) x, const float(L) w) -> (y) {
    y(n, o) +=! x(n, r) * w(o + r) where o in 0:L - R + 1, r in 0:R }
    export f(N=64, R=512, L=20000)'
unlike "$(chosen)" 'prefetch' "nor blocks of which this one has most already"

source "$dense export f(N=128, I=768, O=3072)
    schedule f on x86 { exactly() }"
unlike "$(chosen)" prefetch "nothing is added to a block that is exactly so"
source "$dense export f(N=96, I=771, O=1000)"
if runs_here x86-64-v4; then
    like "$(chosen)" 'prefetch\(w_p' "a panel of another length"
    runs "computes the same" "$TENSORC" -run -O2 --target=x86-64-v4 --threads=1 --db=none.db file.tensor
    {
        printf '\223NUMPY\001\000\166\000'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 771), }"
        head -c $((1000 * 771 * 4)) /dev/zero | tr '\0' '\077'
    } >w.npy
    source "$dense export f(N=96, w=\"w.npy\")"
    runs "is tuned" "$TENSORC" -O tune --trials=8 --target=x86-64-v4 --threads=1 --db=tune.db -c file.tensor -o file.o
    like "$("$TENSORC" db export --db=tune.db | grep -c 'prefetch(')" '^[1-9]' "what is measured fetches ahead, too"
else
    skip 4 "this machine does not run x86-64-v4"
fi

done_testing
