/* scope.c - what names mean: symbols of a def, defs of a module, built-in functions; near spellings; reporting.
 *
 * A def sees its own file first, then the files that are imported there and by those files, in the order of reading,
 * and the compiler's library last. So a user's definition wins over an imported one. A library never calls a user's def
 * that happens to have the name of one of its own.
 */
#include "lang/foreign.h"
#include "lang/random.h"
#include "lang/spelling.h"
#include "sema/check.h"

#include <string.h>

/* --- reporting --- */

Loc outermost_loc(const CallFrame *frame, Loc loc) {
    for (; frame->caller; frame = frame->caller)
        loc = frame->call;
    return loc;
}

void frame_fail(CallFrame *frame) {
    for (; frame; frame = frame->caller) {
        frame->failed = true;
        frame->noted = false;
    }
}

/* No warnings inside the compiler's own library: users cannot change it. */
bool may_warn(const CallFrame *frame) {
    return !frame->definition->file->embedded && !frame->definition->instr;
}

bool may_warn_of_values(const Statement *s) {
    return may_warn(s->frame) && !s->frame->caller && !s->builder->names_only;
}

void note_call(CallFrame *frame) {
    if (!frame->noted)
        NOTE(frame, frame->call, "in this call of '%s'", frame->definition->ast->name.text);
    frame->noted = true;
}

/* Notes the calls that lead to an error which shows only in a call of the def. */
void note_calls(CallFrame *frame) {
    for (; frame && frame->caller; frame = frame->caller)
        note_call(frame);
}

/* --- symbols --- */

/* Where the first symbol of the name is, or would be. */
static Symbol **symbol_slot(const CallFrame *frame, const char *name) {
    uint64_t mask = (uint64_t)frame->by_name_size - 1, at = hash_text(name) & mask;
    while (frame->by_name[at] && strcmp(frame->by_name[at]->name, name))
        at = (at + 1) & mask;
    return &frame->by_name[at];
}

Symbol *frame_symbol(const CallFrame *frame, const char *name) {
    Symbol *symbol = frame->by_name_size ? *symbol_slot(frame, name) : NULL;
    return symbol && !symbol->ended ? symbol : NULL;
}

/* A name that is there stays what it was first. */
static void enter_name(CallFrame *frame, Symbol *symbol) {
    Symbol **slot = symbol_slot(frame, symbol->name);
    *slot = *slot && !(*slot)->ended ? *slot : symbol;
}

/* At most half of the slots are used. */
static void grow_names(CallFrame *frame) {
    frame->by_name_size = frame->by_name_size ? 2 * frame->by_name_size : 16;
    frame->by_name = ARENA_ARRAY(frame->builder->arena, Symbol *, frame->by_name_size);
    for (int i = 0; i < frame->symbols.count; i++)
        enter_name(frame, frame->symbols.items[i]);
}

Symbol *frame_add(CallFrame *frame, SymbolKind kind, const char *name, Loc loc) {
    Symbol *symbol = ARENA_NEW(frame->builder->arena, Symbol);
    symbol->kind = kind;
    symbol->name = name;
    symbol->loc = loc;
    if (2 * frame->symbols.count >= frame->by_name_size)
        grow_names(frame);
    list_push(frame->builder->arena, &frame->symbols, symbol);
    enter_name(frame, symbol);
    return symbol;
}

Definition *definition_in(const SourceFile *file, const char *name) {
    Definition *found = name_map_get(&file->names, name);
    if (found)
        ast_complete(found->ast);
    return found;
}

/* A walk through all files that a file sees: itself first, then imports breadth first, so that near ones come first. */
typedef struct FileWalk {
    Arena *arena;
    LIST(const SourceFile *) files;
    LIST(bool) seen; /* by the number of the file */
    int done;
} FileWalk;

static void walk_to(FileWalk *walk, const SourceFile *file) {
    while (walk->seen.count <= file->number)
        list_push(walk->arena, &walk->seen, false);
    if (!walk->seen.items[file->number])
        list_push(walk->arena, &walk->files, file);
    walk->seen.items[file->number] = true;
}

static FileWalk begin_walk(const SourceFile *from) {
    FileWalk walk = {.arena = arena_new()};
    walk_to(&walk, from);
    return walk;
}

static void end_walk(FileWalk *walk) {
    arena_free(walk->arena);
}

/* The next file; NULL at the end. */
static const SourceFile *next_visible(FileWalk *walk) {
    if (walk->done == walk->files.count)
        return NULL;
    const SourceFile *file = walk->files.items[walk->done++];
    for (int i = 0; i < file->imports.count; i++)
        walk_to(walk, file->imports.items[i]);
    return file;
}

