/* return_pads.c - from one call to the next: which ranges of a flattened function cover it,
 * and what they say there. */
#include "symbfile/return_pads.h"

void return_pads_deinit(return_pads *pads) {
    free(pads->open.items);
    free(pads->entries.items);
}

bool return_pads_seek(return_pads *pads, uint64_t start, uint64_t end) {
    const gsym_calls *calls = pads->calls;
    while (pads->next < calls->addresses.count &&
           calls->addresses.items[pads->next] < start)
        pads->next++;
    return pads->next < calls->addresses.count && calls->addresses.items[pads->next] < end;
}

/* Go on to the ranges at `address`: they begin in ascending order, each in those around
 * it. *range is the first that may begin. */
static bool open_ranges(return_pads *pads, const function_levels *levels, size_t *range,
                        uint64_t address) {
    const level_range *ranges = levels->ranges.items;
    for (; *range < levels->ranges.count && ranges[*range].start <= address; ++*range) {
        pads->open.count = ranges[*range].depth;
        if (!ARRAY_RESERVE(pads->open, 1)) return false;
        pads->open.items[pads->open.count++] = (uint32_t)*range;
    }
    while (pads->open.count > 0 &&
           ranges[pads->open.items[pads->open.count - 1]].end <= address)
        pads->open.count--;
    return true;
}

/* The row that a range has at an address, or NULL. */
static const gsym_symbfile_row *row_at(const function_levels *levels,
                                       const level_range *range, uint64_t address) {
    const gsym_symbfile_row *rows = levels->rows.items + range->row_first;
    size_t known = 0, left = range->row_count;
    while (left > 0) {
        size_t half = left / 2;
        bool is_known = rows[known + half].offset <= address - range->start;
        known += is_known ? half + 1 : 0;
        left = is_known ? left - half - 1 : half;
    }
    return known == 0 ? NULL : &rows[known - 1];
}

/* Where a function of the chain is at `address`: at the call that is inlined there, which
 * is the range behind it, or at a line of its own. *file_ret is a number of the image. */
static uint32_t place_in(const return_pads *pads, const gsym_function *function,
                         const function_levels *levels, size_t depth, uint64_t address,
                         uint32_t *file_ret) {
    const level_range *range = &levels->ranges.items[pads->open.items[depth]];
    const gsym_symbfile_row *row;
    if (depth + 1 < pads->open.count) {
        const gsym_inline_node *call =
            level_call(function, &levels->ranges.items[pads->open.items[depth + 1]]);
        *file_ret = call->call_file;
        return call->call_line;
    }
    row = row_at(levels, range, address);
    *file_ret = row != NULL ? range->file : 0;
    return row != NULL ? row->line : 0;
}

/* What the open ranges say of a call. *is_known_ret: all of them have names; those of a
 * damaged record may not. */
static gsym_status list_entries(return_pads *pads, const gsym_function *function,
                                const function_levels *levels, uint64_t address,
                                bool *is_known_ret, gsym_error *error) {
    *is_known_ret = true;
    pads->entries.count = 0;
    if (!ARRAY_RESERVE(pads->entries, pads->open.count)) return gsym_fail_memory(error);
    for (size_t depth = 0; depth < pads->open.count; ++depth) {
        const level_range *range = &levels->ranges.items[pads->open.items[depth]];
        gsym_symbfile_entry *entry = &pads->entries.items[pads->entries.count++];
        uint32_t file;
        entry->line = place_in(pads, function, levels, depth, address, &file);
        entry->func = symbfile_names_function(pads->names, level_name(function, range));
        *is_known_ret &= entry->func != 0;
        GSYM_TRY(
            symbfile_names_file(pads->names, pads->writer, file, &entry->file, error));
    }
    return GSYM_OK;
}

gsym_status return_pads_add(return_pads *pads, const gsym_function *function,
                            const function_levels *levels, uint64_t end, uint64_t *count,
                            gsym_error *error) {
    const gsym_calls *calls = pads->calls;
    size_t range = 0;
    pads->open.count = 0;
    for (; pads->next < calls->addresses.count; ++pads->next) {
        uint64_t address = calls->addresses.items[pads->next];
        uint64_t returns = address + calls->sizes.items[pads->next];
        bool is_known;
        if (address < levels->ranges.items[0].start || address >= end) break;
        if (!open_ranges(pads, levels, &range, address)) return gsym_fail_memory(error);
        GSYM_TRY(list_entries(pads, function, levels, address, &is_known, error));
        if (!is_known || pads->entries.count == 0) continue;
        if (!calls->lines.items[pads->next])
            pads->entries.items[pads->entries.count - 1].line = 0;
        GSYM_TRY(gsym_symbfile_writer_add_return_pad(pads->writer, returns - 1,
                                                     pads->entries.items,
                                                     pads->entries.count, error));
        ++*count;
    }
    return GSYM_OK;
}
