/* The operators of the standard library, called from C and compared with plain C. */
#include "operators.h"
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8192 };
#define TOLERANCE 2e-5
#include "tests/run/operands.h"

/* The operands and results of one comparison; all are large enough for every operator here. */
static float A[LARGEST], B[LARGEST], C[LARGEST], D[LARGEST], E[LARGEST];

/* --- products: a(i, k) at i*ai + k*ak, b likewise --- */

static void plain_product(int m, int k, int n, int ai, int ak, int bk, int bj, const float *a, const float *b,
                          float *c) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += (double)a[i * ai + l * ak] * b[l * bk + j * bj];
            c[i * n + j] = (float)sum;
        }
}

static void test_products(void) {
    enum { M = 13, K = 19, N = 35 };
    plain_product(M, K, N, K, 1, N, 1, A, B, wanted);
    compare("matmul", nn_matmul(A, B, got), M * N);
    plain_product(M, K, N, K, 1, 1, K, A, B, wanted);
    compare("matmul_nt", nn_matmul_nt(A, B, got), M * N);
    for (int i = 0; i < M * N; i++)
        wanted[i] += C[i % N];
    compare("dense", nn_dense(A, B, C, got), M * N);
    for (int i = 0; i < M * N; i++)
        wanted[i] = wanted[i] > 0 ? wanted[i] : 0;
    compare("dense_act", nn_dense_act(A, B, C, got), M * N);
    plain_product(M, K, N, 1, M, N, 1, A, B, wanted);
    compare("matmul_tn", nn_matmul_tn(A, B, got), M * N);
    plain_product(M, K, 1, K, 1, 1, 1, A, B, wanted);
    compare("matvec", nn_matvec(A, B, got), M);
    for (int b = 0; b < 3; b++)
        plain_product(5, 7, 17, 7, 1, 17, 1, A + b * 35, B + b * 119, wanted + b * 85);
    compare("batch_matmul", nn_batch_matmul(A, B, got), 3 * 5 * 17);
}

/* --- convolutions: one form for all, in three dimensions with groups --- */

typedef struct Conv {
    int batch, groups, channels, filters; /* of a group */
    int in[3], kernel[3], stride, dilation, pad[3];
} Conv;

static int conv_out(const Conv *c, int d) {
    return (c->in[d] + 2 * c->pad[d] - c->dilation * (c->kernel[d] - 1) - 1) / c->stride + 1;
}

static double conv_element(const Conv *c, int n, int g, int m, const int at[3]) {
    double sum = 0;
    for (int k = 0; k < c->channels * c->kernel[0] * c->kernel[1] * c->kernel[2]; k++) {
        int tap[3] = {k / (c->kernel[2] * c->kernel[1]) % c->kernel[0], k / c->kernel[2] % c->kernel[1],
                      k % c->kernel[2]};
        int channel = k / (c->kernel[2] * c->kernel[1] * c->kernel[0]);
        int index = (n * c->groups + g) * c->channels + channel;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            int x = at[d] * c->stride + tap[d] * c->dilation - c->pad[d];
            inside = inside && x >= 0 && x < c->in[d];
            index = index * c->in[d] + x;
        }
        int filter = (g * c->filters + m) * c->channels * c->kernel[0] * c->kernel[1] * c->kernel[2] + k;
        sum += inside ? (double)A[index] * B[filter] : 0;
    }
    return sum;
}

static int plain_conv(const Conv *c) {
    int count = 0, out[3] = {conv_out(c, 0), conv_out(c, 1), conv_out(c, 2)}, at[3];
    for (int n = 0; n < c->batch; n++)
        for (int g = 0; g < c->groups; g++)
            for (int m = 0; m < c->filters; m++)
                for (at[0] = 0; at[0] < out[0]; at[0]++)
                    for (at[1] = 0; at[1] < out[1]; at[1]++)
                        for (at[2] = 0; at[2] < out[2]; at[2]++)
                            wanted[count++] = (float)conv_element(c, n, g, m, at);
    return count;
}

