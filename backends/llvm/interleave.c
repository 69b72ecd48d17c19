/* interleave.c - lanes that lie a small stride apart in memory, and whose gaps are other vectors of lanes: the
 * elements of all are contiguous, and are loaded or stored as such, with shuffles between.
 *
 * Statements in a row, nothing but stores, are looked at together. Reads x(b + k + lane * stride), for several k less than
 * a stride apart, are loaded once: everything from the first element to the last one lies inside of the buffer. Stores
 * for all k at which nothing reads what is stored are stored together. A vector of as many lanes as a register has is
 * made of `stride` registers; by turns for each prime factor of it.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_STRIDE = 2, MOST_STRIDE = 16, FEW_COLUMNS = 4, WHOLE_BYTES = 16 };

/* Accesses that differ in the constants of their indices alone: columns. */
typedef struct Columns {
    const Tensor *tensor;
    const Expr *guard; /* of lanes; or NULL */
    const Expr *index; /* of the first column */
    Affine at;         /* where that begins */
    int stride, lanes;
    int width;            /* from the first column to the last */
    LLVMValueRef *values; /* [stride], as memory has them, once they were loaded in the block */
    LLVMBasicBlockRef block;
} Columns;

/* One of them, which a read is. */
typedef struct Column {
    Columns *columns;
    int64_t number; /* constants of the index beyond that of the first column */
} Column;

/* --- what is accessed --- */

static bool same_place(const Affine *a, const Affine *b) {
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->terms[i].coefficient != b->terms[i].coefficient || !expr_equal(a->terms[i].atom, b->terms[i].atom))
            return false;
    return true;
}

static bool reads_index(const Affine *affine) {
    for (int i = 0; i < affine->count; i++)
        if (expr_reads(affine->terms[i].atom))
            return true;
    return false;
}

/* Lanes up to an end: of the last vector of a loop. */
static bool is_end(Code *code, const Tensor *tensor, const Expr *guard, int lanes) {
    return guard->kind == EXPR_OP && guard->op == OP_LT && guard->lanes == lanes && guard->args[0]->kind == EXPR_RAMP &&
           guard->args[1]->kind == EXPR_BROADCAST && !expr_reads(guard) &&
           has_masked_access(code, element_info[tensor->type].bytes);
}

/* What an access would be the first column of. */
static bool columns_of(Code *code, const Tensor *tensor, const Expr *index, const Expr *guard, int lanes,
                       Columns *columns) {
    int64_t stride;
    *columns = (Columns){.tensor = tensor, .guard = guard, .index = index, .lanes = lanes, .width = 1};
    if (index->kind != EXPR_RAMP || !expr_is_int(index->args[1], &stride) || stride < LEAST_STRIDE ||
        stride > MOST_STRIDE || lanes < 2 || lanes != padded_lanes(lanes) || buffer_of(code, tensor)->registers ||
        (guard && !is_end(code, tensor, guard, lanes)))
        return false;
    columns->stride = (int)stride;
    return expr_affine_modular(code->arena, index->args[0], &columns->at) && !reads_index(&columns->at);
}

static bool same_guard(const Expr *a, const Expr *b) {
    return a && b ? expr_equal(a, b) : a == b;
}

/* They differ in constants, and in guards. */
static bool same_columns(const Columns *a, const Columns *b) {
    return a->tensor == b->tensor && a->stride == b->stride && a->lanes == b->lanes && same_place(&a->at, &b->at);
}

/* Lanes of the registers that a vector is cut into. */
static int register_lanes(Code *code, const Columns *columns) {
    int lanes = code->target->vector_bytes / element_info[columns->tensor->type].bytes;
    return lanes > columns->lanes || lanes < 1 ? columns->lanes : lanes;
}

/* --- shuffles --- */

static int least_factor(int number) {
    int factor = 2;
    while (number % factor)
        factor++;
    return factor;
}

/* Vectors of `lanes` lanes whose elements together are those of `count` columns by turns become these columns. An odd
 * number of columns has each element of a column in another lane: they are put into one vector, then in order. */
