/* Runs the layer of conv.tensor, compares it with plain C, and says how fast it is. The name to print may be given. */
#include "../measure.h"
#include "conv.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNELS = 64, FILTERS = 64, SIDE = 56, KERNEL = 3, PADDING = 1 };

typedef struct Layer {
    float image[CHANNELS][SIDE][SIDE];
    float filters[FILTERS][CHANNELS][KERNEL][KERNEL];
    float bias[FILTERS];
    float out[FILTERS][SIDE][SIDE], expected[FILTERS][SIDE][SIDE];
} Layer;

/* One element, summed in double; what is outside the image is 0. */
static float plain_element(const Layer *layer, int m, int h, int w) {
    double sum = layer->bias[m];
    for (int c = 0; c < CHANNELS; c++)
        for (int kh = 0; kh < KERNEL; kh++)
            for (int kw = 0; kw < KERNEL; kw++) {
                int y = h + kh - PADDING, x = w + kw - PADDING;
                if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
                    sum += (double)layer->image[c][y][x] * layer->filters[m][c][kh][kw];
            }
    return sum > 0 ? (float)sum : 0;
}

static void plain_layer(Layer *layer) {
    for (int m = 0; m < FILTERS; m++)
        for (int h = 0; h < SIDE; h++)
            for (int w = 0; w < SIDE; w++)
                layer->expected[m][h][w] = plain_element(layer, m, h, w);
}

static void call_layer(void *context) {
    Layer *layer = context;
    int status = conv_layer(&layer->image[0][0][0], &layer->filters[0][0][0][0], layer->bias, &layer->out[0][0][0]);
    if (status != 0) {
        fprintf(stderr, "conv_layer returned status %d\n", status);
        exit(1);
    }
}

int main(int argc, char **argv) {
    static Layer layer;
    const size_t outputs = (size_t)FILTERS * SIDE * SIDE;
    fill_floats(&layer.image[0][0][0], sizeof layer.image / sizeof(float), 1);
    fill_floats(&layer.filters[0][0][0][0], sizeof layer.filters / sizeof(float), 2);
    fill_floats(layer.bias, FILTERS, 3);
    plain_layer(&layer);

    double seconds = best_seconds(call_layer, &layer);
    double flops = 2.0 * (double)outputs * CHANNELS * KERNEL * KERNEL;
    double error = largest_difference(&layer.out[0][0][0], &layer.expected[0][0][0], outputs);
    bool correct = error <= 1e-4; /* of sums of 576 products of numbers below 1 */
    printf("%-24s %9.3f ms %9.2f GFLOP/s   largest error %.1e: %s\n", argc > 1 ? argv[1] : "conv_layer", seconds * 1e3,
           flops / seconds * 1e-9, error, correct ? "correct" : "WRONG");
    return correct ? 0 : 1;
}
