/* conversion.h - declare what the other files of this folder use of a conversion. */
#ifndef GSYM_SOURCES_CONVERSION_H
#define GSYM_SOURCES_CONVERSION_H

#include "base/system.h"
#include "create/creator.h"
#include "pdb/pdb.h"
#include "sources/debug_files.h"

gsym_creator *conversion_creator(gsym_conversion *conversion);
/* Return the files of a conversion, which owns them. */
debug_files *conversion_files(gsym_conversion *conversion);
/* Return the PDB whose modules are the units, or NULL. */
const gsym_pdb *conversion_pdb(const gsym_conversion *conversion, uint64_t *base_ret);
const dwarf_input *conversion_input(const gsym_conversion *conversion);
/* As gsym_conversion_scan(), and call `visit` with each root DIE. */
gsym_status conversion_scan_roots(gsym_conversion *conversion, const root_visit *visit,
                                  gsym_error *error);
/* As gsym_conversion_scan(), while another thread does the work beside it, which may use
 * the creator, what is known before the scan, and conversion_warnings(). */
gsym_status conversion_scan_beside(gsym_conversion *conversion, side_work *beside,
                                   gsym_error *error);
warning_list *conversion_warnings(gsym_conversion *conversion);
/* Set the limits for all units together; all files must be known. */
void conversion_set_budget(const gsym_conversion *conversion, dwarf_budget *budget);
/* Fail because a unit could not be read: say which limit is exceeded, or that memory ran
 * out. */
gsym_status conversion_fail_reading(const dwarf_budget *budget, gsym_error *error);

#endif
