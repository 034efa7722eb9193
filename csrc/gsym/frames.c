/* frames.c - turn the inlined calls at an address into frames. */
#include "gsym/frames.h"

static bool names_a_file(const gsym_image *image, uint32_t file, bool *in_table_ret) {
    uint64_t directory, basename;
    *in_table_ret = image_file(image, file, &directory, &basename);
    return *in_table_ret && (directory != 0 || basename != 0);
}

/* Whether a call gives a frame; by LLVM's rules, only if its file is known. */
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

/* Begin at the root, or below the call that the checkpoint of the index names. */
static inline_walk begin_walk(const frame_list *list, const function_calls *calls) {
    const calls_checkpoint *from = &calls->from;
    size_t size = cursor_left(&calls->payload);
    uint64_t limit = (uint64_t)from->at + INDEX_CALLS_SPACING;
    inline_walk walk = {.payload = calls->payload,
                        .address = list->address,
                        .until = UINT64_MAX,
                        .base = list->start,
                        .strp_size = list->image->strp_size,
                        .is_root = true};
    call_node node;
    if (calls->payload.at == NULL) walk.is_done = true;
    if (calls->index == NULL) return walk;
    walk.until = list->start + from->end;
    if (limit < size) walk.min_left = size - (size_t)limit + 1;
    if (from->node != 0 && function_index_node(calls->index, from->node, &node)) {
        cursor_skip(&walk.payload, from->at);
        walk.base += node.start;
        walk.is_root = false;
        walk.is_done = from->at == 0;
    }
    return walk;
}

/* Put the calls of a walk, outermost first, without the first `skip`; each has the file and
 * the line of its call. Return the number of all calls. */
static size_t put_walk(frame_list *list, inline_walk *walk, size_t skip) {
    size_t count = 0;
    inline_match match;
    while (inline_walk_next(walk, &match)) {
        bool in_table, shows = frame_shows(list->image, list->llvm, &match, &in_table);
        if (!in_table && list->llvm && !list->has_unknown_file) {
            list->has_unknown_file = true;
            list->unknown_file = match.call_file;
        }
        if (!shows) continue;
        if (count >= skip && count - skip < list->capacity)
            list->frames[count - skip] =
                (gsym_frame){.name = match.name,
                             .offset = list->address - match.start,
                             .file = frame_file(list->image, match.call_file),
                             .line = match.call_line,
                             .inlined = true};
        ++count;
    }
    return count;
}

/* Reverse the frames, so that the innermost comes first. Each frame has the file and line
 * of its call, which belong to its caller: move them one frame outwards. */
static void reverse_frames(frame_list *list, size_t count) {
    for (size_t i = 0; i + 1 < count - i; ++i) {
        gsym_frame frame = list->frames[i];
        list->frames[i] = list->frames[count - 1 - i];
        list->frames[count - 1 - i] = frame;
    }
    for (size_t i = 0; i < count; ++i) {
        gsym_frame *frame = &list->frames[i];
        uint32_t call_file = frame->file, call_line = frame->line;
        frame->file = list->file;
        frame->line = list->line;
        list->file = call_file;
        list->line = call_line;
    }
}

gsym_status frames_put(frame_list *list, uint64_t name, const function_calls *calls,
                       gsym_error *error) {
    uint32_t number = calls->index == NULL ? 0 : calls->from.node;
    inline_walk walk;
    size_t skip = 0, count;
    call_node node;
    for (;;) {
        walk = begin_walk(list, calls);
        count = put_walk(list, &walk, skip);
        if (GSYM_LIKELY(count - skip <= list->capacity)) break;
        skip = count - list->capacity; /* walk again, without the outermost frames */
    }
    /* LLVM keeps the frames found so far if the tree ends early. */
    if (walk.payload.failed && !list->llvm)
        return gsym_fail(error, GSYM_E_FORMAT, cursor_offset(&walk.payload),
                         "InlineInfo data is truncated");
    list->until = walk.until;
    reverse_frames(list, count - skip);
    list->count = (uint32_t)count;
    for (; number != 0 && function_index_node(calls->index, number, &node);
         number = node.parent) {
        inline_match match = inline_info_node(&calls->payload, list->image->strp_size,
                                              list->start, &node);
        put_call(list, &match);
    }
    put_call_frame(list, name, list->address - list->start, false);
    return GSYM_OK;
}
