/* partitions.c - the object of a long module: its functions are shared out among partitions, several processes
 * generate the code of one partition each, and the objects become one (merge.c).
 *
 * Needs a module that is optimized. The partitions depend on the module alone, so the object is the same whatever the
 * number of processes. What one partition has and others use is a hidden symbol among them, and a local one of the
 * object. The first partition also has what is no function: constants and the assembly of the runtime.
 *
 * A partition whose process cannot be started is generated here, of a copy of the module.
 */
#include "backends/llvm/code.h"
#include "lang/child.h"
#include "lang/files.h"
#include "lang/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <llvm-c/Comdat.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* LLVM instructions of a partition, which take some tenths of a second. More partitions make no compilation shorter. */
enum { PARTITION_INSTRUCTIONS = 8192, MOST_PARTITIONS = 32 };

typedef struct Partition {
    int number;
    pid_t pid;  /* of the process that generates it; 0: none does now */
    int output; /* of the process, to be read */
    Text object;
} Partition;

typedef struct Partitions {
    const Code *code;
    LLVMTargetMachineRef machine;
    LIST(int) function_partitions, alias_partitions; /* of all functions and aliases of the module, in its order */
    Partition items[MOST_PARTITIONS];
    int count;
    const char *why;        /* the first failure, or NULL */
    char *const *diagnosed; /* what LLVM's diagnostics reported, or NULL */
} Partitions;

/* --- sharing out -------------------------------------------------------------------------------------------------- */

static int64_t module_instructions(LLVMModuleRef module) {
    int64_t count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        count += instruction_count(f);
    return count;
}

static int partition_of_function(const Partitions *partitions, LLVMValueRef function) {
    int i = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(partitions->code->module); f != function; f = LLVMGetNextFunction(f))
        i++;
    return partitions->function_partitions.items[i];
}

/* A partition has the next functions until it has its part of the instructions; none is without a function that has
 * code. */
static void share_out(Partitions *partitions, int64_t instructions) {
    LLVMModuleRef module = partitions->code->module;
    Arena *arena = partitions->code->arena;
    int64_t wanted = instructions / PARTITION_INSTRUCTIONS, before = 0, part = 0;
    wanted = wanted < MOST_PARTITIONS ? wanted : MOST_PARTITIONS;
    partitions->count = 1;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        int64_t next = before * wanted / instructions;
        if (next > part && !LLVMIsDeclaration(f)) {
            partitions->count++;
            part = next;
        }
        list_push(arena, &partitions->function_partitions, partitions->count - 1);
        before += instruction_count(f);
    }
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(module); a; a = LLVMGetNextGlobalAlias(a))
        list_push(arena, &partitions->alias_partitions, partition_of_function(partitions, LLVMAliasGetAliasee(a)));
}

static void make_hidden(LLVMValueRef symbol) {
    LLVMLinkage linkage = LLVMGetLinkage(symbol);
    if (linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage)
        return;
    LLVMSetLinkage(symbol, LLVMExternalLinkage);
    LLVMSetVisibility(symbol, LLVMHiddenVisibility);
}

static void make_all_hidden(LLVMModuleRef module) {
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        make_hidden(f);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        make_hidden(g);
}

/* --- the code of a partition -------------------------------------------------------------------------------------- */

static void leave_to_others(LLVMValueRef symbol) {
    if (LLVMIsDeclaration(symbol))
        return;
    LLVMSetComdat(symbol, NULL);
    LLVMSetLinkage(symbol, LLVMAvailableExternallyLinkage);
}

/* LLVM-C cannot delete an alias. One that nothing uses goes if it names a function that is there. */
static void drop_alias(LLVMValueRef alias, LLVMValueRef function) {
    LLVMAliasSetAliasee(alias, function);
    LLVMSetVisibility(alias, LLVMDefaultVisibility);
    LLVMSetLinkage(alias, LLVMInternalLinkage);
}

/* Takes all out of the module that others have. */
static bool reduce(const Partitions *partitions, LLVMModuleRef module, int number, char **why) {
    int i = 0;
    LLVMValueRef own = NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (partitions->function_partitions.items[i++] != number)
            leave_to_others(f);
        else if (!LLVMIsDeclaration(f))
            own = f;
    }
    i = 0;
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(module); a; a = LLVMGetNextGlobalAlias(a))
        if (partitions->alias_partitions.items[i++] != number)
            drop_alias(a, own);
    if (number > 0) {
        for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
            leave_to_others(g);
        LLVMSetModuleInlineAsm2(module, "", 0);
    }
    *why = run_passes(module, partitions->machine, "elim-avail-extern,globaldce");
    return !*why;
}

/* The object of a partition, of a module that is changed; NULL with *why, which LLVM made. LLVM's code depends on the
 * order of uses, which a copy has as the code stands: so it is that of a copy, whether this module was one or not. */
static LLVMMemoryBufferRef generate(const Partitions *partitions, LLVMModuleRef module, int number, char **why) {
    LLVMMemoryBufferRef object = NULL;
    if (!reduce(partitions, module, number, why))
        return NULL;
    LLVMModuleRef copy = LLVMCloneModule(module);
    cut_long_blocks(copy, partitions->code->target);
    bool failed = LLVMTargetMachineEmitToMemoryBuffer(partitions->machine, copy, LLVMObjectFile, why, &object);
    LLVMDisposeModule(copy);
    if (failed)
        return NULL;
    if (!*partitions->diagnosed)
        return object;
    LLVMDisposeMemoryBuffer(object);
    *why = LLVMCreateMessage(*partitions->diagnosed);
    return NULL;
}

