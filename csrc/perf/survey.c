/* survey.c - find the records of perf.data and sort them by time. */
#include "base/sort.h"
#include "perf/samples.h"

static int field_at(uint64_t type, uint64_t bit, unsigned *size) {
    if (!(type & bit)) return NO_FIELD;
    *size += 8;
    return (int)*size - 8;
}

static perf_event event_layout(const gsym_perf_event *of) {
    static const uint64_t endings[] = {SAMPLE_TID,       SAMPLE_TIME, SAMPLE_ID,
                                       SAMPLE_STREAM_ID, SAMPLE_CPU,  SAMPLE_IDENTIFIER};
    perf_event event = {.of = *of};
    uint64_t type = of->sample_type;
    unsigned size = 0;
    int at = 0, identifier = field_at(type, SAMPLE_IDENTIFIER, &size), id;
    event.ip_at = field_at(type, SAMPLE_IP, &size);
    event.thread_at = field_at(type, SAMPLE_TID, &size);
    event.time_at = field_at(type, SAMPLE_TIME, &size);
    (void)field_at(type, SAMPLE_ADDR, &size);
    id = field_at(type, SAMPLE_ID, &size);
    event.id_at = identifier != NO_FIELD ? identifier : id;
    (void)field_at(type, SAMPLE_STREAM_ID, &size);
    event.cpu_at = field_at(type, SAMPLE_CPU, &size);
    event.period_at = field_at(type, SAMPLE_PERIOD, &size);
    event.fixed_size = size;
    for (size_t i = sizeof endings / sizeof *endings; i-- > 0;) {
        if (!(type & endings[i])) continue;
        at -= 8;
        if (endings[i] == SAMPLE_TIME && of->has_ending) event.time_from_end = at;
        if (endings[i] == SAMPLE_TID) event.thread_from_end = at;
    }
    return event;
}

gsym_status gsym_perf_samples_create(uint32_t is_big_endian,
                                     gsym_perf_samples **samples_ret, gsym_error *error) {
    gsym_perf_samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL) return gsym_fail_memory(error);
    samples->is_big_endian = is_big_endian != 0;
    samples->swap = samples->is_big_endian != CURSOR_HOST_BIG_ENDIAN;
    *samples_ret = samples;
    return GSYM_OK;
}

void gsym_perf_samples_destroy(gsym_perf_samples *samples) {
    if (samples == NULL) return;
    for (size_t i = 0; i < samples->made_chains.count; ++i)
        free(samples->made_chains.items[i]);
    free(samples->made_chains.items);
    free(samples->events.items);
    number_map_deinit(&samples->events_by_id);
    free(samples->pieces.items);
    free(samples->places.items);
    free(samples->deferred.items);
    free(samples->deferred_numbers.slots);
    free(samples->stacks.items);
    free(samples->stack_locations.items);
    free(samples->locations.items);
    free(samples->threads.items);
    free(samples->counts.items);
    free(samples->stack_numbers.slots);
    free(samples->location_numbers.slots);
    free(samples->count_numbers.slots);
    number_map_deinit(&samples->thread_numbers);
    number_map_deinit(&samples->group_counts);
    free(samples->times.items);
    free(samples->sample_stacks.items);
    free(samples->sample_threads.items);
    free(samples->sample_counts.items);
    free(samples);
}

gsym_status gsym_perf_samples_add_event(gsym_perf_samples *samples,
                                        const gsym_perf_event *event, gsym_error *error) {
    return LIST_ADD(samples->events, event_layout(event)) ? GSYM_OK
                                                          : gsym_fail_memory(error);
}

gsym_status gsym_perf_samples_add_id(gsym_perf_samples *samples, uint64_t id,
                                     uint32_t event, gsym_error *error) {
    if (event >= samples->events.count)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such event");
    return number_map_set(&samples->events_by_id, id, event) ? GSYM_OK
                                                             : gsym_fail_memory(error);
}

void gsym_perf_samples_set_exact(gsym_perf_samples *samples) { samples->is_exact = true; }

