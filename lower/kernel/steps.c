/* steps.c - how many of its steps a scan keeps: as many as are read later, not all.
 *
 * If steps read only the last few steps of a temporary, and so does everything after the scan, it has room for that
 * many: step t is at t % count. Used by build once all readers are there. Each step stores all that is read of it,
 * under no condition, so nothing of an older step remains.
 */
#include "lower/kernel/statements.h"

enum { STEPS_LIMIT = 8 };

typedef struct KeptSteps {
    Arena *arena;
    const Tensor *tensor;
    Tensor *kept;   /* the smaller tensor */
    int dimension;  /* the dimension that counts the steps */
    const Var *var; /* of the loop over the steps */
    Stmt *loop;     /* the loop over the steps */
    Stmt *rows;     /* what replaces it; or NULL */
    Expr *extent;   /* of that loop */
    int loops;      /* number of such loops */
    bool inside;    /* the current statement is inside such a loop */
    int64_t count;  /* of kept steps */
    bool last;      /* after the scan only the last step is read */
    bool other;     /* it is used in another way */
    const StmtList *list; /* the statements that may use it */
    LIST(Stmt **) uses; /* the places of the statements that use the tensor, in order */
} KeptSteps;

static void note_store(KeptSteps *steps, const Stmt *stmt) {
    if (stmt->kind == STMT_PREFETCH && stmt->tensor == steps->tensor)
        steps->other = true;
    if (stmt->kind != STMT_STORE || stmt->tensor != steps->tensor)
        return;
    const Expr *step = stmt->index[steps->dimension];
    steps->other |= step->kind != EXPR_VAR || stmt->guard || (steps->var && steps->var != step->var);
    steps->var = step->var;
}

static void note_read(KeptSteps *steps, const Expr *read) {
    Affine affine;
    if (read->tensor != steps->tensor)
        return;
    Expr *newest = steps->inside ? expr_var(steps->arena, steps->var)
                                 : expr_binary(steps->arena, OP_SUB, steps->extent, expr_int(steps->arena, 1));
    Expr *ago = expr_binary(steps->arena, OP_SUB, newest, read->args[steps->dimension]);
    bool known = expr_affine_modular(steps->arena, ago, &affine) && affine.count == 0 && affine.constant >= 0 &&
                 affine.constant < STEPS_LIMIT;
    steps->other |= !known;
    steps->last &= steps->inside || (known && affine.constant == 0);
    if (known && affine.constant >= steps->count)
        steps->count = affine.constant + 1;
}

static bool stores_it(const KeptSteps *steps, Stmt *stmt) {
    EACH_STMT(s, stmt)
        if (s->kind == STMT_STORE && s->tensor == steps->tensor)
            return true;
    return false;
}

/* Visits a statement that uses the buffer, and those inside; repeated: inside a loop other than that over the steps. */
static void note_uses(KeptSteps *steps, Stmt *stmt, bool repeated) {
    bool loop = stmt->kind == STMT_FOR && stmt->var == steps->var;
    if (loop) {
        steps->loops++;
        steps->extent = stmt->extent;
        steps->loop = stmt;
        steps->other |= repeated || steps->inside || stmt->loop != LOOP_SERIAL;
    }
    bool conditional = stmt->kind == STMT_IF && steps->inside;
    steps->other |= conditional &&
                    (stmt->keeps || expr_uses_var(stmt->condition, steps->var) || expr_reads(stmt->condition)) &&
                    stores_it(steps, stmt);
    if (steps->extent || loop)
        EACH_STMT_READ(read, stmt)
            note_read(steps, read);
    steps->inside |= loop;
    for (int i = 0; i < stmt->count; i++)
        note_uses(steps, stmt->body[i], repeated || (stmt->kind == STMT_FOR && !loop && !steps->inside));
    for (int i = 0; i < stmt->otherwise_count; i++)
        note_uses(steps, stmt->otherwise[i], repeated);
    steps->inside &= !loop;
}

static bool keeps_few(KeptSteps *steps) {
    int64_t extent, power = 1;
    for (int i = 0; i < steps->uses.count; i++)
        EACH_STMT(s, *steps->uses.items[i])
            note_store(steps, s);
    for (int i = 0; i < steps->uses.count && steps->var && !steps->other; i++)
        note_uses(steps, *steps->uses.items[i], false);
    while (power < steps->count)
        power *= 2;
    steps->count = power;
    return steps->loops == 1 && !steps->other && !(expr_is_int(steps->extent, &extent) && extent <= power);
}

/* --- the change --------------------------------------------------------------------------------------------------- */

static Expr **kept_index(const KeptSteps *steps, Expr *const *index) {
    Expr **kept = ARENA_ARRAY(steps->arena, Expr *, steps->tensor->rank);
    for (int d = 0; d < steps->tensor->rank; d++)
        kept[d] = d == steps->dimension
                      ? expr_binary(steps->arena, OP_MOD, index[d], expr_int(steps->arena, steps->count))
                      : index[d];
    return kept;
}

static Expr *kept_read(Arena *arena, Expr *e, void *context) {
    const KeptSteps *steps = context;
    if (e->kind != EXPR_READ || e->tensor != steps->tensor)
        return e;
    Expr *read = expr_copy(arena, e);
    read->tensor = steps->kept;
    read->args = kept_index(steps, e->args);
    return read;
}

