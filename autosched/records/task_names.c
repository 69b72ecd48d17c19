/* task_names.c - schedules between a program's names and the canonical ones, put together, and as text. */
#include "autosched/records/records.h"
#include "parser/ast.h"

#include <stdlib.h>
#include <string.h>

/* --- names of loops within a stage --- */

/* "i" and "i.store" become "x0" and "x0.store". */
static const char *rename_index(Arena *arena, const Stage *stage, const char *index, bool canonical) {
    size_t length = strcspn(index, ".");
    for (int a = 0; a < stage->axis_count + stage->reduction_count; a++) {
        bool reduction = a >= stage->axis_count;
        const char *own = reduction ? stage->reductions[a - stage->axis_count]->name : stage->axes[a]->name;
        const char *number = arena_printf(arena, reduction ? "r%d" : "x%d", reduction ? a - stage->axis_count : a);
        const char *from = canonical ? own : number, *to = canonical ? number : own;
        if (strlen(from) == length && strncmp(from, index, length) == 0)
            return arena_printf(arena, "%s%s", to, index + length);
    }
    return index;
}

/* The rest of the name after the prefix: "" or ".index"; NULL when the prefix differs. */
static const char *after_prefix(const char *name, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || (name[length] != '\0' && name[length] != '.'))
        return NULL;
    return name + length;
}

/* The new name of a scan's loop; NULL: it is none. */
static const char *rename_scan(Arena *arena, const Task *task, const char *name, bool canonical) {
    for (int s = 0; s < task->scan_count; s++) {
        const Scan *scan = task->scans[s];
        const char *own = arena_printf(arena, "%s.%s", scan->name, scan->axis->name);
        const char *number = arena_printf(arena, "C%d.x0", s);
        const char *rest = after_prefix(name, canonical ? own : number);
        if (rest)
            return arena_printf(arena, "%s%s", canonical ? number : own, rest);
    }
    return NULL;
}

static const char *rename_name(Arena *arena, const Task *task, const char *name, bool canonical) {
    const char *best = rename_scan(arena, task, name, canonical);
    size_t matched = 0;
    if (best)
        return best;
    for (int s = 0; s < task->stage_count; s++) {
        const Stage *stage = task->stages[s];
        const char *number = arena_printf(arena, "S%d", s), *from = canonical ? stage->name : number;
        const char *rest = after_prefix(name, from);
        if (!rest || strlen(from) < matched)
            continue;
        matched = strlen(from);
        best = arena_printf(arena, "%s%s%s", canonical ? number : stage->name, *rest ? "." : "",
                            *rest ? rename_index(arena, stage, rest + 1, canonical) : "");
    }
    for (int s = 0; s < task->stage_count && !best; s++)
        for (int c = 1; c < task->stages[s]->component_count && !best; c++) {
            const char *number = arena_printf(arena, "S%d_%d", s, c);
            const char *own = task->stages[s]->components[c].tensor->name;
            if (strcmp(name, canonical ? own : number) == 0)
                best = canonical ? number : own;
        }
    for (int t = 0; t < task->tensor_count && !best; t++) {
        const char *number = arena_printf(arena, "T%d", t), *own = task->tensors[t]->name;
        if (strcmp(name, canonical ? own : number) == 0)
            best = canonical ? number : own;
    }
    return best ? best : name;
}

/* --- local names --- */

typedef struct ScheduleRenaming {
    Arena *arena;
    const Program *program; /* whose names are taken */
    const Task *task;       /* NULL: all but local names stay */
    bool canonical;
    LIST(const char *) taken;  /* by schedules before */
    LIST(const char *) locals; /* results so far, as the schedule has them */
    LIST(const char *) fresh;  /* and their new names */
} ScheduleRenaming;

static bool names_index(const Stage *stage, const char *name) {
    for (int a = 0; a < stage->axis_count; a++)
        if (strcmp(stage->axes[a]->name, name) == 0)
            return true;
    for (int r = 0; r < stage->reduction_count; r++)
        if (strcmp(stage->reductions[r]->name, name) == 0)
            return true;
    return false;
}

