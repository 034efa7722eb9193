/* elf_symbols.c - read functions of an ELF symbol table. */
#include "containers/elf.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

#define SYMBOL_NOTYPE 0
#define SYMBOL_FUNC 2
#define SYMBOL_GNU_IFUNC 10
#define SYMBOL_OF_MACHINE 13 /* a Thumb function of ARM before its EABI, millicode of
                                PA-RISC; a register of SPARC */

#define BINDING_LOCAL 0
#define BINDING_WEAK 2

#define INDEX_UNDEFINED 0

typedef struct elf_symbol {
    uint32_t name;
    uint8_t info; /* type, and the binding in the upper half */
    bool is_defined;
    bool is_label; /* the symbol has no type */
    bool is_described; /* the symbol had the address of a function descriptor */
    bool is_lost;      /* its address is unknown, because the file lacks the descriptor */
    uint32_t section; /* 0 for absolute and common symbols */
    uint64_t address;
    uint64_t size;
} elf_symbol;

/* Function descriptors of 64-bit PowerPC with ELFv1. Each begins with the address of its
 * code, and the symbol of a function has the address of a descriptor. */
typedef struct function_descriptors {
    uint32_t section; /* index of .opd; 0: none, or the file has no section headers */
    uint64_t address;
    cursor bytes;       /* empty if there are none */
    uint8_t *relocated; /* owns these bytes in the case of a relocatable file; else NULL */
} function_descriptors;

typedef struct symbol_table {
    cursor entries;
    cursor names;
    uint64_t long_names; /* see object_long_names() */
    cursor extended; /* SHT_SYMTAB_SHNDX, empty if there is none */
    function_descriptors descriptors;
    bool is_64;
} symbol_table;

/* Find the loaded segment with the dynamic section. Descriptors are in it, because the
 * loader relocates them, too. False if there is no such segment or if the ABI has no
 * descriptors. */
static bool find_segment_of_descriptors(const elf_object *elf, elf_section *ret) {
    uint32_t abi = elf->flags & EF_PPC64_ABI, index = 0;
    uint64_t at, size;
    if (abi > 1 || (abi == 0 && !elf->object.header.big_endian) ||
        !elf_dynamic_segment(elf, &at, &size))
        return false;
    while (elf_load_segment(elf, &index, &ret->address, &ret->offset, &ret->size)) {
        if (at < ret->offset || at - ret->offset >= ret->size) continue;
        ret->address += elf->object.header.bias;
        return true;
    }
    return false;
}

/* Apply the relocations of the descriptors of a relocatable file. Words without a
 * relocation have all bits set; those that are relocated lose their old value. */
static gsym_status relocate_descriptors(const elf_object *elf,
                                        function_descriptors *descriptors,
                                        gsym_error *error) {
    size_t size = cursor_left(&descriptors->bytes);
    gsym_unapplied ignored = {0}; /* those of words with the address of the table of
                                     contents */
    if (size == 0) return GSYM_OK;
    descriptors->relocated = malloc(size);
    if (descriptors->relocated == NULL) return gsym_fail_memory(error);
    memset(descriptors->relocated, 0xff, size);
    descriptors->bytes =
        cursor_at(descriptors->relocated, size, 0, elf->object.header.big_endian);
    return elf_relocate(&elf->object, descriptors->section, descriptors->relocated, size,
                        &ignored, error);
}

static gsym_status open_descriptors(const elf_object *elf,
                                    function_descriptors *descriptors, gsym_error *error) {
    uint32_t count = elf->object.header.section_count, i = 1;
    elf_section section = {0};
    if (elf->object.header.machine != EM_PPC64) return GSYM_OK;
    for (; i < count; ++i) {
        section = elf_section_at(elf, i);
        if (strcmp(elf_section_name(elf, &section), ".opd") == 0) break;
    }
    if (count == 0 ? !find_segment_of_descriptors(elf, &section) : i >= count)
        return GSYM_OK;
    descriptors->section = count == 0 ? 0 : i;
    descriptors->address = section.address;
    descriptors->bytes = elf_section_bytes(elf, &section);
    return elf->placements == NULL ? GSYM_OK
                                   : relocate_descriptors(elf, descriptors, error);
}

