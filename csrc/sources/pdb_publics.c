/* pdb_publics.c - add public symbols, which name code for which modules have no function.
 *
 * A symbol extends to the next start of a symbol, or to the end of its section. If an
 * optimizer moved code after linking, this holds for the source, which is the image before
 * the move; in the image, the code between two starts may be in several ranges or in none.
 * After an incremental link, calls go to jumps, the trampolines, which have no names; each
 * gets the name of the public symbol to which it jumps. */
#include "sources/conversion.h"
#include "sources/pdb_functions.h"
#include "sources/symbols.h"

enum {
    WINDOW_SIZE = 1 << 20,
    SIGNATURE_SIZE = 4, /* bytes before the symbols of a module */
    IS_MSIL = 8         /* bit of the flags of a public symbol */
};

/* Limit: Public symbols of a PDB, by the entries of its OMAP */
LIMIT(PUBLIC_STEPS, 1 << 16, 16);

typedef struct public_reader {
    gsym_conversion *conversion;
    const gsym_pdb *pdb;
    uint64_t base;
    bool adds; /* this is the second pass, which adds symbols; the first one lists their
                  starts */
    symbol_starts starts; /* starts of symbols and ends of sections */
    /* These are relative to the source. */
    number_map trampolines; /* target of a trampoline -> its address << 16 | its size */
    number_map functions;   /* addresses of functions of modules, if code was moved */
    buffer copy;
    bool is_copied; /* the records being read are in `copy` */
    pdb_moved_list moved;
    uint64_t steps, max_steps;
} public_reader;

static gsym_status keep_symbol(public_reader *reader, uint64_t address, uint64_t size,
                               const char *name, size_t name_size, gsym_error *error) {
    return creator_keep_symbol(conversion_creator(reader->conversion), address, size, name,
                               name_size, SYMBOL_GLOBAL | SYMBOL_LABEL, error);
}

/* Find the ranges to which the bytes of a symbol were moved. */
static gsym_status find_moved(public_reader *reader, uint32_t address, uint64_t size,
                              gsym_error *error) {
    uint64_t end = size > UINT32_MAX - address ? UINT32_MAX : address + size;
    warning_list *warnings = conversion_warnings(reader->conversion);
    uint64_t at = msf_file_offset(&reader->pdb->file, reader->pdb->symbol_stream, 0);
    reader->moved.count = 0;
    if (reader->steps > reader->max_steps)
        dwarf_warn(warnings, GSYM_WARN_LIMIT, at, reader->base + address);
    else if (!pdb_find_moved(reader->pdb, address, (uint32_t)end, &reader->moved,
                             &reader->steps))
        return gsym_fail_memory(error);
    else if (reader->moved.count == 0)
        dwarf_warn(warnings, GSYM_WARN_PDB_REMOVED, at, reader->base + address);
    return GSYM_OK;
}

/* Add a symbol. One of size 0 extends to the next start. */
static gsym_status add_symbol(public_reader *reader, uint32_t address, uint64_t size,
                              const char *name, size_t name_size, gsym_error *error) {
    uint64_t start = reader->base + address, ignored;
    uint32_t part_size;
    size_t count;
    if (size == 0)
        size = symbol_starts_after(&reader->starts, start, UINT64_MAX) - start;
    if (number_map_find(&reader->functions, address, &ignored)) return GSYM_OK;
    if (reader->is_copied) {
        const uint8_t *stored = (const uint8_t *)name;
        GSYM_TRY(creator_store(conversion_creator(reader->conversion), stored, name_size,
                               &stored, error));
        name = (const char *)stored;
    }
    if (!reader->pdb->has_omap)
        return keep_symbol(reader, start, size, name, name_size, error);
    GSYM_TRY(find_moved(reader, address, size, error));
    for (size_t first = 0; first < reader->moved.count; first += count) {
        count = pdb_moved_run(&reader->moved, first, &part_size);
        GSYM_TRY(keep_symbol(reader, reader->base + reader->moved.items[first].to,
                             part_size, name, name_size, error));
    }
    return GSYM_OK;
}

