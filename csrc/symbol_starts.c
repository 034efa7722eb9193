/* symbol_starts.c - sizes for the symbols of a table that gives none. */
#include "symbol_starts.h"

#include "buffer.h"

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error) {
    if (!ARRAY_RESERVE(*starts, 1)) return gsym_fail_memory(error);
    starts->items[starts->count++] = address;
    return GSYM_OK;
}

static int compare_addresses(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void symbol_starts_sort(symbol_starts *starts) {
    if (starts->count > 1)
        qsort(starts->items, starts->count, sizeof *starts->items, compare_addresses);
}

uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end) {
    size_t low = 0, high = starts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->items[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < starts->count && starts->items[low] < end ? starts->items[low] : end;
}
