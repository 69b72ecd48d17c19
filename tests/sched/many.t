#!/bin/sh
# many.t - schedules of a thousand statements, refused or not: an answer within 15 s of the processor's time, a tenth of
# which is what it takes. The number of nests that are built to explain a refusal does not grow with that of the
# statements.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

# many LINES [COUNT]: a product and what awk prints as its schedule, for n = COUNT.
product='def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }
export f(M=4096, K=64, N=64)'
many() { printf '%s\nschedule f on x86 {\n' "$product"; awk "BEGIN { n = ${2:-1000}; $1 }"; echo '}'; }
# splits FACTOR LINES: so many, each of the outer loop of the one before.
splits() { printf 'for (i = 0; i < n; i++)
    printf "    a%%d, b%%d = split(%%s, %d)\\n", i, i, i ? "a" (i - 1) : "C.i"; %s' "$1" "$2"; }
# within STATUS NAME FILE: this exit status, in seconds of a processor that a sanitizer has more of.
seconds=15
if sanitized; then seconds=300; fi
within() {
    exits "$1" "$2" sh -c "ulimit -t $seconds; exec \"\$@\"" - "$TENSORC" -O1 --threads=1 -fmax-statements=20000 -w \
        -c "$3" -o out.o
}

many "$(splits 2 '')" 15000 >nested.tensor
within 1 "fifteen thousand splits, most of which do not fit" nested.tensor
like "$(cat err)" '^nested.tensor:67:5: error: an index would not fit into 64 bits$' "the first of these is named"
is "$(grep -c '^hint: legal here: a63, b63 = split(' err)" 3 "with what is legal instead"
many "$(splits 1 'print "    vectorize(C.r_k)"; print "    unroll(b3)"')" >wrong.tensor
within 1 "a thousand before one that is wrong" wrong.tensor
like "$(cat err)" '^wrong.tensor:1004:15: error: C.r_k is a reduction loop' "which is named"
many "$(splits 1 'print "    c = fuse(nosuch, b3)"')" >unknown.tensor
within 1 "a thousand before a name that is none" unknown.tensor
many "$(splits 1 'print "    a3, z = split(C.j, 2)"')" >twice.tensor
within 1 "a thousand before a name that was given" twice.tensor
like "$(cat err)" 'twice.tensor:1004:5: error: the name a3 is already the result' "all names are known"
many "$(splits 1 '')" >splits.tensor
within 0 "a thousand splits that are legal" splits.tensor
many "$(splits 1 'for (i = n - 1; i >= 0; i--)
    printf "    f%d = fuse(%s, b%d)\n", i, i < n - 1 ? "f" (i + 1) : "a" i, i')" >fused.tensor
within 0 "and fused again" fused.tensor
many "$(splits 1 'printf "    reorder("; for (i = n - 1; i >= 0; i--) printf "b%d%s", i, i ? ", " : ")\n"')" \
    >order.tensor
within 0 "in the opposite order" order.tensor
many 'for (i = 0; i < n; i++) printf "    reorder(C.%s)\n", i % 2 ? "i, C.j" : "j, C.i"' >orders.tensor
within 0 "a thousand reorders" orders.tensor
many 'printf "    partition(C.j"; for (i = 1; i <= n; i++) printf ", %d", i; print ")"' 100000 |
    sed 's/N=64/N=1000000/' >cuts.tensor
within 1 "a loop in a hundred thousand pieces" cuts.tensor
like "$(cat err)" '^cuts.tensor:4:5: error: .* make more than 16384 copies of the body of C$' "of which it is refused"
awk 'BEGIN { n = 1000; print "def g(float(N) x) -> (t" n ") {\n    t0(i) = x(i) + 1"
    for (i = 1; i <= n; i++) printf "    t%d(i) = t%d(i) * 2\n", i, i - 1
    print "}\nexport g(N=64)\nschedule g on x86 {"
    for (i = n - 1; i >= 0; i--) printf "    compute_at(t%d, t%d.i)\n", i, i + 1
    print "}" }' >places.tensor
within 0 "a thousand stages, each computed at the next" places.tensor
awk 'BEGIN { n = 9900; print "def g(float(N) x) -> (t" n ") {\n    t0(i) = x(i) + 1"
    for (i = 1; i <= n; i++) printf "    t%d(i) = t%d(i) * 2\n", i, i - 1
    print "}\nexport g(N=64)\nschedule g on x86 {"
    for (i = 0; i < n; i++) printf i % 4 ? "    inline(t%d)\n" : "    o%d, i%d = split(t%d.i, 8)\n", i, i, i
    print "}" }' >stages.tensor
within 0 "ten thousand stages, of which each is inlined or split" stages.tensor
done_testing