static bool is_taken(const ScheduleRenaming *renaming, const char *name) {
    const Program *program = renaming->program;
    bool taken = false;
    for (int t = 0; t < program->tensor_count && !taken; t++)
        taken = strcmp(program->tensors[t]->name, name) == 0;
    for (int s = 0; s < program->stage_count && !renaming->task && !taken; s++)
        taken = names_index(program->stages[s], name);
    for (int t = 0; t < renaming->taken.count && !taken; t++)
        taken = strcmp(renaming->taken.items[t], name) == 0;
    return taken;
}

static const char *rename_result(ScheduleRenaming *renaming, const char *name) {
    const char *fresh = name;
    while (!renaming->canonical && is_taken(renaming, fresh))
        fresh = arena_printf(renaming->arena, "%s_", fresh);
    list_push(renaming->arena, &renaming->locals, name);
    list_push(renaming->arena, &renaming->fresh, fresh);
    return fresh;
}

static const char *rename_other(const ScheduleRenaming *renaming, const char *name) {
    return renaming->task ? rename_name(renaming->arena, renaming->task, name, renaming->canonical) : name;
}

/* The local name that the name begins with, -1: none. */
static int local_before(const ScheduleRenaming *renaming, const char *name) {
    int local = renaming->locals.count - 1;
    while (local >= 0 && !after_prefix(name, renaming->locals.items[local]))
        local--;
    return local;
}

/* The length of the name of a stage that the name begins with, the longest; 0: none. */
static size_t stage_before(const ScheduleRenaming *renaming, const char *name) {
    size_t length = 0;
    for (int s = 0; s < renaming->program->stage_count; s++) {
        bool numbered = renaming->task && !renaming->canonical;
        const char *stage = numbered ? arena_printf(renaming->arena, "S%d", s) : renaming->program->stages[s]->name;
        if (after_prefix(name, stage) && strlen(stage) > length)
            length = strlen(stage);
    }
    return length;
}

/* Local names stand alone, before a loop of what they name, and behind the stage whose loops they are. */
static const char *rename_use(ScheduleRenaming *renaming, const char *name) {
    int local = local_before(renaming, name);
    size_t length = local >= 0 ? strlen(renaming->locals.items[local]) : stage_before(renaming, name);
    int behind = length && name[length] ? local_before(renaming, name + length + 1) : -1;
    if (local < 0 && behind < 0)
        return rename_other(renaming, name);
    const char *stage = arena_strndup(renaming->arena, name, length), *rest = name + length;
    const char *first = local >= 0 ? renaming->fresh.items[local] : rename_other(renaming, stage);
    if (behind < 0)
        return arena_printf(renaming->arena, "%s%s", first, rest);
    return arena_printf(renaming->arena, "%s.%s%s", first, renaming->fresh.items[behind],
                        rest + 1 + strlen(renaming->locals.items[behind]));
}

/* Whether an argument names a loop or stage: with a key at= and reader= do, without one the row tells. */
static bool names_loop_or_stage(const Prim *prim, int index) {
    const char *row = prim_info[prim->op].positional, *key = prim->args[index].key;
    int letters = (int)strcspn(row, ". "), last = letters - 1;
    if (key)
        return strcmp(key, "at") == 0 || strcmp(key, "reader") == 0;
    return strchr("LT", row[index < last ? index : last]) != NULL;
}

static PrimArg rename_arg(ScheduleRenaming *renaming, const Prim *prim, int index) {
    const PrimArg *arg = &prim->args[index];
    PrimArg renamed = *arg;
    if (arg->kind == ARG_NAME && arg->name && names_loop_or_stage(prim, index))
        renamed.name = rename_use(renaming, arg->name);
    return renamed;
}

static Prim rename_prim(ScheduleRenaming *renaming, const Prim *prim) {
    Prim renamed = *prim;
    renamed.args = ARENA_ARRAY(renaming->arena, PrimArg, prim->arg_count + 1);
    for (int a = 0; a < prim->arg_count; a++)
        renamed.args[a] = rename_arg(renaming, prim, a);
    renamed.results = ARENA_ARRAY(renaming->arena, const char *, prim->result_count + 1);
    for (int r = 0; r < prim->result_count; r++)
        renamed.results[r] = rename_result(renaming, prim->results[r]);
    return renamed;
}

