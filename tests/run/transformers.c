/* The operators of nn_attention and nn_quantized at sizes of 1, primes and others, compared with plain C. */
#include "transformers.h"
#include <stdlib.h>

enum { LARGEST = 1 << 14 };
#define TOLERANCE 5e-5
#include "tests/run/operands.h"

static float A[LARGEST], B[LARGEST], C[LARGEST], D[LARGEST], more[LARGEST];

#define EACH(count, value)                                                                                             \
    for (int i = 0; i < (count); i++)                                                                                  \
    wanted[i] = (float)(value)

static void test_gates(int n, int d) {
    EACH(n * d, A[i] / (1 + exp(-A[i])) * B[i]);
    compare("swiglu_rows", t_swiglu(n, d, A, B, got), n * d);
    EACH(n * d, 0.5 * A[i] * (1 + erf(A[i] / sqrt(2))) * B[i]);
    compare("geglu_rows", t_geglu(n, d, A, B, got), n * d);
    EACH(n * d, B[i] / (1 + exp(-A[i])));
    compare("gated_rows", t_glu(n, d, A, B, got), n * d);
    EACH(n * d, tanh(A[i]) * B[i]);
    compare("gated_rows of another activation", t_tanh_glu(n, d, A, B, got), n * d);
    EACH(3 * n * d, A[i]);
    compare("split_heads", t_split(n, 1, 3 * d, A, got), 3 * n * d);
    compare("merge_heads", t_merge(n, 3, 1, d, A, got), 3 * n * d);
    ok(t_split(n, 1, 3 * d + 1, A, got) == 1 && got[0] == 12345, "heads of unequal width: nothing is written");
}

typedef struct Heads {
    int batch, queries, keys, heads, groups, width, out;
} Heads;

static double score_of(const Heads *h, int b, int q, int head, int k) {
    const float *query = A + ((b * h->queries + q) * h->heads + head) * h->width;
    const float *key = B + ((b * h->keys + k) * h->groups + head / (h->heads / h->groups)) * h->width;
    double sum = 0;
    for (int d = 0; d < h->width; d++)
        sum += (double)query[d] * key[d];
    return exp(sum / sqrt(h->width));
}

static int plain_attention(const Heads *h, bool causal) {
    int count = h->batch * h->queries * h->heads * h->out;
    for (int i = 0; i < count; i++) {
        int e = i % h->out, head = i / h->out % h->heads, q = i / h->out / h->heads % h->queries;
        int b = i / h->out / h->heads / h->queries, seen = causal ? q + h->keys - h->queries + 1 : h->keys;
        double total = 0, mix = 0;
        for (int k = 0; k < seen; k++) {
            int group = head / (h->heads / h->groups);
            double weight = score_of(h, b, q, head, k);
            total += weight;
            mix += weight * C[((b * h->keys + k) * h->groups + group) * h->out + e];
        }
        wanted[i] = (float)(mix / total);
    }
    return count;
}

/* The last key and value of each batch are those of the step: the row that they replace holds others. */
static int one_step(const Heads *h) {
    static float keys[LARGEST], values[LARGEST], key[LARGEST], value[LARGEST];
    int key_row = h->groups * h->width, value_row = h->groups * h->out, last = h->keys - 1;
    for (int i = 0; i < LARGEST; i++) {
        keys[i] = B[i];
        values[i] = C[i];
    }
    for (int b = 0; b < h->batch; b++) {
        for (int i = 0; i < key_row; i++) {
            key[b * key_row + i] = B[(b * h->keys + last) * key_row + i];
            keys[(b * h->keys + last) * key_row + i] = 1e30f;
        }
        for (int i = 0; i < value_row; i++) {
            value[b * value_row + i] = C[(b * h->keys + last) * value_row + i];
            values[(b * h->keys + last) * value_row + i] = 1e30f;
        }
    }
    return t_step(h->batch, h->heads, h->width, h->groups, h->out, h->keys, A, key, value, last, got, keys, values);
}

