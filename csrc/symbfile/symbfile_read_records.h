/* symbfile_read_records.h - ranges and return pads of a symbfile that is being read, as
 * columns.
 *
 * State goes from record to record: the address of the last one, range or return pad, and
 * the string table. */
#ifndef GSYM_SYMBFILE_SYMBFILE_READ_RECORDS_H
#define GSYM_SYMBFILE_SYMBFILE_READ_RECORDS_H

#include "symbfile/symbfile_read_strings.h"

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
