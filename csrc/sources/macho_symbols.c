/* macho_symbols.c - functions of a Mach-O symbol table.
 *
 * The table gives no sizes: a function ends where the next symbol or function start
 * does, at the latest with its section. Such a size may include padding, so symbols
 * yield to every function that is described otherwise. */
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
    symbol->name = cursor_u32_covered(c);
    symbol->type = cursor_u8_covered(c);
    symbol->section = cursor_u8_covered(c);
    description = cursor_u16_covered(c);
    symbol->binding = (symbol->type & N_EXT) == 0        ? SYMBOL_LOCAL
                      : (description & N_WEAK_DEF) != 0 ? SYMBOL_WEAK
                                                              : SYMBOL_GLOBAL;
    symbol->address = code_address(macho, macho->object.header.is_64
                                              ? cursor_u64_covered(c)
                                              : cursor_u32_covered(c));
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
    cursor deltas = macho_table_bytes(macho, macho->function_starts, 1);
    cursor entries = symbols->entries;
    uint64_t address = macho->object.header.base_address;
    macho_symbol symbol;
    while (macho_next_function(symbols, &symbol))
        GSYM_TRY(symbol_starts_add(&symbols->starts, symbol.address, error));
    symbols->entries = entries;
    while (cursor_left(&deltas) > 0) {
        uint64_t delta = cursor_uleb(&deltas);
        if (delta == 0) break; /* what follows is padding */
        address += delta;
        GSYM_TRY(symbol_starts_add(&symbols->starts, code_address(macho, address), error));
    }
    symbol_starts_sort(&symbols->starts);
    return GSYM_OK;
}

uint64_t macho_function_size(const macho_symbols *symbols, const macho_symbol *symbol) {
    uint64_t end = symbols->code[symbol->section].end;
    return symbol_starts_after(&symbols->starts, symbol->address, end) - symbol->address;
}

/* ---- adding ----------------------------------------------------------------------- */

/* Labels that assemblers make at the start of sections: ltmp0, ltmp1. */
static bool is_temporary(const char *name) {
    return strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static gsym_status add_symbol(gsym_conversion *conversion, const macho_symbols *symbols,
                              const macho_symbol *symbol, gsym_error *error) {
    uint64_t size = macho_function_size(symbols, symbol);
    size_t name_size;
    const char *name = object_symbol_name(symbols->names, symbol->name, &name_size);
    if (name == NULL) {
        dwarf_warn(conversion_warnings(conversion), GSYM_WARN_SYMBOL, symbol->name,
                   symbol->address);
        return GSYM_OK;
    }
    if (is_temporary(name)) return GSYM_OK;
    if (name[0] == '_') ++name, --name_size;
    if (name_size == 0) return GSYM_OK;
    return creator_keep_symbol(conversion_creator(conversion), symbol->address,
                               size > UINT32_MAX ? 0 : size, name, name_size,
                               symbol->binding | SYMBOL_LABEL, error);
}

/* Functions of a Mach-O file that do nothing but call one of another
 * image. All stubs of a section have one size; the indirect symbols say, in the same
 * order, whom they call. */

#define INDIRECT_SYMBOL_LOCAL 0x80000000u
#define INDIRECT_SYMBOL_ABS 0x40000000u

static const char PREFIX[] = "symbol stub for: "; /* as in debuggers and LLVM */

typedef struct stub_reader {
    const macho_object *macho;
    gsym_conversion *conversion;
    cursor entries; /* indirect symbols */
    cursor symbols;
    cursor names;
    buffer name; /* of the present stub */
    uint64_t stubs_left; /* one for each indirect symbol, which sections may share */
    uint64_t name_bytes_left;
} stub_reader;

/* The symbol name of the next entry of the indirect symbols; NULL: none. */
static const char *next_target(stub_reader *reader, size_t *size_ret) {
    uint32_t entry_size = macho_symbol_size(reader->macho);
    uint32_t index = cursor_u32(&reader->entries);
    cursor symbol = reader->symbols;
    uint32_t offset;
    if (index & (INDIRECT_SYMBOL_LOCAL | INDIRECT_SYMBOL_ABS)) return NULL;
    cursor_skip(&symbol, (uint64_t)index * entry_size);
    offset = cursor_u32(&symbol);
    if (offset == 0) return NULL;
    return object_symbol_name(reader->names, offset, size_ret);
}

static gsym_status add_stub(stub_reader *reader, uint64_t address, uint32_t size,
                            const char *target, size_t target_size, gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    buffer *name = &reader->name;
    const uint8_t *stored;
    if (target[0] == '_') ++target, --target_size;
    name->size = 0;
    buffer_put(name, PREFIX, sizeof PREFIX - 1);
    buffer_put(name, target, target_size);
    if (name->failed) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(creator, name->bytes, name->size, &stored, error));
    return creator_keep_symbol(creator, address, size, (const char *)stored, name->size,
                               SYMBOL_LOCAL | SYMBOL_LABEL, error);
}

static gsym_status add_section(stub_reader *reader, const macho_section *section,
                               gsym_error *error) {
    uint64_t count = section->stub_size == 0 ? 0 : section->size / section->stub_size;
    reader->entries = macho_table_bytes(reader->macho, reader->macho->indirect_symbols, 4);
    cursor_skip(&reader->entries, (uint64_t)section->indirect_first * 4);
    for (uint64_t i = 0; i < count && cursor_left(&reader->entries) >= 4; ++i) {
        uint64_t address;
        size_t size;
        const char *target = next_target(reader, &size);
        if (reader->stubs_left == 0 ||
            (target != NULL && size > reader->name_bytes_left)) {
            dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_LIMIT, 0,
                       section->address);
            return GSYM_OK;
        }
        --reader->stubs_left;
        if (target == NULL ||
            __builtin_add_overflow(section->address, i * section->stub_size, &address))
            continue;
        reader->name_bytes_left -= size;
        GSYM_TRY(add_stub(reader, address, section->stub_size, target, size, error));
    }
    return GSYM_OK;
}

/* Name the stubs by which a binary calls functions of others. */
static gsym_status macho_add_stubs(gsym_conversion *conversion, const macho_object *macho,
                                   gsym_error *error) {
    stub_reader reader = {
        .macho = macho,
        .conversion = conversion,
        .entries = macho_table_bytes(macho, macho->indirect_symbols, 4),
        .symbols = macho_table_bytes(macho, macho->symbols, macho_symbol_size(macho)),
        .names = macho_table_bytes(macho, macho->strings, 1),
    };
    gsym_status status = GSYM_OK;
    reader.stubs_left = cursor_left(&reader.entries) / 4;
    reader.name_bytes_left = LIMIT_OF(STUB_NAMES, cursor_left(&reader.names));
    for (uint32_t i = 0; i < macho->object.header.section_count && status == GSYM_OK; ++i) {
        macho_section section = macho_section_at(macho, i);
        if ((section.flags & SECTION_TYPE) == S_SYMBOL_STUBS)
            status = add_section(&reader, &section, error);
    }
    buffer_deinit(&reader.name);
    return status;
}

gsym_status macho_add_symbols(gsym_conversion *conversion, const gsym_object *object,
                              gsym_error *error) {
    macho_symbols symbols = macho_symbols_open(macho_of(object));
    gsym_status status = macho_list_starts(&symbols, error);
    macho_symbol symbol;
    while (status == GSYM_OK && macho_next_function(&symbols, &symbol))
        status = add_symbol(conversion, &symbols, &symbol, error);
    macho_symbols_close(&symbols);
    return status == GSYM_OK ? macho_add_stubs(conversion, macho_of(object), error)
                             : status;
}
