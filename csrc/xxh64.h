/* xxh64.h - a checksum at the speed of memory.
 *
 * XXH64 with seed 0, as its specification defines it: 64 bits, the same in either
 * byte order. It tells by chance changed bytes, not those that somebody means to pass. */
#ifndef GSYM_XXH64_H
#define GSYM_XXH64_H

#include "internal.h"

uint64_t xxh64(const uint8_t *bytes, size_t size);

#endif
