/* unit_functions.c - join the DIEs, the line program and the names of a unit.
 *
 * One function for each live range of a subprogram: the rows of its addresses, and
 * of its inlined calls what lies inside that range. */
#include "sources/unit_functions.h"

#include "create/creator.h"

void unit_functions_deinit(unit_functions *result) {
    free(result->rows.items);
    free(result->file_codes.items);
    free(result->seen_files.items);
    free(result->names.items);
    free(result->paths.items);
    free(result->functions.items);
    free(result->nodes.items);
    free(result->call_sites.items);
    free(result->ranges.items);
    free(result->strps.items);
    free(result->files.items);
    buffer_deinit(&result->arena);
}

void unit_joiner_deinit(unit_joiner *joiner) {
    unit_walk_deinit(&joiner->walk);
    line_table_deinit(&joiner->own_lines);
    abbrev_cache_deinit(&joiner->abbrevs);
    abbrev_cache_deinit(&joiner->skeleton_abbrevs);
    name_resolver_deinit(&joiner->resolver);
    number_map_deinit(&joiner->name_map);
    free(joiner->placed.items);
    free(joiner->parts.items);
    free(joiner->calls.items);
    free(joiner->sites.items);
    free(joiner->call_ranges.items);
    free(joiner->covered.items);
    free(joiner->own_ranges.items);
    free(joiner->known);
}

/* ---- names --------------------------------------------------------------------------- */

static const char *name_bytes(const unit_functions *result, const resolved_name *name) {
    return name->bytes != NULL ? name->bytes
                               : (const char *)result->arena.bytes + name->arena_offset;
}

/* Number a resolved name; an empty one has none. */
static bool add_name(unit_functions *result, const resolved_name *name,
                     uint32_t *index_ret) {
    *index_ret = NO_INDEX;
    if (name->size == 0) return true;
    if (result->names.count >= NO_INDEX || !ARRAY_RESERVE(result->names, 1)) return false;
    *index_ret = (uint32_t)result->names.count;
    result->names.items[result->names.count++] =
        (unit_name){*name, name->strp != 0
                               ? name->hash
                               : string_hash(name_bytes(result, name), name->size)};
    return true;
}

/* The name of what the DIE at `origin` describes; resolved once a unit. */
static bool name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                           uint32_t *index_ret) {
    resolved_name name;
    uint64_t known;
    *index_ret = NO_INDEX;
    if (origin == 0) return true;
    if (number_map_find(&joiner->name_map, origin, &known)) {
        *index_ret = (uint32_t)known;
        return true;
    }
    return dwarf_resolve_name(&joiner->resolver, origin, &name) &&
           add_name(result, &name, index_ret) &&
           number_map_set(&joiner->name_map, origin, *index_ret);
}

static bool name_of_function(unit_functions *result, unit_joiner *joiner,
                             const walk_function *function, uint32_t *index_ret) {
    resolved_name name;
    /* A name in the DIE itself is used once; an origin may be shared. */
    if (function->linkage_name.size == 0 && function->name.size == 0)
        return name_of_origin(result, joiner, function->origin, index_ret);
    return dwarf_function_name(&joiner->resolver, function, &name) &&
           add_name(result, &name, index_ret);
}

static bool is_split(const unit_joiner *joiner) {
    return joiner->line_unit != &joiner->unit;
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Take `cost` from what a unit may cost; a cut is counted once a function. */
static bool spend(unit_joiner *joiner, uint64_t *budget, uint64_t cost, uint64_t offset) {
    if (GSYM_LIKELY(cost <= *budget)) {
        *budget -= cost;
        return true;
    }
    dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, offset, cost);
    return false;
}

/* The last row of a sequence at or before `address`. */
static uint32_t row_at(const row_list *rows, const line_sequence *sequence,
                       uint64_t address) {
    size_t low = sequence->row_first + 1;
    SEARCH_SORTED(low, sequence->row_first + sequence->row_count,
                  rows->items[middle].address <= address);
    return (uint32_t)low - 1;
}

static const line_sequence *sequence_by_low(const line_table *lines, size_t place) {
    return &lines->sequences.items[lines->by_low.items[place].sequence];
}

/* The number of sequences that start at or before `address`. */
static size_t places_to(const line_table *lines, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, lines->by_low.count, lines->by_low.items[middle].low <= address);
    return low;
}

static const line_sequence *sequence_at_offset(const line_table *lines, uint64_t offset) {
    size_t low = 0;
    SEARCH_SORTED(low, lines->sequences.count,
                  lines->sequences.items[middle].program_offset < offset);
    return low < lines->sequences.count &&
                   lines->sequences.items[low].program_offset == offset
               ? &lines->sequences.items[low]
               : NULL;
}

/* Rows of [range) in one sequence. */
static void rows_of_sequence(const row_list *rows, const line_sequence *sequence,
                             const gsym_range *range, uint32_t *first_ret,
                             uint32_t *count_ret) {
    uint32_t last = range->end > sequence->high
                        ? sequence->row_first + sequence->row_count - 1
                        : row_at(rows, sequence, range->end - 1);
    *first_ret = row_at(rows, sequence, range->start);
    *count_ret = last - *first_ret + 1;
}

/* How well a sequence suits a function that starts in it; the least is best. */
typedef struct sequence_fit {
    uint8_t extent; /* 0: exactly the range, 1: around it, 2: ends within */
    uint32_t lines; /* from the function's declaration to its first row */
    uint64_t size;
} sequence_fit;

/* Where a function is declared: NO_FILE and line 0 are not known. */
typedef struct declaration {
    uint64_t file;
    uint64_t line;
} declaration;

static sequence_fit fit_of(const unit_joiner *joiner, const line_sequence *sequence,
                           const gsym_range *range, const declaration *declared) {
    const gsym_line_row *row =
        &joiner->rows->items[row_at(joiner->rows, sequence, range->start)];
    sequence_fit fit = {2, UINT32_MAX, sequence->high - sequence->low};
    if (sequence->high >= range->end)
        fit.extent = sequence->low != range->start || sequence->high != range->end;
    if (declared->line != 0 && row->line >= declared->line &&
        (row->file == declared->file || declared->file == NO_FILE))
        fit.lines = (uint32_t)(row->line - declared->line);
    return fit;
}

static bool is_better(const sequence_fit *fit, const sequence_fit *best) {
    if (fit->extent != best->extent) return fit->extent < best->extent;
    if (fit->lines != best->lines) return fit->lines < best->lines;
    return fit->size < best->size;
}

/* The sequence with the rows of a function from the start of `range` on, or NULL. Several
 * have that address where the linker folded functions, or where it dropped some. */
