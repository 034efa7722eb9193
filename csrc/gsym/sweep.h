/* sweep.h - find the frames at many addresses in ascending order, and keep them in the
 * order of the request. */
#ifndef GSYM_GSYM_SWEEP_H
#define GSYM_GSYM_SWEEP_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/sort.h"
#include "gsym/image.h"

/* The frames at ascending addresses of one function. */

typedef struct function_sweep {
    const gsym_image *image;
    bool llvm; /* use the rules of LLVM */
    uint32_t entry;
    uint64_t start;
    uint64_t name;
    const function_index *index; /* NULL: the function is small */
    function_index opened;       /* what `index` points to */
    index_encoder encoder;
    buffer made;                 /* its bytes if it was made for this sweep alone */
    bool has_lines;
    line_sweep lines;
    cursor calls;        /* the payload; all zero: there is none */
    uint64_t address;    /* to which the frames belong */
    uint64_t until;      /* the frames, except for the row, are the same for all addresses
                            from `address` up to, but not including, this one */
    gsym_frame *frames;  /* innermost first; kept from function to function */
    size_t frame_count, frame_capacity;
} function_sweep;

/* Where the frames of one address are. */
typedef struct found_frames {
    size_t first;
    uint32_t count; /* 0: there is no function */
    uint32_t entry;
} found_frames;

/* found_frames.count of an address that has to be looked up separately: its record is
 * damaged, the answer has more than frames or, by LLVM's rules, is an error. */
#define FRAMES_UNKNOWN UINT32_MAX

typedef struct address_sweep {
    bool llvm; /* use the rules of LLVM */
    /* Skip functions with call sites; frames cannot represent them. */
    bool frames_only;
    size_t frame_limit; /* the sweep stops when it has so many frames; 0: it does not */
    size_t capacity;    /* number of addresses for which there is room */
    numbered_address *order; /* 2 * capacity items, as address_order() needs */
    found_frames *found;   /* results, by the number of the address */
    LIST(gsym_frame) frames;
    function_sweep function;
    uint64_t single_below; /* addresses below it are looked up one by one */
    /* The image is a mapped file: the system may drop pages of passed records, as it can
     * read them again. */
    bool releases_pages;
    uint64_t released; /* offset of the record at which pages were last dropped */
} address_sweep;

/* Make room for `count` addresses. */
bool address_sweep_reserve(address_sweep *sweep, size_t count);
/* Forget all frames, set the first `count` results to FRAMES_UNKNOWN, and return the first
 * `sought` items of `order`, sorted by address. */
numbered_address *address_sweep_begin(address_sweep *sweep, uint32_t count,
                                      uint32_t sought);
/* Find the frames at ascending addresses of one image. */
gsym_status address_sweep_find(address_sweep *sweep, const gsym_image *image,
                               const numbered_address *addresses, size_t count,
                               gsym_error *error);
void address_sweep_deinit(address_sweep *sweep);

#endif
