/* writer.c - write records to symbfiles.
 *
 * Records are collected into a batch; then the string table of the batch is written, and
 * its records after it. Fields are in the order of the reference implementation, in which a
 * oneof is at the position of its lowest number. */
#include "symbfile/written_strings.h"
#include "symbfile/symbfile.h"

enum {
    MAX_TABLE_SIZE = GSYM_SYMBFILE_MAX_MESSAGE_SIZE,
    MAX_PENDING = 8 << 20, /* bytes of a batch in memory */
    HEAD_SIZE = 5, /* maximum bytes before a body: 4 of length, 1 of type */
    SHORT_HEAD_SIZE = 2, /* bytes before the body of most messages */
    FIELDS_SIZE = 128, /* maximum bytes of a record without texts and columns */
    RECORD_SIZE = 16, /* typical bytes of a record without texts and columns */
    VALUE_SIZE = 5, /* maximum bytes of a number in a column */
    FEW_BYTES = 4096
};

/* A pending record. `columns_at` is where its columns begin: for a range a position in
 * `columns`, for a return pad an index in `entries`. */
typedef struct pending_record {
    uint64_t elf_va;
    uint64_t length;
    uint64_t columns_at;
    uint32_t offsets_size, lines_size; /* bytes of the columns of a range */
    uint32_t entry_count; /* of a return pad */
    uint32_t func;
    uint32_t file;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t depth;
    uint32_t type; /* gsym_symbfile_message */
} pending_record;

struct gsym_symbfile_writer {
    written_strings strings;
    LIST(pending_record) pending;
    buffer columns; /* of pending ranges */
    LIST(gsym_symbfile_entry) entries;
    buffer out;
    size_t taken; /* bytes of `out` that the caller has taken */
    LIST(size_t) part_ends; /* in `out` */
    size_t parts_taken;
    uint64_t part_size;
    uint64_t written; /* bytes of the current part */
    uint64_t waiting; /* approximate bytes of pending records, without strings */
    uint64_t elf_va;  /* of the last record */
    bool has_elf_va;
    bool has_head; /* the magic number and the header of the current part are written */
    bool is_finished;
};

gsym_status gsym_symbfile_writer_create(uint64_t part_size,
                                        gsym_symbfile_writer **writer_ret,
                                        gsym_error *error) {
    gsym_symbfile_writer *writer = calloc(1, sizeof *writer);
    /* Adding to a null pointer, even 0, is undefined. */
    if (writer == NULL || !buffer_reserve(&writer->strings.bytes, 1) ||
        !buffer_reserve(&writer->columns, 1) || !buffer_reserve(&writer->out, 1) ||
        !LIST_RESERVE(writer->entries, 1)) {
        gsym_symbfile_writer_destroy(writer);
        return gsym_fail_memory(error);
    }
    writer->part_size = part_size;
    *writer_ret = writer;
    return GSYM_OK;
}

void gsym_symbfile_writer_destroy(gsym_symbfile_writer *writer) {
    if (writer == NULL) return;
    written_strings_deinit(&writer->strings);
    free(writer->pending.items);
    free(writer->entries.items);
    free(writer->part_ends.items);
    buffer_deinit(&writer->columns);
    buffer_deinit(&writer->out);
    free(writer);
}

gsym_status gsym_symbfile_writer_add_string(gsym_symbfile_writer *writer,
                                            const char *bytes, size_t size,
                                            uint32_t *string_ret, gsym_error *error) {
    return written_strings_add(&writer->strings, bytes, size, string_ret, error);
}

/* ---- messages --------------------------------------------------------------------- */

/* Leave space for a short header of a message, which end_message() writes. Return where the
 * body begins. */
static size_t begin_message(buffer *out) {
    if (buffer_reserve(out, HEAD_SIZE)) out->size += SHORT_HEAD_SIZE;
    return out->size;
}