CombinerDefinition *combiner_in(const SourceFile *file, const char *name) {
    return name_map_get(&file->combiner_names, name);
}

static void *named_in(const SourceFile *file, const char *name, bool combiner) {
    return combiner ? (void *)combiner_in(file, name) : definition_in(file, name);
}

static void *find_named(const SourceFile *from, const char *name, bool combiner) {
    void *found = named_in(from, name, combiner), *embedded = NULL;
    if (found || from->imports.count == 0)
        return found;
    FileWalk walk = begin_walk(from);
    for (const SourceFile *file; !found && (file = next_visible(&walk));)
        if (!file->embedded)
            found = named_in(file, name, combiner);
        else if (!embedded)
            embedded = named_in(file, name, combiner);
    end_walk(&walk);
    return found ? found : embedded;
}

Definition *find_definition(const SourceFile *from, const char *name) {
    return find_named(from, name, false);
}

CombinerDefinition *find_combiner(const SourceFile *from, const char *name) {
    return find_named(from, name, true);
}

/* A tensor hides functions of its name only after its first definition: max(n) max=! max(X(n, d), 0) is valid. */
bool is_read(const CallFrame *frame, const AstExpr *apply) {
    const char *name = apply->name.text;
    const Symbol *symbol = frame_symbol(frame, name);
    if (!symbol || symbol->kind != SYMBOL_TENSOR || apply->parameters.count)
        return false;
    const Variable *variable = symbol->variable;
    return variable->input || variable->written || find_carried(frame, variable) ||
           (find_builtin(name) < 0 && !is_value_function(name) && !find_definition(frame->definition->file, name));
}

static const char value_function[] = "sigmoid";

bool is_value_function(const char *name) {
    return strcmp(name, value_function) == 0;
}

int find_builtin(const char *name) {
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].precedence == 0 && strcmp(op_info[op].spelling, name) == 0)
            return op;
    return -1;
}

/* --- near spellings --- */

