#!/bin/sh
# What functions of many nests become: no more code than LLVM takes in a few seconds, shared fairly among the nests.
# What is made smaller or shorter for that is said.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# stages NUMBER TYPE VALUE [SIZES]: a chain of stages, p stands for the one before. All are results, so each has a nest;
# each divides by a number of its own, so that no two are one function.
stages() {
    {
        echo "def f($2(N, M) x0) -> (x1$(for s in $(seq 2 "$1"); do printf ', x%s' "$s"; done)) {"
        for s in $(seq "$1"); do
            value=$(echo "$3" | sed "s/p(/x$((s - 1))(/g")
            echo "    x$s(i, j) +=! $2($value + $2(i / $((s + 1)))) where i in 0:N, j in 0:M, r in 0:5"
        done
        echo "}"
        echo "export f${4:-}"
    } >file.tensor
}

# instructions TARGET: lines of LLVM code.
instructions() {
    "$TENSORC" -O2 -emit-llvm file.tensor --target="$1" -o file.ll || echo failed
    grep -c . file.ll
}

# stencils [SIZES]: stencils in one nest, each with tests of its own, whose copies have copies.
stencils() {
    in="where i in 0:N, j in 0:M"
    {
        echo "def f(uint16(N, M) a) -> (t) {"
        echo "    p(i, j) = (a(i, j) else 0) > (a(i + 2, j - 1) else 0)
        ? (a(i + 1, j - 1) else 0) : (a(i + 2, j) else 0) $in"
        echo "    q(i, j) = uint16((p(i, j + 2) else 0) + (p(i - 3, j + 1) else 0)) $in"
        echo "    r(i, j) = uint16((q(i - 3, j - 1) else 0) + (q(i + 1, j) else 0)) $in"
        echo "    s(i, j) = max((r(i + 1, j) else 0), (r(i, j) else 0)) $in"
        echo "    t(i, j) = uint16((s(i, j) else 0) - (s(i, j + 1) else 0)) $in }"
        echo "export f${1:-}"
        echo "schedule f on x86 { inline(p) inline(q) inline(r) inline(s)"
        echo "    jo, ju, jl = split(t.j, 1, 16) vectorize(jl) unroll(ju) parallel(t.i) }"
    } >file.tensor
}

masked="(p(i + r - 1, j) else 0) * (p(i, j - 1) else 0) + (p(i + r - 2, j + 2) else 0)"
stages 40 uint8 "$masked"
for target in x86-64 x86-64-v3 x86-64-v4; do
    count=$(instructions $target)
    ok "40 sums of bytes for $target: $count lines of code" [ "$count" -lt 40000 ]
done
stages 40 half "$masked"
for target in x86-64 x86-64-v3; do
    count=$(instructions $target)
    ok "40 sums of halves for $target: $count lines of code" [ "$count" -lt 40000 ]
done
instructions x86-64 >/dev/null
is "$(grep -c 'define internal .*@tensorc.half.of.4(' file.ll)" "1" \
    "many conversions of halves are calls of one function"

stages 60 uint8 "(p(i + r - 1, j) else reflect) * (p(i, j + r) else edge) + (p(i - 3, j + 2) else 0)"
runs "tiles are made smaller" "$TENSORC" -O2 -emit-ir -v file.tensor --target=x86-64-v3 -o file.ir --explain-schedule
said='smaller tiles, as the function would be too much code: x[0-9]+, .* and [0-9]+ more$'
like "$(cat "$work/err")" "^tensorc: f: $said" "-v says so"
like "$(cat "$work/out")" "^$said" "--explain-schedule says so"
stages 4 uint8 "$masked"
runs "a few nests" "$TENSORC" -O2 -emit-llvm -v file.tensor --target=x86-64-v3 -o file.ll --explain-schedule
unlike "$(cat "$work/err")$(cat "$work/out")" 'smaller tiles|tests stay' "have limits of their own alone"

