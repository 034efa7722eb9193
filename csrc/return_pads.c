/* return_pads.c - calls and the frames at each as return pads of a symbfile. */
#include "calls.h"
#include "symbfile_names.h"

typedef struct pad_writer {
    gsym_symbfile_writer *writer;
    gsym_symbfile_names *names;
    struct {
        gsym_symbfile_entry *items;
        size_t count, capacity;
    } entries; /* of one pad */
} pad_writer;

/* The frames in rows first .. end - 1, which come innermost first. *is_known_ret: all of
 * them have names; those of a damaged record may not. */
static gsym_status list_entries(pad_writer *pads, const gsym_columns *frames, size_t first,
                                size_t end, bool *is_known_ret, gsym_error *error) {
    *is_known_ret = true;
    pads->entries.count = 0;
    if (!ARRAY_RESERVE(pads->entries, end - first)) return gsym_fail_memory(error);
    for (size_t row = end; row-- > first;) {
        gsym_symbfile_entry *entry = &pads->entries.items[pads->entries.count++];
        entry->func = symbfile_names_function(pads->names, frames->name[row]);
        entry->line = frames->line[row];
        *is_known_ret &= entry->func != 0;
        GSYM_TRY(symbfile_names_file(pads->names, pads->writer, frames->file[row],
                                     &entry->file, error));
    }
    return GSYM_OK;
}

static gsym_status add_pads(pad_writer *pads, const gsym_calls *calls, size_t first,
                            const gsym_columns *frames, uint64_t *count_ret,
                            gsym_error *error) {
    for (size_t row = 0, end; row < frames->count; row = end) {
        size_t call = first + frames->address_index[row];
        bool is_known;
        for (end = row + 1; end < frames->count; ++end)
            if (frames->address_index[end] != frames->address_index[row]) break;
        if (call >= calls->addresses.count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "frames of no call");
        GSYM_TRY(list_entries(pads, frames, row, end, &is_known, error));
        if (!is_known) continue;
        if (!calls->lines.items[call]) pads->entries.items[end - row - 1].line = 0;
        GSYM_TRY(gsym_symbfile_writer_add_return_pad(
            pads->writer, calls->addresses.items[call] + calls->sizes.items[call] - 1,
            pads->entries.items, pads->entries.count, error));
        ++*count_ret;
    }
    return GSYM_OK;
}

gsym_status gsym_symbfile_writer_add_calls(gsym_symbfile_writer *writer,
                                           gsym_symbfile_names *names,
                                           const gsym_calls *calls, size_t first,
                                           const gsym_batch *batch, uint64_t *count_ret,
                                           gsym_error *error) {
    pad_writer pads = {.writer = writer, .names = names};
    gsym_columns frames;
    gsym_status status;
    *count_ret = 0;
    gsym_batch_columns(batch, &frames);
    status = add_pads(&pads, calls, first, &frames, count_ret, error);
    free(pads.entries.items);
    return status;
}
