/* unit_names.c - give the names of functions and calls of a unit their numbers. */
#include "sources/unit_joiner.h"

static const char *name_bytes(const unit_functions *result, const resolved_name *name) {
    return name->bytes != NULL ? name->bytes
                               : (const char *)result->arena.bytes + name->arena_offset;
}

/* Give a resolved name a number; NO_INDEX if it is empty. */
static bool add_name(unit_functions *result, const resolved_name *name,
                     uint32_t *index_ret) {
    *index_ret = NO_INDEX;
    if (name->size == 0) return true;
    if (result->names.count >= NO_INDEX || !LIST_RESERVE(result->names, 1)) return false;
    *index_ret = (uint32_t)result->names.count;
    result->names.items[result->names.count++] =
        (unit_name){*name, name->strp != 0
                               ? name->hash
                               : string_hash(name_bytes(result, name), name->size)};
    return true;
}

bool unit_name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                         uint32_t *index_ret) {
    resolved_name name;
    uint64_t known;
    *index_ret = NO_INDEX;
    if (origin == 0) return true;
    if (number_map_find(&joiner->name_map, origin, &known)) {
        *index_ret = (uint32_t)known;
        return true;
    }
    return dwarf_resolve_name(&joiner->resolver, origin, &name) &&
           add_name(result, &name, index_ret) &&
           number_map_set(&joiner->name_map, origin, *index_ret);
}

bool unit_name_of_function(unit_functions *result, unit_joiner *joiner,
                           const walk_function *function, uint32_t *index_ret) {
    resolved_name name;
    /* Functions may share the name of an origin, but not a name in their own DIE. */
    if (function->linkage_name.size == 0 && function->name.size == 0)
        return unit_name_of_origin(result, joiner, function->origin, index_ret);
    return dwarf_function_name(&joiner->resolver, function, &name) &&
           add_name(result, &name, index_ret);
}
