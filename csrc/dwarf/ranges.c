/* ranges.c - read the addresses of a DIE: low_pc and high_pc, range lists.
 *
 * Source: DWARF 5, sections 2.17 and 7.25; DWARF 4, section 2.17.3. */
#include "dwarf/ranges.h"
#include "dwarf/values.h"

bool dwarf_add_range(const dwarf_unit *unit, range_list *ranges, uint64_t start,
                     uint64_t end) {
    uint64_t isa_bit = start & unit->code->isa_bit, last = dwarf_max_address(unit);
    /* A range that ends after the last address of 16 or 32 bits has end 0. */
    if (end == 0 && start != 0 && last != UINT64_MAX && unit->code->text_count > 0 &&
        dwarf_in_text(unit->code, last))
        end = last + 1;
    /* The end has the bit of object_isa_bit(), too, unless it is a label between functions,
     * which has none. */
    return LIST_ADD(*ranges, (gsym_range){start - isa_bit, end - (end & isa_bit)});
}

/* Read a list of .debug_ranges, versions 2 to 4. */
static __attribute__((noinline)) bool
read_debug_ranges(const dwarf_unit *unit, uint64_t offset, uint64_t die_offset,
                  range_list *ranges, lists_read *read, warning_list *warnings) {
    unsigned size = unit->header->address_size;
    uint64_t mask = dwarf_max_address(unit), base = unit->low_pc;
    cursor c = dwarf_section(unit->code, GSYM_DEBUG_RANGES, offset);
    for (;;) {
        uint64_t start = cursor_uint(&c, size);
        uint64_t end = cursor_uint(&c, size);
        read->bytes += 2u * size;
        if (c.failed) {
            dwarf_warn(warnings, GSYM_WARN_RANGE_LIST, die_offset, offset);
            return true;
        }
        if (start == 0 && end == 0) return true;
        if (start == mask)
            base = end == 1 ? mask : end; /* an entry that sets the base; GNU ld writes
                                             base 1 for dropped code */
        else if (base < mask - 1 && start < mask - 1 && /* -1 and -2 mean dead code */
                 !dwarf_add_range(unit, ranges, (start + base) & mask, (end + base) & mask))
            return false;
    }
}

/* Read an index into .debug_addr and return the address; for an index out of range the
 * highest address, which means removed code. */
static inline uint64_t read_indexed_address(const dwarf_unit *unit, cursor *c,
                                            bool *is_known) {
    uint64_t address;
    if (dwarf_address_index(unit, cursor_uleb(c), &address)) return address;
    *is_known = false;
    return dwarf_max_address(unit);
}

/* Read the entries at `at` that are pairs of offsets, as most are. False where memory ran
 * out. */
static bool read_offset_pairs(const dwarf_unit *unit, cursor *at, uint64_t base,
                              range_list *ranges) {
    uint64_t mask = dwarf_max_address(unit), isa_bit = unit->code->isa_bit;
    cursor c = *at;
    while (cursor_left(&c) > 0 && cursor_peek_unchecked(&c, 0) == DW_RLE_offset_pair) {
        uint64_t start, end;
        c.at += 1;
        start = (base + cursor_uleb_2(&c)) & mask;
        end = (base + cursor_uleb_2(&c)) & mask;
        if (c.failed) break;
        if (start >= mask - 1 || base >= mask - 1) continue; /* removed code */
        if (GSYM_LIKELY(end != 0 && isa_bit == 0)
                ? !LIST_ADD(*ranges, (gsym_range){start, end})
                : !dwarf_add_range(unit, ranges, start, end))
            return false;
    }
    *at = c;
    return true;
}

static __attribute__((noinline)) bool
read_rnglist(const dwarf_unit *unit, uint64_t offset, uint64_t die_offset,
             range_list *ranges, lists_read *read, warning_list *warnings) {
    unsigned size = unit->header->address_size;
    uint64_t base = unit->low_pc, mask = dwarf_max_address(unit);
    cursor c = dwarf_section(unit->input, GSYM_DEBUG_RNGLISTS, offset);
    uint64_t start = cursor_offset(&c);
    bool is_known = true, is_end = false;
    while (!is_end) {
        gsym_range range = {mask, mask}; /* -1 and -2 mean removed code */
        if (!read_offset_pairs(unit, &c, base, ranges)) return false;
        switch (cursor_u8(&c)) {
            case DW_RLE_end_of_list: is_end = true; break;
            case DW_RLE_base_address: base = cursor_uint(&c, size); break;
            case DW_RLE_base_addressx:
                base = read_indexed_address(unit, &c, &is_known);
                break;
            case DW_RLE_start_end:
                range.start = cursor_uint(&c, size);
                range.end = cursor_uint(&c, size);
                break;
            case DW_RLE_start_length:
                range.start = cursor_uint(&c, size);
                range.end = (range.start + cursor_uleb(&c)) & mask;
                break;
            case DW_RLE_startx_endx:
                range.start = read_indexed_address(unit, &c, &is_known);
                range.end = read_indexed_address(unit, &c, &is_known);
                if (range.end == mask) range.start = mask;
                break;
            case DW_RLE_startx_length:
                range.start = read_indexed_address(unit, &c, &is_known);
                range.end = (range.start + cursor_uleb(&c)) & mask;
                break;
            default: c.failed = true; break;
        }
        is_end |= c.failed;
        if (!c.failed && range.start < mask - 1 &&
            !dwarf_add_range(unit, ranges, range.start, range.end))
            return false;
    }
    read->bytes += cursor_offset(&c) - start;
    read->end = cursor_offset(&c);
    if (c.failed || !is_known)
        dwarf_warn(warnings, GSYM_WARN_RANGE_LIST, die_offset, offset);
    return true;
}

