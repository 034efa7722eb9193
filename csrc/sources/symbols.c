/* symbols.c - the functions that a symbol table names, whatever the container. */
#include "sources/symbols.h"
#include "base/buffer.h"
#include "containers/elf.h"
#include "containers/pe.h"
#include "sources/conversion.h"
#include "sources/debug_files.h"
#include "sources/stubs.h"

/* ---- sizes of symbols in a table without sizes --------------------------------------- */

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error) {
    return LIST_ADD(*starts, address) ? GSYM_OK : gsym_fail_memory(error);
}

void symbol_starts_sort(symbol_starts *starts) {
    if (starts->count > 1)
        qsort(starts->items, starts->count, sizeof *starts->items, compare_first_u64);
}

uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end) {
    size_t low = 0;
    SEARCH_SORTED(low, starts->count, starts->items[middle] <= address);
    return low < starts->count && starts->items[low] < end ? starts->items[low] : end;
}

/* Functions of an ELF symbol table. */

#define SYMBOL_NOTYPE 0
#define SYMBOL_FUNC 2
#define SYMBOL_GNU_IFUNC 10
#define SYMBOL_ARM_TFUNC 13 /* a Thumb function, before the EABI of ARM */

#define BINDING_LOCAL 0
#define BINDING_WEAK 2

#define INDEX_UNDEFINED 0

typedef struct elf_symbol {
    uint32_t name;
    uint8_t info; /* type, and the binding in the upper half */
    bool is_defined;
    bool is_label; /* without a type */
    bool is_lost;  /* the file does not have the descriptor that says where it is */
    uint32_t section; /* 0 for absolute and common symbols */
    uint64_t address;
    uint64_t size;
} elf_symbol;

typedef struct symbol_table {
    cursor entries;
    cursor names;
    uint64_t long_names; /* see object_long_names() */
    cursor extended; /* SHT_SYMTAB_SHNDX, empty if there is none */
    uint32_t descriptors; /* section .opd of ELFv1, or 0 */
    bool is_64;
} symbol_table;

/* ---- reading ------------------------------------------------------------------------ */

static uint32_t find_descriptors(const elf_object *elf) {
    uint32_t count = elf->object.header.section_count;
    if (elf->object.header.machine != EM_PPC64) return 0;
    for (uint32_t i = 1; i < count; ++i) {
        elf_section section = elf_section_at(elf, i);
        if (strcmp(elf_section_name(elf, &section), ".opd") == 0) return i;
    }
    return 0;
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
        table->entries = elf_section_bytes(elf, &section);
        table->names = elf_section_bytes(elf, &names);
        table->long_names = object_long_names(table->names);
        table->descriptors = find_descriptors(elf);
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
    symbol->name = cursor_u32_covered(c);
    if (table->is_64) {
        symbol->info = cursor_u8_covered(c);
        (void)cursor_u8_covered(c);
        symbol->section = cursor_u16_covered(c);
        symbol->address = cursor_u64_covered(c);
        symbol->size = cursor_u64_covered(c);
    } else {
        symbol->address = cursor_u32_covered(c);
        symbol->size = cursor_u32_covered(c);
        symbol->info = cursor_u8_covered(c);
        (void)cursor_u8_covered(c);
        symbol->section = cursor_u16_covered(c);
    }
    symbol->is_defined = symbol->section != INDEX_UNDEFINED;
    if (symbol->section == SHN_XINDEX)
        symbol->section = extended;
    else if (symbol->section >= SHN_LORESERVE)
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

/* Whether no address of a symbol is past the last one. A symbol of 4 GiB and more, for
 * which a record has no size, extends to the next one. */
static bool has_valid_range(const dwarf_input *input, const elf_symbol *symbol) {
    uint64_t last = symbol->address + (symbol->size - 1);
    return symbol->size == 0 ||
           (last >= symbol->address &&
            (symbol->size <= UINT32_MAX || dwarf_in_text(input, last)));
}

static uint32_t elf_binding(const elf_symbol *symbol) {
    switch (symbol->info >> 4) {
        case BINDING_LOCAL: return SYMBOL_LOCAL;
        case BINDING_WEAK: return SYMBOL_WEAK;
        default: return SYMBOL_GLOBAL;
    }
}

/* The size of a name without a version, as of `open@@V1`, which some linkers leave in
 * .symtab. Names of some languages have an @ as well: a version is a word after the
 * last. */
static size_t unversioned_size(const char *name, size_t size) {
    size_t at = size;
    while (at > 0 && name[at - 1] != '@') {
        char c = name[--at];
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') &&
            c != '_' && c != '.')
            return size;
    }
    if (at == 0 || at == size || name[0] == '.') return size; /* NASM: `..@1.name` */
    --at;
    if (at > 0 && name[at - 1] == '@') --at;
    for (size_t i = 0; i < at; ++i)
        if (name[i] == '@' || name[i] == '(' || name[i] == '/') return size;
    return at == 0 ? size : at;
}

