/* merge.c - one function for each range: sort, choose between duplicates, drop
 * symbols that only repeat a better source.
 *
 * In order of address, all functions of one start at a time:
 *   - of one range the record that says most stays. If DWARF has no linkage name for
 *     it, it takes that of the symbol of its range: of several the one that contains its
 *     own name, else a global before a weak before a local one, of equals the last;
 *   - an empty range yields to any other range with its start;
 *   - a symbol inside a function of the debug information is dropped: it would
 *     hide the tail of that function from lookups (LLVM keeps it);
 *   - a label yields to every function that covers its address.
 * Other ranges that overlap are all kept and counted. */
#include <inttypes.h>
#include <stdio.h>

#include "create/state.h"

/* Limit: Functions and symbols of one start, of which one names the other */
LIMIT(NAME_STEPS, 1 << 26, 256);

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
    uint64_t name_steps; /* left to look at symbols for names of functions */
} pruning;

static bool is_symbol(const creator_record *record) {
    return creator_record_origin(record) == GSYM_ORIGIN_SYMBOL_TABLE;
}

static bool is_label(const creator_record *record) {
    return (creator_record_binding(record) & SYMBOL_LABEL) != 0;
}

/* Which of two symbols of one range names it. */
static const creator_record *better_symbol(const creator_record *symbol,
                                           const creator_record *later) {
    return symbol == NULL || creator_record_binding(later) <= creator_record_binding(symbol)
               ? later
               : symbol;
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

/* Of C++, Rust, D or Swift. */
static bool is_mangled(text name) {
    static const char prefixes[][3] = {"_Z", "_R", "_D", "$s", "$S"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i)
        if (name.size > 2 && memcmp(name.bytes, prefixes[i], 2) == 0) return true;
    return false;
}

static bool is_same(text left, text right) {
    return left.size == right.size && memcmp(left.bytes, right.bytes, left.size) == 0;
}

/* Which function comes first, and which of two is more complete.
 *
 * Records are ordered by address, size and the order in which they were kept.
 * Among functions of one range the richer is chosen as LLVM orders them: first
 * by the number of inlined calls, and if that is equal by line rows (none, fewer,
 * more, then row by row by address alone). */

/* ---- by address ------------------------------------------------------------- */

enum {
    DIGIT_BITS = 8,
    DIGIT_VALUES = 1 << DIGIT_BITS,
    SIZE_DIGITS = 4,
    DIGITS = SIZE_DIGITS + 8
};

/* Digits count from the least significant: those of the size, then the address. */
static inline unsigned key_digit(const record_key *key, unsigned digit) {
    uint64_t value = digit < SIZE_DIGITS ? key->size : key->address;
    unsigned place = digit < SIZE_DIGITS ? digit : digit - SIZE_DIGITS;
    return (unsigned)(value >> (place * DIGIT_BITS)) & (DIGIT_VALUES - 1);
}

static void count_digits(const record_key *keys, size_t count,
                         uint32_t counts[DIGITS][DIGIT_VALUES]) {
    memset(counts, 0, sizeof(uint32_t) * DIGITS * DIGIT_VALUES);
    for (size_t i = 0; i < count; ++i)
        for (unsigned digit = 0; digit < DIGITS; ++digit)
            counts[digit][key_digit(&keys[i], digit)]++;
}

static void sort_by_digit(const record_key *keys, size_t count, unsigned digit,
                          const uint32_t counts[DIGIT_VALUES], record_key *sorted) {
    uint32_t next[DIGIT_VALUES], sum = 0;
    for (unsigned value = 0; value < DIGIT_VALUES; ++value) {
        next[value] = sum;
        sum += counts[value];
    }
    for (size_t i = 0; i < count; ++i) sorted[next[key_digit(&keys[i], digit)]++] = keys[i];
}

gsym_status record_order_sort(const record_list *records, record_key **keys_ret,
                              gsym_error *error) {
    uint32_t counts[DIGITS][DIGIT_VALUES];
    size_t count = records->count;
    record_key *keys = calloc(count, sizeof *keys), *spare = calloc(count, sizeof *spare);
    if (keys == NULL || spare == NULL) {
        free(keys);
        free(spare);
        return gsym_fail_memory(error);
    }
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &records->items[i];
        keys[i] = (record_key){record->address, (uint32_t)record->size, (uint32_t)i};
    }
    count_digits(keys, count, counts);
    for (unsigned digit = 0; digit < DIGITS; ++digit) {
        record_key *swap = keys;
        if (counts[digit][key_digit(&keys[0], digit)] == count) continue; /* all equal */
        sort_by_digit(keys, count, digit, counts[digit], spare);
        keys = spare;
        spare = swap;
    }
    free(spare);
    *keys_ret = keys;
    return GSYM_OK;
}