static void separate_odd(Code *code, LLVMValueRef *vectors, int count, int lanes) {
    LLVMValueRef columns[count];
    int indices[lanes];
    for (int c = 0; c < count; c++) {
        columns[c] = vectors[0];
        for (int v = 1; v < count; v++) {
            for (int lane = 0; lane < lanes; lane++)
                indices[lane] = (v * lanes + lane) % count == c ? lanes + lane : lane;
            columns[c] = emit_shuffle(code, columns[c], vectors[v], indices, lanes);
        }
        for (int lane = 0; lane < lanes; lane++)
            indices[lane] = (count * lane + c) % lanes;
        columns[c] = emit_shuffle(code, columns[c], NULL, indices, lanes);
    }
    for (int c = 0; c < count; c++)
        vectors[c] = columns[c];
}

static void join_odd(Code *code, LLVMValueRef *columns, int count, int lanes) {
    LLVMValueRef placed[count];
    int indices[lanes];
    for (int c = 0; c < count; c++) {
        for (int lane = 0; lane < lanes; lane++)
            indices[(count * lane + c) % lanes] = lane;
        placed[c] = emit_shuffle(code, columns[c], NULL, indices, lanes);
    }
    for (int v = 0; v < count; v++) {
        columns[v] = placed[0];
        for (int c = 1; c < count; c++) {
            for (int lane = 0; lane < lanes; lane++)
                indices[lane] = (v * lanes + lane) % count == c ? lanes + lane : lane;
            columns[v] = emit_shuffle(code, columns[v], placed[c], indices, lanes);
        }
    }
}

/* Every second lane of both, the first or the second ones. */
static LLVMValueRef every_second(Code *code, LLVMValueRef a, LLVMValueRef b, int lanes, int first) {
    int indices[lanes];
    for (int lane = 0; lane < lanes; lane++)
        indices[lane] = 2 * lane + first;
    return emit_shuffle(code, a, b, indices, lanes);
}

/* The lanes of both by turns, of the first or the second halves. */
static LLVMValueRef by_turns(Code *code, LLVMValueRef a, LLVMValueRef b, int lanes, int half) {
    int indices[lanes];
    for (int lane = 0; lane < lanes; lane++)
        indices[lane] = half * lanes / 2 + lane / 2 + (lane % 2) * lanes;
    return emit_shuffle(code, a, b, indices, lanes);
}

static void separate_step(Code *code, LLVMValueRef *vectors, int count, int lanes) {
    if (count != 2) {
        separate_odd(code, vectors, count, lanes);
        return;
    }
    LLVMValueRef first = every_second(code, vectors[0], vectors[1], lanes, 0);
    vectors[1] = every_second(code, vectors[0], vectors[1], lanes, 1);
    vectors[0] = first;
}

static void join_step(Code *code, LLVMValueRef *columns, int count, int lanes) {
    if (count != 2) {
        join_odd(code, columns, count, lanes);
        return;
    }
    LLVMValueRef first = by_turns(code, columns[0], columns[1], lanes, 0);
    columns[1] = by_turns(code, columns[0], columns[1], lanes, 1);
    columns[0] = first;
}

/* Of count = p * q vectors: q times p vectors, each giving a vector of each of p streams, which are q columns. */
static void separate(Code *code, LLVMValueRef *vectors, int count, int lanes) {
    if (count == 1)
        return;
    int p = least_factor(count), q = count / p;
    LLVMValueRef streams[count];
    for (int g = 0; g < q; g++) {
        separate_step(code, vectors + g * p, p, lanes);
        for (int c = 0; c < p; c++)
            streams[c * q + g] = vectors[g * p + c];
    }
    for (int c = 0; c < p; c++) {
        separate(code, streams + c * q, q, lanes);
        for (int k = 0; k < q; k++)
            vectors[c + p * k] = streams[c * q + k];
    }
}

static void join(Code *code, LLVMValueRef *columns, int count, int lanes) {
    if (count == 1)
        return;
    int p = least_factor(count), q = count / p;
    LLVMValueRef streams[count];
    for (int c = 0; c < p; c++) {
        for (int k = 0; k < q; k++)
            streams[c * q + k] = columns[c + p * k];
        join(code, streams + c * q, q, lanes);
    }
    for (int g = 0; g < q; g++) {
        for (int c = 0; c < p; c++)
            columns[g * p + c] = streams[c * q + g];
        join_step(code, columns + g * p, p, lanes);
    }
}

/* --- loads and stores of registers --- */

static LLVMValueRef address_at(Code *code, const Columns *columns, LLVMValueRef first, int64_t elements) {
    LLVMValueRef distance = index_constant(code, elements);
    LLVMTypeRef type = memory_type(code, columns->tensor->type);
    return elements ? LLVMBuildInBoundsGEP2(code->builder, type, first, &distance, 1, "") : first;
}

