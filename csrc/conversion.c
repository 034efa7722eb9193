/* conversion.c - the job: units in, encoded functions out, whatever the threads do.
 *
 * Each worker takes the next unit, reads it on its own, and parks it. Whoever
 * finds the unit whose turn it is parked carries out the ordered step for it and
 * for all parked behind it: names and files get their numbers in unit order, so
 * the output does not depend on the number of threads. What was interned is then
 * encoded outside the step. A bounded number of parked units keeps one giant unit
 * from stalling the others. */
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#include <unistd.h>

#include "conversion.h"

#define RESULTS_PER_THREAD 8
#define DROP_SIZE (4u << 20) /* give finished pages back in steps of this size */

/* Where the records of a unit are. */
typedef struct unit_span {
    uint32_t worker;
    uint32_t count;
    size_t first;
} unit_span;

typedef struct conversion_worker {
    unit_joiner joiner;
    unit_encoder encoder;
    warning_list warnings;
} conversion_worker;

/* A function by its fingerprint: where it was described first, whose record is
 * kept, and where last, which decides between equally rich records. */
typedef struct seen_function {
    uint64_t fingerprint; /* 0: an empty slot */
    uint32_t unit;
    uint32_t index; /* among the records of that unit */
    uint32_t last_unit;
    uint32_t last_position; /* among the functions of that unit */
} seen_function;

typedef struct seen_set {
    seen_function *slots;
    size_t count, capacity;
} seen_set;

/* How far a section has been read by all. */
typedef struct drop_mark {
    uint64_t dropped;
    uint64_t done;
} drop_mark;

struct gsym_conversion {
    gsym_creator *creator;
    bool keeps_repeated;
    dwarf_input input;
    warning_list warnings;
    range_list text;
    struct { path_rule *items; size_t count, capacity; } path_rules;
    unit_list units, type_units;
    struct { uint64_t *items; size_t count, capacity; } abbrev_offsets;
    unit_span *spans;
    conversion_worker *workers;
    uint32_t worker_count;
    unit_functions *results;
    size_t result_count;
    atomic_uint_fast64_t done;
    atomic_bool is_cancelled;
    /* guarded by the gate */
    sync_gate gate;
    uint32_t next_worker;
    size_t next_unit; /* to be read */
    size_t turn;      /* to be interned */
    bool is_interning;
    bool is_stopped;
    unit_functions **idle;
    size_t idle_count;
    unit_functions **parked; /* by unit index modulo result_count */
    drop_mark info_mark, line_mark;
    /* used in the ordered step only */
    seen_set seen;
    uint64_t repeated;
};

gsym_creator *conversion_creator(gsym_conversion *conversion) { return conversion->creator; }

const dwarf_input *conversion_input(const gsym_conversion *conversion) {
    return &conversion->input;
}

warning_list *conversion_warnings(gsym_conversion *conversion) {
    return &conversion->warnings;
}

/* ---- set-up ------------------------------------------------------------------------ */

gsym_status gsym_conversion_create(gsym_creator *creator,
                                   const gsym_conversion_options *options,
                                   gsym_conversion **conversion_ret, gsym_error *error) {
    gsym_conversion *conversion = calloc(1, sizeof *conversion);
    if (conversion == NULL) return gsym_fail_memory(error);
    if (!sync_init(&conversion->gate)) {
        free(conversion);
        return gsym_fail_memory(error);
    }
    conversion->creator = creator;
    creator_let_base_sink(creator);
    conversion->input.big_endian = options->big_endian != 0;
    conversion->input.call_sites = (options->flags & GSYM_CONVERT_CALL_SITES) != 0;
    conversion->input.full_walk = (options->flags & GSYM_CONVERT_FULL_WALK) != 0;
    conversion->keeps_repeated = (options->flags & GSYM_CONVERT_KEEP_REPEATED) != 0;
    conversion->warnings.keep = (options->flags & GSYM_CONVERT_KEEP_WARNINGS) != 0;
    conversion->worker_count = options->thread_count == 0 ? 1 : options->thread_count;
    *conversion_ret = conversion;
    return GSYM_OK;
}

