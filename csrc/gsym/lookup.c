/* lookup.c - find the function, source line and inlined calls of an address.
 *
 * A lookup reads the bytes of one record once, with all state on the stack. The index of a
 * large function lets it begin near the answer. If data is missing, LLVM's rules
 * (GSYM_LOOKUP_LLVM) give no answer, and the usual rules an answer without file and
 * line. */
#include <inttypes.h>

#include "gsym/frames.h"

/* The result of one pass over a record. */
typedef struct found_function {
    uint64_t size;
    uint64_t name;
    gsym_line_row row; /* file 0: no line */
    bool has_line_table;
    bool has_merged;
    function_calls calls;
    cursor merged;
    uint32_t regex_count;
    const function_index *index; /* NULL: it has none */
} found_function;

typedef struct lookup_query {
    const gsym_image *image;
    uint64_t address; /* to look up */
    uint64_t start;   /* of the function */
    bool llvm;
    const gsym_lookup_room *room;
} lookup_query;

/* Fail; by LLVM's rules, the text of the error begins with the offset in the record. */
static gsym_status fail_in_data(const lookup_query *query, gsym_status status,
                                uint64_t base, gsym_error *error) {
    char what[GSYM_ERROR_TEXT_SIZE];
    if (!query->llvm || status != GSYM_E_FORMAT) return status;
    memcpy(what, error->what, sizeof what);
    return gsym_fail(error, status, error->offset, "0x%08" PRIx64 ": %s",
                     error->offset - base, what);
}

static gsym_status fail_truncated(const lookup_query *query, gsym_status status,
                                  gsym_error *error) {
    if (!query->llvm || status != GSYM_E_FORMAT) return status;
    return gsym_fail(error, status, error->offset, "FunctionInfo data is truncated");
}

enum { INFO_HEAD_SIZE = 8 }; /* type and length */

/* ---- the record --------------------------------------------------------------- */

static gsym_status find_row(const lookup_query *query, const record_info *info,
                            found_function *function, gsym_error *error) {
    const cursor *payload = &info->payload;
    line_checkpoint checkpoint;
    gsym_status status = GSYM_OK;
    if (function_index_line(function->index, payload, query->address - query->start,
                            &checkpoint))
        line_table_find_after(payload, &checkpoint, query->start, query->address,
                               &function->row);
    else
        status = line_table_find(payload, query->start, query->address, &function->row,
                                 error);
    if (GSYM_UNLIKELY(status != GSYM_OK))
        return fail_in_data(query, status, info->offset, error);
    function->has_line_table = true;
    if (query->llvm && function->row.file == 0)
        return gsym_fail(error, GSYM_E_FORMAT, info->offset,
                         "address 0x%" PRIx64 " is not in the line table",
                         query->address);
    return GSYM_OK;
}

static gsym_status read_info(const lookup_query *query, record_info *info,
                             found_function *function, gsym_error *error) {
    gsym_status status;
    switch (info->type) {
        case GSYM_INFO_LINE_TABLE: return find_row(query, info, function, error);
        case GSYM_INFO_INLINE_INFO:
            function->calls = function_index_calls(function->index, &info->payload,
                                                query->address - query->start);
            return GSYM_OK;
        case GSYM_INFO_MERGED_FUNCTIONS:
            function->has_merged = true;
            function->merged = info->payload;
            return GSYM_OK;
        case GSYM_INFO_CALL_SITES:
            status = call_sites_find(&info->payload, query->image->strp_size,
                                     query->address - query->start, query->room->regexes,
                                     query->room->regex_capacity, &function->regex_count,
                                     error);
            if (status == GSYM_OK) return GSYM_OK;
            return fail_in_data(query, status, info->offset, error);
        default: return GSYM_OK;
    }
}

/* Read the InfoType at the cursor, which must be `type` with `size` bytes, into *info_ret.
 * With a size of 0, the record has no such InfoType. False if something else is there. */
static inline bool enter_info(cursor *c, uint32_t type, uint64_t size,
                              record_info *info_ret) {
    info_ret->type = GSYM_INFO_END_OF_LIST;
    if (size == 0) return true;
    if (cursor_left(c) < INFO_HEAD_SIZE + size + INFO_HEAD_SIZE ||
        cursor_u32_unchecked(c) != type || cursor_u32_unchecked(c) != size)
        return false;
    info_ret->type = type;
    info_ret->offset = cursor_offset(c);
    info_ret->payload = *c;
    c->at += size;
    info_ret->payload.end = c->at;
    return true;
}

/* Find line table and calls directly, if the record has exactly the InfoTypes and sizes
 * that its index was made for, as nearly all have. */
static bool enter_indexed(const lookup_query *query, cursor c, found_function *function,
                          record_info *lines_ret, record_info *calls_ret) {
    const function_index *index = function->index;
    if (index == NULL) return false;
    function->size = cursor_u32(&c);
    function->name = cursor_strp(&c, query->image->strp_size);
    return function->name != 0 &&
           enter_info(&c, GSYM_INFO_LINE_TABLE, index->line_table_size, lines_ret) &&
           enter_info(&c, GSYM_INFO_INLINE_INFO, index->inline_info_size, calls_ret) &&
           cursor_u32(&c) == GSYM_INFO_END_OF_LIST && !c.failed;
}

