/* function_info.c - encode and decode a record: the structure around the InfoTypes.
 *
 *     u32 size, strp name
 *     repeat: u32 InfoType, u32 InfoLength, InfoLength bytes
 *     u32 0, u32 0
 *
 * Merged functions (InfoType 3) are records inside a record, one level deep;
 * call sites (InfoType 4), which are short, are coded here as well. */
#include "gsym/function_info.h"

#include <inttypes.h>

void index_source_clear(index_source *source) {
    source->checkpoints.count = source->tree.nodes.count = 0;
    source->tree.locations.count = source->tree.ranges.count = 0;
    source->lines_size = source->calls_size = 0;
    source->is_far = false;
    source->names.size = 0;
}

void index_source_deinit(index_source *source) {
    free(source->checkpoints.items);
    call_tree_deinit(&source->tree);
    buffer_deinit(&source->names);
}

/* ---- encode ----------------------------------------------------------------- */

static size_t begin_info(buffer *out, uint32_t type) {
    buffer_put_u32(out, type);
    buffer_put_u32(out, 0);
    return out->size;
}

static gsym_status end_info(buffer *out, size_t start, const char *what,
                            gsym_error *error) {
    if (out->size - start > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "%s length is greater than UINT32_MAX",
                         what);
    buffer_patch_u32(out, start - 4, (uint32_t)(out->size - start));
    return GSYM_OK;
}

void call_sites_put(buffer *out, unsigned strp_size, const gsym_call_site *sites,
                    size_t count, const uint64_t *regexes) {
    for (size_t i = 0; i < count; ++i) {
        buffer_put_u64(out, sites[i].return_offset);
        buffer_put_u8(out, (uint8_t)sites[i].flags);
        buffer_put_u32(out, sites[i].regex_count);
        for (uint32_t j = 0; j < sites[i].regex_count; ++j)
            buffer_put_uint(out, regexes[sites[i].regex_first + j], strp_size);
    }
}

static gsym_status encode_call_sites(buffer *out, unsigned strp_size,
                                     const gsym_function *function, gsym_error *error) {
    size_t start = begin_info(out, GSYM_INFO_CALL_SITES);
    buffer_put_u32(out, (uint32_t)function->call_site_count);
    call_sites_put(out, strp_size, function->call_sites, function->call_site_count,
                   function->regexes);
    return end_info(out, start, "CallSites", error);
}

static int compare_extras(const void *left, const void *right) {
    const gsym_extra *a = *(const gsym_extra *const *)left;
    const gsym_extra *b = *(const gsym_extra *const *)right;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    return a < b ? -1 : a > b; /* both are in one array: equal types keep their order */
}

static gsym_status encode_extras(buffer *out, const gsym_function *function,
                                 gsym_error *error) {
    const gsym_extra **sorted;
    if (function->extra_count == 0) return GSYM_OK;
    sorted = malloc(function->extra_count * sizeof *sorted);
    if (sorted == NULL) return gsym_fail_memory(error);
    for (size_t i = 0; i < function->extra_count; ++i) {
        if (function->extras[i].type <= GSYM_INFO_CALL_SITES) {
            free(sorted);
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "InfoType %" PRIu32 " is not unknown: it has a meaning",
                             function->extras[i].type);
        }
        sorted[i] = &function->extras[i];
    }
    qsort(sorted, function->extra_count, sizeof *sorted, compare_extras);
    for (size_t i = 0; i < function->extra_count; ++i) {
        buffer_put_u32(out, sorted[i]->type);
        buffer_put_u32(out, sorted[i]->size);
        buffer_put(out, sorted[i]->data, sorted[i]->size);
    }
    free(sorted);
    return GSYM_OK;
}

/* Check that the last row is inside of the function. Then all rows are, because
 * line_table_encode() checks that they ascend. */
static gsym_status check_last_row(const gsym_function *function, gsym_error *error) {
    uint64_t last = function->rows[function->row_count - 1].address;
    if (function->size == 0 || last - function->address < function->size) return GSYM_OK;
    return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                     "the row at 0x%" PRIx64 " is outside of its function at 0x%" PRIx64
                     " of size 0x%" PRIx64,
                     last, function->address, function->size);
}

