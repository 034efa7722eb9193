/* call_sites.c - add call sites to functions that are given by name.
 *
 * gsym_creator_add_call_sites() finds the functions before pruning. The call sites are
 * written after it, so that they do not count as information for which pruning prefers a
 * function; those of a pruned function go to the record that answers for its addresses. */
#include <inttypes.h>

#include "base/sort.h"
#include "create/state.h"

/* ---- call sites that are given by name --------------------------------------- */

/* A name of a function that has call sites, and the first function with this name. */
typedef struct wanted_name {
    uint64_t name;
    uint64_t address;
    uint64_t size;
    size_t record;
    bool is_found;
} wanted_name;

typedef struct wanted_names {
    wanted_name *items; /* ascending */
    size_t count;
} wanted_names;

static wanted_name *find_name(const wanted_names *names, uint64_t name) {
    wanted_name key = {.name = name};
    return bsearch(&key, names->items, names->count, sizeof key, compare_first_u64);
}

static bool collect_names(wanted_names *names, const gsym_function *functions,
                          size_t count) {
    names->items = calloc(count + 1, sizeof *names->items);
    if (names->items == NULL) return false;
    for (size_t i = 0; i < count; ++i) names->items[i].name = functions[i].name;
    sort_by_u64(names->items, count, sizeof *names->items);
    names->count = 0;
    for (size_t i = 0; i < count; ++i)
        if (i == 0 || names->items[i].name != names->items[i - 1].name)
            names->items[names->count++].name = names->items[i].name;
    return true;
}

static void note_wanted_name(const wanted_names *names, uint64_t name,
                             const creator_record *record, size_t index) {
    wanted_name *wanted = find_name(names, name);
    if (name == 0 || wanted == NULL || wanted->is_found) return;
    *wanted = (wanted_name){name, record->address, record->size, index, true};
}

/* Return the name of a record. A pending name that is not in the string table is 0: it
 * cannot be that of given call sites, which is in the table. */
static uint64_t name_of(const gsym_creator *creator, const creator_record *record) {
    const char *pending = record->pending_name;
    if (!(record->flags & RECORD_NAME_PENDING)) return record->name;
    return string_table_find(&creator->strings, pending, record->blob_size,
                             string_hash(pending, record->blob_size));
}

static bool may_have_children(const creator_record *record) {
    return record->blob != NULL && !(record->flags & RECORD_NAME_PENDING);
}

/* Make *child_ret the record of the next function of those merged into a record. */
static bool next_child(const gsym_creator *creator, cursor *children,
                       creator_record *child_ret) {
    gsym_error ignored;
    cursor head;
    uint64_t size;
    if (cursor_left(children) == 0 ||
        merged_functions_next(children, 0, &head, &ignored) != GSYM_OK)
        return false;
    *child_ret = (creator_record){.blob = head.at,
                                  .blob_size = (uint32_t)cursor_left(&head)};
    return function_info_decode_head(&head, creator->strp_size, &size, &child_ret->name,
                                     &ignored) == GSYM_OK;
}

/* Return a cursor over the records merged into one, after their count. */
static cursor children_of(const gsym_creator *creator, const creator_record *record) {
    record_parts parts = record_order_cut(creator, record, GSYM_INFO_MERGED_FUNCTIONS);
    cursor none = {0};
    if (!parts.is_found) return none;
    (void)cursor_u32(&parts.payload);
    return parts.payload;
}

static void find_wanted_functions(const gsym_creator *creator, const wanted_names *names) {
    for (size_t i = 0; i < creator->records.count; ++i) {
        const creator_record *record = &creator->records.items[i];
        creator_record child;
        cursor children;
        note_wanted_name(names, name_of(creator, record), record, i);
        if (!may_have_children(record)) continue;
        children = children_of(creator, record);
        while (next_child(creator, &children, &child))
            note_wanted_name(names, child.name, record, i);
    }
}

/* Copy an array to memory that lives as long as the creator. */
static gsym_status keep_array(gsym_creator *creator, const void *items, size_t size,
                              void **kept_ret, gsym_error *error) {
    gsym_status status;
    void *kept = malloc(size + 1);
    if (kept == NULL) return gsym_fail_memory(error);
    if (size != 0) memcpy(kept, items, size);
    *kept_ret = kept;
    status = creator_adopt(creator, kept, error);
    if (status != GSYM_OK) free(kept);
    return status;
}

