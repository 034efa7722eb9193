/* sort.h - sort items. */
#ifndef GSYM_BASE_SORT_H
#define GSYM_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an item comes before another. */
typedef bool sort_order(const void *left, const void *right, const void *context);

/* Sort `count` items of `size` bytes. Where neither of two items comes before the other,
 * they keep their order. False where memory ran out. */
bool sort_stable(void *items, size_t count, size_t size, sort_order *is_before,
                 const void *context);

/* Compare for qsort() or bsearch() items that begin with a uint64_t, by this number. */
int compare_first_u64(const void *left, const void *right);
/* Sort items of `size` bytes that begin with a uint64_t, by this number. */
void sort_by_u64(void *items, size_t count, size_t size);

typedef struct numbered_address {
    uint64_t address;
    uint32_t number; /* its index in the order of the caller */
} numbered_address;

/* Sort the `count` items at `room` by address; equal ones keep their order. `room` has
 * space for as many more after them. Return the sorted items, which are the first or the
 * second half of `room`. */
numbered_address *address_order(numbered_address *room, uint32_t count);

#endif
