/* decoder.c - decode an entry of a GSYM file to a gsym_function_info. */
#include "internal.h"

struct gsym_decoder {
    gsym_record *record;
    uint8_t *block; /* memory with the arrays of the last function */
    size_t capacity;
    size_t used;
    gsym_function_info info;
};

gsym_status gsym_decoder_create(gsym_decoder **decoder_ret, gsym_error *error) {
    gsym_decoder *decoder = calloc(1, sizeof *decoder);
    gsym_status status;
    if (decoder == NULL) return gsym_fail_memory(error);
    status = gsym_record_create(&decoder->record, error);
    if (status == GSYM_OK)
        *decoder_ret = decoder;
    else
        free(decoder);
    return status;
}

void gsym_decoder_destroy(gsym_decoder *decoder) {
    if (decoder == NULL) return;
    gsym_record_destroy(decoder->record);
    free(decoder->block);
    free(decoder);
}

/* Return the size of the arrays of a function in the block. The sizes of all items are
 * multiples of 8, so that each array is aligned. */
static size_t function_size(const gsym_function *function) {
    size_t size = function->row_count * sizeof(gsym_line) +
                  function->node_count * sizeof(gsym_inlined_call) +
                  function->range_count * sizeof(gsym_address_range) +
                  function->call_site_count * sizeof(gsym_call) +
                  function->regex_count * sizeof(uint64_t) +
                  function->merged_count * sizeof(gsym_function_info);
    for (size_t i = 0; i < function->merged_count; ++i)
        size += function_size(&function->merged[i]);
    return size;
}

static void *take(gsym_decoder *decoder, size_t count, size_t item_size) {
    void *place = decoder->block + decoder->used;
    decoder->used += count * item_size;
    return place;
}

static const gsym_line *fill_lines(gsym_decoder *decoder, const gsym_file *file,
                                   const gsym_function *function) {
    gsym_line *lines = take(decoder, function->row_count, sizeof *lines);
    for (size_t i = 0; i < function->row_count; ++i) {
        const gsym_line_row *row = &function->rows[i];
        lines[i] = (gsym_line){.address = row->address, .line = row->line};
        file_source(file, row->file, &lines[i].directory, &lines[i].filename);
    }
    return lines;
}

static const gsym_inlined_call *fill_inlined_calls(gsym_decoder *decoder,
                                                   const gsym_file *file,
                                                   const gsym_function *function) {
    gsym_inlined_call *calls = take(decoder, function->node_count, sizeof *calls);
    gsym_address_range *ranges = take(decoder, function->range_count, sizeof *ranges);
    for (size_t i = 0; i < function->range_count; ++i)
        ranges[i] =
            (gsym_address_range){function->ranges[i].start, function->ranges[i].end};
    for (size_t i = 0; i < function->node_count; ++i) {
        const gsym_inline_node *node = &function->nodes[i];
        calls[i] = (gsym_inlined_call){.function = file_string(file, node->name),
                                       .call_line = node->call_line,
                                       .depth = node->depth,
                                       .ranges = ranges + node->range_first,
                                       .range_count = node->range_count};
        file_source(file, node->call_file, &calls[i].call_directory,
                    &calls[i].call_filename);
    }
    return calls;
}

static const gsym_call *fill_calls(gsym_decoder *decoder, const gsym_file *file,
                                   const gsym_function *function) {
    gsym_call *calls = take(decoder, function->call_site_count, sizeof *calls);
    const char **patterns = take(decoder, function->regex_count, sizeof(uint64_t));
    for (size_t i = 0; i < function->regex_count; ++i)
        patterns[i] = file_string(file, function->regexes[i]);
    for (size_t i = 0; i < function->call_site_count; ++i) {
        const gsym_call_site *site = &function->call_sites[i];
        calls[i] = (gsym_call){site->return_offset, site->flags, site->regex_count,
                               patterns + site->regex_first};
    }
    return calls;
}

/* Fill *info_ret. This calls itself only once, because merged functions have no merged
 * functions. */
static void fill(gsym_decoder *decoder, const gsym_file *file,
                 const gsym_function *function, gsym_function_info *info) {
    gsym_function_info *merged = take(decoder, function->merged_count, sizeof *merged);
    *info = (gsym_function_info){
        .name = file_string(file, function->name),
        .address = function->address,
        .size = function->size,
        .lines = fill_lines(decoder, file, function),
        .line_count = function->row_count,
        .inlined_calls = fill_inlined_calls(decoder, file, function),
        .inlined_call_count = function->node_count,
        .calls = fill_calls(decoder, file, function),
        .call_count = function->call_site_count,
        .merged = merged,
        .merged_count = function->merged_count,
    };
    for (size_t i = 0; i < function->merged_count; ++i)
        fill(decoder, file, &function->merged[i], &merged[i]);
}

gsym_status gsym_decoder_read(gsym_decoder *decoder, const gsym_file *file, uint32_t entry,
                              const gsym_function_info **info_ret, gsym_error *error) {
    const gsym_function *function;
    size_t size;
    GSYM_TRY(file_check_entry(file, entry, error));
    GSYM_TRY(in_file(
        file->path,
        gsym_record_decode(decoder->record, file->image, entry, &function, error), error));
    size = function_size(function);
    if (size > decoder->capacity || decoder->block == NULL) {
        free(decoder->block);
        decoder->capacity = 0;
        decoder->block = malloc(size + 1);
        if (decoder->block == NULL) return gsym_fail_memory(error);
        decoder->capacity = size;
    }
    decoder->used = 0;
    fill(decoder, file, function, &decoder->info);
    *info_ret = &decoder->info;
    return GSYM_OK;
}
