#!/bin/sh
# row_ends.t - ranges whose ends are read run from one end to the other, wherever the ends lie and whatever is combined:
# no loops over all places and all rows are nested.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# pairs_in FILE: the loops over all places (named p) that stand in loops over all rows (named i), or around them. Loops
# with the ends of rows in their bounds are none, nor are those over a few values.
pairs_in() {
    awk '
        { match($0, /^ */); while (open && indent[open] >= RLENGTH) open-- }
        /^kernel / { kernel = $2 }
        /^ *(for|reduce|parallel) [a-z0-9_.]+ in / {
            bound = $0
            sub(/^ *[a-z]+ [a-z0-9_.]+ in 0:/, "", bound)
            sub(/ (of .*)?{$/, "", bound)
            match($0, /^ */)
            indent[++open] = RLENGTH
            name = $2
            kind[open] = name ~ /(^|_)[pq](_|$)/ ? "p" : name ~ /(^|_)i(_|$)/ ? "i" : ""
            if (bound ~ /\(\[/ || bound ~ /^[0-9]+$/ && bound <= 64)
                kind[open] = ""
            for (k = 1; k < open; k++)
                if (kind[k] kind[open] ~ /pi|ip/)
                    print kernel ": " name " in 0:" bound
        }' "$1"
}
# linear SOURCE EXPORTS: the defs of SOURCE have no such pairs, for sizes known and unknown, however they are optimised.
linear() {
    for level in -O0 -O1 -O2 "-O2 -fstrict"; do
        for sizes in "" "$2"; do
            sed -n 's/^def \([a-z_0-9]*\)(float(Z.*/export \1/p' "$1" | sed "s/\$/$sizes/" | cat "$1" - >linear.tensor
            runs "$1 compiles with $level$sizes" "$TENSORC" -w $level --threads=2 --target=x86-64-v3 -emit-ir \
                linear.tensor -o linear.ir
            is "$(pairs_in linear.ir)" "" "its loops run over the terms alone"
        done
    done
}
# agrees SOURCE: the defs of SOURCE compute what they mean, for rows in order, empty ones and none.
agrees() {
    sed -n 's/^def \([a-z_0-9]*\)(float(Z.*/export \1/p' "$1" | cat "$1" - >agrees.tensor
    for level in -O0 -O2 "-O2 -fstrict"; do
        for sizes in "90 40" "300 2" "1 2" "0 3" "40 1"; do
            runs "$1 agrees with the interpreter, $level, $sizes" "$TENSORC" -w -run $level --threads=2 \
                -DZ="${sizes% *}" -DM1="${sizes#* }" -DN=5 -DK=9 -DB=7 -DM=6 agrees.tensor
        done
    done
}

cat >temporaries.tensor <<'END'
def copied(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y) {
    r(i) = row(i)
    y(i) +=! value(p) * x(column(p)) where p in r(i):r(i + 1)
}
def returned(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y, r) {
    r(i) = row(i)
    y(i) +=! value(p) * x(column(p)) where p in r(i):r(i + 1)
}
def summed(float(Z) value, int32(Z) column, int32(M1) length, float(N) x) -> (y) {
    scan i { end(i) = (end(i - 1) else 0) + length(i) }
    y(i) +=! value(p) * x(column(p)) where p in end(i) - length(i):end(i)
}
def twice(int32(M) a) -> (b) { b(i) = a(i) * 2 }
def called(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y) {
    r = twice(row)
    y(i) +=! value(p) * x(column(p)) where p in r(i):r(i + 1)
}
def matrix(float(Z) value, int32(Z) column, int32(M1) row, float(N, K) x) -> (y) {
    r(i) = row(i)
    y(i, k) +=! value(p) * x(column(p), k) where p in r(i):r(i + 1)
}
def again(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (r, y) {
    r(i) = row(i)
    r(i) += 1 where row(i) > 5
    y(i) +=! value(p) * x(column(p)) where p in r(i):r(i + 1), value(p) > 0
}
def in_steps(float(Z) value, int32(M1) row) -> (end, y) {
    scan i {
        end(i) = (end(i - 1) else 0) + row(i)
        y(i) +=! value(p) where p in (end(i - 1) else 0):end(i)
    }
}
def no_ends(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y) {
    y(p) = value(p) * x(column(p)) where exists row(0)
}
END
linear temporaries.tensor '(Z=60000, M1=101)'
agrees temporaries.tensor

# Declared combiners leave out what is in no row, as sums do: also those that would take an identity for a value.
cat >tuples.tensor <<'END'
combiner largest(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
combiner ordered(float v, int32 i; float w, int32 j) identity (-inf, -1) { v > w ? (v, i) : (w, j) }
combiner last(float v; float w) associative identity (inf) { w }
def largest_of(float(Z) value, int32(M1) row) -> (y, k) {
    y(i), k(i) largest=! (value(p), p) where p in row(i):row(i + 1)
}
def gathered(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y, k) {
    y(i), k(i) largest=! (value(p) * x(column(p)), p) where p in row(i):row(i + 1)
}
def in_order(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y, k) {
    y(i), k(i) ordered=! (value(p) * x(column(p)), p) where p in row(i):row(i + 1)
}
def columns(float(Z) value, int32(Z) column, int32(M1) row, float(N, K) x) -> (y, k) {
    y(i, j), k(i, j) largest=! (value(p) * x(column(p), j), p) where p in row(i):row(i + 1)
}
def chosen(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (y, k) {
    y(i), k(i) largest=! (value(p) > 0 ? value(p) * x(column(p)) : -1.0 / 0.0, p)
        where p in row(i):row(i + 1), value(p) > -1
}
def whether(float(Z) value, int32(M1) row) -> (y, k) {
    y(i), k(i) largest=! (value(p), -1) where p in row(i):row(i + 1)
}
def last_of(float(Z) value, int32(M1) row) -> (y) { y(i) last=! value(p) where p in row(i):row(i + 1) }
END
linear tuples.tensor '(Z=60000, M1=101)'
agrees tuples.tensor

# Rows that are no axis of the result: each has its places inside, whatever comes first in the source.
cat >reduced.tensor <<'END'
combiner largest(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
def scattered(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (float(N) y) {
    y(column(p)) +=! value(p) * x(min(i, N - 1)) where p in row(i):row(i + 1), exists x(0)
}
def total(float(Z) value, int32(M1) row) -> (y) { y +=! value(p) * i where p in row(i):row(i + 1) }
def most(float(Z) value, int32(M1) row) -> (y) { y max=! value(p) * i where row(i) <= p && p < row(i + 1) }
def of_columns(float(Z, K) value, int32(M1) row) -> (y) { y(k) +=! value(p, k) * i where p in row(i):row(i + 1) }
def pairs(float(Z) value, int32(M1) row, int32(M1) other) -> (y) {
    y(i) +=! value(p) * value(q) where p in row(i):row(i + 1), q in other(i):other(i + 1)
}
def nested(float(Z) value, int32(M1) row, int32(N) of) -> (y) {
    y(d) +=! value(p) * i where p in row(i):row(i + 1), i in of(d):of(d + 1)
}
def place(float(Z) value, int32(M1) row) -> (y, k) { y, k largest=! (value(p) * i, p) where p in row(i):row(i + 1) }
def counted(float(Z) value, int32(M1) row) -> (int32(9) y) {
    y(min(max(row(i + 1) - row(i), 0), 8)) +=! 1 where p in row(i):row(i + 1), exists value(p)
}
END
linear reduced.tensor '(Z=60000, M1=101)'
agrees reduced.tensor

# Rows that are chosen: their ends are read at a place that is read.
cat >chosen.tensor <<'END'
def vector(float(Z) value, int32(Z) column, int32(M1) row, int32(B) chosen, float(N) x) -> (y) {
    y(i) +=! value(p) * x(column(p)) where p in row(chosen(i)):row(chosen(i) + 1)
}
def matrix(float(Z) value, int32(Z) column, int32(M1) row, int32(B) chosen, float(N, K) x) -> (y) {
    y(i, k) +=! value(p) * x(column(p), k) where p in row(chosen(i)):row(chosen(i) + 1)
}
def apart(float(Z) value, int32(Z) column, int32(M) low, int32(M) high, int32(B) chosen, float(N, K) x) -> (y) {
    y(i, k) +=! value(p) * x(column(p), k) where p in low(chosen(i)):high(chosen(i))
}
END
linear chosen.tensor '(Z=60000, B=101)'
sed '/^def vector/,/^}/d; /^def matrix/,/^}/d' chosen.tensor >apart.tensor
agrees apart.tensor

# Schedules that cut loops over rows and places.
cat >cut.tensor <<'END'
combiner largest(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
def places(float(Z) value, int32(M1) row) -> (y, k) {
    y(i), k(i) largest=! (value(p), p) where p in row(i):row(i + 1)
}
schedule places on x86 {
    i_o, i_i = split(y.i, 8)
    p_o, p_i = split(y.p, 4)
    parallel(i_o)
    unroll(p_i)
}
END
linear cut.tensor '(Z=60000, M1=101)'
agrees cut.tensor

# Columns outside are seen in each row that has them, wherever rows begin and end, and in no other.
{
    cat temporaries.tensor tuples.tensor
    sed -n '/^def vector/,/^}/p' chosen.tensor
    printf 'export %s\n' copied gathered last_of vector
} >columns.tensor
cat >columns.c <<'END'
#include "columns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
enum { Z = 700, ROWS = 4 };
static float value[Z], x[9], y[ROWS], picked[2], most[ROWS], last[ROWS];
static int32_t column[Z], row[ROWS + 1], at[ROWS];
static int wrong;
static void check(int z) {
    int bad = rand() % z, asked = 0;
    for (int i = 0; i <= ROWS; i++) row[i] = rand() % (z + 9) - 4;
    for (int i = 0; i < ROWS; i++) asked |= bad >= row[i] && bad < row[i + 1];
    column[bad] = rand() % 2 ? 9 : -1;
    wrong += copied(z, ROWS + 1, 9, value, column, row, x, y) != (asked ? TENSORC_BAD_INDEX : TENSORC_OK);
    wrong += gathered(z, ROWS + 1, 9, value, column, row, x, most, at) != (asked ? TENSORC_BAD_INDEX : TENSORC_OK);
    column[bad] = 3;
    wrong += copied(z, ROWS + 1, 9, value, column, row, x, y) != TENSORC_OK;
    wrong += gathered(z, ROWS + 1, 9, value, column, row, x, most, at) != TENSORC_OK;
    int32_t chosen[2] = {rand() % (ROWS + 3) - 1, rand() % ROWS};
    int first = chosen[0], outside = first < 0 || first > ROWS || (first == ROWS && row[ROWS] < z);
    wrong += vector(z, ROWS + 1, 2, 9, value, column, row, chosen, x, picked) != (outside ? TENSORC_BAD_INDEX : 0);
    wrong += last_of(z, ROWS + 1, value, row, last) != TENSORC_OK;
    for (int i = 0; i < ROWS; i++) {
        float sum = 0, largest = -INFINITY, end = INFINITY;
        int where = -1;
        for (int p = row[i] < 0 ? 0 : row[i]; p < row[i + 1] && p < z; p++) {
            float term = value[p] * x[column[p]];
            sum += term, end = value[p];
            if (term > largest) largest = term, where = p;
        }
        for (int c = 0; c < 2; c++) wrong += !outside && chosen[c] == i && picked[c] != sum;
        wrong += y[i] != sum || most[i] != largest || at[i] != where || last[i] != end;
    }
}
int main(void) {
    for (int p = 0; p < Z; p++) value[p] = (float)(rand() % 7 - 3), column[p] = rand() % 9;
    for (int i = 0; i < 9; i++) x[i] = (float)(rand() % 5);
    for (int n = 0; n < 3000; n++) check(1 + rand() % (n % 2 ? Z : 40));
    printf("%d wrong\n", wrong);
    return 0;
}
END
for level in -O0 -O2; do
    runs "compiles with $level" "$TENSORC" -w $level --threads=1 -c columns.tensor -o columns.o --header=columns.h
    runs "links" $CC -std=c11 -I. columns.c columns.o -o columns -fopenmp -lm
    is "$(./columns 2>&1)" "0 wrong" "each column outside is seen in its rows alone"
done

done_testing
