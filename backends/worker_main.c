/* worker_main.c - tensorc-worker: the program that runs candidates on a machine without the compiler. */
#include "backends/backends.h"

int main(int argc, char **argv) {
    return worker_main(argc, argv);
}
