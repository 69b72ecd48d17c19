/* A decoder with random weights, which are float, or have 8 or 4 bits: reads a prompt in chunks, then token by token,
 * and prints how many tokens a second. `main float int8 int4` runs those kinds. With CHECK everything is compared with
 * plain C. All weights of a kind are packed by one call into one block.
 */
#define _POSIX_C_SOURCE 200809L
#include "../measure.h"
#include "decoder.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = HEAD_WIDTH * HEADS, KEY_WIDTH = HEAD_WIDTH * KEY_HEADS, CHUNK = 32, BLOCK = 32 };

/* --- weights --- */

/* Rows of all layers, one after another. */
typedef struct Matrix {
    size_t rows;
    int columns;
    float *value; /* what the integers stand for; NULL: nobody needs it */
    void *integer;
    float *scale, *zero; /* of each block of a row */
} Matrix;

enum { WQ, WK, WV, WO, W1, W3, W2, HEAD, MATRICES };
static const struct {
    int layers, rows, columns;
} shape_of[MATRICES] = {{LAYERS, WIDTH, WIDTH},  {LAYERS, KEY_WIDTH, WIDTH}, {LAYERS, KEY_WIDTH, WIDTH},
                        {LAYERS, WIDTH, WIDTH},  {LAYERS, HIDDEN, WIDTH},    {LAYERS, HIDDEN, WIDTH},
                        {LAYERS, WIDTH, HIDDEN}, {1, WORDS, WIDTH}};

typedef struct Network {
    float *table, *norm1, *norm2, *norm;
    Matrix matrix[MATRICES];
} Network;

