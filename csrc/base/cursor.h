/* cursor.h - read bytes with bounds checks, in either byte order.
 *
 * The engine reads the numbers of binary inputs through this file. A read past the end
 * gives 0 and sets `failed`, which stays set; the caller may read a whole record first and
 * test once. The reads whose names end in _unchecked, and the loads, check nothing: the
 * caller must have checked the size. Code that compares or searches bytes directly stays
 * between `at` and `end`. */
#ifndef GSYM_BASE_CURSOR_H
#define GSYM_BASE_CURSOR_H

#include "base/error.h"

typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *start; /* offsets in messages count from here */
    bool swap;            /* the input's byte order is not the machine's */
    bool failed;
} cursor;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CURSOR_HOST_BIG_ENDIAN true
#else
#define CURSOR_HOST_BIG_ENDIAN false
#endif

/* Return a cursor over data[offset .. size); it has failed if `offset` is past the end. */
static inline cursor cursor_at(const uint8_t *data, size_t size, uint64_t offset,
                               bool big_endian) {
    static const uint8_t nothing[1] = {0};
    bool inside = offset <= size;
    if (size == 0) data = nothing; /* arithmetic on a null pointer is undefined */
    cursor c = {inside ? data + offset : data + size, data + size, data,
                big_endian != CURSOR_HOST_BIG_ENDIAN, !inside};
    return c;
}

static inline uint64_t cursor_offset(const cursor *c) {
    return (uint64_t)(c->at - c->start);
}

static inline size_t cursor_left(const cursor *c) { return (size_t)(c->end - c->at); }

/* Fail because the bytes end before the end of the field at `at`. */
static inline gsym_status cursor_missing(const cursor *c, const uint8_t *at,
                                         const char *what, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, (uint64_t)(at - c->start), "missing %s", what);
}

static inline bool cursor_need(cursor *c, uint64_t size) {
    if (GSYM_LIKELY(size <= cursor_left(c))) return true;
    c->failed = true;
    c->at = c->end;
    return false;
}

static inline uint16_t cursor_load16(const uint8_t *at, bool swap) {
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap16(value) : value;
}

static inline uint32_t cursor_load32(const uint8_t *at, bool swap) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t cursor_load64(const uint8_t *at, bool swap) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return swap ? __builtin_bswap64(value) : value;
}

static inline uint8_t cursor_u8_unchecked(cursor *c) { return *c->at++; }

/* Return the byte `ahead` bytes after the next one, without consuming it. */
static inline uint8_t cursor_peek_unchecked(const cursor *c, size_t ahead) {
    return c->at[ahead];
}

static inline uint16_t cursor_u16_unchecked(cursor *c) {
    uint16_t value = cursor_load16(c->at, c->swap);
    c->at += 2;
    return value;
}

static inline uint32_t cursor_u32_unchecked(cursor *c) {
    uint32_t value = cursor_load32(c->at, c->swap);
    c->at += 4;
    return value;
}

static inline uint64_t cursor_u64_unchecked(cursor *c) {
    uint64_t value = cursor_load64(c->at, c->swap);
    c->at += 8;
    return value;
}

/* Load an integer of any size from 1 to 8 bytes: values of DW_FORM_strx3 have three, and
 * addresses of some targets, too. */
static inline uint64_t cursor_load(const uint8_t *at, unsigned size, bool swap) {
    uint64_t value = 0;
    bool big_endian = swap != CURSOR_HOST_BIG_ENDIAN;
    for (unsigned i = 0; i < size; ++i)
        value |= (uint64_t)at[i] << (8 * (big_endian ? size - 1 - i : i));
    return value;
}

static inline uint64_t cursor_uint_unchecked(cursor *c, unsigned size) {
    uint64_t value = cursor_load(c->at, size, c->swap);
    c->at += size;
    return value;
}

static inline uint8_t cursor_u8(cursor *c) {
    return cursor_need(c, 1) ? cursor_u8_unchecked(c) : 0;
}

static inline uint16_t cursor_u16(cursor *c) {
    return cursor_need(c, 2) ? cursor_u16_unchecked(c) : 0;
}

static inline uint32_t cursor_u32(cursor *c) {
    return cursor_need(c, 4) ? cursor_u32_unchecked(c) : 0;
}

static inline uint64_t cursor_u64(cursor *c) {
    return cursor_need(c, 8) ? cursor_u64_unchecked(c) : 0;
}

static inline uint64_t cursor_uint(cursor *c, unsigned size) {
    switch (size) {
        case 1: return cursor_u8(c);
        case 2: return cursor_u16(c);
        case 4: return cursor_u32(c);
        case 8: return cursor_u64(c);
        default:
            return size < 8 && cursor_need(c, size) ? cursor_uint_unchecked(c, size) : 0;
    }
}

/* Read a string offset of 4 or 8 bytes. */
static inline uint64_t cursor_strp(cursor *c, unsigned size) {
    return size == 4 ? cursor_u32(c) : cursor_u64(c);
}

