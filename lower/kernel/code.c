/* code.c - how much code a kernel becomes: what it stores to each tensor, in instructions, after the last pass. And how
 * much work a loop is: the instructions that it runs.
 *
 * An estimate for limits on compile time, the same for all code generators. What copies of a statement share counts
 * once in a loop. Lanes count one by one where no instruction treats them together: those of reads that lie apart
 * in memory, of accesses under masks that the processor lacks, of divisions. Of code, what an instruction does beside
 * its own counts as nothing: the product of a multiply-add, the constant of an address, the lanes of an element. Work
 * has no such exceptions: what is enough for threads was measured without them.
 */
#include "lang/extremes.h"
#include "lang/machine.h"
#include "lang/map.h"
#include "lang/program.h"
#include "lang/random.h"
#include "lang/sequence.h"
#include "lower/kernel/statements.h"

enum {
    MASKED = 4, /* an access under a mask that an instruction has */
    GATHERED = 3,
    CHOSEN = 6,            /* a lane, under a mask that no instruction has */
    CALLED = 8,            /* what is in a function of its own, all its lanes */
    COMPARED = 8,          /* a mask of the lanes whose indices are below a limit */
    DIVIDED = 8,           /* a quotient or remainder of one lane, rounded down */
    DIVIDED_BY_NUMBER = 4, /* the same, by one that is known */
};

typedef struct Counting {
    Arena *arena;
    const Target *target;
    bool work;             /* rather than code */
    int chosen, converted; /* lanes under masks that no instruction has; of half */
    int64_t functions;     /* registers of math functions */
    Map hashes;            /* of expressions */
    Map seen;              /* values of the loop at hand, by their hashes */
} Counting;

static bool is_row(const Expr *index) {
    int64_t stride;
    return index->kind != EXPR_RAMP ||
           (expr_is_int(index->args[1], &stride) && stride >= -SHUFFLED_STRIDE && stride <= INTERLEAVED_STRIDE);
}

static int64_t chosen_code(Counting *counting, int lanes) {
    counting->chosen += lanes;
    return counting->chosen > CHOSEN_LANES ? CALLED : CHOSEN * lanes;
}

/* Whether it is known which lanes a mask leaves: the others are left out. */
static bool is_known_mask(const Expr *guard) {
    EACH_EXPR(e, guard)
        if (e->kind == EXPR_VAR || e->kind == EXPR_READ)
            return false;
    return true;
}

/* An access of so many lanes of elements. */
static int64_t access_code(Counting *counting, ElementType type, const Expr *index, const Expr *guard, int lanes) {
    int bytes = element_info[type].bytes;
    bool masks = target_masks(counting->target, bytes);
    if (lanes == 1)
        return guard ? 3 : 2;
    if (index->lanes == 1 || (index->kind == EXPR_RAMP && is_row(index)))
        return !guard ? 1 + counting->work : masks ? MASKED : chosen_code(counting, lanes);
    if (target_gathers(counting->target, bytes))
        return GATHERED;
    bool chosen = guard && (counting->work || !is_known_mask(guard));
    return (chosen ? SEQUENCE_FETCHED + CHOSEN : SEQUENCE_FETCHED) * lanes;
}

/* Registers that a vector fills. */
static int64_t registers_of(const Counting *counting, ElementType type, int lanes) {
    int64_t bytes = (int64_t)lanes * element_info[type].bytes, whole = counting->target->vector_bytes;
    return whole > 0 && bytes > whole ? bytes / whole : 1;
}

static bool is_half(ElementType type) {
    return type == TYPE_HALF || type == TYPE_BFLOAT16;
}

/* Conversions of values of that type: of so many instructions for a register of floats. */
static int64_t half_code(Counting *counting, ElementType type, int instructions, int lanes) {
    int64_t code = instructions * registers_of(counting, TYPE_FLOAT, lanes);
    if (type != TYPE_HALF || target_converts_half(counting->target))
        return code;
    counting->converted += lanes;
    return counting->converted > CONVERTED_LANES ? CALLED : code;
}

static int64_t read_code(Counting *counting, const Expr *e) {
    ElementType type = e->tensor->type;
    if (e->tensor->scope == SCOPE_REGISTER)
        return 0;
    return half_code(counting, type, sequence_widened(counting->target, type), e->lanes) +
           access_code(counting, type, e->count ? e->args[0] : e, e->guard, e->lanes);
}

static bool is_sequence(const Expr *e) {
    return e->kind == EXPR_OP && op_info[e->op].code == CODE_SEQUENCE;
}

