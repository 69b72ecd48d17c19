/* The operators of nn_images at sizes of 1, primes and others, compared with plain C. One form holds all: an image is a
 * volume of one plane, a sequence a volume of one row. */
#include "images.h"
#include <stdlib.h>

enum { LARGEST = 1 << 16 };
#define TOLERANCE 5e-5
#include "tests/run/operands.h"

static float A[LARGEST], B[LARGEST], C[LARGEST], D[LARGEST], E[LARGEST];

/* --- forms --- */

typedef struct Form {
    int n, c, size[3]; /* depth, rows, columns */
    bool last;         /* the channels are the last dimension */
} Form;

static int form_count(const Form *f) {
    return f->n * f->c * f->size[0] * f->size[1] * f->size[2];
}

static int place(const Form *f, int n, int c, const int at[3]) {
    int inside = (at[0] * f->size[1] + at[1]) * f->size[2] + at[2], plane = f->size[0] * f->size[1] * f->size[2];
    return f->last ? (n * plane + inside) * f->c + c : (n * f->c + c) * plane + inside;
}

/* The position of element i in the order (n, c, depth, row, column), whatever the form. */
static void position(const Form *f, int i, int *n, int *c, int at[3]) {
    for (int d = 2; d >= 0; d--) {
        at[d] = i % f->size[d];
        i /= f->size[d];
    }
    *c = i % f->c;
    *n = i / f->c;
}

typedef struct Window {
    int kernel[3], stride[3], before[3], after[3], dilation[3];
} Window;

/* Where a tap of an element reads; false: outside. */
static bool tap_place(const Form *from, const Window *w, const int at[3], int tap, int where[3], int taps[3]) {
    bool inside = true;
    for (int d = 2; d >= 0; d--) {
        taps[d] = tap % w->kernel[d];
        tap /= w->kernel[d];
        where[d] = at[d] * w->stride[d] + taps[d] * w->dilation[d] - w->before[d];
        inside = inside && where[d] >= 0 && where[d] < from->size[d];
    }
    return inside;
}

/* The form of the result with c channels. */
static Form result_form(const Form *from, const Window *w, int c) {
    Form to = {from->n, c, {0}, from->last};
    for (int d = 0; d < 3; d++)
        to.size[d] =
            (from->size[d] + w->before[d] + w->after[d] - w->dilation[d] * (w->kernel[d] - 1) - 1) / w->stride[d] + 1;
    return to;
}

/* Zeros as padding "same" has them. */
static Window same_window(const Form *from, const int kernel[3], int stride, int dilation) {
    Window w;
    for (int d = 0; d < 3; d++) {
        bool one = kernel[d] == 1 && from->size[d] == 1;
        w.kernel[d] = kernel[d];
        w.stride[d] = one ? 1 : stride;
        w.dilation[d] = dilation;
        int out = (from->size[d] + stride - 1) / stride;
        int all = (out - 1) * stride + dilation * (kernel[d] - 1) + 1 - from->size[d];
        w.before[d] = one || all < 0 ? 0 : all / 2;
        w.after[d] = one || all < 0 ? 0 : all - all / 2;
    }
    return w;
}

/* --- convolutions and pools --- */

static double conv_element(const Form *from, const Window *w, int n, int m, int filters, const int at[3]) {
    int where[3], taps[3], all = w->kernel[0] * w->kernel[1] * w->kernel[2];
    double sum = 0;
    for (int tap = 0; tap < all; tap++)
        for (int c = 0; c < from->c && tap_place(from, w, at, tap, where, taps); c++) {
            int filter = from->last ? (tap * from->c + c) * filters + m : (m * from->c + c) * all + tap;
            sum += (double)A[place(from, n, c, where)] * B[filter];
        }
    return sum;
}

static int plain_conv(const Form *from, const Window *w, int filters) {
    Form to = result_form(from, w, filters);
    for (int i = 0; i < form_count(&to); i++) {
        int n, m, at[3];
        position(&to, i, &n, &m, at);
        wanted[place(&to, n, m, at)] = (float)conv_element(from, w, n, m, filters, at);
    }
    return form_count(&to);
}