static gsym_status read_public(public_reader *reader, const pdb_symbol *symbol,
                               gsym_error *error) {
    cursor c = symbol->c;
    uint32_t flags = cursor_u32(&c), offset = cursor_u32(&c), segment = cursor_u16(&c);
    uint32_t address;
    uint64_t trampoline;
    size_t size;
    const char *name;
    pdb_skip_to_name(symbol, &c);
    name = pdb_symbol_name(&c, &size);
    if (flags & IS_MSIL) return GSYM_OK; /* code for .NET; other flags are unreliable */
    if (c.failed || size == 0 || size > NAME_SIZE ||
        !pdb_address(reader->pdb, segment, offset, &address))
        return GSYM_OK; /* without the flag for code, it may be data */
    if (!reader->adds)
        return symbol_starts_add(&reader->starts, reader->base + address, error);
    if (number_map_find(&reader->trampolines, address, &trampoline))
        GSYM_TRY(add_symbol(reader, (uint32_t)(trampoline >> 16), trampoline & UINT16_MAX,
                            name, size, error));
    return add_symbol(reader, address, 0, name, size, error);
}

/* Add a trampoline to the map. */
static gsym_status read_trampoline(public_reader *reader, cursor c, gsym_error *error) {
    uint32_t size, offset, target_offset, segment, target_segment, address, target;
    cursor_skip(&c, 2); /* the kind of the trampoline */
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

/* Add a function of a module to the starts. */
static gsym_status note_function(public_reader *reader, const pdb_symbol *symbol,
                                 gsym_error *error) {
    uint32_t address;
    pdb_code code;
    if (!pdb_read_code(symbol, &code) || code.name.failed ||
        !pdb_address(reader->pdb, code.segment, code.offset, &address))
        return GSYM_OK;
    if (!number_map_set(&reader->functions, address, 0)) return gsym_fail_memory(error);
    return symbol_starts_add(&reader->starts, reader->base + address, error);
}

static gsym_status read_module(public_reader *reader, const pdb_module *module,
                               gsym_error *error) {
    cursor c = msf_read(&reader->pdb->file, module->stream, 0, module->symbol_size,
                        &reader->copy);
    pdb_symbol symbol;
    if (reader->copy.failed) return gsym_fail_memory(error);
    cursor_skip(&c, SIGNATURE_SIZE);
    while (pdb_next_symbol(&c, &symbol)) {
        if (symbol.kind == S_TRAMPOLINE)
            GSYM_TRY(read_trampoline(reader, symbol.c, error));
        else if (reader->pdb->has_omap)
            GSYM_TRY(note_function(reader, &symbol, error));
    }
    msf_release(&reader->pdb->file, module->stream);
    return GSYM_OK;
}

/* Read the records that are complete in a window of the stream; *size_ret is their size, 0
 * if the first one is not complete. */
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
        if (symbol.kind == S_PUB32 || symbol.kind == S_PUB32_ST)
            GSYM_TRY(read_public(reader, &symbol, error));
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
    msf_release(&reader->pdb->file, reader->pdb->symbol_stream);
    return GSYM_OK;
}

static gsym_status add_publics(public_reader *reader, gsym_error *error) {
    for (size_t i = 0; i < reader->pdb->sections.count; ++i) {
        const pdb_section *section = &reader->pdb->sections.items[i];
        uint64_t start = reader->base + section->address;
        if (!section->holds_code) continue;
        GSYM_TRY(symbol_starts_add(&reader->starts, start + section->size, error));
    }
    if (!reader->pdb->has_omap)
        GSYM_TRY(read_module(reader, &reader->pdb->linker, error));
    for (size_t i = 0; i < reader->pdb->modules.count && reader->pdb->has_omap; ++i)
        GSYM_TRY(read_module(reader, &reader->pdb->modules.items[i], error));
    GSYM_TRY(read_publics(reader, error));
    symbol_starts_sort(&reader->starts);
    reader->max_steps =
        LIMIT_OF(PUBLIC_STEPS, reader->pdb->omap_size + reader->starts.count);
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
    number_map_deinit(&reader.functions);
    free(reader.moved.items);
    buffer_deinit(&reader.copy);
    return status;
}