gsym_status gsym_perf_samples_add_piece(gsym_perf_samples *samples, const uint8_t *bytes,
                                        size_t size, gsym_error *error) {
    size_t count = samples->pieces.count;
    const perf_piece *last = LIST_FROM(samples->pieces, count);
    uint64_t start = count == 0 ? 0 : last[-1].start + last[-1].size;
    return LIST_ADD(samples->pieces, (perf_piece){bytes, size, start})
               ? GSYM_OK
               : gsym_fail_memory(error);
}

gsym_perf_record perf_record_at(const gsym_perf_samples *samples, uint32_t piece,
                                uint64_t offset) {
    const perf_piece *in = &samples->pieces.items[piece];
    cursor c = cursor_at(in->bytes, in->size, offset, samples->is_big_endian);
    gsym_perf_record record = {offset, in->start + offset, piece, 0, 0, 0};
    record.kind = cursor_u32(&c);
    record.misc = cursor_u16(&c);
    record.size = cursor_u16(&c);
    if (record.kind >= PERF_OF_SIMPLEPERF) record.size |= record.misc << 16;
    if (c.failed) record.size = 0;
    return record;
}

uint32_t perf_event_of(const gsym_perf_samples *samples, const uint8_t *record,
                       uint32_t size) {
    int at = samples->events.items[0].id_at;
    uint64_t id, number = 0;
    if (samples->events.count == 1 || at == NO_FIELD) return 0;
    if (size < PERF_HEADER_SIZE + (uint32_t)at + 8) return 0;
    id = cursor_load64(record + PERF_HEADER_SIZE + at, samples->swap);
    return number_map_find(&samples->events_by_id, id, &number) ? (uint32_t)number : 0;
}

/* Return the time of a record; 0 if that is unknown, as before the start. */
static gsym_status record_time(const gsym_perf_samples *samples,
                               const gsym_perf_record *record, uint64_t *time_ret,
                               gsym_error *error) {
    enum { OF_FORK = 24 };
    const uint8_t *bytes = samples->pieces.items[record->piece].bytes + record->offset;
    const perf_event *event = samples->events.items;
    uint32_t at, size = record->size;
    *time_ret = 0;
    if (record->kind == PERF_FORK) {
        if (size < OF_FORK + 8)
            return gsym_fail(error, GSYM_E_FORMAT, record->place, "a record is too short");
        *time_ret = cursor_load64(bytes + OF_FORK, samples->swap);
        return GSYM_OK;
    }
    if (event == NULL)
        return gsym_fail(error, GSYM_E_FORMAT, record->place,
                         "a record comes before the attributes of its event");
    if (record->kind == PERF_SAMPLE) {
        event += perf_event_of(samples, bytes, size);
        if (event->time_at == NO_FIELD) return GSYM_OK;
        at = PERF_HEADER_SIZE + (uint32_t)event->time_at;
        if (size < at + 8)
            return gsym_fail(error, GSYM_E_FORMAT, record->place, "a sample is too short");
    } else {
        at = (uint32_t)-event->time_from_end;
        if (at == 0 || size < PERF_HEADER_SIZE + at) return GSYM_OK;
        at = size - at;
    }
    *time_ret = cursor_load64(bytes + at, samples->swap);
    return GSYM_OK;
}

uint64_t perf_deferred_number(const gsym_perf_samples *samples, int32_t thread,
                              uint64_t cookie) {
    uint64_t hash = perf_deferred_hash(thread, cookie), at = hash, number;
    while ((number = slot_table_next(&samples->deferred_numbers, hash, &at)) != 0) {
        const perf_deferred *known = &samples->deferred.items[number - 1];
        if (known->thread == thread && known->cookie == cookie) return number;
    }
    return 0;
}

