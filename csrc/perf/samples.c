/* samples.c - decode the samples of perf.data. */
#include "base/limit.h"
#include "perf/samples.h"

enum { MODES = 7, GUEST_KERNEL = 4, GUEST_USER = 5, USER_MODE = 2 };
enum { NEVER = UINT32_MAX }; /* no word of a chain is exact by itself */

/* Bits of the format of counters in a sample. */
enum { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };

/* Bits of a branch stack. */
enum { BRANCHES_ARE_CALLS = 1 << 11, BRANCHES_HAVE_INDEX = 1 << 17 };

enum { BRANCH_SIZE = 24 };

/* A sample while it is read; its cursor goes through the fields after the fixed ones. */
typedef struct sample {
    cursor rest;
    const uint8_t *fields; /* after the header */
    uint64_t time;
    gsym_perf_thread thread;
    gsym_perf_count count;
    uint32_t stack;
    uint32_t mode;
} sample;

static uint64_t fixed_field(const gsym_perf_samples *samples, const sample *s, int at) {
    return cursor_load64(s->fields + at, samples->swap);
}

/* Add a row for a sample with a number of the event and a period. */
static bool add_row(gsym_perf_samples *samples, const sample *s, gsym_perf_count count) {
    uint32_t thread, number;
    return perf_thread_number(samples, s->thread, &thread) &&
           perf_count_number(samples, count, &number) &&
           LIST_ADD(samples->times, s->time) &&
           LIST_ADD(samples->sample_stacks, s->stack) &&
           LIST_ADD(samples->sample_threads, thread) &&
           LIST_ADD(samples->sample_counts, number);
}

/* ---- counters of groups --------------------------------------------------------- */

/* The counters of a group: pairs of a value and an id among other numbers. */
typedef struct group {
    cursor items;
    uint64_t count; /* of the members */
    unsigned after; /* numbers of an item after its value and id */
} group;

/* Go over the counters of a sample; those of a group with ids are its members. */
static group read_counters(const perf_event *event, sample *s) {
    uint64_t form = event->of.read_format;
    unsigned times = (form & READ_ENABLED ? 1u : 0u) + (form & READ_RUNNING ? 1u : 0u);
    unsigned after = form & READ_LOST ? 1 : 0, item = (form & READ_ID ? 2 : 1) + after;
    group found = {{0}, 0, after};
    if (!(form & READ_GROUP)) {
        cursor_skip(&s->rest, 8 * (item + times));
        return found;
    }
    found.count = cursor_u64(&s->rest);
    cursor_skip(&s->rest, 8 * times);
    found.items = s->rest;
    if (found.count > cursor_left(&s->rest)) s->rest.failed = true;
    cursor_skip(&s->rest, s->rest.failed ? 0 : 8 * item * found.count);
    if (!(form & READ_ID)) found.count = 0;
    return found;
}

/* Add a row for each member that has counted since its last sample. */
static bool add_members(gsym_perf_samples *samples, const sample *s, group *members,
                        bool *has_any_ret) {
    *has_any_ret = false;
    for (uint64_t i = 0; i < members->count; ++i) {
        uint64_t value = cursor_u64(&members->items), id = cursor_u64(&members->items);
        uint64_t before, event;
        cursor_skip(&members->items, 8 * members->after);
        (void)number_map_find(&samples->group_counts, id, &before);
        if (before == UINT64_MAX) before = 0; /* the first value of this id */
        if (value == UINT64_MAX) --value;
        if (!number_map_set(&samples->group_counts, id, value)) return false;
        if (value <= before || !number_map_find(&samples->events_by_id, id, &event))
            continue;
        if (!add_row(samples, s,
                     (gsym_perf_count){value - before, (uint32_t)event, s->count.cpu}))
            return false;
        *has_any_ret = true;
    }
    return true;
}

/* ---- stacks --------------------------------------------------------------------- */

/* Keep a chain that is put together from words of the file, for the life of the file. */
static uint8_t *keep_chain(gsym_perf_samples *samples, size_t count) {
    uint8_t *made = malloc(8 * count + 1);
    if (made != NULL && LIST_ADD(samples->made_chains, made)) return made;
    free(made);
    return NULL;
}

/* Number a chain that was made last, and forget it if its stack is known. */
static bool number_made(gsym_perf_samples *samples, const perf_chain *chain,
                        uint32_t *number_ret) {
    size_t before = samples->stacks.count;
    if (!perf_stack_number(samples, chain, number_ret)) return false;
    if (samples->stacks.count == before)
        free(samples->made_chains.items[--samples->made_chains.count]);
    return true;
}

static void put_word(const gsym_perf_samples *samples, uint8_t *at, uint64_t word) {
    if (samples->swap) word = __builtin_bswap64(word);
    memcpy(at, &word, sizeof word);
}

/* Take the callers of user space from a branch stack of calls, if it has any, in place of
 * those of the chain. */
