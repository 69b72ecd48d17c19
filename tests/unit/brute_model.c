/* brute_model.c - see brute_model.h: the model of a program, and the primitives that change loops, their kinds and
 * where stages are computed.
 */
#include "brute_state.h"
#include "lang/expr.h"
#include <string.h>

bool model_wrong(Model *m, const char *why) {
    if (!m->why)
        m->why = why;
    return false;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

Piece *piece_new(Model *m, Part *part, const char *name, bool reduction) {
    Piece *piece = ARENA_NEW(m->arena, Piece);
    *piece = (Piece){.name = name, .stage = part, .reduction = reduction, .dimension = -1};
    return piece;
}

static int64_t constant_of(const Expr *e) {
    int64_t value = 0;
    expr_evaluate(e, NULL, 0, &value);
    return value;
}

Store *model_store(Model *m, const Tensor *tensor) {
    if (tensor->role == ROLE_INITIAL)
        tensor = tensor->buffer;
    for (int i = 0; i < m->stores.count; i++)
        if (m->stores.items[i].tensor == tensor)
            return &m->stores.items[i];
    Store store = {.tensor = tensor, .elements = 1, .first = m->elements};
    for (int d = 0; d < tensor->rank; d++) {
        store.dims[d] = constant_of(tensor->dims[d]);
        store.elements *= store.dims[d];
    }
    store.values = ARENA_ARRAY(m->arena, uint64_t, store.elements + 1);
    m->elements += (int)store.elements;
    list_push(m->arena, &m->stores, store);
    return &m->stores.items[m->stores.count - 1];
}

Domain *domain_new(Model *m, Part *owner, const Tensor *tensor) {
    Domain *domain = ARENA_NEW(m->arena, Domain);
    domain->owner = owner;
    domain->known = true;
    for (int d = 0; d < tensor->rank; d++)
        domain->width[d] = constant_of(tensor->dims[d]);
    return domain;
}

void part_insert(Model *m, Part *part, int index) {
    list_push(m->arena, &m->parts, part);
    for (int i = m->parts.count - 1; i > index; i--)
        m->parts.items[i] = m->parts.items[i - 1];
    m->parts.items[index] = part;
}

/* With a loop for each axis and reduction. */
Part *part_new(Model *m, const char *name, const Stage *stage, int index) {
    Part *part = ARENA_NEW(m->arena, Part);
    *part = (Part){.name = name, .stage = stage_copy(m->arena, stage)};
    for (int i = 0; i < stage->axis_count + stage->reduction_count; i++) {
        bool reduction = i >= stage->axis_count;
        const Var *var = reduction ? stage->reductions[i - stage->axis_count] : stage->axes[i];
        Piece *piece = piece_new(m, part, var->name, reduction);
        piece->dimension = reduction ? -1 : i;
        piece->extent = constant_of(var->extent);
        part->roots[part->root_count++] = piece;
        list_push(m->arena, &part->loops, piece);
    }
    part->domain = domain_new(m, part, stage->components[0].tensor);
    part_insert(m, part, index);
    return part;
}

Model *model_new(Arena *arena, const Program *program) {
    Model *m = ARENA_NEW(arena, Model);
    *m = (Model){.arena = arena, .program = program};
    for (int i = 0; i < program->stage_count; i++)
        part_new(m, program->stages[i]->name, program->stages[i], i);
    return m;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

int loop_index(const Part *part, const Piece *loop) {
    for (int i = 0; i < part->loops.count; i++)
        if (part->loops.items[i] == loop)
            return i;
    return -1;
}

int part_order(const Model *m, const Part *part) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i] == part)
            return i;
    return -1;
}

Part *model_part(const Model *m, const char *name) {
    for (int i = 0; i < m->parts.count; i++)
        if (!strcmp(m->parts.items[i]->name, name))
            return m->parts.items[i];
    return NULL;
}

