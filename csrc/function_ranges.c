/* function_ranges.c - functions by name and extent, no more. */
#include "function_info.h"
#include "image.h"

static gsym_status read_range(const gsym_image *image, cursor *record, uint64_t address,
                              gsym_function_range *range_ret, gsym_error *error) {
    range_ret->address = address;
    return function_info_decode_head(record, image->strp_size, &range_ret->size,
                                     &range_ret->name, error);
}

/* The payload of the record's merged functions; none: *info_ret ends the list. */
static gsym_status find_merged(cursor *record, record_info *info_ret, gsym_error *error) {
    record_info merged = {.type = GSYM_INFO_END_OF_LIST};
    do {
        GSYM_TRY(function_info_next(record, info_ret, error));
        if (info_ret->type == GSYM_INFO_MERGED_FUNCTIONS) merged = *info_ret;
    } while (info_ret->type != GSYM_INFO_END_OF_LIST);
    *info_ret = merged;
    return GSYM_OK;
}

gsym_status gsym_image_functions(const gsym_image *image, uint32_t index,
                                 gsym_function_range *ranges, size_t capacity,
                                 size_t *count_ret, gsym_error *error) {
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

typedef struct name_column {
    uint64_t *names;
    size_t capacity, count;
} name_column;

static gsym_status put_name(name_column *column, const gsym_image *image, cursor *record,
                            gsym_error *error) {
    gsym_function_range range;
    GSYM_TRY(read_range(image, record, 0, &range, error));
    if (column->count < column->capacity) column->names[column->count] = range.name;
    column->count++;
    return GSYM_OK;
}

/* Names of one entry; *size_ret is what its record takes. */
static gsym_status put_names(name_column *column, const gsym_image *image, uint32_t index,
                             uint64_t *size_ret, gsym_error *error) {
    uint32_t merged_count = 0;
    record_info info;
    cursor record;
    uint64_t start;
    GSYM_TRY(image_record(image, index, &record, error));
    start = cursor_offset(&record);
    GSYM_TRY(put_name(column, image, &record, error));
    GSYM_TRY(find_merged(&record, &info, error));
    *size_ret = cursor_offset(&record) - start;
    if (info.type == GSYM_INFO_MERGED_FUNCTIONS)
        GSYM_TRY(merged_functions_count(&info.payload, &merged_count, error));
    for (uint32_t i = 0; i < merged_count; ++i) {
        cursor child;
        GSYM_TRY(merged_functions_next(&info.payload, i, &child, error));
        GSYM_TRY(put_name(column, image, &child, error));
    }
    return GSYM_OK;
}

gsym_status gsym_image_names(const gsym_image *image, uint64_t *names, size_t capacity,
                             size_t *count_ret, gsym_error *error) {
    name_column column = {names, capacity, 0};
    uint64_t size = 0, record_bytes;
    for (uint32_t index = 0; index < image->header.num_addresses; ++index) {
        GSYM_TRY(put_names(&column, image, index, &record_bytes, error));
        size += record_bytes;
        if (size > image->size)
            return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(image, index),
                             "records lie over each other");
    }
    *count_ret = column.count;
    return GSYM_OK;
}
