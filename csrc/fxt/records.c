/* records.c - read events as columns, other records as words, and arguments.
 *
 * The words of a record are its fields in the order of `gsym.fxt.records`, except
 * that data comes last. */
#include "fxt/reader.h"

/* Return the subtype of a record, or GSYM_FXT_NO_SUBTYPE. */
static uint64_t subtype_of(uint64_t header) {
    switch (fxt_bits(header, 0, 4)) {
        case GSYM_FXT_TYPE_METADATA:
        case GSYM_FXT_TYPE_EVENT:
        case GSYM_FXT_TYPE_PROFILER: return fxt_bits(header, 16, 4);
        case GSYM_FXT_TYPE_SCHEDULING: return header >> 60;
        case GSYM_FXT_TYPE_LARGE: return fxt_bits(header, 36, 4);
        default: return GSYM_FXT_NO_SUBTYPE;
    }
}

/* ---- arguments: names, types, and values by type ------------------------------------ */

static bool reserve(fxt_argument_lists *lists) {
#define DO(name, type) LIST_RESERVE(lists->name, 1) &&
    return FXT_EACH_ARGUMENT_LIST(DO) true;
#undef DO
}

/* Read the value of an argument, whose name was read; `body` ends with the argument. */
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

/* Read an argument; `argument` is after the header and ends with it. */
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