/* The first of keys[from .. count) that differs from keys[from] in its range. */
static size_t record_order_run_end(const record_key *keys, size_t count, size_t from) {
    size_t end = from + 1;
    while (end < count && keys[end].address == keys[from].address &&
           keys[end].size == keys[from].size)
        end++;
    return end;
}

/* ---- by content ------------------------------------------------------------- */

static bool record_order_same_bytes(const creator_record *left,
                                    const creator_record *right) {
    return left->blob_size == right->blob_size &&
           (left->blob == right->blob ||
            memcmp(left->blob, right->blob, left->blob_size) == 0);
}

record_parts record_order_cut(const gsym_creator *creator, const creator_record *record,
                              gsym_info_type type) {
    cursor c = cursor_at(record->blob, record->blob_size, 4 + creator->strp_size,
                         creator_big_endian(creator));
    record_parts parts = {.before = (size_t)cursor_offset(&c)};
    record_info info;
    gsym_error ignored;
    while (function_info_next(&c, &info, &ignored) == GSYM_OK &&
           info.type != GSYM_INFO_END_OF_LIST && info.type <= (uint32_t)type) {
        if (info.type == (uint32_t)type) {
            parts.is_found = true;
            parts.payload = info.payload;
            parts.after = (size_t)cursor_offset(&c);
            return parts;
        }
        parts.before = (size_t)cursor_offset(&c);
    }
    parts.after = parts.before;
    return parts;
}

static bool has_lower_rows(const gsym_creator *creator, const creator_record *left,
                           const creator_record *right) {
    record_parts a = record_order_cut(creator, left, GSYM_INFO_LINE_TABLE);
    record_parts b = record_order_cut(creator, right, GSYM_INFO_LINE_TABLE);
    return a.is_found && b.is_found &&
           line_table_compare_addresses(&a.payload, &b.payload) < 0;
}

/* Whether `left` is less complete than `right`, a function of the same range. */
static bool record_order_is_poorer(const gsym_creator *creator,
                                   const creator_record *left,
                                   const creator_record *right) {
    record_parts a, b;
    if (left->node_count != right->node_count) return left->node_count < right->node_count;
    a = record_order_cut(creator, left, GSYM_INFO_INLINE_INFO);
    b = record_order_cut(creator, right, GSYM_INFO_INLINE_INFO);
    if (a.is_found != b.is_found) return b.is_found;
    if (left->row_count != right->row_count) return left->row_count < right->row_count;
    return has_lower_rows(creator, left, right);
}

/* Whether `record` is to be kept rather than `kept`, of the same range and before it.
 * Copies of a function, such as of a template, are of one size at times though their code
 * differs: the linker keeps the first and lets the descriptions of all refer to it. */
static bool is_better(const gsym_creator *creator, const creator_record *record,
                      const creator_record *kept) {
    record_parts a, b;
    if ((record->origin & kept->origin & CREATOR_COPY) == 0 || record->name != kept->name ||
        kept->row_count == 0)
        return !record_order_is_poorer(creator, record, kept);
    if (record->row_count != kept->row_count || record->node_count <= kept->node_count)
        return false;
    a = record_order_cut(creator, record, GSYM_INFO_LINE_TABLE);
    b = record_order_cut(creator, kept, GSYM_INFO_LINE_TABLE);
    return a.is_found && b.is_found &&
           line_table_compare_addresses(&a.payload, &b.payload) == 0;
}

/* Of `a::f<int>` the `f`. */
static text identifier(text name) {
    const char *end = memchr(name.bytes, '<', name.size);
    const char *start = end == NULL ? name.bytes + name.size : end;
    size_t size;
    while (start > name.bytes && start[-1] != ':') --start;
    size = (size_t)((end == NULL ? name.bytes + name.size : end) - start);
    return (text){start, size};
}

/* Whether a symbol contains a name, as `_ZN1a1fEv` or `f.cold` does `f`. */
static bool spells(text symbol, text name) {
    char digits[24];
    size_t prefix;
    if (symbol.size > name.size && symbol.bytes[name.size] == '.' &&
        memcmp(symbol.bytes, name.bytes, name.size) == 0)
        return true;
    name = identifier(name);
    if (name.size > SPELLED_SIZE_LIMIT || symbol.size > MANGLED_SIZE_LIMIT) return false;
    prefix = (size_t)snprintf(digits, sizeof digits, "%zu", name.size);
    for (size_t at = 0; at + prefix + name.size <= symbol.size; ++at)
        if (memcmp(symbol.bytes + at, digits, prefix) == 0 &&
            memcmp(symbol.bytes + at + prefix, name.bytes, name.size) == 0)
            return true;
    return false;
}