# A function that is far too much code whatever its tiles are keeps plain loops, and says so.
cat >file.tensor <<'EOF'
def f(float(N) x) -> (y) {
    y(i) = x(i)
    for l in 0:400 { y(i) = y(i) + x(i / (l + 1) % (l + 3) % N) where i in 0:N }
}
export f
EOF
runs "far too much code" "$TENSORC" -O2 -emit-llvm -v --explain-schedule file.tensor --target=x86-64-v4 -o file.ll
like "$(cat "$work/err")" "warning: all of 'f' .* the loops of y stay plain; -O3 allows four times as much" "a warning"
like "$(cat "$work/err")" '^tensorc: f: plain loops, as the function would be far too much code: y$' "-v says so"
like "$(cat "$work/out")" '^plain loops, as the function would be far too much code: y$' "--explain-schedule says so"
ok "what is left is little code: $(grep -c . file.ll) lines" [ "$(grep -c . file.ll)" -lt 20000 ]
runs "at -O3 all is optimized" "$TENSORC" -O3 -emit-llvm -v file.tensor --target=x86-64-v4 -o file.ll
unlike "$(cat "$work/err")" 'plain' "and nothing is said"
runs "plain loops compute the same" "$TENSORC" -run -O2 -DN=37 file.tensor

cat >file.tensor <<'EOF'
def g(float(N) x, float(64, 512) a, const float(512, 512) w) -> (y, z) {
    z(i, j) +=! a(i, k) * w(k, j)
    y(i) = x(i)
    for l in 0:400 { y(i) = y(i) + x(i / (l + 1) % (l + 3) % N) where i in 0:N }
}
export g
EOF
runs "with a packed argument" "$TENSORC" -O2 -emit-llvm -v file.tensor --target=x86-64-v4 -o file.ll
like "$(cat "$work/err")" "warning: all of 'g_packed' .* the loops of y stay plain" "its function has a warning, too"
like "$(cat "$work/err")" '^tensorc: g_packed: plain loops, as the function would be far too much code: y$' "as -v says"

# What a call works on for long has smaller tiles, but no plain loops: they would take many times as long.
cat >file.tensor <<'EOF'
def f(float(N, N) x) -> (y) {
    y(i, j) = x(i, j)
    for l in 0:100 {
        t(i, j) +=! y(i, k + l) * y(k, j) where k in 0:N - l
        y(i, j) = t(i, j) + l
    }
}
export f(N=500)
EOF
runs "a hundred products" "$TENSORC" -O2 --jobs=1 --threads=1 -emit-llvm -v file.tensor --target=x86-64-v4 -o file.ll
unlike "$(cat "$work/err")" 'plain loops' "a hundred products have tiles"
ok "which are no more code than the function may have: $(grep -c . file.ll) lines" [ "$(grep -c . file.ll)" -lt 60000 ]

# An expensive nest beside many cheap ones.
{
    echo "def f(float(256, 256) a, float(256, 256) b) -> (y) {"
    echo "    x0(i, j) +=! a(i, r_k) * b(r_k, j)"
    for s in $(seq 12); do echo "    x$s(i, j) +=! x$((s - 1))(i, r_k) * b(r_k, j)"; done
    echo "    y(i, j) = x12(i, j) + 1 }"
    echo "export f"
} >file.tensor
runs "products beside each other" "$TENSORC" -O2 -emit-ir -v file.tensor --target=x86-64-v4 -o file.ir
unlike "$(cat "$work/err")" 'smaller tiles' "keep their tiles: together they are little code"

# layers NUMBER CHANNELS STEP: convolutions with a residual, of so many channels more each.
layers() {
    {
        printf 'import "nn"\n'
        echo "def block(float(N, C, H, W) x, const float(M, C, 3, 3) w, const float(M) b, const float(M, C, 1, 1) s)"
        echo "    -> (y) {"
        echo "    y = relu(add(add_channel(conv2d[P=1](x, w), b), conv2d(x, s))) }"
        printf 'def net(float(1, %d, 28, 28) x0' "$2"
        for l in $(seq "$1"); do
            c=$(($2 + $3 * (l - 1))) m=$(($2 + $3 * l))
            printf ', const float(%d, %d, 3, 3) w%d,\n    const float(%d) b%d, const float(%d, %d, 1, 1) s%d' \
                $m $c "$l" $m "$l" $m $c "$l"
        done
        echo ") -> (x$1) {"
        for l in $(seq "$1"); do echo "    x$l = block(x$((l - 1)), w$l, b$l, s$l)"; done
        echo "}"
        echo "export net"
    } >file.tensor
}