static int64_t division_code(const Expr *e) {
    if (e->lanes > 1)
        return (int64_t)SEQUENCE_DIVIDED * e->lanes;
    return e->args[1]->kind == EXPR_INT ? DIVIDED_BY_NUMBER : DIVIDED;
}

static bool compares_indices(const Expr *e) {
    return e->lanes > 1 && op_info[e->op].class == CLASS_COMPARE && e->args[0]->kind == EXPR_RAMP;
}

static int64_t op_code(Counting *counting, const Expr *e) {
    int64_t registers = registers_of(counting, e->type, e->lanes);
    if (is_sequence(e))
        return registers * ((counting->functions += registers) <= FUNCTIONS_IN_PLACE ? SEQUENCE_FUNCTION : CALLED);
    if (e->kind == EXPR_OP && (e->op == OP_DIV || e->op == OP_MOD) && !type_is_float(e->type))
        return division_code(e);
    if (e->kind == EXPR_OP && compares_indices(e))
        return COMPARED;
    ElementType from = e->kind == EXPR_CAST ? e->args[0]->type : e->type;
    if (is_half(e->type))
        return half_code(counting, e->type, sequence_kept(counting->target, e->type), e->lanes);
    return is_half(from) ? half_code(counting, from, sequence_widened(counting->target, from), e->lanes) : registers;
}

static int64_t own_code(Counting *counting, const Expr *e) {
    switch (e->kind) {
    case EXPR_READ: return read_code(counting, e);
    case EXPR_OFFSET: return e->count;
    case EXPR_OP:
    case EXPR_CAST: return op_code(counting, e);
    case EXPR_BROADCAST: return counting->work || e->args[0]->kind != EXPR_READ ? 2 : 0;
    case EXPR_RAMP: return 2;
    case EXPR_REPEAT:
    case EXPR_SHUFFLE:
    case EXPR_CALL: return 1;
    default: return 0;
    }
}

static uint64_t own_hash(const Expr *e) {
    uint64_t hash = hash_mix((uint64_t)e->kind * 64 + (uint64_t)e->op) + (uint64_t)e->lanes * 64 + (uint64_t)e->type;
    return hash_mix(hash + (uint64_t)e->integer); /* or what it names */
}

static uint64_t value_hash(Counting *counting, const Expr *e);

static uint64_t operands_hash(Counting *counting, uint64_t hash, const Expr *e) {
    for (int i = 0; i < e->count; i++)
        hash = hash_mix(hash + value_hash(counting, e->args[i]));
    return hash;
}

/* The same for expressions that are computed once: equal ones in a loop, wherever they stand. */
static uint64_t value_hash(Counting *counting, const Expr *e) {
    if (!e->count && !e->guard)
        return hash_mix(own_hash(e)) | 1;
    uint64_t known = (uint64_t)(uintptr_t)address_map_get(&counting->hashes, e);
    if (known)
        return known;
    uint64_t hash = operands_hash(counting, own_hash(e), e);
    hash = hash_mix(hash + (e->guard ? value_hash(counting, e->guard) : 0)) | 1;
    address_map_set(counting->arena, &counting->hashes, e, (void *)(uintptr_t)hash);
    return hash;
}

static int64_t operands_code(Counting *counting, const Expr *e);

/* What is computed once: of addresses that differ in a constant, all but that. */
static uint64_t shared_hash(Counting *counting, const Expr *e) {
    if (counting->work || e->kind != EXPR_OFFSET)
        return value_hash(counting, e);
    return operands_hash(counting, EXPR_OFFSET, e) | 1;
}

static bool is_product(const Expr *e, ElementType type) {
    return e->kind == EXPR_OP && e->op == OP_MUL && e->type == type;
}

/* Whether an access computes the index itself. */
static bool is_address(const Counting *counting, const Expr *index) {
    return !counting->work && expr_is_unit_ramp(index);
}

/* Which operand an instruction computes together with what e does; -1: none. */
static int operand_within(const Counting *counting, const Expr *e) {
    const Expr *first = e->count ? e->args[0] : NULL;
    if (counting->work || !first)
        return -1;
    if (e->kind == EXPR_READ)
        return is_address(counting, first) ? 0 : -1;
    bool sum = e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB);
    if (!sum || !type_is_float(e->type) || !counting->target->fused_multiply_add)
        return -1;
    return is_product(first, e->type) ? 0 : is_product(e->args[1], e->type) ? 1 : -1;
}

