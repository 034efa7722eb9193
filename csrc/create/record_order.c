/* record_order.c - sort functions, and find out which of two is more complete.
 *
 * Records are ordered by address, size and the order in which they were kept. Among
 * functions of one range, the richer one is that which LLVM prefers: it has more inlined
 * calls; if they are equal, it alone has InlineInfo; if both or neither have it, it has
 * more rows; if they are as many, it has the greater address in the first row whose
 * addresses differ. */
#include "base/system.h"
#include "create/state.h"

enum {
    FEW_KEYS = 1 << 12, /* for which tables of small digits cost less */
    FEW_KEYS_DIGIT_BITS = 8,
    DIGIT_BITS = 11,
    INSERTED_KEYS = 16 /* of one address, which are sorted by insertion */
};

/* Sort keys by some bits of the address, or of the size. Equal ones keep their order. */
static void sort_by_digit(const record_key *keys, size_t count, bool by_size,
                          unsigned shift, unsigned bits, record_key *sorted) {
    uint32_t next[1 << DIGIT_BITS] = {0}, sum = 0, mask = (1u << bits) - 1;
    for (size_t i = 0; i < count; ++i)
        ++next[(by_size ? keys[i].size : keys[i].address) >> shift & mask];
    for (uint32_t value = 0; value <= mask; ++value) {
        uint32_t start = sum;
        sum += next[value];
        next[value] = start;
    }
    for (size_t i = 0; i < count; ++i)
        sorted[next[(by_size ? keys[i].size : keys[i].address) >> shift & mask]++] =
            keys[i];
}

static void insert_by_size(record_key *keys, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        record_key key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1].size > key.size; --at) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Sort the keys of each address by size. */
static void sort_sizes(record_key *keys, size_t count, record_key *spare) {
    for (size_t from = 0, end; from < count; from = end) {
        for (end = from + 1; end < count && keys[end].address == keys[from].address;) ++end;
        if (end - from <= INSERTED_KEYS) {
            insert_by_size(keys + from, end - from);
            continue;
        }
        for (unsigned shift = 0; shift < 32; shift += FEW_KEYS_DIGIT_BITS) {
            sort_by_digit(keys + from, end - from, true, shift, FEW_KEYS_DIGIT_BITS, spare);
            memcpy(keys + from, spare, (end - from) * sizeof *keys);
        }
    }
}

gsym_status record_order_sort(const record_list *records, record_key **keys_ret,
                              gsym_error *error) {
    size_t count = records->count;
    unsigned bits = count < FEW_KEYS ? FEW_KEYS_DIGIT_BITS : DIGIT_BITS;
    uint64_t differing = 0; /* the bits in which any address differs from the first one */
    record_key *room = calloc(2 * count, sizeof *room);
    record_key *keys = room, *spare;
    if (room == NULL) return gsym_fail_memory(error);
    spare = room + count;
    pages_enlarge(room, 2 * count * sizeof *room);
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &records->items[i];
        keys[i] = (record_key){record->address, (uint32_t)record->size, (uint32_t)i};
        differing |= keys[i].address ^ keys[0].address;
    }
    for (unsigned shift = 0; shift < 64; shift += bits) {
        record_key *swap = keys;
        if ((differing >> shift & ((1u << bits) - 1)) == 0) continue;
        sort_by_digit(keys, count, false, shift, bits, spare);
        keys = spare;
        spare = swap;
    }
    sort_sizes(keys, count, spare);
    if (keys != room) memcpy(room, keys, count * sizeof *room);
    *keys_ret = room;
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
