/* record.c - decode records with all of their parts into memory that is used again. */
#include "gsym/function_info.h"
#include "gsym/image.h"

struct gsym_record {
    function_set set;
    uint64_t size; /* in the file */
};

gsym_status gsym_record_create(gsym_record **record_ret, gsym_error *error) {
    *record_ret = calloc(1, sizeof **record_ret);
    return *record_ret != NULL ? GSYM_OK : gsym_fail_memory(error);
}

void gsym_record_destroy(gsym_record *record) {
    if (record == NULL) return;
    function_set_deinit(&record->set);
    free(record);
}

uint64_t record_size(const gsym_record *record) { return record->size; }

void function_set_deinit(function_set *set) {
    free(set->parts.rows.items);
    free(set->parts.nodes.items);
    free(set->parts.parents.items);
    free(set->parts.ranges.items);
    free(set->parts.call_sites.items);
    free(set->parts.regexes.items);
    free(set->parts.extras.items);
    free(set->functions.items);
}

void function_set_clear(function_set *set) {
    function_parts *parts = &set->parts;
    parts->rows.count = parts->nodes.count = parts->ranges.count = 0;
    parts->call_sites.count = parts->regexes.count = parts->extras.count = 0;
    set->functions.count = 0;
}

/* Decode one function to the end of the list. */
static gsym_status append(gsym_record *record, cursor *c, unsigned strp_size,
                          uint64_t start, record_info *merged_ret, gsym_error *error) {
    if (!LIST_RESERVE(record->set.functions, 1)) return gsym_fail_memory(error);
    GSYM_TRY(function_info_decode(c, strp_size, start, &record->set.parts,
                                  &record->set.functions.items[record->set.functions.count],
                                  merged_ret, error));
    record->set.functions.count++;
    return GSYM_OK;
}

static gsym_status append_merged(gsym_record *record, record_info *merged,
                                 unsigned strp_size, uint64_t start,
                                 gsym_error *error) {
    uint32_t count;
    GSYM_TRY(merged_functions_count(&merged->payload, &count, error));
    for (uint32_t i = 0; i < count; ++i) {
        record_info nested;
        cursor c;
        GSYM_TRY(merged_functions_next(&merged->payload, i, &c, error));
        GSYM_TRY(append(record, &c, strp_size, start, &nested, error));
        if (nested.type == GSYM_INFO_MERGED_FUNCTIONS)
            return gsym_fail(error, GSYM_E_FORMAT, nested.offset,
                             "merged functions inside a merged function");
    }
    return GSYM_OK;
}

void function_set_link(function_set *set) {
    const function_parts *parts = &set->parts;
    size_t row = 0, node = 0, range = 0, call_site = 0, regex = 0, extra = 0;
    for (size_t i = 0; i < set->functions.count; ++i) {
        gsym_function *function = &set->functions.items[i];
        if (function->row_count) function->rows = parts->rows.items + row;
        if (function->node_count) function->nodes = parts->nodes.items + node;
        if (function->range_count) function->ranges = parts->ranges.items + range;
        if (function->call_site_count)
            function->call_sites = parts->call_sites.items + call_site;
        if (function->regex_count && parts->regexes.count)
            function->regexes = parts->regexes.items + regex;
        if (function->extra_count) function->extras = parts->extras.items + extra;
        row += function->row_count;
        node += function->node_count;
        range += function->range_count;
        call_site += function->call_site_count;
        regex += function->regex_count;
        extra += function->extra_count;
    }
    set->functions.items[0].merged_count = set->functions.count - 1;
    if (set->functions.count > 1)
        set->functions.items[0].merged = set->functions.items + 1;
}

gsym_status record_decode(gsym_record *record, cursor c, unsigned strp_size,
                          uint64_t start, const gsym_function **function_ret,
                          gsym_error *error) {
    uint64_t offset = cursor_offset(&c);
    record_info merged;
    function_set_clear(&record->set);
    GSYM_TRY(append(record, &c, strp_size, start, &merged, error));
    record->size = cursor_offset(&c) - offset;
    if (merged.type == GSYM_INFO_MERGED_FUNCTIONS)
        GSYM_TRY(append_merged(record, &merged, strp_size, start, error));
    function_set_link(&record->set);
    *function_ret = record->set.functions.items;
    return GSYM_OK;
}

gsym_status gsym_record_decode(gsym_record *record, const gsym_image *image,
                               uint32_t index, const gsym_function **function_ret,
                               gsym_error *error) {
    uint64_t start, offset;
    cursor c;
    GSYM_TRY(gsym_image_entry(image, index, &start, &offset, error));
    GSYM_TRY(image_record(image, index, &c, error));
    return record_decode(record, c, image->strp_size, start, function_ret, error);
}
