#!/bin/sh
# onnx.t - tensorc import: ONNX models become source that compiles to what the same network is, written by hand.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
. "$srcdir/tests/run/onnx.sh"

# --- a network, its batch known at run time, its shapes computed

model small <<'END'
opset 17
input x float N,2,6,6
output y float N,3
tensor conv.weight float 4,2,3,3 repeat 1 2 3 4 5 6 7 8 9 8 7 6 5 4 3 2 1 0
tensor conv.bias float 4 loose 0.5 0.25 -0.5 1
tensor fc.weight float 3,4 packed 1 2 3 4 -1 -2 -3 -4 0.5 0.25 0.125 1
tensor fc.bias float 3 raw 0 1 -1
tensor rest int64 1 packed -1
node Conv x,conv.weight,conv.bias /conv/Conv_output_0 pads=ints:1,1,1,1 strides=ints:2,2 name=/conv/Conv
node Relu /conv/Conv_output_0 r
node GlobalAveragePool r pooled
node Shape pooled shape
node Constant - zero value=tensor:int64:-:0
node Gather shape,zero batch
node Constant - axes value_ints=ints:0
node Unsqueeze batch,axes first
node Concat first,rest wanted axis=0
node Reshape pooled,wanted flat
node Gemm flat,fc.weight,fc.bias y transB=1
END
imports small
cat >wanted <<'END'
import "nn"

def small(float(N, 2, 6, 6) x, const float(4, 2, 3, 3) conv_weight, const float(4) conv_bias,
        const float(3, 4) fc_weight, const float(3) fc_bias)
    -> (float(N, 3) y) {
    conv_Conv = add_channel(conv2d[S=2, P=1](x, conv_weight), conv_bias)
    r = relu(conv_Conv)
    pooled_mean = global_avg_pool(r)
    pooled(n, c, h, w) = pooled_mean(n, c) where h in 0:1, w in 0:1
    flat(i, j) = pooled(i, j, 0, 0)
    y = dense(flat, fc_weight, fc_bias)
}
export small(conv_weight="small_weights/conv_weight.npy", conv_bias="small_weights/conv_bias.npy",
    fc_weight="small_weights/fc_weight.npy", fc_bias="small_weights/fc_bias.npy")
END
same wanted small.tensor "the source is what a person would write"
is "$(floats small_weights/conv_bias.npy 16)" "0.5 0.25 -0.5 1" "weights lie in files beside it"
computes small -DN=3
cat >hand.tensor <<'END'
import "nn"
def hand(float(N, 2, 6, 6) x) -> (float(N, 3) y) {
    w(m, c, i, j) = min(9 * c + 3 * i + j, 17 - 9 * c - 3 * i - j) + 1 where m in 0:4, c in 0:2, i in 0:3, j in 0:3
    f(m, c, i, j) = float(w(m, c, i, j) - (c == 1 ? 1 : 0))
    b(m) = m == 0 ? 0.5 : m == 1 ? 0.25 : m == 2 ? -0.5 : 1.0 where m in 0:4
    g(k, m) = k == 0 ? m + 1.0 : k == 1 ? -m - 1.0 : m == 3 ? 1.0 : m == 2 ? 0.125 : m == 1 ? 0.25 : 0.5
        where k in 0:3, m in 0:4
    q(k) = k == 0 ? 0.0 : k == 1 ? 1.0 : -1.0 where k in 0:3
    y = dense(global_avg_pool(relu(add_channel(conv2d[S=2, P=1](x, f), b))), g, q)
}
END
computes hand -DN=3
same hand.npy small.npy "it computes what the network does that is written by hand"

# --- equal parts

{
    echo "opset 17
input x float 2,4
output y float 2,4"
    for layer in 1 2 3; do
        echo "tensor layer$layer.weight float 4,4 raw $layer 2 3 4 5 6 7 8 9 1 2 3 4 5 6 -$layer
tensor layer$layer.bias float 4 raw $layer 0 1 2"
    done
    echo "node MatMul x,layer1.weight a1
node Add a1,layer1.bias b1
node Tanh b1 c1
node MatMul c1,layer2.weight a2
node Add a2,layer2.bias b2
node Tanh b2 c2
node MatMul c2,layer3.weight a3
node Add a3,layer3.bias b3
node Tanh b3 y"
} | model parts
imports parts
cat >wanted <<'END'
import "nn"