Piece *model_loop(const Model *m, const PrimArg *arg) {
    for (int i = 0; i < m->parts.count; i++) {
        const Part *part = m->parts.items[i];
        size_t length = strlen(part->name);
        if (strncmp(arg->name, part->name, length) || arg->name[length] != '.')
            continue;
        for (int k = 0; k < part->loops.count; k++)
            if (!strcmp(part->loops.items[k]->name, arg->name + length + 1))
                return part->loops.items[k];
    }
    return NULL;
}

bool stage_reads_tensor(const Stage *stage, const Tensor *tensor) {
    return expr_uses_tensor(stage->components[0].value, tensor) ||
           (stage->components[0].initial && expr_uses_tensor(stage->components[0].initial, tensor));
}

static bool is_read(const Model *m, const Part *part) {
    for (int i = 0; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined &&
            stage_reads_tensor(m->parts.items[i]->stage, part->stage->components[0].tensor))
            return true;
    return false;
}

/* Whether the part runs in the body of the loop. */
bool part_is_inside(const Part *part, const Piece *loop) {
    if (part == loop->stage)
        return true;
    for (const Piece *at = part->at; at; at = at->stage->at)
        if (at == loop || (at->stage == loop->stage && loop_index(at->stage, at) >= loop_index(at->stage, loop)))
            return true;
    return false;
}

static bool is_kept(const Model *m, const Part *part) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->keeper == part)
            return true;
    return false;
}

static bool has_guest(const Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->at == loop)
            return true;
    return false;
}

/* --- extents --------------------------------------------------------------------------------------------------------
 */

int64_t piece_extent(const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->made;
    int64_t product = 1;
    if (!cut)
        return piece->dimension >= 0 ? domain->width[piece->dimension] : piece->extent;
    if (cut->fuses) {
        for (int i = 0; i < cut->count; i++)
            product *= piece_extent(cut->parts[i], domain);
        return product;
    }
    for (int i = 1; i < cut->count; i++) {
        if (piece == cut->parts[i])
            return cut->factors[i];
        product *= cut->factors[i];
    }
    return (piece_extent(cut->whole, domain) + product - 1) / product;
}

/* --- loops -------------------------------------------------------------------------------------------------------- */

static void move_guests(Model *m, const Piece *from, Piece *to) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->at == from)
            m->parts.items[i]->at = to;
}

static void replace_loops(Model *m, Part *part, int index, int removed, Piece *const *made, int count) {
    LIST(Piece *) loops = {0};
    for (int i = 0; i < part->loops.count; i++) {
        for (int k = 0; i == index && k < count; k++)
            list_push(m->arena, &loops, made[k]);
        if (i < index || i >= index + removed)
            list_push(m->arena, &loops, part->loops.items[i]);
    }
    memcpy(&part->loops, &loops, sizeof loops);
}

Cut *cut_new(Model *m, bool fuses, Piece *whole, int count) {
    Cut *cut = ARENA_NEW(m->arena, Cut);
    *cut = (Cut){.fuses = fuses, .whole = whole, .count = count};
    cut->parts = ARENA_ARRAY(m->arena, Piece *, count);
    cut->factors = ARENA_ARRAY(m->arena, int64_t, count);
    return cut;
}

static bool apply_split(Model *m, const Prim *prim) {
    Piece *whole = model_loop(m, &prim->args[0]);
    if (!whole || whole->mark != MARK_NONE)
        return false;
    const PrimArg *tail = prim_keyword(prim, "tail");
    Cut *cut = cut_new(m, false, whole, prim->arg_count - (tail != NULL));
    cut->shifts = tail && !strcmp(tail->name, "shift");
    cut->exact = tail && !strcmp(tail->name, "exact");
    for (int i = 0; i < cut->count; i++) {
        cut->parts[i] = piece_new(m, whole->stage, prim->results[i], whole->reduction);
        cut->parts[i]->made = cut;
        cut->factors[i] = i ? prim->args[i].value : 0;
    }
    replace_loops(m, whole->stage, loop_index(whole->stage, whole), 1, cut->parts, cut->count);
    whole->taken = cut;
    move_guests(m, whole, cut->parts[cut->count - 1]);
    return true;
}

