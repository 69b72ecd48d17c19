/* interleave.c - pass: interleaved accesses: lanes a small stride apart in memory, with the gaps filled by other
 * vectors of lanes (columns). Together their elements are contiguous: they are read or stored as such, and shuffled.
 *
 * Works on runs of statements that are only stores. Reads x(b + k + lane * stride), for several k less than a stride
 * apart, are made once: everything from the first element to the last is inside the buffer. Where iterations of a
 * parallel loop may write elements between them, all k are read or none are. Stores for all k are made together if
 * nothing reads what they store. A vector of as many lanes as a register has is made of `stride` registers, interleaved
 * by each prime factor of the stride in turn. Needs unrolled loops.
 */
#include "lang/program.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_STRIDE = 2, WHOLE_BYTES = 16, MOST_STORES = 256 };

/* Columns: accesses whose indices differ in constants alone. */
typedef struct Columns {
    const Tensor *tensor;
    Expr *guard; /* of lanes; or NULL */
    Expr *index; /* of the first column */
    Affine at;   /* where that index begins */
    int stride, lanes;
    int width; /* how many columns from the first to the last one accessed */
    int count; /* reads of columns that are read together */
    struct FoundColumn *const *reads;
    bool done;
} Columns;

/* A read, seen as a column. */
typedef struct FoundColumn {
    Expr *read;
    Columns columns;
    Columns *group; /* NULL: read alone */
} FoundColumn;

/* A run of statements: stores, with steps between them. */
typedef struct StoreRow {
    const Kernel *kernel;
    Arena *arena;
    const Map *shared; /* tensors that other iterations may write */
    Stmt *const *statements;
    int count;
    int first;     /* the first statement that reads a column */
    bool strided;  /* a column was seen */
    bool steps;    /* it contains steps of a reduction */
    int held;      /* vectors that are kept over all steps */
    Map seen;      /* Expr -> itself */
    Map found_for; /* Expr, a read -> FoundColumn */
    LIST(FoundColumn *) found;
    ReadMapping columns;          /* of reads that were made together */
    Vectors *vectors[TYPE_COUNT]; /* in registers, of each type */
    StmtList list;                /* the new statements */
} StoreRow;

/* --- what is accessed --------------------------------------------------------------------------------------------- */

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

/* Whether the guard cuts off lanes at an end: the last vector of a loop. */
static bool is_end(const Kernel *kernel, const Tensor *tensor, const Expr *guard, int lanes) {
    return expr_is_op(guard, OP_LT) && guard->lanes == lanes && guard->args[0]->kind == EXPR_RAMP &&
           guard->args[1]->kind == EXPR_BROADCAST && !expr_reads(guard) &&
           target_masks(kernel->target, element_info[tensor->type].bytes);
}

/* The columns that an access would be the first of. */
static bool columns_of(const Kernel *kernel, const Tensor *tensor, Expr *index, Expr *guard, int lanes,
                       Columns *columns) {
    int64_t stride;
    *columns = (Columns){.tensor = tensor, .guard = guard, .index = index, .lanes = lanes, .width = 1};
    if (index->kind != EXPR_RAMP || !expr_is_int(index->args[1], &stride) || stride < LEAST_STRIDE ||
        stride > INTERLEAVED_STRIDE || lanes < 2 || (lanes & (lanes - 1)) != 0 || tensor->scope == SCOPE_REGISTER ||
        (guard && !is_end(kernel, tensor, guard, lanes)))
        return false;
    columns->stride = (int)stride;
    return expr_affine_modular(kernel->arena, index->args[0], &columns->at) && !reads_index(&columns->at);
}

/* Whether they differ in constants and guards alone. */
static bool same_columns(const Columns *a, const Columns *b) {
    return a->tensor == b->tensor && a->stride == b->stride && a->lanes == b->lanes && same_place(&a->at, &b->at);
}

/* Lanes of one register; a vector is cut into registers. */
static int register_lanes(const Kernel *kernel, const Columns *columns) {
    int lanes = kernel->target->vector_bytes / element_info[columns->tensor->type].bytes;
    return lanes > columns->lanes || lanes < 1 ? columns->lanes : lanes;
}

