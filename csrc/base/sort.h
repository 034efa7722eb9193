/* sort.h - sort addresses and remember where each one was. */
#ifndef GSYM_BASE_SORT_H
#define GSYM_BASE_SORT_H

#include <stdint.h>

typedef struct numbered_address {
    uint64_t address;
    uint32_t number; /* its index in the order of the caller */
} numbered_address;

/* Sort `count` items by address; equal ones keep their order. After the items, `room` has
 * free space for as many; the result is in either half of it. */
numbered_address *address_order(numbered_address *room, uint32_t count);

#endif