void gsym_conversion_destroy(gsym_conversion *conversion) {
    if (conversion == NULL) return;
    for (uint32_t i = 0; conversion->workers != NULL && i < conversion->worker_count; ++i) {
        unit_joiner_deinit(&conversion->workers[i].joiner);
        unit_encoder_deinit(&conversion->workers[i].encoder);
        free(conversion->workers[i].warnings.items);
    }
    for (size_t i = 0; conversion->results != NULL && i < conversion->result_count; ++i)
        unit_functions_deinit(&conversion->results[i]);
    for (size_t i = 0; i < conversion->path_rules.count; ++i) {
        free(conversion->path_rules.items[i].old_prefix);
        free(conversion->path_rules.items[i].new_prefix);
    }
    free(conversion->path_rules.items);
    free(conversion->seen.slots);
    free(conversion->workers);
    free(conversion->results);
    free(conversion->idle);
    free(conversion->parked);
    free(conversion->spans);
    free(conversion->units.items);
    free(conversion->type_units.items);
    free(conversion->abbrev_offsets.items);
    free(conversion->text.items);
    free(conversion->warnings.items);
    sync_deinit(&conversion->gate);
    free(conversion);
}

gsym_status gsym_conversion_add_text_range(gsym_conversion *conversion, uint64_t start,
                                           uint64_t end, gsym_error *error) {
    if (start >= end) return GSYM_OK;
    if (!ARRAY_RESERVE(conversion->text, 1)) return gsym_fail_memory(error);
    conversion->text.items[conversion->text.count++] = (gsym_range){start, end};
    return creator_add_text_range(conversion->creator, start, end, error);
}

gsym_status gsym_conversion_set_section(gsym_conversion *conversion,
                                        gsym_debug_section which, const uint8_t *data,
                                        size_t size, uint32_t is_file_mapping,
                                        gsym_error *error) {
    if ((unsigned)which >= GSYM_DEBUG_SECTION_COUNT)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such debug section");
    conversion->input.sections[which] = (dwarf_bytes){data, size, is_file_mapping != 0};
    return GSYM_OK;
}

static char *copy_bytes(const char *bytes, size_t size) {
    char *copy = malloc(size + 1);
    if (copy != NULL) memcpy(copy, bytes, size);
    return copy;
}

gsym_status gsym_conversion_add_path_map(gsym_conversion *conversion, const char *old_bytes,
                                         size_t old_size, const char *new_bytes,
                                         size_t new_size, gsym_error *error) {
    path_rule *rule;
    if (!ARRAY_RESERVE(conversion->path_rules, 1)) return gsym_fail_memory(error);
    rule = &conversion->path_rules.items[conversion->path_rules.count++];
    *rule = (path_rule){copy_bytes(old_bytes, old_size), copy_bytes(new_bytes, new_size),
                        old_size, new_size};
    if (rule->old_prefix == NULL || rule->new_prefix == NULL) return gsym_fail_memory(error);
    return GSYM_OK;
}

static int compare_starts(const void *left, const void *right) {
    uint64_t a = ((const gsym_range *)left)->start, b = ((const gsym_range *)right)->start;
    return a < b ? -1 : a > b;
}

static void sort_text(range_list *text) {
    size_t kept = 0;
    if (text->count == 0) return;
    qsort(text->items, text->count, sizeof *text->items, compare_starts);
    for (size_t i = 1; i < text->count; ++i) {
        if (text->items[i].start > text->items[kept].end)
            text->items[++kept] = text->items[i];
        else if (text->items[i].end > text->items[kept].end)
            text->items[kept].end = text->items[i].end;
    }
    text->count = kept + 1;
}

static gsym_status create_workers(gsym_conversion *conversion, gsym_error *error) {
    size_t per_thread = conversion->worker_count > 1 ? RESULTS_PER_THREAD : 1;
    size_t count = conversion->worker_count * per_thread;
    conversion->result_count = count;
    conversion->workers = calloc(conversion->worker_count, sizeof *conversion->workers);
    conversion->results = calloc(count, sizeof *conversion->results);
    conversion->idle = calloc(count, sizeof *conversion->idle);
    conversion->parked = calloc(count, sizeof *conversion->parked);
    conversion->spans = calloc(conversion->units.count + 1, sizeof *conversion->spans);
    if (conversion->workers == NULL || conversion->results == NULL ||
        conversion->idle == NULL || conversion->parked == NULL || conversion->spans == NULL)
        return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i)
        conversion->idle[conversion->idle_count++] = &conversion->results[count - 1 - i];
    for (uint32_t i = 0; i < conversion->worker_count; ++i) {
        conversion_worker *worker = &conversion->workers[i];
        worker->warnings.keep = conversion->warnings.keep;
        worker->joiner.warnings = &worker->warnings;
        worker->joiner.known = calloc(KNOWN_NAMES, sizeof(known_name));
        if (worker->joiner.known == NULL) return gsym_fail_memory(error);
        worker->encoder.warnings = &worker->warnings;
        worker->encoder.strp_size = creator_strp_size(conversion->creator);
        worker->encoder.chunk.swap =
            creator_big_endian(conversion->creator) != CURSOR_HOST_BIG_ENDIAN;
    }
    return GSYM_OK;
}

