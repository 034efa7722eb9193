/* relocations.c - apply relocations, and place the sections of relocatable files. */
#include "containers/relocations.h"

void relocation_target_init(relocation_target *target, const gsym_object_header *header) {
    size_t count;
    const relocation_type *types = relocation_types(header, &count);
    target->swap = (header->big_endian != 0) != CURSOR_HOST_BIG_ENDIAN;
    memset(target->types, 0, sizeof target->types);
    for (size_t i = 0; i < count; ++i) {
        relocation_type *type = &target->types[types[i].number];
        *type = types[i];
        if (type->bits == RELOCATION_WORD) type->bits = header->is_64 ? 64 : 32;
    }
}

static inline uint64_t load(const uint8_t *at, unsigned size, bool swap) {
    if (size == 4) return cursor_load32(at, swap);
    if (size == 8) return cursor_load64(at, swap);
    return cursor_load(at, size, swap);
}

static inline void store(uint8_t *at, unsigned size, uint64_t value, bool swap) {
    if (swap) value = __builtin_bswap64(value) >> (64 - 8 * size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value <<= 64 - 8 * size;
#endif
    if (size == 4)
        memcpy(at, &value, 4);
    else if (size == 8)
        memcpy(at, &value, 8);
    else
        memcpy(at, &value, size);
}

enum { ULEB128_SIZE_LIMIT = 16 }; /* bounds the work when many relocations change one long
                                     number */

/* Change a number in place without changing its size. */
static bool apply_uleb128(const relocation_target *target, uint64_t offset,
                          unsigned operation, uint64_t value) {
    cursor c = cursor_at(target->bytes, target->size, offset, false);
    uint64_t present;
    if (cursor_left(&c) > ULEB128_SIZE_LIMIT) c.end = c.at + ULEB128_SIZE_LIMIT;
    present = cursor_uleb(&c);
    if (c.failed) return false;
    if (operation == RELOCATION_ADD_ULEB128) value = present + value;
    if (operation == RELOCATION_SUBTRACT_ULEB128) value = present - value;
    for (uint8_t *at = target->bytes + offset; at < c.at; ++at, value >>= 7)
        *at = (uint8_t)((value & 0x7f) | (at + 1 < c.at ? 0x80 : 0));
    return true;
}

bool relocation_apply(const relocation_target *target, const relocation *r,
                      uint64_t symbol_value) {
    relocation_type type = target->types[r->number];
    unsigned size = (type.bits + 7u) / 8;
    uint64_t value = symbol_value + r->addend, mask, present;
    uint8_t *at;
    if (type.operation >= RELOCATION_SET_ULEB128)
        return apply_uleb128(target, r->offset, type.operation, value);
    mask = UINT64_MAX >> (64 - type.bits);
    if (r->offset > target->size || size > target->size - r->offset) return false;
    at = target->bytes + r->offset;
    present = load(at, size, target->swap);
    switch (type.operation) {
        case RELOCATION_RELATIVE: value -= target->address + r->offset; break;
        case RELOCATION_ADD: value += present; break;
        case RELOCATION_SUBTRACT: value = present - value; break;
        default: break;
    }
    if (!r->has_addend && type.operation <= RELOCATION_RELATIVE) value += present;
    store(at, size, (present & ~mask) | (value & mask), target->swap);
    return true;
}

static bool wants_address(const placed_section *section) {
    return section->is_loaded && section->address == 0;
}

/* Return the range from the first to the last section with an address. */
static gsym_range range_with_address(const placed_section *sections, uint32_t count) {
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

/* Give addresses from `start` on to the sections with code, or to those without code.
 * Unless `is_final`, only compute where they would end. */
static bool assign_addresses(placed_section *sections, uint32_t count, bool is_64,
                             bool is_code, bool is_final, uint64_t start, uint64_t *end_ret,
                             uint32_t *culprit_ret) {
    uint64_t last = is_64 ? UINT64_MAX : UINT32_MAX, next = start;
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
    gsym_range taken = range_with_address(sections, count);
    uint64_t start = 0, end;
    for (int is_code = 1; is_code >= 0; --is_code) {
        if (!assign_addresses(sections, count, is_64, is_code, false, start, &end,
                              culprit_ret))
            return false;
        if (start < taken.end && end > taken.start) start = taken.end;
        if (!assign_addresses(sections, count, is_64, is_code, true, start, &start,
                              culprit_ret))
            return false;
    }
    return true;
}