/* --- shuffles ----------------------------------------------------------------------------------------------------- */

static Expr *keep(StoreRow *row, Expr *value) {
    Vectors **vectors = &row->vectors[value->type];
    if (!*vectors) {
        *vectors = ARENA_NEW(row->arena, Vectors);
        **vectors = vectors_new(row->arena, "columns", value->type, row->statements[0]->loc);
    }
    return vectors_keep(*vectors, &row->list, value);
}

static Expr *shuffle(StoreRow *row, Expr *a, Expr *b, const int *pattern, int lanes) {
    Expr *both[] = {a, b};
    return keep(row, expr_shuffle(row->arena, both, b ? 2 : 1, pattern, lanes));
}

static int least_factor(int number) {
    int factor = 2;
    while (number % factor)
        factor++;
    return factor;
}

/* Separates `count` columns that are interleaved in `count` vectors of `lanes` lanes. With an odd number each element
 * of a column is in another lane: they are collected in one vector, then put in order. */
static void separate_odd(StoreRow *row, Expr **vectors, int count, int lanes) {
    Expr *columns[count];
    int pattern[lanes];
    for (int c = 0; c < count; c++) {
        columns[c] = vectors[0];
        for (int v = 1; v < count; v++) {
            for (int lane = 0; lane < lanes; lane++)
                pattern[lane] = (v * lanes + lane) % count == c ? lanes + lane : lane;
            columns[c] = shuffle(row, columns[c], vectors[v], pattern, lanes);
        }
        for (int lane = 0; lane < lanes; lane++)
            pattern[lane] = (count * lane + c) % lanes;
        columns[c] = shuffle(row, columns[c], NULL, pattern, lanes);
    }
    for (int c = 0; c < count; c++)
        vectors[c] = columns[c];
}

static void join_odd(StoreRow *row, Expr **columns, int count, int lanes) {
    Expr *placed[count];
    int pattern[lanes];
    for (int c = 0; c < count; c++) {
        for (int lane = 0; lane < lanes; lane++)
            pattern[(count * lane + c) % lanes] = lane;
        placed[c] = shuffle(row, columns[c], NULL, pattern, lanes);
    }
    for (int v = 0; v < count; v++) {
        columns[v] = placed[0];
        for (int c = 1; c < count; c++) {
            for (int lane = 0; lane < lanes; lane++)
                pattern[lane] = (v * lanes + lane) % count == c ? lanes + lane : lane;
            columns[v] = shuffle(row, columns[v], placed[c], pattern, lanes);
        }
    }
}

/* Every second lane of both vectors, from lane `first`. */
static Expr *every_second(StoreRow *row, Expr *a, Expr *b, int lanes, int first) {
    int pattern[lanes];
    for (int lane = 0; lane < lanes; lane++)
        pattern[lane] = 2 * lane + first;
    return shuffle(row, a, b, pattern, lanes);
}

/* The lanes of both vectors alternately, of their first or second halves. */
static Expr *by_turns(StoreRow *row, Expr *a, Expr *b, int lanes, int half) {
    int pattern[lanes];
    for (int lane = 0; lane < lanes; lane++)
        pattern[lane] = half * lanes / 2 + lane / 2 + (lane % 2) * lanes;
    return shuffle(row, a, b, pattern, lanes);
}

static void separate_step(StoreRow *row, Expr **vectors, int count, int lanes) {
    if (count != 2) {
        separate_odd(row, vectors, count, lanes);
        return;
    }
    Expr *first = every_second(row, vectors[0], vectors[1], lanes, 0);
    vectors[1] = every_second(row, vectors[0], vectors[1], lanes, 1);
    vectors[0] = first;
}

static void join_step(StoreRow *row, Expr **columns, int count, int lanes) {
    if (count != 2) {
        join_odd(row, columns, count, lanes);
        return;
    }
    Expr *first = by_turns(row, columns[0], columns[1], lanes, 0);
    columns[1] = by_turns(row, columns[0], columns[1], lanes, 1);
    columns[0] = first;
}

