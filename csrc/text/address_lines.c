/* address_lines.c - read the address of a line. */
#include "base/digits.h"
#include "text/text.h"

/* Return the base of a number: hexadecimal after 0x, octal after 0o or 0, binary after 0b,
 * else decimal. */
static unsigned number_base(const char *bytes, size_t size, size_t *prefix_ret) {
    *prefix_ret = 0;
    if (size < 2 || bytes[0] != '0') return 10;
    *prefix_ret = 2;
    switch (bytes[1]) {
        case 'x':
        case 'X': return 16;
        case 'b':
        case 'B': return 2;
        case 'o': return 8;
        default: *prefix_ret = 1; return 8;
    }
}

static bool parse_number(const char *bytes, size_t size, uint64_t *value_ret) {
    size_t at;
    unsigned base = number_base(bytes, size, &at);
    uint64_t value = 0;
    if (at == size) return false;
    for (; at < size; ++at) {
        unsigned digit = digit_value((uint8_t)bytes[at]);
        if (digit >= base) return false;
        /* With a value below this, no digit in any base leads to an overflow. */
        if (GSYM_LIKELY(value < UINT64_MAX / 32))
            value = value * base + digit;
        else if (__builtin_mul_overflow(value, base, &value) ||
                 __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *value_ret = value;
    return true;
}

/* Parse hexadecimal digits as strtoul() does: no digits give 0, and overflow gives all
 * ones. False for a symbol, which is a word with a `+` that does not begin like a
 * number. */
static bool parse_hex(const char *at, const char *end, uint64_t *value_ret) {
    const char *nul = memchr(at, '\0', (size_t)(end - at));
    bool overflows = false;
    uint64_t value = 0;
    if (nul != NULL) end = nul;
    while (at < end && is_space(*at)) ++at;
    if (at < end && (*at < '0' || *at > '9') &&
        (digit_value((uint8_t)*at) > 15 || memchr(at, '+', (size_t)(end - at)) != NULL))
        return false;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) at += 2;
    for (; at < end && digit_value((uint8_t)*at) < 16; ++at) {
        overflows |= value >> 60 != 0;
        value = value << 4 | digit_value((uint8_t)*at);
    }
    *value_ret = overflows ? UINT64_MAX : value;
    return true;
}

/* Parse a number between the prefix and the suffix of the job, in the base that it
 * shows. */
static bool parse_between(const gsym_format_job *job, const char *at, const char *end,
                          uint64_t *value_ret) {
    size_t prefix = job->prefix_size, suffix = job->suffix_size;
    if (end > at && end[-1] == '\r') --end;
    if ((size_t)(end - at) < prefix) return false;
    if (prefix > 0 && memcmp(at, job->prefix, prefix) != 0) return false;
    at += prefix;
    if ((size_t)(end - at) < suffix) return false;
    end -= suffix;
    if (suffix > 0 && memcmp(end, job->suffix, suffix) != 0) return false;
    return parse_number(at, (size_t)(end - at), value_ret);
}

/* Parse a number, decimal or with 0x, without leading zeros; blanks may surround it. */
static bool parse_plain(const char *at, const char *end, uint64_t *value_ret) {
    while (is_space(*at)) ++at; /* the line is not only blanks */
    while (is_space(end[-1])) --end;
    if (end - at > 1 && *at == '0' && (end - at == 2 || (at[1] | 0x20) != 'x'))
        return false;
    return parse_number(at, (size_t)(end - at), value_ret);
}

bool text_read_address(const gsym_format_job *job, const char *line, const char *end,
                       uint64_t *address_ret) {
    if (job->numbers == GSYM_NUMBERS_HEX) return parse_hex(line, end, address_ret);
    if (job->numbers == GSYM_NUMBERS_PLAIN) return parse_plain(line, end, address_ret);
    return parse_between(job, line, end, address_ret);
}
