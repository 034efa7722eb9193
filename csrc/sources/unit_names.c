/* unit_names.c - give the names of functions and calls of a unit their numbers. */
#include "sources/unit_joiner.h"

static const char *name_bytes(const unit_functions *result, const resolved_name *name) {
    return name->bytes != NULL ? name->bytes
                               : (const char *)result->arena.bytes + name->arena_offset;
}

static uint64_t hash_of(const unit_functions *result, const resolved_name *name) {
    if (name->strp != 0) return name->hash;
    return name->size == 0 ? 0 : string_hash(name_bytes(result, name), name->size);
}

/* Give a resolved name a number; NO_INDEX if it is empty. */
static bool add_name(unit_functions *result, const resolved_name *name,
                     uint32_t *index_ret) {
    *index_ret = NO_INDEX;
    if (name->size == 0) return true;
    if (result->names.count >= NO_INDEX || !LIST_RESERVE(result->names, 1)) return false;
    *index_ret = (uint32_t)result->names.count;
    result->names.items[result->names.count++] = (unit_name){*name, hash_of(result, name)};
    return true;
}

/* A name that waits for unit_resolve_names() has its origin as its key, and no size. */
static bool is_waiting(const unit_name *name) {
    return name->text.size == 0 && name->text.key != 0;
}

bool unit_name_of_call(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                       uint32_t *index_ret) {
    uint64_t known;
    if (number_map_find(&joiner->name_map, origin, &known)) {
        *index_ret = (uint32_t)known;
        return true;
    }
    if (result->names.count >= NO_INDEX || !LIST_RESERVE(result->names, 1)) return false;
    *index_ret = (uint32_t)result->names.count;
    result->names.items[result->names.count++] = (unit_name){.text.key = origin};
    return number_map_set(&joiner->name_map, origin, *index_ret);
}

bool unit_name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                         uint32_t *index_ret) {
    unit_name *name;
    *index_ret = NO_INDEX;
    if (origin == 0) return true;
    if (!unit_name_of_call(result, joiner, origin, index_ret)) return false;
    name = &result->names.items[*index_ret];
    if (is_waiting(name)) {
        if (!dwarf_resolve_name(&joiner->resolver, origin, &name->text)) return false;
        name->hash = hash_of(result, &name->text);
    }
    if (name->text.size == 0) *index_ret = NO_INDEX;
    return true;
}

bool unit_resolve_names(unit_functions *result, unit_joiner *joiner) {
    unit_name *names = result->names.items, *waiting[NAMES_AT_ONCE];
    uint64_t origins[NAMES_AT_ONCE];
    resolved_name found[NAMES_AT_ONCE];
    for (size_t i = 0; i < result->names.count;) {
        size_t count = 0;
        for (; i < result->names.count && count < NAMES_AT_ONCE; ++i) {
            size_t ahead = i + NAMES_AT_ONCE;
            if (ahead < result->names.count && is_waiting(&names[ahead]))
                dwarf_unit_fetch(&joiner->unit, names[ahead].text.key);
            if (!is_waiting(&names[i])) continue;
            origins[count] = names[i].text.key;
            waiting[count++] = &names[i];
        }
        if (!dwarf_resolve_names(&joiner->resolver, origins, count, found)) return false;
        for (size_t j = 0; j < count; ++j)
            *waiting[j] = (unit_name){found[j], hash_of(result, &found[j])};
    }
    return true;
}

bool unit_name_of_function(unit_functions *result, unit_joiner *joiner,
                           const walk_function *function, uint32_t *index_ret) {
    resolved_name name;
    /* Functions may share the name of an origin, but not a name in their own DIE. */
    if (function->linkage_name_form == 0 && function->name_form == 0)
        return unit_name_of_origin(result, joiner, function->origin, index_ret);
    return dwarf_function_name(&joiner->resolver, function, &name) &&
           add_name(result, &name, index_ret);
}