def block(float(2, 4) x, const float(4, 4) weight, const float(4) bias) -> (c1) {
    a1 = matmul(x, weight)
    b1(i, j) = a1(i, j) + bias(j)
    c1 = tanh_rows(b1)
}

def parts(float(2, 4) x, const float(4, 4) layer1_weight, const float(4) layer1_bias,
        const float(4, 4) layer2_weight, const float(4) layer2_bias, const float(4, 4) layer3_weight,
        const float(4) layer3_bias)
    -> (float(2, 4) y) {
    c1 = block(x, layer1_weight, layer1_bias)
    c2 = block(c1, layer2_weight, layer2_bias)
    y = block(c2, layer3_weight, layer3_bias)
}
END
sed '/^export/,$d' parts.tensor >found
same wanted found "equal parts are one def"
computes parts

# --- names: those of the model, where nothing else has them in the statements

# named FILE TEXT...: the lines of the model, imported and compiled within a time.
have timeout && limited="timeout 60" || limited=
named() {
    named_file=$1; shift
    printf '%s\n' "opset 17" "$@" | model "$named_file"
    runs "$named_file is imported, in the end" $limited "$TENSORC" import "$named_file.onnx" -o "$named_file.tensor"
    runs "and compiles" "$TENSORC" -c -O0 "$named_file.tensor" -o named.o
}
# head FILE: its def, without the line ends.
head_of() { grep -A2 '^def' "$1.tensor" | tr '\n' ' ' | sed 's/ {.*//; s/  */ /g'; }
named r_net "input r_x float r_n,3" "output r_1 float r_n,3" "tensor r.w float 3 raw 1 2 3" "node Add r_x,r.w r_1"
is "$(head_of r_net)" "def r_net(float(r_n, 3) r_x, const float(3) r_w) -> (float(r_n, 3) r_1)" \
    "names that begin as indices of sums do"
named m "input t float 2,4" "output scan float 2,3" "tensor w float 4,3 repeat 1" "tensor b float 3 repeat 1" \
    "node Gemm t,w,b scan"
is "$(head_of m)" "def m(float(2, 4) t, const float(4, 3) w, const float(3) b) -> (float(2, 3) scan)" \
    "names that are free stay"
named i "input i float 1,2,4" "output r_k float 1,2,3" "tensor j float 4,3 repeat 1" "tensor in float 3 repeat 1" \
    "node MatMul i,j p" "node Add p,in r_k"
is "$(head_of i)" "def i(float(1, 2, 4) i_2, const float(4, 3) j_2, const float(3) in_2) -> (float(1, 2, 3) r_k_2)" \
    "indices and words have others; a function may have the name of an index"
named relu "input relu float 2,3" "output y float 2,3" "node Relu relu y"
is "$(head_of relu)" "def relu(float(2, 3) relu) -> (float(2, 3) y)" "what is in the library may be named again"
named relu_rows "input x float 2,3" "output block float 2,3" "node Relu x block"
is "$(head_of relu_rows)" "def relu_rows_2(float(2, 3) x) -> (float(2, 3) block)" "but not what is called"
for name in tensorc_net pthread_net main exp free for where ___ 7 'ä b' export; do
    named "$name" "input x float 2" "output y float 2" "node Relu x y"
done
like "$(cat tensorc_net.tensor)" '^def t_tensorc_net\(' "names of libraries have another beginning"
long=$(printf '%0250d' 0)
named long "input $long float $long,3" "output y float $long,3" "tensor a$long float 3 repeat 1" \
    "node Add $long,a$long y"

# --- other networks: each statement is checked by -run, against the interpreter

