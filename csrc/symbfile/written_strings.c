/* written_strings.c - choose and order the strings of a table. */
#include "symbfile/written_strings.h"
#include "base/characters.h"
#include "create/creator.h"

void written_strings_deinit(written_strings *strings) {
    buffer_deinit(&strings->bytes);
    free(strings->all.items);
    free(strings->batch.items);
    free(strings->slots.slots);
}

static uint32_t find(const written_strings *strings, const char *bytes, size_t size,
                     uint64_t hash) {
    uint64_t at = hash, number;
    while ((number = slot_table_next(&strings->slots, hash, &at)) != 0) {
        const written_string *string = written_strings_at(strings, (uint32_t)number);
        if (string->size == size &&
            memcmp(strings->bytes.bytes + string->at, bytes, size) == 0)
            return (uint32_t)number;
    }
    return 0;
}

gsym_status written_strings_add(written_strings *strings, const char *bytes, size_t size,
                                uint32_t *number_ret, gsym_error *error) {
    uint64_t hash = string_hash(bytes, size);
    *number_ret = find(strings, bytes, size, hash);
    if (*number_ret != 0) return GSYM_OK;
    if (size > GSYM_SYMBFILE_MAX_MESSAGE_SIZE)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "a string is longer than 16 MiB");
    if (strings->all.count == UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more strings than 32 bits can number");
    if (utf8_valid_size((const uint8_t *)bytes, size) != size)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a string is not UTF-8");
    if (!LIST_RESERVE(strings->all, 1) || !slot_table_reserve(&strings->slots))
        return gsym_fail_memory(error);
    strings->all.items[strings->all.count++] =
        (written_string){.at = strings->bytes.size, .size = (uint32_t)size};
    if (size > strings->longest) strings->longest = size;
    buffer_put(&strings->bytes, bytes, size);
    if (strings->bytes.failed) return gsym_fail_memory(error);
    *number_ret = (uint32_t)strings->all.count;
    slot_table_insert(&strings->slots, hash, *number_ret);
    return GSYM_OK;
}

bool written_strings_use_first(written_strings *strings, uint32_t number) {
    if (!LIST_ADD(strings->batch, number)) return false;
    strings->batch_size += written_strings_cost(strings, number);
    return true;
}

/* ---- tables ----------------------------------------------------------------------- */

typedef struct ranked_string {
    uint32_t uses;
    uint32_t order; /* its rank in the order of first use */
    uint32_t number;
} ranked_string;

static int compare_ranks(const void *left, const void *right) {
    const ranked_string *a = left, *b = right;
    if (a->uses != b->uses) return a->uses > b->uses ? -1 : 1;
    return a->order < b->order ? -1 : 1; /* orders are unique */
}

bool written_strings_make_table(written_strings *strings) {
    size_t count = 0;
    ranked_string *ranks = malloc((strings->batch.count + 1) * sizeof *ranks);
    if (ranks == NULL) return false;
    for (size_t i = 0; i < strings->batch.count; ++i) {
        uint32_t number = strings->batch.items[i];
        written_string *string = &strings->all.items[number - 1];
        string->is_in_table = string->uses > 1 || string->is_forced;
        if (string->is_in_table)
            ranks[count++] = (ranked_string){string->uses, (uint32_t)i, number};
        else
            string->uses = 0;
    }
    qsort(ranks, count, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < count; ++i) {
        strings->batch.items[i] = ranks[i].number;
        strings->all.items[ranks[i].number - 1].reference = (uint32_t)i;
    }
    strings->batch.count = count;
    free(ranks);
    return true;
}

void written_strings_end_batch(written_strings *strings) {
    for (size_t i = 0; i < strings->batch.count; ++i) {
        written_string *string = &strings->all.items[strings->batch.items[i] - 1];
        string->uses = 0;
        string->is_forced = string->is_in_table = false;
    }
    strings->batch.count = 0;
    strings->batch_size = 0;
}