/* Return the offset of list `index` in .debug_rnglists. */
static bool indexed_list(const dwarf_unit *unit, uint64_t index, uint64_t *offset_ret) {
    unsigned size = unit->rnglist_offset_size;
    uint64_t offset;
    cursor c;
    if (__builtin_mul_overflow(index, size, &offset) ||
        __builtin_add_overflow(offset, unit->rnglists_base, &offset))
        return false;
    c = dwarf_section(unit->input, GSYM_DEBUG_RNGLISTS, offset);
    *offset_ret = unit->rnglists_base + cursor_uint(&c, size);
    return !c.failed;
}

/* Read low_pc and high_pc of any forms. This and the readers of lists are not inlined, so
 * that dwarf_read_ranges() saves no registers for the usual forms. */
static __attribute__((noinline)) bool
read_bounds(const dwarf_unit *unit, const dwarf_fields *fields, uint64_t die_offset,
            range_list *ranges, warning_list *warnings) {
    uint16_t low_form = fields->form[FIELD_LOW_PC], form = fields->form[FIELD_HIGH_PC];
    uint64_t low = fields->raw[FIELD_LOW_PC], high = fields->raw[FIELD_HIGH_PC];
    bool known = dwarf_address_value(unit, low_form, low, &low);
    if (dwarf_is_address_form(form))
        known = dwarf_address_value(unit, form, high, &high) && known;
    else
        high += low; /* a constant counts from low_pc */
    if (known) return dwarf_add_range(unit, ranges, low, high & dwarf_max_address(unit));
    dwarf_warn(warnings, GSYM_WARN_RANGE_INVALID, die_offset, fields->raw[FIELD_LOW_PC]);
    return true;
}

bool dwarf_read_range_list(const dwarf_unit *unit, uint16_t form, uint64_t offset,
                           uint64_t die_offset, range_list *ranges, lists_read *read,
                           warning_list *warnings) {
    if (unit->header->version < 5)
        return read_debug_ranges(unit, unit->ranges_base + offset, die_offset, ranges, read,
                                 warnings);
    if (form != DW_FORM_rnglistx) {
        offset += unit->header->rnglists_start;
    } else if (!indexed_list(unit, offset, &offset)) {
        dwarf_warn(warnings, GSYM_WARN_RANGE_LIST, die_offset, offset);
        return true;
    }
    return read_rnglist(unit, offset, die_offset, ranges, read, warnings);
}

bool dwarf_read_ranges(const dwarf_unit *unit, const dwarf_fields *fields,
                       uint64_t die_offset, range_list *ranges, lists_read *read,
                       warning_list *warnings) {
    if (dwarf_has(fields, FIELD_LOW_PC) && dwarf_has(fields, FIELD_HIGH_PC)) {
        uint64_t low = fields->raw[FIELD_LOW_PC], high = low + fields->raw[FIELD_HIGH_PC];
        if (GSYM_UNLIKELY(fields->form[FIELD_LOW_PC] != DW_FORM_addr ||
                          dwarf_is_address_form(fields->form[FIELD_HIGH_PC])))
            return read_bounds(unit, fields, die_offset, ranges, warnings);
        return dwarf_add_range(unit, ranges, low, high & dwarf_max_address(unit));
    }
    return !dwarf_has(fields, FIELD_RANGES) ||
           dwarf_read_range_list(unit, fields->form[FIELD_RANGES],
                                 fields->raw[FIELD_RANGES], die_offset, ranges, read,
                                 warnings);
}

bool dwarf_unit_ranges(const dwarf_unit *unit, range_list *ranges, warning_list *warnings) {
    uint64_t root = unit->header->offset + unit->header->header_size;
    lists_read read = {0, 0};
    cursor c = dwarf_unit_cursor(unit, root);
    const abbrev *a = abbrev_find(unit->abbrevs, cursor_uleb(&c));
    dwarf_fields fields;
    if (a == NULL || !abbrev_read(unit->abbrevs, a, &c, &fields)) return true;
    return dwarf_read_ranges(unit, &fields, root, ranges, &read, warnings);
}