model states <<'END'
opset 14
input x float 5,2,3
output y float 5,1,2,4
output last float 1,2,4
tensor w float 1,16,3 repeat 1 0 0.5
tensor r float 1,16,4 repeat 1 0 -0.5
node LSTM x,w,r y,last hidden_size=4
END
imports states
computes states
model bytes <<'END'
opset 13
input x float 2,4
output y float 2,3
tensor scale float - raw 0.05
tensor zero uint8 - raw 128
tensor w int8 4,3 raw 1 -2 3 -4 5 -6 7 -8 9 -10 11 -12
tensor wscale float - raw 0.01
tensor wzero int8 - raw 0
tensor yscale float - raw 0.1
node QuantizeLinear x,scale,zero q
node QLinearMatMul q,scale,zero,w,wscale,wzero,yscale,zero p
node DequantizeLinear p,yscale,zero y
END
imports bytes
computes bytes

model mask <<'END'
opset 13
input x float 2,4
output y float 2,4
output kept bool 2,4
node Dropout x d,kept
node Dropout d e,unread
node Relu e y
END
imports mask
unlike "$(cat mask.tensor)" unread "what nothing reads is not there"
computes mask -Werror

# --- functions of the model

model called <<'END'
opset 17
function leaky v,unread w alpha=0.5
node LeakyRelu v w alpha=@alpha
end
function both a,b sum,a other=0.25
node leaky a t domain=own
node leaky b u domain=own alpha=@other name=inside
node Add t,u sum
end
input x float 2,3
input z float 2,3
output y float 2,3
output same float 2,3
node both x,z first,again domain=own
node both first,again y,same domain=own other=0.125
END
imports called
computes called --output=same=same.npy
model written <<'END'
opset 17
input x float 2,3
input z float 2,3
output y float 2,3
node LeakyRelu x a alpha=0.5
node LeakyRelu z b alpha=0.25
node Add a,b c
node LeakyRelu c d alpha=0.5
node LeakyRelu x e alpha=0.125
node Add d,e y
END
imports written
computes written
same called.npy written.npy "calls of functions are their nodes"
like "$(cat called.tensor)" 'both_1_t' "whose tensors are named by the call"
printf 'opset 17\ninput x float 2\noutput y float 2\nfunction f a b\nnode f a c domain=own\nnode f c b domain=own\nend
node f x y domain=own\n' | model endless
refused endless "the function 'f' of the model is called without end"

# --- contents in another file

printf 'abcdefgh' >outside.bin
printf '\0\0\200\077\0\0\0\100' >weights.bin
mkdir -p folder
model folder/other <<'END'
opset 17
input x float 2
output y float 2
tensor scale float 2 weights.bin@0
node Mul x,scale y
END
mv weights.bin folder
imports folder/other
is "$(floats folder/other_weights/scale.npy 8)" "1 2" "contents of another file"
printf '\0\0' >folder/weights.bin
refused folder/other "its file is too short"
ln -sf ../outside.bin folder/weights.bin
refused folder/other "outside of the model's folder"
rm folder/weights.bin
refused folder/other "No such file"
model above <<'END'
opset 17
input x float 2
output y float 2
tensor w float 2 ../outside.bin@0
node Mul x,w y
END
refused above "outside of the model's folder"

# --- files: a failure leaves nothing new, and what others read stays

ok "a folder of weights is not made for a model that is refused" test ! -e above_weights
printf 'opset 17\ninput x float 300,2\noutput y float 300,2\ntensor a float 2 raw 1 1\ntensor b float 300,2 repeat 1 0 2
node Mul x,a m\nnode Add m,b y\n' | model many
printf 'opset 17\ninput x float 300,2\noutput y float 300,2\ntensor a float 2 raw 1 2\ntensor b float 300,2 repeat 1 0 3
node Sub x,a m\nnode Add m,b y\n' | model others
# fails NAME PATTERN COMMAND...: with one line, and nothing new in the folder.
fails() {
    fails_name=$1 fails_pattern=$2; shift 2
    ls -AR >before
    exits 1 "$fails_name" "$@"
    like "$(cat err)" "$fails_pattern" "and says why"
    is "$(wc -l <err | tr -d ' ')" 1 "in one line"
    ls -AR >after
    same before after "and leaves nothing"
}
: >before; : >after
mkdir output.tensor
fails "an output that is a folder" "cannot write 'output.tensor': Is a directory" \
    "$TENSORC" import many.onnx -o output.tensor
