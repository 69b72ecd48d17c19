/* interpreter_ends.c - goes through the values of variables between ends that are read: the terms of the rows of a
 * sparse matrix, not all of them for each row.
 *
 * A condition that compares a variable with what variables before it, sizes and memory decide leaves a part of its
 * values. For the others no term counts, and no requirement fails. Conditions are tested all the same for the values
 * that are left, so that an end may be ignored: one that is not certain is.
 */
#include "sema/interpreter_internal.h"

typedef struct ReadEnd {
    const Instruction *value;
    bool begins;  /* it is the first value, else the one behind the last */
    int64_t more; /* 1: that of its neighbour */
} ReadEnd;

/* Of one variable. */
struct Ends {
    Instructions section; /* computes the values of the ends */
    LIST(ReadEnd) list;
    int64_t high; /* behind the last value, for the current values of those before */
};

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* Whether the variable has one value for each term, which is not gone through. */
static bool is_place(const StageCode *code, int v) {
    return v < code->axis_count && code->places && code->places[v];
}

/* Whether it may have another value for each value of a variable from number `first` on, or of a place. */
static bool uses_from(const StageCode *code, const Expr *e, int first) {
    for (int v = 0; v < code->variable_count; v++)
        if ((v >= first || is_place(code, v)) && expr_uses_var(e, code->variables[v]))
            return true;
    return false;
}

static void add_end(Interpreter *interpreter, StageCode *code, int variable, ReadEnd end, const Expr *value) {
    if (!code->ends)
        code->ends = ARENA_ARRAY(interpreter->arena, Ends, code->variable_count);
    Ends *ends = &code->ends[variable];
    end.value = compile_apart(interpreter, code, &ends->section, value);
    list_push(interpreter->arena, &ends->list, end);
}

/* Variable < value, value <= variable and so on, or what holds where that fails. */
static void find_end(Interpreter *interpreter, StageCode *code, const Expr *comparison, bool fails, int first) {
    Op op = fails ? comparison_info[comparison->op].opposite : comparison->op;
    for (int side = 0; side < 2; side++) {
        const Expr *here = comparison->args[side], *value = comparison->args[1 - side];
        const ComparisonInfo *info = &comparison_info[side == 0 ? op : comparison_info[op].exchanged];
        bool ends = info->less, itself = info->equal; /* the value is one that counts */
        if (here->kind != EXPR_VAR || value->type != TYPE_INT64 || !expr_reads(value))
            continue;
        for (int v = first; v < code->variable_count; v++)
            if (here->var == code->variables[v] && !is_place(code, v) && !uses_from(code, value, v))
                add_end(interpreter, code, v, (ReadEnd){.begins = !ends, .more = ends == itself}, value);
    }
}

void find_ends(Interpreter *interpreter, StageCode *code, const Expr *condition, bool fails, int first) {
    Op both = fails ? OP_OR : OP_AND;
    if (condition->kind != EXPR_OP)
        return;
    if (condition->op == OP_NOT)
        find_ends(interpreter, code, condition->args[0], !fails, first);
    else if (condition->op == both)
        for (int i = 0; i < 2; i++)
            find_ends(interpreter, code, condition->args[i], fails, first);
    else if (expr_is_inequality(condition))
        find_end(interpreter, code, condition, fails, first);
}

/* --- going through ------------------------------------------------------------------------------------------------ */

static int64_t value_of_end(const ReadEnd *end) {
    int64_t value = end->value->result->integer[0];
    return value == INT64_MAX ? value : value + end->more;
}

/* Sets the first value of a variable, and what is behind the last one. */
static void begin_variable(Interpreter *interpreter, StageCode *code, int v) {
    Ends *ends = &code->ends[v];
    code->terms[v] = 0;
    ends->high = code->extents[v];
    if (!ends->list.count)
        return;
    prepare(code, &ends->section, 1);
    execute_all(interpreter, code, &ends->section, 1);
    for (int i = 0; i < ends->list.count; i++) {
        const ReadEnd *end = &ends->list.items[i];
        int64_t value = value_of_end(end);
        if (!end->value->exact && end->value->result->error[0] > 0)
            continue;
        if (end->begins && value > code->terms[v])
            code->terms[v] = value;
        if (!end->begins && value < ends->high)
            ends->high = value;
    }
}

/* Steps the variables before number v, from `first` on, until one has a further value. Returns the number of the one
 * behind it; `first`: none has. */
static int step_before(StageCode *code, int first, int v) {
    while (v > first) {
        v--;
        if (is_place(code, v) || ++code->terms[v] >= code->ends[v].high)
            continue;
        code->scalars[v] = code->terms[v];
        return v + 1;
    }
    return first;
}

/* Gives the variables from number v on their first values; where there are none the ones before are stepped. False
 * after the last values. */
static bool enter_from(Interpreter *interpreter, StageCode *code, int first, int v) {
    while (v < code->variable_count) {
        if (is_place(code, v)) {
            v++;
            continue;
        }
        begin_variable(interpreter, code, v);
        code->scalars[v] = code->terms[v];
        if (code->terms[v] < code->ends[v].high)
            v++;
        else if ((v = step_before(code, first, v)) == first)
            return false;
    }
    return true;
}

void begin_strips(StageCode *code) {
    code->strips = STRIPS_NEW;
}

/* The next values of all variables; false after the last. */
static bool next_values(Interpreter *interpreter, StageCode *code, int first) {
    int from = first;
    if (code->strips == STRIPS_OVER)
        return false;
    if (code->strips == STRIPS_BEGUN)
        from = step_before(code, first, code->variable_count);
    bool some = (code->strips == STRIPS_NEW || from > first) && enter_from(interpreter, code, first, from);
    code->strips = some ? STRIPS_BEGUN : STRIPS_OVER;
    return some;
}

int next_strip(Interpreter *interpreter, StageCode *code, int first) {
    int count = 0, lane_first = code->lane_first, lane_end = code->lane_end;
    code->lane_first = code->lane_end = 0;
    while (count < STRIP && next_values(interpreter, code, first)) {
        for (int v = first; v < code->variable_count; v++)
            code->lanes[v][count] = code->terms[v];
        count++;
    }
    code->lane_first = lane_first;
    code->lane_end = lane_end;
    return count;
}