static bool find_table(const elf_object *elf, uint32_t type, symbol_table *table) {
    uint32_t count = elf->object.header.section_count;
    *table = (symbol_table){.is_64 = elf->object.header.is_64 != 0};
    if (count == 0 && type == SHT_DYNSYM) {
        bool is_found = elf_dynamic_symbols(elf, &table->entries, &table->names);
        table->long_names = object_long_names(table->names);
        return is_found;
    }
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i);
        elf_section names;
        if (section.type != type || section.size == 0) continue;
        names = elf_section_at(elf, section.link < count ? section.link : 0);
        if (((section.flags | names.flags) & SHF_COMPRESSED) != 0) continue;
        table->entries = elf_section_bytes(elf, &section);
        table->names = elf_section_bytes(elf, &names);
        table->long_names = object_long_names(table->names);
        for (uint32_t n = 1; n < count; ++n) {
            elf_section extended = elf_section_at(elf, n);
            if (extended.type == SHT_SYMTAB_SHNDX && extended.link == i)
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
    symbol->name = cursor_u32_unchecked(c);
    if (table->is_64) {
        symbol->info = cursor_u8_unchecked(c);
        (void)cursor_u8_unchecked(c);
        symbol->section = cursor_u16_unchecked(c);
        symbol->address = cursor_u64_unchecked(c);
        symbol->size = cursor_u64_unchecked(c);
    } else {
        symbol->address = cursor_u32_unchecked(c);
        symbol->size = cursor_u32_unchecked(c);
        symbol->info = cursor_u8_unchecked(c);
        (void)cursor_u8_unchecked(c);
        symbol->section = cursor_u16_unchecked(c);
    }
    symbol->is_defined = symbol->section != INDEX_UNDEFINED;
    if (symbol->section == SHN_XINDEX)
        symbol->section = extended;
    else if (symbol->section >= SHN_LORESERVE)
        symbol->section = 0;
    return true;
}

/* Whether a name is that of a label of an assembler or of a mapping symbol of ARM, AArch64
 * or RISC-V. Tools of ARM before its EABI have more of these, and give them the type of
 * functions. */
static bool names_no_function(const elf_object *elf, const char *name) {
    const char *letters = elf->object.header.machine == EM_ARM ? "abdfmptx" : "adtx";
    if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L')) return true;
    return name[0] == '$' && strchr(letters, name[1]) != NULL && name[1] != '\0' &&
           (name[2] == '\0' || name[2] == '.' || name[1] == 'x');
}

/* Whether a symbol is a label of SDCC, which gives all symbols the type of functions and no
 * size: A$main$52 of a line, XG$main$0$0 of a scope. Absolute ones are variables and sizes
 * of areas. */
static bool is_label_of_sdcc(const elf_object *elf, const elf_symbol *symbol,
                             const char *name) {
    uint32_t machine = elf->object.header.machine;
    if (symbol->size != 0 || (machine != EM_STM8 && machine != EM_68HC08)) return false;
    return symbol->section == 0 || strchr(name, '$') != NULL;
}

/* Whether a symbol marks the jumps that clang's -fsanitize=cfi has for all functions of one
 * type: it covers one byte of the first jump, which has the symbol of a function, too. */
static bool marks_jumps_of_type(const elf_symbol *symbol, const char *name) {
    return symbol->size == 1 && strncmp(name, "__typeid_", 9) == 0;
}

static bool stands_in_code(const elf_object *elf, const elf_symbol *symbol) {
    elf_section section;
    if (symbol->section == 0 || symbol->section >= elf->object.header.section_count)
        return false;
    section = elf_section_at(elf, symbol->section);
    return elf_section_holds_code(&section) && symbol->address >= section.address &&
           symbol->address - section.address < section.size;
}

/* The size of a symbol, which ends with its section at the latest: names of the jumps of
 * clang 19's -fsanitize=cfi have the size of all jumps of their type. */
static uint64_t size_within_section(const elf_object *elf, const elf_symbol *symbol) {
    elf_section section;
    uint64_t left;
    if (symbol->is_described || !stands_in_code(elf, symbol)) return symbol->size;
    section = elf_section_at(elf, symbol->section);
    left = section.size - (symbol->address - section.address);
    return symbol->size < left ? symbol->size : left;
}

/* Whether a symbol is not in the code of its section. Only labels, and symbols of
 * relocatable files, are checked: a label at the end of a section is not in the next
 * section, even if they are adjacent. */
static bool is_outside_its_section(const elf_object *elf, const elf_symbol *symbol) {
    return (symbol->is_label || elf->placements != NULL) && !symbol->is_described &&
           !stands_in_code(elf, symbol);
}

