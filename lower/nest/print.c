/* print.c - a nest as indented text: one line for each loop, computation, and buffer of a box. An explanation
 * (--explain-schedule) adds what an iteration of each loop touches, and sizes.
 */
#include "lower/nest/state.h"

const char *const loop_kind_words[LOOP_KIND_COUNT] = {"serial",     "unrolled", "vectorized", "parallel",
                                                      "tensorized", "block.x",  "block.y",    "block.z",
                                                      "thread.x",   "thread.y", "thread.z",   "vthread"};
static const char *const scope_words[SCOPE_COUNT] = {"", " in local", " in registers", " in shared"};

bool loop_kind_is_expanded(LoopKind kind) {
    return kind == LOOP_UNROLLED || kind == LOOP_VECTORIZED || kind == LOOP_TENSORIZED;
}

bool loop_kind_is_bound(LoopKind kind) {
    return kind >= LOOP_BLOCK_X;
}

static void indent(Text *text, int depth) {
    text_add(text, "%*s", 4 * depth, "");
}

static void print_exprs(Text *text, const char *between, Expr *const *list, int count) {
    for (int i = 0; i < count; i++) {
        text_add(text, "%s", i > 0 ? between : "");
        expr_print(text, list[i]);
    }
}

typedef struct NestView {
    Text *text;
    const Nest *explained; /* NULL: no footprints and sizes */
    const RolledList *rolled;
} NestView;

static void print_buffer(const NestView *view, const NestStage *stage, const Tensor *buffer, int depth) {
    Text *text = view->text;
    bool whole = stage->parent == NULL || stage->in_scan;
    bool plain = whole && buffer->scope == SCOPE_GLOBAL && buffer->order == NULL && !stage->constant;
    if (stage->scan != NULL || (plain && (view->explained == NULL || buffer->role != ROLE_TEMPORARY)))
        return;
    indent(text, depth);
    text_add(text, "%s: ", buffer->name);
    print_exprs(text, " x ", buffer->dims, buffer->rank);
    text_add(text, "%s%s", buffer->rank == 0 ? "one element" : "", scope_words[buffer->scope]);
    if (stage->parent != NULL && buffer->rank > 0) {
        text_add(text, " from (");
        print_exprs(text, ", ", stage->origin, buffer->rank);
        text_add(text, ")");
    }
    if (buffer->order != NULL) {
        text_add(text, " as ");
        order_print(text, buffer->order);
    }
    text_add(text, stage->constant ? ", ahead of all calls" : "");
    if (view->explained != NULL)
        nest_explain_buffer(text, buffer);
    text_add(text, "\n");
}

static void print_guards(Text *text, const NestStage *stage) {
    for (int i = 0; i < stage->guard_count; i++) {
        text_add(text, i == 0 ? " where " : ", ");
        expr_print(text, stage->guards[i].value);
        text_add(text, " < ");
        expr_print(text, stage->guards[i].limit);
    }
}

/* The stage that is shown as written: for an initialisation of its own, the stage that it initialises. */
static const Stage *written_stage(const NestStage *nest) {
    return nest->updates != NULL ? nest->updates->stage : nest->stage;
}

enum { VALUE_LENGTH = 400 }; /* a longer value, as inlining makes it, tells a reader nothing */

static void print_values(Text *text, const Stage *stage) {
    Text values = {.arena = text->arena};
    stage_print_values(&values, stage, false);
    bool whole = values.length <= VALUE_LENGTH;
    text_add(text, "%.*s%s", whole ? (int)values.length : VALUE_LENGTH, values.text ? values.text : "",
             whole ? "" : " ...");
}

static void print_body(Text *text, const NestStage *stage, int depth) {
    indent(text, depth);
    stage_print_targets(text, written_stage(stage));
    text_add(text, " ");
    stage_print_assignment(text, stage->stage);
    text_add(text, " ");
    print_values(text, stage->stage);
    print_guards(text, stage);
    text_add(text, "\n");
}

/* The initialisation runs over the loops that do not reduce, also those inside the first one that does. */
static void print_initial(Text *text, const NestStage *stage, int depth, int indentation) {
    indent(text, indentation);
    stage_print_targets(text, written_stage(stage));
    text_add(text, " = ");
    for (const NestStage *held = stage->resumes; held != NULL; held = held->resumes) {
        stage_print_targets(text, held->stage);
        text_add(text, ", at first ");
    }
    stage_print_values(text, stage->stage, true);
    const char *before = " for all ";
    for (int i = depth; i < stage->loop_count; i++)
        if (!stage->loops[i]->reduction) {
            text_add(text, "%s%s", before, stage->loops[i]->var->name);
            before = ", ";
        }
    text_add(text, "\n");
}

static bool is_first_reduction(const NestStage *stage, int depth) {
    for (int i = 0; i < depth; i++)
        if (stage->loops[i]->reduction || stage->loops[i]->kind == LOOP_TENSORIZED)
            return false;
    return stage->initialises && !stage->partial &&
           (depth == stage->loop_count || stage->loops[depth]->reduction ||
            stage->loops[depth]->kind == LOOP_TENSORIZED);
}

static void print_stage(const NestView *view, const NestStage *stage, int indentation);