/* The adjoint of a convolution: each element of the small image adds a filter to the large one. */
static int plain_transposed(int channels, int filters, int h, int w, int kernel, int stride, int pad) {
    int out_h = stride * (h - 1) + kernel - 2 * pad, out_w = stride * (w - 1) + kernel - 2 * pad;
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < channels * filters * h * w * kernel * kernel; i++) {
        int kw = i % kernel, kh = i / kernel % kernel, x = i / kernel / kernel % w, y = i / kernel / kernel / w % h;
        int m = i / kernel / kernel / w / h % filters, c = i / kernel / kernel / w / h / filters;
        int to_y = y * stride + kh - pad, to_x = x * stride + kw - pad;
        if (to_y >= 0 && to_y < out_h && to_x >= 0 && to_x < out_w)
            wanted[(m * out_h + to_y) * out_w + to_x] +=
                A[(c * h + y) * w + x] * B[((c * filters + m) * kernel + kh) * kernel + kw];
    }
    return filters * out_h * out_w;
}

static void test_convolutions(void) {
    static const struct {
        const char *name;
        int (*function)(const float *, const float *, float *);
        Conv conv;
    } rows[] = {
        {"conv1d", nn_conv1d, {2, 1, 3, 5, {1, 1, 17}, {1, 1, 3}, 2, 2, {0, 0, 1}}},
        {"conv2d", nn_conv2d, {2, 1, 3, 5, {1, 9, 7}, {1, 3, 2}, 1, 1, {0, 0, 0}}},
        {"conv2d, strided", nn_conv2d_strided, {1, 1, 4, 18, {1, 11, 17}, {1, 3, 3}, 2, 1, {0, 1, 1}}},
        {"conv2d, dilated", nn_conv2d_dilated, {1, 1, 4, 3, {1, 11, 17}, {1, 3, 3}, 1, 2, {0, 2, 2}}},
        {"conv3d", nn_conv3d, {1, 1, 2, 3, {5, 6, 7}, {3, 3, 3}, 1, 1, {1, 1, 1}}},
        {"conv1d_nlc", nn_through_nlc, {2, 1, 3, 5, {1, 1, 17}, {1, 1, 3}, 2, 2, {0, 0, 1}}},
        {"conv2d_nhwc", nn_through_nhwc, {1, 1, 4, 18, {1, 11, 17}, {1, 3, 3}, 2, 2, {0, 2, 2}}},
        {"conv2d_chw", nn_chw, {1, 1, 4, 5, {1, 9, 7}, {1, 3, 2}, 2, 1, {0, 1, 1}}},
        {"conv2d_hwc", nn_through_hwc, {1, 1, 4, 5, {1, 9, 7}, {1, 3, 3}, 1, 1, {0, 1, 1}}},
        {"conv3d_nthwc", nn_through_nthwc, {1, 1, 2, 3, {5, 6, 7}, {3, 3, 3}, 1, 1, {1, 1, 1}}},
        {"depthwise_conv2d", nn_depthwise, {2, 7, 1, 1, {1, 9, 10}, {1, 3, 3}, 2, 1, {0, 1, 1}}},
        {"group_conv2d", nn_grouped, {2, 3, 2, 4, {1, 7, 9}, {1, 3, 3}, 1, 1, {0, 1, 1}}},
        {"group_conv2d_nhwc", nn_through_nhwgc, {2, 3, 2, 4, {1, 7, 9}, {1, 3, 3}, 1, 1, {0, 1, 1}}},
        {"split_channels, group_conv2d, merge_channels",
         nn_through_groups,
         {2, 3, 2, 4, {1, 7, 9}, {1, 3, 3}, 1, 1, {0, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int count = plain_conv(&rows[i].conv);
        compare(rows[i].name, rows[i].function(A, B, got), count);
    }
    int count = plain_transposed(3, 4, 5, 6, 4, 2, 1);
    compare("transposed_conv2d", nn_transposed(A, B, got), count);
    compare("transposed_conv2d_nhwc", nn_through_phases(A, B, got), count);
    count = plain_transposed(3, 4, 5, 6, 4, 3, 1);
    compare("transposed_conv2d whose stride does not divide", nn_transposed_3(A, B, got), count);
    count = plain_transposed(2, 3, 4, 7, 3, 2, 1);
    compare("transposed_conv2d of odd windows", nn_transposed_odd(A, B, got), count);
}

/* --- pooling --- */

static int plain_pool(int planes, int h, int w, int kernel, int stride, int pad, bool greatest) {
    int out_h = (h + 2 * pad - kernel) / stride + 1, out_w = (w + 2 * pad - kernel) / stride + 1;
    for (int i = 0; i < planes * out_h * out_w; i++) {
        int x0 = i % out_w * stride - pad, y0 = i / out_w % out_h * stride - pad, plane = i / out_w / out_h;
        double sum = 0, top = -INFINITY;
        for (int y = y0 < 0 ? 0 : y0; y < y0 + kernel && y < h; y++)
            for (int x = x0 < 0 ? 0 : x0; x < x0 + kernel && x < w; x++) {
                sum += A[(plane * h + y) * w + x];
                top = fmax(top, A[(plane * h + y) * w + x]);
            }
        wanted[i] = (float)(greatest ? top : sum / (kernel * kernel));
    }
    return planes * out_h * out_w;
}

static void test_pooling(void) {
    int count = plain_pool(6, 9, 12, 3, 2, 1, true);
    compare("max_pool2d", nn_max_pool(A, got), count);
    count = plain_pool(6, 9, 12, 3, 2, 1, false);
    compare("avg_pool2d", nn_avg_pool(A, got), count);
    for (int p = 0; p < 6; p++) {
        double sum = 0;
        for (int i = 0; i < 9 * 12; i++)
            sum += A[p * 9 * 12 + i];
        wanted[p] = (float)(sum / (9 * 12));
    }
    compare("global_avg_pool", nn_global_avg_pool(A, got), 6);
}

/* --- element by element --- */

static double sigmoid_of(double x) {
    return 1 / (1 + exp(-x));
}
static double relu_of(double x) {
    return x > 0 ? x : 0;
}
static double relu6_of(double x) {
    return fmin(relu_of(x), 6);
}
static double silu_of(double x) {
    return x * sigmoid_of(x);
}
static double itself(double x) {
    return x;
}
static double gelu_of(double x) {
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static void test_elements(void) {
    enum { IMAGES = 2 * 3 * 5 * 7, ROWS = 5 * 31 };
    static const struct {
        const char *name;
        int (*function)(const float *, float *);
        double (*plain)(double);
        int count;
    } rows[] = {
        {"relu", nn_relu, relu_of, IMAGES},
        {"relu6", nn_relu6, relu6_of, IMAGES},
        {"sigmoid", nn_sigmoid, sigmoid_of, IMAGES},
        {"silu", nn_silu, silu_of, IMAGES},
        {"relu_rows", nn_relu_rows, relu_of, ROWS},
        {"sigmoid_rows", nn_sigmoid_rows, sigmoid_of, ROWS},
        {"tanh_rows", nn_tanh_rows, tanh, ROWS},
        {"silu_rows", nn_silu_rows, silu_of, ROWS},
        {"gelu_rows", nn_gelu_rows, gelu_of, ROWS},
        {"gelu", nn_gelu, gelu_of, IMAGES},
        {"tanh_image", nn_tanh_image, tanh, IMAGES},
        {"identity", nn_identity, itself, IMAGES},
        {"identity_rows", nn_identity_rows, itself, ROWS},
    };
    static float wide[LARGEST];
    for (int i = 0; i < LARGEST; i++)
        wide[i] = 8 * A[i];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int i = 0; i < rows[r].count; i++)
            wanted[i] = (float)rows[r].plain(wide[i]);
        compare(rows[r].name, rows[r].function(wide, got), rows[r].count);
    }
}

#define EACH(count, value)                                                                                             \
    for (int i = 0; i < (count); i++)                                                                                  \
    wanted[i] = (float)(value)

static void test_pairs(void) {
    enum { IMAGES = 2 * 3 * 5 * 7, ROWS = 5 * 31 };
    EACH(IMAGES, A[i] + B[i / 35 % 3]);
    compare("add_channel", nn_add_channel(A, B, got), IMAGES);
    EACH(IMAGES, A[i] * B[i / 35 % 3]);
    compare("scale_channel", nn_scale_channel(A, B, got), IMAGES);
    EACH(IMAGES, A[i] + B[i]);
    compare("add", nn_add(A, B, got), IMAGES);
    EACH(ROWS, A[i] + B[i % 31]);
    compare("add_bias", nn_add_bias(A, B, got), ROWS);
    EACH(ROWS, A[i] + B[i]);
    compare("add_rows", nn_add_rows(A, B, got), ROWS);
    EACH(13 * 35, A[i % 13 * 35 + i / 13]);
    compare("transpose", nn_transpose(A, got), 13 * 35);
}

/* --- normalisation and sequences --- */

typedef struct Moments {
    double mean, variance, square, exponentials;
} Moments;

static Moments moments_of(const float *row, int count) {
    Moments m = {0};
    for (int i = 0; i < count; i++) {
        m.mean += row[i] / (double)count;
        m.square += (double)row[i] * row[i] / count;
        m.exponentials += exp(row[i]);
    }
    for (int i = 0; i < count; i++)
        m.variance += (row[i] - m.mean) * (row[i] - m.mean) / count;
    return m;
}

static void test_normalisation(void) {
    enum { N = 5, WIDTH = 31, ALL = N * WIDTH };
    Moments m[N];
    for (int n = 0; n < N; n++)
        m[n] = moments_of(A + n * WIDTH, WIDTH);
    EACH(ALL, exp(A[i]) / m[i / WIDTH].exponentials);
    compare("softmax", nn_softmax(A, got), ALL);
    EACH(ALL, A[i] - log(m[i / WIDTH].exponentials));
    compare("log_softmax", nn_log_softmax(A, got), ALL);
    EACH(ALL, (A[i] - m[i / WIDTH].mean) / sqrt(m[i / WIDTH].variance + 1e-5) * B[i % WIDTH] + C[i % WIDTH]);
    compare("layer_norm", nn_layer_norm(A, B, C, got), ALL);
    EACH(ALL, A[i] / sqrt(m[i / WIDTH].square + 1e-5) * B[i % WIDTH]);
    compare("rms_norm", nn_rms_norm(A, B, got), ALL);
    EACH(2 * 3 * 35, (A[i] - B[i / 35 % 3]) / sqrt(E[i / 35 % 3] + 1e-5) * C[i / 35 % 3] + D[i / 35 % 3]);
    compare("batch_norm", nn_batch_norm(A, B, E, C, D, got), 2 * 3 * 35);
}

/* The first of the largest (sign 1) or smallest (-1). */
static int best_of(const float *row, int count, int sign) {
    int best = 0;
    for (int i = 1; i < count; i++)
        if ((float)sign * row[i] > (float)sign * row[best])
            best = i;
    return best;
}

static void test_tuples(void) {
    enum { N = 5, WIDTH = 31, ALL = N * WIDTH };
    Moments m[N];
    int32_t at[N] = {0}, least[N] = {0}, places[N] = {0};
    A[2 * WIDTH + 7] = A[2 * WIDTH + 19] = 3; /* equal */
    A[3 * WIDTH + 30] = -3;
    for (int n = 0; n < N; n++)
        m[n] = moments_of(A + n * WIDTH, WIDTH);
    ok(nn_argmax(A, at) == 0 && nn_argmin(A, least) == 0 && at[2] == 7 && least[3] == 30, "argmax and argmin");
    EACH(N, A[i * WIDTH + best_of(A + i * WIDTH, WIDTH, 1)]);
    compare("top1", nn_top1(A, got, places), N);
    for (int n = 0; n < N; n++)
        ok(at[n] == best_of(A + n * WIDTH, WIDTH, 1) && places[n] == at[n] &&
               least[n] == best_of(A + n * WIDTH, WIDTH, -1),
           "the places of row %d", n);
    EACH(N, log(m[i].exponentials));
    compare("log_sum_exp", nn_log_sum_exp(A, got), N);
    EACH(ALL, exp(A[i]) / m[i / WIDTH].exponentials);
    compare("online_softmax", nn_online_softmax(A, got), ALL);
    float variance[N];
    EACH(N, m[i].mean);
    compare("mean_variance: the means", nn_mean_variance(A, got, variance), N);
    EACH(N, m[i].variance);
    for (int n = 0; n < N; n++)
        got[n] = variance[n];
    compare("mean_variance: the variances", 0, N);
    EACH(ALL, (A[i] - m[i / WIDTH].mean) / sqrt(m[i / WIDTH].variance + 1e-5) * B[i % WIDTH] + C[i % WIDTH]);
    compare("online_layer_norm", nn_online_layer_norm(A, B, C, got), ALL);
}

static void test_tables(void) {
    int32_t ids[9] = {10, 0, 3, 3, 7, 1, 9, 2, 10}, counts[13] = {0}, right = 0;
    EACH(9 * 6, A[ids[i / 6] * 6 + i % 6]);
    compare("embedding", nn_embedding(A, ids, got), 9 * 6);
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < 9 * 6; i++)
        wanted[ids[i / 6] * 6 + i % 6] += A[i];
    compare("embedding_gradient", nn_embedding_gradient(A, ids, got), 11 * 6);
    counts[12] = -1;
    int status = nn_histogram(ids, counts);
    for (int v = 0; v < 12; v++) {
        int wanted_count = 0;
        for (int i = 0; i < 9; i++)
            wanted_count += ids[i] == v;
        right += counts[v] == wanted_count;
    }
    ok(status == 0 && right == 12 && counts[12] == -1, "histogram");
    int32_t rows[5] = {0, 3, 3, 8, 9};
    memset(wanted, 0, sizeof wanted);
    for (int row = 0; row < 4; row++)
        for (int p = rows[row]; p < rows[row + 1]; p++)
            wanted[row] += B[p] * A[ids[p]];
    compare("sparse_matvec", nn_sparse_matvec(B, ids, rows, A, got), 4);
    memset(wanted, 0, sizeof wanted);
    for (int row = 0; row < 4; row++)
        for (int i = 0; i < (rows[row + 1] - rows[row]) * 6; i++)
            wanted[row * 6 + i % 6] += B[rows[row] + i / 6] * A[ids[rows[row] + i / 6] * 6 + i % 6];
    compare("sparse_matmul", nn_sparse_matmul(B, ids, rows, A, got), 4 * 6);
    memset(wanted, 0, sizeof wanted);
    for (int row = 0; row < 4; row++)
        for (int i = 0; i < (rows[row + 1] - rows[row]) * 6; i++)
            wanted[row * 6 + i % 6] += A[ids[rows[row] + i / 6] * 6 + i % 6];
    compare("embedding_bag", nn_embedding_bag(A, ids, rows, got), 4 * 6);
    ids[4] = 11;
    ok(nn_sparse_matvec(B, ids, rows, A, got) == 2 && got[0] == 12345, "a column that is not there: none is written");
    ok(nn_embedding_gradient(A, ids, got) == 2 && got[0] == 12345, "a row that is not there: nothing is written");
}

enum { BATCH = 2, Q = 5, K = 7, WIDTH = 8, OUT = 3 };

static double score_of(int row, int k) {
    double score = 0;
    for (int d = 0; d < WIDTH; d++)
        score += (double)A[row * WIDTH + d] * B[(row / Q * K + k) * WIDTH + d];
    return score;
}

/* limit: of the keys that a query sees; 0: what it sees grows with its position. */
static void plain_attention(int limit) {
    for (int row = 0; row < BATCH * Q; row++) {
        double weight[K], total = 0;
        int seen = limit ? limit : row % Q + 1;
        for (int k = 0; k < seen; k++)
            total += weight[k] = exp(score_of(row, k) / sqrt(WIDTH));
        for (int e = 0; e < OUT; e++) {
            double mix = 0;
            for (int k = 0; k < seen; k++)
                mix += weight[k] * C[(row / Q * K + k) * OUT + e];
            wanted[row * OUT + e] = (float)(mix / total);
        }
    }
}

static void test_attention(void) {
    plain_attention(K);
    compare("attention", nn_attention(A, B, C, got), BATCH * Q * OUT);
    plain_attention(0);
    compare("causal_attention", nn_causal_attention(A, B, C, got), BATCH * Q * OUT);
    EACH(BATCH * Q * K, i % K <= i / K % Q ? score_of(i / K, i % K) : 0);
    compare("causal_scores", nn_causal_scores(A, B, got), BATCH * Q * K);
}

/* --- recurrences --- */

static float gate(const float *w, const float *v, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)w[i] * v[i];
    return (float)sum;
}

