/* elf_symbols.c - functions of an ELF symbol table. */
#include "sources/conversion.h"
#include "sources/object_symbols.h"
#include "containers/elf.h"

#define SYMBOL_NOTYPE 0
#define SYMBOL_FUNC 2
#define SYMBOL_GNU_IFUNC 10

#define INDEX_UNDEFINED 0

typedef struct elf_symbol {
    uint32_t name;
    uint8_t type;
    bool is_defined;
    uint32_t section; /* 0 for absolute and common symbols */
    uint64_t address;
    uint64_t size;
} elf_symbol;

typedef struct symbol_table {
    cursor entries;
    cursor names;
    cursor extended; /* SHT_SYMTAB_SHNDX, empty if there is none */
    bool is_64;
} symbol_table;

/* ---- reading ------------------------------------------------------------------------ */

static bool find_table(const elf_object *elf, uint32_t type, symbol_table *table) {
    uint32_t count = elf->object.header.section_count;
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i);
        elf_section names;
        if (section.type != type || section.size == 0) continue;
        names = elf_section_at(elf, section.link < count ? section.link : 0);
        table->entries = elf_section_bytes(elf, &section);
        table->names = elf_section_bytes(elf, &names);
        table->extended = (cursor){0};
        table->is_64 = elf->object.header.is_64 != 0;
        for (uint32_t n = 1; n < count; ++n) {
            elf_section extended = elf_section_at(elf, n);
            if (extended.type == ELF_SECTION_SYMTAB_SHNDX && extended.link == i)
                table->extended = elf_section_bytes(elf, &extended);
        }
        return true;
    }
    return false;
}

static bool next_symbol(symbol_table *table, elf_symbol *symbol) {
    cursor *c = &table->entries;
    bool is_extended = cursor_left(&table->extended) >= 4;
    uint32_t extended = is_extended ? cursor_u32(&table->extended) : 0;
    if (cursor_left(c) < (table->is_64 ? 24u : 16u)) return false;
    symbol->name = cursor_u32_covered(c);
    if (table->is_64) {
        symbol->type = cursor_u8_covered(c) & 0xf;
        (void)cursor_u8_covered(c);
        symbol->section = cursor_u16_covered(c);
        symbol->address = cursor_u64_covered(c);
        symbol->size = cursor_u64_covered(c);
    } else {
        symbol->address = cursor_u32_covered(c);
        symbol->size = cursor_u32_covered(c);
        symbol->type = cursor_u8_covered(c) & 0xf;
        (void)cursor_u8_covered(c);
        symbol->section = cursor_u16_covered(c);
    }
    symbol->is_defined = symbol->section != INDEX_UNDEFINED;
    if (symbol->section == ELF_INDEX_EXTENDED)
        symbol->section = extended;
    else if (symbol->section >= ELF_INDEX_RESERVED)
        symbol->section = 0;
    return true;
}

/* ---- choosing ----------------------------------------------------------------------- */

/* Labels of assemblers and mapping symbols of ARM, AArch64 and RISC-V. */
static bool names_no_function(const char *name) {
    if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L')) return true;
    return name[0] == '$' && strchr("adtx", name[1]) != NULL && name[1] != '\0' &&
           (name[2] == '\0' || name[2] == '.' || name[1] == 'x');
}

static bool stands_in_code(const elf_object *elf, const elf_symbol *symbol) {
    elf_section section;
    if (symbol->section == 0 || symbol->section >= elf->object.header.section_count)
        return false;
    section = elf_section_at(elf, symbol->section);
    return elf_section_holds_code(&section) && symbol->address >= section.address &&
           symbol->address - section.address < section.size;
}

/* Whether a record can hold the symbol: 32 bits of size, no address past the last. */
static bool has_valid_range(const elf_symbol *symbol) {
    return symbol->size == 0 || (symbol->size <= UINT32_MAX &&
                                 symbol->address <= UINT64_MAX - (symbol->size - 1));
}

static gsym_status add_symbol(gsym_conversion *conversion, const elf_object *elf,
                              const symbol_table *table, elf_symbol *symbol,
                              gsym_error *error) {
    bool is_weak = symbol->type == SYMBOL_NOTYPE;
    const char *name;
    size_t size;
    if (symbol->type != SYMBOL_FUNC && symbol->type != SYMBOL_GNU_IFUNC && !is_weak)
        return GSYM_OK;
    if (elf->placements != NULL && symbol->section < elf->object.header.section_count)
        symbol->address += elf->placements[symbol->section].address;
    /* Where sections touch each other, the end of one is no place in the next. */
    if ((is_weak || elf->placements != NULL) && !stands_in_code(elf, symbol))
        return GSYM_OK;
    if (!is_weak && elf->object.header.machine == ELF_MACHINE_ARM)
        symbol->address &= ~UINT64_C(1); /* the bit that says Thumb */
    if (!dwarf_in_text(conversion_input(conversion), symbol->address)) return GSYM_OK;
    name = object_symbol_name(table->names, symbol->name, &size);
    if (name == NULL || !has_valid_range(symbol)) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    if (size == 0 || (is_weak && names_no_function(name))) return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address,
                               symbol->size, name, size, is_weak, error);
}

gsym_status elf_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                            gsym_error *error) {
    const elf_object *elf = elf_of(object);
    symbol_table table;
    elf_symbol symbol;
    if (!find_table(elf, ELF_SECTION_SYMTAB, &table) &&
        !find_table(elf, ELF_SECTION_DYNSYM, &table))
        return GSYM_OK;
    while (next_symbol(&table, &symbol))
        if (symbol.is_defined)
            GSYM_TRY(add_symbol(conversion, elf, &table, &symbol, error));
    return GSYM_OK;
}