/* Return how many bytes the LEB128 of `size` has after the first one. */
static inline size_t more_for_size(size_t size) {
    size_t more = 0;
    for (size >>= 7; size > 0; size >>= 7) ++more;
    return more;
}

/* Write the header before a body; if it is not short, move the body. Return the end of the
 * message. */
static inline uint8_t *put_message_head(uint8_t *body, size_t size,
                                        gsym_symbfile_message type) {
    size_t more = more_for_size(size);
    if (more > 0) memmove(body + more, body, size);
    *put_uleb_unchecked(body - SHORT_HEAD_SIZE, size) = (uint8_t)type;
    return body + more + size;
}

static void end_message(buffer *out, size_t body_at, gsym_symbfile_message type) {
    uint8_t *body;
    if (out->failed || !buffer_reserve(out, HEAD_SIZE)) return;
    body = out->bytes + body_at;
    out->size = (size_t)(put_message_head(body, out->size - body_at, type) - out->bytes);
}

static void put_head(gsym_symbfile_writer *writer) {
    if (writer->has_head) return;
    buffer_put(&writer->out, SYMBFILE_MAGIC, SYMBFILE_MAGIC_SIZE);
    end_message(&writer->out, begin_message(&writer->out), GSYM_SYMBFILE_HEADER);
    writer->has_head = true;
}

static inline uint8_t *put_key(uint8_t *at, uint32_t number, protobuf_wire_type type) {
    return put_uleb_unchecked(at, PROTOBUF_KEY(number, type));
}

static inline uint8_t *put_number(uint8_t *at, uint32_t number, uint64_t value) {
    return put_uleb_unchecked(put_key(at, number, PROTOBUF_VARINT), value);
}

static inline uint8_t *put_bytes(uint8_t *at, uint32_t number, const uint8_t *bytes,
                                 size_t size) {
    at = put_uleb_unchecked(put_key(at, number, PROTOBUF_BYTES), size);
    if (size > 0) memcpy(at, bytes, size);
    return at + size;
}

static void put_table(gsym_symbfile_writer *writer) {
    const written_strings *strings = &writer->strings;
    buffer *out = &writer->out;
    size_t body_at = begin_message(out);
    for (size_t i = 0; i < strings->batch.count; ++i) {
        const written_string *string =
            written_strings_at(strings, strings->batch.items[i]);
        if (!buffer_reserve(out, string->size + 2 * MAX_LEB_SIZE)) return;
        out->size = (size_t)(put_bytes(out->bytes + out->size, STRING_TABLE_STRINGS,
                                       strings->bytes.bytes + string->at, string->size) -
                             out->bytes);
    }
    end_message(out, body_at, GSYM_SYMBFILE_STRING_TABLE_V1);
}

/* ---- records ---------------------------------------------------------------------- */

static uint8_t *put_address(gsym_symbfile_writer *writer, uint8_t *at, uint64_t elf_va,
                            uint32_t set_field) {
    int64_t delta = (int64_t)(elf_va - writer->elf_va);
    /* A delta cannot hold a step of 2^63 or more. */
    bool is_delta = writer->has_elf_va && (elf_va >= writer->elf_va) == (delta >= 0);
    writer->elf_va = elf_va;
    writer->has_elf_va = true;
    if (!is_delta) return put_number(at, set_field, elf_va);
    return put_number(at, RANGE_DELTA_ELF_VA, protobuf_to_zigzag(delta));
}

static uint8_t *put_string(const gsym_symbfile_writer *writer, uint8_t *at,
                           uint32_t number, uint32_t text_field, uint32_t ref_field) {
    const written_string *string;
    if (number == 0) return at;
    string = written_strings_at(&writer->strings, number);
    if (string->is_in_table) return put_number(at, ref_field, string->reference);
    return put_bytes(at, text_field, writer->strings.bytes.bytes + string->at,
                     string->size);
}