# copies: of the statement of each reduction in an explained schedule, outermost unrolled loop first.
copies() {
    awk '/ for / && !/ (unrolled|vectorized) / { loops = "" }
        / unrolled/ { match($0, /in 0:[0-9]+/); loops = loops " " substr($0, RSTART + 5, RLENGTH - 5) }
        /\+=/ { print loops; loops = "" }' explained
}

layers 20 32 8
for target in x86-64-v3 x86-64-v4; do
    runs "layers of many sizes" "$TENSORC" -O2 --threads=1 --target=$target -c file.tensor -o net.o --explain-schedule
    cp "$work/out" explained
    like "$(cat explained)" 'smaller tiles, as the function would be' "they are too much code for $target"
    least=$(copies | awk '{ p = 1; for (i = 1; i <= NF; i++) p *= $i; print p }' | sort -n | head -1)
    ok "what fits has tiles of its own: $least copies at least" [ "$least" -ge 6 ]
done

# Bottlenecks as in MobileNet-V2: their nests of many sizes are not far too much code where vectors are short, either.
bottlenecks() {
    channels="24 24 32 32 32 64 64 64 64 96 96 96 160 160 160 320"
    echo 'import "nn"'
    echo "def wide[S=1](float(N, C, H, W) x, const float(E, C, 1, 1) w, const float(E, 3, 3) d,"
    echo "        const float(M, E, 1, 1) p) -> (y) {"
    echo "    y = conv2d(relu6(depthwise_conv2d[S=S, P=1](relu6(conv2d(x, w)), d)), p) }"
    printf 'def net(float(1, 16, 112, 112) x0'
    c=16 l=0
    for m in $channels; do
        e=$((6 * c)) l=$((l + 1))
        printf ',\n    const float(%d, %d, 1, 1) w%d, const float(%d, 3, 3) d%d, const float(%d, %d, 1, 1) p%d' \
            $e $c $l $e $l "$m" $e $l
        c=$m
    done
    echo ") -> (x$l) {"
    c=16 l=0
    for m in $channels; do
        l=$((l + 1)) s=1
        case "$c $m" in "16 24" | "24 32" | "32 64" | "96 160") s=2 ;; esac
        echo "    y$l = wide[S=$s](x$((l - 1)), w$l, d$l, p$l)"
        if [ "$c" = "$m" ]; then echo "    x$l = add(y$l, x$((l - 1)))"; else echo "    x$l = identity(y$l)"; fi
        c=$m
    done
    echo "}"
    echo "export net"
}
bottlenecks >file.tensor
for target in x86-64-v2 x86-64-v3; do
    runs "bottlenecks for $target" "$TENSORC" -O2 -v --threads=1 --target=$target -c file.tensor -o net.o
    unlike "$(cat "$work/err")" 'plain loops' "have tiles"
done

layers 8 64 0
runs "layers of one size" "$TENSORC" -O2 --threads=1 --target=x86-64-v3 -c file.tensor -o net.o --explain-schedule
cp "$work/out" explained
is "$(grep -c '+=' explained)" "32" "each has two reductions, also with packed weights"
alike=$(copies | head -16 | sed '1,2d; 15,16d' | paste - - | sort -u | wc -l)
is "$alike" "1" "those of equal layers have equal loops"

