/* call_list.c - keep a list of calls as columns. */
#include "code/calls.h"

bool calls_add(gsym_calls *calls, uint64_t address, unsigned size, bool has_line) {
    if (!LIST_RESERVE(calls->addresses, 1) || !LIST_RESERVE(calls->sizes, 1) ||
        !LIST_RESERVE(calls->lines, 1))
        return false;
    calls->addresses.items[calls->addresses.count++] = address;
    calls->sizes.items[calls->sizes.count++] = (uint8_t)size;
    calls->lines.items[calls->lines.count++] = has_line;
    return true;
}

void gsym_calls_columns(const gsym_calls *calls, gsym_call_columns *columns_ret) {
    *columns_ret = calls->counts;
    columns_ret->count = calls->addresses.count;
    columns_ret->address = calls->addresses.items;
    columns_ret->size = calls->sizes.items;
    columns_ret->has_line = calls->lines.items;
}

void gsym_calls_destroy(gsym_calls *calls) {
    if (calls == NULL) return;
    free(calls->addresses.items);
    free(calls->sizes.items);
    free(calls->lines.items);
    free(calls);
}
