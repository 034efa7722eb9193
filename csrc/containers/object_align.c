/* object_align.c - find by how much a debug file is moved from its binary. */
#include "base/hash.h"
#include "base/list.h"
#include "containers/object.h"

typedef struct code_section {
    uint64_t hash; /* of the name */
    uint64_t size;
    uint64_t address;
    const char *name;
    size_t name_size;
} code_section;

typedef LIST(code_section) code_sections;

static int compare_code(const void *left, const void *right) {
    const code_section *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

static bool is_same_code(const code_section *a, const code_section *b) {
    return compare_code(a, b) == 0 && a->name_size == b->name_size &&
           memcmp(a->name, b->name, a->name_size) == 0;
}

/* List the sections with code, sorted by name and size; *extent_ret covers them all. */
static gsym_status list_code(const gsym_object *object, code_sections *list,
                             gsym_range *extent_ret, gsym_error *error) {
    *extent_ret = (gsym_range){UINT64_MAX, 0};
    for (uint32_t i = 0; i < object->header.section_count; ++i) {
        gsym_object_section section;
        uint64_t end;
        if (!object_code_section(object, i, &section)) continue;
        end = section.address + section.memory_size;
        if (!LIST_ADD(*list, ((code_section){string_hash(section.name, section.name_size),
                                             section.memory_size, section.address,
                                             section.name, section.name_size})))
            return gsym_fail_memory(error);
        if (section.address < extent_ret->start) extent_ret->start = section.address;
        if (end > extent_ret->end) extent_ret->end = end;
    }
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_code);
    return GSYM_OK;
}

typedef struct distances {
    uint64_t first;
    size_t count; /* of pairs */
    bool differ;
    bool has_zero;
} distances;

/* Return the number of sections from `index` on with the same name and size. */
static size_t equal_count(const code_sections *list, size_t index) {
    size_t end = index + 1;
    while (end < list->count && is_same_code(&list->items[index], &list->items[end])) ++end;
    return end - index;
}

static distances compare_sections(const code_sections *own, const code_sections *other) {
    distances found = {0};
    size_t i = 0, j = 0;
    while (i < own->count && j < other->count) {
        int order = compare_code(&own->items[i], &other->items[j]);
        size_t own_count, other_count;
        if (order != 0) {
            if (order < 0)
                ++i;
            else
                ++j;
            continue;
        }
        own_count = equal_count(own, i);
        other_count = equal_count(other, j);
        if (own_count == 1 && other_count == 1 &&
            is_same_code(&own->items[i], &other->items[j])) {
            uint64_t distance = other->items[j].address - own->items[i].address;
            if (found.count++ == 0) found.first = distance;
            found.differ |= distance != found.first;
            found.has_zero |= distance == 0;
        }
        i += own_count;
        j += other_count;
    }
    return found;
}

static gsym_status find_bias(const gsym_object *object, const gsym_object *binary,
                             code_sections *own, code_sections *other, uint64_t *bias_ret,
                             gsym_error *error) {
    gsym_range extent, binary_extent;
    distances found;
    GSYM_TRY(list_code(object, own, &extent, error));
    GSYM_TRY(list_code(binary, other, &binary_extent, error));
    found = compare_sections(own, other);
    *bias_ret = 0;
    /* One section at the same address is enough for distance 0: a tool that rewrites a
     * binary may move one section and leave the others. */
    if (found.has_zero) return GSYM_OK;
    if (found.differ)
        return gsym_fail(error, GSYM_E_FORMAT, 0,
                         "its sections are at other addresses than in the binary, by "
                         "different distances");
    *bias_ret = found.first;
    if (found.count > 0 || (object->format == binary->format &&
                            object->format->segment_distance != NULL &&
                            object->format->segment_distance(object, binary, bias_ret)))
        return GSYM_OK;
    if (own->count > 0 && other->count > 0 &&
        (extent.end <= binary_extent.start || extent.start >= binary_extent.end))
        return gsym_fail(error, GSYM_E_FORMAT, 0,
                         "its code is at 0x%llx-0x%llx, that of the binary at "
                         "0x%llx-0x%llx, and they have no section in common that would "
                         "tell the distance",
                         (unsigned long long)extent.start, (unsigned long long)extent.end,
                         (unsigned long long)binary_extent.start,
                         (unsigned long long)binary_extent.end);
    return GSYM_OK;
}

gsym_status gsym_object_align(gsym_object *object, const gsym_object *binary,
                              gsym_error *error) {
    code_sections own = {0}, other = {0};
    uint64_t bias = 0;
    gsym_status status = GSYM_OK;
    if (!object->header.is_relocatable && !binary->header.is_relocatable)
        status = find_bias(object, binary, &own, &other, &bias, error);
    free(own.items);
    free(other.items);
    if (status != GSYM_OK) return status;
    object->header.bias += bias;
    object->header.base_address += bias;
    return GSYM_OK;
}