static const line_sequence *sequence_of(unit_joiner *joiner, const walk_function *source,
                                        const gsym_range *range) {
    const line_table *lines = joiner->lines;
    const line_sequence *best = NULL;
    sequence_fit best_fit = {0};
    declaration declared = {NO_FILE, 0};
    bool is_asked = false; /* for the declaration */
    if (source->stmt_sequence != UINT64_MAX) {
        /* In a split unit it counts from the table of the skeleton. */
        uint64_t table = is_split(joiner) ? joiner->line_unit->stmt_list : 0;
        best = sequence_at_offset(lines, table + source->stmt_sequence);
        if (best != NULL && best->low <= range->start && range->start < best->high)
            return best;
        best = NULL;
    }
    for (size_t place = places_to(lines, range->start);
         place > 0 && lines->by_low.items[place - 1].reach > range->start; --place) {
        const line_sequence *sequence = sequence_by_low(lines, place - 1);
        sequence_fit fit;
        if (best == NULL &&
            (place == 1 || lines->by_low.items[place - 2].reach <= range->start))
            return sequence; /* the only one */
        if (!spend(joiner, &joiner->visit_budget, 1, source->offset)) break;
        if (sequence->high <= range->start) continue;
        if (!is_asked) {
            uint64_t cost = 0;
            dwarf_declaration(&joiner->resolver, source->offset, &declared.file,
                              &declared.line, &cost);
            if (!spend(joiner, &joiner->visit_budget, cost, source->offset))
                joiner->visit_budget = 0;
        }
        is_asked = true;
        fit = fit_of(joiner, sequence, range, &declared);
        if (best == NULL || !is_better(&best_fit, &fit)) {
            best = sequence;
            best_fit = fit;
        }
    }
    return best;
}

/* Append rows to those gathered for a function; *is_cut is set where there would be too
 * many. False where memory ran out. */
static bool append_rows(unit_functions *result, const unit_joiner *joiner,
                        uint32_t first, uint32_t count, size_t gathered,
                        bool *is_cut) {
    *is_cut = result->rows.count + count >= NO_INDEX ||
              result->rows.count - gathered + count > joiner->row_budget;
    if (*is_cut) return true;
    if (!ARRAY_RESERVE(result->rows, count)) return false;
    memcpy(result->rows.items + result->rows.count, joiner->rows->items + first,
           count * sizeof *result->rows.items);
    result->rows.count += count;
    return true;
}

/* Copy the rows of a range that extends over several sequences or leaves them, or those of
 * a shared table, after the rows of the unit. Between sequences the line is not known. */
static bool gather_rows(unit_functions *result, unit_joiner *joiner,
                        const walk_function *source, const line_sequence *sequence,
                        unit_function *function, gsym_range range) {
    const line_table *lines = joiner->lines;
    size_t gathered = result->rows.count;
    bool is_cut = false;
    while (sequence != NULL) {
        /* Of a sequence that starts in the function, all rows at its start count. */
        gsym_range part = {sequence->low >= range.start ? function->address : range.start,
                           range.end};
        gsym_line_row *row;
        uint32_t first, count;
        size_t next;
        rows_of_sequence(joiner->rows, sequence, &part, &first, &count);
        if (!append_rows(result, joiner, first, count, gathered, &is_cut)) return false;
        if (is_cut) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, source->offset, count);
            break;
        }
        /* A row before the part applies from its start on. */
        row = &result->rows.items[result->rows.count - count];
        if (count > 0 && row->address < part.start) row->address = part.start;
        if (sequence->high >= range.end) break;
        range.start = sequence->high;
        sequence = sequence_of(joiner, source, &range);
        if (sequence != NULL) continue;
        if (result->rows.count - gathered >= joiner->row_budget) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, source->offset, 1);
            break;
        }
        if (!LIST_ADD(result->rows, (gsym_line_row){range.start, NO_FILE, 0})) return false;
        next = places_to(lines, range.start);
        if (next == lines->by_low.count || lines->by_low.items[next].low >= range.end)
            break;
        range.start = lines->by_low.items[next].low;
        sequence = sequence_of(joiner, source, &range);
    }
    function->row_first = (uint32_t)gathered;
    function->row_count = (uint32_t)(result->rows.count - gathered);
    return true;
}

static bool find_rows(unit_functions *result, unit_joiner *joiner,
                      const walk_function *source, const gsym_range *range,
                      unit_function *function) {
    const line_table *lines = joiner->lines;
    const line_sequence *sequence = sequence_of(joiner, source, range);
    gsym_range covered = *range;
    if (sequence == NULL) {
        size_t next = places_to(lines, range->start);
        if (next == lines->by_low.count || lines->by_low.items[next].low >= range->end)
            return true;
        covered.start = lines->by_low.items[next].low;
        sequence = sequence_of(joiner, source, &covered);
    }
    if (sequence == NULL) return true;
    if (GSYM_LIKELY(sequence->high >= range->end && joiner->rows == &result->rows)) {
        rows_of_sequence(joiner->rows, sequence, range, &function->row_first,
                         &function->row_count);
        return true;
    }
    return gather_rows(result, joiner, source, sequence, function, covered);
}

/* Number the files of the rows and mark the rows. Overlapping functions may share
 * rows, but not without limit. */
static bool number_row_files(unit_functions *result, unit_joiner *joiner,
                             unit_function *function) {
    const gsym_line_row *row, *end;
    uint64_t fingerprint = 0, mark = 0;
    uint32_t file = NO_INDEX;
    if (function->row_count > joiner->row_budget) {
        dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, function->die_offset,
                   function->row_count);
        /* Those that were gathered for it are the last ones. */
        if (function->row_first >= joiner->table_rows)
            result->rows.count = function->row_first;
        function->row_count = 0;
        return true;
    }
    if (function->row_count == 0) return true;
    joiner->row_budget -= function->row_count;
    row = result->rows.items + function->row_first;
    end = row + function->row_count;
    for (; row < end; ++row) {
        if (row->file != file) {
            uint32_t code;
            if (!unit_file_code(result, joiner, row->file, &code)) return false;
            file = row->file;
            mark = fingerprint_of_file(result, code);
        }
        if (!joiner->has_repetitions) continue;
        fingerprint += (row->address + ((uint64_t)row->line << 40) + mark) *
                       UINT64_C(0xd6e8feb86659fd93);
        fingerprint = fingerprint << 29 | fingerprint >> 35;
    }
    function->fingerprint = fingerprint;
    return true;
}

/* ---- inlined calls ------------------------------------------------------------------- */

static uint64_t size_of_overlap(const gsym_range *left, const gsym_range *right) {
    uint64_t start = left->start > right->start ? left->start : right->start;
    uint64_t end = left->end < right->end ? left->end : right->end;
    return start < end ? end - start : 0;
}

#define MAX_RANGES_SEARCHED 256 /* only to choose whether to warn */

/* Whether the ranges of a DIE, sorted or not, contain `range`. */
static bool was_given(const gsym_range *ranges, size_t count, const gsym_range *range) {
    uint64_t size = 0;
    if (count > MAX_RANGES_SEARCHED) return true;
    for (size_t i = 0; i < count; ++i) size += size_of_overlap(&ranges[i], range);
    return size >= range->end - range->start;
}

/* Add the parts of a range that are in those of its parent, which are sorted and disjoint,
 * and their sum to *size_ret. */
