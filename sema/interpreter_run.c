/* interpreter_run.c - runs the code of a stage over strips of lanes.
 *
 * If there are enough points, the lanes are points, and reductions are loops around the instructions. If there are few
 * points and many terms, each point runs by itself and the lanes are its terms. In both cases the terms of an element
 * are combined one by one in source order, and rounded to the stage's type each time.
 */
#include "lang/diag.h"
#include "sema/interpreter_internal.h"

#include <math.h>
#include <string.h>

enum { FEW_POINTS = 12, FEW_TERMS = 8, ROW_LEAST = 32 };

typedef enum Which { ALL, INVARIANT, VARYING } Which;

/* --- reads -------------------------------------------------------------------------------------------------------- */

/* constant + the sum over the variables that differ by lane. */
static void linear_lanes(const StageCode *code, const int64_t *coefficients, int64_t constant, int count, int64_t *to) {
    for (int l = 0; l < count; l++)
        to[l] = constant;
    for (int v = code->lane_first; v < code->lane_end; v++) {
        uint64_t coefficient = (uint64_t)coefficients[v];
        const int64_t *values = code->lanes[v];
        if (coefficient)
            for (int l = 0; l < count; l++)
                to[l] = (int64_t)((uint64_t)to[l] + coefficient * (uint64_t)values[l]);
    }
}

/* The sum over the variables that are the same in all lanes. */
static int64_t linear_shift(const StageCode *code, const int64_t *coefficients) {
    uint64_t shift = 0;
    for (int v = 0; v < code->lane_first; v++)
        shift += (uint64_t)coefficients[v] * (uint64_t)code->scalars[v];
    for (int v = code->lane_end; v < code->variable_count; v++)
        shift += (uint64_t)coefficients[v] * (uint64_t)code->scalars[v];
    return (int64_t)shift;
}

static int64_t common_step(const int64_t *lanes, int count) {
    int64_t step = count > 1 ? lanes[1] - lanes[0] : 1;
    for (int l = 1; l < count && (step == 0 || step == 1); l++)
        if (lanes[l] - lanes[l - 1] != step)
            return -1;
    return step == 0 || step == 1 ? step : -1;
}

static void prepare_load(const StageCode *code, Load *load, int count) {
    linear_lanes(code, load->coefficients, load->constant, count, load->lanes);
    load->step = common_step(load->lanes, count);
    for (int d = 0; d < load->rank; d++) {
        Index *index = &load->indices[d];
        if (index->lanes)
            linear_lanes(code, index->coefficients, index->constant, count, index->lanes);
    }
}

void prepare(const StageCode *code, const Instructions *section, int count) {
    for (int i = 0; i < section->count; i++)
        if (section->items[i]->kind == CODE_READ)
            prepare_load(code, section->items[i]->load, count);
}

#define COPY_RUN(Type, field)                                                                                          \
    do {                                                                                                               \
        const Type *from = (const Type *)source->data + first;                                                         \
        if (load->step == 1)                                                                                           \
            for (int l = 0; l < count; l++)                                                                            \
                to->field[l] = from[l];                                                                                \
        else                                                                                                           \
            for (int l = 0; l < count; l++)                                                                            \
                to->field[l] = from[0];                                                                                \
    } while (0)

/* The most common reads: neighbouring elements, or one element for all lanes. False for any other. */
static bool read_run(const Load *load, int64_t first, int count, LaneValues *to) {
    const Storage *source = load->source;
    if (load->step < 0)
        return false;
    if (source->tensor->type == TYPE_FLOAT)
        COPY_RUN(float, real);
    else if (source->tensor->type == TYPE_DOUBLE)
        COPY_RUN(double, real);
    else
        return false;
    if (source->error)
        for (int l = 0; l < count; l++)
            to->error[l] = source->error[first + (load->step ? l : 0)];
    return true;
}

static void read_unchecked(Interpreter *interpreter, const Load *load, int64_t shift, int count, LaneValues *to) {
    int64_t elements[STRIP];
    if (load->source->data && read_run(load, load->lanes[0] + shift, count, to))
        return;
    for (int l = 0; l < count; l++)
        elements[l] = load->lanes[l] + shift;
    load_elements(interpreter, load->source, elements, count, to);
}

/* Finds the lanes whose indices are inside: elements[i] is the number of the element that lane lanes[i] reads. Returns
 * how many there are. */