static gsym_status keep_sites(gsym_creator *creator, const wanted_name *wanted,
                              const gsym_function *function, gsym_error *error) {
    named_call_sites_list *list = &creator->call_sites;
    void *sites, *regexes;
    if (function->call_site_count == 0) return GSYM_OK;
    if (function->call_site_count > UINT32_MAX || function->regex_count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "more call sites than a function can have");
    if (!LIST_RESERVE(*list, 1)) return gsym_fail_memory(error);
    GSYM_TRY(keep_array(creator, function->call_sites,
                        function->call_site_count * sizeof *function->call_sites, &sites,
                        error));
    GSYM_TRY(keep_array(creator, function->regexes,
                        function->regex_count * sizeof *function->regexes, &regexes,
                        error));
    list->items[list->count] = (named_call_sites){
        .name = wanted->name,
        .address = wanted->address,
        .size = wanted->size,
        .record = wanted->record,
        .sites = sites,
        .site_count = (uint32_t)function->call_site_count,
        .regexes = regexes,
    };
    list->count++;
    return GSYM_OK;
}

gsym_status gsym_creator_add_call_sites(gsym_creator *creator,
                                        const gsym_function *functions, size_t count,
                                        size_t *missing_ret, gsym_error *error) {
    gsym_status status = GSYM_OK;
    wanted_names names;
    size_t index = 0;
    GSYM_TRY(creator_check_open(creator, error));
    if (!collect_names(&names, functions, count)) return gsym_fail_memory(error);
    find_wanted_functions(creator, &names);
    while (index < count && find_name(&names, functions[index].name)->is_found) index++;
    *missing_ret = index;
    for (size_t i = 0; index == count && i < count && status == GSYM_OK; ++i)
        status = keep_sites(creator, find_name(&names, functions[i].name), &functions[i],
                            error);
    free(names.items);
    return status;
}

/* ---- writing ----------------------------------------------------------------- */

typedef struct site_run {
    named_call_sites *items; /* of one record, ascending by name */
    size_t count;
} site_run;

/* Return the index of the first call sites for functions called `name`. */
static size_t find_run(const site_run *run, uint64_t name) {
    size_t low = 0;
    SEARCH_SORTED(low, run->count, run->items[middle].name < name);
    return low;
}

/* Append a record with the call sites of `run` that are not placed yet: only those for
 * `name`, or all if it is 0. */
static void put_with_sites(const gsym_creator *creator, buffer *out,
                           const creator_record *record, const site_run *run,
                           uint64_t name) {
    record_parts parts = record_order_cut(creator, record, GSYM_INFO_CALL_SITES);
    uint32_t count = parts.is_found ? cursor_u32(&parts.payload) : 0;
    size_t payload;
    buffer_put(out, record->blob, parts.before);
    buffer_put_u32(out, GSYM_INFO_CALL_SITES);
    buffer_put_u32(out, 0);
    payload = out->size;
    buffer_put_u32(out, 0);
    if (parts.is_found) buffer_put(out, parts.payload.at, cursor_left(&parts.payload));
    for (size_t i = name == 0 ? 0 : find_run(run, name); i < run->count; ++i) {
        named_call_sites *named = &run->items[i];
        if (name != 0 && named->name != name) break;
        if (named->is_placed) continue;
        call_sites_put(out, creator->strp_size, named->sites, named->site_count,
                       named->regexes);
        count += named->site_count;
        named->is_placed = true;
    }
    buffer_patch_u32(out, payload - 4, (uint32_t)(out->size - payload));
    buffer_patch_u32(out, payload, count);
    buffer_put(out, record->blob + parts.after, record->blob_size - parts.after);
}

/* Whether call sites of a run go to a function of this name. */
static bool has_sites_for(const site_run *run, uint64_t name) {
    size_t first = find_run(run, name);
    return first < run->count && run->items[first].name == name &&
           !run->items[first].is_placed;
}

/* Append the records merged into one, the first of a name with its call sites. */
static void put_children(const gsym_creator *creator, buffer *out, cursor children,
                         const site_run *run, uint64_t parent_name) {
    creator_record child;
    while (next_child(creator, &children, &child)) {
        size_t start = out->size + 4;
        buffer_put_u32(out, 0);
        if (child.name != parent_name && has_sites_for(run, child.name))
            put_with_sites(creator, out, &child, run, child.name);
        else
            buffer_put(out, child.blob, child.blob_size);
        buffer_patch_u32(out, start - 4, (uint32_t)(out->size - start));
    }
}

