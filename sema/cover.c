/* cover.c - whether the definitions of a result cover all of it together, so that nothing of the caller's buffer stays.
 *
 * The first definition that leaves a rest begins a Cover. Each definition adds the box of its ranges. At the end of the
 * def the whole is split at the edges of the boxes, until each part lies in one of them, or in several under conditions
 * of which one always holds. A statement in between that reads the result reads the rest too.
 */
#include "sema/check.h"

/* begin <= index < end in each dimension. */
typedef struct IndexBox {
    Expr **begin, **end;
    Expr *condition; /* over the indices of the Cover; NULL: there is none */
} IndexBox;

struct Cover {
    int rank;
    Loc loc;
    const char *declaration; /* of the result, for a hint */
    bool read;
    IndexBox whole;
    const Var **indices; /* of the whole, from 0 in each dimension */
    LIST(IndexBox) boxes;
};

static Expr *sum(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_ADD, a, b));
}

static IndexBox new_box(Arena *arena, int rank) {
    return (IndexBox){ARENA_ARRAY(arena, Expr *, rank), ARENA_ARRAY(arena, Expr *, rank), NULL};
}

void cover_begin(Builder *builder, Variable *variable, const View *whole, Loc loc, const char *declaration) {
    Arena *arena = builder->arena;
    Cover *cover = variable->cover = ARENA_NEW(arena, Cover);
    *cover = (Cover){.rank = whole->rank, .loc = loc, .declaration = declaration};
    cover->whole = new_box(arena, whole->rank);
    cover->indices = ARENA_ARRAY(arena, const Var *, whole->rank);
    for (int d = 0; d < whole->rank; d++) {
        Expr *begin = whole->lower ? whole->lower[d] : expr_int(arena, 0);
        cover->whole.begin[d] = begin;
        cover->whole.end[d] = sum(arena, begin, whole->dims[d]);
        cover->indices[d] = var_new(arena, VAR_AXIS, TYPE_INT64, "i", whole->dims[d]);
    }
}

/* The condition over the indices of the whole. */
static Expr *over_whole(Arena *arena, const Cover *cover, const View *part, const Var *const *axes, Expr *condition) {
    Substitution *list = ARENA_ARRAY(arena, Substitution, cover->rank);
    for (int d = 0; d < cover->rank; d++) {
        Expr *shift = expr_binary(arena, OP_SUB, cover->whole.begin[d], part->lower[d]);
        list[d] = (Substitution){axes[d], sum(arena, expr_var(arena, cover->indices[d]), shift)};
    }
    return expr_simplify(arena, expr_substitute(arena, condition, list, cover->rank));
}

/* While parameters have no values, ranges are made up, and a condition without data may turn out to hold everywhere. */
void cover_add(Builder *builder, Cover *cover, const View *part, const Var *const *axes, Expr *condition) {
    Arena *arena = builder->arena;
    IndexBox box = new_box(arena, cover->rank);
    for (int d = 0; d < cover->rank; d++) {
        box.begin[d] = builder->names_only ? cover->whole.begin[d] : part->lower[d];
        box.end[d] = builder->names_only ? cover->whole.end[d] : sum(arena, part->lower[d], part->dims[d]);
    }
    if (condition && builder->names_only && !is_data_dependent(condition))
        condition = NULL;
    box.condition = condition ? over_whole(arena, cover, part, axes, condition) : NULL;
    list_push(arena, &cover->boxes, box);
}

void cover_note_read(Variable *variable) {
    if (variable->cover)
        variable->cover->read = true;
}

/* --- the proof ---------------------------------------------------------------------------------------------------- */

static bool at_most(const Builder *builder, Expr *a, Expr *b) {
    Affine difference;
    return size_equal(builder->arena, a, b) ||
           (size_affine(builder->arena, expr_binary(builder->arena, OP_SUB, b, a), &difference) &&
            affine_never_negative(builder->arena, &difference, &builder->facts));
}

static bool lies_in(const Builder *builder, const IndexBox *part, const IndexBox *box, int rank) {
    bool inside = true, empty = false;
    for (int d = 0; d < rank; d++) {
        inside = inside && at_most(builder, box->begin[d], part->begin[d]);
        inside = inside && at_most(builder, part->end[d], box->end[d]);
        empty = empty || at_most(builder, part->end[d], part->begin[d]);
    }
    return inside || empty;
}

static IndexBox with_edge(Arena *arena, const IndexBox *part, int rank, int dimension, Expr *begin, Expr *end) {
    IndexBox made = new_box(arena, rank);
    for (int d = 0; d < rank; d++) {
        made.begin[d] = d == dimension && begin ? begin : part->begin[d];
        made.end[d] = d == dimension && end ? end : part->end[d];
    }
    return made;
}

