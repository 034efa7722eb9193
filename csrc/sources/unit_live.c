/* unit_live.c - find out, by symbols, which code the linker dropped. */
#include "sources/unit_joiner.h"

bool unit_is_named(const unit_name *name, const live_code *code) {
    for (size_t i = 0; i < LIVE_NAMES; ++i)
        if (code->hashes[i] == name->hash) return true;
    return false;
}

/* Whether the function of a DIE may be the code at the start of `range`. */
static bool is_the_code(const unit_functions *result, const unit_joiner *joiner,
                        uint32_t name, const gsym_range *range, const live_code *code) {
    bool has_size = code->size == range->end - range->start;
    if (name != NO_INDEX && unit_is_named(&result->names.items[name], code))
        return has_size || code->size == 0 || range->start > 0;
    /* In a language with scopes, names are composed and never equal those of symbols. So
     * another name says nothing there, and the size decides. */
    return has_size && (name == NO_INDEX || range->start > 0 ||
                        dwarf_language_has_scopes(joiner->unit.language));
}

size_t unit_live_from(const dwarf_input *code, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, code->live_count, code->live[middle].address < address);
    return low;
}

bool unit_is_inside_live(const dwarf_input *code, uint64_t address) {
    size_t at = unit_live_from(code, address);
    if (at == 0) return false;
    at = unit_live_from(code, code->live[at - 1].address);
    return address - code->live[at].address < code->live[at].size;
}

/* Whether a function extends up to the next address with code. Then it may be one without a
 * symbol, such as a local function whose symbol the linker omitted. */
static bool fills_gap(const dwarf_input *code, const gsym_range *range) {
    size_t at = unit_live_from(code, range->start);
    uint64_t next = code->text_count > 0 ? code->text[0].end : UINT64_MAX;
    if (at < code->live_count && code->live[at].address < next)
        next = code->live[at].address;
    return range->end <= next && next - range->end < MAX_PADDING;
}

/* Whether the code at the start of `range` is that of a function, by its symbols. */
static bool is_live(const unit_functions *result, unit_joiner *joiner,
                    const walk_function *source, uint32_t name, const gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    size_t first = unit_live_from(code, range->start), at = first;
    for (; at < code->live_count && code->live[at].address == range->start; ++at) {
        if (!code->live[at].has_name) return at == first;
        if (!spend(joiner, &joiner->visit_budget, 1, source->offset)) return false;
        if (is_the_code(result, joiner, name, range, &code->live[at])) return true;
    }
    if (at > first) return false;
    return range->start > 0 ? !unit_is_inside_live(code, range->start)
                            : fills_gap(code, range);
}

bool unit_is_dropped(const unit_functions *result, unit_joiner *joiner,
                     const walk_function *source, uint32_t name,
                     const gsym_range *range) {
    dwarf_line_table *own = &joiner->own_lines;
    const line_sequence *sequence;
    if (!joiner->unit.code->knows_live) return false;
    sequence = unit_sequence_of(joiner, source, range);
    if (range->start > 0 && (sequence == NULL || sequence->low > 0)) return false;
    if (is_live(result, joiner, source, name, range)) return false;
    if (sequence != NULL && joiner->lines == own)
        own->sequences.items[sequence - own->sequences.items].is_dropped = true;
    return true;
}

/* Return the address of the code of a function, given the start of its range. Clang for
 * AVR writes addresses of 16 bits for programs of any size: a function above 64 KiB is
 * described at the lower half of its address, and its symbol has all of it. */
static uint64_t whole_address(const unit_functions *result, const unit_joiner *joiner,
                              uint32_t name, const gsym_range *range) {
    const dwarf_input *code = joiner->unit.code;
    uint64_t size = range->end - range->start;
    for (unsigned high = 0; high <= UINT8_MAX; ++high) {
        uint64_t address = range->start + ((uint64_t)high << 16);
        size_t at = unit_live_from(code, address), last = at + LIVE_NAMES;
        if (at == code->live_count) break;
        for (; at < code->live_count && at < last && code->live[at].address == address;
             ++at)
            if (unit_is_named(&result->names.items[name], &code->live[at]) &&
                (code->live[at].size == size || code->live[at].size == 0))
                return address;
    }
    return range->start;
}

uint64_t unit_shift_of(const unit_functions *result, const unit_joiner *joiner,
                       uint32_t name, const gsym_range *range) {
    uint64_t shift = dwarf_shift_at(joiner->unit.code, range->start);
    if (GSYM_LIKELY(joiner->unit.header->address_size > 2) || name == NO_INDEX)
        return shift;
    return shift + whole_address(result, joiner, name, range) - range->start;
}

bool unit_are_rows_live(const dwarf_input *code, const line_sequence *sequence) {
    if (!code->knows_live || sequence->low > 0) return true;
    return !sequence->is_dropped && code->live_count > 0 && code->live[0].address == 0 &&
           !unit_is_inside_live(code, sequence->high);
}
