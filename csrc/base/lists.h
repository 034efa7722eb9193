/* lists.h - growing arrays of the contract's records, filled with ARRAY_RESERVE. */
#ifndef GSYM_BASE_LISTS_H
#define GSYM_BASE_LISTS_H

#include "base/buffer.h"

typedef struct row_list {
    gsym_line_row *items;
    size_t count, capacity;
} row_list;

typedef struct range_list {
    gsym_range *items;
    size_t count, capacity;
} range_list;

#endif