static int compare_offsets(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static gsym_status list_abbrev_offsets(gsym_conversion *conversion, const unit_list *units,
                                       gsym_error *error) {
    if (!ARRAY_RESERVE(conversion->abbrev_offsets, units->count))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < units->count; ++i)
        conversion->abbrev_offsets.items[conversion->abbrev_offsets.count++] =
            units->items[i].abbrev_offset;
    return GSYM_OK;
}

/* Each offset once, ascending. */
static void sort_abbrev_offsets(gsym_conversion *conversion) {
    uint64_t *items = conversion->abbrev_offsets.items;
    size_t count = conversion->abbrev_offsets.count, kept = 0;
    if (count == 0) return;
    qsort(items, count, sizeof *items, compare_offsets);
    for (size_t i = 1; i < count; ++i)
        if (items[i] != items[kept]) items[++kept] = items[i];
    conversion->abbrev_offsets.count = kept + 1;
}

gsym_status gsym_conversion_scan(gsym_conversion *conversion, gsym_error *error) {
    dwarf_input *input = &conversion->input;
    sort_text(&conversion->text);
    input->text = conversion->text.items;
    input->text_count = conversion->text.count;
    input->path_rules = conversion->path_rules.items;
    input->path_rule_count = conversion->path_rules.count;
    GSYM_TRY(dwarf_scan_units(input, &conversion->units, &conversion->type_units,
                              &conversion->warnings, error));
    input->units = conversion->units.items;
    input->unit_count = conversion->units.count;
    input->type_units = conversion->type_units.items;
    input->type_unit_count = conversion->type_units.count;
    GSYM_TRY(list_abbrev_offsets(conversion, &conversion->units, error));
    GSYM_TRY(list_abbrev_offsets(conversion, &conversion->type_units, error));
    sort_abbrev_offsets(conversion);
    input->abbrev_offsets = conversion->abbrev_offsets.items;
    input->abbrev_offset_count = conversion->abbrev_offsets.count;
    return create_workers(conversion, error);
}

/* ---- giving pages back ---------------------------------------------------------------- */

typedef struct page_span {
    const uint8_t *start;
    size_t size;
} page_span;

/* Pages of a section that nobody will read in order any more; called with the gate
 * held, carried out without it. */
static page_span take_done_pages(const dwarf_bytes *section, drop_mark *mark) {
    page_span span = {NULL, 0};
    if (!section->is_file_mapping || mark->done < mark->dropped + DROP_SIZE ||
        mark->done > section->size)
        return span;
    span.start = section->data + mark->dropped;
    span.size = (size_t)(mark->done - mark->dropped);
    mark->dropped = mark->done;
    return span;
}

static void drop_pages(page_span span) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)span.start + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)span.start + span.size) & ~(page - 1);
    if (span.size == 0) return;
    if (start < end) (void)madvise((void *)start, end - start, MADV_DONTNEED);
}

/* ---- working ---------------------------------------------------------------------------- */

static seen_function *find_seen(const seen_set *set, uint64_t fingerprint) {
    size_t slot = (size_t)(fingerprint >> 1) & (set->capacity - 1); /* all are odd */
    while (set->slots[slot].fingerprint != 0 && set->slots[slot].fingerprint != fingerprint)
        slot = (slot + 1) & (set->capacity - 1);
    return &set->slots[slot];
}