/* Of `lanes` elements from one of the first column's lane 0 on, those of lanes that the guard allows, and of columns. */
static LLVMValueRef mask_at(Code *code, const Columns *columns, LLVMValueRef mask, int64_t from, int lanes) {
    int indices[lanes];
    for (int i = 0; i < lanes; i++) {
        int64_t element = from + i, lane = element / columns->stride;
        indices[i] = element % columns->stride < columns->width ? (int)lane : columns->lanes;
    }
    return emit_shuffle(code, mask, LLVMConstNull(LLVMTypeOf(mask)), indices, lanes);
}

static LLVMValueRef load_at(Code *code, const Columns *columns, LLVMValueRef first, int64_t from, int lanes) {
    LLVMTypeRef type = vector_of(memory_type(code, columns->tensor->type), lanes);
    LLVMValueRef value = LLVMBuildLoad2(code->builder, type, address_at(code, columns, first, from), "");
    LLVMSetAlignment(value, (unsigned)element_info[columns->tensor->type].bytes);
    return value;
}

static LLVMValueRef load_masked_at(Code *code, const Columns *columns, LLVMValueRef first, int64_t from, int lanes,
                                   LLVMValueRef mask) {
    LLVMTypeRef type = vector_of(memory_type(code, columns->tensor->type), lanes), overloads[] = {type, code->pointer};
    LLVMValueRef distance = index_constant(code, from);
    first = LLVMBuildGEP2(code->builder, memory_type(code, columns->tensor->type), first, &distance, 1, "");
    LLVMValueRef args[] = {first, constant_int(code->i32, element_info[columns->tensor->type].bytes),
                           mask_at(code, columns, mask, from, lanes), LLVMConstNull(type)};
    return emit_intrinsic(code, "llvm.masked.load", overloads, 2, args, 4);
}

static void store_at(Code *code, const Columns *columns, LLVMValueRef first, LLVMValueRef mask, int64_t from,
                     LLVMValueRef value) {
    int bytes = element_info[columns->tensor->type].bytes, lanes = lanes_of(value);
    if (!mask) {
        LLVMValueRef store = LLVMBuildStore(code->builder, value, address_at(code, columns, first, from));
        LLVMSetAlignment(store, (unsigned)bytes);
        return;
    }
    LLVMValueRef distance = index_constant(code, from);
    first = LLVMBuildGEP2(code->builder, memory_type(code, columns->tensor->type), first, &distance, 1, "");
    LLVMTypeRef overloads[] = {LLVMTypeOf(value), code->pointer};
    LLVMValueRef args[] = {value, first, constant_int(code->i32, bytes), mask_at(code, columns, mask, from, lanes)};
    emit_intrinsic(code, "llvm.masked.store", overloads, 2, args, 4);
}

/* The last register's elements end where the last column does: they are loaded from so many elements before. */
static LLVMValueRef load_last(Code *code, const Columns *columns, LLVMValueRef first, int64_t from, int lanes) {
    int gap = columns->stride - columns->width, indices[lanes];
    LLVMValueRef value = load_at(code, columns, first, from - gap, lanes);
    for (int lane = 0; lane < lanes; lane++)
        indices[lane] = lane + gap < lanes ? lane + gap : -1;
    return gap ? emit_shuffle(code, value, NULL, indices, lanes) : value;
}

/* ARM has instructions for few whole columns, which LLVM finds in a load and shuffles of all its elements, and in a shuffle
 * of all columns and a store. */
static bool has_column_access(Code *code, const Columns *columns, int lanes) {
    return strcmp(code->target->family, "arm") == 0 && columns->stride <= FEW_COLUMNS &&
           columns->width == columns->stride && !columns->guard && register_lanes(code, columns) == lanes &&
           lanes * element_info[columns->tensor->type].bytes >= WHOLE_BYTES / 2;
}

static void load_whole(Code *code, const Columns *columns, LLVMValueRef first, int lane, int lanes,
                       LLVMValueRef *values) {
    int stride = columns->stride, indices[lanes];
    LLVMValueRef all = load_at(code, columns, first, (int64_t)lane * stride, lanes * stride);
    for (int c = 0; c < stride; c++) {
        for (int i = 0; i < lanes; i++)
            indices[i] = i * stride + c;
        values[c] = emit_shuffle(code, all, NULL, indices, lanes);
    }
}

