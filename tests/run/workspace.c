/* workspace.c - the memory of temporaries, as programs see it: workspace MODE. Links with wrappers of aligned_alloc and
 * free, which count what generated functions allocate and what they free of it. With LIBRARY, libworkspace.so has the
 * same object; with OTHER, "other.h" has one more function.
 */
#include "workspace.h"
#ifdef OTHER
#include "other.h"
#endif
#ifdef LIBRARY
#include <dlfcn.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { MOST = 1 << 20, LIVE = 256 };

/* --- what is allocated -------------------------------------------------------------------------------------------- */

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live[LIVE];
static int made, lives, refusals;   /* refusals: how many of the next ones fail */
static size_t largest = (size_t)-1; /* what asks for more does not get it */
static void (*interruption)(void);  /* called once, in the next allocation */

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void (*interrupt)(void) = interruption;
    interruption = NULL;
    if (interrupt)
        interrupt();
    pthread_mutex_lock(&lock);
    void *memory = NULL;
    if (refusals > 0)
        refusals--;
    else if (bytes <= largest && (memory = __real_aligned_alloc(alignment, bytes))) {
        memset(memory, 0x7f, bytes); /* what is read before it is stored shows */
        made++;
        live[lives++] = memory;
    }
    pthread_mutex_unlock(&lock);
    return memory;
}

void __wrap_free(void *memory) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < lives; i++)
        if (live[i] == memory) {
            live[i] = live[--lives];
            break;
        }
    pthread_mutex_unlock(&lock);
    __real_free(memory);
}

static int failures;

static void check(int holds, const char *what) {
    if (!holds)
        failures++, printf("%s (%d allocated, %d of them live)\n", what, made, lives);
}

/* --- what is called ----------------------------------------------------------------------------------------------- */

static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 127, 1009, 9999, 10000, 10001, 20000};
enum { SIZES = sizeof sizes / sizeof *sizes };
static float x[MOST], w[MOST];

static void fill(void) {
    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i % 13) / 8 - 0.5f, w[i] = (float)(i % 7) / 4 - 0.5f;
}

static float a_of(int i) {
    return x[i] + 1;
}
static float b_of(int i, int n) {
    return a_of(i) * a_of(n - 1 - i);
}
static float c_of(int i, int n) {
    return b_of(i, n) - b_of(n - 1 - i, n) + 2;
}

/* Whether chain's results for this size are those of the source. */
static int is_chain(const float *y, int n) {
    for (int i = 0; i < n; i++) {
        float apart = y[i] - c_of(i, n) - c_of(n - 1 - i, n);
        if (!(apart < 0.001f && apart > -0.001f))
            return 0;
    }
    return 1;
}

/* A function whose one size is n, with and without a workspace. */
typedef struct Function {
    const char *name;
    size_t (*size)(int64_t n);
    int (*in)(void *workspace, int64_t n, float *y);
    int (*plain)(int64_t n, float *y);
} Function;

static struct dense_packed_w *packed;

static size_t size_chosen(int64_t n) {
    return chosen_workspace_size(7, n);
}
static int in_chosen(void *space, int64_t n, float *y) {
    return chosen_in(space, 7, n, x, 3, y);
}
static int plain_chosen(int64_t n, float *y) {
    return chosen(7, n, x, 3, y);
}
static size_t size_dense(int64_t n) {
    return dense_workspace_size(n % 19, 3, n);
}
static int in_dense(void *space, int64_t n, float *y) {
    return dense_in(space, n % 19, 3, n, x, w, y);
}
static int plain_dense(int64_t n, float *y) {
    return dense(n % 19, 3, n, x, w, y);
}
static size_t size_packed(int64_t n) {
    return dense_packed_workspace_size(n % 19, 3, n);
}
static int in_packed(void *space, int64_t n, float *y) {
    dense_pack_w(3, n, w, packed);
    return dense_packed_in(space, n % 19, 3, n, x, packed, y);
}
static size_t size_versions(int64_t n) {
    return dense_versions_workspace_size(20, 3, n % 1024);
}
static int in_versions(void *space, int64_t n, float *y) {
    return dense_versions_in(space, 20, 3, n % 1024, x, w, y);
}
static int plain_versions(int64_t n, float *y) {
    return dense_versions(20, 3, n % 1024, x, w, y);
}
static size_t size_known(int64_t n) {
    return n == 1009 ? dense_known_workspace_size() : 0;
}
static int in_known(void *space, int64_t n, float *y) {
    return n == 1009 ? dense_known_in(space, x, w, y) : 0;
}
static int plain_known(int64_t n, float *y) {
    return n == 1009 ? dense_known(x, w, y) : 0;
}
#define OF_ONE_SIZE(name)                                                                                              \
    static int in_##name(void *space, int64_t n, float *y) {                                                           \
        return name##_in(space, n, x, y);                                                                              \
    }                                                                                                                  \
    static int plain_##name(int64_t n, float *y) {                                                                     \
        return name(n, x, y);                                                                                          \
    }
