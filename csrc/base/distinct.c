/* distinct.c - number the distinct values of a column in order of first occurrence. */
#include "base/list.h"
#include "base/tables.h"

struct gsym_distinct {
    uint32_t *codes;
    LIST(uint64_t) values;
};

static uint64_t value_at(const void *column, size_t index, unsigned width) {
    return width == 4 ? ((const uint32_t *)column)[index]
                      : ((const uint64_t *)column)[index];
}

static bool number_all(gsym_distinct *distinct, number_map *map, const void *column,
                       size_t count, unsigned width) {
    for (size_t i = 0; i < count; ++i) {
        uint64_t value = value_at(column, i, width), code;
        if (!number_map_find(map, value, &code)) {
            code = distinct->values.count;
            if (!LIST_RESERVE(distinct->values, 1) || !number_map_set(map, value, code))
                return false;
            distinct->values.items[distinct->values.count++] = value;
        }
        distinct->codes[i] = (uint32_t)code;
    }
    return true;
}

gsym_status gsym_distinct_create(const void *column, size_t count, unsigned width,
                                 gsym_distinct **distinct_ret, gsym_error *error) {
    gsym_distinct *distinct;
    number_map map = {0};
    bool has_memory;
    if (width != 4 && width != 8)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a column of neither 4 nor 8 bytes");
    distinct = calloc(1, sizeof *distinct);
    if (distinct == NULL) return gsym_fail_memory(error);
    distinct->codes = malloc((count + 1) * sizeof *distinct->codes);
    has_memory = distinct->codes != NULL &&
                 number_all(distinct, &map, column, count, width);
    number_map_deinit(&map);
    if (!has_memory) {
        gsym_distinct_destroy(distinct);
        return gsym_fail_memory(error);
    }
    *distinct_ret = distinct;
    return GSYM_OK;
}

void gsym_distinct_destroy(gsym_distinct *distinct) {
    if (distinct == NULL) return;
    free(distinct->codes);
    free(distinct->values.items);
    free(distinct);
}

const uint32_t *gsym_distinct_codes(const gsym_distinct *distinct) {
    return distinct->codes;
}

const uint64_t *gsym_distinct_values(const gsym_distinct *distinct, size_t *count_ret) {
    *count_ret = distinct->values.count;
    return distinct->values.items;
}
