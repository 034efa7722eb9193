/* breakpad_publics.c - make functions of PUBLIC records, which have no size.
 *
 * A PUBLIC inside of a function is dropped, as the FUNC has more information. Any other
 * PUBLIC ends where the next FUNC or PUBLIC starts, which is known at the end of the text.
 * PUBLIC records are sorted; for each function, those inside of it are found by binary
 * search. So the functions need not be sorted or kept. */
#include "base/sort.h"
#include "create/state.h"
#include "sources/breakpad.h"

gsym_status breakpad_add_public(gsym_breakpad *breakpad, uint64_t address,
                                const char *name, size_t name_size, gsym_error *error) {
    breakpad_public added = {
        .address = address, .next = UINT64_MAX, .name_size = (uint32_t)name_size};
    const uint8_t *stored;
    if (breakpad->publics.count == UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, breakpad->position.offset,
                         "more PUBLIC records than a GSYM file can contain");
    if (!LIST_RESERVE(breakpad->publics, 1)) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(breakpad->creator, (const uint8_t *)name, name_size, &stored,
                           error));
    added.name = (const char *)stored;
    breakpad->publics.items[breakpad->publics.count++] = added;
    return GSYM_OK;
}

static bool is_public_before(const void *left, const void *right, const void *context) {
    const breakpad_public *a = left, *b = right;
    (void)context;
    return a->address < b->address;
}

/* Sort the PUBLIC records by address; of several at one address, keep the first one of the
 * text. */
static gsym_status sort_publics(gsym_breakpad *breakpad, gsym_error *error) {
    breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count, kept = 0;
    if (!sort_stable(items, count, sizeof *items, is_public_before, NULL))
        return gsym_fail_memory(error);
    for (size_t i = 1; i < count; ++i)
        if (items[i].address != items[kept].address) items[++kept] = items[i];
    breakpad->publics.count = kept + 1;
    return GSYM_OK;
}

/* Return the index of the first PUBLIC at or above `address`. */
static size_t first_from(const gsym_breakpad *breakpad, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, breakpad->publics.count,
                  breakpad->publics.items[middle].address < address);
    return low;
}

static void mark_function(gsym_breakpad *breakpad, const creator_record *function) {
    breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count;
    size_t first = first_from(breakpad, function->address), end = first;
    uint64_t last = function->address + (function->size - 1);
    if (first > 0 && function->address < items[first - 1].next)
        items[first - 1].next = function->address;
    if (first == count || items[first].address > last) return;
    end = last == UINT64_MAX ? count : first_from(breakpad, last + 1);
    items[first].covers++;
    if (end < count) items[end].covers--;
}

static gsym_status keep_uncovered(gsym_breakpad *breakpad, gsym_error *error) {
    const breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count;
    int64_t covers = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t next = i + 1 < count ? items[i + 1].address : UINT64_MAX;
        covers += items[i].covers;
        if (covers != 0) {
            creator_count_symbols(breakpad->creator, 1);
            continue;
        }
        if (items[i].next < next) next = items[i].next;
        GSYM_TRY(creator_keep_symbol(breakpad->creator, items[i].address,
                                     next == UINT64_MAX ? 0 : next - items[i].address,
                                     items[i].name, items[i].name_size, SYMBOL_GLOBAL,
                                     error));
    }
    return GSYM_OK;
}

gsym_status gsym_breakpad_add_publics(gsym_breakpad *breakpad, gsym_error *error) {
    const record_list *functions = &breakpad->creator->records;
    size_t count = breakpad->publics.count;
    if (!breakpad->is_finished)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the text has not ended");
    if (count == 0) return GSYM_OK;
    GSYM_TRY(sort_publics(breakpad, error));
    creator_count_symbols(breakpad->creator, count - breakpad->publics.count);
    for (size_t i = 0; i < functions->count; ++i)
        if (functions->items[i].size != 0) mark_function(breakpad, &functions->items[i]);
    GSYM_TRY(keep_uncovered(breakpad, error));
    breakpad->publics.count = 0;
    return GSYM_OK;
}
