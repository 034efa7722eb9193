/* fxt_strings.c - strings are found by their hash. */
#include "fxt/fxt_strings.h"
#include "base/hash.h"


enum {
    FIRST_SLOTS = 1024,
    MOST_PROBES = 64, /* of strings that were made to meet, some get two numbers */
    MOST_KEPT = 64 << 20,
    MOST_STRINGS = 1 << 20
};

bool fxt_strings_init(fxt_strings *strings) {
    return slot_table_init(&strings->slots, FIRST_SLOTS);
}

void fxt_strings_deinit(fxt_strings *strings) {
    buffer_deinit(&strings->bytes);
    free(strings->ends.items);
    free(strings->slots.slots);
}

void fxt_strings_begin(fxt_strings *strings) {
    slot_table *slots = &strings->slots;
    strings->first = (uint32_t)strings->ends.count + 1;
    if (strings->bytes.size <= MOST_KEPT && strings->ends.count <= MOST_STRINGS) return;
    strings->first = 1;
    strings->age++;
    strings->bytes.size = strings->ends.count = slots->count = 0;
    memset(slots->slots, 0, (slots->mask + 1) * sizeof *slots->slots);
}

static uint64_t start_of(const fxt_strings *strings, uint64_t number) {
    return number > 1 ? strings->ends.items[number - 2] : 0;
}

uint64_t fxt_strings_new_size(const fxt_strings *strings) {
    return strings->bytes.size - start_of(strings, strings->first);
}

const uint8_t *fxt_strings_text(const fxt_strings *strings, uint32_t number,
                                size_t *size_ret) {
    static const uint8_t nothing[1] = {0};
    uint64_t start = start_of(strings, number);
    *size_ret = number == 0 ? 0 : strings->ends.items[number - 1] - start;
    return number == 0 ? nothing : strings->bytes.bytes + start;
}

static bool is_equal(const fxt_strings *strings, uint64_t number, const uint8_t *bytes,
                     size_t size) {
    uint64_t start = start_of(strings, number);
    return strings->ends.items[number - 1] - start == size &&
           memcmp(strings->bytes.bytes + start, bytes, size) == 0;
}

/* Its slot, a free one, or none where too many others are in the way. */
static slot *find_slot(const fxt_strings *strings, uint64_t hash, const uint8_t *bytes,
                       size_t size) {
    size_t at = (size_t)hash & strings->slots.mask;
    for (unsigned probe = 0; probe < MOST_PROBES; ++probe) {
        slot *found = &strings->slots.slots[at];
        if (found->number == 0) return found;
        if (found->hash == hash && is_equal(strings, found->number, bytes, size))
            return found;
        at = (at + 1) & strings->slots.mask;
    }
    return NULL;
}

bool fxt_strings_number(fxt_strings *strings, const uint8_t *bytes, size_t size,
                        uint32_t *number_ret) {
    uint64_t hash;
    slot *place;
    *number_ret = 0;
    if (size == 0) return true;
    hash = string_hash((const char *)bytes, size);
    if (!slot_table_reserve(&strings->slots)) return false;
    place = find_slot(strings, hash, bytes, size);
    if (place != NULL && place->number != 0) {
        *number_ret = (uint32_t)place->number;
        return true;
    }
    if (!ARRAY_RESERVE(strings->ends, 1)) return false;
    buffer_put(&strings->bytes, bytes, size);
    if (strings->bytes.failed) return false;
    strings->ends.items[strings->ends.count++] = strings->bytes.size;
    *number_ret = (uint32_t)strings->ends.count;
    if (place != NULL) {
        *place = (slot){hash, *number_ret};
        strings->slots.count++;
    }
    return true;
}
