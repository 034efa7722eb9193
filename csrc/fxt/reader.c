/* reader.c - read a trace record by record, as far as the columns have room. */
#include <stdio.h>

#include "fxt/reader.h"

/* ---- the kind and the size of a record ---------------------------------------------- */

static gsym_fxt_kind metadata_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    if (type < 1 || type > 4) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_PROVIDER_INFO + type - 1);
}

static gsym_fxt_kind event_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    return type <= GSYM_FXT_FLOW_END ? (gsym_fxt_kind)type : GSYM_FXT_UNKNOWN;
}

static gsym_fxt_kind scheduling_kind(uint64_t header) {
    uint64_t type = header >> 60;
    if (type > 2) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_LEGACY_CONTEXT_SWITCH + type);
}

static gsym_fxt_kind profiler_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    return type <= 2 ? (gsym_fxt_kind)(GSYM_FXT_MODULE + type) : GSYM_FXT_UNKNOWN;
}

static gsym_fxt_kind large_kind(uint64_t header) {
    uint64_t format = fxt_bits(header, 40, 4);
    if (fxt_bits(header, 36, 4) != 0 || format > 1) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_LARGE_BLOB_WITH_METADATA + format);
}

static gsym_fxt_kind kind_of(uint64_t header) {
    switch (fxt_bits(header, 0, 4)) {
        case GSYM_FXT_TYPE_METADATA: return metadata_kind(header);
        case GSYM_FXT_TYPE_INITIALIZATION: return GSYM_FXT_INITIALIZATION;
        case GSYM_FXT_TYPE_STRING: return GSYM_FXT_STRING;
        case GSYM_FXT_TYPE_THREAD: return GSYM_FXT_THREAD;
        case GSYM_FXT_TYPE_EVENT: return event_kind(header);
        case GSYM_FXT_TYPE_BLOB: return GSYM_FXT_BLOB;
        case GSYM_FXT_TYPE_USERSPACE_OBJECT: return GSYM_FXT_USERSPACE_OBJECT;
        case GSYM_FXT_TYPE_KERNEL_OBJECT: return GSYM_FXT_KERNEL_OBJECT;
        case GSYM_FXT_TYPE_SCHEDULING: return scheduling_kind(header);
        case GSYM_FXT_TYPE_LOG: return GSYM_FXT_LOG;
        case GSYM_FXT_TYPE_PROFILER: return profiler_kind(header);
        case GSYM_FXT_TYPE_LARGE: return large_kind(header);
        default: return GSYM_FXT_UNKNOWN;
    }
}

/* Read the header at the cursor, which has at least 8 bytes. A magic number sets the byte
 * order of the cursor. */
static fxt_record read_header(cursor *c) {
    fxt_record record;
    record.header = cursor_u64(c);
    if (GSYM_UNLIKELY(record.header == __builtin_bswap64(FXT_MAGIC_HEADER))) {
        c->swap = !c->swap;
        record.header = FXT_MAGIC_HEADER;
    }
    record.kind = kind_of(record.header);
    record.size = FXT_WORD_SIZE * fxt_bits(record.header, 4, 12);
    if (GSYM_UNLIKELY(fxt_bits(record.header, 0, 4) == GSYM_FXT_TYPE_LARGE))
        record.size = FXT_WORD_SIZE * fxt_bits(record.header, 4, 32);
    return record;
}

enum {
    ENOUGH_WORDS = 1 << 16,
    ENOUGH_ARGUMENTS = 1 << 16,
    ENOUGH_STRING_BYTES = 4 << 20,
    ENOUGH_BYTES = 64 << 20, /* bytes after which a read returns, so that the caller can
                                stop */
    ENOUGH_PROBLEMS = 1 << 12
};

gsym_status gsym_fxt_reader_create(uint32_t kinds, uint64_t max_size, uint32_t is_strict,
                                   gsym_fxt_reader **reader_ret, gsym_error *error) {
    gsym_fxt_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return gsym_fail_memory(error);
    reader->kinds = kinds;
    reader->max_size = max_size;
    reader->is_strict = is_strict != 0;
    if (!fxt_tables_init(&reader->tables)) {
        gsym_fxt_reader_destroy(reader);
        return gsym_fail_memory(error);
    }
    *reader_ret = reader;
    return GSYM_OK;
}

