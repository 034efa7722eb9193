/* continuations.c - add entries for the rest of a function after one nested in it.
 *
 * A lookup takes the last entry that starts at or below the address, so an inner
 * function hides the rest of its outer one. Each hidden part becomes an entry of its
 * own, up to the next entry, with the name of the outer function and the rows, inlined
 * calls and call sites of its addresses. Existing entries are not changed.
 *
 * If several functions enclose a part, it belongs to the one that starts last; of
 * functions with the same start to the first entry, as in a lookup. */
#include <inttypes.h>

#include "base/sort.h"
#include "create/state.h"

/* Limit: Functions split by nested functions: bytes of the parts */
LIMIT(PART_BYTES, 1 << 20, 32);
/* Limit: Functions split by nested functions: steps through their calls */
LIMIT(PART_STEPS, 1 << 28, 64);

typedef struct continuation {
    uint64_t start;
    uint64_t last; /* address */
    size_t outer;  /* in creator->records */
    creator_record record;
} continuation;

typedef LIST(continuation) continuation_list;

/* ---- finding hidden parts -------------------------------------------------------- */

typedef struct search {
    const record_list *records;
    continuation_list found; /* ascending */
    /* Functions around the current address; those below the top may have ended. */
    LIST(size_t) open;
} search;

static void close_below(search *s, uint64_t address) {
    while (s->open.count > 0 &&
           record_last(&s->records->items[s->open.items[s->open.count - 1]]) < address)
        s->open.count--;
}

/* Assign the addresses from `start` to `last`, which have no entry, to the functions
 * around them. */
static bool fill_gap(search *s, uint64_t start, uint64_t last) {
    for (;;) {
        continuation part = {.start = start, .last = last};
        uint64_t outer_last;
        close_below(s, start);
        if (s->open.count == 0) return true;
        part.outer = s->open.items[s->open.count - 1];
        outer_last = record_last(&s->records->items[part.outer]);
        if (outer_last < last) part.last = outer_last;
        if (!LIST_ADD(s->found, part)) return false;
        if (part.last == last) return true;
        start = part.last + 1;
    }
}

/* Open the functions of one start, and assign the addresses between them and the next
 * start. */
static bool visit_start(search *s, size_t from, size_t end) {
    const creator_record *records = s->records->items;
    uint64_t answered = records[from].address;
    uint64_t last = end < s->records->count ? records[end].address - 1 : UINT64_MAX;
    bool is_endless = false;
    close_below(s, records[from].address);
    if (!LIST_RESERVE(s->open, end - from)) return false;
    for (size_t i = end; i-- > from;) {
        if (records[i].size == 0) {
            is_endless = true; /* without a size, it answers up to the next entry */
            continue;
        }
        if (!(records[i].flags & RECORD_NOT_ASKED)) s->open.items[s->open.count++] = i;
        if (record_last(&records[i]) > answered) answered = record_last(&records[i]);
    }
    return is_endless || answered >= last || fill_gap(s, answered + 1, last);
}

static bool search_all(search *s) {
    const record_list *records = s->records;
    for (size_t from = 0, end; from < records->count; from = end) {
        end = from + 1;
        while (end < records->count &&
               records->items[end].address == records->items[from].address)
            end++;
        if (!visit_start(s, from, end)) return false;
    }
    return true;
}

/* ---- contents of the parts ------------------------------------------------------- */

typedef struct part_maker {
    gsym_creator *creator;
    gsym_record *record; /* the outer function, decoded */
    function_set set;    /* a part of the outer function and of those merged into it */
    uint64_t visits;     /* steps over nodes, call sites and merged functions */
    uint64_t max_visits;
    uint64_t bytes_left; /* bytes of records that may still be made */
} part_maker;

/* Return the number of rows below `address`. */
static size_t rows_below(const gsym_function *function, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, function->row_count, function->rows[middle].address < address);
    return low;
}

bool creator_cut_rows(row_list *rows, const gsym_function *function, uint64_t start,
                      uint64_t last) {
    size_t first = rows_below(function, start);
    size_t end = first;
    bool is_known = first > 0 && (function->rows[first - 1].file != 0 ||
                                  function->rows[first - 1].line != 0);
    while (end < function->row_count && function->rows[end].address <= last) end++;
    if (!LIST_RESERVE(*rows, end - first + 1)) return false;
    if (is_known && (first == end || function->rows[first].address != start)) {
        rows->items[rows->count] = function->rows[first - 1];
        rows->items[rows->count++].address = start;
    }
    for (size_t i = first; i < end; ++i) rows->items[rows->count++] = function->rows[i];
    return true;
}