/* The columns in one vector, one after the other: of any number. */
static LLVMValueRef in_one_vector(Code *code, LLVMValueRef *columns, int count, int lanes) {
    LLVMValueRef all = columns[0];
    for (int c = 1; c < count; c++) {
        int indices[(c + 1) * lanes];
        for (int i = 0; i < (c + 1) * lanes; i++)
            indices[i] = i;
        LLVMValueRef wide = emit_resized(code, columns[c], c * lanes);
        all = emit_shuffle(code, all, wide, indices, (c + 1) * lanes);
    }
    return all;
}

static void store_whole(Code *code, const Columns *columns, LLVMValueRef first, int lane, int lanes,
                        LLVMValueRef *values) {
    int stride = columns->stride, indices[lanes * stride];
    for (int i = 0; i < lanes * stride; i++)
        indices[i] = i % stride * lanes + i / stride;
    LLVMValueRef all = in_one_vector(code, values, stride, lanes);
    store_at(code, columns, first, NULL, (int64_t)lane * stride,
             emit_shuffle(code, all, NULL, indices, lanes * stride));
}

/* The columns of `lanes` lanes from one on. */
static void load_part(Code *code, const Columns *columns, LLVMValueRef first, LLVMValueRef mask, int lane, int lanes,
                      LLVMValueRef *values) {
    if (has_column_access(code, columns, lanes)) {
        load_whole(code, columns, first, lane, lanes, values);
        return;
    }
    for (int v = 0; v < columns->stride; v++) {
        int64_t from = (int64_t)lane * columns->stride + v * lanes;
        bool last = lane + lanes == columns->lanes && v == columns->stride - 1;
        values[v] = mask   ? load_masked_at(code, columns, first, from, lanes, mask)
                    : last ? load_last(code, columns, first, from, lanes)
                           : load_at(code, columns, first, from, lanes);
    }
    separate(code, values, columns->stride, lanes);
}

/* The parts of a column one after the other. */
static LLVMValueRef joined_parts(Code *code, LLVMValueRef *parts, int count) {
    for (; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++)
            parts[i] = emit_joined(code, parts[2 * i], parts[2 * i + 1]);
    return parts[0];
}

static LLVMValueRef first_address(Code *code, const Columns *columns) {
    return emit_address(code, columns->tensor, columns->index->args[0]);
}

static void load_columns(Code *code, Columns *columns) {
    LLVMValueRef mask = columns->guard ? emit_value(code, columns->guard) : NULL, first = first_address(code, columns);
    int lanes = register_lanes(code, columns), count = columns->lanes / lanes, stride = columns->stride;
    LLVMValueRef parts[count][stride], column[count];
    for (int part = 0; part < count; part++)
        load_part(code, columns, first, mask, part * lanes, lanes, parts[part]);
    for (int c = 0; c < stride; c++) {
        for (int part = 0; part < count; part++)
            column[part] = parts[part][c];
        columns->values[c] = joined_parts(code, column, count);
    }
    columns->block = LLVMGetInsertBlock(code->builder);
}

static void store_columns(Code *code, const Columns *columns, LLVMValueRef *values) {
    LLVMValueRef mask = columns->guard ? emit_value(code, columns->guard) : NULL, first = first_address(code, columns);
    int lanes = register_lanes(code, columns), stride = columns->stride;
    for (int lane = 0; lane < columns->lanes; lane += lanes) {
        LLVMValueRef parts[stride];
        for (int c = 0; c < stride; c++)
            parts[c] = lanes == columns->lanes ? values[c] : emit_lanes(code, values[c], lane, lanes);
        if (has_column_access(code, columns, lanes)) {
            store_whole(code, columns, first, lane, lanes, parts);
            continue;
        }
        join(code, parts, stride, lanes);
        for (int v = 0; v < stride; v++)
            store_at(code, columns, first, mask, (int64_t)lane * stride + v * lanes, parts[v]);
    }
}

/* --- reads --- */

typedef struct Found {
    const Expr *read;
    Columns columns;
} Found;

typedef struct Search {
    Code *code;
    Row *row;
    bool steps; /* of a reduction are among the statements */
    int held;   /* vectors that are kept over all steps */
    Map seen;   /* Expr -> itself */
    LIST(Found) found;
} Search;

