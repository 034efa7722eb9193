/* name_numbers.c - number a set of strings by their offset in the string table. */
#include "export/name_numbers.h"

#include <stdlib.h>
#include <string.h>

static size_t word_count(const name_numbers *names) {
    return (size_t)(names->end / 64) + 1;
}

bool name_numbers_init(name_numbers *names, uint64_t size) {
    names->end = size;
    names->count = 0;
    names->words = calloc(word_count(names), sizeof *names->words);
    names->before = calloc(word_count(names), sizeof *names->before);
    return names->words != NULL && names->before != NULL;
}

void name_numbers_deinit(name_numbers *names) {
    free(names->words);
    free(names->before);
}

bool name_numbers_share(name_numbers *names, const name_numbers *other) {
    if (names->end != other->end) return false;
    memcpy(names->words, other->words, word_count(names) * sizeof *names->words);
    return true;
}

static unsigned bits_in(uint64_t word) { return (unsigned)__builtin_popcountll(word); }

void name_numbers_count(name_numbers *names) {
    size_t words = word_count(names);
    names->count = 0;
    for (size_t i = 0; i < words; ++i) {
        names->before[i] = names->count;
        names->count += bits_in(names->words[i]);
    }
}

uint64_t name_numbers_of(const name_numbers *names, uint64_t strp) {
    size_t word;
    if (strp > names->end) strp = names->end;
    word = (size_t)(strp / 64);
    return names->before[word] +
           bits_in(names->words[word] & ((UINT64_C(1) << (strp % 64)) - 1));
}

bool name_numbers_next(const name_numbers *names, uint64_t *strp_ret) {
    size_t words = word_count(names);
    size_t word = (size_t)(*strp_ret / 64);
    uint64_t bits;
    if (*strp_ret > names->end) return false;
    bits = names->words[word] & (UINT64_MAX << (*strp_ret % 64));
    while (bits == 0) {
        if (++word == words) return false;
        bits = names->words[word];
    }
    *strp_ret = (uint64_t)word * 64 + (unsigned)__builtin_ctzll(bits);
    return true;
}
