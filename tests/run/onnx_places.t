#!/bin/sh
# onnx_places.t - tensorc import: operators that read or write at places which are read from memory, and a few others.
# What they compute is written here as onnxruntime has it.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1
. "$srcdir/tests/run/onnx.sh"

# computed NAME WHAT NUMBERS: NAME.onnx is imported and computes those.
computed() {
    imports "$1"
    computes "$1"
    is "$(numbers "$1.npy")" "$3" "$2"
}

model nd <<'END'
opset 20
output y float 3,2,2
tensor x float 3,2,2 repeat 1 2 3 4 5 6 7 8 9 10 11 12
tensor i int64 2,1,2 repeat 0 1 -1 -2
tensor u float 2,1,2 repeat 50 60 70 80
node ScatterND x,i,u y
END
computed nd "values replace elements, whose indices count from either end" \
    "1 2 50 60 5 6 7 8 70 80 11 12"
model nd_add <<'END'
opset 20
output y float 3,2,2
tensor x float 3,2,2 repeat 1 2 3 4 5 6 7 8 9 10 11 12
tensor i int64 3,1 repeat 2 0 -1
tensor u float 3,2,2 repeat 100 200 300 400 500
node ScatterND x,i,u y reduction=text:add
END
computed nd_add "values meet in an element" \
    "501 102 203 304 5 6 7 8 509 710 411 612"
model elements <<'END'
opset 20
output y float 3,4
tensor x float 3,4 repeat 0 1 2 3 4 5 6 7 8 9 10 11
tensor i int64 2,3 repeat 3 0 -2 1 -1 0
tensor u float 2,3 repeat 50 60 70 80 90 95
node ScatterElements x,i,u y axis=1
END
computed elements "values replace elements along an axis, of fewer rows" \
    "60 1 70 50 95 80 6 90 8 9 10 11"
model elements_max <<'END'
opset 20
output y float 3,4
tensor x float 3,4 repeat 0 1 2 3 4 5 6 7 8 9 10 11
tensor i int64 2,3 repeat 0 -1 2 0 1 1
tensor u float 2,3 repeat 5 60 -7 8 9 -9
node ScatterElements x,i,u y axis=0 reduction=text:max
END
computed elements_max "and the larger ones stay" \
    "8 1 2 3 4 9 6 7 8 60 10 11"
model grid_nearest_zeros_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:nearest padding_mode=text:zeros align_corners=0
END
computed grid_nearest_zeros_0 "places of an image: nearest, zeros, align_corners=0" \
    "0 5 2 0 0 1 0 -4 7 0 0 3"
model grid_nearest_border_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:nearest padding_mode=text:border align_corners=0
END
computed grid_nearest_border_0 "places of an image: nearest, border, align_corners=0" \
    "8 5 2 7 5 1 2 -4 7 1 -4 3"
model grid_nearest_border_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:nearest padding_mode=text:border align_corners=1
END
computed grid_nearest_border_1 "places of an image: nearest, border, align_corners=1" \
    "8 5 2 -3 5 1 2 -4 7 -2 -4 3"
model grid_nearest_reflection_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:nearest padding_mode=text:reflection align_corners=0
END
computed grid_nearest_reflection_0 "places of an image: nearest, reflection, align_corners=0" \
    "8 5 2 7 5 1 2 -4 7 1 -4 3"
model grid_nearest_reflection_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:nearest padding_mode=text:reflection align_corners=1
END
computed grid_nearest_reflection_1 "places of an image: nearest, reflection, align_corners=1" \
    "-4 5 2 -4 5 1 6 -4 7 6 -4 3"
model grid_linear_zeros_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:linear padding_mode=text:zeros align_corners=0
END
computed grid_linear_zeros_0 "places of an image: linear, zeros, align_corners=0" \
    "0 2.275 0.08 0 0.525 -1 0 -1.82 5.14 0 -0.42 1.1"
model grid_linear_zeros_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:linear padding_mode=text:zeros align_corners=1
END
computed grid_linear_zeros_1 "places of an image: linear, zeros, align_corners=1" \
    "3.08 4.77 -0.16 -0.2 3.825 -1 0.68 -2.13 5.57 -0.5 -3.06 2.9"
model grid_linear_border_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:linear padding_mode=text:border align_corners=0
END
computed grid_linear_border_0 "places of an image: linear, border, align_corners=0" \
    "7.55 5 0.08 2 5 -1 1.55 -4 5.14 -0.5 -4 1.1"
model grid_linear_reflection_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:linear padding_mode=text:reflection align_corners=0
END
computed grid_linear_reflection_0 "places of an image: linear, reflection, align_corners=0" \
    "4.22 5 0.08 2 5 -1 1.805 -4 5.14 1.3 -4 1.1"
