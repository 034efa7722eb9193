/* symbfile_read_strings.h - the string table of a symbfile that is being read, and the
 * strings that records were handed out with.
 *
 * A string gets its number when a record uses it, and one of a table keeps it: whoever
 * takes the records decodes it once. */
#ifndef GSYM_SYMBFILE_SYMBFILE_READ_STRINGS_H
#define GSYM_SYMBFILE_SYMBFILE_READ_STRINGS_H

#include "symbfile/symbfile.h"

typedef struct table_string {
    uint32_t at; /* in the body of the message */
    uint32_t size;
    uint32_t number; /* 0: no record has used it */
} table_string;

typedef struct read_strings {
    buffer body; /* of the table */
    struct { table_string *items; size_t count, capacity; } table;
    buffer bytes; /* of the new strings */
    struct { uint64_t *items; size_t count, capacity; } ends;
    uint32_t first; /* number of the first new string */
    uint64_t kept;  /* bytes that strings take where they are kept, about */
} read_strings;

void read_strings_deinit(read_strings *strings);
/* What was new is not any more; all numbers are given up when the strings take much. */
void read_strings_begin(read_strings *strings);
/* The table is what a message says from now on; *count_ret tells of how many strings. */
gsym_status read_strings_replace(read_strings *strings, protobuf_message *message,
                                 uint64_t *count_ret, gsym_error *error);
/* The number of a string of the table. False where it has none at `index` or memory ran
 * out, which `is_there` tells. */
bool read_strings_refer(read_strings *strings, uint32_t index, uint32_t *number_ret,
                        bool *is_there);
/* The number of a string that stands in a record. False where memory ran out. */
bool read_strings_add(read_strings *strings, protobuf_bytes text, uint32_t *number_ret);

#endif
