/* prune.c - leave one function for each range: choose between duplicates, and drop symbols
 * that only repeat a better source.
 *
 * Functions are visited in order of address, all of one start at a time:
 *   - of one range, the record with the most information stays, under the name of a symbol
 *     if DWARF has no linkage name for it (symbol_names.c);
 *   - an empty range is dropped if another range has its start;
 *   - a symbol inside a function of the debug information is dropped: it would
 *     hide the tail of that function from lookups (LLVM keeps it);
 *   - a label is dropped if a function covers its address.
 * Other ranges that overlap are all kept and counted.
 *
 * A bare record has only a range and a name, a rich one has more. */
#include "base/sort.h"
#include "base/system.h"
#include "create/state.h"

/* Limit: Functions and symbols of one start, of which one names the other */
LIMIT(NAME_STEPS, 1 << 26, 256);

enum { AHEAD = 8 /* records to prefetch, as they are visited in another order */ };

/* The pruning of adjacent starts. No function that starts below them reaches them. */
typedef struct pruning {
    const gsym_creator *creator;
    const creator_record *records;
    const record_key *keys;
    size_t count;
    record_list kept; /* in memory that is reserved for all records */
    record_list lines; /* for creator->lines */
    uint64_t different, cut_functions; /* more of these, for the creator */
    bool failed; /* memory ran out */
    /* Highest addresses of the functions that start below the present start: of those of
     * the debug information, and of any. */
    uint64_t debug_info_last;
    uint64_t any_last;
    uint64_t name_steps; /* steps left for the search of symbols that name functions */
} pruning;

/* Return the better one of two symbols of one range to name it. */
static const creator_record *better_symbol(const creator_record *symbol,
                                           const creator_record *later) {
    return symbol == NULL || creator_record_binding(later) <= creator_record_binding(symbol)
               ? later
               : symbol;
}

/* Whether `record` is better than `kept`, an earlier record of the same range. The linker
 * keeps the first of several copies of a function, for example of a template, and lets the
 * descriptions of all copies refer to it, although their code may differ. */
static bool is_better(const gsym_creator *creator, const creator_record *record,
                      const creator_record *kept) {
    record_parts a, b;
    if ((record->flags & kept->flags & RECORD_COPY) == 0 || record->name != kept->name ||
        kept->row_count == 0)
        return !record_order_is_poorer(creator, record, kept);
    if (record->row_count != kept->row_count || record->node_count <= kept->node_count)
        return false;
    a = record_order_cut(creator, record, GSYM_INFO_LINE_TABLE);
    b = record_order_cut(creator, kept, GSYM_INFO_LINE_TABLE);
    return a.is_found && b.is_found &&
           line_table_compare_addresses(&a.payload, &b.payload) == 0;
}

static bool is_nameless(const creator_record *record) {
    return (record->flags & RECORD_NAMELESS) != 0;
}

/* Choose the record to keep of those of one range; false if all are labels or nameless. */
static bool choose(pruning *p, const record_key *run, size_t count,
                   creator_record *winner_ret) {
    const creator_record *rich = NULL, *plain = NULL, *nameless = NULL, *symbol = NULL;
    bool is_debug_info = false;
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &p->records[run[i].index];
        if (is_nameless(record)) {
            if (nameless == NULL || !record_order_is_poorer(p->creator, record, nameless))
                nameless = record;
            continue;
        }
        is_debug_info |= !record_is_symbol(record);
        if (!record_is_rich(p->creator, record)) {
            if (record_is_symbol(record))
                symbol = better_symbol(symbol, record);
            else
                plain = record;
        } else if (rich == NULL) {
            rich = record;
        } else if (!record_order_same_bytes(rich, record)) {
            ++p->different;
            if (is_better(p->creator, record, rich)) rich = record;
        }
    }
    if (plain == NULL) plain = symbol;
    if (rich == NULL && nameless != NULL && plain != NULL) {
        *winner_ret = *nameless;
        winner_ret->flags &= ~(uint32_t)RECORD_NAMELESS;
        winner_ret->flags |= RECORD_NAME_TAKEN;
        winner_ret->name = (uint64_t)(plain - p->records);
        return true;
    }
    if (rich == NULL) rich = plain;
    if (rich == NULL || record_is_label(rich)) {
        /* the lines of a nameless function may be given to symbols of other ranges */
        if (nameless != NULL && nameless->size > 0)
            p->failed |= !LIST_ADD(p->lines, *nameless);
        return false;
    }
    *winner_ret = *rich;
    if (is_debug_info) winner_ret->flags &= ~(uint32_t)GSYM_ORIGIN_SYMBOL_TABLE;
    return true;
}

/* Whether a function that starts below `address` and ends at `last` contains it. */
static bool is_covered(uint64_t address, uint64_t last) {
    return address != 0 && address <= last;
}

