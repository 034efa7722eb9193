/* fxt_strings.h - numbers for the strings of a trace, equal ones for equal strings.
 *
 * Whoever takes the records decodes a string once, when its number is new. */
#ifndef GSYM_FXT_FXT_STRINGS_H
#define GSYM_FXT_FXT_STRINGS_H

#include "base/slot_table.h"

typedef struct fxt_strings {
    buffer bytes; /* of all strings that have a number */
    struct { uint64_t *items; size_t count, capacity; } ends;
    slot_table slots;
    uint32_t first; /* number of the first one that is new */
    uint32_t age;   /* how often all numbers were given up */
} fxt_strings;

bool fxt_strings_init(fxt_strings *strings);
void fxt_strings_deinit(fxt_strings *strings);
/* What was new is not any more; all numbers are given up when the strings take much. */
void fxt_strings_begin(fxt_strings *strings);
/* Bytes of the strings that are new. */
uint64_t fxt_strings_new_size(const fxt_strings *strings);
/* 0 is the empty string. False where memory ran out. */
bool fxt_strings_number(fxt_strings *strings, const uint8_t *bytes, size_t size,
                        uint32_t *number_ret);
/* The string with a number. */
const uint8_t *fxt_strings_text(const fxt_strings *strings, uint32_t number,
                                size_t *size_ret);

#endif