/* Separates p * q vectors: q groups of p vectors give a vector each of p streams, and each stream is q columns. */
static void separate(StoreRow *row, Expr **vectors, int count, int lanes) {
    if (count == 1)
        return;
    int p = least_factor(count), q = count / p;
    Expr *streams[count];
    for (int g = 0; g < q; g++) {
        separate_step(row, vectors + g * p, p, lanes);
        for (int c = 0; c < p; c++)
            streams[c * q + g] = vectors[g * p + c];
    }
    for (int c = 0; c < p; c++) {
        separate(row, streams + c * q, q, lanes);
        for (int k = 0; k < q; k++)
            vectors[c + p * k] = streams[c * q + k];
    }
}

static void join(StoreRow *row, Expr **columns, int count, int lanes) {
    if (count == 1)
        return;
    int p = least_factor(count), q = count / p;
    Expr *streams[count];
    for (int c = 0; c < p; c++) {
        for (int k = 0; k < q; k++)
            streams[c * q + k] = columns[c + p * k];
        join(row, streams + c * q, q, lanes);
    }
    for (int g = 0; g < q; g++) {
        for (int c = 0; c < p; c++)
            columns[g * p + c] = streams[c * q + g];
        join_step(row, columns + g * p, p, lanes);
    }
}

/* --- reads and stores of registers -------------------------------------------------------------------------------- */

/* The guard of `lanes` elements from `from` on, counted from lane 0 of the first column: true for columns in lanes that
 * the guard allows. */
static Expr *guard_at(Arena *arena, const Columns *columns, int64_t from, int lanes) {
    int pattern[lanes];
    if (!columns->guard)
        return NULL;
    for (int i = 0; i < lanes; i++) {
        int64_t element = from + i, lane = element / columns->stride;
        pattern[i] = element % columns->stride < columns->width ? (int)lane : columns->lanes;
    }
    Expr *both[] = {columns->guard, expr_broadcast(arena, expr_bool(arena, false), columns->lanes)};
    return expr_shuffle(arena, both, 2, pattern, lanes);
}

static Expr *index_at(Arena *arena, const Columns *columns, int64_t from, int lanes) {
    Expr *first = expr_binary(arena, OP_ADD, columns->index->args[0], expr_int(arena, from));
    return expr_ramp(arena, first, expr_int(arena, 1), lanes);
}

static Expr *read_at(Arena *arena, const Columns *columns, int64_t from, int lanes) {
    Expr *read = expr_copy(arena, columns->reads[0]->read);
    read->args[0] = index_at(arena, columns, from, lanes);
    read->guard = guard_at(arena, columns, from, lanes);
    read->lanes = lanes;
    return read;
}

static void store_at(StoreRow *row, const Columns *columns, const Stmt *like, int64_t from, Expr *value) {
    Expr **index = ARENA_ARRAY(row->arena, Expr *, 1);
    index[0] = index_at(row->arena, columns, from, value->lanes);
    Expr *guard = guard_at(row->arena, columns, from, value->lanes);
    stmts_add(row->arena, &row->list, stmt_store(row->arena, columns->tensor, index, 1, value, guard, like->loc));
}

/* Reads the last register so that it ends at the last column: it starts earlier by the gap. */
static Expr *read_last(StoreRow *row, const Columns *columns, int64_t from, int lanes) {
    int gap = columns->stride - columns->width, pattern[lanes];
    Expr *value = keep(row, read_at(row->arena, columns, from - gap, lanes));
    for (int lane = 0; lane < lanes; lane++)
        pattern[lane] = lane + gap < lanes ? lane + gap : -1;
    return gap ? shuffle(row, value, NULL, pattern, lanes) : value;
}

/* Some processors have instructions for few whole columns. LLVM finds them in a load with shuffles of all its elements,
 * and in a shuffle of all columns with a store. */