OF_ONE_SIZE(chain)
OF_ONE_SIZE(chain_versions)
OF_ONE_SIZE(plain)
OF_ONE_SIZE(blocks)

static const Function functions[] = {
    {"chain", chain_workspace_size, in_chain, plain_chain},
    {"chain_versions", chain_versions_workspace_size, in_chain_versions, plain_chain_versions},
    {"plain", plain_workspace_size, in_plain, plain_plain},
    {"blocks", blocks_workspace_size, in_blocks, plain_blocks},
    {"chosen", size_chosen, in_chosen, plain_chosen},
    {"dense", size_dense, in_dense, plain_dense},
    {"dense_packed", size_packed, in_packed, plain_dense},
    {"dense_versions", size_versions, in_versions, plain_versions},
    {"dense_known", size_known, in_known, plain_known},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* --- workspaces --------------------------------------------------------------------------------------------------- */

static size_t page;

/* Memory of so many bytes that ends, or begins, where none may be touched. */
static char *guarded(size_t bytes, int at_start) {
    size_t whole = (bytes + page - 1) / page * page;
    char *all = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || (whole && mprotect(all + page, whole, PROT_READ | PROT_WRITE)))
        abort();
    memset(all + page, 0x7f, whole);
    return all + page + (at_start ? 0 : whole - bytes);
}

static void drop(char *memory, size_t bytes) {
    char *begin = memory - (size_t)((uintptr_t)memory % page);
    munmap(begin - page, (bytes + page - 1) / page * page + 2 * page);
}

static void in_workspaces(void) {
    static float y[MOST], right[MOST];
    int any = 0;
    for (int f = 0; f < FUNCTIONS; f++)
        for (int s = 0; s < 2 * SIZES; s++) {
            int64_t n = sizes[s / 2];
            size_t bytes = functions[f].size(n);
            memset(y, 0, sizeof y), memset(right, 0, sizeof right);
            int wanted = functions[f].plain(n, right), before = made;
            char *space = guarded(bytes, s % 2);
            int status = functions[f].in(bytes ? space : NULL, n, y);
            if (status != wanted || memcmp(y, right, sizeof y))
                failures++, printf("%s of %d: status %d\n", functions[f].name, (int)n, status);
            check(made == before, functions[f].name);
            drop(space, bytes);
            any += bytes > 0;
        }
    check(any > 2 * SIZES, "some functions have temporaries");
}

static int all_are(const char *bytes, const char *end, char value) {
    while (bytes < end && *bytes == value)
        bytes++;
    return bytes == end;
}

/* The temporaries of 1008 numbers fill whole lines: what is beyond a workspace would be written. */
static void at_any_address(void) {
    static float y[MOST];
    enum { NUMBERS = 1008, LINE = 64, SHIFTS = 2 * LINE };
    size_t bytes = chain_workspace_size(NUMBERS);
    char *space = guarded(bytes + SHIFTS, 0);
    for (int shift = 0; shift <= SHIFTS; shift++) {
        char *own = space + shift, *line = own + (-(uintptr_t)own & (LINE - 1));
        memset(y, 0, sizeof y), memset(space, 0x5a, bytes + SHIFTS);
        check(chain_in(own, NUMBERS, x, y) == 0 && is_chain(y, NUMBERS), "a workspace begins anywhere");
        check(all_are(space, line, 0x5a), "temporaries begin with a line");
        check(all_are(own + bytes, space + bytes + SHIFTS, 0x5a), "and end in the workspace");
    }
    check(made == 0, "workspaces allocate nothing");
    check(chain_in(NULL, NUMBERS, x, y) == 0 && is_chain(y, NUMBERS) && made == 1, "without one there is the pool");
}

