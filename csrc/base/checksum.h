/* checksum.h - compute a checksum at the speed of memory.
 *
 * The checksum is XXH64 with seed 0, as its specification defines it: 64 bits, the same in
 * either byte order. It detects accidental changes, not deliberate ones. */
#ifndef GSYM_BASE_CHECKSUM_H
#define GSYM_BASE_CHECKSUM_H

#include "base/error.h"

uint64_t xxh64(const uint8_t *bytes, size_t size);
/* The same of bytes in a mapped file, whose pages are released as they are hashed. */
uint64_t xxh64_released(const uint8_t *bytes, size_t size);

#endif