/* Append the ranges of a node in the part, and the node if it has any. Its parents have
 * these addresses, too, so they are kept with it. */
static bool cut_node(function_parts *parts, const gsym_function *function,
                     const gsym_inline_node *node, size_t first_range,
                     const continuation *part) {
    size_t count = parts->ranges.count;
    gsym_inline_node kept = *node;
    if (!LIST_RESERVE(parts->ranges, node->range_count) ||
        !LIST_RESERVE(parts->nodes, 1))
        return false;
    for (uint32_t i = 0; i < node->range_count; ++i) {
        gsym_range range = function->ranges[node->range_first + i];
        if (range.start < part->start) range.start = part->start;
        if (range.end > part->last) range.end = part->last + 1;
        if (range.start < range.end) parts->ranges.items[parts->ranges.count++] = range;
    }
    kept.range_first = (uint32_t)(count - first_range);
    kept.range_count = (uint32_t)(parts->ranges.count - count);
    if (kept.range_count != 0) parts->nodes.items[parts->nodes.count++] = kept;
    return true;
}

/* Append the nodes in the part, unless only the root is there: it adds nothing to the
 * function. */
static bool cut_nodes(function_parts *parts, const gsym_function *function,
                      const continuation *part) {
    size_t first = parts->nodes.count, first_range = parts->ranges.count;
    for (size_t i = 0; i < function->node_count; ++i)
        if (!cut_node(parts, function, &function->nodes[i], first_range, part))
            return false;
    if (parts->nodes.count == first + 1 && parts->nodes.items[first].call_file == 0) {
        parts->nodes.count = first;
        parts->ranges.count = first_range;
    }
    return true;
}

static bool cut_sites(function_parts *parts, const gsym_function *function,
                      const continuation *part) {
    uint64_t start = part->start - function->address;
    uint64_t last = part->last - function->address;
    if (!LIST_RESERVE(parts->call_sites, function->call_site_count)) return false;
    for (size_t i = 0; i < function->call_site_count; ++i) {
        gsym_call_site site = function->call_sites[i];
        if (site.return_offset < start || site.return_offset > last) continue;
        site.return_offset -= start;
        parts->call_sites.items[parts->call_sites.count++] = site;
    }
    return true;
}

/* Append what a function has in the part; function_set_link() sets the pointers when the
 * set is complete. Information of unknown InfoTypes cannot be cut and stays with the outer
 * function. */
static bool cut_function(part_maker *maker, const gsym_function *function,
                         const continuation *part) {
    function_parts *parts = &maker->set.parts;
    size_t rows = parts->rows.count, nodes = parts->nodes.count;
    size_t ranges = parts->ranges.count, sites = parts->call_sites.count;
    maker->visits += function->node_count + function->call_site_count;
    if (!creator_cut_rows(&parts->rows, function, part->start, part->last) ||
        !cut_nodes(parts, function, part) ||
        !cut_sites(parts, function, part) || !LIST_RESERVE(maker->set.functions, 1))
        return false;
    maker->set.functions.items[maker->set.functions.count++] = (gsym_function){
        .address = part->start,
        .size = part->last - part->start + 1,
        .name = function->name,
        .row_count = parts->rows.count - rows,
        .node_count = parts->nodes.count - nodes,
        .range_count = parts->ranges.count - ranges,
        .call_site_count = parts->call_sites.count - sites,
        .regexes = function->regexes,
        .regex_count = function->regex_count,
    };
    return true;
}

/* Cut the outer function and those merged into it, which may be shorter than the part. */
static bool cut_all(part_maker *maker, const gsym_function *outer,
                    const continuation *part) {
    function_set_clear(&maker->set);
    maker->visits += outer->merged_count;
    if (!cut_function(maker, outer, part)) return false;
    for (size_t i = 0; i < outer->merged_count; ++i) {
        const gsym_function *merged = &outer->merged[i];
        if (merged->size <= part->last - outer->address) continue;
        if (!cut_function(maker, merged, part)) return false;
    }
    function_set_link(&maker->set);
    return true;
}

static gsym_status fail_limit(const creator_record *outer, gsym_error *error) {
    return gsym_fail(error, GSYM_E_LIMIT, 0,
                     "too many functions are nested in the one at 0x%" PRIx64,
                     outer->address);
}