/* Append the InfoTypes of a record except merged functions. */
static gsym_status encode_own(buffer *out, unsigned strp_size,
                              const gsym_function *function, index_source *source,
                              gsym_error *error) {
    size_t start;
    if (function->name == 0)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "the function at 0x%" PRIx64 " has no name", function->address);
    if (function->size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "function at 0x%" PRIx64 " has size 0x%" PRIx64
                         " which does not fit 32 bits",
                         function->address, function->size);
    buffer_put_u32(out, (uint32_t)function->size);
    buffer_put_uint(out, function->name, strp_size);
    if (function->row_count != 0) {
        start = begin_info(out, GSYM_INFO_LINE_TABLE);
        GSYM_TRY(line_table_encode(out, function->address, function->rows,
                                   function->row_count,
                                   source == NULL || source->only_names ? NULL : source,
                                   error));
        GSYM_TRY(check_last_row(function, error));
        GSYM_TRY(end_info(out, start, "LineTable", error));
    }
    if (function->node_count != 0) {
        start = begin_info(out, GSYM_INFO_INLINE_INFO);
        GSYM_TRY(inline_info_encode(out, strp_size, function->address, function->nodes,
                                    function->node_count, function->ranges, source, error));
        GSYM_TRY(end_info(out, start, "InlineInfo", error));
    }
    return GSYM_OK;
}

static gsym_status encode_rest(buffer *out, unsigned strp_size,
                               const gsym_function *function, gsym_error *error) {
    if (function->call_site_count != 0)
        GSYM_TRY(encode_call_sites(out, strp_size, function, error));
    GSYM_TRY(encode_extras(out, function, error));
    buffer_put_u32(out, GSYM_INFO_END_OF_LIST);
    buffer_put_u32(out, 0);
    return out->failed ? gsym_fail_memory(error) : GSYM_OK;
}

static gsym_status encode_merged(buffer *out, unsigned strp_size,
                                 const gsym_function *function, gsym_error *error) {
    size_t start = begin_info(out, GSYM_INFO_MERGED_FUNCTIONS);
    buffer_put_u32(out, (uint32_t)function->merged_count);
    for (size_t i = 0; i < function->merged_count; ++i) {
        const gsym_function *child = &function->merged[i];
        size_t child_start;
        if (child->merged_count != 0)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "a merged function cannot hold merged functions");
        if (child->address != function->address)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "merged function at 0x%" PRIx64
                             " does not start where its parent does, at 0x%" PRIx64,
                             child->address, function->address);
        buffer_put_u32(out, 0);
        child_start = out->size;
        GSYM_TRY(encode_own(out, strp_size, child, NULL, error));
        GSYM_TRY(encode_rest(out, strp_size, child, error));
        GSYM_TRY(end_info(out, child_start, "merged FunctionInfo", error));
    }
    return end_info(out, start, "MergedFunctionsInfo", error);
}

gsym_status function_info_encode(buffer *out, unsigned strp_size,
                                 const gsym_function *function, index_source *source,
                                 gsym_error *error) {
    if (source != NULL) source->last_name = out->size;
    GSYM_TRY(encode_own(out, strp_size, function, source, error));
    if (function->merged_count != 0)
        GSYM_TRY(encode_merged(out, strp_size, function, error));
    return encode_rest(out, strp_size, function, error);
}

/* ---- decode ----------------------------------------------------------------- */

gsym_status function_info_decode_head(cursor *record, unsigned strp_size,
                                      uint64_t *size_ret, uint64_t *name_ret,
                                      gsym_error *error) {
    const uint8_t *at = record->at;
    *size_ret = cursor_u32(record);
    if (record->failed) return cursor_missing(record, at, "FunctionInfo Size", error);
    at = record->at;
    *name_ret = cursor_uint(record, strp_size);
    if (record->failed) return cursor_missing(record, at, "FunctionInfo Name", error);
    if (*name_ret == 0)
        return gsym_fail(error, GSYM_E_FORMAT, (uint64_t)(at - record->start),
                         "invalid FunctionInfo Name value 0x0");
    return GSYM_OK;
}

