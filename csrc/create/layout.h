/* layout.h - sizes in a file that layout.c makes and segment.c foresees. */
#ifndef GSYM_CREATE_LAYOUT_H
#define GSYM_CREATE_LAYOUT_H

#include <stdint.h>

enum { FUNCTION_INFO_ALIGNMENT = 4 };

static inline uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Bytes of an address offset in a table whose last one is `greatest`. */
static inline unsigned addr_off_size(uint64_t greatest) {
    if (greatest <= UINT8_MAX) return 1;
    if (greatest <= UINT16_MAX) return 2;
    return greatest <= UINT32_MAX ? 4 : 8;
}

#endif
