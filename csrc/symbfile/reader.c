/* reader.c - read the messages of a symbfile: records, and messages that define how records
 * are read. */
#include "symbfile/symbfile.h"

/* The current string table of a symbfile, and the strings of records.
 *
 * A string gets its number at its first use, and a string of a table keeps it: the caller
 * decodes it once. */

typedef struct table_string {
    uint32_t at; /* in the body of the message */
    uint32_t size;
    uint32_t number; /* 0: not used yet */
} table_string;

typedef struct read_strings {
    buffer body; /* of the table */
    LIST(table_string) table;
    buffer bytes; /* of the new strings */
    LIST(uint64_t) ends;
    uint32_t first; /* number of the first new string */
    uint64_t kept;  /* approximate bytes of the strings in memory */
} read_strings;

enum {
    MAX_RECORDS = 1 << 14, /* of one read; a message adds all its rows and entries */
    RECORD_COLUMNS = 3 /* of a message, at most */
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

enum {
    KEPT_PER_STRING = 64,
    MAX_KEPT = 64 << 20 /* bytes; then all numbers are discarded */
};

static void read_strings_deinit(read_strings *strings) {
    buffer_deinit(&strings->body);
    buffer_deinit(&strings->bytes);
    free(strings->table.items);
    free(strings->ends.items);
}

/* End the set of new strings; discard all numbers if the strings take much memory. */
static void read_strings_begin(read_strings *strings) {
    strings->first += (uint32_t)strings->ends.count;
    strings->bytes.size = strings->ends.count = 0;
    if (strings->first != 0 && strings->kept <= MAX_KEPT) return;
    strings->first = 1;
    strings->kept = 0;
    for (size_t i = 0; i < strings->table.count; ++i) strings->table.items[i].number = 0;
}

/* Replace the table by that of a message; *count_ret is its number of strings. */
static gsym_status read_strings_replace(read_strings *strings, protobuf_message *message,
                                        uint64_t *count_ret, gsym_error *error) {
    const uint8_t *body = message->fields.at;
    strings->body.size = strings->table.count = 0;
    buffer_put(&strings->body, body, cursor_left(&message->fields));
    if (strings->body.failed) return gsym_fail_memory(error);
    while (!protobuf_ends(message)) {
        protobuf_bytes text;
        uint32_t key;
        GSYM_TRY(protobuf_key(message, &key, error));
        if (key != PROTOBUF_KEY(STRING_TABLE_STRINGS, PROTOBUF_BYTES)) {
            GSYM_TRY(protobuf_skip(message, key, STRING_TABLE_STRINGS, error));
            continue;
        }
        GSYM_TRY(protobuf_text(message, &text, error));
        if (!ARRAY_RESERVE(strings->table, 1)) return gsym_fail_memory(error);
        strings->table.items[strings->table.count++] =
            (table_string){(uint32_t)(text.start - body), (uint32_t)text.size, 0};
    }
    *count_ret = strings->table.count;
    return GSYM_OK;
}

/* Add a string of a record and return its number. False if out of memory. */
static bool read_strings_add(read_strings *strings, protobuf_bytes text,
                             uint32_t *number_ret) {
    if (!ARRAY_RESERVE(strings->ends, 1)) return false;
    buffer_put(&strings->bytes, text.start, text.size);
    if (strings->bytes.failed) return false;
    *number_ret = strings->first + (uint32_t)strings->ends.count;
    strings->ends.items[strings->ends.count++] = strings->bytes.size;
    strings->kept += text.size + KEPT_PER_STRING;
    return true;
}

/* Find the number of a string of the table. False if `index` is out of range (`is_there` is
 * false) or out of memory. */
static bool read_strings_refer(read_strings *strings, uint32_t index,
                               uint32_t *number_ret, bool *is_there) {
    table_string *string;
    *is_there = index < strings->table.count;
    if (!*is_there) return false;
    string = &strings->table.items[index];
    if (string->number == 0) {
        protobuf_bytes text = {strings->body.bytes + string->at, string->size};
        if (!read_strings_add(strings, text, &string->number)) return false;
    }
    *number_ret = string->number;
    return true;
}

/* Reading ranges and return pads: addresses are made of deltas, and strings of the table
 * get numbers. */

enum { ENOUGH_ROWS = 1 << 17, ENOUGH_STRING_BYTES = 4 << 20 };

static void read_records_deinit(read_records *records) {
    read_strings_deinit(&records->strings);
    for (unsigned i = 0; i < RECORD_COLUMNS; ++i) free(records->fields[i].items);
    free(records->rows.items);
    free(records->entries.items);
}

/* Drop the records, but keep the state and the counts. */
static void read_records_begin(read_records *records) {
    record_columns *columns = &records->columns;
    columns->count = columns->range_count = columns->pad_count = 0;
    records->rows.count = records->entries.count = 0;
    read_strings_begin(&records->strings);
}

/* Whether there are as many records as one read returns. */
static bool read_records_are_enough(const read_records *records) {
    return records->columns.count == MAX_RECORDS || records->rows.count >= ENOUGH_ROWS ||
           records->entries.count >= ENOUGH_ROWS ||
           records->strings.bytes.size >= ENOUGH_STRING_BYTES;
}

static void read_records_view(const read_records *records,
                              gsym_symbfile_columns *columns_ret) {
    const record_columns *columns = &records->columns;
    const read_strings *strings = &records->strings;
    *columns_ret = (gsym_symbfile_columns){
        .count = columns->count,
        .kinds = columns->kinds,
        .offsets = columns->offsets,
        .range_count = columns->range_count,
        .range_elf_va = columns->range_elf_va,
        .length = columns->length,
        .func = columns->func,
        .file = columns->file,
        .call_file = columns->call_file,
        .call_line = columns->call_line,
        .depth = columns->depth,
        .row_ends = columns->row_ends,
        .row_count = records->rows.count,
        .rows = records->rows.items,
        .pad_count = columns->pad_count,
        .pad_elf_va = columns->pad_elf_va,
        .entry_ends = columns->entry_ends,
        .entry_count = records->entries.count,
        .entries = records->entries.items,
        .string_first = strings->first,
        .string_end = strings->first + (uint32_t)strings->ends.count,
        .string_bytes = (const char *)strings->bytes.bytes,
        .string_ends = strings->ends.items,
    };
}

/* ---- fields of both records ------------------------------------------------------- */

/* A field of a oneof: of several fields the last is used. */
typedef struct address_field {
    enum { NO_ADDRESS, DELTA, ABSOLUTE } kind;
    uint64_t value;
} address_field;

typedef struct string_field {
    enum { NO_STRING, TEXT, REFERENCE } kind;
    uint32_t index;
    protobuf_bytes text;
} string_field;

static gsym_status read_address(protobuf_message *message, uint32_t key,
                                address_field *field, gsym_error *error) {
    field->kind = key == PROTOBUF_KEY(RANGE_DELTA_ELF_VA, PROTOBUF_VARINT) ? DELTA
                                                                           : ABSOLUTE;
    return protobuf_varint(message, &field->value, error);
}

static gsym_status read_text(protobuf_message *message, string_field *field,
                             gsym_error *error) {
    field->kind = TEXT;
    return protobuf_text(message, &field->text, error);
}

static gsym_status read_reference(protobuf_message *message, string_field *field,
                                  gsym_error *error) {
    uint64_t value;
    GSYM_TRY(protobuf_varint(message, &value, error));
    field->kind = REFERENCE;
    field->index = (uint32_t)value;
    return GSYM_OK;
}

static gsym_status read_number(protobuf_message *message, uint32_t *value_ret,
                               gsym_error *error) {
    uint64_t value;
    GSYM_TRY(protobuf_varint(message, &value, error));
    *value_ret = (uint32_t)value; /* as in protobuf */
    return GSYM_OK;
}

/* Compute the address of a record; `start` is the offset of its message. */
static gsym_status settle_address(read_records *records, uint64_t start,
                                  const address_field *field, gsym_error *error) {
    if (field->kind == NO_ADDRESS)
        return gsym_fail(error, GSYM_E_FORMAT, start, "a record has no address (elfVA)");
    if (field->kind == DELTA && !records->has_elf_va)
        return gsym_fail(error, GSYM_E_FORMAT, start,
                         "the first address of a file is relative to a previous one, "
                         "but there is none");
    if (field->kind == DELTA)
        records->elf_va += protobuf_from_zigzag(field->value);
    else
        records->elf_va = field->value;
    records->has_elf_va = true;
    return GSYM_OK;
}

static gsym_status refer(read_records *records, uint64_t start, uint32_t index,
                         uint32_t *number_ret, gsym_error *error) {
    bool is_there;
    records->counts.references++;
    if (read_strings_refer(&records->strings, index, number_ret, &is_there)) return GSYM_OK;
    if (is_there) return gsym_fail_memory(error);
    return gsym_fail(error, GSYM_E_FORMAT, start,
                     "string index %u out of range (table has %zu)", index,
                     records->strings.table.count);
}

static gsym_status settle_string(read_records *records, uint64_t start,
                                 const string_field *field, uint32_t *number_ret,
                                 gsym_error *error) {
    *number_ret = 0;
    if (field->kind == NO_STRING) return GSYM_OK;
    if (field->kind == REFERENCE)
        return refer(records, start, field->index, number_ret, error);
    records->counts.inline_strings++;
    return read_strings_add(&records->strings, field->text, number_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

static gsym_status fail_columns(uint64_t start, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, start,
                     "the columns of a record differ in length");
}

/* ---- ranges ----------------------------------------------------------------------- */

enum { OFFSETS = 0, LINES = 1 };

typedef struct range_fields {
    address_field elf_va;
    string_field func, file, call_file;
    uint64_t length;
    uint32_t call_line;
    uint32_t depth;
} range_fields;

/* Read a line table; several tables of a message are joined. */
static gsym_status read_line_table(read_records *records, protobuf_message *message,
                                   gsym_error *error) {
    protobuf_message table = *message;
    protobuf_bytes bytes;
    GSYM_TRY(protobuf_take(message, &bytes, error));
    table.fields.at = bytes.start;
    table.fields.end = bytes.start + bytes.size;
    while (!protobuf_ends(&table)) {
        uint32_t key;
        GSYM_TRY(protobuf_key(&table, &key, error));
        switch (key) {
            case PROTOBUF_KEY(LINE_TABLE_OFFSET, PROTOBUF_BYTES):
            case PROTOBUF_KEY(LINE_TABLE_OFFSET, PROTOBUF_VARINT):
            case PROTOBUF_KEY(LINE_TABLE_LINE_NUMBER, PROTOBUF_BYTES):
            case PROTOBUF_KEY(LINE_TABLE_LINE_NUMBER, PROTOBUF_VARINT):
                GSYM_TRY(protobuf_column_read(
                    &table, key, &records->fields[(key >> 3) - LINE_TABLE_OFFSET], error));
                break;
            default: GSYM_TRY(protobuf_skip(&table, key, LINE_TABLE_LINE_NUMBER, error));
        }
    }
    return GSYM_OK;
}

static gsym_status read_range_field(read_records *records, protobuf_message *message,
                                    uint32_t key, range_fields *range,
                                    gsym_error *error) {
    switch (key) {
        case PROTOBUF_KEY(RANGE_DELTA_ELF_VA, PROTOBUF_VARINT):
        case PROTOBUF_KEY(RANGE_SET_ELF_VA, PROTOBUF_VARINT):
            return read_address(message, key, &range->elf_va, error);
        case PROTOBUF_KEY(RANGE_LENGTH, PROTOBUF_VARINT):
            return protobuf_varint(message, &range->length, error);
        case PROTOBUF_KEY(RANGE_FUNC_STR, PROTOBUF_BYTES):
            return read_text(message, &range->func, error);
        case PROTOBUF_KEY(RANGE_FUNC_REF, PROTOBUF_VARINT):
            return read_reference(message, &range->func, error);
        case PROTOBUF_KEY(RANGE_FILE_STR, PROTOBUF_BYTES):
            return read_text(message, &range->file, error);
        case PROTOBUF_KEY(RANGE_FILE_REF, PROTOBUF_VARINT):
            return read_reference(message, &range->file, error);
        case PROTOBUF_KEY(RANGE_CALL_FILE_STR, PROTOBUF_BYTES):
            return read_text(message, &range->call_file, error);
        case PROTOBUF_KEY(RANGE_CALL_FILE_REF, PROTOBUF_VARINT):
            return read_reference(message, &range->call_file, error);
        case PROTOBUF_KEY(RANGE_CALL_LINE, PROTOBUF_VARINT):
            return read_number(message, &range->call_line, error);
        case PROTOBUF_KEY(RANGE_DEPTH, PROTOBUF_VARINT):
            return read_number(message, &range->depth, error);
        case PROTOBUF_KEY(RANGE_LINE_TABLE, PROTOBUF_BYTES):
            return read_line_table(records, message, error);
        default: return protobuf_skip(message, key, RANGE_SET_ELF_VA, error);
    }
}

static gsym_status settle_rows(read_records *records, uint64_t start,
                               gsym_error *error) {
    const protobuf_column *offsets = &records->fields[OFFSETS];
    const protobuf_column *lines = &records->fields[LINES];
    uint64_t offset = 0;
    gsym_symbfile_row *rows;
    if (offsets->count != lines->count) return fail_columns(start, error);
    if (offsets->count == 0) return GSYM_OK;
    if (!ARRAY_RESERVE(records->rows, offsets->count)) return gsym_fail_memory(error);
    rows = records->rows.items + records->rows.count;
    for (size_t i = 0; i < offsets->count; ++i) {
        offset += offsets->items[i];
        rows[i] = (gsym_symbfile_row){offset, lines->items[i], 0};
    }
    records->rows.count += offsets->count;
    records->counts.line_rows += offsets->count;
    return GSYM_OK;
}

static gsym_status read_range(read_records *records, protobuf_message *message,
                              uint64_t start, gsym_error *error) {
    record_columns *columns = &records->columns;
    size_t at = columns->range_count;
    range_fields range = {0};
    while (!protobuf_ends(message)) {
        uint32_t key;
        GSYM_TRY(protobuf_key(message, &key, error));
        GSYM_TRY(read_range_field(records, message, key, &range, error));
    }
    if (range.func.kind == NO_STRING)
        return gsym_fail(error, GSYM_E_FORMAT, start, "a range has no name (func)");
    GSYM_TRY(settle_address(records, start, &range.elf_va, error));
    GSYM_TRY(settle_string(records, start, &range.func, &columns->func[at], error));
    GSYM_TRY(settle_string(records, start, &range.file, &columns->file[at], error));
    GSYM_TRY(
        settle_string(records, start, &range.call_file, &columns->call_file[at], error));
    GSYM_TRY(settle_rows(records, start, error));
    columns->range_elf_va[at] = records->elf_va;
    columns->length[at] = range.length;
    columns->call_line[at] = range.call_line;
    columns->depth[at] = range.depth;
    columns->row_ends[at] = records->rows.count;
    columns->range_count++;
    records->counts.ranges++;
    return GSYM_OK;
}

/* ---- return pads ------------------------------------------------------------------ */

static gsym_status settle_entries(read_records *records, uint64_t start,
                                  gsym_error *error) {
    const protobuf_column *columns = records->fields; /* func, file, line */
    size_t count = columns[0].count;
    if (columns[1].count != count || columns[2].count != count)
        return fail_columns(start, error);
    if (!ARRAY_RESERVE(records->entries, count)) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        gsym_symbfile_entry entry = {0, 0, columns[2].items[i]};
        GSYM_TRY(refer(records, start, columns[0].items[i], &entry.func, error));
        GSYM_TRY(refer(records, start, columns[1].items[i], &entry.file, error));
        records->entries.items[records->entries.count++] = entry;
    }
    records->counts.entries += count;
    return GSYM_OK;
}

static gsym_status read_return_pad(read_records *records,
                                   protobuf_message *message, uint64_t start,
                                   gsym_error *error) {
    record_columns *columns = &records->columns;
    size_t at = columns->pad_count;
    address_field elf_va = {NO_ADDRESS, 0};
    while (!protobuf_ends(message)) {
        uint32_t key;
        GSYM_TRY(protobuf_key(message, &key, error));
        switch (key) {
            case PROTOBUF_KEY(RETURN_PAD_DELTA_ELF_VA, PROTOBUF_VARINT):
            case PROTOBUF_KEY(RETURN_PAD_SET_ELF_VA, PROTOBUF_VARINT):
                GSYM_TRY(read_address(message, key, &elf_va, error));
                break;
            case PROTOBUF_KEY(RETURN_PAD_FUNC, PROTOBUF_BYTES):
            case PROTOBUF_KEY(RETURN_PAD_FUNC, PROTOBUF_VARINT):
            case PROTOBUF_KEY(RETURN_PAD_FILE, PROTOBUF_BYTES):
            case PROTOBUF_KEY(RETURN_PAD_FILE, PROTOBUF_VARINT):
            case PROTOBUF_KEY(RETURN_PAD_LINE, PROTOBUF_BYTES):
            case PROTOBUF_KEY(RETURN_PAD_LINE, PROTOBUF_VARINT):
                GSYM_TRY(protobuf_column_read(
                    message, key, &records->fields[(key >> 3) - RETURN_PAD_FUNC], error));
                break;
            default: GSYM_TRY(protobuf_skip(message, key, RETURN_PAD_SET_ELF_VA, error));
        }
    }
    GSYM_TRY(settle_address(records, start, &elf_va, error));
    GSYM_TRY(settle_entries(records, start, error));
    columns->pad_elf_va[at] = records->elf_va;
    columns->entry_ends[at] = records->entries.count;
    columns->pad_count++;
    records->counts.return_pads++;
    return GSYM_OK;
}

/* ---- both ------------------------------------------------------------------------- */

static gsym_status read_records_add(read_records *records, protobuf_message *message,
                                    gsym_symbfile_message type, uint64_t start,
                                    gsym_error *error) {
    record_columns *columns = &records->columns;
    for (unsigned i = 0; i < RECORD_COLUMNS; ++i) records->fields[i].count = 0;
    if (type == GSYM_SYMBFILE_RANGE_V1)
        GSYM_TRY(read_range(records, message, start, error));
    else
        GSYM_TRY(read_return_pad(records, message, start, error));
    columns->kinds[columns->count] = (uint8_t)type;
    columns->offsets[columns->count++] = start;
    return GSYM_OK;
}

enum { MAX_HEAD_SIZE = 2 * MAX_LEB_SIZE /* length and type */ };

struct gsym_symbfile_reader {
    uint64_t consumed; /* bytes of the file before the current block */
    bool has_magic;
    bool has_header;
    read_records records;
};

gsym_status gsym_symbfile_reader_create(gsym_symbfile_reader **reader_ret,
                                        gsym_error *error) {
    gsym_symbfile_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return gsym_fail_memory(error);
    *reader_ret = reader;
    return GSYM_OK;
}

void gsym_symbfile_reader_destroy(gsym_symbfile_reader *reader) {
    if (reader == NULL) return;
    read_records_deinit(&reader->records);
    free(reader);
}

void gsym_symbfile_reader_count(const gsym_symbfile_reader *reader,
                                gsym_symbfile_counts *counts_ret) {
    *counts_ret = reader->records.counts;
}

void gsym_symbfile_reader_columns(const gsym_symbfile_reader *reader,
                                  gsym_symbfile_columns *columns_ret) {
    read_records_view(&reader->records, columns_ret);
}

/* ---- messages --------------------------------------------------------------------- */

typedef struct message_head {
    uint64_t start; /* of the message in the file */
    uint32_t size;  /* of the body */
    uint32_t type;
} message_head;

/* Whether length and type are complete, or too long. */
static bool has_head(const cursor *c) {
    size_t left = cursor_left(c);
    unsigned ends = 0;
    for (size_t i = 0; i < left && i < MAX_HEAD_SIZE; ++i)
        if (cursor_peek_unchecked(c, i) < 0x80 && ++ends == 2) return true;
    return left >= MAX_HEAD_SIZE;
}

static gsym_status read_head(const gsym_symbfile_reader *reader, cursor *c,
                             message_head *head, gsym_error *error) {
    protobuf_message prefix = {*c, reader->consumed};
    uint64_t size, type;
    head->start = protobuf_offset(&prefix);
    GSYM_TRY(protobuf_varint(&prefix, &size, error));
    if (size > GSYM_SYMBFILE_MAX_MESSAGE_SIZE)
        return gsym_fail(error, GSYM_E_FORMAT, head->start,
                         "a message of %llu bytes is longer than 16 MiB",
                         (unsigned long long)size);
    GSYM_TRY(protobuf_varint(&prefix, &type, error));
    if (type == GSYM_SYMBFILE_INVALID || type > INT32_MAX)
        return gsym_fail(error, GSYM_E_FORMAT, head->start, "unknown message type %llu",
                         (unsigned long long)type);
    if (reader->has_header == (type == GSYM_SYMBFILE_HEADER))
        return gsym_fail(error, GSYM_E_FORMAT, head->start,
                         reader->has_header ? "a second header"
                                            : "the first message is not a header");
    head->size = (uint32_t)size;
    head->type = (uint32_t)type;
    *c = prefix.fields;
    return GSYM_OK;
}

static gsym_status read_header(gsym_symbfile_reader *reader, protobuf_message *message,
                               gsym_error *error) {
    while (!protobuf_ends(message)) {
        uint32_t key;
        GSYM_TRY(protobuf_key(message, &key, error));
        GSYM_TRY(protobuf_skip(message, key, 0, error));
    }
    reader->has_header = true;
    return GSYM_OK;
}

static gsym_status read_body(gsym_symbfile_reader *reader, protobuf_message *message,
                             const message_head *head, gsym_error *error) {
    gsym_symbfile_counts *counts = &reader->records.counts;
    uint64_t string_count = 0, size = message->origin - head->start; /* of the header ... */
    size += cursor_offset(&message->fields) + head->size;        /* ... and the body */
    switch (head->type) {
        case GSYM_SYMBFILE_HEADER: return read_header(reader, message, error);
        case GSYM_SYMBFILE_RANGE_V1:
            counts->range_bytes += size;
            return read_records_add(&reader->records, message, GSYM_SYMBFILE_RANGE_V1,
                                    head->start, error);
        case GSYM_SYMBFILE_RETURN_PAD_V1:
            counts->return_pad_bytes += size;
            return read_records_add(&reader->records, message,
                                    GSYM_SYMBFILE_RETURN_PAD_V1, head->start, error);
        case GSYM_SYMBFILE_STRING_TABLE_V1:
            GSYM_TRY(read_strings_replace(&reader->records.strings, message,
                                          &string_count, error));
            counts->string_tables++;
            counts->table_strings += string_count;
            counts->string_table_bytes += size;
            return GSYM_OK;
        default:
            counts->unknown_messages++;
            counts->unknown_bytes += size;
            return GSYM_OK;
    }
}

static gsym_status fail_cut(uint64_t start, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, start,
                     "the file ends inside a message");
}

