/* source_ranges.c - the ranges of a statement's indices, as section 6 of the reference finds them: in rounds, here by
 * trying values, since all sizes are known and small.
 */
#include "tests/fuzz/source_inside.h"

#include <string.h>

enum { LEAST = -40, MOST = 120 };

SourceIndex *source_index_of(const SourceIndices *indices, const char *name) {
    for (int i = 0; indices && i < indices->count; i++)
        if (!strcmp(indices->items[i].name, name))
            return (SourceIndex *)&indices->items[i];
    return NULL;
}

const SourceIndex *source_index_named(const SourceIndices *indices, const AstExpr *ast) {
    return ast->kind == AST_NAME ? source_index_of(indices, ast->name.text) : NULL;
}

/* --- which indices there are --- */

static bool is_let(const AstStatement *ast, const char *name) {
    for (int i = 0; i < ast->wheres.count; i++)
        if (ast->wheres.items[i].kind == WHERE_LET && !strcmp(ast->wheres.items[i].name.text, name))
            return true;
    return false;
}

static void note_index(SourceRun *run, const AstStatement *ast, SourceIndices *indices, const char *name) {
    if (source_name_find(run, name) || is_let(ast, name) || source_index_of(indices, name))
        return;
    if (indices->count == 16)
        source_stop(run, "many indices");
    else
        indices->items[indices->count++] = (SourceIndex){.name = name};
}

static void note_expr(SourceRun *run, const AstStatement *ast, SourceIndices *indices, const AstExpr *e) {
    if (e->kind == AST_NAME)
        note_index(run, ast, indices, e->name.text);
    for (int i = 0; i < e->args.count; i++)
        note_expr(run, ast, indices, e->args.items[i]);
}

static void note_all(SourceRun *run, const AstStatement *ast, SourceIndices *indices) {
    for (int d = 0; d < ast->targets.items[0].indices.count; d++)
        note_expr(run, ast, indices, ast->targets.items[0].indices.items[d]);
    note_expr(run, ast, indices, ast->values.items[0]);
    for (int i = 0; i < ast->wheres.count; i++) {
        const AstWhere *where = &ast->wheres.items[i];
        if (where->kind == WHERE_RANGE)
            note_index(run, ast, indices, where->name.text);
        else
            note_expr(run, ast, indices, where->value);
    }
}

bool source_uses_indices(const SourceRun *run, const AstExpr *ast) {
    if (ast->kind == AST_NAME && source_index_of(run->indices, ast->name.text))
        return true;
    for (int i = 0; i < ast->args.count; i++)
        if (source_uses_indices(run, ast->args.items[i]))
            return true;
    return false;
}

/* --- going through values --- */

/* The range of an index while those that it names have values. */
static void range_now(SourceRun *run, SourceIndex *index) {
    if (run->step && !strcmp(index->name, run->step)) {
        index->low = run->at_step;
        index->end = run->at_step + 1;
    } else if (index->begin) {
        index->low = source_whole(run, index->begin);
        index->end = source_whole(run, index->stop);
    }
}

static bool names_unbound(SourceRun *run, const AstExpr *e) {
    const SourceIndex *index = source_index_named(run->indices, e);
    if (index && !index->bound)
        return true;
    for (int i = 0; i < e->args.count; i++)
        if (names_unbound(run, e->args.items[i]))
            return true;
    return false;
}

/* The next index whose range can be told, in the order of the source. */
static SourceIndex *next_index(SourceRun *run, SourceIndices *indices, const bool *wanted) {
    for (int i = 0; i < indices->count; i++) {
        SourceIndex *index = &indices->items[i];
        bool ready = !index->begin || (!names_unbound(run, index->begin) && !names_unbound(run, index->stop));
        if (wanted[i] && !index->bound && ready)
            return index;
    }
    return NULL;
}

static void each_value(SourceRun *run, SourceIndices *indices, const bool *wanted, void (*visit)(void *),
                       void *context) {
    SourceIndex *index = next_index(run, indices, wanted);
    if (!index) {
        visit(context);
        return;
    }
    range_now(run, index);
    int64_t low = index->low, end = index->end;
    index->bound = true;
    for (int64_t v = low; v < end && !run->why && !run->outside; v++) {
        index->value = v;
        each_value(run, indices, wanted, visit, context);
    }
    index->bound = false;
}

