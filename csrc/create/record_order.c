/* record_order.c - sort functions, and find out which of two is more complete.
 *
 * Records are ordered by address, size and the order in which they were kept. Among
 * functions of one range, the richer one is that which LLVM prefers: it has more inlined
 * calls; if they are equal, it alone has InlineInfo; if both or neither have it, it has
 * more rows; if they are as many, it has the greater address in the first row whose
 * addresses differ. */
#include "create/state.h"

enum {
    DIGIT_BITS = 8,
    DIGIT_VALUES = 1 << DIGIT_BITS,
    SIZE_DIGITS = 4,
    DIGITS = SIZE_DIGITS + 8
};

/* Return a digit of a key for the radix sort. Digit 0 is the least significant one: first
 * come those of the size, then those of the address. */
static inline unsigned key_digit(const record_key *key, unsigned digit) {
    uint64_t value = digit < SIZE_DIGITS ? key->size : key->address;
    unsigned place = digit < SIZE_DIGITS ? digit : digit - SIZE_DIGITS;
    return (unsigned)(value >> (place * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

static void sort_by_digit(const record_key *keys, size_t count, unsigned digit,
                          record_key *sorted) {
    uint32_t next[DIGIT_VALUES] = {0}, sum = 0;
    for (size_t i = 0; i < count; ++i) ++next[key_digit(&keys[i], digit)];
    for (unsigned value = 0; value < DIGIT_VALUES; ++value) {
        uint32_t start = sum;
        sum += next[value];
        next[value] = start;
    }
    for (size_t i = 0; i < count; ++i) sorted[next[key_digit(&keys[i], digit)]++] = keys[i];
}

gsym_status record_order_sort(const record_list *records, record_key **keys_ret,
                              gsym_error *error) {
    size_t count = records->count;
    record_key differing = {0}; /* the bits in which any key differs from the first one */
    record_key *keys = calloc(count, sizeof *keys), *spare = calloc(count, sizeof *spare);
    if (keys == NULL || spare == NULL) {
        free(keys);
        free(spare);
        return gsym_fail_memory(error);
    }
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &records->items[i];
        keys[i] = (record_key){record->address, (uint32_t)record->size, (uint32_t)i};
        differing.address |= keys[i].address ^ keys[0].address;
        differing.size |= keys[i].size ^ keys[0].size;
    }
    for (unsigned digit = 0; digit < DIGITS; ++digit) {
        record_key *swap = keys;
        if (key_digit(&differing, digit) == 0) continue;
        sort_by_digit(keys, count, digit, spare);
        keys = spare;
        spare = swap;
    }
    free(spare);
    *keys_ret = keys;
    return GSYM_OK;
}

bool record_order_same_bytes(const creator_record *left,
                                    const creator_record *right) {
    return left->blob_size == right->blob_size &&
           (left->blob == right->blob ||
            memcmp(left->blob, right->blob, left->blob_size) == 0);
}

record_parts record_order_cut(const gsym_creator *creator, const creator_record *record,
                              gsym_info_type type) {
    cursor c = cursor_at(record->blob, record->blob_size, creator_record_head_size(creator),
                         creator_big_endian(creator));
    record_parts parts = {.before = (size_t)cursor_offset(&c)};
    record_info info;
    gsym_error ignored;
    while (function_info_next(&c, &info, &ignored) == GSYM_OK &&
           info.type != GSYM_INFO_END_OF_LIST && info.type <= (uint32_t)type) {
        if (info.type == (uint32_t)type) {
            parts.is_found = true;
            parts.payload = info.payload;
            parts.after = (size_t)cursor_offset(&c);
            return parts;
        }
        parts.before = (size_t)cursor_offset(&c);
    }
    parts.after = parts.before;
    return parts;
}

static bool has_lower_rows(const gsym_creator *creator, const creator_record *left,
                           const creator_record *right) {
    record_parts a = record_order_cut(creator, left, GSYM_INFO_LINE_TABLE);
    record_parts b = record_order_cut(creator, right, GSYM_INFO_LINE_TABLE);
    return a.is_found && b.is_found &&
           line_table_compare_addresses(&a.payload, &b.payload) < 0;
}

bool record_order_is_poorer(const gsym_creator *creator,
                                   const creator_record *left,
                                   const creator_record *right) {
    record_parts a, b;
    if (left->node_count != right->node_count) return left->node_count < right->node_count;
    a = record_order_cut(creator, left, GSYM_INFO_INLINE_INFO);
    b = record_order_cut(creator, right, GSYM_INFO_INLINE_INFO);
    if (a.is_found != b.is_found) return b.is_found;
    if (left->row_count != right->row_count) return left->row_count < right->row_count;
    return has_lower_rows(creator, left, right);
}
