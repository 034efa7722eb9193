/* function_sweep.h - the frames at ascending addresses of one function. */
#ifndef GSYM_GSYM_FUNCTION_SWEEP_H
#define GSYM_GSYM_FUNCTION_SWEEP_H

#include "gsym/image.h"

typedef struct function_sweep {
    const gsym_image *image;
    bool llvm; /* by LLVM's rules */
    uint32_t entry;
    uint64_t start;
    const function_index *index;
    function_index *own_index; /* made for this sweep alone; else NULL */
    bool has_lines;
    line_sweep lines;
    uint32_t checkpoint; /* those at or below the address */
    uint32_t boundary;   /* likewise */
    uint64_t address;    /* that the frames are for */
    gsym_frame *frames;  /* innermost first; kept from function to function */
    size_t frame_count, frame_capacity;
} function_sweep;

/* Go on to the function of entry `entry`, whose record is at the cursor. False where the
 * record has to be decoded for each address. */
bool function_sweep_begin(function_sweep *sweep, const gsym_image *image, bool llvm,
                          uint32_t entry, const cursor *record);
/* Find the frames at an address of the function, not below the one before; none where
 * LLVM's rules give no answer. False where memory ran out. */
bool function_sweep_to(function_sweep *sweep, uint64_t address);
void function_sweep_deinit(function_sweep *sweep);

#endif
