/* protobuf.h - read the wire format of protobuf messages (protobuf.dev, "Encoding"): for
 * each field a key, which is its number and wire type, and its value. Nothing here depends
 * on a schema. */
#ifndef GSYM_SYMBFILE_PROTOBUF_H
#define GSYM_SYMBFILE_PROTOBUF_H

#include "base/list.h"
#include "base/cursor.h"

typedef enum protobuf_wire_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* strings, messages, packed columns */
    PROTOBUF_GROUP = 3,
    PROTOBUF_GROUP_END = 4,
    PROTOBUF_FIXED32 = 5
} protobuf_wire_type;

#define PROTOBUF_KEY(number, wire_type) ((uint32_t)(number) << 3 | (uint32_t)(wire_type))

/* A message that is being read. */
typedef struct protobuf_message {
    cursor fields;   /* the rest of the message */
    uint64_t origin; /* file offset of the start of the cursor */
} protobuf_message;

typedef struct protobuf_bytes {
    const uint8_t *start;
    size_t size;
} protobuf_bytes;

static inline bool protobuf_ends(const protobuf_message *message) {
    return message->fields.at == message->fields.end;
}

static inline uint64_t protobuf_offset(const protobuf_message *message) {
    return message->origin + cursor_offset(&message->fields);
}

/* Read a number of up to 10 bytes, which has up to 64 bits. */
gsym_status protobuf_long_varint(protobuf_message *message, uint64_t *value_ret,
                                 gsym_error *error);

static inline gsym_status protobuf_varint(protobuf_message *message, uint64_t *value_ret,
                                          gsym_error *error) {
    cursor *c = &message->fields;
    if (GSYM_UNLIKELY(c->at == c->end || cursor_peek_unchecked(c, 0) >= 0x80))
        return protobuf_long_varint(message, value_ret, error);
    *value_ret = cursor_u8_unchecked(c);
    return GSYM_OK;
}

/* Read the key of the next field; its number is not 0. */
gsym_status protobuf_key(protobuf_message *message, uint32_t *key_ret, gsym_error *error);
/* Read the contents of a field of wire type PROTOBUF_BYTES. */
gsym_status protobuf_take(protobuf_message *message, protobuf_bytes *bytes_ret,
                          gsym_error *error);
/* Read the contents of a field of wire type PROTOBUF_BYTES, and check that it is UTF-8. */
gsym_status protobuf_text(protobuf_message *message, protobuf_bytes *text_ret,
                          gsym_error *error);
/* Skip an unknown field. If its number is at most `defined`, the field is known but has the
 * wrong wire type, which is an error. */
gsym_status protobuf_skip(protobuf_message *message, uint32_t key, uint32_t defined,
                          gsym_error *error);

/* Values of a repeated uint32. */
typedef LIST(uint32_t) protobuf_column;

/* Append the values of one field: one, or with PROTOBUF_BYTES any number. */
gsym_status protobuf_column_read(protobuf_message *message, uint32_t key,
                                 protobuf_column *column, gsym_error *error);

static inline uint64_t protobuf_from_zigzag(uint64_t value) {
    return value >> 1 ^ (~(value & 1) + 1);
}

static inline uint64_t protobuf_to_zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

#endif
