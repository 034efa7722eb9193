/* macho_symbols.c - read functions of a Mach-O symbol table.
 *
 * The table has no sizes: a function ends at the next symbol or function start, at the
 * latest at the end of its section. Such a size may include padding, so a symbol is dropped
 * for every function from another source that covers its address. */
#include "containers/function_starts.h"
#include "containers/macho.h"
#include "sources/conversion.h"
#include "sources/symbols.h"

#define N_TYPE 0x0e
#define N_SECT 0x0e
#define N_EXT 0x01
#define N_WEAK_DEF 0x80

macho_symbols macho_symbols_open(const macho_object *macho) {
    macho_symbols symbols = {
        .macho = macho,
        .entries = macho_table_bytes(macho, macho->symbols, macho_symbol_size(macho)),
        .names = macho_table_bytes(macho, macho->strings, 1),
    };
    symbols.long_names = object_long_names(symbols.names);
    for (uint32_t i = 1; i < MACHO_SECTION_NUMBERS; ++i) {
        macho_section section;
        gsym_range *range = &symbols.code[i];
        if (i > macho->object.header.section_count) break;
        section = macho_section_at(macho, i - 1);
        if (!macho_section_holds_code(&section) ||
            __builtin_add_overflow(section.address, section.size, &range->end))
            continue;
        range->start = section.address;
    }
    return symbols;
}

void macho_symbols_close(macho_symbols *symbols) { free(symbols->starts.items); }

static uint64_t code_address(const macho_object *macho, uint64_t address) {
    return address & ~object_isa_bit(&macho->object.header);
}

bool macho_next_symbol(macho_symbols *symbols, macho_symbol *symbol) {
    const macho_object *macho = symbols->macho;
    cursor *c = &symbols->entries;
    uint16_t description;
    if (cursor_left(c) < macho_symbol_size(macho)) return false;
    symbol->name = cursor_u32_unchecked(c);
    symbol->type = cursor_u8_unchecked(c);
    symbol->section = cursor_u8_unchecked(c);
    description = cursor_u16_unchecked(c);
    symbol->binding = (symbol->type & N_EXT) == 0        ? SYMBOL_LOCAL
                      : (description & N_WEAK_DEF) != 0 ? SYMBOL_WEAK
                                                              : SYMBOL_GLOBAL;
    symbol->address =
        macho->object.header.is_64 ? cursor_u64_unchecked(c) : cursor_u32_unchecked(c);
    symbol->address = code_address(macho, symbol->address + macho->object.header.bias);
    return true;
}

bool macho_next_function(macho_symbols *symbols, macho_symbol *symbol) {
    while (macho_next_symbol(symbols, symbol)) {
        const gsym_range *code = &symbols->code[symbol->section];
        if (symbol->name != 0 && !(symbol->type & MACHO_SYMBOL_STAB) &&
            (symbol->type & N_TYPE) == N_SECT &&
            symbol->address >= code->start && symbol->address < code->end)
            return true;
    }
    return false;
}

/* ---- sizes ------------------------------------------------------------------------ */

gsym_status macho_list_starts(macho_symbols *symbols, gsym_error *error) {
    const macho_object *macho = symbols->macho;
    function_starts starts = function_starts_open(&macho->object);
    cursor entries = symbols->entries;
    uint64_t start, end;
    macho_symbol symbol;
    while (macho_next_function(symbols, &symbol))
        GSYM_TRY(symbol_starts_add(&symbols->starts, symbol.address, error));
    symbols->entries = entries;
    while (function_starts_next(&starts, &start, &end))
        GSYM_TRY(symbol_starts_add(&symbols->starts, start, error));
    symbol_starts_sort(&symbols->starts);
    return GSYM_OK;
}

uint64_t macho_function_size(const macho_symbols *symbols, const macho_symbol *symbol) {
    uint64_t end = symbols->code[symbol->section].end;
    return symbol_starts_after(&symbols->starts, symbol->address, end) - symbol->address;
}

/* ---- adding ----------------------------------------------------------------------- */

/* Whether a name is that of a label that assemblers make at the start of sections: ltmp0,
 * ltmp1. */
static bool is_temporary(const char *name) {
    return strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static gsym_status add_symbol(gsym_conversion *conversion, macho_symbols *symbols,
                              const macho_symbol *symbol, gsym_error *error) {
    uint64_t size = macho_function_size(symbols, symbol);
    size_t name_size;
    const char *name = object_symbol_name(symbols->names, &symbols->long_names,
                                          symbol->name, &name_size);
    if (name == NULL) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    if (is_temporary(name)) return GSYM_OK;
    if (name[0] == '_') ++name, --name_size;
    if (name_size == 0) return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address, size, name,
                               name_size, symbol->binding | SYMBOL_LABEL, error);
}

gsym_status macho_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                              gsym_error *error) {
    macho_symbols symbols = macho_symbols_open(macho_of(object));
    gsym_status status = macho_list_starts(&symbols, error);
    macho_symbol symbol;
    while (status == GSYM_OK && macho_next_function(&symbols, &symbol))
        status = add_symbol(conversion, &symbols, &symbol, error);
    macho_symbols_close(&symbols);
    return status;
}