/* Append a record in which the functions merged into it have their call sites. */
static void put_with_children(const gsym_creator *creator, buffer *out,
                              const creator_record *record, const site_run *run) {
    record_parts parts = record_order_cut(creator, record, GSYM_INFO_MERGED_FUNCTIONS);
    size_t payload;
    if (!parts.is_found) {
        buffer_put(out, record->blob, record->blob_size);
        return;
    }
    buffer_put(out, record->blob, parts.before);
    buffer_put_u32(out, GSYM_INFO_MERGED_FUNCTIONS);
    buffer_put_u32(out, 0);
    payload = out->size;
    buffer_put_u32(out, cursor_u32(&parts.payload));
    put_children(creator, out, parts.payload, run, record->name);
    buffer_patch_u32(out, payload - 4, (uint32_t)(out->size - payload));
    buffer_put(out, record->blob + parts.after, record->blob_size - parts.after);
}

/* Whether call sites of a run are left for the record itself. */
static bool has_unplaced(const site_run *run) {
    for (size_t i = 0; i < run->count; ++i)
        if (!run->items[i].is_placed) return true;
    return false;
}

static gsym_status insert_sites(gsym_creator *creator, creator_record *record,
                                const site_run *run, gsym_error *error) {
    buffer whole = {.swap = creator->encoded.swap}, *out = &creator->encoded;
    creator_record placed;
    gsym_status status = GSYM_OK;
    if (record->blob == NULL)
        GSYM_TRY(creator_store_minimum_record(creator, record, error));
    put_with_children(creator, &whole, record, run);
    placed = *record;
    placed.blob = whole.bytes;
    placed.blob_size = (uint32_t)whole.size;
    out->size = 0;
    if (!whole.failed && whole.size <= UINT32_MAX && has_unplaced(run))
        put_with_sites(creator, out, &placed, run, 0);
    else
        buffer_put(out, whole.bytes, whole.size);
    if (whole.failed || out->failed)
        status = gsym_fail_memory(error);
    else if (out->size > UINT32_MAX)
        status = gsym_fail(error, GSYM_E_LIMIT, 0,
                           "the call sites of the function at 0x%" PRIx64 " exceed 4 GiB",
                           record->address);
    else
        status = creator_store_blob(creator, out, record, error);
    buffer_deinit(&whole);
    return status;
}

/* Return the index of the record with this range or, without one, of the record that
 * answers for its start. */
static size_t find_record(const record_list *records, uint64_t address, uint64_t size) {
    const creator_record *items = records->items;
    size_t low = 0;
    SEARCH_SORTED(low, records->count,
                  items[middle].address < address ||
                      (items[middle].address == address && items[middle].size < size));
    if (low < records->count && records->items[low].address == address) return low;
    return low == 0 ? 0 : low - 1;
}

/* Find the record of call sites, and make their offsets relative to its start. */
static void find_record_of(const record_list *records, named_call_sites *named) {
    named->record = find_record(records, named->address, named->size);
    for (uint32_t i = 0; i < named->site_count; ++i)
        named->sites[i].return_offset +=
            named->address - records->items[named->record].address;
}

static bool is_record_before(const void *left, const void *right, const void *context) {
    const named_call_sites *a = left, *b = right;
    (void)context;
    return a->record != b->record ? a->record < b->record : a->name < b->name;
}

gsym_status creator_place_call_sites(gsym_creator *creator, gsym_error *error) {
    named_call_sites_list *list = &creator->call_sites;
    record_list *records = &creator->records;
    if (list->count == 0) return GSYM_OK;
    for (size_t i = 0; i < list->count && !creator->options.keep_all; ++i)
        find_record_of(records, &list->items[i]);
    if (!sort_stable(list->items, list->count, sizeof *list->items, is_record_before, NULL))
        return gsym_fail_memory(error);
    for (size_t from = 0, end; from < list->count; from = end) {
        site_run run = {list->items + from, 0};
        end = from;
        while (end < list->count && list->items[end].record == list->items[from].record)
            end++;
        run.count = end - from;
        GSYM_TRY(insert_sites(creator, &records->items[run.items->record], &run, error));
    }
    return GSYM_OK;
}