static void keep(pruning *p, const creator_record *record) {
    p->kept.items[p->kept.count++] = *record;
}

static void extend_cover(pruning *p, size_t first) {
    for (size_t i = first; i < p->kept.count; ++i) {
        const creator_record *record = &p->kept.items[i];
        uint64_t last = record_last(record);
        if (record->size == 0) continue;
        if (last > p->any_last) p->any_last = last;
        if (!record_is_symbol(record) && last > p->debug_info_last)
            p->debug_info_last = last;
    }
}

/* Drop the kept symbols from index `first` on: a longer function of the debug information
 * starts there, too, and lookups would return a symbol for its first bytes. */
static void drop_symbols_from(pruning *p, size_t first) {
    size_t count = first;
    for (size_t i = first; i < p->kept.count; ++i)
        if (!record_is_symbol(&p->kept.items[i]) ||
            record_is_rich(p->creator, &p->kept.items[i]))
            p->kept.items[count++] = p->kept.items[i];
    p->kept.count = count;
}

/* Keep the best one of the longest labels of one start. */
static void keep_label(pruning *p, const record_key *keys, size_t count) {
    const creator_record *label = NULL;
    uint32_t size = 0;
    for (size_t i = count; i-- > 0;) {
        const creator_record *record = &p->records[keys[i].index];
        if (is_nameless(record)) continue;
        if (label != NULL && keys[i].size != size) break;
        size = keys[i].size;
        label = label == NULL ? record : better_symbol(record, label);
    }
    if (label != NULL) keep(p, label);
}

/* Prune the records of one start address, whose keys ascend by size. */
static void prune_start(pruning *p, const record_key *keys, size_t count) {
    size_t first = p->kept.count;
    size_t settled = first; /* index of the first kept record that may still be dropped */
    bool has_function = false;
    for (size_t from = 0, end; from < count; from = end) {
        creator_record winner;
        end = record_order_run_end(keys, count, from);
        if (!choose(p, keys + from, end - from, &winner)) continue;
        has_function = true;
        if ((winner.flags & RECORD_NAMED_BY_SYMBOL) != 0) {
            if (count <= p->name_steps) {
                p->name_steps -= count;
                creator_take_symbol_name(p->creator, keys, count, &winner);
            } else {
                ++p->cut_functions;
            }
        }
        if (record_is_symbol(&winner) && !record_is_rich(p->creator, &winner) &&
            is_covered(winner.address, p->debug_info_last) &&
            record_last(&winner) <= p->debug_info_last)
            continue;
        if (p->kept.count > first && p->kept.items[first].size == 0)
            p->kept.count = settled = first;
        if (!record_is_symbol(&winner)) {
            drop_symbols_from(p, settled);
            settled = p->kept.count;
        }
        keep(p, &winner);
    }
    if (!has_function && !is_covered(keys[0].address, p->any_last))
        keep_label(p, keys, count);
    extend_cover(p, first);
}

static void *prune_part(void *context) {
    pruning *p = context;
    const record_key *keys = p->keys;
    p->name_steps = LIMIT_OF(NAME_STEPS, p->count);
    for (size_t from = 0, end; from < p->count; from = end) {
        for (end = from; end < p->count && keys[end].address == keys[from].address; ++end)
            if (end + AHEAD < p->count)
                __builtin_prefetch(&p->records[keys[end + AHEAD].index]);
        prune_start(p, keys + from, end - from);
    }
    return NULL;
}

/* Return the first key of the second half that starts above all records before it; `count`
 * if there is none. */
static size_t find_cut(const record_key *keys, size_t count) {
    uint64_t last = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t own = keys[i].address + (keys[i].size == 0 ? 0 : keys[i].size - 1);
        if (i >= count / 2 && keys[i].address > last) return i;
        if (own > last) last = own;
    }
    return count;
}

/* Add what the pruning of a part found; false if memory ran out. */
static bool end_part(gsym_creator *creator, pruning *p) {
    record_list *lines = &creator->lines;
    bool has_room = !p->failed && LIST_RESERVE(*lines, p->lines.count);
    for (size_t i = 0; has_room && i < p->lines.count; ++i)
        lines->items[lines->count++] = p->lines.items[i];
    free(p->lines.items);
    creator->report.duplicates_different += p->different;
    creator->cut_functions += p->cut_functions;
    return has_room;
}

/* Prune in two parts, the second of which another thread may do. `kept` has room for all
 * records, and gets those that stay. */
