/* pdb_publics.c - public symbols: names of code for which modules have no function.
 *
 * An incremental link goes through jumps, trampolines, which have no names: each gets that
 * of the public symbol that it leads to. */
#include "sources/conversion.h"
#include "sources/pdb_functions.h"
#include "sources/symbols.h"

enum { WINDOW_SIZE = 1 << 20, SIGNATURE_SIZE = 4 /* before the symbols of a module */ };

typedef struct public_reader {
    gsym_conversion *conversion;
    const gsym_pdb *pdb;
    uint64_t base;
    bool adds; /* else starts are noted */
    symbol_starts starts; /* and the ends of sections */
    number_map trampolines; /* where one leads -> its address << 16 | its size */
    buffer copy;
    bool is_copied; /* the records being read */
} public_reader;

/* Its size, if it is not known, is up to the next start. */
static gsym_status add_symbol(public_reader *reader, uint64_t address, uint64_t size,
                              const char *name, size_t name_size, gsym_error *error) {
    gsym_creator *creator = conversion_creator(reader->conversion);
    const uint8_t *stored = (const uint8_t *)name;
    if (size == 0)
        size = symbol_starts_after(&reader->starts, address, UINT64_MAX) - address;
    if (reader->is_copied)
        GSYM_TRY(creator_store(creator, stored, name_size, &stored, error));
    return creator_keep_symbol(creator, address, size > UINT32_MAX ? 0 : size,
                               (const char *)stored, name_size,
                               SYMBOL_GLOBAL | SYMBOL_LABEL, error);
}

static gsym_status read_public(public_reader *reader, cursor c, gsym_error *error) {
    uint32_t offset, segment, address;
    uint64_t trampoline;
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
    if (number_map_find(&reader->trampolines, address, &trampoline))
        GSYM_TRY(add_symbol(reader, reader->base + (trampoline >> 16),
                            trampoline & UINT16_MAX, name, size, error));
    return add_symbol(reader, reader->base + address, 0, name, size, error);
}

/* Note where trampolines are. */
static gsym_status read_trampoline(public_reader *reader, cursor c, gsym_error *error) {
    uint32_t size, offset, target_offset, segment, target_segment, address, target;
    cursor_skip(&c, 2); /* kind */
    size = cursor_u16(&c);
    offset = cursor_u32(&c);
    target_offset = cursor_u32(&c);
    segment = cursor_u16(&c);
    target_segment = cursor_u16(&c);
    if (c.failed || !pdb_address(reader->pdb, segment, offset, &address) ||
        !pdb_address(reader->pdb, target_segment, target_offset, &target))
        return GSYM_OK;
    if (!number_map_set(&reader->trampolines, target, (uint64_t)address << 16 | size))
        return gsym_fail_memory(error);
    return symbol_starts_add(&reader->starts, reader->base + address, error);
}

static gsym_status read_trampolines(public_reader *reader, gsym_error *error) {
    const pdb_module *linker = &reader->pdb->linker;
    cursor c = msf_read(&reader->pdb->file, linker->stream, 0, linker->symbol_size,
                        &reader->copy);
    pdb_symbol symbol;
    if (reader->copy.failed) return gsym_fail_memory(error);
    cursor_skip(&c, SIGNATURE_SIZE);
    while (pdb_next_symbol(&c, &symbol))
        if (symbol.kind == S_TRAMPOLINE)
            GSYM_TRY(read_trampoline(reader, symbol.c, error));
    return GSYM_OK;
}

/* Read the records that are complete in a window; *size_ret is their size, 0 where the
 * first one is not. */
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
    GSYM_TRY(read_trampolines(reader, error));
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
    number_map_deinit(&reader.trampolines);
    buffer_deinit(&reader.copy);
    return status;
}
