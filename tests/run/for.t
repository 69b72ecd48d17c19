#!/bin/sh
# for.t - loops that repeat statements, and parts of tensors: the same as what they stand for, written out; with weights
# from files, in run-time sizes, in defs that are called.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >loops.tensor <<'END'
import "nn"
def block[def act](float(N, D) x, float(D, D) w, float(D) b) -> (y) { y = act(dense(x, w, b)) }
def net[L=3, def act=relu_rows](float(N, D) x, const float(L, D, D) w, const float(L, D) b) -> (y) {
    y(n, d) = x(n, d)
    for l in 0:L {
        t = block[act=act](y, w(l), b(l))
        y(n, d) = y(n, d) + t(n, d)
    }
}
def twice(float(N, D) x, const float(2, 3, D, D) w, const float(2, 3, D) b) -> (y) {
    y = net(net(x, w(0), b(0)), w(1), b(1)) }
def triangle(float(N) x) -> (y) {
    y(n) = x(n)
    for i in 1:4 { for j in 0:i { y(n) = y(n) * i + j } }
    for i in 5:5 { y(n) = y(n) + 1000 }
    for i in 6:2 { y(n) = y(n) + 1000 }
    y(i) = y(i) + 1
}
def moved(float(N, D) x) -> (y) {
    t(n, d) = x(n, d)
    for l in 0:2 {
        t(n, d) = t(n, d) * 2
        s = argmax(t)
        r = mean_of(t(N - 1))
        t(n, d) = t(n, d) + r() + float(s(n)) * l
    }
    y(n, d) = t(n, d)
}
def mean_of(float(D) x) -> (m) {
    m() +=! x(d)
    m() = m() / float(D)
}
def steps(float(T, N) x) -> (y) {
    y(t, n) = x(t, n)
    for l in 0:2 { scan t { y(t, n) = y(t, n) + (y(t-1, n) else l) } }
}
export net(N=5, D=17)
export net[L=1, act=tanh_rows] as one(N=5, D=17)
export twice(N=5, D=17)
export triangle(N=9)
export moved(N=5, D=17)
export steps(T=6, N=9)
END
sed -i 's/^export net\[L=1, act=tanh_rows\] as one(N=5, D=17)/export net[L=1, act=tanh_rows](N=5, D=17) as one/' \
    loops.tensor
cat >written.tensor <<'END'
import "nn"
def net(float(N, D) x, const float(3, D, D) w, const float(3, D) b) -> (y) {
    w0(o, i) = w(0, o, i)
    w1(o, i) = w(1, o, i)
    w2(o, i) = w(2, o, i)
    b0(o) = b(0, o)
    b1(o) = b(1, o)
    b2(o) = b(2, o)
    t = relu_rows(dense(x, w0, b0))
    u(n, d) = x(n, d) + t(n, d)
    v = relu_rows(dense(u, w1, b1))
    z(n, d) = u(n, d) + v(n, d)
    r = relu_rows(dense(z, w2, b2))
    y(n, d) = z(n, d) + r(n, d)
}
def one(float(N, D) x, const float(1, D, D) w, const float(1, D) b) -> (y) {
    w0(o, i) = w(0, o, i)
    b0(o) = b(0, o)
    t = tanh_rows(dense(x, w0, b0))
    y(n, d) = x(n, d) + t(n, d)
}
def twice(float(N, D) x, const float(2, 3, D, D) w, const float(2, 3, D) b) -> (y) {
    w0(l, o, i) = w(0, l, o, i)
    w1(l, o, i) = w(1, l, o, i)
    b0(l, o) = b(0, l, o)
    b1(l, o) = b(1, l, o)
    y = net(net(x, w0, b0), w1, b1)
}
def triangle(float(N) x) -> (y) { y(n) = ((((((x(n) * 1 + 0) * 2 + 0) * 2 + 1) * 3 + 0) * 3 + 1) * 3 + 2) + 1 }
def moved(float(N, D) x) -> (y) {
    t(n, d) = x(n, d) * 2
    s = argmax(t)
    r() +=! t(N - 1, d)
    u(n, d) = (t(n, d) + r() / float(D) + float(s(n)) * 0) * 2
    v = argmax(u)
    q() +=! u(N - 1, d)
    y(n, d) = u(n, d) + q() / float(D) + float(v(n)) * 1
}
def steps(float(T, N) x) -> (y) {
    scan t { a(t, n) = x(t, n) + (a(t-1, n) else 0) }
    scan t { y(t, n) = a(t, n) + (y(t-1, n) else 1) }
}
export net(N=5, D=17) as w_net
export one(N=5, D=17) as w_one
export twice(N=5, D=17) as w_twice
export triangle(N=9) as w_triangle
export moved(N=5, D=17) as w_moved
export steps(T=6, N=9) as w_steps
END
cat >main.c <<'END'
#include "loops.h"
#include "written.h"
#include <math.h>
#include <stdio.h>
enum { MOST = 2 * 3 * 17 * 17 };
static float x[MOST], w[MOST], b[MOST], y[MOST], z[MOST];
static int wrong;
static void compare(const char *name, int status, int count) {
    for (int i = 0; i < count; i++)
        if ((status || !(fabsf(y[i] - z[i]) <= 1e-5f * (1 + fabsf(z[i])))) && wrong++ < 3)
            printf("%s: %g, wanted %g\n", name, y[i], z[i]);
}
int main(void) {
    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i * 7 % 19) / 8 - 1, w[i] = (float)(i * 5 % 23) / 64 - 0.125f, b[i] = (float)(i % 5) / 4;
    compare("net", net(x, w, b, y) | w_net(x, w, b, z), 5 * 17);
    compare("one", one(x, w, b, y) | w_one(x, w, b, z), 5 * 17);
    compare("twice", twice(x, w, b, y) | w_twice(x, w, b, z), 5 * 17);
    compare("triangle", triangle(x, y) | w_triangle(x, z), 9);
    compare("moved", moved(x, y) | w_moved(x, z), 5 * 17);
    compare("steps", steps(x, y) | w_steps(x, z), 6 * 9);
    return wrong != 0;
}
END
for level in -O0 -O2; do
    for file in loops written; do
        runs "$file $level" "$TENSORC" -c $level --threads=1 $file.tensor -o $file.o --header $file.h
    done
    ok "links" $CC -O1 -o main main.c loops.o written.o -lm
    runs "what is repeated at $level is what is written out" ./main || diag_file out
