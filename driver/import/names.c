/* names.c - names of the source: valid, each for one thing, and none that has another meaning where it stands.
 *
 * A name of the model stays as it is where it can. Which words the statements have beside names, such as indices and
 * defs of the library, is known once they are made: all that they may have is avoided at first, and only what they have
 * when they are made again.
 */
#include "driver/import/importer.h"
#include "lang/foreign.h"
#include "sema/sema.h"
#include "stdlib/stdlib.h"
#include <ctype.h>
#include <string.h>

static Name **slot_of(const NameTable *table, const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    int slot = (int)(hash % (uint64_t)table->capacity);
    while (table->slots[slot] && strcmp(table->slots[slot]->text, text))
        slot = (slot + 1) % table->capacity;
    return &table->slots[slot];
}

Name *name_find(const NameTable *table, const char *text) {
    return table->capacity ? *slot_of(table, text) : NULL;
}

static void grow_table(Arena *arena, NameTable *table) {
    NameTable larger = {table->count, table->capacity ? 2 * table->capacity : 64, NULL};
    larger.slots = ARENA_ARRAY(arena, Name *, larger.capacity);
    for (int i = 0; i < table->capacity; i++)
        if (table->slots[i])
            *slot_of(&larger, table->slots[i]->text) = table->slots[i];
    *table = larger;
}

void name_add(Arena *arena, NameTable *table, const char *text, NameKind kind, Operand *operand) {
    if (2 * table->count >= table->capacity)
        grow_table(arena, table);
    Name **slot = slot_of(table, text);
    if (!*slot) {
        *slot = ARENA_NEW(arena, Name);
        table->count++;
    }
    **slot = (Name){text, kind, operand};
}

/* --- what is taken ------------------------------------------------------------------------------------------------ */

static void reserve(Import *import, const char *name) {
    name_add(import->arena, &import->names, name, NAME_RESERVED, NULL);
}

/* The names of defs and combiners of the library. */
static void reserve_library(Import *import) {
    static const char *const heads[] = {"def ", "combiner "};
    for (const StdlibFile *file = stdlib_files; file->name; file++)
        for (const char *line = file->text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
            for (int i = 0; i < 2; i++)
                if (!strncmp(line, heads[i], strlen(heads[i]))) {
                    line += strlen(heads[i]);
                    reserve(import, arena_strndup(import->arena, line, strcspn(line, "([ ")));
                }
}

static const char *const index_rows[][6] = {
    {NULL}, {"i"}, {"i", "j"}, {"i", "j", "k"}, {"n", "c", "h", "w"}, {"n", "c", "t", "h", "w"}};
enum { INDEX_ROWS = sizeof index_rows / sizeof *index_rows, MANY_INDICES = 64 };

/* What the statements may have, as long as it is not known which words they have. */
static void reserve_all(Import *import) {
    static const char *const words[] = {"edge", "wrap", "reflect", "scan"};
    static const char *const others[] = {"b", "q", "p", "t", "l", "d", "m", "o"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        reserve(import, words[i]);
    reserve_library(import);
    for (int row = 0; row < INDEX_ROWS; row++)
        for (int i = 0; index_rows[row][i]; i++)
            reserve(import, index_rows[row][i]);
    for (int i = 0; i < MANY_INDICES; i++)
        reserve(import, index_name(import, MANY_INDICES, i));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        reserve(import, others[i]);
}

void reserve_names(Import *import) {
    static const char *const words[] = {"def", "where", "in", "exists", "else"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        reserve(import, words[i]);
    for (int type = 0; type < TYPE_COUNT; type++)
        reserve(import, element_info[type].spelling);
    for (int op = 0; op < OP_COUNT; op++)
        reserve(import, op_info[op].spelling);
    const NameTable *used = import->words;
    if (!used)
        reserve_all(import);
    for (int i = 0; used && i < used->capacity; i++)
        if (used->slots[i])
            reserve(import, used->slots[i]->text);
}

NameTable words_beside_names(const Import *import, Arena *arena) {
    NameTable words = {0};
    for (int i = 0; i < import->steps.count; i++)
        for (const char *at = import->steps.items[i].text; *at;) {
            size_t length = 0;
            while (isalnum((unsigned char)at[length]) || at[length] == '_')
                length++;
            const char *word = arena_strndup(arena, at, length);
            const Name *name = name_find(&import->names, word);
            if (length && (!name || name->kind == NAME_RESERVED))
                name_add(arena, &words, word, NAME_RESERVED, NULL);
            at += length ? length : 1;
        }
    return words;
}

const char *index_name(Import *import, int rank, int dimension) {
    return rank < INDEX_ROWS ? index_rows[rank][dimension] : format(import, "i%d", dimension);
}

const char **index_names(Import *import, int rank) {
    const char **names = ARENA_ARRAY(import->arena, const char *, rank + 1);
    for (int d = 0; d < rank; d++)
        names[d] = index_name(import, rank, d);
    return names;
}

/* --- new names ---------------------------------------------------------------------------------------------------- */

static const char *without_ending(Arena *arena, const char *name, const char *ending) {
    size_t length = strlen(name), last = strlen(ending);
    bool ends = length > last && !strcmp(name + length - last, ending);
    return ends ? arena_strndup(arena, name, length - last) : name;
}

/* Files of weights have such names, and no file may have one of more than 255 bytes. */
enum { LONGEST_NAME = 100 };

/* Letters, digits and single underscores; it begins with a letter. */
static const char *valid_name(Arena *arena, const char *like) {
    Text text = {.arena = arena};
    for (const char *at = like; *at && text.length < LONGEST_NAME; at++) {
        char c = isalnum((unsigned char)*at) ? *at : '_';
        bool again = c == '_' && (!text.length || text.text[text.length - 1] == '_');
        if (!text.length && isdigit((unsigned char)c))
            text_add(&text, "t");
        if (!again)
            text_add_bytes(&text, &c, 1);
    }
    while (text.length && text.text[text.length - 1] == '_')
        text.text[--text.length] = 0;
    return text.length ? text.text : "t";
}

/* Each test is for finitely many names, so that one of those with a number is free. */
static bool is_taken(const Import *import, const char *name) {
    bool is_function = import->function && !strcmp(name, import->function);
    return name_find(&import->names, name) || is_function || is_word_of_c(name) || is_function_of_c(name);
}

const char *fresh_name(Import *import, const char *like) {
    const char *base = valid_name(import->arena, without_ending(import->arena, like, "_output_0"));
    if (!import->words && !strncmp(base, "r_", 2)) /* it may be an index of a sum */
        base = format(import, "t_%s", base);
    const char *name = base;
    for (int i = 2; is_taken(import, name); i++)
        name = format(import, "%s_%d", base, i);
    name_add(import->arena, &import->names, name, NAME_TENSOR, NULL);
    return name;
}

const char *function_name(Import *import, const char *like) {
    const NameTable none = {0};
    Import words = {.arena = import->arena, .words = &none}, library = {.arena = import->arena};
    reserve_names(&words);
    reserve_library(&library);
    const char *base = valid_name(import->arena, like);
    if (!can_be_symbol(format(import, "%s_2", base))) /* all that begin so are names of a library */
        base = format(import, "t_%s", base);
    const char *name = base;
    for (int i = 2;; i++) {
        bool called = name_find(import->words, name) && name_find(&library.names, name);
        if (can_be_symbol(name) && !name_find(&words.names, name) && !called)
            return name;
        name = format(import, "%s_%d", base, i);
    }
}
