/* target.c - the targets that code can be made for: the rows of targets.def.
 *
 * "host" has a row here, to be listed; what it holds is found by the backend, on the machine.
 */
#include "lang/foreign.h"
#include "lang/machine.h"
#include "lang/program.h"
#include "lang/sequence.h"
#include "lang/spelling.h"

#include <limits.h>
#include <string.h>

enum {
#define FAMILY(name, ...) FAMILY_##name,
#include "lang/families.def"
#undef FAMILY
    FAMILY_COUNT
};

static const Family families[] = {
#define FAMILY(name_, title_, architecture_, ...)                                                                      \
    {.name = #name_, .title = title_, .architecture = architecture_, __VA_ARGS__},
#include "lang/families.def"
#undef FAMILY
};

const Family *family_row(int index) {
    return index < FAMILY_COUNT ? &families[index] : NULL;
}

static const Target targets[] = {
#define TARGET(name_, family_, backend_, triple_, cpu_, features_, shows_, machine_, summary_, ...)                    \
    {.name = name_,                                                                                                    \
     .family = &families[FAMILY_##family_],                                                                            \
     .level = name_,                                                                                                   \
     .backend = backend_,                                                                                              \
     .triple = triple_,                                                                                                \
     .cpu = cpu_,                                                                                                      \
     .features = features_,                                                                                            \
     .shows = shows_,                                                                                                  \
     .machine = &machines[MACHINE_##machine_],                                                                         \
     .summary = summary_,                                                                                              \
     __VA_ARGS__},
#include "lang/targets.def"
#undef TARGET
};

int target_count(void) {
    return (int)(sizeof targets / sizeof *targets);
}

const Target *target_row(int index) {
    return &targets[index];
}

const Target *target_find(const char *name) {
    for (int i = 0; i < target_count(); i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

const char *target_family(const char *name) {
    for (int i = 0; i < target_count(); i++)
        if (strcmp(targets[i].name, name) == 0 || strcmp(targets[i].family->name, name) == 0)
            return targets[i].family->name;
    return NULL;
}

static const struct {
    const char *name, *row;
} processors[] = {
#define PROCESSOR(name, row, ...) {name, row},
#include "lang/processors.def"
#undef PROCESSOR
};
enum { PROCESSORS = sizeof processors / sizeof *processors };

const char *processor_spelling(int index, const char *family) {
    if (index >= PROCESSORS)
        return NULL;
    return strcmp(target_family(processors[index].row), family) == 0 ? processors[index].name : "";
}

bool target_is_known(const char *name) {
    for (int i = 0; i < PROCESSORS; i++)
        if (strcmp(processors[i].name, name) == 0)
            return true;
    return target_family(name) != NULL;
}

const char *target_nearest(const char *name) {
    if (foreign_target(name))
        return foreign_target(name);
    const char *names[sizeof targets / sizeof *targets + PROCESSORS];
    for (int i = 0; i < target_count(); i++)
        names[i] = targets[i].name;
    for (int i = 0; i < PROCESSORS; i++)
        names[target_count() + i] = processors[i].name;
    return spelling_nearest(name, names, target_count() + PROCESSORS);
}

static const struct {
    const char *family, *spelling, *name;
} features[] = {
#define FEATURE(family, spelling, name) {family, spelling, name},
#include "lang/processor_features.def"
#undef FEATURE
};

const char *cpu_feature_name(const char *family, const char *spelling) {
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (strcmp(features[i].family, family) == 0 && strcmp(features[i].spelling, spelling) == 0)
            return features[i].name;
    return NULL;
}

const char *cpu_feature_spelling(int index, const char *family) {
    if (index >= (int)(sizeof features / sizeof *features))
        return NULL;
    return strcmp(features[index].family, family) == 0 ? features[index].spelling : "";
}

/* Features of a target are listed as LLVM lists them: +avx2,-sse4a,+fma. */
bool target_has_feature(const Target *target, const char *spelling) {
    const char *name = cpu_feature_name(target->family->name, spelling);
    size_t length = name ? strlen(name) : 0;
    for (const char *at = target->features; name && (at = strstr(at, name)); at += length)
        if (at > target->features && at[-1] == '+' && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

bool target_refines_quotients(const Target *target) {
    bool fuses = target_has_feature(target, "fma") || target_has_feature(target, "neon");
    return fuses && target->machine->divide_cost * target->vector_bytes / DIVIDED_BYTES >= SEQUENCE_REFINED;
}

/* Rows of one family stand in the order of their levels: each has what those before it have. "host" is no level. */
static bool target_includes(const Target *target, const Target *level) {
    return level && *level->triple && level->family == target->family && target->level &&
           level <= target_find(target->level);
}

/* A block that names no target fits each as a family does. */
int target_match(const Target *target, const char *name) {
    if (!name)
        return 1;
    if (strcmp(target->name, name) == 0)
        return INT_MAX;
    const Target *level = target_find(name);
    return target_includes(target, level) ? 2 + (int)(level - targets) : strcmp(target->family->name, name) == 0;
}

int target_lanes(const Target *target, ElementType type) {
    int lanes = target->vector_bytes / element_info[type].bytes;
    return lanes > 1 ? lanes : 1;
}

bool target_masks(const Target *target, int bytes) {
    return target->masked_bytes > 0 && bytes >= target->masked_bytes;
}

int target_line_bytes(const Target *target) {
    return target ? target->machine->line_bytes : machines[0].line_bytes;
}

/* F16C comes with AVX2 in every level and processor that we know; a list of features says it itself. */
bool target_converts_half(const Target *target) {
    return strstr(target->features, "+f16c") || (target->converts_half && !strstr(target->features, "-f16c"));
}

int target_threads(const Target *target) {
    return target->threads > 0 ? target->threads : target->machine->threads;
}

bool target_gathers(const Target *target, int bytes) {
    return target->gathers && bytes >= 4;
}