void gsym_fxt_reader_destroy(gsym_fxt_reader *reader) {
    fxt_argument_lists *lists;
    if (reader == NULL) return;
    lists = &reader->arguments;
    fxt_tables_deinit(&reader->tables);
    fxt_strings_deinit(&reader->strings);
    fxt_filter_deinit(&reader->filter);
    free(reader->problems.items);
    free(reader->words.items);
#define DO(name, type) free(lists->name.items);
    FXT_EACH_ARGUMENT_LIST(DO)
#undef DO
    free(reader);
}

gsym_status gsym_fxt_reader_set_filter(gsym_fxt_reader *reader,
                                       const gsym_fxt_filter *filter, gsym_error *error) {
    return fxt_filter_set(&reader->filter, filter) ? GSYM_OK : gsym_fail_memory(error);
}

void gsym_fxt_reader_set_big_endian(gsym_fxt_reader *reader, uint32_t is_big_endian) {
    reader->is_big_endian = is_big_endian != 0;
}

uint32_t gsym_fxt_reader_is_big_endian(const gsym_fxt_reader *reader) {
    return reader->is_big_endian;
}

void gsym_fxt_reader_count(const gsym_fxt_reader *reader, gsym_fxt_counts *counts_ret) {
    *counts_ret = reader->counts;
    counts_ret->providers = reader->tables.named;
    counts_ret->traces = reader->tables.restarts;
}

void gsym_fxt_reader_columns(const gsym_fxt_reader *reader,
                             gsym_fxt_columns *columns_ret) {
    const fxt_event_columns *events = &reader->events;
    const fxt_other_columns *others = &reader->others;
    const fxt_argument_lists *lists = &reader->arguments;
    const fxt_strings *strings = &reader->strings;
    *columns_ret = (gsym_fxt_columns){
        .count = reader->count,
        .kinds = reader->record_kinds,
        .event_count = events->count,
        .event_offset = events->offset,
        .event_size = events->size,
        .event_ticks = events->ticks,
        .event_ns = events->ns,
        .event_process = events->process,
        .event_thread = events->thread,
        .event_value = events->value,
        .event_end_ns = events->end_ns,
        .event_category = events->category,
        .event_name = events->name,
        .event_provider = events->provider,
        .event_argument_first = events->argument_first,
        .event_argument_end = events->argument_end,
        .other_count = others->count,
        .other_offset = others->offset,
        .other_ticks = others->ticks,
        .other_ns = others->ns,
        .other_provider = others->provider,
        .other_word_end = others->word_end,
        .other_argument_first = others->argument_first,
        .other_argument_end = others->argument_end,
        .word_count = reader->words.count,
        .words = reader->words.items,
        .argument_count = lists->names.count,
        .argument_names = lists->names.items,
        .argument_types = lists->types.items,
        .signed_count = lists->signeds.count,
        .signed_values = lists->signeds.items,
        .unsigned_count = lists->unsigneds.count,
        .unsigned_values = lists->unsigneds.items,
        .double_count = lists->doubles.count,
        .double_values = lists->doubles.items,
        .string_count = lists->strings.count,
        .string_values = lists->strings.items,
        .bool_count = lists->bools.count,
        .bool_values = lists->bools.items,
        .blob_count = lists->blobs.count,
        .blob_values = lists->blobs.items,
        .string_first = strings->first,
        .string_end = (uint32_t)strings->ends.count + 1,
        .string_bytes = (const char *)strings->bytes.bytes,
        .string_ends = strings->ends.items,
        .provider_count = reader->tables.ids.count,
        .provider_ids = reader->tables.ids.items,
        .provider_rates = reader->tables.rates.items,
        .provider_implicit = reader->tables.implicit,
        .problem_count = reader->problems.count,
        .problems = reader->problems.items,
        .has_wide_times = reader->has_wide_times,
    };
}

/* ---- one record ---------------------------------------------------------------------- */

static fxt_mark mark(const gsym_fxt_reader *reader) {
    const fxt_argument_lists *lists = &reader->arguments;
#define DO(name, type) .name = lists->name.count,
    return (fxt_mark){.words = reader->words.count, FXT_EACH_ARGUMENT_LIST(DO)};
#undef DO
}