# The same, with the weights of all layers in one tensor.
{
    echo 'import "nn"'
    echo "def of_layer[I=0](const float(L, M, C, A, B) w) -> (y) { y(m, c, a, b) = w(I, m, c, a, b) }"
    echo "def block[I=0](float(N, C, H, W) x, const float(L, C, C, 3, 3) w, const float(L, M, C, 1, 1) s) -> (y) {"
    echo "    y = relu(add(conv2d[P=1](x, of_layer[I=I](w)), conv2d(x, of_layer[I=I](s)))) }"
    echo "def net(float(1, 64, 28, 28) x0, const float(8, 64, 64, 3, 3) w, const float(8, 64, 64, 1, 1) s) -> (x8) {"
    for l in $(seq 8); do echo "    x$l = block[I=$((l - 1))](x$((l - 1)), w, s)"; done
    echo "}"
    echo "export net"
} >file.tensor
runs "layers of one tensor" "$TENSORC" -O2 --threads=1 --target=x86-64-v3 -c file.tensor -o net.o --explain-schedule
cp "$work/out" explained
is "$(grep -c '+=' explained)" "32" "two reductions each, too"
alike=$(copies | head -16 | sed '1,2d; 15,16d' | paste - - | sort -u | wc -l)
is "$alike" "1" "those of layers whose weights are one tensor have equal loops"

# Equal layers are one function, whose arguments say where the weights of each begin.
cat >file.tensor <<'EOF'
import "nn"
def net(float(128, 64) x, const float(L, 64, 64) w, const float(L, 64) b) -> (y) {
    y = identity_rows(x)
    for l in 0:L { y = relu_rows(dense(y, w(l), b(l))) }
}
export net(L=4) as four
export net(L=12) as twelve
EOF
for threads in 1 2; do
    runs "layers for $threads threads" "$TENSORC" -O2 --threads=$threads --target=x86-64-v3 -emit-llvm file.tensor \
        -o file.ll
    few=$(grep -c '^define .*@four[_a-z]*\.loop\.' file.ll) many=$(grep -c '^define .*@twelve[_a-z]*\.loop\.' file.ll)
    ok "12 layers have about as many loops as 4: $many, $few" [ "$few" -gt 0 -a "$many" -le $((few + 2)) ]
done

stencils
for target in x86-64-v3 x86-64-v4; do
    count=$(instructions $target)
    ok "5 stencils for $target: $count lines of code" [ "$count" -lt 15000 ]
done
runs "tests stay in loops" "$TENSORC" -O2 -emit-ir -v file.tensor --target=x86-64-v3 -o file.ir --explain-schedule
said='tests stay in loops, as copies without them would be too much code: [a-t](, [a-t])*$'
like "$(cat "$work/err")" "^tensorc: f: $said" "-v says so"
like "$(cat "$work/out")" "^$said" "--explain-schedule says so"
stencils "(N=20, M=75)"
runs "what has tests computes the same" "$TENSORC" -O2 -run file.tensor --target=x86-64-v3

# choices [SIZES]: 40 stencils, each with choices for which it has copies. Copies of all together are limited.
choices() {
    in="where i in 0:N, j in 0:M"
    {
        echo "def f(float(N, M) a, float(N, M) x0) -> (x40) {"
        for s in $(seq 40); do
            p=x$((s - 1))
            echo "    x$s(i, j) = (a(i, j) > 0.5 ? ($p(i - 1, j) else 0) : ($p(i, j + 2) else a(i, j))) +"
            echo "        (a(i, j) > 0.2 ? ($p(i + 1, j - 1) else edge) : ($p(i + 2, j) else a(i, j))) *"
            echo "        ($p(i, j - 3) else wrap) $in"
        done
        echo "} export f${1:-}"
    } >file.tensor
}
choices "(N=300, M=400)"
for target in x86-64-v3 x86-64-v4; do
    count=$(instructions $target)
    ok "40 stages of choices for $target: $count lines of code" [ "$count" -lt 25000 ]
done
choices "(N=5, M=37)"
runs "choices whose tests stay in loops compute the same" "$TENSORC" -O2 -run file.tensor --target=x86-64-v3

