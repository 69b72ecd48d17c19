#!/usr/bin/env python3
"""naive.py - random small programs beside the loops that anyone would write in C for them.

usage: naive.py TENSORC FOLDER [FIRST [COUNT]]

Each program has a few stages: elements, reductions over some of their indices, a scan. Reads are shifted, reversed and
transposed. tensorc compiles it by -O2 for one thread, CC ($CC, else cc) the loops with -O3 -march=native -ffast-math. A
line for each program that takes longer than the loops, the worst ones last, then the geometric mean of all: below 1
tensorc is faster. CC may leave out what has no effect: look at the program first. Results that differ by more than sums
in another order do are marked. SHOW=1 prints the programs.
"""
import math
import os
import random
import re
import subprocess
import sys

SIZES = {'i': 64, 'j': 48, 'k': 40, 'l': 33}
C_TYPES = {'float': 'float', 'double': 'double', 'int32': 'int'}
COMBINERS = {'+=!': ('0', 'sum += %s'), 'max=!': ('LEAST', 'sum = MAX(sum, %s)'),
             'min=!': ('MOST', 'sum = MIN(sum, %s)')}
SLOWER = 1.1    # a program is shown from here on
SHORTEST = 0.3  # in microseconds: below it is the clock

DRIVER = '''#include "%(tag)s.h"
#include <math.h>
#include <stdio.h>
#include <time.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define LEAST %(least)s
#define MOST %(most)s
enum { I = 64, J = 48, K = 40, L = 33 };
%(tensors)s
static %(type)s result%(dims)s;
__attribute__((noinline)) static void loops(void) {
    %(loops)s
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}
int main(void) {
    double own = 1e12, other = 1e12, all = 0;
    %(fill)s
    for (int n = 0; n < 300 && all < 1e5; n++) {
        double a = now();
        f(%(arguments)s);
        double b = now();
        loops();
        double c = now();
        own = MIN(own, b - a), other = MIN(other, c - b), all += c - a;
    }
    long wrong = 0;
    const %(type)s *x = (void *)&result, *y = (void *)&%(last)s;
    for (long e = 0; e < %(elements)d; e++) {
        double p = (double)x[e], q = (double)y[e];
        wrong += isfinite(q) && !(fabs(p - q) <= 1e-3 * (fabs(p) + fabs(q)) + 1e-2);
    }
    printf("%%.2f %%.2f %%ld\\n", own, other, wrong);
    return 0;
}
'''


def dims(indices):
    return ''.join('[%d]' % SIZES[c] for c in indices)


def loops_over(indices, prefix=''):
    return ''.join('for (int %s = 0; %s < %d; %s++) ' % (prefix + c, prefix + c, SIZES[c], prefix + c) for c in indices)


