#!/usr/bin/env python3
"""networks.py FOLDER NAME... - writes networks as FOLDER/NAME.tensor, as a user of the library would write them, their
weights (random, of the usual scale) as .npy beside it, and, where the package onnx is installed, the same network with
the same weights as NAME.onnx, for a rival. FOLDER/NAME.shape: bytes of the argument and of the result.

A network is described once, by the calls of a Net. What a Net emits for each call is a line of the one and nodes of the
other."""
import array
import os
import random
import struct
import sys

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

CONV = '''def conv_bias[S=1, P=0](float(N, C, H, W) image, const float(M, C, KH, KW) filters, const float(M) bias)
        -> (out) {
    out = add_channel(conv2d[S=S, P=P](image, filters), bias)
}
def conv_relu[S=1, P=0](float(N, C, H, W) image, const float(M, C, KH, KW) filters, const float(M) bias)
        -> (out) {
    out = relu(add_channel(conv2d[S=S, P=P](image, filters), bias))
}
'''
MOBILE = CONV + '''
def conv_relu6[S=1, P=0](float(N, C, H, W) image, const float(M, C, KH, KW) filters, const float(M) bias)
        -> (out) {
    out = relu6(add_channel(conv2d[S=S, P=P](image, filters), bias))
}
def depthwise_relu6[S=1, P=1](float(N, C, H, W) image, const float(C, KH, KW) filters, const float(C) bias) -> (out) {
    out = relu6(add_channel(depthwise_conv2d[S=S, P=P](image, filters), bias))
}
'''
VOLUME = '''
def conv3d_bias[S=1, P=0](float(N, C, T, H, W) x, const float(M, C, KT, KH, KW) filters, const float(M) bias)
        -> (out) {
    c = conv3d[S=S, P=P](x, filters)
    out(n, m, t, h, w) = c(n, m, t, h, w) + bias(m)
}
def relu3d(float(N, C, T, H, W) x) -> (y) { y(n, c, t, h, w) = max(x(n, c, t, h, w), 0) }
def add3d(float(N, C, T, H, W) a, float(N, C, T, H, W) b) -> (y) {
    y(n, c, t, h, w) = a(n, c, t, h, w) + b(n, c, t, h, w)
}
def mean3d(float(N, C, T, H, W) x) -> (y) { y(n, c) +=! x(n, c, r_t, r_h, r_w) / (T * H * W) }
'''
ROWS = '''def conv_nhwc[S=1, P=0](float(N, H, W, C) image, const float(KH, KW, C, M) filters, const float(M) bias)
        -> (out) {
    c = conv2d_nhwc[S=S, P=P](image, filters)
    out(n, h, w, m) = c(n, h, w, m) + bias(m)
}
def relu_nhwc(float(N, H, W, C) x) -> (y) { y(n, h, w, c) = max(x(n, h, w, c), 0) }
def add_nhwc(float(N, H, W, C) a, float(N, H, W, C) b) -> (y) { y(n, h, w, c) = a(n, h, w, c) + b(n, h, w, c) }
def max_pool_nhwc(float(N, H, W, C) x) -> (y) {
    y(n, h, w, c) max=! (x(n, 2 * h + r_i - 1, 2 * w + r_j - 1, c) else 0)
        where h in 0:(H - 1) / 2 + 1, w in 0:(W - 1) / 2 + 1, r_i in 0:3, r_j in 0:3
}
def mean_nhwc(float(N, H, W, C) x) -> (y) { y(n, c) +=! x(n, r_h, r_w, c) / (H * W) }
'''
LAYER = '''def layer[H=12](float(T, D) x, const float(D, D) wq, const float(D) bq,
        const float(D, D) wk, const float(D) bk,
        const float(D, D) wv, const float(D) bv, const float(D, D) wo, const float(D) bo, const float(D) g1,
        const float(D) c1, const float(F, D) w1, const float(F) b1, const float(D, F) w2, const float(D) b2,
        const float(D) g2, const float(D) c2) -> (y) {
    q = dense(x, wq, bq)
    k = dense(x, wk, bk)
    v = dense(x, wv, bv)
    s(h, i, j) +=! q(i, h * (D / H) + d) * k(j, h * (D / H) + d) where h in 0:H, d in 0:D / H
    m(h, i) max=! s(h, i, j)
    e(h, i, j) = exp((s(h, i, j) - m(h, i)) * 0.125)
    z(h, i) +=! e(h, i, j)
    a(i, c) +=! e(c / (D / H), i, j) * v(j, c) / z(c / (D / H), i) where c in 0:D
    o = dense(a, wo, bo)
    r1(i, c) = o(i, c) + x(i, c)
    n1 = layer_norm(r1, g1, c1)
    f = gelu_rows(dense(n1, w1, b1))
    p = dense(f, w2, b2)
    r2(i, c) = p(i, c) + n1(i, c)
    y = layer_norm(r2, g2, c2)
}
'''


