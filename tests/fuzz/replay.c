/* replay.c - runs a target without libFuzzer: over files, over its own seeds, and over seeded changes of them.
 *
 *     TARGET [--mutations=N] [--seed=S] FILE...      each file and each seed as it is and N times changed
 *     TARGET --seeds=FOLDER                          writes the seeds
 *
 * An input that does not come back ends the process, as one that takes ten seconds does; it is left in the file
 * NAME.crash beside the program.
 */
#include "target.h"
#include "tests/unit/schedules.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_SECONDS = 10 };

typedef struct Replay {
    Arena *arena;
    LIST(Text) inputs;
    int mutations;
    Random random;
    const char *folder, *crash;
    const char *bytes; /* of the input at hand */
    size_t size;
    long runs;
} Replay;

static Replay replay = {.random = {1}};

static void keep(void *context, const void *bytes, size_t size) {
    Replay *r = context;
    Text text = {.arena = r->arena};
    text_add_bytes(&text, bytes, size);
    list_push(r->arena, &r->inputs, text);
}

static void write_file(void *context, const void *bytes, size_t size) {
    Replay *r = context;
    char path[4200];
    snprintf(path, sizeof path, "%s/seed-%ld", r->folder, r->runs++);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        exit(2);
}

static void read_file(Replay *r, const char *path) {
    char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    keep(r, bytes, size);
}

/* Before the process ends by a signal, or by an error that the compiler calls internal. */
static void save_crash(void) {
    FILE *file = replay.bytes ? fopen(replay.crash, "wb") : NULL;
    if (!file)
        return;
    fwrite(replay.bytes, 1, replay.size, file);
    fclose(file);
    fprintf(stderr, "the input is in %s\n", replay.crash);
}

static void on_signal(int number) {
    save_crash();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch(void) {
    static const int signals[] = {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], on_signal);
    atexit(save_crash);
}

/* An exact copy, so that what is read behind it is seen. */
static void run(Replay *r, const char *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    r->bytes = (const char *)copy;
    r->size = size;
    alarm(INPUT_SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
    r->runs++;
}

static size_t below(Replay *r, size_t limit) {
    return limit ? (size_t)random_below(&r->random, (int64_t)limit) : 0;
}

/* Bytes changed, dropped, repeated, or taken from another input. */
static size_t mutate(Replay *r, char *bytes, size_t size, size_t capacity) {
    const Text *other = &r->inputs.items[below(r, (size_t)r->inputs.count)];
    size_t at = below(r, size), count = 1 + below(r, 12), from = below(r, other->length);
    if (count > size - at)
        count = size - at;
    switch (below(r, 5)) {
    case 0:
        if (size)
            bytes[at] = (char)below(r, 256);
        return size;
    case 1:
        if (size)
            bytes[at] = (char)(bytes[at] ^ 1 << below(r, 7));
        return size;
    case 2: memmove(bytes + at, bytes + at + count, size - at - count); return size - count;
    case 3:
        if (size + count > capacity)
            return size;
        memmove(bytes + at + count, bytes + at, size - at);
        return size + count;
    default:
        count = 1 + below(r, 24);
        if (count > other->length - from)
            count = other->length - from;
        if (size + count > capacity)
            return size;
        memmove(bytes + at + count, bytes + at, size - at);
        memcpy(bytes + at, other->text + from, count);
        return size + count;
    }
}

static void run_mutations(Replay *r, const Text *input) {
    size_t capacity = input->length + 4096;
    char *bytes = malloc(capacity);
    for (int i = 0; i < r->mutations; i++) {
        size_t size = input->length;
        memcpy(bytes, input->text, size);
        for (size_t changes = 1 + below(r, 4); changes > 0; changes--)
            size = mutate(r, bytes, size, capacity);
        run(r, bytes, size);
    }
    free(bytes);
}

int main(int argc, char **argv) {
    Replay *r = &replay;
    r->arena = arena_new();
    r->crash = arena_printf(r->arena, "%s.crash", argv[0]);
    watch();
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--mutations=", 12))
            r->mutations = atoi(argv[i] + 12);
        else if (!strncmp(argv[i], "--seed=", 7))
            r->random.state = strtoull(argv[i] + 7, NULL, 10);
        else if (!strncmp(argv[i], "--seeds=", 8))
            r->folder = argv[i] + 8;
        else
            read_file(r, argv[i]);
    if (r->folder) {
        write_seeds(write_file, r);
        return 0;
    }
    write_seeds(keep, r);
    int count = r->inputs.count;
    for (int i = 0; i < count; i++) {
        run(r, r->inputs.items[i].text, r->inputs.items[i].length);
        run_mutations(r, &r->inputs.items[i]);
    }
    r->bytes = NULL;
    printf("%ld inputs\n", r->runs);
    return 0;
}
