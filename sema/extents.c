/* extents.c - warnings of elements that are not read or not changed, as another tensor of the statement ends before
 * them.
 *
 * Only extents that a header or an export gives as numbers count, and those that temporaries and results, also of
 * calls, take from such tensors. A range that the source says is meant. So is a result that is declared shorter, and a
 * tensor whose last element is read in another way. Also warnings of results of the library without elements.
 */
#include "sema/check.h"

#include <string.h>

/* What an index runs over: a whole dimension of a tensor. */
typedef struct Extent {
    const char *name;
    int64_t size;  /* 0: none */
    int64_t shift; /* of the index there, which counts from 0 */
    int dimension;
    Loc loc;
    bool written; /* on the left side */
} Extent;

static int64_t fixed_extent(const View *view, int dimension) {
    return view->fixed ? view->fixed[dimension] : 0;
}

/* Whether the expression is the index and a number, *shift. */
static bool is_shifted(const Statement *s, Expr *e, const IndexVariable *index, int64_t *shift) {
    Affine p;
    bool shifted = expr_uses_var(e, index->raw) && size_affine(s->builder->arena, e, &p) && p.count == 1 &&
                   p.terms[0].coefficient == 1 && p.terms[0].atom->kind == EXPR_VAR;
    *shift = shifted ? p.constant : 0;
    return shifted;
}

static Extent extent_of_read(const Statement *s, const ReadSite *site, const IndexVariable *index) {
    for (int d = 0; d < site->read->count && !site->has_else && site->guard_count == 0; d++) {
        int64_t size = fixed_extent(&site->view, d), shift;
        if (size && is_shifted(s, site->read->args[d], index, &shift))
            return (Extent){site->name, size, shift, d, site->ast->loc, false};
    }
    return (Extent){0};
}

/* What the header of a result says, or an earlier definition gave; 0: neither is a number. */
static int64_t extent_of_variable(const Variable *variable, int dimension) {
    const AstResult *result = variable->result;
    const AstExpr *declared = result && result->has_dims ? result->dims.items[dimension] : NULL;
    int64_t size;
    if (declared && (declared->kind == AST_INTEGER || declared->kind == AST_NAME))
        return expr_is_int(variable->view.dims[dimension], &size) ? size : 0;
    return fixed_extent(&variable->view, dimension);
}

/* What the left side spans already, or by later definitions (or NULL). */
static Extent extent_of_target(const Statement *s, const IndexVariable *index, const View *later) {
    const AstTarget *target = &s->ast->targets.items[0];
    const Symbol *symbol = frame_symbol(s->frame, target->name.text);
    const Variable *variable = symbol && symbol->variable->view.tensor ? symbol->variable : NULL;
    const View *view = variable ? &variable->view : later;
    for (int d = 0; view && d < target->indices.count; d++) {
        int64_t low = 0, size = variable ? extent_of_variable(variable, d) : fixed_extent(later, d);
        bool known = !view->lower || !size || expr_is_int(view->lower[d], &low);
        if (s->indices.items[d] == index && !index->place && known)
            return (Extent){target->name.text, size, -low, d, target->loc, true};
    }
    return (Extent){0};
}

/* --- reads in another way ----------------------------------------------------------------------------------------- */

static bool may_reach(const Statement *s, Expr *index, int64_t last) {
    Affine p, high;
    int64_t end;
    return !size_affine(s->builder->arena, index, &p) || !extreme_over_domain(s, &p, true, &high) ||
           !affine_is_int(&high, &end) || end >= last;
}

/* Whether the expression reads the tensor at what is more than an index there, or passes it to a def. */
static bool reads_otherwise(const AstExpr *ast, const Extent *extent) {
    if (ast->kind == AST_NAME)
        return strcmp(ast->name.text, extent->name) == 0;
    bool found = ast->kind == AST_APPLY && strcmp(ast->name.text, extent->name) == 0 &&
                 extent->dimension < ast->args.count && ast->args.items[extent->dimension]->kind != AST_NAME;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = reads_otherwise(ast->args.items[i], extent);
    return found;
}

static bool statements_read(const AstStatements *list, const AstStatement *besides, const Extent *extent) {
    bool found = false;
    for (int i = 0; i < list->count && !found; i++) {
        const AstStatement *statement = list->items[i];
        found = statements_read(&statement->body, besides, extent);
        for (int v = 0; v < statement->values.count && statement != besides && !found; v++)
            found = reads_otherwise(statement->values.items[v], extent);
    }
    return found;
}

