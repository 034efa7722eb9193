/* fxt_events.c - events as columns. */
#include "fxt/fxt_reader.h"

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
    GSYM_TRY(fxt_read_arguments(reader, body, fxt_bits(header, 20, 4), error));
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