/* Whether the range of a symbol does not wrap around. A symbol of 4 GiB or more, whose size
 * a record cannot store, must end in code. */
static bool has_valid_range(const dwarf_input *input, const elf_symbol *symbol) {
    uint64_t last = symbol->address + (symbol->size - 1);
    return symbol->size == 0 ||
           (last >= symbol->address &&
            (symbol->size <= UINT32_MAX || dwarf_in_text(input, last)));
}

static uint32_t binding_of(const elf_symbol *symbol) {
    switch (symbol->info >> 4) {
        case BINDING_LOCAL: return SYMBOL_LOCAL;
        case BINDING_WEAK: return SYMBOL_WEAK;
        default: return SYMBOL_GLOBAL;
    }
}

/* Return the size of a name without its version, such as `open@@V1`, which some linkers
 * leave in .symtab. Names of some languages contain an @, too: only a word after the last
 * one is a version, and none is called "plt": TinyCC names stubs `puts@plt`. */
static size_t unversioned_size(const char *name, size_t size) {
    size_t at = size;
    if (GSYM_LIKELY(memchr(name, '@', size) == NULL)) return size;
    while (at > 0 && name[at - 1] != '@') {
        char c = name[--at];
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') &&
            c != '_' && c != '.')
            return size;
    }
    if (at == 0 || at == size || name[0] == '.') return size; /* NASM: `..@1.name` */
    if (size - at == 3 && memcmp(name + at, "plt", 3) == 0) return size;
    --at;
    if (at > 0 && name[at - 1] == '@') --at;
    for (size_t i = 0; i < at; ++i)
        if (name[i] == '@' || name[i] == '(' || name[i] == '/') return size;
    return at == 0 ? size : at;
}

/* If a symbol has the address of a descriptor, replace it by the address of the code. False
 * if the file does not have the descriptor. */
static bool follow_descriptor(const elf_object *elf,
                              const function_descriptors *descriptors,
                              elf_symbol *symbol) {
    cursor c = descriptors->bytes;
    uint64_t offset = symbol->address - descriptors->address;
    uint64_t none = elf->placements == NULL ? 0 : UINT64_MAX;
    symbol->is_described = descriptors->section == 0
                               ? offset < cursor_left(&c)
                               : symbol->section == descriptors->section;
    if (GSYM_LIKELY(!symbol->is_described)) return true;
    cursor_skip(&c, offset);
    symbol->address = cursor_u64(&c);
    if (c.failed || symbol->address == none) return false;
    symbol->address += elf->object.header.bias;
    return true;
}

static bool is_function_type(const elf_object *elf, unsigned type) {
    return type == SYMBOL_FUNC || type == SYMBOL_GNU_IFUNC ||
           (type == SYMBOL_OF_MACHINE && (elf->object.header.machine == EM_ARM ||
                                          elf->object.header.machine == EM_PARISC));
}

/* Read the next symbol that may name a function; relocatable files have been placed. */
static bool next_elf_function(const elf_object *elf, symbol_table *table,
                              elf_symbol *symbol) {
    while (next_symbol(table, symbol)) {
        unsigned type = symbol->info & 0xf;
        symbol->is_label = type == SYMBOL_NOTYPE;
        if (!symbol->is_defined || (!symbol->is_label && !is_function_type(elf, type)))
            continue;
        if (elf->placements != NULL && symbol->section < elf->object.header.section_count)
            symbol->address += elf->placements[symbol->section].address;
        symbol->address += elf->object.header.bias;
        symbol->address &= ~object_isa_bit(&elf->object.header);
        symbol->is_described = false;
        symbol->is_lost =
            !symbol->is_label && !follow_descriptor(elf, &table->descriptors, symbol);
        return true;
    }
    return false;
}

