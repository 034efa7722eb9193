/* hash.c - compute hashes of strings. */
#include "base/hash.h"

static inline uint64_t word_at(const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint64_t half_word_at(const char *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

uint64_t string_hash(const char *bytes, size_t size) {
    uint64_t first = 0, last = 0, lane = HASH_KEY_C, other_lane = HASH_KEY_C;
    const char *end = bytes + size;
    if (size > 16) {
        for (; end - bytes > 32; bytes += 32) {
            lane = hash_fold(word_at(bytes) ^ HASH_KEY_A, word_at(bytes + 8) ^ lane);
            other_lane = hash_fold(word_at(bytes + 16) ^ HASH_KEY_B,
                                   word_at(bytes + 24) ^ other_lane);
        }
        lane += other_lane;
        if (end - bytes > 16)
            lane = hash_fold(word_at(bytes) ^ HASH_KEY_A, word_at(bytes + 8) ^ lane);
        first = word_at(end - 16);
        last = word_at(end - 8);
    } else if (size >= 8) {
        first = word_at(bytes);
        last = word_at(end - 8);
    } else if (size >= 4) {
        first = half_word_at(bytes);
        last = half_word_at(end - 4);
    } else if (size > 0) {
        first = (uint64_t)(uint8_t)bytes[0] << 16 |
                (uint64_t)(uint8_t)bytes[size / 2] << 8 | (uint8_t)end[-1];
    }
    return hash_fold(hash_fold(first ^ HASH_KEY_A, last ^ lane) ^ HASH_KEY_B,
                     HASH_KEY_A ^ size);
}
