/* symbol_starts.h - sizes for the symbols of a table that gives none.
 *
 * A function is taken to end where the next known place of its section starts. */
#ifndef GSYM_SYMBOL_STARTS_H
#define GSYM_SYMBOL_STARTS_H

#include "internal.h"

typedef struct symbol_starts {
    uint64_t *items;
    size_t count, capacity;
} symbol_starts;

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error);
/* Behind the last one added, in front of the first question. */
void symbol_starts_sort(symbol_starts *starts);
/* The first one above `address`, at the most `end`. */
uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end);

#endif
