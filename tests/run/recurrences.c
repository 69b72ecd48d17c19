/* Recurrences of run-time lengths against plain C: also no step at all, and a thousand. */
#include "recurrences.h"
#include "tests/tap.h"
#include <math.h>
#include <string.h>

enum { LARGEST = 1 << 16, STEPS = 1000, CELLS = 64 };

static float x[LARGEST], wx[LARGEST], wh[LARGEST], bias[LARGEST], h0[CELLS], c0[CELLS];
static float got[LARGEST], wanted[LARGEST], cells[LARGEST];

static void fill(float *values, int count, unsigned seed, float scale) {
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = scale * ((float)(seed >> 16) / 32768.0f - 1);
    }
}

static double logistic(double v) {
    return 1 / (1 + exp(-v));
}

static void plain_lstm(int T, int B, int I, int H) {
    for (int t = 0; t < T; t++)
        for (int b = 0; b < B; b++)
            for (int j = 0; j < H; j++) {
                const float *h = t > 0 ? wanted + ((t - 1) * B + b) * H : h0 + b * H;
                double g[4], before = t > 0 ? cells[((t - 1) * B + b) * H + j] : c0[b * H + j];
                for (int q = 0; q < 4; q++) {
                    g[q] = bias[q * H + j];
                    for (int i = 0; i < I; i++)
                        g[q] += (double)x[(t * B + b) * I + i] * wx[(q * H + j) * I + i];
                    for (int k = 0; k < H; k++)
                        g[q] += (double)h[k] * wh[(q * H + j) * H + k];
                }
                double cell = logistic(g[1]) * before + logistic(g[0]) * tanh(g[2]);
                cells[(t * B + b) * H + j] = (float)cell;
                wanted[(t * B + b) * H + j] = (float)(logistic(g[3]) * tanh(cell));
            }
}

static void test_lstm(int T, int B, int I, int H) {
    plain_lstm(T, B, I, H);
    for (int variant = 0; variant < 1 + (B == 2 && I == 3 && H == 16); variant++) {
        memset(got, 77, sizeof got);
        int status =
            variant ? lstm_16(T, x, h0, c0, wx, wh, bias, got) : lstm(T, B, I, H, x, h0, c0, wx, wh, bias, got);
        int different = 0;
        for (int i = 0; i < T * B * H; i++)
            different += !(fabsf(got[i] - wanted[i]) <= 1e-4f);
        float untouched;
        memset(&untouched, 77, sizeof untouched);
        if (different)
            diag_line("%d differ", different);
        ok(status == 0 && different == 0 && got[T * B * H] == untouched, "lstm of %d steps, %d x %d x %d%s", T, B, I, H,
           variant ? ", sizes bound" : "");
    }
}

static void test_integers(void) {
    static int zeros[STEPS], f[STEPS];
    int before = 1, now = 0, wrong = 0;
    ok(fibonacci(0, zeros, f) == 0 && fibonacci(40, zeros, f) == 0, "fibonacci runs");
    for (int n = 0; n < 40; n++) {
        int next = now + before;
        before = now;
        now = next;
        wrong += f[n] != now;
    }
    ok(wrong == 0, "and is right");
    static unsigned char bytes[STEPS], next[5 * 256], state[STEPS];
    for (int i = 0; i < 5 * 256; i++)
        next[i] = (unsigned char)(i * 7 % 6); /* 5 is outside: else */
    for (int t = 0; t < STEPS; t++)
        bytes[t] = (unsigned char)(t * t + t / 3);
    ok(machine(STEPS, 5, bytes, next, state) == 0, "a machine runs");
    int at = 0;
    for (int t = wrong = 0; t < STEPS; t++) {
        at = at < 5 ? next[at * 256 + bytes[t]] : 0;
        wrong += state[t] != at;
    }
    ok(wrong == 0, "and is in the right states");
}

int main(void) {
    fill(x, LARGEST, 1, 1);
    fill(wx, LARGEST, 2, 0.25f);
    fill(wh, LARGEST, 3, 0.25f);
    fill(bias, LARGEST, 4, 1);
    fill(h0, CELLS, 5, 1);
    fill(c0, CELLS, 6, 1);
    static const int steps[] = {0, 1, 2, 5, 13}, units[] = {1, 7, 16, 17};
    for (size_t t = 0; t < sizeof steps / sizeof *steps; t++)
        for (size_t u = 0; u < sizeof units / sizeof *units; u++)
            test_lstm(steps[t], 2, 3, units[u]);
    test_lstm(STEPS, 2, 3, 16);
    test_lstm(3, 0, 3, 16);
    test_lstm(3, 2, 0, 5);
    test_integers();
    return done_testing();
}
