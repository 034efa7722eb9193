/* unit_encoder.c - encode the functions of a unit as records.
 *
 * This is done after the ordered step: each name and file has its number in the
 * output. Records are written one after the other into chunks of memory, which the
 * creator takes over as they are. */
#include "sources/unit_encoder.h"
#include "gsym/function_info.h"

#define CHUNK_SIZE (4u << 20)
#define PLACEHOLDER_NAME 1 /* in records that the creator will name */

void unit_encoder_deinit(unit_encoder *encoder) {
    for (size_t i = 0; i < encoder->chunks.count; ++i) free(encoder->chunks.items[i]);
    free(encoder->chunks.items);
    for (size_t i = 0; i < encoder->blocks.count; ++i) free(encoder->blocks.items[i]);
    free(encoder->blocks.items);
    free(encoder->rows.items);
    free(encoder->nodes.items);
    free(encoder->call_sites.items);
    free(encoder->regexes.items);
    buffer_deinit(&encoder->chunk);
    index_encoder_deinit(&encoder->index);
}

/* ---- parts of a function ------------------------------------------------------------- */

static uint32_t file_of_code(const unit_functions *unit, uint32_t code) {
    return code < PATH_FIRST ? 0 : unit->files.items[code - PATH_FIRST];
}

/* Make the rows of a function: inside of its range, and each different from the one
 * before. */
static bool put_rows(unit_encoder *encoder, const unit_functions *unit,
                     const unit_function *function, gsym_function *ret) {
    const gsym_line_row *row = unit_rows_of(unit, function);
    const gsym_line_row *end = row + function->row_count;
    uint64_t start = function->address, stop = start + function->size, last = 0;
    uint32_t row_file = NO_INDEX, code = FILE_INVALID, file = 0, last_line = 0;
    uint64_t last_file = UINT64_MAX; /* no file has this number */
    gsym_line_row *at;
    encoder->rows.count = 0;
    if (!LIST_RESERVE(encoder->rows, (size_t)function->row_count + 1)) return false;
    ret->rows = at = encoder->rows.items;
    for (; row < end; ++row) {
        if (row->file != row_file) {
            row_file = row->file;
            code = row_file < unit->file_codes.count ? unit->file_codes.items[row_file]
                   : row_file == NO_FILE             ? FILE_NONE
                                                     : FILE_INVALID;
            file = file_of_code(unit, code);
        }
        if (GSYM_UNLIKELY(code == FILE_INVALID)) {
            dwarf_warn(encoder->warnings, GSYM_WARN_LINE_FILE_INDEX, function->die_offset,
                       row->file);
            continue;
        }
        if (row->address >= stop) continue;
        if (GSYM_UNLIKELY(row->address < last)) {
            dwarf_warn(encoder->warnings, GSYM_WARN_LINE_ORDER, function->die_offset,
                       row->address);
            break;
        }
        if (file == last_file && row->line == last_line) continue;
        last = row->address;
        last_file = file;
        last_line = row->line;
        *at++ =
            (gsym_line_row){row->address < start ? start : row->address, file, row->line};
    }
    ret->row_count = (size_t)(at - ret->rows);
    return true;
}

static bool put_nodes(unit_encoder *encoder, const unit_functions *unit,
                      const unit_function *function, gsym_function *ret) {
    const unit_node *node = LIST_FROM(unit->nodes, function->node_first);
    gsym_inline_node *nodes;
    if (!LIST_RESERVE(encoder->nodes, function->node_count)) return false;
    nodes = encoder->nodes.items;
    for (uint32_t i = 0; i < function->node_count; ++i, ++node)
        nodes[i] = (gsym_inline_node){
            .name = node->name == NO_INDEX ? 0 : unit->strps.items[node->name],
            .call_file = file_of_code(unit, node->file_code),
            .call_line = node->call_line,
            .depth = node->depth,
            .range_first = node->range_first,
            .range_count = node->range_count};
    ret->nodes = nodes;
    ret->node_count = function->node_count;
    ret->ranges = unit->ranges.items;
    ret->range_count = unit->ranges.count;
    return true;
}

static bool put_call_sites(unit_encoder *encoder, const unit_functions *unit,
                           const unit_function *function, gsym_function *ret) {
    encoder->call_sites.count = encoder->regexes.count = 0;
    if (!LIST_RESERVE(encoder->call_sites, function->site_count) ||
        !LIST_RESERVE(encoder->regexes, function->site_count))
        return false;
    for (uint32_t i = 0; i < function->site_count; ++i) {
        const unit_call_site *site = &unit->call_sites.items[function->site_first + i];
        bool is_named = site->name != NO_INDEX;
        encoder->call_sites.items[encoder->call_sites.count++] =
            (gsym_call_site){site->return_offset, 0, (uint32_t)encoder->regexes.count,
                             is_named ? 1 : 0, 0};
        if (is_named)
            encoder->regexes.items[encoder->regexes.count++] =
                unit->strps.items[site->name];
    }
    ret->call_sites = encoder->call_sites.items;
    ret->call_site_count = encoder->call_sites.count;
    ret->regexes = encoder->regexes.items;
    ret->regex_count = encoder->regexes.count;
    return true;
}

