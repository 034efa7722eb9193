/* alike_lines.c - read lines that only differ in their numbers, as columns. */
#include "base/buffer.h"
#include "base/digits.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/tables.h"

enum {
    PAGE = 4096,
    MIN_START = 0x10000 /* of a module in a process */
};

/* ---- keys ---------------------------------------------------------------------------- */

struct gsym_line_keys {
    slot_table numbers; /* of keys by their hashes, plus 1 */
    buffer bytes;       /* of all keys */
    LIST(size_t) ends;  /* of each key, which begins where the one before it ends */
    number_map firsts;  /* of a line: where each value is first */
};

gsym_status gsym_line_keys_create(gsym_line_keys **keys_ret, gsym_error *error) {
    *keys_ret = calloc(1, sizeof **keys_ret);
    return *keys_ret == NULL ? gsym_fail_memory(error) : GSYM_OK;
}

void gsym_line_keys_destroy(gsym_line_keys *keys) {
    if (keys == NULL) return;
    free(keys->numbers.slots);
    buffer_deinit(&keys->bytes);
    free(keys->ends.items);
    number_map_deinit(&keys->firsts);
    free(keys);
}

static size_t keys_end(const gsym_line_keys *keys) {
    return keys->ends.count == 0 ? 0 : keys->ends.items[keys->ends.count - 1];
}

/* Number the key that is after the known ones. */
static gsym_status number_last_key(gsym_line_keys *keys, uint32_t *number_ret,
                                   gsym_error *error) {
    const uint8_t *bytes = keys->bytes.bytes;
    size_t begin = keys_end(keys), size = keys->bytes.size - begin;
    uint64_t hash, at, number;
    if (keys->bytes.failed) return gsym_fail_memory(error);
    at = hash = size == 0 ? 0 : string_hash((const char *)bytes + begin, size);
    while ((number = slot_table_next(&keys->numbers, hash, &at)) != 0) {
        size_t start = number == 1 ? 0 : keys->ends.items[number - 2];
        if (keys->ends.items[number - 1] - start != size) continue;
        if (size > 0 && memcmp(bytes + start, bytes + begin, size) != 0) continue;
        keys->bytes.size = begin;
        *number_ret = (uint32_t)(number - 1);
        return GSYM_OK;
    }
    if (keys->ends.count == UINT32_MAX - 1 || !slot_table_reserve(&keys->numbers) ||
        !LIST_ADD(keys->ends, keys->bytes.size)) {
        keys->bytes.size = begin;
        return gsym_fail_memory(error);
    }
    slot_table_insert(&keys->numbers, hash, keys->ends.count);
    *number_ret = (uint32_t)(keys->ends.count - 1);
    return GSYM_OK;
}

gsym_status gsym_line_shapes(gsym_line_keys *keys, const char *text, size_t size,
                             const uint64_t *ends, size_t count, size_t longest,
                             uint32_t *shapes_ret, gsym_error *error) {
    uint64_t begin = 0;
    for (size_t i = 0; i < count; begin = ends[i++]) {
        uint64_t line = ends[i] - begin;
        if (ends[i] < begin || ends[i] > size)
            return gsym_fail(error, GSYM_E_ARGUMENT, begin, "a line outside its text");
        shapes_ret[i] = UINT32_MAX;
        if (line > longest) continue;
        if (line > 0 && text[ends[i] - 1] == '\n') --line;
        if (!buffer_reserve(&keys->bytes, line)) return gsym_fail_memory(error);
        if (line > 0)
            gsym_text_mask_numbers(text + begin, line,
                                   keys->bytes.bytes + keys->bytes.size);
        keys->bytes.size += line;
        GSYM_TRY(number_last_key(keys, &shapes_ret[i], error));
    }
    return GSYM_OK;
}

/* ---- numbers ------------------------------------------------------------------------- */

/* Return a cursor over a part of a line, as far as the text has it: the last line may have
 * no newline. */
static cursor part_of_line(const gsym_alike_lines *lines, size_t line, uint64_t begin,
                           uint64_t end) {
    cursor c = cursor_at((const uint8_t *)lines->text, lines->size, lines->begins[line],
                         false);
    if (cursor_left(&c) > end) c.end = c.at + end;
    c.at = cursor_left(&c) > begin ? c.at + begin : c.end;
    return c;
}

static void read_digits(const gsym_alike_lines *lines) {
    for (size_t i = 0; i < lines->digit_count; ++i) {
        gsym_line_digits digits = lines->digits[i];
        uint64_t *values = lines->values + i * lines->count;
        for (size_t line = 0; line < lines->count; ++line) {
            cursor c = part_of_line(lines, line, digits.begin, digits.end);
            uint64_t value = 0;
            while (c.at < c.end) {
                unsigned digit = digit_value(cursor_u8_unchecked(&c));
                if (digit < digits.radix && digit != NO_DIGIT)
                    value = value * digits.radix + digit;
            }
            values[line] = value;
        }
    }
}

