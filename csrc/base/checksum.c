/* checksum.c - compute XXH64 with seed 0: four lanes over the bulk, then the rest, then a
 * mix. */
#include "base/checksum.h"

#include "base/cursor.h"
#include "base/system.h"

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

enum { STRIPE_SIZE = 4 * 8 };

static inline uint64_t rotate_left(uint64_t value, unsigned count) {
    return value << count | value >> (64 - count);
}

static inline uint64_t load64(const uint8_t *at) {
    return cursor_load64(at, CURSOR_HOST_BIG_ENDIAN);
}

static inline uint64_t next_round(uint64_t lane, uint64_t input) {
    return rotate_left(lane + input * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t add_lane(uint64_t hash, uint64_t lane) {
    return (hash ^ next_round(0, lane)) * PRIME_1 + PRIME_4;
}

/* The lanes are four variables and not an array, so that they stay in registers. */
static uint64_t hash_stripes(const uint8_t *at, size_t count, bool releases) {
    uint64_t a = PRIME_1 + PRIME_2, b = PRIME_2, c = 0, d = 0 - PRIME_1, hash;
    const uint8_t *end = at + count * STRIPE_SIZE, *first = at;
    for (; at < end; at += STRIPE_SIZE) {
        if (releases && (size_t)(at - first) >= PAGES_DROP_SIZE) {
            pages_release(first, (size_t)(at - first));
            first = at;
        }
        a = next_round(a, load64(at));
        b = next_round(b, load64(at + 8));
        c = next_round(c, load64(at + 16));
        d = next_round(d, load64(at + 24));
    }
    hash = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
    return add_lane(add_lane(add_lane(add_lane(hash, a), b), c), d);
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t size, bool releases) {
    const uint8_t *at = bytes, *end = bytes + size;
    size_t stripes = size / STRIPE_SIZE;
    uint64_t hash = stripes > 0 ? hash_stripes(at, stripes, releases) : PRIME_5;
    at += stripes * STRIPE_SIZE;
    hash += size;
    for (; end - at >= 8; at += 8)
        hash = rotate_left(hash ^ next_round(0, load64(at)), 27) * PRIME_1 + PRIME_4;
    if (end - at >= 4) {
        hash ^= cursor_load32(at, CURSOR_HOST_BIG_ENDIAN) * PRIME_1;
        hash = rotate_left(hash, 23) * PRIME_2 + PRIME_3;
        at += 4;
    }
    for (; at < end; ++at) hash = rotate_left(hash ^ *at * PRIME_5, 11) * PRIME_1;
    hash = (hash ^ hash >> 33) * PRIME_2;
    hash = (hash ^ hash >> 29) * PRIME_3;
    return hash ^ hash >> 32;
}

uint64_t xxh64(const uint8_t *bytes, size_t size) { return hash_bytes(bytes, size, false); }

uint64_t xxh64_released(const uint8_t *bytes, size_t size) {
    return hash_bytes(bytes, size, true);
}

uint64_t gsym_xxh64(const uint8_t *bytes, size_t size) { return xxh64(bytes, size); }
