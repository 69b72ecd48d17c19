#!/bin/sh
# long.t - short texts that mean thousands of statements: an answer within 60 s of the processor's time, a tenth of
# which is what it takes. Each took minutes while some step looked through all stages for each one.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

seconds=60 scans=9000 steps=3600 deep=10000
if sanitized; then seconds=600 scans=2000 steps=1000 deep=2000; fi # their frames are large, allocations nested
many=-fmax-statements=20000
# within STATUS NAME ARGUMENT...: the compiler ends with this status in so many seconds of a processor.
within() {
    within_status=$1 within_name=$2; shift 2
    # shellcheck disable=SC2016 # of the other shell
    exits "$within_status" "$within_name" sh -c "ulimit -t $seconds; exec \"\$@\"" - "$TENSORC" --jobs=1 -w "$@"
}

awk 'BEGIN { print "def g(float(N) a) -> (b) { b(i) = a(i) + 1 }"; print "def f(float(N) a) -> (b) { b = g(a)"
    for (i = 0; i < 6000; i++) print "b = g(b)"; print "}" }' >calls.tensor
within 0 "six thousand calls for results of one name" $many -O2 -c calls.tensor -o calls.o
cat >loop.tensor <<'EOF'
def step(float(N) x) -> (y) { y(i) = (x(i - 1) else wrap) + (x(i + 1) else edge) where i in 0:N }
def f(float(N) x) -> (y) { y(i) = x(i)  for l in 0:4000 { y = step(y) } }
export f(N=1000)
EOF
within 0 "a loop of four thousand calls" $many -O1 -c loop.tensor -o loop.o
awk 'BEGIN { print "def g0(float(N) x) -> (y) { y(i) = (x(i - 1) else edge) + x(i) }"
    for (i = 1; i <= 13; i++) printf "def g%d(float(N) x) -> (y) { y = g%d(g%d(x)) }\n", i, i - 1, i - 1
    print "export g13(N=100)" }' >doubled.tensor
