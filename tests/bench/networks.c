/* networks.c - times the function of a shared object that was made of a network, as a program that calls it would:
 *
 *     networks-program FILE.so FUNCTION INPUT RESULT CALLS
 *
 * INPUT: a file with the bytes of its one argument. RESULT: one that gets those of its result, whose size the file
 * FUNCTION.shape beside the object says. Prints the least processor time of a call, the median time by the clock, both
 * in milliseconds, and the page faults of the last call.
 */
#include "times.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double clock_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static long page_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

static void *whole_file(const char *path, size_t bytes) {
    FILE *file = fopen(path, "rb");
    void *contents = calloc(bytes ? bytes : 1, 1);
    if (!file || !contents || fread(contents, 1, bytes, file) != bytes) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(2);
    }
    fclose(file);
    return contents;
}

static void read_shape(const char *function, size_t *input, size_t *result) {
    char path[4096];
    snprintf(path, sizeof path, "%s.shape", function);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%zu %zu", input, result) != 2) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(2);
    }
    fclose(file);
}

int main(int count, char **arguments) {
    size_t input_bytes, result_bytes;
    if (count != 6)
        return 2;
    void *object = dlopen(arguments[1], RTLD_NOW);
    int (*function)(const void *, void *) = NULL;
    if (object)
        *(void **)&function = dlsym(object, arguments[2]);
    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    read_shape(arguments[2], &input_bytes, &result_bytes);
    void *input = whole_file(arguments[3], input_bytes), *result = calloc(result_bytes, 1);
    int calls = atoi(arguments[5]);
    double *clock = calloc((size_t)calls, sizeof *clock), least = 1e30;
    long faults = 0;
    for (int c = 0; c < calls; c++) {
        double used = microseconds();
        clock[c] = clock_milliseconds();
        faults = page_faults();
        if (function(input, result))
            return 1;
        faults = page_faults() - faults;
        clock[c] = clock_milliseconds() - clock[c];
        used = microseconds() - used;
        least = used < least ? used : least;
    }
    sort_times(clock, calls);
    printf("%.3f %.3f %ld\n", least / 1e3, clock[calls / 2], faults);
    FILE *file = fopen(arguments[4], "wb");
    return !file || fwrite(result, 1, result_bytes, file) != result_bytes || fclose(file);
}