/* Of what the loop has not computed yet. */
static int64_t expr_code(Counting *counting, const Expr *e) {
    if (!e || e->kind == EXPR_INT || e->kind == EXPR_VAR)
        return 0;
    const void *value = (const void *)(uintptr_t)shared_hash(counting, e);
    if (address_map_get(&counting->seen, value))
        return 0;
    address_map_set(counting->arena, &counting->seen, value, counting);
    int64_t instructions = own_code(counting, e) + expr_code(counting, e->guard);
    int within = operand_within(counting, e);
    for (int i = 0; i < e->count; i++)
        instructions += i == within ? operands_code(counting, e->args[i]) : expr_code(counting, e->args[i]);
    return instructions;
}

static int64_t operands_code(Counting *counting, const Expr *e) {
    int64_t instructions = 0;
    for (int i = 0; i < e->count; i++)
        instructions += expr_code(counting, e->args[i]);
    return instructions;
}

/* Register buffers are no memory: they become the values themselves. */
static int64_t store_code(Counting *counting, const Stmt *store) {
    const Expr *index = store->index_count ? store->index[0] : store->value;
    int64_t instructions = expr_code(counting, store->value) + expr_code(counting, store->guard);
    if (store->tensor->scope == SCOPE_REGISTER)
        return instructions;
    ElementType type = store->tensor->type;
    int lanes = store->value->lanes;
    instructions += is_address(counting, index) ? operands_code(counting, index) : expr_code(counting, index);
    return instructions + half_code(counting, type, sequence_rounded(counting->target, type), lanes) +
           access_code(counting, type, index, store->guard, lanes);
}

static void add_code(Arena *arena, KernelCode *code, const Tensor *tensor, int64_t instructions) {
    for (int i = code->count - 1; i >= 0; i--)
        if (code->items[i].tensor == tensor) {
            code->items[i].instructions += instructions;
            return;
        }
    list_push(arena, code, ((TensorCode){tensor, instructions}));
}

static void count_code(Counting *counting, KernelCode *code, const Stmt *stmt) {
    if (stmt->kind == STMT_STORE)
        add_code(counting->arena, code, stmt->tensor, store_code(counting, stmt));
    if (stmt->kind == STMT_FOR)
        counting->seen = (Map){0};
    for (int i = 0; i < stmt->count; i++)
        count_code(counting, code, stmt->body[i]);
    for (int i = 0; i < stmt->otherwise_count; i++)
        count_code(counting, code, stmt->otherwise[i]);
}

static void count_kernel(Counting *counting, KernelCode *code, const Kernel *kernel) {
    count_code(counting, code, kernel->body);
    for (int n = 0; n < kernel->shared.count; n++)
        count_code(counting, code, kernel->shared.items[n]->kernel->body);
}

KernelCode kernel_code(Arena *arena, const Kernel *kernel) {
    KernelCode code = {0};
    Counting counting = {.arena = arena, .target = kernel->target};
    count_kernel(&counting, &code, kernel);
    return code;
}

static int64_t function_registers(const Counting *counting, const Kernel *kernel) {
    int64_t all = 0;
    EACH_STMT(stmt, kernel->body)
        EACH_STMT_EXPR(e, stmt)
            all += is_sequence(e) ? registers_of(counting, e->type, e->lanes) : 0;
    for (int n = 0; n < kernel->shared.count; n++)
        all += function_registers(counting, kernel->shared.items[n]->kernel);
    return all;
}

/* Most kernels have few, wherever they stand: only others are looked at for what loops compute once. */
bool has_many_functions(Arena *arena, const Kernel *kernel) {
    KernelCode code = {0};
    Counting counting = {.arena = arena, .target = kernel->target};
    if (function_registers(&counting, kernel) <= FUNCTIONS_IN_PLACE)
        return false;
    count_kernel(&counting, &code, kernel);
    return counting.functions > FUNCTIONS_IN_PLACE;
}

/* --- work --------------------------------------------------------------------------------------------------------- */

enum {
    LOOP_CODE = 2 /* of an iteration itself */,
    WORK_NODES = 200,
    MOST_THREADS = 256 /* work for so many need not be counted exactly */
};
static const int64_t extent_most = (int64_t)1 << 20, work_most = (int64_t)1 << 40; /* so that no product wraps */

/* Instructions: those known, and an expression over what is known where the loop begins, or NULL. */
typedef struct Work {
    int64_t known;
    Expr *more;
    bool unknown;
} Work;

typedef struct WorkSearch {
    Counting counting;
    LIST(const Var *) inner; /* loops inside, which the expressions may not use */
} WorkSearch;

