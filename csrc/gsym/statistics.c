/* statistics.c - measure the parts of records.
 *
 * Payloads are not decoded, except the opcodes of a line table before its first row, which
 * give the source file of the function. */
#include "gsym/function_info.h"
#include "gsym/image.h"

enum { OP_END_SEQUENCE = 0, OP_SET_FILE = 1, OP_ADVANCE_LINE = 3, HEAD_SIZE = 8 };

/* Return the file of the first row, or 0. */
static uint32_t first_file(cursor c) {
    uint32_t file = 1;
    cursor_skip_leb(&c);
    cursor_skip_leb(&c);
    cursor_skip_leb(&c);
    for (;;) {
        uint8_t op = cursor_u8(&c);
        if (c.failed || op == OP_END_SEQUENCE) return 0;
        if (op == OP_SET_FILE)
            file = (uint32_t)cursor_uleb(&c);
        else if (op == OP_ADVANCE_LINE)
            cursor_skip_leb(&c);
        else
            return file;
    }
}

static uint64_t *first_slot(gsym_info_bytes *bytes, uint32_t type) {
    switch (type) {
        case GSYM_INFO_END_OF_LIST: return &bytes->end_of_list;
        case GSYM_INFO_LINE_TABLE: return &bytes->line_table;
        case GSYM_INFO_INLINE_INFO: return &bytes->inline_info;
        case GSYM_INFO_MERGED_FUNCTIONS: return &bytes->merged_functions;
        case GSYM_INFO_CALL_SITES: return &bytes->call_sites;
        default: return &bytes->unknown;
    }
}

static void count_info(gsym_info_bytes *bytes, const record_info *info) {
    *first_slot(bytes, info->type) += HEAD_SIZE + (uint64_t)cursor_left(&info->payload);
}

static void measure_child(cursor c, unsigned strp_size, gsym_info_bytes *bytes) {
    record_info info;
    gsym_error ignored;
    cursor_skip(&c, 4 + strp_size);
    if (c.failed) return;
    bytes->size_and_name += 4 + strp_size;
    do {
        if (function_info_next(&c, &info, &ignored) != GSYM_OK) return;
        count_info(bytes, &info);
    } while (info.type != GSYM_INFO_END_OF_LIST);
}

static void measure_merged(cursor c, unsigned strp_size, gsym_statistics *statistics) {
    uint32_t count;
    gsym_error ignored;
    statistics->merged_envelope += HEAD_SIZE;
    if (merged_functions_count(&c, &count, &ignored) != GSYM_OK) return;
    statistics->merged_envelope += 4;
    for (uint32_t i = 0; i < count; ++i) {
        cursor child;
        if (merged_functions_next(&c, i, &child, &ignored) != GSYM_OK) return;
        statistics->merged_envelope += 4;
        statistics->merged_count++;
        measure_child(child, strp_size, &statistics->merged);
    }
}

static gsym_status measure_record(cursor c, unsigned strp_size,
                                  gsym_statistics *statistics, gsym_footprint *footprint,
                                  gsym_error *error) {
    uint64_t start = cursor_offset(&c);
    record_info info;
    footprint->size = cursor_u32(&c);
    footprint->name = cursor_uint(&c, strp_size);
    if (c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, start, "FunctionInfo data is truncated");
    statistics->own.size_and_name += 4 + strp_size;
    do {
        GSYM_TRY(function_info_next(&c, &info, error));
        count_info(&statistics->own, &info);
        if (info.type == GSYM_INFO_LINE_TABLE) footprint->file = first_file(info.payload);
        if (info.type == GSYM_INFO_MERGED_FUNCTIONS)
            measure_merged(info.payload, strp_size, statistics);
    } while (info.type != GSYM_INFO_END_OF_LIST);
    footprint->record_size = cursor_offset(&c) - start;
    return GSYM_OK;
}

gsym_status gsym_image_measure(const gsym_image *image, uint32_t first, uint32_t count,
                               gsym_statistics *statistics, gsym_footprint *footprints,
                               gsym_error *error) {
    uint32_t total = image->header.num_addresses;
    if (first > total || count > total - first)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such entries in the address table");
    for (uint32_t i = 0; i < count; ++i) {
        gsym_footprint footprint = {0};
        gsym_error damage;
        cursor c;
        footprint.address =
            image->header.base_address + image_addr_offset(image, first + i);
        if (image_record(image, first + i, &c, &damage) != GSYM_OK ||
            measure_record(c, image->strp_size, statistics, &footprint, &damage) != GSYM_OK)
            statistics->damaged_count++;
        if (footprints != NULL) footprints[i] = footprint;
    }
    return GSYM_OK;
}
