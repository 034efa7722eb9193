/* breakpad_inlines.c - write the inlined calls of a function as INLINE records.
 *
 *     INLINE level call_line call_file origin (address size)+
 *
 * Readers find a call by its level and an address, so each range has to be inside of a
 * range of the caller, and ranges of siblings must not overlap. Readers disagree about
 * calls that break these rules, so such calls are left out, with all calls inlined into
 * them. No function here calls itself, and the time is that of sorting the ranges. */
#include "base/digits.h"
#include "export/breakpad.h"

#define NO_PARENT UINT32_MAX

enum {
    MAX_HEAD_SIZE = sizeof "INLINE" + 4 * (MAX_DECIMAL_SIZE + 1),
    MAX_RANGE_SIZE = 2 * (MAX_HEX_SIZE + 1)
};

void export_inlines_deinit(export_inlines *inlines) {
    free(inlines->verdicts.items);
    free(inlines->siblings.items);
}

/* ---- which calls are written ------------------------------------------------------ */

static const gsym_range *ranges_of(const gsym_function *function, size_t node) {
    return function->ranges + function->nodes[node].range_first;
}

static bool has_code(const gsym_range *ranges, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (ranges[i].start < ranges[i].end) return true;
    return false;
}

/* Whether one of the ascending `ranges` contains all of `inner`. */
static bool holds(const gsym_range *ranges, size_t count, gsym_range inner) {
    size_t low = 0;
    SEARCH_SORTED(low, count, ranges[middle].end <= inner.start);
    return low < count && ranges[low].start <= inner.start &&
           inner.end <= ranges[low].end;
}

static bool lies_inside(const gsym_function *function, size_t node, size_t parent) {
    const gsym_range *ranges = ranges_of(function, node);
    const gsym_range *outer = ranges_of(function, parent);
    for (size_t i = 0; i < function->nodes[node].range_count; ++i)
        if (ranges[i].start < ranges[i].end &&
            !holds(outer, function->nodes[parent].range_count, ranges[i]))
            return false;
    return true;
}

static uint32_t find_parent(const inline_verdict *verdicts, const gsym_function *function,
                            size_t node) {
    uint32_t parent = (uint32_t)node - 1;
    if (node == 0) return NO_PARENT;
    while (function->nodes[parent].depth >= function->nodes[node].depth)
        parent = verdicts[parent].parent;
    return parent;
}

/* Decide from its ranges and those of its caller whether a call can be written, and note
 * for the caller whether ranges of its calls may overlap. */
static void judge(inline_verdict *verdicts, const gsym_function *function, size_t node) {
    const gsym_range *ranges = ranges_of(function, node);
    size_t count = function->nodes[node].range_count;
    inline_verdict *verdict = &verdicts[node], *parent;
    bool is_in_order = ranges_ascend(ranges, count, 0);
    *verdict = (inline_verdict){.parent = find_parent(verdicts, function, node)};
    verdict->is_kept = is_in_order && has_code(ranges, count);
    if (node == 0) return;
    parent = &verdicts[verdict->parent];
    parent->may_overlap |= !is_in_order || ranges[0].start < parent->claimed;
    if (is_in_order && ranges[count - 1].end > parent->claimed)
        parent->claimed = ranges[count - 1].end;
    verdict->is_kept = verdict->is_kept && lies_inside(function, node, verdict->parent);
}

static int compare_siblings(const void *left, const void *right) {
    const sibling_range *a = left, *b = right;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return (a->range.start > b->range.start) - (a->range.start < b->range.start);
}

static gsym_status gather_siblings(export_inlines *inlines,
                                   const gsym_function *function, gsym_error *error) {
    const inline_verdict *verdicts = inlines->verdicts.items;
    inlines->siblings.count = 0;
    if (!LIST_RESERVE(inlines->siblings, function->range_count))
        return gsym_fail_memory(error);
    for (size_t node = 1; node < function->node_count; ++node) {
        const gsym_range *ranges = ranges_of(function, node);
        if (!verdicts[verdicts[node].parent].may_overlap) continue;
        for (size_t i = 0; i < function->nodes[node].range_count; ++i)
            if (ranges[i].start < ranges[i].end)
                inlines->siblings.items[inlines->siblings.count++] =
                    (sibling_range){ranges[i], verdicts[node].parent, (uint32_t)node};
    }
    return GSYM_OK;
}

/* Drop siblings that overlap: a lookup takes the first one of them, readers of Breakpad may
 * take another. */
