/* package.h - find units by their signatures, in packages (.dwp) or among type units. */
#ifndef GSYM_DWARF_PACKAGE_H
#define GSYM_DWARF_PACKAGE_H

#include "dwarf/unit.h"

bool dwarf_is_package(const dwarf_input *input);
/* Find the unit of a dwo_id or type signature by an index, GSYM_DEBUG_CU_INDEX or
 * GSYM_DEBUG_TU_INDEX; the unit starts at the offset `from` or later. False if there is
 * none or the index is damaged. Before DWARF 5, a header has no dwo_id: the caller compares
 * that of the root DIE, and if it differs, searches for the next unit. */
bool dwarf_package_unit(const dwarf_input *input, gsym_debug_section index,
                        uint64_t signature, uint64_t from, dwarf_unit_header *header_ret);
/* Add the abbrev_key of each unit that an index names. False where memory ran out. */
bool dwarf_package_abbrevs(const dwarf_input *input, gsym_debug_section index,
                           offset_list *keys);
/* Find the type unit with a signature. Return false if no unit has it. */
bool dwarf_type_unit(const dwarf_input *input, uint64_t signature,
                     dwarf_unit_header *header_ret);

#endif