static bool add_clipped(unit_functions *result, unit_joiner *joiner, const walk_node *node,
                        const gsym_inline_node *parent, gsym_range range,
                        uint64_t *size_ret) {
    size_t at = parent->range_first, end = at + parent->range_count;
    const gsym_range *only = &result->ranges.items[at];
    if (GSYM_LIKELY(parent->range_count == 1 && only->start <= range.start &&
                    range.end <= only->end)) {
        *size_ret = range.end - range.start;
        return result->ranges.count < NO_INDEX && LIST_ADD(result->ranges, range);
    }
    SEARCH_SORTED(at, end, result->ranges.items[middle].end <= range.start);
    for (; at < end && result->ranges.items[at].start < range.end; ++at) {
        gsym_range part = result->ranges.items[at];
        if (part.start < range.start) part.start = range.start;
        if (part.end > range.end) part.end = range.end;
        if (result->ranges.count >= NO_INDEX || !LIST_ADD(result->ranges, part))
            return false;
        *size_ret += part.end - part.start;
        if (!spend(joiner, &joiner->visit_budget, 1, node->offset)) return true;
    }
    return true;
}

/* Whether the caller of an inlined call has a range in any of its own. */
static bool is_in_caller(const unit_walk *walk, const walk_node *node,
                         const gsym_range *range) {
    const walk_function *function = &walk->functions.items[node->function];
    const walk_node *outer;
    if (node->outer == NO_INDEX)
        return was_given(walk->ranges.items + function->range_first, function->range_count,
                         range);
    outer = &walk->nodes.items[node->outer];
    return was_given(walk->ranges.items + outer->range_first, outer->range_count, range);
}

/* Keep of a node's ranges what lies in its parent's. *is_elsewhere is set where
 * all else is empty or in another range of the function. */
static bool keep_ranges(unit_functions *result, unit_joiner *joiner, const walk_node *node,
                        const gsym_range *raw, uint32_t raw_count,
                        const gsym_inline_node *parent, bool *is_elsewhere) {
    size_t first = result->ranges.count;
    uint32_t empty = 0;
    for (uint32_t i = 0; i < raw_count; ++i) {
        uint64_t size = 0;
        if (raw[i].start >= raw[i].end) {
            ++empty;
            continue;
        }
        if (!add_clipped(result, joiner, node, parent, raw[i], &size)) return false;
        if (size == raw[i].end - raw[i].start) continue;
        if (is_in_caller(&joiner->walk, node, &raw[i]))
            *is_elsewhere = true;
        else
            dwarf_warn(joiner->warnings, GSYM_WARN_INLINE_UNCONTAINED, node->offset,
                       raw[i].start);
    }
    if (empty == raw_count) *is_elsewhere = true;
    if (result->ranges.count - first > 1) ranges_join(&result->ranges, first);
    return true;
}

static bool add_node(unit_functions *result, uint32_t name, uint32_t file_code,
                     uint32_t line, uint32_t depth, size_t range_first) {
    if (result->nodes.count >= NO_INDEX || !ARRAY_RESERVE(result->nodes, 1)) return false;
    result->nodes.items[result->nodes.count++] = (gsym_inline_node){
        name == NO_INDEX ? 0 : (uint64_t)name + 1, file_code, line, depth,
        (uint32_t)range_first, (uint32_t)(result->ranges.count - range_first), 0};
    return true;
}

/* The file of a call that has a line only, as compilers leave it out where it is that of
 * the caller; FILE_INVALID where that does not say so either. */
static bool file_of_caller(unit_functions *result, unit_joiner *joiner,
                           const walk_node *node, uint32_t *code_ret) {
    const unit_walk *walk = &joiner->walk;
    uint64_t caller = node->outer == NO_INDEX
                          ? walk->functions.items[node->function].offset
                          : walk->nodes.items[node->outer].offset;
    uint64_t file, line, cost = 0;
    *code_ret = FILE_INVALID;
    if (joiner->visit_budget == 0) return true; /* said already */
    dwarf_declaration(&joiner->resolver, caller, &file, &line, &cost);
    if (!spend(joiner, &joiner->visit_budget, cost, caller)) joiner->visit_budget = 0;
    return file == NO_FILE || unit_file_code(result, joiner, file, code_ret);
}

static bool add_inlined_call(unit_functions *result, unit_joiner *joiner,
                             const walk_node *node, size_t range_first) {
    uint32_t name, code = FILE_INVALID;
    if (!name_of_origin(result, joiner, node->origin, &name)) return false;
    if (node->has_call_file) {
        if (!unit_file_code(result, joiner, node->call_file, &code)) return false;
    } else if (node->call_line != 0 && !file_of_caller(result, joiner, node, &code)) {
        return false;
    }
    if (node->has_call_file && code == FILE_INVALID)
        dwarf_warn(joiner->warnings, GSYM_WARN_CALL_FILE_INDEX, node->offset,
                   node->call_file);
    return add_node(result, name, code, node->call_line, node->depth, range_first);
}

/* ---- the parts of a function --------------------------------------------------------- */

static int compare_parts(const void *left, const void *right) {
    const function_part *a = left, *b = right;
    if (a->range.start != b->range.start) return a->range.start < b->range.start ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static int compare_contents(const void *left, const void *right) {
    const part_content *a = left, *b = right;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    if (a->index != b->index) return a->index < b->index ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

static bool sort_parts(unit_joiner *joiner, const walk_function *source) {
    const gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    uint64_t reach = 0;
    joiner->parts.count = 0;
    if (!ARRAY_RESERVE(joiner->parts, source->range_count)) return false;
    for (uint32_t i = 0; i < source->range_count; ++i)
        joiner->parts.items[joiner->parts.count++] = (function_part){ranges[i], 0, i};
    qsort(joiner->parts.items, joiner->parts.count, sizeof *joiner->parts.items,
          compare_parts);
    for (size_t i = 0; i < joiner->parts.count; ++i) {
        function_part *part = &joiner->parts.items[i];
        if (part->range.end > reach) reach = part->range.end;
        part->reach = reach;
    }
    return true;
}

enum { CONTENT_VISITS = 8 }; /* what it costs to sort it, and to place it */

/* Add `content` to each part that starts at `last` or before and ends at `least_end` or
 * after it. *is_cut is set where that costs too much. */
static bool add_to_parts(unit_joiner *joiner, part_contents *contents, part_content content,
                         uint64_t least_end, uint64_t last, uint64_t offset, bool *is_cut) {
    size_t at = 0;
    SEARCH_SORTED(at, joiner->parts.count,
                  joiner->parts.items[middle].range.start <= last);
    for (; at > 0 && joiner->parts.items[at - 1].reach >= least_end; --at) {
        const function_part *part = &joiner->parts.items[at - 1];
        *is_cut = !spend(joiner, &joiner->visit_budget, CONTENT_VISITS, offset);
        if (contents->count >= joiner->most_contents) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, offset, contents->count);
            *is_cut = true;
        }
        if (*is_cut) return true;
        content.part = part->number;
        if (part->range.end >= least_end && !LIST_ADD(*contents, content)) return false;
    }
    return true;
}