/* Keep a stack that is recorded after its sample. */
static gsym_status keep_deferred(gsym_perf_samples *samples, const gsym_perf_record *record,
                                 gsym_error *error) {
    const perf_piece *piece = &samples->pieces.items[record->piece];
    const perf_event *event = samples->events.items;
    cursor c = cursor_at(piece->bytes, (size_t)record->offset + record->size,
                         record->offset + PERF_HEADER_SIZE, samples->is_big_endian);
    perf_deferred made = {.cookie = cursor_u64(&c)};
    uint64_t count = cursor_u64(&c), hash, number;
    if (event == NULL || c.failed)
        return gsym_fail(error, GSYM_E_FORMAT, record->place, "a record is too short");
    made.words = c.at;
    made.count = (uint32_t)(count < cursor_left(&c) / 8 ? count : cursor_left(&c) / 8);
    if (event->thread_from_end != 0 &&
        record->size >= PERF_HEADER_SIZE + (uint32_t)-event->thread_from_end)
        made.thread =
            (int32_t)cursor_load32(c.end + event->thread_from_end + 4, samples->swap);
    number = perf_deferred_number(samples, made.thread, made.cookie);
    if (number != 0) {
        samples->deferred.items[number - 1] = made;
        return GSYM_OK;
    }
    hash = perf_deferred_hash(made.thread, made.cookie);
    if (!LIST_ADD(samples->deferred, made) ||
        !slot_table_reserve(&samples->deferred_numbers))
        return gsym_fail_memory(error);
    slot_table_insert(&samples->deferred_numbers, hash, samples->deferred.count);
    return GSYM_OK;
}

/* Return the size of the bytes that follow some records without being part of them. */
static uint64_t more_bytes(const gsym_perf_samples *samples,
                           const gsym_perf_record *record) {
    const perf_piece *piece = &samples->pieces.items[record->piece];
    cursor c = cursor_at(piece->bytes, (size_t)record->offset + record->size,
                         record->offset + PERF_HEADER_SIZE, samples->is_big_endian);
    uint64_t more = record->kind == PERF_AUXTRACE       ? cursor_u64(&c)
                    : record->kind == PERF_TRACING_DATA ? cursor_u32(&c)
                                                        : 0;
    return more > UINT64_MAX - 7 ? more : (more + 7) & ~UINT64_C(7);
}

static bool has_time(uint32_t kind) {
    return kind == PERF_SAMPLE || kind == PERF_MMAP || kind == PERF_MMAP2 ||
           kind == PERF_COMM || kind == PERF_FORK;
}

gsym_status gsym_perf_samples_survey(gsym_perf_samples *samples, uint64_t *offset,
                                     uint64_t end, uint64_t most_bytes,
                                     gsym_perf_record *record_ret, gsym_error *error) {
    uint32_t number = (uint32_t)samples->pieces.count - 1;
    const perf_piece *piece = &samples->pieces.items[number];
    uint64_t first = *offset, at = first;
    if (end > piece->size) end = piece->size;
    *record_ret = (gsym_perf_record){0};
    while (at < end && end - at >= PERF_HEADER_SIZE && at - first < most_bytes) {
        gsym_perf_record record = perf_record_at(samples, number, at);
        uint64_t more;
        if (record.size < PERF_HEADER_SIZE || record.size > end - at)
            return gsym_fail(error, GSYM_E_FORMAT, record.place,
                             "a record of %u bytes, where %llu are left", record.size,
                             (unsigned long long)(end - at));
        if (has_time(record.kind)) {
            perf_place place = {0, record.place};
            GSYM_TRY(record_time(samples, &record, &place.time, error));
            if (!LIST_ADD(samples->places, place)) return gsym_fail_memory(error);
        } else if (record.kind == PERF_DEFERRED) {
            GSYM_TRY(keep_deferred(samples, &record, error));
        } else if (record.kind != PERF_FINISHED_ROUND) {
            *record_ret = record;
        }
        more = more_bytes(samples, &record);
        at += record.size;
        at += more < end - at ? more : end - at;
        *offset = at;
        if (record_ret->size != 0) return GSYM_OK;
    }
    if (at < end && end - at < PERF_HEADER_SIZE) *offset = end;
    return GSYM_OK;
}

size_t gsym_perf_samples_record_count(const gsym_perf_samples *samples) {
    return samples->places.count;
}

static bool is_earlier(const void *left, const void *right, const void *context) {
    (void)context;
    return ((const perf_place *)left)->time < ((const perf_place *)right)->time;
}

gsym_status gsym_perf_samples_sort(gsym_perf_samples *samples, gsym_error *error) {
    size_t count = samples->places.count;
    if (count == 0) return GSYM_OK;
    return sort_stable(samples->places.items, count, sizeof(perf_place), is_earlier, NULL)
               ? GSYM_OK
               : gsym_fail_memory(error);
}