void source_each_point(SourceRun *run, SourceIndices *indices, void (*visit)(void *), void *context) {
    bool wanted[16];
    for (int i = 0; i < indices->count; i++)
        wanted[i] = true;
    each_value(run, indices, wanted, visit, context);
}

bool source_is_of_step(const SourceRun *run, const AstStatement *ast, const SourceTensor *tensor, int64_t element) {
    for (int d = tensor->rank - 1; d >= 0; d--) {
        const AstExpr *index = ast->targets.items[0].indices.items[d];
        if (index->kind == AST_NAME && !strcmp(index->name.text, run->step))
            return element % tensor->extent[d] + tensor->lower[d] == run->at_step;
        element /= tensor->extent[d];
    }
    return true;
}

/* --- what reads say --- */

typedef struct Place {
    const AstExpr *index; /* e of T(.., e, ..) */
    int64_t lower, end;
    bool conditional; /* the read stands under a condition */
} Place;
typedef LIST(Place) Places;

static bool reads_memory(SourceRun *run, const AstExpr *e) {
    const SourceName *name = e->kind == AST_APPLY || e->kind == AST_NAME ? source_name_find(run, e->name.text) : NULL;
    if (name && name->kind != SOURCE_SIZE)
        return true;
    for (int i = 0; i < e->args.count; i++)
        if (reads_memory(run, e->args.items[i]))
            return true;
    return false;
}

/* What is read at another step is read of another step: it says nothing. */
static void find_places(SourceRun *run, const AstExpr *e, bool speaks, bool conditional, Places *places) {
    const SourceName *name = e->kind == AST_APPLY ? source_name_find(run, e->name.text) : NULL;
    for (int d = 0; name && name->tensor && speaks && d < e->args.count && d < name->tensor->rank; d++)
        if (!reads_memory(run, e->args.items[d]))
            list_push(run->arena, places,
                      ((Place){e->args.items[d], name->tensor->lower[d],
                               name->tensor->lower[d] + name->tensor->extent[d], conditional}));
    bool chooses = e->kind == AST_OPERATOR && (e->op == OP_SELECT || e->op == OP_AND || e->op == OP_OR);
    for (int i = 0; i < e->args.count; i++)
        find_places(run, e->args.items[i], e->kind != AST_ELSE || i > 0, conditional || (chooses && i > 0), places);
}

static void all_places(SourceRun *run, const AstStatement *ast, Places *places) {
    bool conditional = false;
    for (int i = 0; i < ast->wheres.count; i++)
        conditional |= ast->wheres.items[i].kind == WHERE_PREDICATE;
    find_places(run, ast->values.items[0], true, conditional, places);
    for (int i = 0; i < ast->wheres.count; i++)
        if (ast->wheres.items[i].value)
            find_places(run, ast->wheres.items[i].value, true, false, places);
    for (int d = 0; d < ast->targets.items[0].indices.count; d++)
        find_places(run, ast->targets.items[0].indices.items[d], true, conditional, places);
}

/* --- rounds --- */

static bool uses(const SourceIndices *indices, const AstExpr *e, const SourceIndex *index) {
    if (source_index_named(indices, e) == index)
        return true;
    for (int i = 0; i < e->args.count; i++)
        if (uses(indices, e->args.items[i], index))
            return true;
    return false;
}

static SourceIndex *alone_in(SourceIndices *indices, const AstExpr *e) {
    SourceIndex *alone = NULL;
    for (int i = 0; i < indices->count; i++) {
        SourceIndex *index = &indices->items[i];
        if (index->known || !uses(indices, e, index))
            continue;
        if (alone)
            return NULL;
        alone = index;
    }
    return alone;
}

typedef struct Test {
    SourceRun *run;
    const Place *place;
    bool inside;
} Test;

static void test_place(void *context) {
    Test *test = context;
    int64_t value = source_whole(test->run, test->place->index);
    test->inside = test->inside && value >= test->place->lower && value < test->place->end;
}

/* Others that the range of one names are wanted too. */
static void want(const SourceIndices *indices, const AstExpr *e, bool *wanted) {
    for (int i = 0; i < indices->count; i++)
        if (!wanted[i] && uses(indices, e, &indices->items[i])) {
            wanted[i] = true;
            if (indices->items[i].begin) {
                want(indices, indices->items[i].begin, wanted);
                want(indices, indices->items[i].stop, wanted);
            }
        }
}

