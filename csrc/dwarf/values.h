/* values.h - read strings, addresses and references that attributes have as values. */
#ifndef GSYM_DWARF_VALUES_H
#define GSYM_DWARF_VALUES_H

#include "dwarf/unit.h"

dwarf_string dwarf_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw);
/* Return a string that may be long; its bytes are NULL if it is too long, see
 * cursor_name(). */
dwarf_string dwarf_long_string_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                                     uint64_t *left);
/* Return the file in whose .debug_str a string of this form has its offset, or NULL. */
const dwarf_input *dwarf_string_file(const dwarf_unit *unit, uint16_t form);
/* Return the name that the DIE at `die_offset` has as a value. A string that is too long,
 * or in a supplementary file that is missing, gives a warning and the empty string. */
dwarf_string dwarf_name_at(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t die_offset, warning_list *warnings);
static inline dwarf_string dwarf_name_value(const dwarf_unit *unit,
                                            const dwarf_fields *fields,
                                            enum dwarf_field field, uint64_t die_offset,
                                            warning_list *warnings) {
    return dwarf_name_at(unit, fields->form[field], fields->raw[field], die_offset,
                         warnings);
}
bool dwarf_address_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                         uint64_t *address_ret);
bool dwarf_address_index(const dwarf_unit *unit, uint64_t index, uint64_t *address_ret);
/* Find the offset of the DIE to which a value refers, with DWARF_SUPPLEMENTARY if that is
 * in the supplementary file. False if the form is not that of a reference to a DIE with
 * code. */
bool dwarf_reference_value(const dwarf_unit *unit, uint16_t form, uint64_t raw,
                           uint64_t *offset_ret);
static inline bool dwarf_is_address_form(uint16_t form) {
    return form == DW_FORM_addr || form == DW_FORM_addrx ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
           form == DW_FORM_GNU_addr_index || form == DW_FORM_LLVM_addrx_offset;
}

#endif