static bool grow_seen(seen_set *set) {
    seen_set grown = {NULL, set->count, set->capacity == 0 ? 1024 : 2 * set->capacity};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (grown.slots == NULL) return false;
    for (size_t i = 0; i < set->capacity; ++i)
        if (set->slots[i].fingerprint != 0)
            *find_seen(&grown, set->slots[i].fingerprint) = set->slots[i];
    free(set->slots);
    *set = grown;
    return true;
}

/* Leave out functions that a unit before has described in the same words. */
static gsym_status drop_repeated(gsym_conversion *conversion, unit_functions *unit,
                                 gsym_error *error) {
    seen_set *seen = &conversion->seen;
    uint32_t unit_index = (uint32_t)unit->unit_index, kept = 0;
    for (size_t i = 0; i < unit->functions.count; ++i) {
        const unit_function *function = &unit->functions.items[i];
        uint64_t fingerprint = function->fingerprint | 1;
        seen_function *found;
        if (function->fingerprint == 0) {
            unit->functions.items[kept++] = *function;
            continue;
        }
        if (2 * seen->count >= seen->capacity && !grow_seen(seen))
            return gsym_fail_memory(error);
        found = find_seen(seen, fingerprint);
        if (found->fingerprint == fingerprint) {
            found->last_unit = unit_index;
            found->last_position = function->position;
            ++conversion->repeated;
            continue;
        }
        *found = (seen_function){fingerprint, unit_index, kept, unit_index,
                                 function->position};
        ++seen->count;
        unit->functions.items[kept++] = *function;
    }
    unit->functions.count = kept;
    return GSYM_OK;
}

/* The ordered step: numbers for the names and files of one unit. */
static gsym_status intern_unit(gsym_conversion *conversion, unit_functions *unit,
                               gsym_error *error) {
    gsym_creator *creator = conversion->creator;
    const char *arena = (const char *)unit->arena.bytes;
    if (!ARRAY_RESERVE(unit->strps, unit->names.count) ||
        !ARRAY_RESERVE(unit->files, unit->paths.count))
        return gsym_fail_memory(error);
    if (!conversion->keeps_repeated) GSYM_TRY(drop_repeated(conversion, unit, error));
    for (size_t i = 0; i < unit->names.count; ++i) {
        const unit_name *name = &unit->names.items[i];
        const resolved_name *text = &name->text;
        if (text->strp != 0) {
            unit->strps.items[i] = text->strp;
            continue;
        }
        GSYM_TRY(creator_intern(creator,
                                text->bytes != NULL ? text->bytes
                                                    : arena + text->arena_offset,
                                text->size, name->hash, &unit->strps.items[i], error));
    }
    for (size_t i = 0; i < unit->paths.count; ++i) {
        const unit_path *path = &unit->paths.items[i];
        GSYM_TRY(creator_intern_path(creator, arena + path->arena_offset, path->size,
                                     path->hash, &unit->files.items[i], error));
    }
    unit->strps.count = unit->names.count;
    unit->files.count = unit->paths.count;
    return GSYM_OK;
}

static unit_functions **parked_slot(gsym_conversion *conversion, size_t unit_index) {
    return &conversion->parked[unit_index % conversion->result_count];
}

/* Stop everybody; called with the gate held. */
static void stop(gsym_conversion *conversion) {
    conversion->is_stopped = true;
    sync_announce(&conversion->gate);
}

/* Remember what was interned for the next units that this worker reads. */
static void learn_names(unit_joiner *joiner, const unit_functions *unit) {
    for (size_t i = 0; i < unit->names.count; ++i) {
        const unit_name *name = &unit->names.items[i];
        uint64_t key = name->text.key;
        if (key != 0)
            joiner->known[known_name_slot(key)] =
                (known_name){key, unit->strps.items[i], name->hash, name->text.size};
    }
}

static gsym_status encode_unit(gsym_conversion *conversion, uint32_t index,
                               unit_functions *unit, gsym_error *error) {
    unit_encoder *encoder = &conversion->workers[index].encoder;
    unit_span *span = &conversion->spans[unit->unit_index];
    gsym_status status;
    learn_names(&conversion->workers[index].joiner, unit);
    span->worker = index;
    span->first = encoder->records.count;
    status = unit_encoder_add(encoder, unit, error);
    span->count = (uint32_t)(encoder->records.count - span->first);
    atomic_fetch_add_explicit(&conversion->done,
                              conversion->units.items[unit->unit_index].end -
                                  conversion->units.items[unit->unit_index].offset,
                              memory_order_relaxed);
    return status;
}

