/* placement.h - addresses for the sections of a relocatable file. */
#ifndef GSYM_CONTAINERS_PLACEMENT_H
#define GSYM_CONTAINERS_PLACEMENT_H

#include "base/internal.h"

typedef struct placed_section {
    uint64_t address; /* 0: it has none yet */
    uint64_t size;
    uint64_t alignment; /* a power of two; else it has none */
    bool is_loaded;
    bool is_code;
} placed_section;

/* Give each loaded section without an address one behind the other: first those that hold
 * code, so that the first of them keeps the addresses which other tools use. They stand
 * behind those that have an address, where they would overlap. False if they do not fit
 * the address space; *culprit_ret is then the first that does not. */
bool place_sections(placed_section *sections, uint32_t count, bool is_64,
                    uint32_t *culprit_ret);

#endif
