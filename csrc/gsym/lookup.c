/* lookup.c - address -> function, source line and inlined calls.
 *
 * One pass over the bytes of one record, with state only on the stack. If the file has an
 * index of a large record, the pass begins near the answer; other large records get an
 * index in memory when they are looked up again. With missing data, LLVM's rules
 * (GSYM_LOOKUP_LLVM) give no answer, ours an answer without file and line. */
#include <inttypes.h>

#include "gsym/lookup.h"

/* The calls of a function that are frames, and their data. */

static bool names_a_file(const gsym_image *image, uint32_t file, bool *in_table_ret) {
    uint64_t directory, basename;
    *in_table_ret = image_file(image, file, &directory, &basename);
    return *in_table_ret && (directory != 0 || basename != 0);
}

/* Whether a call is a frame; by LLVM's rules only if its file is known. */
static bool frame_shows(const gsym_image *image, bool llvm, const inline_match *match,
                        bool *in_table_ret) {
    *in_table_ret = true;
    /* The root is the function itself, unless it names a call. */
    if (!llvm && !match->is_root) return true;
    return names_a_file(image, match->call_file, in_table_ret);
}

static inline void put_call_frame(frame_list *list, uint64_t name, uint64_t offset,
                             bool is_inlined) {
    if (list->count < list->capacity)
        list->frames[list->count] = (gsym_frame){.name = name,
                                                 .offset = offset,
                                                 .file = list->file,
                                                 .line = list->line,
                                                 .inlined = is_inlined};
    ++list->count;
}

static inline void put_call(frame_list *list, const inline_match *call) {
    bool in_table, shows = frame_shows(list->image, list->llvm, call, &in_table);
    if (!in_table && list->llvm) {
        list->has_unknown_file = true;
        list->unknown_file = call->call_file;
    }
    if (!shows) return;
    put_call_frame(list, call->name, list->address - call->start, true);
    list->file = frame_file(list->image, call->call_file);
    list->line = call->call_line;
}

/* The call to begin with: LLVM shows none without a line. */
static const index_call *innermost_call(const function_index *index, uint64_t offset,
                                        bool llvm) {
    if (llvm && index->parts[GSYM_INFO_LINE_TABLE].size == 0) return NULL;
    return function_index_innermost(index, offset);
}

void frames_put_indexed(frame_list *list, const function_index *index) {
    uint64_t offset = list->address - list->start;
    const index_call *call = innermost_call(index, offset, list->llvm);
    for (; call != NULL; call = function_index_caller(index, call)) {
        inline_match match = {.name = call->name,
                              .start = list->start + call->start,
                              .call_file = call->call_file,
                              .call_line = call->call_line,
                              .is_root = call->parent == 0};
        put_call(list, &match);
    }
    put_call_frame(list, index->name, offset, false);
}

/* Likewise those of call `number` and of the calls around it, as far as the file has them
 * indexed, and that of the function `name`. `calls` is the payload. */
static void frames_put_stored(frame_list *list, const stored_index *index,
                              uint32_t number, const cursor *calls, uint64_t name) {
    call_node node;
    for (; stored_index_node(index, number, &node); number = node.parent) {
        inline_match match =
            inline_info_node(calls, list->image->strp_size, list->start, &node);
        put_call(list, &match);
    }
    put_call_frame(list, name, list->address - list->start, false);
}

/* The result of one pass over a record. */
typedef struct found_function {
    uint64_t size;
    uint64_t name;
    gsym_line_row row; /* file 0: no line */
    bool has_line_table;
    bool has_inlines;
    bool has_merged;
    cursor inlines;
    cursor merged;
    uint32_t regex_count;
    calls_checkpoint calls;      /* where the walk over its inlined calls begins */
    const stored_index *stored;  /* NULL: the file has none for the record */
    const function_index *index; /* NULL: the record was decoded */
} found_function;

typedef struct lookup_query {
    const gsym_image *image;
    uint64_t address; /* to look up */
    uint64_t start;   /* of the function */
    bool llvm;
    const gsym_lookup_room *room;
} lookup_query;

/* Frames in the order found, outermost first; the first `skip` are dropped. */
typedef struct frame_sink {
    gsym_frame *frames;
    size_t capacity;
    size_t skip;
    size_t count;
    gsym_frame outermost;
    bool has_unknown_file; /* both as in a frame_list */
    uint32_t unknown_file;
} frame_sink;

static inline void put_frame(frame_sink *sink, gsym_frame frame) {
    frame.inlined = sink->count != 0;
    frame.reserved = 0;
    if (sink->count == 0) sink->outermost = frame;
    if (sink->count >= sink->skip && sink->count - sink->skip < sink->capacity)
        sink->frames[sink->count - sink->skip] = frame;
    sink->count++;
}

