/* protobuf.c - read keys and values of messages, and skip unknown fields. */
#include "symbfile/protobuf.h"

#include "base/characters.h"

enum {
    MAX_VARINT_SIZE = 10,
    MAX_GROUP_DEPTH = 100 /* the same as in other decoders of protobuf */
};

gsym_status protobuf_long_varint(protobuf_message *message, uint64_t *value_ret,
                                 gsym_error *error) {
    cursor *c = &message->fields;
    uint64_t start = protobuf_offset(message), value = 0;
    for (unsigned i = 0; i < MAX_VARINT_SIZE; ++i) {
        uint8_t byte;
        if (c->at == c->end)
            return gsym_fail(error, GSYM_E_FORMAT, start, "truncated number");
        byte = cursor_u8_unchecked(c);
        if (i == MAX_VARINT_SIZE - 1 && byte > 1) break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value_ret = value;
            return GSYM_OK;
        }
    }
    return gsym_fail(error, GSYM_E_FORMAT, start, "a number has more than 64 bits");
}

gsym_status protobuf_key(protobuf_message *message, uint32_t *key_ret, gsym_error *error) {
    uint64_t start = protobuf_offset(message), key;
    GSYM_TRY(protobuf_varint(message, &key, error));
    if (key > UINT32_MAX || key >> 3 == 0)
        return gsym_fail(error, GSYM_E_FORMAT, start, "invalid field number");
    *key_ret = (uint32_t)key;
    return GSYM_OK;
}

gsym_status protobuf_take(protobuf_message *message, protobuf_bytes *bytes_ret,
                          gsym_error *error) {
    uint64_t start = protobuf_offset(message), size;
    GSYM_TRY(protobuf_varint(message, &size, error));
    if (size > cursor_left(&message->fields))
        return gsym_fail(error, GSYM_E_FORMAT, start,
                         "a field of %llu bytes exceeds its message",
                         (unsigned long long)size);
    *bytes_ret = (protobuf_bytes){message->fields.at, (size_t)size};
    message->fields.at += size;
    return GSYM_OK;
}

gsym_status protobuf_text(protobuf_message *message, protobuf_bytes *text_ret,
                          gsym_error *error) {
    size_t sound;
    GSYM_TRY(protobuf_take(message, text_ret, error));
    sound = utf8_valid_size(text_ret->start, text_ret->size);
    if (sound == text_ret->size) return GSYM_OK;
    return gsym_fail(error, GSYM_E_FORMAT,
                     protobuf_offset(message) - (text_ret->size - sound),
                     "a string is not UTF-8");
}

static gsym_status skip_bytes(protobuf_message *message, uint64_t size,
                              gsym_error *error) {
    if (cursor_need(&message->fields, size)) {
        message->fields.at += size;
        return GSYM_OK;
    }
    return gsym_fail(error, GSYM_E_FORMAT, protobuf_offset(message),
                     "a field exceeds its message");
}

/* Skip a value that is not a group. */
static gsym_status skip_value(protobuf_message *message, uint32_t key, gsym_error *error) {
    protobuf_bytes bytes;
    uint64_t value;
    switch (key & 7) {
        case PROTOBUF_VARINT: return protobuf_varint(message, &value, error);
        case PROTOBUF_FIXED64: return skip_bytes(message, 8, error);
        case PROTOBUF_BYTES: return protobuf_take(message, &bytes, error);
        case PROTOBUF_FIXED32: return skip_bytes(message, 4, error);
        default:
            return gsym_fail(error, GSYM_E_FORMAT, protobuf_offset(message),
                             "a field has an unknown wire type");
    }
}

/* Skip the rest of a group, with nested groups. */
static gsym_status skip_group(protobuf_message *message, uint32_t key, gsym_error *error) {
    uint32_t open[MAX_GROUP_DEPTH];
    size_t depth = 0;
    open[depth++] = key >> 3;
    while (depth > 0) {
        uint64_t start = protobuf_offset(message);
        GSYM_TRY(protobuf_key(message, &key, error));
        if ((key & 7) == PROTOBUF_GROUP) {
            if (depth == MAX_GROUP_DEPTH)
                return gsym_fail(error, GSYM_E_FORMAT, start, "groups nest too deeply");
            open[depth++] = key >> 3;
        } else if ((key & 7) == PROTOBUF_GROUP_END) {
            if (open[--depth] != key >> 3)
                return gsym_fail(error, GSYM_E_FORMAT, start, "the end of another group");
        } else {
            GSYM_TRY(skip_value(message, key, error));
        }
    }
    return GSYM_OK;
}

gsym_status protobuf_skip(protobuf_message *message, uint32_t key, uint32_t defined,
                          gsym_error *error) {
    if (key >> 3 <= defined)
        return gsym_fail(error, GSYM_E_FORMAT, protobuf_offset(message),
                         "field %u is not of wire type %u", key >> 3, key & 7);
    if ((key & 7) == PROTOBUF_GROUP) return skip_group(message, key, error);
    return skip_value(message, key, error);
}

gsym_status protobuf_column_read(protobuf_message *message, uint32_t key,
                                 protobuf_column *column, gsym_error *error) {
    protobuf_message packed = *message;
    protobuf_bytes bytes;
    uint64_t value;
    if ((key & 7) == PROTOBUF_VARINT) {
        if (!LIST_RESERVE(*column, 1)) return gsym_fail_memory(error);
        GSYM_TRY(protobuf_varint(message, &value, error));
        column->items[column->count++] = (uint32_t)value;
        return GSYM_OK;
    }
    GSYM_TRY(protobuf_take(message, &bytes, error));
    if (!LIST_RESERVE(*column, bytes.size)) return gsym_fail_memory(error);
    packed.fields.at = bytes.start;
    packed.fields.end = bytes.start + bytes.size;
    while (!protobuf_ends(&packed)) {
        GSYM_TRY(protobuf_varint(&packed, &value, error));
        /* Protobuf drops the upper bits, too. */
        column->items[column->count++] = (uint32_t)value;
    }
    return GSYM_OK;
}
