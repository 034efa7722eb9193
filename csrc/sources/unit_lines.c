/* unit_lines.c - keep rows of the line table that no function has. */
#include "sources/unit_joiner.h"

/* Whether a range in which no row starts is not code of the unit: padding that aligns the
 * next function, or outside of the unit's ranges although these contain `row`, the address
 * of the row before it. Ranges that lack the row too, as in strict DWARF 2, say nothing. */
static bool is_of_others(unit_joiner *joiner, uint64_t row, gsym_range range,
                         bool *is_ret) {
    const range_list *own = &joiner->own_ranges;
    uint64_t size = range.end - range.start;
    size_t at = 0;
    *is_ret = size < MAX_PADDING && size < (range.end & -range.end);
    if (*is_ret) return true;
    if (!unit_read_own_ranges(joiner)) return false;
    SEARCH_SORTED(at, own->count, own->items[middle].end <= row);
    *is_ret = at < own->count && own->items[at].start <= row;
    SEARCH_SORTED(at, own->count, own->items[middle].end <= range.start);
    *is_ret = *is_ret && (at == own->count || own->items[at].start >= range.end);
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
                           .has_shared_rows = joiner->rows != &result->rows,
                           .is_lines = true};
    bool is_of_other = false;
    uint64_t row;
    unit_rows_of_sequence(joiner->rows, sequence, &range, &lines.row_first,
                          &lines.row_count);
    row = joiner->rows->items[lines.row_first].address;
    if (lines.row_count == 1 && row < range.start &&
        !is_of_others(joiner, row, range, &is_of_other))
        return false;
    if (is_of_other || !creator_answers_in(joiner->creator, range.start, range.end))
        return true;
    if (lines.size > UINT32_MAX) {
        dwarf_warn(joiner->warnings, GSYM_WARN_TOO_LARGE, lines.die_offset, range.start);
        return true;
    }
    if (!unit_number_row_files(result, joiner, &lines)) return false;
    if (lines.row_count == 0) return true; /* too many sequences overlap */
    lines.fingerprint = 0;
    return LIST_ADD(result->functions, lines);
}

/* Add the rows of a sequence that no function has, for an object file whose functions the
 * linker moved one by one. */
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

bool unit_note_covered(const unit_functions *result, unit_joiner *joiner) {
    range_list *covered = &joiner->covered;
    if (!LIST_RESERVE(*covered, result->functions.count + 1)) return false;
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

/* Add the rows in a range that no function has. */
static bool add_lines_in(unit_functions *result, unit_joiner *joiner, gsym_range range) {
    const dwarf_line_table *lines = joiner->lines;
    size_t at = 0;
    SEARCH_SORTED(at, lines->by_low.count,
                  lines->by_low.items[middle].reach <= range.start);
    for (; at < lines->by_low.count && lines->by_low.items[at].low < range.end; ++at) {
        const line_sequence *sequence = unit_sequence_by_low(lines, at);
        gsym_range part = {sequence->low, sequence->high};
        if (!spend(joiner, &joiner->visit_budget, 1, joiner->unit.header->offset))
            return true;
        if (part.start < range.start) part.start = range.start;
        if (part.end > range.end) part.end = range.end;
        if (part.start < part.end && unit_are_rows_live(joiner->unit.code, sequence) &&
            !add_lines_between(result, joiner, sequence, part))
            return false;
    }
    return true;
}

bool unit_add_uncovered_lines(unit_functions *result, unit_joiner *joiner) {
    const range_list *own = &joiner->own_ranges;
    if (joiner->lines->version == 0) return true;
    ranges_join(&joiner->covered, 0);
    if (joiner->owns_lines)
        return add_lines_in(result, joiner, (gsym_range){0, UINT64_MAX});
    if (!unit_read_own_ranges(joiner)) return false;
    for (size_t i = 0; i < own->count; ++i)
        if (!add_lines_in(result, joiner, own->items[i])) return false;
    return true;
}
