/* nest_tail.c - what must hold of splits whose tail is exact or shifted, of loops that are partly unrolled, and of
 * loops that run in pieces, once extents and the order of loops are known.
 *
 * A last piece that begins earlier computes elements twice. That is right where the second time begins anew: the outer
 * part stands outside the reduction loops, and one thread runs it.
 */
#include "lower/nest_state.h"

static int64_t piece_size(const Relation *relation) {
    int64_t product = 1;
    for (int k = 1; k < relation->count; k++)
        product *= relation->factors[k];
    return product;
}

static const char *extent_text(NestState *state, const Node *node) {
    return state->refusal->wanted ? expr_text(state->arena, form_expr(&state->forms, node->extent)) : "";
}

/* --- tails -------------------------------------------------------------------------------------------------------- */

static bool check_exact(NestState *state, const Relation *relation) {
    const Node *whole = relation->whole;
    const Form *covered =
        form_multiply(&state->forms, relation->parts[0]->extent, form_int(&state->forms, piece_size(relation)));
    return form_equal(covered, whole->extent) || form_below(&state->forms, whole->value, whole->extent) ||
           refuse_at(state, relation->tail_arg, "%lld does not divide the extent of %s, %s, so its tail is not exact",
                     (long long)piece_size(relation), loop_text(state, whole), extent_text(state, whole));
}

/* Whether a leaf was made of a node. */
static bool is_made_of(const Node *leaf, const Node *node) {
    const Relation *relation = node->taken;
    if (leaf == node)
        return true;
    if (relation == NULL)
        return false;
    if (relation->kind == RELATION_FUSE)
        return is_made_of(leaf, relation->whole);
    for (int k = 0; k < relation->count; k++)
        if (is_made_of(leaf, relation->parts[k]))
            return true;
    return false;
}

/* A loop that counts the pieces: each piece is one whole computation, and they run one after the other. */
static bool check_pieces(NestState *state, const StageState *stage, const Relation *relation, const Node *leaf) {
    LoopKind kind = leaf->loop.kind;
    if (kind != LOOP_SERIAL && kind != LOOP_UNROLLED)
        return refuse_at(state, relation->tail_arg,
                         "the last piece of %s begins earlier and writes what another one writes, so %s cannot be %s",
                         loop_text(state, relation->whole), loop_text(state, leaf), loop_kind_words[kind]);
    for (int i = 0; i < leaf->position; i++)
        if (stage->leaves.items[i]->loop.reduction)
            return refuse_at(state, relation->tail_arg,
                             "%s, whose last piece begins earlier, is inside the reduction loop %s, which would add to "
                             "elements twice",
                             loop_text(state, leaf), loop_text(state, stage->leaves.items[i]));
    return true;
}

/* What is shared out is one piece after the other: values of the loops inside pieces write the same in two of them. */
static bool check_inside_piece(NestState *state, const StageState *stage, const Relation *relation, const Node *leaf) {
    for (int i = 0; i < leaf->position; i++) {
        const Node *around = stage->leaves.items[i];
        bool shared = around->loop.kind == LOOP_PARALLEL || loop_kind_is_bound(around->loop.kind);
        for (int k = 1; shared && k < relation->count; k++)
            if (is_made_of(around, relation->parts[k]))
                return refuse_at(state, relation->tail_arg,
                                 "%s is %s around %s, whose last piece begins earlier and writes what another one "
                                 "writes",
                                 loop_text(state, around), loop_kind_words[around->loop.kind], loop_text(state, leaf));
    }
    return true;
}

static bool check_shift(NestState *state, const StageState *stage, const Relation *relation) {
    if (!split_shifts(&state->forms, relation))
        return true;
    const Form *least = form_int(&state->forms, piece_size(relation));
    if (!form_at_most(&state->forms, least, relation->whole->extent))
        return refuse_at(state, relation->tail_arg,
                         "the extent of %s, %s, is not known to be at least %lld: its last piece cannot begin earlier",
                         loop_text(state, relation->whole), extent_text(state, relation->whole),
                         (long long)piece_size(relation));
    for (int i = 0; i < stage->leaves.count; i++)
        if (is_made_of(stage->leaves.items[i], relation->parts[0]) &&
            !(check_pieces(state, stage, relation, stage->leaves.items[i]) &&
              check_inside_piece(state, stage, relation, stage->leaves.items[i])))
            return false;
    return true;
}

/* --- pieces of loops ---------------------------------------------------------------------------------------------- */

static bool check_factor(NestState *state, const Node *node) {
    return node->loop.extent < 0 || node->loop.extent >= node->loop.unroll || node->loop.unroll <= 1 ||
           refuse_loop(state, node, "%s has %lld values: fewer than the %lld bodies of an unrolled iteration",
                       loop_text(state, node), (long long)node->loop.extent, (long long)node->loop.unroll);
}

/* Where a loop of a known extent is cut; cuts at its ends do nothing, and one of a loop with fewer values than cuts may
 * meet the one before it. */
static bool check_cuts(NestState *state, const Node *node) {
    int64_t extent = node->loop.extent, before = 0;
    int pieces = 0;
    for (int i = 0; i < node->loop.cut_count && extent >= 0; i++) {
        int64_t cut = node->loop.cuts[i], at = cut < 0 ? extent + cut : cut;
        if (at < 0 || at > extent)
            return refuse_loop(state, node, "%s has %lld values, so there is nothing to cut at %lld",
                               loop_text(state, node), (long long)extent, (long long)cut);
        if (at < before && extent <= node->loop.cut_count)
            at = before;
        if (at < before)
            return refuse_loop(state, node, "%lld lies before the cut before it in the %lld values of %s",
                               (long long)cut, (long long)extent, loop_text(state, node));
        pieces += at > before;
        before = at;
    }
    if (node->loop.cut_count > 0 && extent >= 0 && pieces + (extent > before) <= 1)
        no_effect_of(state, node->cuts_prim);
    return true;
}

bool check_tails(NestState *state, const StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++) {
        const Relation *relation = stage->relations.items[i];
        if (relation->tail == TAIL_EXACT && !check_exact(state, relation))
            return false;
        if (relation->tail == TAIL_SHIFT && !check_shift(state, stage, relation))
            return false;
    }
    for (int i = 0; i < stage->leaves.count; i++)
        if (!check_factor(state, stage->leaves.items[i]) || !check_cuts(state, stage->leaves.items[i]))
            return false;
    return true;
}