static void go_back(gsym_fxt_reader *reader, const fxt_mark *to) {
    fxt_argument_lists *lists = &reader->arguments;
    reader->words.count = to->words;
#define DO(name, type) lists->name.count = to->name;
    FXT_EACH_ARGUMENT_LIST(DO)
#undef DO
}

/* Whether records of a kind are always read, because other records need them. */
static bool is_needed(gsym_fxt_kind kind) {
    return kind >= GSYM_FXT_PROVIDER_INFO && kind <= GSYM_FXT_THREAD;
}

/* Drop the last record. */
static void drop_record(gsym_fxt_reader *reader, gsym_fxt_kind kind,
                        const fxt_mark *before) {
    if (kind <= GSYM_FXT_FLOW_END)
        reader->events.count--;
    else
        reader->others.count--;
    go_back(reader, before);
    reader->counts.left_out++;
}

static gsym_status keep_record(gsym_fxt_reader *reader, gsym_fxt_kind kind,
                               const fxt_mark *before, gsym_error *error) {
    bool passes;
    gsym_status status = fxt_judge(reader, kind, before->words, &passes, error);
    if (status == GSYM_OK && passes)
        reader->record_kinds[reader->count++] = (uint8_t)kind;
    else
        drop_record(reader, kind, before);
    return status;
}

static gsym_status read_body(gsym_fxt_reader *reader, fxt_body *body, gsym_error *error) {
    gsym_fxt_kind kind = body->record.kind;
    bool is_wanted = fxt_is_wanted(reader, kind);
    fxt_mark before;
    gsym_status status;
    reader->counts.records[kind]++;
    reader->counts.bytes[kind] += body->record.size;
    if (!is_wanted && !is_needed(kind)) return GSYM_OK;
    before = mark(reader);
    status = kind <= GSYM_FXT_FLOW_END ? fxt_read_event(reader, body, error)
                                       : fxt_read_other(reader, body, error);
    if (status == GSYM_OK && is_wanted && !body->fields.failed) {
        if (kind != GSYM_FXT_UNKNOWN)
            reader->counts.appended_words += cursor_left(&body->fields) / FXT_WORD_SIZE;
        return keep_record(reader, kind, &before, error);
    }
    go_back(reader, &before);
    if (status != GSYM_OK || !body->fields.failed) return status;
    return fxt_report(reader, GSYM_FXT_SHORT_RECORD, body->offset, body->record.size,
                      error);
}

/* ---- the next record ----------------------------------------------------------------- */

/* Report a gap, which is a sequence of words that say that they are records of size 0.
 * Buffers that were not filled contain many of them. */
static gsym_status end_gap(gsym_fxt_reader *reader, gsym_error *error) {
    uint64_t size = reader->gap_size;
    if (GSYM_LIKELY(size == 0)) return GSYM_OK;
    reader->gap_size = 0;
    return fxt_report(reader, GSYM_FXT_EMPTY_RECORDS, reader->gap_start, size, error);
}

static void extend_gap(gsym_fxt_reader *reader, uint64_t offset) {
    if (reader->gap_size == 0) reader->gap_start = offset;
    reader->gap_size += FXT_WORD_SIZE;
}

/* Begin to skip a record that is too large. This is a problem only if records of its kind
 * were requested. */
static gsym_status begin_passing_over(gsym_fxt_reader *reader, const fxt_body *body,
                                      gsym_error *error) {
    gsym_fxt_kind kind = body->record.kind;
    GSYM_TRY(end_gap(reader, error));
    reader->counts.records[kind]++;
    reader->counts.bytes[kind] += body->record.size;
    reader->to_pass_over = body->record.size;
    reader->passed_start = body->offset;
    if (!fxt_is_wanted(reader, kind)) return GSYM_OK;
    return fxt_report(reader, GSYM_FXT_LARGE_RECORD, body->offset, body->record.size,
                      error);
}

static void pass_over(gsym_fxt_reader *reader, cursor *c) {
    uint64_t left = cursor_left(c);
    uint64_t size = left < reader->to_pass_over ? left : reader->to_pass_over;
    cursor_skip(c, size);
    reader->to_pass_over -= size;
}

