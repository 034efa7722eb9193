/* characters.c - recognize blanks, and well-formed sequences of UTF-8 by table 3-7 of the
 * Unicode Standard. */
#include "base/characters.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

bool are_blank(const uint8_t *bytes, size_t size) {
    size_t at = 0;
    while (at < size && is_blank(bytes[at])) ++at;
    return at == size;
}

size_t utf8_size(const uint8_t *at, size_t left) {
    static const uint32_t min_code[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    uint32_t code = size == 0 ? 0 : *at & (0xff >> (size + (size > 1)));
    if (size < 2) return size;
    if (*at >= 0xf8 || size > left) return 0;
    for (size_t i = 1; i < size; ++i) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code >= min_code[size] && code <= 0x10ffff && (code & ~0x7ffu) != 0xd800 ? size
                                                                                : 0;
}

size_t utf8_valid_size(const uint8_t *bytes, size_t size) {
    size_t at = 0, step;
    while (at < size) {
        uint64_t word;
        if (size - at >= sizeof word) {
            memcpy(&word, bytes + at, sizeof word);
            if ((word & HIGH_BITS) == 0) {
                at += sizeof word;
                continue;
            }
        }
        step = utf8_size(bytes + at, size - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}
