/* mask_numbers.c - write a text in which all numbers of a kind are equal, and all names. */
#include "base/digits.h"

enum {
    MIN_HEX = 6,    /* digits of a number without 0x that is not decimal */
    MOST_WORDS = 8, /* of a line that are compared with each other */
    MASK = 0xf8,    /* from here on no byte is a part of a text */
    MASK_OF_NAME = 0xff
};

static bool is_letter_or_digit(uint8_t byte) {
    /* Bytes of letters that are not ASCII are above all of it. */
    return (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80 ||
           ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

/* Return the byte for a number's digits: it says whether they are decimal, of which case
 * they are, and whether it begins as a word does. 0 for digits of both cases. */
static uint8_t mask_of(const uint8_t *digits, size_t size, bool is_marked) {
    bool has_lower = false, has_upper = false;
    for (size_t i = 0; i < size; ++i) {
        has_upper |= digits[i] >= 'A' && digits[i] <= 'F';
        has_lower |= digits[i] >= 'a';
    }
    if (has_lower && has_upper) return 0;
    return (uint8_t)(MASK + has_lower + 2 * has_upper +
                     3 * (!is_marked && digits[0] > '9'));
}

/* Words that numbers are, or end. Whether two of a line are equal decides what it names. */
typedef struct line_words {
    size_t starts[MOST_WORDS], sizes[MOST_WORDS];
    size_t count;
} line_words;

/* Whether a word is not to be masked, as another one is equal, which is unmasked. */
static bool is_repeated(line_words *words, const uint8_t *text, uint8_t *masked,
                        size_t start, size_t size) {
    for (size_t i = 0; i < words->count; ++i) {
        if (words->sizes[i] != size) continue;
        if (memcmp(text + words->starts[i], text + start, size) != 0) continue;
        memcpy(masked + words->starts[i], text + start, size);
        return true;
    }
    if (words->count == MOST_WORDS) return true;
    words->starts[words->count] = start;
    words->sizes[words->count++] = size;
    return false;
}

static bool are_decimal(const uint8_t *digits, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (digits[i] < '0' || digits[i] > '9') return false;
    return true;
}

/* Whether numbers are beside a letter: of `2026-11-23T08:00:01.5Z`, of `1920x1080`. */
static bool is_between_numbers(const uint8_t *text, size_t size, size_t at) {
    if (at < 2 || !are_decimal(text + at - 1, 1)) return false;
    if (text[at] == 'T' || text[at] == 'x') {
        bool are_two = are_decimal(text + at - 2, 2);
        return are_two && size - at > 2 && are_decimal(text + at + 1, 2);
    }
    return text[at] == 'Z' && (at + 1 == size || !is_letter_or_digit(text[at + 1]));
}

/* Whether the digits from `start` to `end` are a number, not a part of a word. */
static bool is_number(const uint8_t *text, size_t size, size_t start, size_t end) {
    bool has_decimal = false;
    if (end < size && is_letter_or_digit(text[end]) && !is_between_numbers(text, size, end))
        return false;
    if (start > 0 && is_letter_or_digit(text[start - 1]) &&
        !is_between_numbers(text, size, start - 1))
        return false;
    for (size_t i = start; i < end; ++i)
        has_decimal |= text[i] <= '9';
    return has_decimal &&
           (end - start >= MIN_HEX || are_decimal(text + start, end - start));
}

static bool is_part_of_word(const uint8_t *text, size_t start) {
    const uint8_t before = start > 0 ? text[start - 1] : ' ';
    return text[start] > '9' || before == '.' || before == '-' || before == '+';
}

static bool is_any_of(uint8_t byte, const char *bytes) {
    return byte != 0 && strchr(bytes, byte) != NULL;
}

/* Return the end of the identifier at `start`, which may have scopes: `std::terminate`; or
 * `start` unless it can be nothing but the name of a function. No word of a language has an
 * underscore, a capital within it or a scope, and no constant is without small letters. */
static size_t name_end(const uint8_t *text, size_t size, size_t start) {
    bool is_name = false, has_letter = false;
    size_t at = start;
    for (; at < size && (is_letter_or_digit(text[at]) || text[at] == ':'); ++at) {
        if (text[at] >= 0x80) return start;
        if (text[at] == ':') {
            if (at == start || size - at < 3 || text[at + 1] != ':') return start;
            if (digit_value(text[at + 2]) < 10 || !is_letter_or_digit(text[at + 2]))
                return start;
            ++at;
        }
        has_letter |= text[at] >= 'g' && text[at] != 'x';
        is_name |= text[at] == '_' || text[at] == ':' ||
                   (at > start && text[at] <= 'Z' && text[at] > '9' && text[at - 1] >= 'a');
    }
    if (!is_name || !has_letter) return start;
    if (start > 0 && is_any_of(text[start - 1], "./\\-@~$!`%\"'=&?#+:")) return start;
    if (size - at > 1 && text[at] == '+' && text[at + 1] == '0') return at;
    return at < size && is_any_of(text[at], "./\\-@~$!`%\"'=&?#+") ? start : at;
}

void gsym_text_mask_numbers(const char *bytes, size_t size, uint8_t *masked_ret) {
    const uint8_t *text = (const uint8_t *)bytes;
    line_words words = {.count = 0};
    size_t at = 0;
    memcpy(masked_ret, text, size);
    while (at < size) {
        size_t start = at;
        uint8_t mask;
        bool is_marked;
        if (text[at] >= 'A') {
            bool is_start = at == 0 || !is_letter_or_digit(text[at - 1]);
            size_t end = is_start ? name_end(text, size, at) : at;
            if (end > at && !is_repeated(&words, text, masked_ret, at, end - at))
                memset(masked_ret + at, MASK_OF_NAME, end - at);
            if (end > at) {
                at = end;
                continue;
            }
        }
        if (digit_value(text[at]) == NO_DIGIT) {
            if (text[at++] == '\n') words.count = 0;
            continue;
        }
        while (at < size && digit_value(text[at]) != NO_DIGIT)
            ++at;
        is_marked = start > 1 && (text[start - 1] | 0x20) == 'x' && text[start - 2] == '0';
        if (!is_marked && !is_number(text, size, start, at)) continue;
        mask = mask_of(text + start, at - start, is_marked);
        if (mask == 0) continue;
        if (!is_marked && is_part_of_word(text, start) &&
            is_repeated(&words, text, masked_ret, start, at - start))
            continue;
        memset(masked_ret + start, mask, at - start);
    }
}
