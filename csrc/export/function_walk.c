/* function_walk.c - find the names that a record uses, and the addresses that it
 * answers. */
#include "export/function_walk.h"

bool function_walk_init(function_walk *walk, const gsym_image *image) {
    gsym_error error;
    *walk = (function_walk){.image = image};
    return gsym_record_create(&walk->record, &error) == GSYM_OK;
}

void function_walk_deinit(function_walk *walk) {
    gsym_record_destroy(walk->record);
}

static bool is_call(const gsym_image *image, bool is_root, uint32_t call_file) {
    uint64_t directory, basename;
    return !is_root || (image_file(image, call_file, &directory, &basename) &&
                        (directory != 0 || basename != 0));
}

bool function_walk_is_call(const gsym_image *image, const gsym_inline_node *node) {
    return is_call(image, node->depth == 0, node->call_file);
}

/* Count the bytes of a visited record and fail if there are too many: many entries may have
 * one large record. */
static gsym_status count_bytes(function_walk *walk, uint32_t index, uint64_t size,
                               gsym_error *error) {
    walk->visited_bytes += size;
    /* Each record is visited twice. */
    if (walk->visited_bytes / 2 <= walk->image->size) return GSYM_OK;
    return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(walk->image, index),
                     "records overlap");
}

static gsym_status collect_calls(const function_walk *walk, const record_info *calls,
                                 name_numbers *names, gsym_error *error) {
    inline_nodes nodes = {.payload = calls->payload,
                          .strp_size = walk->image->strp_size};
    inline_match call;
    while (inline_nodes_next(&nodes, &call))
        if (is_call(walk->image, call.is_root, call.call_file))
            name_numbers_add(names, call.name);
    if (nodes.payload.failed)
        return gsym_fail(error, GSYM_E_FORMAT, calls->offset, "the tree of calls is cut");
    return GSYM_OK;
}

static gsym_status collect(function_walk *walk, cursor *record, bool with_own,
                           name_numbers *names, gsym_error *error) {
    unsigned strp_size = walk->image->strp_size;
    uint64_t size, name;
    record_info info;
    GSYM_TRY(function_info_decode_head(record, strp_size, &size, &name, error));
    if (with_own) name_numbers_add(names, name);
    do {
        GSYM_TRY(function_info_next(record, &info, error));
        if (info.type != GSYM_INFO_INLINE_INFO) continue;
        GSYM_TRY(collect_calls(walk, &info, names, error));
    } while (info.type != GSYM_INFO_END_OF_LIST);
    return GSYM_OK;
}

gsym_status function_walk_names(function_walk *walk, uint32_t index, bool with_own,
                                name_numbers *names, gsym_error *error) {
    cursor record;
    uint64_t start;
    gsym_status status = image_record(walk->image, index, &record, error);
    if (status != GSYM_OK) return GSYM_OK;
    start = cursor_offset(&record);
    status = collect(walk, &record, with_own, names, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    return count_bytes(walk, index, cursor_offset(&record) - start, error);
}

/* Begin a group of entries with the start of entry `index`: find where the next entry
 * starts. */
static void begin_group(function_walk *walk, uint32_t index, uint64_t start) {
    uint32_t count = walk->image->header.num_addresses;
    uint32_t after = index + 1;
    while (after < count && image_addr_offset(walk->image, after) == start) after++;
    walk->limit = after < count ? image_addr_offset(walk->image, after) : UINT64_MAX;
    walk->answered = start;
    walk->are_several = after - index > 1;
}

/* Find the addresses for which a lookup returns a function. Of entries with the same start,
 * this is the first one that contains the address; the next start ends all of them.
 * *is_cut_ret is set if lookups return other functions for a part of this one. */
static answer_extent find_extent(const function_walk *walk, uint64_t start,
                                 const gsym_function *function, bool *is_cut_ret) {
    answer_extent extent = {walk->answered, UINT64_MAX};
    *is_cut_ret = false;
    if (function->size != 0 && function->size < UINT64_MAX - start)
        extent.end = start + function->size;
    if (extent.start >= extent.end) return extent;
    *is_cut_ret = extent.start != start ||
                  (function->size != 0 && extent.end > walk->limit);
    if (extent.end > walk->limit) extent.end = walk->limit;
    if (extent.start >= extent.end) *is_cut_ret = false;
    return extent;
}

/* Decode a record; the function is NULL if the record is damaged. */
static gsym_status decode(function_walk *walk, uint32_t index,
                          const gsym_function **function_ret, gsym_error *error) {
    uint64_t start = image_record_offset(walk->image, index);
    gsym_status status =
        gsym_record_decode(walk->record, walk->image, index, function_ret, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status == GSYM_OK)
        return count_bytes(walk, index, record_size(walk->record), error);
    *function_ret = NULL;
    return count_bytes(walk, index, error->offset > start ? error->offset - start : 0,
                       error);
}

gsym_status function_walk_visit(function_walk *walk, uint32_t index,
                                walked_function *walked_ret, gsym_walk_losses *losses,
                                gsym_error *error) {
    uint64_t start = image_addr_offset(walk->image, index);
    const gsym_function *function;
    answer_extent extent;
    bool is_cut;
    *walked_ret = (walked_function){0};
    if (index == 0 || image_addr_offset(walk->image, index - 1) != start)
        begin_group(walk, index, start);
    GSYM_TRY(decode(walk, index, &function, error));
    if (function == NULL) {
        losses->damaged++;
        return GSYM_OK;
    }
    extent = find_extent(walk, start, function, &is_cut);
    losses->functions_cut += is_cut;
    if (extent.start >= extent.end) {
        losses->functions_left_out++;
        return GSYM_OK;
    }
    losses->merged_left_out += function->merged_count;
    walk->answered = extent.end;
    *walked_ret = (walked_function){function, extent};
    return GSYM_OK;
}
