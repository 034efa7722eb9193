/* buffer.h - append bytes to output that grows.
 *
 * Writers append without checks and test `failed` once at the end: an allocation that
 * fails sets it, and later puts do nothing. */
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
/* Shrink the capacity to the size. */
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

/* Append bytes, but write ASCII control characters as \xNN. */
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

/* Append an integer of 1, 2, 4 or 8 bytes, such as a string or address offset. */
static inline void buffer_put_uint(buffer *out, uint64_t value, unsigned size) {
    switch (size) {
        case 1: buffer_put_u8(out, (uint8_t)value); break;
        case 2: buffer_put_u16(out, (uint16_t)value); break;
        case 4: buffer_put_u32(out, (uint32_t)value); break;
        default: buffer_put_u64(out, value); break;
    }
}

enum { MAX_LEB_SIZE = 10 };

/* Write a number at `at` and leave the bytes after it as they are; return the position
 * after it. The caller has reserved MAX_LEB_SIZE bytes. */
static inline uint8_t *put_uleb_exact(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Write a number as put_uleb_exact() does, but perhaps also the byte after it. This saves a
 * branch on whether the number has one byte or two, which is hard to predict in loops that
 * write many numbers. */
static inline uint8_t *put_uleb_unchecked(uint8_t *at, uint64_t value) {
    unsigned has_two = value >= 0x80;
    if (GSYM_UNLIKELY(value >= 1 << 14)) return put_uleb_exact(at, value);
    at[0] = (uint8_t)(value | has_two << 7);
    at[1] = (uint8_t)(value >> 7);
    return at + 1 + has_two;
}

/* Write a signed number as put_uleb_unchecked() does. */
static inline uint8_t *put_sleb_unchecked(uint8_t *at, int64_t value) {
    unsigned has_two = value < -0x40 || value >= 0x40;
    if (GSYM_LIKELY(value >= -(1 << 13) && value < 1 << 13)) {
        at[0] = (uint8_t)((value & 0x7f) | has_two << 7);
        at[1] = (uint8_t)(value >> 7 & 0x7f);
        return at + 1 + has_two;
    }
    for (;;) {
        uint8_t byte = (uint8_t)(value & 0x7f);
        value >>= 7; /* sign-extends with every compiler that can build this file */
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

/* Append zeros up to a multiple of `alignment` (a power of two). */
void buffer_align(buffer *out, size_t alignment);

static inline void buffer_patch_u32(buffer *out, size_t at, uint32_t value) {
    if (out->failed) return;
    if (out->swap) value = __builtin_bswap32(value);
    memcpy(out->bytes + at, &value, sizeof value);
}

#endif