static gsym_status add_elf_symbol(gsym_conversion *conversion, const elf_object *elf,
                                  symbol_table *table, const elf_symbol *symbol,
                                  gsym_error *error) {
    bool is_label = symbol->is_label;
    bool is_local = symbol->info >> 4 == BINDING_LOCAL;
    uint32_t untyped = !is_label           ? 0u
                       : symbol->size == 0 ? SYMBOL_LABEL
                                           : SYMBOL_UNTYPED;
    const char *name;
    size_t size;
    if (symbol->is_lost) {
        if (elf->placements == NULL) /* in a relocatable file, the address of a function
                                        without relocations may be unknown */
            dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                       0);
        return GSYM_OK;
    }
    if (!creator_needs_symbol(conversion_creator(conversion), symbol->address,
                              symbol->size))
        return GSYM_OK;
    if (is_outside_its_section(elf, symbol)) return GSYM_OK;
    if (!dwarf_in_text(conversion_input(conversion), symbol->address)) return GSYM_OK;
    name = object_symbol_name(table->names, &table->long_names, symbol->name, &size);
    if (name == NULL || !has_valid_range(conversion_input(conversion), symbol)) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    /* mold gives the mapping symbols of its thunks the type of functions. */
    if (size == 0 || is_label_of_sdcc(elf, symbol, name) ||
        marks_jumps_of_type(symbol, name) ||
        ((is_label || (symbol->size == 0 && is_local)) && names_no_function(elf, name)))
        return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address,
                               size_within_section(elf, symbol), name,
                               unversioned_size(name, size),
                               binding_of(symbol) | untyped, error);
}

/* Add the functions of the symbol table, else of the dynamic symbols, else those that a
 * kernel lists. */
gsym_status elf_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                            gsym_error *error) {
    const elf_object *elf = elf_of(object);
    symbol_table table;
    elf_symbol symbol;
    gsym_status status;
    if (!find_table(elf, SHT_SYMTAB, &table) &&
        !find_table(elf, SHT_DYNSYM, &table))
        return elf_add_kernel_symbols(conversion, elf, error);
    status = open_descriptors(elf, &table.descriptors, error);
    while (status == GSYM_OK && next_elf_function(elf, &table, &symbol))
        status = add_elf_symbol(conversion, elf, &table, &symbol, error);
    free(table.descriptors.relocated);
    return status;
}

static int compare_functions(const void *left, const void *right) {
    const symbol_function *a = left, *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

void symbol_functions_sort(symbol_function_list *list) {
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_functions);
}

gsym_status elf_list_functions(gsym_conversion *conversion, const gsym_object *object,
                               symbol_function_list *list, gsym_error *error) {
    const elf_object *elf = elf_of(object);
    symbol_table table;
    elf_symbol symbol;
    uint64_t next = 0;
    if (!find_table(elf, SHT_SYMTAB, &table)) return GSYM_OK;
    while (next_elf_function(elf, &table, &symbol)) {
        size_t size;
        const char *name =
            object_symbol_name(table.names, &table.long_names, symbol.name, &size);
        if (name == NULL || size == 0 || symbol.is_label || symbol.is_lost ||
            is_label_of_sdcc(elf, &symbol, name) ||
            is_outside_its_section(elf, &symbol) ||
            !dwarf_in_text(conversion_input(conversion), symbol.address) ||
            !has_valid_range(conversion_input(conversion), &symbol))
            continue;
        if (!LIST_ADD(*list, (symbol_function){symbol.address, symbol.size, name, size}))
            return gsym_fail_memory(error);
    }
    symbol_functions_sort(list);
    for (size_t i = list->count; i > 0; --i) {
        symbol_function *function = &list->items[i - 1];
        if (i < list->count && list->items[i].address > function->address)
            next = list->items[i].address;
        if (function->size == 0 && next > function->address)
            function->size = next - function->address;
    }
    return GSYM_OK;
}

gsym_status elf_add_live(live_list *list, const elf_object *elf, gsym_error *error) {
    const gsym_object_header *header = &elf->object.header;
    uint64_t entry = (elf->entry + header->bias) & ~object_isa_bit(header);
    symbol_table table;
    elf_symbol symbol;
    gsym_status status;
    GSYM_TRY(live_list_add(list, (live_code){.address = entry}, error));
    list->has_table = find_table(elf, SHT_SYMTAB, &table);
    if (!list->has_table) return GSYM_OK;
    status = open_descriptors(elf, &table.descriptors, error);
    while (status == GSYM_OK && next_elf_function(elf, &table, &symbol)) {
        const char *name;
        size_t size;
        if (symbol.is_lost || is_outside_its_section(elf, &symbol)) continue;
        name = object_symbol_name(table.names, &table.long_names, symbol.name, &size);
        if (name != NULL && size > 0 && !is_label_of_sdcc(elf, &symbol, name) &&
            !(symbol.is_label && names_no_function(elf, name)))
            status = live_list_add_named(list, symbol.address, symbol.size, name, size,
                                         error);
    }
    free(table.descriptors.relocated);
    return status;
}
