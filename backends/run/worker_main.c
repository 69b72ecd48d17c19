/* worker_main.c - tensorc-worker: the program that runs candidates on a machine without the compiler. */
#include "backends/run/run.h"

int main(int argc, char **argv) {
    return worker_main(argc, argv);
}
