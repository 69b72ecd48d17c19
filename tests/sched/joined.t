#!/bin/sh
# A reduction of what another stage reduces may be one reduction over all axes. And which ones may not.
. "${srcdir:-.}/tests/lib.sh"

# joined BODY WHAT [OPTION]: it may be asked for, and is right.
joined() {
    printf 'def f(float(C, H, W) I) -> (O) {\n%s\n}\nexport f(C=3, H=10, W=34)\n%s\n' \
        "$1" 'schedule f on x86 { algorithm(joined) }' >"$work/f.tensor"
    runs "$2" "$TENSORC" -run -O2 ${3:-} --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'results checked, by joined' "and it is right"
}

# left BODY WHAT [OPTION]: the algorithm is not there to be asked for.
left() {
    printf 'def f(float(C, H, W) I) -> (O) {\n%s\n}\nexport f(C=3, H=10, W=34)\n%s\n' \
        "$1" 'schedule f on x86 { algorithm(joined) }' >"$work/f.tensor"
    exits 1 "$2" "$TENSORC" -O2 ${3:-} -c "$work/f.tensor" -o "$work/f.o"
    like "$(cat "$work/err")" "no algorithm 'joined'" "and that is said"
}

pool='r(c, y, x) max=! I(c, 2*y + q, x) where q in 0:2   O(c, y, x) max=! r(c, y, 2*x + p) where p in 0:2'
joined "$pool" "maxima of maxima"
joined "$pool" "also where sums have an order" -fstrict
joined 'r(c, y) +=! I(c, y, q)   O(c) +=! r(c, q)' "sums of sums"
joined 'r(c, y) +=! I(c, y, q) * I(c, y, q)   s(c) +=! r(c, q)   O() +=! s(q)' "sums of sums of sums"
joined 'r(c, y) +=! I(c, y, q) where q <= y   O(c) +=! r(c, q)' "sums under a condition"

left 'r(c, y) +=! I(c, y, q)   O(c) +=! r(c, q)' "sums that have an order" -fstrict
left 'r(c, y) +=! I(c, y, q)   O(c) max=! r(c, q)' "maxima of sums"
left 'r(c, y, x) +=! I(c, y + q, x) where q in 0:2   O(c, y, x) +=! r(c, y, x + p) where p in 0:2' \
    "sums that several sums need"
left 'r(c, y) +=! I(c, y, q)   O(c, x) +=! r(c, q) where x in 0:3' "sums that are needed again"
left 'r(c, y) +=! I(c, y, q)   O(c) +=! 2 * r(c, q)' "sums of something else"
left 'r(c, y) +=! I(c, y, q)   s(c) +=! r(c, q)   O(c, y) = r(c, y) + s(c)' "sums that another stage reads"
left 'r(c, y) = 1 where c in 0:C, y in 0:H   r(c, y) += I(c, y, q)   O(c) +=! r(c, q)' "sums that begin with something"

printf 'def f(float(C, H, W) I) -> (O) {\n%s\n}\nexport f(C=64, H=112, W=112)\n' "$pool" >"$work/f.tensor"
like "$("$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
    -o "$work/f.o")" 'algorithm\(joined\)' "a pool by rows and columns is one by -O2"
done_testing
