/* rolled.c - which loops that the schedule unrolls or vectorizes stay loops, for explanations.
 *
 * Copies of a loop, such as those for last tiles, may differ: one has a constant extent, another has not. So a loop is
 * noted if none of its copies was expanded, or if a limit kept one of them.
 */
#include "lower/kernel/statements.h"

static bool is_noted(const Rolled *list, int count, const Var *var) {
    for (int i = count - 1; i >= 0; i--)
        if (list[i].var == var)
            return true;
    return false;
}

static bool is_expanded(const LoopNotes *notes, const Var *var) {
    for (int i = notes->expanded.count - 1; i >= 0; i--)
        if (notes->expanded.items[i] == var)
            return true;
    return false;
}

void note_expanded(Arena *arena, LoopNotes *notes, const Var *var) {
    if (!is_expanded(notes, var))
        list_push(arena, &notes->expanded, var);
}

void note_kept(Arena *arena, LoopNotes *notes, const Var *var, const char *why, bool limited) {
    Rolled rolled = {var, why};
    if (limited && !is_noted(notes->limited.items, notes->limited.count, var))
        list_push(arena, &notes->limited, rolled);
    if (!limited && !is_noted(notes->kept.items, notes->kept.count, var))
        list_push(arena, &notes->kept, rolled);
}

void notes_finish(Kernel *kernel, LoopNotes *notes) {
    for (int i = 0; i < notes->limited.count; i++)
        list_push(kernel->arena, &kernel->rolled, notes->limited.items[i]);
    for (int i = 0; i < notes->kept.count; i++) {
        const Rolled *kept = &notes->kept.items[i];
        if (!is_expanded(notes, kept->var) && !is_noted(notes->limited.items, notes->limited.count, kept->var))
            list_push(kernel->arena, &kernel->rolled, *kept);
    }
    notes->expanded.count = notes->limited.count = notes->kept.count = 0;
}
