/* hash.h - compute hashes of strings, which no file contains. */
#ifndef GSYM_BASE_HASH_H
#define GSYM_BASE_HASH_H

#include "base/error.h"

/* Odd numbers without a pattern: the first 64 fractional bits of the square roots of 2, 3
 * and 5, with the lowest bit set. */
#define HASH_KEY_A UINT64_C(0x6a09e667f3bcc909)
#define HASH_KEY_B UINT64_C(0xbb67ae8584caa73b)
#define HASH_KEY_C UINT64_C(0x3c6ef372fe94f82b)

/* Return both halves of the product a * b combined by XOR, so that every bit of the result
 * depends on all bits. A mix of the factors is added: whoever writes a name could make one
 * factor 0, and the product would then be 0 for all values of the other. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b) {
    uint64_t factors = (a ^ (b << 32 | b >> 32)) * HASH_KEY_A;
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return ((uint64_t)product ^ (uint64_t)(product >> 64)) + factors;
#else
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), high = (a >> 32) * (b >> 32);
    uint64_t cross = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);
    return (low ^ high ^ (cross << 32 | cross >> 32) ^ (other << 32 | other >> 32)) +
           factors;
#endif
}

/* Hash a string without a seed. No file contains the result, so the function may change. */
uint64_t string_hash(const char *bytes, size_t size);

#endif