static float logistic(float x) {
    return 1 / (1 + expf(-x));
}

/* The state before step t: that of the step before, or the first. */
static const float *state_before(const float *states, const float *first, int t, int size) {
    return t > 0 ? states + (t - 1) * size : first;
}

static void test_rnn(void) {
    enum { T = 3, BATCH = 2, I = 5, H = 7 };
    for (int t = 0; t < T; t++)
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < H; j++) {
                const float *h = state_before(wanted, B, t, BATCH * H) + b * H;
                float a = gate(C + j * I, A + (t * BATCH + b) * I, I) + gate(D + j * H, h, H) + E[j];
                wanted[(t * BATCH + b) * H + j] = tanhf(a);
            }
    compare("rnn", nn_rnn(A, B, C, D, E, got), T * BATCH * H);
}

static void test_lstm(void) {
    enum { T = 4, BATCH = 3, I = 5, H = 18, CELLS = BATCH * H };
    static float cells[T * CELLS], got_cells[T * CELLS], first_cells[CELLS];
    for (int i = 0; i < CELLS; i++)
        first_cells[i] = A[100 + i];
    for (int t = 0; t < T; t++)
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < H; j++) {
                const float *h = state_before(wanted, B, t, CELLS) + b * H;
                float g[4];
                for (int q = 0; q < 4; q++)
                    g[q] = gate(C + (q * H + j) * I, A + (t * BATCH + b) * I, I) + gate(D + (q * H + j) * H, h, H) +
                           E[q * H + j];
                float before = state_before(cells, first_cells, t, CELLS)[b * H + j];
                float cell = logistic(g[1]) * before + logistic(g[0]) * tanhf(g[2]);
                cells[(t * BATCH + b) * H + j] = cell;
                wanted[(t * BATCH + b) * H + j] = logistic(g[3]) * tanhf(cell);
            }
    int status = nn_lstm(A, B, first_cells, C, D, E, got, got_cells), different = 0;
    for (int i = 0; i < T * CELLS; i++)
        different += !(fabsf(cells[i] - got_cells[i]) <= 2e-5f * (1 + fabsf(cells[i])));
    ok(different == 0, "the cells of lstm");
    compare("lstm", status, T * CELLS);
}