static bool apply_fuse(Model *m, const Prim *prim) {
    Piece *outer = model_loop(m, &prim->args[0]), *inner = model_loop(m, &prim->args[1]);
    if (!outer || !inner || outer->stage != inner->stage || outer->reduction != inner->reduction)
        return false;
    int index = loop_index(outer->stage, outer);
    if (loop_index(outer->stage, inner) != index + 1 || has_guest(m, outer) || outer->mark || inner->mark)
        return false;
    Piece *whole = piece_new(m, outer->stage, prim->results[0], outer->reduction);
    Cut *cut = whole->made = cut_new(m, true, whole, 2);
    cut->parts[0] = outer, cut->parts[1] = inner;
    outer->taken = inner->taken = cut;
    replace_loops(m, outer->stage, index, 2, &whole, 1);
    move_guests(m, inner, whole);
    return true;
}

static bool apply_reorder(Model *m, const Prim *prim) {
    Piece *loops[8];
    int places[8], count = prim->arg_count;
    for (int i = 0; i < count; i++) {
        loops[i] = model_loop(m, &prim->args[i]);
        if (!loops[i] || loops[i]->stage != loops[0]->stage)
            return false;
        places[i] = loop_index(loops[0]->stage, loops[i]);
    }
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (places[k] < places[i]) {
                int swapped = places[i];
                places[i] = places[k];
                places[k] = swapped;
            }
    for (int i = 0; i < count; i++)
        loops[0]->stage->loops.items[places[i]] = loops[i];
    return true;
}

