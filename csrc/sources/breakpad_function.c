/* breakpad_function.c - gather the line and INLINE records of a FUNC.
 *
 * A function is closed when the next one comes: the numbers of files and origins are
 * replaced by those of the output, as the records up to that line define them. A function
 * with a number that no FILE or INLINE_ORIGIN has defined yet waits until the text ends.
 * Closed functions are handed out in batches, which are encoded without reader and
 * creator. */
#include "sources/breakpad.h"

void numbering_deinit(numbering *numbers) {
    free(numbers->entries.items);
    number_map_deinit(&numbers->others);
}

bool numbering_look_up(numbering *numbers, uint32_t number, uint32_t *entry_ret) {
    size_t count = numbers->entries.count;
    uint64_t entry;
    if (number_map_find(&numbers->others, number, &entry)) {
        *entry_ret = (uint32_t)entry;
        return true;
    }
    if (count == UINT32_MAX || !LIST_RESERVE(numbers->entries, 1)) return false;
    numbers->entries.items[numbers->entries.count++] = (numbered){NUMBER_UNDEFINED, number};
    *entry_ret = (uint32_t)count;
    if (number - numbers->entries.items[0].number == count) return true;
    return number_map_set(&numbers->others, number, count);
}

static const char NAME_OMITTED[] = "<name omitted>";

/* Functions are handed out when their parts have so many bytes. */
enum { BATCH_SIZE = 1 << 20 };

gsym_status breakpad_open_function(gsym_breakpad *breakpad, uint64_t address,
                                   uint64_t size, uint64_t name, gsym_error *error) {
    GSYM_TRY(breakpad_close_function(breakpad, error));
    breakpad->function = (breakpad_function){
        .address = address,
        .name = name,
        .size = (uint32_t)size,
        .is_ordered = true,
        .position = breakpad->position,
        .row_first = breakpad->parts.rows.count,
        .inline_first = breakpad->parts.inlines.count,
        .piece_first = breakpad->parts.pieces.count,
    };
    breakpad->is_in_function = true;
    return GSYM_OK;
}

/* ---- numbers --------------------------------------------------------------------- */

static bool is_defined(const numbering *numbers, uint64_t entry) {
    return numbers->entries.items[entry].value != NUMBER_UNDEFINED;
}

static bool knows_all_numbers(const gsym_breakpad *breakpad,
                              const breakpad_function *function) {
    const breakpad_parts *parts = &breakpad->parts;
    if (!function->is_early) return true;
    for (size_t i = function->row_first; i < parts->rows.count; ++i)
        if (!is_defined(&breakpad->files, parts->rows.items[i].file)) return false;
    for (size_t i = function->inline_first; i < parts->inlines.count; ++i) {
        const breakpad_inline *call = &parts->inlines.items[i];
        if (!is_defined(&breakpad->origins, call->origin) ||
            (call->has_call_file && !is_defined(&breakpad->files, call->call_file)))
            return false;
    }
    return true;
}

static uint32_t file_of(gsym_breakpad *breakpad, const breakpad_function *function,
                        uint32_t entry) {
    const numbered *file = &breakpad->files.entries.items[entry];
    if (GSYM_LIKELY(file->value != NUMBER_UNDEFINED)) return (uint32_t)file->value;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_NO_FILE, function->position,
                  file->number, 1);
    return 0;
}

static gsym_status name_of_origin(gsym_breakpad *breakpad,
                                  const breakpad_function *function, uint64_t entry,
                                  uint64_t *name_ret, gsym_error *error) {
    const numbered *origin = &breakpad->origins.entries.items[entry];
    *name_ret = origin->value;
    if (GSYM_LIKELY(origin->value != NUMBER_UNDEFINED)) return GSYM_OK;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_NO_ORIGIN, function->position,
                  origin->number, 1);
    return gsym_creator_add_string(breakpad->creator, NAME_OMITTED,
                                   sizeof NAME_OMITTED - 1, name_ret, error);
}

/* Replace the indexes of entries by files and strps of the output. */
static gsym_status resolve_numbers(gsym_breakpad *breakpad,
                                   const breakpad_function *function,
                                   breakpad_parts *parts, gsym_error *error) {
    uint32_t entry = 0, file = 0;
    for (size_t i = 0; i < function->row_count; ++i) {
        breakpad_row *row = &parts->rows.items[function->row_first + i];
        if (i == 0 || row->file != entry) {
            entry = row->file;
            file = file_of(breakpad, function, entry);
        }
        row->file = file;
    }
    for (size_t i = 0; i < function->inline_count; ++i) {
        breakpad_inline *call = &parts->inlines.items[function->inline_first + i];
        GSYM_TRY(name_of_origin(breakpad, function, call->origin, &call->origin, error));
        if (call->has_call_file)
            call->call_file = file_of(breakpad, function, call->call_file);
    }
    return GSYM_OK;
}

/* ---- from one list to another ---------------------------------------------------- */

/* Append adjacent items of another list. */
#define LIST_APPEND(list, run, run_count)                                                 \
    ((run_count) == 0 ||                                                                  \
     (LIST_RESERVE(list, run_count) &&                                                    \
      (memcpy((list).items + (list).count, (run), (run_count) * sizeof *(list).items),    \
       (list).count += (run_count), true)))

/* Append the contents of a function to `to`, and let the function refer to them there. */
static bool copy_parts(breakpad_function *function, const breakpad_parts *from,
                       breakpad_parts *to) {
    breakpad_function copy = *function;
    copy.row_first = to->rows.count;
    copy.inline_first = to->inlines.count;
    copy.piece_first = to->pieces.count;
    if (!LIST_APPEND(to->rows, from->rows.items + function->row_first,
                     function->row_count) ||
        !LIST_APPEND(to->inlines, from->inlines.items + function->inline_first,
                     function->inline_count) ||
        !LIST_APPEND(to->pieces, from->pieces.items + function->piece_first,
                     function->piece_count))
        return false;
    *function = copy;
    return true;
}