static bool stores_to(const Row *row, const Tensor *tensor) {
    for (int s = row->begin; s < row->end; s++) {
        const Stmt *stmt = row->statements[s];
        for (int i = 0; i < stmt->count; i++)
            if (stmt->body[i]->tensor == tensor)
                return true;
        if (stmt->kind == STMT_STORE && stmt->tensor == tensor)
            return true;
    }
    return false;
}

static void find_reads(Search *search, const Expr *e) {
    Columns columns;
    if (!e || e->lanes == 1 || address_map_get(&search->seen, e))
        return;
    address_map_set(search->code->arena, &search->seen, e, (void *)e);
    for (int i = 0; i < e->count; i++)
        find_reads(search, e->args[i]);
    if (e->kind == EXPR_READ && e->count == 1 &&
        columns_of(search->code, e->tensor, e->args[0], e->guard, e->lanes, &columns) &&
        !stores_to(search->row, e->tensor))
        list_push(search->code->arena, &search->found, ((Found){e, columns}));
}

/* What a scalar decides about is not read where that is false. */
static void find_statement_reads(Search *search, const Stmt *stmt) {
    for (int i = 0; i < stmt->count; i++)
        find_statement_reads(search, stmt->body[i]);
    if (stmt->kind == STMT_STORE && !(stmt->guard && stmt->guard->lanes == 1))
        find_reads(search, stmt->value);
}

static int by_constant(const void *a, const void *b) {
    int64_t x = (*(Found *const *)a)->columns.at.constant, y = (*(Found *const *)b)->columns.at.constant;
    return (x > y) - (x < y);
}

/* More of them have to be read than the shuffles of all are worth, and the last register may not begin before the first.
 */
static bool pays(Code *code, const Columns *columns, int members) {
    int gap = columns->stride - columns->width;
    return members > 1 && (columns->stride <= FEW_COLUMNS || 2 * members >= columns->stride) &&
           gap <= register_lanes(code, columns);
}

/* Reads of one place, in the order of their constants, from one on: those of one group of columns. Returns how many. */
static int make_columns(Search *search, Found *const *reads, int count) {
    Arena *arena = search->code->arena;
    Columns *columns = ARENA_NEW(arena, Columns);
    int taken = 0, members = 0;
    *columns = reads[0]->columns;
    for (int64_t last = -1; taken < count; taken++) {
        int64_t number = reads[taken]->columns.at.constant - columns->at.constant;
        if (number >= columns->stride)
            break;
        members += number != last;
        last = number;
        columns->width = (int)number + 1;
    }
    columns->values = ARENA_ARRAY(arena, LLVMValueRef, columns->stride);
    bool fits = !search->steps || search->held + columns->stride <= search->code->target->vector_registers;
    bool together = fits && pays(search->code, columns, members);
    search->held += together ? columns->stride : 0;
    for (int i = 0; i < taken && together; i++) {
        Column *column = ARENA_NEW(arena, Column);
        *column = (Column){columns, reads[i]->columns.at.constant - columns->at.constant};
        address_map_set(arena, &search->row->reads, reads[i]->read, column);
    }
    return taken;
}

static void group_reads(Search *search) {
    int count = search->found.count, rest = 0;
    Found **left = ARENA_ARRAY(search->code->arena, Found *, count + 1);
    Found **same = ARENA_ARRAY(search->code->arena, Found *, count + 1);
    for (int i = 0; i < count; i++)
        left[i] = &search->found.items[i];
    for (; count > 0; count = rest) {
        int alike = rest = 0;
        const Columns *first = &left[0]->columns;
        for (int i = 0; i < count; i++)
            if (same_columns(first, &left[i]->columns) && same_guard(first->guard, left[i]->columns.guard))
                same[alike++] = left[i];
            else
                left[rest++] = left[i];
        qsort(same, (size_t)alike, sizeof *same, by_constant);
        for (int done = 0; done < alike;)
            done += make_columns(search, same + done, alike - done);
    }
}

static bool is_in_row(const Stmt *stmt) {
    return stmt->kind == STMT_STORE || stmt->kind == STMT_TOGETHER || stmt->kind == STMT_STEP;
}

/* The stores from the one at hand on. Between the steps of a reduction as much is read together as there are registers for,
 * beside what each step adds to. */