/* LLVM reports the offset in the data it was decoding, in the text. */
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

/* ---- the record --------------------------------------------------------------- */

/* The index in a file may belong to another record. */
static bool has_stored_checkpoint(const lookup_query *query, const cursor *payload,
                                  const stored_index *stored,
                                  line_checkpoint *checkpoint_ret) {
    return stored != NULL && stored->line_table_size == cursor_left(payload) &&
           stored_index_line(stored, query->address - query->start, checkpoint_ret);
}

static gsym_status find_row(const lookup_query *query, const record_info *info,
                            found_function *function, gsym_error *error) {
    const cursor *payload = &info->payload;
    line_checkpoint stored;
    gsym_status status = GSYM_OK;
    if (function->index != NULL)
        line_table_find_after(
            payload,
            function_index_checkpoint(function->index, query->address - query->start),
            query->start, query->address, &function->row);
    else if (has_stored_checkpoint(query, payload, function->stored, &stored))
        line_table_find_after(payload, &stored, query->start, query->address,
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

static void find_calls(const lookup_query *query, const cursor *payload,
                       found_function *function) {
    function->has_inlines = true;
    function->inlines = *payload;
    if (function->stored == NULL ||
        function->stored->inline_info_size != cursor_left(payload) ||
        !stored_index_calls(function->stored, query->address - query->start,
                            &function->calls))
        function->calls = (calls_checkpoint){0, 0};
}

static gsym_status read_info(const lookup_query *query, record_info *info,
                             found_function *function, gsym_error *error) {
    gsym_status status;
    switch (info->type) {
        case GSYM_INFO_LINE_TABLE: return find_row(query, info, function, error);
        case GSYM_INFO_INLINE_INFO:
            find_calls(query, &info->payload, function);
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

static gsym_status read_record(const lookup_query *query, cursor *record,
                               found_function *function, gsym_error *error) {
    uint64_t base = cursor_offset(record);
    record_info info;
    gsym_status status =
        function_info_decode_head(record, query->image->strp_size, &function->size,
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

/* The same from the index of the record. */
static gsym_status read_indexed(const lookup_query *query, const cursor *record,
                                found_function *function, gsym_error *error) {
    const function_index *index = function->index;
    function->size = index->size;
    function->name = index->name;
    for (uint32_t type = GSYM_INFO_LINE_TABLE; type <= GSYM_INFO_CALL_SITES; ++type) {
        record_info info = {.type = type};
        if (index->parts[type].size == 0) continue;
        info.payload = function_index_payload(index, record, type);
        info.offset = cursor_offset(&info.payload);
        GSYM_TRY(read_info(query, &info, function, error));
    }
    return GSYM_OK;
}

/* ---- the frames ---------------------------------------------------------------- */

static gsym_status fail_file(const gsym_image *image, uint32_t file, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, image->header.file_table_offset,
                     "failed to extract file[%" PRIu32 "]", file);
}

/* From the root on, or below the call that the file's index begins with. */
static inline_walk begin_walk(const lookup_query *query, const found_function *function) {
    inline_walk walk = {.payload = function->inlines,
                        .address = query->address,
                        .base = query->start,
                        .strp_size = query->image->strp_size,
                        .is_root = true};
    call_node node;
    if (function->calls.node != 0 &&
        stored_index_node(function->stored, function->calls.node, &node)) {
        cursor_skip(&walk.payload, function->calls.at);
        walk.base += node.start;
        walk.is_root = false;
        walk.is_done = function->calls.at == 0;
    }
    return walk;
}

static gsym_status put_inline_frames(const lookup_query *query,
                                     const found_function *function,
                                     gsym_frame *innermost, frame_sink *sink,
                                     gsym_error *error) {
    const gsym_image *image = query->image;
    inline_walk walk = begin_walk(query, function);
    inline_match match;
    while (inline_walk_next(&walk, &match)) {
        bool in_table, shows = frame_shows(image, query->llvm, &match, &in_table);
        if (!in_table && query->llvm && !sink->has_unknown_file) {
            sink->has_unknown_file = true;
            sink->unknown_file = match.call_file;
        }
        if (!shows) continue;
        innermost->file = frame_file(image, match.call_file);
        innermost->line = match.call_line;
        put_frame(sink, *innermost);
        innermost->name = match.name;
        innermost->offset = query->address - match.start;
    }
    /* LLVM keeps the frames found so far if the tree ends early. */
    if (walk.payload.failed && !query->llvm)
        return gsym_fail(error, GSYM_E_FORMAT, cursor_offset(&walk.payload),
                         "InlineInfo data is truncated");
    return GSYM_OK;
}

static gsym_status check_row_file(const lookup_query *query,
                                  const found_function *function, gsym_error *error) {
    if (query->llvm && function->has_line_table &&
        function->row.file >= query->image->header.num_files)
        return fail_file(query->image, function->row.file, error);
    return GSYM_OK;
}

static bool shows_inlines(const lookup_query *query, const found_function *function) {
    return function->has_inlines && (function->has_line_table || !query->llvm);
}

static gsym_status put_frames(const lookup_query *query, const found_function *function,
                              frame_sink *sink, gsym_error *error) {
    gsym_frame innermost = {.name = function->name,
                            .offset = query->address - query->start};
    GSYM_TRY(check_row_file(query, function, error));
    if (shows_inlines(query, function))
        GSYM_TRY(put_inline_frames(query, function, &innermost, sink, error));
    innermost.file = frame_file(query->image, function->row.file);
    innermost.line = function->row.line;
    put_frame(sink, innermost);
    return GSYM_OK;
}

static void reverse(gsym_frame *frames, size_t count) {
    for (size_t i = 0; i + 1 < count - i; ++i) {
        gsym_frame frame = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }
}

static frame_list list_of(const lookup_query *query) {
    return (frame_list){.image = query->image,
                        .start = query->start,
                        .address = query->address,
                        .llvm = query->llvm,
                        .frames = query->room->frames,
                        .capacity = query->room->frame_capacity};
}

/* The frames around the result of a walk that began below a call. */
static void write_outer_frames(const lookup_query *query,
                               const found_function *function, frame_sink *inner) {
    frame_list list = list_of(query);
    list.count = (uint32_t)inner->count - 1; /* the outermost one is not named yet */
    list.file = inner->outermost.file;
    list.line = inner->outermost.line;
    frames_put_stored(&list, function->stored, function->calls.node, &function->inlines,
                      function->name);
    inner->count = list.count;
    if (!list.has_unknown_file) return;
    inner->has_unknown_file = true;
    inner->unknown_file = list.unknown_file;
}

/* Innermost first. If there are more frames than space, a second walk drops the outermost
 * ones. */
static gsym_status write_frames(const lookup_query *query, const found_function *function,
                                uint32_t *count_ret, gsym_error *error) {
    frame_sink sink = {.frames = query->room->frames,
                       .capacity = query->room->frame_capacity};
    GSYM_TRY(put_frames(query, function, &sink, error));
    if (GSYM_UNLIKELY(sink.count > sink.capacity)) {
        sink.skip = sink.count - sink.capacity;
        sink.count = 0;
        GSYM_TRY(put_frames(query, function, &sink, error));
    }
    reverse(sink.frames, sink.count - sink.skip);
    if (function->calls.node != 0 && shows_inlines(query, function))
        write_outer_frames(query, function, &sink);
    if (sink.has_unknown_file) return fail_file(query->image, sink.unknown_file, error);
    *count_ret = (uint32_t)sink.count;
    return GSYM_OK;
}

static gsym_status write_indexed_frames(const lookup_query *query,
                                        const found_function *function,
                                        uint32_t *count_ret, gsym_error *error) {
    frame_list list = list_of(query);
    GSYM_TRY(check_row_file(query, function, error));
    list.file = frame_file(query->image, function->row.file);
    list.line = function->row.line;
    frames_put_indexed(&list, function->index);
    if (list.has_unknown_file) return fail_file(query->image, list.unknown_file, error);
    *count_ret = list.count;
    return GSYM_OK;
}

/* LLVM's offsets have 32 bits. */
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
    stored_index stored;
    cursor record;
    bool found;
    GSYM_TRY(image_find(image, address, &answer.entry, &record, &found, error));
    *answer_ret = answer;
    if (!found) return GSYM_OK;
    query.start = image->header.base_address + image_addr_offset(image, answer.entry);
    function.index = index_cache_find(image->indexes, answer.entry);
    if (GSYM_UNLIKELY(function.index == NULL)) {
        if (index_section_find(&image->index, answer.entry, &stored))
            function.stored = &stored;
        else
            function.index = index_cache_get(image->indexes, answer.entry, &record,
                                             image->strp_size, false);
    }
    if (function.index != NULL)
        GSYM_TRY(read_indexed(&query, &record, &function, error));
    else
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
    if (function.index != NULL)
        GSYM_TRY(write_indexed_frames(&query, &function, &answer.frame_count, error));
    else
        GSYM_TRY(write_frames(&query, &function, &answer.frame_count, error));
    if (query.llvm) cut_offsets(query.room, answer.frame_count);
    *answer_ret = answer;
    return GSYM_OK;
}