/* "prefetch A: 1 x 16 from (i + 4, 0)" */
static void print_prefetches(Text *text, const NestStage *stage, int depth, int indentation) {
    for (int i = 0; i < stage->prefetch_count; i++) {
        const Prefetch *prefetch = &stage->prefetches[i];
        if (prefetch->depth != depth)
            continue;
        indent(text, indentation);
        text_add(text, "prefetch %s: ", prefetch->tensor->name);
        for (int d = 0; d < prefetch->tensor->rank; d++)
            text_add(text, "%s%lld", d > 0 ? " x " : "", (long long)prefetch->extents[d]);
        text_add(text, "%s from (", prefetch->tensor->rank == 0 ? "one element" : "");
        print_exprs(text, ", ", prefetch->low, prefetch->tensor->rank);
        text_add(text, ")");
        if (prefetch->part != NULL) {
            text_add(text, ", part ");
            expr_print(text, prefetch->part);
            text_add(text, " of %lld", (long long)prefetch->parts);
        }
        text_add(text, "\n");
    }
}

/* Why the loop stays a loop; NULL: it does not. */
static const char *rolled_reason(const RolledList *rolled, const Var *var) {
    for (int i = 0; i < rolled->count; i++)
        if (rolled->items[i].var == var)
            return rolled->items[i].why;
    return NULL;
}

static void print_loop(const NestView *view, const NestStage *stage, int depth) {
    Text *text = view->text;
    const Loop *loop = stage->loops[depth];
    text_add(text, "for %s in 0:", loop->var->name);
    expr_print(text, loop->var->extent);
    for (int i = 0; i < loop->cut_count; i++)
        text_add(text, "%s%lld", i == 0 ? " cut at " : ", ", (long long)loop->cuts[i]);
    if (loop->kind != LOOP_SERIAL)
        text_add(text, " %s", loop_kind_words[loop->kind]);
    if (loop->kind == LOOP_TENSORIZED)
        text_add(text, " by %s", loop->var->instr->name);
    if (loop->unroll > 1)
        text_add(text, " unrolled by %lld", (long long)loop->unroll);
    text_add(text, loop->masked ? " masked" : "");
    if (view->explained != NULL)
        nest_explain_loop(text, view->explained, stage, depth);
    const char *why = view->rolled != NULL ? rolled_reason(view->rolled, loop->var) : NULL;
    if (why != NULL)
        text_add(text, "  # stays a loop: %s", why);
    text_add(text, "\n");
}

/* What the body of the first `depth` loops holds. */
static void print_depth(const NestView *view, const NestStage *stage, int depth, int indentation) {
    Text *text = view->text;
    print_prefetches(text, stage, depth, indentation);
    for (int i = 0; i < stage->child_count; i++)
        if (stage->children[i]->depth == depth)
            print_stage(view, stage->children[i], indentation);
    if (is_first_reduction(stage, depth))
        print_initial(text, stage, depth, indentation);
    if (depth == stage->loop_count) {
        if (stage->scan == NULL)
            print_body(text, stage, indentation);
        return;
    }
    indent(text, indentation);
    if (stage->scan != NULL && depth == 0)
        text_add(text, "%s: ", stage->stage->name);
    print_loop(view, stage, depth);
    print_depth(view, stage, depth + 1, indentation + 1);
}

/* A decomposed reduction and its initialisation have one buffer, which is shown with the first of them. */
static bool is_decomposed(const NestStage *stage) {
    return stage->stage->combine != COMBINE_NONE && !stage->initialises;
}

static void print_stage(const NestView *view, const NestStage *stage, int indentation) {
    const NestStage *writer = stage->updates != NULL ? stage->updates : stage;
    for (int c = 0; c < writer->stage->component_count && !is_decomposed(stage); c++)
        print_buffer(view, writer, writer->buffers[c], indentation);
    if (stage->constant) {
        print_body(view->text, stage, indentation);
        return;
    }
    print_depth(view, stage, 0, indentation);
}

void nest_print_stage(Text *text, const NestStage *stage) {
    print_stage(&(NestView){.text = text}, stage, 0);
}

static void print_nest(const NestView *view, const Nest *nest) {
    for (int i = 0; i < nest->stage_count; i++)
        if (!nest->stages[i]->inlined && nest->stages[i]->parent == NULL)
            print_stage(view, nest->stages[i], 0);
}

void nest_print(Text *text, const Nest *nest) {
    print_nest(&(NestView){.text = text}, nest);
}

void nest_explain(Text *text, const Nest *nest, const RolledList *rolled) {
    const char *before = "inlined: ";
    for (int i = 0; i < nest->stage_count; i++)
        if (nest->stages[i]->inlined) {
            text_add(text, "%s%s", before, nest->stages[i]->stage->name);
            before = ", ";
        }
    text_add(text, *before == ',' ? "\n" : "");
    print_nest(&(NestView){text, nest, rolled}, nest);
}

const char *nest_rolled_names(Arena *arena, const Nest *nest, const RolledList *rolled) {
    enum { NAMED = 4 };
    Text text = {.arena = arena};
    int found = 0;
    for (int s = 0; s < nest->stage_count; s++)
        for (int l = 0; l < nest->stages[s]->loop_count; l++)
            if (rolled_reason(rolled, nest->stages[s]->loops[l]->var) != NULL && found++ < NAMED)
                text_add(&text, "%s%s.%s", found > 1 ? ", " : "", nest->stages[s]->stage->name,
                         nest->stages[s]->loops[l]->var->name);
    if (found > NAMED)
        text_add(&text, " and %d more", found - NAMED);
    return text.text;
}