static int inside_elements(const StageCode *code, const Load *load, int64_t shift, int count, int64_t *elements,
                           int *lanes) {
    bool inside[STRIP];
    uint64_t number[STRIP];
    for (int l = 0; l < count; l++) {
        inside[l] = true;
        number[l] = (uint64_t)load->lanes[l] + (uint64_t)shift;
    }
    for (int d = 0; d < load->rank; d++) {
        const Index *index = &load->indices[d];
        if (!index->checked)
            continue;
        const int64_t *values = index->computed ? index->computed->integer : index->lanes;
        uint64_t plus = index->computed ? 0 : (uint64_t)linear_shift(code, index->coefficients);
        uint64_t stride = index->computed ? (uint64_t)index->stride : 0;
        for (int l = 0; l < count; l++) {
            uint64_t value = (uint64_t)values[l] + plus;
            inside[l] &= value < (uint64_t)index->dim;
            number[l] += stride * value;
        }
    }
    int found = 0;
    for (int l = 0; l < count; l++)
        if (inside[l]) {
            lanes[found] = l;
            elements[found++] = (int64_t)number[l];
        }
    return found;
}

/* An inexact index may select any other element, so its value may be anything. */
static void doubt_indices(const Load *load, int count, LaneValues *to) {
    for (int d = 0; d < load->rank; d++) {
        const Index *index = &load->indices[d];
        if (index->inexact)
            for (int l = 0; l < count; l++)
                if (index->computed->error[l] > 0)
                    to->error[l] = INFINITY;
    }
}

/* Lanes that are outside get the read's otherwise, or 0 in a branch that is not taken there. */
static void read_checked(Interpreter *interpreter, const StageCode *code, const Load *load, int64_t shift, int count,
                         LaneValues *to) {
    int64_t elements[STRIP];
    int lanes[STRIP];
    LaneValues loaded;
    int found = inside_elements(code, load, shift, count, elements, lanes);
    if (found < count && !load->otherwise && !load->conditional)
        INTERNAL_ERROR("%s reads outside %s", code->storage ? code->stage->name : "a requirement",
                       load->source->tensor->name);
    for (int l = 0; l < count && found < count; l++) {
        to->integer[l] = load->otherwise ? load->otherwise->integer[l] : 0;
        to->error[l] = load->otherwise && !load->otherwise_exact ? load->otherwise->error[l] : 0;
    }
    if (found)
        load_elements(interpreter, load->source, elements, found, &loaded);
    for (int i = 0; i < found; i++) {
        to->integer[lanes[i]] = loaded.integer[i];
        to->error[lanes[i]] = load->source->exact ? 0 : loaded.error[i];
    }
    doubt_indices(load, count, to);
}

