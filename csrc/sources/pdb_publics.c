/* pdb_publics.c - public symbols: names of code for which modules have no function. */
#include "sources/conversion.h"
#include "sources/pdb_functions.h"
#include "sources/symbols.h"

enum { WINDOW_SIZE = 1 << 20, MAX_RECORD = UINT16_MAX + 2 };

typedef struct public_reader {
    gsym_conversion *conversion;
    const gsym_pdb *pdb;
    uint64_t base;
    bool adds; /* else starts are noted */
    symbol_starts starts; /* and the ends of sections */
    buffer copy;
    bool is_copied; /* the records being read */
} public_reader;

static gsym_status add_symbol(public_reader *reader, uint64_t address, const char *name,
                              size_t name_size, gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    uint64_t end = symbol_starts_after(&reader->starts, address, UINT64_MAX);
    uint64_t size = end - address;
    const uint8_t *stored = (const uint8_t *)name;
    if (reader->is_copied)
        GSYM_TRY(creator_store(creator, stored, name_size, &stored, error));
    return creator_keep_symbol(creator, address, size > UINT32_MAX ? 0 : size,
                               (const char *)stored, name_size,
                               SYMBOL_GLOBAL | SYMBOL_LABEL, error);
}

static gsym_status read_public(public_reader *reader, cursor c, gsym_error *error) {
    uint32_t offset, segment, address;
    size_t size;
    const char *name;
    cursor_skip(&c, 4); /* flags, which compilers do not agree on */
    offset = cursor_u32(&c);
    segment = cursor_u16(&c);
    name = pdb_symbol_name(&c, &size);
    if (c.failed || size == 0 || size > NAME_SIZE_LIMIT ||
        !pdb_address(reader->pdb, segment, offset, &address))
        return GSYM_OK; /* data, too */
    if (!reader->adds)
        return symbol_starts_add(&reader->starts, reader->base + address, error);
    return add_symbol(reader, reader->base + address, name, size, error);
}

/* Read the records that are complete in a window; *size_ret is their size, 0 where the first
 * one is not. */
static gsym_status read_window(public_reader *reader, uint64_t offset, uint64_t size,
                               uint64_t *size_ret, gsym_error *error) {
    const gsym_pdb *pdb = reader->pdb;
    cursor c = msf_read(&pdb->file, pdb->symbol_stream, offset, size, &reader->copy);
    pdb_symbol symbol;
    cursor start = c;
    if (reader->copy.failed) return gsym_fail_memory(error);
    reader->is_copied = c.start == reader->copy.bytes;
    while (pdb_next_symbol(&c, &symbol)) {
        start = c;
        if (symbol.kind == S_PUB32) GSYM_TRY(read_public(reader, symbol.c, error));
    }
    *size_ret = cursor_offset(&start);
    return GSYM_OK;
}

static gsym_status read_publics(public_reader *reader, gsym_error *error) {
    uint64_t end = msf_stream_size(&reader->pdb->file, reader->pdb->symbol_stream);
    uint64_t offset = 0, size = 0;
    while (offset < end) {
        uint64_t window = end - offset < WINDOW_SIZE ? end - offset : WINDOW_SIZE;
        GSYM_TRY(read_window(reader, offset, window, &size, error));
        if (size == 0) {
            dwarf_warn(conversion_warnings(reader->conversion), GSYM_WARN_PDB_SYMBOL,
                       msf_file_offset(&reader->pdb->file, reader->pdb->symbol_stream,
                                       offset),
                       0);
            return GSYM_OK;
        }
        offset += size;
    }
    msf_give_back(&reader->pdb->file, reader->pdb->symbol_stream);
    return GSYM_OK;
}

static gsym_status add_publics(public_reader *reader, gsym_error *error) {
    for (size_t i = 0; i < reader->pdb->sections.count; ++i) {
        const pdb_section *section = &reader->pdb->sections.items[i];
        uint64_t start = reader->base + section->address;
        if (!section->holds_code || reader->pdb->omap.count > 0) continue;
        GSYM_TRY(symbol_starts_add(&reader->starts, start + section->size, error));
    }
    GSYM_TRY(read_publics(reader, error));
    symbol_starts_sort(&reader->starts);
    reader->adds = true;
    return read_publics(reader, error);
}

gsym_status gsym_conversion_add_pdb_publics(gsym_conversion *conversion,
                                            gsym_error *error) {
    public_reader reader = {.conversion = conversion};
    gsym_status status;
    reader.pdb = conversion_pdb(conversion, &reader.base);
    if (reader.pdb == NULL)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the conversion has no PDB");
    creator_await_symbols(conversion_creator(conversion));
    status = add_publics(&reader, error);
    free(reader.starts.items);
    buffer_deinit(&reader.copy);
    return status;
}
