/* placement.c - addresses for the sections of a relocatable file. */
#include "containers/placement.h"

static bool wants_address(const placed_section *section) {
    return section->is_loaded && section->address == 0;
}

/* The extent of the sections that have an address. */
static gsym_range taken_range(const placed_section *sections, uint32_t count) {
    gsym_range range = {UINT64_MAX, 0};
    for (uint32_t i = 0; i < count; ++i) {
        const placed_section *section = &sections[i];
        uint64_t end;
        if (!section->is_loaded || section->address == 0 ||
            __builtin_add_overflow(section->address, section->size, &end))
            continue;
        if (section->address < range.start) range.start = section->address;
        if (end > range.end) range.end = end;
    }
    return range;
}

/* Lay the sections out from `start` on; unless `is_final`, only see how far they reach. */
static bool lay_out(placed_section *sections, uint32_t count, bool is_64, bool is_final,
                    uint64_t start, uint64_t *end_ret, uint32_t *culprit_ret) {
    uint64_t last = is_64 ? UINT64_MAX : UINT32_MAX, next = start;
    for (int is_code = 1; is_code >= 0; --is_code)
        for (uint32_t i = 0; i < count; ++i) {
            placed_section *section = &sections[i];
            uint64_t alignment = section->alignment, end;
            if (!wants_address(section) || section->is_code != is_code) continue;
            if (alignment == 0 || (alignment & (alignment - 1)) != 0) alignment = 1;
            *culprit_ret = i;
            if (__builtin_add_overflow(next, alignment - 1, &end) ||
                __builtin_add_overflow(end & ~(alignment - 1), section->size, &end) ||
                end > last)
                return false;
            next = end;
            if (is_final) section->address = end - section->size;
        }
    *end_ret = next;
    return true;
}

bool place_sections(placed_section *sections, uint32_t count, bool is_64,
                    uint32_t *culprit_ret) {
    gsym_range taken = taken_range(sections, count);
    uint64_t end;
    if (!lay_out(sections, count, is_64, false, 0, &end, culprit_ret)) return false;
    return lay_out(sections, count, is_64, true, end > taken.start ? taken.end : 0, &end,
                   culprit_ret);
}