static gsym_status read_record(const lookup_query *query, cursor *record,
                               found_function *function, gsym_error *error) {
    uint64_t base = cursor_offset(record);
    record_info lines, calls, info;
    gsym_status status;
    if (enter_indexed(query, *record, function, &lines, &calls)) {
        if (lines.type != GSYM_INFO_END_OF_LIST)
            GSYM_TRY(find_row(query, &lines, function, error));
        if (calls.type != GSYM_INFO_END_OF_LIST)
            function->calls = function_index_calls(function->index, &calls.payload,
                                                   query->address - query->start);
        return GSYM_OK;
    }
    status = function_info_decode_head(record, query->image->strp_size, &function->size,
                                       &function->name, error);
    if (GSYM_UNLIKELY(status != GSYM_OK))
        return record->failed ? fail_truncated(query, status, error)
                              : fail_in_data(query, status, base, error);
    do {
        status = function_info_next(record, &info, error);
        if (GSYM_UNLIKELY(status != GSYM_OK)) return fail_truncated(query, status, error);
        GSYM_TRY(read_info(query, &info, function, error));
    } while (info.type != GSYM_INFO_END_OF_LIST);
    return GSYM_OK;
}

/* ---- the frames ---------------------------------------------------------------- */

static gsym_status fail_file(const gsym_image *image, uint32_t file, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, image->header.file_table_offset,
                     "failed to extract file[%" PRIu32 "]", file);
}

static gsym_status write_frames(const lookup_query *query, const found_function *function,
                                uint32_t *count_ret, gsym_error *error) {
    static const function_calls no_calls = {.index = NULL};
    bool shows_calls = function->has_line_table || !query->llvm;
    frame_list list = {.image = query->image,
                       .start = query->start,
                       .address = query->address,
                       .llvm = query->llvm,
                       .frames = query->room->frames,
                       .capacity = query->room->frame_capacity,
                       .file = frame_file(query->image, function->row.file),
                       .line = function->row.line};
    if (query->llvm && function->has_line_table &&
        function->row.file >= query->image->header.num_files)
        return fail_file(query->image, function->row.file, error);
    GSYM_TRY(frames_put(&list, function->name,
                        shows_calls ? &function->calls : &no_calls, error));
    if (list.has_unknown_file) return fail_file(query->image, list.unknown_file, error);
    *count_ret = list.count;
    return GSYM_OK;
}

/* Reduce offsets to 32 bits, as LLVM does. */
static void cut_offsets(const gsym_lookup_room *room, size_t count) {
    for (size_t i = 0; i < count && i < room->frame_capacity; ++i)
        room->frames[i].offset = (uint32_t)room->frames[i].offset;
}

/* ---- from the address to the record ----------------------------------------------- */

/* Put record number `child` (from 1) of a MergedFunctionsInfo in place of its parent. */
static gsym_status enter_child(const lookup_query *query, uint32_t child, cursor *payload,
                               found_function *function, bool *found_ret,
                               gsym_error *error) {
    cursor record;
    for (uint32_t i = 0; i < child; ++i)
        GSYM_TRY(merged_functions_next(payload, i, &record, error));
    *function = (found_function){0};
    GSYM_TRY(read_record(query, &record, function, error));
    *found_ret = image_covers(query->start, function->size, query->address);
    return GSYM_OK;
}

gsym_status gsym_image_lookup(const gsym_image *image, uint64_t address, uint32_t child,
                              uint32_t flags, const gsym_lookup_room *room,
                              gsym_answer *answer_ret, gsym_error *error) {
    static const gsym_lookup_room no_room = {NULL, 0, NULL, 0};
    lookup_query query = {.image = image,
                          .address = address,
                          .llvm = (flags & GSYM_LOOKUP_LLVM) != 0,
                          .room = room == NULL ? &no_room : room};
    gsym_answer answer = {0};
    found_function function = {0};
    function_index index;
    cursor record;
    bool found;
    GSYM_TRY(image_find(image, address, &answer.entry, &record, &found, error));
    *answer_ret = answer;
    if (!found) return GSYM_OK;
    query.start = image->header.base_address + image_addr_offset(image, answer.entry);
    if (image_index(image, answer.entry, &record, &index)) function.index = &index;
    GSYM_TRY(read_record(&query, &record, &function, error));
    if (function.has_merged) {
        cursor merged = function.merged;
        GSYM_TRY(merged_functions_count(&merged, &answer.merged_count, error));
        if (child > 0 && child <= answer.merged_count)
            GSYM_TRY(enter_child(&query, child, &merged, &function, &found, error));
    }
    if (child > answer.merged_count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "invalid merged function %" PRIu32,
                         child);
    if (!found) return GSYM_OK;
    answer.function_address = query.start;
    answer.function_size = function.size;
    answer.function_name = function.name;
    answer.regex_count = function.regex_count;
    answer.found = 1;
    GSYM_TRY(write_frames(&query, &function, &answer.frame_count, error));
    if (query.llvm) cut_offsets(query.room, answer.frame_count);
    *answer_ret = answer;
    return GSYM_OK;
}