static void test_gru(void) {
    enum { T = 4, BATCH = 3, I = 6, H = 17 };
    for (int t = 0; t < T; t++)
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < H; j++) {
                const float *h = state_before(wanted, B, t, BATCH * H) + b * H;
                float x[3], s[3];
                for (int q = 0; q < 3; q++) {
                    x[q] = gate(C + (q * H + j) * I, A + (t * BATCH + b) * I, I) + E[q * H + j];
                    s[q] = gate(D + (q * H + j) * H, h, H) + E[100 + q * H + j];
                }
                float z = logistic(x[1] + s[1]), n = tanhf(x[2] + logistic(x[0] + s[0]) * s[2]);
                wanted[(t * BATCH + b) * H + j] = (1 - z) * n + z * h[j];
            }
    compare("gru", nn_gru(A, B, C, D, E, E + 100, got), T * BATCH * H);
}

static void test_prefixes(void) {
    enum { N = 17, T = 21 };
    for (int n = 0; n < 5; n++)
        for (int t = 0; t < T; t++)
            wanted[n * T + t] = A[n * T + t] + (t > 0 ? wanted[n * T + t - 1] : 0);
    compare("cumulative_sum", nn_cumulative_sum(A, got), 5 * T);
    for (int n = 0; n < 3; n++)
        for (int t = 0; t < 6; t++)
            wanted[n * 6 + t] = A[n * 6 + t] * (t > 0 ? wanted[n * 6 + t - 1] : 1);
    compare("cumulative_product", nn_cumulative_product(A, got), 3 * 6);
    for (int n = 0; n < N; n++)
        for (int t = 0; t < 9; t++)
            wanted[n * 9 + t] = 0.75f * (t > 0 ? wanted[n * 9 + t - 1] : A[n * 9]) + 0.25f * A[n * 9 + t];
    compare("moving_average", nn_moving_average(A, 0.25f, got), N * 9);
}

int main(void) {
    fill(A, 1, -1);
    fill(B, 2, -1);
    fill(C, 3, -1);
    fill(D, 4, -1);
    fill(E, 5, 0.25f);
    for (int i = 0; i < LARGEST; i++)
        got[i] = 12345;
    test_products();
    test_convolutions();
    test_pooling();
    test_elements();
    test_pairs();
    test_normalisation();
    test_tables();
    test_attention();
    test_tuples();
    test_rnn();
    test_lstm();
    test_gru();
    test_prefixes();
    return done_testing();
}