/* kind: 'a' mean, 'm' largest, 'd' a filter for each channel. */
static int plain_pool(const Form *from, const Window *w, char kind) {
    Form to = result_form(from, w, from->c);
    int all = w->kernel[0] * w->kernel[1] * w->kernel[2];
    for (int i = 0; i < form_count(&to); i++) {
        int n, c, at[3], where[3], taps[3];
        position(&to, i, &n, &c, at);
        double sum = 0, top = -INFINITY;
        for (int tap = 0; tap < all; tap++)
            if (tap_place(from, w, at, tap, where, taps)) {
                double value = A[place(from, n, c, where)];
                sum += kind == 'd' ? value * B[from->last ? tap * from->c + c : c * all + tap] : value;
                top = fmax(top, value);
            }
        wanted[place(&to, n, c, at)] = (float)(kind == 'm' ? top : kind == 'a' ? sum / all : sum);
    }
    return form_count(&to);
}

#define SIZES_FIRST(f) (f).n, (f).c, (f).size[1], (f).size[2]
#define SIZES_LAST(f) (f).n, (f).size[1], (f).size[2], (f).c
#define VOLUME_FIRST(f) (f).n, (f).c, (f).size[0], (f).size[1], (f).size[2]
#define VOLUME_LAST(f) (f).n, (f).size[0], (f).size[1], (f).size[2], (f).c

static void test_convolutions(int n, int c, int h, int w, int m) {
    Form first = {n, c, {1, h, w}, false}, last = {n, c, {1, h, w}, true}, volume = {n, c, {5, h, w}, false};
    Form line = {n, c, {1, 1, w}, false};
    Window each = {{1, 3, 2}, {1, 2, 1}, {0, 1, 2}, {0, 1, 2}, {1, 1, 2}};
    Window ends = {{1, 3, 2}, {1, 1, 2}, {0, 1, 0}, {0, 0, 3}, {1, 1, 1}};
    Window deep = {{2, 1, 3}, {1, 2, 3}, {1, 0, 2}, {0, 0, 2}, {2, 1, 1}};
    Window channel = {{1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}};
    Window same = same_window(&first, (int[]){1, 3, 2}, 1, 1), strided = same_window(&first, (int[]){1, 2, 3}, 3, 2);
    Window halved = same_window(&last, (int[]){1, 3, 3}, 2, 1), steps = same_window(&line, (int[]){1, 1, 3}, 2, 2);
    int count = plain_conv(&first, &each, m);
    compare("conv2d_each", i_conv2d_each(SIZES_FIRST(first), m, 3, 2, A, B, got), count);
    count = plain_conv(&first, &ends, m);
    compare("conv2d_each: other zeros at the ends", i_conv2d_ends(SIZES_FIRST(first), m, 3, 2, A, B, got), count);
    count = plain_conv(&last, &each, m);
    compare("conv2d_each_nhwc", i_conv2d_each_nhwc(SIZES_LAST(last), 3, 2, m, A, B, got), count);
    count = plain_conv(&volume, &deep, m);
    compare("conv3d_each", i_conv3d_each(VOLUME_FIRST(volume), m, 2, 1, 3, A, B, got), count);
    Window two = {{1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}};
    Window one = {{1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}};
    Form deep_rows = result_form(&first, &two, m);
    count = plain_conv(&first, &two, m);
    for (int i = 0; i < count; i++)
        wanted[i] = fmaxf(wanted[i] + C[i / (deep_rows.size[1] * deep_rows.size[2]) % m], 0);
    compare("conv2d_bias of relu", i_conv2d_bias(SIZES_FIRST(first), m, 3, 3, A, B, C, got), count);
    count = plain_conv(&last, &one, m);
    for (int i = 0; i < count; i++)
        wanted[i] = (float)((wanted[i] + C[i % m]) / (1 + exp(-wanted[i] - C[i % m])));
    compare("conv2d_bias_nhwc of silu", i_conv2d_bias_nhwc(SIZES_LAST(last), 3, 3, m, A, B, C, got), count);
    count = plain_pool(&first, &one, 'd');
    for (int i = 0; i < count; i++)
        wanted[i] += C[i / (h * w) % c];
    compare("depthwise_conv2d_bias", i_depthwise_bias(SIZES_FIRST(first), 3, 3, A, B, C, got), count);
    count = plain_pool(&last, &channel, 'd');
    compare("depthwise_conv2d_nhwc", i_depthwise_nhwc(SIZES_LAST(last), 3, 3, A, B, got), count);
    count = plain_conv(&first, &same, m);
    ok(count == n * m * h * w, "padding \"same\" keeps rows and columns");
    compare("conv2d_same", i_conv2d_same(SIZES_FIRST(first), m, 3, 2, A, B, got), count);
    count = plain_conv(&first, &strided, m);
    compare("conv2d_same, strided and dilated", i_conv2d_same_strided(SIZES_FIRST(first), m, 2, 3, A, B, got), count);
    count = plain_conv(&last, &halved, m);
    compare("conv2d_same_nhwc", i_conv2d_same_nhwc(SIZES_LAST(last), 3, 3, m, A, B, got), count);
    count = plain_conv(&line, &steps, m);
    compare("conv1d_same", i_conv1d_same(n, c, w, m, 3, A, B, got), count);
}