static bool add_call_to_parts(unit_joiner *joiner, const walk_function *source,
                              uint32_t index, bool *is_cut) {
    const unit_walk *walk = &joiner->walk;
    const walk_node *node = &walk->nodes.items[index];
    for (uint32_t i = 0; i < node->range_count && !*is_cut; ++i) {
        gsym_range range = walk->ranges.items[node->range_first + i];
        size_t count = joiner->calls.count;
        if (range.start >= range.end) {
            joiner->has_empty_calls = true;
            continue;
        }
        if (!add_to_parts(joiner, &joiner->calls, (part_content){0, index, i},
                          range.start + 1, range.end - 1, source->offset, is_cut))
            return false;
        if (joiner->calls.count == count && !*is_cut &&
            (node->outer == NO_INDEX || !is_in_caller(walk, node, &range)))
            dwarf_warn(joiner->warnings, GSYM_WARN_INLINE_UNCONTAINED, node->offset,
                       range.start);
    }
    return true;
}

/* Sort the inlined calls and call sites of a function into its parts, of which it has
 * several: to search all of them for each part would cost parts times calls. */
static bool sort_into_parts(unit_joiner *joiner, uint32_t source_index) {
    const unit_walk *walk = &joiner->walk;
    const walk_function *source = &walk->functions.items[source_index];
    bool is_cut = false;
    joiner->calls.count = joiner->sites.count = 0;
    joiner->call_at = joiner->site_at = 0;
    joiner->has_empty_calls = false;
    if (!sort_parts(joiner, source)) return false;
    for (uint32_t i = source->node_first; i < source->node_end && !is_cut; ++i)
        if (walk->nodes.items[i].function == source_index) {
            joiner->placed.items[i] = 0;
            if (!add_call_to_parts(joiner, source, i, &is_cut)) return false;
        }
    for (uint32_t i = source->site_first; i < source->site_end && !is_cut; ++i) {
        const walk_call_site *site = &walk->call_sites.items[i];
        /* A call that ends the range returns to its end. */
        if (site->function == source_index &&
            !add_to_parts(joiner, &joiner->sites, (part_content){0, i, 0},
                          site->return_address, site->return_address, source->offset,
                          &is_cut))
            return false;
    }
    if (joiner->calls.count > 1)
        qsort(joiner->calls.items, joiner->calls.count, sizeof *joiner->calls.items,
              compare_contents);
    if (joiner->sites.count > 1)
        qsort(joiner->sites.items, joiner->sites.count, sizeof *joiner->sites.items,
              compare_contents);
    return true;
}

/* The contents of a part, from *at_ret on; parts are asked for in ascending order. */
static size_t contents_of(const part_contents *contents, uint32_t part, size_t *at_ret) {
    size_t end;
    while (*at_ret < contents->count && contents->items[*at_ret].part < part) ++*at_ret;
    end = *at_ret;
    while (end < contents->count && contents->items[end].part == part) ++end;
    return end;
}

/* Add a call of which `ranges` are in the present part, unless the call that it was inlined
 * into is not; the part's root is `root`. *is_cut is set where the unit costs too much. */
static bool place_call(unit_functions *result, unit_joiner *joiner, uint32_t index,
                       const gsym_range *ranges, uint32_t count, uint32_t root,
                       bool *is_elsewhere, bool *is_cut) {
    const unit_walk *walk = &joiner->walk;
    const walk_node *node = &walk->nodes.items[index];
    const walk_function *source = &walk->functions.items[node->function];
    size_t first = result->ranges.count;
    uint32_t parent = node->outer == NO_INDEX ? root : joiner->placed.items[node->outer];
    joiner->placed.items[index] = 0;
    *is_cut = !spend(joiner, &joiner->visit_budget, 1 + count, source->offset);
    if (*is_cut || (node->outer != NO_INDEX && parent <= root)) return true;
    if (!keep_ranges(result, joiner, node, ranges, count, &result->nodes.items[parent],
                     is_elsewhere))
        return false;
    if (result->ranges.count == first) return true;
    *is_cut = !spend(joiner, &joiner->node_budget, 1, source->offset);
    if (*is_cut) {
        result->ranges.count = first;
        return true;
    }
    joiner->placed.items[index] = (uint32_t)result->nodes.count;
    return add_inlined_call(result, joiner, node, first);
}

/* Place the calls of one part of a function that has several. */
static bool place_calls_of_part(unit_functions *result, unit_joiner *joiner, uint32_t part,
                                uint32_t root, bool *is_elsewhere) {
    const unit_walk *walk = &joiner->walk;
    const part_contents *calls = &joiner->calls;
    size_t end = contents_of(calls, part, &joiner->call_at);
    bool is_cut = false;
    *is_elsewhere = joiner->has_empty_calls || end - joiner->call_at < calls->count;
    for (size_t at = joiner->call_at; at < end && !is_cut;) {
        uint32_t index = calls->items[at].index;
        joiner->call_ranges.count = 0;
        for (; at < end && calls->items[at].index == index; ++at)
            if (!LIST_ADD(joiner->call_ranges,
                          walk->ranges.items[walk->nodes.items[index].range_first +
                                             calls->items[at].range]))
                return false;
        if (!place_call(result, joiner, index, joiner->call_ranges.items,
                        (uint32_t)joiner->call_ranges.count, root, is_elsewhere, &is_cut))
            return false;
    }
    return true;
}

/* The inlined calls of a function inside one of its parts, in pre-order after a root that
 * represents the function itself. */
static bool find_nodes(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
                       uint32_t part, unit_function *function) {
    const unit_walk *walk = &joiner->walk;
    const walk_function *source = &walk->functions.items[source_index];
    const gsym_range *range = &walk->ranges.items[source->range_first + part];
    size_t node_first = result->nodes.count, range_first = result->ranges.count;
    uint32_t root = (uint32_t)node_first;
    bool is_elsewhere = false, is_cut = false;
    if (source->node_first == source->node_end) return true;
    if (!LIST_ADD(result->ranges, *range) ||
        !add_node(result, function->name, FILE_NONE, 0, 0, range_first))
        return false;
    if (source->range_count > 1) {
        if (!place_calls_of_part(result, joiner, part, root, &is_elsewhere)) return false;
    } else {
        for (uint32_t i = source->node_first; i < source->node_end && !is_cut; ++i) {
            const walk_node *node = &walk->nodes.items[i];
            if (node->function == source_index &&
                !place_call(result, joiner, i, walk->ranges.items + node->range_first,
                            node->range_count, root, &is_elsewhere, &is_cut))
                return false;
        }
    }
    if (result->nodes.count == node_first + 1) { /* only the root is left */
        if (!is_elsewhere)
            dwarf_warn(joiner->warnings, GSYM_WARN_INLINE_EMPTY, source->offset,
                       range->start);
        result->nodes.count = node_first;
        result->ranges.count = range_first;
        return true;
    }
    function->node_first = (uint32_t)node_first;
    function->node_count = (uint32_t)(result->nodes.count - node_first);
    return true;
}