gsym_status function_info_next(cursor *record, record_info *info_ret, gsym_error *error) {
    const uint8_t *at = record->at;
    uint32_t size;
    info_ret->type = cursor_u32(record);
    if (record->failed)
        return cursor_missing(record, at, "FunctionInfo InfoType value", error);
    at = record->at;
    size = cursor_u32(record);
    if (record->failed)
        return cursor_missing(record, at, "FunctionInfo InfoType length", error);
    info_ret->offset = cursor_offset(record);
    info_ret->payload = *record;
    if (size > cursor_left(record))
        return gsym_fail(error, GSYM_E_FORMAT, info_ret->offset,
                         "missing FunctionInfo data for InfoType %" PRIu32,
                         info_ret->type);
    record->at += size;
    info_ret->payload.end = record->at;
    return GSYM_OK;
}

bool function_info_payloads(cursor *record, record_payloads *payloads_ret) {
    uint32_t last = GSYM_INFO_END_OF_LIST;
    cursor nothing = *record;
    record_info info;
    gsym_error ignored;
    nothing.end = nothing.at;
    for (size_t i = 0; i <= GSYM_INFO_CALL_SITES; ++i) payloads_ret->by_type[i] = nothing;
    for (;;) {
        if (function_info_next(record, &info, &ignored) != GSYM_OK) return false;
        if (info.type == GSYM_INFO_END_OF_LIST) return true;
        if (info.type > GSYM_INFO_CALL_SITES) continue;
        if (info.type <= last || cursor_left(&info.payload) == 0) return false;
        last = info.type;
        payloads_ret->by_type[info.type] = info.payload;
    }
}

/* Decode one call site without its patterns. */
static gsym_status decode_call_site(cursor *c, gsym_call_site *site, gsym_error *error) {
    const uint8_t *at = c->at;
    site->return_offset = cursor_u64(c);
    if (c->failed) return cursor_missing(c, at, "ReturnOffset", error);
    at = c->at;
    site->flags = cursor_u8(c);
    if (c->failed) return cursor_missing(c, at, "Flags", error);
    at = c->at;
    site->regex_count = cursor_u32(c);
    if (c->failed) return cursor_missing(c, at, "MatchRegex count", error);
    return GSYM_OK;
}

static gsym_status decode_call_site_count(cursor *c, uint32_t *count_ret,
                                          gsym_error *error) {
    const uint8_t *at = c->at;
    *count_ret = cursor_u32(c);
    if (c->failed) return cursor_missing(c, at, "CallSiteInfo count", error);
    return GSYM_OK;
}

static gsym_status decode_regex(cursor *c, unsigned strp_size, uint64_t *regex_ret,
                                gsym_error *error) {
    const uint8_t *at = c->at;
    *regex_ret = cursor_uint(c, strp_size);
    if (c->failed) return cursor_missing(c, at, "MatchRegex entry", error);
    return GSYM_OK;
}

