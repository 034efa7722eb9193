/* sort.h - addresses in ascending order. */
#ifndef GSYM_BASE_SORT_H
#define GSYM_BASE_SORT_H

#include <stdint.h>

typedef struct numbered_address {
    uint64_t address;
    uint32_t number; /* among those asked */
} numbered_address;

/* Sort by address, equal ones as they stand. The result is in either half of `room`, which
 * holds `count` addresses and as much free space after them. */
numbered_address *address_order(numbered_address *room, uint32_t count);

#endif
