/* interpreter_scan.c - recurrences: all stages of a scan are computed together, step by step.
 *
 * An element of a late step needs the elements of all earlier steps. So a scan is always computed whole and in order,
 * whichever element was asked for. Everything that a step reads is there already, so demands do not nest.
 */
#include "sema/interpreter_internal.h"

#include <string.h>

static bool compile_stages(Interpreter *interpreter, const Scan *scan, const char **why) {
    for (int i = scan->first; i < scan->first + scan->count; i++) {
        const Stage *stage = interpreter->program->stages[i];
        if (!compile_stage(interpreter, stage, why))
            return false;
    }
    return true;
}

/* Whether all stages of the scan are exact. */
static bool is_exact(Interpreter *interpreter, const Scan *scan) {
    bool exact = true;
    for (int i = scan->first; i < scan->first + scan->count; i++)
        for (int c = 0; c < interpreter->program->stages[i]->component_count; c++)
            exact &= storage_of(interpreter, interpreter->program->stages[i]->components[c].tensor)->exact;
    return exact;
}

static void doubt(Interpreter *interpreter, const Scan *scan) {
    for (int i = scan->first; i < scan->first + scan->count; i++)
        for (int c = 0; c < interpreter->program->stages[i]->component_count; c++)
            set_exact(storage_of(interpreter, interpreter->program->stages[i]->components[c].tensor)->code, false);
}

/* A stage may read a later one, so either all stages of a scan are exact, or all count as inexact. */
bool compile_scan(Interpreter *interpreter, const Scan *scan, const char **why) {
    if (!compile_stages(interpreter, scan, why))
        return false;
    if (is_exact(interpreter, scan))
        return true;
    doubt(interpreter, scan);
    bool good = compile_stages(interpreter, scan, why);
    doubt(interpreter, scan);
    return good;
}

/* Puts `count` points of one step, from number first on in row-major order, into the lanes. */
static void set_step_points(StageCode *code, int64_t step, int64_t first, int count) {
    for (int l = 0; l < count; l++) {
        int64_t rest = first + l;
        for (int v = code->axis_count - 1; v >= 0; v--) {
            bool steps = v == code->stage->step;
            code->lanes[v][l] = steps ? step : rest % code->extents[v];
            rest = steps ? rest : rest / code->extents[v];
        }
    }
}

static void store_step(StageCode *code, int count) {
    Storage *storage = code->storage;
    for (int l = 0; l < count; l++) {
        int64_t element = 0;
        for (int v = 0; v < code->axis_count; v++)
            element += code->lanes[v][l] * storage->strides[v];
        store_result(storage, element, l);
    }
}

static void run_step(Interpreter *interpreter, StageCode *code, int64_t step) {
    int64_t points = code->points / code->extents[code->stage->step];
    for (int64_t first = 0; first < points; first += STRIP) {
        int count = points - first < STRIP ? (int)(points - first) : STRIP;
        set_step_points(code, step, first, count);
        run_points(interpreter, code, count);
        store_step(code, count);
    }
}

static void run_stage_step(Interpreter *interpreter, const Stage *stage, int64_t step) {
    for (int c = 0; c < stage->component_count; c++) {
        StageCode *code = storage_of(interpreter, stage->components[c].tensor)->code;
        if (code->points)
            run_step(interpreter, code, step);
    }
}

void compute_scan(Interpreter *interpreter, const Scan *scan) {
    const Stage *const *stages = interpreter->program->stages + scan->first;
    int64_t steps = 0;
    for (int i = 0; i < scan->count; i++)
        for (int c = 0; c < stages[i]->component_count; c++) {
            Storage *storage = storage_of(interpreter, stages[i]->components[c].tensor);
            allocate_whole(interpreter, storage);
            steps = storage->dims[stages[i]->step];
        }
    for (int64_t step = 0; step < steps; step++)
        for (int i = 0; i < scan->count; i++)
            run_stage_step(interpreter, stages[i], step);
}