/* Read one message, or none if it is incomplete. */
static gsym_status read_message(gsym_symbfile_reader *reader, cursor *c, bool is_last,
                                size_t *wanted_ret, gsym_error *error) {
    protobuf_message message;
    message_head head = {0};
    cursor body = *c;
    if (!is_last && !has_head(c)) {
        *wanted_ret = cursor_left(c) + 1;
        return GSYM_OK;
    }
    GSYM_TRY(read_head(reader, &body, &head, error));
    if (head.size > cursor_left(&body)) {
        if (is_last) return fail_cut(head.start, error);
        *wanted_ret = (size_t)(body.at - c->at) + head.size;
        return GSYM_OK;
    }
    message = (protobuf_message){body, reader->consumed};
    message.fields.end = body.at + head.size;
    GSYM_TRY(read_body(reader, &message, &head, error));
    c->at = body.at + head.size;
    return GSYM_OK;
}

static gsym_status read_magic(gsym_symbfile_reader *reader, cursor *c, bool is_last,
                              size_t *wanted_ret, gsym_error *error) {
    size_t left = cursor_left(c), size = SYMBFILE_MAGIC_SIZE;
    if (memcmp(c->at, SYMBFILE_MAGIC, left < size ? left : size) != 0)
        return gsym_fail(error, GSYM_E_FORMAT, 0, "not a symbfile: wrong magic number");
    if (left < size) {
        if (is_last)
            return gsym_fail(error, GSYM_E_FORMAT, left,
                             "the file ends inside its magic number");
        *wanted_ret = size;
        return GSYM_OK;
    }
    c->at += size;
    reader->has_magic = true;
    return GSYM_OK;
}

gsym_status gsym_symbfile_reader_read(gsym_symbfile_reader *reader, const uint8_t *bytes,
                                      size_t size, uint32_t is_last, size_t *used_ret,
                                      size_t *wanted_ret, gsym_error *error) {
    cursor c = cursor_at(bytes, size, 0, false);
    *used_ret = *wanted_ret = 0;
    read_records_begin(&reader->records);
    if (!reader->has_magic)
        GSYM_TRY(read_magic(reader, &c, is_last != 0, wanted_ret, error));
    while (*wanted_ret == 0 && !read_records_are_enough(&reader->records)) {
        if (cursor_left(&c) > 0) {
            GSYM_TRY(read_message(reader, &c, is_last != 0, wanted_ret, error));
        } else if (is_last && !reader->has_header) {
            return gsym_fail(error, GSYM_E_FORMAT, reader->consumed + size,
                             "the file ends before its header");
        } else {
            *wanted_ret = 1;
        }
    }
    *used_ret = (size_t)cursor_offset(&c);
    reader->consumed += *used_ret;
    return GSYM_OK;
}
