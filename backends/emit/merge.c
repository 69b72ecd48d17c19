/* merge.c - one ELF64 object of several: what a linker makes of them with -r.
 *
 * Needs objects of one code generator for one target: little-endian, relocations with addends. Sections of one name and
 * kind become one, with their pieces in the order of the objects; those in groups stay as they are. A name that one
 * object defines and others use is one symbol. A hidden definition that is not weak is for these objects alone: it
 * becomes a local symbol.
 */
#include "backends/emit/emit.h"
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_SIGNIFICANCE = 0x6fff4c03 }; /* SHT_LLVM_ADDRSIG: symbols by number, for a linker's --icf */

typedef struct Input {
    const char *bytes, *section_names, *symbol_names;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    int section_count, symbol_count;
    int *section_to;      /* numbers of merged sections; 0: left out */
    uint64_t *section_at; /* where the section begins in the merged one */
    int *symbol_to;       /* of Merge.symbols */
} Input;

typedef struct SectionPiece {
    const Input *input;
    int section;
} SectionPiece;

typedef struct Section {
    Elf64_Shdr header;
    const char *name;
    LIST(SectionPiece) pieces;
    int symbol; /* of Merge.symbols, that stands for the section; -1: none does yet */
} Section;

typedef struct MergedSymbol {
    Elf64_Sym symbol;
    const char *name;
    uint32_t number; /* in the merged table */
} MergedSymbol;

typedef struct Merge {
    Arena *arena;
    Input *inputs;
    int count;
    LIST(Section) sections; /* the first one is that of index 0, the last two are the symbols and the names */
    LIST(MergedSymbol) symbols;
    Text names;
    uint32_t local_count; /* of the merged table's symbols */
} Merge;

/* --- inputs ------------------------------------------------------------------------------------------------------- */

static bool open_input(Merge *merge, Input *input, const char *bytes) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    *input = (Input){.bytes = bytes, .sections = (const Elf64_Shdr *)(bytes + header->e_shoff)};
    input->section_count = header->e_shnum;
    input->section_names = bytes + input->sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < input->section_count; i++) {
        const Elf64_Shdr *section = &input->sections[i];
        if (section->sh_type == SHT_REL || section->sh_type == SHT_SYMTAB_SHNDX)
            return false;
        if (section->sh_type != SHT_SYMTAB)
            continue;
        input->symbols = (const Elf64_Sym *)(bytes + section->sh_offset);
        input->symbol_count = (int)(section->sh_size / sizeof(Elf64_Sym));
        input->symbol_names = bytes + input->sections[section->sh_link].sh_offset;
    }
    input->section_to = ARENA_ARRAY(merge->arena, int, input->section_count);
    input->section_at = ARENA_ARRAY(merge->arena, uint64_t, input->section_count);
    input->symbol_to = ARENA_ARRAY(merge->arena, int, input->symbol_count + 1);
    return input->symbols != NULL;
}

static bool open_inputs(Merge *merge, char *const *objects, const size_t *bytes) {
    merge->inputs = ARENA_ARRAY(merge->arena, Input, merge->count);
    for (int i = 0; i < merge->count; i++)
        if (!is_elf_object(objects[i], bytes[i]) || !open_input(merge, &merge->inputs[i], objects[i]))
            return false;
    return true;
}

/* --- sections ----------------------------------------------------------------------------------------------------- */

static bool is_left_out(const Elf64_Shdr *section) {
    return section->sh_type == SHT_NULL || section->sh_type == SHT_SYMTAB || section->sh_type == SHT_STRTAB ||
           section->sh_type == ADDRESS_SIGNIFICANCE;
}

/* What a section of relocations is about, or 0. */
static int applies_to(const Input *input, const Elf64_Shdr *section) {
    return section->sh_type == SHT_RELA ? input->section_to[section->sh_info] : 0;
}

/* The merged section that this one continues; 0: none. */
static int find_section(const Merge *merge, const Input *input, const Elf64_Shdr *section) {
    if (section->sh_type == SHT_GROUP || section->sh_flags & SHF_GROUP)
        return 0;
    for (int i = 1; i < merge->sections.count; i++) {
        const Section *other = &merge->sections.items[i];
        if (other->header.sh_type == section->sh_type && other->header.sh_flags == section->sh_flags &&
            other->header.sh_entsize == section->sh_entsize &&
            (section->sh_type != SHT_RELA || (int)other->header.sh_info == applies_to(input, section)) &&
            !strcmp(other->name, input->section_names + section->sh_name))
            return i;
    }
    return 0;
}

