/* image_search.c - find the entry of an address, and the record of an entry. */
#include <inttypes.h>

#include "gsym/image.h"

uint64_t image_record_offset(const gsym_image *image, uint32_t index) {
    const uint8_t *at = image->addr_info_offsets + (size_t)index * image->strp_size;
    return image->record_base + image_strp(image, at);
}

gsym_status image_record(const gsym_image *image, uint32_t index, cursor *record_ret,
                         gsym_error *error) {
    uint64_t offset = image_record_offset(image, index);
    if (offset < image->record_base || offset >= image->record_end)
        return gsym_fail(error, GSYM_E_FORMAT,
                         image->header.addr_info_offsets_offset +
                             (uint64_t)index * image->strp_size,
                         "invalid address info offset 0x%" PRIx64, offset);
    *record_ret = cursor_at(image->data, (size_t)image->record_end, offset,
                            image->header.big_endian);
    return GSYM_OK;
}

gsym_status gsym_image_entry(const gsym_image *image, uint32_t index,
                             uint64_t *address_ret, uint64_t *record_offset_ret,
                             gsym_error *error) {
    if (index >= image->header.num_addresses)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "invalid address index %" PRIu32,
                         index);
    *address_ret = image->header.base_address + image_addr_offset(image, index);
    *record_offset_ret = image_record_offset(image, index);
    return GSYM_OK;
}

/* Load an entry of a table. Where speed matters, callers pass constants as width and byte
 * order. */
static inline uint64_t load_entry(const uint8_t *table, size_t index, unsigned width,
                                  bool swap) {
    const uint8_t *at = table + index * width;
    switch (width) {
        case 1: return *at;
        case 2: return cursor_load16(at, swap);
        case 4: return cursor_load32(at, swap);
        default: return cursor_load64(at, swap);
    }
}

/* Find the last of `left` > 0 entries from `first` on that is at most `offset`; the first
 * if none is. The binary search has no branch on the values, of which the processor would
 * mispredict every second one. */
static inline __attribute__((always_inline)) size_t
bisect(const uint8_t *table, size_t first, size_t left, uint64_t offset, unsigned width,
       bool swap) {
    const uint8_t *at = table + first * width;
    while (left > 1) {
        size_t half = left / 2;
        const uint8_t *middle = at + half * width;
        at = load_entry(middle, 0, width, swap) <= offset ? middle : at;
        left -= half;
    }
    return (size_t)(at - table) / width;
}

/* Search the address table for the greatest entry that is at most `offset`, and of several
 * equal ones for the first. The starts in the index tell the page that has it, so that a
 * first lookup reads no other one; if they are not true, the whole table is searched. */
static inline __attribute__((always_inline)) bool
search_table(const gsym_image *image, uint64_t offset, unsigned width, bool swap,
             uint32_t *index_ret) {
    const uint8_t *table = image->addr_offsets;
    const size_t spacing = INDEX_STARTS_SPACING / width;
    size_t count = image->header.num_addresses, first = 0, left = count, low;
    uint64_t found;
    if (count == 0) return false;
    if (image->index.starts_count != 0) {
        first = bisect(image->index.starts, 0, image->index.starts_count, offset, width,
                       swap) *
                spacing;
        left = count - first < spacing ? count - first : spacing;
    }
    for (;;) {
        low = bisect(table, first, left, offset, width, swap);
        found = load_entry(table, low, width, swap);
        if (left == count ||
            (found <= offset && (low + 1 < first + left || low + 1 == count ||
                                 load_entry(table, low + 1, width, swap) > offset)))
            break;
        first = 0;
        left = count;
    }
    if (found > offset) return false;
    while (low > 0 && load_entry(table, low - 1, width, swap) == found) low--;
    *index_ret = (uint32_t)low;
    return true;
}

/* Find the entry with the greatest start that is at most base_address + `offset`; of
 * several with this start, find the first. Return false if every entry starts later. In an
 * unsorted table, any entry that starts at or below the offset may be found, or none. */
static inline __attribute__((always_inline)) bool
search_starts(const gsym_image *image, uint64_t offset, uint32_t *index_ret) {
    bool swap = image->swap;
    switch (image->header.addr_off_size) {
        case 1: return search_table(image, offset, 1, false, index_ret);
        case 2:
            return swap ? search_table(image, offset, 2, true, index_ret)
                        : search_table(image, offset, 2, false, index_ret);
        case 4:
            return swap ? search_table(image, offset, 4, true, index_ret)
                        : search_table(image, offset, 4, false, index_ret);
        default:
            return swap ? search_table(image, offset, 8, true, index_ret)
                        : search_table(image, offset, 8, false, index_ret);
    }
}

uint64_t image_addr_offset(const gsym_image *image, uint32_t index) {
    return load_entry(image->addr_offsets, index, image->header.addr_off_size,
                      image->swap);
}

uint32_t gsym_image_entries(const gsym_image *image, uint64_t address,
                            uint32_t *first_ret) {
    uint64_t offset = address - image->header.base_address, start;
    uint32_t end;
    *first_ret = 0;
    if (address < image->header.base_address || !search_starts(image, offset, first_ret))
        return 0;
    start = image_addr_offset(image, *first_ret);
    for (end = *first_ret + 1; end < image->header.num_addresses; ++end)
        if (image_addr_offset(image, end) != start) break;
    return end - *first_ret;
}

gsym_status image_find(const gsym_image *image, uint64_t address, uint32_t *entry_ret,
                       cursor *record_ret, bool *found_ret, gsym_error *error) {
    uint64_t offset = address - image->header.base_address;
    uint64_t start;
    uint32_t entry;
    *found_ret = false;
    if (address < image->header.base_address || !search_starts(image, offset, &entry))
        return GSYM_OK;
    start = image_addr_offset(image, entry);
    for (; entry < image->header.num_addresses; ++entry) {
        cursor peek;
        if (image_addr_offset(image, entry) != start) return GSYM_OK;
        GSYM_TRY(image_record(image, entry, record_ret, error));
        peek = *record_ret;
        if (image_covers(start, cursor_u32(&peek), offset)) {
            *entry_ret = entry;
            *found_ret = true;
            return GSYM_OK;
        }
    }
    return GSYM_OK;
}