static gsym_status read_arguments(gsym_fxt_reader *reader, fxt_body *body,
                                  uint64_t count, gsym_error *error) {
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

/* ---- events ------------------------------------------------------------------------- */

static bool has_value(gsym_fxt_kind kind) {
    return kind == GSYM_FXT_COUNTER || kind >= GSYM_FXT_DURATION_COMPLETE;
}

gsym_status fxt_read_event(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error) {
    fxt_event_columns *events = &reader->events;
    cursor *fields = &body->fields;
    uint64_t header = body->record.header, ticks = cursor_u64(fields), value = 0;
    uint32_t category, name, first = (uint32_t)reader->arguments.names.count;
    gsym_fxt_kind kind = body->record.kind;
    size_t at = events->count;
    fxt_thread thread;
    GSYM_TRY(fxt_read_thread(reader, body, fxt_bits(header, 24, 8), &thread, error));
    GSYM_TRY(fxt_read_string(reader, body, fxt_bits(header, 32, 16), &category, error));
    GSYM_TRY(fxt_read_string(reader, body, header >> 48, &name, error));
    GSYM_TRY(read_arguments(reader, body, fxt_bits(header, 20, 4), error));
    if (has_value(kind)) value = cursor_u64(fields);
    if (fields->failed) return GSYM_OK;
    events->offset[at] = body->offset;
    events->size[at] = (uint32_t)body->record.size;
    events->ticks[at] = ticks;
    events->ns[at] = fxt_ns(reader, ticks);
    events->process[at] = thread.process;
    events->thread[at] = thread.thread;
    events->value[at] = value;
    events->end_ns[at] = kind == GSYM_FXT_DURATION_COMPLETE ? fxt_ns(reader, value) : 0;
    events->category[at] = category;
    events->name[at] = name;
    events->provider[at] = reader->tables.provider;
    events->argument_first[at] = first;
    events->argument_end[at] = (uint32_t)reader->arguments.names.count;
    events->count++;
    return GSYM_OK;
}

enum { MAX_WORDS = 16 + 255 /* words of a record, including frames */ };

static void put(gsym_fxt_reader *reader, uint64_t word) {
    reader->words.items[reader->words.count++] = word;
}

static void put_data(gsym_fxt_reader *reader, gsym_fxt_data data) {
    put(reader, data.start);
    put(reader, data.size);
}

static gsym_status put_string(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                              gsym_error *error) {
    uint32_t number;
    GSYM_TRY(fxt_read_string(reader, body, ref, &number, error));
    put(reader, number);
    return GSYM_OK;
}

static gsym_status put_thread(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                              gsym_error *error) {
    fxt_thread thread;
    GSYM_TRY(fxt_read_thread(reader, body, ref, &thread, error));
    put(reader, thread.process);
    put(reader, thread.thread);
    return GSYM_OK;
}

/* ---- records that define how others are read ----------------------------------------- */

/* Read the name of a provider. One writer stores its size in words and not in bytes; such a
 * size exceeds the record. */
static gsym_fxt_data read_provider_name(fxt_body *body) {
    uint64_t size = fxt_bits(body->record.header, 52, 8), left = cursor_left(&body->fields);
    if (size * FXT_WORD_SIZE == left && fxt_padded(size) < left)
        for (size = left; size > 0 && cursor_peek_unchecked(&body->fields, size - 1) == 0;)
            --size;
    return fxt_read_data(body, size);
}

static gsym_status read_provider(gsym_fxt_reader *reader, fxt_body *body,
                                 uint32_t *provider_ret, gsym_error *error) {
    uint64_t header = body->record.header;
    uint32_t number;
    if (body->record.kind == GSYM_FXT_PROVIDER_INFO)
        put_data(reader, read_provider_name(body));
    if (body->fields.failed) return GSYM_OK;
    if (!fxt_tables_provider(&reader->tables, (uint32_t)fxt_bits(header, 20, 32), &number))
        return gsym_fail_memory(error);
    *provider_ret = number;
    if (body->record.kind == GSYM_FXT_PROVIDER_EVENT)
        put(reader, fxt_bits(header, 52, 4));
    else
        reader->tables.provider = number;
    return GSYM_OK;
}

/* Read trace information: a magic number begins a trace, possibly another one in the same
 * file. */
static gsym_status read_trace_info(gsym_fxt_reader *reader, fxt_body *body,
                                   gsym_error *error) {
    uint64_t header = body->record.header, type = fxt_bits(header, 20, 4);
    uint64_t magic = fxt_bits(header, 24, 32);
    put(reader, type);
    put(reader, type == 0 ? magic : header >> 24);
    if (type != 0) return GSYM_OK;
    if (magic != GSYM_FXT_MAGIC)
        return fxt_report(reader, GSYM_FXT_WRONG_MAGIC, body->offset, magic, error);
    return body->offset == 0 || fxt_tables_restart(&reader->tables)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

static gsym_status read_initialization(gsym_fxt_reader *reader, fxt_body *body,
                                       gsym_error *error) {
    uint64_t rate = cursor_u64(&body->fields);
    put(reader, rate);
    if (body->fields.failed) return GSYM_OK;
    if (rate == 0)
        return fxt_report(reader, GSYM_FXT_NO_TICK_RATE, body->offset, 0, error);
    reader->tables.rates.items[reader->tables.provider] = rate;
    return GSYM_OK;
}

static gsym_status read_table_string(gsym_fxt_reader *reader, fxt_body *body,
                                     gsym_error *error) {
    uint64_t header = body->record.header, index = fxt_bits(header, 16, 15);
    const uint8_t *bytes = body->fields.at;
    gsym_fxt_data text = fxt_read_data(body, fxt_bits(header, 32, 15));
    put(reader, index);
    put_data(reader, text);
    if (body->fields.failed) return GSYM_OK;
    return fxt_tables_set_string(&reader->tables, index, bytes, text.size)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

static gsym_status read_table_thread(gsym_fxt_reader *reader, fxt_body *body,
                                     gsym_error *error) {
    uint64_t index = fxt_bits(body->record.header, 16, 8);
    fxt_thread thread;
    GSYM_TRY(fxt_read_thread(reader, body, 0, &thread, error));
    put(reader, index);
    put(reader, thread.process);
    put(reader, thread.thread);
    if (body->fields.failed) return GSYM_OK;
    return fxt_tables_set_thread(&reader->tables, index, thread) ? GSYM_OK
                                                                 : gsym_fail_memory(error);
}

/* ---- other records ------------------------------------------------------------------- */

/* A field of a record. `first` and `count` select bits of the header, which are the value
 * itself, a reference, a size or a number of items. */
typedef struct record_field {
    enum {
        NOTHING,
        BITS,
        WORD,
        TICKS, /* time of the record, which has its own column */
        STRING,
        THREAD,
        PROFILER_THREAD,
        PROCESS, /* process of a thread, or a word with its id */
        DATA,
        LONG_DATA, /* data after a word with its size */
        FRAMES,
        ARGUMENTS
    } kind;
    uint8_t first, count;
} record_field;

static const record_field FIELDS[GSYM_FXT_KIND_COUNT][8] = {
    [GSYM_FXT_BLOB] = {{STRING, 16, 16}, {BITS, 48, 8}, {DATA, 32, 15}},
    [GSYM_FXT_USERSPACE_OBJECT] =
        {{WORD, 0, 0}, {PROCESS, 16, 8}, {STRING, 24, 16}, {ARGUMENTS, 40, 4}},
    [GSYM_FXT_KERNEL_OBJECT] =
        {{WORD, 0, 0}, {BITS, 16, 8}, {STRING, 24, 16}, {ARGUMENTS, 40, 4}},
    [GSYM_FXT_LEGACY_CONTEXT_SWITCH] =
        {{TICKS, 0, 0}, {BITS, 16, 8}, {BITS, 24, 4}, {THREAD, 28, 8}, {THREAD, 36, 8},
         {BITS, 44, 8}, {BITS, 52, 8}},
    [GSYM_FXT_CONTEXT_SWITCH] =
        {{TICKS, 0, 0}, {BITS, 20, 16}, {BITS, 36, 4}, {WORD, 0, 0}, {WORD, 0, 0},
         {ARGUMENTS, 16, 4}},
    [GSYM_FXT_THREAD_WAKEUP] =
        {{TICKS, 0, 0}, {BITS, 20, 16}, {WORD, 0, 0}, {ARGUMENTS, 16, 4}},
    [GSYM_FXT_LOG] = {{TICKS, 0, 0}, {THREAD, 32, 8}, {DATA, 16, 15}},
    [GSYM_FXT_MODULE] =
        {{TICKS, 0, 0}, {PROFILER_THREAD, 20, 8}, {BITS, 28, 16}, {DATA, 44, 8},
         {DATA, 52, 8}},
    [GSYM_FXT_MMAP] =
        {{TICKS, 0, 0}, {PROFILER_THREAD, 20, 8}, {BITS, 28, 16}, {BITS, 44, 3},
         {WORD, 0, 0}, {WORD, 0, 0}, {WORD, 0, 0}},
    [GSYM_FXT_BACKTRACE] = {{TICKS, 0, 0}, {THREAD, 20, 8}, {FRAMES, 28, 8}},
    /* For large records, the bits are those of the second header. */
    [GSYM_FXT_LARGE_BLOB_WITH_METADATA] =
        {{STRING, 0, 16}, {STRING, 16, 16}, {TICKS, 0, 0}, {THREAD, 36, 8},
         {ARGUMENTS, 32, 4}, {LONG_DATA, 0, 0}},
    [GSYM_FXT_LARGE_BLOB] = {{STRING, 0, 16}, {STRING, 16, 16}, {LONG_DATA, 0, 0}},
};

static gsym_status put_process(gsym_fxt_reader *reader, fxt_body *body, uint64_t ref,
                               gsym_error *error) {
    fxt_thread thread;
    if (ref == 0)
        thread.process = cursor_u64(&body->fields);
    else
        GSYM_TRY(fxt_read_thread(reader, body, ref, &thread, error));
    put(reader, thread.process);
    return GSYM_OK;
}

/* Put the thread of a profiler record. Some writers omit it if the process is inline, which
 * shows in a record that is one word too short; the thread is 0 then. */
static gsym_status put_profiler_thread(gsym_fxt_reader *reader, fxt_body *body,
                                       uint64_t ref, gsym_error *error) {
    uint64_t header = body->record.header, size = 7 * FXT_WORD_SIZE;
    if (body->record.kind == GSYM_FXT_MODULE)
        size = 4 * FXT_WORD_SIZE + fxt_padded(fxt_bits(header, 44, 8)) +
               fxt_padded(fxt_bits(header, 52, 8));
    if (ref != 0 || body->record.size + FXT_WORD_SIZE != size)
        return put_thread(reader, body, ref, error);
    put(reader, cursor_u64(&body->fields));
    put(reader, 0);
    return GSYM_OK;
}

static gsym_status put_frames(gsym_fxt_reader *reader, fxt_body *body, uint64_t count,
                              gsym_error *error) {
    uint64_t there = cursor_left(&body->fields) / FXT_WORD_SIZE;
    if (!body->fields.failed && count > there)
        GSYM_TRY(fxt_report(reader, GSYM_FXT_FRAME_COUNT, body->offset, there, error));
    for (uint64_t i = 0; i < count && i < there; ++i)
        put(reader, cursor_u64(&body->fields));
    return GSYM_OK;
}

static gsym_status put_field(gsym_fxt_reader *reader, fxt_body *body,
                             const record_field *field, uint64_t bits, uint64_t *ticks_ret,
                             gsym_error *error) {
    cursor *c = &body->fields;
    switch (field->kind) {
        case BITS: put(reader, bits); return GSYM_OK;
        case WORD: put(reader, cursor_u64(c)); return GSYM_OK;
        case TICKS: *ticks_ret = cursor_u64(c); return GSYM_OK;
        case STRING: return put_string(reader, body, bits, error);
        case THREAD: return put_thread(reader, body, bits, error);
        case PROFILER_THREAD: return put_profiler_thread(reader, body, bits, error);
        case PROCESS: return put_process(reader, body, bits, error);
        case LONG_DATA: bits = cursor_u64(c); /* fall through */
        case DATA: put_data(reader, fxt_read_data(body, bits)); return GSYM_OK;
        case FRAMES: return put_frames(reader, body, bits, error);
        default: return read_arguments(reader, body, bits, error);
    }
}

static gsym_status put_fields(gsym_fxt_reader *reader, fxt_body *body, uint64_t *ticks_ret,
                              gsym_error *error) {
    const record_field *field = FIELDS[body->record.kind];
    bool is_large = body->record.kind == GSYM_FXT_LARGE_BLOB_WITH_METADATA ||
                    body->record.kind == GSYM_FXT_LARGE_BLOB;
    uint64_t header = is_large ? cursor_u64(&body->fields) : body->record.header;
    for (; field->kind != NOTHING; ++field) {
        uint64_t bits = fxt_bits(header, field->first, field->count);
        GSYM_TRY(put_field(reader, body, field, bits, ticks_ret, error));
    }
    return GSYM_OK;
}

/* ---- all kinds ----------------------------------------------------------------------- */

static void put_unknown(gsym_fxt_reader *reader, const fxt_body *body) {
    uint64_t header = body->record.header;
    uint64_t start = cursor_offset(&body->fields) - FXT_WORD_SIZE;
    put(reader, fxt_bits(header, 0, 4));
    put(reader, subtype_of(header));
    put_data(reader, (gsym_fxt_data){start, body->record.size});
}

static gsym_status read_fields(gsym_fxt_reader *reader, fxt_body *body,
                               uint32_t *provider_ret, uint64_t *ticks_ret,
                               gsym_error *error) {
    switch (body->record.kind) {
        case GSYM_FXT_PROVIDER_INFO:
        case GSYM_FXT_PROVIDER_SECTION:
        case GSYM_FXT_PROVIDER_EVENT:
            return read_provider(reader, body, provider_ret, error);
        case GSYM_FXT_TRACE_INFO:
            GSYM_TRY(read_trace_info(reader, body, error));
            *provider_ret = reader->tables.implicit;
            return GSYM_OK;
        case GSYM_FXT_INITIALIZATION: return read_initialization(reader, body, error);
        case GSYM_FXT_STRING: return read_table_string(reader, body, error);
        case GSYM_FXT_THREAD: return read_table_thread(reader, body, error);
        case GSYM_FXT_UNKNOWN: put_unknown(reader, body); return GSYM_OK;
        default: return put_fields(reader, body, ticks_ret, error);
    }
}

gsym_status fxt_read_other(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error) {
    fxt_other_columns *others = &reader->others;
    uint32_t first = (uint32_t)reader->arguments.names.count;
    uint32_t provider = reader->tables.provider;
    uint64_t ticks = 0;
    size_t at = others->count;
    if (!LIST_RESERVE(reader->words, MAX_WORDS)) return gsym_fail_memory(error);
    GSYM_TRY(read_fields(reader, body, &provider, &ticks, error));
    if (body->fields.failed || !fxt_is_wanted(reader, body->record.kind)) return GSYM_OK;
    /* A record that names a provider belongs to that provider. */
    others->provider[at] = provider;
    others->offset[at] = body->offset;
    others->ticks[at] = ticks;
    others->ns[at] = fxt_ns(reader, ticks);
    others->word_end[at] = reader->words.count;
    others->argument_first[at] = first;
    others->argument_end[at] = (uint32_t)reader->arguments.names.count;
    others->count++;
    return GSYM_OK;
}