static void run_read(Interpreter *interpreter, const StageCode *code, const Instruction *in, int count) {
    const Load *load = in->load;
    int64_t shift = linear_shift(code, load->coefficients);
    if (load->checked)
        read_checked(interpreter, code, load, shift, count, in->result);
    else
        read_unchecked(interpreter, load, shift, count, in->result);
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

static void run_variable(const StageCode *code, const Instruction *in, int count) {
    bool by_lane = in->variable >= code->lane_first && in->variable < code->lane_end;
    for (int l = 0; l < count; l++)
        in->result->integer[l] = by_lane ? code->lanes[in->variable][l] : code->scalars[in->variable];
}

static void execute(Interpreter *interpreter, const StageCode *code, const Instructions *section, int count,
                    Which which) {
    for (int i = 0; i < section->count; i++) {
        const Instruction *in = section->items[i];
        if (which != ALL && in->varies != (which == VARYING))
            continue;
        interpreter->operations += count;
        switch (in->kind) {
        case CODE_CONSTANT: break;
        case CODE_VARIABLE: run_variable(code, in, count); break;
        case CODE_READ: run_read(interpreter, code, in, count); break;
        case CODE_OP:
            apply_lanes(in, count);
            if (!in->exact && !interpreter->values_only)
                bound_lanes(in, count);
            break;
        case CODE_CAST:
            cast_lanes(in, count);
            if (!in->exact && !interpreter->values_only)
                bound_cast(in, count);
            break;
        }
    }
}

void execute_all(Interpreter *interpreter, const StageCode *code, const Instructions *section, int count) {
    execute(interpreter, code, section, count, ALL);
}

/* --- reductions --------------------------------------------------------------------------------------------------- */

/* By how many powers of two a factor may increase a product. */
static double growth(double factor) {
    return fabs(factor) > 1 ? log2(fabs(factor)) : 0;
}

static void begin_reduction(StageCode *code, int count) {
    const Instruction *initial = code->initial_result;
    LaneValues *to = &code->result;
    memcpy(to->integer, initial->result->integer, sizeof *to->integer * (size_t)count);
    for (int l = 0; l < count; l++)
        to->error[l] = initial->exact ? 0 : initial->result->error[l];
    if (type_is_float(code->type))
        for (int l = 0; l < count; l++) {
            code->plain_sum[l] = code->combine == COMBINE_MUL ? growth(to->real[l]) : to->real[l];
            code->magnitude[l] = fabs(to->real[l]);
        }
}

/* Adds one term to each lane: the most common reduction. */
static void add_terms(StageCode *code, const Instruction *value, int count) {
    double *restrict sum = code->result.real, *restrict plain = code->plain_sum, *restrict size = code->magnitude;
    const double *restrict term = value->result->real;
    for (int l = 0; l < count; l++) {
        sum[l] += term[l];
        plain[l] += term[l];
        size[l] += fabs(term[l]);
    }
    round_lanes(code->type, sum, count);
    if (!value->exact)
        for (int l = 0; l < count; l++)
            code->result.error[l] += error_of_term(term[l], value->result->error[l]);
}

static void combine_real(StageCode *code, int to, double term, double error) {
    double *sum = &code->result.real[to], *sum_error = &code->result.error[to], before = *sum;
    Value args[2] = {{.type = code->type, .real = before}, {.type = code->type, .real = term}};
    *sum = value_apply(combine_op(code->combine), args).real;
    if (code->combine == COMBINE_ADD) {
        code->plain_sum[to] += term;
        code->magnitude[to] += fabs(term);
        *sum_error += error_of_term(term, error);
    } else if (code->combine == COMBINE_MUL) {
        double step = isfinite(*sum) ? 2 * type_roundoff(code->type) * fabs(*sum) + smallest_step(code->type) : 0;
        double passed_on = (error ? fabs(before) * error : 0) + (*sum_error ? fabs(term) * *sum_error : 0);
        *sum_error = passed_on + error * *sum_error + step;
        code->plain_sum[to] += growth(term);
    } else {
        *sum_error = *sum_error > error ? *sum_error : error;
    }
}

/* 0 times anything is 0, however wrong the other factor is. */
static double scaled_error(double by, double error) {
    return by == 0 || error == 0 ? 0 : fabs(by) * error;
}

static void combine_integer(StageCode *code, int to, int64_t term, double error) {
    int64_t *sum = &code->result.integer[to], before = *sum;
    double *sum_error = &code->result.error[to];
    Value args[2] = {{.type = code->type, .integer = before}, {.type = code->type, .integer = term}};
    *sum = value_apply(combine_op(code->combine), args).integer;
    if (error == 0 && *sum_error == 0)
        return;
    if (code->combine == COMBINE_ADD)
        *sum_error += error;
    else if (code->combine == COMBINE_MUL)
        *sum_error = scaled_error((double)before, error) + scaled_error((double)term, *sum_error) +
                     scaled_error(error, *sum_error);
    else
        *sum_error = *sum_error > error ? *sum_error : error;
}

/* Combines the term in lane `from` with the result in lane `to`. */
static void combine_lane(StageCode *code, int to, int from) {
    const Instruction *value = code->value_result;
    double error = value->exact ? 0 : value->result->error[from];
    if (type_is_float(code->type))
        combine_real(code, to, value->result->real[from], error);
    else
        combine_integer(code, to, value->result->integer[from], error);
}

static void add_integer_terms(StageCode *code, const Instruction *value, int count) {
    int64_t *sum = code->result.integer;
    const int64_t *term = value->result->integer;
    for (int l = 0; l < count; l++)
        sum[l] = (int64_t)((uint64_t)sum[l] + (uint64_t)term[l]);
    wrap_lanes(code->type, sum, count);
}

static void combine_lanes(StageCode *code, int count) {
    bool real = type_is_float(code->type);
    if (code->combine == COMBINE_ADD && real)
        add_terms(code, code->value_result, count);
    else if (code->combine == COMBINE_ADD && code->type != TYPE_BOOL && code->value_result->exact)
        add_integer_terms(code, code->value_result, count);
    else
        for (int l = 0; l < count; l++)
            combine_lane(code, l, l);
}

/* Steps the reductions to their next values in source order, the last one fastest. False after the last. */
bool next_term(const StageCode *code, int64_t *values) {
    for (int v = code->variable_count - 1; v >= code->axis_count; v--) {
        if (++values[v] < code->extents[v])
            return true;
        values[v] = 0;
    }
    return false;
}

static void reduce_by_points(Interpreter *interpreter, StageCode *code, int count) {
    prepare(code, &code->value, count);
    execute(interpreter, code, &code->value, count, INVARIANT);
    for (int v = code->axis_count; v < code->variable_count; v++)
        code->scalars[v] = 0;
    do {
        execute(interpreter, code, &code->value, count, VARYING);
        combine_lanes(code, count);
    } while (next_term(code, code->scalars));
}

int next_terms(Interpreter *interpreter, StageCode *code, int64_t *left) {
    if (code->ends)
        return next_strip(interpreter, code, code->axis_count);
    int count = *left < STRIP ? (int)*left : STRIP;
    *left -= count;
    for (int l = 0; l < count; l++) {
        for (int v = code->axis_count; v < code->variable_count; v++)
            code->lanes[v][l] = code->terms[v];
        next_term(code, code->terms);
    }
    return count;
}

void begin_terms(StageCode *code, int64_t *left) {
    begin_strips(code);
    memset(code->terms, 0, sizeof *code->terms * (size_t)code->variable_count);
    *left = code->reduction_points;
}

/* Reduces one point, whose axis values are in code->scalars, a strip of terms at a time. */
static void reduce_by_terms(Interpreter *interpreter, StageCode *code, int point) {
    int64_t left;
    begin_terms(code, &left);
    for (int count; (count = next_terms(interpreter, code, &left)) > 0;) {
        prepare(code, &code->value, count);
        execute(interpreter, code, &code->value, count, ALL);
        for (int l = 0; l < count; l++)
            combine_lane(code, point, l);
    }
}

/* The error of a sum of n terms grows like the root of n, not like n, unless all roundings go one way (Higham, Mary: A
 * new approach to probabilistic rounding error analysis). If they go one way, the rounded sum differs from the
 * unrounded one, and that difference is added. The bound that always holds is the upper limit. */
static void bound_sums(StageCode *code, int count) {
    double terms = (double)code->reduction_points + 1, unit = 2 * type_roundoff(code->type);
    double always = (terms + 4) * unit, likely = (3 * sqrt(terms) + 3) * unit;
    for (int l = 0; l < count; l++) {
        double size = code->magnitude[l], sum = code->result.real[l], *error = &code->result.error[l];
        if (isfinite(size) && size > largest_value(code->type)) /* some orders overflow on the way, some do not */
            *error = INFINITY;
        if (!isfinite(sum)) /* a term is not finite */
            continue;
        double bound = likely * size + 4 * fabs(sum - code->plain_sum[l]);
        double limit = always * size;
        *error += (bound < limit && code->type != TYPE_DOUBLE ? bound : limit) + terms * smallest_step(code->type);
    }
}

/* In other orders a product may overflow on the way. Or a partial product is so small that it loses digits, and later
 * factors make that error larger. */
static void bound_products(StageCode *code, int count) {
    double terms = (double)code->reduction_points + 1;
    for (int l = 0; l < count; l++) {
        double most = exp2(code->plain_sum[l]);
        code->result.error[l] += most > largest_value(code->type) ? INFINITY : terms * most * smallest_step(code->type);
        if (isnan(code->result.error[l]))
            code->result.error[l] = INFINITY;
    }
}

static void bound_reduction(StageCode *code, int count) {
    if (code->combine == COMBINE_ADD && type_is_float(code->type))
        bound_sums(code, count);
    else if (code->combine == COMBINE_MUL && type_is_float(code->type))
        bound_products(code, count);
}

static void run_reduction(Interpreter *interpreter, StageCode *code, int count) {
    prepare(code, &code->initial, count);
    execute(interpreter, code, &code->initial, count, ALL);
    begin_reduction(code, count);
    if (code->reduction_points > 0 && !code->ends && (count >= FEW_POINTS || code->reduction_points < FEW_TERMS)) {
        reduce_by_points(interpreter, code, count);
    } else if (code->reduction_points > 0) {
        code->lane_first = code->axis_count;
        code->lane_end = code->variable_count;
        for (int l = 0; l < count; l++) {
            for (int v = 0; v < code->axis_count; v++)
                code->scalars[v] = code->lanes[v][l];
            reduce_by_terms(interpreter, code, l);
        }
    }
    bound_reduction(code, count);
}

/* --- points ------------------------------------------------------------------------------------------------------- */

void set_points(StageCode *code, int64_t first, int count) {
    int64_t stride = 1;
    for (int v = code->axis_count - 1; v >= 0; v--) {
        int64_t extent = code->extents[v], value = first / stride % extent, left = stride - first % stride;
        for (int l = 0; l < count; l++) {
            code->lanes[v][l] = value;
            if (--left == 0) {
                left = stride;
                value = value + 1 < extent ? value + 1 : 0;
            }
        }
        stride *= extent;
    }
}

/* The magnitude of a value that is not a sum is its absolute value. */
static void set_magnitudes(StageCode *code, int count) {
    bool real = type_is_float(code->type);
    for (int l = 0; l < count; l++)
        code->magnitude[l] = fabs(real ? code->result.real[l] : (double)code->result.integer[l]);
}

static void run_values(Interpreter *interpreter, StageCode *code, int count) {
    const Instruction *value = code->value_result;
    prepare(code, &code->value, count);
    execute(interpreter, code, &code->value, count, ALL);
    memcpy(code->result.integer, value->result->integer, sizeof *code->result.integer * (size_t)count);
    if (!value->exact)
        memcpy(code->result.error, value->result->error, sizeof *code->result.error * (size_t)count);
}

bool has_rows(const StageCode *code) {
    return code->combine == COMBINE_NONE && !code->tuple && code->axis_count > 0 &&
           code->extents[code->axis_count - 1] >= ROW_LEAST;
}

int run_row(Interpreter *interpreter, StageCode *code, int64_t first) {
    int last = code->axis_count - 1, count = STRIP;
    for (int v = last; v >= 0; v--) {
        code->scalars[v] = first % code->extents[v];
        first /= code->extents[v];
    }
    int64_t start = code->scalars[last];
    if (code->extents[last] - start < STRIP)
        count = (int)(code->extents[last] - start);
    for (int l = 0; l < count; l++)
        code->lanes[last][l] = start + l;
    code->lane_first = last;
    code->lane_end = code->axis_count;
    run_values(interpreter, code, count);
    return count;
}

void run_points(Interpreter *interpreter, StageCode *code, int count) {
    code->lane_first = 0;
    code->lane_end = code->axis_count;
    if (code->tuple)
        run_tuple(interpreter, code, count);
    else if (code->combine != COMBINE_NONE)
        run_reduction(interpreter, code, count);
    else
        run_values(interpreter, code, count);
    if (code->combine != COMBINE_ADD || !type_is_float(code->type))
        set_magnitudes(code, count);
}

/* --- scattering --------------------------------------------------------------------------------------------------- */

/* The sums of all elements while terms are added. */
typedef struct ElementSums {
    int64_t *values; /* or the bits of reals */
    double *error, *magnitude, *plain;
} ElementSums;

static void load_sum(StageCode *code, const ElementSums *sums, int64_t element, int lane) {
    code->result.integer[lane] = sums->values[element];
    code->result.error[lane] = sums->error[element];
    code->magnitude[lane] = sums->magnitude[element];
    code->plain_sum[lane] = sums->plain[element];
}

static void save_sum(const StageCode *code, const ElementSums *sums, int64_t element, int lane) {
    sums->values[element] = code->result.integer[lane];
    sums->error[element] = code->result.error[lane];
    sums->magnitude[element] = code->magnitude[lane];
    sums->plain[element] = code->plain_sum[lane];
}

static ElementSums begin_sums(Interpreter *interpreter, StageCode *code, Arena *arena) {
    int64_t elements = code->points;
    ElementSums sums = {ARENA_ARRAY(arena, int64_t, elements), ARENA_ARRAY(arena, double, elements),
                        ARENA_ARRAY(arena, double, elements), ARENA_ARRAY(arena, double, elements)};
    code->lane_first = 0;
    code->lane_end = code->axis_count;
    for (int64_t first = 0; first < elements; first += STRIP) {
        int count = elements - first < STRIP ? (int)(elements - first) : STRIP;
        set_points(code, first, count);
        prepare(code, &code->initial, count);
        execute(interpreter, code, &code->initial, count, ALL);
        begin_reduction(code, count);
        for (int l = 0; l < count; l++)
            save_sum(code, &sums, first + l, l);
    }
    return sums;
}

static bool is_place(const StageCode *code, int variable) {
    return variable < code->axis_count && code->places[variable];
}

double scatter_terms(const StageCode *code) {
    double terms = 1;
    for (int v = 0; v < code->variable_count; v++)
        terms *= is_place(code, v) ? 1 : (double)code->extents[v];
    return terms;
}

/* Puts the variables of the next terms into the lanes, except for the places. The last variable is the fastest. */
static void set_terms(StageCode *code, int count) {
    for (int l = 0; l < count; l++) {
        for (int v = 0; v < code->variable_count; v++)
            code->lanes[v][l] = code->terms[v];
        for (int v = code->variable_count - 1; v >= 0; v--) {
            if (is_place(code, v))
                continue;
            if (++code->terms[v] < code->extents[v])
                break;
            code->terms[v] = 0;
        }
    }
}

/* Puts the next terms into the lanes, of those that are left. Returns how many they are. */
static int next_terms_of_all(Interpreter *interpreter, StageCode *code, int64_t *left) {
    if (*left > 0 && code->ends)
        return next_strip(interpreter, code, 0);
    int count = *left < STRIP ? (int)*left : STRIP;
    *left -= count;
    set_terms(code, count);
    return count;
}

/* Puts the places into the lanes. inside: by lane, whether all of its places exist. */
static void set_places(Interpreter *interpreter, StageCode *code, int count, bool *inside) {
    prepare(code, &code->place, count);
    execute(interpreter, code, &code->place, count, ALL);
    for (int l = 0; l < count; l++)
        inside[l] = true;
    for (int v = 0; v < code->axis_count; v++)
        for (int l = 0; l < count && code->places[v]; l++) {
            int64_t place = code->places[v]->result->integer[l];
            inside[l] &= place >= 0 && place < code->extents[v];
            code->lanes[v][l] = inside[l] ? place : 0;
        }
}

static int64_t element_of_lane(const StageCode *code, int lane) {
    int64_t element = 0;
    for (int v = 0; v < code->axis_count; v++)
        element = element * code->extents[v] + code->lanes[v][lane];
    return element;
}

static void add_strip(Interpreter *interpreter, StageCode *code, const ElementSums *sums, int count) {
    bool inside[STRIP];
    set_places(interpreter, code, count, inside);
    prepare(code, &code->value, count);
    execute(interpreter, code, &code->value, count, ALL);
    for (int l = 0; l < count; l++) {
        if (!inside[l])
            continue;
        int64_t element = element_of_lane(code, l);
        load_sum(code, sums, element, 0);
        combine_lane(code, 0, l);
        save_sum(code, sums, element, 0);
    }
}

void run_scatter(Interpreter *interpreter, StageCode *code, void (*store)(Storage *storage, int64_t first, int count)) {
    Arena *arena = arena_new();
    ElementSums sums = begin_sums(interpreter, code, arena);
    memset(code->terms, 0, sizeof *code->terms * (size_t)code->variable_count);
    code->lane_end = code->variable_count;
    int64_t terms = code->points ? (int64_t)scatter_terms(code) : 0;
    begin_strips(code);
    for (int count; (count = next_terms_of_all(interpreter, code, &terms)) > 0;)
        add_strip(interpreter, code, &sums, count);
    for (int64_t first = 0; first < code->points; first += STRIP) {
        int count = code->points - first < STRIP ? (int)(code->points - first) : STRIP;
        for (int l = 0; l < count; l++)
            load_sum(code, &sums, first + l, l);
        bound_reduction(code, count);
        if (code->combine != COMBINE_ADD || !type_is_float(code->type))
            set_magnitudes(code, count);
        store(code->storage, first, count);
    }
    arena_free(arena);
}
