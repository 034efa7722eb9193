/* merge.c - one function for each range: sort, choose between duplicates, drop
 * symbols that only repeat what a better source says.
 *
 * In order of address, all functions of one start at a time:
 *   - of one range the record that says most stays; a name that only the symbol
 *     table has mangled moves to it, or any name where it has none itself;
 *   - an empty range yields to any other range with its start;
 *   - a symbol inside a function of the debug information is dropped: it would
 *     hide the tail of that function from lookups (LLVM keeps it);
 *   - a weak symbol yields to every function that covers its address.
 * Other ranges that overlap are all kept and counted. */
#include <stdio.h>

#include "create/creator_state.h"

enum {
    AHEAD = 8, /* records to fetch in advance: they lie in no order */
    /* Longer names are not searched: all names of a range may be made to agree up to
     * their last bytes. Those of templates, the long ones, match no mangled name. */
    SPELLED_SIZE_LIMIT = 256,
    MANGLED_SIZE_LIMIT = 8192
};

typedef struct pruning {
    gsym_creator *creator;
    const creator_record *records;
    record_list kept;
    /* Highest address of the functions that start below the present start. */
    uint64_t debug_info_last;
    uint64_t any_last;
} pruning;

static bool is_weak(const creator_record *record) {
    return (record->origin & RECORD_WEAK) != 0;
}

static bool is_rich(const gsym_creator *creator, const creator_record *record) {
    return !(record->origin & RECORD_NAME_PENDING) &&
           record->blob_size > creator_bare_size(creator);
}

/* ---- names ------------------------------------------------------------------ */

typedef struct text {
    const char *bytes;
    size_t size;
} text;

static text record_name(const gsym_creator *creator, const creator_record *record) {
    const char *bytes;
    if (record->origin & RECORD_NAME_PENDING)
        return (text){(const char *)record->blob, record->blob_size};
    bytes = string_table_at(&creator->strings, record->name);
    return (text){bytes, strlen(bytes)};
}

static bool is_mangled(text name) {
    return name.size > 2 &&
           (memcmp(name.bytes, "_Z", 2) == 0 || memcmp(name.bytes, "$s", 2) == 0 ||
            memcmp(name.bytes, "$S", 2) == 0);
}

/* Whether a mangled name spells this identifier, as in `_ZN1a3fooEv` and `foo`. */
static bool spells(text mangled, text name) {
    char digits[24];
    int digit_count = snprintf(digits, sizeof digits, "%zu", name.size);
    size_t prefix = (size_t)digit_count;
    if (name.size > SPELLED_SIZE_LIMIT || mangled.size > MANGLED_SIZE_LIMIT) return false;
    for (size_t at = 0; at + prefix + name.size <= mangled.size; ++at)
        if (memcmp(mangled.bytes + at, digits, prefix) == 0 &&
            memcmp(mangled.bytes + at + prefix, name.bytes, name.size) == 0)
            return true;
    return false;
}

static gsym_status intern_pending(gsym_creator *creator, const creator_record *record,
                                  uint64_t *strp_ret, gsym_error *error) {
    text name = record_name(creator, record);
    if (!(record->origin & RECORD_NAME_PENDING)) {
        *strp_ret = record->name;
        return GSYM_OK;
    }
    return creator_intern(creator, name.bytes, name.size,
                          string_hash(name.bytes, name.size), strp_ret, error);
}

/* Give `winner` the mangled name that a bare record of its range has for it. */
static gsym_status take_mangled_name(const pruning *p, const record_key *run, size_t count,
                                     creator_record *winner, gsym_error *error) {
    text name = record_name(p->creator, winner);
    if (is_mangled(name)) return GSYM_OK;
    for (size_t i = count; i-- > 0;) {
        const creator_record *other = &p->records[run[i].index];
        text other_name;
        if (is_weak(other) || is_rich(p->creator, other)) continue;
        other_name = record_name(p->creator, other);
        if (is_mangled(other_name) && spells(other_name, name))
            return intern_pending(p->creator, other, &winner->name, error);
    }
    return GSYM_OK;
}

static bool is_nameless(const creator_record *record) {
    return (record->origin & CREATOR_NAMELESS) != 0;
}

