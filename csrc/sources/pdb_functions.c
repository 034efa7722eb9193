/* pdb_functions.c - make functions of the symbols of a module, with rows and inlined calls.
 *
 * A symbol that opens a scope has the offset of the symbol that ends it. The offset is not
 * used: opened scopes are counted. */
#include "sources/pdb_functions.h"

#include "base/system.h"

enum {
    SIGNATURE_SIZE = 4, /* bytes before the symbols */
    NO_LANGUAGE = 0x100,
};

/* Functions may overlap and so share rows, but only up to a limit.
 * Limit: Rows of a PDB module that several functions have, and cuts of inlined ranges */
LIMIT(PDB_ROWS, 1 << 16, 16);

void pdb_reader_deinit(pdb_reader *reader) {
    pdb_namer_deinit(&reader->namer);
    buffer_deinit(&reader->copy);
    number_map_deinit(&reader->files);
    number_map_deinit(&reader->lines);
    number_map_deinit(&reader->inlinees);
    number_map_deinit(&reader->names);
    number_map_deinit(&reader->procs);
    free(reader->inlinee_lines.items);
    free(reader->covered.items);
    free(reader->scopes.items);
    free(reader->sites.items);
    free(reader->records.items);
    free(reader->spans.items);
    free(reader->placed.items);
    free(reader->open.items);
    free(reader->pieces.items);
    free(reader->moved.items);
    free(reader->source_placed.items);
    free(reader->source_pieces.items);
    inline_builder_deinit(&reader->builder);
}

uint64_t pdb_module_size(const gsym_pdb *pdb, size_t index) {
    const pdb_module *module = &pdb->modules.items[index];
    return (uint64_t)module->symbol_size + module->c13_size;
}

static void warn(pdb_reader *reader, gsym_warning_category category, const cursor *at,
                 uint64_t value) {
    uint64_t offset = cursor_offset(at);
    dwarf_warn(reader->warnings, category,
               msf_file_offset(&reader->pdb->file, reader->stream, offset), value);
}

/* ---- a function ---------------------------------------------------------------------- */

static bool add_name(pdb_reader *reader, cursor *c, uint32_t type, uint32_t *name_ret) {
    buffer *arena = &reader->result->arena;
    unit_name name = {.text = {.arena_offset = arena->size}};
    if (!pdb_put_procedure(&reader->namer, c, type, pdb_has_parameters(reader)))
        return false;
    name.text.size = arena->size - name.text.arena_offset;
    return pdb_add_name(reader, &name, name_ret);
}

/* Find the rows of a function. It gets none if too many functions share rows. */
static void find_rows(pdb_reader *reader, unit_function *function) {
    pdb_lines_find(reader, function->address, function->address + function->size,
                   &function->row_first, &function->row_count);
    if (function->row_count <= reader->row_budget) {
        reader->row_budget -= function->row_count;
        return;
    }
    dwarf_warn(reader->warnings, GSYM_WARN_LIMIT, reader->function.offset,
               function->row_count);
    function->row_count = 0;
}

static bool is_asked_for(const pdb_reader *reader, const unit_function *function) {
    return creator_answers_in(reader->creator, function->address,
                              function->address + function->size);
}

/* Add a function. Its fingerprint depends only on its range: functions that the linker
 * folded have the same one, so that only the first of them is kept, as other readers do. */
static bool add_function(pdb_reader *reader, unit_function *function) {
    if (function->row_count > 0 || function->node_count > 0)
        function->fingerprint = (function->address - reader->base) << 32 | function->size;
    return LIST_ADD(reader->result->functions, *function);
}

/* Add a function that an optimizer moved, once for each of its parts; all have the same
 * name. */
static bool add_moved(pdb_reader *reader, const unit_function *source) {
    unit_function joined = *source;
    uint32_t start = (uint32_t)(source->address - reader->base), size;
    uint32_t end = source->size > UINT32_MAX - start ? UINT32_MAX
                                                     : start + (uint32_t)source->size;
    uint64_t steps = 0;
    bool is_joined = false;
    size_t count;
    reader->moved.count = 0;
    if (!pdb_find_moved(reader->pdb, start, end, &reader->moved, &steps) ||
        !dwarf_spend(&reader->budget->visits, steps))
        return false;
    if (reader->moved.count == 0)
        dwarf_warn(reader->warnings, GSYM_WARN_PDB_REMOVED, source->die_offset,
                   source->address);
    for (size_t first = 0; first < reader->moved.count; first += count) {
        unit_function part = *source;
        count = pdb_moved_run(&reader->moved, first, &size);
        part.address = reader->base + reader->moved.items[first].to;
        part.size = size;
        part.is_not_asked = !is_asked_for(reader, &part);
        if (first > 0 && !dwarf_spend(&reader->budget->parts, 1)) return false;
        if (!part.is_not_asked && !is_joined) {
            find_rows(reader, &joined);
            if (!pdb_inlines_join_source(reader, &joined)) return false;
            is_joined = true;
        }
        if (!part.is_not_asked && !pdb_inlines_move(reader, &part, first, count))
            return false;
        if (!add_function(reader, &part)) return false;
    }
    return true;
}

