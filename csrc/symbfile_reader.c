/* symbfile_reader.c - a symbfile, message by message, into columns of records.
 *
 * State goes from message to message: the address of the last record, range or return
 * pad, and the string table, which the next one replaces. */
#include "symbfile_read_strings.h"

enum {
    MOST_RECORDS = 1 << 14, /* of one read; a message adds all of its rows and entries */
    ENOUGH_ROWS = 1 << 17,
    ENOUGH_STRING_BYTES = 4 << 20,
    MOST_HEAD_SIZE = 2 * MAX_LEB_SIZE, /* length and type */
    COLUMNS = 3                        /* of a message, at most */
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

struct gsym_symbfile_reader {
    uint64_t consumed; /* bytes of the file in front of those that are read */
    uint64_t elf_va;   /* of the last record */
    bool has_elf_va;
    bool has_magic;
    bool has_header;
    read_strings strings;
    protobuf_column columns[COLUMNS]; /* of the message that is read */
    struct { gsym_symbfile_row *items; size_t count, capacity; } rows;
    struct { gsym_symbfile_entry *items; size_t count, capacity; } entries;
    gsym_symbfile_counts counts;
    record_columns records;
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
    read_strings_deinit(&reader->strings);
    for (unsigned i = 0; i < COLUMNS; ++i) free(reader->columns[i].items);
    free(reader->rows.items);
    free(reader->entries.items);
    free(reader);
}

void gsym_symbfile_reader_count(const gsym_symbfile_reader *reader,
                                gsym_symbfile_counts *counts_ret) {
    *counts_ret = reader->counts;
}

void gsym_symbfile_reader_columns(const gsym_symbfile_reader *reader,
                                  gsym_symbfile_columns *columns_ret) {
    const record_columns *records = &reader->records;
    const read_strings *strings = &reader->strings;
    *columns_ret = (gsym_symbfile_columns){
        .count = records->count,
        .kinds = records->kinds,
        .offsets = records->offsets,
        .range_count = records->range_count,
        .range_elf_va = records->range_elf_va,
        .length = records->length,
        .func = records->func,
        .file = records->file,
        .call_file = records->call_file,
        .call_line = records->call_line,
        .depth = records->depth,
        .row_ends = records->row_ends,
        .row_count = reader->rows.count,
        .rows = reader->rows.items,
        .pad_count = records->pad_count,
        .pad_elf_va = records->pad_elf_va,
        .entry_ends = records->entry_ends,
        .entry_count = reader->entries.count,
        .entries = reader->entries.items,
        .string_first = strings->first,
        .string_end = strings->first + (uint32_t)strings->ends.count,
        .string_bytes = (const char *)strings->bytes.bytes,
        .string_ends = strings->ends.items,
    };
}

/* ---- what both records have ------------------------------------------------------- */

/* One of a oneof: where several are given, the last counts. */
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
    *value_ret = (uint32_t)value; /* as protobuf has it */
    return GSYM_OK;
}

/* `start` is where the message begins. */
static gsym_status settle_address(gsym_symbfile_reader *reader, uint64_t start,
                                  const address_field *field, gsym_error *error) {
    if (field->kind == NO_ADDRESS)
        return gsym_fail(error, GSYM_E_FORMAT, start, "a record has no address (elfVA)");
    if (field->kind == DELTA && !reader->has_elf_va)
        return gsym_fail(error, GSYM_E_FORMAT, start,
                         "the address of a record counts from one before, of which there "
                         "is none");
    if (field->kind == DELTA)
        reader->elf_va += protobuf_from_zigzag(field->value);
    else
        reader->elf_va = field->value;
    reader->has_elf_va = true;
    return GSYM_OK;
}

static gsym_status refer(gsym_symbfile_reader *reader, uint64_t start, uint32_t index,
                         uint32_t *number_ret, gsym_error *error) {
    bool is_there;
    reader->counts.references++;
    if (read_strings_refer(&reader->strings, index, number_ret, &is_there)) return GSYM_OK;
    if (is_there) return gsym_fail_memory(error);
    return gsym_fail(error, GSYM_E_FORMAT, start,
                     "a record names string %u of a table of %zu", index,
                     reader->strings.table.count);
}