static bool add_call_site(unit_functions *result, unit_joiner *joiner, uint32_t index,
                          const gsym_range *range, bool *is_cut) {
    const walk_call_site *site = &joiner->walk.call_sites.items[index];
    uint64_t offset = joiner->walk.functions.items[site->function].offset;
    uint32_t name;
    *is_cut = !spend(joiner, &joiner->visit_budget, 1, offset);
    if (*is_cut || site->return_address < range->start || site->return_address > range->end)
        return true;
    *is_cut = !spend(joiner, &joiner->node_budget, 1, offset);
    return *is_cut ||
           (name_of_origin(result, joiner, site->origin, &name) &&
            LIST_ADD(result->call_sites,
                     (unit_call_site){site->return_address - range->start, name}));
}

static bool find_call_sites(unit_functions *result, unit_joiner *joiner,
                            uint32_t source_index, uint32_t part,
                            unit_function *function) {
    const walk_function *source = &joiner->walk.functions.items[source_index];
    const gsym_range *range = &joiner->walk.ranges.items[source->range_first + part];
    bool is_cut = false;
    function->site_first = (uint32_t)result->call_sites.count;
    if (source->range_count > 1) {
        size_t end = contents_of(&joiner->sites, part, &joiner->site_at);
        for (size_t at = joiner->site_at; at < end && !is_cut; ++at)
            if (!add_call_site(result, joiner, joiner->sites.items[at].index, range,
                               &is_cut))
                return false;
    } else {
        for (uint32_t i = source->site_first; i < source->site_end && !is_cut; ++i)
            if (joiner->walk.call_sites.items[i].function == source_index &&
                !add_call_site(result, joiner, i, range, &is_cut))
                return false;
    }
    function->site_count = (uint32_t)result->call_sites.count - function->site_first;
    return true;
}

#define MAX_PADDING 16

/* ---- code that the linker dropped ---------------------------------------------------- */

static bool is_named(const unit_name *name, const live_code *code) {
    for (size_t i = 0; i < LIVE_NAMES; ++i)
        if (code->hashes[i] == name->hash) return true;
    return false;
}

/* Whether the function of a DIE may be the one that is at the start of `range`. */
static bool is_the_code(const unit_functions *result, const unit_joiner *joiner,
                        uint32_t name, const gsym_range *range, const live_code *code) {
    bool has_size = code->size == range->end - range->start;
    if (name != NO_INDEX && is_named(&result->names.items[name], code))
        return has_size || code->size == 0 || range->start > 0;
    /* Names with scopes are not those of symbols. */
    return has_size && (name == NO_INDEX || range->start > 0 ||
                        dwarf_language_has_scopes(joiner->unit.language));
}

static size_t live_from(const dwarf_input *code, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, code->live_count, code->live[middle].address < address);
    return low;
}

/* Whether a symbol with a size extends over an address from before. */
static bool is_inside_live(const dwarf_input *code, uint64_t address) {
    size_t at = live_from(code, address);
    if (at == 0) return false;
    at = live_from(code, code->live[at - 1].address);
    return address - code->live[at].address < code->live[at].size;
}

/* Whether a function is all that is up to the next place where there is code: it may be one
 * that has no symbol, such as a local one that the linker left out. */
static bool fills_gap(const dwarf_input *code, const gsym_range *range) {
    size_t at = live_from(code, range->start);
    uint64_t next = code->text_count > 0 ? code->text[0].end : UINT64_MAX;
    if (at < code->live_count && code->live[at].address < next)
        next = code->live[at].address;
    return range->end <= next && next - range->end < MAX_PADDING;
}

/* Whether code at an address is that of a function, as far as symbols say. */
static bool is_live(const unit_functions *result, unit_joiner *joiner,
                    const walk_function *source, uint32_t name, const gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    size_t first = live_from(code, range->start), at = first;
    for (; at < code->live_count && code->live[at].address == range->start; ++at) {
        if (!code->live[at].has_name) return at == first;
        if (!spend(joiner, &joiner->visit_budget, 1, source->offset)) return false;
        if (is_the_code(result, joiner, name, range, &code->live[at])) return true;
    }
    if (at > first) return false;
    return range->start > 0 ? !is_inside_live(code, range->start) : fills_gap(code, range);
}

/* Whether the linker dropped the code of a function, whose debug information then starts at
 * 0 or is in a sequence that does. */
static bool is_dropped(const unit_functions *result, unit_joiner *joiner,
                       const walk_function *source, uint32_t name,
                       const gsym_range *range) {
    line_table *own = &joiner->own_lines;
    const line_sequence *sequence;
    if (!joiner->unit.code->knows_live) return false;
    sequence = sequence_of(joiner, source, range);
    if (range->start > 0 && (sequence == NULL || sequence->low > 0)) return false;
    if (is_live(result, joiner, source, name, range)) return false;
    if (sequence != NULL && joiner->lines == own)
        own->sequences.items[sequence - own->sequences.items].is_dropped = true;
    return true;
}

/* Whether rows that no function has are of code that is there: where they start at 0, a
 * symbol starts there, too, and none continues them. */
static bool are_rows_live(const dwarf_input *code, const line_sequence *sequence) {
    if (!code->knows_live || sequence->low > 0) return true;
    return !sequence->is_dropped && code->live_count > 0 && code->live[0].address == 0 &&
           !is_inside_live(code, sequence->high);
}

/* ---- functions that are not of this binary ------------------------------------------- */

/* Read the ranges of the unit's root, unless that is done; it may have none. */
static bool read_own_ranges(unit_joiner *joiner) {
    range_list *own = &joiner->own_ranges;
    warning_list ignored = {0}; /* its functions come without them */
    if (joiner->knows_ranges) return true;
    own->count = 0;
    if (!dwarf_unit_ranges(joiner->line_unit, own, &ignored)) return false;
    ranges_join(own, 0);
    joiner->knows_ranges = true;
    return true;
}

/* What a binary says about a function of a split unit. Tools that move code keep the id by
 * which a split file is found. A file of an older build is then found as well, with
 * addresses that belong to other functions now. */
typedef enum evidence { AGREES, SAYS_NOTHING, CONTRADICTS } evidence;

/* Whether a symbol with a size starts in a range, but not with it. */
static bool has_symbol_inside(unit_joiner *joiner, uint64_t offset,
                              const gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    size_t at = live_from(code, range->start + 1);
    for (; at < code->live_count && code->live[at].address < range->end; ++at) {
        if (code->live[at].size > 0) return true;
        if (!spend(joiner, &joiner->visit_budget, 1, offset)) return false;
    }
    return false;
}