static bool has_column_access(const Kernel *kernel, const Columns *columns, int lanes) {
    return columns->stride <= kernel->target->family->column_most && columns->width == columns->stride &&
           !columns->guard && register_lanes(kernel, columns) == lanes &&
           lanes * element_info[columns->tensor->type].bytes >= WHOLE_BYTES / 2;
}

/* Keeps values in registers; all are computed before the first is stored. */
static void keep_together(StoreRow *row, Expr **values, int count) {
    StmtList list = row->list;
    row->list = (StmtList){0};
    for (int i = 0; i < count; i++)
        values[i] = keep(row, values[i]);
    Stmt *together = stmt_together(row->arena, row->list, row->statements[0]->loc);
    row->list = list;
    stmts_add(row->arena, &row->list, together);
}

static void read_whole(StoreRow *row, const Columns *columns, int lane, int lanes, Expr **values) {
    int stride = columns->stride, pattern[lanes];
    Expr *all = read_at(row->arena, columns, (int64_t)lane * stride, lanes * stride);
    for (int c = 0; c < stride; c++) {
        for (int i = 0; i < lanes; i++)
            pattern[i] = i * stride + c;
        values[c] = expr_shuffle(row->arena, &all, 1, pattern, lanes);
    }
    keep_together(row, values, stride);
}

static void store_whole(StoreRow *row, const Columns *columns, const Stmt *like, int lane, int lanes, Expr **values) {
    int stride = columns->stride, pattern[lanes * stride];
    for (int i = 0; i < lanes * stride; i++)
        pattern[i] = i % stride * lanes + i / stride;
    store_at(row, columns, like, (int64_t)lane * stride,
             expr_shuffle(row->arena, values, stride, pattern, lanes * stride));
}

/* Reads `lanes` lanes of all columns, from one lane on. */
static void read_part(StoreRow *row, const Columns *columns, int lane, int lanes, Expr **values) {
    if (has_column_access(row->kernel, columns, lanes)) {
        read_whole(row, columns, lane, lanes, values);
        return;
    }
    for (int v = 0; v < columns->stride; v++) {
        int64_t from = (int64_t)lane * columns->stride + v * lanes;
        bool last = !columns->guard && lane + lanes == columns->lanes && v == columns->stride - 1;
        values[v] = last ? read_last(row, columns, from, lanes) : keep(row, read_at(row->arena, columns, from, lanes));
    }
    separate(row, values, columns->stride, lanes);
}

/* Joins the parts of a column. */
static Expr *joined_parts(StoreRow *row, Expr **parts, int count) {
    for (; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++) {
            int lanes = 2 * parts[2 * i]->lanes, pattern[lanes];
            for (int lane = 0; lane < lanes; lane++)
                pattern[lane] = lane;
            parts[i] = shuffle(row, parts[2 * i], parts[2 * i + 1], pattern, lanes);
        }
    return parts[0];
}

static void read_columns(StoreRow *row, Columns *columns) {
    int lanes = register_lanes(row->kernel, columns), count = columns->lanes / lanes, stride = columns->stride;
    Expr *parts[count][stride], *column[count], *values[stride];
    for (int part = 0; part < count; part++)
        read_part(row, columns, part * lanes, lanes, parts[part]);
    for (int c = 0; c < stride; c++) {
        for (int part = 0; part < count; part++)
            column[part] = parts[part][c];
        values[c] = joined_parts(row, column, count);
    }
    for (int i = 0; i < columns->count; i++) {
        const FoundColumn *found = columns->reads[i];
        address_map_set(row->arena, &row->columns.done, found->read,
                        values[found->columns.at.constant - columns->at.constant]);
    }
    columns->done = true;
}

/* Some lanes of a column, as a vector. */
static Expr *lanes_from(StoreRow *row, Expr *column, int first, int lanes) {
    int pattern[lanes];
    for (int lane = 0; lane < lanes; lane++)
        pattern[lane] = first + lane;
    return lanes == column->lanes ? column : shuffle(row, column, NULL, pattern, lanes);
}

