/* spend.c FILE COMMAND... - runs a command and appends to the file what it took: seconds by the clock, and the most
 * memory of it or of one of its processes, in kilobytes. Ends as the command ends.
 */
#include "examples/measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct rusage used;
    int status = 127;
    if (argc < 3)
        return 2;
    double start = seconds_now();
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 127;
    FILE *file = fopen(argv[1], "a");
    if (!file)
        return 127;
    fprintf(file, "%.3f\t%ld\n", seconds_now() - start, used.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
