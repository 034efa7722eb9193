/* address_order.h - many addresses in ascending order. */
#ifndef GSYM_ADDRESS_ORDER_H
#define GSYM_ADDRESS_ORDER_H

#include "internal.h"

typedef struct placed_address {
    uint64_t address;
    uint32_t place; /* among those asked */
} placed_address;

/* The addresses ascending, equal ones in the order they were asked. The result stands in
 * either half of `room`, which holds twice as many. */
const placed_address *address_order(const uint64_t *addresses, uint32_t count,
                                    placed_address *room);

#endif