static gsym_status drop_overlapping(export_inlines *inlines,
                                    const gsym_function *function, gsym_error *error) {
    inline_verdict *verdicts = inlines->verdicts.items;
    const sibling_range *sibling, *longest;
    GSYM_TRY(gather_siblings(inlines, function, error));
    sibling = longest = inlines->siblings.items;
    qsort(inlines->siblings.items, inlines->siblings.count, sizeof *sibling,
          compare_siblings);
    for (size_t i = 1; i < inlines->siblings.count; ++i) {
        sibling++;
        if (sibling->parent == longest->parent && sibling->node != longest->node &&
            sibling->range.start < longest->range.end)
            verdicts[sibling->node].is_kept = verdicts[longest->node].is_kept = false;
        if (sibling->parent != longest->parent ||
            sibling->range.end > longest->range.end)
            longest = sibling;
    }
    return GSYM_OK;
}

static gsym_status settle(export_inlines *inlines, const gsym_function *function,
                          gsym_error *error) {
    bool may_overlap = false;
    inline_verdict *verdicts;
    inlines->verdicts.count = 0;
    if (!LIST_RESERVE(inlines->verdicts, function->node_count))
        return gsym_fail_memory(error);
    verdicts = inlines->verdicts.items;
    for (size_t node = 0; node < function->node_count; ++node) {
        judge(verdicts, function, node);
        may_overlap |= node > 0 && verdicts[verdicts[node].parent].may_overlap;
    }
    if (may_overlap) GSYM_TRY(drop_overlapping(inlines, function, error));
    for (size_t node = 1; node < function->node_count; ++node)
        verdicts[node].is_kept &= verdicts[verdicts[node].parent].is_kept;
    return GSYM_OK;
}

/* ---- records ------------------------------------------------------------------------ */

/* Put the parts of ranges inside `extent`; false if there are none. */
static bool put_ranges(uint8_t **at, const gsym_range *ranges, size_t count,
                       uint64_t base, answer_extent extent) {
    uint8_t *begin = *at;
    for (size_t i = 0; i < count; ++i) {
        uint64_t start = ranges[i].start - base, end = ranges[i].end - base;
        if (start < extent.start) start = extent.start;
        if (end > extent.end) end = extent.end;
        if (start >= end) continue;
        *(*at)++ = ' ';
        *at = put_hex_unchecked(*at, start);
        *(*at)++ = ' ';
        *at = put_hex_unchecked(*at, end - start);
    }
    return *at != begin;
}

static uint8_t *put_number(uint8_t *at, uint64_t value) {
    *at++ = ' ';
    return put_decimal_unchecked(at, value);
}

static gsym_status put_call(gsym_breakpad_export *export, gsym_text *text,
                            const gsym_function *function, const gsym_inline_node *node,
                            uint64_t level, answer_extent extent, gsym_error *error) {
    uint8_t *at;
    size_t count = node->range_count;
    if (!buffer_reserve(&text->out, MAX_HEAD_SIZE + count * MAX_RANGE_SIZE + 1))
        return gsym_fail_memory(error);
    at = text->out.bytes + text->out.size;
    memcpy(at, "INLINE", 6);
    at = put_number(at + 6, level);
    at = put_number(at, node->call_line);
    at = put_number(at, export_file(export->image, node->call_file));
    at = put_number(at, name_numbers_of(&export->origins, node->name));
    if (!put_ranges(&at, function->ranges + node->range_first, count,
                    export->image->header.base_address, extent))
        return GSYM_OK;
    *at++ = '\n';
    text->out.size = (size_t)(at - text->out.bytes);
    export->counts.inlined_calls++;
    return GSYM_OK;
}

gsym_status export_inlines_put(gsym_breakpad_export *export, gsym_text *text,
                               const gsym_function *function, answer_extent extent,
                               gsym_error *error) {
    bool root_is_call;
    if (function->node_count == 0) return GSYM_OK;
    root_is_call = function_walk_is_call(export->image, &function->nodes[0]);
    GSYM_TRY(settle(&export->inlines, function, error));
    for (size_t i = root_is_call ? 0 : 1; i < function->node_count; ++i) {
        const gsym_inline_node *node = &function->nodes[i];
        uint64_t level = (uint64_t)node->depth - !root_is_call;
        if (export->inlines.verdicts.items[i].is_kept)
            GSYM_TRY(put_call(export, text, function, node, level, extent, error));
        else if (has_code(ranges_of(function, i), node->range_count))
            export->counts.inlined_calls_left_out++;
    }
    return GSYM_OK;
}
