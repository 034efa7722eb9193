/* name_numbers.h - strings of a table, numbered 0, 1, 2, ... by their offset.
 *
 * A bit for each byte of the string table tells which strings are members; their
 * numbers are counted from the bits when they are asked for. */
#ifndef GSYM_TEXT_NAME_NUMBERS_H
#define GSYM_TEXT_NAME_NUMBERS_H

#include "base/internal.h"

typedef struct name_numbers {
    uint64_t *words;
    uint64_t *before; /* members in front of each word */
    uint64_t end;     /* size of the string table; stands for every offset past it */
    uint64_t count;   /* members, once they are counted */
} name_numbers;

/* Room for the strings of a table of `size` bytes. */
bool name_numbers_init(name_numbers *names, uint64_t size);
void name_numbers_deinit(name_numbers *names);

static inline void name_numbers_add(name_numbers *names, uint64_t strp) {
    if (strp > names->end) strp = names->end;
    names->words[strp / 64] |= UINT64_C(1) << (strp % 64);
}

static inline bool name_numbers_has(const name_numbers *names, uint64_t strp) {
    if (strp > names->end) strp = names->end;
    return (names->words[strp / 64] >> (strp % 64) & 1) != 0;
}

/* Make members of those of `other`; false where its table has another size. */
bool name_numbers_share(name_numbers *names, const name_numbers *other);
/* Nothing may be added afterwards. */
void name_numbers_count(name_numbers *names);
/* Number of a member. */
uint64_t name_numbers_of(const name_numbers *names, uint64_t strp);
/* The first member at or behind *strp_ret, or false where there is none. */
bool name_numbers_next(const name_numbers *names, uint64_t *strp_ret);

#endif