typedef LIST(Expr *) Conditions;

/* index OP edge, over the indices of the whole. */
static Expr *at_edge(Arena *arena, const Cover *cover, int dimension, Op op, Expr *edge) {
    Expr *from = sum(arena, edge, expr_unary(arena, OP_NEG, cover->whole.begin[dimension]));
    return expr_binary(arena, op, expr_var(arena, cover->indices[dimension]), from);
}

/* What holds beside the part, where nothing has to be defined. */
static void add_beside(Arena *arena, const Cover *cover, const IndexBox *part, Conditions *conditions) {
    for (int d = 0; d < cover->rank; d++) {
        if (!size_equal(arena, part->begin[d], cover->whole.begin[d]))
            list_push(arena, conditions, at_edge(arena, cover, d, OP_LT, part->begin[d]));
        if (!size_equal(arena, part->end[d], cover->whole.end[d]))
            list_push(arena, conditions, at_edge(arena, cover, d, OP_GE, part->end[d]));
    }
}

/* Whether one of the conditions holds in all of the part, as j >= i does in the last column. */
static bool one_holds_in_part(Arena *arena, const Cover *cover, const IndexBox *part, const Conditions *conditions) {
    Conditions inside = {0};
    for (int d = 0; d < cover->rank; d++) {
        list_push(arena, &inside, at_edge(arena, cover, d, OP_GE, part->begin[d]));
        list_push(arena, &inside, at_edge(arena, cover, d, OP_LT, part->end[d]));
    }
    Facts facts = {inside.count, inside.items};
    bool holds = false;
    for (int i = 0; i < conditions->count && !holds; i++)
        holds = expr_prove(arena, conditions->items[i], &facts) == 1;
    return holds;
}

/* Whether the boxes that hold the whole part define each element of it. */
static bool is_defined(const Builder *builder, const Cover *cover, const IndexBox *part) {
    Arena *arena = builder->arena;
    Conditions conditions = {0};
    for (int i = 0; i < cover->boxes.count; i++) {
        const IndexBox *box = &cover->boxes.items[i];
        if (!lies_in(builder, part, box, cover->rank))
            continue;
        if (!box->condition)
            return true;
        list_push(arena, &conditions, box->condition);
    }
    if (conditions.count == 0 || one_holds_in_part(arena, cover, part, &conditions))
        return conditions.count > 0;
    add_beside(arena, cover, part, &conditions);
    return one_always_holds(arena, conditions.items, conditions.count);
}

/* edge: the first one to split at; two for each dimension of each box. Wherever an edge lies, both sides of it together
 * hold the part. */
static bool is_covered(const Builder *builder, const Cover *cover, const IndexBox *part, int edge, int *steps) {
    Arena *arena = builder->arena;
    if (is_defined(builder, cover, part))
        return true;
    if (edge == 2 * cover->rank * cover->boxes.count || --*steps < 0)
        return false;
    const IndexBox *box = &cover->boxes.items[edge / 2 / cover->rank];
    int d = edge / 2 % cover->rank;
    Expr *at = edge % 2 ? box->end[d] : box->begin[d];
    if (at_most(builder, at, part->begin[d]) || at_most(builder, part->end[d], at))
        return is_covered(builder, cover, part, edge + 1, steps);
    IndexBox before = with_edge(arena, part, cover->rank, d, NULL, at);
    IndexBox after = with_edge(arena, part, cover->rank, d, at, NULL);
    return is_covered(builder, cover, &before, edge + 1, steps) && is_covered(builder, cover, &after, edge + 1, steps);
}

/* Whether an export gives the def its sizes: then the program of the export decides. */
static bool is_exported(const Checker *checker, const Definition *definition) {
    const SourceFile *main_file = checker->files.items[0];
    bool found = false;
    for (int i = 0; i < main_file->ast->exports.count && !found; i++)
        found = find_definition(main_file, main_file->ast->exports.items[i].def.text) == definition;
    return found;
}

void cover_warn(CallFrame *frame, const Variable *variable) {
    enum { STEP_LIMIT = 1000 };
    int steps = STEP_LIMIT;
    const Cover *cover = variable->cover;
    if (!cover || (frame->builder->by_itself && is_exported(frame->builder->checker, frame->definition)))
        return;
    if (frame->failed || (!cover->read && is_covered(frame->builder, cover, &cover->whole, 0, &steps)))
        return;
    WARN(frame, keeps_caller_buffer, cover->loc, variable->name);
    HINT(frame, "if that is meant, the header says it: %s", cover->declaration);
}