static void look_ahead(Code *code, Row *row) {
    Search search = {.code = code, .row = row};
    row->begin = row->at;
    row->reads = (Map){0};
    for (row->end = row->at; row->end < row->count && is_in_row(row->statements[row->end]); row->end++) {
        bool step = row->statements[row->end]->kind == STMT_STEP;
        search.held += !search.steps && !step;
        search.steps |= step;
    }
    for (int s = row->begin; s < row->end; s++)
        find_statement_reads(&search, row->statements[s]);
    group_reads(&search);
    row->end = row->end > row->at ? row->end : row->at + 1;
}

LLVMValueRef emit_column(Code *code, const Expr *read) {
    Row *row = code->row;
    Columns columns;
    if (!row || read->count != 1 || !columns_of(code, read->tensor, read->args[0], read->guard, read->lanes, &columns))
        return NULL;
    if (row->at >= row->end)
        look_ahead(code, row);
    const Column *column = address_map_get(&row->reads, read);
    if (!column)
        return NULL;
    if (column->columns->block != LLVMGetInsertBlock(code->builder))
        load_columns(code, column->columns);
    return column->columns->values[column->number];
}

/* --- stores --- */

enum { MOST_STORES = 256 };

typedef struct Stored {
    const Stmt *stmt;
    Columns columns;
} Stored;

static bool reads_tensor(Code *code, Map *seen, const Expr *e, const Tensor *tensor) {
    if (!e || address_map_get(seen, e))
        return false;
    address_map_set(code->arena, seen, e, (void *)e);
    bool reads = e->kind == EXPR_READ && (e->tensor == tensor || reads_tensor(code, seen, e->guard, tensor));
    for (int i = 0; i < e->count && !reads; i++)
        reads = reads_tensor(code, seen, e->args[i], tensor);
    return reads;
}

static bool stores_column(Code *code, const Stmt *stmt, Columns *columns) {
    return stmt->kind == STMT_STORE && stmt->index_count == 1 && stmt->value->lanes > 1 &&
           columns_of(code, stmt->tensor, stmt->index[0], stmt->guard, stmt->value->lanes, columns);
}

/* Statements from the first one on that store columns of one place, without reading it: how many. */
static int stores_in_row(Code *code, Stmt *const *statements, int count, Stored *stored) {
    Map seen = {0};
    int found = 0;
    for (; found < count; found++) {
        stored[found].stmt = statements[found];
        if (!stores_column(code, statements[found], &stored[found].columns) ||
            !same_columns(&stored[0].columns, &stored[found].columns) ||
            reads_tensor(code, &seen, statements[found]->value, statements[0]->tensor))
            break;
    }
    return found;
}

static int by_place(const void *a, const void *b) {
    int64_t x = ((const Stored *)a)->columns.at.constant, y = ((const Stored *)b)->columns.at.constant;
    return (x > y) - (x < y);
}

/* Whether the first ones, as many as the stride, are all columns. */
static bool is_whole_group(const Stored *stored, int count) {
    int stride = stored->columns.stride;
    for (int c = 0; c < stride && stride <= count; c++)
        if (stored[c].columns.at.constant != stored->columns.at.constant + c ||
            !same_guard(stored[c].columns.guard, stored->columns.guard))
            return false;
    return stride <= count;
}

static bool are_whole_groups(const Stored *stored, int count) {
    for (int done = 0; done < count; done += stored->columns.stride)
        if (!is_whole_group(stored + done, count - done))
            return false;
    return true;
}

static void emit_group(Code *code, const Stored *stored) {
    Columns columns = stored->columns;
    LLVMValueRef values[MOST_STRIDE];
    columns.width = columns.stride;
    for (int c = 0; c < columns.stride; c++)
        values[c] = emit_value_to_store(code, stored[c].stmt);
    store_columns(code, &columns, values);
    forget_divisors(code, columns.tensor);
    forget_values(code);
}

int emit_interleaved(Code *code, Stmt *const *statements, int count) {
    Columns first;
    if (!stores_column(code, statements[0], &first) || count < first.stride)
        return 0;
    int most = count < MOST_STORES ? count : MOST_STORES;
    Stored *stored = ARENA_ARRAY(code->arena, Stored, most);
    int found = stores_in_row(code, statements, most, stored);
    qsort(stored, (size_t)found, sizeof *stored, by_place);
    if (found == 0 || !are_whole_groups(stored, found))
        return 0;
    debug_location(code, statements[0]->loc);
    for (int done = 0; done < found; done += first.stride)
        emit_group(code, stored + done);
    return found;
}