static uint8_t *put_line_table(const gsym_symbfile_writer *writer, uint8_t *at,
                               const pending_record *record) {
    const uint8_t *offsets = writer->columns.bytes + record->columns_at;
    uint8_t heads[4 * MAX_LEB_SIZE], *end = heads;
    if (record->lines_size == 0) return at;
    /* The size of the table includes the headers of its columns. */
    end = put_uleb_unchecked(put_key(end, LINE_TABLE_OFFSET, PROTOBUF_BYTES),
                             record->offsets_size);
    end = put_uleb_unchecked(put_key(end, LINE_TABLE_LINE_NUMBER, PROTOBUF_BYTES),
                             record->lines_size);
    at = put_uleb_unchecked(put_key(at, RANGE_LINE_TABLE, PROTOBUF_BYTES),
                            (uint64_t)(end - heads) + record->offsets_size +
                                record->lines_size);
    at = put_bytes(at, LINE_TABLE_OFFSET, offsets, record->offsets_size);
    return put_bytes(at, LINE_TABLE_LINE_NUMBER, offsets + record->offsets_size,
                     record->lines_size);
}

static uint8_t *put_range(gsym_symbfile_writer *writer, uint8_t *at,
                          const pending_record *record) {
    at = put_address(writer, at, record->elf_va, RANGE_SET_ELF_VA);
    if (record->length != 0) at = put_number(at, RANGE_LENGTH, record->length);
    at = put_string(writer, at, record->func, RANGE_FUNC_STR, RANGE_FUNC_REF);
    at = put_string(writer, at, record->file, RANGE_FILE_STR, RANGE_FILE_REF);
    if (record->call_line != 0) at = put_number(at, RANGE_CALL_LINE, record->call_line);
    at = put_string(writer, at, record->call_file, RANGE_CALL_FILE_STR,
                    RANGE_CALL_FILE_REF);
    if (record->depth != 0) at = put_number(at, RANGE_DEPTH, record->depth);
    return put_line_table(writer, at, record);
}

typedef enum pad_column { PAD_FUNC, PAD_FILE, PAD_LINE } pad_column;

static inline uint32_t pad_value(const gsym_symbfile_writer *writer, pad_column column,
                                 const gsym_symbfile_entry *entry) {
    if (column == PAD_LINE) return entry->line;
    return written_strings_at(&writer->strings,
                              column == PAD_FUNC ? entry->func : entry->file)
        ->reference;
}

static uint8_t *put_pad_column(const gsym_symbfile_writer *writer, uint8_t *at,
                               const pending_record *record, pad_column column) {
    const gsym_symbfile_entry *entries = LIST_FROM(writer->entries, record->columns_at);
    uint8_t *values, *end;
    size_t size, more;
    if (record->entry_count == 0) return at;
    at = put_key(at, RETURN_PAD_FUNC + (uint32_t)column, PROTOBUF_BYTES);
    values = end = at + 1;
    for (uint32_t i = 0; i < record->entry_count; ++i)
        end = put_uleb_unchecked(end, pad_value(writer, column, &entries[i]));
    size = (size_t)(end - values);
    more = more_for_size(size);
    if (more > 0) memmove(values + more, values, size);
    (void)put_uleb_exact(at, size); /* values follow */
    return end + more;
}

static uint8_t *put_return_pad(gsym_symbfile_writer *writer, uint8_t *at,
                               const pending_record *record) {
    at = put_address(writer, at, record->elf_va, RETURN_PAD_SET_ELF_VA);
    at = put_pad_column(writer, at, record, PAD_FUNC);
    at = put_pad_column(writer, at, record, PAD_FILE);
    return put_pad_column(writer, at, record, PAD_LINE);
}

/* Return the maximum bytes of a string in a record. */
static uint64_t text_size(const gsym_symbfile_writer *writer, uint32_t number) {
    return number == 0 ? 0 : written_strings_at(&writer->strings, number)->size;
}