/* ---- records ------------------------------------------------------------------------- */

gsym_status unit_encoder_close_chunk(unit_encoder *encoder, gsym_error *error) {
    uint8_t *bytes = encoder->chunk.bytes;
    if (encoder->chunk.size == 0) return GSYM_OK;
    if (!LIST_ADD(encoder->chunks, bytes)) return gsym_fail_memory(error);
    for (size_t i = encoder->chunk_first; i < encoder->record_count; ++i) {
        creator_record *record = unit_encoder_record(encoder, i);
        if (record->blob_size > 0) record->blob = bytes + record->blob_offset;
    }
    encoder->chunk_first = encoder->record_count;
    encoder->chunk.bytes = NULL;
    encoder->chunk.size = encoder->chunk.capacity = 0;
    return GSYM_OK;
}

/* Return the number of rows that start in a function. The first row of lines without a
 * function may start before them. */
static uint32_t own_rows(const unit_functions *unit, const unit_function *function,
                         size_t row_count) {
    bool is_before = function->is_lines && row_count > 0 &&
                     unit_rows_of(unit, function)->address < function->address;
    return (uint32_t)row_count - is_before;
}

static bool reserve_record(unit_encoder *encoder) {
    creator_record *block;
    if (encoder->record_count < RECORDS_PER_BLOCK * encoder->blocks.count) return true;
    block = malloc(RECORDS_PER_BLOCK * sizeof *block);
    if (block != NULL && LIST_ADD(encoder->blocks, block)) return true;
    free(block);
    return false;
}

static gsym_status add_function(unit_encoder *encoder, unit_functions *unit,
                                const unit_function *function, gsym_error *error) {
    bool is_nameless = function->name == NO_INDEX;
    gsym_function encoded = {.address = function->address,
                             .size = function->size,
                             .name = is_nameless ? PLACEHOLDER_NAME
                                                 : unit->strps.items[function->name]};
    size_t offset = encoder->chunk.size, size;
    index_source *source = &encoder->index.source;
    creator_record *record;
    bool has_blob;
    if (!put_rows(encoder, unit, function, &encoded) ||
        !put_nodes(encoder, unit, function, &encoded) ||
        !put_call_sites(encoder, unit, function, &encoded) || !reserve_record(encoder))
        return gsym_fail_memory(error);
    has_blob = !function->is_not_asked &&
               (encoder->encodes_all || is_nameless ||
                encoded.row_count + encoded.node_count + encoded.call_site_count > 0);
    if (has_blob) {
        index_source_clear(source);
        source->only_names = !encoder->has_index;
        GSYM_TRY(function_info_encode(&encoder->chunk, encoder->strp_size, &encoded,
                                      source, error));
    }
    size = encoder->chunk.size - offset;
    if (size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, function->die_offset,
                         "a function needs a record of more than 4 GiB");
    record = unit_encoder_record(encoder, encoder->record_count++);
    *record =
        creator_record_of(&encoded, (uint32_t)GSYM_ORIGIN_DEBUG_INFO | RECORD_COPY |
                                        (function->is_lines        ? RECORD_LINES
                                         : function->is_not_asked  ? RECORD_NOT_ASKED
                                         : is_nameless             ? RECORD_NAMELESS
                                         : unit->prefers_symbols   ? RECORD_NAMED_BY_SYMBOL
                                                                   : 0u));
    record->address += function->shift;
    if (function->is_not_asked) record->name = 0;
    record->blob_offset = has_blob ? offset : 0;
    record->blob_size = (uint32_t)size;
    if (has_blob && encoded.call_site_count == 0) {
        record->flags |= RECORD_HAS_NAMES;
        record->names_size = (uint32_t)source->names.size;
        buffer_put(&encoder->chunk, source->names.bytes, source->names.size);
    }
    if (has_blob && encoder->has_index) {
        size = encoder->chunk.size;
        (void)function_index_put(&encoder->index, &encoder->chunk);
        record->index_size = (uint32_t)(encoder->chunk.size - size);
    }
    if (encoder->chunk.failed) return gsym_fail_memory(error);
    record->row_count = own_rows(unit, function, encoded.row_count);
    return GSYM_OK;
}

gsym_status unit_encoder_add(unit_encoder *encoder, unit_functions *unit,
                             gsym_error *error) {
    encoder->warnings->file = unit->file;
    for (size_t i = 0; i < unit->functions.count; ++i) {
        if (encoder->chunk.size >= CHUNK_SIZE)
            GSYM_TRY(unit_encoder_close_chunk(encoder, error));
        if (encoder->chunk.capacity == 0 &&
            !buffer_reserve(&encoder->chunk, CHUNK_SIZE + CHUNK_SIZE / 8))
            return gsym_fail_memory(error);
        GSYM_TRY(add_function(encoder, unit, &unit->functions.items[i], error));
    }
    return GSYM_OK;
}