: >file_weights
fails "weights without a folder" "cannot write 'file_weights/a.npy': Not a directory" \
    "$TENSORC" import many.onnx -o file.tensor
fails "weights that do not fit" "cannot write 'limited_weights/b.npy': File too large" \
    sh -c 'ulimit -f 2; exec "$@"' sh "$TENSORC" import many.onnx -o limited.tensor
if [ -c /dev/full ]; then
    ln -s /dev/full full.tensor
    fails "a source that does not fit" "cannot write 'full.tensor': No space left" \
        "$TENSORC" import many.onnx -o full.tensor
else
    skip "there is no full device here" 4
fi
runs "a first model" "$TENSORC" import many.onnx -o net.tensor
cp net_weights/a.npy kept.npy
fails "another one, in the same folder" "'net_weights/a.npy' has other contents, which another source may read" \
    "$TENSORC" import others.onnx -o net
same kept.npy net_weights/a.npy "the first one keeps its weights"
runs "the same one" "$TENSORC" import many.onnx -o net
rm net
runs "another one, in another folder" "$TENSORC" import others.onnx -o net.txt
like "$(cat net.txt)" 'a="net.txt_weights/a.npy"' "of the whole name"
runs "an output may become another one" "$TENSORC" import others.onnx -o net.tensor
same net_weights/a.npy net.txt_weights/a.npy "with other weights"

# --- what is not known

# unknown NAME PATTERN LINES...: a model of one node.
unknown() {
    printf 'opset 17\ninput x float 2,3\noutput y float 2,3\n%s\n' "$3" | model "$1"
    refused "$1" "$2"
}
unknown operator "'operator.onnx', node 'strange' \(Frobnicate\): this operator is not known" \
    "node Frobnicate x y name=strange"
unknown attribute "'attribute.onnx', node 0 \(Relu\): its attribute 'speed' is not known" "node Relu x y speed=3"
unknown mode "node 0 \(Pad\): the mode 'wild' is not known" "node Pad x y mode=text:wild pads=ints:0,0,0,0"
unknown missing "it reads 'z', which nothing before it makes" "node Add x,z y"
unknown cycle "it reads 'b', which nothing before it makes" "node Add x,b a
node Relu a b
node Relu b y"
unknown nothing "nothing makes the output 'y'" "node Relu x z"
unknown twice "it makes 'y', which is there already" "node Relu x y
node Relu x y"
unknown shapes "its operands have the sizes 3 and 2" "tensor w float 2 raw 1 2
node Add x,w y"
unknown count "it has 1 input" "node Add x y"
unknown run_time "the new shape, 'x', is not known before the program runs" "node Reshape x,x y"
unknown huge "the tensor 'w' has a shape that is no shape" "tensor w float 4611686018427387904,3 raw 1
node Add x,w y"
unknown strings "type string" "tensor w string 1 raw 1
node Add x,w y"
unknown fewer "another number of elements" "tensor w float 2,3 raw 1 2
node Add x,w y"
unknown far "a tensor is too large" "tensor s int64 2 raw 1099511627776 1099511627776
node Reshape x,s y"
unknown negative "the new shape has the size -5" "tensor s int64 2 raw -5 3
node Reshape x,s y"

unknown types "'x' is float, but 'w' is int32: its inputs must have one type" "tensor w int32 3 raw 1 2 3
node Add x,w y"
unknown limits "'x' is float, but 'w' is int32" "tensor w int32 - raw 1
node Clip x,w y"
unknown made "'made.onnx': the output 'y' is declared as float, but made as int32" "node Cast x y to=6"
unknown inputs "'inputs.onnx': it has two inputs 'x'" "input x float 2,3
node Relu x y"