/* Of 64-bit PowerPC with ELFv1, a symbol of a function is where its descriptor is, which
 * begins with the address of its code. False where that is not in the file. */
static bool follow_descriptor(const elf_object *elf, const symbol_table *table,
                              elf_symbol *symbol) {
    elf_section section;
    cursor c;
    if (GSYM_LIKELY(table->descriptors == 0 || symbol->section != table->descriptors))
        return true;
    section = elf_section_at(elf, table->descriptors);
    c = elf_section_bytes(elf, &section);
    cursor_skip(&c, symbol->address - section.address);
    symbol->address = cursor_u64(&c);
    if (c.failed || symbol->address == 0) return false;
    symbol->address += elf->object.header.bias;
    return true;
}

static bool is_function_type(const elf_object *elf, unsigned type) {
    return type == SYMBOL_FUNC || type == SYMBOL_GNU_IFUNC ||
           (type == SYMBOL_ARM_TFUNC && elf->object.header.machine == EM_ARM);
}

/* The next symbol that may name a function, where it has been placed. */
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
        symbol->is_lost = !symbol->is_label && !follow_descriptor(elf, table, symbol);
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
        if (elf->placements == NULL) /* else its relocations have it, as the DWARF does */
            dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                       0);
        return GSYM_OK;
    }
    if (!creator_needs_symbol(conversion_creator(conversion), symbol->address,
                              symbol->size))
        return GSYM_OK;
    /* Where sections touch each other, the end of one is no place in the next. */
    if ((is_label || elf->placements != NULL) && !stands_in_code(elf, symbol))
        return GSYM_OK;
    if (!dwarf_in_text(conversion_input(conversion), symbol->address)) return GSYM_OK;
    name = object_symbol_name(table->names, &table->long_names, symbol->name, &size);
    if (name == NULL || !has_valid_range(conversion_input(conversion), symbol)) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    /* mold gives the mapping symbols of its thunks the type of functions. */
    if (size == 0 || ((is_label || (symbol->size == 0 && is_local)) &&
                      names_no_function(name)))
        return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address,
                               symbol->size > UINT32_MAX ? 0 : symbol->size, name,
                               unversioned_size(name, size),
                               elf_binding(symbol) | untyped, error);
}

/* The symbols of a container. */
static gsym_status elf_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                                   gsym_error *error) {
    const elf_object *elf = elf_of(object);
    symbol_table table;
    elf_symbol symbol;
    if (!find_table(elf, SHT_SYMTAB, &table) &&
        !find_table(elf, SHT_DYNSYM, &table))
        return GSYM_OK;
    while (next_elf_function(elf, &table, &symbol))
        GSYM_TRY(add_elf_symbol(conversion, elf, &table, &symbol, error));
    return GSYM_OK;
}

/* Functions of a COFF symbol table, or those that an image exports.
 *
 * Neither gives sizes: a function ends where the next place that is known to start one
 * does, at the latest with its section. So symbols yield to every function that is
 * described otherwise. */

#define CLASS_EXTERNAL 2
#define CLASS_STATIC 3
#define CLASS_WEAK 105
#define CLASS_GNU_WEAK 127

enum {
    EXPORT_DIRECTORY_SIZE = 40,
    X86_64_UNWIND_SIZE = 12,
    ARM64_UNWIND_SIZE = 8
};

typedef struct symbol_reader {
    const pe_object *pe;
    const pe_object *image; /* with the unwind table; NULL: none */
    gsym_conversion *conversion;
    cursor entries;
    uint64_t long_names; /* see object_long_names() */
    symbol_starts starts; /* and the ends of sections */
} symbol_reader;

typedef struct function_symbol {
    const char *name; /* NULL: unreadable */
    size_t name_size;
    uint64_t address;
    uint32_t binding; /* symbol_binding */
} function_symbol;

