/* record_check.c - check that records are complete, and that their strings and files
 * exist. */
#include "gsym/function_info.h"
#include "gsym/image.h"

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
