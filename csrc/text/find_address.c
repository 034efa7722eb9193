/* find_address.c - find what may be an address, or begin a frame, in a long text.
 *
 * Most lines of a log have nothing of it. The search finds more than frames, since what it
 * passes over is not read. */
#include "base/characters.h"
#include "base/error.h"

enum {
    IS_HEX = 1,  /* a hexadecimal digit */
    IS_WORD = 2, /* a character of a word */
    IS_MARK = 4, /* decides together with what is beside it */
    MIN_DIGITS = 6,
    ADDRESS_DIGITS = 8,
    MAX_DIGITS = 16,
    MAX_BLANKS = 16,
    MAX_WORD = 128
};

static const uint8_t kinds[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, /* newline */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* control characters */
    0, 0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, /* # $ + */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, /* digits */
    0, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* A to O */
    2, 2, 2, 2, 2, 2, 2, 2, 6, 2, 2, 0, 0, 0, 0, 2, /* P to Z, _ */
    4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* `, a to o */
    2, 2, 2, 2, 2, 2, 2, 2, 6, 2, 2, 0, 0, 0, 0, 0, /* p to z */
};

/* A text of which bytes outside of it can be asked for. */
typedef struct scanned_text {
    const char *bytes;
    size_t size;
} scanned_text;

static char char_at(const scanned_text *text, size_t at) {
    return at < text->size ? text->bytes[at] : '\n';
}

static bool is_kind(const scanned_text *text, size_t at, unsigned kind) {
    return at < text->size && (kinds[(uint8_t)text->bytes[at]] & kind) != 0;
}

static bool is_digit(const scanned_text *text, size_t at) {
    return char_at(text, at) >= '0' && char_at(text, at) <= '9';
}

/* Return where the hexadecimal digits from `at` on end. */
static size_t digits_end(const scanned_text *text, size_t at) {
    while (is_kind(text, at, IS_HEX))
        ++at;
    return at;
}

/* Return the number of hexadecimal digits before `at`, at most `most`. */
static size_t digits_before(const scanned_text *text, size_t at, size_t most) {
    size_t count = 0;
    while (count < at && count < most && is_kind(text, at - count - 1, IS_HEX))
        ++count;
    return count;
}

/* Whether a time of day ends before `at`: "+0200" after it is a time zone. */
static bool is_after_time(const scanned_text *text, size_t at) {
    size_t begin = at;
    if (begin > 0 && text->bytes[begin - 1] == ' ') --begin;
    while (begin > 0 && at - begin < MAX_DIGITS &&
           (is_digit(text, begin - 1) || text->bytes[begin - 1] == '.' ||
            text->bytes[begin - 1] == ','))
        --begin;
    return begin < at && begin > 1 && text->bytes[begin - 1] == ':' &&
           is_digit(text, begin - 2) && is_digit(text, begin);
}

/* Whether an offset is after the plus sign at `at`: `+0x1189`, `+ 4735`. */
static bool is_offset(const scanned_text *text, size_t at) {
    size_t begin = at + 1, end;
    if (char_at(text, begin) == ' ') ++begin;
    if (char_at(text, begin) == '0' && (char_at(text, begin + 1) | 0x20) == 'x')
        return is_kind(text, begin + 2, IS_HEX);
    end = digits_end(text, begin);
    return end > begin && end - begin <= MAX_DIGITS && !is_kind(text, end, IS_WORD) &&
           char_at(text, end) != '.' && !is_after_time(text, at);
}

/* Whether a line that begins at `at` may be one of perf, ` 7f12ab main (/opt/app)`, or of
 * ftrace, ` => name`. */
static bool begins_frame(const scanned_text *text, size_t at) {
    size_t begin = at, end;
    while (is_blank((uint8_t)char_at(text, begin)))
        ++begin;
    if (begin == at) return false;
    if (char_at(text, begin) == '=' && char_at(text, begin + 1) == '>') return true;
    end = digits_end(text, begin);
    return end > begin && end - begin <= MAX_DIGITS && char_at(text, end) == ' ';
}

static bool is_marked(const scanned_text *text, size_t at) {
    switch (text->bytes[at]) {
        case 'x':
        case 'X':
            return at > 0 && text->bytes[at - 1] == '0' && is_kind(text, at + 1, IS_HEX);
        case '+': return is_offset(text, at);
        case '`': return digits_before(text, at, ADDRESS_DIGITS) == ADDRESS_DIGITS;
        case '$': return digits_end(text, at + 1) - at > ADDRESS_DIGITS;
        case '#': return is_digit(text, at + 1) || (at > 0 && is_digit(text, at - 1));
        default: return begins_frame(text, at + 1);
    }
}

static bool is_between(char byte) {
    return is_blank((uint8_t)byte) || byte == '(' || byte == '[';
}

/* Whether the word from `begin` to `end` may be the name of a file with code. */
static bool is_module(const scanned_text *text, size_t begin, size_t end) {
    const char *word = text->bytes + begin, *dot = word, *stop = text->bytes + end;
    const size_t size = end - begin;
    if (size > 1 && memchr(word, '/', size - 1) != NULL) return true;
    if (size > 2 && word[1] == ':' && word[2] == '\\') return true;
    for (; (dot = memchr(dot, '.', (size_t)(stop - dot))) != NULL; ++dot) {
        const size_t left = (size_t)(stop - dot);
        if (left >= 3 && memcmp(dot, ".so", 3) == 0) return true;
        if (left > 3 && (!memcmp(dot, ".dll", 4) || !memcmp(dot, ".exe", 4))) return true;
    }
    return false;
}

