/* function_starts.h - read where functions start, by tables for unwinders and debuggers. */
#ifndef GSYM_CONTAINERS_FUNCTION_STARTS_H
#define GSYM_CONTAINERS_FUNCTION_STARTS_H

#include "containers/object.h"

typedef struct function_starts {
    const gsym_object *object;
    cursor entries;
    uint64_t base; /* what the numbers of the entries count from */
} function_starts;

/* Open .eh_frame_hdr of an ELF image, the unwind table of a 64-bit PE image, or
 * LC_FUNCTION_STARTS of a Mach-O file. Without one there are no starts. */
function_starts function_starts_open(const gsym_object *object);

/* Read the link-time address of the next start; *end is that of the end, or the start where
 * the table has none. Return false after the last one. */
bool function_starts_next(function_starts *starts, uint64_t *start, uint64_t *end);

#endif
