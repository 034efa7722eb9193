/* symbfile_extraction.c - the functions of a GSYM file as ranges of a symbfile. */
#include "function_levels.h"
#include "symbfile_names.h"

struct gsym_symbfile_extraction {
    gsym_symbfile_names *names;
    function_walk walk;
    function_levels levels;
    uint32_t next; /* entry */
    gsym_symbfile_extraction_counts counts;
};

gsym_status gsym_symbfile_extraction_create(gsym_symbfile_names *names,
                                            gsym_symbfile_extraction **extraction_ret,
                                            gsym_error *error) {
    gsym_symbfile_extraction *extraction = calloc(1, sizeof *extraction);
    if (extraction == NULL || !function_walk_init(&extraction->walk, names->image)) {
        free(extraction);
        return gsym_fail_memory(error);
    }
    extraction->names = names;
    *extraction_ret = extraction;
    return GSYM_OK;
}

void gsym_symbfile_extraction_destroy(gsym_symbfile_extraction *extraction) {
    if (extraction == NULL) return;
    function_walk_deinit(&extraction->walk);
    function_levels_deinit(&extraction->levels);
    free(extraction);
}

void gsym_symbfile_extraction_count(const gsym_symbfile_extraction *extraction,
                                    gsym_symbfile_extraction_counts *counts_ret) {
    *counts_ret = extraction->counts;
}

static gsym_status add_range(gsym_symbfile_extraction *extraction,
                             gsym_symbfile_writer *writer, const gsym_function *function,
                             const level_range *level, gsym_error *error) {
    gsym_symbfile_names *names = extraction->names;
    gsym_symbfile_range range = {.elf_va = level->start,
                                 .length = level->end - level->start,
                                 .depth = level->depth,
                                 .rows = extraction->levels.rows.items + level->row_first,
                                 .row_count = level->row_count};
    uint64_t name = function->name;
    if (level->call != 0) {
        const gsym_inline_node *node = &function->nodes[level->call - 1];
        name = node->name;
        range.call_line = node->call_line;
        GSYM_TRY(symbfile_names_file(names, writer, node->call_file, &range.call_file,
                                     error));
    }
    range.func = symbfile_names_function(names, name);
    GSYM_TRY(symbfile_names_file(names, writer, level->file, &range.file, error));
    extraction->counts.ranges++;
    extraction->counts.inlined_calls += level->call != 0;
    extraction->counts.line_rows += level->row_count;
    return gsym_symbfile_writer_add_range(writer, &range, error);
}

static gsym_status add_function(gsym_symbfile_extraction *extraction,
                                gsym_symbfile_writer *writer,
                                const walked_function *walked, gsym_error *error) {
    const gsym_image *image = extraction->names->image;
    const gsym_function *function = walked->function;
    function_levels *levels = &extraction->levels;
    uint64_t base = image->header.base_address;
    bool root_is_call =
        function->node_count > 0 && function_walk_is_call(image, &function->nodes[0]);
    GSYM_TRY(function_levels_make(levels, function, root_is_call,
                                  base + walked->extent.start, base + walked->extent.end,
                                  error));
    extraction->counts.functions++;
    extraction->counts.without_calls += !levels->is_complete;
    extraction->counts.merged_left_out += function->merged_count;
    for (size_t i = 0; i < levels->ranges.count; ++i)
        GSYM_TRY(
            add_range(extraction, writer, function, &levels->ranges.items[i], error));
    return GSYM_OK;
}

static gsym_status add_entry(gsym_symbfile_extraction *extraction,
                             gsym_symbfile_writer *writer, uint32_t index,
                             gsym_error *error) {
    gsym_symbfile_extraction_counts *counts = &extraction->counts;
    walked_function walked;
    GSYM_TRY(function_walk_visit(&extraction->walk, index, &walked, error));
    if (walked.function == NULL) {
        counts->damaged++;
        return GSYM_OK;
    }
    counts->functions_cut += walked.is_cut;
    if (walked.extent.start >= walked.extent.end) {
        counts->functions_left_out++;
        return GSYM_OK;
    }
    if (walked.extent.end == UINT64_MAX) {
        counts->endless_left_out++;
        return GSYM_OK;
    }
    return add_function(extraction, writer, &walked, error);
}

gsym_status gsym_symbfile_extraction_next(gsym_symbfile_extraction *extraction,
                                          gsym_symbfile_writer *writer, uint32_t count,
                                          uint32_t *is_done_ret, gsym_error *error) {
    uint32_t entries = extraction->names->image->header.num_addresses;
    for (; count > 0 && extraction->next < entries; --count, ++extraction->next)
        GSYM_TRY(add_entry(extraction, writer, extraction->next, error));
    *is_done_ret = extraction->next == entries;
    return GSYM_OK;
}
