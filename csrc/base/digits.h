/* digits.h - read and write the digits of numbers, fast enough for loops over many numbers.
 *
 * Functions that write put the digits at `at` and return the position after them. The
 * caller has reserved MAX_HEX_SIZE or MAX_DECIMAL_SIZE bytes there; bytes after the digits
 * may be overwritten. */
#ifndef GSYM_BASE_DIGITS_H
#define GSYM_BASE_DIGITS_H

#include "base/cursor.h"

enum { MAX_HEX_SIZE = 16, MAX_DECIMAL_SIZE = 20 };

/* Eight equal bytes, for operations on eight characters at once. */
#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* ---- reading ------------------------------------------------------------------------ */

#define NO_DIGIT 16

/* Return the value of a hexadecimal digit of either case, NO_DIGIT for other characters. */
static inline unsigned digit_value(uint8_t character) {
#define N NO_DIGIT
#define N16 N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N
    static const uint8_t VALUES[256] = {
        N16, N16, N16,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, N, N, N, N, N, N, /* 0 .. 9 */
        N, 10, 11, 12, 13, 14, 15, N, N, N, N, N, N, N, N, N, /* A .. F */
        N16,
        N, 10, 11, 12, 13, 14, 15, N, N, N, N, N, N, N, N, N, /* a .. f */
        N16, N16, N16, N16, N16, N16, N16, N16, N16,
    };
#undef N16
#undef N
    return VALUES[character];
}

/* ---- writing ------------------------------------------------------------------------ */

/* Return the 8 hexadecimal digits of a number, the first in the highest byte. */
static inline uint64_t hex_digits(uint32_t value) {
    uint64_t digits = value, letters;
    digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits | digits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    letters = (digits + EACH_BYTE(6)) >> 4 & EACH_BYTE(1);
    return digits + EACH_BYTE('0') + letters * ('a' - '9' - 1);
}

static inline void put_8_digits_unchecked(uint8_t *at, uint32_t value) {
    uint64_t digits = hex_digits(value);
    if (!CURSOR_HOST_BIG_ENDIAN) digits = __builtin_bswap64(digits);
    memcpy(at, &digits, sizeof digits);
}

static inline unsigned hex_size(uint64_t value) {
    return (67 - (unsigned)__builtin_clzll(value | 1)) / 4;
}

static inline unsigned decimal_size(uint64_t value) {
    uint64_t bound = 10;
    unsigned digits = 1;
    for (; digits < MAX_DECIMAL_SIZE && value >= bound; bound *= 10) digits++;
    return digits;
}

/* Write lower-case hexadecimal, padded with zeros to `min_digits` digits, at most 16. */
static inline uint8_t *put_padded_hex_unchecked(uint8_t *at, uint64_t value,
                                                unsigned min_digits) {
    unsigned digits = hex_size(value);
    if (digits < min_digits) digits = min_digits;
    value <<= 64 - 4 * digits;
    put_8_digits_unchecked(at, (uint32_t)(value >> 32));
    put_8_digits_unchecked(at + 8, (uint32_t)value);
    return at + digits;
}

static inline uint8_t *put_hex_unchecked(uint8_t *at, uint64_t value) {
    return put_padded_hex_unchecked(at, value, 1);
}

static const char DIGIT_PAIRS[] =
    "0001020304050607080910111213141516171819"
    "2021222324252627282930313233343536373839"
    "4041424344454647484950515253545556575859"
    "6061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static inline uint8_t *put_decimal_unchecked(uint8_t *at, uint64_t value) {
    uint8_t *end = at += decimal_size(value);
    for (; value >= 100; value /= 100) {
        at -= 2;
        memcpy(at, DIGIT_PAIRS + 2 * (value % 100), 2);
    }
    if (value >= 10)
        memcpy(at - 2, DIGIT_PAIRS + 2 * value, 2);
    else
        at[-1] = (uint8_t)('0' + value);
    return end;
}

#endif
