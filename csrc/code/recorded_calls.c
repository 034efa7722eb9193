/* recorded_calls.c - list the calls that a GSYM file has as call sites. */
#include "base/sort.h"
#include "code/calls.h"
#include "gsym/function_info.h"
#include "gsym/image.h"

/* State of listing the call sites of a file as calls. */
typedef struct call_recall {
    const gsym_image *image;
    gsym_calls *calls;
    call_site_list sites; /* of one function */
    regex_list regexes;   /* scratch */
    uint64_t visited;     /* bytes of the records that were visited */
} call_recall;

/* Whether addresses ascend without repeats, as compilers write them. */
static bool ascend(const uint64_t *items, size_t count) {
    for (size_t i = 1; i < count; ++i)
        if (items[i] <= items[i - 1]) return false;
    return true;
}

/* Sort the calls and drop repeats: functions that overlap may have the same call sites. */
static gsym_status tidy(gsym_calls *calls, gsym_error *error) {
    uint64_t *items = calls->addresses.items;
    size_t count = calls->addresses.count, kept = 0;
    numbered_address *room;
    const numbered_address *sorted;
    if (ascend(items, count)) return GSYM_OK;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more than 2^32 - 1 call sites");
    room = calloc(count, 2 * sizeof *room);
    if (room == NULL) return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i) room[i] = (numbered_address){items[i], 0};
    sorted = address_order(room, (uint32_t)count);
    for (size_t i = 0; i < count; ++i)
        if (kept == 0 || sorted[i].address != items[kept - 1])
            items[kept++] = sorted[i].address;
    calls->addresses.count = calls->sizes.count = calls->lines.count = kept;
    free(room);
    return GSYM_OK;
}

static gsym_status add_sites(call_recall *recall, uint64_t start, uint64_t size,
                             gsym_error *error) {
    for (size_t i = 0; i < recall->sites.count; ++i) {
        uint64_t offset = recall->sites.items[i].return_offset;
        if (offset == 0 || offset > size) continue;
        if (!calls_add(recall->calls, start + offset - 1, 1, true))
            return gsym_fail_memory(error);
    }
    return GSYM_OK;
}

/* Read the call sites of a record; of several lists, the last one is used. */
static gsym_status read_sites(call_recall *recall, cursor *record, uint64_t *size_ret,
                              gsym_error *error) {
    unsigned strp_size = recall->image->strp_size;
    uint64_t name;
    record_info info;
    recall->sites.count = 0;
    GSYM_TRY(function_info_decode_head(record, strp_size, size_ret, &name, error));
    do {
        GSYM_TRY(function_info_next(record, &info, error));
        if (info.type != GSYM_INFO_CALL_SITES) continue;
        recall->sites.count = recall->regexes.count = 0;
        GSYM_TRY(call_sites_decode(&info.payload, strp_size, &recall->sites,
                                   &recall->regexes, error));
    } while (info.type != GSYM_INFO_END_OF_LIST);
    return GSYM_OK;
}

static gsym_status recall_entry(call_recall *recall, uint32_t index, gsym_error *error) {
    const gsym_image *image = recall->image;
    cursor record;
    uint64_t size, start;
    gsym_status status = image_record(image, index, &record, error);
    if (status == GSYM_OK) {
        start = cursor_offset(&record);
        status = read_sites(recall, &record, &size, error);
        recall->visited += cursor_offset(&record) - start;
    }
    if (status == GSYM_E_NO_MEMORY) return status;
    if (recall->visited > image->size)
        return gsym_fail(error, GSYM_E_FORMAT, image_record_offset(image, index),
                         "records overlap");
    if (status != GSYM_OK) {
        recall->calls->counts.damaged++;
        return GSYM_OK;
    }
    return add_sites(recall,
                     image->header.base_address + image_addr_offset(image, index), size,
                     error);
}

static gsym_status recall_all(call_recall *recall, gsym_error *error) {
    for (uint32_t index = 0; index < recall->image->header.num_addresses; ++index)
        GSYM_TRY(recall_entry(recall, index, error));
    return tidy(recall->calls, error);
}

gsym_status gsym_calls_recall(const gsym_image *image, gsym_calls **calls_ret,
                              gsym_error *error) {
    call_recall recall = {.image = image};
    gsym_status status;
    recall.calls = calloc(1, sizeof *recall.calls);
    status = recall.calls == NULL ? gsym_fail_memory(error) : recall_all(&recall, error);
    free(recall.sites.items);
    free(recall.regexes.items);
    if (status != GSYM_OK) {
        gsym_calls_destroy(recall.calls);
        return status;
    }
    *calls_ret = recall.calls;
    return GSYM_OK;
}
