/* fxt_references.c - what records name: strings, threads, times. */
#include "fxt/fxt_reader.h"

static const char UNKNOWN_STRING[] = "<unknown>";

enum { INLINE_SIZE = 0x7fff };

static gsym_status number_of(gsym_fxt_reader *reader, const void *bytes, size_t size,
                             uint32_t *number_ret, gsym_error *error) {
    return fxt_strings_number(&reader->strings, bytes, size, number_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

gsym_fxt_data fxt_read_data(fxt_body *body, uint64_t size) {
    gsym_fxt_data data = {cursor_offset(&body->fields), size};
    if (size > cursor_left(&body->fields)) /* so that padding cannot overflow */
        body->fields.failed = true;
    else
        cursor_skip(&body->fields, fxt_padded(size));
    return data;
}

static gsym_status read_inline(gsym_fxt_reader *reader, fxt_body *body, size_t size,
                               uint32_t *number_ret, gsym_error *error) {
    const uint8_t *bytes = body->fields.at;
    cursor_skip(&body->fields, fxt_padded(size));
    if (body->fields.failed) return GSYM_OK;
    return number_of(reader, bytes, size, number_ret, error);
}

gsym_status fxt_read_string(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            uint32_t *number_ret, gsym_error *error) {
    fxt_table_string *string;
    *number_ret = 0;
    if (ref == 0) return GSYM_OK;
    if (ref & FXT_INLINE_STRING)
        return read_inline(reader, body, ref & INLINE_SIZE, number_ret, error);
    string = fxt_tables_string(&reader->tables, ref);
    if (GSYM_UNLIKELY(string == NULL)) {
        GSYM_TRY(fxt_report(reader, GSYM_FXT_UNDEFINED_STRING, body->offset, ref, error));
        return number_of(reader, UNKNOWN_STRING, sizeof UNKNOWN_STRING - 1, number_ret,
                         error);
    }
    if (!string->has_number || string->age != reader->strings.age) {
        GSYM_TRY(number_of(reader, string->bytes, string->size, &string->number, error));
        string->has_number = true;
        string->age = reader->strings.age;
    }
    *number_ret = string->number;
    return GSYM_OK;
}

gsym_status fxt_read_thread(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                            fxt_thread *thread_ret, gsym_error *error) {
    const fxt_thread *thread;
    if (ref == 0) {
        thread_ret->process = cursor_u64(&body->fields);
        thread_ret->thread = cursor_u64(&body->fields);
        return GSYM_OK;
    }
    thread = fxt_tables_thread(&reader->tables, ref);
    if (thread != NULL) {
        *thread_ret = *thread;
        return GSYM_OK;
    }
    *thread_ret = (fxt_thread){UINT64_MAX, UINT64_MAX};
    return fxt_report(reader, GSYM_FXT_UNDEFINED_THREAD, body->offset, ref, error);
}

/* floor(ticks * 1e9 / rate) without a product that overflows before the end. */
uint64_t fxt_ns(gsym_fxt_reader *reader, uint64_t ticks) {
    const uint64_t second = UINT64_C(1000000000);
    uint64_t rate = fxt_tables_rate(&reader->tables), whole, part, ns;
    if (rate == second) return ticks;
    whole = ticks / rate;
    part = ticks % rate;
    if (rate <= UINT64_MAX / second)
        part = part * second / rate;
    else
        part = (uint64_t)((unsigned __int128)part * second / rate);
    if (!__builtin_mul_overflow(whole, second, &ns) &&
        !__builtin_add_overflow(ns, part, &ns))
        return ns;
    reader->has_wide_times = true;
    return UINT64_MAX;
}