/* ---- one range -------------------------------------------------------------- */

/* `nameless` under the name of another record of its range. */
static gsym_status name_nameless(const pruning *p, const creator_record *nameless,
                                 const creator_record *other, creator_record *winner_ret,
                                 gsym_error *error) {
    *winner_ret = *nameless;
    winner_ret->origin &= ~(uint32_t)CREATOR_NAMELESS;
    return intern_pending(p->creator, other, &winner_ret->name, error);
}

/* The record to keep of a run of equal ranges; none where all are weak or nameless. */
static gsym_status choose(const pruning *p, const record_key *run, size_t count,
                          creator_record *winner_ret, bool *is_found_ret,
                          gsym_error *error) {
    const creator_record *rich = NULL, *bare = NULL, *nameless = NULL, *weak = NULL;
    bool is_debug_info = false;
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &p->records[run[i].index];
        if (is_weak(record)) {
            weak = record;
            continue;
        }
        if (is_nameless(record)) {
            if (nameless == NULL || !record_order_is_poorer(p->creator, record, nameless))
                nameless = record;
            continue;
        }
        is_debug_info |= creator_record_origin(record) == GSYM_ORIGIN_DEBUG_INFO;
        if (!is_rich(p->creator, record)) {
            bare = record;
        } else if (rich == NULL) {
            rich = record;
        } else if (!record_order_same_bytes(rich, record)) {
            p->creator->report.duplicates_different++;
            if (!record_order_is_poorer(p->creator, record, rich)) rich = record;
        }
    }
    if (rich == NULL && nameless != NULL && (bare != NULL || weak != NULL)) {
        *is_found_ret = true;
        return name_nameless(p, nameless, bare != NULL ? bare : weak, winner_ret, error);
    }
    *is_found_ret = rich != NULL || bare != NULL;
    if (!*is_found_ret) return GSYM_OK;
    *winner_ret = rich != NULL ? *rich : *bare;
    if (is_debug_info) winner_ret->origin &= ~(uint32_t)GSYM_ORIGIN_SYMBOL_TABLE;
    if (rich != NULL && bare != NULL)
        GSYM_TRY(take_mangled_name(p, run, count, winner_ret, error));
    return GSYM_OK;
}

/* ---- one start address ------------------------------------------------------ */

static uint64_t last_address(const creator_record *record) {
    return record->size == 0 ? record->address : record->address + (record->size - 1);
}

static bool is_symbol(const creator_record *record) {
    return creator_record_origin(record) == GSYM_ORIGIN_SYMBOL_TABLE;
}

/* Whether a function that starts below `address` and runs to `last` holds it. */
static bool is_covered(uint64_t address, uint64_t last) {
    return address != 0 && address <= last;
}

static void keep(pruning *p, const creator_record *record) {
    p->kept.items[p->kept.count++] = *record; /* room for all is there */
}

static void extend_cover(pruning *p, size_t first) {
    for (size_t i = first; i < p->kept.count; ++i) {
        const creator_record *record = &p->kept.items[i];
        uint64_t last = last_address(record);
        if (record->size == 0) continue;
        if (last > p->any_last) p->any_last = last;
        if (!is_symbol(record) && last > p->debug_info_last) p->debug_info_last = last;
    }
}

/* Of one start, a symbol shorter than a function from debug information would
 * answer for that function's head. Of the kept records, those in front of `first`
 * stay. */
static void drop_symbols_from(pruning *p, size_t first) {
    size_t count = first;
    for (size_t i = first; i < p->kept.count; ++i)
        if (!is_symbol(&p->kept.items[i]) || is_rich(p->creator, &p->kept.items[i]))
            p->kept.items[count++] = p->kept.items[i];
    p->kept.count = count;
}

static void keep_last_weak(pruning *p, const record_key *keys, size_t count) {
    while (count > 0 && is_nameless(&p->records[keys[count - 1].index])) --count;
    if (count > 0) keep(p, &p->records[keys[count - 1].index]);
}

