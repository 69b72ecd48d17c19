/* brute_model.c - see brute_model.h.
 *
 * Every loop is a Piece: an axis of a stage, or what split and fuse made of others. A stage that is computed at a loop
 * runs over the hull of what the rest of that iteration reads of it, found by walking that rest and looking at its
 * reads. Buffers are as large as the whole tensor, and empty at the start of their life.
 */
#include "brute_model.h"
#include "lang/expr.h"
#include <stdlib.h>
#include <string.h>

typedef struct Piece Piece;
typedef struct Cut Cut;
typedef struct Part Part;

typedef enum Mark { MARK_NONE, MARK_UNROLLED, MARK_VECTOR, MARK_PARALLEL } Mark;

/* What a stage runs over: its whole tensor, or a box. Shared by what cache_write makes with what stores it. */
typedef struct Domain {
    int64_t base[6], width[6];
    Part *owner; /* whose readers decide the box */
    bool known;
} Domain;

struct Piece {
    const char *name;
    Part *stage;
    bool reduction, runs, mark_set;
    Mark mark;
    Cut *taken, *made; /* the cut that made others of it; the one that made it */
    Piece *twin;       /* of a ".store" loop: what it was copied from */
    Piece *clone;      /* while cache_write copies */
    int dimension;     /* of a whole axis: its number, else -1 */
    bool partial;      /* an axis that rfactor made of a reduction loop */
    int64_t extent;    /* of a whole reduction */
    int64_t value;
};

struct Cut {
    bool fuses; /* parts into whole; else splits whole into parts */
    bool shifts, exact;
    Piece *whole, **parts;
    int64_t *factors;
    int count;
    Cut *clone;
};

/* A tensor as it is stored. */
typedef struct Store {
    const Tensor *tensor;
    int64_t dims[6], elements;
    uint64_t *values; /* 0: nothing */
    int first;        /* number of its first element among all */
    int64_t born;
} Store;

/* A stage of the schedule. */
struct Part {
    const char *name;
    Stage *stage;
    Piece *roots[12];
    int root_count;
    LIST(Piece *) loops;
    Piece *at;
    Part *keeper; /* what stores what this one computes, of a cache_write inside a loop */
    Domain *domain;
    bool inlined, unnamed;
    bool combines;    /* adds up what rfactor made */
    int64_t identity; /* that this began with, by its bits */
};

/* An iteration of a marked loop under way. */
typedef struct Lane {
    int64_t iteration, born;
    int64_t *writers, *readers; /* by element: iteration + 1, or -1 where several read */
} Lane;

struct Model {
    Arena *arena, *scratch;
    const Program *program;
    LIST(Part *) parts; /* in order of execution */
    LIST(Store) stores;
    LIST(Lane) lanes;
    int elements;
    int64_t births;
    bool form; /* not what a primitive takes: seen while running */
    const char *why;
    /* of a search for a box: */
    const Tensor *wanted;
    int64_t low[6], high[6];
    bool found;
};

static bool wrong(Model *m, const char *why) {
    if (!m->why)
        m->why = why;
    return false;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static Piece *piece_new(Model *m, Part *part, const char *name, bool reduction) {
    Piece *piece = ARENA_NEW(m->arena, Piece);
    *piece = (Piece){.name = name, .stage = part, .reduction = reduction, .dimension = -1};
    return piece;
}

static int64_t constant_of(const Expr *e) {
    int64_t value = 0;
    expr_evaluate(e, NULL, 0, &value);
    return value;
}

static Store *store_of(Model *m, const Tensor *tensor) {
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

static Domain *domain_new(Model *m, Part *owner, const Tensor *tensor) {
    Domain *domain = ARENA_NEW(m->arena, Domain);
    domain->owner = owner;
    domain->known = true;
    for (int d = 0; d < tensor->rank; d++)
        domain->width[d] = constant_of(tensor->dims[d]);
    return domain;
}

static void insert_part(Model *m, Part *part, int index) {
    list_push(m->arena, &m->parts, part);
    for (int i = m->parts.count - 1; i > index; i--)
        m->parts.items[i] = m->parts.items[i - 1];
    m->parts.items[index] = part;
}

/* With a loop for each axis and reduction. */
static Part *part_new(Model *m, const char *name, const Stage *stage, int index) {
    Part *part = ARENA_NEW(m->arena, Part);
    *part = (Part){.name = name, .stage = ARENA_NEW(m->arena, Stage)};
    *part->stage = *stage;
    for (int i = 0; i < stage->axis_count + stage->reduction_count; i++) {
        bool reduction = i >= stage->axis_count;
        const Var *var = reduction ? stage->reductions[i - stage->axis_count] : stage->axes[i];
        Piece *piece = piece_new(m, part, var->name, reduction);
        piece->dimension = reduction ? -1 : i;
        piece->extent = constant_of(var->extent);
        part->roots[part->root_count++] = piece;
        list_push(m->arena, &part->loops, piece);
    }
    part->domain = domain_new(m, part, stage->tensor);
    insert_part(m, part, index);
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

static int index_of(const Part *part, const Piece *loop) {
    for (int i = 0; i < part->loops.count; i++)
        if (part->loops.items[i] == loop)
            return i;
    return -1;
}

static int order_of(const Model *m, const Part *part) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i] == part)
            return i;
    return -1;
}