static Expr *bounded(Arena *arena, Expr *e, int64_t most) {
    return expr_binary(arena, OP_MIN, e, expr_int(arena, most));
}

static bool is_known_outside(const WorkSearch *search, const Expr *e) {
    for (int i = 0; i < search->inner.count; i++)
        if (expr_uses_var(e, search->inner.items[i]))
            return false;
    return !expr_reads(e);
}

/* So many times the work: as an extent says, or, where that is NULL, `times`. */
static Work repeated(Arena *arena, Work work, int64_t times, Expr *extent) {
    work.known = smaller_int(work.known, work_most);
    if (!extent) {
        if (work.more)
            work.more = bounded(arena, expr_binary(arena, OP_MUL, work.more, expr_int(arena, times)), work_most);
        work.known = smaller_int(work.known * times, work_most);
        return work;
    }
    Expr *each = expr_int(arena, work.known), *zero = expr_int(arena, 0);
    if (work.more)
        each = bounded(arena, expr_binary(arena, OP_ADD, work.more, each), work_most);
    extent = bounded(arena, expr_binary(arena, OP_MAX, extent, zero), extent_most);
    work.more = bounded(arena, expr_binary(arena, OP_MUL, extent, each), work_most);
    work.known = 0;
    return work;
}

static Work body_work(WorkSearch *search, Stmt *const *body, int count);

static Work work_of_loop(WorkSearch *search, const Stmt *loop) {
    Arena *arena = search->counting.arena;
    int64_t times;
    Interval range = expr_interval(loop->extent);
    search->counting.seen = (Map){0};
    list_push(arena, &search->inner, loop->var);
    Work work = body_work(search, loop->body, loop->count);
    search->inner.count--;
    work.known += LOOP_CODE;
    if (expr_is_int(loop->extent, &times))
        return repeated(arena, work, smaller_int(times < 0 ? 0 : times, extent_most), NULL);
    if (is_known_outside(search, loop->extent))
        return repeated(arena, work, 0, loop->extent);
    work.unknown |= !range.has_high;
    return repeated(arena, work, range.has_high && range.high > 0 ? smaller_int(range.high, extent_most) : 0, NULL);
}

static void add_work(Arena *arena, Work *sum, Work work) {
    sum->unknown |= work.unknown;
    sum->known = smaller_int(sum->known + work.known, work_most);
    if (work.more)
        sum->more = sum->more ? bounded(arena, expr_binary(arena, OP_ADD, sum->more, work.more), work_most) : work.more;
}

static Work body_work(WorkSearch *search, Stmt *const *body, int count) {
    Arena *arena = search->counting.arena;
    Work sum = {0};
    for (int i = 0; i < count; i++) {
        const Stmt *stmt = body[i];
        if (stmt->kind == STMT_STORE)
            sum.known += store_code(&search->counting, stmt);
        if (stmt->kind == STMT_FOR) {
            add_work(arena, &sum, work_of_loop(search, stmt));
            continue;
        }
        add_work(arena, &sum, body_work(search, stmt->body, stmt->count));
        add_work(arena, &sum, body_work(search, stmt->otherwise, stmt->otherwise_count));
    }
    return sum;
}

int64_t thread_work(const Target *target) {
    const Machine *machine = target->machine;
    return (int64_t)(machine->fork_seconds * machine->clock_rate * machine->issue_width / 4);
}

/* An instruction for each store that is known to run: quickly counted. */
static int64_t least_work(const Stmt *stmt) {
    int64_t work = stmt->kind == STMT_STORE, times = 0;
    for (int i = 0; i < stmt->count && stmt->kind != STMT_IF; i++)
        work = smaller_int(work + least_work(stmt->body[i]), work_most);
    if (stmt->kind != STMT_FOR)
        return work;
    return expr_is_int(stmt->extent, &times) && times > 0
               ? smaller_int(work * smaller_int(times, extent_most), work_most)
               : 0;
}

Expr *loop_work(Arena *arena, const Target *target, const Stmt *loop) {
    int64_t least = least_work(loop);
    if (least >= MOST_THREADS * thread_work(target))
        return expr_int(arena, least);
    WorkSearch search = {.counting = {.arena = arena, .target = target, .work = true}};
    Work work = work_of_loop(&search, loop);
    if (work.unknown || (work.more && expr_nodes_up_to(work.more, WORK_NODES) == WORK_NODES))
        return NULL;
    Expr *known = expr_int(arena, smaller_int(work.known, work_most));
    return work.more ? expr_binary(arena, OP_ADD, work.more, known) : known;
}