/* ---- the symbol table --------------------------------------------------------------- */

static void read_name(symbol_reader *reader, const pe_symbol *symbol,
                      function_symbol *ret) {
    const pe_object *pe = reader->pe;
    if (cursor_load32(symbol->name, false) == 0) {
        uint32_t offset = cursor_load32(symbol->name + 4, CURSOR_HOST_BIG_ENDIAN);
        ret->name = object_symbol_name(pe->strings, &reader->long_names, offset,
                                       &ret->name_size);
    } else {
        const uint8_t *nul = memchr(symbol->name, 0, PE_SHORT_NAME_SIZE);
        ret->name = (const char *)symbol->name;
        ret->name_size = nul == NULL ? PE_SHORT_NAME_SIZE : (size_t)(nul - symbol->name);
    }
    /* The underscore before what C calls `main`. */
    if (pe->object.header.machine == IMAGE_FILE_MACHINE_I386 && ret->name != NULL &&
        ret->name_size > 1 && ret->name[0] == '_')
        ++ret->name, --ret->name_size;
}

static bool is_typed(const pe_symbol *symbol) { return (symbol->type >> 4 & 3) == 2; }

/* Sections have symbols as well, static ones with a part that describes the section. */
static bool may_be_function(const pe_symbol *symbol) {
    switch (symbol->class) {
        case CLASS_EXTERNAL:
        case CLASS_WEAK:
        case CLASS_GNU_WEAK: return symbol->section > 0;
        case CLASS_STATIC:
            return symbol->section > 0 &&
                   (is_typed(symbol) || symbol->auxiliary_count == 0);
        default: return false;
    }
}

static uint64_t code_address(const pe_object *pe, uint64_t address) {
    return address & ~object_isa_bit(&pe->object.header);
}

/* The next symbol that may name a function. */
static bool next_function(symbol_reader *reader, function_symbol *ret) {
    const pe_object *pe = reader->pe;
    while (cursor_left(&reader->entries) >= pe->symbol_size) {
        pe_symbol symbol = pe_read_symbol(pe, &reader->entries);
        pe_section section;
        cursor_skip(&reader->entries, (uint64_t)symbol.auxiliary_count * pe->symbol_size);
        if (!may_be_function(&symbol) ||
            (uint32_t)symbol.section > pe->object.header.section_count)
            continue;
        section = pe_section_at(pe, (uint32_t)symbol.section - 1);
        if (!section.holds_code || symbol.value >= section.memory_size) continue;
        ret->address = code_address(pe, section.address + symbol.value);
        ret->binding = symbol.class == CLASS_EXTERNAL ? SYMBOL_GLOBAL
                       : symbol.class == CLASS_STATIC ? SYMBOL_LOCAL
                                                      : SYMBOL_WEAK;
        if (!is_typed(&symbol)) ret->binding |= SYMBOL_UNTYPED;
        read_name(reader, &symbol, ret);
        if (ret->name == NULL || (ret->name_size > 0 && ret->name[0] != '.')) return true;
    }
    return false;
}

/* ---- the export directory ----------------------------------------------------------- */

/* The exports of an image. Names, ordinals and addresses are read where the directory's
 * own section has them, which is where linkers put them. */
typedef struct export_table {
    pe_section section;
    cursor names;    /* of 32 bits each: where the name is */
    cursor ordinals; /* of 16 bits each: which address belongs to the name */
    cursor addresses;
    gsym_range extent; /* an address in there is the name of another image's function */
} export_table;

/* The table whose address `c` reads next. */
static cursor next_table(const export_table *exports, const pe_object *pe, cursor *c,
                         uint64_t size) {
    uint64_t address = pe->object.header.base_address + cursor_u32(c);
    return pe_section_bytes(pe, &exports->section, address, size);
}

static bool open_exports(const pe_object *pe, export_table *exports) {
    uint64_t address_count, name_count;
    cursor c;
    if (!pe_find_directory(pe, PE_DIRECTORY_EXPORT, &exports->extent) ||
        !pe_find_section(pe, exports->extent.start, &exports->section))
        return false;
    c = pe_section_bytes(pe, &exports->section, exports->extent.start,
                         EXPORT_DIRECTORY_SIZE);
    cursor_skip(&c, 20);
    address_count = cursor_u32(&c);
    name_count = cursor_u32(&c);
    exports->addresses = next_table(exports, pe, &c, 4 * address_count);
    exports->names = next_table(exports, pe, &c, 4 * name_count);
    exports->ordinals = next_table(exports, pe, &c, 2 * name_count);
    return !c.failed;
}