/* Return the maximum bytes of the body of a record. */
static uint64_t body_size(const gsym_symbfile_writer *writer,
                          const pending_record *record) {
    uint64_t size = FIELDS_SIZE;
    if (record->type == GSYM_SYMBFILE_RETURN_PAD_V1)
        return size + (uint64_t)record->entry_count * 3 * VALUE_SIZE;
    size += (uint64_t)record->offsets_size + record->lines_size;
    /* The strings of the record need to be looked at only if some strings are long. */
    if (writer->strings.longest < FEW_BYTES) return size + 3 * writer->strings.longest;
    return size + text_size(writer, record->func) + text_size(writer, record->file) +
           text_size(writer, record->call_file);
}

static void put_record(gsym_symbfile_writer *writer, const pending_record *record) {
    buffer *out = &writer->out;
    uint8_t *body, *end;
    if (!buffer_reserve(out, HEAD_SIZE + (size_t)body_size(writer, record))) return;
    body = out->bytes + out->size + SHORT_HEAD_SIZE;
    end = record->type == GSYM_SYMBFILE_RANGE_V1 ? put_range(writer, body, record)
                                                 : put_return_pad(writer, body, record);
    end = put_message_head(body, (size_t)(end - body),
                           (gsym_symbfile_message)record->type);
    out->size = (size_t)(end - out->bytes);
}

/* ---- batches and parts ------------------------------------------------------------ */

static gsym_status flush(gsym_symbfile_writer *writer, gsym_error *error) {
    size_t start = writer->out.size;
    if (!written_strings_make_table(&writer->strings)) return gsym_fail_memory(error);
    put_head(writer);
    put_table(writer);
    for (size_t i = 0; i < writer->pending.count; ++i)
        put_record(writer, &writer->pending.items[i]);
    written_strings_end_batch(&writer->strings);
    if (writer->out.failed) return gsym_fail_memory(error);
    writer->written += writer->out.size - start;
    writer->pending.count = writer->entries.count = writer->columns.size = 0;
    writer->waiting = 0;
    return GSYM_OK;
}

static gsym_status end_part(gsym_symbfile_writer *writer, gsym_error *error) {
    if (writer->pending.count > 0 || !writer->has_head) GSYM_TRY(flush(writer, error));
    if (!LIST_ADD(writer->part_ends, writer->out.size)) return gsym_fail_memory(error);
    writer->has_head = writer->has_elf_va = false;
    writer->written = 0;
    return GSYM_OK;
}

static bool is_part_full(const gsym_symbfile_writer *writer, uint64_t more) {
    uint64_t size = writer->written + writer->waiting + writer->strings.batch_size;
    return writer->part_size != 0 && size != 0 && size + more > writer->part_size;
}

static bool is_batch_full(const gsym_symbfile_writer *writer, uint64_t strings_cost) {
    return writer->strings.batch_size + strings_cost > MAX_TABLE_SIZE ||
           writer->pending.count * sizeof(pending_record) + writer->columns.size +
                   writer->entries.count * sizeof(gsym_symbfile_entry) >=
               MAX_PENDING;
}

/* Make space for a record of about `size` bytes, and its strings. */
static gsym_status make_room(gsym_symbfile_writer *writer, bool may_begin_part,
                             uint64_t size, uint64_t strings_cost, gsym_error *error) {
    if (writer->is_finished)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the symbfile is finished");
    if (may_begin_part && is_part_full(writer, size + strings_cost))
        GSYM_TRY(end_part(writer, error));
    if (writer->pending.count > 0 && is_batch_full(writer, strings_cost))
        GSYM_TRY(flush(writer, error));
    if (!LIST_RESERVE(writer->pending, 1)) return gsym_fail_memory(error);
    writer->waiting += size;
    return GSYM_OK;
}

/* ---- input ------------------------------------------------------------------------ */