static void test_attention(void) {
    static const Heads rows[] = {
        {1, 1, 1, 1, 1, 1, 1}, {1, 1, 37, 4, 4, 16, 16}, {1, 1, 37, 4, 1, 16, 16},
        {2, 5, 7, 6, 2, 8, 3}, {1, 17, 17, 2, 2, 5, 7},  {3, 13, 20, 6, 3, 32, 16},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const Heads *h = &rows[r];
        int count = plain_attention(h, false);
        int status = t_attention(h->batch, h->queries, h->heads, h->width, h->keys, h->groups, h->out, A, B, C, got);
        compare("multi_head_attention", status, count);
        if (h->queries == 1)
            compare("attention_step", one_step(h), count);
        count = plain_attention(h, true);
        status = t_causal(h->batch, h->queries, h->heads, h->width, h->keys, h->groups, h->out, A, B, C, got);
        compare("causal_multi_head_attention", status, count);
    }
    for (int position = -1; position <= 3; position += 4)
        ok(t_step(1, 2, 8, 2, 8, 3, A, B, C, position, got, more, D) == 2 && got[0] == 12345,
           "position %d of 3 rows of caches: a bad index", position);
    ok(t_attention(1, 2, 4, 8, 2, 3, 8, A, B, C, got) == 1, "4 heads do not share 3: a bad size");
    ok(t_attention(1, 2, 4, 8, 2, 0, 8, A, B, C, got) == 1, "no heads of keys: a bad size");
    ok(t_causal(1, 3, 4, 8, 2, 4, 8, A, B, C, got) == 1 && got[0] == 12345, "more queries than positions: a bad size");
}

/* The pair of feature d, and which of the two it is. */
static int pair_of(int d, int half, bool halves, int *second) {
    *second = halves ? d >= half : d % 2;
    return halves ? d % half : d / 2;
}

static void test_rotary(int b, int t, int h) {
    enum { WIDTH = 6, HALF = WIDTH / 2 };
    int32_t positions[64];
    float cosine[64 * HALF], sine[64 * HALF];
    for (int i = 0; i < t; i++)
        positions[i] = 3 * i * i + i;
    int status = t_table(t, positions, cosine, sine);
    EACH(t * HALF, cos(positions[i / HALF] * pow(10000, -2.0 * (i % HALF) / WIDTH)));
    for (int i = 0; i < t * HALF; i++)
        got[i] = cosine[i];
    compare("rotary_table: cosines", status, t * HALF);
    EACH(t * HALF, sin(positions[i / HALF] * pow(10000, -2.0 * (i % HALF) / WIDTH)));
    for (int i = 0; i < t * HALF; i++)
        got[i] = sine[i];
    compare("rotary_table: sines", status, t * HALF);
    for (int halves = 0; halves < 2; halves++) {
        for (int i = 0; i < b * t * h * WIDTH; i++) {
            int second, d = i % WIDTH, at = i / WIDTH / h % t, pair = pair_of(d, HALF, halves, &second);
            float other = A[i + (halves ? HALF : 1) * (second ? -1 : 1)];
            wanted[i] = A[i] * cosine[at * HALF + pair] + (second ? other : -other) * sine[at * HALF + pair];
        }
        status = (halves ? t_halves : t_pairs)(b, t, h, WIDTH, HALF, A, cosine, sine, got);
        compare(halves ? "rotary_halves" : "rotary_pairs", status, b * t * h * WIDTH);
    }
    ok(t_halves(b, t, h, WIDTH, 2, A, cosine, sine, got) == 1, "a table for other heads: a bad size");
}

/* The k-th largest of a row by choosing one after another; NaN is none. */
static void plain_top(const float *row, int count, int k, float *best, int32_t *at) {
    bool taken[LARGEST] = {false};
    for (int i = 0; i < k; i++) {
        best[i] = -INFINITY;
        at[i] = -1;
        for (int d = 0; d < count; d++)
            if (!taken[d] && (at[i] < 0 ? row[d] == row[d] : row[d] > best[i])) {
                best[i] = row[d];
                at[i] = d;
            }
        if (at[i] >= 0)
            taken[at[i]] = true;
    }
}

