/* recorded_calls.c - the call sites that a file holds, as calls. */
#include "calls.h"
#include "function_info.h"
#include "image.h"

typedef struct call_recall {
    const gsym_image *image;
    gsym_record *record;
    gsym_calls *calls;
    uint64_t visited; /* bytes of records */
} call_recall;

static int compare_addresses(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Whether each address is above the one before, as compilers list them. */
static bool ascend(const uint64_t *items, size_t count) {
    for (size_t i = 1; i < count; ++i)
        if (items[i] <= items[i - 1]) return false;
    return true;
}

/* Sort the calls from `first` on and drop those that return to the same address. */
static void tidy(gsym_calls *calls, size_t first) {
    uint64_t *items = calls->addresses.items;
    size_t kept = first;
    if (calls->addresses.count == first ||
        ascend(items + first, calls->addresses.count - first))
        return;
    qsort(items + first, calls->addresses.count - first, sizeof *items, compare_addresses);
    for (size_t i = first; i < calls->addresses.count; ++i)
        if (i == first || items[i] != items[kept - 1]) items[kept++] = items[i];
    calls->addresses.count = calls->sizes.count = calls->lines.count = kept;
}

static bool add_sites(gsym_calls *calls, const gsym_function *function) {
    size_t first = calls->addresses.count;
    for (size_t i = 0; i < function->call_site_count; ++i) {
        uint64_t offset = function->call_sites[i].return_offset;
        if (offset == 0 || offset > function->size) continue;
        if (!calls_add(calls, function->address + offset - 1, 1, true)) return false;
    }
    tidy(calls, first);
    return true;
}

static gsym_status recall_entry(call_recall *recall, uint32_t index, gsym_error *error) {
    const gsym_function *function;
    gsym_status status =
        gsym_record_decode(recall->record, recall->image, index, &function, error);
    if (status == GSYM_E_NO_MEMORY) return status;
    if (status != GSYM_OK) {
        recall->calls->counts.damaged++;
        return GSYM_OK;
    }
    recall->visited += record_size(recall->record);
    if (recall->visited > recall->image->size)
        return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(recall->image, index),
                         "records lie over each other");
    return add_sites(recall->calls, function) ? GSYM_OK : gsym_fail_memory(error);
}

static gsym_status recall_all(call_recall *recall, gsym_error *error) {
    for (uint32_t index = 0; index < recall->image->header.num_addresses; ++index)
        GSYM_TRY(recall_entry(recall, index, error));
    return GSYM_OK;
}

gsym_status gsym_calls_recall(const gsym_image *image, gsym_calls **calls_ret,
                              gsym_error *error) {
    call_recall recall = {.image = image};
    gsym_status status;
    GSYM_TRY(gsym_record_create(&recall.record, error));
    recall.calls = calloc(1, sizeof *recall.calls);
    status = recall.calls == NULL ? gsym_fail_memory(error) : recall_all(&recall, error);
    gsym_record_destroy(recall.record);
    if (status != GSYM_OK) {
        gsym_calls_destroy(recall.calls);
        return status;
    }
    *calls_ret = recall.calls;
    return GSYM_OK;
}