static gsym_status prune_all(gsym_creator *creator, const record_key *keys,
                             record_list *kept, gsym_error *error) {
    size_t count = creator->records.count, cut = find_cut(keys, count);
    pruning first = {.creator = creator,
                     .records = creator->records.items,
                     .keys = keys,
                     .count = cut,
                     .kept = {.items = kept->items}};
    pruning second = first;
    side_work work = {.run = prune_part, .context = &second};
    bool has_room;
    second.keys += cut;
    second.count = count - cut;
    second.kept.items += cut;
    side_work_begin(&work, creator_uses_thread(creator));
    prune_part(&first);
    side_work_end(&work);
    memmove(kept->items + first.kept.count, second.kept.items,
            second.kept.count * sizeof *kept->items);
    kept->count = first.kept.count + second.kept.count;
    has_room = end_part(creator, &first);
    has_room &= end_part(creator, &second);
    return has_room ? GSYM_OK : gsym_fail_memory(error);
}

/* Give their names to the records that take them from others. */
static gsym_status name_takers(gsym_creator *creator, record_list *kept,
                               gsym_error *error) {
    for (size_t i = 0; i < kept->count; ++i) {
        creator_record *record = &kept->items[i];
        if ((record->flags & RECORD_NAME_TAKEN) == 0) continue;
        record->flags &= ~(uint32_t)RECORD_NAME_TAKEN;
        GSYM_TRY(creator_intern_name(creator, &creator->records.items[record->name],
                                     &record->name, error));
    }
    return GSYM_OK;
}

/* Give a function without a size, which answers up to the next one, a size if it would
 * extend beyond its text range or an address of symbol_ends. */
static void bound(const gsym_creator *creator, creator_record *record, uint64_t next) {
    const range_list *ranges = &creator->text_ranges;
    const address_list *ends = &creator->symbol_ends;
    uint64_t address = record->address, end = UINT64_MAX;
    size_t low = 0;
    SEARCH_SORTED(low, ranges->count, ranges->items[middle].start <= address);
    if (low > 0 && address < ranges->items[low - 1].end) end = ranges->items[low - 1].end;
    low = 0;
    SEARCH_SORTED(low, ends->count, ends->items[middle] <= address);
    if (low < ends->count && ends->items[low] < end) end = ends->items[low];
    if (end < next && end - address <= UINT32_MAX) record->size = end - address;
}

static void bound_all(gsym_creator *creator) {
    record_list *records = &creator->records;
    sort_by_u64(creator->text_ranges.items, creator->text_ranges.count,
                sizeof *creator->text_ranges.items);
    sort_by_u64(creator->symbol_ends.items, creator->symbol_ends.count,
                sizeof *creator->symbol_ends.items);
    for (size_t i = creator->bounds_symbols ? 0 : records->count - 1; i < records->count;
         ++i) {
        size_t next = i + 1;
        if (records->items[i].size != 0) continue;
        while (next < records->count &&
               records->items[next].address == records->items[i].address)
            ++next;
        bound(creator, &records->items[i],
              next < records->count ? records->items[next].address : UINT64_MAX);
    }
}

static gsym_status settle(gsym_creator *creator, gsym_error *error) {
    gsym_creator_report *report = &creator->report;
    creator_record *records = creator->records.items;
    for (size_t i = 0; i < creator->records.count; ++i) {
        creator_record *record = &records[i];
        if (record->flags & RECORD_NAME_PENDING) {
            GSYM_TRY(creator_intern_name(creator, record, &record->name, error));
            record->flags &= ~(uint32_t)RECORD_NAME_PENDING;
            record->blob = NULL;
            record->blob_size = 0;
        }
        report->functions_with_lines += record->row_count != 0;
        report->functions_with_inlines += record->node_count != 0;
        report->overlapping +=
            i != 0 && record->address - record[-1].address < record[-1].size;
    }
    bound_all(creator);
    return GSYM_OK;
}

/* Check that the functions are in ascending order. They are not sorted if all of them are
 * kept. */
static gsym_status check_order(const record_list *records, gsym_error *error) {
    for (size_t i = 1; i < records->count; ++i)
        if (records->items[i].address < records->items[i - 1].address)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "functions do not ascend");
    return GSYM_OK;
}

gsym_status creator_prune(gsym_creator *creator, gsym_error *error) {
    record_list *records = &creator->records;
    record_list kept = {0};
    record_key *keys;
    gsym_status status;
    if (creator->options.keep_all) {
        GSYM_TRY(check_order(records, error));
        return settle(creator, error);
    }
    GSYM_TRY(record_order_sort(records, &keys, error));
    status = LIST_RESERVE(kept, records->count) ? GSYM_OK : gsym_fail_memory(error);
    if (status == GSYM_OK) {
        pages_enlarge(kept.items, records->count * sizeof *kept.items);
        status = prune_all(creator, keys, &kept, error);
    }
    free(keys);
    if (status == GSYM_OK) status = name_takers(creator, &kept, error);
    if (status != GSYM_OK) {
        free(kept.items);
        return status;
    }
    free(records->items);
    *records = kept;
    creator_keep_asked(creator);
    return records->count == 0 ? GSYM_OK : settle(creator, error);
}
