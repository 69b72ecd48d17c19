#!/usr/bin/env python3
"""networks_rival.py NAME THREADS INPUT RESULT CALLS - times NAME.onnx by onnxruntime. Prints the least processor time
of a call and the median time by the clock, in milliseconds; writes the result. Exits with 77 where there is none."""
import sys
import time

try:
    import numpy
    import onnxruntime
except ImportError:
    sys.exit(77)

name, threads, given, result, calls = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.add_session_config_entry('session.intra_op.allow_spinning', '0')
session = onnxruntime.InferenceSession(name + '.onnx', options, providers=['CPUExecutionProvider'])
argument = session.get_inputs()[0]
kind = numpy.int32 if 'int32' in argument.type else numpy.float32
values = numpy.fromfile(given, kind).reshape(argument.shape)
used, clock = [], []
for _ in range(calls):
    processor, start = time.process_time(), time.perf_counter()
    output = session.run(None, {argument.name: values})
    clock.append(time.perf_counter() - start)
    used.append(time.process_time() - processor)
print('%.3f %.3f' % (1e3 * min(used), 1e3 * sorted(clock)[calls // 2]))
output[0].tofile(result)