static void store_columns(StoreRow *row, const Columns *columns, const Stmt *like, Expr *const *values) {
    int lanes = register_lanes(row->kernel, columns), stride = columns->stride;
    for (int lane = 0; lane < columns->lanes; lane += lanes) {
        Expr *parts[stride];
        for (int c = 0; c < stride; c++)
            parts[c] = lanes_from(row, values[c], lane, lanes);
        if (has_column_access(row->kernel, columns, lanes)) {
            store_whole(row, columns, like, lane, lanes, parts);
            continue;
        }
        join(row, parts, stride, lanes);
        for (int v = 0; v < stride; v++)
            store_at(row, columns, like, (int64_t)lane * stride + v * lanes, parts[v]);
    }
}

/* --- reads -------------------------------------------------------------------------------------------------------- */

static bool stores_to(const StoreRow *row, const Tensor *tensor) {
    for (int s = row->first; s < row->count; s++) {
        const Stmt *stmt = row->statements[s];
        for (int i = 0; i < stmt->count; i++)
            if (stmt->body[i]->tensor == tensor)
                return true;
        if (stmt->kind == STMT_STORE && stmt->tensor == tensor)
            return true;
    }
    return false;
}

/* Visits all vector nodes, each once, arguments first. */
static void each_vector(Arena *arena, Map *seen, Expr *e, void (*visit)(StoreRow *row, Expr *e), StoreRow *row) {
    if (e->lanes == 1 || address_map_get(seen, e))
        return;
    address_map_set(arena, seen, e, e);
    for (int i = 0; i < e->count; i++)
        each_vector(arena, seen, e->args[i], visit, row);
    visit(row, e);
}

static bool reads_column(const StoreRow *row, const Expr *e, Columns *columns) {
    return e->kind == EXPR_READ && e->count == 1 &&
           columns_of(row->kernel, e->tensor, e->args[0], e->guard, e->lanes, columns);
}

static void note_strided(StoreRow *row, Expr *e) {
    Columns columns;
    row->strided |= reads_column(row, e, &columns);
}

static void find_read(StoreRow *row, Expr *e) {
    Columns columns;
    if (!reads_column(row, e, &columns) || stores_to(row, e->tensor))
        return;
    FoundColumn *found = ARENA_NEW(row->arena, FoundColumn);
    *found = (FoundColumn){.read = e, .columns = columns};
    address_map_set(row->arena, &row->found_for, e, found);
    list_push(row->arena, &row->found, found);
}

/* A store under a scalar condition does not read where it is false. */
static bool reads_always(const Stmt *stmt) {
    return stmt->kind == STMT_STORE && !(stmt->guard && stmt->guard->lanes == 1);
}

static void each_value(StoreRow *row, Map *seen, const Stmt *stmt, void (*visit)(StoreRow *row, Expr *e)) {
    for (int i = 0; i < stmt->count; i++)
        each_value(row, seen, stmt->body[i], visit);
    if (reads_always(stmt))
        each_vector(row->arena, seen, stmt->value, visit, row);
}

static int by_constant(const void *a, const void *b) {
    int64_t x = (*(FoundColumn *const *)a)->columns.at.constant, y = (*(FoundColumn *const *)b)->columns.at.constant;
    return (x > y) - (x < y);
}

/* Whether reading columns together pays: enough of them are read to be worth the shuffles, and the last register does
 * not begin before the first. */
static bool pays(const Kernel *kernel, const Columns *columns, int members) {
    int gap = columns->stride - columns->width;
    return members > 1 && (columns->stride <= SHUFFLED_STRIDE || 2 * members >= columns->stride) &&
           gap <= register_lanes(kernel, columns);
}

/* Makes one group of columns from the first reads, sorted by their constants. Returns how many reads it takes. */
static int make_columns(StoreRow *row, FoundColumn *const *reads, int count) {
    Columns *columns = ARENA_NEW(row->arena, Columns);
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
    columns->reads = reads;
    columns->count = taken;
    bool fits = !row->steps || row->held + columns->stride <= row->kernel->target->vector_registers;
    bool gaps = members < columns->stride && address_map_get(row->shared, columns->tensor);
    bool together = fits && !gaps && pays(row->kernel, columns, members);
    row->held += together ? columns->stride : 0;
    for (int i = 0; i < taken && together; i++)
        reads[i]->group = columns;
    return taken;
}

