#!/bin/sh
# onnx_sizes.t - tensorc import: sizes that are known at run time, their sums and what is made of them, as in models of
# text with a cache of what was read before.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
. "$srcdir/tests/run/onnx.sh"

numbers='tensor zero int64 - raw 0
tensor one int64 - raw 1
tensor two int64 - raw 2
tensor first int64 1 raw 0'

# --- ranges

printf '%s\n' "opset 17" "$numbers" "input x float 2,N" "output y float N" "node Shape x s" "node Gather s,one n" \
    "node Range zero,n,one p" "node Cast p y to=1" | model range
writes range "up to a size" -DN=7 <<'END'
def range(float(2, N) x) -> (float(N) y) {
    p(i) = int64(i) where i in 0:N
    y(i) = float(p(i))
}
END
printf '%s\n' "opset 17" "$numbers" "input x float S" "input z float T" "output y float S" "node Shape x sx" \
    "node Shape z sz" "node Gather sx,zero n" "node Gather sz,zero m" "node Add n,m t" "node Range m,t,one p" \
    "node Cast p f to=1" "node Add f,x y" | model later
writes later "from a size to a sum, which is as long as the other one" -DS=5 -DT=3 <<'END'
def later(float(S) x, float(T) z) -> (float(S) y) {
    p(i) = int64(T + i) where i in 0:S
    f(i) = float(p(i))
    y(i) = f(i) + x(i)
}
END
printf '%s\n' "opset 17" "$numbers" "input x float N" "output y float K" "tensor step int64 - raw -2" \
    "node Shape x s" "node Gather s,zero n" "node Range n,zero,step p" "node Cast p y to=1" | model back
writes back "backwards, in larger steps" -DN=7 <<'END'
def back(float(N) x) -> (float((N + 1) / 2) y) {
    p(i) = int64(N - i * 2) where i in 0:(N + 1) / 2
    y(i) = float(p(i))
}
END

printf '%s\n' "opset 17" "$numbers" "input x float N" "output y float K" "node Shape x s" "node Gather s,zero n" \
    "node Range n,zero,one p" "node Cast p y to=1" | model away
writes away "of no steps" -DN=7 <<'END'
def away(float(N) x) -> (float(0) y) {
    p(i) = int64(N + i) where i in 0:0
    y(i) = float(p(i))
}
END

# --- sums in the names of sizes, and slices at sizes

printf '%s\n' "opset 17" "$numbers" "input k float B,T,2" "input new float B,S,2" "input mask float B,T+S" \
    "output y float B,T+S,2" "tensor axis int64 1 raw 2" "node Concat k,new all axis=1" "node Unsqueeze mask,axis m" \
    "node Mul all,m y" | model cache
writes cache "what is joined is as long as a sum" -DB=2 -DS=3 -DT=4 <<'END'
def cache(float(B, T, 2) k_2, float(B, S, 2) new_2, float(B, S + T) mask) -> (float(B, S + T, 2) y) {
    all(i, j, k) = j < T ? k_2(i, j, k) : new_2(i, j - T, k) where j in 0:S + T
    m(i, j, k) = mask(i, j) where k in 0:1
    y(i, j, k) = all(i, j, k) * m(i, j, 0)
}
END
printf '%s\n' "opset 17" "$numbers" "input x float S" "input z float T" "output y float S" \
    "tensor table float 64 repeat 1 2 3" "node Shape x sx" "node Shape z sz" "node Add sx,sz end" \
    "node Slice table,sz,end,first part" "node Mul part,x y" | model part
writes part "a slice of a table from one size to a sum" -DS=5 -DT=3 <<'END'
def part(float(S) x, float(T) z, const float(64) table) -> (float(S) y) {
    part(i) = table(i + T) where i in 0:S
    y(i) = part(i) * x(i)
}
END
printf '%s\n' "opset 17" "$numbers" "input x float N" "output y float N" "tensor begin int64 1 raw -1" \
    "tensor end int64 1 packed -9223372036854775807" "tensor step int64 1 raw -1" \
    "node Slice x,begin,end,first,step y" | model reversed
writes reversed "all of it, backwards" -DN=7 <<'END'
def reversed(float(N) x) -> (float(N) y) {
    y(i) = x((N - 1) - i) where i in 0:N
}
END
printf '%s\n' "opset 17" "$numbers" "input x float N" "output y float K" "tensor begin int64 1 raw 1" \
    "tensor end int64 1 packed 9223372036854775807" "tensor step int64 1 raw 3" \
    "node Slice x,begin,end,first,step y" | model steps
writes steps "in larger steps" -DN=9 <<'END'
def steps(float(N) x) -> (float((N + 1) / 3) y) {
    y(i) = x(1 + 3 * i) where i in 0:(N + 1) / 3
}
END
printf '%s\n' "opset 17" "$numbers" "input x float N,3" "input z float M" "output y float K" "node Shape x sx" \
    "node Shape z sz" "node Gather sx,zero n" "node Gather sz,zero m" "node Sub n,m d" "node Add d,m back" \
    "node Sub back,one last" "node Range last,back,one p" "node Cast p y to=1" | model taken
writes taken "what is added and taken off again is gone" -DN=9 -DM=4 <<'END'
def taken(float(N, 3) x, float(M) z) -> (float(1) y) {
    p(i) = int64((N - 1) + i) where i in 0:1
    y(i) = float(p(i))
}
END

