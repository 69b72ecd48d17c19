/* argument_memory.c - how much memory the arguments of a run may take: what the machine has, or this process may
 * use. */
#include "backends/run/run.h"
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number that a file begins with; HUGE_VAL: none. */
static double read_number(const char *path) {
    FILE *file = fopen(path, "r");
    double number;
    bool found = file && fscanf(file, "%lf", &number) == 1;
    if (file)
        fclose(file);
    return found ? number : HUGE_VAL;
}

double memory_bytes(void) {
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        bytes = fmin(bytes, (double)limit.rlim_cur);
    bytes = fmin(bytes, read_number("/sys/fs/cgroup/memory.max")); /* the limit of a container */
    return fmin(bytes, read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

double arguments_bytes(const Program *program, const int64_t *sizes) {
    double bytes = 0;
    for (int i = 0; i < program->argument_count; i++) {
        ElementType type = argument_element_type(&program->arguments[i]);
        int64_t elements = argument_elements(program, sizes, i);
        bytes += elements < 0 ? HUGE_VAL : (double)elements * element_info[type].bytes;
    }
    return bytes;
}
