/* object.c - read-only data for undefined symbols of an ELF64 object, added at its end.
 *
 * Large constants do not pass through the code generator, which would copy them several times: the object is made with
 * undefined symbols in their place. Nothing in the file moves. Behind it come the data, and copies of the section names
 * and of the section table with one more entry; the header then points to these.
 */
#include "backends/emit/emit.h"
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char section_name[] = ".rodata";

typedef struct ObjectLayout {
    size_t data, data_bytes, names, names_bytes, sections, end; /* places in the file */
} ObjectLayout;

size_t align_up(size_t value, size_t alignment) {
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

bool is_elf_object(const char *object, size_t bytes) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    return bytes > sizeof *header && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_type == ET_REL && header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % 8 == 0 &&
           header->e_shnum > 0 && header->e_shnum < SHN_LORESERVE - 1 && header->e_shstrndx < header->e_shnum &&
           header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr) <= bytes;
}

static Elf64_Shdr *sections_of(char *object) {
    return (Elf64_Shdr *)(object + ((const Elf64_Ehdr *)object)->e_shoff);
}

/* NULL: no undefined symbol has this name. */
static Elf64_Sym *find_symbol(char *object, const char *name) {
    const Elf64_Shdr *sections = sections_of(object);
    for (int i = 0; i < ((const Elf64_Ehdr *)object)->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        Elf64_Sym *symbols = (Elf64_Sym *)(object + sections[i].sh_offset);
        const char *names = object + sections[sections[i].sh_link].sh_offset;
        for (size_t s = 1; s < sections[i].sh_size / sizeof *symbols; s++)
            if (symbols[s].st_shndx == SHN_UNDEF && !strcmp(names + symbols[s].st_name, name))
                return &symbols[s];
    }
    return NULL;
}

static ObjectLayout lay_out(char *object, size_t bytes, const ObjectData *data, int count) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    ObjectLayout layout = {.data = align_up(bytes, DATA_ALIGNMENT)};
    for (int i = 0; i < count; i++)
        if (find_symbol(object, data[i].symbol))
            layout.data_bytes = align_up(layout.data_bytes, DATA_ALIGNMENT) + data[i].bytes;
    layout.names = layout.data + layout.data_bytes;
    layout.names_bytes = sections_of(object)[header->e_shstrndx].sh_size + sizeof section_name;
    layout.sections = align_up(layout.names + layout.names_bytes, DATA_ALIGNMENT);
    layout.end = layout.sections + ((size_t)header->e_shnum + 1) * sizeof(Elf64_Shdr);
    return layout;
}

static void define_symbols(char *object, const ObjectData *data, int count, const ObjectLayout *layout) {
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        Elf64_Sym *symbol = find_symbol(object, data[i].symbol);
        if (!symbol)
            continue;
        at = align_up(at, DATA_ALIGNMENT);
        symbol->st_shndx = ((const Elf64_Ehdr *)object)->e_shnum;
        symbol->st_value = at;
        symbol->st_size = data[i].bytes;
        symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        data[i].write(data[i].context, object + layout->data + at);
        at += data[i].bytes;
    }
}

static void add_section(char *object, const ObjectLayout *layout) {
    Elf64_Ehdr *header = (Elf64_Ehdr *)object;
    Elf64_Shdr *sections = (Elf64_Shdr *)(object + layout->sections);
    memcpy(sections, sections_of(object), header->e_shnum * sizeof *sections);
    Elf64_Shdr *names = &sections[header->e_shstrndx];
    memcpy(object + layout->names, object + names->sh_offset, names->sh_size);
    memcpy(object + layout->names + names->sh_size, section_name, sizeof section_name);
    sections[header->e_shnum] = (Elf64_Shdr){.sh_name = (Elf64_Word)names->sh_size,
                                             .sh_type = SHT_PROGBITS,
                                             .sh_flags = SHF_ALLOC,
                                             .sh_offset = layout->data,
                                             .sh_size = layout->data_bytes,
                                             .sh_addralign = DATA_ALIGNMENT};
    names->sh_offset = layout->names;
    names->sh_size = layout->names_bytes;
    header->e_shoff = layout->sections;
    header->e_shnum++;
}

bool object_add_data(char **object, size_t *bytes, const ObjectData *data, int count) {
    if (!is_elf_object(*object, *bytes))
        return false;
    ObjectLayout layout = lay_out(*object, *bytes, data, count);
    char *grown = calloc(1, layout.end + 1);
    if (!grown)
        return false;
    memcpy(grown, *object, *bytes);
    free(*object);
    define_symbols(grown, data, count, &layout);
    add_section(grown, &layout);
    *object = grown;
    *bytes = layout.end;
    return true;
}