# rows [SIZES]: stages in the rows of the last one, each with vectors of its own length, that read their neighbours.
rows() {
    {
        echo "def f(float(R, N) x0) -> (x12) {"
        for s in $(seq 12); do
            p=x$((s - 1)) q=x$((s > 1 ? s - 2 : 0))
            echo "    x$s(i, j) = ($p(i, j - 1) else edge) + ($p(i, j + 1) else edge) * ($q(i, j) else edge)"
            echo "        where i in 0:R, j in 0:N"
        done
        echo "} export f${1:-}"
        echo "schedule f on x86 {"
        for s in $(seq 11 -1 1); do echo "    compute_at(x$s, x12.i)"; done
        for s in $(seq 12); do echo "    o$s, v$s = split(x$s.j, $((8 << s % 3))) vectorize(v$s)"; done
        echo "}"
    } >file.tensor
}
rows
runs "stages in rows of a run-time size" "$TENSORC" -O2 -emit-ir file.tensor --target=x86-64-v3 -o file.ir
ok "the sizes of their buffers are not made of each other" [ "$(wc -c <file.ir)" -lt 100000 ]
unlike "$(grep allocate file.ir)" 'max' "each has the whole row"
rows "(R=3, N=37)"
runs "stages in rows compute the same" "$TENSORC" -O2 -run file.tensor --target=x86-64-v3

# sum READS: one sum of many products.
sum() {
    terms=0.0
    for r in $(seq "$1"); do
        terms="$terms + (a(i + $((r % 5 - 2)), r_j + $((r / 5 - 2))) else wrap) * (b(r_j, i + $((r % 7))) else edge)"
    done
    echo "def f(float(N, M) a, float(M, N) b) -> (y) { y(i) +=! $terms where i in 0:N, r_j in 0:M }"
    echo "export f(N=900, M=700)"
}
sum 5 >file.tensor
like "$("$TENSORC" -O2 --emit-schedule=- -c file.tensor --target=x86-64-v4 -o file.o)" cache_read \
    "a sum of few reads may pack"
sum 80 >file.tensor
unlike "$("$TENSORC" -O2 --emit-schedule=- -c file.tensor --target=x86-64-v4 -o file.o)" cache_read \
    "one of many packs none"

# products NUMBER [SIZES]: nests that differ in nothing but their tensors.
products() {
    {
        echo "def f(float(N, M) x0) -> (x$1) {"
        for s in $(seq "$1"); do
            echo "    x$s(i, j) +=! (x$((s - 1))(i + r_k, j) else wrap) * (x$((s - 1))(i, r_k) else 0)"
            echo "        where i in 0:N, j in 0:M, r_k in 0:M"
        done
        echo "} export f${2:-}"
    } >file.tensor
}
# -O1 schedules nests that are alike in the same way, whatever the model thinks of them.
functions() {
    "$TENSORC" -O1 -emit-llvm file.tensor --target=x86-64-v3 "$@" -o file.ll || echo failed
    grep -c '^define' file.ll
}
products 8
all=$(functions -g)
shared=$(functions)
ok "8 nests that are alike are $shared functions, with source lines $all" [ $((shared + 4)) -lt "$all" ]
products 3 "(N=9, M=37)"
runs "they compute what each of them would" "$TENSORC" -O2 -run file.tensor --target=x86-64-v3

# Vectors whose lanes are fetched one by one.
echo "def f(uint8(N) x) -> (y) { y(i) = (x(max(0, min((i + 1) % N + 2, N - 1)))) + x(i) where i in 0:N } export f" \
    >file.tensor
runs "lanes that are fetched one by one" "$TENSORC" -O2 -emit-ir -v file.tensor --target=x86-64-v3 -o file.ir \
    --explain-schedule
like "$(cat "$work/err")" '^tensorc: f: shorter vectors, as some of their lanes are fetched one by one: y$' "-v says so"
like "$(cat "$work/out")" '^shorter vectors, as some of their lanes are fetched one by one: y$' \
    "--explain-schedule says so"
