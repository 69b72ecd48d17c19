/* workload.c - the kinds of workloads: rows of the tables, sizes, lines that export them, and exact results. */
#include "workload.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Letters of numbers: T H W extents of an image, C channels, M filters, K the window, S stride, P pad, G groups, D
 * dilation, Q the side of a capsule, c and m channels and filters of a group; R rows, N columns, X depth, A heads. */
#define IMAGE "channels last"
#define FILTERS(dims)                                                                                                  \
    {"I", NULL}, {                                                                                                     \
        "F", dims                                                                                                      \
    }
static const Kind kinds[] = {
    {"conv1d",
     "WCMKSP",
     "conv1d_nlc[S={S}, P={P}](N={B}, L={W}, C={C}, M={M}, K={K})",
     FAMILY_CONVOLUTION,
     1,
     {FILTERS("KCM")},
     IMAGE},
    {"conv2d",
     "HWCMKSP",
     "conv2d_nhwc[S={S}, P={P}](N={B}, H={H}, W={W}, C={C}, M={M}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKCM")},
     IMAGE},
    {"conv3d",
     "THWCMKSP",
     "conv3d_nthwc[S={S}, P={P}](N={B}, T={T}, H={H}, W={W}, C={C}, M={M}, KT={K}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     3,
     {FILTERS("KKKCM")},
     IMAGE},
    {"group_conv2d",
     "HWCMKSPG",
     "group_conv2d_nhwc[S={S}, P={P}](N={B}, H={H}, W={W}, G={G}, C={c}, M={m}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKGcm")},
     IMAGE},
    {"dilated_conv2d",
     "HWCMKSPD",
     "conv2d_nhwc[S={S}, P={P}, D={D}](N={B}, H={H}, W={W}, C={C}, M={M}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKCM")},
     IMAGE},
    {"depthwise_conv2d",
     "HWCKSP",
     "depthwise_conv2d[S={S}, P={P}](N={B}, H={H}, W={W}, C={C}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKC")},
     IMAGE},
    {"transposed_conv2d",
     "HWCMKSP",
     "transposed_conv2d_nhwc[S={S}, P={P}](N={B}, H={H}, W={W}, C={C}, M={M}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKCM")},
     IMAGE},
    {"capsule_conv2d",
     "HWCMKSPQ",
     "capsule_conv2d[S={S}, P={P}](N={B}, H={H}, W={W}, C={C}, M={M}, KH={K}, KW={K}, K={Q})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKCMQQ")},
     IMAGE},
    {"conv_layer",
     "HWCMKSP",
     "conv_layer[S={S}, P={P}](N={B}, H={H}, W={W}, C={C}, M={M}, KH={K}, KW={K})",
     FAMILY_CONVOLUTION,
     2,
     {FILTERS("KKCM"), {"mean", "M"}, {"variance", "M"}, {"gamma", "M"}, {"beta", "M"}},
     IMAGE},
    {"matmul", "RNX", "matmul(B={B}, M={R}, N={N}, K={X})", FAMILY_MATMUL, 0, {{"X", NULL}, {"Y", NULL}}, "row major"},
    {"matrix_norm", "RN", "matrix_norm(B={B}, M={R}, N={N})", FAMILY_NORM, 0, {{"X", NULL}}, "row major"},
    {"tbs",
     "RAX",
     "tbs(B={B}, L={R}, A={A}, D={X})",
     FAMILY_SCORES,
     0,
     {{"queries", NULL}, {"keys", NULL}},
     "(batch, row, head, feature)"},
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const Kind *kind_named(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

/* The value that a letter of the row has; `otherwise` where the kind has no such letter. */
static int number(const Kind *kind, const int *numbers, char letter, int otherwise) {
    const char *at = strchr(kind->letter, letter);
    return at ? numbers[at - kind->letter] : otherwise;
}

static void read_image(Workload *w, const int *numbers) {
    static const char extents[] = "THW";
    const Kind *kind = w->kind;
    int window = number(kind, numbers, 'K', 1), pad = number(kind, numbers, 'P', 0);
    for (int d = 0; d < 3; d++) {
        bool used = d >= 3 - kind->dims;
        w->in[d] = number(kind, numbers, extents[d], 1);
        w->window[d] = used ? window : 1;
        w->pad[d] = used ? pad : 0;
        int reach = w->dilation * (w->window[d] - 1) + 1;
        w->out[d] = !used           ? 1
                    : w->transposed ? w->stride * (w->in[d] - 1) + reach - 2 * pad
                                    : (w->in[d] + 2 * pad - reach) / w->stride + 1;
    }
}

static void read_convolution(Workload *w, const int *numbers) {
    const Kind *kind = w->kind;
    bool depthwise = !strcmp(kind->name, "depthwise_conv2d");
    w->transposed = !strcmp(kind->name, "transposed_conv2d");
    w->channels = number(kind, numbers, 'C', 1);
    w->filters = number(kind, numbers, 'M', w->channels);
    w->groups = depthwise ? w->channels : number(kind, numbers, 'G', 1);
    if (w->channels % w->groups || w->filters % w->groups)
        w->groups = 1;
    w->stride = number(kind, numbers, 'S', 1);
    w->dilation = number(kind, numbers, 'D', 1);
    w->side = number(kind, numbers, 'Q', 1);
    read_image(w, numbers);
}

static bool read_numbers(const char *text, int *numbers, int count) {
    for (int i = 0; i < count; i++) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 0 || value > 1 << 24)
            return false;
        numbers[i] = (int)value;
        text = end;
    }
    return text[strspn(text, " \t\r\n")] == '\0';
}