/* The next export that is code of this image. */
static bool next_export(symbol_reader *reader, export_table *exports,
                        function_symbol *ret) {
    const pe_object *pe = reader->pe;
    const dwarf_input *input = conversion_input(reader->conversion);
    while (cursor_left(&exports->names) >= 4 && cursor_left(&exports->ordinals) >= 2) {
        cursor name = next_table(exports, pe, &exports->names, UINT32_MAX);
        cursor addresses = exports->addresses;
        cursor_skip(&addresses, 4u * cursor_u16_covered(&exports->ordinals));
        ret->address =
            code_address(pe, pe->object.header.base_address + cursor_u32(&addresses));
        if (addresses.failed || !dwarf_in_text(input, ret->address) ||
            (ret->address >= exports->extent.start && ret->address < exports->extent.end))
            continue;
        ret->name = object_symbol_name(name, &reader->long_names, 0, &ret->name_size);
        ret->binding = SYMBOL_GLOBAL;
        return true;
    }
    return false;
}

/* ---- where functions start ---------------------------------------------------------- */

static gsym_status add_range(symbol_reader *reader, uint64_t start, uint64_t end,
                             gsym_error *error) {
    GSYM_TRY(symbol_starts_add(&reader->starts, start, error));
    return symbol_starts_add(&reader->starts, end, error);
}

static gsym_status add_sections(symbol_reader *reader, gsym_error *error) {
    for (uint32_t i = 0; i < reader->pe->object.header.section_count; ++i) {
        pe_section section = pe_section_at(reader->pe, i);
        if (!section.holds_code) continue;
        GSYM_TRY(add_range(reader, section.address, section.address + section.memory_size,
                           error));
    }
    return GSYM_OK;
}

/* Functions in the unwind table of a 64-bit image. */
static gsym_status add_unwind_table(symbol_reader *reader, gsym_error *error) {
    const pe_object *pe = reader->image;
    uint64_t base;
    bool has_ends;
    size_t size;
    gsym_range range;
    cursor c;
    if (pe == NULL) return GSYM_OK;
    base = pe->object.header.base_address;
    has_ends = pe->object.header.machine == IMAGE_FILE_MACHINE_AMD64;
    size = has_ends ? X86_64_UNWIND_SIZE : ARM64_UNWIND_SIZE;
    if ((!has_ends && pe->object.header.machine != IMAGE_FILE_MACHINE_ARM64) ||
        !pe_find_directory(pe, PE_DIRECTORY_EXCEPTION, &range))
        return GSYM_OK;
    for (c = pe_loaded_bytes(pe, range); cursor_left(&c) >= size;) {
        uint64_t start = base + cursor_u32_covered(&c);
        uint64_t end = has_ends ? base + cursor_u32_covered(&c) : start;
        cursor_skip(&c, 4);
        GSYM_TRY(add_range(reader, start, end, error));
    }
    return GSYM_OK;
}

/* An export ends where a stub starts. */
static gsym_status add_stub_ranges(symbol_reader *reader, gsym_error *error) {
    pe_stubs stubs = {.pe = reader->pe};
    gsym_status status = pe_find_stubs(&stubs, error);
    for (size_t i = 0; i < stubs.found.count && status == GSYM_OK; ++i)
        status = add_range(reader, stubs.found.items[i].code.start,
                           stubs.found.items[i].code.end, error);
    pe_stubs_close(&stubs);
    return status;
}

/* ---- adding ------------------------------------------------------------------------- */

static gsym_status add_coff_symbol(symbol_reader *reader, const function_symbol *symbol,
                              gsym_error *error) {
    uint64_t end = symbol_starts_after(&reader->starts, symbol->address, UINT64_MAX);
    uint64_t size = end - symbol->address;
    if (symbol->name == NULL) {
        dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_SYMBOL, 0,
                   symbol->address);
        return GSYM_OK;
    }
    if (symbol->name_size == 0) return GSYM_OK;
    return creator_keep_symbol(conversion_creator(reader->conversion), symbol->address,
                               size > UINT32_MAX ? 0 : size, symbol->name,
                               symbol->name_size, symbol->binding | SYMBOL_LABEL, error);
}

