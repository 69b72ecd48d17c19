/* loader.c - a small ELF64 loader for relocatable objects of x86-64 and aarch64.
 *
 * A candidate travels as a plain object file. Its allocated sections are placed in one mapping. Every undefined symbol
 * gets a slot in a table of addresses and a veneer (a jump through the slot), so that calls reach anywhere; relocations
 * are applied. Contents that come beside the file lie behind its data, as near as if they were in it. Code becomes
 * executable, and no longer writable, before anything runs. Nothing in the file is trusted: every offset is checked.
 */
#include "backends/run/loader.h"
#include "backends/emit/emit.h"
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VENEER_BYTES = 16 };

struct LoadedObject {
    Arena *arena; /* for messages */
    uint8_t *base;
    size_t mapped;
    char *image; /* a copy of the file: names and symbols */
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    size_t *placed; /* offset of each section in the mapping; SIZE_MAX: not there */
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    size_t names_size;
    uint64_t *values;                         /* address of each symbol */
    size_t veneers, slots, commons, contents; /* offsets of the tables */
    bool ready;                               /* its functions may be called */
};

static bool inside(const LoadedObject *o, uint64_t offset, uint64_t bytes) {
    return offset <= o->size && bytes <= o->size - offset;
}

static bool read_sections(LoadedObject *o, const char **why) {
    *why = "not an ELF64 relocatable object";
    if (o->size < sizeof *o->header || memcmp(o->header->e_ident, ELFMAG, SELFMAG) || o->header->e_type != ET_REL ||
        o->header->e_ident[EI_CLASS] != ELFCLASS64 || o->header->e_shentsize != sizeof(Elf64_Shdr))
        return false;
#if defined(__x86_64__)
    const int machine = EM_X86_64;
#elif defined(__aarch64__)
    const int machine = EM_AARCH64;
#else
    const int machine = -1;
#endif
    *why = "the object is for another processor than the worker's";
    if (o->header->e_machine != machine)
        return false;
    *why = "damaged object";
    if (!inside(o, o->header->e_shoff, (uint64_t)o->header->e_shnum * sizeof(Elf64_Shdr)) || o->header->e_shoff % 8)
        return false;
    o->sections = (const Elf64_Shdr *)(o->image + o->header->e_shoff);
    for (int i = 0; i < o->header->e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !inside(o, s->sh_offset, s->sh_size))
            return false;
        if (s->sh_type != SHT_SYMTAB)
            continue;
        if (s->sh_link >= o->header->e_shnum || s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8)
            return false;
        const Elf64_Shdr *names = &o->sections[s->sh_link];
        if (!inside(o, names->sh_offset, names->sh_size) || !names->sh_size ||
            o->image[names->sh_offset + names->sh_size - 1])
            return false;
        o->symbols = (const Elf64_Sym *)(o->image + s->sh_offset);
        o->symbol_count = s->sh_size / sizeof(Elf64_Sym);
        o->names = o->image + names->sh_offset;
        o->names_size = names->sh_size;
    }
    return o->symbols != NULL;
}

static bool wanted(const Elf64_Shdr *s) {
    return (s->sh_flags & SHF_ALLOC) && s->sh_size;
}

/* Places code first, on its own pages with the veneers; then all that stays writable. */
static bool place_sections(LoadedObject *o, const LoaderSymbol *symbols, int count, size_t *code_bytes,
                           const char **why) {
    size_t at = 0, page = (size_t)sysconf(_SC_PAGESIZE), limit = (size_t)1 << 31;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < o->header->e_shnum; i++) {
            const Elf64_Shdr *s = &o->sections[i];
            if (!pass)
                o->placed[i] = SIZE_MAX;
            if (!wanted(s) || !!(s->sh_flags & SHF_EXECINSTR) == pass)
                continue;
            at = align_up(at, s->sh_addralign);
            o->placed[i] = at;
            *why = "the object is too large";
            if (s->sh_size > limit || (at += s->sh_size) > limit)
                return false;
        }
        if (!pass) {
            o->veneers = align_up(at, VENEER_BYTES);
            at = *code_bytes = align_up(o->veneers + o->symbol_count * VENEER_BYTES, page);
        }
    }
    o->slots = align_up(at, 8);
    o->commons = align_up(o->slots + o->symbol_count * 8, DATA_ALIGNMENT);
    at = o->commons;
    for (size_t i = 0; i < o->symbol_count; i++)
        if (o->symbols[i].st_shndx == SHN_COMMON)
            at += align_up(o->symbols[i].st_size, DATA_ALIGNMENT);
    o->contents = at = align_up(at, DATA_ALIGNMENT);
    for (int i = 0; i < count; i++) {
        *why = "the object is too large";
        if (symbols[i].bytes > limit || (at += align_up(symbols[i].bytes, DATA_ALIGNMENT)) > limit)
            return false;
    }
    o->mapped = align_up(at + 1, page);
    return true;
}

