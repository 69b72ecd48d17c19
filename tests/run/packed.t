#!/bin/sh
# packed.t - const arguments packed once for many calls: NAME_pack_ARG, NAME_packed_ARG_size, NAME_packed, and in one
# block NAME_pack_all, NAME_packed_size, NAME_packed_all, in C and C++.
. "${srcdir:-.}/tests/lib.sh"
. "${srcdir:-.}/tests/run/arm.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

for level in -O0 -O1 -O2 "-O tune --trials=4 --db=t.db"; do
    # shellcheck disable=SC2086
    runs "compiles with $level" "$TENSORC" $level -c "$here/packed.tensor" -o packed.o --header packed.h
    ok "links" $CC -std=c11 -Wall -Wextra -Werror -I. "$here/packed.c" packed.o -o application -fopenmp -lm
    runs "runs" ./application || diag_file out
done
if have g++; then
    ok "links into a C++ program" g++ -x c++ -std=c++17 -Wall -Wextra -Werror -I. "$here/packed.c" -x none packed.o \
        -o application -fopenmp -lm
    runs "runs in a C++ program" ./application
else
    skip "no g++ here" 2
fi
like "$(cat packed.h)" \
    'int dense_packed\(int64_t M, int64_t K, int64_t N, const float \*A, '\
'const struct dense_packed_w \*w, const struct dense_packed_b \*b, float \*C\);' \
    "the header declares them"
like "$(cat packed.h)" 'int64_t dense_packed_w_size\(int64_t K, int64_t N\);' \
    "those that pack take the sizes of the argument"
like "$(cat packed.h)" 'int dense_pack_b\(int64_t N, const float \*from, struct dense_packed_b \*to\);' "alone"
like "$(cat packed.h)" 'int mixed_pack_all\(int64_t N, int64_t K, const float \*u, const int8_t \*w, const float \*v, '\
'struct mixed_packed \*to\);' "one packs all"
like "$(cat packed.h)" 'int mixed_packed_all\(int64_t N, int64_t M, int64_t K, const struct mixed_packed \*packed, '\
'float offset, const float \*x, float rate, float \*y\);' "which stand in front of the arguments"

# --- what is packed has a type of its own
cat >right.c <<'EOF'
#include "packed.h"
#include "packed.h"
int use(const float *A, const float *w, const struct dense_packed_w *packed_w,
    const struct dense_packed_b *packed_b, float *C);
int use(const float *A, const float *w, const struct dense_packed_w *packed_w,
    const struct dense_packed_b *packed_b, float *C) {
    (void)packed_w;
    return dense(1, 2, 3, A, w, w, C) + dense_packed(1, 2, 3, A, packed_w, packed_b, C);
}
EOF
sed 's/A, packed_w,/A, w,/' right.c >plain.c
sed 's/A, packed_w, packed_b/A, packed_b, packed_w/' right.c >swapped.c
for language in "c $CC -std=c99" "c++ g++ -std=c++98"; do
    # shellcheck disable=SC2086 # words
    set -- $language
    as=$1; shift
    if ! have "$1"; then skip "no $1 here" 3; continue; fi
    runs "packed arguments in $as" "$@" -x "$as" -Wall -Wextra -Werror -I. -fsyntax-only right.c
    exits 1 "are not what is not packed" "$@" -x "$as" -Wall -Wextra -Werror -I. -fsyntax-only plain.c
    exits 1 "nor another argument" "$@" -x "$as" -Wall -Wextra -Werror -I. -fsyntax-only swapped.c
done
capture "$TENSORC" -c "$here/packed.tensor" -o other.o --explain-schedule
like "$(cat out)" '^P: .* as \(d0 align 64 offset 16, d1, d2\), ahead of all calls' \
    "an explanation says what is packed how"
is "$(sed -n 's/^\([a-z_]*\): \(scheduled by the [ds]\|.*; the same function as \).*/\1/p' out | paste -sd' ' -)" \
    "$(sed -n 's/^int \([a-z_]*\)(.*/\1/p' packed.h | grep -v '_pack_\|_all$\|_in$' | paste -sd' ' -)" \
    "under the names of the functions"
runs "once more" "$TENSORC" -c "$here/packed.tensor" -o again.o
same other.o again.o "the same bytes"
runs "a run needs none of them" "$TENSORC" -run -DM=3 -DK=5 -DN=17 -DV=4 -DD=2 -DL=3 "$here/packed.tensor"

