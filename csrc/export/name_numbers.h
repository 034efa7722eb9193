/* name_numbers.h - keep a set of strings of a table, numbered 0, 1, 2, ... by their offset.
 *
 * A bit for each byte of the string table marks the members. The number of a member is the
 * number of bits before its own. */
#ifndef GSYM_EXPORT_NAME_NUMBERS_H
#define GSYM_EXPORT_NAME_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct name_numbers {
    uint64_t *words;
    uint64_t *before; /* number of members before each word */
    uint64_t end;     /* size of the string table; every offset past it counts as this
                         one */
    uint64_t count;   /* number of members; set by name_numbers_count() */
} name_numbers;

/* Begin an empty set for a table of `size` bytes; false where memory ran out. */
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

/* Replace the members by those of `other`; false if its table has another size. */
bool name_numbers_share(name_numbers *names, const name_numbers *other);
/* Count the members, so that they have numbers; none may be added afterwards. */
void name_numbers_count(name_numbers *names);
/* Return the number of a member: how many members are before it in the table. */
uint64_t name_numbers_of(const name_numbers *names, uint64_t strp);
/* Find the first member at or after *strp_ret; false if there is none. */
bool name_numbers_next(const name_numbers *names, uint64_t *strp_ret);

#endif