bool workload_read(Workload *w, const char *row) {
    char kind[64];
    int numbers[MOST_NUMBERS], used = 0;
    *w = (Workload){0};
    if (sscanf(row, "%63s %63s %d%n", kind, w->name, &w->batch, &used) != 3 || !(w->kind = kind_named(kind)))
        return false;
    if (!read_numbers(row + used, numbers, (int)strlen(w->kind->letter)))
        return false;
    w->rows = number(w->kind, numbers, 'R', 1);
    w->columns = number(w->kind, numbers, 'N', 1);
    w->depth = number(w->kind, numbers, 'X', 1);
    w->heads = number(w->kind, numbers, 'A', 1);
    if (w->kind->family == FAMILY_CONVOLUTION)
        read_convolution(w, numbers);
    return true;
}

/* --- as a line of a .tensor file ------------------------------------------------------------------------------------
 */

static int letter_value(const Workload *w, char letter) {
    switch (letter) {
    case 'B': return w->batch;
    case 'T': return w->in[0];
    case 'H': return w->in[1];
    case 'W': return w->in[2];
    case 'C': return w->channels;
    case 'c': return w->channels / w->groups;
    case 'M': return w->filters;
    case 'm': return w->filters / w->groups;
    case 'K': return w->window[2];
    case 'S': return w->stride;
    case 'P': return w->pad[2];
    case 'G': return w->groups;
    case 'D': return w->dilation;
    case 'Q': return w->side;
    case 'R': return w->rows;
    case 'N': return w->columns;
    case 'X': return w->depth;
    default: return w->heads;
    }
}

void workload_export(const Workload *w, const char *symbol, const char *prefix) {
    printf("export ");
    for (const char *at = w->kind->export; *at && *at != ')'; at++)
        if (*at == '{') {
            printf("%d", letter_value(w, at[1]));
            at = strchr(at, '}');
        } else
            putchar(*at);
    for (int i = 0; *prefix && i < MOST_INPUTS && w->kind->inputs[i].name; i++)
        if (w->kind->inputs[i].dims)
            printf(", %s=\"%s.%s.npy\"", w->kind->inputs[i].name, prefix, w->kind->inputs[i].name);
    printf(") as %s\n", symbol);
}