static void generate_here(Partitions *partitions, Partition *partition) {
    char *why = NULL;
    LLVMModuleRef copy = LLVMCloneModule(partitions->code->module);
    LLVMMemoryBufferRef object = generate(partitions, copy, partition->number, &why);
    if (object) {
        text_add_bytes(&partition->object, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
        LLVMDisposeMemoryBuffer(object);
    } else
        partitions->why = arena_strdup(partitions->code->arena, why);
    LLVMDisposeMessage(why);
    LLVMDisposeModule(copy);
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

/* In the process of a partition: writes the object and ends with 0, or with 1 after what LLVM said. It ends with the
 * compiler. */
_Noreturn static void be_partition(const Partitions *partitions, const Partition *partition, pid_t parent, int output) {
    child_begin(parent);
    char *why = NULL;
    LLVMMemoryBufferRef object = generate(partitions, partitions->code->module, partition->number, &why);
    bool written = object ? write_all(output, LLVMGetBufferStart(object), LLVMGetBufferSize(object))
                          : write_all(output, why, strlen(why));
    _exit(object && written ? 0 : 1);
}

static bool start_process(Partitions *partitions, Partition *partition) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        be_partition(partitions, partition, parent, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    partition->pid = pid;
    partition->output = ends[0];
    return true;
}

/* Each partition by a process of its own; where none can be started, here. */
static void start_partition(Partitions *partitions, Partition *partition) {
    if (start_process(partitions, partition))
        return;
    show(stderr, "tensorc: warning: a part of the code is generated without a process of its own: %s\n",
         strerror(errno));
    generate_here(partitions, partition);
}

static void end_process(Partitions *partitions, Partition *partition) {
    int status = 0;
    close(partition->output);
    while (waitpid(partition->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    partition->pid = 0;
    if (partitions->why || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return;
    Arena *arena = partitions->code->arena;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        partitions->why =
            arena_strndup(arena, partition->object.text ? partition->object.text : "", partition->object.length);
    else if (WIFEXITED(status))
        partitions->why =
            arena_printf(arena, "a process that generates code ended with status %d", WEXITSTATUS(status));
    else
        partitions->why = arena_printf(arena, "a process that generates code was ended by signal %d", WTERMSIG(status));
}

/* Reads what there is. */
static void read_output(Partitions *partitions, Partition *partition) {
    char bytes[1 << 16];
    ssize_t count = read(partition->output, bytes, sizeof bytes);
    if (count > 0)
        text_add_bytes(&partition->object, bytes, (size_t)count);
    else if (count == 0 || errno != EINTR)
        end_process(partitions, partition);
}

static int running_count(const Partitions *partitions) {
    int running = 0;
    for (int i = 0; i < partitions->count; i++)
        running += partitions->items[i].pid != 0;
    return running;
}

static void wait_for_output(Partitions *partitions) {
    struct pollfd waits[MOST_PARTITIONS];
    Partition *of[MOST_PARTITIONS];
    int count = 0;
    for (int i = 0; i < partitions->count; i++)
        if (partitions->items[i].pid) {
            waits[count] = (struct pollfd){.fd = partitions->items[i].output, .events = POLLIN};
            of[count++] = &partitions->items[i];
        }
    if (poll(waits, (nfds_t)count, -1) < 0 && errno != EINTR)
        waits[0].revents = POLLIN; /* then each in its turn */
    for (int i = 0; i < count; i++)
        if (waits[i].revents)
            read_output(partitions, of[i]);
}

static void generate_all(Partitions *partitions, int jobs) {
    int started = 0;
    while (!partitions->why && (started < partitions->count || running_count(partitions) > 0)) {
        if (started < partitions->count && running_count(partitions) < jobs)
            start_partition(partitions, &partitions->items[started++]);
        else
            wait_for_output(partitions);
    }
    for (int i = 0; i < partitions->count; i++)
        if (partitions->items[i].pid) {
            kill(partitions->items[i].pid, SIGKILL);
            end_process(partitions, &partitions->items[i]);
        }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static char *merge(Partitions *partitions, size_t *bytes) {
    char *objects[MOST_PARTITIONS];
    size_t counts[MOST_PARTITIONS];
    for (int i = 0; i < partitions->count; i++) {
        objects[i] = partitions->items[i].object.text;
        counts[i] = partitions->items[i].object.length;
    }
    char *merged = objects_merge(objects, counts, partitions->count, bytes);
    if (!merged)
        partitions->why = "the parts of the code do not make an object";
    return merged;
}

int64_t instructions_to_share(const Code *code) {
    bool whole = code->options->debug || code->options->candidate || code->options->kind != EMIT_OBJECT;
    int64_t count = whole ? 0 : module_instructions(code->module);
    return count < 2 * PARTITION_INSTRUCTIONS ? 0 : count;
}

char *generate_partitions(const Code *code, LLVMTargetMachineRef machine, int64_t instructions, char *const *diagnosed,
                          size_t *bytes, const char **why) {
    Partitions partitions = {.code = code, .machine = machine, .diagnosed = diagnosed};
    make_all_hidden(code->module);
    share_out(&partitions, instructions);
    for (int i = 0; i < partitions.count; i++)
        partitions.items[i] = (Partition){.number = i, .object.arena = code->arena};
    generate_all(&partitions, code->options->jobs > 1 ? code->options->jobs : 1);
    char *object = partitions.why ? NULL : merge(&partitions, bytes);
    *why = partitions.why;
    return object;
}