/* The code of a split unit is that of its skeleton, which may not say where that is. */
static bool is_in_skeleton(const unit_joiner *joiner, const gsym_range *range) {
    const range_list *own = &joiner->own_ranges;
    size_t at = 0;
    SEARCH_SORTED(at, own->count, own->items[middle].end <= range->start);
    return own->count == 0 || (at < own->count && own->items[at].start <= range->start &&
                               range->end <= own->items[at].end);
}

/* Compare a range of a function with the symbols. A symbol of the same name also corrects
 * its end: a linker may shorten code, but does not change the split file. */
static evidence symbols_say(const unit_functions *result, unit_joiner *joiner,
                            uint64_t offset, uint32_t name, gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    uint64_t size = range->end - range->start;
    bool has_size = false, has_other_size = false;
    size_t at = live_from(code, range->start);
    for (; at < code->live_count && code->live[at].address == range->start; ++at) {
        const live_code *symbol = &code->live[at];
        if (symbol->size == 0) continue;
        if (!spend(joiner, &joiner->visit_budget, 1, offset)) return SAYS_NOTHING;
        has_size |= symbol->size == size;
        has_other_size |= symbol->size != size;
        if (name == NO_INDEX || !is_named(&result->names.items[name], symbol)) continue;
        if (symbol->size >= size) return AGREES;
        if (has_symbol_inside(joiner, offset, range) || !is_in_skeleton(joiner, range)) {
            joiner->is_cut = true;
            range->end = range->start + symbol->size;
        }
        return SAYS_NOTHING;
    }
    if (has_size) return SAYS_NOTHING; /* symbols may be renamed */
    return has_other_size || is_inside_live(code, range->start) ||
                   has_symbol_inside(joiner, offset, range)
               ? CONTRADICTS
               : SAYS_NOTHING;
}

/* Whether a function of a split unit contradicts the binary; its ranges are corrected. */
static bool contradicts(const unit_functions *result, unit_joiner *joiner,
                        const walk_function *source, uint32_t name) {
    gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    const dwarf_input *code = joiner->unit.code;
    /* If nothing contradicts it. Symbols do not count from where a moved file does. */
    bool agrees = !code->has_live_sizes || code->span_count > 0;
    joiner->is_cut = false;
    for (uint32_t i = 0; i < source->range_count && code->span_count == 0; ++i) {
        evidence found;
        if (is_dropped(result, joiner, source, name, &ranges[i])) continue;
        found = symbols_say(result, joiner, source->offset, name, &ranges[i]);
        agrees |= found == AGREES;
        if (found != CONTRADICTS && is_in_skeleton(joiner, &ranges[i])) continue;
        dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_CONTRADICTS, source->offset,
                   ranges[i].start);
        ++joiner->contradicting;
        return true;
    }
    joiner->agreeing += agrees;
    return false;
}

/* ---- functions ----------------------------------------------------------------------- */

static bool add_function(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
                         uint32_t part, uint32_t name) {
    const walk_function *source = &joiner->walk.functions.items[source_index];
    gsym_range range = joiner->walk.ranges.items[source->range_first + part];
    unit_function function = {.address = range.start,
                              .size = range.end - range.start,
                              .shift = dwarf_shift_at(joiner->unit.code, range.start),
                              .die_offset = source->offset,
                              .name = name,
                              .is_cut = joiner->is_cut && part == 0};
    /* The rest of it does not fit after the last address. */
    if (function.shift != 0 &&
        function.address + function.shift > UINT64_MAX - (function.size - 1)) {
        dwarf_warn(joiner->warnings, GSYM_WARN_RANGE_INVALID, source->offset, range.start);
        return true;
    }
    if (joiner->lines->version != 0 &&
        (!find_rows(result, joiner, source, &range, &function) ||
         !number_row_files(result, joiner, &function)))
        return false;
    if (!find_nodes(result, joiner, source_index, part, &function) ||
        !find_call_sites(result, joiner, source_index, part, &function) ||
        !ARRAY_RESERVE(result->functions, 1))
        return false;
    if (joiner->has_repetitions) fingerprint_function(result, &function);
    result->functions.items[result->functions.count++] = function;
    return true;
}

/* Whether some range of a function is asked for; those of others are added bare. */
static bool add_unless_asked(unit_functions *result, unit_joiner *joiner,
                             const walk_function *source, bool *is_asked_ret) {
    const gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    *is_asked_ret = false;
    for (uint32_t i = 0; i < source->range_count; ++i)
        *is_asked_ret |= creator_answers_in(joiner->creator, ranges[i].start,
                                            ranges[i].end) ||
                         (joiner->unit.code->knows_live && ranges[i].start == 0);
    for (uint32_t i = 0; i < source->range_count && !*is_asked_ret; ++i)
        if (!LIST_ADD(result->functions,
                      (unit_function){.address = ranges[i].start,
                                      .size = ranges[i].end - ranges[i].start,
                                      .die_offset = source->offset,
                                      .name = NO_INDEX,
                                      .is_bare = true}))
            return false;
    return true;
}

static bool add_functions(unit_functions *result, unit_joiner *joiner) {
    const unit_walk *walk = &joiner->walk;
    joiner->agreeing = joiner->contradicting = 0;
    if (is_split(joiner)) {
        if (!read_own_ranges(joiner)) return false;
        /* Skeletons may share one list. */
        if (!spend(joiner, &joiner->visit_budget, joiner->own_ranges.count,
                   joiner->unit.header->offset))
            joiner->own_ranges.count = 0;
    }
    for (uint32_t i = 0; i < walk->functions.count; ++i) {
        const walk_function *source = &walk->functions.items[i];
        uint32_t name;
        bool is_asked;
        if (!add_unless_asked(result, joiner, source, &is_asked)) return false;
        if (!is_asked) continue;
        if (!name_of_function(result, joiner, source, &name)) return false;
        if (name == NO_INDEX) {
            dwarf_warn(joiner->warnings, GSYM_WARN_NO_NAME, source->offset,
                       walk->ranges.items[source->range_first].start);
            if (!joiner->keeps_nameless) continue;
        }
        if (is_split(joiner) && contradicts(result, joiner, source, name)) continue;
        if (source->range_count > 1 && !sort_into_parts(joiner, i)) return false;
        for (uint32_t part = 0; part < source->range_count; ++part) {
            gsym_range range = walk->ranges.items[source->range_first + part];
            if (!is_dropped(result, joiner, source, name, &range) &&
                !add_function(result, joiner, i, part, name))
                return false;
        }
    }
    return true;
}

/* ---- rows without a function ---------------------------------------------------- */

/* Whether a range does no more than align what follows, if no row starts in it. */
static bool aligns(gsym_range range) {
    uint64_t size = range.end - range.start;
    return size < MAX_PADDING && size < (range.end & -range.end);
}

/* Whether a unit has code in a range, as its root says; one without ranges does not say. */
static bool unit_reaches(unit_joiner *joiner, gsym_range range, bool *reaches_ret) {
    range_list *own = &joiner->own_ranges;
    size_t at = 0;
    if (!read_own_ranges(joiner)) return false;
    SEARCH_SORTED(at, own->count, own->items[middle].end <= range.start);
    *reaches_ret = own->count == 0 || (at < own->count && own->items[at].start < range.end);
    return true;
}