class Program:
    """One program of a seed: its text, and the same in C."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type = self.random.choice(['float'] * 5 + ['double', 'int32'])
        self.zero = '0' if self.type == 'int32' else '0.0'
        count = self.random.randint(1, 3)
        self.inputs = [('x%d' % n, self.some_indices()) for n in range(count)]
        self.tensors = list(self.inputs)
        self.statements, self.loops = [], []
        for stage in range(self.random.randint(1, 5)):
            self.add_stage('t%d' % stage)

    def some_indices(self):
        return ''.join(self.random.sample('ijkl', self.random.randint(1, 3)))

    def read(self, tensor, reduced):
        name, indices = tensor
        places, conditions = [], []
        for c in indices:
            place, chance = ('r_' if c in reduced else '') + c, self.random.random()
            if chance < 0.08:
                conditions.append('%s + 1 < %d' % (place, SIZES[c]))
                place += ' + 1'
            elif chance < 0.14:
                conditions.append(place + ' >= 1')
                place += ' - 1'
            elif chance < 0.18:
                place = '%s - 1 - %s' % (c.upper(), place)
            places.append(place)
        text, c_text = '%s(%s)' % (name, ', '.join(places)), name + ''.join('[%s]' % p for p in places)
        if conditions:
            text, c_text = '(%s else %s)' % (text, self.zero), '(%s ? %s : 0)' % (' && '.join(conditions), c_text)
        return text, c_text

    def value(self, sources, reduced):
        text, c_text = self.read(sources[0], reduced)
        for source in sources[1:]:
            other, c_other = self.read(source, reduced)
            text, c_text = self.random.choice([
                ('%s * %s' % (text, other), '%s * %s' % (c_text, c_other)),
                ('(%s + %s)' % (text, other), '(%s + %s)' % (c_text, c_other)),
                ('(%s - %s)' % (text, other), '(%s - %s)' % (c_text, c_other)),
                ('max(%s, %s)' % (text, other), 'MAX(%s, %s)' % (c_text, c_other)),
                ('(%s > %s ? %s : %s)' % (text, other, other, text),
                 '(%s > %s ? %s : %s)' % (c_text, c_other, c_other, c_text))])
        return text, c_text

    def add_stage(self, name):
        sources = [self.random.choice(self.tensors)]
        sources += [self.tensors[-1]] if self.random.random() < 0.7 else []
        sources += [self.random.choice(self.tensors)] if self.random.random() < 0.3 else []
        indices = sorted(set(''.join(s[1] for s in sources)))
        reduces = indices and self.random.random() < 0.5
        reduced = self.random.sample(indices, self.random.randint(1, len(indices))) if reduces else []
        own = [c for c in indices if c not in reduced]
        if self.random.random() < 0.3:
            self.random.shuffle(own)
        text, c_text = self.value(sources, reduced)
        ranges = ['%s in 0:%s' % (('r_' if c in reduced else '') + c, c.upper()) for c in indices]
        where = ' where ' + ', '.join(ranges) if ranges else ''
        element, c_element = '%s(%s)' % (name, ', '.join(own)), name + ''.join('[%s]' % c for c in own)
        if reduced:
            combiner = self.random.choice(['+=!', '+=!', 'max=!', 'min=!'])
            first, update = COMBINERS[combiner]
            self.statements.append('%s %s %s%s' % (element, combiner, text, where))
            inner = loops_over(sorted(reduced), 'r_') + update % c_text
            self.loops.append('%s{ %s sum = %s; %s; %s = sum; }' % (
                loops_over(own), C_TYPES[self.type], first, inner, c_element))
        elif len(own) >= 2 and self.random.random() < 0.1:
            before = '%s(%s)' % (name, ', '.join([own[0] + ' - 1'] + own[1:]))
            c_before = name + '[%s - 1]' % own[0] + ''.join('[%s]' % c for c in own[1:])
            self.statements.append('scan %s { %s = (%s else %s) + %s%s }' % (
                own[0], element, before, self.zero, text, where))
            self.loops.append('%s%s = (%s > 0 ? %s : 0) + %s;' % (loops_over(own), c_element, own[0], c_before, c_text))
        else:
            self.statements.append('%s = %s%s' % (element, text, where))
            self.loops.append('%s%s = %s;' % (loops_over(own), c_element, c_text))
        self.tensors.append((name, ''.join(own)))

    def text(self):
        inputs = ['%s(%s) %s' % (self.type, ', '.join(own).upper(), name) for name, own in self.inputs]
        return 'def f(%s) -> (%s) {\n    %s\n}\nexport f\n' % (
            ', '.join(inputs), self.tensors[-1][0], '\n    '.join(self.statements))

    def driver(self, tag, sizes):
        c_type, (last, indices) = C_TYPES[self.type], self.tensors[-1]
        integer = self.type == 'int32'
        pointers = ['(void *)&' + name for name, _ in self.inputs] + ['(void *)&result']
        fill = ['for (long e = 0; e < %d; e++) ((%s *)&%s)[e] = (%s)((e * 7 + %d) %% 13 - 3);' % (
            math.prod(SIZES[c] for c in own), c_type, name, c_type, n) for n, (name, own) in enumerate(self.inputs)]
        return DRIVER % {
            'tag': tag, 'type': c_type, 'dims': dims(indices), 'last': last, 'fill': '\n    '.join(fill),
            'least': '(-2147483647 - 1)' if integer else '-INFINITY', 'most': '2147483647' if integer else 'INFINITY',
            'tensors': '\n'.join('static %s %s%s;' % (c_type, name, dims(own)) for name, own in self.tensors),
            'loops': '\n    '.join(self.loops), 'arguments': ', '.join(sizes + pointers),
            'elements': math.prod(SIZES[c] for c in indices)}


def sizes_of(header):
    """The names of the arguments before the tensors, which are sizes of the driver, too."""
    plain = re.sub(r'/\*.*?\*/', '', header, flags=re.S)
    arguments = re.search(r'\bf\(([^;]*?)\);', plain, re.S).group(1).split(',')
    return [argument.split()[-1] for argument in arguments if '*' not in argument]


def measure(tensorc, folder, seed):
    """Microseconds of tensorc and of the loops, and how many elements differ."""
    program, path = Program(seed), os.path.join(folder, 'naive')
    with open(path + '.tensor', 'w') as file:
        file.write(program.text())
    defined = ['-D%s=%d' % (c.upper(), size) for c, size in SIZES.items()]
    subprocess.run([tensorc, '-w', '-O2', '--threads=1', *defined, '-c', path + '.tensor', '-o', path + '.o',
                    '--header', path + '.h'], check=True)
    with open(path + '.h') as file:
        sizes = sizes_of(file.read())
    with open(path + '.c', 'w') as file:
        file.write(program.driver('naive', sizes))
    subprocess.run([os.environ.get('CC') or 'cc', '-w', '-O3', '-march=native', '-ffast-math', path + '.c', path + '.o',
                    '-o', path, '-lm', '-lpthread'], check=True)
    own, other, wrong = subprocess.run([path], check=True, capture_output=True, text=True).stdout.split()
    return program, float(own), float(other), int(wrong)


def main():
    tensorc, folder = sys.argv[1:3]
    first, count = (int(a) for a in (sys.argv[3:] + ['1', '100'][len(sys.argv) - 3:]))
    os.makedirs(folder, exist_ok=True)
    slower, logarithms = [], []
    for seed in range(first, first + count):
        program, own, other, wrong = measure(tensorc, folder, seed)
        logarithms.append(math.log(max(own, 0.05) / max(other, 0.05)))
        if wrong or (own > SLOWER * other and own > SHORTEST):
            slower.append((own / max(other, 0.05), seed, own, other, wrong, program))
    for ratio, seed, own, other, wrong, program in sorted(slower, key=lambda s: s[:2]):
        print('seed %d: tensorc %.2f us, the loops %.2f us, ratio %.2f%s' % (
            seed, own, other, ratio, ', %d elements differ' % wrong if wrong else ''))
        if os.environ.get('SHOW'):
            print(program.text())
    print('%d of %d programs take longer; geometric mean of tensorc / loops %.2f' % (
        len(slower), count, math.exp(sum(logarithms) / len(logarithms))))


if __name__ == '__main__':
    main()