/* Many equal elements; of the few that each row has beside -inf, some are NaN. */
static void fill_top(int n, int d, int few) {
    for (int i = 0; i < n * d; i++) {
        D[i] = i % d < few ? (float)floor(8 * A[i]) : -INFINITY;
        if (few < d && i % 3 == 1)
            D[i] = NAN;
    }
}

static void test_top(int n, int d, int few) {
    int32_t at[64] = {0}, places[64];
    float best[64];
    int wrong = 0;
    fill_top(n, d, few);
    for (int row = 0; row < n; row++)
        plain_top(D + row * d, d, 5, best + 5 * row, places + 5 * row);
    int status = t_top_5(n, d, D, more, at);
    for (int i = 0; i < 5 * n; i++)
        wrong += more[i] != best[i] || at[i] != places[i];
    ok(status == 0 && wrong == 0, "top_k: the 5 largest of %d rows of %d, beside -inf %d", n, d, few);
    status = t_top_1(n, d, D, more, at);
    for (int row = 0; row < n; row++)
        wrong += more[row] != best[5 * row] || at[row] != places[5 * row];
    ok(status == 0 && wrong == 0, "top_k: the largest alone");
}

static void test_quantized(int m, int n, int blocks, int of) {
    static int8_t bytes[LARGEST];
    static uint8_t nibbles[LARGEST];
    int k = blocks * of;
    for (int i = 0; i < LARGEST; i++) {
        bytes[i] = (int8_t)(i * 37 + i / 11);
        nibbles[i] = (uint8_t)(i * 53 + i / 7);
        D[i] = (float)(i % 17) - 3;
    }
    for (int i = 0; i < m * n; i++) {
        double sum = 0;
        for (int j = 0; j < k; j++)
            sum += (double)A[i / n * k + j] * bytes[i % n * k + j] * B[i % n * blocks + j / of];
        wanted[i] = (float)sum;
    }
    compare("dense_int8", t_int8(m, k, n, blocks, A, bytes, B, got), m * n);
    if (blocks > 1)
        ok(t_int8(m, k + 1, n, blocks, A, bytes, B, got) == 1 && got[0] == 12345, "blocks do not divide a row");
    if (of % 2)
        return;
    for (int i = 0; i < m * n; i++) {
        double sum = 0;
        for (int j = 0; j < k; j++) {
            int pair = nibbles[(i % n * k + j) / 2], block = i % n * blocks + j / of;
            sum += A[i / n * k + j] * ((j % 2 ? pair / 16 : pair % 16) - D[block]) * B[block];
        }
        wanted[i] = (float)sum;
    }
    compare("dense_int4", t_int4(m, k, n, k / 2, blocks, A, nibbles, B, D, got), m * n);
}

int main(void) {
    fill(A, 1, -1);
    fill(B, 2, -1);
    fill(C, 3, -1);
    for (int i = 0; i < LARGEST; i++)
        got[i] = 12345;
    test_gates(1, 1);
    test_gates(5, 31);
    test_gates(2, 257);
    test_attention();
    test_rotary(1, 1, 1);
    test_rotary(2, 7, 3);
    test_rotary(1, 64, 4);
    test_top(1, 1, 1);
    test_top(1, 1009, 1009);
    test_top(7, 63, 63);
    test_top(3, 64, 64);
    test_top(1, 1009, 4);
    test_top(2, 4, 1);
    test_top(2, 4, 0);
    test_top(3, 70, 0);
    test_top(5, 67, 66);
    test_quantized(1, 1, 1, 1);
    test_quantized(1, 37, 3, 32);
    test_quantized(5, 17, 7, 2);
    test_quantized(16, 32, 4, 16);
    test_quantized(3, 5, 2, 13);
    return done_testing();
}
