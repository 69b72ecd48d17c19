#!/usr/bin/env python3
"""onnx_tests.py - imports the models of ONNX's own tests, runs them on their inputs, and compares with their outputs.

usage: onnx_tests.py TENSORC FOLDER [REGEX]

A line for each test goes into FOLDER/report: passed, wrong, refused (with what is not known), crashed, or skipped (its
values have types that .npy files lack). An integer input that is a shape, or the like, becomes a constant of the model
where the import wants that: those count apart. The exit status is 1 if a test is wrong or crashed.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import warnings

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError:
    sys.exit('there is no Python with onnx here')

Test = collections.namedtuple('Test', 'name model inputs outputs rtol atol')
TYPES = '(?:float|double|half|bfloat16|bool|u?int[0-9]+)'
TENSOR = re.compile(r'(const )?%s\([^()]*\) (\w+)' % TYPES)
SMALL_ERROR, HALF_ERROR = 1e-5, 1e-2


def as_array(value):
    value = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    return numpy.array(value) if isinstance(value, numpy.generic) else value


def operator_tests():
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        for inputs, outputs in case.data_sets[:1]:
            yield Test(case.name, case.model, inputs, outputs, case.rtol, case.atol)


def load_values(folder, prefix):
    values = []
    while os.path.exists('%s/%s_%d.pb' % (folder, prefix, len(values))):
        with open('%s/%s_%d.pb' % (folder, prefix, len(values)), 'rb') as file:
            tensor = onnx.TensorProto()
            try:
                tensor.ParseFromString(file.read())
                values.append(as_array(tensor))
            except Exception:  # a sequence
                values.append(None)
    return values


def network_tests():
    data = os.path.join(os.path.dirname(onnx.__file__), 'backend', 'test', 'data')
    for kind in ('simple', 'pytorch-operator', 'pytorch-converted'):
        for name in sorted(os.listdir(os.path.join(data, kind))):
            folder = os.path.join(data, kind, name)
            values = folder + '/test_data_set_0'
            yield Test(kind + '/' + name, onnx.load(folder + '/model.onnx'), load_values(values, 'input'),
                       load_values(values, 'output'), 1e-3, 1e-5)


def is_comparable(values):
    arrays = [as_array(v) for v in values]
    return all(isinstance(a, numpy.ndarray) and a.dtype.kind in 'biuf' for a in arrays)


def inputs_of(test):
    """The contents of the inputs that are no weights, by their names."""
    names = [i.name for i in test.model.graph.input]
    weights = {t.name for t in test.model.graph.initializer}
    if len(test.inputs) != len(names):
        names = [n for n in names if n not in weights]
    values = dict(zip(names, map(as_array, test.inputs)))
    return {n: v for n, v in values.items() if n not in weights}


def with_constants(model, inputs):
    """The model, and its inputs, where those of few elements, or of integers of one dimension, are constants."""
    model, left = onnx.ModelProto.FromString(model.SerializeToString()), dict(inputs)
    for declared in list(model.graph.input):
        value = inputs.get(declared.name)
        if value is not None and value.ndim <= 1 and (value.dtype.kind in 'bi' or value.size <= 8):
            model.graph.initializer.append(numpy_helper.from_array(value, declared.name))
            model.graph.input.remove(declared)
            left.pop(declared.name)
    return model, left


def differs(got, wanted, test):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return '%s %s, not %s %s' % (got.dtype, got.shape, wanted.dtype, wanted.shape)
    if wanted.dtype.kind == 'f':
        atol = HALF_ERROR if wanted.dtype == numpy.float16 else max(test.atol, SMALL_ERROR)
        same = numpy.allclose(got.astype(float), wanted.astype(float), max(test.rtol, 1e-3), atol, equal_nan=True)
    elif wanted.dtype.kind in 'iu' and re.search('quantize|qlinear', test.name):
        same = numpy.abs(got.astype(int) - wanted.astype(int)).max(initial=0) <= 1  # halves may be rounded either way
    else:
        same = numpy.array_equal(got, wanted)
    return None if same else '%s, not %s' % (got.ravel()[:8], wanted.ravel()[:8])


def call(words):
    environment = dict(os.environ, TENSORC_DB='onnx.db')
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment)


def compare(tensorc, test, model, inputs):
    shutil.rmtree('net_weights', ignore_errors=True)
    onnx.save(model, 'net.onnx')
    done = call([tensorc, 'import', 'net.onnx', '-o', 'net.tensor'])
    if done.returncode:
        return 'refused' if done.returncode == 1 else 'crashed', done.stderr.strip()
    with open('net.tensor') as file:
        text = file.read()
    head, results = text[text.rindex('def net'):].split(') {')[0].rsplit('-> (', 1)
    arguments = [name for const, name in TENSOR.findall(head) if not const]
    results = [name for _, name in TENSOR.findall(results)]
    words = [tensorc, '-run', '-O1', '--threads=1', '--trials=1', 'net.tensor']
    for name, value in zip(arguments, inputs.values()):
        numpy.save('in_%s.npy' % name, numpy.array(value, order='C'))
        words.append('--input=%s=in_%s.npy' % (name, name))
    words += ['--output=%s=out_%s.npy' % (name, name) for name in results]
    done = call(words)
    if done.returncode:
        return 'wrong' if done.returncode == 1 else 'crashed', done.stderr.strip()
    for name, wanted in zip(results, test.outputs):
        why = differs(numpy.load('out_%s.npy' % name), as_array(wanted), test)
        if why:
            return 'wrong', '%s is %s' % (name, why)
    return 'passed', ''


def run(tensorc, test):
    if not is_comparable(list(test.inputs) + list(test.outputs)):
        return 'skipped', ''
    inputs = inputs_of(test)
    status, why = compare(tensorc, test, test.model, inputs)
    if status == 'refused' and 'before the program runs' in why:
        status, why = compare(tensorc, test, *with_constants(test.model, inputs))
        status += ' with constants' if status == 'passed' else ''
    return status, why


def main():
    if len(sys.argv) < 3:
        sys.exit('usage: onnx_tests.py TENSORC FOLDER [REGEX]')
    tensorc, wanted = os.path.abspath(sys.argv[1]), re.compile(''.join(sys.argv[3:4]))
    os.makedirs(sys.argv[2], exist_ok=True)
    os.chdir(sys.argv[2])
    warnings.filterwarnings('ignore')
    counts, reasons = collections.Counter(), collections.Counter()
    with open('report', 'w') as report:
        for test in (t for tests in (operator_tests(), network_tests()) for t in tests if wanted.search(t.name)):
            status, why = run(tensorc, test)
            counts[status] += 1
            if status == 'refused':
                reasons[re.sub(r".*?\((\w+)\): ", r'\1: ', why)] += 1
            report.write('%s %s %s\n' % (status, test.name, why.replace('\n', '\n    ')))
            report.flush()
    for status, count in counts.most_common():
        print('%5d %s' % (count, status))
    for why, count in reasons.most_common(20):
        print('%5d refused: %s' % (count, why))
    sys.exit(bool(counts['wrong'] + counts['crashed']))


if __name__ == '__main__':
    main()
