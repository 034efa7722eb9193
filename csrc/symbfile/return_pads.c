/* return_pads.c - write return pads, the chains of functions at calls.
 *
 * The calls of a flattened function are visited in ascending order, and the ranges that
 * cover each call are found. */
#include "symbfile/extraction.h"

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

/* Advance the open ranges to `address`. Ranges are nested and sorted by start; *range is
 * the next one. */
static bool open_ranges(return_pads *pads, const function_levels *levels, size_t *range,
                        uint64_t address) {
    const level_range *ranges = levels->ranges.items;
    for (; *range < levels->ranges.count && ranges[*range].start <= address; ++*range) {
        pads->open.count = ranges[*range].depth;
        if (!LIST_ADD(pads->open, (uint32_t)*range)) return false;
    }
    while (pads->open.count > 0 &&
           ranges[pads->open.items[pads->open.count - 1]].end <= address)
        pads->open.count--;
    return true;
}

/* Find the row of a range at an address, or NULL. */
static const gsym_symbfile_row *row_at(const function_levels *levels,
                                       const level_range *range, uint64_t address) {
    const gsym_symbfile_row *rows = LIST_FROM(levels->rows, range->row_first);
    size_t low = 0;
    SEARCH_SORTED(low, range->row_count, rows[middle].offset <= address - range->start);
    return low == 0 ? NULL : &rows[low - 1];
}

/* Find the source position in a function of the chain at `address`: that of the call of the
 * next range or, in the innermost one, that of its row. *file_ret is a file of the
 * image. */
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

/* List the entries of a return pad, one for each open range. *is_known_ret is false if one
 * has no name, as in a damaged record. */
static gsym_status list_entries(return_pads *pads, const gsym_function *function,
                                const function_levels *levels, uint64_t address,
                                bool *is_known_ret, gsym_error *error) {
    *is_known_ret = true;
    pads->entries.count = 0;
    if (!LIST_RESERVE(pads->entries, pads->open.count)) return gsym_fail_memory(error);
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
                            const function_levels *levels, uint64_t end,
                            uint64_t *count, gsym_error *error) {
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
