/* unit_evidence.c - find out whether a split unit belongs to this binary. */
#include "sources/unit_joiner.h"

bool unit_read_own_ranges(unit_joiner *joiner) {
    range_list *own = &joiner->own_ranges;
    warning_list ignored = {0}; /* these ranges only add evidence, so damage of them is
                                   not reported */
    if (joiner->knows_ranges) return true;
    own->count = 0;
    if (!dwarf_unit_ranges(joiner->line_unit, own, &ignored)) return false;
    ranges_join(own, 0);
    joiner->knows_ranges = true;
    return true;
}

/* What the symbols of a binary say about a function of a split unit. Tools that move code
 * do not change the id by which a split file is found. So the split file of an older build
 * may be found, whose addresses belong to other functions now. */
typedef enum evidence { AGREES, SAYS_NOTHING, CONTRADICTS } evidence;

/* Whether a symbol with a size starts in a range after its first byte. */
static bool has_symbol_inside(unit_joiner *joiner, uint64_t offset,
                              const gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    size_t at = unit_live_from(code, range->start + 1);
    for (; at < code->live_count && code->live[at].address < range->end; ++at) {
        if (code->live[at].size > 0) return true;
        if (!spend(joiner, &joiner->visit_budget, 1, offset)) return false;
    }
    return false;
}

/* Whether the ranges of the skeleton contain a range of its split unit, or are not
 * known. */
static bool is_in_skeleton(const unit_joiner *joiner, const gsym_range *range) {
    const range_list *own = &joiner->own_ranges;
    size_t at = 0;
    SEARCH_SORTED(at, own->count, own->items[middle].end <= range->start);
    return own->count == 0 || (at < own->count && own->items[at].start <= range->start &&
                               range->end <= own->items[at].end);
}

/* Compare a range of a function with the symbols. A symbol of the same name corrects the
 * end of the range: a linker may shorten code, but does not change the split file. */
static evidence compare_with_symbols(const unit_functions *result, unit_joiner *joiner,
                                     uint64_t offset, uint32_t name, gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    uint64_t size = range->end - range->start;
    bool has_size = false, has_other_size = false;
    size_t at = unit_live_from(code, range->start);
    for (; at < code->live_count && code->live[at].address == range->start; ++at) {
        const live_code *symbol = &code->live[at];
        if (symbol->size == 0) continue;
        if (!spend(joiner, &joiner->visit_budget, 1, offset)) return SAYS_NOTHING;
        has_size |= symbol->size == size;
        has_other_size |= symbol->size != size;
        if (name == NO_INDEX || !unit_is_named(&result->names.items[name], symbol))
            continue;
        if (symbol->size >= size) return AGREES;
        if (has_symbol_inside(joiner, offset, range) || !is_in_skeleton(joiner, range)) {
            joiner->is_cut = true;
            range->end = range->start + symbol->size;
        }
        return SAYS_NOTHING;
    }
    if (has_size) return SAYS_NOTHING; /* other names alone say nothing, because tools
                                          may rename symbols */
    return has_other_size || unit_is_inside_live(code, range->start) ||
                   has_symbol_inside(joiner, offset, range)
               ? CONTRADICTS
               : SAYS_NOTHING;
}

bool unit_contradicts(const unit_functions *result, unit_joiner *joiner,
                      const walk_function *source, uint32_t name) {
    gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    const dwarf_input *code = joiner->unit.code;
    /* Whether the function agrees if no range contradicts. It does if nothing can be
     * compared: no symbol has a size, or the file has spans, so that its addresses are not
     * those of the symbols. */
    bool agrees = !code->has_live_sizes || code->span_count > 0;
    joiner->is_cut = false;
    for (uint32_t i = 0; i < source->range_count && code->span_count == 0; ++i) {
        evidence found;
        if (unit_is_dropped(result, joiner, source, name, &ranges[i])) continue;
        found = compare_with_symbols(result, joiner, source->offset, name, &ranges[i]);
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
