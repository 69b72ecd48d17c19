/* verify.c - the invariants of kernels: every pass keeps them, and code generators rely on them.
 *
 * Variables are used inside the loop that defines them, which is in no loop over the same variable; buffers inside
 * their allocation. Types and lanes agree at every operator. Checks come before the first store to an output. In a flat
 * kernel nothing is left to expand: see kernel.h.
 */
#include "lower/instr/instr.h"
#include "lower/kernel/statements.h"
#include <string.h>

enum { SEEN_COUNT = 64 };

typedef struct Verify {
    Arena *arena;
    const Kernel *kernel;
    bool flat;
    LIST(const Var *) loops;
    LIST(const Tensor *) buffers;
    const void *seen[SEEN_COUNT]; /* in these loops and buffers: some that unrolled statements share, by address */
    int checks, stores; /* so far; stores to outputs */
    int parallel_depth;
    int axes;           /* device axes that loops around count: a bit for each, by kind */
    const char *broken; /* the first rule that is broken */
    const Stmt *where;
} Verify;

static void require(Verify *v, bool holds, const char *rule) {
    if (!holds && !v->broken)
        v->broken = rule;
}

/* --- what is in scope --------------------------------------------------------------------------------------------- */

static bool loop_in_scope(const Verify *v, const Var *var) {
    for (int i = 0; i < v->loops.count; i++)
        if (v->loops.items[i] == var)
            return true;
    return false;
}

static bool var_in_scope(const Verify *v, const Var *var) {
    const Program *program = v->kernel->program;
    const SharedNest *nest = v->kernel->nest;
    if (var->kind == VAR_LOOP)
        return loop_in_scope(v, var);
    for (int i = 0; nest && i < nest->number_count; i++)
        if (nest->numbers[i] == var)
            return true;
    for (int i = 0; i < program->size_count; i++)
        if (program->sizes[i] == var)
            return true;
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].scalar == var)
            return true;
    return false;
}

static bool buffer_allocated(const Verify *v, const Tensor *tensor) {
    for (int i = v->buffers.count - 1; i >= 0; i--) /* what is read was mostly allocated of late */
        if (v->buffers.items[i] == tensor)
            return true;
    return false;
}

