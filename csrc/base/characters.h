/* characters.h - recognize blanks, and bytes that are not UTF-8. */
#ifndef GSYM_BASE_CHARACTERS_H
#define GSYM_BASE_CHARACTERS_H

#include "base/error.h"

static inline bool is_blank(uint8_t character) {
    return character == ' ' || character == '\t';
}

/* Whether all of `size` bytes are blanks. */
bool are_blank(const uint8_t *bytes, size_t size);

/* Return the size of the well-formed sequence at `at`, or 0. `left` must be at least 1. */
size_t utf8_size(const uint8_t *at, size_t left);
/* Return the number of bytes before the first sequence that is not well formed. */
size_t utf8_valid_size(const uint8_t *bytes, size_t size);

#endif