static bool map_sections(LoadedObject *o, const LoaderSymbol *symbols, int count, const char **why) {
    o->base = mmap(NULL, o->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (o->base == MAP_FAILED) {
        o->base = NULL;
        *why = "no memory for the object";
        return false;
    }
    for (int i = 0; i < o->header->e_shnum; i++)
        if (o->placed[i] != SIZE_MAX && o->sections[i].sh_type != SHT_NOBITS)
            memcpy(o->base + o->placed[i], o->image + o->sections[i].sh_offset, o->sections[i].sh_size);
    uint8_t *contents = o->base + o->contents;
    for (int i = 0; i < count; contents += align_up(symbols[i++].bytes, DATA_ALIGNMENT))
        if (symbols[i].bytes)
            memcpy(contents, symbols[i].address, symbols[i].bytes);
    return true;
}

/* --- symbols --- */

static void *find_outside(const LoadedObject *o, const char *name, const LoaderSymbol *symbols, int count) {
    uint8_t *contents = o->base + o->contents;
    for (int i = 0; i < count; contents += align_up(symbols[i++].bytes, DATA_ALIGNMENT))
        if (!strcmp(symbols[i].name, name))
            return symbols[i].bytes ? contents : symbols[i].address;
    return dlsym(RTLD_DEFAULT, name);
}

/* A jump through the symbol's slot. */
static void write_veneer(uint8_t *veneer, const uint8_t *slot) {
#if defined(__x86_64__)
    int32_t distance = (int32_t)(slot - (veneer + 6));
    veneer[0] = 0xff; /* jmp *distance(%rip) */
    veneer[1] = 0x25;
    memcpy(veneer + 2, &distance, 4);
#elif defined(__aarch64__)
    uint32_t words[2];
    int64_t distance = slot - veneer;
    words[0] = 0x58000010 | (uint32_t)(((distance >> 2) & 0x7ffff) << 5); /* ldr x16, slot */
    words[1] = 0xd61f0200;                                                /* br x16 */
    memcpy(veneer, words, sizeof words);
#else
    (void)veneer;
    (void)slot;
#endif
}

static bool resolve_symbols(LoadedObject *o, const LoaderSymbol *symbols, int count, const char **why) {
    size_t common = o->commons;
    for (size_t i = 0; i < o->symbol_count; i++) {
        const Elf64_Sym *s = &o->symbols[i];
        *why = "damaged object";
        if (s->st_name >= o->names_size)
            return false;
        if (s->st_shndx == SHN_UNDEF) {
            const char *name = o->names + s->st_name;
            void *address = find_outside(o, name, symbols, count);
            if (!strcmp(name, "_GLOBAL_OFFSET_TABLE_"))
                address = o->base + o->slots;
            if (!address && i && ELF64_ST_BIND(s->st_info) != STB_WEAK) {
                *why = arena_printf(o->arena, "the object needs %s, which the worker does not have", name);
                return false;
            }
            o->values[i] = (uint64_t)(uintptr_t)address;
        } else if (s->st_shndx == SHN_COMMON) {
            o->values[i] = (uint64_t)(uintptr_t)(o->base + common);
            common += align_up(s->st_size, DATA_ALIGNMENT);
        } else if (s->st_shndx == SHN_ABS) {
            o->values[i] = s->st_value;
        } else if (s->st_shndx >= o->header->e_shnum) {
            return false;
        } else if (o->placed[s->st_shndx] != SIZE_MAX) {
            o->values[i] = (uint64_t)(uintptr_t)(o->base + o->placed[s->st_shndx]) + s->st_value;
        }
        uint8_t *slot = o->base + o->slots + 8 * i;
        memcpy(slot, &o->values[i], 8);
        write_veneer(o->base + o->veneers + VENEER_BYTES * i, slot);
    }
    return true;
}

/* --- relocations --- */

static bool fits_signed(int64_t value, int bits) {
    return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

#if defined(__x86_64__)
static bool relocate(const LoadedObject *o, uint32_t type, uint32_t symbol, int64_t addend, uint8_t *at) {
    int64_t value = (int64_t)o->values[symbol], here = (int64_t)(uintptr_t)at;
    int64_t slot = (int64_t)(uintptr_t)(o->base + o->slots + 8 * (size_t)symbol);
    int64_t veneer = (int64_t)(uintptr_t)(o->base + o->veneers + VENEER_BYTES * (size_t)symbol), result;
    switch (type) {
    case R_X86_64_NONE: return true;
    case R_X86_64_64:
        result = value + addend;
        memcpy(at, &result, 8);
        return true;
    case R_X86_64_PC64:
        result = value + addend - here;
        memcpy(at, &result, 8);
        return true;
    case R_X86_64_32:
        result = value + addend;
        memcpy(at, &result, 4);
        return result >= 0 && result <= UINT32_MAX;
    case R_X86_64_32S: result = value + addend; break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: result = slot + addend - here; break;
    case R_X86_64_PC32: result = value + addend - here; break;
    case R_X86_64_PLT32: result = (fits_signed(value + addend - here, 32) ? value : veneer) + addend - here; break;
    default: return false;
    }
    memcpy(at, &result, 4);
    return fits_signed(result, 32);
}
#elif defined(__aarch64__)
static void patch(uint8_t *at, uint32_t mask, uint32_t bits) {
    uint32_t word;
    memcpy(&word, at, 4);
    word = (word & ~mask) | (bits & mask);
    memcpy(at, &word, 4);
}

static bool patch_page(uint8_t *at, int64_t value) {
    int64_t pages = (value >> 12) - ((int64_t)(uintptr_t)at >> 12);
    patch(at, 0x60ffffe0, (uint32_t)((pages & 3) << 29) | (uint32_t)(((pages >> 2) & 0x7ffff) << 5));
    return fits_signed(pages, 21);
}

static bool patch_low(uint8_t *at, int64_t value, int shift) {
    patch(at, 0x003ffc00, (uint32_t)((value & 0xfff) >> shift) << 10);
    return !(value & ((1 << shift) - 1));
}

static bool relocate(const LoadedObject *o, uint32_t type, uint32_t symbol, int64_t addend, uint8_t *at) {
    int64_t value = (int64_t)o->values[symbol] + addend, here = (int64_t)(uintptr_t)at;
    int64_t slot = (int64_t)(uintptr_t)(o->base + o->slots + 8 * (size_t)symbol);
    int64_t veneer = (int64_t)(uintptr_t)(o->base + o->veneers + VENEER_BYTES * (size_t)symbol), distance;
    switch (type) {
    case R_AARCH64_NONE: return true;
    case R_AARCH64_ABS64: memcpy(at, &value, 8); return true;
    case R_AARCH64_PREL64:
        distance = value - here;
        memcpy(at, &distance, 8);
        return true;
    case R_AARCH64_PREL32:
        distance = value - here;
        memcpy(at, &distance, 4);
        return fits_signed(distance, 32);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        distance = fits_signed(value - here, 28) ? value - here : veneer - here;
        patch(at, 0x03ffffff, (uint32_t)(distance >> 2));
        return fits_signed(distance, 28);
    case R_AARCH64_ADR_PREL_PG_HI21: return patch_page(at, value);
    case R_AARCH64_ADR_GOT_PAGE: return patch_page(at, slot);
    case R_AARCH64_LD64_GOT_LO12_NC: return patch_low(at, slot, 3);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return patch_low(at, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return patch_low(at, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return patch_low(at, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return patch_low(at, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return patch_low(at, value, 4);
    default: return false;
    }
}
#else
static bool relocate(const LoadedObject *o, uint32_t type, uint32_t symbol, int64_t addend, uint8_t *at) {
    return false;
}
#endif

static bool relocate_section(LoadedObject *o, const Elf64_Shdr *relocations) {
    if (relocations->sh_info >= o->header->e_shnum || o->placed[relocations->sh_info] == SIZE_MAX)
        return true; /* of debug sections, which do not run */
    const Elf64_Shdr *section = &o->sections[relocations->sh_info];
    if (section->sh_type == SHT_NOBITS || relocations->sh_offset % 8)
        return false;
    const Elf64_Rela *list = (const Elf64_Rela *)(o->image + relocations->sh_offset);
    for (size_t i = 0; i < relocations->sh_size / sizeof *list; i++) {
        uint64_t symbol = ELF64_R_SYM(list[i].r_info);
        if (symbol >= o->symbol_count || list[i].r_offset > section->sh_size || section->sh_size - list[i].r_offset < 4)
            return false;
        uint8_t *at = o->base + o->placed[relocations->sh_info] + list[i].r_offset;
        if (!relocate(o, (uint32_t)ELF64_R_TYPE(list[i].r_info), (uint32_t)symbol, list[i].r_addend, at))
            return false;
    }
    return true;
}

static bool relocate_all(LoadedObject *o, const char **why) {
    *why = "the object has a relocation that the loader does not know";
    for (int i = 0; i < o->header->e_shnum; i++)
        if (o->sections[i].sh_type == SHT_RELA && !relocate_section(o, &o->sections[i]))
            return false;
    return true;
}

/* --- the three calls --- */

static bool load(LoadedObject *o, const LoaderSymbol *symbols, int count, const char **why) {
    if (!read_sections(o, why))
        return false;
    o->placed = calloc((size_t)o->header->e_shnum + 1, sizeof *o->placed);
    o->values = calloc(o->symbol_count + 1, sizeof *o->values);
    size_t code_bytes = 0;
    *why = "no memory for the object";
    if (!o->placed || !o->values || !place_sections(o, symbols, count, &code_bytes, why) ||
        !map_sections(o, symbols, count, why) || !resolve_symbols(o, symbols, count, why) || !relocate_all(o, why))
        return false;
    *why = "the object's code cannot be made executable";
    if (mprotect(o->base, code_bytes, PROT_READ | PROT_EXEC))
        return false;
    __builtin___clear_cache((char *)o->base, (char *)o->base + code_bytes);
    return true;
}

LoadedObject *loader_load(Arena *arena, const void *bytes, size_t size, const LoaderSymbol *symbols, int symbol_count,
                          const char **why) {
    LoadedObject *o = calloc(1, sizeof *o);
    *why = "no memory for the object";
    if (!o || !(o->image = malloc(size + 1))) {
        free(o);
        return NULL;
    }
    memcpy(o->image, bytes, size);
    o->arena = arena;
    o->size = size;
    o->header = (const Elf64_Ehdr *)o->image;
    o->ready = load(o, symbols, symbol_count, why);
    if (o->ready)
        return o;
    loader_unload(o);
    return NULL;
}

void *loader_find(const LoadedObject *o, const char *name) {
    for (size_t i = 1; i < o->symbol_count; i++)
        if (o->symbols[i].st_shndx != SHN_UNDEF && ELF64_ST_BIND(o->symbols[i].st_info) != STB_LOCAL &&
            !strcmp(o->names + o->symbols[i].st_name, name))
            return (void *)(uintptr_t)o->values[i];
    return NULL;
}

/* The object's own end: it frees what its calls left for the next ones. */
static void release(LoadedObject *o) {
    void *function = o->ready ? loader_find(o, "tensorc_release") : NULL;
    if (function)
        ((void (*)(void))(uintptr_t)function)();
}

void loader_unload(LoadedObject *o) {
    release(o);
    if (o->base)
        munmap(o->base, o->mapped);
    free(o->placed);
    free(o->values);
    free(o->image);
    free(o);
}