# --- sizes by their names in the model

printf 'opset 17\ninput x float a-b,3\ninput z float a:b,3\noutput y float a-b,3\nnode Add x,z y\n' | model sizes
refused sizes "its operands have the sizes 'a-b' and 'a:b' where they must be equal"
printf 'opset 17\ninput x float a;b,a:b\noutput y float K,L\ntensor s int64 1 raw -2\ntensor e int64 1 raw 9
tensor w int64 1 raw 0\nnode Slice x,s,e,w y\n' | model shell
refused shell "node 0 \\(Slice\\): the size 'a;b' must be known: bind it with -D'a;b'=NUMBER$"
runs "as the message says" "$TENSORC" import shell.onnx -D'a;b'=4 -o shell.tensor
is "$(cat err)" "" "without a word"
runs "what binds nothing" "$TENSORC" import shell.onnx -D'a;b'=4 -Da_b=5 -o shell.tensor
is "$(cat err)" "tensorc: warning: -Da_b binds nothing: no size that the model leaves open has this name" "is a warning"
printf 'opset 17\ninput x float N,3\noutput y float 5,5\nnode Relu x y\n' | model declared
runs "a result of another shape than it is declared with" "$TENSORC" import declared.onnx
like "$(cat err)" "^tensorc: warning: 'declared.onnx': the output 'y' is declared with the sizes \\(5, 5\\), but has " \
    "is a warning"
like "$(cat err)" ' but has the sizes \(N, 3\)$' "that says both"

# --- what is no model

echo 'def f(float(N) x) -> (y) { y(i) = x(i) }' >text.onnx
refused text "is no ONNX model"
: >empty.onnx
refused empty "is no ONNX model"
mkdir directory.onnx
refused directory "cannot read 'directory.onnx': Is a directory"
refused nowhere "cannot read 'nowhere.onnx': No such file"
cp small.onnx itself.onnx
exits 1 "the model is not written over" "$TENSORC" import itself.onnx -o itself.onnx
same small.onnx itself.onnx "and stays"
exits 2 "a usage error" "$TENSORC" import
exits 2 "another one" "$TENSORC" import small.onnx -Q
runs "a size may be bound" "$TENSORC" import small.onnx -DN=4 -o bound.tensor
like "$(cat bound.tensor)" '^def bound\(float\(4, 2, 6, 6\) x' "it is a number then"

# --- damaged files: an error, in one line, and soon

model tiny <<'END'
opset 17
input x float N,4
output y float N,2
tensor w float 4,2 raw 1 2 3 4 5 6 7 8
tensor s int64 2 packed -1 2
node MatMul x,w m
node Softmax m e axis=-1
node Reshape e,s y
END
imports tiny
sanitized || ulimit -v 2000000
have timeout && limited="timeout 20" || limited=
length=$(wc -c <tiny.onnx)
i=0 bad=
while [ $i -lt "$length" ]; do
    head -c $i tiny.onnx >cut.onnx
    $limited "$TENSORC" import cut.onnx -o cut.tensor 2>err
    status=$?
    [ $status -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e cut.tensor ] || bad="$bad $i:$status"
    i=$((i + 1))
done
is "$bad" "" "each beginning of a file is an error"
head -c $((length / 2)) tiny.onnx >cut.onnx
refused cut "'cut.onnx' is no ONNX model, or damaged: at byte [0-9]+ a field goes beyond the end"
i=0 bad=
while [ $i -lt 200 ]; do
    ./onnx_model $i <tiny.onnx >cut.onnx
    rm -f cut.tensor
    $limited "$TENSORC" import cut.onnx -o cut.tensor 2>err
    status=$?
    lines=$(wc -l <err)
    case $status:$((lines)) in
    0:*) [ -s cut.tensor ] ;;
    1:[12]) [ ! -e cut.tensor ] ;; # a warning may come before
    *) false ;;
    esac || bad="$bad $i:$status"
    i=$((i + 1))
done
is "$bad" "" "damaged files are errors, or other models"

done_testing