def write_npy(path, dims, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ', '.join(map(str, dims))
    header += ' ' * (63 - (10 + len(header)) % 64) + '\n'
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + values.tobytes())


class Net:
    def __init__(self, folder, name, head, argument, dims):
        self.folder, self.name, self.head, self.argument, self.dims = folder, name, head, argument, dims
        self.lines, self.weights, self.nodes, self.constants, self.counts = [], [], [], [], {}
        os.makedirs('%s/%s_weights' % (folder, name), exist_ok=True)
        random.seed(name)
        self.random = array.array('f', (random.gauss(0, 1) for _ in range(65536)))

    def fresh(self, base):
        self.counts[base] = self.counts.get(base, 0) + 1
        return '%s%d' % (base, self.counts[base])

    def weight(self, name, *dims, to_onnx=None):
        """A tensor of random contents, scaled by what is summed for an element of the result."""
        count, fan = 1, 1
        for d in dims:
            count *= d
        for d in dims[1:] if len(dims) > 1 else ():
            fan *= d
        scale = (1.4 / fan ** 0.5) if len(dims) > 1 else 0.1
        values = array.array('f', (v * scale for v in self.random[:min(count, 65536)]))
        while len(values) < count:
            values.extend(values[:count - len(values)])
        write_npy('%s/%s_weights/%s.npy' % (self.folder, self.name, name), dims, values)
        self.weights.append((name, dims))
        if onnx:
            contents = numpy.frombuffer(values.tobytes(), numpy.float32).reshape(dims)
            contents = to_onnx(contents) if to_onnx else contents
            self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(contents), name))
        return name

    def line(self, text):
        self.lines.append(text)

    def node(self, kind, *inputs, result=None, **attributes):
        result = result or self.fresh('o')
        if onnx:
            self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def constant(self, values):
        name = self.fresh('k')
        if onnx:
            self.constants.append(numpy_helper.from_array(numpy.array(values), name))
        return name

    def write(self, result, dims):
        arguments = ['const float(%s) %s' % (', '.join(map(str, d)), n) for n, d in self.weights]
        rows = [', '.join(arguments[i:i + 3]) for i in range(0, len(arguments), 3)]
        bound = ['%s="%s_weights/%s.npy"' % (n, self.name, n) for n, d in self.weights]
        bounds = [', '.join(bound[i:i + 3]) for i in range(0, len(bound), 3)]
        with open('%s/%s.tensor' % (self.folder, self.name), 'w') as file:
            file.write('import "nn"\n%sdef %s(%s,\n    %s) -> (%s) {\n    %s\n}\nexport %s(%s)\n' % (
                self.head, self.name, self.argument, ',\n    '.join(rows), result, '\n    '.join(self.lines),
                self.name, ',\n    '.join(bounds)))
        count = lambda dims: 4 * (1 if not dims else dims[0] * count(dims[1:]) // 4)
        with open('%s/%s.shape' % (self.folder, self.name), 'w') as file:
            file.write('%d %d\n' % (count(self.dims), count(dims)))
        if not onnx:
            return
        name = self.argument.split()[-1]
        kind = TensorProto.INT32 if self.argument.startswith('int32') else TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info(name, kind, self.dims)],
                                  [helper.make_tensor_value_info(self.result, TensorProto.FLOAT, dims)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 20)], ir_version=9),
                  '%s/%s.onnx' % (self.folder, self.name))