/* Keys of one start address, by ascending size. */
static gsym_status prune_start(pruning *p, const record_key *keys, size_t count,
                               gsym_error *error) {
    size_t first = p->kept.count;
    size_t settled = first; /* no symbol in front of it is to be dropped */
    bool has_function = false;
    for (size_t from = 0, end; from < count; from = end) {
        creator_record winner;
        bool is_found;
        end = record_order_run_end(keys, count, from);
        GSYM_TRY(choose(p, keys + from, end - from, &winner, &is_found, error));
        if (!is_found) continue;
        has_function = true;
        if (is_symbol(&winner) && !is_rich(p->creator, &winner) &&
            is_covered(winner.address, p->debug_info_last) &&
            last_address(&winner) <= p->debug_info_last)
            continue;
        if (p->kept.count > first && p->kept.items[first].size == 0)
            p->kept.count = settled = first;
        if (!is_symbol(&winner)) {
            drop_symbols_from(p, settled);
            settled = p->kept.count;
        }
        keep(p, &winner);
    }
    if (!has_function && !is_covered(keys[0].address, p->any_last))
        keep_last_weak(p, keys, count);
    extend_cover(p, first);
    return GSYM_OK;
}

static gsym_status prune_all(pruning *p, const record_key *keys, size_t count,
                             gsym_error *error) {
    for (size_t from = 0, end; from < count; from = end) {
        end = from + 1;
        while (end < count && keys[end].address == keys[from].address) end++;
        if (end + AHEAD < count) __builtin_prefetch(&p->records[keys[end + AHEAD].index]);
        GSYM_TRY(prune_start(p, keys + from, end - from, error));
    }
    return GSYM_OK;
}

/* ---- what is left ----------------------------------------------------------- */

/* A last function without a size would answer for all addresses behind it. */
static void bound_last(gsym_creator *creator, creator_record *last) {
    const text_range_list *ranges = &creator->text_ranges;
    uint64_t size = 0;
    if (last->size != 0) return;
    for (size_t i = 0; i < ranges->count; ++i) {
        const gsym_range *range = &ranges->items[i];
        uint64_t left = range->end - last->address;
        if (last->address < range->start || last->address >= range->end) continue;
        if (size == 0 || left < size) size = left;
    }
    if (size <= UINT32_MAX) last->size = size;
}

static gsym_status settle(gsym_creator *creator, gsym_error *error) {
    gsym_creator_report *report = &creator->report;
    creator_record *records = creator->records.items;
    for (size_t i = 0; i < creator->records.count; ++i) {
        creator_record *record = &records[i];
        if (record->origin & RECORD_NAME_PENDING) {
            GSYM_TRY(intern_pending(creator, record, &record->name, error));
            record->origin &= ~(uint32_t)RECORD_NAME_PENDING;
            record->blob = NULL;
            record->blob_size = 0;
        }
        report->functions_with_lines += record->row_count != 0;
        report->functions_with_inlines += record->node_count != 0;
        report->overlapping +=
            i != 0 && record->address - record[-1].address < record[-1].size;
    }
    bound_last(creator, &records[creator->records.count - 1]);
    return GSYM_OK;
}

/* Functions that are all kept stay in the order in which they came. */
static gsym_status check_order(const record_list *records, gsym_error *error) {
    for (size_t i = 1; i < records->count; ++i)
        if (records->items[i].address < records->items[i - 1].address)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "functions do not ascend");
    return GSYM_OK;
}

gsym_status creator_prune(gsym_creator *creator, gsym_error *error) {
    record_list *records = &creator->records;
    pruning p = {.creator = creator, .records = records->items};
    record_key *keys;
    gsym_status status;
    if (creator->options.keep_all) {
        GSYM_TRY(check_order(records, error));
        return settle(creator, error);
    }
    GSYM_TRY(record_order_sort(records, &keys, error));
    if (array_reserve(&p.kept.items, &p.kept.capacity, records->count,
                      sizeof *p.kept.items))
        status = prune_all(&p, keys, records->count, error);
    else
        status = gsym_fail_memory(error);
    free(keys);
    if (status != GSYM_OK) {
        free(p.kept.items);
        return status;
    }
    free(records->items);
    *records = p.kept;
    return records->count == 0 ? GSYM_OK : settle(creator, error);
}