static bool tensor_in_scope(const Verify *v, const Tensor *tensor) {
    const SharedNest *nest = v->kernel->nest;
    for (int i = 0; nest && i < nest->tensor_count; i++)
        if (nest->tensors[i] == tensor)
            return true;
    return tensor->role == ROLE_CONSTANT || program_is_given(v->kernel->program, tensor) || buffer_allocated(v, tensor);
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static void verify_expr(Verify *v, const Expr *e);

static bool constant_index(const Expr *e) {
    if (e->kind == EXPR_RAMP)
        return expr_is_int(e->args[0], NULL) && expr_is_int(e->args[1], NULL);
    return expr_is_int(e, NULL);
}

static int64_t last_index(const Expr *e) {
    return e->kind == EXPR_RAMP ? e->args[0]->integer + (e->lanes - 1) * e->args[1]->integer : e->integer;
}

static void verify_offset(Verify *v, const Expr *e) {
    require(v, e->count > 0, "an offset has parts");
    for (int i = 0, depth = -1; i < e->count; i++) {
        int own = expr_depth(e->args[i], v->loops.items, v->loops.count);
        require(v, e->args[i]->type == TYPE_INT64 && e->args[i]->lanes == 1,
                "a part of an offset is a scalar of type int64");
        require(v, own > depth, "a part of an offset changes in a loop inside of that of the part before");
        depth = own;
    }
}

/* Whether its lanes are a known stride apart, or it has one lane. */
static bool is_in_parts(const Expr *index) {
    const Expr *first = index->kind == EXPR_RAMP || index->kind == EXPR_BROADCAST ? index->args[0] : index;
    return first->lanes > 1 || first->kind == EXPR_INT || first->kind == EXPR_OFFSET;
}

static void verify_index(Verify *v, const Tensor *tensor, Expr *const *index, int count, int lanes) {
    require(v, tensor_in_scope(v, tensor), "a buffer is used outside its allocation");
    require(v, count == tensor->rank || count == 1, "an access has one index a dimension, or one in all");
    require(v, !v->flat || count == 1, "an access of a flat kernel has one index");
    for (int i = 0; i < count; i++) {
        verify_expr(v, index[i]);
        require(v, index[i]->type == TYPE_INT64, "an index is of type int64");
        require(v, index[i]->lanes == lanes, "an index has the lanes of its access");
    }
    if (!v->flat || v->broken)
        return;
    if (tensor->scope != SCOPE_REGISTER) {
        require(v, is_in_parts(index[0]), "an index of a flat kernel is an offset");
        return;
    }
    int64_t elements = tensor_elements(tensor);
    require(v, constant_index(index[0]), "a register buffer is indexed by constants");
    require(v, elements >= 0, "a register buffer has a constant size");
    require(v, v->broken || (last_index(index[0]) < elements && last_index(index[0]) >= 0),
            "a register buffer's index is inside it");
}

static void verify_guard(Verify *v, const Expr *guard, int lanes) {
    if (!guard)
        return;
    verify_expr(v, guard);
    require(v, guard->type == TYPE_BOOL, "a guard is of type bool");
    require(v, guard->lanes == lanes, "a guard has the lanes of its access");
}

static bool op_types_agree(const Expr *e) {
    const Expr *first = e->args[e->op == OP_SELECT];
    for (int i = 1; i < e->count; i++)
        if (e->args[i]->type != first->type)
            return false;
    switch (op_info[e->op].class) {
    case CLASS_COMPARE: return e->type == TYPE_BOOL;
    case CLASS_LOGIC: return e->type == TYPE_BOOL && first->type == TYPE_BOOL;
    case CLASS_SELECT: return e->type == first->type && e->args[0]->type == TYPE_BOOL;
    default: return e->type == first->type;
    }
}

static void verify_lanes(Verify *v, const Expr *e) {
    for (int i = 0; i < e->count; i++)
        require(v, e->args[i]->lanes == e->lanes, "operands have the lanes of their operator");
}

static void verify_vector(Verify *v, const Expr *e) {
    for (int i = 0; i < e->count; i++)
        require(v, e->args[i]->lanes == 1, "a ramp or broadcast is made of scalars");
    require(v, e->lanes > 1, "a ramp or broadcast has more than one lane");
    require(v, e->args[0]->type == e->type, "a ramp or broadcast has the type of its scalars");
    require(v, e->kind == EXPR_BROADCAST || e->type == TYPE_INT64, "a ramp is of type int64");
}

static void verify_shuffle(Verify *v, const Expr *e) {
    require(v, e->count > 0, "a shuffle has vectors");
    for (int i = 0; i < e->count; i++)
        require(v, e->args[i]->type == e->type && e->args[i]->lanes > 1 && e->args[i]->lanes == e->args[0]->lanes,
                "vectors that are shuffled have the type of the shuffle and equal lanes");
    for (int lane = 0; lane < e->lanes && !v->broken; lane++)
        require(v, e->pattern[lane] >= -1 && e->pattern[lane] < e->count * e->args[0]->lanes,
                "a shuffle takes lanes that are there");
}

static void verify_call(Verify *v, const Expr *e) {
    const Instr *instr = e->instr;
    int first = !instr_accumulates(instr);
    require(v, e->count == instr->operand_count - first, "an instruction has its number of operands");
    require(v, e->type == instr->operands[0]->type && e->lanes == instr_lanes(instr, 0),
            "an instruction gives its first operand");
    for (int i = first; i < instr->operand_count && !v->broken; i++)
        require(v,
                e->args[i - first]->type == instr->operands[i]->type &&
                    e->args[i - first]->lanes == instr_lanes(instr, i),
                "an operand of an instruction has its type and as many lanes as it has elements");
}

static void verify_node(Verify *v, const Expr *e) {
    switch (e->kind) {
    case EXPR_VAR:
        require(v, var_in_scope(v, e->var), "a variable is used outside its loop");
        require(v, e->type == e->var->type && e->lanes == 1, "a variable has its own type and one lane");
        break;
    case EXPR_READ:
        require(v, !e->otherwise, "no read of a kernel has an else value");
        require(v, e->type == e->tensor->type, "a read has the type of its tensor");
        break;
    case EXPR_OP:
        require(v, e->count == op_info[e->op].arity, "an operator has its number of operands");
        require(v, op_types_agree(e), "the types of an operator's operands agree");
        verify_lanes(v, e);
        break;
    case EXPR_CAST: verify_lanes(v, e); break;
    case EXPR_RAMP:
    case EXPR_BROADCAST: verify_vector(v, e); break;
    case EXPR_REPEAT:
        require(v, e->args[0]->lanes > 1 && e->lanes % e->args[0]->lanes == 0, "a vector is repeated whole");
        require(v, e->args[0]->type == e->type, "a repeated vector keeps its type");
        break;
    case EXPR_SHUFFLE: verify_shuffle(v, e); break;
    case EXPR_OFFSET: verify_offset(v, e); break;
    case EXPR_CALL: verify_call(v, e); break;
    default: require(v, e->lanes == 1, "a constant has one lane");
    }
}

static void verify_expr(Verify *v, const Expr *e) {
    const void *key = e->kind == EXPR_OFFSET ? (const void *)e->args : e; /* constants are all that others differ in */
    const void **seen = &v->seen[((uintptr_t)key >> 4) % SEEN_COUNT];
    if (v->broken || *seen == key)
        return;
    *seen = key;
    verify_node(v, e);
    if (e->kind == EXPR_READ) {
        verify_index(v, e->tensor, e->args, e->count, e->lanes);
        verify_guard(v, e->guard, e->lanes);
        return;
    }
    for (int i = 0; i < e->count; i++)
        verify_expr(v, e->args[i]);
}

static void verify_scalar(Verify *v, const Expr *e, ElementType type, const char *rule) {
    verify_expr(v, e);
    require(v, e->type == type && e->lanes == 1, rule);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void verify_body(Verify *v, Stmt *const *body, int count);

/* The body of a statement that has something in scope. */
static void verify_scope(Verify *v, Stmt *stmt) {
    memset(v->seen, 0, sizeof v->seen);
    verify_body(v, stmt->body, stmt->count);
    memset(v->seen, 0, sizeof v->seen);
}

static bool is_output(const Tensor *tensor) {
    return tensor->role == ROLE_OUTPUT;
}

static void verify_for(Verify *v, Stmt *stmt) {
    verify_scalar(v, stmt->extent, TYPE_INT64, "a loop's extent is a scalar of type int64");
    require(v, stmt->var->kind == VAR_LOOP, "a loop defines a loop variable");
    require(v, !loop_in_scope(v, stmt->var), "a variable is defined once in a nest");
    bool expanded = !loop_kind_is_expanded(stmt->loop);
    require(v, !v->flat || expanded, "no loop of a flat kernel is vectorized or unrolled");
    bool parallel = stmt->loop == LOOP_PARALLEL;
    require(v, !parallel || v->parallel_depth == 0, "no parallel loop stands inside another");
    require(v, !loop_kind_is_bound(stmt->loop) || !(v->axes & 1 << stmt->loop), "an axis is counted once in a nest");
    int axes = v->axes, checks = v->checks, stores = v->stores;
    v->parallel_depth += parallel;
    v->axes |= loop_kind_is_bound(stmt->loop) ? 1 << stmt->loop : 0;
    list_push(v->arena, &v->loops, stmt->var);
    verify_scope(v, stmt);
    require(v, v->checks == checks || v->stores == stores, "a check stands before the first store to an output");
    v->loops.count--;
    v->parallel_depth -= parallel;
    v->axes = axes;
}

static void verify_store(Verify *v, Stmt *stmt) {
    v->stores += is_output(stmt->tensor);
    require(v, stmt->tensor->role == ROLE_OUTPUT || stmt->tensor->role == ROLE_TEMPORARY, "no input is stored to");
    verify_expr(v, stmt->value);
    require(v, stmt->value->type == stmt->tensor->type, "a value has the type of its tensor");
    verify_index(v, stmt->tensor, stmt->index, stmt->index_count, stmt->index_count ? stmt->value->lanes : 1);
    verify_guard(v, stmt->guard, stmt->value->lanes);
}

static void verify_together(Verify *v, Stmt *stmt) {
    require(v, stmt->count > 1, "what is stored together is more than one store");
    for (int i = 0; i < stmt->count; i++)
        require(v, stmt->body[i]->kind == STMT_STORE, "only stores stand together");
    verify_body(v, stmt->body, stmt->count);
}

static void verify_allocate(Verify *v, Stmt *stmt) {
    const Tensor *tensor = stmt->tensor;
    require(v, tensor->role == ROLE_TEMPORARY, "only temporaries are allocated");
    require(v, !buffer_allocated(v, tensor), "a buffer is allocated once in a nest");
    for (int d = 0; d < tensor->rank; d++)
        verify_scalar(v, tensor->dims[d], TYPE_INT64, "a buffer's extents are scalars of type int64");
    list_push(v->arena, &v->buffers, tensor);
    verify_scope(v, stmt);
    v->buffers.count--;
}

/* What one arm stores is not stored before the checks of the other. */
static void verify_arms(Verify *v, Stmt *stmt) {
    int stores = v->stores;
    verify_body(v, stmt->body, stmt->count);
    int stored = v->stores - stores;
    v->stores = stores;
    verify_body(v, stmt->otherwise, stmt->otherwise_count);
    v->stores += stored;
}

static bool stores_to(const SharedNest *nest, const Tensor *tensor) {
    EACH_STMT(stmt, nest->kernel->body)
        if (stmt->kind == STMT_STORE && stmt->tensor == tensor)
            return true;
    return false;
}

static void verify_shared(Verify *v, Stmt *stmt) {
    const SharedNest *nest = stmt->shared;
    require(v, v->loops.count == 0, "a shared nest runs in no loop");
    for (int i = 0; i < nest->tensor_count; i++) {
        const Tensor *own = stmt->tensors[i], *tensor = nest->tensors[i];
        require(v, tensor_in_scope(v, own), "a shared nest gets buffers inside their allocation");
        require(v, own->type == tensor->type && own->role == tensor->role && own->rank == tensor->rank,
                "a shared nest gets tensors that are like its own");
        v->stores += is_output(own) && stores_to(nest, tensor);
    }
    for (int i = 0; i < nest->number_count; i++) {
        const Var *number = nest->numbers[i];
        const Expr *value = stmt->numbers[i];
        require(v, value->type == number->type && (value->kind == EXPR_INT || value->kind == EXPR_REAL),
                "a number of a shared nest has its type");
        require(v, type_is_float(number->type) || (value->integer >= number->least && value->integer <= number->most),
                "a number of a shared nest is in its range");
    }
}

static void verify_stmt(Verify *v, Stmt *stmt) {
    switch (stmt->kind) {
    case STMT_BLOCK: require(v, false, "a block stands only around the whole kernel"); break;
    case STMT_FOR: verify_for(v, stmt); break;
    case STMT_IF:
        verify_scalar(v, stmt->condition, TYPE_BOOL, "a condition is a scalar of type bool");
        verify_arms(v, stmt);
        break;
    case STMT_STORE: verify_store(v, stmt); break;
    case STMT_TOGETHER: verify_together(v, stmt); break;
    case STMT_ALLOCATE: verify_allocate(v, stmt); break;
    case STMT_CHECK:
        verify_expr(v, stmt->condition);
        require(v, stmt->condition->type == TYPE_BOOL, "what is checked is of type bool");
        require(v, v->stores == 0, "a check stands before the first store to an output");
        v->checks++;
        require(v, v->parallel_depth == 0, "a check stands in no parallel loop");
        break;
    case STMT_PREFETCH:
        require(v, stmt->tensor->scope != SCOPE_REGISTER, "registers are not prefetched");
        verify_index(v, stmt->tensor, stmt->index, stmt->index_count, 1);
        break;
    case STMT_STEP: break;
    case STMT_SHARED: verify_shared(v, stmt); break;
    }
}

static void verify_body(Verify *v, Stmt *const *body, int count) {
    for (int i = 0; i < count && !v->broken; i++) {
        verify_stmt(v, body[i]);
        if (v->broken && !v->where)
            v->where = body[i];
    }
}

const char *kernel_verify(Arena *arena, const Kernel *kernel, bool flat) {
    for (int n = 0; n < kernel->shared.count; n++) {
        const char *broken = kernel_verify(arena, kernel->shared.items[n]->kernel, flat);
        if (broken)
            return broken;
    }
    Verify v = {.arena = arena, .kernel = kernel, .flat = flat};
    verify_body(&v, kernel->body->body, kernel->body->count);
    if (!v.broken)
        return NULL;
    Text text = {.arena = arena};
    stmt_print(&text, v.where);
    return arena_printf(arena, "%s, which does not hold in:\n%s", v.broken, text.text);
}
