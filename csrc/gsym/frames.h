/* frames.h - write the frames of a function at an address. */
#ifndef GSYM_GSYM_FRAMES_H
#define GSYM_GSYM_FRAMES_H

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
    uint32_t count; /* number of all frames, which may exceed `capacity` */
    uint32_t file; /* source position of the next frame */
    uint32_t line;
    uint64_t until; /* the calls are the same for all addresses from `address` up to, but
                       not including, this one */
    bool has_unknown_file; /* only by LLVM's rules: the file of a call is not in the file
                              table */
    uint32_t unknown_file; /* the file of the outermost such call, which LLVM reports */
} frame_list;

/* Put the frames of the function `name`. */
gsym_status frames_put(frame_list *list, uint64_t name, const function_calls *calls,
                       gsym_error *error);

#endif