static void group_reads(StoreRow *row) {
    int count = row->found.count, rest = 0;
    FoundColumn **left = ARENA_ARRAY(row->arena, FoundColumn *, count + 1);
    for (int i = 0; i < count; i++)
        left[i] = row->found.items[i];
    for (; count > 0; count = rest) {
        int alike = rest = 0;
        const Columns *first = &left[0]->columns;
        FoundColumn **same = ARENA_ARRAY(row->arena, FoundColumn *, count);
        for (int i = 0; i < count; i++)
            if (same_columns(first, &left[i]->columns) && expr_equal_or_absent(first->guard, left[i]->columns.guard))
                same[alike++] = left[i];
            else
                left[rest++] = left[i];
        qsort(same, (size_t)alike, sizeof *same, by_constant);
        for (int done = 0; done < alike;)
            done += make_columns(row, same + done, alike - done);
    }
}

/* Finds columns from the first statement that reads one. Between steps of a reduction it reads only as much together as
 * there are registers left beside the accumulators. */
static void find_columns(StoreRow *row) {
    Map seen = {0};
    for (; row->first < row->count; row->first++) {
        each_value(row, &seen, row->statements[row->first], note_strided);
        if (row->strided)
            break;
    }
    for (int s = row->first; s < row->count; s++) {
        bool step = row->statements[s]->kind == STMT_STEP;
        row->held += !row->steps && !step;
        row->steps |= step;
    }
    for (int s = row->first; s < row->count; s++)
        each_value(row, &row->seen, row->statements[s], find_read);
    group_reads(row);
}

/* Reads the columns that a statement is the first to need. */
static void read_column(StoreRow *row, Expr *e) {
    const FoundColumn *found = e->kind == EXPR_READ ? address_map_get(&row->found_for, e) : NULL;
    if (found && found->group && !found->group->done)
        read_columns(row, found->group);
}

static Expr *over_columns(StoreRow *row, Expr *value) {
    return row->found.count ? expr_map_reads(&row->columns, value) : value;
}

/* The statement with reads of columns replaced. */
static Stmt *with_columns(Arena *arena, Stmt *stmt, void *context) {
    if (stmt->kind == STMT_TOGETHER)
        return stmt_map_bodies(arena, stmt, with_columns, context);
    Expr *value = reads_always(stmt) ? over_columns(context, stmt->value) : stmt->value;
    return value == stmt->value
               ? stmt
               : stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, value, stmt->guard, stmt->loc);
}

/* --- stores ------------------------------------------------------------------------------------------------------- */

typedef struct Stored {
    const Stmt *stmt;
    Columns columns;
} Stored;

static bool reads_tensor(Arena *arena, Map *seen, const Expr *e, const Tensor *tensor) {
    if (!e || address_map_get(seen, e))
        return false;
    address_map_set(arena, seen, e, (void *)e);
    bool reads = e->kind == EXPR_READ && (e->tensor == tensor || reads_tensor(arena, seen, e->guard, tensor));
    for (int i = 0; i < e->count && !reads; i++)
        reads = reads_tensor(arena, seen, e->args[i], tensor);
    return reads;
}

static bool stores_column(const Kernel *kernel, const Stmt *stmt, Columns *columns) {
    return stmt->kind == STMT_STORE && stmt->index_count == 1 && stmt->value->lanes > 1 &&
           columns_of(kernel, stmt->tensor, stmt->index[0], stmt->guard, stmt->value->lanes, columns);
}

/* How many statements, from the first on, store columns of one place without reading its tensor. */
static int stores_in_row(const Kernel *kernel, Stmt *const *statements, int count, Stored *stored) {
    Map seen = {0};
    int found = 0;
    for (; found < count; found++) {
        stored[found].stmt = statements[found];
        if (!stores_column(kernel, statements[found], &stored[found].columns) ||
            !same_columns(&stored[0].columns, &stored[found].columns) ||
            reads_tensor(kernel->arena, &seen, statements[found]->value, statements[0]->tensor))
            break;
    }
    return found;
}