/* Whether the name of a module is beside the digits from `begin` to `end`. */
static bool is_beside_module(const scanned_text *text, size_t begin, size_t end) {
    static const char words[][6] = {"in ", "at ", "from "};
    size_t at = end, stop;
    while (at - end < MAX_BLANKS && is_between(char_at(text, at)))
        ++at;
    if (at > end) {
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
            const size_t size = strlen(words[i]);
            if (text->size - at > size && memcmp(text->bytes + at, words[i], size) == 0)
                at += size;
        }
        at += char_at(text, at) == '(' || char_at(text, at) == '[';
        for (stop = at; stop - at < MAX_WORD && (uint8_t)char_at(text, stop) > ' ';)
            ++stop;
        if (is_module(text, at, stop)) return true;
    }
    at = begin;
    while (at > 0 && begin - at < MAX_BLANKS && is_between(text->bytes[at - 1]))
        --at;
    stop = at;
    while (at > 0 && stop - at < MAX_WORD && (uint8_t)text->bytes[at - 1] > ' ')
        --at;
    return stop < begin && is_module(text, at, stop);
}

/* Whether the digits from `begin` to `end` are the start of a range of addresses. */
static bool begins_range(const scanned_text *text, size_t begin, size_t end) {
    const bool is_page = memcmp(text->bytes + end - 3, "000", 3) == 0;
    size_t at = end, stop;
    while (is_blank((uint8_t)char_at(text, at)))
        ++at;
    if (char_at(text, at) == '-' || char_at(text, at) == ':')
        ++at;
    else if (char_at(text, at) == '.' && char_at(text, at + 1) == '.')
        at += 2;
    else if (at == end || !is_page)
        return false;
    while (is_blank((uint8_t)char_at(text, at)))
        ++at;
    stop = digits_end(text, at);
    if (is_kind(text, stop, IS_WORD) || stop - at > MAX_DIGITS) return false;
    return is_page ? stop - at >= MIN_DIGITS
                   : end - begin >= ADDRESS_DIGITS && stop - at >= ADDRESS_DIGITS;
}

/* Whether the digits from `begin` to `end` may be the address of a page, where a module may
 * start. Without a letter they are rather a size or a time. One of 4,096 ids ends as a page
 * does: `gaps` counts the numbers of each length since the last such one. */
static bool is_page(const scanned_text *text, size_t begin, size_t end, uint32_t *gaps) {
    enum { MOST_OTHERS = 64 };
    const size_t size = end - begin;
    const bool is_aligned = memcmp(text->bytes + end - 3, "000", 3) == 0;
    size_t at = begin;
    uint32_t before;
    if (size < ADDRESS_DIGITS || size > GSYM_PAGE_DIGITS) return false;
    while (at < end && is_digit(text, at))
        ++at;
    if (at == end || gaps == NULL) return at < end && is_aligned;
    before = gaps[size];
    gaps[size] = is_aligned ? 0 : before + (before <= MOST_OTHERS);
    return is_aligned && before <= MOST_OTHERS;
}

static bool is_in_ranges(const scanned_text *text, size_t begin, size_t end,
                         const gsym_range *ranges, size_t count) {
    uint64_t value = 0;
    size_t low = 0, high = count;
    for (size_t at = begin; at < end; ++at) {
        const uint8_t digit = (uint8_t)text->bytes[at];
        /* The lower bits of letters count from 1. */
        value = value << 4 | ((digit & 0x0fu) + (digit > '9' ? 9u : 0u));
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && value >= ranges[low].start;
}

/* Whether the digits from `begin` to `end` are an address by what is around them. */
static bool is_address(const scanned_text *text, size_t begin, size_t end,
                       const gsym_range *ranges, size_t count, uint32_t *gaps) {
    const char before = begin > 0 ? text->bytes[begin - 1] : '\n';
    if (end - begin > MAX_DIGITS || is_kind(text, end, IS_WORD)) return false;
    if (before == '.' || (begin > 0 && is_kind(text, begin - 1, IS_WORD))) return false;
    if (begins_range(text, begin, end)) return true;
    if (count > 0 && is_in_ranges(text, begin, end, ranges, count)) return true;
    if (end - begin < ADDRESS_DIGITS || before == '=' || before == '-') return false;
    /* A hyphen that no range has is one of a UUID. */
    if (char_at(text, end) != '-' && is_page(text, begin, end, gaps)) return true;
    return before == '!' || is_beside_module(text, begin, end);
}

size_t gsym_text_find_address(const char *bytes, size_t size, size_t at,
                              const gsym_range *ranges, size_t count, uint32_t *gaps) {
    const scanned_text text = {bytes, size};
    size_t digits = 0; /* before `at` */
    if (at == 0 && begins_frame(&text, 0)) return 0;
    for (; at < size; ++at) {
        const unsigned kind = kinds[(uint8_t)bytes[at]], is_hex = kind & IS_HEX;
        /* Most bytes go on without a branch. */
        if ((kind & IS_MARK) | ((digits >= MIN_DIGITS) & !is_hex)) {
            if (digits >= MIN_DIGITS &&
                is_address(&text, at - digits, at, ranges, count, gaps))
                return at - digits;
            if ((kind & IS_MARK) != 0 && is_marked(&text, at)) return at;
        }
        digits = (digits + 1) * is_hex;
    }
    if (digits >= MIN_DIGITS && is_address(&text, size - digits, size, ranges, count, gaps))
        return size - digits;
    return size;
}
