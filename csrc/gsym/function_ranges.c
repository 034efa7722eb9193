/* function_ranges.c - list the names and extents of functions without decoding the rest of
 * their records. */
#include "gsym/function_info.h"
#include "gsym/image.h"

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
