/* library.c - the files of the compiler's library. Most of their defs are not used in a compilation, so each is parsed
 * when it is asked for.
 *
 * An item of such a file begins at the beginning of a line with a letter, and no other line does. The word implements
 * begins a line. An error in the library is a fault of the compiler.
 */
#include "lang/diag.h"
#include "parser/parser.h"

#include <ctype.h>
#include <string.h>

typedef struct LibraryDef {
    Arena *arena;
    Sources *sources;
    Diagnostics *diagnostics;
    Loc part; /* from its first word to the next item */
} LibraryDef;

/* The beginning of the first line from a place on that begins an item; the end if there is none. The place begins a
 * line. */
static uint32_t item_from(const Source *source, uint32_t place) {
    while (place < source->length && !isalpha((unsigned char)source->text[place])) {
        const char *end = memchr(source->text + place, '\n', source->length - place);
        place = end ? (uint32_t)(end - source->text) + 1 : (uint32_t)source->length;
    }
    return place;
}

static uint32_t next_line(const Source *source, uint32_t place) {
    return place + (uint32_t)strcspn(source->text + place, "\n") + 1;
}

/* The name that begins at a place. */
static AstName name_at(Arena *arena, const Source *source, uint32_t file, uint32_t place) {
    uint32_t end = place;
    while (isalnum((unsigned char)source->text[end]) || source->text[end] == '_')
        end++;
    return (AstName){arena_strndup(arena, source->text + place, end - place), {file, place, end}};
}

/* What the def implements; without text if it implements none. */
static AstName name_of_implemented(const LibraryDef *def, const Source *source) {
    static const char word[] = "\n    implements ";
    const char *text = source->text + def->part.begin;
    const char *found = memmem(text, def->part.end - def->part.begin, word, strlen(word));
    if (!found)
        return (AstName){0};
    return name_at(def->arena, source, def->part.file, (uint32_t)(found + strlen(word) - source->text));
}

static void add_unparsed(AstFile *tree, LibraryDef item, const Source *source) {
    LibraryDef *unparsed = ARENA_NEW(item.arena, LibraryDef);
    AstDef *def = ARENA_NEW(item.arena, AstDef);
    *unparsed = item;
    *def = (AstDef){.loc = item.part, .unparsed = unparsed};
    def->name = name_at(item.arena, source, item.part.file, item.part.begin + (uint32_t)strlen("def "));
    def->implements = name_of_implemented(unparsed, source);
    list_push(item.arena, &tree->defs, def);
}

AstFile *parse_library(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics) {
    const Source *source = source_get(sources, file);
    AstFile *tree = ARENA_NEW(arena, AstFile);
    tree->file = file;
    for (uint32_t begin = item_from(source, 0), end; begin < source->length; begin = end) {
        end = item_from(source, next_line(source, begin));
        LibraryDef item = {arena, sources, diagnostics, {file, begin, end}};
        if (strncmp(source->text + begin, "def ", strlen("def ")) == 0)
            add_unparsed(tree, item, source);
        else
            parse_items(tree, arena, sources, item.part, diagnostics);
    }
    return tree;
}

void ast_complete(AstDef *def) {
    const LibraryDef *unparsed = def->unparsed;
    if (!unparsed)
        return;
    AstFile tree = {.file = unparsed->part.file};
    parse_items(&tree, unparsed->arena, unparsed->sources, unparsed->part, unparsed->diagnostics);
    ENSURE(tree.defs.count == 1);
    *def = *tree.defs.items[0];
}
