/* frames.c - which calls of a function are frames, and what they say. */
#include "frames.h"

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

/* The call to begin with: LLVM shows none where no line is known. */
static const call_node *innermost_call(const function_index *index, uint64_t offset,
                                       bool llvm) {
    if (llvm && index->parts[GSYM_INFO_LINE_TABLE].size == 0) return NULL;
    return function_index_innermost(index, offset);
}

bool frames_from_index(const gsym_image *image, const function_index *index,
                       const cursor *record, uint64_t start, uint64_t address,
                       const gsym_line_row *row, bool llvm, gsym_frame *frames,
                       size_t capacity, uint32_t *count_ret, uint32_t *unknown_file_ret) {
    cursor calls = function_index_payload(index, record, GSYM_INFO_INLINE_INFO);
    const call_node *node = innermost_call(index, address - start, llvm);
    gsym_frame frame = {
        .file = frame_file(image, row->file), .line = row->line, .inlined = true};
    uint32_t count = 0;
    for (; node != NULL; node = function_index_caller(index, node)) {
        inline_match match = inline_info_node(&calls, image->strp_size, start, node);
        bool in_table, shows = frame_shows(image, llvm, &match, &in_table);
        if (!in_table && llvm) {
            *unknown_file_ret = match.call_file;
            return false;
        }
        if (!shows) continue;
        frame.name = match.name;
        frame.offset = address - match.start;
        if (count < capacity) frames[count] = frame;
        ++count;
        frame.file = frame_file(image, match.call_file);
        frame.line = match.call_line;
    }
    frame.name = index->name;
    frame.offset = address - start;
    frame.inlined = false;
    if (count < capacity) frames[count] = frame;
    *count_ret = count + 1;
    return true;
}
