/* list.c - allocate memory for lists, and join ranges. */
#include "base/list.h"
#include "base/sort.h"
#include "base/system.h"

bool array_reserve(void *items, size_t *capacity, size_t count, size_t item_size) {
    void *old, *grown;
    size_t wanted, bytes;
    memcpy(&old, items, sizeof old);
    wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < count) wanted = wanted > SIZE_MAX / 2 ? count : wanted * 2;
    if (__builtin_mul_overflow(wanted, item_size, &bytes)) return false;
    grown = realloc(old, bytes);
    if (grown == NULL) return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

void array_release(void *items, size_t size, size_t kept) {
    if (size > kept) pages_release((char *)items + kept, size - kept);
}

bool ranges_append(range_list *ranges, const range_list *more) {
    if (!LIST_RESERVE(*ranges, more->count + 1)) return false;
    if (more->count > 0)
        memcpy(ranges->items + ranges->count, more->items,
               more->count * sizeof *more->items);
    ranges->count += more->count;
    return true;
}

void ranges_join(range_list *ranges, size_t first) {
    gsym_range *items = ranges->items;
    bool is_joined = true;
    size_t kept = first;
    for (size_t i = first + 1; i < ranges->count; ++i)
        is_joined &= items[i].start > items[i - 1].end;
    if (is_joined) return;
    sort_by_u64(items + first, ranges->count - first, sizeof *items);
    for (size_t i = first + 1; i < ranges->count; ++i) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
    }
    ranges->count = kept + 1;
}