static gsym_status end_trace(gsym_fxt_reader *reader, cursor *c, gsym_error *error) {
    uint64_t offset = reader->consumed + cursor_offset(c), left = cursor_left(c);
    c->at = c->end;
    GSYM_TRY(end_gap(reader, error));
    if (reader->to_pass_over != 0) {
        left = offset - reader->passed_start;
        offset = reader->passed_start;
    }
    if (left == 0) return GSYM_OK;
    return fxt_report(reader, GSYM_FXT_TRUNCATED, offset, left, error);
}

/* Read the complete record at the cursor. */
static gsym_status read_record(gsym_fxt_reader *reader, cursor *c, fxt_body *body,
                               gsym_error *error) {
    const uint8_t *end = c->at + body->record.size;
    GSYM_TRY(end_gap(reader, error));
    body->fields.end = end;
    GSYM_TRY(read_body(reader, body, error));
    c->at = end;
    return GSYM_OK;
}

/* Whether a record of this kind changes a state on which earlier records in the columns
 * depend. */
static bool is_end_of_columns(const gsym_fxt_reader *reader, gsym_fxt_kind kind) {
    return (kind == GSYM_FXT_INITIALIZATION && reader->has_wide_times) ||
           (kind == GSYM_FXT_TRACE_INFO && reader->count != 0);
}

static gsym_status read_next(gsym_fxt_reader *reader, cursor *c, bool is_last,
                             size_t *wanted_ret, gsym_error *error) {
    fxt_body body = {.fields = *c, .offset = reader->consumed + cursor_offset(c)};
    uint64_t left = cursor_left(c), size;
    if (left >= FXT_WORD_SIZE) {
        body.record = read_header(&body.fields);
        c->swap = body.fields.swap;
        size = body.record.size;
        /* Callers compute times that do not fit from the rates of these columns, so a
         * record that changes the rate is read with the next columns. */
        reader->is_full = is_end_of_columns(reader, body.record.kind);
        if (reader->is_full) return GSYM_OK;
        if (size == 0) {
            extend_gap(reader, body.offset);
            cursor_skip(c, FXT_WORD_SIZE);
            return GSYM_OK;
        }
        if (GSYM_UNLIKELY(size > reader->max_size))
            return begin_passing_over(reader, &body, error);
        if (GSYM_LIKELY(size <= left)) return read_record(reader, c, &body, error);
    } else {
        size = FXT_WORD_SIZE;
    }
    *wanted_ret = (size_t)size;
    return is_last ? end_trace(reader, c, error) : GSYM_OK;
}

static void begin_columns(gsym_fxt_reader *reader) {
    static const fxt_mark start = {0};
    reader->count = reader->events.count = reader->others.count = 0;
    reader->problems.count = 0;
    reader->has_wide_times = reader->is_full = false;
    go_back(reader, &start);
    fxt_strings_begin(&reader->strings);
}

static bool has_enough(const gsym_fxt_reader *reader, const cursor *c) {
    return reader->is_full || reader->count == FXT_MAX_RECORDS ||
           reader->words.count >= ENOUGH_WORDS ||
           reader->arguments.names.count >= ENOUGH_ARGUMENTS ||
           reader->problems.count >= ENOUGH_PROBLEMS ||
           fxt_strings_new_size(&reader->strings) >= ENOUGH_STRING_BYTES ||
           cursor_offset(c) >= ENOUGH_BYTES;
}

gsym_status gsym_fxt_reader_read(gsym_fxt_reader *reader, const uint8_t *bytes,
                                 size_t size, uint32_t is_last, size_t *used_ret,
                                 size_t *wanted_ret, gsym_error *error) {
    cursor c = cursor_at(bytes, size, 0, reader->is_big_endian);
    gsym_status status = GSYM_OK;
    *used_ret = *wanted_ret = 0;
    begin_columns(reader);
    while (status == GSYM_OK && *wanted_ret == 0 && !has_enough(reader, &c)) {
        if (GSYM_UNLIKELY(reader->to_pass_over != 0)) pass_over(reader, &c);
        status = read_next(reader, &c, is_last != 0, wanted_ret, error);
    }
    *used_ret = (size_t)cursor_offset(&c);
    reader->consumed += *used_ret;
    reader->is_big_endian = c.swap != CURSOR_HOST_BIG_ENDIAN;
    reader->counts.arguments += reader->arguments.names.count;
    return status;
}
