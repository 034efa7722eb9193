/* pdb_names.c - give names of functions in a PDB their numbers in the module. */
#include "sources/pdb_functions.h"

enum { LANGUAGE_CXX = 1 };

bool pdb_has_parameters(const pdb_reader *reader) {
    return reader->language == LANGUAGE_CXX;
}

bool pdb_add_name(pdb_reader *reader, unit_name *name, uint32_t *name_ret) {
    unit_functions *result = reader->result;
    *name_ret = NO_INDEX;
    if (name->text.size == 0 || result->names.count >= NO_INDEX) return true;
    if (name->text.strp == 0) {
        if (!dwarf_spend(&reader->budget->text, name->text.size)) return false;
        const char *text = (const char *)result->arena.bytes + name->text.arena_offset;
        name->hash = string_hash(text, name->text.size);
    }
    *name_ret = (uint32_t)result->names.count;
    return LIST_ADD(result->names, *name);
}
