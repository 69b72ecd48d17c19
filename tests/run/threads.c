/* threads.c - the thread pool that objects bring along, seen from a program. One argument: what to try. */
#define _GNU_SOURCE
#include "threads.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 5000, WIDTH = 3, LONG = 40000, CALLERS = 100, ROUNDS = 40 };

/* Whether each element is what one call makes of it, and nothing behind them changed. */
static int is_right(int (*call)(int64_t, const float *, float *), int n) {
    static _Thread_local float x[MOST * WIDTH], y[MOST * WIDTH + 1];
    for (int i = 0; i < n * WIDTH; i++)
        x[i] = (float)(i % 91);
    memset(y, 0, sizeof y);
    if (call(n, x, y) != 0)
        return 0;
    for (int i = 0; i < n * WIDTH; i++)
        if (y[i] != (x[i] + 1) * 2)
            return 0;
    return y[n * WIDTH] == 0;
}

/* Rows that take long: the caller is often ready before others are. */
static int try_waiting(void) {
    static float x[4 * LONG], y[4];
    int right = 1;
    for (int i = 0; i < 4 * LONG; i++)
        x[i] = (float)(i / LONG);
    for (int round = 0; round < 10 * ROUNDS; round++) {
        for (int i = 0; i < 4; i++)
            y[i] = -1;
        right &= sums(4, x, y) == 0;
        for (int i = 0; i < 4; i++)
            right &= y[i] == (float)i * LONG;
    }
    return !right;
}

static int thread_count(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));)
        count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static int try_extents(void) {
    static const int extents[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 101, 1000, MOST};
    int right = 1;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
            right &= is_right(rows, extents[i]) && is_right(slices, extents[i]);
    return !right;
}

static int try_count(void) {
    int right = is_right(rows, 100);
    printf("%d ", thread_count());
    right &= is_right(rows, MOST);
    printf("%d", thread_count());
    return !right;
}

static void *caller(void *index) {
    long right = 1;
    for (int round = 0; round < ROUNDS; round++)
        right &= is_right(round % 2 ? rows : slices, 1 + (int)((long)index * 37 + round * 101) % MOST);
    return (void *)right;
}

static int try_callers(void) {
    pthread_t threads[CALLERS];
    long right = 1;
    for (long i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, caller, (void *)i);
    for (int i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        right &= (long)result;
    }
    return !right;
}

static void *call_for_ever(void *unused) {
    for (;;)
        caller((void *)7L);
    return unused;
}

/* The child calls too, and so does its child; the parent's threads may be anywhere. */
static int try_fork(void) {
    pthread_t thread;
    int right = is_right(rows, MOST);
    pthread_create(&thread, NULL, call_for_ever, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t child = fork();
        if (child == 0) {
            int fine = is_right(rows, MOST) && is_right(slices, MOST), status = 1;
            pid_t second = fork();
            if (second == 0)
                _exit(!is_right(rows, MOST));
            waitpid(second, &status, 0);
            exit(!fine || status); /* ends its own threads */
        }
        int status = 1;
        waitpid(child, &status, 0);
        right &= status == 0 && is_right(rows, MOST);
    }
    return !right; /* while the other thread calls */
}

/* A library's threads end with it. */
static int try_library(void) {
    int right = 1;
    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlopen("./libthreads.so", RTLD_NOW);
        int (*call)(int64_t, const float *, float *) = NULL;
        if (library)
            *(void **)&call = dlsym(library, "rows");
        right &= call && is_right(call, MOST) && thread_count() == 3;
        right &= library && dlclose(library) == 0 && thread_count() == 1;
    }
    return !right;
}

static pthread_t first;
static volatile sig_atomic_t elsewhere, handled;
static void on_signal(int number) {
    handled += number == SIGUSR1;
    elsewhere |= !pthread_equal(pthread_self(), first);
}

/* Signals go to the program's own threads: where those block one, it waits. */
static int try_signals(void) {
    sigset_t one;
    first = pthread_self();
    signal(SIGUSR1, on_signal);
    int right = is_right(rows, MOST);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    kill(getpid(), SIGUSR1);
    right &= is_right(rows, MOST) && handled == 0;
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    return !right || elsewhere || handled != 1;
}

/* Threads that never begin: the call does all of the work. Or there are none to be had. */
static const char *what = "";
static void *asleep(void *unused) {
    for (;;)
        pause();
    return unused;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static Create *create;
    if (!create)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (strcmp(what, "refused") == 0)
        return EAGAIN;
    return create(thread, attributes, strcmp(what, "asleep") == 0 ? asleep : body, argument);
}

/* All threads seem to have the caller's processor: those of the pool leave it, while they may run on all
 * others, and may come back later. Each stays away for a while, with its piece of the work; the caller waits, in naps
 * in which its processor falls idle. */
static int processor, left, came_back, naps; /* of the pool's threads, that change nothing else; of callers */
static int is_crowded(void) {
    return strcmp(what, "crowded") == 0;
}

int sched_getcpu(void) {
    unsigned own = 0;
    return is_crowded() || syscall(SYS_getcpu, &own, NULL, NULL) ? processor : (int)own;
}

int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set) {
    if (!is_crowded())
        return (int)syscall(SYS_sched_setaffinity, thread, bytes, set);
    __atomic_fetch_add(CPU_ISSET_S(processor, bytes, set) ? &came_back : &left, 1, __ATOMIC_RELAXED);
    usleep(20000);
    return 0;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until) {
    typedef int Wait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    static Wait *wait;
    if (!wait)
        *(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    naps++; /* the lock is held */
    return wait(condition, lock, until);
}

static int try_crowded(void) {
    cpu_set_t all;
    int right = sched_getaffinity(0, sizeof all, &all) == 0, more = 1;
    while (right && !CPU_ISSET(processor, &all))
        processor++;
    for (int round = 0; round < 50 * ROUNDS && right && more; round++) {
        right &= is_right(rows, MOST);
        more = came_back == 0 || naps < 3;
    }
    return !right || left != came_back || more;
}

static int try_alone(void) {
    int failed = try_extents();
    printf("%d", thread_count());
    fflush(stdout);
    _exit(failed); /* such threads cannot be waited for */
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*try)(void);
    } trials[] = {{"extents", try_extents}, {"count", try_count},     {"callers", try_callers}, {"fork", try_fork},
                  {"library", try_library}, {"signals", try_signals}, {"asleep", try_alone},    {"refused", try_alone},
                  {"waiting", try_waiting}, {"crowded", try_crowded}};
    for (size_t i = 0; count > 1 && i < sizeof trials / sizeof *trials; i++) {
        what = arguments[1];
        if (strcmp(trials[i].name, what) == 0)
            return trials[i].try();
    }
    return 2;
}
