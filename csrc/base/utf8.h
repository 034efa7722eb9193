/* utf8.h - find bytes that are not UTF-8. */
#ifndef GSYM_BASE_UTF8_H
#define GSYM_BASE_UTF8_H

#include "base/error.h"

/* Return the size of the well-formed sequence at `at`, 0 if there is none; `left` > 0. */
size_t utf8_size(const uint8_t *at, size_t left);
/* Return the number of bytes before the first sequence that is not well formed. */
size_t utf8_valid_size(const uint8_t *bytes, size_t size);

#endif
