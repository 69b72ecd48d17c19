#!/bin/sh
# packed.t - const arguments packed once for many calls: NAME_pack_ARG, NAME_packed_ARG_size, NAME_packed, in C and C++.
. "${srcdir:-.}/tests/lib.sh"
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
like "$(cat packed.h)" 'int dense_packed\(int64_t M, int64_t K, int64_t N, const float \*A, const void \*w, const void \*b, float \*C\);' \
    "the header declares them"
capture "$TENSORC" -c "$here/packed.tensor" -o other.o --explain-schedule
like "$(cat out)" '^P: .* as \(d0 align 64 offset 16, d1, d2\), ahead of all calls' "an explanation says what is packed how"
is "$(sed -n 's/^\([a-z_]*\): scheduled by the [ds].*/\1/p' out | paste -sd' ' -)" \
    "$(sed -n 's/^int \([a-z_]*\)(.*/\1/p' packed.h | grep -v '_pack_' | paste -sd' ' -)" "under the names of the functions"
runs "once more" "$TENSORC" -c "$here/packed.tensor" -o again.o
same other.o again.o "the same bytes"
runs "a run needs none of them" "$TENSORC" -run -DM=3 -DK=5 -DN=17 -DV=4 -DD=2 -DL=3 "$here/packed.tensor"

# --- what --emit-schedule says of them
cat >known.tensor <<'EOF'
def known(float(M, K) x, const float(K, N) w) -> (y) { y(m, n) +=! x(m, k) * w(k, n) }
export known(M=9, K=40, N=33)
EOF
runs "schedules are written" "$TENSORC" -O2 --db=none.db -c known.tensor -S -o known.s --emit-schedule=found
like "$(cat found)" '^schedule known on ' "one of the function"
like "$(cat found)" '^# schedule known_packed on ' "and as comments one of the packed function"
cat known.tensor found >pasted.tensor
runs "pasted" "$TENSORC" -O2 --db=none.db -c pasted.tensor -S -o pasted.s --emit-schedule=again
is "$(sed -n '/^known:/,/^\.Lfunc_end/p' pasted.s | grep -v '^\.L\|\.L')" \
    "$(sed -n '/^known:/,/^\.Lfunc_end/p' known.s | grep -v '^\.L\|\.L')" "they give the same function"
unlike "$(cat again)" 'known_packed' "whose schedule the packed function has too"
# --- sizes come in the order of their first appearance, declared there or later
cat >order.tensor <<'EOF'
def order(float(M + 1) a, const float(N, 2 * K) b, float(K) k) -> (float(M) c) { c(i) +=! a(i + 1) * b(r_n, 2 * r_k) * k(r_k) }
export order tune (K=2, N=3, M=4)
EOF
cat >order.c <<'EOF'
#include "order.h"
#include <stdlib.h>
int main(void) {
    float a[] = {9, 1, 2}, b[] = {1, 9, 2, 9, 3, 9}, k[] = {1, 10, 100}, c[2];
    void *packed = malloc((size_t)order_packed_b_size(2, 1, 3));
    order_b *w = packed;
    int status = order(2, 1, 3, a, b, k, c);
    int right = c[0] == 321 && c[1] == 642;
    c[0] = c[1] = 0;
    status |= order_pack_b(2, 1, 3, b, w) | order_packed(2, 1, 3, a, w, k, c);
    return !(right && status == 0 && c[0] == 321 && c[1] == 642);
}
EOF
sed -i 's/order_b \*/void */' order.c
runs "compiles a function whose size M is declared last" "$TENSORC" -c order.tensor -o order.o --header order.h
like "$(cat order.h)" '^int order\(int64_t M, int64_t N, int64_t K,' "M comes first, as in the text"
like "$(cat order.h)" '^int order_packed\(int64_t M, int64_t N, int64_t K,' "as it does where arguments are packed"
ok "links" $CC -I. order.c order.o -o application -fopenmp -lm
ok "and is called so" ./application
runs "-run takes its sizes by name" "$TENSORC" -run -DK=3 -DN=2 -DM=5 order.tensor
done_testing