static gsym_status check_string(const gsym_symbfile_writer *writer, uint32_t number,
                                bool may_be_none, gsym_error *error) {
    if ((number == 0 && may_be_none) || written_strings_has(&writer->strings, number))
        return GSYM_OK;
    return gsym_fail(error, GSYM_E_ARGUMENT, 0, "string %u does not exist", number);
}

static gsym_status fail_size(gsym_error *error) {
    return gsym_fail(error, GSYM_E_LIMIT, 0, "a record exceeds 16 MiB");
}

/* Encode both columns of a line table after those of the pending ranges. They are part of
 * `columns` only after keep_columns(). */
static gsym_status pack_rows(gsym_symbfile_writer *writer,
                             const gsym_symbfile_range *range, pending_record *record,
                             gsym_error *error) {
    buffer *columns = &writer->columns;
    uint64_t offset = 0;
    uint8_t *start, *at;
    if (range->row_count > GSYM_SYMBFILE_MAX_MESSAGE_SIZE / 2) return fail_size(error);
    if (!buffer_reserve(columns, range->row_count * 2 * VALUE_SIZE))
        return gsym_fail_memory(error);
    record->columns_at = columns->size;
    start = at = columns->bytes + columns->size;
    for (size_t i = 0; i < range->row_count; ++i) {
        uint64_t step = range->rows[i].offset - offset;
        if (range->rows[i].offset < offset)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a line table is not sorted");
        if (step > UINT32_MAX)
            return gsym_fail(error, GSYM_E_LIMIT, 0,
                             "a step between rows exceeds 32 bits");
        at = put_uleb_unchecked(at, step);
        offset = range->rows[i].offset;
    }
    record->offsets_size = (uint32_t)(at - start);
    for (size_t i = 0; i < range->row_count; ++i)
        at = put_uleb_unchecked(at, range->rows[i].line);
    record->lines_size = (uint32_t)(at - start) - record->offsets_size;
    return GSYM_OK;
}

/* Keep the columns that pack_rows() encoded. If make_room() wrote the batch meanwhile, move
 * them to the front. */
static void keep_columns(gsym_symbfile_writer *writer, pending_record *record) {
    buffer *columns = &writer->columns;
    size_t size = (size_t)record->offsets_size + record->lines_size;
    if (columns->size != record->columns_at)
        memmove(columns->bytes + columns->size, columns->bytes + record->columns_at, size);
    record->columns_at = columns->size;
    columns->size += size;
}

gsym_status gsym_symbfile_writer_add_range(gsym_symbfile_writer *writer,
                                           const gsym_symbfile_range *range,
                                           gsym_error *error) {
    written_strings *strings = &writer->strings;
    pending_record record = {.elf_va = range->elf_va,
                             .length = range->length,
                             .func = range->func,
                             .file = range->file,
                             .call_file = range->call_file,
                             .call_line = range->call_line,
                             .depth = range->depth,
                             .type = GSYM_SYMBFILE_RANGE_V1};
    GSYM_TRY(check_string(writer, range->func, false, error));
    GSYM_TRY(check_string(writer, range->file, true, error));
    GSYM_TRY(check_string(writer, range->call_file, true, error));
    GSYM_TRY(pack_rows(writer, range, &record, error));
    if (body_size(writer, &record) > GSYM_SYMBFILE_MAX_MESSAGE_SIZE)
        return fail_size(error);
    GSYM_TRY(make_room(writer, range->depth == 0,
                       RECORD_SIZE + (uint64_t)record.offsets_size + record.lines_size,
                       written_strings_cost(strings, range->func) +
                           written_strings_cost(strings, range->file) +
                           written_strings_cost(strings, range->call_file),
                       error));
    keep_columns(writer, &record);
    if (!written_strings_use(strings, range->func, false) ||
        !written_strings_use(strings, range->file, false) ||
        !written_strings_use(strings, range->call_file, false))
        return gsym_fail_memory(error);
    writer->pending.items[writer->pending.count++] = record;
    return GSYM_OK;
}

