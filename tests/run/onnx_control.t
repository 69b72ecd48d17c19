#!/bin/sh
# onnx_control.t - tensorc import: If, Loop and Scan. The nodes inside take their place; a condition that is not known
# before the program runs chooses between results of one shape.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
. "$srcdir/tests/run/onnx.sh"

# --- If

branches='graph yes - a
node Relu x a
end
graph no - b
tensor k float - raw 3
node Mul x,k b
end'
for truth in 0 1; do
    printf '%s\n' "opset 17" "$branches" "input x float 2,3" "output y float 2,3" "tensor c bool - raw $truth" \
        "node If c y then_branch=graph:yes else_branch=graph:no" | model known$truth
done
writes known1 "the branch of a condition that holds" <<'END'
def known1(float(2, 3) x) -> (float(2, 3) y) {
    y = relu_rows(x)
}
END
writes known0 "and of one that does not, with a tensor of its own" <<'END'
def known0(float(2, 3) x) -> (float(2, 3) y) {
    y(i, j) = x(i, j) * 3.0
}
END
printf '%s\n' "opset 17" "$branches" "input x float N,3" "input c bool 1" "output y float N,3" \
    "node If c t then_branch=graph:yes else_branch=graph:no" "node Neg t y" | model chosen
writes chosen "both are computed where the program has the condition" -DN=2 <<'END'
def chosen(float(N, 3) x, bool(1) c) -> (float(N, 3) y) {
    If_1_a = relu_rows(x)
    If_2_b(i, j) = x(i, j) * 3.0
    t(i, j) = c(0) ? If_1_a(i, j) : If_2_b(i, j) where i in 0:N, j in 0:3
    y(i, j) = -t(i, j)
}
END
model sizes <<'END'
opset 17
graph flat - a
node Identity x a
end
graph other - b
node Transpose x b
end
input x float 2,3
output y float 3,2
tensor first int64 1 raw 0
tensor two int64 1 raw 2
node Shape x s
node Gather s,first n
node Equal n,two c
node If c y then_branch=graph:other else_branch=graph:flat
END
writes sizes "a condition on sizes is known" <<'END'
def sizes(float(2, 3) x) -> (float(3, 2) y) {
    y(i, j) = x(j, i)
}
END

# --- Loop

model loop <<'END'
opset 17
graph body i,on,v on2,w,row
node Identity on on2
node MatMul v,m w
node Cast i f to=1
node Add w,f row
end
input x float 2,2
output y float 2,2
output rows float 3,2,2
tensor m float 2,2 raw 1 0.5 -0.5 1
tensor n int64 - raw 3
node Loop n,-,x y,rows body=graph:body
END
writes loop "each step, and the rows that they leave" <<'END'
def loop(float(2, 2) x, const float(2, 2) m) -> (float(2, 2) y, float(3, 2, 2) rows) {
    Loop_1_w = matmul(x, m)
    Loop_1_row(i, j) = Loop_1_w(i, j) + 0.0
    Loop_2_w = matmul(Loop_1_w, m)
    Loop_2_row(i, j) = Loop_2_w(i, j) + 1.0
    Loop_3_w = matmul(Loop_2_w, m)
    Loop_3_row(i, j) = Loop_3_w(i, j) + 2.0
    rows(i, j, k) = Loop_1_row(j, k) where i in 0:3
    rows(i, j, k) = Loop_2_row(j, k) where i in 1:2
    rows(i, j, k) = Loop_3_row(j, k) where i in 2:3
    y(i, j) = Loop_3_w(i, j) where i in 0:2, j in 0:2
}
END
model until <<'END'
opset 17
graph first - a
node Neg v a
end
graph later - a
node Add v,x a
end
graph body i,on,v more,w
tensor zero int64 - raw 0
tensor two int64 - raw 2
node Less i,two more
node Equal i,zero is
node If is w then_branch=graph:first else_branch=graph:later
end
input x float 2,3
output y float 2,3
tensor on bool - raw 1
node Loop -,on,x y body=graph:body
END
writes until "as long as its condition holds; a choice inside depends on the step" <<'END'
def until(float(2, 3) x) -> (float(2, 3) y) {
    Loop_1_w(i, j) = -x(i, j)
    Loop_3_w = add_rows(Loop_1_w, x)
    Loop_5_w = add_rows(Loop_3_w, x)
    y(i, j) = Loop_5_w(i, j) where i in 0:2, j in 0:3
}
END
model never <<'END'
opset 17
graph body i,on,v on,w
node Neg v w
end
input x float 2,3
output y float 2,3
tensor n int64 - raw 0
node Loop n,-,x y body=graph:body
END
writes never "without a step it is what it begins with" <<'END'
def never(float(2, 3) x) -> (float(2, 3) y) {
    y(i, j) = x(i, j) where i in 0:2, j in 0:3
}
END

model between <<'END'
opset 17
graph body i,on,v on,w,w,i
node Neg v w
end
input x float 2,3
output y float 2,2,3
output steps int64 2
tensor n int64 - raw 2
node Loop n,-,x last,rows,counted body=graph:body
node Relu rows y
node Identity counted steps
END
writes between "rows that other nodes read; and known ones" <<'END'
def between(float(2, 3) x) -> (float(2, 2, 3) y, int64(2) steps) {
    Loop_1_w(i, j) = -x(i, j)
    Loop_2_w(i, j) = -Loop_1_w(i, j)
    rows(i, j, k) = Loop_1_w(j, k) where i in 0:2
    rows(i, j, k) = Loop_2_w(j, k) where i in 1:2
    counted(i) = int64(0) where i in 0:2
    counted(i) = int64(1) where i in 1:2
    y(i, j, k) = max(rows(i, j, k), 0)
    steps(i) = counted(i) where i in 0:2
}
END