/* Add the rows of addresses in a sequence that no function has. */
static bool add_lines(unit_functions *result, unit_joiner *joiner,
                      const line_sequence *sequence, gsym_range range) {
    unit_function lines = {.address = range.start,
                           .size = range.end - range.start,
                           .shift = dwarf_shift_at(joiner->unit.code, range.start),
                           .die_offset = joiner->unit.header->offset,
                           .name = NO_INDEX,
                           .is_lines = true};
    rows_of_sequence(joiner->rows, sequence, &range, &lines.row_first, &lines.row_count);
    if (lines.row_count == 1 &&
        joiner->rows->items[lines.row_first].address < range.start) {
        /* It runs on into padding, or into a function that the compiler hides. */
        bool reaches = false;
        if (!aligns(range) && !unit_reaches(joiner, range, &reaches)) return false;
        if (!reaches) return true;
    }
    if (!creator_answers_in(joiner->creator, range.start, range.end)) return true;
    if (lines.size > UINT32_MAX) {
        dwarf_warn(joiner->warnings, GSYM_WARN_TOO_LARGE, lines.die_offset, range.start);
        return true;
    }
    if (joiner->rows != &result->rows) {
        size_t gathered = result->rows.count;
        bool is_cut;
        if (!append_rows(result, joiner, lines.row_first, lines.row_count, gathered,
                         &is_cut))
            return false;
        if (is_cut) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, lines.die_offset,
                       lines.row_count);
            return true;
        }
        lines.row_first = (uint32_t)gathered;
    }
    if (!number_row_files(result, joiner, &lines)) return false;
    if (lines.row_count == 0) return true; /* too many sequences overlap */
    lines.fingerprint = 0;
    return LIST_ADD(result->functions, lines);
}

/* The same in an object file, whose functions the linker has moved one by one. */
static bool add_lines_of_spans(unit_functions *result, unit_joiner *joiner,
                               const line_sequence *sequence, gsym_range range) {
    const dwarf_input *code = joiner->unit.code;
    size_t low = 0;
    if (code->span_count == 0) return add_lines(result, joiner, sequence, range);
    SEARCH_SORTED(low, code->span_count, code->spans[middle].end <= range.start);
    for (; low < code->span_count && code->spans[low].start < range.end; ++low) {
        gsym_range part = {code->spans[low].start, code->spans[low].end};
        if (part.start < range.start) part.start = range.start;
        if (part.end > range.end) part.end = range.end;
        if (part.start < part.end && !add_lines(result, joiner, sequence, part))
            return false;
    }
    return true;
}

static bool note_covered(const unit_functions *result, unit_joiner *joiner) {
    range_list *covered = &joiner->covered;
    if (!ARRAY_RESERVE(*covered, result->functions.count + 1)) return false;
    for (size_t i = 0; i < result->functions.count; ++i) {
        const unit_function *function = &result->functions.items[i];
        covered->items[covered->count++] =
            (gsym_range){function->address, function->address + function->size};
    }
    return true;
}

/* Add the rows of a sequence that are in a range and in no function. */
static bool add_lines_between(unit_functions *result, unit_joiner *joiner,
                              const line_sequence *sequence, gsym_range range) {
    const range_list *covered = &joiner->covered;
    gsym_range gap = range;
    size_t at = 0;
    SEARCH_SORTED(at, covered->count, covered->items[middle].end <= gap.start);
    for (; gap.start < range.end; ++at) {
        if (!spend(joiner, &joiner->visit_budget, 1, joiner->unit.header->offset))
            return true;
        gap.end = range.end;
        if (at < covered->count && covered->items[at].start < gap.end)
            gap.end = covered->items[at].start;
        if (gap.start < gap.end && !add_lines_of_spans(result, joiner, sequence, gap))
            return false;
        if (gap.end == range.end) break;
        gap.start = covered->items[at].end;
    }
    return true;
}

/* The rows of the table in a range. */
static bool add_lines_in(unit_functions *result, unit_joiner *joiner, gsym_range range) {
    const line_table *lines = joiner->lines;
    size_t at = 0;
    SEARCH_SORTED(at, lines->by_low.count,
                  lines->by_low.items[middle].reach <= range.start);
    for (; at < lines->by_low.count && lines->by_low.items[at].low < range.end; ++at) {
        const line_sequence *sequence = sequence_by_low(lines, at);
        gsym_range part = {sequence->low, sequence->high};
        if (!spend(joiner, &joiner->visit_budget, 1, joiner->unit.header->offset))
            return true;
        if (part.start < range.start) part.start = range.start;
        if (part.end > range.end) part.end = range.end;
        if (part.start < part.end && are_rows_live(joiner->unit.code, sequence) &&
            !add_lines_between(result, joiner, sequence, part))
            return false;
    }
    return true;
}

/* Add the rows that no function has: those of the unit's own table, and of a table of
 * several units those in its ranges. */
static bool add_uncovered_lines(unit_functions *result, unit_joiner *joiner) {
    const range_list *own = &joiner->own_ranges;
    if (joiner->lines->version == 0) return true;
    ranges_join(&joiner->covered, 0);
    if (joiner->lines == &joiner->own_lines)
        return add_lines_in(result, joiner, (gsym_range){0, UINT64_MAX});
    if (!read_own_ranges(joiner)) return false;
    for (size_t i = 0; i < own->count; ++i)
        if (!add_lines_in(result, joiner, own->items[i])) return false;
    return true;
}

/* Limit: Inlined calls and call sites of a unit, counted in each part of a function */
LIMIT(CONTENTS, 1 << 16, 16);
/* Limit: Rows of functions that share them */
LIMIT(ROWS, 1 << 16, 16);
/* Limit: Steps through calls, call sites, sequences of rows and symbols */
LIMIT(STEPS, 1 << 26, 16);
/* Limit: Names of more than 64 KiB in a unit, which DIEs may share */
LIMIT(DIE_NAMES, 256 << 10, 1024);
#define OWN_TABLES 8 /* abbreviation tables kept for the next units */
#define PART_FUNCTIONS (1u << 16) /* a unit with more is read in parts, to bound memory */

/* Empty the lists of a part; each has memory afterwards, for an offset to a null pointer is
 * undefined. */
static bool clear(unit_functions *result) {
    result->names.count = result->paths.count = 0;
    result->functions.count = result->nodes.count = 0;
    result->call_sites.count = result->ranges.count = 0;
    result->strps.count = result->files.count = 0;
    result->arena.size = 0;
    return ARRAY_RESERVE(result->rows, 1) && ARRAY_RESERVE(result->nodes, 1) &&
           ARRAY_RESERVE(result->ranges, 1) && ARRAY_RESERVE(result->call_sites, 1) &&
           buffer_reserve(&result->arena, 1);
}