/* Compute by how many bytes the strings of a return pad let the string table grow at
 * most. */
static gsym_status cost_of_entries(gsym_symbfile_writer *writer,
                                   const gsym_symbfile_entry *entries, size_t count,
                                   uint32_t no_file, uint64_t *cost_ret,
                                   gsym_error *error) {
    written_strings *strings = &writer->strings;
    *cost_ret = written_strings_cost(strings, no_file);
    for (size_t i = 0; i < count; ++i)
        *cost_ret += written_strings_claim(strings, entries[i].func) +
                     written_strings_claim(strings, entries[i].file);
    for (size_t i = 0; i < count; ++i) {
        written_strings_release(strings, entries[i].func);
        written_strings_release(strings, entries[i].file);
    }
    if (*cost_ret > MAX_TABLE_SIZE)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the strings of a return pad exceed 16 MiB");
    return GSYM_OK;
}

gsym_status gsym_symbfile_writer_add_return_pad(gsym_symbfile_writer *writer,
                                                uint64_t elf_va,
                                                const gsym_symbfile_entry *entries,
                                                size_t count, gsym_error *error) {
    written_strings *strings = &writer->strings;
    pending_record record = {.elf_va = elf_va,
                             .entry_count = (uint32_t)count,
                             .type = GSYM_SYMBFILE_RETURN_PAD_V1};
    uint64_t cost;
    uint32_t no_file;
    if (count > (GSYM_SYMBFILE_MAX_MESSAGE_SIZE - FIELDS_SIZE) / (3 * VALUE_SIZE))
        return fail_size(error);
    for (size_t i = 0; i < count; ++i) {
        GSYM_TRY(check_string(writer, entries[i].func, false, error));
        GSYM_TRY(check_string(writer, entries[i].file, true, error));
    }
    GSYM_TRY(written_strings_add(strings, "", 0, &no_file, error));
    GSYM_TRY(cost_of_entries(writer, entries, count, no_file, &cost, error));
    GSYM_TRY(make_room(writer, true, RECORD_SIZE + 3 * count, cost, error));
    /* If make_room() wrote the batch, strings that were in its table have a cost again. */
    if (writer->pending.count == 0)
        GSYM_TRY(cost_of_entries(writer, entries, count, no_file, &cost, error));
    if (!LIST_RESERVE(writer->entries, count)) return gsym_fail_memory(error);
    record.columns_at = writer->entries.count;
    for (size_t i = 0; i < count; ++i) {
        gsym_symbfile_entry entry = entries[i];
        if (entry.file == 0) entry.file = no_file;
        if (!written_strings_use(strings, entry.func, true) ||
            !written_strings_use(strings, entry.file, true))
            return gsym_fail_memory(error);
        writer->entries.items[writer->entries.count++] = entry;
    }
    writer->pending.items[writer->pending.count++] = record;
    return GSYM_OK;
}

/* ---- output ----------------------------------------------------------------------- */

gsym_status gsym_symbfile_writer_finish(gsym_symbfile_writer *writer, gsym_error *error) {
    if (writer->is_finished) return GSYM_OK;
    GSYM_TRY(end_part(writer, error));
    writer->is_finished = true;
    return GSYM_OK;
}

void gsym_symbfile_writer_take(gsym_symbfile_writer *writer, const uint8_t **bytes_ret,
                               size_t *size_ret, uint32_t *ends_part_ret) {
    size_t end = writer->out.size;
    if (writer->taken == end && writer->parts_taken == writer->part_ends.count) {
        writer->taken = end = writer->out.size = 0;
        writer->parts_taken = writer->part_ends.count = 0;
    }
    *ends_part_ret = writer->parts_taken < writer->part_ends.count;
    if (*ends_part_ret) end = writer->part_ends.items[writer->parts_taken++];
    *bytes_ret = writer->out.bytes + writer->taken;
    *size_ret = end - writer->taken;
    writer->taken = end;
}
