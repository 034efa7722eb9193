/* extraction.c - write the functions of a GSYM file as ranges and return pads.
 *
 * The functions are visited once: each one is flattened (levels.h), and its ranges and the
 * return pads of its calls are written. */
#include "symbfile/extraction.h"

struct gsym_symbfile_extraction {
    gsym_symbfile_names *range_names;
    gsym_symbfile_writer *range_writer; /* NULL: no ranges */
    return_pads pads;                   /* has no calls if no return pads are wanted */
    function_walk walk;
    function_levels levels;
    uint32_t next; /* the entry that is visited next */
    gsym_symbfile_extraction_counts counts;
};

gsym_status gsym_symbfile_extraction_create(const gsym_image *image,
                                            gsym_symbfile_extraction **extraction_ret,
                                            gsym_error *error) {
    gsym_symbfile_extraction *extraction = calloc(1, sizeof *extraction);
    if (extraction == NULL || !function_walk_init(&extraction->walk, image)) {
        free(extraction);
        return gsym_fail_memory(error);
    }
    *extraction_ret = extraction;
    return GSYM_OK;
}

void gsym_symbfile_extraction_destroy(gsym_symbfile_extraction *extraction) {
    if (extraction == NULL) return;
    function_walk_deinit(&extraction->walk);
    function_levels_deinit(&extraction->levels);
    return_pads_deinit(&extraction->pads);
    free(extraction);
}

void gsym_symbfile_extraction_want_ranges(gsym_symbfile_extraction *extraction,
                                          gsym_symbfile_names *names,
                                          gsym_symbfile_writer *writer) {
    extraction->range_names = names;
    extraction->range_writer = writer;
}

void gsym_symbfile_extraction_want_return_pads(gsym_symbfile_extraction *extraction,
                                               gsym_symbfile_names *names,
                                               gsym_symbfile_writer *writer,
                                               const gsym_calls *calls) {
    extraction->pads = (return_pads){.names = names, .writer = writer, .calls = calls};
}

void gsym_symbfile_extraction_count(const gsym_symbfile_extraction *extraction,
                                    gsym_symbfile_extraction_counts *counts_ret) {
    *counts_ret = extraction->counts;
}

static gsym_status add_range(gsym_symbfile_extraction *extraction,
                             const gsym_function *function, const level_range *level,
                             gsym_error *error) {
    gsym_symbfile_names *names = extraction->range_names;
    gsym_symbfile_writer *writer = extraction->range_writer;
    const gsym_inline_node *call = level_call(function, level);
    gsym_symbfile_range range = {.elf_va = level->start,
                                 .length = level->end - level->start,
                                 .depth = level->depth,
                                 .rows = LIST_FROM(extraction->levels.rows,
                                                   level->row_first),
                                 .row_count = level->row_count};
    if (call != NULL) {
        GSYM_TRY(symbfile_names_file(names, writer, call->call_file, &range.call_file,
                                     error));
        /* Readers take a line without a file as a line of the caller's file, so such a line
         * is omitted. */
        range.call_line = range.call_file != 0 ? call->call_line : 0;
    }
    range.func = symbfile_names_function(names, level_name(function, level));
    GSYM_TRY(symbfile_names_file(names, writer, level->file, &range.file, error));
    extraction->counts.ranges++;
    extraction->counts.inlined_calls += call != NULL;
    extraction->counts.line_rows += level->row_count;
    return gsym_symbfile_writer_add_range(writer, &range, error);
}

static gsym_status add_ranges(gsym_symbfile_extraction *extraction,
                              const gsym_function *function, gsym_error *error) {
    const function_levels *levels = &extraction->levels;
    extraction->counts.functions++;
    for (size_t i = 0; i < levels->ranges.count; ++i)
        GSYM_TRY(add_range(extraction, function, &levels->ranges.items[i], error));
    return GSYM_OK;
}

static gsym_status add_entry(gsym_symbfile_extraction *extraction, uint32_t index,
                             gsym_error *error) {
    gsym_symbfile_extraction_counts *counts = &extraction->counts;
    const gsym_image *image = extraction->walk.image;
    walked_function walked;
    uint64_t start, end;
    bool is_endless, has_ranges, has_calls;
    GSYM_TRY(function_walk_visit(&extraction->walk, index, &walked, &counts->losses,
                                 error));
    if (walked.function == NULL) return GSYM_OK;
    is_endless = walked.extent.end == UINT64_MAX;
    counts->endless_left_out += is_endless;
    start = image->header.base_address + walked.extent.start;
    end = is_endless ? UINT64_MAX : image->header.base_address + walked.extent.end;
    has_ranges = extraction->range_writer != NULL && !is_endless;
    has_calls =
        extraction->pads.calls != NULL && return_pads_seek(&extraction->pads, start, end);
    if (!has_ranges && !has_calls) return GSYM_OK;
    GSYM_TRY(function_levels_make(
        &extraction->levels, walked.function,
        walked.function->node_count > 0 &&
            function_walk_is_call(image, &walked.function->nodes[0]),
        start, end, error));
    counts->without_calls += !extraction->levels.is_complete;
    if (has_ranges) GSYM_TRY(add_ranges(extraction, walked.function, error));
    if (!has_calls) return GSYM_OK;
    return return_pads_add(&extraction->pads, walked.function, &extraction->levels, end,
                           &counts->return_pads, error);
}

gsym_status gsym_symbfile_extraction_next(gsym_symbfile_extraction *extraction,
                                          uint32_t count, uint32_t *is_done_ret,
                                          gsym_error *error) {
    uint32_t entries = extraction->walk.image->header.num_addresses;
    for (; count > 0 && extraction->next < entries; --count, ++extraction->next)
        GSYM_TRY(add_entry(extraction, extraction->next, error));
    *is_done_ret = extraction->next == entries;
    return GSYM_OK;
}