/* Whether the last element is, or may be, read: here or in another statement. */
static bool is_read_whole(const Statement *s, const Extent *extent) {
    for (int i = 0; i < s->sites.count; i++) {
        const ReadSite *site = s->sites.items[i];
        if (strcmp(site->name, extent->name) == 0 && extent->dimension < site->read->count &&
            may_reach(s, site->read->args[extent->dimension], extent->size - 1))
            return true;
    }
    return statements_read(&s->frame->definition->ast->statements, s->ast, extent);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Whether the header gives the result fewer elements than are read: that says the range. */
static bool is_declared(const Statement *s, const Extent *extent) {
    const Symbol *symbol = extent->written ? frame_symbol(s->frame, extent->name) : NULL;
    return symbol && symbol->variable->result && symbol->variable->result->has_dims;
}

/* Whether elements of the tensor with more of them are not read. */
static bool loses_reads(const Statement *s, const Extent *first, const Extent *other) {
    bool longer = first->size > other->size;
    return longer ? !first->written && !is_read_whole(s, first) : !is_declared(s, first) && !is_read_whole(s, other);
}

/* Whether the statement makes new values of those that the left side has, so that all are meant: another '=' gives
 * values to a part. */
static bool updates(const Statement *s) {
    const AstStatement *ast = s->ast;
    bool found = (ast->combine != COMBINE_NONE || ast->combiner.text) && !ast->initialise;
    for (int i = 0; i < s->sites.count && !found; i++)
        found = strcmp(s->sites.items[i]->name, ast->targets.items[0].name.text) == 0;
    return found;
}

/* Whether the index ends where the read tensor does, before the tensor on the left side. An index that reads shift in
 * several ways ends somewhere else. */
static bool ends_early(const Statement *s, const IndexVariable *index, const Extent *first, const Extent *other) {
    int64_t low, size;
    return first->written && first->size > other->size && updates(s) && expr_is_int(index->low, &low) &&
           low == -other->shift && expr_is_int(index->extent, &size) && size == other->size;
}

/* Whether the header of the def leaves the extent of this argument to the call. */
static bool is_given_by_call(const CallFrame *frame, const Extent *extent) {
    const AstDef *def = frame->definition->ast;
    bool found = false;
    for (int i = 0; frame->caller && i < def->arguments.count && !found; i++) {
        const AstParameter *argument = &def->arguments.items[i];
        found = strcmp(argument->name.text, extent->name) == 0 && extent->dimension < argument->dims.count &&
                argument->dims.items[extent->dimension]->kind == AST_NAME;
    }
    return found;
}

/* What a def says itself is warned of in its own check, not in each call. */
static bool is_new_in_call(const CallFrame *frame, const Extent *first, const Extent *other) {
    return is_given_by_call(frame, first) || is_given_by_call(frame, other);
}

static bool may_compare(const CallFrame *frame, const Extent *first, const Extent *other) {
    return first->size && other->size && first->size != other->size && first->shift == other->shift &&
           (!frame->caller || is_new_in_call(frame, first, other));
}

static void warn_of_extents(Statement *s, const IndexVariable *index, const Extent *first, const Extent *other,
                            bool early) {
    const char *plural = other->size == 1 ? "" : "s";
    if (early)
        WARN(s->frame, extent_short, other->loc, other->name, (long long)other->size, plural, index->name, first->name,
             (long long)first->size);
    else
        WARN(s->frame, extents_differ, other->loc, other->name, (long long)other->size, plural, index->name,
             first->name, (long long)first->size);
    NOTE(s->frame, first->loc, first->written ? "written here" : "read here");
    if (s->frame->caller)
        NOTE(s->frame, s->frame->call, "in this call of '%s'", s->frame->definition->ast->name.text);
    HINT(s->frame, "if that is meant, say the range: where %s in 0:...", index->name);
}

/* Compares what is read with what is before it in the list. False: there was a warning. */
static bool compare_with(Statement *s, const IndexVariable *index, const Extent *list, int count) {
    const Extent *other = &list[count];
    for (int i = 0; i < count; i++) {
        if (!may_compare(s->frame, &list[i], other))
            continue;
        bool early = ends_early(s, index, &list[i], other);
        if (!early && !loses_reads(s, &list[i], other))
            continue;
        warn_of_extents(s, index, &list[i], other, early);
        return false;
    }
    return true;
}

/* The list has the left side and one read for each size and shift. */
static void compare_extents(Statement *s, const IndexVariable *index, const View *later) {
    Extent *list = ARENA_ARRAY(s->builder->arena, Extent, s->sites.count + 1);
    int count = 1;
    list[0] = extent_of_target(s, index, later);
    for (int i = 0; i < s->sites.count; i++) {
        list[count] = extent_of_read(s, s->sites.items[i], index);
        bool known = list[count].size == 0;
        for (int other = 1; other < count && !known; other++)
            known = list[other].size == list[count].size && list[other].shift == list[count].shift;
        if (!known && !compare_with(s, index, list, count))
            return;
        count += !known;
    }
}

void warn_extents(Statement *s, const View *later) {
    bool warns = may_warn(s->frame) && !s->builder->names_only;
    for (int i = 0; i < s->indices.count && warns; i++)
        if (!s->indices.items[i]->where)
            compare_extents(s, s->indices.items[i], later);
}

/* Whether the index runs over a dimension of this size since a tensor that it reads ends there. */
static bool takes_extent(const Statement *s, const IndexVariable *index, int64_t low, int64_t size) {
    bool found = false;
    for (int i = 0; i < s->sites.count && !index->where && !index->place && !found; i++) {
        Extent extent = extent_of_read(s, s->sites.items[i], index);
        found = extent.size == size && extent.shift == -low;
    }
    return found;
}

const int64_t *fixed_in_header(Arena *arena, const AstExprs *dims, const int64_t *known) {
    int64_t *fixed = ARENA_ARRAY(arena, int64_t, dims->count);
    bool any = known != NULL;
    for (int d = 0; d < dims->count; d++) {
        bool number = dims->items[d]->kind == AST_INTEGER;
        fixed[d] = number ? dims->items[d]->integer : known ? known[d] : 0;
        any |= number;
    }
    return any ? fixed : NULL;
}

const int64_t *fixed_by_values(Arena *arena, const AstExprs *dims, const Tensor *tensor) {
    int64_t *fixed = ARENA_ARRAY(arena, int64_t, dims->count), extent;
    for (int d = 0; d < dims->count; d++) {
        bool plain = dims->items[d]->kind == AST_INTEGER || dims->items[d]->kind == AST_NAME;
        fixed[d] = plain && expr_is_int(tensor->dims[d], &extent) ? extent : 0;
    }
    return fixed;
}

const int64_t *fixed_by_reads(const Statement *s) {
    int rank = s->ast->targets.items[0].indices.count;
    int64_t *fixed = NULL;
    for (int d = 0; d < rank && !s->builder->names_only; d++) {
        const IndexVariable *index = s->indices.items[d];
        int64_t low, size;
        if (!expr_is_int(index->low, &low) || !expr_is_int(index->extent, &size) || size <= 0 ||
            !takes_extent(s, index, low, size))
            continue;
        fixed = fixed ? fixed : ARENA_ARRAY(s->builder->arena, int64_t, rank);
        fixed[d] = size;
    }
    return fixed;
}

/* --- results without elements --- */

/* The first dimension that is known to be 0, or -1. */
static int empty_dimension(const View *view) {
    int64_t extent;
    for (int d = 0; view->tensor && d < view->rank; d++)
        if (expr_is_int(view->dims[d], &extent) && extent == 0)
            return d;
    return -1;
}

static bool has_empty_argument(const CallFrame *frame) {
    for (int i = 0; i < frame->variables.count; i++)
        if (frame->variables.items[i]->input && empty_dimension(&frame->variables.items[i]->view) >= 0)
            return true;
    return false;
}

void warn_empty_results(CallFrame *frame) {
    bool visible = frame->definition->file->embedded && (!frame->caller || may_warn(frame->caller));
    if (!visible || frame->failed || frame->builder->names_only || has_empty_argument(frame))
        return;
    for (int i = 0; i < frame->variables.count; i++) {
        const Variable *variable = frame->variables.items[i];
        int dimension = variable->result ? empty_dimension(&variable->view) : -1;
        if (dimension >= 0)
            diag(DIAGNOSTICS(frame), DIAG_empty_result, frame->call, variable->name, frame->definition->ast->name.text,
                 dimension);
    }
}
