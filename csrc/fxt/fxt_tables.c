/* fxt_tables.c - entries of all providers in one table, so that a provider without any
 * takes next to no memory. */
#include "fxt/fxt_tables.h"

enum { PROVIDER_SHIFT = 17, IS_THREAD = 1 << 16 };

static bool add_provider(fxt_tables *tables, uint64_t id) {
    if (!ARRAY_RESERVE(tables->ids, 1) || !ARRAY_RESERVE(tables->rates, 1)) return false;
    tables->ids.items[tables->ids.count++] = id;
    tables->rates.items[tables->rates.count++] = 0;
    return true;
}

bool fxt_tables_init(fxt_tables *tables) {
    tables->provider = tables->implicit = (uint32_t)tables->ids.count;
    return number_map_init(&tables->providers) && number_map_init(&tables->entries) &&
           add_provider(tables, GSYM_FXT_NO_PROVIDER);
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

uint64_t fxt_tables_rate(const fxt_tables *tables) {
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
        if (!ARRAY_RESERVE(tables->strings, 1) ||
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
        if (!ARRAY_RESERVE(tables->threads, 1) ||
            !number_map_set(&tables->entries, key, entry))
            return false;
        tables->threads.count++;
    }
    tables->threads.items[entry] = thread;
    return true;
}

fxt_table_string *fxt_tables_string(const fxt_tables *tables, uint64_t index) {
    uint64_t entry;
    return find_entry(tables, index, &entry) ? &tables->strings.items[entry] : NULL;
}

const fxt_thread *fxt_tables_thread(const fxt_tables *tables, uint64_t index) {
    uint64_t entry;
    return find_entry(tables, IS_THREAD | index, &entry) ? &tables->threads.items[entry]
                                                         : NULL;
}