/* One-letter names are near to every other name, so they are no hint unless only the case differs. */
void nearest_offer(Nearest *nearest, const char *candidate) {
    int length = (int)strlen(nearest->name), limit = length / 3 < 1 ? 1 : length / 3;
    if (length == 1 && strcasecmp(nearest->name, candidate) != 0)
        return;
    int distance = spelling_distance(nearest->name, candidate, limit);
    if (distance <= limit && (!nearest->best || distance < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

static void offer_symbols(Nearest *nearest, const CallFrame *frame, bool tensors_only) {
    for (int i = 0; i < frame->symbols.count; i++)
        if (!frame->symbols.items[i]->ended && (!tensors_only || frame->symbols.items[i]->kind == SYMBOL_TENSOR))
            nearest_offer(nearest, frame->symbols.items[i]->name);
}

/* A file of the library, imported or not; NULL if there is none. */
static const AstFile *library_tree(const CallFrame *frame, const char *file) {
    const Checker *checker = frame->builder->checker;
    uint32_t number = checker->options->find_embedded
                          ? checker->options->find_embedded(checker->options->context, checker->sources, file)
                          : 0;
    return number ? parse_library(checker->arena, checker->sources, number, checker->diagnostics) : NULL;
}

/* The combiner of the library with this name; NULL if there is none. */
static const char *library_combiner(const CallFrame *frame, const char *name) {
    const AstFile *tree = library_tree(frame, "nn");
    for (int c = 0; tree && c < tree->combiners.count; c++)
        if (strcasecmp(tree->combiners.items[c].name.text, name) == 0)
            return tree->combiners.items[c].name.text;
    return NULL;
}

/* Whether a def has the name, or with `extended` one that begins with it: gelu_rows for gelu. Relu is relu. */
static bool name_fits(const char *own, const char *name, bool extended) {
    size_t length = strlen(name);
    return extended ? length > 2 && strncasecmp(own, name, length) == 0 && own[length] == '_'
                    : strcasecmp(own, name) == 0;
}

/* The def of the file, or with `imports` of what it imports, whose name fits; NULL if there is none. */
static const char *library_def(const CallFrame *frame, const char *file, bool imports, const char *name,
                               bool extended) {
    const AstFile *tree = library_tree(frame, file);
    const char *found = NULL;
    for (int d = 0; tree && d < tree->defs.count && !found; d++)
        if (name_fits(tree->defs.items[d]->name.text, name, extended))
            found = tree->defs.items[d]->name.text;
    for (int i = 0; tree && imports && i < tree->imports.count && !found; i++)
        found = library_def(frame, tree->imports.items[i].path, false, name, extended);
    return found;
}

/* Says which import has a def of this name, if one has. */
static bool hint_library(CallFrame *frame, const char *name, bool extended) {
    const char *own = library_def(frame, "nn", true, name, extended);
    if (own && strcmp(own, name) != 0)
        HINT(frame, "import \"nn\" has an operator '%s'", own);
    else if (own)
        HINT(frame, "import \"nn\" has an operator of this name");
    return own != NULL;
}

static bool hint_foreign(CallFrame *frame, const char *name) {
    ElementType type = foreign_type(name);
    if (type < TYPE_COUNT)
        HINT(frame, "the type is called %s here", element_info[type].spelling);
    else if (hint_library(frame, name, false))
        return true;
    else if (foreign_hint(name))
        HINT(frame, "%s", foreign_hint(name));
    else
        return false;
    return true;
}

/* A def that is named after this one; NULL if there is none. */
static const char *extended_name(const CallFrame *frame, const char *name) {
    const char *found = NULL;
    FileWalk walk = begin_walk(frame->definition->file);
    for (const SourceFile *file; (file = next_visible(&walk));)
        for (int j = 0; j < file->definitions.count && !found; j++) {
            const char *own = file->definitions.items[j]->ast->name.text;
            found = name_fits(own, name, true) ? own : NULL;
        }
    end_walk(&walk);
    return found;
}

/* The nearest tensor, def or function that may stand here. */
static Nearest nearest_function(const CallFrame *frame, const char *name) {
    Nearest nearest = {.name = name};
    offer_symbols(&nearest, frame, true);
    FileWalk walk = begin_walk(frame->definition->file);
    for (const SourceFile *file; (file = next_visible(&walk));)
        for (int j = 0; j < file->definitions.count; j++)
            nearest_offer(&nearest, file->definitions.items[j]->ast->name.text);
    end_walk(&walk);
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].precedence == 0)
            nearest_offer(&nearest, op_info[op].spelling);
    nearest_offer(&nearest, value_function);
    return nearest;
}

/* Whether the nearest name differs by upper and lower case only, before which no other hint counts. */
static bool is_same_word(const Nearest *nearest) {
    return nearest->best && nearest->distance == 0;
}

void hint_nearest_function(CallFrame *frame, const char *name) {
    Nearest nearest = nearest_function(frame, name);
    bool same = is_same_word(&nearest);
    if (!same && hint_foreign(frame, name))
        return;
    const char *extended = same ? NULL : extended_name(frame, name);
    if (!same && !extended && hint_library(frame, name, true))
        return;
    if (extended || nearest.best)
        HINT(frame, "did you mean '%s'?", extended ? extended : nearest.best);
}

void hint_nearest_combiner(CallFrame *frame, const char *name) {
    Nearest nearest = {.name = name};
    FileWalk walk = begin_walk(frame->definition->file);
    for (const SourceFile *file; (file = next_visible(&walk));)
        for (int j = 0; j < file->combiners.count; j++)
            nearest_offer(&nearest, file->combiners.items[j]->ast->name.text);
    end_walk(&walk);
    if (nearest.best)
        HINT(frame, "did you mean '%s'?", nearest.best);
    else if (foreign_combiner(name))
        HINT(frame, "%s=! is written %s", name, foreign_combiner(name));
    else if (library_combiner(frame, name))
        HINT(frame, "import \"nn\" has a combiner '%s'", library_combiner(frame, name));
}

void hint_nearest_value(const Statement *statement, const char *name) {
    Nearest nearest = {.name = name};
    offer_symbols(&nearest, statement->frame, false);
    for (int i = 0; i < statement->indices.count; i++)
        if (strcmp(statement->indices.items[i]->name, name) != 0)
            nearest_offer(&nearest, statement->indices.items[i]->name);
    if (!is_same_word(&nearest) && foreign_hint(name))
        HINT(statement->frame, "%s", foreign_hint(name));
    else if (nearest.best)
        HINT(statement->frame, "did you mean '%s'?", nearest.best);
}

void report_duplicate(Checker *checker, const AstName *name, const AstName *first) {
    diag(checker->diagnostics, DIAG_duplicate_name, name->loc, name->text);
    diag_note(checker->diagnostics, first->loc, "first here");
}

void report_index(const Statement *statement, const IndexVariable *index) {
    ERROR(statement->frame, undefined_name, index->loc, index->name);
    hint_nearest_value(statement, index->name);
}
