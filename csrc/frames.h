/* frames.h - which calls of a function are frames, and what they say. */
#ifndef GSYM_FRAMES_H
#define GSYM_FRAMES_H

#include "image.h"

/* An unknown file counts as none. */
static inline uint32_t frame_file(const gsym_image *image, uint32_t file) {
    return file < image->header.num_files ? file : 0;
}

/* Whether a call is a frame; by LLVM's rules only where its file is known. */
bool frame_shows(const gsym_image *image, bool llvm, const inline_match *match,
                 bool *in_table_ret);

/* The frames at `address` of an indexed function at `start`, innermost first: as many as
 * there is room for, and how many there are. False by LLVM's rules where a call names a
 * file that the table does not have. */
bool frames_from_index(const gsym_image *image, const function_index *index,
                       const cursor *record, uint64_t start, uint64_t address,
                       const gsym_line_row *row, bool llvm, gsym_frame *frames,
                       size_t capacity, uint32_t *count_ret, uint32_t *unknown_file_ret);

#endif
