/* interpreter_check.c - compares the output of an object with the meaning, at all elements or at chosen ones.
 *
 * If all would take more operations than the limit, elements are chosen: corners, neighbours of likely borders of
 * tiles, and seeded ones. They are computed in groups until the limit is used up, so that no check takes much longer
 * than that.
 */
#include "lang/stack.h"
#include "sema/interpreter_internal.h"

#include <math.h>
#include <string.h>

enum { POINT_LIMIT = 2000, CORNER_RANKS = 5 };
static const double default_limit = 1e7;

bool evaluated_matches(const Evaluated *expected, Value found) {
    ElementType type = expected->value.type;
    if (isinf(expected->bound))
        return true;
    if (!type_is_float(type)) {
        uint64_t a = (uint64_t)expected->value.integer, b = (uint64_t)found.integer;
        if (a == b)
            return true;
        bool a_larger = element_info[type].kind == KIND_UNSIGNED ? a > b : expected->value.integer > found.integer;
        return (double)(a_larger ? a - b : b - a) <= expected->bound;
    }
    double a = expected->value.real, b = found.real;
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(b) && !isinf(a)) /* the other result may have been rounded to infinity */
        return (a > 0) == (b > 0) && fabs(a) + expected->bound >= largest_value(type);
    if (isinf(a))
        return a == b || (isfinite(b) && (a > 0) == (b > 0) && expected->bound > 0 &&
                          fabs(b) + expected->bound >= largest_value(type));
    return fabs(a - b) <= expected->bound;
}

void evaluated_allow(Evaluated *values, int count, double error) {
    double largest = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(values[i].magnitude))
            largest = fmax(largest, values[i].magnitude);
    for (int i = 0; i < count; i++)
        if (type_is_float(values[i].value.type))
            values[i].bound += error * largest;
}

void interpreter_values_only(Interpreter *interpreter) {
    interpreter->values_only = true;
}

void interpreter_allow(Interpreter *interpreter, double error) {
    interpreter->error = error;
}

typedef struct OutputCheck {
    Interpreter *interpreter;
    Storage *storage;
    double allowed; /* added to the bound of each element */
    const char *data;
    int64_t wrong;
    Mismatch *first;
} OutputCheck;

static double as_double(Value value) {
    if (type_is_float(value.type))
        return value.real;
    return value.type == TYPE_UINT64 ? (double)(uint64_t)value.integer : (double)value.integer;
}

static void report_first(const OutputCheck *check, int64_t element, const Evaluated *expected, Value found) {
    const Storage *storage = check->storage;
    if (!check->first || (check->wrong > 0 && check->first->element <= element))
        return;
    *check->first = (Mismatch){.tensor = storage->tensor,
                               .element = element,
                               .expected = as_double(expected->value),
                               .found = as_double(found),
                               .bound = expected->bound};
    for (int d = 0; d < storage->tensor->rank && d < 16; d++)
        check->first->index[d] = element / storage->strides[d] % storage->dims[d];
}

static void check_element(OutputCheck *check, int64_t element) {
    ElementType type = check->storage->tensor->type;
    Evaluated expected = evaluated_element(check->interpreter, check->storage, element);
    if (type_is_float(type))
        expected.bound += check->allowed;
    Value found = value_load(type, check->data + element * element_info[type].bytes);
    if (evaluated_matches(&expected, found))
        return;
    report_first(check, element, &expected, found);
    check->wrong++;
}

/* An error is relative to the largest magnitude among these elements (at NULL: among all). Returns what it adds to the
 * bound of each. */