# --- what --emit-schedule says of them
cat >known.tensor <<'EOF'
def known(float(M, K) x, const float(K, N) w) -> (y) { y(m, n) +=! x(m, k) * w(k, n) }
export known(M=9, K=40, N=33)
EOF
emitted() { "$TENSORC" -O2 --db=none.db --target=x86-64-v4 -S "$@"; }
runs "schedules are written" emitted known.tensor -o known.s --emit-schedule=found
like "$(cat found)" '^schedule known on ' "one of the function"
like "$(cat found)" '^# schedule known_packed on ' "and as comments one of the packed function"
cat known.tensor found >pasted.tensor
runs "pasted" emitted pasted.tensor -o pasted.s --emit-schedule=again
is "$(sed -n '/^known:/,/^\.Lfunc_end/p' pasted.s | grep -v '^\.L\|\.L')" \
    "$(sed -n '/^known:/,/^\.Lfunc_end/p' known.s | grep -v '^\.L\|\.L')" "they give the same function"
unlike "$(cat again)" 'known_packed' "whose schedule the packed function has too"
# --- sizes come in the order of their first appearance, declared there or later
cat >order.tensor <<'EOF'
def order(float(M + 1) a, const float(N, 2 * K) b, float(K) k) -> (float(M) c) {
    c(i) +=! a(i + 1) * b(r_n, 2 * r_k) * k(r_k) }
export order tune (K=2, N=3, M=4)
EOF
cat >order.c <<'EOF'
#include "order.h"
#include <stdlib.h>
int main(void) {
    float a[] = {9, 1, 2}, b[] = {1, 9, 2, 9, 3, 9}, k[] = {1, 10, 100}, c[2];
    struct order_packed_b *w = malloc((size_t)order_packed_b_size(1, 3));
    int status = order(2, 1, 3, a, b, k, c);
    int right = c[0] == 321 && c[1] == 642;
    c[0] = c[1] = 0;
    status |= order_pack_b(1, 3, b, w) | order_packed(2, 1, 3, a, w, k, c);
    return !(right && status == 0 && c[0] == 321 && c[1] == 642);
}
EOF
runs "compiles a function whose size M is declared last" "$TENSORC" -c order.tensor -o order.o --header order.h
like "$(cat order.h)" '^int order\(int64_t M, int64_t N, int64_t K,' "M comes first, as in the text"
like "$(cat order.h)" '^int order_pack_b\(int64_t N, int64_t K,' "those of an argument are in that order"
like "$(cat order.h)" '^int order_packed\(int64_t M, int64_t N, int64_t K,' "as it does where arguments are packed"
ok "links" $CC -I. order.c order.o -o application -fopenmp -lm
ok "and is called so" ./application
runs "-run takes its sizes by name" "$TENSORC" -run -DK=3 -DN=2 -DM=5 order.tensor
# --- sizes and arguments of any name
cat >names.tensor <<'EOF'
def names(float(from) x, const float(to, from) register, const float(to) to_size) -> (y) {
    y(i) +=! x(j) * register(i, j) * to_size(i)
}
EOF
printf '#include "names.h"\n' >names.c
runs "sizes named as the parameters are" "$TENSORC" -c names.tensor -o names.o --header names.h
runs "make a header of C" $CC -std=c99 -Wall -Wextra -Werror -I. -fsyntax-only names.c
if have g++; then
    runs "and of C++" g++ -x c++ -Wall -Wextra -Werror -I. -fsyntax-only names.c
else
    skip "no g++ here"
fi
# --- with an argument of the name all there is no block
cat >all.tensor <<'EOF'
def one(float(N) x, const float(N) all) -> (y) { y(i) = x(i) * all(i) }
def two(float(N) x, const float(N) w, const float(N) all_in) -> (y) { y(i) = x(i) * w(i) + all_in(i) }
EOF
printf '#include "all.h"\nint main(void) { return one_pack_all(0, 0, 0) + two_pack_all(0, 0, 0, 0); }\n' >all.c
runs "an argument named all" "$TENSORC" -c all.tensor -o all.o --header all.h
ok "has the name of its own" $CC -std=c99 -Wall -Wextra -Werror -I. all.c all.o -o application -lm
ok "and links" ./application
unlike "$(cat all.h)" 'one_packed_all\(|struct one_packed ' "without a block"
on_arm packed
done_testing