printf '%s\n' "opset 18" "$numbers" "input x float S" "input z float T" "input a float S+T" "output y float S" \
    "output rest float T" "node Shape x sx" "node Shape z sz" "node Concat sx,sz parts axis=0" \
    "node Split a,parts b,rest" "node Add b,x y" | model parts
writes parts "parts of the sizes of others" -DS=5 -DT=3 <<'END'
def parts(float(S) x, float(T) z, float(S + T) a) -> (float(S) y, float(T) rest) {
    b(i) = a(i) where i in 0:S
    rest(i) = a(i + S) where i in 0:T
    y(i) = b(i) + x(i)
}
END
printf '%s\n' "opset 18" "$numbers" "input x float N,2" "output y float K,2" "tensor none int64 3 repeat 0" \
    "node Shape x s" "node Slice s,first,end n" "node Concat none,n pads axis=0" "node Pad x,pads y" \
    "tensor end int64 1 raw 1" | model padded
writes padded "as much behind as there is" -DN=5 <<'END'
def padded(float(N, 2) x) -> (float(N, N + 2) y) {
    y(i, j) = x(i, j) else 0.0 where i in 0:N, j in 0:N + 2
}
END
printf '%s\n' "opset 18" "$numbers" "input x float N,M" "input z float K" "output y float N,M" "node Shape z s" \
    "node Gather s,zero k" "node Trilu x,k y upper=0" | model below
writes below "up to a diagonal at a run-time size" -DN=5 -DM=6 -DK=2 <<'END'
def below(float(N, M) x, float(K) z) -> (float(N, M) y) {
    y(i, j) = float(j <= i + K ? x(i, j) : 0)
}
END

# --- images that become as large as others

for mode in nearest linear cubic; do
    printf '%s\n' "opset 18" "$numbers" "input x float 1,1,H,W" "input z float A,B" "output y float 1,1,A,B" \
        "tensor pair int64 1 raw 2" "node Shape x sx" "node Shape z sz" "node Slice sx,first,pair,first front" \
        "node Concat front,sz sizes axis=0" "node Resize x,-,-,sizes y mode=text:$mode" | model like_$mode
    imports like_$mode
    computes like_$mode -DH=3 -DW=5 -DA=7 -DB=4
    is "$(grep -c 'else edge' like_$mode.tensor)" 1 "$mode: places beyond the ends are those at the ends"
done
floor="mode=text:nearest coordinate_transformation_mode=text:asymmetric nearest_mode=text:floor"
printf '%s\n' "opset 18" "$numbers" "input x float 1,2,H,W" "output y float 1,2,K,L" \
    "tensor twice int64 4 raw 1 1 2 2" "node Shape x s" "node Mul s,twice sizes" "node Resize x,-,-,sizes y $floor" |
    model twice
writes twice "each element twice" -DH=3 -DW=5 <<'END'
def twice(float(1, 2, H, W) x) -> (float(1, 2, 2 * H, 2 * W) y) {
    y(n, c, h, w) = x(n, c, h / 2, w / 2) where n in 0:1, c in 0:2, h in 0:2 * H, w in 0:2 * W
}
END
# Tables that the program makes are those that the import makes where it knows the sizes.
for mode in nearest linear cubic; do
    for place in half_pixel pytorch_half_pixel align_corners asymmetric half_pixel_symmetric; do
        name=scaled_${mode}_$place
        printf '%s\n' "opset 19" "input x float 1,2,H,W" "output y float 1,2,K,L" \
            "tensor scales float 4 raw 1 1 2 1.5" \
            "node Resize x,-,scales y mode=text:$mode coordinate_transformation_mode=text:$place exclude_outside=1" |
            model $name
        imports $name
        computes $name -DH=5 -DW=7
        mv $name.npy open.npy
        runs "$mode, $place: of known sizes" "$TENSORC" import $name.onnx -DH=5 -DW=7 -o $name.tensor
        computes $name
        numbers open.npy >found
        numbers $name.npy >wanted
        same wanted found "and the results are the same"
    done
done

# --- what is not known

# refuses NAME PATTERN LINES...: the model is refused.
refuses() {
    refuses_name=$1 refuses_pattern=$2; shift 2
    printf '%s\n' "opset 17" "$numbers" "$@" | model "$refuses_name"
    refused "$refuses_name" "$refuses_pattern"
}
refuses data "its ends are not known before the program runs" "input n int64 -" "output y int64 K" \
    "node Range zero,n,one y"
refuses still "its ends are not known before the program runs" "input x float N" "output y int64 K" "node Shape x s" \
    "node Gather s,zero n" "node Range zero,n,zero y"
refuses axis "the size N must be known: bind it with -DN=NUMBER" "input x float N" "output y float N" "node Shape x s" \
    "node Gather s,zero n" "node CumSum x,n y"
refuses most "the size N must be known: bind it with -DN=NUMBER" "input x float N" "output y float N" "node Shape x s" \
    "node TopK x,s y,z"
refuses halves "the size N must be known: bind it with -DN=NUMBER" "input x float N" "output y float M" \
    "output z float K" "node Split x y,z num_outputs=2"
refuses before "the size 64 must be known|the size N must be known" "input x float N" "output y float K" \
    "tensor table float 64 repeat 1" "tensor back int64 1 raw -2" "node Shape x s" \
    "node Slice table,s,first,first,back y"

done_testing