/* Add the function whose symbols have ended. */
static bool close_function(pdb_reader *reader) {
    const pdb_function *source = &reader->function;
    unit_function function = {.address = source->address,
                              .size = source->size,
                              .die_offset = source->offset,
                              .name = source->name};
    if (!reader->is_in_function) return true;
    reader->is_in_function = false;
    if (source->name == NO_INDEX) {
        dwarf_warn(reader->warnings, GSYM_WARN_NO_NAME, source->offset, source->address);
        return true;
    }
    if (reader->pdb->has_omap) return add_moved(reader, &function);
    function.is_not_asked = !is_asked_for(reader, &function);
    if (!function.is_not_asked) {
        find_rows(reader, &function);
        if (reader->spans.count > 0 && !pdb_inlines_join(reader, &function)) return false;
    }
    return add_function(reader, &function);
}

/* Begin a function, if its segment has code. */
static bool open_function(pdb_reader *reader, const pdb_code *code, const cursor *at) {
    uint32_t address;
    if (!close_function(reader)) return false;
    if (!pdb_address(reader->pdb, code->segment, code->offset, &address)) {
        warn(reader, GSYM_WARN_RANGE_OUTSIDE_TEXT, at,
             (uint64_t)code->segment << 32 | code->offset);
        return true;
    }
    if (code->size == 0) return true;
    reader->is_in_function = true;
    reader->sites.count = reader->spans.count = 0;
    reader->function = (pdb_function){.address = reader->base + address,
                                      .size = code->size,
                                      .name = NO_INDEX,
                                      .offset = msf_file_offset(&reader->pdb->file,
                                                                reader->stream,
                                                                cursor_offset(at))};
    return true;
}

/* ---- symbols ------------------------------------------------------------------------- */

/* Give code that the compiler separated from its function the name of the function. */
static void find_parent(pdb_reader *reader, const pdb_code *code) {
    uint32_t parent;
    uint64_t name;
    if (pdb_address(reader->pdb, code->parent_segment, code->parent_offset, &parent) &&
        number_map_find(&reader->procs, reader->base + parent, &name))
        reader->function.name = (uint32_t)name;
}

static bool read_procedure(pdb_reader *reader, const pdb_symbol *symbol) {
    pdb_code code;
    bool is_thunk = symbol->kind == S_THUNK32 || symbol->kind == S_THUNK32_ST;
    (void)pdb_read_code(symbol, &code);
    if (code.name.failed) {
        warn(reader, GSYM_WARN_PDB_SYMBOL, &symbol->c, symbol->kind);
        return close_function(reader);
    }
    if (!open_function(reader, &code, &symbol->c)) return false;
    if (!reader->is_in_function) return true;
    if (symbol->kind == S_SEPCODE) {
        find_parent(reader, &code);
        return true;
    }
    if (!add_name(reader, &code.name, code.type, &reader->function.name)) return false;
    return is_thunk ||
           number_map_set(&reader->procs, reader->function.address, reader->function.name);
}

/* Skip a function of .NET, whose machine code is made when the program runs. */
static bool read_managed(pdb_reader *reader, const pdb_symbol *symbol) {
    warn(reader, GSYM_WARN_PDB_MANAGED, &symbol->c, symbol->kind);
    return close_function(reader);
}

static uint32_t site_around(const pdb_reader *reader) {
    size_t depth = reader->scopes.count;
    return depth == 0 ? 0 : reader->scopes.items[depth - 1].site;
}

static bool read_inline_site(pdb_reader *reader, uint32_t kind, cursor c) {
    uint32_t inlinee, site = site_around(reader);
    cursor_skip(&c, 8); /* parent, end */
    inlinee = cursor_u32(&c);
    if (kind == S_INLINESITE2) cursor_skip(&c, 4); /* how often it runs */
    if (reader->is_in_function && !c.failed) {
        if (!pdb_inlines_add_site(reader, site, inlinee, c)) return false;
        site = (uint32_t)reader->sites.count;
    }
    return LIST_ADD(reader->scopes, (pdb_scope){site, false});
}

static bool open_scope(pdb_reader *reader, bool is_function) {
    return LIST_ADD(reader->scopes,
                    (pdb_scope){is_function ? 0 : site_around(reader), is_function});
}

static bool end_scope(pdb_reader *reader) {
    if (reader->scopes.count == 0 ||
        !reader->scopes.items[--reader->scopes.count].is_function)
        return true;
    return close_function(reader);
}