/* --- sizes ----------------------------------------------------------------------------------------------------------
 */

static size_t volume(const int extents[3]) {
    return (size_t)extents[0] * extents[1] * extents[2];
}

size_t workload_input_size(const Workload *w, int input) {
    size_t batch = w->batch, squares = (size_t)w->side * w->side;
    if (input >= MOST_INPUTS || !w->kind->inputs[input].name)
        return 0;
    switch (w->kind->family) {
    case FAMILY_CONVOLUTION:
        return input == 0   ? batch * volume(w->in) * w->channels * squares
               : input == 1 ? volume(w->window) * w->channels / w->groups * w->filters * squares
                            : (size_t)w->filters;
    case FAMILY_MATMUL: return input == 0 ? batch * w->rows * w->depth : batch * w->depth * w->columns;
    case FAMILY_NORM: return batch * w->rows * w->columns;
    case FAMILY_SCORES: return batch * w->rows * w->heads * w->depth;
    }
    return 0;
}

int workload_weight_dims(const Workload *w, int input, int dims[MOST_DIMS]) {
    int count = 0;
    for (const char *at = w->kind->inputs[input].dims; at && *at; at++)
        dims[count++] = letter_value(w, *at);
    return count;
}

size_t workload_output_size(const Workload *w) {
    size_t batch = w->batch;
    switch (w->kind->family) {
    case FAMILY_CONVOLUTION: return batch * volume(w->out) * w->filters * w->side * w->side;
    case FAMILY_MATMUL: return batch * w->rows * w->columns;
    case FAMILY_NORM: return batch;
    case FAMILY_SCORES: return batch * w->heads * w->rows * w->rows;
    }
    return 0;
}

int workload_terms(const Workload *w) {
    size_t taps = volume(w->window);
    if (w->transposed) /* of one phase */
        for (int d = 3 - w->kind->dims; d < 3; d++)
            taps /= w->stride;
    switch (w->kind->family) {
    case FAMILY_CONVOLUTION: return (int)(taps * (w->channels / w->groups) * w->side);
    case FAMILY_NORM: return w->rows * w->columns;
    default: return w->depth;
    }
}

double workload_flops(const Workload *w) {
    return 2.0 * (double)workload_output_size(w) * workload_terms(w);
}

/* --- exact results
 * ----------------------------------------------------------------------------------------------------- */

static void add_product(Exact *sum, double a, double b) {
    sum->value += a * b;
    sum->absolute += fabs(a * b);
}

/* Where tap `tap` of output `at` reads dimension d of the image; -1: zeros. */
static int tap_place(const Workload *w, int d, int at, int tap) {
    int place = w->transposed ? at + w->pad[d] - tap : at * w->stride + tap * w->dilation - w->pad[d];
    if (w->transposed && place % w->stride)
        return -1;
    place = w->transposed ? place / w->stride : place;
    return place < w->in[d] ? place : -1;
}

typedef struct Place {
    int n, at[3], filter, i, j; /* image, place in it, filter, place in the matrix of a capsule */
} Place;

static Place place_of(const Workload *w, size_t element) {
    Place p;
    p.j = (int)(element % w->side), element /= w->side;
    p.i = (int)(element % w->side), element /= w->side;
    p.filter = (int)(element % w->filters), element /= w->filters;
    for (int d = 2; d >= 0; d--)
        p.at[d] = (int)(element % w->out[d]), element /= w->out[d];
    p.n = (int)element;
    return p;
}

/* All channels of one tap. */
static void add_tap(const Workload *w, const float *const *inputs, const Place *p, size_t pixel, size_t tap,
                    Exact *sum) {
    int channels = w->channels / w->groups, filters = w->filters / w->groups, group = p->filter / filters,
        side = w->side;
    for (int c = 0; c < channels; c++)
        for (int k = 0; k < side; k++) {
            size_t a = (pixel * w->channels + (size_t)group * channels + c) * side * side + (size_t)p->i * side + k;
            size_t b = ((tap * w->groups + group) * channels + c) * filters + p->filter % filters;
            add_product(sum, inputs[0][a], inputs[1][(b * side + k) * side + p->j]);
        }
}

