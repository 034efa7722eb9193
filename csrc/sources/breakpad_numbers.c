/* breakpad_numbers.c - what the numbers of FILE and INLINE_ORIGIN records stand for. */
#include "sources/breakpad.h"

bool numbering_init(numbering *numbers) { return number_map_init(&numbers->others); }

void numbering_deinit(numbering *numbers) {
    free(numbers->entries.items);
    number_map_deinit(&numbers->others);
}

bool numbering_look_up(numbering *numbers, uint32_t number, uint32_t *entry_ret) {
    size_t count = numbers->entries.count;
    uint64_t entry;
    if (number_map_find(&numbers->others, number, &entry)) {
        *entry_ret = (uint32_t)entry;
        return true;
    }
    if (count == UINT32_MAX || !ARRAY_RESERVE(numbers->entries, 1)) return false;
    numbers->entries.items[numbers->entries.count++] = (numbered){NUMBER_UNDEFINED, number};
    *entry_ret = (uint32_t)count;
    if (number - numbers->entries.items[0].number == count) return true;
    return number_map_set(&numbers->others, number, count);
}