static bool read_symbol(pdb_reader *reader, const pdb_symbol *symbol) {
    cursor c = symbol->c;
    switch (symbol->kind) {
        case S_GPROC32: case S_LPROC32: case S_GPROC32_ID: case S_LPROC32_ID:
        case S_LPROC32_DPC: case S_LPROC32_DPC_ID: case S_GPROC32_ST: case S_LPROC32_ST:
        case S_THUNK32: case S_THUNK32_ST: case S_SEPCODE:
            return read_procedure(reader, symbol) && open_scope(reader, true);
        case S_GMANPROC: case S_LMANPROC: case S_GMANPROC_ST: case S_LMANPROC_ST:
            return read_managed(reader, symbol) && open_scope(reader, true);
        case S_BLOCK32: case S_WITH32: case S_BLOCK32_ST: case S_WITH32_ST:
            return open_scope(reader, false);
        case S_INLINESITE: case S_INLINESITE2:
            return read_inline_site(reader, symbol->kind, c);
        case S_END: case S_PROC_ID_END: case S_INLINESITE_END: return end_scope(reader);
        case S_COMPILE: cursor_skip(&c, 1); /* machine */ /* fall through */
        case S_COMPILE2: case S_COMPILE3: case S_COMPILE2_ST:
            reader->language = cursor_u8(&c);
            return true;
        default: return true;
    }
}

static bool read_symbols(pdb_reader *reader, cursor c) {
    pdb_symbol symbol;
    while (pdb_next_symbol(&c, &symbol))
        if (!read_symbol(reader, &symbol)) return false;
    if (c.failed) warn(reader, GSYM_WARN_PDB_SYMBOL, &c, 0);
    return close_function(reader);
}

/* ---- modules ------------------------------------------------------------------------- */

/* Empty the state of the previous module. File index 0 means "no file". */
static bool clear(unit_functions *result, pdb_reader *reader, size_t index) {
    reader->result = result;
    reader->namer.out = &result->arena;
    reader->namer.pdb = reader->pdb;
    reader->is_in_function = false;
    reader->language = NO_LANGUAGE;
    reader->scopes.count = reader->inlinee_lines.count = reader->line_count = 0;
    return number_map_reset(&reader->files, 0) && number_map_reset(&reader->lines, 0) &&
           number_map_reset(&reader->inlinees, 0) && number_map_reset(&reader->names, 0) &&
           number_map_reset(&reader->procs, 0) &&
           LIST_RESERVE(reader->spans, 1) && LIST_RESERVE(reader->pieces, 1) &&
           unit_functions_clear(result, index) && LIST_ADD(result->file_codes, FILE_NONE);
}

/* Release the pages of a module that is done. After every PAGES_DROP_SIZE bytes of modules,
 * release those of the types. */
static void release_module_pages(pdb_reader *reader, uint64_t size) {
    msf_release(&reader->pdb->file, reader->stream);
    reader->done += size;
    if (reader->done < PAGES_DROP_SIZE) return;
    reader->done = 0;
    msf_release(&reader->pdb->file, reader->pdb->types.stream);
    msf_release(&reader->pdb->file, reader->pdb->ids.stream);
}

bool pdb_module_read(unit_functions *result, pdb_reader *reader, size_t index) {
    const pdb_module *module = &reader->pdb->modules.items[index];
    uint64_t lines_offset = (uint64_t)module->symbol_size + module->c11_size;
    cursor whole, symbols, c11;
    reader->stream = module->stream;
    if (!clear(result, reader, index)) return false;
    if (module->stream == MSF_NO_STREAM || module->symbol_size < SIGNATURE_SIZE)
        return true;
    whole = msf_read(&reader->pdb->file, module->stream, 0, lines_offset + module->c13_size,
                     &reader->copy);
    if (reader->copy.failed) return false;
    if (whole.failed) {
        dwarf_warn(reader->warnings, GSYM_WARN_UNIT_SKIPPED,
                   msf_file_offset(&reader->pdb->file, module->stream, 0), index);
        return true;
    }
    symbols = c11 = whole;
    cursor_skip(&c11, module->symbol_size);
    c11.end = whole.at + lines_offset;
    symbols.end = whole.at + module->symbol_size;
    cursor_skip(&symbols, SIGNATURE_SIZE);
    cursor_skip(&whole, lines_offset);
    if (!pdb_lines_read(reader, c11, whole)) return false;
    reader->row_budget = LIMIT_OF(PDB_ROWS, result->rows.count);
    if (!read_symbols(reader, symbols) || !pdb_lines_add_uncovered(reader)) return false;
    release_module_pages(reader, lines_offset + module->c13_size);
    return true;
}