static gsym_status make_part(part_maker *maker, const creator_record *outer_record,
                             const gsym_function *outer, continuation *part,
                             gsym_error *error) {
    gsym_creator *creator = maker->creator;
    const buffer *out = &creator->encoded;
    creator_record *record = &part->record;
    const gsym_function *made;
    if (!cut_all(maker, outer, part)) return gsym_fail_memory(error);
    if (maker->visits > maker->max_visits) return fail_limit(outer_record, error);
    made = maker->set.functions.items;
    if (made->row_count + made->node_count + made->call_site_count +
            made->merged_count == 0)
        return GSYM_OK; /* its record has only a size and a name */
    GSYM_TRY(creator_encode(creator, made, record, error));
    if (out->size > maker->bytes_left) return fail_limit(outer_record, error);
    maker->bytes_left -= out->size;
    return creator_store_blob(creator, out, record, error);
}

/* Make the records of all parts of one outer function. */
static gsym_status make_parts(part_maker *maker, continuation *parts, size_t count,
                              gsym_error *error) {
    const creator_record *outer = &maker->creator->records.items[parts->outer];
    unsigned strp_size = maker->creator->strp_size;
    const gsym_function *decoded;
    gsym_function named;
    for (size_t i = 0; i < count; ++i)
        parts[i].record = (creator_record){.address = parts[i].start,
                                           .size = parts[i].last - parts[i].start + 1,
                                           .name = outer->name,
                                           .flags = outer->flags};
    if (outer->blob == NULL) return GSYM_OK;
    GSYM_TRY(record_decode(maker->record,
                           cursor_at(outer->blob, outer->blob_size, 0,
                                     creator_big_endian(maker->creator)),
                           strp_size, outer->address, &decoded, error));
    named = *decoded;
    named.name = outer->name; /* which may differ from the name in the blob */
    for (size_t i = 0; i < count; ++i)
        GSYM_TRY(make_part(maker, outer, &named, &parts[i], error));
    return GSYM_OK;
}

static gsym_status make_all(part_maker *maker, continuation_list *list,
                            gsym_error *error) {
    for (size_t from = 0, end; from < list->count; from = end) {
        end = from + 1;
        while (end < list->count && list->items[end].outer == list->items[from].outer)
            end++;
        GSYM_TRY(make_parts(maker, list->items + from, end - from, error));
    }
    return GSYM_OK;
}

/* ---- insertion into the records ---------------------------------------------------- */

static int compare_outer(const void *left, const void *right) {
    const continuation *a = left, *b = right;
    if (a->outer != b->outer) return a->outer < b->outer ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static gsym_status make_records(gsym_creator *creator, continuation_list *list,
                                gsym_error *error) {
    part_maker maker = {.creator = creator};
    gsym_status status = gsym_record_create(&maker.record, error);
    uint64_t size = 0;
    for (size_t i = 0; i < creator->records.count; ++i)
        size += creator->records.items[i].blob_size;
    maker.max_visits = LIMIT_OF(PART_STEPS, size);
    maker.bytes_left = LIMIT_OF(PART_BYTES, size);
    qsort(list->items, list->count, sizeof *list->items, compare_outer);
    if (status == GSYM_OK) status = make_all(&maker, list, error);
    sort_by_u64(list->items, list->count, sizeof *list->items);
    gsym_record_destroy(maker.record);
    function_set_deinit(&maker.set);
    return status;
}

/* Merge the parts into the records. Both lists ascend, and no part has the start of a
 * record. */
static gsym_status insert(gsym_creator *creator, const continuation_list *list,
                          gsym_error *error) {
    record_list *records = &creator->records;
    size_t from = records->count, to = records->count + list->count;
    if (to > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "more functions than a GSYM file can contain");
    if (!LIST_RESERVE(*records, list->count)) return gsym_fail_memory(error);
    records->count = to;
    for (size_t i = list->count; i-- > 0;) {
        const creator_record *part = &list->items[i].record;
        while (from > 0 && records->items[from - 1].address > part->address)
            records->items[--to] = records->items[--from];
        records->items[--to] = *part;
        creator->report.functions_with_lines += part->row_count != 0;
        creator->report.functions_with_inlines += part->node_count != 0;
    }
    creator->report.functions_continued = list->count;
    return GSYM_OK;
}

gsym_status creator_continue(gsym_creator *creator, gsym_error *error) {
    search s = {.records = &creator->records};
    gsym_status status = GSYM_OK;
    if (creator->report.overlapping == 0 || creator->is_segment) return GSYM_OK;
    if (!search_all(&s)) status = gsym_fail_memory(error);
    if (status == GSYM_OK && s.found.count > 0) {
        status = make_records(creator, &s.found, error);
        if (status == GSYM_OK) status = insert(creator, &s.found, error);
    }
    free(s.found.items);
    free(s.open.items);
    return status;
}