static Schedule *rename_schedule(Arena *arena, const Task *task, const Schedule *schedule, bool canonical) {
    ScheduleRenaming renaming = {.arena = arena, .program = task->program, .task = task, .canonical = canonical};
    Schedule *renamed = ARENA_NEW(arena, Schedule);
    *renamed = *schedule;
    renamed->prims = ARENA_ARRAY(arena, Prim, schedule->count + 1);
    for (int p = 0; p < schedule->count; p++)
        renamed->prims[p] = rename_prim(&renaming, &schedule->prims[p]);
    return renamed;
}

/* --- schedules of parts --- */

static bool has_inline(const Schedule *schedule, const char *stage) {
    for (int p = 0; p < schedule->count; p++)
        if (schedule->prims[p].op == PRIM_INLINE && strcmp(schedule->prims[p].args[0].name, stage) == 0)
            return true;
    return false;
}

/* The number of a schedule's first statements that inline. */
static int first_inlines(const Schedule *schedule) {
    int count = 0;
    while (count < schedule->count && schedule->prims[count].op == PRIM_INLINE)
        count++;
    return count;
}

static void join_rest(Arena *arena, ScheduleRenaming *names, const Schedule *part, Schedule *joined) {
    for (int p = first_inlines(part); p < part->count; p++) {
        const Prim *prim = &part->prims[p];
        if (prim->op != PRIM_INLINE || !has_inline(joined, prim->args[0].name))
            joined->prims[joined->count++] = rename_prim(names, prim);
    }
    for (int l = 0; l < names->fresh.count; l++)
        list_push(arena, &names->taken, names->fresh.items[l]);
    names->fresh.count = names->locals.count = 0;
}

Schedule *schedules_join(Arena *arena, const Program *whole, const Target *target, Schedule *const *parts, int count) {
    ScheduleRenaming names = {.arena = arena, .program = whole};
    Schedule *joined = ARENA_NEW(arena, Schedule);
    int all = 0;
    for (int i = 0; i < count; i++)
        all += parts[i]->count;
    *joined = (Schedule){.subject = whole->name, .target = target->family->name};
    joined->prims = ARENA_ARRAY(arena, Prim, all + 1);
    for (int i = 0; i < count; i++)
        for (int p = 0; p < first_inlines(parts[i]); p++)
            if (!has_inline(joined, parts[i]->prims[p].args[0].name))
                joined->prims[joined->count++] = parts[i]->prims[p];
    for (int i = 0; i < count; i++)
        join_rest(arena, &names, parts[i], joined);
    return joined;
}

/* --- as text --- */

const char *task_text(Arena *arena, const Task *task, const Schedule *schedule) {
    Text text = {.arena = arena};
    text_add(&text, "%s", "");
    schedule_print_statements(&text, task->renames ? rename_schedule(arena, task, schedule, true) : schedule);
    return text.text ? text.text : "";
}

Schedule *task_schedule(Arena *arena, const Task *task, const Target *target, const char *text) {
    Schedule *schedule = parse_schedule_text(arena, text, strlen(text));
    if (!schedule || schedule_hole_count(schedule) > 0)
        return NULL;
    if (task->renames)
        schedule = rename_schedule(arena, task, schedule, false);
    schedule->subject = task->program->name;
    schedule->target = target->family->name;
    return schedule;
}

Schedule *database_best(Arena *arena, Database *database, const Program *program, const Target *target,
                        const Schedule *user, int threads, const char *inputs, Record *record) {
    const Task *task = task_new(arena, program, user);
    Record *records;
    int count = database_find(arena, database, task->key, database_target(target), threads, &records);
    for (int i = 0; i < count && records[i].outcome == OUTCOME_OK; i++) {
        bool same = !strcmp(records[i].inputs, inputs);
        Schedule *schedule = same ? task_schedule(arena, task, target, records[i].schedule) : NULL;
        if (!schedule || !nest_build(arena, program, schedule, NULL, target, NULL))
            continue;
        if (record)
            *record = records[i];
        return schedule;
    }
    return NULL;
}

const char *database_inputs(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                            const Schedule *user, int threads) {
    const Record *latest = NULL;
    for (int p = 0; p < count; p++) {
        const Task *task = task_new(arena, programs[p], user);
        Record *records;
        int found = database_find(arena, database, task->key, database_target(target), threads, &records);
        for (int i = 0; i < found && records[i].outcome == OUTCOME_OK; i++)
            if (*records[i].inputs && (!latest || records[i].date > latest->date))
                latest = &records[i];
    }
    return latest ? latest->inputs : "";
}
