/* symbol_starts.c - find the ends of symbols in a table without sizes. */
#include "base/sort.h"
#include "sources/symbols.h"

gsym_status symbol_starts_add(symbol_starts *starts, uint64_t address, gsym_error *error) {
    return LIST_ADD(*starts, address) ? GSYM_OK : gsym_fail_memory(error);
}

void symbol_starts_sort(symbol_starts *starts) {
    sort_by_u64(starts->items, starts->count, sizeof *starts->items);
}

uint64_t symbol_starts_after(const symbol_starts *starts, uint64_t address, uint64_t end) {
    size_t low = 0;
    SEARCH_SORTED(low, starts->count, starts->items[middle] <= address);
    return low < starts->count && starts->items[low] < end ? starts->items[low] : end;
}
