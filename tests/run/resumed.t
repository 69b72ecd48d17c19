#!/bin/sh
# resumed.t - reductions whose outer loops are around their register tile: it goes on from what is stored, in all
# shapes, for all kinds of reductions, and in the order of the source under -fstrict.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# The loops of a register tile inside a block of the reduction of a stage.
tile() {
    cat <<END
    ko, ki = split($1.r_k, 5)
    io, ii = split($1.i, 3)
    jo, ju, jl = split($1.j, 2, 4)
    reorder(io, ko, jo, ki, ii, ju, jl)
    vectorize(jl)
    unroll(ii, ju)
    R = cache_write($1, at=jo, scope=register)
END
}

# program RESULTS STATEMENTS SCHEDULE: a function f of the shape of a product of matrices.
program() {
    printf 'def f(float(M, K) A, float(K, N) B) -> (%s) {\n%s\n}\nexport f\nschedule f on x86 {\n%s\n}\n' "$1" "$2" "$3"
}

program C 'C(i, j) +=! A(i, r_k) * B(r_k, j)' "$(tile C)" >product.tensor
program C 'C(i, j) max=! A(i, r_k) * B(r_k, j)' "$(tile C)" >largest.tensor
program C 'C(i, j) +=! A(i, r_k) * B(r_k, j) where r_k <= i, r_k in 0:K' "$(tile C)" >triangle.tensor
program 'inout float(M, N) C' 'C(i, j) += A(i, r_k) * B(r_k, j)' "$(tile C)" >held.tensor
program 'v, at' 'v(i, j), at(i, j) top=! (A(i, r_k) * B(r_k, j), r_k)' "$(tile v)" >place.tensor
cat >>place.tensor <<'END'
combiner top(float v, int64 i; float w, int64 j) associative commutative identity (-inf, 9223372036854775807) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
END
program D 's(i, j) +=! A(i, r_k) * B(r_k, j)
    D(i, j) = max(s(i, j), 0) + 1' "    y, yi = split(D.i, 6)
    compute_at(s, y)
    parallel(y)
$(tile s)" >follows.tensor
program C 'C(i, j) +=! A(i, r_k) * B(r_k, j)' '    kz, ko, ki = split(C.r_k, 2, 3)
    jo, jl = split(C.j, 8)
    reorder(kz, jo, ko, C.i, ki, jl)
    R = cache_write(C, at=jo)
    Q = cache_write(R, at=R.i, scope=register)
    P = cache_read(B, at=kz, layout=(j/8, k, j%8))
    vectorize(jl)' >two_levels.tensor
program C 'C(i, j) +=! A(i, r_k) * B(r_k, j)' '    ko, ki = split(C.r_k, 4)
    reorder(ko, C.i, ki, C.j)
    R = cache_write(C, at=C.i)
    ka, kb = split(ko, 2)
    S = cache_write(C, at=ka)' >between.tensor

# shape OPTION NAME M N K
shape() {
    # shellcheck disable=SC2086 # no option is no word
    runs "$2 of $3 x $4, $5 terms $1" "$TENSORC" -run $1 --threads=2 -DM="$3" -DN="$4" -DK="$5" "$2.tensor"
}

for name in product largest triangle held place follows two_levels between; do
    shape "" $name 7 13 0
    shape "" $name 0 8 11
    shape "" $name 1 1 1
    shape "" $name 2 3 4
    shape "" $name 3 4 5
    shape "" $name 4 5 6
    shape "" $name 7 17 11
    shape -O0 $name 7 13 11
    shape -fstrict $name 7 13 11
done

done_testing