gsym_status call_sites_decode(cursor *c, unsigned strp_size, call_site_list *call_sites,
                              regex_list *regexes, gsym_error *error) {
    size_t first_regex = regexes->count;
    uint32_t count;
    GSYM_TRY(decode_call_site_count(c, &count, error));
    for (uint32_t i = 0; i < count; ++i) {
        gsym_call_site site = {0};
        GSYM_TRY(decode_call_site(c, &site, error));
        site.regex_first = (uint32_t)(regexes->count - first_regex);
        for (uint32_t j = 0; j < site.regex_count; ++j) {
            uint64_t regex;
            GSYM_TRY(decode_regex(c, strp_size, &regex, error));
            if (!LIST_ADD(*regexes, regex)) return gsym_fail_memory(error);
        }
        if (!LIST_ADD(*call_sites, site)) return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

gsym_status call_sites_find(cursor *payload, unsigned strp_size, uint64_t return_offset,
                            uint64_t *regexes, size_t capacity, uint32_t *count_ret,
                            gsym_error *error) {
    uint32_t count;
    GSYM_TRY(decode_call_site_count(payload, &count, error));
    for (uint32_t i = 0; i < count; ++i) {
        gsym_call_site site;
        GSYM_TRY(decode_call_site(payload, &site, error));
        for (uint32_t j = 0; j < site.regex_count; ++j) {
            uint64_t regex;
            GSYM_TRY(decode_regex(payload, strp_size, &regex, error));
            if (site.return_offset == return_offset && j < capacity) regexes[j] = regex;
        }
        if (site.return_offset == return_offset) {
            *count_ret = site.regex_count;
            return GSYM_OK;
        }
    }
    *count_ret = 0;
    return GSYM_OK;
}

gsym_status merged_functions_count(cursor *payload, uint32_t *count_ret,
                                   gsym_error *error) {
    uint64_t at = cursor_offset(payload);
    *count_ret = cursor_u32(payload);
    if (payload->failed)
        return gsym_fail(error, GSYM_E_FORMAT, at, "unable to read the function count");
    return GSYM_OK;
}

gsym_status merged_functions_next(cursor *payload, uint32_t index, cursor *record_ret,
                                  gsym_error *error) {
    uint64_t at = cursor_offset(payload);
    uint32_t size = cursor_u32(payload);
    if (payload->failed)
        return gsym_fail(error, GSYM_E_FORMAT, at,
                         "unable to read size of function %" PRIu32, index);
    *record_ret = *payload;
    if (size > cursor_left(payload))
        return gsym_fail(error, GSYM_E_FORMAT, at + 4,
                         "function data is truncated for function %" PRIu32
                         ", expected size %" PRIu32,
                         index, size);
    payload->at += size;
    record_ret->end = payload->at;
    return GSYM_OK;
}

static gsym_status keep_extra(const record_info *info, extra_list *extras,
                              gsym_error *error) {
    if (!LIST_RESERVE(*extras, 1)) return gsym_fail_memory(error);
    extras->items[extras->count++] =
        (gsym_extra){info->type, (uint32_t)cursor_left(&info->payload), info->payload.at};
    return GSYM_OK;
}

/* A repeated known InfoType replaces the earlier one. */
gsym_status function_info_decode(cursor *record, unsigned strp_size, uint64_t start,
                                 function_parts *parts, gsym_function *function_ret,
                                 record_info *merged_ret, gsym_error *error) {
    gsym_function function = {.address = start};
    size_t rows = parts->rows.count, nodes = parts->nodes.count;
    size_t ranges = parts->ranges.count, call_sites = parts->call_sites.count;
    size_t regexes = parts->regexes.count, extras = parts->extras.count;
    record_info info;
    merged_ret->type = GSYM_INFO_END_OF_LIST;
    GSYM_TRY(function_info_decode_head(record, strp_size, &function.size, &function.name,
                                       error));
    do {
        GSYM_TRY(function_info_next(record, &info, error));
        switch (info.type) {
            case GSYM_INFO_END_OF_LIST: break;
            case GSYM_INFO_LINE_TABLE:
                parts->rows.count = rows;
                GSYM_TRY(line_table_decode(&info.payload, start, &parts->rows, error));
                break;
            case GSYM_INFO_INLINE_INFO:
                parts->nodes.count = nodes;
                parts->ranges.count = ranges;
                GSYM_TRY(inline_info_decode(&info.payload, strp_size, start, parts, error));
                break;
            case GSYM_INFO_MERGED_FUNCTIONS: *merged_ret = info; break;
            case GSYM_INFO_CALL_SITES:
                parts->call_sites.count = call_sites;
                parts->regexes.count = regexes;
                GSYM_TRY(call_sites_decode(&info.payload, strp_size, &parts->call_sites,
                                           &parts->regexes, error));
                break;
            default: GSYM_TRY(keep_extra(&info, &parts->extras, error));
        }
    } while (info.type != GSYM_INFO_END_OF_LIST);
    function.row_count = parts->rows.count - rows;
    function.node_count = parts->nodes.count - nodes;
    function.range_count = parts->ranges.count - ranges;
    function.call_site_count = parts->call_sites.count - call_sites;
    function.regex_count = parts->regexes.count - regexes;
    function.extra_count = parts->extras.count - extras;
    *function_ret = function;
    return GSYM_OK;
}