static void *memory_of(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static float *floats_of(size_t count) {
    return memory_of(count * sizeof(float));
}

/* 32 weights become bytes with one scale; they are what these stand for afterwards. */
static void quantize8(Matrix *matrix, size_t block, float *weight) {
    float most = 0;
    for (int i = 0; i < BLOCK; i++)
        most = fmaxf(most, fabsf(weight[i]));
    matrix->scale[block] = most / 127;
    for (int i = 0; i < BLOCK; i++) {
        int8_t integer = (int8_t)lrintf(weight[i] * 127 / most);
        ((int8_t *)matrix->integer)[block * BLOCK + (size_t)i] = integer;
        weight[i] = (float)integer * matrix->scale[block];
    }
}

/* The same with numbers from 0 to 15, two in a byte. */
static void quantize4(Matrix *matrix, size_t block, float *weight) {
    float least = weight[0], most = weight[0];
    uint8_t integer[BLOCK], *bytes = (uint8_t *)matrix->integer + block * BLOCK / 2;
    for (int i = 1; i < BLOCK; i++)
        least = fminf(least, weight[i]), most = fmaxf(most, weight[i]);
    float scale = matrix->scale[block] = (most - least) / 15, zero = matrix->zero[block] = -least / scale;
    for (int i = 0; i < BLOCK; i++) {
        integer[i] = (uint8_t)lrintf((weight[i] - least) / scale);
        weight[i] = ((float)integer[i] - zero) * scale;
    }
    for (int i = 0; i < BLOCK; i += 2)
        bytes[i / 2] = (uint8_t)(integer[i] | integer[i + 1] << 4);
}

static Matrix make_matrix(int which, int bits, uint64_t *random) {
    Matrix matrix = {(size_t)shape_of[which].layers * (size_t)shape_of[which].rows, shape_of[which].columns, NULL, NULL,
                     NULL, NULL};
    size_t count = matrix.rows * (size_t)matrix.columns, blocks = count / BLOCK;
    float weight[BLOCK], size = 1 / sqrtf((float)matrix.columns);
    if (bits < 32) {
        matrix.integer = memory_of(count * (size_t)bits / 8);
        matrix.scale = floats_of(blocks);
        matrix.zero = floats_of(blocks);
    }
    if (bits == 32 || CHECK)
        matrix.value = floats_of(count);
    for (size_t block = 0; block < blocks; block++) {
        for (int i = 0; i < BLOCK; i++)
            weight[i] = random_float(random) * size;
        if (bits < 32)
            (bits == 8 ? quantize8 : quantize4)(&matrix, block, weight);
        if (matrix.value)
            memcpy(matrix.value + block * BLOCK, weight, sizeof weight);
    }
    return matrix;
}

static float *random_row(size_t count, float middle, uint64_t *random) {
    float *row = floats_of(count);
    for (size_t i = 0; i < count; i++)
        row[i] = middle + random_float(random) / 2;
    return row;
}

static Network make_network(int bits) {
    uint64_t random = 1;
    Network network = {.table = random_row((size_t)WORDS * WIDTH, 0, &random),
                       .norm1 = random_row((size_t)LAYERS * WIDTH, 1, &random),
                       .norm2 = random_row((size_t)LAYERS * WIDTH, 1, &random),
                       .norm = random_row(WIDTH, 1, &random)};
    for (int m = 0; m < MATRICES; m++)
        network.matrix[m] = make_matrix(m, bits, &random);
    return network;
}

static void free_network(Network *network) {
    for (int m = 0; m < MATRICES; m++) {
        Matrix *matrix = &network->matrix[m];
        free(matrix->value), free(matrix->integer), free(matrix->scale), free(matrix->zero);
    }
    free(network->table), free(network->norm1), free(network->norm2), free(network->norm);
}

/* --- the compiled functions --- */

static void check(int status, const char *name) {
    if (status == 0)
        return;
    fprintf(stderr, "%s returned status %d\n", name, status);
    exit(1);
}

/* What a function of one row or of CHUNK rows takes besides its packed weights. */
typedef struct Call {
    const int32_t *tokens;
    int position;
    float *table, *scores, *keys, *values;
} Call;

#define FLOATS(m) network->matrix[m].value
#define BYTES(m) network->matrix[m].integer, network->matrix[m].scale
#define NIBBLES(m) network->matrix[m].integer, network->matrix[m].scale, network->matrix[m].zero
#define ALL(OF)                                                                                                        \
    network->norm1, OF(WQ), OF(WK), OF(WV), OF(WO), network->norm2, OF(W1), OF(W3), OF(W2), network->norm, OF(HEAD)
#define FUNCTIONS(NAME, OF)                                                                                            \
    static void *pack_##NAME(const Network *network) {                                                                 \
        void *block = memory_of((size_t)NAME##_packed_size());                                                         \
        check(NAME##_pack_all(ALL(OF), block), #NAME "_pack_all");                                                     \
        return block;                                                                                                  \
    }                                                                                                                  \
    static void call_##NAME(const void *block, const Call *c) {                                                        \
        check(NAME##_packed_all(block, c->tokens, c->position, c->table, c->scores, c->keys, c->values),               \
              #NAME "_packed_all");                                                                                    \
    }
FUNCTIONS(step_float, FLOATS)
FUNCTIONS(chunk_float, FLOATS)
FUNCTIONS(step_int8, BYTES)
FUNCTIONS(chunk_int8, BYTES)
FUNCTIONS(step_int4, NIBBLES)
FUNCTIONS(chunk_int4, NIBBLES)

typedef struct Kind {
    const char *name;
    int bits;
    void *(*pack_step)(const Network *), *(*pack_chunk)(const Network *);
    void (*step)(const void *block, const Call *), (*chunk)(const void *block, const Call *);
} Kind;
static const Kind kinds[] = {{"float", 32, pack_step_float, pack_chunk_float, call_step_float, call_chunk_float},
                             {"int8", 8, pack_step_int8, pack_chunk_int8, call_step_int8, call_chunk_int8},
                             {"int4", 4, pack_step_int4, pack_chunk_int4, call_step_int4, call_chunk_int4}};

/* --- the same in plain C, a token at a time --- */

typedef struct Caches {
    float keys[LAYERS][ROWS][KEY_HEADS][HEAD_WIDTH], values[LAYERS][ROWS][KEY_HEADS][HEAD_WIDTH];
} Caches;

static void plain_norm(const float *x, const float *gamma, float *y) {
    double square = 0;
    for (int i = 0; i < WIDTH; i++)
        square += (double)x[i] * x[i];
    for (int i = 0; i < WIDTH; i++)
        y[i] = (float)(x[i] / sqrt(square / WIDTH + 1e-5)) * gamma[i];
}

static void plain_product(const Matrix *matrix, int layer, int rows, const float *x, float *y) {
    for (int r = 0; r < rows; r++) {
        const float *w = matrix->value + ((size_t)layer * (size_t)rows + (size_t)r) * (size_t)matrix->columns;
        double sum = 0;
        for (int i = 0; i < matrix->columns; i++)
            sum += (double)w[i] * x[i];
        y[r] = (float)sum;
    }
}

static void plain_turn(float *head, int position) {
    for (int i = 0; i < HEAD_WIDTH / 2; i++) {
        double angle = position * pow(10000, -2.0 * i / HEAD_WIDTH);
        double a = head[i], b = head[i + HEAD_WIDTH / 2];
        head[i] = (float)(a * cos(angle) - b * sin(angle));
        head[i + HEAD_WIDTH / 2] = (float)(b * cos(angle) + a * sin(angle));
    }
}

static void plain_attend(const float *query, float (*keys)[KEY_HEADS][HEAD_WIDTH],
                         float (*values)[KEY_HEADS][HEAD_WIDTH], int group, int position, float *y) {
    double weight[ROWS], total = 0, sum[HEAD_WIDTH] = {0};
    for (int t = 0; t <= position; t++) {
        double score = 0;
        for (int d = 0; d < HEAD_WIDTH; d++)
            score += (double)query[d] * keys[t][group][d];
        total += weight[t] = exp(score / sqrt(HEAD_WIDTH));
    }
    for (int t = 0; t <= position; t++)
        for (int d = 0; d < HEAD_WIDTH; d++)
            sum[d] += weight[t] / total * values[t][group][d];
    for (int d = 0; d < HEAD_WIDTH; d++)
        y[d] = (float)sum[d];
}

static void plain_attention(const Network *network, Caches *caches, int layer, int position, const float *a, float *y) {
    float query[HEADS][HEAD_WIDTH];
    plain_product(&network->matrix[WQ], layer, WIDTH, a, query[0]);
    plain_product(&network->matrix[WK], layer, KEY_WIDTH, a, caches->keys[layer][position][0]);
    plain_product(&network->matrix[WV], layer, KEY_WIDTH, a, caches->values[layer][position][0]);
    for (int g = 0; g < KEY_HEADS; g++)
        plain_turn(caches->keys[layer][position][g], position);
    for (int h = 0; h < HEADS; h++) {
        plain_turn(query[h], position);
        plain_attend(query[h], caches->keys[layer], caches->values[layer], h / (HEADS / KEY_HEADS), position,
                     y + h * HEAD_WIDTH);
    }
}

static void plain_step(const Network *network, Caches *caches, int token, int position, float *scores) {
    float x[WIDTH], a[WIDTH], y[WIDTH], gate[HIDDEN], up[HIDDEN];
    memcpy(x, network->table + (size_t)token * WIDTH, sizeof x);
    for (int layer = 0; layer < LAYERS; layer++) {
        plain_norm(x, network->norm1 + layer * WIDTH, a);
        plain_attention(network, caches, layer, position, a, y);
        plain_product(&network->matrix[WO], layer, WIDTH, y, a);
        for (int i = 0; i < WIDTH; i++)
            x[i] += a[i];
        plain_norm(x, network->norm2 + layer * WIDTH, a);
        plain_product(&network->matrix[W1], layer, HIDDEN, a, gate);
        plain_product(&network->matrix[W3], layer, HIDDEN, a, up);
        for (int i = 0; i < HIDDEN; i++)
            gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
        plain_product(&network->matrix[W2], layer, WIDTH, gate, a);
        for (int i = 0; i < WIDTH; i++)
            x[i] += a[i];
    }
    plain_norm(x, network->norm, a);
    plain_product(&network->matrix[HEAD], 0, WORDS, a, scores);
}

/* --- running --- */

/* Times of a kind, and how far it is from plain C. */
typedef struct Result {
    double prompt, single, error;
} Result;

static int32_t best_token(const float *scores) {
    int32_t best = 0;
    for (int32_t v = 1; v < WORDS; v++)
        if (scores[v] > scores[best])
            best = v;
    return best;
}

/* The whole prompt, in chunks. */
static double run_prompt(const Kind *kind, const void *block, Call call, const int32_t *tokens) {
    double start = seconds_now();
    for (call.position = 0; call.position < PROMPT; call.position += CHUNK) {
        call.tokens = tokens + call.position;
        kind->chunk(block, &call);
    }
    return seconds_now() - start;
}

/* The best token of each step is the next one; its scores are compared. */
static Result run(const Kind *kind, const Network *network, const void *step, const void *chunk, Caches *caches) {
    static float scores[WORDS], expected[WORDS];
    static Caches plain;
    static int32_t tokens[PROMPT + SINGLE + 1];
    Result result = {INFINITY, INFINITY, 0};
    Call call = {tokens, 0, network->table, scores, caches->keys[0][0][0], caches->values[0][0][0]};
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = i * 37 % WORDS;
    for (int i = 0; i < 3; i++)
        result.prompt = fmin(result.prompt, run_prompt(kind, chunk, call, tokens));
    for (int i = 0; CHECK && i < PROMPT; i++)
        plain_step(network, &plain, tokens[i], i, expected);
    for (int i = PROMPT; i <= PROMPT + SINGLE; i++) {
        if (CHECK)
            result.error = fmax(result.error, largest_difference(scores, expected, WORDS));
        if (i == PROMPT + SINGLE)
            break;
        call.tokens = &tokens[i], call.position = i;
        tokens[i] = best_token(scores);
        double start = seconds_now();
        kind->step(step, &call);
        result.single = fmin(result.single, seconds_now() - start);
        if (CHECK)
            plain_step(network, &plain, tokens[i], i, expected);
    }
    return result;
}

/* Prints the fastest of three prompts and of the single tokens. */
static bool measure(const Kind *kind) {
    static Caches caches;
    Network network = make_network(kind->bits);
    void *step = kind->pack_step(&network), *chunk = kind->pack_chunk(&network);
    double bytes = 0;
    for (int m = 0; m < MATRICES; m++)
        bytes += (double)network.matrix[m].rows * network.matrix[m].columns *
                 (kind->bits / 8.0 + (kind->bits == 32 ? 0 : kind->bits == 8 ? 4.0 : 8.0) / BLOCK);
    Result result = run(kind, &network, step, chunk, &caches);
    printf("%s: prompt of %d %.1f tokens/s; single %.1f tokens/s, %.2f GB/s of weights", kind->name, PROMPT,
           PROMPT / result.prompt, 1 / result.single, bytes / result.single * 1e-9);
    bool correct = result.error <= 1e-4;
    if (CHECK)
        printf("; largest error %.1e: %s", result.error, correct ? "correct" : "WRONG");
    printf("\n");
    free_network(&network);
    free(step), free(chunk);
    return correct;
}

int main(int count, char **arguments) {
    bool correct = true;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 1; i < count; i++)
            if (strcmp(arguments[i], kinds[k].name) == 0)
                correct &= measure(&kinds[k]);
    return correct ? 0 : 1;
}