static bool is_of_identifier(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Whether mangling spells a name out, as it does not `~box`, `operator<` and `+`. */
static bool is_spelled_out(text name) {
    static const char operator[] = "operator";
    size_t size = sizeof operator - 1;
    name = identifier(name);
    for (size_t i = 0; i < name.size; ++i)
        if (!is_of_identifier(name.bytes[i])) return false;
    return name.size != size || memcmp(name.bytes, operator, size) != 0;
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

enum { UNSPELLED = 16, NO_RANK = 32 }; /* greater than any binding */

/* Whether a record of its start is a symbol that may name `winner`. */
static bool may_name(const pruning *p, const record_key *key,
                     const creator_record *winner) {
    const creator_record *other = &p->records[key->index];
    return is_symbol(other) && !is_rich(p->creator, other) &&
           (is_label(other) || key->size == winner->size);
}

/* How well a symbol names a function; the lowest is best. */
static unsigned name_rank(const creator_record *symbol, text symbol_name, text name) {
    bool is_spelled = spells(symbol_name, name);
    if (!is_spelled && !is_spelled_out(name)) {
        /* An encoded name, such as Dart's, says less. */
        if (!is_mangled(symbol_name)) return NO_RANK;
        is_spelled = true;
    }
    if (is_label(symbol) && !(is_spelled && is_mangled(symbol_name))) return NO_RANK;
    return (is_spelled ? 0 : UNSPELLED) + creator_record_binding(symbol);
}

/* Give a function without a linkage name that of the symbol of its range. `keys` are those
 * of its start. */
static gsym_status take_symbol_name(const pruning *p, const record_key *keys, size_t count,
                                    creator_record *winner, gsym_error *error) {
    text name = record_name(p->creator, winner);
    const creator_record *best = NULL;
    unsigned least = NO_RANK - 1;
    if (is_mangled(name)) return GSYM_OK;
    for (size_t i = 0; i < count; ++i) {
        const creator_record *symbol = &p->records[keys[i].index];
        text symbol_name;
        unsigned rank;
        if (!may_name(p, &keys[i], winner)) continue;
        symbol_name = record_name(p->creator, symbol);
        if (is_same(symbol_name, name)) return GSYM_OK;
        rank = name_rank(symbol, symbol_name, name);
        if (rank > least) continue;
        least = rank;
        best = symbol;
    }
    return best == NULL ? GSYM_OK : intern_pending(p->creator, best, &winner->name, error);
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

/* The record to keep of a run of equal ranges; none where all are labels or nameless. */
static gsym_status choose(const pruning *p, const record_key *run, size_t count,
                          creator_record *winner_ret, bool *is_found_ret,
                          gsym_error *error) {
    const creator_record *rich = NULL, *bare = NULL, *nameless = NULL, *symbol = NULL;
    bool is_debug_info = false;
    for (size_t i = 0; i < count; ++i) {
        const creator_record *record = &p->records[run[i].index];
        if (is_nameless(record)) {
            if (nameless == NULL || !record_order_is_poorer(p->creator, record, nameless))
                nameless = record;
            continue;
        }
        is_debug_info |= !is_symbol(record);
        if (!is_rich(p->creator, record)) {
            if (is_symbol(record))
                symbol = better_symbol(symbol, record);
            else
                bare = record;
        } else if (rich == NULL) {
            rich = record;
        } else if (!record_order_same_bytes(rich, record)) {
            p->creator->report.duplicates_different++;
            if (is_better(p->creator, record, rich)) rich = record;
        }
    }
    if (bare == NULL) bare = symbol;
    if (rich == NULL && nameless != NULL && bare != NULL) {
        *is_found_ret = true;
        return name_nameless(p, nameless, bare, winner_ret, error);
    }
    if (rich == NULL) rich = bare;
    *is_found_ret = rich != NULL && !is_label(rich);
    if (!*is_found_ret) { /* symbols of other ranges may have its lines */
        bool has_lines = nameless != NULL && nameless->size > 0;
        return !has_lines || LIST_ADD(p->creator->lines, *nameless)
                   ? GSYM_OK
                   : gsym_fail_memory(error);
    }
    *winner_ret = *rich;
    if (is_debug_info) winner_ret->origin &= ~(uint32_t)GSYM_ORIGIN_SYMBOL_TABLE;
    return GSYM_OK;
}

/* ---- one start address ------------------------------------------------------ */

static uint64_t last_address(const creator_record *record) {
    return record->size == 0 ? record->address : record->address + (record->size - 1);
}

/* Whether a function that starts below `address` and ends at `last` contains it. */
static bool is_covered(uint64_t address, uint64_t last) {
    return address != 0 && address <= last;
}

static void keep(pruning *p, const creator_record *record) {
    p->kept.items[p->kept.count++] = *record; /* reserved for all */
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

/* Drop symbols that start where a longer DWARF function starts; lookups would return them
 * for its first bytes. Of the kept records, those before `first` stay. */
static void drop_symbols_from(pruning *p, size_t first) {
    size_t count = first;
    for (size_t i = first; i < p->kept.count; ++i)
        if (!is_symbol(&p->kept.items[i]) || is_rich(p->creator, &p->kept.items[i]))
            p->kept.items[count++] = p->kept.items[i];
    p->kept.count = count;
}

/* Of the labels of one start the longest ones are last. */
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

/* Keys of one start address, by ascending size. */
static gsym_status prune_start(pruning *p, const record_key *keys, size_t count,
                               gsym_error *error) {
    size_t first = p->kept.count;
    size_t settled = first; /* no symbol before it is to be dropped */
    bool has_function = false;
    for (size_t from = 0, end; from < count; from = end) {
        creator_record winner;
        bool is_found;
        end = record_order_run_end(keys, count, from);
        GSYM_TRY(choose(p, keys + from, end - from, &winner, &is_found, error));
        if (!is_found) continue;
        has_function = true;
        if ((winner.origin & CREATOR_NAMED_BY_SYMBOL) != 0) {
            if (count <= p->name_steps) {
                p->name_steps -= count;
                GSYM_TRY(take_symbol_name(p, keys, count, &winner, error));
            } else {
                p->creator->cut_functions++;
            }
        }
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
        keep_label(p, keys, count);
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

/* A function without a size would answer for all addresses up to the next one: give it one
 * where it would leave its section or extend over a place where others end. */
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
    if (creator->text_ranges.count > 1)
        qsort(creator->text_ranges.items, creator->text_ranges.count,
              sizeof *creator->text_ranges.items, compare_first_u64);
    if (creator->symbol_ends.count > 1)
        qsort(creator->symbol_ends.items, creator->symbol_ends.count,
              sizeof *creator->symbol_ends.items, compare_first_u64);
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
    bound_all(creator);
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
    pruning p = {.creator = creator,
                 .records = records->items,
                 .name_steps = LIMIT_OF(NAME_STEPS, records->count)};
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
    creator_keep_asked(creator);
    return records->count == 0 ? GSYM_OK : settle(creator, error);
}

/* Equal ranges folded into one record (InfoType 3).
 *
 * Identical functions that the linker put at one address keep all their names:
 * the first in LLVM's order becomes the parent, the others its children. */

/* ---- order of the functions of one range ------------------------------------ */

/* Merge sort, poorest first; equals keep the order in which they were added. */
static void sort_by_richness(const gsym_creator *creator, record_key *keys, size_t count,
                             record_key *spare) {
    const creator_record *records = creator->records.items;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from + width < count; from += 2 * width) {
            size_t middle = from + width, left = from, right = middle;
            size_t end = count - middle < width ? count : middle + width;
            memcpy(spare + from, keys + from, (end - from) * sizeof *keys);
            for (size_t at = from; at < end; ++at) {
                bool take_right =
                    left == middle ||
                    (right < end &&
                     record_order_is_poorer(creator, &records[spare[right].index],
                                            &records[spare[left].index]));
                keys[at] = take_right ? spare[right++] : spare[left++];
            }
        }
    }
}

/* ---- records in records ----------------------------------------------------- */

/* Append the children that a record has already; returns how many. */
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

/* The first of a run, with the others as its children. */
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

static gsym_status fold_all(gsym_creator *creator, record_key *keys, size_t count,
                            record_key *spare, record_list *folded, gsym_error *error) {
    for (size_t from = 0, end; from < count; from = end) {
        creator_record *parent = &folded->items[folded->count++];
        end = record_order_run_end(keys, count, from);
        sort_by_richness(creator, keys + from, end - from, spare + from);
        *parent = creator->records.items[keys[from].index];
        if (end - from > 1)
            GSYM_TRY(fold(creator, keys + from, end - from, parent, error));
    }
    return GSYM_OK;
}

gsym_status gsym_creator_merge_functions(gsym_creator *creator, gsym_error *error) {
    record_list *records = &creator->records, folded = {NULL, 0, 0};
    record_key *keys, *spare;
    gsym_status status;
    GSYM_TRY(creator_check_open(creator, error));
    for (size_t i = 0; i < records->count; ++i)
        if (records->items[i].origin & RECORD_NAME_PENDING)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "functions can be merged before symbols are added only");
    if (records->count < 2) return GSYM_OK;
    GSYM_TRY(record_order_sort(records, &keys, error));
    spare = calloc(records->count, sizeof *spare);
    if (spare != NULL && array_reserve(&folded.items, &folded.capacity, records->count,
                                       sizeof *folded.items))
        status = fold_all(creator, keys, records->count, spare, &folded, error);
    else
        status = gsym_fail_memory(error);
    free(keys);
    free(spare);
    if (status != GSYM_OK) {
        free(folded.items);
        return status;
    }
    creator->report.functions_merged += records->count - folded.count;
    free(records->items);
    *records = folded;
    return GSYM_OK;
}
