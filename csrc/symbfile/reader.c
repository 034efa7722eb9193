/* reader.c - read the messages of a symbfile: records, and messages that define how records
 * are read. */
#include "symbfile/reader.h"

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

/* Whether length and type of a message are complete, or are too long to be valid. */
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