static gsym_status add_symbol_table(symbol_reader *reader, bool *is_found_ret,
                                    gsym_error *error) {
    cursor entries = reader->entries;
    function_symbol symbol;
    while (next_function(reader, &symbol))
        GSYM_TRY(symbol_starts_add(&reader->starts, symbol.address, error));
    symbol_starts_sort(&reader->starts);
    for (reader->entries = entries; next_function(reader, &symbol); *is_found_ret = true)
        GSYM_TRY(add_coff_symbol(reader, &symbol, error));
    return GSYM_OK;
}

static gsym_status add_exports(symbol_reader *reader, gsym_error *error) {
    function_symbol symbol;
    export_table exports, again;
    if (!open_exports(reader->pe, &exports)) return GSYM_OK;
    for (again = exports; next_export(reader, &again, &symbol);)
        GSYM_TRY(symbol_starts_add(&reader->starts, symbol.address, error));
    symbol_starts_sort(&reader->starts);
    while (next_export(reader, &exports, &symbol))
        GSYM_TRY(add_coff_symbol(reader, &symbol, error));
    return GSYM_OK;
}

static gsym_status add_all(symbol_reader *reader, gsym_error *error) {
    bool is_found = false;
    GSYM_TRY(add_sections(reader, error));
    if (reader->starts.count == 0) return GSYM_OK; /* there is no code */
    GSYM_TRY(add_unwind_table(reader, error));
    GSYM_TRY(add_symbol_table(reader, &is_found, error));
    if (is_found) return GSYM_OK;
    GSYM_TRY(add_stub_ranges(reader, error));
    return add_exports(reader, error);
}

static gsym_status pe_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                                  const gsym_object *image, gsym_error *error) {
    const pe_object *pe = pe_of(object);
    symbol_reader reader = {.conversion = conversion,
                            .pe = pe,
                            .long_names = object_long_names(pe->strings)};
    gsym_status status;
    if (image->header.format == GSYM_OBJECT_PE) reader.image = pe_of(image);
    if (pe->symbol_table != 0)
        reader.entries = pe_bytes(pe, pe->symbol_table,
                                  (uint64_t)pe->symbol_count * pe->symbol_size);
    status = add_all(&reader, error);
    free(reader.starts.items);
    return status;
}

/* ---- the symbols of an object for a conversion --------------------------------------- */

