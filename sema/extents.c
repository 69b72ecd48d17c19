/* extents.c - warnings of elements that are not read, as another tensor of the statement ends before them.
 *
 * Only extents that a header or an export gives as numbers count, and those that temporaries and results, also of
 * calls, take from such tensors. A range that the source says is meant. So is a tensor whose last element is read in
 * another way. Also warnings of results of the library without elements.
 */
#include "sema/check.h"

#include <string.h>

/* What an index runs over: a whole dimension of a tensor. */
typedef struct Extent {
    const char *name;
    int64_t size; /* 0: none */
    int dimension;
    Loc loc;
    bool written; /* on the left side */
} Extent;

static int64_t fixed_extent(const View *view, int dimension) {
    return view->fixed ? view->fixed[dimension] : 0;
}

static Extent extent_of_read(const Statement *s, const ReadSite *site, const IndexVariable *index) {
    for (int d = 0; d < site->read->count && !site->has_else && site->guard_count == 0; d++) {
        const Expr *at = site->read->args[d];
        int64_t size = at->kind == EXPR_VAR && at->var == index->raw ? fixed_extent(&site->view, d) : 0;
        if (size)
            return (Extent){site->name, size, d, site->ast->loc, false};
    }
    return (Extent){0};
}

/* What an earlier definition gave to the left side. */
static Extent extent_of_target(const Statement *s, const IndexVariable *index) {
    const AstTarget *target = &s->ast->targets.items[0];
    const Symbol *symbol = frame_symbol(s->frame, target->name.text);
    const Variable *variable = symbol ? symbol->variable : NULL;
    for (int d = 0; variable && variable->view.tensor && d < target->indices.count; d++)
        if (s->indices.items[d] == index && !index->place)
            return (Extent){target->name.text, fixed_extent(&variable->view, d), d, target->loc, true};
    return (Extent){0};
}

/* --- reads in another way ----------------------------------------------------------------------------------------- */

static bool may_reach(const Statement *s, Expr *index, int64_t last) {
    Affine p, high;
    int64_t end;
    return !size_affine(s->builder->arena, index, &p) || !extreme_over_domain(s, &p, true, &high) ||
           !affine_is_constant(&high, &end) || end >= last;
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

static bool loses_elements(const Statement *s, const Extent *first, const Extent *other) {
    const Extent *larger = first->size > other->size ? first : other;
    return first->size && other->size && first->size != other->size && !larger->written && !is_read_whole(s, larger);
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

static void compare_extents(Statement *s, const IndexVariable *index) {
    Extent first = extent_of_target(s, index);
    for (int i = 0; i < s->sites.count; i++) {
        Extent other = extent_of_read(s, s->sites.items[i], index);
        first = first.size ? first : other;
        if (!loses_elements(s, &first, &other) || (s->frame->caller && !is_new_in_call(s->frame, &first, &other)))
            continue;
        WARN(s->frame, extents_differ, other.loc, other.name, (long long)other.size, other.size == 1 ? "" : "s",
             index->name, first.name, (long long)first.size);
        NOTE(s->frame, first.loc, first.written ? "written here" : "read here");
        if (s->frame->caller)
            NOTE(s->frame, s->frame->call, "in this call of '%s'", s->frame->definition->ast->name.text);
        HINT(s->frame, "if that is meant, say the range: where %s in 0:...", index->name);
        return;
    }
}

void warn_extents(Statement *s) {
    bool warns = may_warn(s->frame) && !s->builder->names_only;
    for (int i = 0; i < s->indices.count && warns; i++)
        if (!s->indices.items[i]->where)
            compare_extents(s, s->indices.items[i]);
}

/* Whether the index runs over a dimension of this size since a tensor that it reads ends there. */
static bool takes_extent(const Statement *s, const IndexVariable *index, int64_t size) {
    bool found = false;
    for (int i = 0; i < s->sites.count && !index->where && !index->place && !found; i++)
        found = extent_of_read(s, s->sites.items[i], index).size == size;
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
        if (!expr_is_int(index->low, &low) || low != 0 || !expr_is_int(index->extent, &size) || size <= 0 ||
            !takes_extent(s, index, size))
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