/* Whether a module may start at an address. */
static bool may_be_start(uint64_t address) {
    return address >= MIN_START && address % PAGE == 0;
}

static bool is_new_start(const gsym_alike_lines *lines, uint64_t address) {
    size_t low = 0;
    if (GSYM_LIKELY(!may_be_start(address))) return false;
    SEARCH_SORTED(low, lines->start_count, lines->starts[middle] < address);
    return low == lines->start_count || lines->starts[low] != address;
}

/* Mark lines that may say where a module starts: by a number, or by the distance of two. */
static void mark_placing(const gsym_alike_lines *lines) {
    memset(lines->placing, 0, lines->count);
    for (size_t i = 0; i < lines->digit_count; ++i) {
        const uint64_t *values = lines->values + i * lines->count;
        for (size_t line = 0; line < lines->count; ++line)
            lines->placing[line] |= is_new_start(lines, values[line]);
        for (size_t j = 0; j < i; ++j) {
            const uint64_t *others = lines->values + j * lines->count;
            for (size_t line = 0; line < lines->count; ++line) {
                uint64_t one = values[line], other = others[line];
                uint64_t distance = one > other ? one - other : other - one;
                lines->placing[line] |= is_new_start(lines, distance);
            }
        }
    }
}

/* ---- kinds --------------------------------------------------------------------------- */

/* Return the number of the region of an address, from 1 on, or 0, and its place in the
 * module. */
static uint64_t find_region(const gsym_alike_lines *lines, uint64_t address,
                            uint64_t *place_ret) {
    uint64_t before = 0;
    *place_ret = 0;
    for (size_t i = 0; i < 2; before += lines->region_counts[i++]) {
        const gsym_line_region *regions = lines->regions[i];
        size_t low = 0;
        SEARCH_SORTED(low, lines->region_counts[i], regions[middle].start <= address);
        if (low == 0 || address > regions[low - 1].last) continue;
        *place_ret = address - regions[low - 1].start + regions[low - 1].address;
        return before + low;
    }
    return 0;
}

/* Put what is known of each sum of a line, and write the places of the sums. */
static gsym_status put_sums(gsym_line_keys *keys, const gsym_alike_lines *lines,
                            size_t line, gsym_error *error) {
    uint64_t *places = lines->values + lines->digit_count * lines->count + line;
    for (size_t i = 0; i < lines->sum_count; ++i) {
        gsym_line_sum sum = lines->sums[i];
        uint64_t first, address, region = 0;
        if (sum.first >= lines->digit_count || sum.second >= lines->digit_count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a sum of no numbers");
        address = first = lines->values[sum.first * lines->count + line];
        if (sum.first != sum.second)
            address += lines->values[sum.second * lines->count + line];
        places[i * lines->count] = 0;
        if (address >= first && address >= sum.back)
            region = find_region(lines, address - sum.back, &places[i * lines->count]);
        if (region != 0) places[i * lines->count] += sum.back;
        buffer_put_u64(&keys->bytes, region << 1 | may_be_start(first));
    }
    return GSYM_OK;
}

/* Put for each value of a line where it is first: 0 is before all. */
static gsym_status put_firsts(gsym_line_keys *keys, const gsym_alike_lines *lines,
                              size_t line, gsym_error *error) {
    size_t count = lines->digit_count + lines->sum_count;
    if (!number_map_reset(&keys->firsts, count + 1) ||
        !number_map_set(&keys->firsts, 0, 0))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        uint64_t value = lines->values[i * lines->count + line], first;
        if (!number_map_find(&keys->firsts, value, &first)) {
            first = i + 1;
            if (!number_map_set(&keys->firsts, value, first))
                return gsym_fail_memory(error);
        }
        buffer_put_u32(&keys->bytes, (uint32_t)first);
    }
    return GSYM_OK;
}

static void put_words(gsym_line_keys *keys, const gsym_alike_lines *lines, size_t line) {
    for (size_t i = 0; i < lines->word_count; ++i) {
        cursor c = part_of_line(lines, line, lines->words[i].start, lines->words[i].end);
        buffer_put(&keys->bytes, c.at, cursor_left(&c));
    }
}

static gsym_status number_kind(gsym_line_keys *keys, const gsym_alike_lines *lines,
                               size_t line, gsym_error *error) {
    buffer_put_u64(&keys->bytes, lines->context);
    GSYM_TRY(put_sums(keys, lines, line, error));
    GSYM_TRY(put_firsts(keys, lines, line, error));
    put_words(keys, lines, line);
    return number_last_key(keys, &lines->kinds[line], error);
}

gsym_status gsym_line_kinds(gsym_line_keys *keys, const gsym_alike_lines *lines,
                            gsym_error *error) {
    read_digits(lines);
    mark_placing(lines);
    for (size_t line = 0; line < lines->count; ++line) {
        gsym_status status = number_kind(keys, lines, line, error);
        if (status != GSYM_OK) {
            keys->bytes.size = keys_end(keys); /* without the begin of a key */
            return status;
        }
    }
    return GSYM_OK;
}