static bool stays_inside(SourceRun *run, SourceIndices *indices, SourceIndex *index, int64_t value,
                         const Place *place) {
    bool wanted[16] = {false};
    Test test = {run, place, true};
    want(indices, place->index, wanted);
    index->bound = true;
    index->value = value;
    each_value(run, indices, wanted, test_place, &test);
    index->bound = false;
    return test.inside;
}

static bool is_own(const SourceIndices *indices, const AstExpr *e, const SourceIndex *index) {
    for (int i = 0; i < indices->count; i++)
        if (&indices->items[i] != index && uses(indices, e, &indices->items[i]))
            return false;
    return uses(indices, e, index);
}

static bool is_target(const SourceRun *run, const SourceIndex *index) {
    const AstTarget *target = &run->statement->targets.items[0];
    for (int d = 0; d < target->indices.count; d++)
        if (target->indices.items[d]->kind == AST_NAME && !strcmp(target->indices.items[d]->name.text, index->name))
            return true;
    return false;
}

/* A reduction that some read has alone keeps that range where reads under conditions would cut it. */
static bool is_let_be(const SourceRun *run, const SourceIndices *indices, const SourceIndex *index,
                      const Places *places) {
    bool own = false;
    for (int p = 0; p < places->count; p++)
        own |= is_own(indices, places->items[p].index, index);
    return own && !is_target(run, index);
}

static bool is_inside_all(SourceRun *run, SourceIndices *indices, SourceIndex *index, int64_t value,
                          const Places *places) {
    bool let_be = is_let_be(run, indices, index, places);
    for (int p = 0; p < places->count; p++)
        if (alone_in(indices, places->items[p].index) == index &&
            !(let_be && places->items[p].conditional && !is_own(indices, places->items[p].index, index)) &&
            !stays_inside(run, indices, index, value, &places->items[p]))
            return false;
    return true;
}

static bool decides(SourceIndices *indices, const SourceIndex *index, const Places *places) {
    for (int p = 0; p < places->count; p++)
        if (alone_in(indices, places->items[p].index) == index)
            return true;
    return false;
}

static bool find_range(SourceRun *run, SourceIndices *indices, SourceIndex *index, const Places *places,
                       SourceIndex *found) {
    *found = *index;
    if (index->known || !decides(indices, index, places))
        return false;
    int64_t v = LEAST;
    while (v < MOST && !is_inside_all(run, indices, index, v, places))
        v++;
    found->low = v;
    while (v < MOST && is_inside_all(run, indices, index, v, places))
        v++;
    found->end = v;
    found->known = true;
    if (found->low == LEAST || v == MOST || found->low == found->end)
        source_stop(run, "a range that is not found by trying");
    return true;
}

static bool play_round(SourceRun *run, SourceIndices *indices, const Places *places) {
    SourceIndices next = *indices;
    bool changed = false;
    for (int i = 0; i < indices->count && !run->why; i++)
        changed |= find_range(run, indices, &indices->items[i], places, &next.items[i]);
    *indices = next;
    return changed;
}

void source_take_wheres(SourceRun *run, const AstStatement *ast, SourceIndices *indices) {
    run->indices = indices;
    for (int i = 0; i < ast->wheres.count; i++) {
        const AstWhere *where = &ast->wheres.items[i];
        if (where->kind != WHERE_RANGE)
            continue;
        note_index(run, ast, indices, where->name.text);
        SourceIndex *index = source_index_of(indices, where->name.text);
        if (!index)
            continue;
        index->known = true;
        if (source_uses_indices(run, where->begin) || source_uses_indices(run, where->end)) {
            index->begin = where->begin;
            index->stop = where->end;
        } else {
            index->low = source_whole(run, where->begin);
            index->end = source_whole(run, where->end);
        }
    }
}

bool source_find_ranges(SourceRun *run, const AstStatement *ast, SourceIndices *indices) {
    Places places = {0};
    note_all(run, ast, indices);
    all_places(run, ast, &places);
    source_take_wheres(run, ast, indices);
    const char *step = run->step;
    run->step = NULL;
    while (!run->why && play_round(run, indices, &places))
        continue;
    run->step = step;
    for (int i = 0; i < indices->count; i++)
        if (!indices->items[i].known)
            source_stop(run, "an index without a range");
    return !run->why;
}
