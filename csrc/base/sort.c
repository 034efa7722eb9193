/* sort.c - sort any items by merging, and addresses by the bits in which they differ (radix
 * sort). */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

/* Merge two sorted runs, left .. middle and middle .. end, of items of `size` bytes. */
static void merge(uint8_t *to, const uint8_t *left, const uint8_t *middle,
                  const uint8_t *end, size_t size, sort_order *is_before,
                  const void *context) {
    const uint8_t *right = middle;
    while (left < middle && right < end) {
        const uint8_t **next = is_before(right, left, context) ? &right : &left;
        memcpy(to, *next, size);
        *next += size;
        to += size;
    }
    memcpy(to, left, (size_t)(middle - left));
    memcpy(to + (middle - left), right, (size_t)(end - right));
}

static bool is_sorted(const uint8_t *items, size_t bytes, size_t size,
                      sort_order *is_before, const void *context) {
    for (size_t at = size; at < bytes; at += size)
        if (is_before(items + at, items + at - size, context)) return false;
    return true;
}

bool sort_stable(void *items, size_t count, size_t size, sort_order *is_before,
                 const void *context) {
    const size_t bytes = count * size;
    uint8_t *from = items, *to, *spare;
    if (is_sorted(items, bytes, size, is_before, context)) return true;
    spare = to = malloc(bytes);
    if (spare == NULL) return false;
    for (size_t width = size; width < bytes; width *= 2) {
        uint8_t *merged = to;
        for (size_t left = 0; left < bytes; left += 2 * width) {
            size_t middle = bytes - left < width ? bytes : left + width;
            size_t end = bytes - middle < width ? bytes : middle + width;
            merge(to + left, from + left, from + middle, from + end, size, is_before,
                  context);
        }
        to = from;
        from = merged;
    }
    if (from != items) memcpy(items, from, bytes);
    free(spare);
    return true;
}

int compare_first_u64(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

void sort_by_u64(void *items, size_t count, size_t size) {
    const uint8_t *bytes = items;
    for (size_t at = 1; at < count; ++at)
        if (compare_first_u64(bytes + (at - 1) * size, bytes + at * size) > 0) {
            qsort(items, count, size, compare_first_u64);
            return;
        }
}

/* ---- addresses ----------------------------------------------------------------- */

enum { MAX_DIGIT_BITS = 11, FEW = 32 };

static void insert(numbered_address *items, uint32_t count) {
    for (uint32_t i = 1; i < count; ++i) {
        numbered_address item = items[i];
        uint32_t at = i;
        for (; at > 0 && items[at - 1].address > item.address; --at)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Return the number of bits that one pass sorts by. Of the sizes with at most as many
 * values as there are items, take the smallest that needs the fewest passes. */
static unsigned digit_size(uint64_t difference, uint32_t count) {
    unsigned width = 64 - (unsigned)__builtin_clzll(difference | 1);
    unsigned max_bits = 31 - (unsigned)__builtin_clz(count), passes;
    if (max_bits > MAX_DIGIT_BITS) max_bits = MAX_DIGIT_BITS;
    passes = (width + max_bits - 1) / max_bits;
    return (width + passes - 1) / passes;
}

numbered_address *address_order(numbered_address *room, uint32_t count) {
    numbered_address *items = room, *spare = room + count;
    uint64_t low = UINT64_MAX, high = 0;
    bool is_sorted = true;
    unsigned digit_bits;
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
    digit_bits = digit_size(high - low, count);
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift != 0;
         shift += digit_bits) {
        uint32_t starts[1 << MAX_DIGIT_BITS], sum = 0, digits = UINT32_C(1) << digit_bits;
        numbered_address *sorted = spare;
        memset(starts, 0, digits * sizeof *starts);
        for (uint32_t i = 0; i < count; ++i)
            ++starts[((items[i].address - low) >> shift) & (digits - 1)];
        for (uint32_t i = 0; i < digits; ++i) {
            uint32_t start = sum;
            sum += starts[i];
            starts[i] = start;
        }
        for (uint32_t i = 0; i < count; ++i)
            sorted[starts[((items[i].address - low) >> shift) & (digits - 1)]++] = items[i];
        spare = items;
        items = sorted;
    }
    return items;
}