static void refused(void) {
    static float y[1] = {5};
    int64_t half = (int64_t)1 << 30;
    char space[64];
    check(chain_workspace_size(-1) == 0 && chain_in(space, -1, x, y) == TENSORC_BAD_SIZE, "negative sizes");
    check(chain_workspace_size(INT64_MAX) == 0 && chain_in(space, INT64_MAX, x, y) == TENSORC_BAD_SIZE, "large sizes");
    check(outer_workspace_size(half, half) == SIZE_MAX, "bytes that are no number");
    check(outer_in(space, half, half, x, w, y) == TENSORC_NO_MEMORY, "there is no such workspace");
    check(outer(half, half, x, w, y) == TENSORC_NO_MEMORY, "nor such memory");
    check(plain_workspace_size(20000) == 0, "nothing is needed");
    check(chosen_workspace_size(4, 5) > 0 && chosen_in(space, 4, 5, x, 4, y) == TENSORC_BAD_INDEX, "refused indices");
    refusals = 2;
    check(chain(1, x, y) == TENSORC_NO_MEMORY && y[0] == 5, "nothing is written without memory");
    check(chain(1, x, y) == 0 && is_chain(y, 1), "the next call may have it");
}

/* The number of threads may grow after the question for the size. */
static void more_threads(void) {
#ifdef _OPENMP
    static float y[MOST], right[MOST];
    omp_set_num_threads(2);
    size_t bytes = blocks_workspace_size(20000);
    check(blocks(20000, x, right) == 0, "blocks");
    char *space = guarded(bytes, 0);
    omp_set_num_threads(7);
    check(blocks_workspace_size(20000) == bytes, "sizes are the same from then on");
    check(blocks_in(space, 20000, x, y) == 0 && !memcmp(y, right, sizeof y), "blocks of more threads");
    omp_set_num_threads(1);
    check(blocks_in(space, 20000, x, y) == 0 && !memcmp(y, right, sizeof y), "blocks of one");
#endif
}

/* --- the pool ----------------------------------------------------------------------------------------------------- */

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* The fewest page faults of some rounds: other things that fault once do not count. */
static void warm(void) {
    static float y[MOST];
    long fewest = -1;
    check(chain_workspace_size(MOST) > MOST && dense_known_workspace_size() > MOST, "temporaries of megabytes");
    for (int round = 0; round < 4; round++) {
        long before = faults();
        int allocated = made;
        for (int call = 0; call < 20; call++)
            check(chain(MOST, x, y) == 0 && dense_known(x, w, y) == 0, "calls");
        long now = faults() - before;
        if (round && (fewest < 0 || now < fewest))
            fewest = now;
        check(made == allocated || round == 0, "a warm call allocates nothing");
    }
    check(fewest == 0, "a warm call has no page fault");
    check(lives == 1, "one block serves both");
    tensorc_release();
    check(lives == 0, "and is freed");
}

static void *call_often(void *number) {
    int at = *(int *)number;
    float *y = malloc(20000 * sizeof *y);
    for (int call = 0; call < 400 && y; call++) {
        int n = 1 + (at * 7919 + call * 104729) % 20000;
        memset(y, 0, 20000 * sizeof *y);
        int status = chain(n, x, y);
        check(status == 0 && is_chain(y, n), "a call beside others");
    }
    free(y);
    return NULL;
}

static void threads(void) {
    enum { THREADS = 12 };
    pthread_t ids[THREADS];
    int numbers[THREADS], count = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        count += !pthread_create(&ids[count], NULL, call_often, &numbers[i]);
    }
    for (int i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    check(count == THREADS && lives > 0 && lives <= THREADS, "at most a block for each thread waits");
    tensorc_release();
    check(lives == 0, "all are freed");
}

/* A call while another one is at work. */
static void call_inside(void) {
    static float z[200];
    check(chain(200, x, z) == 0 && is_chain(z, 200), "a call inside a call");
}