model grid_linear_reflection_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:linear padding_mode=text:reflection align_corners=1
END
computed grid_linear_reflection_1 "places of an image: linear, reflection, align_corners=1" \
    "0.86 4.77 -0.16 -0.8 4.77 -1 2.84 -2.13 5.57 2.5 -2.13 2.9"
model grid_cubic_zeros_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:zeros align_corners=0
END
computed grid_cubic_zeros_0 "places of an image: cubic, zeros, align_corners=0" \
    "-0.976 2.447 -0.788 -0.246 0.474 -1.843 -0.17 -2.911 6.12 0.095 -0.583 0.671"
model grid_cubic_zeros_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:zeros align_corners=1
END
computed grid_cubic_zeros_1 "places of an image: cubic, zeros, align_corners=1" \
    "4.353 5.661 -1.274 -0.301 4.09 -2.345 0.49 -2.9 6.749 -1.198 -4.161 3.054"
model grid_cubic_border_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:border align_corners=0
END
computed grid_cubic_border_0 "places of an image: cubic, border, align_corners=0" \
    "8.271 5.085 -0.776 1.625 5.029 -1.743 1.454 -5.458 6.061 -0.969 -4.632 0.669"
model grid_cubic_border_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:border align_corners=1
END
computed grid_cubic_border_1 "places of an image: cubic, border, align_corners=1" \
    "9.388 4.927 -1.26 -1.102 5.092 -2.166 1.447 -2.41 6.727 -2.34 -5.046 3.05"
model grid_cubic_reflection_0 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:reflection align_corners=0
END
computed grid_cubic_reflection_0 "places of an image: cubic, reflection, align_corners=0" \
    "4.668 5.091 -0.776 1.725 5.091 -1.743 1.639 -6.114 6.061 0.936 -6.114 0.669"
model grid_cubic_reflection_1 <<'END'
opset 20
output y float 1,2,2,3
tensor x float 1,2,3,4 repeat 1 -2 3 5 8 -4 2 6 7 -3
tensor g float 1,2,3,2 repeat -1.4 0.3 0.9 -0.9 0.1 0.2 -0.5 1.6 1.1 -1.1 0 0.6
node GridSample x,g y mode=text:cubic padding_mode=text:reflection align_corners=1
END
computed grid_cubic_reflection_1 "places of an image: cubic, reflection, align_corners=1" \
    "1.193 5.05 -1.246 -1.149 5.05 -2.075 2.384 -3.432 6.557 1.891 -3.432 2.21"
model grid_volume <<'END'
opset 20
output y float 1,1,1,2,1
tensor x float 1,1,2,3,2 repeat 1 -2 3 5 8 -4 2
tensor g float 1,1,2,1,3 repeat 0.3 -0.2 0.4 -1.2 0.8 0.1
node GridSample x,g y mode=text:linear padding_mode=text:zeros align_corners=0
END
computed grid_volume "places of a volume" \
    "1.864 1.488"
model reversed <<'END'
opset 20
output y float 3,2,2
tensor x float 3,2,2 repeat 1 2 3 4 5 6 7 8 9 10 11 12
tensor n int64 2 repeat 3 2
node ReverseSequence x,n y batch_axis=1 time_axis=0
END
computed reversed "sequences of a batch go back" \
    "9 10 7 8 5 6 3 4 1 2 11 12"
model cache <<'END'
opset 24
output y float 2,4,2
tensor x float 2,4,2 repeat 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
tensor u float 2,2,2 repeat 50 51 52 53 54 55 56 57
tensor at int64 2 repeat 1 2
node TensorScatter x,u,at y axis=1
END
computed cache "rows of a cache" \
    "1 2 50 51 52 53 7 8 9 10 11 12 54 55 56 57"
model cache_round <<'END'
opset 24
output y float 2,4,2
tensor x float 2,4,2 repeat 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
tensor u float 2,3,2 repeat 50 51 52 53 54 55 56 57 58 59 60 61
tensor at int64 2 repeat 3 2
node TensorScatter x,u,at y axis=1 mode=text:circular
END
computed cache_round "which go round" \
    "52 53 54 55 5 6 50 51 60 61 11 12 56 57 58 59"
model centre <<'END'
opset 18
output y float 2,5
tensor x float 5,2 repeat 1 2 3 4 5 6 7 8 9 10
tensor shape int64 2 repeat 2 5
node CenterCropPad x,shape y
END
computed centre "the middle, and zeros around it" \
    "0 3 4 0 0 0 5 6 0 0"
model lp <<'END'
opset 2
output y float 1,2,1,1
tensor x float 1,2,2,2 repeat 1 -2 3 5 8 -4 2
node GlobalLpPool x y p=3
END
computed lp "powers of images" \
    "5.44 8.363"