static void count_parts(breakpad_function *function, const breakpad_parts *parts) {
    function->row_count = parts->rows.count - function->row_first;
    function->inline_count = parts->inlines.count - function->inline_first;
    function->piece_count = parts->pieces.count - function->piece_first;
}

static void drop_parts(const breakpad_function *function, breakpad_parts *parts) {
    parts->rows.count = function->row_first;
    parts->inlines.count = function->inline_first;
    parts->pieces.count = function->piece_first;
}

static gsym_status push(breakpad_function_list *list, const breakpad_function *function,
                        gsym_error *error) {
    return LIST_ADD(*list, *function) ? GSYM_OK : gsym_fail_memory(error);
}

/* ---- the end of a function ------------------------------------------------------- */

gsym_status breakpad_close_function(gsym_breakpad *breakpad, gsym_error *error) {
    breakpad_function *function = &breakpad->function;
    breakpad_function own;
    if (!breakpad->is_in_function) return GSYM_OK;
    breakpad->is_in_function = false;
    count_parts(function, &breakpad->parts);
    if (knows_all_numbers(breakpad, function)) {
        GSYM_TRY(resolve_numbers(breakpad, function, &breakpad->parts, error));
        return push(&breakpad->closed, function, error);
    }
    own = *function;
    if (!copy_parts(function, &breakpad->parts, &breakpad->waiting_parts))
        return gsym_fail_memory(error);
    drop_parts(&own, &breakpad->parts);
    return push(&breakpad->waiting, function, error);
}

gsym_status breakpad_close_waiting(gsym_breakpad *breakpad, gsym_error *error) {
    breakpad_function_list *waiting = &breakpad->waiting;
    for (size_t i = 0; i < waiting->count; ++i)
        GSYM_TRY(resolve_numbers(breakpad, &waiting->items[i], &breakpad->waiting_parts,
                                 error));
    return GSYM_OK;
}

/* ---- batches --------------------------------------------------------------------- */

static size_t size_of_parts(const breakpad_parts *parts) {
    return parts->rows.count * sizeof *parts->rows.items +
           parts->inlines.count * sizeof *parts->inlines.items +
           parts->pieces.count * sizeof *parts->pieces.items;
}

static gsym_breakpad_batch *spare_batch(gsym_breakpad *breakpad) {
    gsym_breakpad_batch *batch = breakpad->spare;
    if (batch == NULL) return breakpad_batch_create(breakpad);
    breakpad->spare = batch->next;
    return batch;
}

/* Move the functions and their contents into a batch; the reader gets the empty lists of
 * the batch in exchange. */
static gsym_status hand_out(gsym_breakpad *breakpad, breakpad_function_list *functions,
                            breakpad_parts *parts, gsym_breakpad_batch **batch_ret,
                            gsym_error *error) {
    gsym_breakpad_batch *batch = spare_batch(breakpad);
    breakpad_function_list empty_functions;
    breakpad_parts empty_parts;
    if (batch == NULL) return gsym_fail_memory(error);
    empty_functions = batch->functions;
    empty_parts = batch->parts;
    batch->functions = *functions;
    batch->parts = *parts;
    *functions = empty_functions;
    *parts = empty_parts;
    *batch_ret = batch;
    return GSYM_OK;
}

gsym_status gsym_breakpad_next_batch(gsym_breakpad *breakpad,
                                     gsym_breakpad_batch **batch_ret, gsym_error *error) {
    bool is_finished = breakpad->is_finished;
    *batch_ret = NULL;
    if (is_finished && breakpad->closed.count == 0 && breakpad->waiting.count != 0)
        return hand_out(breakpad, &breakpad->waiting, &breakpad->waiting_parts, batch_ret,
                        error);
    if (breakpad->closed.count == 0 ||
        (!is_finished && size_of_parts(&breakpad->parts) < BATCH_SIZE))
        return GSYM_OK;
    GSYM_TRY(hand_out(breakpad, &breakpad->closed, &breakpad->parts, batch_ret, error));
    if (!breakpad->is_in_function) return GSYM_OK;
    /* Take the contents of the function that is still being read back from the batch. */
    count_parts(&breakpad->function, &(*batch_ret)->parts);
    if (!copy_parts(&breakpad->function, &(*batch_ret)->parts, &breakpad->parts))
        return gsym_fail_memory(error);
    return GSYM_OK;
}

gsym_status gsym_breakpad_keep_batch(gsym_breakpad *breakpad, gsym_breakpad_batch *batch,
                                     gsym_error *error) {
    gsym_status status = GSYM_OK;
    if (batch->blobs.size != 0)
        status = creator_adopt(breakpad->creator, batch->blobs.bytes, error);
    if (status == GSYM_OK && batch->blobs.size != 0) {
        batch->blobs.bytes = NULL;
        batch->blobs.size = batch->blobs.capacity = 0;
        status = creator_keep(breakpad->creator, batch->records.items,
                              batch->records.count, error);
    }
    breakpad_findings_join(&breakpad->encoder_findings, &batch->findings);
    batch->parts.rows.count = batch->parts.inlines.count = batch->parts.pieces.count = 0;
    batch->functions.count = batch->records.count = batch->findings.kept.count = 0;
    memset(batch->findings.counts, 0, sizeof batch->findings.counts);
    batch->next = breakpad->spare;
    breakpad->spare = batch;
    return status;
}