static void add_piece(Merge *merge, Input *input, int number) {
    const Elf64_Shdr *section = &input->sections[number];
    int to = find_section(merge, input, section);
    if (!to) {
        Section made = {.header = *section, .name = input->section_names + section->sh_name, .symbol = -1};
        made.header.sh_size = 0;
        made.header.sh_info = (Elf64_Word)applies_to(input, section);
        to = merge->sections.count;
        list_push(merge->arena, &merge->sections, made);
    }
    Section *merged = &merge->sections.items[to];
    if (merged->header.sh_addralign < section->sh_addralign)
        merged->header.sh_addralign = section->sh_addralign;
    input->section_to[number] = to;
    input->section_at[number] = align_up(merged->header.sh_size, section->sh_addralign);
    merged->header.sh_size = input->section_at[number] + section->sh_size;
    list_push(merge->arena, &merged->pieces, ((SectionPiece){input, number}));
}

/* What relocations are about comes before them. */
static void add_sections(Merge *merge, Input *input, bool relocations) {
    for (int i = 1; i < input->section_count; i++)
        if (!is_left_out(&input->sections[i]) && (input->sections[i].sh_type == SHT_RELA) == relocations)
            add_piece(merge, input, i);
}

/* --- symbols ------------------------------------------------------------------------------------------------------ */

static bool has_section(const Elf64_Sym *symbol) {
    return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
}

static int push_symbol(Merge *merge, const Input *input, const Elf64_Sym *from) {
    MergedSymbol made = {.symbol = *from, .name = input->symbol_names + from->st_name};
    if (has_section(from)) {
        made.symbol.st_shndx = (Elf64_Half)input->section_to[from->st_shndx];
        made.symbol.st_value += input->section_at[from->st_shndx];
    }
    list_push(merge->arena, &merge->symbols, made);
    return merge->symbols.count - 1;
}

/* One for the whole merged section; what refers to it adds where its piece begins. */
static int section_symbol(Merge *merge, const Input *input, const Elf64_Sym *from) {
    Section *section = &merge->sections.items[input->section_to[from->st_shndx]];
    if (section->symbol < 0) {
        section->symbol = push_symbol(merge, input, from);
        merge->symbols.items[section->symbol].symbol.st_value = 0;
    }
    return section->symbol;
}

static void add_local_symbols(Merge *merge, Input *input) {
    for (int i = 1; i < input->symbol_count; i++) {
        const Elf64_Sym *symbol = &input->symbols[i];
        int type = ELF64_ST_TYPE(symbol->st_info);
        if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL || (type == STT_FILE && input != merge->inputs))
            continue;
        input->symbol_to[i] =
            type == STT_SECTION ? section_symbol(merge, input, symbol) : push_symbol(merge, input, symbol);
    }
}

/* A symbol that objects may have in common. */
typedef struct Shared {
    const char *name;
    Input *input;
    int symbol;
} Shared;

static bool is_defined(const Shared *shared) {
    return shared->input->symbols[shared->symbol].st_shndx != SHN_UNDEF;
}

/* By name; definitions first, in the order of the objects. */
static int compare_shared(const void *left, const void *right) {
    const Shared *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (!order)
        order = is_defined(b) - is_defined(a);
    return order ? order : (a->input > b->input) - (a->input < b->input);
}

/* False: two objects define a name. */
static bool add_shared_symbols(Merge *merge) {
    LIST(Shared) all = {0};
    for (int i = 0; i < merge->count; i++) {
        Input *input = &merge->inputs[i];
        for (int s = 1; s < input->symbol_count; s++)
            if (ELF64_ST_BIND(input->symbols[s].st_info) != STB_LOCAL)
                list_push(merge->arena, &all, ((Shared){input->symbol_names + input->symbols[s].st_name, input, s}));
    }
    qsort(all.items, (size_t)all.count, sizeof *all.items, compare_shared);
    for (int i = 0, to = 0; i < all.count; i++) {
        const Shared *shared = &all.items[i];
        bool again = i > 0 && !strcmp(shared->name, all.items[i - 1].name);
        if (again && is_defined(shared))
            return false;
        if (!again)
            to = push_symbol(merge, shared->input, &shared->input->symbols[shared->symbol]);
        shared->input->symbol_to[shared->symbol] = to;
    }
    return true;
}

