/* text_table.c - keep distinct texts: a text is written after all others, and removed again
 * if an equal one is there. */
#include "text/text_table.h"
#include "base/hash.h"
#include "base/characters.h"

bool text_table_begin(text_table *table) {
    return buffer_reserve(&table->bytes, 1) && LIST_ADD(table->offsets, 0);
}

void text_table_deinit(text_table *table) {
    buffer_deinit(&table->bytes);
    free(table->offsets.items);
    free(table->slots.slots);
}

void text_table_put(text_table *table, const char *bytes, size_t size) {
    const uint8_t *at = (const uint8_t *)bytes, *end = at + size;
    for (;;) {
        size_t valid = utf8_valid_size(at, (size_t)(end - at));
        buffer_put(&table->bytes, at, valid);
        at += valid;
        if (at == end) break;
        buffer_put(&table->bytes, "\xef\xbf\xbd", 3);
        ++at;
    }
}

/* Return the number of an equal text plus 1, or 0. */
static uint64_t find_equal(const text_table *table, uint64_t hash, const uint8_t *text,
                           size_t size) {
    const int32_t *offsets = table->offsets.items;
    uint64_t at = hash, number;
    while ((number = slot_table_next(&table->slots, hash, &at)) != 0) {
        size_t start = (size_t)offsets[number - 1], end = (size_t)offsets[number];
        if (end - start == size && memcmp(table->bytes.bytes + start, text, size) == 0)
            return number;
    }
    return 0;
}

gsym_status text_table_end(text_table *table, uint32_t *number_ret, gsym_error *error) {
    buffer *bytes = &table->bytes;
    size_t count = table->offsets.count, start = (size_t)table->offsets.items[count - 1];
    size_t size = bytes->size - start;
    const uint8_t *text = bytes->bytes + start;
    uint64_t hash, number;
    if (bytes->failed) return gsym_fail_memory(error);
    hash = string_hash((const char *)text, size);
    number = find_equal(table, hash, text, size);
    if (number != 0) {
        bytes->size = start;
        *number_ret = (uint32_t)(number - 1);
        return GSYM_OK;
    }
    if (bytes->size > INT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the texts have more than 2^31 - 1 bytes; use smaller batches");
    if (!slot_table_reserve(&table->slots) ||
        !LIST_ADD(table->offsets, (int32_t)bytes->size))
        return gsym_fail_memory(error);
    slot_table_insert(&table->slots, hash, count);
    *number_ret = (uint32_t)(count - 1);
    return GSYM_OK;
}