static gsym_status settle_string(gsym_symbfile_reader *reader, uint64_t start,
                                 const string_field *field, uint32_t *number_ret,
                                 gsym_error *error) {
    *number_ret = 0;
    if (field->kind == NO_STRING) return GSYM_OK;
    if (field->kind == REFERENCE)
        return refer(reader, start, field->index, number_ret, error);
    reader->counts.inline_strings++;
    return read_strings_add(&reader->strings, field->text, number_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

static gsym_status fail_columns(uint64_t start, gsym_error *error) {
    return gsym_fail(error, GSYM_E_FORMAT, start,
                     "the columns of a record are of different lengths");
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

/* Where a message holds several tables, they are one. */
static gsym_status read_line_table(gsym_symbfile_reader *reader,
                                   protobuf_message *message, gsym_error *error) {
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
                    &table, key, &reader->columns[(key >> 3) - LINE_TABLE_OFFSET], error));
                break;
            default: GSYM_TRY(protobuf_skip(&table, key, LINE_TABLE_LINE_NUMBER, error));
        }
    }
    return GSYM_OK;
}

static gsym_status read_range_field(gsym_symbfile_reader *reader,
                                    protobuf_message *message, uint32_t key,
                                    range_fields *range, gsym_error *error) {
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
            return read_line_table(reader, message, error);
        default: return protobuf_skip(message, key, RANGE_SET_ELF_VA, error);
    }
}

static gsym_status settle_rows(gsym_symbfile_reader *reader, uint64_t start,
                               gsym_error *error) {
    const protobuf_column *offsets = &reader->columns[OFFSETS];
    const protobuf_column *lines = &reader->columns[LINES];
    uint64_t offset = 0;
    gsym_symbfile_row *rows;
    if (offsets->count != lines->count) return fail_columns(start, error);
    if (offsets->count == 0) return GSYM_OK;
    if (!ARRAY_RESERVE(reader->rows, offsets->count)) return gsym_fail_memory(error);
    rows = reader->rows.items + reader->rows.count;
    for (size_t i = 0; i < offsets->count; ++i) {
        offset += offsets->items[i];
        rows[i] = (gsym_symbfile_row){offset, lines->items[i], 0};
    }
    reader->rows.count += offsets->count;
    reader->counts.line_rows += offsets->count;
    return GSYM_OK;
}

static gsym_status read_range(gsym_symbfile_reader *reader, protobuf_message *message,
                              uint64_t start, gsym_error *error) {
    record_columns *records = &reader->records;
    size_t at = records->range_count;
    range_fields range = {0};
    while (!protobuf_ends(message)) {
        uint32_t key;
        GSYM_TRY(protobuf_key(message, &key, error));
        GSYM_TRY(read_range_field(reader, message, key, &range, error));
    }
    if (range.func.kind == NO_STRING)
        return gsym_fail(error, GSYM_E_FORMAT, start, "a range has no name (func)");
    GSYM_TRY(settle_address(reader, start, &range.elf_va, error));
    GSYM_TRY(settle_string(reader, start, &range.func, &records->func[at], error));
    GSYM_TRY(settle_string(reader, start, &range.file, &records->file[at], error));
    GSYM_TRY(
        settle_string(reader, start, &range.call_file, &records->call_file[at], error));
    GSYM_TRY(settle_rows(reader, start, error));
    records->range_elf_va[at] = reader->elf_va;
    records->length[at] = range.length;
    records->call_line[at] = range.call_line;
    records->depth[at] = range.depth;
    records->row_ends[at] = reader->rows.count;
    records->range_count++;
    reader->counts.ranges++;
    return GSYM_OK;
}

/* ---- return pads ------------------------------------------------------------------ */

static gsym_status settle_entries(gsym_symbfile_reader *reader, uint64_t start,
                                  gsym_error *error) {
    const protobuf_column *columns = reader->columns; /* func, file, line */
    size_t count = columns[0].count;
    if (columns[1].count != count || columns[2].count != count)
        return fail_columns(start, error);
    if (!ARRAY_RESERVE(reader->entries, count)) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) {
        gsym_symbfile_entry entry = {0, 0, columns[2].items[i]};
        GSYM_TRY(refer(reader, start, columns[0].items[i], &entry.func, error));
        GSYM_TRY(refer(reader, start, columns[1].items[i], &entry.file, error));
        reader->entries.items[reader->entries.count++] = entry;
    }
    reader->counts.entries += count;
    return GSYM_OK;
}

static gsym_status read_return_pad(gsym_symbfile_reader *reader,
                                   protobuf_message *message, uint64_t start,
                                   gsym_error *error) {
    record_columns *records = &reader->records;
    size_t at = records->pad_count;
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
                    message, key, &reader->columns[(key >> 3) - RETURN_PAD_FUNC], error));
                break;
            default: GSYM_TRY(protobuf_skip(message, key, RETURN_PAD_SET_ELF_VA, error));
        }
    }
    GSYM_TRY(settle_address(reader, start, &elf_va, error));
    GSYM_TRY(settle_entries(reader, start, error));
    records->pad_elf_va[at] = reader->elf_va;
    records->entry_ends[at] = reader->entries.count;
    records->pad_count++;
    reader->counts.return_pads++;
    return GSYM_OK;
}

