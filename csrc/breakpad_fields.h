/* breakpad_fields.h - fields of a line of text, read through a cursor.
 *
 * Fields stand between blanks, as many as there are. A number that is missing, runs
 * into something else or does not fit its type is false, and nothing is promised of
 * where the cursor stands then. */
#ifndef GSYM_BREAKPAD_FIELDS_H
#define GSYM_BREAKPAD_FIELDS_H

#include "cursor.h"

#define NO_DIGIT 16

/* Value of a hexadecimal digit of either case. */
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

static inline bool is_blank(uint8_t character) {
    return character == ' ' || character == '\t';
}

static inline void field_skip_blanks(cursor *line) {
    while (line->at < line->end && is_blank(*line->at)) line->at++;
}

/* Whether a field ends here; the blanks behind it are skipped. */
static inline bool field_end(cursor *line) {
    if (line->at < line->end && !is_blank(*line->at)) return false;
    field_skip_blanks(line);
    return true;
}

/* With or without 0x in front. */
static inline bool field_hex(cursor *line, uint64_t *value_ret) {
    const uint8_t *first;
    uint64_t value = 0, lost = 0;
    unsigned digit;
    if (cursor_left(line) > 2 && line->at[0] == '0' && (line->at[1] | 0x20) == 'x')
        line->at += 2;
    first = line->at;
    while (line->at < line->end && (digit = digit_value(*line->at)) < NO_DIGIT) {
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
    while (line->at < line->end && (digit = digit_value(*line->at)) < 10) {
        if (value <= UINT32_MAX) value = value * 10 + digit;
        line->at++;
    }
    *value_ret = (uint32_t)value;
    return line->at > first && value <= UINT32_MAX && field_end(line);
}

/* The next field, if it is `word`. */
static inline bool field_word(cursor *line, const char *word) {
    size_t size = strlen(word);
    cursor behind = *line;
    if (cursor_left(line) < size || memcmp(line->at, word, size) != 0) return false;
    behind.at += size;
    if (!field_end(&behind)) return false;
    *line = behind;
    return true;
}

#endif
