/* fxt_arguments.c - the arguments of a record: names, types, and values by type. */
#include "fxt/fxt_reader.h"

static bool reserve(fxt_argument_lists *lists) {
    return ARRAY_RESERVE(lists->names, 1) && ARRAY_RESERVE(lists->types, 1) &&
           ARRAY_RESERVE(lists->signeds, 1) && ARRAY_RESERVE(lists->unsigneds, 1) &&
           ARRAY_RESERVE(lists->doubles, 1) && ARRAY_RESERVE(lists->strings, 1) &&
           ARRAY_RESERVE(lists->bools, 1) && ARRAY_RESERVE(lists->blobs, 1);
}

/* The value behind the name; `body` ends with the argument. */
static gsym_status read_value(gsym_fxt_reader *reader, fxt_body *body, uint64_t header,
                              gsym_error *error) {
    fxt_argument_lists *lists = &reader->arguments;
    uint32_t field = (uint32_t)(header >> 32), string;
    uint64_t word;
    switch (fxt_bits(header, 0, 4)) {
        case GSYM_FXT_ARGUMENT_INT32:
            lists->signeds.items[lists->signeds.count++] = (int32_t)field;
            break;
        case GSYM_FXT_ARGUMENT_UINT32:
            lists->unsigneds.items[lists->unsigneds.count++] = field;
            break;
        case GSYM_FXT_ARGUMENT_INT64:
            word = cursor_u64(&body->fields);
            lists->signeds.items[lists->signeds.count++] = (int64_t)word;
            break;
        case GSYM_FXT_ARGUMENT_UINT64:
        case GSYM_FXT_ARGUMENT_POINTER:
        case GSYM_FXT_ARGUMENT_KOID:
            word = cursor_u64(&body->fields);
            lists->unsigneds.items[lists->unsigneds.count++] = word;
            break;
        case GSYM_FXT_ARGUMENT_DOUBLE:
            word = cursor_u64(&body->fields);
            memcpy(&lists->doubles.items[lists->doubles.count++], &word, sizeof word);
            break;
        case GSYM_FXT_ARGUMENT_STRING:
            GSYM_TRY(
                fxt_read_string(reader, body, fxt_bits(field, 0, 16), &string, error));
            lists->strings.items[lists->strings.count++] = string;
            break;
        case GSYM_FXT_ARGUMENT_BOOL:
            lists->bools.items[lists->bools.count++] = field & 1;
            break;
        case GSYM_FXT_ARGUMENT_BLOB:
            lists->blobs.items[lists->blobs.count++] = fxt_read_data(body, field);
            break;
        default: break;
    }
    return GSYM_OK;
}

/* `argument` is behind the header, and ends with the argument. */
static gsym_status read_argument(gsym_fxt_reader *reader, fxt_body *argument,
                                 uint64_t header, gsym_error *error) {
    fxt_argument_lists *lists = &reader->arguments;
    uint64_t type = fxt_bits(header, 0, 4);
    uint32_t name;
    if (type > GSYM_FXT_ARGUMENT_BLOB) {
        reader->counts.unknown_arguments++;
        return GSYM_OK;
    }
    if (!reserve(lists)) return gsym_fail_memory(error);
    GSYM_TRY(fxt_read_string(reader, argument, fxt_bits(header, 16, 16), &name, error));
    GSYM_TRY(read_value(reader, argument, header, error));
    lists->names.items[lists->names.count++] = name;
    lists->types.items[lists->types.count++] = (uint8_t)type;
    reader->counts.appended_words += cursor_left(&argument->fields) / FXT_WORD_SIZE;
    return GSYM_OK;
}

gsym_status fxt_read_arguments(gsym_fxt_reader *reader, fxt_body *body, uint64_t count,
                               gsym_error *error) {
    cursor *fields = &body->fields;
    for (uint64_t i = 0; i < count; ++i) {
        fxt_body argument = *body;
        uint64_t header = cursor_u64(&argument.fields);
        uint64_t size = FXT_WORD_SIZE * fxt_bits(header, 4, 12);
        if (argument.fields.failed || size == 0 || size > cursor_left(fields)) {
            fields->failed = true;
            return GSYM_OK;
        }
        fields->at = argument.fields.end = fields->at + size;
        GSYM_TRY(read_argument(reader, &argument, header, error));
        if (argument.fields.failed) {
            fields->failed = true;
            return GSYM_OK;
        }
    }
    return GSYM_OK;
}
