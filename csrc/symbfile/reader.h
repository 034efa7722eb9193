/* reader.h - define the strings and records of a symbfile reader. */
#ifndef GSYM_SYMBFILE_READER_H
#define GSYM_SYMBFILE_READER_H

#include "base/buffer.h"
#include "symbfile/symbfile.h"

/* ---- read_strings.c ----------------------------------------------------------------- */

typedef struct table_string {
    uint32_t at; /* in the body of the message */
    uint32_t size;
    uint32_t number; /* 0: not used yet */
} table_string;

typedef struct read_strings {
    buffer body; /* copy of the message with the table */
    LIST(table_string) table;
    buffer bytes; /* bytes of the new strings */
    LIST(uint64_t) ends;
    uint32_t first; /* number of the first new string */
    uint64_t kept;  /* approximate bytes of the strings in memory */
} read_strings;

void read_strings_deinit(read_strings *strings);
/* End the set of new strings; discard all numbers if the strings take much memory. */
void read_strings_begin(read_strings *strings);
/* Replace the table by that of a message; *count_ret is its number of strings. */
gsym_status read_strings_replace(read_strings *strings, protobuf_message *message,
                                 uint64_t *count_ret, gsym_error *error);
/* Add a string that a record contains, and find its number. False if out of memory. */
bool read_strings_add(read_strings *strings, protobuf_bytes text,
                      uint32_t *number_ret);
/* Find the number of the string of the table at `index`. False if the table has no such
 * string, which sets *is_there to false, or if out of memory. */
bool read_strings_refer(read_strings *strings, uint32_t index,
                        uint32_t *number_ret, bool *is_there);

/* ---- read_records.c ----------------------------------------------------------------- */

enum {
    MAX_RECORDS = 1 << 14, /* records that one read returns; the last message may add
                              some more */
    RECORD_COLUMNS = 3 /* greatest number of columns in a message */
};

typedef struct record_columns {
    size_t count, range_count, pad_count;
    uint64_t offsets[MAX_RECORDS];
    uint64_t range_elf_va[MAX_RECORDS];
    uint64_t length[MAX_RECORDS];
    uint64_t row_ends[MAX_RECORDS];
    uint64_t pad_elf_va[MAX_RECORDS];
    uint64_t entry_ends[MAX_RECORDS];
    uint32_t func[MAX_RECORDS];
    uint32_t file[MAX_RECORDS];
    uint32_t call_file[MAX_RECORDS];
    uint32_t call_line[MAX_RECORDS];
    uint32_t depth[MAX_RECORDS];
    uint8_t kinds[MAX_RECORDS];
} record_columns;

typedef struct read_records {
    uint64_t elf_va; /* of the last record */
    bool has_elf_va;
    read_strings strings;
    protobuf_column fields[RECORD_COLUMNS]; /* of the current message */
    LIST(gsym_symbfile_row) rows;
    LIST(gsym_symbfile_entry) entries;
    gsym_symbfile_counts counts;
    record_columns columns;
} read_records;

void read_records_deinit(read_records *records);
/* Drop the records, but keep the state and the counts. */
void read_records_begin(read_records *records);
/* Whether there are as many records as one read returns. */
bool read_records_are_enough(const read_records *records);
void read_records_view(const read_records *records,
                       gsym_symbfile_columns *columns_ret);
gsym_status read_records_add(read_records *records, protobuf_message *message,
                             gsym_symbfile_message type, uint64_t start,
                             gsym_error *error);

#endif
