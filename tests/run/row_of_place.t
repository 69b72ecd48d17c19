#!/bin/sh
# What the compiler suggests where the row of a place is needed: rows that begin late, end early, or are empty.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

printf '%s\n' 'def scaled(float(Z) v, int32(M1) row, float(M) s) -> (y) {' \
    '    y(p) = v(p) * s(i) where p in row(i):row(i + 1)' '}' >refused.tensor
"$TENSORC" -fsyntax-only refused.tensor 2>messages
{
    echo 'def scaled(float(Z) v, int32(M1) row, float(M) s) -> (y) {'
    sed -n 's/^hint: a scan finds the row of each place: //p' messages | sed 's/  /\
/g'
    echo '}'
    echo 'export scaled'
} >suggested.tensor
cat >main.c <<'END'
#include "suggested.h"
#include <stdio.h>

static int wrong;

static void check(int32_t first, int32_t second, int32_t third) {
    float v[5] = {1, 2, 3, 4, 5}, s[2] = {10, 100}, y[5];
    int32_t row[3] = {first, second, third};
    for (int p = 0; p < 5; p++)
        y[p] = -1;
    scaled(5, 3, 2, v, row, s, y);
    for (int p = 0; p < 5; p++) {
        float expected = 0;
        for (int i = 0; i < 2; i++)
            expected = p >= row[i] && p < row[i + 1] ? v[p] * s[i] : expected;
        wrong += y[p] != expected;
    }
}

int main(void) {
    for (int32_t first = 0; first <= 5; first++)
        for (int32_t second = first; second <= 5; second++)
            for (int32_t third = second; third <= 5; third++)
                check(first, second, third);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
END
runs "what is suggested compiles" "$TENSORC" -c suggested.tensor -o suggested.o --header=suggested.h
runs "links" $CC -std=c11 -Wall -I. main.c suggested.o -o application -fopenmp -lm
runs "each place has its row" ./application

done_testing