echo "def f(uint8(N) x) -> (y) { y(i) = x(i) + 1 where i in 0:N } export f" >file.tensor
runs "rows of bytes" "$TENSORC" -O2 -emit-ir -v file.tensor --target=x86-64-v3 -o file.ir
unlike "$(cat "$work/err")" 'shorter vectors' "fill registers"

# What is called computes the same as what stands where it is used.
for type in uint8 half float; do
    stages 12 $type "$masked" "(N=9, M=37)"
    for target in x86-64 x86-64-v3; do
        runs "12 sums of $type run for $target" "$TENSORC" -O2 -run file.tensor --target=$target
    done
done
# packed: sums of neighbours, each with a nest, of which the last one alone is multiplied by a const argument.
packed() {
    {
        echo "def f(float(N, M) x0, const float(M, M) w) -> (y$(for s in $(seq 20); do printf ', x%s' "$s"; done)) {"
        for s in $(seq 20); do
            p=x$((s - 1))
            echo "    x$s(i, j) +=! ($p(i + r - 1, j) else 0) * ($p(i, j - 1) else 0) "
            echo "        + ($p(i - 1, j + 2) else edge) * 1"
            echo "        where i in 0:N, j in 0:M, r in 0:$((s % 3 + 3))"
        done
        echo "    y(i, j) +=! x20(i, r_k) * w(r_k, j) }"
        echo "export f"
    } >file.tensor
}
# chosen FUNCTION: what its schedule says of the sums, without the names of its groups.
chosen() {
    sed -n "/schedule $1 /,/}/p" file.schedule | grep -v schedule | sed 's/^# *//; s/^ *//' |
        grep -o '.*\bx[0-9].*' | grep -v '\by\b' | sed 's/g[0-9]*_//g'
}
packed
for target in x86-64-v3 x86-64-v4; do
    runs "a const argument, $target" "$TENSORC" -O2 -emit-llvm file.tensor --target=$target -o file.ll \
        --emit-schedule=file.schedule
    is "$(chosen f_packed)" "$(chosen f)" "stages that do not read it have one schedule for $target"
    count=$(grep -c 'define internal .*@f_packed.loop' file.ll)
    ok "and one code: $count loops are those of packed arguments alone" [ "$count" -lt 3 ]
    is "$(grep -c 'call .*@tensorc.parallel' file.ll)" 1 "all loops are launched by one function"
    runs "on one thread, $target" "$TENSORC" -O2 --threads=1 -emit-llvm file.tensor --target=$target -o file.ll
    # Those of the version for small sizes may be the same, too.
    both=$(grep -c 'define internal .*@f[^_]*\.loop' file.ll)
    count=$(grep -c 'define internal .*@f_packed.loop' file.ll)
    calls=$(grep -c 'call .*@f[^_]*\.loop' file.ll)
    ok "serial nests are shared too: $both in $calls calls, and $count of packed arguments" \
        [ "$both" -ge 3 -a $((5 * both)) -le "$calls" -a "$calls" -ge 40 -a "$count" -lt 3 ]
done
runs "with source lines each has its own" "$TENSORC" -O2 -g --threads=1 -emit-llvm file.tensor --target=x86-64-v3 \
    -o file.ll
is "$(grep -c 'define internal .*@f.*loop' file.ll)" 0 "where the debugger finds them"

# A nest that adds to what its caller has in registers stays there.
cat >file.tensor <<'EOF'
def f(float(1, 256, 14, 14) x, const float(256, 256, 3, 3) w, const float(256, 256, 3, 3) v) -> (y) {
    t(n, o, i, j) +=! (x(n, c, i + p - 1, j + q - 1) else 0) * w(o, c, p, q) where i in 0:14, j in 0:14
    r(n, o, i, j) = max(t(n, o, i, j), 0)
    y(n, o, i, j) +=! (r(n, c, i + p - 1, j + q - 1) else 0) * v(o, c, p, q) where i in 0:14, j in 0:14
}
export f
EOF
for target in x86-64-v3 x86-64-v4; do
    runs "two convolutions on one thread, $target" "$TENSORC" -O2 --threads=1 -c file.tensor --target=$target \
        -o file.o
