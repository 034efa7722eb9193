/* breakpad_fields.h - read the fields of a line of a .sym file.
 *
 * Any number of blanks separates fields. A function returns false if the number is missing,
 * is followed by something else than a blank or does not fit its type; the position of the
 * cursor is undefined then. */
#ifndef GSYM_SOURCES_BREAKPAD_FIELDS_H
#define GSYM_SOURCES_BREAKPAD_FIELDS_H

#include "base/digits.h"

static inline bool is_blank(uint8_t character) {
    return character == ' ' || character == '\t';
}

static inline void field_skip_blanks(cursor *line) {
    while (line->at < line->end && is_blank(cursor_peek_unchecked(line, 0))) line->at++;
}

/* Whether a field ends here; the blanks after it are skipped. */
static inline bool field_end(cursor *line) {
    if (line->at < line->end && !is_blank(cursor_peek_unchecked(line, 0))) return false;
    field_skip_blanks(line);
    return true;
}

/* Read a hexadecimal number, with or without 0x in front. */
static inline bool field_hex(cursor *line, uint64_t *value_ret) {
    const uint8_t *first;
    uint64_t value = 0, lost = 0;
    unsigned digit;
    if (cursor_left(line) > 2 && cursor_peek_unchecked(line, 0) == '0' &&
        (cursor_peek_unchecked(line, 1) | 0x20) == 'x')
        line->at += 2;
    first = line->at;
    while (line->at < line->end &&
           (digit = digit_value(cursor_peek_unchecked(line, 0))) < NO_DIGIT) {
        lost |= value >> 60;
        value = value << 4 | digit;
        line->at++;
    }
    *value_ret = value;
    return line->at > first && lost == 0 && field_end(line);
}

static inline bool field_decimal(cursor *line, uint32_t *value_ret) {
    const uint8_t *first = line->at;
    uint64_t value = 0;
    unsigned digit;
    while (line->at < line->end &&
           (digit = digit_value(cursor_peek_unchecked(line, 0))) < 10) {
        if (value <= UINT32_MAX) value = value * 10 + digit;
        line->at++;
    }
    *value_ret = (uint32_t)value;
    return line->at > first && value <= UINT32_MAX && field_end(line);
}

/* Skip the next field if it is `word`. */
static inline bool field_word(cursor *line, const char *word) {
    size_t size = strlen(word);
    cursor after = *line;
    if (cursor_left(line) < size || memcmp(line->at, word, size) != 0) return false;
    after.at += size;
    if (!field_end(&after)) return false;
    *line = after;
    return true;
}

/* ---- eight digits at a time ------------------------------------------------------ *
 * For records in their usual form: one blank between fields, at most eight digits. There
 * is no branch on the number of digits, which a processor could not predict. Each read
 * touches FIELD_SIZE bytes from the start of the field; the caller has checked that they
 * exist. False means another form, not an error. */

#define EVERY_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

enum { FIELD_DIGITS = 8, FIELD_SIZE = FIELD_DIGITS + 1 };

/* Load eight bytes; the first one is the lowest. */
static inline uint64_t field_word_at(const uint8_t *at) {
    return cursor_load64(at, CURSOR_HOST_BIG_ENDIAN);
}

/* Return the digits of a field as eight bytes, with '0' in front. False if there are none;
 * the byte after them is not checked. */
static inline bool field_digits(cursor *line, uint64_t *digits_ret) {
    uint64_t word = field_word_at(line->at);
    /* Digits have bit 4 set, letters bit 6, blanks and line ends none of them. */
    uint64_t ends = ~(word >> 4 | word >> 6) & EVERY_BYTE(1);
    unsigned bits;
    if (GSYM_UNLIKELY(ends == 0)) {
        line->at += FIELD_DIGITS;
        *digits_ret = word;
        return true;
    }
    bits = (unsigned)__builtin_ctzll(ends);
    if (bits == 0) return false;
    line->at += bits / 8;
    *digits_ret = word << (64 - bits) | EVERY_BYTE('0') >> bits;
    return true;
}

/* Read a hexadecimal number with lower-case letters, and the byte that ends it. */
static inline bool field_plain_hex_to_any(cursor *line, uint8_t *end_ret,
                                          uint64_t *value_ret) {
    uint64_t digits, letters, value;
    if (!field_digits(line, &digits)) return false;
    letters = digits >> 6 & EVERY_BYTE(1);
    /* Now each digit is its value. A byte that was no digit has a bit above the fourth, or
     * its value is that of the other kind of digit. */
    value = (digits - letters * ('a' - '0' - 10)) ^ EVERY_BYTE('0');
    if (((value & EVERY_BYTE(0xf0)) |
         (((value + EVERY_BYTE(6)) >> 4 ^ letters) & EVERY_BYTE(1))) != 0)
        return false;
    value = (value << 4 | value >> 8) & UINT64_C(0x00ff00ff00ff00ff);
    value = (value << 8 | value >> 16) & UINT64_C(0x0000ffff0000ffff);
    *value_ret = (value << 16 | value >> 32) & UINT32_MAX;
    *end_ret = cursor_u8_unchecked(line);
    return true;
}

static inline bool field_plain_hex(cursor *line, uint8_t end, uint64_t *value_ret) {
    uint8_t found;
    return field_plain_hex_to_any(line, &found, value_ret) && found == end;
}

static inline bool field_plain_decimal(cursor *line, uint8_t end, uint32_t *value_ret) {
    uint64_t digits, value;
    if (!field_digits(line, &digits) || cursor_u8_unchecked(line) != end) return false;
    value = digits ^ EVERY_BYTE('0');
    if (((value | (value + EVERY_BYTE(6))) & EVERY_BYTE(0xf0)) != 0) return false;
    value = (value * 10 + (value >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    value = (value * 100 + (value >> 16)) & UINT64_C(0x0000ffff0000ffff);
    *value_ret = (uint32_t)((value * 10000 + (value >> 32)) & UINT32_MAX);
    return true;
}

#endif
