/* interpreter_storage.c - the contents of tensors: given, computed whole, or computed element by element into a hash
 * table.
 *
 * A tensor is computed whole if it is small, or if more than an eighth of its elements were asked for. Otherwise only
 * the elements that are asked for are computed, and kept.
 */
#include "lang/diag.h"
#include "sema/interpreter_internal.h"

#include <math.h>
#include <string.h>

enum { SMALL_ELEMENTS = 1024, SMALL_OPERATIONS = 1 << 18, WHOLE_SHARE = 8, FIRST_TABLE = 256 };

/* --- whole -------------------------------------------------------------------------------------------------------- */

/* Stores the result of one lane of the code's last run. */
void store_result(Storage *storage, int64_t element, int lane) {
    const StageCode *code = storage->code;
    Value value = {.type = storage->tensor->type, .integer = code->result.integer[lane]};
    value_store(value, storage->data + element * element_info[storage->tensor->type].bytes);
    if (storage->error)
        storage->error[element] = code->result.error[lane];
    if (storage->magnitude)
        storage->magnitude[element] = code->magnitude[lane];
}

/* Stores the results of the code's last run as elements first, first + 1, ... */
static void store_results(Storage *storage, int64_t first, int count) {
    StageCode *code = storage->code;
    ElementType type = storage->tensor->type;
    if (type == TYPE_FLOAT)
        for (int l = 0; l < count; l++)
            ((float *)storage->data)[first + l] = (float)code->result.real[l];
    for (int l = 0; l < count && type != TYPE_FLOAT; l++) {
        Value value = {.type = type, .integer = code->result.integer[l]};
        value_store(value, storage->data + (first + l) * element_info[type].bytes);
    }
    if (storage->error)
        memcpy(storage->error + first, code->result.error, sizeof(double) * (size_t)count);
    if (storage->magnitude)
        memcpy(storage->magnitude + first, code->magnitude, sizeof(double) * (size_t)count);
}

void allocate_whole(Interpreter *interpreter, Storage *storage) {
    const StageCode *code = storage->code;
    bool sum = code->combine == COMBINE_ADD && type_is_float(code->type);
    char *data = arena_alloc(interpreter->arena, (size_t)(storage->elements * element_info[code->type].bytes) + 1);
    if (!storage->exact && !interpreter->values_only)
        storage->error = ARENA_ARRAY(interpreter->arena, double, storage->elements);
    if (sum && !interpreter->values_only)
        storage->magnitude = ARENA_ARRAY(interpreter->arena, double, storage->elements);
    storage->data = data;
}

void compute_whole(Interpreter *interpreter, Storage *storage) {
    if (storage->data)
        return;
    StageCode *code = storage->code;
    if (code->stage->scan) {
        compute_scan(interpreter, code->stage->scan);
        return;
    }
    allocate_whole(interpreter, storage);
    if (code->places) {
        run_scatter(interpreter, code, store_results);
        return;
    }
    bool rows = has_rows(code);
    for (int64_t first = 0, count; first < storage->elements; first += count) {
        if (rows) {
            count = run_row(interpreter, code, first);
        } else {
            count = storage->elements - first < STRIP ? storage->elements - first : STRIP;
            set_points(code, first, (int)count);
            run_points(interpreter, code, (int)count);
        }
        store_results(storage, first, (int)count);
    }
}

/* --- one by one --------------------------------------------------------------------------------------------------- */

static Entry *slot_of(Entry *table, int64_t capacity, int64_t element) {
    uint64_t hash = (uint64_t)element * 0x9e3779b97f4a7c15u;
    for (uint64_t at = hash >> 20;; at++) {
        Entry *entry = &table[at & (uint64_t)(capacity - 1)];
        if (entry->element == element || entry->element == -1)
            return entry;
    }
}

Entry *find_entry(const Storage *storage, int64_t element) {
    if (!storage->table)
        return NULL;
    Entry *entry = slot_of(storage->table, storage->table_capacity, element);
    return entry->element == element ? entry : NULL;
}

static void grow_table(Interpreter *interpreter, Storage *storage) {
    int64_t capacity = storage->table_capacity ? 4 * storage->table_capacity : FIRST_TABLE;
    Entry *table = ARENA_ARRAY(interpreter->arena, Entry, capacity);
    for (int64_t i = 0; i < capacity; i++)
        table[i].element = -1;
    for (int64_t i = 0; i < storage->table_capacity; i++)
        if (storage->table[i].element != -1)
            *slot_of(table, capacity, storage->table[i].element) = storage->table[i];
    storage->table = table;
    storage->table_capacity = capacity;
}