static double allowed_beyond(OutputCheck *check, double error, const int64_t *at, int64_t count) {
    double largest = 0;
    for (int64_t i = 0; error > 0 && i < count; i++) {
        Evaluated value = evaluated_element(check->interpreter, check->storage, at ? at[i] : i);
        if (isfinite(value.magnitude))
            largest = fmax(largest, value.magnitude);
    }
    return error * largest;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The first, the last, a neighbour of a multiple of a tile size, or any. */
static int64_t choose_coordinate(int64_t dim, uint64_t *state) {
    static const int64_t tiles[] = {4, 8, 16, 32, 64};
    uint64_t random = next_random(state);
    int64_t tile = tiles[random >> 8 & 3] << (random >> 16 & 1);
    switch (random & 7) {
    case 0: return 0;
    case 1:
    case 2: return dim - 1;
    case 3: return dim - 1 - (int64_t)(next_random(state) % (uint64_t)tile) % dim;
    case 4:
    case 5: {
        int64_t border =
            (int64_t)(next_random(state) % (uint64_t)(dim / tile + 1)) * tile - (int64_t)(random >> 32 & 1);
        return border < 0 ? 0 : border < dim ? border : dim - 1;
    }
    default: return (int64_t)(next_random(state) % (uint64_t)dim);
    }
}

/* Point number `at`: first the corners, from the last element on, then chosen points. */
static int64_t choose_point(const Storage *storage, int at, uint64_t *state) {
    int rank = storage->tensor->rank;
    int64_t element = 0, corners = rank < CORNER_RANKS ? 1 << rank : 1 << CORNER_RANKS;
    for (int d = 0; d < rank; d++) {
        int64_t dim = storage->dims[d], coordinate;
        if (at < corners)
            coordinate = at >> (rank - 1 - d < CORNER_RANKS ? rank - 1 - d : 0) & 1 ? 0 : dim - 1;
        else
            coordinate = choose_coordinate(dim, state);
        element += coordinate * storage->strides[d];
    }
    return element;
}

/* The first group is one point. Later groups are as large as the cost of the points so far allows. */
static void check_points(OutputCheck *check, double limit, uint64_t seed, double error) {
    Interpreter *interpreter = check->interpreter;
    double begin = interpreter->operations;
    uint64_t state = seed;
    int64_t *points = ARENA_ARRAY(interpreter->arena, int64_t, POINT_LIMIT + STRIP);
    int done = 0;
    while (done < POINT_LIMIT) {
        double used = interpreter->operations - begin;
        double affordable = done ? (limit - used) / (used / done + 1) : 1;
        int count = affordable < 1 ? 0 : affordable > STRIP / 2 ? STRIP / 2 : (int)affordable;
        if (count > done + 1)
            count = done + 1;
        if (count == 0)
            break;
        for (int i = 0; i < count; i++)
            points[done + i] = choose_point(check->storage, done + i, &state);
        demand_elements(interpreter, check->storage, points + done, count);
        done += count;
    }
    check->allowed = allowed_beyond(check, error, points, done);
    for (int i = 0; i < done; i++)
        check_element(check, points[i]);
}

static int64_t check_elements(Interpreter *interpreter, int argument, const void *data, double limit, uint64_t seed,
                              Mismatch *first) {
    const Program *program = interpreter->program;
    OutputCheck check = {.interpreter = interpreter, .data = data, .first = first};
    check.storage = storage_of(interpreter, program->arguments[argument].tensor);
    if (limit <= 0)
        limit = default_limit;
    int64_t sizes[program->size_count + 1];
    for (int i = 0; i < program->size_count; i++)
        sizes[i] = interpreter->sizes[i].value;
    if (interpreter_cost(program, sizes) <= limit)
        compute_whole(interpreter, check.storage);
    double error = interpreter->error;
    if (check.storage->data)
        check.allowed = allowed_beyond(&check, error, NULL, check.storage->elements);
    if (check.storage->data)
        for (int64_t element = 0; element < check.storage->elements; element++)
            check_element(&check, element);
    else if (check.storage->elements)
        check_points(&check, limit, seed, error);
    return check.wrong;
}

int64_t interpreter_check(Interpreter *interpreter, int argument, const void *data, double limit, uint64_t seed,
                          Mismatch *first) {
    StackLimit before = stack_widen(interpreter->program->stage_count);
    int64_t wrong = check_elements(interpreter, argument, data, limit, seed, first);
    stack_restore(before);
    return wrong;
}
