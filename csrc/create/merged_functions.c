/* merged_functions.c - fold functions of one range into one record (InfoType 3).
 *
 * Identical functions that the linker put at one address keep all their names in this way:
 * the first in the order of LLVM becomes the parent, the others its children. */
#include <inttypes.h>

#include "base/sort.h"
#include "create/state.h"

static bool is_poorer(const void *left, const void *right, const void *context) {
    const gsym_creator *creator = context;
    const record_key *a = left, *b = right;
    return record_order_is_poorer(creator, &creator->records.items[a->index],
                                  &creator->records.items[b->index]);
}

/* Append the children that a record has already, and return their number. */
static uint32_t put_own_children(buffer *out, const record_parts *parts) {
    cursor c = parts->payload;
    uint32_t count;
    if (!parts->is_found) return 0;
    count = cursor_u32(&c);
    buffer_put(out, c.at, cursor_left(&c));
    return count;
}

/* Append a record as a child, and its own children as its siblings. */
static uint32_t put_child(const gsym_creator *creator, buffer *out,
                          const creator_record *record) {
    record_parts parts = record_order_cut(creator, record, GSYM_INFO_MERGED_FUNCTIONS);
    size_t rest = record->blob_size - parts.after;
    buffer_put_u32(out, (uint32_t)(parts.before + rest));
    buffer_put(out, record->blob, parts.before);
    buffer_put(out, record->blob + parts.after, rest);
    return 1 + put_own_children(out, &parts);
}

/* Encode the first function of a run, with the others of the run merged into it. */
static gsym_status fold(gsym_creator *creator, const record_key *run, size_t count,
                        creator_record *parent_ret, gsym_error *error) {
    const creator_record *records = creator->records.items;
    const creator_record *parent = &records[run[0].index], *last_child = NULL;
    record_parts parts = record_order_cut(creator, parent, GSYM_INFO_MERGED_FUNCTIONS);
    buffer *out = &creator->encoded;
    uint32_t children;
    size_t payload;
    out->size = 0;
    buffer_put(out, parent->blob, parts.before);
    buffer_put_u32(out, GSYM_INFO_MERGED_FUNCTIONS);
    buffer_put_u32(out, 0);
    payload = out->size;
    buffer_put_u32(out, 0);
    children = put_own_children(out, &parts);
    for (size_t i = 1; i < count; ++i) {
        const creator_record *child = &records[run[i].index];
        if (last_child != NULL && record_order_same_bytes(last_child, child)) continue;
        children += put_child(creator, out, child);
        last_child = child;
    }
    buffer_patch_u32(out, payload - 4, (uint32_t)(out->size - payload));
    buffer_patch_u32(out, payload, children);
    buffer_put(out, parent->blob + parts.after, parent->blob_size - parts.after);
    if (out->failed) return gsym_fail_memory(error);
    if (out->size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the functions merged at 0x%" PRIx64 " exceed 4 GiB",
                         parent->address);
    *parent_ret = *parent;
    return creator_store_blob(creator, out, parent_ret, error);
}

/* Encode those records of a run that have no blob, because they are size and name alone. */
static gsym_status encode_all(gsym_creator *creator, const record_key *run, size_t count,
                              gsym_error *error) {
    for (size_t i = 0; i < count; ++i) {
        creator_record *record = &creator->records.items[run[i].index];
        if (record->blob == NULL)
            GSYM_TRY(creator_store_minimum_record(creator, record, error));
    }
    return GSYM_OK;
}

static gsym_status fold_all(gsym_creator *creator, record_key *keys, size_t count,
                            record_list *folded, gsym_error *error) {
    for (size_t from = 0, end; from < count; from = end) {
        creator_record *parent = &folded->items[folded->count++];
        end = record_order_run_end(keys, count, from);
        if (!sort_stable(keys + from, end - from, sizeof *keys, is_poorer, creator))
            return gsym_fail_memory(error);
        *parent = creator->records.items[keys[from].index];
        /* Records of functions that were not asked for have no names and stay as they
         * are. */
        if (end - from == 1 || (parent->flags & RECORD_NOT_ASKED) != 0) continue;
        GSYM_TRY(encode_all(creator, keys + from, end - from, error));
        GSYM_TRY(fold(creator, keys + from, end - from, parent, error));
    }
    return GSYM_OK;
}

gsym_status gsym_creator_merge_functions(gsym_creator *creator, gsym_error *error) {
    record_list *records = &creator->records, folded = {NULL, 0, 0};
    record_key *keys;
    gsym_status status;
    GSYM_TRY(creator_check_open(creator, error));
    for (size_t i = 0; i < records->count; ++i)
        if (records->items[i].flags & RECORD_NAME_PENDING)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "functions can be merged before symbols are added only");
    if (records->count < 2) return GSYM_OK;
    GSYM_TRY(record_order_sort(records, &keys, error));
    if (array_reserve(&folded.items, &folded.capacity, records->count,
                      sizeof *folded.items))
        status = fold_all(creator, keys, records->count, &folded, error);
    else
        status = gsym_fail_memory(error);
    free(keys);
    if (status != GSYM_OK) {
        free(folded.items);
        return status;
    }
    creator->report.functions_merged += records->count - folded.count;
    free(records->items);
    *records = folded;
    return GSYM_OK;
}
