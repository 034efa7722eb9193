/* input.c - record warnings; say whether an address may be code, and how far the linker
 * moved it. */
#include "dwarf/input.h"

void dwarf_warn(warning_list *warnings, gsym_warning_category category, uint64_t offset,
                uint64_t value) {
    ++warnings->counts[category];
    if (!warnings->keep) return;
    if (!LIST_RESERVE(*warnings, 1)) {
        warnings->failed = true;
        return;
    }
    warnings->items[warnings->count++] =
        (gsym_warning){(uint32_t)category, warnings->file, offset, value};
}

bool dwarf_in_text(const dwarf_input *input, uint64_t address) {
    size_t low = 0;
    if (input->text_count == 0) return true;
    SEARCH_SORTED(low, input->text_count, input->text[middle].end <= address);
    return low < input->text_count && input->text[low].start <= address;
}

uint64_t dwarf_shift_at(const dwarf_input *input, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, input->span_count, input->spans[middle].start <= address);
    return low == 0 ? 0 : input->spans[low - 1].address - input->spans[low - 1].start;
}
