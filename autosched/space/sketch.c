/* sketch.c - writing schedules: arguments and statements of a sketch, and the nest of a sketch under construction. */
#include "autosched/space/groups.h"
#include "autosched/space/tile/tile.h"
#include "lang/diag.h"
#include "parser/ast.h"

#include <stdarg.h>
#include <string.h>

PrimArg arg_source(Space *space, Sketch *sketch, HoleSource source) {
    list_push(space->arena, &sketch->holes, source);
    sketch->active[source.gene] = true;
    return (PrimArg){.kind = ARG_HOLE};
}

int64_t hole_value(const Group *group, HoleSource source, int choice) {
    const Gene *gene = &group->genes.items[source.gene];
    const int64_t *parts = gene->values + choice * gene->width;
    return source.end ? end_tiles(source.end, parts[0], parts[1]) : source.times * parts[source.part];
}

PrimArg arg_gene(Space *space, Sketch *sketch, int gene, int part) {
    return arg_source(space, sketch, (HoleSource){gene, part, 1, NULL});
}

PrimArg arg_op_gene(Space *space, Sketch *sketch, const char *name, char op, HoleSource source) {
    PrimArg arg = arg_op(space, name, op, 0);
    arg.items[1] = arg_source(space, sketch, source);
    return arg;
}

PrimArg arg_op(Space *space, const char *name, char op, int64_t value) {
    PrimArg *items = ARENA_ARRAY(space->arena, PrimArg, 2);
    items[0] = arg_name(name);
    items[1] = arg_int(value);
    return (PrimArg){.kind = ARG_OP, .name = name, .value = value, .op = op, .count = 2, .items = items};
}

PrimArg arg_keyed(PrimArg arg, const char *key) {
    arg.key = key;
    return arg;
}

const char *loop_path(const Space *space, const char *stage, const char *loop) {
    return arena_printf(space->arena, "%s.%s", stage, loop);
}

void sketch_add(Space *space, Sketch *sketch, PrimOp op, int results, const char *const *names, int count,
                const PrimArg *args) {
    Prim prim = {.op = op, .result_count = results, .arg_count = count};
    prim.results = ARENA_ARRAY(space->arena, const char *, results);
    prim.args = ARENA_ARRAY(space->arena, PrimArg, count);
    if (results)
        memcpy(prim.results, names, sizeof *names * (size_t)results);
    memcpy(prim.args, args, sizeof *args * (size_t)count);
    list_push(space->arena, &sketch->prims, prim);
}

void sketch_loops(Space *space, Sketch *sketch, PrimOp op, const char *const *names, int count) {
    if (count == 0)
        return;
    PrimArg *args = ARENA_ARRAY(space->arena, PrimArg, count);
    for (int i = 0; i < count; i++)
        args[i] = arg_name(names[i]);
    sketch_add(space, sketch, op, 0, NULL, count, args);
}

void sketch_write(Space *space, Sketch *sketch, const char *format, ...) {
    va_list values;
    va_start(values, format);
    sketch->text.arena = space->arena;
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            text_add_bytes(&sketch->text, at, 1);
            continue;
        }
        switch (*++at) {
        case 's': text_add(&sketch->text, "%s", va_arg(values, const char *)); break;
        case 'd': text_add(&sketch->text, "%d", va_arg(values, int)); break;
        default:
            ENSURE(*at == 'g');
            arg_source(space, sketch, (HoleSource){va_arg(values, int), 0, 1, NULL});
            text_add_bytes(&sketch->text, "?", 1);
        }
    }
    va_end(values);
}

void sketch_read(Space *space, Sketch *sketch) {
    const Schedule *read = parse_schedule_text(space->arena, sketch->text.text, sketch->text.length);
    ENSURE(read);
    for (int p = 0; p < read->count; p++)
        list_push(space->arena, &sketch->prims, read->prims[p]);
    sketch->text = (Text){.arena = space->arena};
}

Nest *sketch_nest(Arena *arena, Space *space, Group *group, const Sketch *sketch) {
    const Program *part = group_program(space, group);
    Schedule schedule = part_schedule(arena, space, part, sketch->prims.count);
    for (int p = 0; p < sketch->prims.count; p++)
        schedule.prims[schedule.count++] = sketch->prims.items[p];
    int64_t *choices = ARENA_ARRAY(arena, int64_t, sketch->holes.count + 1);
    for (int h = 0; h < sketch->holes.count; h++) {
        HoleSource source = sketch->holes.items[h];
        choices[h] = hole_value(group, source, group->genes.items[source.gene].start);
    }
    return nest_build(arena, part, &schedule, choices, space->target, NULL);
}
