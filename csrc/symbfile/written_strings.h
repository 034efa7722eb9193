/* written_strings.h - number the strings of a symbfile writer, and choose the string table
 * of each batch of records.
 *
 * Strings are numbered from 1 and kept to the end. Strings that a batch uses more than once
 * are in its table, the most used ones first, so that references are short. */
#ifndef GSYM_SYMBFILE_WRITTEN_STRINGS_H
#define GSYM_SYMBFILE_WRITTEN_STRINGS_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/tables.h"

typedef struct written_string {
    uint64_t at; /* where it begins in written_strings.bytes */
    uint32_t size;
    uint32_t uses;      /* number of uses by records of the batch */
    uint32_t reference; /* its index in the table of the batch, if is_in_table */
    bool is_forced;     /* it must be in the table, because a record can refer to it only
                           by index */
    bool is_in_table;
    bool is_claimed;    /* its cost is counted already for the record that is being added */
} written_string;

typedef LIST(uint32_t) string_numbers;

typedef struct written_strings {
    buffer bytes;
    LIST(written_string) all;
    string_numbers batch; /* numbers of the strings that the batch uses, in order of
                             first use; after written_strings_make_table(), only those in
                             its table, in the order of the table */
    uint64_t batch_size; /* maximum bytes of a table of all strings that the batch uses */
    size_t longest;     /* bytes of the longest string */
    slot_table slots;
} written_strings;

void written_strings_deinit(written_strings *strings);
gsym_status written_strings_add(written_strings *strings, const char *bytes, size_t size,
                                uint32_t *number_ret, gsym_error *error);

static inline bool written_strings_has(const written_strings *strings, uint32_t number) {
    return number > 0 && number <= strings->all.count;
}

static inline const written_string *written_strings_at(const written_strings *strings,
                                                       uint32_t number) {
    return &strings->all.items[number - 1];
}

enum { COST_OF_STRING = 5 /* bytes of key and length before a string */ };

/* Return by how many bytes the table grows at most if a record uses a string. */
static inline uint64_t written_strings_cost(const written_strings *strings,
                                            uint32_t number) {
    const written_string *string;
    if (number == 0) return 0;
    string = written_strings_at(strings, number);
    return string->uses > 0 ? 0 : string->size + COST_OF_STRING;
}

/* Return the cost of a string for a record that may use it many times, and claim the
 * string: until it is released, the cost is 0. */
static inline uint64_t written_strings_claim(written_strings *strings, uint32_t number) {
    uint64_t cost = written_strings_cost(strings, number);
    if (cost == 0 || strings->all.items[number - 1].is_claimed) return 0;
    strings->all.items[number - 1].is_claimed = true;
    return cost;
}

static inline void written_strings_release(written_strings *strings, uint32_t number) {
    if (number != 0) strings->all.items[number - 1].is_claimed = false;
}

/* Note the first use of a string in the batch. False if out of memory. */
bool written_strings_use_first(written_strings *strings, uint32_t number);

/* Note that a record of the batch uses a string. False if out of memory. */
static inline bool written_strings_use(written_strings *strings, uint32_t number,
                                       bool is_forced) {
    written_string *string;
    if (number == 0) return true;
    string = &strings->all.items[number - 1];
    if (string->uses == 0 && !written_strings_use_first(strings, number)) return false;
    if (string->uses < UINT32_MAX) string->uses++;
    string->is_forced |= is_forced;
    return true;
}

/* Reduce `batch` to the strings of the table, and set their references. */
bool written_strings_make_table(written_strings *strings);
/* Forget what the batch used; the next one begins. */
void written_strings_end_batch(written_strings *strings);

#endif