/* With the gate held: intern each parked unit whose turn it is, and encode it.
 * Other workers may park and go on meanwhile. */
static gsym_status pass_turns(gsym_conversion *conversion, uint32_t index,
                              gsym_error *error) {
    while (!conversion->is_interning && !conversion->is_stopped) {
        unit_functions **slot = parked_slot(conversion, conversion->turn);
        unit_functions *unit = *slot;
        page_span info, lines;
        gsym_status status;
        if (unit == NULL || unit->unit_index != conversion->turn) return GSYM_OK;
        *slot = NULL;
        conversion->is_interning = true;
        sync_unlock(&conversion->gate);
        status = intern_unit(conversion, unit, error);
        sync_lock(&conversion->gate);
        conversion->is_interning = false;
        if (status != GSYM_OK) return status;
        ++conversion->turn;
        conversion->info_mark.done = conversion->units.items[unit->unit_index].end;
        if (unit->lines_end > conversion->line_mark.done)
            conversion->line_mark.done = unit->lines_end;
        info = take_done_pages(&conversion->input.sections[GSYM_DEBUG_INFO],
                               &conversion->info_mark);
        lines = take_done_pages(&conversion->input.sections[GSYM_DEBUG_LINE],
                                &conversion->line_mark);
        sync_unlock(&conversion->gate);
        drop_pages(info);
        drop_pages(lines);
        status = encode_unit(conversion, index, unit, error);
        sync_lock(&conversion->gate);
        conversion->idle[conversion->idle_count++] = unit;
        sync_announce(&conversion->gate);
        if (status != GSYM_OK) return status;
    }
    return GSYM_OK;
}

/* With the gate held: take the next unit, read it, park it. */
static gsym_status read_next_unit(gsym_conversion *conversion, uint32_t index,
                                  gsym_error *error) {
    unit_functions *unit = conversion->idle[--conversion->idle_count];
    size_t unit_index = conversion->next_unit++;
    bool has_memory;
    sync_unlock(&conversion->gate);
    has_memory = unit_functions_read(unit, &conversion->workers[index].joiner,
                                     &conversion->input, unit_index);
    sync_lock(&conversion->gate);
    *parked_slot(conversion, unit_index) = unit;
    return has_memory ? GSYM_OK : gsym_fail_memory(error);
}

