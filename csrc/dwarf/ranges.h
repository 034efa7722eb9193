/* ranges.h - read the address ranges of DIEs. */
#ifndef GSYM_DWARF_RANGES_H
#define GSYM_DWARF_RANGES_H

#include "dwarf/unit.h"

/* How much of the range lists was read. */
typedef struct lists_read {
    uint64_t bytes; /* size of all lists */
    uint64_t end;   /* end of those in .debug_rnglists */
} lists_read;

/* Append the ranges of a DIE as they are, including empty ones and those of dropped code.
 * What was read of range lists is added to *read. False where memory ran out; a damaged
 * list is a warning. */
bool dwarf_read_ranges(const dwarf_unit *unit, const dwarf_fields *fields,
                       uint64_t die_offset, range_list *ranges, lists_read *read,
                       warning_list *warnings);
/* Append the ranges of a list in the same way: DW_AT_ranges has this form and value. */
bool dwarf_read_range_list(const dwarf_unit *unit, uint16_t form, uint64_t offset,
                           uint64_t die_offset, range_list *ranges, lists_read *read,
                           warning_list *warnings);
/* Append a range, without the bit of object_isa_bit(). False where memory ran out. */
bool dwarf_add_range(const dwarf_unit *unit, range_list *ranges, uint64_t start,
                     uint64_t end);
/* Append the ranges of the root DIE; the cache with which the unit was opened must still
 * have its table. False where memory ran out. */
bool dwarf_unit_ranges(const dwarf_unit *unit, range_list *ranges, warning_list *warnings);

#endif
