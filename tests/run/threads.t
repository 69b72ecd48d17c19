#!/bin/sh
# The threads that objects bring along for their parallel loops: results for any number of them, calls at once, after
# fork, in libraries that come and go; and calls do not wait for threads that have not begun.
. "${srcdir:-.}/tests/lib.sh"
here=$srcdir/tests/run
cd "$work" || exit 1

cat >threads.tensor <<'END'
def rows(float(N, 3) x) -> (y) { y(i, j) = (x(i, j) + 1) * 2 where i in 0:N }
def slices(float(N, 3) x) -> (y) {
    t(i, j) = x(i, j) + 1
    y(i, j) = t(i, j) * 2
}
def sums(float(N, 40000) x) -> (y) { y(i) +=! x(i, j) }
export rows
export sums
export slices
schedule rows on x86 { parallel(y.i) }
schedule sums on x86 { parallel(y.i) }
schedule sums on arm { parallel(y.i) }
schedule rows on arm { parallel(y.i) }
schedule slices on x86 { o, i = split(y.i, 50) parallel(o) compute_at(t, o) }
schedule slices on arm { o, i = split(y.i, 50) parallel(o) compute_at(t, o) }
END
runs "compiles" "$TENSORC" -c -fPIC threads.tensor -o threads.o --header threads.h
runs "links with nothing but libc" "$CC" -std=c11 -Wall -Wextra -Werror -I. "$here/threads.c" threads.o -o threads
runs "into a library, too" "$CC" -shared -Wl,-z,defs,-z,text threads.o -o libthreads.so
runs "two threads" "$TENSORC" -c -fPIC --threads=2 threads.tensor -o two.o
runs "link" "$CC" -std=c11 -I. "$here/threads.c" two.o -o two

for n in 1 2 3 8 40; do
    runs "$n threads, any extent" env OMP_NUM_THREADS=$n timeout 100 ./threads extents
done
runs "as many as there are processors" timeout 100 ./threads extents
is "$(OMP_NUM_THREADS=3 timeout 100 ./threads count)" "1 3" "threads start with the first loop that has enough work"
is "$(OMP_NUM_THREADS=1 timeout 100 ./threads count)" "1 1" "one thread needs no other"
is "$(OMP_NUM_THREADS=zero timeout 100 ./threads count)" "1 $(nproc)" "what is no number is not one"
is "$(OMP_NUM_THREADS=7 timeout 100 ./two count)" "1 2" "--threads=2 is two, whatever the environment says"
runs "two threads, any extent" timeout 100 ./two extents
for n in 2 4; do
    runs "$n threads, calls wait for the last row" env OMP_NUM_THREADS=$n timeout 100 ./threads waiting
done
runs "a hundred calls at once" env OMP_NUM_THREADS=4 timeout 100 ./threads callers
runs "calls in children of fork, and an end while another thread calls" env OMP_NUM_THREADS=3 timeout 100 ./threads fork
runs "the threads of a library end with it" env OMP_NUM_THREADS=3 timeout 100 ./threads library
runs "signals do not interrupt them" env OMP_NUM_THREADS=4 timeout 100 ./threads signals
is "$(OMP_NUM_THREADS=4 timeout 100 ./threads asleep)" 4 "of four threads three never begin: calls do not wait"
runs "and are right" env OMP_NUM_THREADS=4 timeout 100 ./threads asleep
is "$(OMP_NUM_THREADS=4 timeout 100 ./threads refused)" 1 "where no thread can be started there is none"
runs "and calls are right" env OMP_NUM_THREADS=4 timeout 100 ./threads refused
runs "where threads share the caller's processor they leave it, and the caller naps" \
    env OMP_NUM_THREADS=2 timeout 100 ./threads crowded
runs "assembly" "$TENSORC" -S -fPIC threads.tensor -o threads.s
runs "has the pool, too" "$CC" -std=c11 -I. "$here/threads.c" threads.s -o assembled
runs "three threads, any extent" env OMP_NUM_THREADS=3 timeout 100 ./assembled extents
runs "LLVM text" "$TENSORC" -emit-llvm threads.tensor -o threads.ll
is "$(grep -c '^define weak_odr hidden .*@tensorc[._]\(parallel\|thread_count\|take\|give\|release\)' threads.ll)" 5 \
    "defines what it calls"

# What an exported function may not be called: the pool would call it.
for name in pthread_create clock_gettime sched_getaffinity sched_getcpu sched_setaffinity sigfillset; do
    printf 'def f(float(N) x) -> (y) { y(i) = x(i) }\nexport f as %s\n' $name >name.tensor
    exits 1 "no function of a program is called $name" "$TENSORC" -c name.tensor -o name.o
    like "$(cat "$work/err")" "'$name' is the name of a library function" "and why"
done

if ! have aarch64-linux-gnu-gcc || ! have qemu-aarch64; then
    skip "no compiler or no emulator for ARM here" 4
else
    runs "for ARM" "$TENSORC" -c --target=aarch64 threads.tensor -o arm.o
    runs "links" aarch64-linux-gnu-gcc -std=c11 -I. "$here/threads.c" arm.o -o arm
    export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    runs "runs" env OMP_NUM_THREADS=3 timeout 200 qemu-aarch64 ./arm extents
    runs "calls at once" env OMP_NUM_THREADS=3 timeout 200 qemu-aarch64 ./arm callers
fi

done_testing
