/* breakpad_batch.c - hand out batches of functions, encode them as records, and take them
 * back.
 *
 * Other threads encode while the reader continues. They need neither the reader nor the
 * creator, because each name and file has its number in the output already.
 *
 * A line record has a range of addresses, a row of a line table only a start. So addresses
 * without a line record get a row with line 0. Of line records that overlap, the one that
 * starts first keeps all of its bytes. */
#include "base/sort.h"
#include "sources/breakpad.h"

/* Functions are handed out when their parts have so many bytes. */
enum { BATCH_SIZE = 1 << 20 };

/* ---- the contents of functions ------------------------------------------------------- */

void breakpad_parts_deinit(breakpad_parts *parts) {
    free(parts->rows.items);
    free(parts->inlines.items);
    free(parts->pieces.items);
}

/* Append adjacent items of another list. */
#define LIST_APPEND(list, run, run_count)                                                 \
    ((run_count) == 0 ||                                                                  \
     (LIST_RESERVE(list, run_count) &&                                                    \
      (memcpy((list).items + (list).count, (run), (run_count) * sizeof *(list).items),    \
       (list).count += (run_count), true)))

bool breakpad_parts_copy(breakpad_function *function, const breakpad_parts *from,
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

void breakpad_parts_count(breakpad_function *function, const breakpad_parts *parts) {
    function->row_count = parts->rows.count - function->row_first;
    function->inline_count = parts->inlines.count - function->inline_first;
    function->piece_count = parts->pieces.count - function->piece_first;
}

/* ---- batches ------------------------------------------------------------------------- */

void breakpad_batch_destroy(gsym_breakpad_batch *batch) {
    breakpad_parts_deinit(&batch->parts);
    inline_builder_deinit(&batch->inlines);
    buffer_deinit(&batch->blobs);
    free(batch->functions.items);
    free(batch->records.items);
    free(batch->findings.kept.items);
    free(batch->rows.items);
    free(batch);
}

/* Make a batch, which the reader destroys with itself; NULL where memory ran out. */
static gsym_breakpad_batch *create_batch(gsym_breakpad *breakpad) {
    gsym_breakpad_batch *batch;
    if (!LIST_RESERVE(breakpad->batches, 1)) return NULL;
    batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    breakpad->batches.items[breakpad->batches.count++] = batch;
    batch->strp_size = creator_strp_size(breakpad->creator);
    batch->blobs.swap = creator_big_endian(breakpad->creator) != CURSOR_HOST_BIG_ENDIAN;
    batch->findings.keeps_items = breakpad->findings.keeps_items;
    return batch;
}

static size_t size_of_parts(const breakpad_parts *parts) {
    return parts->rows.count * sizeof *parts->rows.items +
           parts->inlines.count * sizeof *parts->inlines.items +
           parts->pieces.count * sizeof *parts->pieces.items;
}

static gsym_breakpad_batch *spare_batch(gsym_breakpad *breakpad) {
    gsym_breakpad_batch *batch = breakpad->spare;
    if (batch == NULL) return create_batch(breakpad);
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
    breakpad_parts_count(&breakpad->function, &(*batch_ret)->parts);
    if (!breakpad_parts_copy(&breakpad->function, &(*batch_ret)->parts, &breakpad->parts))
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

/* ---- encode -------------------------------------------------------------------------- */

static bool is_row_before(const void *left, const void *right, const void *context) {
    const breakpad_row *a = left, *b = right;
    (void)context;
    return a->start < b->start;
}

static gsym_status make_rows(gsym_breakpad_batch *batch, const breakpad_function *function,
                             gsym_error *error) {
    breakpad_row *row;
    row_list *rows = &batch->rows;
    uint32_t covered = 0, file = 0;
    rows->count = 0;
    if (function->row_count == 0) return GSYM_OK;
    row = batch->parts.rows.items + function->row_first;
    if (!function->is_ordered &&
        !sort_stable(row, function->row_count, sizeof *row, is_row_before, NULL))
        return gsym_fail_memory(error);
    /* Each line record gives at most two rows: its own, and one for a gap before it. One
     * more is for a gap after the last record. */
    if (!LIST_RESERVE(*rows, 2 * function->row_count + 1)) return gsym_fail_memory(error);
    for (size_t i = 0; i < function->row_count; ++i, ++row) {
        uint32_t start = row->start, gap_file = file;
        if (GSYM_UNLIKELY(start < covered)) {
            breakpad_find(&batch->findings, GSYM_BREAKPAD_OVERLAP, function->position,
                          function->address + start, 1);
            if (row->end <= covered) continue;
            start = covered;
        }
        file = row->file;
        if (start > covered)
            row_list_put(rows, (gsym_line_row){function->address + covered,
                                               i == 0 ? file : gap_file, 0});
        row_list_put(rows,
                     (gsym_line_row){function->address + start, file, row->line});
        covered = row->end;
    }
    if (covered < function->size)
        row_list_put(rows, (gsym_line_row){function->address + covered, file, 0});
    return GSYM_OK;
}

static gsym_status make_nodes(gsym_breakpad_batch *batch, const breakpad_function *function,
                              gsym_error *error) {
    inline_builder *builder = &batch->inlines;
    breakpad_findings *findings = &batch->findings;
    gsym_inline_node *nodes;
    builder->nodes.count = 0;
    if (function->piece_count == 0) return GSYM_OK;
    if (!inline_builder_build(builder, function->address, function->size,
                              batch->parts.pieces.items + function->piece_first,
                              function->piece_count, function->inline_count))
        return gsym_fail_memory(error);
    breakpad_find(findings, GSYM_BREAKPAD_OVERLAP, function->position, function->address,
                  builder->overlapping);
    breakpad_find(findings, GSYM_BREAKPAD_UNCOVERED, function->position, function->address,
                  builder->uncovered);
    breakpad_find(findings, GSYM_BREAKPAD_LIMIT, function->position, function->address,
                  builder->beyond_limit);
    if (builder->nodes.count == 1) builder->nodes.count = 0; /* a tree that is only the
                                                                root is omitted */
    nodes = builder->nodes.items;
    for (size_t i = 0; i < builder->nodes.count; ++i) {
        const breakpad_inline *call;
        if (i == 0) {
            nodes[i].name = function->name;
            continue;
        }
        call = batch->parts.inlines.items + function->inline_first +
               builder->node_records.items[i];
        nodes[i].name = call->origin;
        nodes[i].call_file = call->call_file;
        nodes[i].call_line = call->call_line;
    }
    return GSYM_OK;
}

static gsym_status encode(gsym_breakpad_batch *batch, const breakpad_function *function,
                          gsym_error *error) {
    gsym_function made = {
        .address = function->address, .size = function->size, .name = function->name};
    size_t offset = batch->blobs.size, size;
    creator_record *record;
    GSYM_TRY(make_rows(batch, function, error));
    GSYM_TRY(make_nodes(batch, function, error));
    made.rows = batch->rows.items;
    made.row_count = batch->rows.count;
    inline_builder_fill(&batch->inlines, &made);
    GSYM_TRY(function_info_encode(&batch->blobs, batch->strp_size, &made, NULL, error));
    size = batch->blobs.size - offset;
    if (size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, function->position.offset,
                         "a function needs a record of more than 4 GiB");
    if (!LIST_RESERVE(batch->records, 1)) return gsym_fail_memory(error);
    record = &batch->records.items[batch->records.count++];
    *record = creator_record_of(&made, GSYM_ORIGIN_DEBUG_INFO);
    record->blob_offset = offset;
    record->blob_size = (uint32_t)size;
    return GSYM_OK;
}

gsym_status gsym_breakpad_batch_encode(gsym_breakpad_batch *batch, gsym_error *error) {
    for (size_t i = 0; i < batch->functions.count; ++i)
        GSYM_TRY(encode(batch, &batch->functions.items[i], error));
    buffer_trim(&batch->blobs);
    for (size_t i = 0; i < batch->records.count; ++i)
        batch->records.items[i].blob =
            batch->blobs.bytes + batch->records.items[i].blob_offset;
    return GSYM_OK;
}
