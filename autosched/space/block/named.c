/* named.c - which stages of a program a schedule names: themselves, their tensors, their loops, or what was made of
 * these.
 *
 * A name that could mean something else as well (a dimension in a layout) counts as a stage's.
 */
#include "autosched/space/block/block.h"
#include "lang/map.h"

#include <string.h>

typedef struct MadeName {
    int stage; /* -1: of none */
} MadeName;

/* The stages that read a tensor. */
typedef struct ReadingStages {
    LIST(int) stages;
} ReadingStages;

typedef struct Naming {
    Arena *arena;
    const Program *program;
    bool *named;
    Map made;        /* from names that statements returned to MadeName */
    Map by_tensor;   /* from the names of tensors to the last Stage that writes one */
    Map readers;     /* from the names of tensors to ReadingStages: */
    bool read_lists; /* they are listed */
} Naming;

static void list_tensors(Naming *naming) {
    for (int s = 0; s < naming->program->stage_count; s++) {
        const Stage *stage = naming->program->stages[s];
        for (int c = 0; c < stage->component_count; c++)
            name_map_set(naming->arena, &naming->by_tensor, stage->components[c].tensor->name, (void *)stage);
    }
}

static void list_reader(Naming *naming, const char *name, int stage) {
    ReadingStages *readers = name_map_get(&naming->readers, name);
    if (!readers)
        name_map_set(naming->arena, &naming->readers, name, readers = ARENA_NEW(naming->arena, ReadingStages));
    list_push(naming->arena, &readers->stages, stage);
}

static const ReadingStages *readers_of(Naming *naming, const char *name) {
    for (int s = 0; s < naming->program->stage_count && !naming->read_lists; s++)
        EACH_STAGE_READ(read, naming->program->stages[s])
            list_reader(naming, read->tensor->name, s);
    naming->read_lists = true;
    return name_map_get(&naming->readers, name);
}

static int stage_number(const Naming *naming, const char *name) {
    const Stage *found = program_find_stage(naming->program, name);
    found = found ? found : name_map_get(&naming->by_tensor, name);
    return found ? program_stage_index(naming->program, found) : -1;
}

/* The stage that a name means: returned by a statement, STAGE, or STAGE.LOOP, the longest stage's name first. */
static int stage_of_name(const Naming *naming, const char *name) {
    const MadeName *made = name_map_get(&naming->made, name);
    if (made)
        return made->stage;
    int stage = stage_number(naming, name);
    for (size_t length = strlen(name); length > 0 && stage < 0; length--) {
        if (name[length] != '.')
            continue;
        const char *prefix = arena_strndup(naming->arena, name, length);
        made = name_map_get(&naming->made, prefix);
        stage = made && made->stage >= 0 ? made->stage : stage_number(naming, prefix);
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
    bool copies = prim->op == PRIM_CACHE_READ && !prim_keyword(prim, "reader");
    if (!copies && prim->op != PRIM_INLINE)
        return;
    const ReadingStages *readers = readers_of(naming, prim->args[0].name);
    for (int r = 0; readers && r < readers->stages.count; r++)
        naming->named[readers->stages.items[r]] = true;
}

static void note_results(Naming *naming, const Prim *prim, int stage) {
    MadeName *made = ARENA_NEW(naming->arena, MadeName);
    made->stage = stage;
    for (int r = 0; r < prim->result_count; r++)
        name_map_set(naming->arena, &naming->made, prim->results[r], made);
}

bool *schedule_names_stages(Arena *arena, const Program *program, const Schedule *schedule) {
    Naming naming = {.arena = arena, .program = program};
    naming.named = ARENA_ARRAY(arena, bool, program->stage_count + 1);
    list_tensors(&naming);
    for (int p = 0; p < schedule->count; p++) {
        const Prim *prim = &schedule->prims[p];
        int first = -1;
        for (int a = 0; a < prim->arg_count; a++)
            note_argument(&naming, &prim->args[a], &first);
        note_readers(&naming, prim);
        note_results(&naming, prim, first);
    }
    return naming.named;
}
