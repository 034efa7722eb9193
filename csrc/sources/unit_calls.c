/* unit_calls.c - find the inlined calls and call sites in each part of a function. */
#include "sources/unit_joiner.h"

static uint64_t size_of_overlap(const gsym_range *left, const gsym_range *right) {
    uint64_t start = left->start > right->start ? left->start : right->start;
    uint64_t end = left->end < right->end ? left->end : right->end;
    return start < end ? end - start : 0;
}

#define MAX_RANGES_SEARCHED 256 /* greatest number of ranges of a DIE that are searched */

/* Whether the ranges of a DIE, which need not be sorted, contain `range`. Of more than
 * MAX_RANGES_SEARCHED ranges this is not known, and the answer is yes. */
static bool is_listed(const gsym_range *ranges, size_t count, const gsym_range *range) {
    uint64_t size = 0;
    if (count > MAX_RANGES_SEARCHED) return true;
    for (size_t i = 0; i < count; ++i) size += size_of_overlap(&ranges[i], range);
    return size >= range->end - range->start;
}

/* Append the parts of a range that are in the ranges of the parent, which are sorted and
 * disjoint, and add their sizes to *size_ret. */
static bool add_clipped(unit_functions *result, unit_joiner *joiner, const walk_node *node,
                        const unit_node *parent, gsym_range range,
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

/* Return the ranges of the caller of an inlined call. */
static const gsym_range *ranges_of_caller(const unit_walk *walk, const walk_node *node,
                                          uint32_t *count_ret) {
    const walk_function *function = &walk->functions.items[node->function];
    bool is_function = node->outer == NO_INDEX;
    const walk_node *outer = is_function ? NULL : &walk->nodes.items[node->outer];
    *count_ret = is_function ? function->range_count : outer->range_count;
    return walk->ranges.items + (is_function ? function->range_first : outer->range_first);
}

/* Whether the caller of an inlined call contains a range in any of its own ranges. */
static bool is_in_caller(const unit_walk *walk, const walk_node *node,
                         const gsym_range *range) {
    uint32_t count;
    const gsym_range *ranges = ranges_of_caller(walk, node, &count);
    return is_listed(ranges, count, range);
}

/* Clip the ranges of a node to those of its parent, and append what is left. *is_elsewhere
 * is set if all ranges are empty, or if what was cut off is in another part of the
 * function. */
static bool keep_ranges(unit_functions *result, unit_joiner *joiner, const walk_node *node,
                        const gsym_range *raw, uint32_t raw_count,
                        const unit_node *parent, bool *is_elsewhere) {
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
    if (result->nodes.count >= NO_INDEX || !LIST_RESERVE(result->nodes, 1)) return false;
    result->nodes.items[result->nodes.count++] = (unit_node){
        name, file_code, line, depth, (uint32_t)range_first,
        (uint32_t)(result->ranges.count - range_first)};
    return true;
}

/* Whether the caller of an inlined call has an inlined call, this or another one, at an
 * address. When half of the steps of the unit are spent, the answer is yes: the other half
 * is for placing calls. */
static bool is_in_call(unit_joiner *joiner, const walk_node *node,
                       const gsym_range *address) {
    const unit_walk *walk = &joiner->walk;
    const walk_function *function = &walk->functions.items[node->function];
    for (uint32_t i = function->node_first; i < function->node_end; ++i) {
        const walk_node *other = &walk->nodes.items[i];
        if (joiner->visit_budget <= joiner->all_visits / 2) return true;
        joiner->visit_budget -= 1 + (other->range_count < MAX_RANGES_SEARCHED
                                         ? other->range_count
                                         : MAX_RANGES_SEARCHED);
        if (other->function != node->function || other->outer != node->outer) continue;
        if (is_listed(walk->ranges.items + other->range_first, other->range_count,
                      address))
            return true;
    }
    return false;
}

/* Find the file of a row of the caller of an inlined call: of the row just before or just
 * after a range of the call. NO_FILE if there is none. */
static uint64_t file_beside_call(unit_joiner *joiner, const walk_node *node) {
    const unit_walk *walk = &joiner->walk;
    uint64_t file = NO_FILE;
    uint32_t range_count;
    (void)ranges_of_caller(walk, node, &range_count);
    /* Of so many ranges, is_listed() does not know whether they contain an address. */
    if (range_count > MAX_RANGES_SEARCHED) return NO_FILE;
    for (uint64_t i = 0; i < UINT64_C(2) * node->range_count && file == NO_FILE; ++i) {
        const gsym_range *call = &walk->ranges.items[node->range_first + i / 2];
        uint64_t address = i % 2 == 0 ? call->start - 1 : call->end;
        gsym_range beside = {address, address + 1};
        const line_sequence *sequence;
        uint32_t first, count;
        if (call->start >= call->end || address == UINT64_MAX ||
            !is_in_caller(walk, node, &beside) || is_in_call(joiner, node, &beside))
            continue;
        sequence =
            unit_sequence_of(joiner, &walk->functions.items[node->function], &beside);
        if (sequence == NULL) continue;
        unit_rows_of_sequence(joiner->rows, sequence, &beside, &first, &count);
        file = joiner->rows->items[first].file;
    }
    return file;
}

/* Find the file of a call without DW_AT_call_file, which compilers omit if it is the file
 * in which the caller is declared, or that of its rows; FILE_INVALID if neither is
 * known. */
static bool file_of_caller(unit_functions *result, unit_joiner *joiner,
                           const walk_node *node, uint32_t *code_ret) {
    const unit_walk *walk = &joiner->walk;
    uint64_t caller = node->outer == NO_INDEX
                          ? walk->functions.items[node->function].offset
                          : walk->nodes.items[node->outer].offset;
    uint64_t file, line, cost = 0;
    *code_ret = FILE_INVALID;
    if (joiner->visit_budget == 0) return true; /* a warning has been given */
    dwarf_declaration(&joiner->resolver, caller, &file, &line, &cost);
    if (!spend(joiner, &joiner->visit_budget, cost, caller)) joiner->visit_budget = 0;
    if (file == NO_FILE) file = file_beside_call(joiner, node);
    return file == NO_FILE || unit_file_code(result, joiner, file, code_ret);
}

static bool add_inlined_call(unit_functions *result, unit_joiner *joiner,
                             const walk_node *node, size_t range_first) {
    uint32_t name, code = FILE_INVALID;
    if (!unit_name_of_call(result, joiner, node->origin, &name)) return false;
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

static bool sort_parts(unit_joiner *joiner, const walk_function *source) {
    const gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    uint64_t reach = 0;
    joiner->parts.count = 0;
    if (!LIST_RESERVE(joiner->parts, source->range_count)) return false;
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

enum { CONTENT_VISITS = 8 }; /* steps that sorting and placing one content counts */

/* Add `content` to each part that starts at or before `last` and ends at or after
 * `min_end`. *is_cut is set if that takes too many steps. */
static bool add_to_parts(unit_joiner *joiner, part_contents *contents, part_content content,
                         uint64_t min_end, uint64_t last, uint64_t offset, bool *is_cut) {
    size_t at = 0;
    SEARCH_SORTED(at, joiner->parts.count,
                  joiner->parts.items[middle].range.start <= last);
    for (; at > 0 && joiner->parts.items[at - 1].reach >= min_end; --at) {
        const function_part *part = &joiner->parts.items[at - 1];
        *is_cut = !spend(joiner, &joiner->visit_budget, CONTENT_VISITS, offset);
        if (contents->count >= joiner->max_contents) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, offset, contents->count);
            *is_cut = true;
        }
        if (*is_cut) return true;
        content.part = part->number;
        if (part->range.end >= min_end && !LIST_ADD(*contents, content)) return false;
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

/* Order contents by part; those of a part keep their order. */
static bool group_by_part(unit_joiner *joiner, part_contents *contents) {
    size_t count = contents->count, sum = 0;
    uint32_t *starts;
    part_content *grouped;
    if (count < 2) return true;
    joiner->part_starts.count = 0;
    if (!LIST_RESERVE(joiner->part_starts, joiner->parts.count) ||
        !LIST_RESERVE(*contents, count))
        return false;
    starts = joiner->part_starts.items;
    memset(starts, 0, joiner->parts.count * sizeof *starts);
    for (size_t i = 0; i < count; ++i) ++starts[contents->items[i].part];
    for (size_t part = 0; part < joiner->parts.count; ++part) {
        size_t start = sum;
        sum += starts[part];
        starts[part] = (uint32_t)start;
    }
    grouped = contents->items + count;
    for (size_t i = 0; i < count; ++i)
        grouped[starts[contents->items[i].part]++] = contents->items[i];
    memcpy(contents->items, grouped, count * sizeof *grouped);
    return true;
}

bool unit_sort_into_parts(unit_joiner *joiner, uint32_t source_index) {
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
            number_map_fetch(&joiner->name_map, walk->nodes.items[i].origin);
            if (!add_call_to_parts(joiner, source, i, &is_cut)) return false;
        }
    for (uint32_t i = source->site_first; i < source->site_end && !is_cut; ++i) {
        const walk_call_site *site = &walk->call_sites.items[i];
        /* A call that is the last instruction of a range returns to the end of the
         * range. */
        if (site->function == source_index &&
            !add_to_parts(joiner, &joiner->sites, (part_content){0, i, 0},
                          site->return_address, site->return_address, source->offset,
                          &is_cut))
            return false;
    }
    return group_by_part(joiner, &joiner->calls) && group_by_part(joiner, &joiner->sites);
}

/* Find the contents of a part: *at_ret is the index of the first one; return the index
 * after the last one. Callers ask for parts in ascending order. */
static size_t contents_of(const part_contents *contents, uint32_t part, size_t *at_ret) {
    size_t end;
    while (*at_ret < contents->count && contents->items[*at_ret].part < part) ++*at_ret;
    end = *at_ret;
    while (end < contents->count && contents->items[end].part == part) ++end;
    return end;
}

/* Add a call that has `ranges` in the present part, unless its caller has none there;
 * `root` is the root node of the part. *is_cut is set if the unit takes too many steps. */
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

enum { NODES_AHEAD = 8 };

bool unit_find_nodes(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
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
            if (walk->nodes.count - i > NODES_AHEAD)
                number_map_fetch(&joiner->name_map, node[NODES_AHEAD].origin);
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
           (unit_name_of_origin(result, joiner, site->origin, &name) &&
            LIST_ADD(result->call_sites,
                     (unit_call_site){site->return_address - range->start, name}));
}

bool unit_find_call_sites(unit_functions *result, unit_joiner *joiner,
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