static Stmt *kept_stores(Arena *arena, Stmt *stmt, void *context) {
    const KeptSteps *steps = context;
    if (stmt->kind != STMT_STORE || stmt->tensor != steps->tensor)
        return stmt_map_bodies(arena, stmt, kept_stores, context);
    return stmt_store(arena, steps->kept, kept_index(steps, stmt->index), stmt->index_count, stmt->value, NULL,
                      stmt->loc);
}

/* The loop over the steps by rows. */
static Stmt *replace_loop(Arena *arena, Stmt *stmt, void *context) {
    const KeptSteps *steps = context;
    return stmt == steps->loop ? steps->rows : stmt_map_bodies(arena, stmt, replace_loop, context);
}

/* Replaces the uses by those of the smaller tensor. */
static void use_kept(KeptSteps *steps) {
    Arena *arena = steps->arena;
    steps->rows = steps->last ? scan_to_last(arena, steps->loop, steps->tensor, steps->dimension) : NULL;
    steps->count = steps->rows ? 1 : steps->count;
    steps->kept = ARENA_NEW(arena, Tensor);
    *steps->kept = *steps->tensor;
    steps->kept->dims = ARENA_ARRAY(arena, Expr *, steps->tensor->rank);
    for (int d = 0; d < steps->tensor->rank; d++)
        steps->kept->dims[d] = d == steps->dimension ? expr_int(arena, steps->count) : steps->tensor->dims[d];
    for (int i = 0; i < steps->uses.count; i++) {
        Stmt *use = *steps->uses.items[i];
        if (steps->rows)
            use = replace_loop(arena, use, steps);
        use = kept_stores(arena, use, steps);
        *steps->uses.items[i] = stmt_block(arena, stmts_rewrite(arena, stmts_one(arena, use), kept_read, steps));
    }
}

/* --- all scans ---------------------------------------------------------------------------------------------------- */

typedef LIST(KeptSteps) KeptStepsList;

static void add_steps(Arena *arena, const NestStage *stage, KeptStepsList *all) {
    if (!stage->stage->scan || stage->scan || stage->inlined || stage->constant || stage->doubled ||
        (stage->home && !stage->in_scan))
        return;
    for (int c = 0; c < stage->stage->component_count; c++) {
        const Tensor *buffer = stage->buffers[c];
        KeptSteps steps = {arena, .tensor = buffer, .dimension = stage->stage->step, .count = 1, .last = true};
        if (buffer->role == ROLE_TEMPORARY && buffer->scope == SCOPE_GLOBAL && !buffer->order &&
            buffer->rank == stage->stage->components[0].tensor->rank)
            list_push(arena, all, steps);
    }
}

static void note_use(void *user, int statement) {
    KeptSteps *steps = user;
    Stmt **place = &steps->list->items[statement];
    if (!(steps->uses.count > 0 && steps->uses.items[steps->uses.count - 1] == place))
        list_push(steps->arena, &steps->uses, place);
}

/* Notes for each buffer which of the statements use it. */
static void list_uses(Arena *arena, const StmtList *list, KeptStepsList *all) {
    Map by_tensor = {0};
    for (int i = 0; i < all->count; i++) {
        all->items[i].list = list;
        address_map_set(arena, &by_tensor, all->items[i].tensor, &all->items[i]);
    }
    stmts_note_uses(list->items, list->count, &by_tensor, note_use);
}

static void fold_scans(Arena *arena, const Nest *nest, StmtList *list, Map *kept) {
    KeptStepsList all = {0};
    for (int i = 0; i < nest->stage_count; i++)
        add_steps(arena, nest->stages[i], &all);
    if (all.count == 0)
        return;
    list_uses(arena, list, &all);
    for (int i = 0; i < all.count; i++)
        if (keeps_few(&all.items[i])) {
            use_kept(&all.items[i]);
            address_map_set(arena, kept, all.items[i].tensor, all.items[i].kept);
        }
    StmtList made = {0};
    stmts_add_all(arena, &made, list->items, list->count);
    *list = made;
}

/* --- scans by rows ------------------------------------------------------------------------------------------------ */

/* A loop over steps, and how many there are of its variable. */
typedef struct StepLoop {
    int count;
} StepLoop;

static StepLoop *step_loop(const Map *loops, const Stmt *stmt) {
    return stmt->kind == STMT_FOR ? address_map_get(loops, stmt->var) : NULL;
}

static Stmt *order_steps(Arena *arena, Stmt *stmt, void *loops) {
    stmt = stmt_map_bodies(arena, stmt, order_steps, loops);
    StepLoop *loop = stmt ? step_loop(loops, stmt) : NULL;
    return loop && loop->count == 1 ? scan_by_rows(arena, stmt) : stmt;
}

static void order_scans(Arena *arena, const Nest *nest, StmtList *list) {
    Map loops = {0};
    for (int i = 0; i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        if (stage->scan && stage->loop_count == 1)
            address_map_set(arena, &loops, stage->loops[0]->var, ARENA_NEW(arena, StepLoop));
    }
    if (loops.count == 0)
        return;
    EACH_STMT_OF(s, list->items, list->count) {
        StepLoop *loop = step_loop(&loops, s);
        if (loop)
            loop->count++;
    }
    *list = stmts_map(arena, list->items, list->count, order_steps, &loops);
}

void finish_scans(Arena *arena, const Nest *nest, StmtList *list, Map *kept) {
    fold_scans(arena, nest, list, kept);
    order_scans(arena, nest, list);
}
