/* values.c - read strings, addresses and references that attributes have as values. */
#include "dwarf/values.h"

static dwarf_string section_string(const dwarf_input *input, gsym_debug_section which,
                                   uint64_t offset, uint64_t *left) {
    cursor c = dwarf_section(input, which, offset);
    dwarf_string string = {NULL, 0};
    string.bytes = cursor_name(&c, left, &string.size);
    return string;
}

static dwarf_string indexed_string(const dwarf_unit *unit, uint64_t index, uint64_t *left) {
    unsigned size = unit->str_offset_size;
    dwarf_string none = {"", 0};
    uint64_t offset;
    cursor c;
    if (__builtin_mul_overflow(index, size, &offset) ||
        __builtin_add_overflow(offset, unit->str_offsets_base, &offset))
        return none;
    c = dwarf_section(unit->input, GSYM_DEBUG_STR_OFFSETS, offset);
    offset = cursor_uint(&c, size);
    return c.failed ? none : section_string(unit->input, GSYM_DEBUG_STR, offset, left);
}

/* Find a string; its bytes are NULL if it is too long, see cursor_name(). */
static dwarf_string find_string(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                                uint64_t *left) {
    dwarf_string none = {"", 0};
    switch (form) {
        case DW_FORM_string: return section_string(unit->input, unit->section, raw, left);
        case DW_FORM_strp: return section_string(unit->input, GSYM_DEBUG_STR, raw, left);
        case DW_FORM_line_strp:
            return section_string(unit->input, GSYM_DEBUG_LINE_STR, raw, left);
        case DW_FORM_strp_sup:
        case DW_FORM_GNU_strp_alt:
            if (unit->input->supplementary == NULL) return none;
            return section_string(unit->input->supplementary, GSYM_DEBUG_STR, raw, left);
        case DW_FORM_strx:
        case DW_FORM_strx1:
        case DW_FORM_strx2:
        case DW_FORM_strx3:
        case DW_FORM_strx4:
        case DW_FORM_GNU_str_index: return indexed_string(unit, raw, left);
        default: return none;
    }
}

dwarf_string dwarf_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw) {
    dwarf_string string = find_string(unit, form, raw, NULL);
    return string.bytes == NULL ? (dwarf_string){"", 0} : string;
}

dwarf_string dwarf_long_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                                     uint64_t *left) {
    return find_string(unit, form, raw, left);
}

const dwarf_input *dwarf_string_file(const dwarf_unit *unit, uint16_t form) {
    if (GSYM_LIKELY(form == DW_FORM_strp)) return unit->input;
    if (form == DW_FORM_strp_sup || form == DW_FORM_GNU_strp_alt)
        return unit->input->supplementary;
    return NULL;
}

dwarf_string dwarf_name_at(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t die_offset, warning_list *warnings) {
    dwarf_string name;
    if (GSYM_UNLIKELY(form == DW_FORM_strp_sup || form == DW_FORM_GNU_strp_alt) &&
        unit->input->supplementary == NULL)
        dwarf_warn(warnings, GSYM_WARN_SUPPLEMENTARY_MISSING, die_offset, raw);
    name = find_string(unit, form, raw, unit->long_names);
    if (GSYM_LIKELY(name.bytes != NULL)) return name;
    dwarf_warn(warnings, GSYM_WARN_LIMIT, die_offset, raw);
    return (dwarf_string){"", 0};
}

bool dwarf_address_index(const dwarf_unit *unit, uint64_t index, uint64_t *address_ret) {
    unsigned size = unit->header->address_size;
    uint64_t offset;
    cursor c;
    if (__builtin_mul_overflow(index, size, &offset) ||
        __builtin_add_overflow(offset, unit->addr_base, &offset))
        return false;
    c = dwarf_section(unit->code, GSYM_DEBUG_ADDR, offset);
    *address_ret = cursor_uint(&c, size);
    return !c.failed;
}

bool dwarf_address_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                         uint64_t *address_ret) {
    *address_ret = raw;
    if (form == DW_FORM_addr) return true;
    if (form == DW_FORM_LLVM_addrx_offset) {
        bool is_known = dwarf_address_index(unit, raw >> 32, address_ret);
        *address_ret += (uint32_t)raw;
        return is_known;
    }
    return dwarf_is_address_form(form) && dwarf_address_index(unit, raw, address_ret);
}

bool dwarf_reference_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t *offset_ret) {
    uint64_t offset = raw, file_bit = unit->file_bit;
    switch (form) {
        case DW_FORM_ref1:
        case DW_FORM_ref2:
        case DW_FORM_ref4:
        case DW_FORM_ref8:
        case DW_FORM_ref_udata: offset = unit->header->offset + raw; break;
        case DW_FORM_ref_addr: break;
        case DW_FORM_ref_sup4:
        case DW_FORM_ref_sup8:
        case DW_FORM_GNU_ref_alt: file_bit = DWARF_SUPPLEMENTARY; break;
        default: return false; /* no form of references, or DW_FORM_ref_sig8 to a type
                                  unit, which has no code */
    }
    *offset_ret = (offset & ~DWARF_SUPPLEMENTARY) | file_bit;
    return true;
}
