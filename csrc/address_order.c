/* address_order.c - sort by the bits in which the addresses differ. */
#include "address_order.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 64 };

static void insert(placed_address *items, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i) {
        placed_address item = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1].address > item.address; --at) items[at] = items[at - 1];
        items[at] = item;
    }
}

const placed_address *address_order(placed_address *room, uint32_t count) {
    placed_address *items = room, *spare = room + count;
    uint64_t low = UINT64_MAX, high = 0;
    bool is_sorted = true;
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t address = items[i].address;
        if (address < high) is_sorted = false;
        if (address > high) high = address;
        if (address < low) low = address;
    }
    if (is_sorted) return items;
    if (count <= FEW) {
        insert(items, count);
        return items;
    }
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift != 0; shift += DIGIT_BITS) {
        uint32_t starts[DIGITS] = {0}, sum = 0;
        placed_address *sorted = spare;
        for (uint32_t i = 0; i < count; ++i)
            ++starts[((items[i].address - low) >> shift) & (DIGITS - 1)];
        for (uint32_t i = 0; i < DIGITS; ++i) {
            uint32_t start = sum;
            sum += starts[i];
            starts[i] = start;
        }
        for (uint32_t i = 0; i < count; ++i)
            sorted[starts[((items[i].address - low) >> shift) & (DIGITS - 1)]++] = items[i];
        spare = items;
        items = sorted;
    }
    return items;
}
