#!/bin/sh
# A product that reads beyond the ends of a tensor may read a copy that has them. And which ones may not.
. "${srcdir:-.}/tests/lib.sh"

asked='schedule f on x86 { algorithm(padded) }'
header='def f(float(C, H, W) x, float(O, C, A, B) w) -> (y)'

# padded BODY WHAT SIZES [OPTION]: it may be asked for, and is right.
padded() {
    printf '%s {\n%s\n}\nexport f(%s)\n%s\n' "$header" "$1" "$3" "$asked" >"$work/f.tensor"
    runs "$2, $3" "$TENSORC" -run -w -O2 ${4:-} --db="$work/none.db" "$work/f.tensor"
    like "$(cat "$work/out" "$work/err" 2>/dev/null)" 'checked.*, by padded' "and it is right"
}

# left BODY WHAT [SIZES]: the algorithm is not there to be asked for.
left() {
    printf '%s {\n%s\n}\nexport f(%s)\n%s\n' "$header" "$1" "${3:-C=3, H=10, W=34, O=16, A=3, B=3}" "$asked" \
        >"$work/f.tensor"
    exits 1 "$2" "$TENSORC" -w -O2 -c "$work/f.tensor" -o "$work/f.o"
    like "$(cat "$work/err")" "no algorithm 'padded'" "and that is said"
}

for mode in wrap edge reflect; do
    conv="y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else $mode) * w(o, c, a, b) where i in 0:H, j in 0:W"
    padded "$conv" "a convolution with $mode" 'C=3, H=10, W=34, O=16, A=3, B=3'
    padded "$conv" "one row" 'C=1, H=1, W=9, O=9, A=3, B=3' -fstrict
    padded "y(o, i, j) +=! (x(c, 2*i - a, 3*j + 2*b - 4) else $mode) * w(o, c, a, b) where i in 0:(H/2), j in 0:(W/3)" \
        "strides, a mirrored window and a dilated one with $mode" 'C=2, H=23, W=19, O=11, A=4, B=3'
done
padded 'y(o, i) +=! (x(c, 1, i + a) else wrap) * w(o, c, a, b) where i in 0:H, c in 0:C-1' "a part of the channels" \
    'C=3, H=10, W=4, O=16, A=3, B=3'
padded 'y(o, i, j) +=! (x(c, i, j + b) else edge) * w(o, c, a, b) * (x(c, i + a, j) else edge)
        where i in 0:H, j in 0:W' \
    "two operands" 'C=3, H=6, W=7, O=16, A=3, B=3'
padded 'y(o, i) +=! x(min(c + a, C - 1), i, (i + b) % W) * w(o, c, a, b) where c + a < C' \
    "what conditions keep inside" 'C=3, H=6, W=7, O=16, A=3, B=3'

left 'y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else 0) * w(o, c, a, b) where i in 0:H, j in 0:W' "0 beyond the ends"
left 'y(c, i, j) +=! (x(c, i + a - 1, j + b - 1) else wrap) * w(0, c, a, b) where i in 0:H, j in 0:W' \
    "elements that are used for one channel alone"
left 'y(o, i, j) +=! (x(c, i * i, j + b) else wrap) * w(o, c, a, b) where i in 0:H, j in 0:W' "no sum of loops"
left 'y(o, i) +=! (x(c, 100 * i, a) else wrap) * w(o, c, a, b) where i in 0:H' "a copy that is much larger"

# Run-time sizes, none among them: no element of an empty tensor is read.
cat >"$work/r.tensor" <<'EOT'
def f(float(C, H, W) x, float(O, C, 3, 3) w) -> (y) {
    y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else wrap) * w(o, c, a, b) where i in 0:H, j in 0:W
}
export f
schedule f on x86 { algorithm(padded) }
EOT
cat >"$work/r.c" <<'EOT'
#include "r.h"
#include <stdlib.h>
enum { C = 3, O = 10 };
static int wrong(int H, int W) {
    float *x = H * W > 0 ? malloc(sizeof *x * C * H * W) : NULL, *y = calloc(O * H * W + 1, sizeof *y), w[O][C][3][3];
    for (int i = 0; i < C * H * W; i++)
        x[i] = (float)(i * 7 % 13);
    for (int i = 0; i < O * C * 9; i++)
        (&w[0][0][0][0])[i] = (float)(i * 5 % 11);
    int bad = f(C, H, W, O, x, &w[0][0][0][0], y);
    for (int o = 0; o < O; o++)
        for (int i = 0; i < H; i++)
            for (int j = 0; j < W; j++) {
                float sum = 0;
                for (int c = 0; c < C; c++)
                    for (int a = 0; a < 9; a++)
                        sum += x[(c * H + (i + a / 3 - 1 + H) % H) * W + (j + a % 3 - 1 + W) % W] *
                               w[o][c][a / 3][a % 3];
                bad += sum != y[(o * H + i) * W + j];
            }
    free(x);
    free(y);
    return bad;
}
int main(void) {
    int bad = 0;
    for (int H = 0; H < 10; H++)
        for (int W = 0; W < 35; W++)
            bad += wrong(H, W);
    return bad != 0;
}
EOT
for level in -O1 -O2 "-O2 --threads=1 --target=x86-64-v2"; do
    # shellcheck disable=SC2086
    runs "run-time sizes with $level" "$TENSORC" -w $level -c "$work/r.tensor" -o "$work/r.o" --header="$work/r.h"
    ok "link" $CC -std=c11 -O1 -Wall -Werror -I"$work" "$work/r.c" "$work/r.o" -o "$work/r" -lm
    runs "are right, 0 too" "$work/r"
done

printf 'def f(float(C, H, W) x, float(O, C, 3, 3) w) -> (y) {\n%s\n}\nexport f(C=32, O=32, H=56, W=56)\n' \
    'y(o, i, j) +=! (x(c, i + a - 1, j + b - 1) else reflect) * w(o, c, a, b) where i in 0:H, j in 0:W' \
    >"$work/f.tensor"
like "$("$TENSORC" -O2 --target=x86-64-v4 --threads=1 --db="$work/none.db" --emit-schedule=- -c "$work/f.tensor" \
    -o "$work/f.o")" 'algorithm\(padded\)' "a convolution with reflect has a copy by -O2"
done_testing
