/* unit_files.h - the source files that a unit's functions name, as numbered paths. */
#ifndef GSYM_SOURCES_UNIT_FILES_H
#define GSYM_SOURCES_UNIT_FILES_H

#include "sources/unit_functions.h"

/* Forget the files of the previous unit. This and the functions below return false if
 * memory ran out or the budget is spent. */
bool unit_files_reset(unit_functions *result, unit_joiner *joiner);
/* Number the path of a DWARF file index that was not seen before. */
bool unit_files_add(unit_functions *result, unit_joiner *joiner, uint64_t file_index,
                    uint32_t *code_ret);
/* The code of the file that a declaration names. */
bool unit_files_of_declaration(unit_functions *result, unit_joiner *joiner,
                               const dwarf_declaration *declaration, uint32_t *code_ret);

/* The code of a DWARF file index of the unit's own line table. */
static inline bool unit_file_code(unit_functions *result, unit_joiner *joiner,
                                  uint64_t file_index, uint32_t *code_ret) {
    uint32_t *code;
    *code_ret = FILE_INVALID;
    if (file_index >= result->file_codes.count) return true;
    code = &result->file_codes.items[file_index];
    if (GSYM_UNLIKELY(*code == FILE_UNSEEN) &&
        !unit_files_add(result, joiner, file_index, code))
        return false;
    *code_ret = *code;
    return true;
}

#endif
