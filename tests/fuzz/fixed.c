/* fixed.c - the programs that schedules and kernels in text form are read against. */
#include "target.h"
#include "tests/unit/schedules.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[FIXED_PROGRAMS] = {
    "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }\nexport f(M=17, N=33, K=9)\n",
    "def f(float(M, K) A, float(K, N) B, float(N) b) -> (D) { C(i, j) +=! A(i, r_k) * B(r_k, j)\n"
    "  D(i, j) = max(C(i, j) + b(j), 0) }\n",
    "def f(float(C, H, W) I, float(M, C, 3, 3) F) -> (O) {\n"
    "  O(m, h, w) +=! (I(r_c, h + r_kh - 1, w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw)\n"
    "  where h in 0:H, w in 0:W }\nexport f(C=3, H=7, W=9, M=4)\n",
    "def f(float(N, D) X) -> (Y) { top(n) max=! X(n, r_d) e(n, d) = exp(X(n, d) - top(n)) sum(n) +=! e(n, r_d)\n"
    "  Y(n, d) = e(n, d) / sum(n) }\nexport f(N=5, D=13)\n",
    "def f(int32(N) A) -> (B) { t(i) = A(i) * 2 u(i) = t(i) + t(N - 1 - i) B(i) = u(i) + A(i)\n"
    "  B(i) += A(i) where i in 1:N }\n",
    "def f(float(V, D) table, int32(B, L) ids) -> (O) { O(b, l, d) = table(ids(b, l), d) }\n",
    "def f(int8(N, M) X) -> (S) { b(i, j) = X(i, j) + X(i + 1, j) where i in 0:N-1 c(i, j) = b(i, j) + b(i, j + 1)\n"
    "  S() +=! int32(c(r_i, r_j)) }\nexport f(N=8, M=11)\n",
};

const Program *fixed_program(int number) {
    static const Program *programs[FIXED_PROGRAMS];
    if (!programs[number])
        programs[number] = program_of_text(arena_new(), texts[number], NULL, 0);
    return programs[number];
}

const Program *input_program(Arena *arena, const uint8_t *bytes, size_t size, const char **text) {
    if (size < 1)
        return NULL;
    *text = arena_strndup(arena, (const char *)bytes + 1, size - 1);
    return fixed_program(bytes[0] % FIXED_PROGRAMS);
}

void fail_input(const char *what, const char *text) {
    fprintf(stderr, "%s:\n%s\n", what, text);
    abort();
}
