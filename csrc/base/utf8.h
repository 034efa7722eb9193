/* utf8.h - is it UTF-8? */
#ifndef GSYM_BASE_UTF8_H
#define GSYM_BASE_UTF8_H

#include "base/error.h"

/* Bytes of the well-formed sequence at `at`, 0 where it is none. */
size_t utf8_size(const uint8_t *at, size_t left);
/* Bytes up to the first that are not well formed. */
size_t utf8_valid_size(const uint8_t *bytes, size_t size);

#endif
