/* pdb_names.c - give names of functions and inlined functions of a PDB their numbers in the
 * module. */
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

bool pdb_name_of_id(pdb_reader *reader, uint32_t id, uint32_t *name_ret) {
    unit_functions *result = reader->result;
    uint64_t key, index;
    const known_name *known;
    uint32_t global = id;
    unit_name name = {.text = {.arena_offset = result->arena.size}};
    *name_ret = NO_INDEX;
    if (number_map_find(&reader->names, id, &index)) {
        *name_ret = (uint32_t)index;
        return true;
    }
    if (pdb_is_import(id)) (void)pdb_import(reader->pdb, reader->imports, id, &global);
    /* Modules of C and of C++ may have an id in common. */
    key = name.text.key = (pdb_has_parameters(reader) ? UINT64_C(2) : 1) << 32 | global;
    known = known_names_slot(&reader->known, key);
    if (known->key == key) {
        name.text.strp = known->strp;
        name.text.size = known->size;
        name.hash = known->hash;
    } else {
        if (!pdb_put_function_id(&reader->namer, global, pdb_has_parameters(reader)))
            return false;
        name.text.size = result->arena.size - name.text.arena_offset;
    }
    if (name.text.size == 0)
        dwarf_warn(reader->warnings, GSYM_WARN_NO_NAME, reader->function.offset, id);
    if (!pdb_add_name(reader, &name, name_ret)) return false;
    return number_map_set(&reader->names, id, *name_ret);
}