done

# A function that is too long for some passes takes them from no other.
echo "def small(float(N, M) a, float(M) w) -> (c) { c(i) +=! a(i, j) * w(j) } export small" >small.tensor
{
    cat small.tensor
    echo "def big(float(N) t0) -> (y) {"
    for s in $(seq 56); do
        echo "    t$s(i) = $(seq -f "(t0(i + $s * %g) else 1)" -s ' + ' 90) where i in 0:N"
    done
    echo "    y(i) = $(seq -f "t%g(i)" -s ' + ' 56) where i in 0:N } export big"
    echo "schedule big on x86 {"
    for s in $(seq 56); do echo "    compute_at(t$s, y.i)"; done
    echo "}"
} >both.tensor
for file in small both; do
    "$TENSORC" -O1 --target=x86-64-v3 --threads=1 -emit-llvm $file.tensor -o $file.ll || echo failed
    sed -n '/^define .*@small(/,/^}/p' $file.ll | sed 's/ #[0-9]* {/ {/' >$file.code
done
longest=$(awk '/^define/ { n = 0 } /^  / { n++ } /^}/ && n > most { most = n } END { print most }' both.ll)
ok "a function beside another of $longest lines" [ -s small.code -a "$longest" -gt 32768 ]
runs "becomes what it becomes alone" cmp both.code small.code

# What several results compute from the same elements is computed once, though results are stored between them; the
# elements may be in registers, on the stack or in memory of the heap.
for place in "compute_at(t, o)" ""; do
    cat >file.tensor <<EOF
def f(float(C, N) x) -> (y) {
    t(i) = x(0, i) * 2
    u(i) = (t(i) + t(i + 1)) / (t(i) * t(i + 2))
    y(c, i) = u(i) * x(c, i) where c in 0:6, i in 0:102400
}
export f(C=6, N=102402)
schedule f on x86 {
    inline(u)
    o, l, v = split(y.i, 16, 16)
    reorder(o, y.c, l, v)
    vectorize(v)
    unroll(y.c, l)
    p, q = split(t.i, 16)
    vectorize(q)
    $place
}
EOF
    runs "quotients of six channels" "$TENSORC" -O2 --threads=1 -emit-llvm file.tensor --target=x86-64-v4 -o file.ll
    is "$(grep -c 'fdiv <16' file.ll)" 16 "are computed once for all"
done


# Math functions of a long function are called beyond the first ones: in place they would be most of the code.
sums() { seq -s' ' "$1" | sed 's/\([0-9]*\) */exp(x(i) * 0.0\1) + /g'; }
{
    echo "def few(float(N) x) -> (y) { y(i) = $(sums 5)1 }"
    echo "def many(float(N) x) -> (y) { y(i) = $(sums 90)1 }"
    printf 'export few(N=1000)\nexport many(N=1000)\n'
} >functions.tensor
for f in few many; do
    sed "/^export/{/$f/!d}" functions.tensor >$f.tensor
    runs "$f functions" "$TENSORC" -emit-llvm -v --target=x86-64-v3 --threads=1 $f.tensor -o $f.ll
    cp "$work/err" $f.said
done
is "$(grep -c 'call .*@tensorc.whole.exp' few.ll)" 0 "few are in place"
unlike "$(cat few.said)" 'math functions' "and nothing is said"
called=$(grep -c 'call .*@tensorc.whole.exp' many.ll)
ok "some of many are called ($called)" test "$called" -ge 20
like "$(cat many.said)" 'many: some math functions are called, as all of them in place would be too much code' \
    "as -v says"