static bool apply_mark(Model *m, const Prim *prim, Mark mark) {
    Piece *loop = model_loop(m, &prim->args[0]);
    if (!loop || loop->mark != MARK_NONE)
        return false;
    loop->mark = mark;
    loop->mark_set = true;
    return true;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static bool apply_compute_at(Model *m, const Prim *prim) {
    Part *part = model_part(m, prim->args[0].name);
    Piece *loop = model_loop(m, &prim->args[1]);
    if (!part || !loop || part->inlined || part->keeper || is_kept(m, part) || !is_read(m, part) ||
        part->stage->components[0].tensor->role == ROLE_OUTPUT)
        return false;
    for (const Piece *at = loop; at; at = at->stage->at)
        if (at->stage == part)
            return false;
    part->at = loop;
    return true;
}

static bool apply_compute_root(Model *m, const Prim *prim) {
    Part *part = model_part(m, prim->args[0].name);
    if (!part || part->inlined || part->keeper || is_kept(m, part) || !part->at)
        return false;
    part->at = NULL;
    part->stored = false;
    return true;
}

/* Which loops are in between, and what they are, is seen in the end. Reductions are left out: an element that is there
 * is not computed again. */
static bool apply_store_at(Model *m, const Prim *prim) {
    Part *part = model_part(m, prim->args[0].name);
    bool root = !strcmp(prim->args[1].name, "root");
    Piece *loop = root ? NULL : model_loop(m, &prim->args[1]);
    if (!part || (!loop && !root) || part->inlined || part->keeper || is_kept(m, part) || !part->at ||
        part->stage->combine != COMBINE_NONE)
        return false;
    part->stored = true;
    part->stored_at = loop;
    return true;
}

static Expr *in_range(Arena *arena, const Expr *read) {
    Expr *inside = expr_bool(arena, true);
    for (int d = 0; d < read->count; d++) {
        inside = expr_binary(arena, OP_AND, inside, expr_binary(arena, OP_LE, expr_int(arena, 0), read->args[d]));
        inside = expr_binary(arena, OP_AND, inside, expr_binary(arena, OP_LT, read->args[d], read->tensor->dims[d]));
    }
    return inside;
}

static Expr *inline_read(Arena *arena, Expr *e, void *context) {
    const Stage *stage = context;
    if (e->kind != EXPR_READ || e->tensor != stage->components[0].tensor)
        return e;
    Substitution list[6];
    for (int d = 0; d < e->count; d++)
        list[d] = (Substitution){stage->axes[d], e->args[d]};
    Expr *value = expr_substitute(arena, stage->components[0].value, list, e->count);
    return e->otherwise ? expr_select(arena, in_range(arena, e), value, e->otherwise) : value;
}

void part_rewrite(Model *m, Part *part, Expr *(*replace)(Arena *, Expr *, void *), void *context) {
    part->stage->components[0].value = expr_rewrite(m->arena, part->stage->components[0].value, replace, context);
    if (part->stage->components[0].initial)
        part->stage->components[0].initial =
            expr_rewrite(m->arena, part->stage->components[0].initial, replace, context);
}

static bool apply_inline(Model *m, const Prim *prim) {
    Part *part = model_part(m, prim->args[0].name);
    if (!part || part->inlined || part->keeper || is_kept(m, part) || part->stage->combine != COMBINE_NONE ||
        part->stage->components[0].tensor->role == ROLE_OUTPUT || !is_read(m, part))
        return false;
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->at && m->parts.items[i]->at->stage == part)
            return false;
    for (int i = 0; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined)
            part_rewrite(m, m->parts.items[i], inline_read, part->stage);
    part->inlined = true;
    part->loops.count = 0;
    part->at = NULL;
    return true;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

bool model_apply(Model *m, const Prim *prim) {
    switch (prim->op) {
    case PRIM_SPLIT: return apply_split(m, prim);
    case PRIM_FUSE: return apply_fuse(m, prim);
    case PRIM_REORDER: return apply_reorder(m, prim);
    case PRIM_UNROLL: return apply_mark(m, prim, MARK_UNROLLED);
    case PRIM_VECTORIZE: return apply_mark(m, prim, MARK_VECTOR);
    case PRIM_PARALLEL: return apply_mark(m, prim, MARK_PARALLEL);
    case PRIM_COMPUTE_AT: return apply_compute_at(m, prim);
    case PRIM_COMPUTE_ROOT: return apply_compute_root(m, prim);
    case PRIM_STORE_AT: return apply_store_at(m, prim);
    case PRIM_INLINE: return apply_inline(m, prim);
    case PRIM_CACHE_READ: return model_cache_read(m, prim);
    case PRIM_RFACTOR: return model_rfactor(m, prim);
    case PRIM_CACHE_WRITE: return model_cache_write(m, prim);
    default: return false;
    }
}

/* --- for makers --------------------------------------------------------------------------------------------------- */

int model_stage_count(const Model *m) {
    return m->parts.count;
}

const char *model_stage_name(const Model *m, int stage) {
    return m->parts.items[stage]->name;
}

bool model_stage_is_temporary(const Model *m, int stage) {
    const Part *part = m->parts.items[stage];
    return !part->inlined && part->stage->components[0].tensor->role == ROLE_TEMPORARY;
}

int model_loop_count(const Model *m, int stage) {
    const Part *part = m->parts.items[stage];
    return part->unnamed ? 0 : part->loops.count;
}

const char *model_loop_name(Model *m, int stage, int loop) {
    const Part *part = m->parts.items[stage];
    return arena_printf(m->arena, "%s.%s", part->name, part->loops.items[loop]->name);
}

int model_reader(const Model *m, int stage, int from) {
    const Tensor *tensor = m->parts.items[stage]->stage->components[0].tensor;
    for (int i = from; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined && stage_reads_tensor(m->parts.items[i]->stage, tensor))
            return i;
    return -1;
}
