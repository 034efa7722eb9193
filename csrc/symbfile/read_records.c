/* read_records.c - read ranges and return pads.
 *
 * Deltas are added up to addresses, and strings get numbers. */
#include "symbfile/reader.h"

enum { ENOUGH_ROWS = 1 << 17, ENOUGH_STRING_BYTES = 4 << 20 };

void read_records_deinit(read_records *records) {
    read_strings_deinit(&records->strings);
    for (unsigned i = 0; i < RECORD_COLUMNS; ++i) free(records->fields[i].items);
    free(records->rows.items);
    free(records->entries.items);
}

void read_records_begin(read_records *records) {
    record_columns *columns = &records->columns;
    columns->count = columns->range_count = columns->pad_count = 0;
    records->rows.count = records->entries.count = 0;
    read_strings_begin(&records->strings);
}

bool read_records_are_enough(const read_records *records) {
    return records->columns.count == MAX_RECORDS || records->rows.count >= ENOUGH_ROWS ||
           records->entries.count >= ENOUGH_ROWS ||
           records->strings.bytes.size >= ENOUGH_STRING_BYTES;
}

void read_records_view(const read_records *records,
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

/* One of the fields in a oneof of protobuf. If a message has several, the last is used. */
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
    *value_ret = (uint32_t)value; /* protobuf drops the upper bits, too */
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
    if (!LIST_RESERVE(records->rows, offsets->count)) return gsym_fail_memory(error);
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
    const protobuf_column *columns = records->fields; /* the columns func, file and line */
    size_t count = columns[0].count;
    if (columns[1].count != count || columns[2].count != count)
        return fail_columns(start, error);
    if (!LIST_RESERVE(records->entries, count)) return gsym_fail_memory(error);
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

/* ---- records of either kind ------------------------------------------------------- */

gsym_status read_records_add(read_records *records, protobuf_message *message,
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