runs "both give what the interpreter gives" "$TENSORC" -run functions.tensor
powers() { seq -s' ' "$1" | sed "s/\\([0-9]*\\) */$2(x(i), \\1 * 0.5) + /g"; }
{
    echo "def g(float(N) x, double(N) z) -> (y) {"
    echo "y(i) = $(powers 90 pow)$(powers 40 atan2)pow(z(i), 3.5) }"
    echo "export g"
} >powers.tensor
runs "functions of two numbers" "$TENSORC" -emit-llvm --target=x86-64-v3 --threads=1 powers.tensor -o powers.ll
called=$(grep -c 'call .*@tensorc.whole.pow' powers.ll)
ok "are called as well ($called)" test "$called" -ge 20
sed 's/float(N) x/double(N) x/' powers.tensor >doubles.tensor
runs "pow of doubles where products are not fused" "$TENSORC" -emit-llvm --target=x86-64 --threads=1 doubles.tensor \
    -o doubles.ll
is "$(grep -c '@tensorc.whole.pow' doubles.ll)" 0 "is the library's"
for f in powers doubles; do runs "$f give what the interpreter gives" "$TENSORC" -run -DN=37 $f.tensor; done

# A value that is long enough is stored: rewriting an endless one takes as long as it is, for each of its parts.
{
    echo "def f(float(N) a) -> (y) { t0(i) = a(i) + 1"
    for s in $(seq 999); do echo "t$s(i) = t$((s - 1))(i) + a(i) * $s"; done
    echo "y(i) = t999(i) }"
    echo "export f(N=10000)"
} >file.tensor
runs "a thousand statements" "$TENSORC" -O2 -w --threads=1 --target=x86-64-v3 -c file.tensor -o f.o --explain-schedule
loops=$(grep -c ' for ' "$work/out")
ok "are a few loops ($loops)" [ "$loops" -ge 4 -a "$loops" -le 40 ]

# The time for a function of many results grows with their number, not with its cube.
{
    echo "def f(float(N) a) -> (y0$(for s in $(seq 1999); do printf ', y%d' "$s"; done)) {"
    for s in $(seq 0 1999); do echo "y$s(i) = a(i) + $s"; done
    echo "}"
    echo "export f"
} >file.tensor
# shellcheck disable=SC2016 # of the other shell
runs "two thousand results, in processor time" \
    sh -c 'ulimit -t 30 && exec "$0" -O1 -w --threads=1 -c file.tensor -o f.o' "$TENSORC"

# Fourteen accumulators, a weight and an element fill the 16 registers: each sum stays in its own.
cat >file.tensor <<'EOF'
def f(float(14, K) x, float(K, 8) w) -> (y) { y(i, j) +=! x(i, r_k) * w(r_k, j) }
export f(K=256)
schedule f on x86 {
    k_o, k_i = split(y.r_k, 2)
    reorder(k_o, k_i, y.i, y.j)
    unroll(k_i, y.i)
    vectorize(y.j)
    acc = cache_write(y, scope=register)
}
EOF
runs "fourteen accumulators" "$TENSORC" -O2 -S --target=x86-64-v3 file.tensor -o file.s
is "$(grep -c vfmadd231ps file.s)" "28" "each multiply-add is one to its accumulator"
is "$(grep vfmadd file.s | grep -vc vfmadd231ps)" "0" "and none to a factor"
is "$(grep -c 'vmov[ua]ps.*(%rsp)' file.s)" "0" "no accumulator is kept in memory"

# Copies of a window's rows share what they read as long as the registers hold it from step to step: of two unrolled
# taps the outer one would share all that is read between.
cat >file.tensor <<'EOF'
import "nn"
export depthwise_conv2d[P=1](N=1, C=144, H=56, W=56, KH=3, KW=3) as rows
EOF
for target in znver4 x86-64-v4 x86-64-v3; do
    runs "a depthwise convolution for $target" "$TENSORC" -O2 --threads=1 -S --target=$target file.tensor -o file.s
    kept=$(grep -c 'vmov[ua]ps[^(]*%[yz]mm[0-9]*, [-0-9]*(%rsp)' file.s)
    ok "keeps few vectors in memory ($kept)" [ "$kept" -le 8 ]
done

done_testing
