/* read_strings.c - keep the current string table of a symbfile, and the strings of records.
 *
 * A string gets a number at its first use. A string of the table keeps this number, so that
 * the caller decodes it only once. */
#include "symbfile/reader.h"

enum {
    KEPT_PER_STRING = 64,
    MAX_KEPT = 64 << 20 /* bytes of strings at which all numbers are discarded */
};

void read_strings_deinit(read_strings *strings) {
    buffer_deinit(&strings->body);
    buffer_deinit(&strings->bytes);
    free(strings->table.items);
    free(strings->ends.items);
}

void read_strings_begin(read_strings *strings) {
    strings->first += (uint32_t)strings->ends.count;
    strings->bytes.size = strings->ends.count = 0;
    if (strings->first != 0 && strings->kept <= MAX_KEPT) return;
    strings->first = 1;
    strings->kept = 0;
    for (size_t i = 0; i < strings->table.count; ++i) strings->table.items[i].number = 0;
}

gsym_status read_strings_replace(read_strings *strings, protobuf_message *message,
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
        if (!LIST_RESERVE(strings->table, 1)) return gsym_fail_memory(error);
        strings->table.items[strings->table.count++] =
            (table_string){(uint32_t)(text.start - body), (uint32_t)text.size, 0};
    }
    *count_ret = strings->table.count;
    return GSYM_OK;
}

bool read_strings_add(read_strings *strings, protobuf_bytes text,
                      uint32_t *number_ret) {
    if (!LIST_RESERVE(strings->ends, 1)) return false;
    buffer_put(&strings->bytes, text.start, text.size);
    if (strings->bytes.failed) return false;
    *number_ret = strings->first + (uint32_t)strings->ends.count;
    strings->ends.items[strings->ends.count++] = strings->bytes.size;
    strings->kept += text.size + KEPT_PER_STRING;
    return true;
}

bool read_strings_refer(read_strings *strings, uint32_t index,
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
