/* macho_symbols.c - functions of a Mach-O symbol table.
 *
 * The table gives no sizes: a function ends where the next symbol or function start
 * does, at the latest with its section. A size found so may hold padding, so symbols
 * yield to every function that is described otherwise. */
#include "conversion.h"
#include "macho.h"

#define SYMBOL_STAB 0xe0 /* any of these bits: for debuggers */
#define SYMBOL_TYPE 0x0e
#define SYMBOL_IN_SECTION 0x0e

enum { SECTION_NUMBERS = 256 }; /* a symbol has 8 bits for its section; 0: none */

typedef struct macho_symbol {
    uint32_t name;
    uint8_t type;
    uint8_t section;
    uint64_t address;
} macho_symbol;

typedef struct symbol_reader {
    const macho_object *macho;
    cursor entries;
    cursor names;
    gsym_range code[SECTION_NUMBERS]; /* empty where a section holds none */
    /* Where functions start, ascending. */
    struct { uint64_t *items; size_t count, capacity; } starts;
} symbol_reader;

static symbol_reader open_symbols(const macho_object *macho) {
    symbol_reader reader = {
        .macho = macho,
        .entries = macho_table_bytes(macho, macho->symbols, macho_symbol_size(macho)),
        .names = macho_table_bytes(macho, macho->strings, 1),
    };
    for (uint32_t i = 1; i < SECTION_NUMBERS; ++i) {
        macho_section section;
        gsym_range *range = &reader.code[i];
        if (i > macho->object.header.section_count) break;
        section = macho_section_at(macho, i - 1);
        if (!macho_section_holds_code(&section) ||
            __builtin_add_overflow(section.address, section.size, &range->end))
            continue;
        range->start = section.address;
    }
    return reader;
}

/* The bit that says Thumb is no part of an address. */
static uint64_t code_address(const macho_object *macho, uint64_t address) {
    return macho->object.header.machine == MACHO_CPU_ARM ? address & ~UINT64_C(1) : address;
}

static bool next_symbol(symbol_reader *reader, macho_symbol *symbol) {
    const macho_object *macho = reader->macho;
    cursor *c = &reader->entries;
    if (cursor_left(c) < macho_symbol_size(macho)) return false;
    symbol->name = cursor_u32_covered(c);
    symbol->type = cursor_u8_covered(c);
    symbol->section = cursor_u8_covered(c);
    (void)cursor_u16_covered(c); /* n_desc */
    symbol->address = code_address(macho, macho->object.header.is_64
                                              ? cursor_u64_covered(c)
                                              : cursor_u32_covered(c));
    return true;
}

/* The next symbol that may name a function. */
static bool next_function(symbol_reader *reader, macho_symbol *symbol) {
    while (next_symbol(reader, symbol)) {
        const gsym_range *code = &reader->code[symbol->section];
        if (symbol->name != 0 && !(symbol->type & SYMBOL_STAB) &&
            (symbol->type & SYMBOL_TYPE) == SYMBOL_IN_SECTION &&
            symbol->address >= code->start && symbol->address < code->end)
            return true;
    }
    return false;
}

/* ---- sizes ------------------------------------------------------------------------ */

static gsym_status add_start(symbol_reader *reader, uint64_t address, gsym_error *error) {
    if (!ARRAY_RESERVE(reader->starts, 1)) return gsym_fail_memory(error);
    reader->starts.items[reader->starts.count++] = address;
    return GSYM_OK;
}

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static gsym_status list_starts(symbol_reader *reader, gsym_error *error) {
    const macho_object *macho = reader->macho;
    cursor deltas = macho_table_bytes(macho, macho->function_starts, 1);
    cursor symbols = reader->entries;
    uint64_t address = macho->object.header.base_address;
    macho_symbol symbol;
    while (next_function(reader, &symbol))
        GSYM_TRY(add_start(reader, symbol.address, error));
    reader->entries = symbols;
    while (cursor_left(&deltas) > 0) {
        uint64_t delta = cursor_uleb(&deltas);
        if (delta == 0) break; /* what follows is padding */
        address += delta;
        GSYM_TRY(add_start(reader, code_address(macho, address), error));
    }
    if (reader->starts.count > 1)
        qsort(reader->starts.items, reader->starts.count, sizeof *reader->starts.items,
              compare_addresses);
    return GSYM_OK;
}

/* Bytes from `address` to the next start, or to the end of its section. */
static uint64_t size_at(const symbol_reader *reader, const macho_symbol *symbol) {
    const uint64_t *starts = reader->starts.items;
    uint64_t end = reader->code[symbol->section].end;
    size_t low = 0, high = reader->starts.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= symbol->address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < reader->starts.count && starts[low] < end) end = starts[low];
    return end - symbol->address;
}

/* ---- adding ----------------------------------------------------------------------- */

/* Labels that assemblers make at the start of sections: ltmp0, ltmp1. */
static bool is_temporary(const char *name) {
    return strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static gsym_status add_symbol(gsym_conversion *conversion, const symbol_reader *reader,
                              const macho_symbol *symbol, gsym_error *error) {
    uint64_t size = size_at(reader, symbol);
    size_t name_size;
    const char *name = object_symbol_name(reader->names, symbol->name, &name_size);
    if (name == NULL) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    if (is_temporary(name)) return GSYM_OK;
    if (name[0] == '_') ++name, --name_size;
    if (name_size == 0) return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address,
                               size > UINT32_MAX ? 0 : size, name, name_size, true, error);
}

gsym_status macho_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                              gsym_error *error) {
    symbol_reader reader = open_symbols(macho_of(object));
    gsym_status status = list_starts(&reader, error);
    macho_symbol symbol;
    while (status == GSYM_OK && next_function(&reader, &symbol))
        status = add_symbol(conversion, &reader, &symbol, error);
    free(reader.starts.items);
    return status == GSYM_OK ? macho_add_stubs(conversion, macho_of(object), error) : status;
}
