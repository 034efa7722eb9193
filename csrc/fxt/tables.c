/* tables.c - keep the strings and threads to which records refer; resolve references and
 * times.
 *
 * The entries of all providers are in one table, so that a provider without entries takes
 * little memory. */
#include "base/hash.h"
#include "fxt/reader.h"

/* ---- strings, which are found by their hash ----------------------------------------- */

enum {
    MAX_PROBES = 64, /* steps of a search; in a hostile trace with many collisions, some
                        strings get two numbers */
    MAX_KEPT = 64 << 20,
    MAX_STRINGS = 1 << 20
};

void fxt_strings_deinit(fxt_strings *strings) {
    buffer_deinit(&strings->bytes);
    free(strings->ends.items);
    free(strings->slots.slots);
}

void fxt_strings_begin(fxt_strings *strings) {
    strings->first = (uint32_t)strings->ends.count + 1;
    if (strings->bytes.size <= MAX_KEPT && strings->ends.count <= MAX_STRINGS) return;
    strings->first = 1;
    strings->age++;
    strings->bytes.size = strings->ends.count = 0;
    slot_table_clear(&strings->slots);
}

static uint64_t start_of(const fxt_strings *strings, uint64_t number) {
    return number > 1 ? strings->ends.items[number - 2] : 0;
}

uint64_t fxt_strings_new_size(const fxt_strings *strings) {
    return strings->bytes.size - start_of(strings, strings->first);
}

const uint8_t *fxt_strings_text(const fxt_strings *strings, uint32_t number,
                                size_t *size_ret) {
    static const uint8_t nothing[1] = {0};
    uint64_t start = start_of(strings, number);
    *size_ret = number == 0 ? 0 : strings->ends.items[number - 1] - start;
    return number == 0 ? nothing : strings->bytes.bytes + start;
}

static bool is_equal(const fxt_strings *strings, uint64_t number, const uint8_t *bytes,
                     size_t size) {
    uint64_t start = start_of(strings, number);
    return strings->ends.items[number - 1] - start == size &&
           memcmp(strings->bytes.bytes + start, bytes, size) == 0;
}

/* Find the slot of a string or a free slot; NULL after too many probes. */
static hash_slot *find_slot(const fxt_strings *strings, uint64_t hash,
                            const uint8_t *bytes, size_t size) {
    size_t at = (size_t)hash & strings->slots.mask;
    for (unsigned probe = 0; probe < MAX_PROBES; ++probe) {
        hash_slot *found = &strings->slots.slots[at];
        if (found->number == 0) return found;
        if (found->hash == hash && is_equal(strings, found->number, bytes, size))
            return found;
        at = (at + 1) & strings->slots.mask;
    }
    return NULL;
}

/* Find or add the number of a string; 0 is the empty string. False if out of memory. */
static bool number_string(fxt_strings *strings, const uint8_t *bytes, size_t size,
                          uint32_t *number_ret) {
    uint64_t hash;
    hash_slot *slot;
    *number_ret = 0;
    if (size == 0) return true;
    hash = string_hash((const char *)bytes, size);
    if (!slot_table_reserve(&strings->slots)) return false;
    slot = find_slot(strings, hash, bytes, size);
    if (slot != NULL && slot->number != 0) {
        *number_ret = (uint32_t)slot->number;
        return true;
    }
    if (!LIST_RESERVE(strings->ends, 1)) return false;
    buffer_put(&strings->bytes, bytes, size);
    if (strings->bytes.failed) return false;
    strings->ends.items[strings->ends.count++] = strings->bytes.size;
    *number_ret = (uint32_t)strings->ends.count;
    if (slot != NULL) {
        *slot = (hash_slot){hash, *number_ret};
        strings->slots.count++;
    }
    return true;
}

enum { PROVIDER_SHIFT = 17, IS_THREAD = 1 << 16 };

static bool add_provider(fxt_tables *tables, uint64_t id) {
    if (!LIST_RESERVE(tables->ids, 1) || !LIST_RESERVE(tables->rates, 1)) return false;
    tables->ids.items[tables->ids.count++] = id;
    tables->rates.items[tables->rates.count++] = 0;
    return true;
}

bool fxt_tables_init(fxt_tables *tables) {
    tables->provider = tables->implicit = (uint32_t)tables->ids.count;
    return add_provider(tables, GSYM_FXT_NO_PROVIDER);
}

static void forget_entries(fxt_tables *tables) {
    for (size_t i = 0; i < tables->strings.count; ++i) free(tables->strings.items[i].bytes);
    tables->strings.count = tables->threads.count = 0;
    number_map_deinit(&tables->providers);
    number_map_deinit(&tables->entries);
    tables->providers = tables->entries = (number_map){0};
}

bool fxt_tables_restart(fxt_tables *tables) {
    forget_entries(tables);
    tables->restarts++;
    return fxt_tables_init(tables);
}