static gsym_status work(gsym_conversion *conversion, uint32_t index, gsym_error *error) {
    while (!conversion->is_stopped && conversion->next_unit < conversion->units.count) {
        if (atomic_load_explicit(&conversion->is_cancelled, memory_order_relaxed))
            return gsym_fail(error, GSYM_E_CANCELLED, 0, "the conversion was cancelled");
        if (conversion->idle_count == 0) {
            sync_wait(&conversion->gate);
            continue;
        }
        GSYM_TRY(read_next_unit(conversion, index, error));
        GSYM_TRY(pass_turns(conversion, index, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_work(gsym_conversion *conversion, gsym_error *error) {
    gsym_status status;
    uint32_t index;
    sync_lock(&conversion->gate);
    index = conversion->next_worker++;
    if (index >= conversion->worker_count) {
        sync_unlock(&conversion->gate);
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more workers than announced");
    }
    status = work(conversion, index, error);
    if (status != GSYM_OK) stop(conversion);
    sync_unlock(&conversion->gate);
    return status;
}

void gsym_conversion_progress(gsym_conversion *conversion, uint64_t *done_ret,
                              uint64_t *total_ret) {
    *done_ret = atomic_load_explicit(&conversion->done, memory_order_relaxed);
    *total_ret = conversion->input.sections[GSYM_DEBUG_INFO].size;
}

void gsym_conversion_cancel(gsym_conversion *conversion) {
    atomic_store_explicit(&conversion->is_cancelled, true, memory_order_relaxed);
}

/* ---- collecting -------------------------------------------------------------------------- */

static gsym_status collect_warnings(warning_list *all, const warning_list *some,
                                    gsym_error *error) {
    for (unsigned i = 0; i < GSYM_WARN_COUNT; ++i) all->counts[i] += some->counts[i];
    if (some->count == 0) return GSYM_OK;
    if (!ARRAY_RESERVE(*all, some->count)) return gsym_fail_memory(error);
    memcpy(all->items + all->count, some->items, some->count * sizeof *some->items);
    all->count += some->count;
    return GSYM_OK;
}

static encoded_function *record_of(const gsym_conversion *conversion, size_t unit,
                                   size_t index) {
    const unit_span *span = &conversion->spans[unit];
    return &conversion->workers[span->worker].encoder.records.items[span->first + index];
}

static int compare_last(const void *left, const void *right) {
    const seen_function *a = left, *b = right;
    if (a->last_unit != b->last_unit) return a->last_unit < b->last_unit ? -1 : 1;
    return a->last_position < b->last_position ? -1 : a->last_position > b->last_position;
}

/* Functions that were repeated later, by the place of their last repetition. */
static size_t list_moved(gsym_conversion *conversion) {
    seen_set *seen = &conversion->seen;
    size_t count = 0;
    for (size_t i = 0; i < seen->capacity; ++i) {
        seen_function function = seen->slots[i];
        encoded_function *record;
        if (function.fingerprint == 0) continue;
        record = record_of(conversion, function.unit, function.index);
        if (function.last_unit == function.unit &&
            function.last_position == record->position)
            continue;
        record->is_moved = true;
        seen->slots[count++] = function;
    }
    if (count > 1) qsort(seen->slots, count, sizeof *seen->slots, compare_last);
    return count;
}

/* Hand all records over in the order of the DIEs that described them last. */
static gsym_status keep_records(gsym_conversion *conversion, gsym_error *error) {
    size_t moved_count = list_moved(conversion);
    const seen_function *moved = conversion->seen.slots;
    const seen_function *end = moved_count == 0 ? moved : moved + moved_count;
    for (size_t unit = 0; unit < conversion->units.count; ++unit) {
        for (uint32_t i = 0; i < conversion->spans[unit].count; ++i) {
            const encoded_function *own = record_of(conversion, unit, i);
            for (; moved < end && moved->last_unit == unit &&
                   moved->last_position < own->position;
                 ++moved)
                GSYM_TRY(creator_keep(
                    conversion->creator,
                    &record_of(conversion, moved->unit, moved->index)->record, 1, error));
            if (!own->is_moved)
                GSYM_TRY(creator_keep(conversion->creator, &own->record, 1, error));
        }
        for (; moved < end && moved->last_unit == unit; ++moved)
            GSYM_TRY(creator_keep(conversion->creator,
                                  &record_of(conversion, moved->unit, moved->index)->record,
                                  1, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_collect(gsym_conversion *conversion, gsym_error *error) {
    for (uint32_t i = 0; i < conversion->worker_count; ++i) {
        unit_encoder *encoder = &conversion->workers[i].encoder;
        GSYM_TRY(unit_encoder_close_chunk(encoder, error));
        while (encoder->chunks.count > 0) {
            GSYM_TRY(creator_adopt(conversion->creator,
                                   encoder->chunks.items[encoder->chunks.count - 1], error));
            --encoder->chunks.count;
        }
        GSYM_TRY(collect_warnings(&conversion->warnings, &conversion->workers[i].warnings,
                                  error));
    }
    creator_count_repeated(conversion->creator, conversion->repeated);
    GSYM_TRY(keep_records(conversion, error));
    for (unsigned i = 0; i < GSYM_DEBUG_SECTION_COUNT; ++i) {
        const dwarf_bytes *section = &conversion->input.sections[i];
        if (section->is_file_mapping)
            drop_pages((page_span){section->data, section->size});
    }
    return GSYM_OK;
}

uint64_t gsym_conversion_warning_count(const gsym_conversion *conversion,
                                       gsym_warning_category category) {
    return (unsigned)category < GSYM_WARN_COUNT ? conversion->warnings.counts[category] : 0;
}

static int compare_warnings(const void *left, const void *right) {
    const gsym_warning *a = left, *b = right;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (a->category != b->category) return a->category < b->category ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

const gsym_warning *gsym_conversion_warnings(gsym_conversion *conversion,
                                             size_t *count_ret) {
    warning_list *warnings = &conversion->warnings;
    if (warnings->count > 1)
        qsort(warnings->items, warnings->count, sizeof *warnings->items, compare_warnings);
    *count_ret = warnings->count;
    return warnings->items;
}