static Part *find_part(const Model *m, const char *name) {
    for (int i = 0; i < m->parts.count; i++)
        if (!strcmp(m->parts.items[i]->name, name))
            return m->parts.items[i];
    return NULL;
}

static Piece *find_loop(const Model *m, const PrimArg *arg) {
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

static bool stage_reads(const Stage *stage, const Tensor *tensor) {
    return expr_uses_tensor(stage->value, tensor) || (stage->initial && expr_uses_tensor(stage->initial, tensor));
}

static bool is_read(const Model *m, const Part *part) {
    for (int i = 0; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined && stage_reads(m->parts.items[i]->stage, part->stage->tensor))
            return true;
    return false;
}

/* Whether the part runs in the body of the loop. */
static bool is_inside(const Part *part, const Piece *loop) {
    if (part == loop->stage)
        return true;
    for (const Piece *at = part->at; at; at = at->stage->at)
        if (at == loop || (at->stage == loop->stage && index_of(at->stage, at) >= index_of(at->stage, loop)))
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

/* --- extents -------------------------------------------------------------------------------------------------------- */

static int64_t extent_of(const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->made;
    int64_t product = 1;
    if (!cut)
        return piece->dimension >= 0 ? domain->width[piece->dimension] : piece->extent;
    if (cut->fuses) {
        for (int i = 0; i < cut->count; i++)
            product *= extent_of(cut->parts[i], domain);
        return product;
    }
    for (int i = 1; i < cut->count; i++) {
        if (piece == cut->parts[i])
            return cut->factors[i];
        product *= cut->factors[i];
    }
    return (extent_of(cut->whole, domain) + product - 1) / product;
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

static Cut *cut_new(Model *m, bool fuses, Piece *whole, int count) {
    Cut *cut = ARENA_NEW(m->arena, Cut);
    *cut = (Cut){.fuses = fuses, .whole = whole, .count = count};
    cut->parts = ARENA_ARRAY(m->arena, Piece *, count);
    cut->factors = ARENA_ARRAY(m->arena, int64_t, count);
    return cut;
}

static bool apply_split(Model *m, const Prim *prim) {
    Piece *whole = find_loop(m, &prim->args[0]);
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
    replace_loops(m, whole->stage, index_of(whole->stage, whole), 1, cut->parts, cut->count);
    whole->taken = cut;
    move_guests(m, whole, cut->parts[cut->count - 1]);
    return true;
}

static bool apply_fuse(Model *m, const Prim *prim) {
    Piece *outer = find_loop(m, &prim->args[0]), *inner = find_loop(m, &prim->args[1]);
    if (!outer || !inner || outer->stage != inner->stage || outer->reduction != inner->reduction)
        return false;
    int index = index_of(outer->stage, outer);
    if (index_of(outer->stage, inner) != index + 1 || has_guest(m, outer) || outer->mark || inner->mark)
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
        loops[i] = find_loop(m, &prim->args[i]);
        if (!loops[i] || loops[i]->stage != loops[0]->stage)
            return false;
        places[i] = index_of(loops[0]->stage, loops[i]);
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
    Piece *loop = find_loop(m, &prim->args[0]);
    if (!loop || loop->mark != MARK_NONE)
        return false;
    loop->mark = mark;
    loop->mark_set = true;
    return true;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static bool apply_compute_at(Model *m, const Prim *prim) {
    Part *part = find_part(m, prim->args[0].name);
    Piece *loop = find_loop(m, &prim->args[1]);
    if (!part || !loop || part->inlined || part->keeper || is_kept(m, part) || !is_read(m, part) ||
        part->stage->tensor->role == ROLE_OUTPUT)
        return false;
    for (const Piece *at = loop; at; at = at->stage->at)
        if (at->stage == part)
            return false;
    part->at = loop;
    return true;
}

static bool apply_compute_root(Model *m, const Prim *prim) {
    Part *part = find_part(m, prim->args[0].name);
    if (!part || part->inlined || part->keeper || is_kept(m, part) || !part->at)
        return false;
    part->at = NULL;
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
    if (e->kind != EXPR_READ || e->tensor != stage->tensor)
        return e;
    Substitution list[6];
    for (int d = 0; d < e->count; d++)
        list[d] = (Substitution){stage->axes[d], e->args[d]};
    Expr *value = expr_substitute(arena, stage->value, list, e->count);
    return e->otherwise ? expr_select(arena, in_range(arena, e), value, e->otherwise) : value;
}

static void rewrite(Model *m, Part *part, Expr *(*replace)(Arena *, Expr *, void *), void *context) {
    part->stage->value = expr_rewrite(m->arena, part->stage->value, replace, context);
    if (part->stage->initial)
        part->stage->initial = expr_rewrite(m->arena, part->stage->initial, replace, context);
}

static bool apply_inline(Model *m, const Prim *prim) {
    Part *part = find_part(m, prim->args[0].name);
    if (!part || part->inlined || part->keeper || is_kept(m, part) || part->stage->combine != COMBINE_NONE ||
        part->stage->tensor->role == ROLE_OUTPUT || !is_read(m, part))
        return false;
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->at && m->parts.items[i]->at->stage == part)
            return false;
    for (int i = 0; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined)
            rewrite(m, m->parts.items[i], inline_read, part->stage);
    part->inlined = true;
    part->loops.count = 0;
    part->at = NULL;
    return true;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static Tensor *copy_tensor(Model *m, const Tensor *tensor, const char *name) {
    Tensor *copy = ARENA_NEW(m->arena, Tensor);
    *copy = *tensor;
    copy->name = name;
    copy->role = ROLE_TEMPORARY;
    copy->buffer = NULL;
    return copy;
}

static Expr *read_all(Model *m, const Stage *stage, const Tensor *tensor) {
    Expr **indices = ARENA_ARRAY(m->arena, Expr *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        indices[d] = expr_var(m->arena, stage->axes[d]);
    return expr_read(m->arena, tensor, indices, NULL);
}

typedef struct Redirect {
    const Tensor *from, *to;
} Redirect;

static Expr *redirect_read(Arena *arena, Expr *e, void *context) {
    const Redirect *redirect = context;
    if (e->kind != EXPR_READ || e->tensor != redirect->from)
        return e;
    return expr_read(arena, redirect->to, e->args, e->otherwise);
}

static bool apply_cache_read(Model *m, const Prim *prim) {
    const PrimArg *at = prim_keyword(prim, "at");
    Piece *loop = at ? find_loop(m, at) : NULL;
    const Tensor *source = NULL;
    for (int i = 0; i < m->program->tensor_count; i++)
        if (!strcmp(m->program->tensors[i]->name, prim->args[0].name))
            source = m->program->tensors[i];
    if (!source || (at && !loop) || source->role == ROLE_INITIAL)
        return false;
    Redirect redirect = {source, copy_tensor(m, source, prim->results[0])};
    int first = -1;
    for (int i = 0; i < m->parts.count; i++) {
        Part *part = m->parts.items[i];
        if (part->inlined || !stage_reads(part->stage, source) || (loop && !is_inside(part, loop)))
            continue;
        rewrite(m, part, redirect_read, &redirect);
        first = first < 0 ? i : first;
    }
    if (first < 0)
        return false;
    Stage *stage = ARENA_NEW(m->arena, Stage);
    Var **axes = ARENA_ARRAY(m->arena, Var *, source->rank);
    for (int d = 0; d < source->rank; d++)
        axes[d] = var_new(m->arena, VAR_AXIS, TYPE_INT64, "x", source->dims[d]);
    *stage = (Stage){.name = prim->results[0], .tensor = redirect.to, .axis_count = source->rank};
    stage->axes = (const Var **)axes;
    stage->value = read_all(m, stage, source);
    Part *copy = part_new(m, prim->results[0], stage, first);
    copy->unnamed = true;
    copy->at = loop;
    return true;
}

/* --- cache_write: the loops below the place move to what computes, copies of them store --------------------------- */

static Piece *clone_piece(Model *m, Piece *piece, const Part *part, int at);

static Cut *clone_cut(Model *m, Cut *cut, const Part *part, int at) {
    if (cut->clone)
        return cut->clone;
    Cut *clone = cut->clone = cut_new(m, cut->fuses, NULL, cut->count);
    clone->shifts = cut->shifts;
    clone->exact = cut->exact;
    for (int i = 0; i < cut->count; i++) {
        clone->parts[i] = clone_piece(m, cut->parts[i], part, at);
        clone->factors[i] = cut->factors[i];
        if (!cut->fuses && clone->parts[i] != cut->parts[i])
            clone->parts[i]->made = clone;
    }
    clone->whole = clone_piece(m, cut->whole, part, at);
    if (cut->fuses && clone->whole != cut->whole)
        clone->whole->made = clone;
    return clone;
}

/* Loops at and above the place, and those of stages around, stay what they are on both sides. */
static Piece *clone_piece(Model *m, Piece *piece, const Part *part, int at) {
    int index = index_of(part, piece);
    if ((index >= 0 && index <= at) || (index < 0 && !piece->taken))
        return piece;
    if (piece->clone)
        return piece->clone;
    Piece *clone = piece->clone = ARENA_NEW(m->arena, Piece);
    *clone = *piece;
    clone->clone = NULL;
    clone->taken = clone->made = NULL;
    clone->mark_set = false;
    if (index >= 0) {
        clone->name = arena_printf(m->arena, "%s.store", piece->name);
        clone->twin = piece;
    }
    if (piece->taken)
        clone->taken = clone_cut(m, piece->taken, part, at);
    return clone;
}

static void forget_clones(Piece *piece) {
    piece->clone = NULL;
    Cut *cut = piece->taken;
    if (!cut)
        return;
    cut->clone = NULL;
    if (cut->fuses)
        forget_clones(cut->whole);
    for (int i = 0; i < cut->count && !cut->fuses; i++)
        forget_clones(cut->parts[i]);
}

static void divide_loops(Model *m, Part *part, Part *made, int at) {
    LIST(Piece *) kept = {0};
    Piece *originals[12];
    memcpy(originals, part->roots, sizeof originals);
    memcpy(made->roots, part->roots, sizeof originals);
    made->root_count = part->root_count;
    part->root_count = part->stage->axis_count;
    for (int d = 0; d < part->root_count; d++)
        part->roots[d] = clone_piece(m, part->roots[d], part, at);
    for (int i = 0; i < part->loops.count; i++) {
        Piece *loop = part->loops.items[i];
        if (i <= at)
            list_push(m->arena, &kept, loop);
        else {
            list_push(m->arena, &made->loops, loop);
            if (loop->clone)
                list_push(m->arena, &kept, loop->clone);
        }
    }
    for (int i = 0; i < made->loops.count; i++)
        made->loops.items[i]->stage = made;
    memcpy(&part->loops, &kept, sizeof kept);
    for (int d = 0; d < made->root_count; d++)
        forget_clones(originals[d]);
}

static bool apply_cache_write(Model *m, const Prim *prim) {
    Part *part = find_part(m, prim->args[0].name);
    const PrimArg *at = prim_keyword(prim, "at");
    Piece *loop = at ? find_loop(m, at) : NULL;
    if (!part || part->inlined || part->unnamed || (at && (!loop || loop->stage != part)))
        return false;
    Part *made = ARENA_NEW(m->arena, Part);
    *made = (Part){.name = prim->results[0], .stage = ARENA_NEW(m->arena, Stage)};
    *made->stage = *part->stage;
    made->stage->name = made->name;
    made->stage->tensor = copy_tensor(m, part->stage->tensor, made->name);
    made->at = loop ? loop : part->at;
    made->keeper = made->at ? part : NULL;
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->keeper == part)
            m->parts.items[i]->keeper = made;
    divide_loops(m, part, made, loop ? index_of(part, loop) : -1);
    made->domain = part->domain;
    if (!made->at) {
        made->domain = domain_new(m, made, made->stage->tensor);
    }
    insert_part(m, made, order_of(m, part));
    made->combines = part->combines;
    made->identity = part->identity;
    part->combines = false;
    Stage *storing = part->stage;
    storing->combine = COMBINE_NONE;
    storing->initial = NULL;
    storing->reduction_count = 0;
    storing->value = read_all(m, storing, made->stage->tensor);
    return true;
}

/* --- rfactor: the reduction loops move to a stage with an axis for each that is named ------------------------------ */

static bool is_named(Piece *const *named, int count, const Piece *loop) {
    for (int i = 0; i < count; i++)
        if (named[i] == loop)
            return true;
    return false;
}

/* Over the old axes and those of the named loops, whose values are those of the loops themselves. */
static void make_partial(Model *m, Part *part, Part *made, Piece *const *named, int count) {
    Stage *stage = made->stage;
    int old = stage->axis_count;
    const Tensor *tensor = stage->tensor;
    Tensor *wider = copy_tensor(m, tensor, made->name);
    const Var **axes = ARENA_ARRAY(m->arena, const Var *, old + count);
    wider->rank = old + count;
    wider->dims = ARENA_ARRAY(m->arena, Expr *, old + count);
    for (int d = 0; d < old + count; d++) {
        int64_t extent = d < old ? part->domain->width[d] : extent_of(named[d - old], part->domain);
        wider->dims[d] = d < old ? tensor->dims[d] : expr_int(m->arena, extent);
        axes[d] = d < old ? stage->axes[d] : var_new(m->arena, VAR_AXIS, TYPE_INT64, "p", wider->dims[d]);
    }
    stage->tensor = wider;
    stage->axes = axes;
    stage->axis_count = old + count;
    stage->initial = combine_identity(m->arena, stage->combine, tensor->type);
    made->domain = domain_new(m, made, wider);
    for (int d = 0; d < old; d++) {
        Piece *axis = made->roots[made->root_count++] = piece_new(m, made, axes[d]->name, false);
        axis->dimension = d;
        list_push(m->arena, &made->loops, axis);
    }
    for (int i = 0; i < count; i++) {
        made->roots[made->root_count++] = named[i];
        named[i]->dimension = old + i;
        named[i]->partial = true;
        named[i]->reduction = false;
        named[i]->made = NULL;
    }
    for (int r = old; r < part->root_count; r++)
        made->roots[made->root_count++] = part->roots[r];
}

static bool apply_rfactor(Model *m, const Prim *prim) {
    Piece *named[8] = {NULL}, *fresh[8];
    int count = prim->arg_count;
    for (int i = 0; i < count; i++) {
        named[i] = find_loop(m, &prim->args[i]);
        if (!named[i] || named[i]->stage != named[0]->stage || !named[i]->reduction)
            return false;
    }
    Part *part = named[0]->stage, *made = ARENA_NEW(m->arena, Part);
    if (part->stage->axis_count + count > 6 || part->stage->combine == COMBINE_NONE || part->combines)
        return false;
    for (int r = 0; r < part->root_count; r++)
        if (part->roots[r]->partial) /* what rfactor made is not taken apart again here */
            return false;
    *made = (Part){.name = prim->results[0], .stage = ARENA_NEW(m->arena, Stage), .at = part->at};
    *made->stage = *part->stage;
    made->stage->name = made->name;
    LIST(Piece *) kept = {0};
    for (int i = 0; i < count; i++) {
        fresh[i] = piece_new(m, part, named[i]->name, true);
        fresh[i]->extent = extent_of(named[i], part->domain);
    }
    int old = part->stage->axis_count;
    make_partial(m, part, made, named, count);
    for (int i = 0; i < part->loops.count; i++) {
        Piece *loop = part->loops.items[i];
        for (int k = 0; k < count; k++)
            if (loop == named[k])
                list_push(m->arena, &kept, fresh[k]);
        if (loop->reduction || is_named(named, count, loop)) {
            list_push(m->arena, &made->loops, loop);
            loop->stage = made;
        } else {
            list_push(m->arena, &kept, loop);
        }
    }
    memcpy(&part->loops, &kept, sizeof kept);
    const Var **reductions = ARENA_ARRAY(m->arena, const Var *, count);
    Expr **indices = ARENA_ARRAY(m->arena, Expr *, old + count);
    for (int d = 0; d < old; d++)
        indices[d] = expr_var(m->arena, part->stage->axes[d]);
    for (int i = 0; i < count; i++) {
        reductions[i] = var_new(m->arena, VAR_AXIS, TYPE_INT64, "p", expr_int(m->arena, fresh[i]->extent));
        indices[old + i] = expr_var(m->arena, reductions[i]);
        part->roots[old + i] = fresh[i];
    }
    part->root_count = old + count;
    part->stage->reductions = reductions;
    part->stage->reduction_count = count;
    part->stage->value = expr_read(m->arena, made->stage->tensor, indices, NULL);
    part->combines = true;
    part->identity = made->stage->initial->integer;
    insert_part(m, made, order_of(m, part));
    return true;
}

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
    case PRIM_INLINE: return apply_inline(m, prim);
    case PRIM_CACHE_READ: return apply_cache_read(m, prim);
    case PRIM_RFACTOR: return apply_rfactor(m, prim);
    case PRIM_CACHE_WRITE: return apply_cache_write(m, prim);
    default: return false;
    }
}

/* --- values of loops ---------------------------------------------------------------------------------------------- */

static int64_t piece_size(const Cut *cut) {
    int64_t size = 1;
    for (int i = 1; i < cut->count; i++)
        size *= cut->factors[i];
    return size;
}

static int64_t value_of(Model *m, const Piece *piece, const Domain *domain);

/* A loop that is not under way has no value, unless it has only one. */
static int64_t own_value(Model *m, const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->taken;
    if (!cut) {
        if (!piece->runs && extent_of(piece, domain) != 1)
            wrong(m, "the value of a loop is needed where it does not run");
        return piece->runs ? piece->value : 0;
    }
    if (!cut->fuses) {
        int64_t value = value_of(m, cut->parts[0], domain), inner = 0, size = piece_size(cut);
        for (int i = 1; i < cut->count; i++)
            inner = inner * cut->factors[i] + value_of(m, cut->parts[i], domain);
        int64_t last = extent_of(piece, domain) - size;
        return (cut->shifts && value * size > last && last >= 0 ? last : value * size) + inner;
    }
    int64_t value = value_of(m, cut->whole, domain);
    for (int i = cut->count - 1; i > 0 && cut->parts[i] != piece; i--)
        value /= extent_of(cut->parts[i], domain) ? extent_of(cut->parts[i], domain) : 1;
    int64_t extent = extent_of(piece, domain);
    return piece == cut->parts[0] || !extent ? value : value % extent;
}

/* What was a reduction loop before rfactor has the values of its axis. */
static int64_t value_of(Model *m, const Piece *piece, const Domain *domain) {
    return own_value(m, piece, domain) + (piece->partial ? domain->base[piece->dimension] : 0);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = a * 0x9e3779b97f4a7c15u ^ (b + 0x632be59bd9b4e019u + (a << 6) + (a >> 2));
    z = (z ^ z >> 31) * 0xbf58476d1ce4e5b9u;
    return (z ^ z >> 29) | 1;
}

static void note(Model *m, const Store *store, int64_t element, bool writes) {
    int64_t number = store->first + element;
    for (int i = 0; i < m->lanes.count; i++) {
        Lane *lane = &m->lanes.items[i];
        if (store->born > lane->born)
            continue;
        int64_t own = lane->iteration + 1, *writer = &lane->writers[number], *reader = &lane->readers[number];
        bool clash = (*writer && *writer != own) || (writes && *reader && *reader != own);
        if (clash)
            wrong(m, "two iterations of a parallel or vectorized loop touch one element");
        if (writes)
            *writer = own;
        else
            *reader = *reader && *reader != own ? -1 : own;
    }
}

static int64_t element_of(const Store *store, const int64_t *index) {
    int64_t element = 0;
    for (int d = 0; d < store->tensor->rank; d++) {
        if (index[d] < 0 || index[d] >= store->dims[d])
            return -1;
        element = element * store->dims[d] + index[d];
    }
    return element;
}

static void clear_store(Model *m, const Tensor *tensor) {
    Store *store = store_of(m, tensor);
    memset(store->values, 0, sizeof(uint64_t) * (size_t)store->elements);
    store->born = ++m->births;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

typedef struct Point {
    Model *m;
    const Part *part;
    SizeValue axes[12];
    int count;
} Point;

static uint64_t eval(Point *p, const Expr *e);

static uint64_t eval_read(Point *p, const Expr *e) {
    Model *m = p->m;
    int64_t index[6];
    for (int d = 0; d < e->count; d++)
        if (!expr_evaluate(e->args[d], p->axes, p->count, &index[d])) {
            wrong(m, "an index has no value");
            return 1;
        }
    Store *store = store_of(m, e->tensor);
    int64_t element = element_of(store, index);
    if (element < 0) {
        if (!e->otherwise)
            wrong(m, "a read is outside");
        return e->otherwise ? eval(p, e->otherwise) : 1;
    }
    if (m->wanted) {
        for (int d = 0; d < e->count && m->wanted == e->tensor; d++) {
            m->low[d] = !m->found || index[d] < m->low[d] ? index[d] : m->low[d];
            m->high[d] = !m->found || index[d] > m->high[d] ? index[d] : m->high[d];
        }
        m->found |= m->wanted == e->tensor;
        return 1;
    }
    note(m, store, element, false);
    if (!store->values[element])
        wrong(m, arena_printf(m->arena, "%s reads an element of %s that is not there", p->part->name, e->tensor->name));
    return store->values[element];
}

static uint64_t eval(Point *p, const Expr *e) {
    int64_t value;
    if (e->kind == EXPR_READ)
        return eval_read(p, e);
    if (e->kind == EXPR_INT || e->kind == EXPR_REAL)
        return mix(7, (uint64_t)e->integer);
    if (e->type == TYPE_INT64 && expr_evaluate(e, p->axes, p->count, &value))
        return mix(7, (uint64_t)value);
    if (e->kind == EXPR_OP && e->op == OP_SELECT && expr_evaluate(e->args[0], p->axes, p->count, &value))
        return eval(p, e->args[value ? 1 : 2]);
    uint64_t result = mix((uint64_t)e->kind, (uint64_t)e->op * 64 + e->type);
    for (int i = 0; i < e->count; i++)
        result = mix(result, eval(p, e->args[i]));
    return result;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void run_part(Model *m, Part *part);

/* Whether no cut of the piece, nor of what it was cut into, is beyond its end. */
static bool is_within(Model *m, const Piece *piece, const Domain *domain) {
    if (own_value(m, piece, domain) >= extent_of(piece, domain))
        return false;
    const Cut *cut = piece->taken;
    if (cut && cut->fuses)
        return is_within(m, cut->whole, domain);
    for (int i = 0; cut && i < cut->count; i++)
        if (!is_within(m, cut->parts[i], domain))
            return false;
    return true;
}

/* False where the point is beyond the ends of loops that were cut. */
static bool find_point(Model *m, const Part *part, bool initial, Point *p) {
    const Stage *stage = part->stage;
    *p = (Point){.m = m, .part = part};
    for (int i = 0; i < part->root_count && !(initial && i >= stage->axis_count); i++) {
        int64_t value = value_of(m, part->roots[i], part->domain);
        bool axis = i < stage->axis_count;
        if (!is_within(m, part->roots[i], part->domain))
            return false;
        const Var *var = axis ? stage->axes[i] : stage->reductions[i - stage->axis_count];
        p->axes[p->count++] = (SizeValue){var, value + (axis && !part->roots[i]->partial ? part->domain->base[i] : 0)};
    }
    return true;
}

/* An exact tail divides, a shifted one has room: what is said of each split must hold, whatever the dependences. How
 * large the boxes are that a compiler finds is its affair, and tails of them are not judged. */
static bool cuts_fit(Model *m, const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->taken;
    if (!cut)
        return true;
    int64_t extent = extent_of(piece, domain);
    if (cut->fuses)
        return cuts_fit(m, cut->whole, domain);
    m->form |= cut->shifts && domain->owner->at;
    m->form |= (cut->shifts && extent % piece_size(cut) && extent < piece_size(cut)) ||
               (cut->exact && extent % piece_size(cut));
    for (int i = 0; i < cut->count; i++)
        cuts_fit(m, cut->parts[i], domain);
    return !m->form;
}

static bool tails_fit(Model *m, const Part *part) {
    for (int i = 0; i < part->root_count && !m->form; i++)
        cuts_fit(m, part->roots[i], part->domain);
    return !m->form;
}

static void run_instance(Model *m, const Part *part, bool initial) {
    const Stage *stage = part->stage;
    int64_t index[6];
    Point p;
    if (m->why || !tails_fit(m, part) || !find_point(m, part, initial, &p))
        return;
    uint64_t value = eval(&p, initial ? stage->initial : stage->value);
    if (m->wanted || m->why)
        return;
    for (int d = 0; d < stage->axis_count; d++)
        index[d] = p.axes[d].value;
    Store *store = store_of(m, stage->tensor);
    int64_t element = element_of(store, index);
    bool updates = stage->combine != COMBINE_NONE && !initial;
    if (updates) {
        note(m, store, element, false);
        if (!store->values[element])
            wrong(m, arena_printf(m->arena, "%s is updated before it is begun", part->name));
    }
    note(m, store, element, true);
    bool adds = part->combines && !initial; /* what partial results began with is no term */
    uint64_t term = adds ? value - mix(7, (uint64_t)part->identity) : mix(mix(99, stage->combine), value);
    store->values[element] = updates ? store->values[element] + term : value;
}

static int first_reduction(const Part *part) {
    int first = 0;
    while (first < part->loops.count && !part->loops.items[first]->reduction)
        first++;
    return first;
}

static void run_guests(Model *m, const Piece *loop, const Part *after) {
    bool on = after == NULL;
    for (int i = 0; i < m->parts.count && !m->why; i++) {
        Part *part = m->parts.items[i];
        if (part->at == loop && !part->inlined && on)
            run_part(m, part);
        on |= part == after;
    }
}

static void forget_boxes(Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->domain->owner->at == loop)
            m->parts.items[i]->domain->known = false;
}

/* Buffers live in the iteration that they are computed in. */
static void end_iteration(Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count && !m->wanted; i++)
        if (m->parts.items[i]->at == loop && !m->parts.items[i]->inlined)
            clear_store(m, m->parts.items[i]->stage->tensor);
}

static void run_loops(Model *m, Part *part, int index, bool initial);

static void run_loop(Model *m, Part *part, int index, bool initial) {
    Piece *loop = part->loops.items[index];
    int64_t extent = extent_of(loop, part->domain);
    bool lanes = !m->wanted && (loop->mark == MARK_VECTOR || loop->mark == MARK_PARALLEL);
    if (lanes) {
        Lane lane = {.born = m->births};
        lane.writers = calloc((size_t)m->elements + 1, sizeof *lane.writers);
        lane.readers = calloc((size_t)m->elements + 1, sizeof *lane.readers);
        list_push(m->arena, &m->lanes, lane);
    }
    loop->runs = true;
    for (int64_t v = 0; v < extent && !m->why; v++) {
        loop->value = v;
        if (lanes)
            m->lanes.items[m->lanes.count - 1].iteration = v;
        if (!initial) {
            forget_boxes(m, loop);
            run_guests(m, loop, NULL);
        }
        run_loops(m, part, index + 1, initial);
        if (!initial)
            end_iteration(m, loop);
    }
    loop->runs = false;
    if (lanes) {
        Lane *lane = &m->lanes.items[--m->lanes.count];
        free(lane->writers);
        free(lane->readers);
    }
}

/* The beginning of a reduction runs just outside its first reduction loop, over the other loops from there on. */
static void run_loops(Model *m, Part *part, int index, bool initial) {
    if (m->why)
        return;
    if (!initial && part->stage->combine != COMBINE_NONE && index == first_reduction(part)) {
        run_loops(m, part, index, true);
        if (index == part->loops.count) {
            run_instance(m, part, false);
            return;
        }
        run_loop(m, part, index, false);
        return;
    }
    if (index == part->loops.count)
        run_instance(m, part, initial);
    else if (initial && part->loops.items[index]->reduction)
        run_loops(m, part, index + 1, true);
    else
        run_loop(m, part, index, initial);
}

/* The hull of what the rest of the iteration at hand reads of the part. */
static void find_box(Model *m, Part *part) {
    struct {
        const Tensor *wanted;
        int64_t low[6], high[6];
        bool found;
    } outer = {.wanted = m->wanted, .found = m->found};
    memcpy(outer.low, m->low, sizeof m->low);
    memcpy(outer.high, m->high, sizeof m->high);
    Domain *domain = part->domain;
    Piece *loop = part->at;
    m->wanted = part->stage->tensor;
    m->found = false;
    domain->known = true;
    run_guests(m, loop, part);
    run_loops(m, loop->stage, index_of(loop->stage, loop) + 1, false);
    for (int d = 0; d < part->stage->axis_count; d++) {
        domain->base[d] = m->found ? m->low[d] : 0;
        domain->width[d] = m->found ? m->high[d] - m->low[d] + 1 : 0;
    }
    if (!m->found && part->stage->axis_count == 0)
        domain->known = true;
    m->wanted = outer.wanted;
    m->found = outer.found;
    memcpy(m->low, outer.low, sizeof m->low);
    memcpy(m->high, outer.high, sizeof m->high);
}

static void run_part(Model *m, Part *part) {
    if (!part->domain->known)
        find_box(m, part->domain->owner);
    if (!m->wanted && part->stage->tensor->role != ROLE_OUTPUT)
        clear_store(m, part->stage->tensor);
    run_loops(m, part, 0, false);
}

/* --- forms that are refused whatever the dependences -------------------------------------------------------------- */

static const Piece *next_outer(const Piece *loop) {
    int index = index_of(loop->stage, loop);
    return index > 0 ? loop->stage->loops.items[index - 1] : loop->stage->at;
}

static bool is_straight(const Piece *piece) {
    if (!piece->taken)
        return piece->mark == MARK_UNROLLED || piece->mark == MARK_VECTOR;
    if (piece->taken->fuses)
        return is_straight(piece->taken->whole);
    for (int i = 0; i < piece->taken->count; i++)
        if (!is_straight(piece->taken->parts[i]))
            return false;
    return true;
}

/* Loops that store are of the kind of those that compute. */
static void mark_twins(Part *part) {
    bool may_vectorize = true;
    for (int i = part->loops.count - 1; i >= 0; i--) {
        Piece *loop = part->loops.items[i];
        if (loop->twin && !loop->mark_set) {
            Mark mark = loop->twin->taken ? (is_straight(loop->twin) ? MARK_UNROLLED : MARK_NONE) : loop->twin->mark;
            loop->mark = mark == MARK_VECTOR && !may_vectorize ? MARK_UNROLLED : mark;
        }
        may_vectorize &= loop->mark == MARK_UNROLLED;
    }
}

static bool marks_fit(const Part *part) {
    for (int i = 0; i < part->loops.count; i++) {
        const Piece *loop = part->loops.items[i];
        for (int k = i + 1; k < part->loops.count && loop->mark == MARK_VECTOR; k++)
            if (part->loops.items[k]->mark != MARK_UNROLLED)
                return false;
        for (const Piece *outer = next_outer(loop); outer; outer = next_outer(outer)) {
            bool parallel = loop->mark == MARK_PARALLEL && outer->mark != MARK_NONE;
            if (parallel || (outer->mark == MARK_VECTOR && outer->stage != part))
                return false;
        }
    }
    for (const Piece *outer = part->at; outer; outer = next_outer(outer))
        if (outer->mark == MARK_VECTOR)
            return false;
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What the caller passes: inputs, and what the buffers of outputs hold. */
static void begin_stores(Model *m) {
    const Program *program = m->program;
    m->stores.count = 0;
    m->elements = 0;
    for (int i = 0; i < m->parts.count; i++)
        store_of(m, m->parts.items[i]->stage->tensor);
    for (int i = 0; i < program->tensor_count; i++) {
        Store *store = store_of(m, program->tensors[i]);
        bool given = program->tensors[i]->role == ROLE_INPUT || program->tensors[i]->role == ROLE_INITIAL;
        for (int64_t e = 0; given && e < store->elements; e++)
            store->values[e] = mix(mix(5, (uint64_t)i), (uint64_t)e);
    }
}

static void run_all(Model *m) {
    begin_stores(m);
    for (int i = 0; i < m->parts.count; i++)
        mark_twins(m->parts.items[i]);
    for (int i = 0; i < m->parts.count && !m->why; i++)
        if (!m->parts.items[i]->at && !m->parts.items[i]->inlined)
            run_part(m, m->parts.items[i]);
}

static bool same_outputs(Model *m, Model *plain) {
    for (int i = 0; i < m->program->argument_count; i++) {
        const Tensor *tensor = m->program->arguments[i].tensor;
        if (!tensor || tensor->role != ROLE_OUTPUT)
            continue;
        const Store *a = store_of(m, tensor), *b = store_of(plain, tensor);
        for (int64_t e = 0; e < a->elements; e++)
            if (a->values[e] != b->values[e])
                return wrong(m, arena_printf(m->arena, "an element of %s has another value", tensor->name));
    }
    return true;
}

Verdict model_run(Model *m, const char **why) {
    for (int i = 0; i < m->parts.count; i++)
        mark_twins(m->parts.items[i]);
    for (int i = 0; i < m->parts.count; i++)
        if (!marks_fit(m->parts.items[i]))
            return VERDICT_FORM;
    Model *plain = model_new(m->arena, m->program);
    run_all(plain);
    run_all(m);
    if (m->form)
        return VERDICT_FORM;
    if (!m->why && !plain->why)
        same_outputs(m, plain);
    *why = plain->why ? plain->why : m->why;
    return *why ? VERDICT_ILLEGAL : VERDICT_LEGAL;
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
    return !part->inlined && part->stage->tensor->role == ROLE_TEMPORARY;
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
    const Tensor *tensor = m->parts.items[stage]->stage->tensor;
    for (int i = from; i < m->parts.count; i++)
        if (!m->parts.items[i]->inlined && stage_reads(m->parts.items[i]->stage, tensor))
            return i;
    return -1;
}