within 0 "eight thousand calls in thirteen doublings" $many -O2 -c doubled.tensor -o doubled.o
cat >rows.tensor <<'EOF'
import "nn"
def f(float(N, D) x) -> (y) { y(i, j) = x(i, j)  for l in 0:1000 { y = softmax(y) } }
export f(N=64, D=64)
EOF
within 0 "a thousand softmaxes" $many -O2 -c rows.tensor -o rows.o
cat >recurrent.tensor <<'EOF'
import "nn"
def f[L=120](float(T, B, H) x, const float(L, 4, H, H) wx, const float(L, 4, H, H) wh, const float(L, 4, H) b,
             float(B, H) h0, float(B, H) c0) -> (y) {
    y(t, b, h) = x(t, b, h)
    for l in 0:L { y, c = lstm(y, h0, c0, wx(l), wh(l), b(l)) }
}
export f(T=9, B=2, H=16)
EOF
within 0 "a hundred and twenty recurrent layers" -O2 -c recurrent.tensor -o recurrent.o
cat >life.tensor <<'EOF'
def f(uint8(N, M) x) -> (y) {
    y(i, j) = x(i, j)
    for l in 0:1000 {
        s(i, j) +=! (y(i + d - 1, j + e - 1) else 0) where d in 0:3, e in 0:3, i in 0:N, j in 0:M
        y(i, j) = s(i, j) == 3 || (s(i, j) == 4 && y(i, j) == 1) ? uint8(1) : uint8(0)
    }
}
export f
EOF
within 0 "a thousand generations, each of conditions on the one before" -O2 -c life.tensor -o life.o
cat >numbers.tensor <<'EOF'
def f(float(C, H, W) x, const float(C, C, 3, 3) w) -> (y) {
    y(c, i, j) = x(c, i, j)
    for l in 0:1000 {
        t(c, i, j) +=! (y(r, i + a - 1 - l % 2, j + b - 1) else 0) * w(c, r, a, b) where i in 0:H, j in 0:W
        y(c, i, j) = max(t(c, i, j), l) + y(c, i, j)
    }
}
export f(C=8, H=16, W=16)
EOF
within 0 "a thousand convolutions that differ in a number each" -O2 -c numbers.tensor -o numbers.o
cat >conditions.tensor <<'EOF'
def f(float(N, M) x, int32(N) m) -> (y) {
    y(i, j) = x(i, j)
    for l in 0:1000 {
        y(i, j) = y(i, j) * (l + 2) where m(i) == l, i in 0:N, j in l % M:M
        y(i, j) += l where m(i) > l, y(i, j) < l, i >= j
    }
}
export f(N=64, M=50)
EOF
within 0 "a thousand steps in registers, each under conditions of its own" -O2 -c conditions.tensor -o conditions.o
cat >deep.tensor <<EOF
def f(float(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:$((deep / 2)) {
        t(i) = y(i) * 0.5 + (y(i - l % 3) else wrap) where i in 0:N
        y(i) = t(i) * 0.5 - t(N - 1 - i) + l
    }
}
export f(N=9)
EOF
within 0 "$deep statements are interpreted, each of which waits for the one before it" $many -run -O0 deep.tensor
cat >newton.tensor <<'EOF'
def f(float(N) x) -> (y) { y(i) = x(i)  for l in 0:4000 { y(i) = y(i) - (y(i) * y(i) - x(i)) / (2 * y(i) + 0.1) } }
export f
EOF
within 0 "four thousand values in registers, one after another" $many -O2 --explain-schedule -c newton.tensor \
    -o newton.o
like "$(cat out)" 'equal nests are one function: [0-9]* nests, [0-9] functions' "in equal parts"
cat >kinds.tensor <<'EOF'
def f(float(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:1200 {
        t(i) +=! y(k) * (i + k) where k in 0:l + 2, i in 0:N
        y(i) = y(i) + t(i)
    }
}
export f(N=2000)
EOF
within 0 "nests that all differ" -O2 -v -c kinds.tensor -o kinds.o
like "$(cat err)" 'f: for each of its nests [0-9]* schedules were estimated: few, as hundreds of nests differ' \
    "and that few schedules of each were estimated"
cat >scans.tensor <<EOF
def step(float(T) x) -> (s) { scan t { s(t) = (s(t - 1) else 0) * 0.5 + x(t) } }
def f(float(T) x) -> (y) { y(t) = x(t)  for l in 0:$scans { y = step(y) } }
export f(T=100)
EOF
within 0 "$scans scans, one after another" $many -O1 -c scans.tensor -o scans.o
# shellcheck disable=SC2016 # of the other shell
exits 0 "each inside the buffers of those before it, where the stack is small" \
    sh -c 'ulimit -S -s 2048; exec "$@"' - "$TENSORC" --jobs=1 $many -w -O0 -c scans.tensor -o scans.o
cat >apart.tensor <<'EOF'
def f(float(N, N) x) -> (y) {
    y(i, j) = x(i, j)
    for l in 0:1500 { y(i, j) = (y(i, j - l) else wrap) * (l + 0.5) + (y(i + 1, j) else edge) where i in 0:N, j in 0:N }
}
export f
EOF
within 0 "fifteen hundred loops of which no two are equal" -O0 -c apart.tensor -o apart.o
cat >eliminated.tensor <<EOF
def f(float(N, N) A) -> (L) {
    L(i, j) = A(i, j)
    for k in 0:$steps {
        c(i) = L(i, k) / L(k, k)
        r(j) = L(k, j)
        L(i, j) = L(i, j) - c(i) * r(j) where i in k + 1:N, j in k + 1:N
    }
}
export f(N=4000)
EOF
within 0 "eliminations, each of which needs a larger matrix" $many -O0 -c eliminated.tensor -o eliminated.o
cat >largest.tensor <<'EOF'
combiner largest(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {
    (v > w || (v == w && i < j)) ? (v, i) : (w, j)
}
def f(float(N) x) -> (int32(1000) best) {
    y(i) = x(i)
    for l in 0:1000 {
        v(), a() largest=! (y(r), r)
        y(i) = i == a() ? -1e30 : y(i)
        best(q) += a() where q in l:l + 1
    }
}
export f(N=300)
export f(N=301) as g
export f(N=302) as h
export f(N=303) as k
EOF
within 0 "a thousand elements, each under a condition of its own, four times" $many -O2 -c largest.tensor -o largest.o
cat >remainders.tensor <<'EOF'
def f(int32(N) x, uint8(N) b) -> (y, c) {
    y(i) = x(i)
    c(i) = b(i)
    for l in 0:2500 {
        y(i) = (y(i) * (2 * l + 1) + c(i)) % (l + 7) + y(i) / (l + 3)
        c(i) = uint8(y(i)) + c(i)
        y(i) = y(i) + y(i / (l + 2)) where i in 0:N
    }
}
export f(N=5000)
EOF
within 0 "remainders and quotients by another number each" $many -O2 -c remainders.tensor -o remainders.o
cat >layers.tensor <<'EOF'
import "nn"
def f(float(T, B, I) x, const float(L, 4, I, I) wx, const float(L, 4, I, I) wh, const float(L, 4, I) b) -> (h) {
    h(t, n, j) = x(t, n, j)
    for l in 0:L {
        scan t {
            g(t, n, q, j) = b(l, q, j) where n in 0:B
            g(t, n, q, j) += h(t, n, r) * wx(l, q, j, r)
            g(t, n, q, j) += (k(t - 1, n, r) else 0) * wh(l, q, j, r)
            c(t, n, j) = sigmoid(g(t, n, 1, j)) * (c(t - 1, n, j) else 0) + sigmoid(g(t, n, 0, j)) * tanh(g(t, n, 2, j))
            k(t, n, j) = sigmoid(g(t, n, 3, j)) * tanh(c(t, n, j))
        }
        h(t, n, j) = k(t, n, j)
    }
}
export f(L=500, T=8, B=2, I=16)
EOF
within 0 "five hundred recurrent layers, twice: for packed weights, too" -O2 -c layers.tensor -o layers.o
cat >table.tensor <<'EOF'
def f(uint8(N) x, uint8(256) t) -> (y) {
    y(i) = x(i)
    for l in 0:1600 { y(i) = t(y(i)) }
}
export f
EOF
within 0 "a table looked up sixteen hundred times in a row" -O2 --target=x86-64-v3 -c table.tensor -o table.o
awk 'BEGIN { e = "i"; for (k = 0; k < 200; k++) e = (k % 2 ? "min" : "max") "(" e ", " k " + i / " k + 1 ")"
    print "def f(float(N) x) -> (y) { y(i) = (x(" e ") else 0) where i in 0:N }"; print "export f" }' >extremes.tensor
within 0 "two hundred minima and maxima within each other" -O2 -c extremes.tensor -o extremes.o
runs "which are what the interpreter computes" "$TENSORC" -run -O2 -DN=300 extremes.tensor
awk 'BEGIN { printf "def f("; for (i = 0; i < 60; i++) printf "%sfloat(N%d) x%d", i ? ", " : "", i, i
    printf ") -> (y) { y(i) = x0(i)"; for (i = 1; i < 60; i++) printf " + x%d(i)", i
    print " }\nexport f" }' >sizes.tensor
within 0 "the least of sixty sizes is a range" -O2 -c sizes.tensor -o sizes.o
awk 'BEGIN { printf "def f(float(N) x) -> (inout float(N) y) { y(i) = x(i) where i in 0:N, i != 0"
    for (i = 1; i < 1900; i++) printf " && i != %d", i; print " }\nexport f" }' >terms.tensor
if ! sanitized; then seconds=10; fi
within 0 "a condition of nearly two thousand terms" -O2 -c terms.tensor -o terms.o
if ! sanitized; then seconds=60; fi
runs "which chooses what the interpreter chooses" "$TENSORC" -run -O1 -DN=4000 terms.tensor
# Lanes of 64 bits are divided one by one: a block of them is far longer than its instructions of LLVM. It is cut into
# pieces, each with an address.
cat >remainders_of_rows.tensor <<'EOF'
def f(float(N, M) x) -> (y) {
    y(i, j) = x(i, j)
    for l in 0:60 { y(i, j) = i * l % 7 == j % (l + 1) ? x(i, j) : y(i, j) + l }
}
export f
EOF
runs "remainders by rows to assembly" "$TENSORC" -O2 --target=x86-64-v4 -S remainders_of_rows.tensor -o rows.s
pieces=$(grep -c '^\.Ltmp' rows.s)
ok "blocks of many remainders are cut into pieces" test "$pieces" -ge 6
runs "pieces compute what the block does" "$TENSORC" -run -O2 -DN=3 -DM=67 remainders_of_rows.tensor
done_testing
