/* reader.h - ranges and return pads of a symbfile that is being read, as
 * columns.
 *
 * State goes from record to record: the address of the last one, range or return pad, and
 * the string table. */
#ifndef GSYM_SYMBFILE_READER_H
#define GSYM_SYMBFILE_READER_H

#include "symbfile/symbfile.h"

/* The string table of a symbfile that is being read, and the
 * strings that records were handed out with.
 *
 * A string gets its number when a record uses it, and one of a table keeps it: whoever
 * takes the records decodes it once. */

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

enum {
    MOST_RECORDS = 1 << 14, /* of one read; a message adds all of its rows and entries */
    RECORD_COLUMNS = 3      /* of a message, at most */
};

typedef struct record_columns {
    size_t count, range_count, pad_count;
    uint64_t offsets[MOST_RECORDS];
    uint64_t range_elf_va[MOST_RECORDS];
    uint64_t length[MOST_RECORDS];
    uint64_t row_ends[MOST_RECORDS];
    uint64_t pad_elf_va[MOST_RECORDS];
    uint64_t entry_ends[MOST_RECORDS];
    uint32_t func[MOST_RECORDS];
    uint32_t file[MOST_RECORDS];
    uint32_t call_file[MOST_RECORDS];
    uint32_t call_line[MOST_RECORDS];
    uint32_t depth[MOST_RECORDS];
    uint8_t kinds[MOST_RECORDS];
} record_columns;

typedef struct read_records {
    uint64_t elf_va; /* of the last record */
    bool has_elf_va;
    read_strings strings;
    protobuf_column fields[RECORD_COLUMNS]; /* of the message that is read */
    struct { gsym_symbfile_row *items; size_t count, capacity; } rows;
    struct { gsym_symbfile_entry *items; size_t count, capacity; } entries;
    gsym_symbfile_counts counts;
    record_columns columns;
} read_records;

void read_records_deinit(read_records *records);
/* Forget the records, but not their state and their counts. */
void read_records_begin(read_records *records);
/* Whether they are as many as one read hands out. */
bool read_records_are_enough(const read_records *records);
/* Add the range or the return pad that a message is, which begins at `start` in the file. */
gsym_status read_records_add(read_records *records, protobuf_message *message,
                             gsym_symbfile_message type, uint64_t start,
                             gsym_error *error);
void read_records_view(const read_records *records, gsym_symbfile_columns *columns_ret);

#endif