static bool use_calls(gsym_perf_samples *samples, const perf_event *event, sample *s,
                      const perf_chain *chain, bool *is_done) {
    bool in_kernel = chain->mode == 1, has_index;
    perf_chain made = *chain;
    const uint8_t *branches;
    uint64_t count;
    uint8_t *words;
    if (event->of.sample_type & SAMPLE_RAW) cursor_skip(&s->rest, cursor_u32(&s->rest));
    count = cursor_u64(&s->rest);
    has_index = (event->of.branch_type & BRANCHES_HAVE_INDEX) != 0;
    if (has_index) cursor_skip(&s->rest, 8);
    if (count > cursor_left(&s->rest) / BRANCH_SIZE)
        count = cursor_left(&s->rest) / BRANCH_SIZE;
    if (s->rest.failed || count == 0) return true;
    *is_done = true;
    branches = s->rest.at;
    words = keep_chain(samples, 2 * (size_t)chain->count + 2 + (size_t)count);
    if (words == NULL) return false;
    made.words = words;
    made.count = 0;
    for (uint32_t i = 0; i < chain->count; ++i) {
        uint64_t word = cursor_load64(chain->words + 8 * (size_t)i, samples->swap);
        if (perf_is_mark(word))
            in_kernel = word == PERF_IN_KERNEL;
        else if (in_kernel) {
            put_word(samples, words + 8 * (size_t)made.count++, PERF_IN_KERNEL);
            put_word(samples, words + 8 * (size_t)made.count++, word);
        }
    }
    put_word(samples, words + 8 * (size_t)made.count++, PERF_IN_USER);
    made.exact_from = made.count;
    /* The innermost address is the target of the last call, the others are calls. */
    memcpy(words + 8 * (size_t)made.count++, branches + 8, 8);
    for (uint64_t i = 0; i < count; ++i)
        memcpy(words + 8 * (size_t)made.count++, branches + i * BRANCH_SIZE, 8);
    return number_made(samples, &made, &s->stack);
}

/* Limit: Stacks of user space in perf.data that are recorded later */
LIMIT(COMPLETED_WORDS, 1 << 20, 1); /* addresses that samples take from them */

static uint64_t words_left(const gsym_perf_samples *samples) {
    const perf_piece *last = &samples->pieces.items[samples->pieces.count - 1];
    return LIMIT_OF(COMPLETED_WORDS, last->start + last->size) - samples->completed_words;
}

/* Number a chain without the cookie at its end, with what was recorded later for it. */
static bool complete(gsym_perf_samples *samples, sample *s, perf_chain *chain) {
    uint64_t cookie =
        cursor_load64(chain->words + 8 * ((size_t)chain->count - 1), samples->swap);
    uint64_t number = perf_deferred_number(samples, s->thread.thread, cookie);
    const perf_deferred *later;
    perf_chain made = *chain;
    uint8_t *words;
    made.count -= 2;
    later = number == 0 ? NULL : &samples->deferred.items[number - 1];
    if (later == NULL || later->count > words_left(samples)) {
        ++samples->losses.deferred;
        return perf_stack_number(samples, &made, &s->stack);
    }
    samples->completed_words += later->count;
    words = keep_chain(samples, (size_t)made.count + 1 + later->count);
    if (words == NULL) return false;
    memcpy(words, made.words, 8 * (size_t)made.count);
    put_word(samples, words + 8 * (size_t)made.count, PERF_IN_USER);
    memcpy(words + 8 * ((size_t)made.count + 1), later->words, 8 * (size_t)later->count);
    made.words = words;
    made.count += 1 + later->count;
    return number_made(samples, &made, &s->stack);
}

static bool has_cookie(const gsym_perf_samples *samples, const perf_chain *chain) {
    return chain->count >= 2 &&
           cursor_load64(chain->words + 8 * ((size_t)chain->count - 2), samples->swap) ==
               PERF_IS_DEFERRED;
}

/* Number the stack of a sample: of its chain, or of its address alone. */
static bool read_stack(gsym_perf_samples *samples, const perf_event *event, sample *s) {
    uint64_t type = event->of.sample_type, count = 0;
    perf_chain chain = {s->rest.at, 0, NEVER, s->thread.process, s->mode};
    bool is_done = false;
    if (type & SAMPLE_CALLCHAIN) {
        count = cursor_u64(&s->rest);
        chain.words = s->rest.at;
        if (count > cursor_left(&s->rest) / 8) s->rest.failed = true;
        if (s->rest.failed) return true;
        chain.count = (uint32_t)count;
        cursor_skip(&s->rest, 8 * count);
    }
    if (type & SAMPLE_STACK_USER && (!samples->is_exact || cursor_left(&s->rest) < 8 ||
                                     cursor_load64(s->rest.at, false) != 0))
        ++samples->losses.copies; /* simpleperf leaves out the registers it has used */
    if (has_cookie(samples, &chain)) {
        if (!complete(samples, s, &chain)) return false;
        is_done = true;
    }
    if (type & SAMPLE_BRANCHES) {
        if (event->of.branch_type & BRANCHES_ARE_CALLS) {
            if (!use_calls(samples, event, s, &chain, &is_done)) return false;
        } else {
            ++samples->losses.branches;
        }
    }
    if (is_done || s->rest.failed) return true;
    if (!perf_stack_number(samples, &chain, &s->stack)) return false;
    if (samples->stacks.items[s->stack].count != 0 || event->ip_at == NO_FIELD)
        return true;
    chain.words = s->fields + event->ip_at;
    chain.count = 1;
    return perf_stack_number(samples, &chain, &s->stack);
}

