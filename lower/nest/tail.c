/* tail.c - rules for splits with an exact or shifted tail, and notes about loops that are too short for their unroll
 * factor or cuts, once extents and the order of loops are known.
 *
 * A last piece that begins earlier computes elements twice. That is legal if the second time starts anew: the outer
 * part must be outside the reduction loops, and one thread must run it.
 */
#include "lower/nest/state.h"

static const char *extent_text(NestState *state, const Node *node) {
    return state->refusal->wanted ? expr_text(state->arena, affine_expr(state->arena, node->extent)) : "";
}

/* --- tails -------------------------------------------------------------------------------------------------------- */

static bool check_exact(NestState *state, const Relation *relation) {
    const Node *whole = relation->whole;
    const Form *covered =
        form_product(&state->forms, relation->parts[0]->extent, form_int(&state->forms, piece_size(relation)));
    return form_equal(covered, whole->extent) || form_below(&state->forms, whole->value, whole->extent) ||
           refuse_at(state, relation->tail_arg, "%lld does not divide the extent of %s, %s, so its tail is not exact",
                     (long long)piece_size(relation), loop_text(state, whole), extent_text(state, whole));
}

/* Whether a leaf was made from a node. */
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

/* A loop over pieces: each piece must be a whole computation, and pieces must run one after the other. */
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

/* A loop inside the pieces must not be shared out around them: its values write the same elements in two pieces. */
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

/* An unroll factor or cuts hold for all sizes: on a short loop, cuts beyond the end and excess bodies are left out.
 * Only a statement that changes none of its loops gets a note. */

static bool is_repeated(const NestState *state, int prim) {
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *stage = state->stages.items[i];
        for (int k = 0; k < stage->leaves.count; k++) {
            const Node *node = stage->leaves.items[k];
            if (node->loop.unroll > 1 && node->unroll_prim == prim && (node->loop.extent < 0 || node->loop.extent > 1))
                return true;
        }
    }
    return false;
}

static void note_factor(NestState *state, const Node *node) {
    bool short_loop = node->loop.extent == 0 || node->loop.extent == 1;
    if (node->loop.unroll > 1 && short_loop && !is_repeated(state, node->unroll_prim))
        no_effect_of(state, node->unroll_prim);
}

static int64_t between(int64_t least, int64_t value, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* Notes cuts that leave a loop of known extent in one piece; cuts as loop_pieces does. */
static void note_cuts(NestState *state, const Node *node) {
    int64_t extent = node->loop.extent, before = 0;
    int pieces = 0;
    if (node->loop.cut_count == 0 || extent < 0)
        return;
    for (int i = 0; i < node->loop.cut_count; i++) {
        int64_t cut = node->loop.cuts[i], at = between(before, cut < 0 ? extent + cut : cut, extent);
        pieces += at > before;
        before = at;
    }
    if (pieces + (extent > before) <= 1)
        no_effect_of(state, node->cuts_prim);
}

bool check_tails(NestState *state, const StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++) {
        const Relation *relation = stage->relations.items[i];
        if (relation->tail == TAIL_EXACT && !check_exact(state, relation))
            return false;
        if (relation->tail == TAIL_SHIFT && !check_shift(state, stage, relation))
            return false;
    }
    for (int i = 0; i < stage->leaves.count; i++) {
        note_factor(state, stage->leaves.items[i]);
        note_cuts(state, stage->leaves.items[i]);
    }
    return true;
}