static int by_place(const void *a, const void *b) {
    int64_t x = ((const Stored *)a)->columns.at.constant, y = ((const Stored *)b)->columns.at.constant;
    return (x > y) - (x < y);
}

/* Whether the first stores, as many as the stride, are all columns. */
static bool is_whole_group(const Stored *stored, int count) {
    int stride = stored->columns.stride;
    for (int c = 0; c < stride && stride <= count; c++)
        if (stored[c].columns.at.constant != stored->columns.at.constant + c ||
            !expr_equal_or_absent(stored[c].columns.guard, stored->columns.guard))
            return false;
    return stride <= count;
}

static bool are_whole_groups(const Stored *stored, int count) {
    for (int done = 0; done < count; done += stored->columns.stride)
        if (!is_whole_group(stored + done, count - done))
            return false;
    return true;
}

static void store_group(StoreRow *row, const Stored *stored) {
    Columns columns = stored->columns;
    Expr *values[INTERLEAVED_STRIDE];
    columns.width = columns.stride;
    for (int c = 0; c < columns.stride; c++)
        values[c] = over_columns(row, stored[c].stmt->value);
    keep_together(row, values, columns.stride);
    store_columns(row, &columns, stored->stmt, values);
}

/* Stores the groups that begin at a statement, if they fill all gaps; returns how many statements that replaces. */
static int store_interleaved(StoreRow *row, int at) {
    Stmt *const *statements = row->statements + at;
    int count = row->count - at;
    Columns first;
    if (!stores_column(row->kernel, statements[0], &first) || count < first.stride)
        return 0;
    int most = count < MOST_STORES ? count : MOST_STORES;
    Stored *stored = ARENA_ARRAY(row->arena, Stored, most);
    int found = stores_in_row(row->kernel, statements, most, stored);
    qsort(stored, (size_t)found, sizeof *stored, by_place);
    if (found == 0 || !are_whole_groups(stored, found))
        return 0;
    for (int done = 0; done < found; done += first.stride) {
        Map seen = {0};
        for (int c = 0; c < first.stride && row->found.count; c++)
            each_value(row, &seen, stored[done + c].stmt, read_column);
        store_group(row, stored + done);
    }
    return found;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static bool is_in_row(const Stmt *stmt) {
    return stmt->kind == STMT_STORE || stmt->kind == STMT_TOGETHER || stmt->kind == STMT_STEP;
}

static int interleave_row(const Kernel *kernel, const Map *shared, StmtList *list, Stmt *const *statements, int count) {
    StoreRow row = {.kernel = kernel, .arena = kernel->arena, .shared = shared, .statements = statements};
    row.columns = (ReadMapping){.arena = kernel->arena, .replace = expr_over_reads};
    while (row.count < count && is_in_row(statements[row.count]))
        row.count++;
    if (!kernel->target || !row.count)
        return 0;
    find_columns(&row);
    for (int i = 0; i < row.count;) {
        int stored = store_interleaved(&row, i);
        if (!stored) {
            Map seen = {0};
            if (row.found.count)
                each_value(&row, &seen, statements[i], read_column);
            stmts_add(row.arena, &row.list, with_columns(row.arena, statements[i], &row));
        }
        i += stored ? stored : 1;
    }
    for (int type = 0; type < TYPE_COUNT; type++) {
        StmtList inner = row.list;
        row.list = row.vectors[type] ? (StmtList){0} : inner;
        if (row.vectors[type])
            stmts_add(row.arena, &row.list, vectors_around(row.vectors[type], inner));
    }
    stmts_add_all(row.arena, list, row.list.items, row.list.count);
    return row.count;
}

void pass_interleave(Kernel *kernel) {
    if (kernel->lanes_apart)
        replace_statements(kernel, interleave_row);
}
