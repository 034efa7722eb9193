/* lookup.h - write the frames of a function at an address. */
#ifndef GSYM_GSYM_LOOKUP_H
#define GSYM_GSYM_LOOKUP_H

#include "gsym/image.h"

/* Return a file of the table, 0 (no file) for one that is not in it. */
static inline uint32_t frame_file(const gsym_image *image, uint32_t file) {
    return file < image->header.num_files ? file : 0;
}

/* The frames at an address, innermost first, as many of them as there is room for. The
 * caller sets all members up to `capacity`, and `file` and `line` from the line table. */
typedef struct frame_list {
    const gsym_image *image;
    uint64_t start;   /* of the function */
    uint64_t address; /* that was asked for */
    bool llvm;
    gsym_frame *frames;
    size_t capacity;
    uint32_t count; /* of all frames; may exceed `capacity` */
    uint32_t file; /* of the frame that comes next */
    uint32_t line;
    uint64_t until; /* the calls are the same for all addresses from `address` to it */
    bool has_unknown_file; /* by LLVM's rules: a call names one outside the table */
    uint32_t unknown_file; /* of the outermost such call, as LLVM reports it */
} frame_list;

/* Put the frames of the function `name`. */
gsym_status frames_put(frame_list *list, uint64_t name, const function_calls *calls,
                       gsym_error *error);

#endif