/* ---- messages --------------------------------------------------------------------- */

typedef struct message_head {
    uint64_t start; /* of the message in the file */
    uint32_t size;  /* of the body */
    uint32_t type;
} message_head;

/* Whether length and type are there, or are too long in any case. */
static bool has_head(const cursor *c) {
    size_t left = cursor_left(c);
    unsigned ends = 0;
    for (size_t i = 0; i < left && i < MOST_HEAD_SIZE; ++i)
        if (c->at[i] < 0x80 && ++ends == 2) return true;
    return left >= MOST_HEAD_SIZE;
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
        return gsym_fail(error, GSYM_E_FORMAT, head->start, "a message is of type %llu",
                         (unsigned long long)type);
    if (reader->has_header == (type == GSYM_SYMBFILE_HEADER))
        return gsym_fail(error, GSYM_E_FORMAT, head->start,
                         reader->has_header ? "a second header"
                                            : "the first message is no header");
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

static gsym_status read_record(gsym_symbfile_reader *reader, protobuf_message *message,
                               const message_head *head, gsym_error *error) {
    record_columns *records = &reader->records;
    for (unsigned i = 0; i < COLUMNS; ++i) reader->columns[i].count = 0;
    if (head->type == GSYM_SYMBFILE_RANGE_V1)
        GSYM_TRY(read_range(reader, message, head->start, error));
    else
        GSYM_TRY(read_return_pad(reader, message, head->start, error));
    records->kinds[records->count] = (uint8_t)head->type;
    records->offsets[records->count++] = head->start;
    return GSYM_OK;
}

static gsym_status read_body(gsym_symbfile_reader *reader, protobuf_message *message,
                             const message_head *head, gsym_error *error) {
    gsym_symbfile_counts *counts = &reader->counts;
    uint64_t string_count, size = message->origin - head->start; /* of the head ... */
    size += cursor_offset(&message->fields) + head->size;        /* ... and the body */
    switch (head->type) {
        case GSYM_SYMBFILE_HEADER: return read_header(reader, message, error);
        case GSYM_SYMBFILE_RANGE_V1:
            counts->range_bytes += size;
            return read_record(reader, message, head, error);
        case GSYM_SYMBFILE_RETURN_PAD_V1:
            counts->return_pad_bytes += size;
            return read_record(reader, message, head, error);
        case GSYM_SYMBFILE_STRING_TABLE_V1:
            GSYM_TRY(
                read_strings_replace(&reader->strings, message, &string_count, error));
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
                     "the file ends in the middle of a message");
}

/* One message, or none where it is not all there. */
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
        return gsym_fail(error, GSYM_E_FORMAT, 0, "not a symbfile: it has another magic");
    if (left < size) {
        if (is_last)
            return gsym_fail(error, GSYM_E_FORMAT, left, "the file ends in its magic");
        *wanted_ret = size;
        return GSYM_OK;
    }
    c->at += size;
    reader->has_magic = true;
    return GSYM_OK;
}

static bool has_enough(const gsym_symbfile_reader *reader) {
    return reader->records.count == MOST_RECORDS || reader->rows.count >= ENOUGH_ROWS ||
           reader->entries.count >= ENOUGH_ROWS ||
           reader->strings.bytes.size >= ENOUGH_STRING_BYTES;
}

static void begin_columns(gsym_symbfile_reader *reader) {
    record_columns *records = &reader->records;
    records->count = records->range_count = records->pad_count = 0;
    reader->rows.count = reader->entries.count = 0;
    read_strings_begin(&reader->strings);
}

gsym_status gsym_symbfile_reader_read(gsym_symbfile_reader *reader, const uint8_t *bytes,
                                      size_t size, uint32_t is_last, size_t *used_ret,
                                      size_t *wanted_ret, gsym_error *error) {
    cursor c = cursor_at(bytes, size, 0, false);
    *used_ret = *wanted_ret = 0;
    begin_columns(reader);
    if (!reader->has_magic)
        GSYM_TRY(read_magic(reader, &c, is_last != 0, wanted_ret, error));
    while (*wanted_ret == 0 && !has_enough(reader)) {
        if (cursor_left(&c) > 0) {
            GSYM_TRY(read_message(reader, &c, is_last != 0, wanted_ret, error));
        } else if (is_last && !reader->has_header) {
            return gsym_fail(error, GSYM_E_FORMAT, reader->consumed + size,
                             "the file ends in front of its header");
        } else {
            *wanted_ret = 1;
        }
    }
    *used_ret = (size_t)cursor_offset(&c);
    reader->consumed += *used_ret;
    return GSYM_OK;
}
