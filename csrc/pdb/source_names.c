/* source_names.c - find the names of source files in a PDB. */
#include "pdb/pdb.h"

const char *pdb_name_at(const gsym_pdb *pdb, uint32_t offset, size_t *size_ret) {
    cursor c = pdb->names;
    const char *name;
    cursor_skip(&c, offset);
    name = cursor_name(&c, NULL, size_ret);
    return name == NULL ? "" : name;
}