class Images(Net):
    """Networks of images. A value is a pair: its name in the source, its name in the other."""

    def conv(self, x, channels, filters, size, stride=1, padding=0, kind='conv_relu'):
        w, b, t = self.fresh('w'), self.fresh('b'), self.fresh('t')
        rank = 3 if '3d' in kind else 2
        depthwise = kind.startswith('depthwise')
        if depthwise:
            self.weight(w, filters, size, size, to_onnx=lambda a: a[:, None])
        elif 'nhwc' in kind:
            self.weight(w, size, size, channels, filters, to_onnx=lambda a: a.transpose(3, 2, 0, 1))
        else:
            self.weight(w, filters, channels, *[size] * rank)
        self.weight(b, filters)
        self.line('%s = %s[S=%d, P=%d](%s, %s, %s)' % (t, kind, stride, padding, x[0], w, b))
        y = self.node('Conv', x[1], w, b, kernel_shape=[size] * rank, strides=[stride] * rank,
                      pads=[padding] * 2 * rank, group=filters if depthwise else 1)
        if kind.endswith('relu'):
            y = self.node('Relu', y)
        if kind.endswith('relu6'):
            y = self.node('Clip', y, self.constant(numpy.float32(0)) if onnx else '',
                          self.constant(numpy.float32(6)) if onnx else '')
        return t, y

    def call(self, text, kind, *values, **attributes):
        t = self.fresh('t')
        self.line('%s = %s' % (t, text % tuple(v[0] for v in values)))
        return t, self.node(kind, *[v[1] for v in values], **attributes)

    def classify(self, x, channels, mean='global_avg_pool', classes=1000):
        self.weight('w_dense', classes, channels)
        self.weight('b_dense', classes)
        self.line('logits = dense(%s(%s), w_dense, b_dense)' % (mean, x[0]))
        self.result = self.node('Gemm', self.node('Flatten', self.node('GlobalAveragePool', x[1])), 'w_dense',
                                'b_dense', transB=1)
        self.write('logits', [1, classes])