static void make_local(Elf64_Sym *symbol) {
    if (ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && symbol->st_shndx != SHN_UNDEF &&
        ELF64_ST_VISIBILITY(symbol->st_other) == STV_HIDDEN) {
        symbol->st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol->st_info));
        symbol->st_other = STV_DEFAULT;
    }
}

static Elf64_Word add_name(Merge *merge, const char *name) {
    size_t at = merge->names.length;
    text_add_bytes(&merge->names, name, strlen(name) + 1);
    return (Elf64_Word)at;
}

/* Local symbols stand before the others. */
static void number_symbols(Merge *merge) {
    uint32_t number = 1;
    for (int i = 0; i < merge->symbols.count; i++)
        make_local(&merge->symbols.items[i].symbol);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < merge->symbols.count; i++) {
            MergedSymbol *symbol = &merge->symbols.items[i];
            if ((ELF64_ST_BIND(symbol->symbol.st_info) == STB_LOCAL) == (pass == 0))
                symbol->number = number++;
        }
        if (pass == 0)
            merge->local_count = number;
    }
    for (int i = 0; i < merge->symbols.count; i++)
        merge->symbols.items[i].symbol.st_name = add_name(merge, merge->symbols.items[i].name);
}

/* --- the merged object -------------------------------------------------------------------------------------------- */

static uint32_t symbol_number(const Merge *merge, const Input *input, int symbol) {
    return symbol ? merge->symbols.items[input->symbol_to[symbol]].number : 0;
}

static Section *add_table(Merge *merge, const char *name, Elf64_Shdr header) {
    list_push(merge->arena, &merge->sections, ((Section){.header = header, .name = name, .symbol = -1}));
    return &merge->sections.items[merge->sections.count - 1];
}

static void lay_out(Merge *merge, uint64_t *end) {
    for (int i = 1; i < merge->sections.count; i++) {
        Elf64_Shdr *header = &merge->sections.items[i].header;
        *end = header->sh_offset = align_up(*end, header->sh_addralign);
        *end += header->sh_type == SHT_NOBITS ? 0 : header->sh_size;
    }
    *end = align_up(*end, sizeof(Elf64_Xword));
}

/* The tables behind the sections, and the places of all. Returns the bytes of the object up to its section headers. */
static uint64_t add_tables(Merge *merge) {
    int symbols = merge->sections.count;
    add_table(merge, ".symtab",
              (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                           .sh_size = (1 + (size_t)merge->symbols.count) * sizeof(Elf64_Sym),
                           .sh_link = (Elf64_Word)symbols + 1,
                           .sh_info = merge->local_count,
                           .sh_addralign = sizeof(Elf64_Xword),
                           .sh_entsize = sizeof(Elf64_Sym)});
    add_table(merge, ".strtab", (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1});
    for (int i = 1; i < merge->sections.count; i++) {
        Elf64_Shdr *header = &merge->sections.items[i].header;
        header->sh_name = add_name(merge, merge->sections.items[i].name);
        if (header->sh_type == SHT_RELA || header->sh_type == SHT_GROUP)
            header->sh_link = (Elf64_Word)symbols;
    }
    merge->sections.items[symbols + 1].header.sh_size = merge->names.length;
    uint64_t end = sizeof(Elf64_Ehdr);
    lay_out(merge, &end);
    return end;
}

