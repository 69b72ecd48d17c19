/* target_host.c - targets by name: rows of targets.def, this machine, and the processors of processors.def.
 *
 * What this machine can do follows from the features that it shows, never from its name: virtual machines give the name
 * of one processor and the features of another.
 */
#include "backends/emit/emit.h"
#include "lang/machine.h"
#include "lang/program.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- processors by name --- */

typedef struct Processor {
    const char *name, *row;
    MachineModel machine;
    const char *features;
    const char *shows;
    bool stands_for_later;
} Processor;

static const Processor processors[] = {
#define PROCESSOR(name_, row_, machine_, ...)                                                                          \
    {.name = name_, .row = row_, .machine = MACHINE_##machine_, .features = __VA_ARGS__},
#include "lang/processors.def"
#undef PROCESSOR
};

static const Processor *processor_named(const char *name) {
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (strcmp(processors[i].name, name) == 0)
            return &processors[i];
    return NULL;
}

/* --- this machine --- */

static bool has(const char *features, const char *name) {
    size_t length = strlen(name);
    for (const char *at = features; (at = strstr(at, name)); at += length)
        if (at > features && at[-1] == '+' && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static bool has_all(Arena *arena, const char *features, const char *names) {
    for (const char *at = names; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (!has(features, arena_strndup(arena, at, length)))
            return false;
        at += length;
    }
    return true;
}

static bool is_level(const char *cpu) {
    for (int i = 0; i < target_count(); i++)
        if (strcmp(target_row(i)->cpu, cpu) == 0)
            return true;
    return false;
}

/* The processor that LLVM found, or a later one that the features show: see processors.def. */
static const char *processor_name(Arena *arena, const char *found, const char *features) {
    const Processor *known = processor_named(found), *end = processors + sizeof processors / sizeof *processors;
    bool vague = known ? known->stands_for_later : is_level(found);
    for (const Processor *p = known ? known : processors; vague && p < end; p++)
        if (p->shows && has_all(arena, features, p->shows))
            found = p->name;
    return arena_strdup(arena, found);
}

static int64_t parse_cache_size(const char *text) {
    char *end;
    int64_t size = strtoll(text, &end, 10);
    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

static bool read_line(const char *path, char *line, int bytes) {
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool read = fgets(line, bytes, file) != NULL;
    fclose(file);
    return read;
}

/* One of the caches that Linux lists: its level, and its bytes unless it is for instructions alone. */
static bool cache_entry(int entry, int *level, int64_t *bytes) {
    char path[128], level_text[64], type[64], size[64];
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    snprintf(path, sizeof path, "%s%d/level", folder, entry);
    if (!read_line(path, level_text, sizeof level_text))
        return false;
    snprintf(path, sizeof path, "%s%d/type", folder, entry);
    bool known = read_line(path, type, sizeof type);
    snprintf(path, sizeof path, "%s%d/size", folder, entry);
    known &= read_line(path, size, sizeof size);
    *level = atoi(level_text);
    *bytes = known && strncmp(type, "Instruction", 11) != 0 ? parse_cache_size(size) : 0;
    return true;
}

/* A virtual machine shows the whole last cache, though it has the share of a few processors of it: no processor has a
 * larger one than this. */
static const int64_t share_most = (int64_t)16 << 20;

static int64_t own_share(int64_t bytes) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t most = share_most * (processors > 0 ? processors : 1);
    return bytes < most ? bytes : most;
}

/* A cache that neither Linux nor the C library tells keeps the size of the machine's row. */
static void find_caches(Machine *machine) {
    static const int names[3] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    int64_t found[3] = {0}, bytes;
    for (int entry = 0, level; cache_entry(entry, &level, &bytes); entry++)
        if (level >= 1 && level <= 3 && bytes > 0)
            found[level - 1] = bytes;
    for (int i = 0; i < 3; i++) {
        long told = found[i] ? 0 : sysconf(names[i]);
        if (found[i] || told > 0)
            machine->cache_bytes[i] = found[i] ? found[i] : told;
    }
    machine->cache_bytes[LAST_CACHE] = own_share(machine->cache_bytes[LAST_CACHE]);
}

/* The highest level of the family with all features present. */
static const Target *level_of_host(Arena *arena, const char *triple, const char *features) {
    const Target *level = NULL;
    for (int i = 0; i < target_count(); i++) {
        const Target *row = target_row(i);
        const char *architecture = row->family->architecture;
        if (*row->triple && strncmp(triple, architecture, strlen(architecture)) == 0 &&
            has_all(arena, features, row->shows))
            level = row;
    }
    return level;
}

static char *take_message(Arena *arena, char *message) {
    char *copy = arena_strdup(arena, message ? message : "");
    LLVMDisposeMessage(message);
    return copy;
}

static const char *joined(Arena *arena, const char *features, const char *more) {
    return !*more ? features : !*features ? more : arena_printf(arena, "%s,%s", features, more);
}

/* This machine, or the one that $TENSORC_HOST makes it stand for. */
typedef struct Host {
    const char *triple, *cpu, *features;
    const Target *level; /* NULL: no level, or an unknown name */
    const Machine *machine;
    bool stands_in;
} Host;

/* The features of `named` that `here` has, and all that `here` lacks: they reduce a processor's name to what the
 * machine has. */
static const char *features_in_common(Arena *arena, const char *named, const char *here) {
    const char *common = "";
    for (const char *at = named; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        const char *feature = arena_strndup(arena, at, length);
        if (*feature == '+' && has(here, feature + 1))
            common = joined(arena, common, feature);
        at += length;
    }
    for (const char *at = here; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (*at == '-')
            common = joined(arena, common, arena_strndup(arena, at, length));
        at += length;
    }
    return common;
}

/* The machine known by its features; else a processor of the level that was found; else any of that level. */
static const Machine *machine_of_host(Arena *arena, const Host *host) {
    for (int m = 0; m < MACHINE_COUNT; m++)
        if (machines[m].shows && has_all(arena, host->features, machines[m].shows) &&
            (!machines[m].lacks || !has(host->features, machines[m].lacks)))
            return &machines[m];
    const Processor *processor = processor_named(host->cpu);
    bool known = processor && target_find(processor->row) == host->level;
    return known ? &machines[processor->machine] : host->level ? host->level->machine : NULL;
}

/* Makes a processor or row by name take the place of this machine, which must be able to run its code: it keeps the
 * name's machine model, and loses features that are missing here. */
static void stand_in(Arena *arena, Host *host, const char *name) {
    const Processor *processor = processor_named(name);
    const Target *row = target_find(processor ? processor->row : name), *level = host->level;
    host->level = NULL;
    if (!row || !*row->triple || !level || row->family != level->family)
        return;
    const char *features = processor ? joined(arena, row->features, processor->features) : row->features;
    host->cpu = processor ? processor->name : row->cpu;
    host->stands_in = true;
    host->level = row <= level ? row : level;
    host->machine = processor ? &machines[processor->machine] : row->machine;
    host->features = features_in_common(arena, features, host->features);
}

static Host find_host(Arena *arena) {
    const char *name = getenv("TENSORC_HOST");
    Host host = {.triple = take_message(arena, LLVMGetDefaultTargetTriple()),
                 .features = take_message(arena, LLVMGetHostCPUFeatures())};
    host.cpu = processor_name(arena, take_message(arena, LLVMGetHostCPUName()), host.features);
    host.level = level_of_host(arena, host.triple, host.features);
    host.machine = machine_of_host(arena, &host);
    if (name && *name)
        stand_in(arena, &host, name);
    return host;
}

static Target *host_target(Arena *arena, int threads) {
    Host host = find_host(arena);
    const Target *row = target_find("host");
    if (!host.level || !row)
        return NULL;
    Target *target = ARENA_NEW(arena, Target);
    Machine *machine = ARENA_NEW(arena, Machine);
    *target = *host.level;
    *machine = *host.machine;
    target->name = row->name;
    target->summary = row->summary;
    target->triple = host.triple;
    target->features = host.features;
    target->cpu = host.cpu;
    target->threads = threads;
    target->host = true;
    target->machine = machine;
    if (!host.stands_in)
        find_caches(machine);
    return target;
}

/* --- by name --- */

/* Whether this machine runs the code of a row: one of its family, not above its level (a family's rows are in the order
 * of levels). Processors by name may have anything: only "host" is known to run. */
static bool host_runs(Arena *arena, const Target *row) {
    const Target *level = find_host(arena).level;
    return level && level->family == row->family && row <= level;
}

/* A row, a processor or this machine; NULL: unknown. */
static Target *target_named(Arena *arena, const char *name, int threads) {
    if (strcmp(name, "host") == 0)
        return host_target(arena, threads);
    const Processor *processor = processor_named(name);
    const Target *row = target_find(processor ? processor->row : name);
    if (!row)
        return NULL;
    Target *target = ARENA_NEW(arena, Target);
    *target = *row;
    target->threads = threads;
    target->host = !processor && host_runs(arena, row);
    if (processor) {
        target->name = target->cpu = arena_strdup(arena, name);
        target->features = joined(arena, row->features, processor->features);
        target->machine = &machines[processor->machine];
        target->summary = "";
    }
    return target;
}

/* NAME+FEATURE+FEATURE: a target with more features than its name says. */
const Target *target_make(Arena *arena, const char *name, int threads) {
    size_t length = strcspn(name, "+");
    Target *target = target_named(arena, arena_strndup(arena, name, length), threads);
    const char *host = find_host(arena).features;
    for (const char *at = name + length; target && *at;) {
        at++;
        length = strcspn(at, "+");
        const char *feature = cpu_feature_name(target->family->name, arena_strndup(arena, at, length));
        if (!feature)
            return NULL;
        target->features = joined(arena, target->features, arena_printf(arena, "+%s", feature));
        target->host &= has(host, feature);
        at += length;
    }
    return target;
}

const char *target_microarchitecture(const Target *target) {
    return target->cpu;
}