/* ---- samples -------------------------------------------------------------------- */

/* Set the fields before those of any size. */
static void read_fixed(const gsym_perf_samples *samples, const perf_event *event,
                       sample *s) {
    s->thread = (gsym_perf_thread){-1, -1};
    s->time = GSYM_PERF_UNKNOWN;
    if (event->thread_at != NO_FIELD) {
        const uint8_t *at = s->fields + event->thread_at;
        s->thread.process = (int32_t)cursor_load32(at, samples->swap);
        s->thread.thread = (int32_t)cursor_load32(at + 4, samples->swap);
    }
    if (event->time_at != NO_FIELD) s->time = fixed_field(samples, s, event->time_at);
    if (event->cpu_at != NO_FIELD)
        s->count.cpu = (int32_t)cursor_load32(s->fields + event->cpu_at, samples->swap);
    if (event->period_at != NO_FIELD)
        s->count.period = fixed_field(samples, s, event->period_at);
}

/* Add the rows of a sample. *is_short_ret: the record ends before its fields. */
static bool add_sample(gsym_perf_samples *samples, const gsym_perf_record *record,
                       bool *is_short_ret) {
    const uint8_t *bytes = samples->pieces.items[record->piece].bytes + record->offset;
    uint32_t number = perf_event_of(samples, bytes, record->size);
    const perf_event *event = &samples->events.items[number];
    sample s = {.fields = bytes + PERF_HEADER_SIZE, .mode = record->misc & MODES};
    group members = {{0}, 0, 0};
    bool has_members = false;
    *is_short_ret = record->size < PERF_HEADER_SIZE + event->fixed_size;
    if (*is_short_ret) return true;
    s.count = (gsym_perf_count){event->of.period, number, -1};
    read_fixed(samples, event, &s);
    s.rest = cursor_at(bytes, record->size, PERF_HEADER_SIZE + event->fixed_size,
                       samples->is_big_endian);
    if (event->of.sample_type & SAMPLE_READ) members = read_counters(event, &s);
    if (!s.rest.failed && !read_stack(samples, event, &s)) return false;
    *is_short_ret = s.rest.failed;
    if (s.rest.failed) return true;
    if (!add_members(samples, &s, &members, &has_members)) return false;
    return has_members || add_row(samples, &s, s.count);
}

/* Return the piece that a place is in, which is mostly that of the one before. */
static uint32_t piece_of(const gsym_perf_samples *samples, uint32_t last, uint64_t place) {
    const perf_piece *pieces = samples->pieces.items;
    size_t after = 0;
    if (place - pieces[last].start < pieces[last].size) return last;
    SEARCH_SORTED(after, samples->pieces.count, pieces[middle].start <= place);
    /* Several begin at a place if those before are empty. */
    return (uint32_t)after - 1;
}

gsym_status gsym_perf_samples_next(gsym_perf_samples *samples, uint64_t most_bytes,
                                   gsym_perf_columns *columns_ret, gsym_error *error) {
    enum { MOST_ROWS = 1 << 16, AROUND = 1 << 16 };
    uint64_t before = 0;
    uint32_t piece = 0;
    gsym_perf_columns columns = {0};
    samples->times.count = samples->sample_stacks.count = 0;
    samples->sample_threads.count = samples->sample_counts.count = 0;
    while (samples->next < samples->places.count && samples->times.count < MOST_ROWS &&
           samples->touched <= most_bytes) {
        uint64_t place = samples->places.items[samples->next].place;
        gsym_perf_record record;
        bool is_guest, is_short = false;
        uint32_t mode;
        piece = piece_of(samples, piece, place);
        record = perf_record_at(samples, piece, place - samples->pieces.items[piece].start);
        mode = record.misc & MODES;
        is_guest = mode == GUEST_KERNEL || mode == GUEST_USER;
        /* Around a page, others are mapped as well. */
        samples->touched += place - before < AROUND ? record.size : AROUND;
        before = place;
        ++samples->next;
        if (record.kind != PERF_SAMPLE && !is_guest) {
            columns.next = record;
            samples->has_begun = true;
            break;
        }
        if (is_guest) {
            samples->losses.guests += record.kind == PERF_SAMPLE;
            continue;
        }
        if (!add_sample(samples, &record, &is_short)) return gsym_fail_memory(error);
        if (is_short && !samples->has_begun)
            return gsym_fail(error, GSYM_E_FORMAT, place, "a record is too short");
        samples->losses.shorts += is_short;
        samples->has_begun = true;
    }
    columns.count = samples->times.count;
    columns.times = samples->times.items;
    columns.stacks = samples->sample_stacks.items;
    columns.threads = samples->sample_threads.items;
    columns.counts = samples->sample_counts.items;
    columns.is_end = samples->next >= samples->places.count;
    columns.is_pause = samples->touched > most_bytes;
    if (columns.is_pause) samples->touched = 0;
    *columns_ret = columns;
    return GSYM_OK;
}