gsym_status gsym_conversion_add_object_text(gsym_conversion *conversion,
                                            const gsym_object *object, gsym_error *error) {
    conversion_files(conversion)->common.isa_bit = object_isa_bit(&object->header);
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section = {0};
        gsym_error ignored;
        uint64_t end;
        /* Where a section has its bytes does not matter here, nor that it has any. */
        (void)object->format->section_at(object, i, &section, &ignored);
        if (!section.holds_code ||
            __builtin_add_overflow(section.address, section.memory_size, &end))
            continue;
        GSYM_TRY(gsym_conversion_add_text_range(conversion, section.address, end, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_object_spans(gsym_conversion *conversion, uint32_t file,
                                             const gsym_object *object,
                                             gsym_error *error) {
    uint64_t bias = object->header.bias;
    for (uint32_t i = 0; bias != 0 && i < object->header.section_count; ++i) {
        gsym_object_section section = {0};
        gsym_error ignored;
        (void)object->format->section_at(object, i, &section, &ignored);
        if (section.holds_code && section.address <= UINT64_MAX - section.memory_size)
            GSYM_TRY(gsym_conversion_add_address_span(conversion, file,
                                                      section.address - bias,
                                                      section.memory_size, section.address,
                                                      error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_add_object_symbols(gsym_conversion *conversion,
                                               const gsym_object *object,
                                               const gsym_object *image,
                                               gsym_error *error) {
    creator_supply_strings(conversion_creator(conversion), object->size);
    creator_await_symbols(conversion_creator(conversion));
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: return elf_add_symbols(conversion, object, error);
        case GSYM_OBJECT_MACHO: return macho_add_symbols(conversion, object, error);
        default: return pe_add_symbols(conversion, object, image, error);
    }
}

/* ---- where there is code ------------------------------------------------------------ */

/* Names may share bytes.
 * Limit: Names of symbols that tell which code at address 0 is live */
LIMIT(LIVE_NAME_BYTES, 1 << 20, 16);

typedef struct live_list {
    gsym_conversion *conversion;
    uint64_t name_bytes_left;
    bool has_table; /* there is a table of all symbols */
} live_list;

static gsym_status add_live(live_list *list, live_code code, gsym_error *error) {
    debug_files *files = conversion_files(list->conversion);
    return LIST_ADD(files->live, code) ? GSYM_OK : gsym_fail_memory(error);
}

/* Set what a name is compared with. It is that of a symbol of C: perhaps with the suffix of
 * a part, or with the underscore that some systems put in front. */
static void hash_name(live_code *code, const char *name, size_t name_size) {
    const char *suffix;
    code->hashes[0] = string_hash(name, name_size);
    suffix = memchr(name + 1, '.', name_size - 1);
    if (suffix != NULL) code->hashes[1] = string_hash(name, (size_t)(suffix - name));
    if (name[0] == '_') code->hashes[2] = string_hash(name + 1, name_size - 1);
}

static gsym_status add_named(live_list *list, uint64_t address, uint64_t size,
                             const char *name, size_t name_size, gsym_error *error) {
    live_code code = {.address = address, .size = size, .has_name = true};
    if (name_size <= list->name_bytes_left) {
        list->name_bytes_left -= name_size;
        hash_name(&code, name, name_size);
    } else {
        dwarf_warn(conversion_warnings(list->conversion), GSYM_WARN_LIMIT, 0, address);
    }
    return add_live(list, code, error);
}

static gsym_status elf_add_live(live_list *list, const elf_object *elf, gsym_error *error) {
    const gsym_object_header *header = &elf->object.header;
    uint64_t entry = (elf->entry + header->bias) & ~object_isa_bit(header);
    symbol_table table;
    elf_symbol symbol;
    GSYM_TRY(add_live(list, (live_code){.address = entry}, error));
    list->has_table = find_table(elf, SHT_SYMTAB, &table);
    while (list->has_table && next_elf_function(elf, &table, &symbol)) {
        const char *name;
        size_t size;
        if (symbol.is_lost || ((symbol.is_label || elf->placements != NULL) &&
                               !stands_in_code(elf, &symbol)))
            continue;
        name = object_symbol_name(table.names, &table.long_names, symbol.name, &size);
        if (name != NULL && size > 0 && !(symbol.is_label && names_no_function(name)))
            GSYM_TRY(add_named(list, symbol.address, symbol.size, name, size, error));
    }
    return GSYM_OK;
}

static gsym_status pe_add_live(live_list *list, const pe_object *pe, gsym_error *error) {
    symbol_reader reader = {.conversion = list->conversion,
                            .pe = pe,
                            .long_names = object_long_names(pe->strings)};
    function_symbol symbol;
    if (pe->symbol_table != 0)
        reader.entries = pe_bytes(pe, pe->symbol_table,
                                  (uint64_t)pe->symbol_count * pe->symbol_size);
    list->has_table = cursor_left(&reader.entries) > 0;
    while (next_function(&reader, &symbol))
        if (symbol.name != NULL && symbol.name_size > 0)
            GSYM_TRY(add_named(list, symbol.address, 0, symbol.name, symbol.name_size,
                               error));
    return GSYM_OK;
}

gsym_status gsym_conversion_add_live_code(gsym_conversion *conversion,
                                          const gsym_object *object, gsym_error *error) {
    debug_files *files = conversion_files(conversion);
    bool is_wanted = files->is_scanned && files->skeletons.count > 0 &&
                     !files->common.knows_live;
    live_list list = {.conversion = conversion,
                      .name_bytes_left = LIMIT_OF(LIVE_NAME_BYTES, object->size)};
    for (size_t i = 0; i < files->text.count && !files->is_scanned; ++i)
        is_wanted |= files->text.items[i].start == 0;
    if (!is_wanted) return GSYM_OK;
    switch (object->header.format) {
        case GSYM_OBJECT_ELF: GSYM_TRY(elf_add_live(&list, elf_of(object), error)); break;
        case GSYM_OBJECT_PE: GSYM_TRY(pe_add_live(&list, pe_of(object), error)); break;
        default: return GSYM_OK;
    }
    if (files->is_scanned)
        debug_files_take_live(files);
    else
        files->common.knows_live = list.has_table;
    return GSYM_OK;
}