static Exact exact_sum(const Workload *w, const float *const *inputs, const Place *p) {
    Exact sum = {0};
    size_t tap = 0;
    for (int z = 0; z < w->window[0]; z++)
        for (int y = 0; y < w->window[1]; y++)
            for (int x = 0; x < w->window[2]; x++, tap++) {
                int from[3] = {tap_place(w, 0, p->at[0], z), tap_place(w, 1, p->at[1], y),
                               tap_place(w, 2, p->at[2], x)};
                if (from[0] < 0 || from[1] < 0 || from[2] < 0)
                    continue;
                size_t pixel = (((size_t)p->n * w->in[0] + from[0]) * w->in[1] + from[1]) * w->in[2] + from[2];
                add_tap(w, inputs, p, pixel, tap, &sum);
            }
    return sum;
}

static Exact exact_convolution(const Workload *w, const float *const *inputs, size_t element) {
    Place p = place_of(w, element);
    Exact sum = exact_sum(w, inputs, &p);
    if (!w->kind->inputs[2].name)
        return sum;
    double mean = inputs[2][p.filter], beta = inputs[5][p.filter];
    double scale = inputs[4][p.filter] / sqrt(inputs[3][p.filter] + 1e-5);
    return (Exact){fmax((sum.value - mean) * scale + beta, 0), (sum.absolute + fabs(mean)) * fabs(scale) + fabs(beta)};
}

static Exact exact_product(const Workload *w, const float *const *inputs, size_t element) {
    size_t j = element % w->columns, i = element / w->columns, b = i / w->rows;
    Exact sum = {0};
    for (int k = 0; k < w->depth; k++)
        add_product(&sum, inputs[0][i * w->depth + k], inputs[1][(b * w->depth + k) * w->columns + j]);
    return sum;
}

static Exact exact_norm(const Workload *w, const float *const *inputs, size_t element) {
    size_t count = (size_t)w->rows * w->columns;
    Exact sum = {0};
    for (size_t i = 0; i < count; i++)
        add_product(&sum, inputs[0][element * count + i], inputs[0][element * count + i]);
    return (Exact){sqrt(sum.value), sqrt(sum.value)};
}

static Exact score(const Workload *w, const float *const *inputs, size_t b, int head, int i, int j) {
    const float *query = inputs[0] + ((b * w->rows + i) * w->heads + head) * w->depth;
    const float *key = inputs[1] + ((b * w->rows + j) * w->heads + head) * w->depth;
    Exact sum = {0};
    for (int k = 0; k < w->depth; k++)
        add_product(&sum, query[k], key[k]);
    return sum;
}

/* An error of a score is a relative one of its exponential: `absolute` is for the largest of them. */
static Exact exact_score(const Workload *w, const float *const *inputs, size_t element) {
    int j = (int)(element % w->rows), i = (int)(element / w->rows % w->rows);
    int head = (int)(element / w->rows / w->rows % w->heads);
    size_t b = element / w->rows / w->rows / w->heads;
    double total = 0, largest = 0, own = score(w, inputs, b, head, i, j).value;
    for (int other = 0; other < w->rows; other++) {
        Exact one = score(w, inputs, b, head, i, other);
        total += exp(one.value - own);
        largest = fmax(largest, one.absolute);
    }
    return (Exact){1 / total, 2 / total * (1 + largest)};
}

Exact workload_exact(const Workload *w, const float *const *inputs, size_t element) {
    static Exact (*const functions[])(const Workload *, const float *const *, size_t) = {
        [FAMILY_CONVOLUTION] = exact_convolution,
        [FAMILY_MATMUL] = exact_product,
        [FAMILY_NORM] = exact_norm,
        [FAMILY_SCORES] = exact_score,
    };
    return functions[w->kind->family](w, inputs, element);
}
