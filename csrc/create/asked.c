/* asked.c - leave out the records that affect no requested address.
 *
 * An address is affected by the records that contain it, those with the greatest start at or
 * below it, since an entry without a size ends at the next one, and those with the least
 * start after it. */
#include "create/state.h"

gsym_status gsym_creator_ask(gsym_creator *creator, const uint64_t *addresses, size_t count,
                             gsym_error *error) {
    GSYM_TRY(creator_check_open(creator, error));
    for (size_t i = 1; i < count; ++i)
        if (addresses[i] < addresses[i - 1])
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "addresses do not ascend");
    creator->asked.count = 0;
    if (!ARRAY_RESERVE(creator->asked, count + 1)) return gsym_fail_memory(error);
    if (count > 0) memcpy(creator->asked.items, addresses, count * sizeof *addresses);
    creator->asked.count = count;
    return GSYM_OK;
}

/* The first address at or after `start`. */
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

/* The starts around each address: at or below it, and above it. */
typedef struct neighbours {
    const address_list *asked;
    uint64_t *below;
    uint64_t *above;
} neighbours;

static void find_neighbours(const neighbours *around, const record_list *records) {
    size_t count = around->asked->count;
    for (size_t i = 0; i < count; ++i) {
        around->below[i] = 0;
        around->above[i] = UINT64_MAX;
    }
    for (size_t i = 0; i < records->count; ++i) {
        uint64_t start = records->items[i].address;
        size_t at = first_at(around->asked, start);
        if (at < count && start > around->below[at]) around->below[at] = start;
        if (at > 0 && start < around->above[at - 1]) around->above[at - 1] = start;
    }
    for (size_t i = 1; i < count; ++i) {
        size_t from_end = count - 1 - i;
        if (around->below[i] < around->below[i - 1]) around->below[i] = around->below[i - 1];
        if (around->above[from_end] > around->above[from_end + 1])
            around->above[from_end] = around->above[from_end + 1];
    }
}

static bool affects(const neighbours *around, const creator_record *record) {
    uint64_t start = record->address;
    size_t at = first_at(around->asked, start);
    if (at > 0 && around->above[at - 1] == start) return true;
    return at < around->asked->count && (around->below[at] == start ||
                                         around->asked->items[at] - start < record->size);
}

gsym_status creator_keep_asked(gsym_creator *creator, gsym_error *error) {
    record_list *records = &creator->records;
    size_t count = creator->asked.count, kept = 0;
    neighbours around = {.asked = &creator->asked};
    if (count == 0) return GSYM_OK;
    around.below = calloc(2 * count, sizeof *around.below);
    if (around.below == NULL) return gsym_fail_memory(error);
    around.above = around.below + count;
    find_neighbours(&around, records);
    for (size_t i = 0; i < records->count; ++i)
        if (affects(&around, &records->items[i])) records->items[kept++] = records->items[i];
    records->count = kept;
    free(around.below);
    return GSYM_OK;
}
