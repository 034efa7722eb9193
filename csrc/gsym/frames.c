/* frames.c - which calls of a function are frames, and what they say. */
#include "gsym/frames.h"

static bool names_a_file(const gsym_image *image, uint32_t file, bool *in_table_ret) {
    uint64_t directory, basename;
    *in_table_ret = image_file(image, file, &directory, &basename);
    return *in_table_ret && (directory != 0 || basename != 0);
}

bool frame_shows(const gsym_image *image, bool llvm, const inline_match *match,
                 bool *in_table_ret) {
    *in_table_ret = true;
    /* The root stands for the function itself, unless it names a call. */
    if (!llvm && !match->is_root) return true;
    return names_a_file(image, match->call_file, in_table_ret);
}

static inline void put_frame(frame_list *list, uint64_t name, uint64_t offset,
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
    put_frame(list, call->name, list->address - call->start, true);
    list->file = frame_file(list->image, call->call_file);
    list->line = call->call_line;
}

/* The call to begin with: LLVM shows none where no line is known. */
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
    put_frame(list, index->name, offset, false);
}

void frames_put_stored(frame_list *list, const stored_index *index, uint32_t number,
                       const cursor *calls, uint64_t name) {
    call_node node;
    for (; stored_index_node(index, number, &node); number = node.parent) {
        inline_match match =
            inline_info_node(calls, list->image->strp_size, list->start, &node);
        put_call(list, &match);
    }
    put_frame(list, name, list->address - list->start, false);
}