# --- Scan

{
    cat <<'END'
opset 17
graph body s,p,q t,row
node Add s,p t
node Mul t,q row
end
input s float 4
input x float 2,4
input z float 4,2
output last float 4
output y float 4,2
END
    echo "node Scan s,x,z last,y body=graph:body num_scan_inputs=2 scan_input_axes=ints:0,1" \
        "scan_input_directions=ints:0,1 scan_output_axes=ints:1 scan_output_directions=ints:1"
} | model scan
writes scan "parts of tensors, from either end" <<'END'
def scan(float(4) s, float(2, 4) x, float(4, 2) z) -> (float(4) last, float(4, 2) y) {
    x_0(i) = x(0, i)
    z_1(i) = z(i, 1)
    Scan_1_t(i) = s(i) + x_0(i)
    Scan_1_row(i) = Scan_1_t(i) * z_1(i)
    x_1(i) = x(1, i)
    z_0(i) = z(i, 0)
    Scan_2_t(i) = Scan_1_t(i) + x_1(i)
    Scan_2_row(i) = Scan_2_t(i) * z_0(i)
    y(i, j) = Scan_1_row(i) where j in 0:2
    y(i, j) = Scan_2_row(i) where j in 0:1
    last(i) = Scan_2_t(i) where i in 0:4
}
END

# --- in functions of the model

model called <<'END'
opset 17
graph up - a
node LeakyRelu v a alpha=@slope
end
graph down - a
node Neg v a
end
function pick v,c r slope=0.5
node If c r then_branch=graph:up else_branch=graph:down
end
input x float 2,3
output y float 2,3
tensor yes bool - raw 1
node pick x,yes t domain=own
node pick t,yes y domain=own slope=0.25
END
writes called "graphs in functions have the call's tensors and attributes" <<'END'
def called(float(2, 3) x) -> (float(2, 3) y) {
    t(i, j) = x(i, j) < 0 ? 0.5 * x(i, j) : x(i, j)
    y(i, j) = t(i, j) < 0 ? 0.25 * t(i, j) : t(i, j)
}
END

# --- what is not known

# refuses NAME PATTERN LINES...: the model is refused.
refuses() {
    refuses_name=$1 refuses_pattern=$2; shift 2
    printf '%s\n' "opset 17" "$@" | model "$refuses_name"
    refused "$refuses_name" "$refuses_pattern"
}
step="graph step i,on,v on,w
node Neg v w
end"
row="graph step i,on,v on,w,v
node Neg v w
end"
refuses shapes "its branches make 'y' with other types or sizes" "$branches" "graph less - b" \
    "node Flatten x b axis=0" end "input x float 2,3" "input c bool -" "output y float 2,3" \
    "node If c y then_branch=graph:yes else_branch=graph:less"
refuses truth "its condition is no truth value" "$branches" "input x float 2,3" "input c float -" \
    "output y float 2,3" "node If c y then_branch=graph:yes else_branch=graph:no"
refuses nothing "it has no nodes 'else_branch'" "$branches" "input x float 2,3" "input c bool -" \
    "output y float 2,3" "node If c y then_branch=graph:yes"
refuses count "the number of its steps, 'n', is not known before the program runs" "$step" "input x float 2,3" \
    "input n int64 -" "output y float 2,3" "node Loop n,-,x y body=graph:step"
refuses goes "whether it has a step 0 is not known before the program runs" "$step" "input x float 2,3" \
    "input on bool -" "output y float 2,3" "node Loop -,on,x y body=graph:step"
refuses endless "it has more than 4096 steps" "graph still i,on,v on,v" end "input x float 2,3" "output y float 2,3" \
    "tensor on bool - raw 1" "node Loop -,on,x y body=graph:still"
refuses many "its steps, and those of loops before it, have more than 65536 nodes" "graph step i,on,v on,w
node Neg v w
end" "graph steps i,on,v on,w
tensor m int64 - raw 4000
node Loop m,-,v w body=graph:step
end" "input x float 2,3" "output y float 2,3" "tensor n int64 - raw 4000" "node Loop n,-,x y body=graph:steps"
refuses none "it has no steps, so the sizes of 'rows' are not known" "$row" "input x float 2,3" "output y float 2,3" \
    "output rows float 0,2,3" "tensor n int64 - raw 0" "node Loop n,-,x y,rows body=graph:step"
refuses lengths "its inputs have other numbers of steps" "graph body p,q r" "node Add p,q r" end "input x float 2,4" \
    "input z float 3,4" "output y float 2,4" "node Scan x,z y body=graph:body num_scan_inputs=2"
refuses within "node 0 \(Softplus\) inside of If_1: it reads 'u', which nothing before it makes" "graph bad - a" \
    "node Softplus u a" end "$branches" "input x float 2,3" "output y float 2,3" "tensor c bool - raw 1" \
    "node If c y then_branch=graph:bad else_branch=graph:no"

# nested DEPTH: a choice inside of so many others.
nested() {
    echo "opset 17"
    printf '%s\n' "graph g0 - a" "node Relu x a" end
    for depth in $(seq "$1"); do
        printf '%s\n' "graph g$depth - a" "node If c a then_branch=graph:g$((depth - 1)) else_branch=graph:g0" end
    done
    printf '%s\n' "input x float 2,3" "output y float 2,3" "tensor c bool - raw 1" \
        "node If c y then_branch=graph:g$1 else_branch=graph:g0"
}
nested 60 | model deep
imports deep
computes deep
nested 70 | model deeper
refused deeper "at byte [0-9]* graphs are inside of too many others"

done_testing
