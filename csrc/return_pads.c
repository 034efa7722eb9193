/* return_pads.c - calls and the frames at each as return pads of a symbfile. */
#include "calls.h"

enum { ENTRIES_AT_FIRST = 64 };

typedef struct entry_list {
    gsym_symbfile_entry *items;
    size_t count, capacity;
} entry_list;

/* The frames in rows first .. end of a batch, which come innermost first. */
static bool list_entries(entry_list *entries, const gsym_columns *frames, size_t first,
                         size_t end, const gsym_column_strings *names,
                         const gsym_column_strings *files) {
    entries->count = 0;
    if (!ARRAY_RESERVE(*entries, end - first)) return false;
    for (size_t row = end; row-- > first;)
        entries->items[entries->count++] = (gsym_symbfile_entry){
            .func = names->strings[names->codes[row]],
            .file = files->strings[files->codes[row]],
            .line = frames->line[row],
        };
    return true;
}

static gsym_status add_pads(gsym_symbfile_writer *writer, entry_list *entries,
                            const gsym_calls *calls, size_t first,
                            const gsym_columns *frames, const gsym_column_strings *names,
                            const gsym_column_strings *files, uint64_t *count_ret,
                            gsym_error *error) {
    for (size_t row = 0, end; row < frames->count; row = end) {
        size_t call = first + frames->address_index[row];
        uint64_t return_address;
        for (end = row + 1; end < frames->count; ++end)
            if (frames->address_index[end] != frames->address_index[row]) break;
        if (call >= calls->addresses.count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "frames of no call");
        if (!list_entries(entries, frames, row, end, names, files))
            return gsym_fail_memory(error);
        if (!calls->lines.items[call]) entries->items[entries->count - 1].line = 0;
        return_address = calls->addresses.items[call] + calls->sizes.items[call];
        GSYM_TRY(gsym_symbfile_writer_add_return_pad(writer, return_address - 1,
                                                     entries->items, entries->count,
                                                     error));
        ++*count_ret;
    }
    return GSYM_OK;
}

gsym_status gsym_symbfile_writer_add_calls(gsym_symbfile_writer *writer,
                                           const gsym_calls *calls, size_t first,
                                           const gsym_batch *batch,
                                           const gsym_column_strings *names,
                                           const gsym_column_strings *files,
                                           uint64_t *count_ret, gsym_error *error) {
    entry_list entries = {0};
    gsym_columns frames;
    gsym_status status;
    *count_ret = 0;
    gsym_batch_columns(batch, &frames);
    status = ARRAY_RESERVE(entries, ENTRIES_AT_FIRST)
                 ? add_pads(writer, &entries, calls, first, &frames, names, files,
                            count_ret, error)
                 : gsym_fail_memory(error);
    free(entries.items);
    return status;
}
