/* buffer.h - growing output bytes and growing arrays.
 *
 * Writers put first and ask once: an allocation that fails sets `failed` and
 * turns later puts into nothing. */
#ifndef GSYM_BASE_BUFFER_H
#define GSYM_BASE_BUFFER_H

#include "base/error.h"

typedef struct buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool swap; /* the output's byte order is not the machine's */
    bool failed;
} buffer;

/* Reserve memory for `more` bytes at the end. */
bool buffer_grow(buffer *out, size_t more);
/* Release memory that is not used. */
void buffer_trim(buffer *out);
void buffer_deinit(buffer *out);

static inline bool buffer_reserve(buffer *out, size_t more) {
    if (GSYM_LIKELY(more <= out->capacity - out->size)) return !out->failed;
    return buffer_grow(out, more);
}

static inline void buffer_put(buffer *out, const void *bytes, size_t size) {
    if (!buffer_reserve(out, size) || size == 0) return;
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

/* Append bytes, with ASCII control characters as \xNN. */
void buffer_put_escaped(buffer *out, const char *bytes, size_t size);

static inline void buffer_put_u8(buffer *out, uint8_t value) {
    if (!buffer_reserve(out, 1)) return;
    out->bytes[out->size++] = value;
}

static inline void buffer_put_u16(buffer *out, uint16_t value) {
    if (out->swap) value = __builtin_bswap16(value);
    buffer_put(out, &value, sizeof value);
}

static inline void buffer_put_u32(buffer *out, uint32_t value) {
    if (out->swap) value = __builtin_bswap32(value);
    buffer_put(out, &value, sizeof value);
}

static inline void buffer_put_u64(buffer *out, uint64_t value) {
    if (out->swap) value = __builtin_bswap64(value);
    buffer_put(out, &value, sizeof value);
}

/* An integer of 1, 2, 4 or 8 bytes, such as a string or address offset. */
static inline void buffer_put_uint(buffer *out, uint64_t value, unsigned size) {
    switch (size) {
        case 1: buffer_put_u8(out, (uint8_t)value); break;
        case 2: buffer_put_u16(out, (uint16_t)value); break;
        case 4: buffer_put_u32(out, (uint32_t)value); break;
        default: buffer_put_u64(out, value); break;
    }
}

enum { MAX_LEB_SIZE = 10 };

/* Write at `at`, after a buffer_reserve() that covers it, and give back the place
 * after: for loops that write many numbers. */
static inline uint8_t *put_uleb_unchecked(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *put_sleb_unchecked(uint8_t *at, int64_t value) {
    for (;;) {
        uint8_t byte = (uint8_t)(value & 0x7f);
        value >>= 7; /* arithmetic on every compiler this builds with */
        if ((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40))) {
            *at++ = byte;
            return at;
        }
        *at++ = byte | 0x80;
    }
}

static inline void buffer_put_uleb(buffer *out, uint64_t value) {
    if (!buffer_reserve(out, MAX_LEB_SIZE)) return;
    out->size = (size_t)(put_uleb_unchecked(out->bytes + out->size, value) - out->bytes);
}

static inline void buffer_put_sleb(buffer *out, int64_t value) {
    if (!buffer_reserve(out, MAX_LEB_SIZE)) return;
    out->size = (size_t)(put_sleb_unchecked(out->bytes + out->size, value) - out->bytes);
}

/* Zeros up to a multiple of `alignment` (a power of two). */
void buffer_align(buffer *out, size_t alignment);

static inline void buffer_patch_u32(buffer *out, size_t at, uint32_t value) {
    if (out->failed) return;
    if (out->swap) value = __builtin_bswap32(value);
    memcpy(out->bytes + at, &value, sizeof value);
}

/* Grow the array *items to `count` items of `item_size`; doubles. */
bool array_reserve(void *items, size_t *capacity, size_t count, size_t item_size);

/* `count` items of zeros whose pages are all in memory. A page that is first read and
 * then written, as those of a hash table are, is mapped twice, and the second time costs
 * all threads their cached translations. */
void *zeroed_table(size_t count, size_t item_size);

/* A growing array, empty when zeroed; its items are freed with free(). */
#define LIST(type)              \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    }

/* False where memory ran out. */
#define ARRAY_RESERVE(list, more)                                                        \
    (GSYM_LIKELY((list).count + (more) <= (list).capacity) ||                            \
     array_reserve(&(list).items, &(list).capacity, (list).count + (more),               \
                   sizeof *(list).items))

/* Append one item; false where memory ran out. */
#define LIST_ADD(list, ...)                                                              \
    (ARRAY_RESERVE(list, 1) && ((list).items[(list).count++] = (__VA_ARGS__), true))

/* The items from an index on, which may be the end; NULL + 0 is undefined in C. */
#define LIST_FROM(list, at) ((list).items == NULL ? NULL : (list).items + (at))

/* For qsort: by the uint64_t that items begin with. */
int compare_first_u64(const void *left, const void *right);

/* Binary search: move `low` to the first of [low, count) for which `is_before`, an
 * expression of `middle`, does not hold; it holds for all before and for none after it. */
#define SEARCH_SORTED(low, count, is_before)                                             \
    do {                                                                                 \
        size_t search_end = (count);                                                     \
        while ((low) < search_end) {                                                     \
            size_t middle = (low) + (search_end - (low)) / 2;                            \
            if (is_before)                                                               \
                (low) = middle + 1;                                                      \
            else                                                                         \
                search_end = middle;                                                     \
        }                                                                                \
    } while (0)

typedef LIST(gsym_line_row) row_list;
typedef LIST(gsym_range) range_list;

/* Sort the ranges from `first` on and join those that touch. */
void ranges_join(range_list *ranges, size_t first);

#endif
