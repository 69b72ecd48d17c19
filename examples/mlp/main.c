/* Classifies noisy images of digits with the network of mlp.tensor and compares with plain C. The weights are made, not
 * trained: the digits are drawn as on a seven-segment display, and each hidden unit looks for one of them. */
#include "../measure.h"
#include "mlp.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 160, DIGITS = 10 };

typedef struct Network {
    float images[BATCH][PIXELS];
    float w1[HIDDEN][PIXELS], b1[HIDDEN], w2[DIGITS][HIDDEN], b2[DIGITS];
    float probability[BATCH][DIGITS], expected[BATCH][DIGITS];
    int digit[BATCH];
    struct classify_digits_packed *packed;
} Network;

/* Segments top, upper left, upper right, middle, lower left, lower right, bottom: x, y, width, height. */
static const int segment_box[7][4] = {{6, 3, 16, 3},  {6, 3, 3, 12},   {19, 3, 3, 12}, {6, 12, 16, 3},
                                      {6, 12, 3, 12}, {19, 12, 3, 12}, {6, 22, 16, 3}};
static const char *const digit_segments[DIGITS] = {"1110111", "0010010", "1011101", "1011011", "0111010",
                                                   "1101011", "1101111", "1010010", "1111111", "1111011"};

static void draw_digit(int digit, float *image) {
    for (int i = 0; i < PIXELS; i++)
        image[i] = 0;
    for (int s = 0; s < 7; s++)
        if (digit_segments[digit][s] == '1')
            for (int y = 0; y < segment_box[s][3]; y++)
                for (int x = 0; x < segment_box[s][2]; x++)
                    image[(segment_box[s][1] + y) * SIDE + segment_box[s][0] + x] = 1;
}

/* Hidden unit j matches digit j % 10: its weights are the digit's picture without its mean, scaled to a match of 1, and
 * some noise. */
static void make_hidden_unit(float *weights, int digit, uint64_t *random) {
    float picture[PIXELS], mean = 0, match = 0;
    draw_digit(digit, picture);
    for (int i = 0; i < PIXELS; i++)
        mean += picture[i] / PIXELS;
    for (int i = 0; i < PIXELS; i++)
        match += (picture[i] - mean) * (picture[i] - mean);
    for (int i = 0; i < PIXELS; i++)
        weights[i] = (picture[i] - mean) / sqrtf(match) + 0.01f * random_float(random);
}

static void make_network(Network *network) {
    uint64_t random = 1;
    for (int j = 0; j < HIDDEN; j++) {
        make_hidden_unit(network->w1[j], j % DIGITS, &random);
        network->b1[j] = 0.1f * random_float(&random);
    }
    for (int o = 0; o < DIGITS; o++) {
        network->b2[o] = 0;
        for (int j = 0; j < HIDDEN; j++)
            network->w2[o][j] = j % DIGITS == o ? 0.1f : 0;
    }
    for (int n = 0; n < BATCH; n++) {
        network->digit[n] = n * 7 % DIGITS;
        draw_digit(network->digit[n], network->images[n]);
        for (int i = 0; i < PIXELS; i++)
            network->images[n][i] += 0.5f * random_float(&random);
    }
}

static double plain_dot(const float *a, const float *b, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void plain_classify(const Network *network, const float *image, float *probability) {
    float hidden[HIDDEN];
    double score[DIGITS], top = -INFINITY, total = 0;
    for (int j = 0; j < HIDDEN; j++)
        hidden[j] = fmaxf((float)plain_dot(image, network->w1[j], PIXELS) + network->b1[j], 0);
    for (int o = 0; o < DIGITS; o++) {
        score[o] = plain_dot(hidden, network->w2[o], HIDDEN) + network->b2[o];
        top = fmax(top, score[o]);
    }
    for (int o = 0; o < DIGITS; o++)
        total += exp(score[o] - top);
    for (int o = 0; o < DIGITS; o++)
        probability[o] = (float)(exp(score[o] - top) / total);
}

/* Once for all calls. */
static void pack_weights(Network *network) {
    network->packed = aligned_alloc(64, (size_t)classify_digits_packed_size());
    if (network->packed == NULL) {
        fprintf(stderr, "no memory for packed weights\n");
        exit(1);
    }
    classify_digits_pack_all(network->w1[0], network->b1, network->w2[0], network->b2, network->packed);
}

static void call_packed(void *context) {
    Network *network = context;
    int status = classify_digits_packed_all(network->packed, network->images[0], network->probability[0]);
    if (status != 0) {
        fprintf(stderr, "classify_digits_packed_all returned status %d\n", status);
        exit(1);
    }
}

static void call_network(void *context) {
    Network *network = context;
    int status = classify_digits(network->images[0], network->w1[0], network->b1, network->w2[0], network->b2,
                                 network->probability[0]);
    if (status != 0) {
        fprintf(stderr, "classify_digits returned status %d\n", status);
        exit(1);
    }
}

static int count_recognised(const Network *network) {
    int recognised = 0;
    for (int n = 0; n < BATCH; n++) {
        int best = 0;
        for (int o = 1; o < DIGITS; o++)
            if (network->probability[n][o] > network->probability[n][best])
                best = o;
        recognised += best == network->digit[n];
    }
    return recognised;
}

/* Times a function and compares what it computes with plain C. */
static bool measure(const char *name, void (*call)(void *), Network *network) {
    for (int n = 0; n < BATCH; n++)
        for (int o = 0; o < DIGITS; o++)
            network->probability[n][o] = 0;
    double seconds = best_seconds(call, network);
    double flops = 2.0 * BATCH * HIDDEN * (PIXELS + DIGITS);
    double error = largest_difference(network->probability[0], network->expected[0], (size_t)BATCH * DIGITS);
    bool correct = error <= 1e-4;
    printf("%s %.3f ms for %d images, %.2f GFLOP/s; %d of %d recognised; largest error %.1e: %s\n", name, seconds * 1e3,
           BATCH, flops / seconds * 1e-9, count_recognised(network), BATCH, error, correct ? "correct" : "WRONG");
    return correct;
}

int main(void) {
    static Network network;
    make_network(&network);
    pack_weights(&network);
    for (int n = 0; n < BATCH; n++)
        plain_classify(&network, network.images[n], network.expected[n]);
    bool plain = measure("classify_digits", call_network, &network);
    bool packed = measure("classify_digits_packed_all", call_packed, &network);
    return plain && packed ? 0 : 1;
}