bool unit_functions_clear(unit_functions *result, size_t index) {
    result->unit_index = index;
    result->is_last = true;
    result->has_linkage_names = false;
    result->lines_end = result->lists_end = 0;
    result->rows.count = result->file_codes.count = 0;
    return clear(result);
}

/* Open the unit whose DIEs are to be read. False where it cannot be read or has none of
 * interest. */
static bool open_unit(unit_functions *result, unit_joiner *joiner,
                      const unit_source *source) {
    const skeleton_unit *skeleton = source->skeleton;
    bool has_split = skeleton != NULL && skeleton->split_input != NULL;
    dwarf_unit *whole = has_split ? &joiner->skeleton : &joiner->unit;
    joiner->line_unit = whole;
    result->file = joiner->warnings->file = source->input->number;
    if (dwarf_is_type_unit(source->header) ||
        !dwarf_unit_open(whole, source->input, source->header, NULL,
                         has_split ? &joiner->skeleton_abbrevs : &joiner->abbrevs,
                         joiner->warnings))
        return false;
    if (skeleton == NULL) return true;
    if (!has_split) {
        dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_MISSING, source->header->offset,
                   skeleton->dwo_id);
        return true;
    }
    result->file = joiner->warnings->file = skeleton->split_input->number;
    return dwarf_unit_open(&joiner->unit, skeleton->split_input, &skeleton->split_header,
                           whole, &joiner->abbrevs, joiner->warnings);
}

static bool read_lines(unit_functions *result, unit_joiner *joiner) {
    const dwarf_unit *unit = joiner->line_unit;
    const shared_table *shared;
    joiner->warnings->file = unit->input->number;
    if (!shared_lines_find(joiner->shared_lines, unit, joiner->budget, joiner->warnings,
                           &shared))
        return false;
    joiner->lines = shared != NULL ? &shared->table : &joiner->own_lines;
    joiner->rows = shared != NULL ? &shared->rows : &result->rows;
    if (shared == NULL &&
        !dwarf_run_line_program(&joiner->own_lines, &result->rows, unit, joiner->budget,
                                joiner->warnings))
        return false;
    joiner->warnings->file = result->file;
    result->lines_end = joiner->lines->end;
    joiner->table_rows = result->rows.count;
    return true;
}

/* If more functions of a part of a split unit contradict the binary than agree with it,
 * drop them all. */
static bool check_split_unit(unit_functions *result, unit_joiner *joiner) {
    bool is_contradicted =
        is_split(joiner) &&
        joiner->contradicting + joiner->walk.outside > joiner->agreeing;
    joiner->is_contradicted = is_contradicted;
    for (uint64_t i = 0; is_contradicted && i < joiner->walk.outside; ++i)
        dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_CONTRADICTS,
                   joiner->unit.header->offset, 0);
    for (size_t i = 0; is_split(joiner) && i < result->functions.count; ++i) {
        const unit_function *function = &result->functions.items[i];
        if (is_contradicted || function->is_cut)
            dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_CONTRADICTS, function->die_offset,
                       function->address);
    }
    return !is_contradicted || (clear(result) && unit_files_reset(result, joiner));
}

/* Join what the walk has found; where it has come to the end of the unit, the rest too. */
static bool join_part(unit_functions *result, unit_joiner *joiner) {
    const unit_walk *walk = &joiner->walk;
    result->is_last = !dwarf_walk_pauses(walk, &joiner->unit);
    result->reached = walk->reached;
    result->lists_end = walk->lists.end;
    joiner->most_contents = LIMIT_OF(
        CONTENTS, walk->nodes.count + walk->ranges.count + walk->call_sites.count);
    joiner->node_budget += joiner->most_contents - CONTENTS_FLOOR;
    if (!unit_files_reset(result, joiner) ||
        !ARRAY_RESERVE(joiner->placed, walk->nodes.count) ||
        !number_map_reset(&joiner->name_map,
                          walk->functions.count + walk->nodes.count / 4) ||
        !add_functions(result, joiner) || joiner->resolver.foreign_abbrevs.failed ||
        !check_split_unit(result, joiner) || !note_covered(result, joiner))
        return false;
    return !result->is_last ||
           (add_uncovered_lines(result, joiner) &&
            dwarf_spend(&joiner->budget->rows, joiner->all_rows - joiner->row_budget) &&
            dwarf_spend(&joiner->budget->visits,
                        joiner->all_visits - joiner->visit_budget));
}

bool unit_functions_read_on(unit_functions *result, unit_joiner *joiner) {
    result->rows.count = joiner->table_rows; /* without those gathered for the last part */
    return clear(result) && dwarf_walk_on(&joiner->walk, &joiner->unit, joiner->warnings) &&
           join_part(result, joiner);
}

static bool read_unit(unit_functions *result, unit_joiner *joiner,
                      const unit_source *source, size_t index) {
    if (!unit_functions_clear(result, index)) return false;
    joiner->is_contradicted = joiner->is_cut = false;
    joiner->covered.count = 0;
    joiner->knows_ranges = false;
    joiner->abbrevs.limit = joiner->skeleton_abbrevs.limit = OWN_TABLES;
    joiner->walk.most = PART_FUNCTIONS;
    if (!open_unit(result, joiner, source))
        return !joiner->abbrevs.failed && !joiner->skeleton_abbrevs.failed;
    joiner->long_names = LIMIT_OF(DIE_NAMES, joiner->unit.header->end -
                                                 joiner->unit.header->offset);
    joiner->unit.long_names = &joiner->long_names;
    if (!dwarf_walk_unit(&joiner->walk, &joiner->unit, joiner->warnings)) return false;
    /* A part that dwz moved out of several units has the line table of one of them. */
    if (joiner->walk.functions.count == 0 &&
        (joiner->line_unit->tag == DW_TAG_partial_unit ||
         !joiner->line_unit->has_stmt_list))
        return true;
    if (!read_lines(result, joiner)) return false;
    joiner->resolver.unit = &joiner->unit;
    joiner->resolver.walk = &joiner->walk;
    joiner->resolver.warnings = joiner->warnings;
    joiner->resolver.foreign.header = NULL;
    joiner->resolver.known = joiner->known;
    joiner->has_repetitions = dwarf_language_has_scopes(joiner->unit.language);
    result->has_linkage_names = joiner->unit.language != DW_LANG_Go;
    joiner->resolver.arena = &result->arena;
    joiner->resolver.budget = joiner->budget;
    joiner->row_budget = joiner->all_rows = LIMIT_OF(ROWS, joiner->rows->count);
    joiner->node_budget = CONTENTS_FLOOR;
    joiner->visit_budget = joiner->all_visits =
        LIMIT_OF(STEPS, joiner->unit.header->end - joiner->unit.header->offset);
    return join_part(result, joiner);
}

bool unit_functions_read(unit_functions *result, unit_joiner *joiner,
                         const unit_source *source, size_t index) {
    unit_source alone = {source->input, source->header, NULL};
    return read_unit(result, joiner, source, index) &&
           (!joiner->is_contradicted || read_unit(result, joiner, &alone, index));
}
