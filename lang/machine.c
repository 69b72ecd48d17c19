/* machine.c - see machine.h. */
#include "lang/machine.h"

const Machine machines[MACHINE_COUNT] = {
#define MACHINE(name_, summary_, ...) [MACHINE_##name_] = {.name = #name_, .summary = summary_, __VA_ARGS__},
#include "lang/machines.def"
#undef MACHINE
};
