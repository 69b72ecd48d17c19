/* backends.c - the table of backends. A new backend is a folder with its emit function and a row here; rows of
 * targets.def name it.
 */
#include "backends/backends.h"
#include "backends/llvm/llvm.h"
#include "lang/diag.h"
#include <string.h>

static const Backend backends[] = {
    {"llvm", llvm_emit, &worker_runner, CAN_ASSEMBLY | CAN_LLVM | CAN_DEBUG | CAN_PARALLEL | CAN_INSTRS},
};

const Backend *backend_of(const Target *target) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i].name, target->backend) == 0)
            return &backends[i];
    INTERNAL_ERROR("target %s names the backend '%s', which is not there", target->name, target->backend);
}

bool backend_can(const Backend *backend, Ability ability) {
    return ability == CAN_RUN ? backend->runner != NULL : backend->can & ability;
}

const char *backend_lacks(Arena *arena, const Backend *backend, unsigned wanted) {
    static const struct {
        Ability ability;
        const char *words;
    } abilities[] = {{CAN_ASSEMBLY, "makes no assembly (-S)"},
                     {CAN_LLVM, "makes no LLVM IR (-emit-llvm)"},
                     {CAN_DEBUG, "writes no line numbers (-g)"},
                     {CAN_PARALLEL, "has no parallel loops (--threads)"},
                     {CAN_INSTRS, "has no hardware instructions of the source (instr)"},
                     {CAN_RUN, "makes code that this machine cannot run (-run)"}};
    for (size_t i = 0; i < sizeof abilities / sizeof *abilities; i++)
        if (wanted & abilities[i].ability && !backend_can(backend, abilities[i].ability))
            return arena_printf(arena, "the backend '%s' %s", backend->name, abilities[i].words);
    return NULL;
}
