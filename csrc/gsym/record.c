/* record.c - decode records, list the functions in them, and check them. */
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
    if (!ARRAY_RESERVE(record->set.functions, 1)) return gsym_fail_memory(error);
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

/* Read names and extents of functions without decoding the rest. */

static gsym_status read_range(const gsym_image *image, cursor *record, uint64_t address,
                              gsym_function_range *range_ret, gsym_error *error) {
    range_ret->address = address;
    return function_info_decode_head(record, image->strp_size, &range_ret->size,
                                     &range_ret->name, error);
}

/* Find the payload of merged functions; without any, *info_ret has the type
 * GSYM_INFO_END_OF_LIST. */
static gsym_status find_merged(cursor *record, record_info *info_ret, gsym_error *error) {
    record_info merged = {.type = GSYM_INFO_END_OF_LIST};
    do {
        GSYM_TRY(function_info_next(record, info_ret, error));
        if (info_ret->type == GSYM_INFO_MERGED_FUNCTIONS) merged = *info_ret;
    } while (info_ret->type != GSYM_INFO_END_OF_LIST);
    *info_ret = merged;
    return GSYM_OK;
}

/* List the functions of a record; *size_ret is the size of the complete record. */
static gsym_status read_entry(const gsym_image *image, uint32_t index,
                              gsym_function_range *ranges, size_t capacity,
                              size_t *count_ret, uint64_t *size_ret, gsym_error *error) {
    uint64_t address, offset;
    uint32_t merged_count = 0;
    gsym_function_range range;
    record_info info;
    cursor record;
    GSYM_TRY(gsym_image_entry(image, index, &address, &offset, error));
    GSYM_TRY(image_record(image, index, &record, error));
    GSYM_TRY(read_range(image, &record, address, &range, error));
    if (capacity > 0) ranges[0] = range;
    GSYM_TRY(find_merged(&record, &info, error));
    *size_ret = cursor_offset(&record) - offset;
    if (info.type == GSYM_INFO_MERGED_FUNCTIONS)
        GSYM_TRY(merged_functions_count(&info.payload, &merged_count, error));
    for (uint32_t i = 0; i < merged_count; ++i) {
        cursor child;
        GSYM_TRY(merged_functions_next(&info.payload, i, &child, error));
        GSYM_TRY(read_range(image, &child, address, &range, error));
        if (i + UINT64_C(1) < capacity) ranges[i + 1] = range;
    }
    *count_ret = (size_t)merged_count + 1;
    return GSYM_OK;
}

gsym_status gsym_image_functions(const gsym_image *image, uint32_t index,
                                 gsym_function_range *ranges, size_t capacity,
                                 size_t *count_ret, gsym_error *error) {
    uint64_t ignored;
    return read_entry(image, index, ranges, capacity, count_ret, &ignored, error);
}

gsym_status gsym_image_all_functions(const gsym_image *image, gsym_function_range *ranges,
                                     size_t capacity, size_t *count_ret,
                                     gsym_error *error) {
    uint64_t size = 0, record_bytes;
    size_t total = 0, count;
    for (uint32_t index = 0; index < image->header.num_addresses; ++index) {
        size_t left = total < capacity ? capacity - total : 0;
        GSYM_TRY(read_entry(image, index, left > 0 ? ranges + total : ranges, left, &count,
                            &record_bytes, error));
        total += count;
        size += record_bytes;
        if (size > image->size)
            return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(image, index),
                             "records overlap");
    }
    *count_ret = total;
    return GSYM_OK;
}

/* Check that a record is complete, and its strings and files exist. */

static gsym_status fault(gsym_error *error, uint64_t offset, const char *what) {
    return gsym_fail(error, GSYM_E_FORMAT, offset, "%s", what);
}

static bool has_name(const gsym_image *image, uint64_t name) {
    return name < image->header.strtab_size;
}

static gsym_status check_rows(const gsym_image *image, const gsym_function *function,
                              uint64_t offset, gsym_error *error) {
    uint64_t before = function->address;
    for (size_t i = 0; i < function->row_count; ++i) {
        const gsym_line_row *row = &function->rows[i];
        if (row->address < before) return fault(error, offset, "a row is out of order");
        if (!image_covers(function->address, function->size, row->address))
            return fault(error, offset, "a row is outside of its function");
        if (row->file >= image->header.num_files)
            return fault(error, offset, "a row has a file that is not there");
        before = row->address;
    }
    return GSYM_OK;
}

static gsym_status check_calls(const gsym_image *image, const gsym_function *function,
                               uint64_t offset, gsym_error *error) {
    for (size_t i = 0; i < function->node_count; ++i) {
        const gsym_inline_node *node = &function->nodes[i];
        if (!has_name(image, node->name))
            return fault(error, offset, "an inlined call has a name that is not there");
        if (node->call_file >= image->header.num_files)
            return fault(error, offset, "an inlined call has a file that is not there");
    }
    for (size_t i = 0; i < function->range_count; ++i)
        if (function->ranges[i].start >= function->ranges[i].end)
            return fault(error, offset, "a range of an inlined call is empty");
    for (size_t i = 0; i < function->regex_count; ++i)
        if (!has_name(image, function->regexes[i]))
            return fault(error, offset, "a call site has a pattern that is not there");
    return GSYM_OK;
}

static gsym_status check_own(const gsym_image *image, const gsym_function *function,
                             uint64_t offset, gsym_error *error) {
    if (function->name == 0 || !has_name(image, function->name))
        return fault(error, offset, "a function has a name that is not there");
    GSYM_TRY(check_rows(image, function, offset, error));
    return check_calls(image, function, offset, error);
}

gsym_status image_check_function(const gsym_image *image, const gsym_function *function,
                                 uint64_t offset, gsym_error *error) {
    GSYM_TRY(check_own(image, function, offset, error));
    for (size_t i = 0; i < function->merged_count; ++i)
        GSYM_TRY(check_own(image, &function->merged[i], offset, error));
    return GSYM_OK;
}

gsym_status gsym_image_check_records(const gsym_image *image, gsym_record *record,
                                     uint32_t first, uint32_t count, gsym_error *error) {
    uint64_t before = 0, address, offset;
    if (first > 0) GSYM_TRY(gsym_image_entry(image, first - 1, &before, &offset, error));
    for (uint32_t i = first; i - first < count; ++i) {
        const gsym_function *function;
        GSYM_TRY(gsym_image_entry(image, i, &address, &offset, error));
        if (address < before) return fault(error, offset, "a function is out of order");
        GSYM_TRY(gsym_record_decode(record, image, i, &function, error));
        GSYM_TRY(image_check_function(image, function, offset, error));
        before = address;
    }
    return GSYM_OK;
}