static void insert_result(Interpreter *interpreter, Storage *storage, int64_t element, int lane) {
    const StageCode *code = storage->code;
    if (2 * storage->table_count >= storage->table_capacity)
        grow_table(interpreter, storage);
    Entry *entry = slot_of(storage->table, storage->table_capacity, element);
    storage->table_count += entry->element == -1;
    *entry = (Entry){.element = element,
                     .value = {.type = code->type, .integer = code->result.integer[lane]},
                     .error = code->exact ? 0 : code->result.error[lane],
                     .magnitude = code->magnitude[lane]};
}

/* Puts the axis values of an element into a lane. */
static void set_point(StageCode *code, const Storage *storage, int64_t element, int lane) {
    for (int v = 0; v < code->axis_count; v++) {
        code->lanes[v][lane] = element / storage->strides[v];
        element %= storage->strides[v];
    }
}

static bool wants_whole(const Storage *storage, int more) {
    const StageCode *code = storage->code;
    if (code->stage->scan)
        return true;
    if (code->places)
        return (double)(storage->table_count + more) * (double)code->reduction_points >=
               (double)storage->elements + scatter_terms(code);
    if (storage->elements <= SMALL_ELEMENTS)
        return (double)storage->elements * (double)code->reduction_points * code->operations <= SMALL_OPERATIONS ||
               WHOLE_SHARE * (storage->table_count + more) >= storage->elements;
    return WHOLE_SHARE * (storage->table_count + more) >= storage->elements;
}

/* Lists the elements that are wanted but not known yet, each once. */
static int missing_elements(const Storage *storage, const int64_t *elements, int count, int64_t *missing) {
    int missing_count = 0;
    for (int l = 0; l < count; l++) {
        bool repeated = missing_count > 0 && missing[missing_count - 1] == elements[l];
        if (!repeated && !find_entry(storage, elements[l]))
            missing[missing_count++] = elements[l];
    }
    return missing_count;
}

void demand_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count) {
    int64_t missing[STRIP];
    if (storage->data)
        return;
    int missing_count = missing_elements(storage, elements, count, missing);
    if (missing_count == 0)
        return;
    if (wants_whole(storage, missing_count)) {
        compute_whole(interpreter, storage);
        return;
    }
    for (int l = 0; l < missing_count; l++)
        set_point(storage->code, storage, missing[l], l);
    run_points(interpreter, storage->code, missing_count);
    for (int l = 0; l < missing_count; l++)
        insert_result(interpreter, storage, missing[l], l);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

#define LOAD_LANES(Type, field)                                                                                        \
    for (int l = 0; l < count; l++)                                                                                    \
    result->field[l] = ((const Type *)storage->data)[elements[l]]

static void load_whole(const Storage *storage, const int64_t *elements, int count, LaneValues *result) {
    ElementType type = storage->tensor->type;
    switch (type) {
    case TYPE_FLOAT: LOAD_LANES(float, real); break;
    case TYPE_DOUBLE: LOAD_LANES(double, real); break;
    case TYPE_INT32: LOAD_LANES(int32_t, integer); break;
    case TYPE_INT8: LOAD_LANES(int8_t, integer); break;
    case TYPE_UINT8: LOAD_LANES(uint8_t, integer); break;
    default:
        for (int l = 0; l < count; l++)
            result->integer[l] = value_load(type, storage->data + elements[l] * element_info[type].bytes).integer;
    }
    if (storage->error)
        for (int l = 0; l < count; l++)
            result->error[l] = storage->error[elements[l]];
}

void load_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count, LaneValues *result) {
    demand_elements(interpreter, storage, elements, count);
    if (storage->data) {
        load_whole(storage, elements, count, result);
        return;
    }
    for (int l = 0; l < count; l++) {
        const Entry *entry = find_entry(storage, elements[l]);
        result->integer[l] = entry->value.integer;
        result->error[l] = entry->error;
    }
}

Evaluated computed_element(Interpreter *interpreter, Storage *storage, int64_t element) {
    StageCode *code = storage->code;
    set_point(code, storage, element, 0);
    run_points(interpreter, code, 1);
    Value value = {.type = code->type, .integer = code->result.integer[0]};
    return (Evaluated){value, code->magnitude[0], code->exact ? 0 : code->result.error[0]};
}

Evaluated evaluated_element(Interpreter *interpreter, Storage *storage, int64_t element) {
    demand_elements(interpreter, storage, &element, 1);
    if (!storage->data) {
        const Entry *entry = find_entry(storage, element);
        return (Evaluated){entry->value, entry->magnitude, entry->error};
    }
    ElementType type = storage->tensor->type;
    Value value = value_load(type, storage->data + element * element_info[type].bytes);
    double size = type_is_float(type) ? fabs(value.real) : fabs((double)value.integer);
    return (Evaluated){value, storage->magnitude ? storage->magnitude[element] : size,
                       storage->error ? storage->error[element] : 0};
}