def resnet(folder, name, blocks, bottleneck=False, rows=False):
    dims = [1, 224, 224, 3] if rows else [1, 3, 224, 224]
    net = Images(folder, name, ROWS if rows else CONV, 'float(%s) image' % ', '.join(map(str, dims)), dims)
    x = ('image', net.node('Transpose', 'image', perm=[0, 3, 1, 2]) if rows else 'image')

    def conv(x, channels, filters, size, stride, padding, relu=True):
        if not rows:
            return net.conv(x, channels, filters, size, stride, padding, 'conv_relu' if relu else 'conv_bias')
        y = net.conv(x, channels, filters, size, stride, padding, 'conv_nhwc')
        return net.call('relu_nhwc(%s)', 'Relu', y) if relu else y

    x = conv(x, 3, 64, 7, 2, 3)
    x = net.call('max_pool_nhwc(%s)' if rows else 'max_pool2d[K=3, S=2, P=1](%s)', 'MaxPool', x, kernel_shape=[3, 3],
                 strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * 4 if bottleneck else width
        for i in range(count):
            stride = 2 if i == 0 and stage > 0 else 1
            if bottleneck:
                y = conv(conv(x, channels, width, 1, 1, 0), width, width, 3, stride, 1)
                y = conv(y, width, out, 1, 1, 0, False)
            else:
                y = conv(conv(x, channels, width, 3, stride, 1), width, width, 3, 1, 1, False)
            short = x if stride == 1 and channels == out else conv(x, channels, out, 1, stride, 0, False)
            suffix = '_nhwc' if rows else ''
            x = net.call('add%s(%%s, %%s)' % suffix, 'Add', y, short)
            x = net.call('relu%s(%%s)' % suffix, 'Relu', x)
            channels = out
    net.classify(x, channels, 'mean_nhwc' if rows else 'global_avg_pool')


def resnet3d(folder, name):
    net = Images(folder, name, VOLUME, 'float(1, 3, 16, 112, 112) video', [1, 3, 16, 112, 112])
    conv = lambda *a: net.conv(*a, kind='conv3d_bias')
    relu = lambda x: net.call('relu3d(%s)', 'Relu', x)
    x, channels = relu(conv(('video', 'video'), 3, 64, 3, 1, 1)), 64
    for stage in range(4):
        out = 64 << stage
        for i in range(2):
            stride = 2 if i == 0 and stage > 0 else 1
            y = conv(relu(conv(x, channels, out, 3, stride, 1)), out, out, 3, 1, 1)
            short = x if stride == 1 else conv(x, channels, out, 1, stride, 0)
            x, channels = relu(net.call('add3d(%s, %s)', 'Add', y, short)), out
    net.classify(x, channels, 'mean3d', 400)


def mobilenet(folder, name):
    net = Images(folder, name, MOBILE, 'float(1, 3, 224, 224) image', [1, 3, 224, 224])
    x, channels = net.conv(('image', 'image'), 3, 32, 3, 2, 1, 'conv_relu6'), 32
    for t, out, count, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                 (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            stride = first if i == 0 else 1
            y = net.conv(x, channels, channels * t, 1, kind='conv_relu6') if t > 1 else x
            y = net.conv(y, channels * t, channels * t, 3, stride, 1, 'depthwise_relu6')
            y = net.conv(y, channels * t, out, 1, kind='conv_bias')
            x = net.call('add(%s, %s)', 'Add', y, x) if stride == 1 and channels == out else y
            channels = out
    net.classify(net.conv(x, 320, 1280, 1, kind='conv_relu6'), 1280)


def dqn(folder, name):
    net = Images(folder, name, CONV, 'float(1, 4, 84, 84) frames', [1, 4, 84, 84])
    x = net.conv(('frames', 'frames'), 4, 32, 8, 4)
    x = net.conv(net.conv(x, 32, 64, 4, 2), 64, 64, 3)
    for n, d in [('w4', (512, 3136)), ('b4', (512,)), ('w5', (6, 512)), ('b5', (6,))]:
        net.weight(n, *d)
    net.line('flat(n, k) = %s(n, k / 49, k / 7 %% 7, k %% 7) where k in 0:3136' % x[0])
    net.line('hidden = relu_rows(dense(flat, w4, b4))')
    net.line('q = dense(hidden, w5, b5)')
    y = net.node('Relu', net.node('Gemm', net.node('Flatten', x[1]), 'w4', 'b4', transB=1))
    net.result = net.node('Gemm', y, 'w5', 'b5', transB=1)
    net.write('q', [1, 6])


def dcgan(folder, name):
    head = '''def up[S=2, P=1](float(N, C, H, W) x, const float(C, M, 4, 4) filters, const float(M) bias) -> (y) {
    y = relu(add_channel(transposed_conv2d[S=S, P=P](x, filters), bias))
}
'''
    net = Images(folder, name, head, 'float(1, 100, 1, 1) noise', [1, 100, 1, 1])
    x = ('noise', 'noise')
    sizes = [100, 512, 256, 128, 64, 3]
    for i in range(5):
        w, b, t, last = net.fresh('w'), net.fresh('b'), net.fresh('t'), i == 4
        net.weight(w, sizes[i], sizes[i + 1], 4, 4)
        net.weight(b, sizes[i + 1])
        stride, padding = (1, 0) if i == 0 else (2, 1)
        form = '%s = up[S=%d, P=%d](%s, %s, %s)'
        form = '%s = add_channel(transposed_conv2d[S=%d, P=%d](%s, %s), %s)' if last else form
        net.line(form % (t, stride, padding, x[0], w, b))
        y = net.node('ConvTranspose', x[1], w, b, kernel_shape=[4, 4], strides=[stride] * 2, pads=[padding] * 4)
        x = (t, y if last else net.node('Relu', y))
    net.line('image(n, c, h, w) = tanh(%s(n, c, h, w))' % x[0])
    net.result = net.node('Tanh', x[1])
    net.write('image', [1, 3, 64, 64])


def bert(folder, name, layers, tokens=128, width=768, heads=12):
    net = Net(folder, name, LAYER, 'float(%d, %d) tokens' % (tokens, width), [tokens, width])
    transposed = lambda a: a.T
    x, y, inner = 'tokens', 'tokens', 4 * width

    def dense(y, w, b):
        return net.node('Add', net.node('MatMul', y, w), b)

    def split(y):
        y = net.node('Reshape', y, net.constant([tokens, heads, width // heads]))
        return net.node('Transpose', y, perm=[1, 0, 2])

    for layer in range(layers):
        names = {}
        for n, d in [('wq', (width, width)), ('bq', (width,)), ('wk', (width, width)), ('bk', (width,)),
                     ('wv', (width, width)), ('bv', (width,)), ('wo', (width, width)), ('bo', (width,)),
                     ('g1', (width,)), ('c1', (width,)), ('w1', (inner, width)), ('b1', (inner,)),
                     ('w2', (width, inner)), ('b2', (width,)), ('g2', (width,)), ('c2', (width,))]:
            names[n] = net.weight('%s_%d' % (n, layer), *d, to_onnx=transposed if len(d) == 2 else None)
        out = 'x%d' % (layer + 1)
        net.line('%s = layer(%s, %s)' % (out, x, ', '.join(names.values())))
        q, k, v = (split(dense(y, names['w' + c], names['b' + c])) for c in 'qkv')
        s = net.node('MatMul', q, net.node('Transpose', k, perm=[0, 2, 1]))
        s = net.node('Mul', s, net.constant(numpy.float32(0.125)) if onnx else '')
        a = net.node('Transpose', net.node('MatMul', net.node('Softmax', s, axis=-1), v), perm=[1, 0, 2])
        a = net.node('Reshape', a, net.constant([tokens, width]))
        n1 = net.node('LayerNormalization', net.node('Add', dense(a, names['wo'], names['bo']), y), names['g1'],
                      names['c1'], axis=-1)
        f = net.node('Gelu', dense(n1, names['w1'], names['b1']), approximate='tanh')
        y = net.node('LayerNormalization', net.node('Add', dense(f, names['w2'], names['b2']), n1), names['g2'],
                     names['c2'], axis=-1)
        x = out
    net.result = y
    net.write(x, [tokens, width])


def lstm(folder, name, words=10000, width=650, steps=35):
    net = Net(folder, name, '', 'int32(%d) ids' % steps, [steps])
    net.weight('table', words, width)
    order = [0, 3, 1, 2]  # input, output, forget, cell
    for l in (1, 2):
        net.weight('wx%d' % l, 4, width, width, to_onnx=lambda a: a[order].reshape(1, 4 * width, width))
        net.weight('wh%d' % l, 4, width, width, to_onnx=lambda a: a[order].reshape(1, 4 * width, width))
        net.weight('bias%d' % l, 4, width, to_onnx=lambda a: numpy.concatenate(
            [a[order].reshape(1, -1), numpy.zeros((1, 4 * width), numpy.float32)], 1))
    net.weight('w_out', words, width)
    net.weight('b_out', words)
    net.line('e = embedding(table, ids)')
    net.line('x(t, b, i) = e(t, i) where b in 0:1')
    net.line('zero(b, j) = 0.0 where b in 0:1, j in 0:%d' % width)
    net.line('h1, c1 = lstm(x, zero, zero, wx1, wh1, bias1)')
    net.line('h2, c2 = lstm(h1, zero, zero, wx2, wh2, bias2)')
    net.line('s(t, j) = h2(t, 0, j)')
    net.line('logits = dense(s, w_out, b_out)')
    y = net.node('Reshape', net.node('Gather', 'table', 'ids'), net.constant([steps, 1, width]))
    for l in (1, 2):
        y = net.node('LSTM', y, 'wx%d' % l, 'wh%d' % l, 'bias%d' % l, hidden_size=width)
        y = net.node('Reshape', y, net.constant([steps, 1, width]))
    y = net.node('Reshape', y, net.constant([steps, width]))
    net.result = net.node('Gemm', y, 'w_out', 'b_out', transB=1)
    net.write('logits', [steps, words])


NETWORKS = {
    'dqn': dqn,
    'dcgan': dcgan,
    'mobilenet_v2': mobilenet,
    'resnet18': lambda f, n: resnet(f, n, [2, 2, 2, 2]),
    'resnet18_nhwc': lambda f, n: resnet(f, n, [2, 2, 2, 2], rows=True),
    'resnet50': lambda f, n: resnet(f, n, [3, 4, 6, 3], bottleneck=True),
    'resnet18_3d': resnet3d,
    'lstm_lm': lstm,
    'bert_layer': lambda f, n: bert(f, n, 1),
    'bert_12': lambda f, n: bert(f, n, 12),
}

if __name__ == '__main__':
    if len(sys.argv) < 2 or any(n not in NETWORKS for n in sys.argv[2:]):
        sys.exit('usage: networks.py FOLDER [NAME ...], of: ' + ' '.join(NETWORKS))
    for name in sys.argv[2:] or NETWORKS:
        NETWORKS[name](sys.argv[1], name)
