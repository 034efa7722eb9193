/* go_values.h - pc-value tables: which value holds for which part of a function.
 *
 * Pairs of ULEB128: by how much the value differs from the one before (zig-zag; at first
 * it is -1), and for how many quanta of code it holds. A difference of 0 ends the table,
 * unless it stands at the start of the function. */
#ifndef GSYM_SOURCES_GO_VALUES_H
#define GSYM_SOURCES_GO_VALUES_H

#include "sources/go_pclntab.h"

typedef struct go_values {
    cursor c;
    unsigned quantum;
    uint64_t start; /* of what `value` holds for, from the start of the function */
    uint64_t end;
    int32_t value; /* -1: none */
} go_values;

/* In front of the first value of the table at `place`. */
static inline go_values go_values_at(const go_pclntab *table, uint32_t place) {
    go_values values = {table->values, table->quantum, 0, 0, -1};
    cursor_skip(&values.c, place);
    if (place == 0) values.c.at = values.c.end;
    return values;
}

/* Go on to the next value. False at the end of the table; where it is cut off, its cursor
 * has failed. */
static inline bool go_values_next(go_values *values) {
    uint32_t difference, count;
    if (cursor_left(&values->c) == 0) return false;
    difference = (uint32_t)cursor_uleb(&values->c);
    if (difference == 0 && values->end != 0) return false;
    count = (uint32_t)cursor_uleb(&values->c);
    values->value =
        (int32_t)((uint32_t)values->value + (difference >> 1 ^ (0u - (difference & 1))));
    values->start = values->end;
    values->end += (uint64_t)count * values->quantum;
    return !values->c.failed;
}

#endif