done
runs "as interpreted" "$TENSORC" -run --threads=1 --trials=1 loops.tensor
sed '/^export/d' loops.tensor >sizes.tensor
cat >>sizes.tensor <<'END'
export net
export moved
END
runs "with run-time sizes" "$TENSORC" -run --threads=1 --trials=1 -DN=3 -DD=11 sizes.tensor
"$TENSORC" -fsyntax-only -d p loops.tensor 2>again.tensor
"$TENSORC" -fsyntax-only -d p again.tensor 2>twice.tensor
same again.tensor twice.tensor "what is printed of the tree is the same tree"

# Loops over sizes whose values come from an export, from -D, from the arguments of a call, or from files.
cat >over.tensor <<'END'
import "nn"
def net(float(N, D) x, const float(L, D, D) w) -> (y) {
    y = identity_rows(x)
    for l in 1:L { y = matmul(y, w(l)) }
    for l in 0:L - 1 { y = matmul(y, w(l)) }
}
def outer(float(N, D) x, float(K, D, D) w) -> (y) { y = net(identity_rows(x), w) }
def fixed(float(N, D) x, float(3, D, D) w) -> (y) { y = net(x, w) }
END
cat >exports.tensor <<'END'
export net(L=3)
export outer(K=3)
export fixed
END
cat over.tensor exports.tensor >over_exports.tensor
{ cat over.tensor; echo 'export net(N=2)'; } >over_define.tensor
{ cat over.tensor; echo 'export net(weights="trained/")'; } >over_bound.tensor
runs "over a size of an export or a call" "$TENSORC" -run --threads=1 --trials=1 -DN=2 -DD=5 over_exports.tensor
runs "over a size of -D beside an export" "$TENSORC" -run --threads=1 --trials=1 -DL=3 -DD=5 over_define.tensor
runs "over sizes of -D alone" "$TENSORC" -run --threads=1 --trials=1 -DL=3 -DK=3 -DN=2 -DD=5 over.tensor

# Weights of all layers in one file.
cat >make.tensor <<'END'
def make(int32(L, D) from) -> (float(L, D, D) w, float(L, D) b) {
    w(l, i, j) = float((from(l, i) + j) % 8) / 8
    b(l, i) = float(l - i) / 4
}
export make(L=3, D=17)
END
mkdir trained
runs "weights are written" "$TENSORC" -run --threads=1 --trials=1 make.tensor --output=w=trained/w.npy \
    --output=b=trained/b.npy
sed '/^export/d' loops.tensor >bound.tensor
echo 'export net(N=5, weights="trained/") as trained' >>bound.tensor
runs "a network with its weights" "$TENSORC" -run --threads=1 --trials=1 bound.tensor
runs "over a size of the weights" "$TENSORC" -run --threads=1 --trials=1 -DN=2 over_bound.tensor

done_testing