static void several_sizes(void) {
    static float y[MOST];
    check(chain(100, x, y) == 0 && made == 1 && chain(10000, x, y) == 0 && made == 2 && lives == 1,
          "a larger block takes the place of a smaller one");
    for (int s = 0; sizes[s] <= 10000; s++)
        check(chain(sizes[s], x, y) == 0 && is_chain(y, (int)sizes[s]) && made == 2, "smaller calls take it, too");
    interruption = call_inside;
    check(chain(20000, x, y) == 0 && is_chain(y, 20000) && lives == 2, "as many blocks wait as calls were at once");
    check(chain(20000, x, y) == 0 && is_chain(y, 20000) && chain(200, x, y) == 0 && lives == 2 && made == 4,
          "both stay");
    largest = chain_workspace_size(20000) - 63 + 64; /* the temporaries and the head of the block */
    check(chain(20100, x, y) == TENSORC_NO_MEMORY && lives == 0, "what waits is freed when memory is out");
    check(chain(100, x, y) == 0 && is_chain(y, 100), "later calls have memory");
    largest = (size_t)-1;
    refusals = 1;
    check(chain(20000, x, y) == 0 && is_chain(y, 20000), "and what was freed may serve");
}

/* More than a gigabyte does not wait. The kernel gives pages of zeros as they are read: these are 1.1 of address space,
 * and of memory what chain writes of it. */
static void limit(void) {
    int64_t n = (int64_t)140 << 20;
    float *from = mmap(NULL, (size_t)n * 4, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    float *to = mmap(NULL, (size_t)n * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(chain_workspace_size(n) > (size_t)1 << 30 && chain(n, from, to) == 0, "a call");
    check(made == 1 && lives == 0, "a block beyond the limit is freed at once");
}

/* Objects of one program have one pool. */
static void objects(void) {
#ifdef OTHER
    static float y[MOST];
    check(chain(20000, x, y) == 0 && other(20000, x, y) == 0 && chain(20000, x, y) == 0, "calls of two objects");
    check(made == 1 && lives == 1, "take one block");
    tensorc_release();
    check(lives == 0, "and one function frees it");
#endif
}

/* A child has what its parent had. */
static void forked(void) {
    static float y[MOST];
    check(chain(20000, x, y) == 0, "the parent's call");
    pid_t child = fork();
    if (child == 0) {
        int good = chain(20000, x, y) == 0 && is_chain(y, 20000) && made == 1;
        tensorc_release();
        _exit(good && lives == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check(status == 0, "the child takes a block of its own copy");
    check(chain(20000, x, y) == 0 && is_chain(y, 20000) && made == 1, "and the parent its own");
}

/* The object of the file is in a shared library, too, with a pool of its own. */
static void unloaded(void) {
#ifdef LIBRARY
    static float y[MOST];
    for (int again = 0; again < 2; again++) {
        void *library = dlopen("./libworkspace.so", RTLD_NOW | RTLD_LOCAL);
        int (*call)(int64_t, const float *, float *) = NULL;
        if (library)
            *(void **)&call = dlsym(library, "chain");
        check(call && call(20000, x, y) == 0 && is_chain(y, 20000) && lives == 1, "a library's call");
        check(library && dlclose(library) == 0 && lives == 0, "its end frees what it left");
    }
    check(chain(20000, x, y) == 0 && lives == 1, "the program's own");
#endif
}

/* The rest is seen by free, after main. */
static void __attribute__((destructor(101))) at_end(void) {
    if (lives > 0)
        printf("%d blocks are live at the end\n", lives), fflush(stdout), _exit(1);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"in", in_workspaces}, {"address", at_any_address}, {"refused", refused},     {"more", more_threads},
             {"warm", warm},        {"threads", threads},        {"sizes", several_sizes}, {"limit", limit},
             {"forked", forked},    {"unloaded", unloaded},      {"objects", objects}};

int main(int count, char **words) {
    fill();
    page = (size_t)sysconf(_SC_PAGESIZE);
    packed = malloc((size_t)dense_packed_w_size(3, 20000));
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (count > 1 && packed && !strcmp(words[1], modes[i].name)) {
            modes[i].run();
            free(packed);
            return failures > 0;
        }
    return 2;
}
