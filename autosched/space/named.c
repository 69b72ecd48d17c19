/* named.c - which stages of a program a schedule names: themselves, their tensors, their loops, or what was made of
 * these.
 *
 * A name that could mean something else as well (a dimension in a layout) counts as a stage's.
 */
#include "autosched/space/groups.h"

#include <string.h>

typedef struct Made {
    const char *name;
    int stage; /* -1: of none */
} Made;

typedef struct Naming {
    Arena *arena;
    const Program *program;
    bool *named;
    LIST(Made) made; /* names that statements returned */
} Naming;

static int stage_number(const Naming *naming, const char *name) {
    const Program *program = naming->program;
    const Stage *found = program_find_stage(program, name);
    for (int s = program->stage_count - 1; s >= 0 && !found; s--)
        for (int c = 0; c < program->stages[s]->component_count; c++)
            if (strcmp(program->stages[s]->components[c].tensor->name, name) == 0)
                found = program->stages[s];
    return found ? program_stage_index(program, found) : -1;
}

/* The stage that a name means: returned by a statement, STAGE, or STAGE.LOOP, the longest stage's name first. */
static int stage_of_name(const Naming *naming, const char *name) {
    for (int m = naming->made.count - 1; m >= 0; m--)
        if (strcmp(naming->made.items[m].name, name) == 0)
            return naming->made.items[m].stage;
    int stage = stage_number(naming, name);
    for (size_t length = strlen(name); length > 0 && stage < 0; length--) {
        if (name[length] != '.')
            continue;
        const char *prefix = arena_strndup(naming->arena, name, length);
        for (int m = naming->made.count - 1; m >= 0 && stage < 0; m--)
            stage = strcmp(naming->made.items[m].name, prefix) == 0 ? naming->made.items[m].stage : -1;
        stage = stage < 0 ? stage_number(naming, prefix) : stage;
    }
    return stage;
}

/* Marks what the argument names; *first becomes the first stage that is. */
static void note_argument(Naming *naming, const PrimArg *arg, int *first) {
    int stage = arg->kind == ARG_NAME ? stage_of_name(naming, arg->name) : -1;
    if (stage >= 0)
        naming->named[stage] = true;
    *first = *first < 0 ? stage : *first;
    for (int i = 0; i < arg->count; i++)
        note_argument(naming, &arg->items[i], first);
}

/* What reads a tensor that the statement copies or inlines reads something else from then on, which statements of a
 * group would not name. */
static void note_readers(Naming *naming, const Prim *prim) {
    const Program *program = naming->program;
    bool copies = prim->op == PRIM_CACHE_READ && !prim_keyword(prim, "reader");
    if (!copies && prim->op != PRIM_INLINE)
        return;
    for (int s = 0; s < program->stage_count; s++)
        EACH_STAGE_READ(read, program->stages[s])
            naming->named[s] |= strcmp(read->tensor->name, prim->args[0].name) == 0;
}

bool *schedule_names_stages(Arena *arena, const Program *program, const Schedule *schedule) {
    Naming naming = {.arena = arena, .program = program};
    naming.named = ARENA_ARRAY(arena, bool, program->stage_count + 1);
    for (int p = 0; p < schedule->count; p++) {
        const Prim *prim = &schedule->prims[p];
        int first = -1;
        for (int a = 0; a < prim->arg_count; a++)
            note_argument(&naming, &prim->args[a], &first);
        note_readers(&naming, prim);
        for (int r = 0; r < prim->result_count; r++)
            list_push(arena, &naming.made, ((Made){prim->results[r], first}));
    }
    return naming.named;
}