/* Read a ULEB128. Bits past the 64th are dropped; their bytes are consumed. */
static inline uint64_t cursor_uleb(cursor *c) {
    uint64_t value = 0;
    unsigned shift = 0;
    while (GSYM_LIKELY(c->at < c->end)) {
        uint8_t byte = *c->at++;
        if (GSYM_LIKELY(shift < 64)) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
        shift += 7;
    }
    c->failed = true;
    return 0;
}

static inline int64_t cursor_sleb(cursor *c) {
    uint64_t value = 0;
    unsigned shift = 0;
    while (GSYM_LIKELY(c->at < c->end)) {
        uint8_t byte = *c->at++;
        if (GSYM_LIKELY(shift < 64)) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40)) value |= ~UINT64_C(0) << shift;
            return (int64_t)value;
        }
    }
    c->failed = true;
    return 0;
}

/* Read a ULEB128 as cursor_uleb() does, but faster if most numbers have one byte. Inlined,
 * and the address of `c` is passed to no other function, so that a local cursor stays in
 * registers. */
static inline __attribute__((always_inline)) uint64_t cursor_uleb_1(cursor *c) {
    cursor rest;
    uint64_t value;
    if (GSYM_LIKELY(c->at < c->end && *c->at < 0x80)) return *c->at++;
    rest = *c;
    value = cursor_uleb(&rest);
    *c = rest;
    return value;
}

static inline __attribute__((always_inline)) int64_t cursor_short_sleb(cursor *c) {
    cursor rest;
    int64_t value;
    if (GSYM_LIKELY(cursor_left(c) >= 2)) {
        int64_t low = c->at[0], high = c->at[1];
        if (low < 0x80) {
            c->at += 1;
            return (low ^ 0x40) - 0x40;
        }
        if (GSYM_LIKELY(high < 0x80)) {
            c->at += 2;
            return ((high << 7 | (low & 0x7f)) ^ 0x2000) - 0x2000;
        }
    }
    rest = *c;
    value = cursor_sleb(&rest);
    *c = rest;
    return value;
}

/* Read a ULEB128 as cursor_uleb_1() does, for numbers that mostly have one or two bytes. */
static inline __attribute__((always_inline)) uint64_t cursor_uleb_2(cursor *c) {
    if (GSYM_LIKELY(cursor_left(c) >= 2)) {
        uint64_t low = c->at[0], high = c->at[1];
        if (low < 0x80) {
            c->at += 1;
            return low;
        }
        if (GSYM_LIKELY(high < 0x80)) {
            c->at += 2;
            return high << 7 | (low & 0x7f);
        }
    }
    return cursor_uleb_1(c);
}

static inline void cursor_skip(cursor *c, uint64_t size) {
    if (cursor_need(c, size)) c->at += size;
}

static inline void cursor_skip_leb(cursor *c) {
    while (GSYM_LIKELY(c->at < c->end))
        if (!(*c->at++ & 0x80)) return;
    c->failed = true;
}

/* Read a NUL-terminated string; *size_ret is its size without the NUL. */
static inline const char *cursor_cstring(cursor *c, size_t *size_ret) {
    const uint8_t *start = c->at;
    const uint8_t *nul = c->at < c->end ? memchr(start, 0, cursor_left(c)) : NULL;
    if (nul == NULL) {
        c->failed = true;
        c->at = c->end;
        *size_ret = 0;
        return "";
    }
    c->at = nul + 1;
    *size_ret = (size_t)(nul - start);
    return (const char *)start;
}

#define NAME_SIZE 65536u /* any number of names may have up to this size */

/* Subtract the size of a name longer than NAME_SIZE from *left: the bytes that all such
 * names together may still have. False if more bytes are needed; then *left becomes 0. With
 * NULL, no such name is allowed. */
static inline bool cursor_spend_name(uint64_t *left, uint64_t size) {
    bool is_enough = left != NULL && size <= *left;
    if (GSYM_LIKELY(size <= NAME_SIZE)) return true;
    if (left != NULL) *left -= is_enough ? size : *left;
    return is_enough;
}

/* Read a string as cursor_cstring() does, NULL if it is too long. Many names of a hostile
 * file may share the end of one long string; *left, which cursor_spend_name() explains,
 * bounds the bytes that are read for them. */
static inline const char *cursor_name(cursor *c, uint64_t *left, size_t *size_ret) {
    uint64_t max_size = left == NULL || *left < NAME_SIZE ? NAME_SIZE : *left;
    const uint8_t *start = c->at;
    const char *name;
    bool is_cut = cursor_left(c) > max_size;
    if (is_cut) c->end = c->at + max_size + 1; /* with the NUL */
    name = cursor_cstring(c, size_ret);
    if (GSYM_UNLIKELY(c->failed)) {
        (void)cursor_spend_name(left, (uint64_t)(c->at - start));
        return is_cut ? NULL : name;
    }
    (void)cursor_spend_name(left, *size_ret);
    return name;
}

#endif