static void write_relocations(const Merge *merge, const Input *input, const Elf64_Shdr *section, char *to) {
    const Elf64_Rela *from = (const Elf64_Rela *)(input->bytes + section->sh_offset);
    Elf64_Rela *made = (Elf64_Rela *)to;
    for (size_t i = 0; i < section->sh_size / sizeof *from; i++) {
        int symbol = (int)ELF64_R_SYM(from[i].r_info);
        const Elf64_Sym *about = &input->symbols[symbol];
        made[i].r_offset = from[i].r_offset + input->section_at[section->sh_info];
        made[i].r_info = ELF64_R_INFO((uint64_t)symbol_number(merge, input, symbol), ELF64_R_TYPE(from[i].r_info));
        made[i].r_addend = from[i].r_addend;
        if (ELF64_ST_TYPE(about->st_info) == STT_SECTION)
            made[i].r_addend += (Elf64_Sxword)input->section_at[about->st_shndx];
    }
}

static void write_group(const Input *input, const Elf64_Shdr *section, char *to) {
    const Elf64_Word *from = (const Elf64_Word *)(input->bytes + section->sh_offset);
    Elf64_Word *made = (Elf64_Word *)to;
    made[0] = from[0];
    for (size_t i = 1; i < section->sh_size / sizeof *from; i++)
        made[i] = (Elf64_Word)input->section_to[from[i]];
}

static void write_piece(const Merge *merge, const Section *section, const SectionPiece *piece, char *object) {
    const Input *input = piece->input;
    const Elf64_Shdr *from = &input->sections[piece->section];
    char *to = object + section->header.sh_offset + input->section_at[piece->section];
    if (from->sh_type == SHT_RELA)
        write_relocations(merge, input, from, to);
    else if (from->sh_type == SHT_GROUP)
        write_group(input, from, to);
    else if (from->sh_type != SHT_NOBITS)
        memcpy(to, input->bytes + from->sh_offset, from->sh_size);
}

static void write_object(const Merge *merge, char *object, uint64_t headers) {
    Elf64_Ehdr *header = (Elf64_Ehdr *)object;
    Elf64_Shdr *sections = (Elf64_Shdr *)(object + headers);
    const int names = merge->sections.count - 1, symbols = names - 1;
    *header = *(const Elf64_Ehdr *)merge->inputs->bytes;
    header->e_shoff = headers;
    header->e_shnum = (Elf64_Half)merge->sections.count;
    header->e_shstrndx = (Elf64_Half)names;
    for (int i = 1; i < merge->sections.count; i++) {
        const Section *section = &merge->sections.items[i];
        sections[i] = section->header;
        for (int p = 0; p < section->pieces.count; p++)
            write_piece(merge, section, &section->pieces.items[p], object);
        if (section->header.sh_type == SHT_GROUP) {
            const SectionPiece *whole = &section->pieces.items[0];
            sections[i].sh_info =
                symbol_number(merge, whole->input, (int)whole->input->sections[whole->section].sh_info);
        }
    }
    Elf64_Sym *table = (Elf64_Sym *)(object + sections[symbols].sh_offset);
    for (int i = 0; i < merge->symbols.count; i++)
        table[merge->symbols.items[i].number] = merge->symbols.items[i].symbol;
    memcpy(object + sections[names].sh_offset, merge->names.text, merge->names.length);
}

static char *make_object(Merge *merge, size_t *bytes) {
    uint64_t headers = add_tables(merge);
    *bytes = headers + (size_t)merge->sections.count * sizeof(Elf64_Shdr);
    char *object = merge->sections.count < SHN_LORESERVE ? calloc(1, *bytes + 1) : NULL;
    if (object)
        write_object(merge, object, headers);
    return object;
}

char *objects_merge(char *const *objects, const size_t *bytes, int count, size_t *merged_bytes) {
    Merge merge = {.arena = arena_new(), .count = count};
    merge.names.arena = merge.arena;
    list_push(merge.arena, &merge.sections, ((Section){.name = "", .symbol = -1}));
    text_add_bytes(&merge.names, "", 1);
    char *merged = NULL;
    if (open_inputs(&merge, objects, bytes)) {
        for (int i = 0; i < count; i++) {
            add_sections(&merge, &merge.inputs[i], false);
            add_sections(&merge, &merge.inputs[i], true);
        }
        for (int i = 0; i < count; i++)
            add_local_symbols(&merge, &merge.inputs[i]);
        if (add_shared_symbols(&merge)) {
            number_symbols(&merge);
            merged = make_object(&merge, merged_bytes);
        }
    }
    arena_free(merge.arena);
    return merged;
}
