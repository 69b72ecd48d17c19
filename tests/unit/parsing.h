/* parsing.h - what the parser's tests share: a parse of a text with its messages, and a text that uses the whole
 * grammar. */
#ifndef TESTS_UNIT_PARSING_H
#define TESTS_UNIT_PARSING_H

#include "parser/ast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Parsed {
    Arena *arena;
    Sources sources;
    AstFile *tree;
    Schedule *schedule;
    int errors;
    char *messages;
    size_t length;
} Parsed;

__attribute__((unused)) static Parsed parse_bytes(const char *text, size_t length, bool schedule) {
    Parsed parsed = {.arena = arena_new()};
    parsed.sources.arena = parsed.arena;
    uint32_t file = (uint32_t)source_add(&parsed.sources, "t.tensor", text, length, false);
    FILE *stream = open_memstream(&parsed.messages, &parsed.length);
    Diagnostics *diagnostics = diag_new(parsed.arena, &parsed.sources, (DiagOptions){.stream = stream});
    if (schedule)
        parsed.schedule = parse_schedule(parsed.arena, &parsed.sources, file, diagnostics);
    else
        parsed.tree = parse_file(parsed.arena, &parsed.sources, file, diagnostics);
    parsed.errors = diag_finish(diagnostics);
    fclose(stream);
    return parsed;
}

__attribute__((unused)) static Parsed parse_text(const char *text) {
    return parse_bytes(text, strlen(text), false);
}

__attribute__((unused)) static const char *print_tree(const Parsed *parsed) {
    Text text = {.arena = parsed->arena};
    text_add_bytes(&text, "", 0);
    ast_print(&text, parsed->tree);
    return text.text;
}

__attribute__((unused)) static void parsed_free(Parsed *parsed) {
    free(parsed->messages);
    arena_free(parsed->arena);
}

/* Every rule of the grammar at least once. */
static const char whole_grammar[] =
    "# a comment\n"
    "import \"nn\"\n"
    "import \"a \\\"quoted\\\" path\"\n"
    "def dense(float(M, K) A, float(K, N) B, const float(N) bias, float scale, int32() n, const double s) -> (C) {\n"
    "    C(i, j) +=! A(i, r_k) * B(r_k, j)\n"
    "    C(i, j) = C(i, j) * scale + bias(j) - float32(n) / 2\n"
    "}\n"
    "def window[S=1, P, D=2 * (1 + 1)](float(N, 3, H) I) -> (O, int32(N, 3) T, double d, inout float(N) w, v) {\n"
    "    O(n, c, h) max=! (I(n, c, S*h + r_k - P) else 0) where h in 0:(H - D) / S + 1, r_k in 0:3\n"
    "    O(n, c, h) *= -I(n, c, h) else wrap\n"
    "    O(n, c, h) min= I(n, c, h - 1) else I(n, c, h + 1) else (edge)\n"
    "    O(n, c, h) += (I(n, c, h) else edge) % 3 where exists I(n, c, h), k = h / 2, !(h < k) || h >= 2 && n != c\n"
    "    O(n, c, h) *=! I.0 + .5 + 1. + 1e3 + .5e-3 + 0x1F\n"
    "    O(n, c, h) min=! (n == c ? 1 : n > c ? 2 : 3) <=> g(I, 3) where n in 0:2\n"
    "    O(n, c, h) max= -(-n - (c - h)) - (n - c) - h\n"
    "    T(n, c) = int32(I(n, c, T(n, c)))\n"
    "    d = nextafter(fmax(1, 2), window[P=1, S=2](I))\n"
    "    a, b = two(I, v)\n"
    "    v=!a\n"
    "    C() = 0\n"
    "}\n"
    "def names(float(const) schedule, float(as, on) tune) -> (scan, error, inout, float(N) inout) {\n"
    "    scan(export) = schedule(import, needs)\n"
    "    error argmax=! (identity, combiner)\n"
    "    scan instr { implements(instr) = implements(instr - 1) else 0 scan needs { needs = 0 } }\n"
    "}\n"
    "def fast(float(N) A) -> (O) implements slow[S=1, D=1] where KH == 3 && KW == 3 error 1e-4 { O(i) = A(i) }\n"
    "def held[S=1](float(N) A) -> (O) where N % S == 0, N > 1 { O(i) = A(i) }\n"
    "def nothing() -> () { }\n"
    "export dense(M=1024, K=2 * 8, bias=\"b.npy\") as dense1024\n"
    "export window[S=2](N=1)\n"
    "export dense as symbolic tune (M=1024, N=64), (M=1, N=64)\n"
    "export nothing\n"
    "combiner argmax(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {\n"
    "    (v > w || (v == w && i < j)) ? (v, i) : v < 0 ? (w, i) : (w, j)\n"
    "}\n"
    "combiner sum(float v; float w) identity (0) { v + w }\n"
    "instr dot(int32(16) acc, uint8(16, 4) a) on x86 needs avx512vnni, sse4.1 { acc(i) += int32(a(i, r_k)) } = "
    "\"llvm.x\"\n"
    "instr nop() on \"any target\" { } = \"nop\"\n"
    "schedule dense on x86-64-v4 {\n"
    "    a, b, c = split(C[1].i, 4, ? in {2, 4, 8})\n"
    "    d, e = split(u.v.C.r_k, ?)\n"
    "    P = cache_read(B, at=jo, layout=(j/16, k, j%?), scope=local)\n"
    "    reorder(a, b) Q= cache_read(A)\n"
    "}\n"
    "schedule window on nvidia:sm_90 { parallel(X.store) }\n"
    "schedule window on \"strange one\" { }\n";

#endif