void fxt_tables_deinit(fxt_tables *tables) {
    forget_entries(tables);
    free(tables->ids.items);
    free(tables->rates.items);
    free(tables->strings.items);
    free(tables->threads.items);
}

bool fxt_tables_provider(fxt_tables *tables, uint32_t id, uint32_t *number_ret) {
    uint64_t number;
    if (!number_map_find(&tables->providers, id, &number)) {
        number = tables->ids.count;
        if (!add_provider(tables, id) ||
            !number_map_set(&tables->providers, id, number))
            return false;
        tables->named++;
    }
    *number_ret = (uint32_t)number;
    return true;
}

static uint64_t present_rate(const fxt_tables *tables) {
    const uint64_t *rates = tables->rates.items;
    if (GSYM_LIKELY(rates[tables->provider] != 0)) return rates[tables->provider];
    return rates[tables->implicit] != 0 ? rates[tables->implicit] : FXT_DEFAULT_RATE;
}

static bool find_entry(const fxt_tables *tables, uint64_t key, uint64_t *entry_ret) {
    uint64_t own = tables->provider, implicit = tables->implicit;
    if (number_map_find(&tables->entries, own << PROVIDER_SHIFT | key, entry_ret))
        return true;
    return own != implicit &&
           number_map_find(&tables->entries, implicit << PROVIDER_SHIFT | key, entry_ret);
}

bool fxt_tables_set_string(fxt_tables *tables, uint64_t index, const uint8_t *bytes,
                           size_t size) {
    uint64_t key = (uint64_t)tables->provider << PROVIDER_SHIFT | index, entry;
    uint8_t *copy;
    if (index == 0) return true;
    copy = malloc(size + 1);
    if (copy == NULL) return false;
    memcpy(copy, bytes, size);
    if (!number_map_find(&tables->entries, key, &entry)) {
        entry = tables->strings.count;
        if (!LIST_RESERVE(tables->strings, 1) ||
            !number_map_set(&tables->entries, key, entry)) {
            free(copy);
            return false;
        }
        tables->strings.items[tables->strings.count++].bytes = NULL;
    }
    free(tables->strings.items[entry].bytes);
    tables->strings.items[entry] =
        (fxt_table_string){.bytes = copy, .size = (uint32_t)size};
    return true;
}

bool fxt_tables_set_thread(fxt_tables *tables, uint64_t index, fxt_thread thread) {
    uint64_t key = (uint64_t)tables->provider << PROVIDER_SHIFT | IS_THREAD | index, entry;
    if (index == 0) return true;
    if (!number_map_find(&tables->entries, key, &entry)) {
        entry = tables->threads.count;
        if (!LIST_RESERVE(tables->threads, 1) ||
            !number_map_set(&tables->entries, key, entry))
            return false;
        tables->threads.count++;
    }
    tables->threads.items[entry] = thread;
    return true;
}

/* Find a string; NULL if the index is undefined. */
static fxt_table_string *string_at(const fxt_tables *tables, uint64_t index) {
    uint64_t entry;
    return find_entry(tables, index, &entry) ? &tables->strings.items[entry] : NULL;
}

static const fxt_thread *thread_at(const fxt_tables *tables, uint64_t index) {
    uint64_t entry;
    return find_entry(tables, IS_THREAD | index, &entry) ? &tables->threads.items[entry]
                                                         : NULL;
}

/* ---- references of records, and times ----------------------------------------------- */

static const char UNKNOWN_STRING[] = "<unknown>";

enum { INLINE_SIZE = 0x7fff };

static gsym_status number_of(gsym_fxt_reader *reader, const void *bytes, size_t size,
                             uint32_t *number_ret, gsym_error *error) {
    return number_string(&reader->strings, bytes, size, number_ret)
               ? GSYM_OK
               : gsym_fail_memory(error);
}

gsym_fxt_data fxt_read_data(fxt_body *body, uint64_t size) {
    gsym_fxt_data data = {cursor_offset(&body->fields), size};
    if (size > cursor_left(&body->fields)) /* first, so that the padded size cannot
                                              overflow */
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
    string = string_at(&reader->tables, ref);
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
    thread = thread_at(&reader->tables, ref);
    if (thread != NULL) {
        *thread_ret = *thread;
        return GSYM_OK;
    }
    *thread_ret = (fxt_thread){UINT64_MAX, UINT64_MAX};
    return fxt_report(reader, GSYM_FXT_UNDEFINED_THREAD, body->offset, ref, error);
}

/* Compute floor(ticks * 1e9 / rate) without overflow of intermediate products. */
uint64_t fxt_ns(gsym_fxt_reader *reader, uint64_t ticks) {
    const uint64_t second = UINT64_C(1000000000);
    uint64_t rate = present_rate(&reader->tables), whole, part, ns;
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