static void test_pools(int n, int c, int h, int w) {
    Form first = {n, c, {1, h, w}, false}, last = {n, c, {1, h, w}, true}, line = {n, c, {1, 1, w}, false};
    Form volume = {n, c, {3, h, w}, false}, deep = {n, c, {3, h, w}, true};
    Window each = {{1, 3, 2}, {1, 1, 2}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1}};
    Window square = {{1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}, {1, 1, 1}};
    Window row = {{1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {0, 0, 1}, {1, 1, 1}};
    Window cube = {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    if (w >= 2) { /* a window without padding needs columns */
        int count = plain_pool(&first, &each, 'm');
        compare("max_pool2d_each", i_max_each(SIZES_FIRST(first), A, got), count);
        count = plain_pool(&first, &each, 'a');
        compare("avg_pool2d_each", i_avg_each(SIZES_FIRST(first), A, got), count);
    }
    int count = plain_pool(&last, &square, 'm');
    compare("max_pool2d_nhwc", i_max_nhwc(SIZES_LAST(last), A, got), count);
    count = plain_pool(&last, &square, 'a');
    compare("avg_pool2d_nhwc", i_avg_nhwc(SIZES_LAST(last), A, got), count);
    count = plain_pool(&line, &row, 'm');
    compare("max_pool1d", i_max_1d(n, c, w, A, got), count);
    count = plain_pool(&line, &row, 'a');
    compare("avg_pool1d", i_avg_1d(n, c, w, A, got), count);
    count = plain_pool(&volume, &cube, 'm');
    compare("max_pool3d", i_max_3d(VOLUME_FIRST(volume), A, got), count);
    count = plain_pool(&volume, &cube, 'a');
    compare("avg_pool3d", i_avg_3d(VOLUME_FIRST(volume), A, got), count);
    count = plain_pool(&deep, &cube, 'm');
    compare("max_pool3d_nthwc", i_max_nthwc(VOLUME_LAST(deep), A, got), count);
    count = plain_pool(&deep, &cube, 'a');
    compare("avg_pool3d_nthwc", i_avg_nthwc(VOLUME_LAST(deep), A, got), count);
    Window whole = {{1, h, w}, {1, 1, 1}, {0}, {0}, {1, 1, 1}}, all = {{3, h, w}, {1, 1, 1}, {0}, {0}, {1, 1, 1}};
    count = plain_pool(&last, &whole, 'a');
    compare("global_avg_pool_nhwc", i_mean_nhwc(SIZES_LAST(last), A, got), count);
    count = plain_pool(&volume, &all, 'a');
    compare("global_avg_pool_volumes", i_mean_volumes(VOLUME_FIRST(volume), A, got), count);
}

/* --- norms --- */

/* G groups of channels, with the moments of the image. */
static int plain_norm(const Form *f, int groups) {
    int n, c, at[3], count = form_count(f), size = count / f->n / groups, of = f->c / groups;
    double *mean = calloc((size_t)(f->n * groups), sizeof *mean);
    double *square = calloc((size_t)(f->n * groups), sizeof *square);
    for (int i = 0; i < count; i++) {
        position(f, i, &n, &c, at);
        mean[n * groups + c / of] += (double)A[place(f, n, c, at)] / size;
    }
    for (int i = 0; i < count; i++) {
        position(f, i, &n, &c, at);
        double apart = A[place(f, n, c, at)] - mean[n * groups + c / of];
        square[n * groups + c / of] += apart * apart / size;
    }
    for (int i = 0; i < count; i++) {
        position(f, i, &n, &c, at);
        int p = place(f, n, c, at), g = n * groups + c / of;
        wanted[p] = (float)((A[p] - mean[g]) / sqrt(square[g] + 1e-5) * B[c] + C[c]);
    }
    free(mean);
    free(square);
    return count;
}

static void test_norms(int n, int h, int w) {
    Form first = {n, 6, {1, h, w}, false}, last = {n, 6, {1, h, w}, true}, volume = {n, 6, {2, h, w}, false};
    int count = plain_norm(&first, 1);
    compare("group_norm of one group", i_group_1(SIZES_FIRST(first), A, B, C, got), count);
    count = plain_norm(&first, 3);
    compare("group_norm", i_group_3(SIZES_FIRST(first), A, B, C, got), count);
    count = plain_norm(&last, 3);
    compare("group_norm_nhwc", i_group_nhwc(SIZES_LAST(last), A, B, C, got), count);
    count = plain_norm(&first, 6);
    compare("instance_norm", i_instance(SIZES_FIRST(first), A, B, C, got), count);
    count = plain_norm(&last, 6);
    compare("instance_norm_nhwc", i_instance_nhwc(SIZES_LAST(last), A, B, C, got), count);
    for (int i = 0; i < form_count(&last); i++)
        wanted[i] = (float)((A[i] - D[i % 6]) / sqrt(E[i % 6] + 1e-5) * B[i % 6] + C[i % 6]);
    compare("batch_norm_nhwc", i_batch_nhwc(SIZES_LAST(last), A, D, E, B, C, got), form_count(&last));
    for (int i = 0; i < form_count(&volume); i++) {
        int c = i / (2 * h * w) % 6;
        wanted[i] = (float)((A[i] - D[c]) / sqrt(E[c] + 1e-5) * B[c] + C[c]);
    }
    compare("batch_norm_volumes", i_batch_volumes(VOLUME_FIRST(volume), A, D, E, B, C, got), form_count(&volume));
    ok(i_group_3(n, 7, h, w, A, B, C, got) == 1 && got[0] == 12345, "7 channels have no 3 groups: nothing is written");
}

/* --- element by element --- */

#define EACH(count, value)                                                                                             \
    for (int i = 0; i < (count); i++)                                                                                  \
    wanted[i] = (float)(value)

static void test_elements(int n, int c, int h, int w) {
    int count = n * c * h * w, volume = 2 * count;
    EACH(count, A[i] + B[i % c]);
    compare("add_channel_nhwc", i_add_channel_nhwc(n, h, w, c, A, B, got), count);
    EACH(count, A[i] * B[i % c]);
    compare("scale_channel_nhwc", i_scale_channel_nhwc(n, h, w, c, A, B, got), count);
    EACH(volume, A[i] + B[i / (2 * h * w) % c]);
    compare("add_channel_volumes", i_add_channel_volumes(n, c, 2, h, w, A, B, got), volume);
    EACH(volume, A[i] + B[i]);
    compare("add_volumes", i_add_volumes(n, c, 2, h, w, A, B, got), volume);
    EACH(volume, fmax(A[i], 0));
    compare("relu_volumes", i_relu_volumes(n, c, 2, h, w, A, got), volume);
    EACH(volume, 1 / (1 + exp(-A[i])));
    compare("sigmoid_volumes", i_sigmoid_volumes(n, c, 2, h, w, A, got), volume);
    EACH(volume, A[i] / (1 + exp(-A[i])));
    compare("silu_volumes", i_silu_volumes(n, c, 2, h, w, A, got), volume);
}

/* --- larger images, forms --- */

static double pixel(const Form *f, int n, int c, int h, int w) {
    int at[3] = {0, h < 0 ? 0 : h < f->size[1] ? h : f->size[1] - 1, w < 0 ? 0 : w < f->size[2] ? w : f->size[2] - 1};
    return A[place(f, n, c, at)];
}

static int plain_upsample(const Form *f, int s, bool linear) {
    Form to = {f->n, f->c, {1, s * f->size[1], s * f->size[2]}, f->last};
    for (int i = 0; i < form_count(&to); i++) {
        int n, c, at[3];
        position(&to, i, &n, &c, at);
        double y = (at[1] + 0.5) / s - 0.5, x = (at[2] + 0.5) / s - 0.5, fy = y - floor(y), fx = x - floor(x);
        int h = (int)floor(y), w = (int)floor(x);
        double above = pixel(f, n, c, h, w) * (1 - fx) + pixel(f, n, c, h, w + 1) * fx;
        double below = pixel(f, n, c, h + 1, w) * (1 - fx) + pixel(f, n, c, h + 1, w + 1) * fx;
        wanted[place(&to, n, c, at)] =
            (float)(linear ? above * (1 - fy) + below * fy : pixel(f, n, c, at[1] / s, at[2] / s));
    }
    return form_count(&to);
}

static void test_upsampling(int n, int c, int h, int w) {
    Form first = {n, c, {1, h, w}, false}, last = {n, c, {1, h, w}, true};
    int count = plain_upsample(&first, 3, false);
    compare("upsample_nearest", i_nearest(SIZES_FIRST(first), A, got), count);
    count = plain_upsample(&last, 2, false);
    compare("upsample_nearest_nhwc", i_nearest_nhwc(SIZES_LAST(last), A, got), count);
    count = plain_upsample(&first, 2, true);
    compare("upsample_bilinear", i_bilinear(SIZES_FIRST(first), A, got), count);
    count = plain_upsample(&first, 3, true);
    compare("upsample_bilinear by 3", i_bilinear_3(SIZES_FIRST(first), A, got), count);
    count = plain_upsample(&last, 2, true);
    compare("upsample_bilinear_nhwc", i_bilinear_nhwc(SIZES_LAST(last), A, got), count);
}

/* Rows of two matrices one behind the other: of a and b elements. */
static int plain_concat(int rows, int a, int b) {
    EACH(rows * (a + b), i % (a + b) < a ? A[i / (a + b) * a + i % (a + b)] : B[i / (a + b) * b + i % (a + b) - a]);
    return rows * (a + b);
}

static void test_forms(int n, int c, int d, int h, int w) {
    int count = plain_concat(n, c * h * w, d * h * w);
    compare("concat_channels", i_concat(n, c, h, w, d, A, B, got), count);
    count = plain_concat(n * h * w, c, d);
    compare("concat_channels_nhwc", i_concat_nhwc(n, h, w, c, d, A, B, got), count);
    count = plain_concat(1, n * c, h * c);
    compare("concat_rows", i_concat_rows(n, c, h, A, B, got), count);
    count = plain_concat(n, c, d);
    compare("concat_columns", i_concat_columns(n, c, d, A, B, got), count);
    EACH(n * c * h * w, A[i]);
    compare("flatten", i_flatten(n, c, h, w, A, got), n * c * h * w);
    EACH(n * c * h * w, A[(i / (c * h * w) * c + i % c) * h * w + i / c % (h * w)]);
    compare("channels_to_last", i_to_last(n, c, h, w, A, got), n * c * h * w);
    EACH(n * c * h * w, A[(i / (c * h * w) * h * w + i % (h * w)) * c + i / (h * w) % c]);
    compare("channels_to_first", i_to_first(n, h, w, c, A, got), n * c * h * w);
}

int main(void) {
    static const int shapes[][5] = {
        {1, 1, 3, 1, 1}, {1, 3, 5, 7, 2}, {2, 5, 7, 3, 17}, {1, 16, 8, 16, 32}, {3, 2, 11, 13, 1},
    };
    fill(A, 1, -1);
    fill(B, 2, -1);
    fill(C, 3, -1);
    fill(D, 4, -1);
    fill(E, 5, 0.25f);
    for (int i = 0; i < LARGEST; i++)
        got[i] = 12345;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int *f = shapes[s];
        test_convolutions(f[0], f[1], f[2], f[3], f[4]);
        test_pools(f[0], f[1], f[2], f[3]);
        test_norms(f[0], f[2], f[3]);
        test_elements(f[0], f[1], f[2], f[3]);
        test_upsampling(f[0], f[1], f[2], f[3]);
        test_forms(f[0], f[1], f[4], f[2], f[3]);
    }
    return done_testing();
}
