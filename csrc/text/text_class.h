/* text_class.h - whether bytes can be printed as they are. */
#ifndef GSYM_TEXT_TEXT_CLASS_H
#define GSYM_TEXT_TEXT_CLASS_H

#include "base/internal.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A number with the highest bit set of the first byte of `word` that is 0, and perhaps of
 * bytes behind it; 0 where none is. */
static inline uint64_t bytes_that_are_0(uint64_t word) {
    return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* Not 0 where one of eight bytes is no printable character of ASCII. */
static inline uint64_t unprintable_bytes(uint64_t word) {
    return ((word - EACH_BYTE(' ')) | (word + EACH_BYTE(1)) | word) & EACH_BYTE(0x80);
}

static inline uint64_t unquotable_bytes(uint64_t word) {
    return unprintable_bytes(word) | bytes_that_are_0(word ^ EACH_BYTE('"')) |
           bytes_that_are_0(word ^ EACH_BYTE('\\'));
}

/* The bytes [at, size) of a text, eight at the most, with blanks behind them. */
static inline uint64_t load_text(const char *bytes, size_t at, size_t size) {
    uint64_t word = EACH_BYTE(' ');
    if (GSYM_LIKELY(size - at >= sizeof word))
        memcpy(&word, bytes + at, sizeof word); /* of a size that is known: no call */
    else
        memcpy(&word, bytes + at, size - at);
    return word;
}

/* Whether all are printable characters of ASCII. */
static inline bool is_printable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unprintable_bytes(load_text(bytes, at, size));
    return found == 0;
}

/* Whether all can stand between the quotes of JSON as well. */
static inline bool is_quotable_text(const char *bytes, size_t size) {
    uint64_t found = 0;
    for (size_t at = 0; at < size; at += sizeof found)
        found |= unquotable_bytes(load_text(bytes, at, size));
    return found == 0;
}

#endif
