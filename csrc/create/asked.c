/* asked.c - leave out the records that affect no requested address.
 *
 * An address is affected by the records that contain it, by those with the greatest start
 * at or below it, and by those with the least start after it, where an entry without a size
 * ends. Functions of the debug information are kept anyway, so a symbol can affect an
 * address only if it lies between the starts of such functions on both sides of it. */
#include "create/state.h"

gsym_status gsym_creator_ask(gsym_creator *creator, const uint64_t *addresses, size_t count,
                             gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    for (size_t i = 1; i < count; ++i)
        if (addresses[i] < addresses[i - 1])
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "addresses do not ascend");
    creator->asked.count = creator->around.count = 0;
    if (!LIST_RESERVE(creator->asked, count + 1) ||
        !LIST_RESERVE(creator->around, count + 1))
        return gsym_fail_memory(error);
    if (count > 0) memcpy(creator->asked.items, addresses, count * sizeof *addresses);
    creator->asked.count = count;
    return GSYM_OK;
}

/* Return the index of the first requested address at or after `start`. */
static size_t first_at(const address_list *asked, uint64_t start) {
    size_t low = 0;
    SEARCH_SORTED(low, asked->count, asked->items[middle] < start);
    return low;
}

bool creator_answers_in(const gsym_creator *creator, uint64_t start, uint64_t end) {
    const address_list *asked = &creator->asked;
    size_t at;
    if (asked->count == 0) return true;
    at = first_at(asked, start);
    return at < asked->count && asked->items[at] < end;
}

/* Whether it is certain that pruning keeps a record with this start, whatever symbols are
 * added. */
static bool is_certain(const creator_record *record) {
    return creator_record_origin(record) == GSYM_ORIGIN_DEBUG_INFO &&
           (record->flags & RECORD_NAMELESS) == 0;
}

/* Find the nearest function starts at or below each address and above it. */
static void find_neighbours(gsym_creator *creator, bool has_symbols) {
    gsym_range *around = creator->around.items;
    size_t count = creator->around.count = creator->asked.count;
    for (size_t i = 0; i < count; ++i) around[i] = (gsym_range){0, UINT64_MAX};
    for (size_t i = 0; i < creator->records.count; ++i) {
        const creator_record *record = &creator->records.items[i];
        size_t at = first_at(&creator->asked, record->address);
        if (!has_symbols && !is_certain(record)) continue;
        if (at < count && record->address > around[at].start)
            around[at].start = record->address;
        if (at > 0 && record->address < around[at - 1].end)
            around[at - 1].end = record->address;
    }
    for (size_t i = 1; i < count; ++i) {
        size_t from_end = count - 1 - i;
        if (around[i].start < around[i - 1].start) around[i].start = around[i - 1].start;
        if (around[from_end].end > around[from_end + 1].end)
            around[from_end].end = around[from_end + 1].end;
    }
}

/* Lower around[].start to the start of each function that contains the address: the
 * function may get the name of a symbol there. */
static void reach_starts(gsym_creator *creator) {
    for (size_t i = 0; i < creator->records.count; ++i) {
        const creator_record *record = &creator->records.items[i];
        size_t at = first_at(&creator->asked, record->address);
        if (at < creator->asked.count &&
            creator->asked.items[at] - record->address < record->size &&
            record->address < creator->around.items[at].start)
            creator->around.items[at].start = record->address;
    }
}

void creator_await_symbols(gsym_creator *creator) {
    if (creator->asked.count == 0) return;
    find_neighbours(creator, false);
    reach_starts(creator);
}

bool creator_needs_symbol(const gsym_creator *creator, uint64_t start, uint64_t size) {
    const range_list *around = &creator->around;
    size_t low = 0;
    if (creator->asked.count == 0) return true;
    SEARCH_SORTED(low, around->count, around->items[middle].end < start);
    return low < around->count &&
           (start >= around->items[low].start || around->items[low].start - start < size);
}

static bool affects(const gsym_creator *creator, const creator_record *record) {
    uint64_t start = record->address;
    const gsym_range *around = creator->around.items;
    size_t at = first_at(&creator->asked, start);
    if (at > 0 && around[at - 1].end == start) return true;
    return at < creator->asked.count &&
           (around[at].start == start || creator->asked.items[at] - start < record->size);
}

void creator_keep_asked(gsym_creator *creator) {
    record_list *records = &creator->records;
    size_t kept = 0;
    if (creator->asked.count == 0) return;
    find_neighbours(creator, true);
    for (size_t i = 0; i < records->count; ++i)
        if (affects(creator, &records->items[i]))
            records->items[kept++] = records->items[i];
    records->count = kept;
}
