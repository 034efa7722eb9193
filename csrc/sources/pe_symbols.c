/* pe_symbols.c - add the functions of a COFF symbol table, or else the exports of an image.
 *
 * Neither has sizes: a function ends at the next known start of a function, at the latest
 * at the end of its section. Such a size may be wrong, so a symbol is dropped for every
 * function from another source that covers its address. */
#include "containers/function_starts.h"
#include "containers/pe.h"
#include "sources/conversion.h"
#include "sources/stubs.h"
#include "sources/symbols.h"

#define CLASS_EXTERNAL 2
#define CLASS_STATIC 3
#define CLASS_WEAK 105
#define CLASS_GNU_WEAK 127

typedef struct symbol_reader {
    const pe_object *pe;
    const pe_object *image; /* the image that has the unwind table; NULL: none */
    gsym_conversion *conversion;
    cursor entries;
    uint64_t long_names; /* see object_long_names() */
    symbol_starts starts; /* starts of functions and ends of sections */
} symbol_reader;

/* Return the character in front of names of C: `_main` for i386, `#main` for code of
 * ARM64EC; 0 for none. */
static char mark_of_c(uint32_t machine) {
    switch (machine) {
        case IMAGE_FILE_MACHINE_I386: return '_';
        case IMAGE_FILE_MACHINE_ARM64EC: return '#';
        default: return '\0';
    }
}

static void read_name(symbol_reader *reader, const pe_symbol *symbol,
                      pe_function *ret) {
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
    if (ret->name != NULL && ret->name_size > 1 &&
        ret->name[0] == mark_of_c(pe->object.header.machine))
        ++ret->name, --ret->name_size;
}

static bool is_typed(const pe_symbol *symbol) { return (symbol->type >> 4 & 3) == 2; }

/* Whether a symbol may be a function. A static symbol with an auxiliary part names a
 * section. */
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

/* Find the next symbol that may name a function; false at the end. */
static bool next_function(symbol_reader *reader, pe_function *ret) {
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
        ret->address = pe_code_address(pe, section.address + symbol.value);
        ret->binding = symbol.class == CLASS_EXTERNAL ? SYMBOL_GLOBAL
                       : symbol.class == CLASS_STATIC ? SYMBOL_LOCAL
                                                      : SYMBOL_WEAK;
        if (!is_typed(&symbol)) ret->binding |= SYMBOL_UNTYPED;
        read_name(reader, &symbol, ret);
        if (ret->name == NULL || (ret->name_size > 0 && ret->name[0] != '.')) return true;
    }
    return false;
}

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

/* Add the starts and ends of functions in the unwind table of a 64-bit image. */
static gsym_status add_unwind_table(symbol_reader *reader, gsym_error *error) {
    function_starts starts;
    uint64_t start, end;
    if (reader->image == NULL) return GSYM_OK;
    starts = function_starts_open(&reader->image->object);
    while (function_starts_next(&starts, &start, &end))
        GSYM_TRY(add_range(reader, start, end, error));
    return GSYM_OK;
}

/* Add the ranges of stubs: an export ends where a stub starts. */
static gsym_status add_stub_ranges(symbol_reader *reader, gsym_error *error) {
    pe_stubs stubs = {.pe = reader->pe};
    gsym_status status = pe_find_stubs(&stubs, error);
    for (size_t i = 0; i < stubs.found.count && status == GSYM_OK; ++i)
        status = add_range(reader, stubs.found.items[i].code.start,
                           stubs.found.items[i].code.end, error);
    pe_stubs_close(&stubs);
    return status;
}

static gsym_status add_coff_symbol(symbol_reader *reader, const pe_function *symbol,
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
                               size, symbol->name, symbol->name_size,
                               symbol->binding | SYMBOL_LABEL, error);
}

static gsym_status add_symbol_table(symbol_reader *reader, bool *is_found_ret,
                                    gsym_error *error) {
    cursor entries = reader->entries;
    pe_function symbol;
    while (next_function(reader, &symbol))
        GSYM_TRY(symbol_starts_add(&reader->starts, symbol.address, error));
    symbol_starts_sort(&reader->starts);
    for (reader->entries = entries; next_function(reader, &symbol); *is_found_ret = true)
        GSYM_TRY(add_coff_symbol(reader, &symbol, error));
    return GSYM_OK;
}

static gsym_status add_exports(symbol_reader *reader, gsym_error *error) {
    pe_function symbol;
    const dwarf_input *input = conversion_input(reader->conversion);
    pe_exports exports, again;
    if (!pe_exports_open(reader->pe, &exports)) return GSYM_OK;
    for (again = exports; pe_exports_next(&again, input, &reader->long_names, &symbol);)
        GSYM_TRY(symbol_starts_add(&reader->starts, symbol.address, error));
    symbol_starts_sort(&reader->starts);
    while (pe_exports_next(&exports, input, &reader->long_names, &symbol))
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

gsym_status pe_add_symbols(gsym_conversion *conversion, const gsym_object *object,
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

gsym_status pe_add_live(live_list *list, const pe_object *pe, gsym_error *error) {
    symbol_reader reader = {.conversion = list->conversion,
                            .pe = pe,
                            .long_names = object_long_names(pe->strings)};
    pe_function symbol;
    if (pe->symbol_table != 0)
        reader.entries = pe_bytes(pe, pe->symbol_table,
                                  (uint64_t)pe->symbol_count * pe->symbol_size);
    list->has_table = cursor_left(&reader.entries) > 0;
    while (next_function(&reader, &symbol))
        if (symbol.name != NULL && symbol.name_size > 0)
            GSYM_TRY(live_list_add_named(list, symbol.address, 0, symbol.name,
                                         symbol.name_size, error));
    return GSYM_OK;
}