model swiglu <<'END'
opset 28
output y float 2,2
tensor a float 2,2 repeat 1 -2 3 0.5
tensor b float 2,2 repeat 2 3 -1 4
node SwiGLU a,b y alpha=1.5
END
computed swiglu "gated values" \
    "1.635 -0.285 -2.967 1.358"

model affine <<'END'
opset 20
output y float 1,2,3,2
tensor m float 1,2,3 repeat 0.5 -0.25 0.125 0.75 1 -0.5
tensor s int64 4 repeat 1 2 2 3
node AffineGrid m,s y
END
computed affine "places that an affine map gives" \
    "-0.083 -1.5 0.25 -1 0.583 -0.5 -0.333 -0.5 0 0 0.333 0.5"
model affine_volume <<'END'
opset 20
output y float 1,2,1,2,3
tensor m float 1,3,4 repeat 0.5 -0.25 0.125 0.75 1 -0.5 2
tensor s int64 5 repeat 1 1 2 1 2
node AffineGrid m,s y align_corners=1
END
# An only element is at -1, as in ONNX's own reference.
computed affine_volume "and of a volume, between the centres of its corners" \
    "0.375 -2 0.375 1.375 0 -0.125 0.625 2 1.875 1.625 4 1.375"

# --- parts of a shape are known

model shape_parts <<'END'
opset 18
input x float 2,6
output y float 6,2
node Shape x s
node Split s first,second num_outputs=2
node Concat second,first other axis=0
node Reshape x,other y
END
imports shape_parts
computes shape_parts
like "$(cat shape_parts.tensor)" "-> \(float\(6, 2\) y\)" "a shape of parts is known"

# --- sums of what comes before

for way in "0 0 1 3 6 10 5 11 18 26" "1 0 0 1 3 6 0 5 11 18" "0 1 10 9 7 4 26 21 15 8" "1 1 9 7 4 0 21 15 8 0"; do
    # shellcheck disable=SC2086 # numbers
    set -- $way
    model sums_$1$2 <<END
opset 14
output y float 2,4
tensor x float 2,4 raw 1 2 3 4 5 6 7 8
tensor axis int64 - raw 1
node CumSum x,axis y exclusive=$1 reverse=$2
END
    name=sums_$1$2 what="exclusive=$1, reverse=$2"
    shift 2
    computed $name "running sums: $what" "$*"
    like "$(cat $name.tensor)" '    scan j ' "step by step"
done

# --- what does not fit

# refuses NAME PATTERN LINES...: the model is refused.
refuses() {
    refuses_name=$1 refuses_pattern=$2; shift 2
    printf '%s\n' "opset 20" "output y float 2,2" "$@" | model "$refuses_name"
    refused "$refuses_name" "$refuses_pattern"
}
refuses deep "node 0 .ScatterND.: its indices do not fit a tensor of 2 dimensions" "tensor x float 2,2 repeat 1" \
    "tensor i int64 1,3 repeat 0" "tensor u float 1 repeat 1" "node ScatterND x,i,u y"
refuses kind "the reduction 'xor' is not known" "tensor x float 2,2 repeat 1" "tensor i int64 1,1 repeat 0" \
    "tensor u float 1,2 repeat 1" "node ScatterND x,i,u y reduction=text:xor"
refuses types "its values are int64, not float" "tensor x float 2,2 repeat 1" "tensor i int64 1,1 repeat 0" \
    "tensor u int64 1,2 repeat 1" "node ScatterND x,i,u y"
refuses ranks "its indices do not fit a tensor of 2 dimensions" "tensor x float 2,2 repeat 1" \
    "tensor i int64 1 repeat 0" "tensor u float 1 repeat 1" "node ScatterElements x,i,u y"
refuses flat "its places do not fit an image of 4 dimensions" "tensor x float 1,1,2,2 repeat 1" \
    "tensor g float 1,2,2,3 repeat 0" "node GridSample x,g y"
refuses mode "its attribute 'padding_mode' is 'wrap', which is not known" "tensor x float 1,1,2,2 repeat 1" \
    "tensor g float 1,2,2,2 repeat 0" "node GridSample x,g y padding_mode=text:wrap"

# --- an index outside is an error of the call

model outside <<'END'
opset 20
input i int64 2,1
output y float 3
tensor x float 3 repeat 1 2 3
tensor u float 2 repeat 50 60
node ScatterND x,i,u y
END
imports outside
like "$(cat outside.tensor)" 'y_last\(i_2\(i, 0\) < 0 \? i_2\(i, 0\) \+ 3 : i_2\(i, 0\)\) max= i' \
    "each value is looked for by its number"

done_testing
