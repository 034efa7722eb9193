/* breakpad.c - the reader of Breakpad text: bytes in blocks of any size -> lines.
 *
 * A block is read where it lies; only a line that its end cuts is copied. */
#include "sources/breakpad.h"
#include "create/state.h"

static void breakpad_batch_destroy(gsym_breakpad_batch *batch) {
    breakpad_parts_deinit(&batch->parts);
    inline_builder_deinit(&batch->inlines);
    buffer_deinit(&batch->blobs);
    free(batch->functions.items);
    free(batch->records.items);
    free(batch->findings.kept.items);
    free(batch->rows.items);
    free(batch);
}

gsym_status gsym_breakpad_create(gsym_creator *creator, uint32_t keep_findings,
                                 gsym_breakpad **breakpad_ret, gsym_error *error) {
    gsym_breakpad *breakpad = calloc(1, sizeof *breakpad);
    if (breakpad == NULL) return gsym_fail_memory(error);
    breakpad->creator = creator;
    breakpad->findings.keeps_items = keep_findings != 0;
    breakpad->encoder_findings.keeps_items = keep_findings != 0;
    *breakpad_ret = breakpad;
    return GSYM_OK;
}

void gsym_breakpad_destroy(gsym_breakpad *breakpad) {
    if (breakpad == NULL) return;
    path_rules_deinit(&breakpad->path_rules);
    buffer_deinit(&breakpad->carry);
    buffer_deinit(&breakpad->head);
    buffer_deinit(&breakpad->path);
    numbering_deinit(&breakpad->files);
    numbering_deinit(&breakpad->origins);
    breakpad_parts_deinit(&breakpad->parts);
    breakpad_parts_deinit(&breakpad->waiting_parts);
    for (size_t i = 0; i < breakpad->batches.count; ++i)
        breakpad_batch_destroy(breakpad->batches.items[i]);
    free(breakpad->batches.items);
    free(breakpad->head_ends.items);
    free(breakpad->closed.items);
    free(breakpad->waiting.items);
    free(breakpad->publics.items);
    free(breakpad->findings.kept.items);
    free(breakpad->encoder_findings.kept.items);
    free(breakpad);
}

gsym_status gsym_breakpad_add_path_map(gsym_breakpad *breakpad, const char *old_bytes,
                                       size_t old_size, const char *new_bytes,
                                       size_t new_size, gsym_error *error) {
    if (!path_rules_add(&breakpad->path_rules, old_bytes, old_size, new_bytes, new_size))
        return gsym_fail_memory(error);
    return GSYM_OK;
}

/* ---- lines ----------------------------------------------------------------------- */

static cursor text_cursor(const uint8_t *bytes, size_t size) {
    return cursor_at(bytes, size, 0, false);
}

/* The line in the carry has ended. */
static gsym_status end_carried_line(gsym_breakpad *breakpad, gsym_error *error) {
    cursor line = text_cursor(breakpad->carry.bytes, breakpad->carry.size);
    bool is_too_long = breakpad->is_skipping;
    breakpad->carry.size = 0;
    breakpad->is_skipping = false;
    breakpad->place.line++;
    if (!is_too_long) return breakpad_read_line(breakpad, line, error);
    breakpad->counts.bad_records++;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_LONG_LINE, breakpad->place, 0, 1);
    return GSYM_OK;
}

/* Keep bytes of a line whose end has not come. */
static gsym_status carry(gsym_breakpad *breakpad, const uint8_t *bytes, size_t size,
                         gsym_error *error) {
    if (breakpad->is_skipping) return GSYM_OK;
    if (size > GSYM_BREAKPAD_LINE_SIZE_LIMIT - breakpad->carry.size) {
        breakpad->is_skipping = true;
        return GSYM_OK;
    }
    buffer_put(&breakpad->carry, bytes, size);
    return breakpad->carry.failed ? gsym_fail_memory(error) : GSYM_OK;
}

static size_t size_of_whole_lines(const uint8_t *bytes, size_t size) {
    while (size > 0 && bytes[size - 1] != '\n') size--;
    return size;
}

static gsym_status read_block(gsym_breakpad *breakpad, cursor block, gsym_error *error) {
    cursor lines = block;
    size_t size;
    if (breakpad->is_carrying) {
        const uint8_t *end = memchr(block.at, '\n', cursor_left(&block));
        const uint8_t *stop = end == NULL ? block.end : end;
        GSYM_TRY(carry(breakpad, block.at, (size_t)(stop - block.at), error));
        if (end == NULL) return GSYM_OK;
        breakpad->is_carrying = false;
        GSYM_TRY(end_carried_line(breakpad, error));
        block.at = lines.at = end + 1;
    }
    size = size_of_whole_lines(block.at, cursor_left(&block));
    lines.end = lines.at + size;
    GSYM_TRY(breakpad_read_lines(breakpad, &lines, error));
    if (lines.end == block.end) return GSYM_OK;
    breakpad->is_carrying = true;
    breakpad->place.offset = breakpad->offset + cursor_offset(&lines);
    return carry(breakpad, lines.end, (size_t)(block.end - lines.end), error);
}

gsym_status gsym_breakpad_feed(gsym_breakpad *breakpad, const uint8_t *bytes, size_t size,
                               gsym_error *error) {
    if (breakpad->is_finished)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the text has ended");
    if (size == 0) return GSYM_OK;
    GSYM_TRY(read_block(breakpad, text_cursor(bytes, size), error));
    breakpad->offset += size;
    return GSYM_OK;
}

gsym_status gsym_breakpad_finish(gsym_breakpad *breakpad, gsym_error *error) {
    if (breakpad->is_finished)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the text has ended");
    breakpad->is_finished = true;
    if (breakpad->is_carrying) GSYM_TRY(end_carried_line(breakpad, error));
    GSYM_TRY(breakpad_close_function(breakpad, error));
    return breakpad_close_waiting(breakpad, error);
}

/* ---- what was found -------------------------------------------------------------- */

void breakpad_find(breakpad_findings *findings, gsym_breakpad_fault fault,
                   breakpad_place place, uint64_t value, uint64_t times) {
    if (times == 0) return;
    findings->counts[fault] += times;
    if (!findings->keeps_items || findings->kept.count >= GSYM_BREAKPAD_FINDING_LIMIT ||
        !ARRAY_RESERVE(findings->kept, 1))
        return; /* a finding that cannot be kept is counted */
    findings->kept.items[findings->kept.count++] =
        (gsym_breakpad_finding){(uint32_t)fault, 0, place.line, place.offset, value};
}

void breakpad_findings_join(breakpad_findings *findings, const breakpad_findings *more) {
    size_t left = GSYM_BREAKPAD_FINDING_LIMIT - findings->kept.count;
    size_t count = more->kept.count < left ? more->kept.count : left;
    for (size_t i = 0; i < GSYM_BREAKPAD_FAULT_COUNT; ++i)
        findings->counts[i] += more->counts[i];
    if (count == 0 || !ARRAY_RESERVE(findings->kept, count)) return;
    memcpy(findings->kept.items + findings->kept.count, more->kept.items,
           count * sizeof *more->kept.items);
    findings->kept.count += count;
}

const char *gsym_breakpad_head(const gsym_breakpad *breakpad, size_t index,
                               size_t *size_ret) {
    size_t first;
    *size_ret = 0;
    if (index >= breakpad->head_ends.count) return NULL;
    first = index == 0 ? 0 : breakpad->head_ends.items[index - 1];
    *size_ret = breakpad->head_ends.items[index] - first;
    return (const char *)breakpad->head.bytes + first;
}

void gsym_breakpad_count(const gsym_breakpad *breakpad, gsym_breakpad_counts *counts_ret) {
    *counts_ret = breakpad->counts;
}

uint64_t gsym_breakpad_fault_count(const gsym_breakpad *breakpad,
                                   gsym_breakpad_fault fault) {
    if ((unsigned)fault >= GSYM_BREAKPAD_FAULT_COUNT) return 0;
    return breakpad->findings.counts[fault] + breakpad->encoder_findings.counts[fault];
}

/* Of two findings at one line the one that was made first comes first. */
static int compare_findings(const void *left, const void *right) {
    const gsym_breakpad_finding *a = left, *b = right;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return a->reserved < b->reserved ? -1 : a->reserved > b->reserved;
}

const gsym_breakpad_finding *gsym_breakpad_findings(gsym_breakpad *breakpad,
                                                    size_t *count_ret) {
    gsym_breakpad_finding *items;
    size_t first = breakpad->findings.kept.count, count;
    /* Each of the two lists has at most as many as are returned. */
    if (ARRAY_RESERVE(breakpad->findings.kept, breakpad->encoder_findings.kept.count) &&
        breakpad->encoder_findings.kept.count != 0)
        memcpy(breakpad->findings.kept.items + first, breakpad->encoder_findings.kept.items,
               breakpad->encoder_findings.kept.count * sizeof *items);
    count = first + breakpad->encoder_findings.kept.count;
    items = breakpad->findings.kept.items;
    breakpad->encoder_findings.kept.count = 0;
    if (count == 0) {
        *count_ret = 0;
        return items;
    }
    for (size_t i = 0; i < count; ++i) items[i].reserved = (uint32_t)i;
    qsort(items, count, sizeof *items, compare_findings);
    for (size_t i = 0; i < count; ++i) items[i].reserved = 0;
    if (count > GSYM_BREAKPAD_FINDING_LIMIT) count = GSYM_BREAKPAD_FINDING_LIMIT;
    breakpad->findings.kept.count = count;
    *count_ret = count;
    return items;
}

/* Gathered functions -> encoded records.
 *
 * Runs beside the reader: by now each name and file has its number in the output.
 *
 * Line records contain ranges of bytes; a line table contains only starts.
 * So bytes of no record get a row with line 0. Of line records that overlap, the one
 * that starts first keeps all of its bytes. */

gsym_breakpad_batch *breakpad_batch_create(gsym_breakpad *breakpad) {
    gsym_breakpad_batch *batch;
    if (!ARRAY_RESERVE(breakpad->batches, 1)) return NULL;
    batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    breakpad->batches.items[breakpad->batches.count++] = batch;
    batch->strp_size = creator_strp_size(breakpad->creator);
    batch->blobs.swap = creator_big_endian(breakpad->creator) != CURSOR_HOST_BIG_ENDIAN;
    batch->findings.keeps_items = breakpad->findings.keeps_items;
    return batch;
}

/* ---- lines ----------------------------------------------------------------------- */

/* By start; those that start together keep their order. */
static gsym_status sort_rows(breakpad_row *rows, size_t count, gsym_error *error) {
    uint64_t *keys;
    breakpad_row *sorted;
    if (count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "a function of more than 2^32 lines");
    keys = malloc(count * sizeof *keys);
    sorted = malloc(count * sizeof *sorted);
    if (keys != NULL && sorted != NULL) {
        for (size_t i = 0; i < count; ++i) keys[i] = (uint64_t)rows[i].start << 32 | i;
        qsort(keys, count, sizeof *keys, compare_first_u64);
        for (size_t i = 0; i < count; ++i) sorted[i] = rows[(uint32_t)keys[i]];
        memcpy(rows, sorted, count * sizeof *rows);
    }
    free(keys);
    if (sorted == NULL || keys == NULL) {
        free(sorted);
        return gsym_fail_memory(error);
    }
    free(sorted);
    return GSYM_OK;
}

/* Append a row, unless it repeats the previous one. Its memory is reserved. */
static inline void put_row(row_list *rows, uint64_t address, uint32_t file, uint32_t line) {
    gsym_line_row *next = rows->items + rows->count;
    if (rows->count > 0 && next[-1].file == file && next[-1].line == line) return;
    *next = (gsym_line_row){address, file, line};
    rows->count++;
}

static gsym_status make_rows(gsym_breakpad_batch *batch, const breakpad_function *function,
                             gsym_error *error) {
    breakpad_row *row;
    row_list *rows = &batch->rows;
    uint32_t covered = 0, file = 0;
    rows->count = 0;
    if (function->row_count == 0) return GSYM_OK;
    row = batch->parts.rows.items + function->row_first;
    if (!function->is_ordered) GSYM_TRY(sort_rows(row, function->row_count, error));
    /* At most one row for a record, one before it, and one at the end. */
    if (!ARRAY_RESERVE(*rows, 2 * function->row_count + 1)) return gsym_fail_memory(error);
    for (size_t i = 0; i < function->row_count; ++i, ++row) {
        uint32_t start = row->start, gap_file = file;
        if (GSYM_UNLIKELY(start < covered)) {
            breakpad_find(&batch->findings, GSYM_BREAKPAD_OVERLAP, function->place,
                          function->address + start, 1);
            if (row->end <= covered) continue;
            start = covered;
        }
        file = row->file;
        if (start > covered)
            put_row(rows, function->address + covered, i == 0 ? file : gap_file, 0);
        put_row(rows, function->address + start, file, row->line);
        covered = row->end;
    }
    if (covered < function->size) put_row(rows, function->address + covered, file, 0);
    return GSYM_OK;
}

/* ---- inlined calls --------------------------------------------------------------- */

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
    breakpad_find(findings, GSYM_BREAKPAD_OVERLAP, function->place, function->address,
                  builder->overlapping);
    breakpad_find(findings, GSYM_BREAKPAD_UNCOVERED, function->place, function->address,
                  builder->uncovered);
    breakpad_find(findings, GSYM_BREAKPAD_LIMIT, function->place, function->address,
                  builder->beyond_limit);
    if (builder->nodes.count == 1) builder->nodes.count = 0; /* nothing but the root */
    nodes = builder->nodes.items;
    for (size_t i = 0; i < builder->nodes.count; ++i) {
        uint32_t record = nodes[i].reserved;
        const breakpad_inline *call;
        nodes[i].reserved = 0;
        if (i == 0) {
            nodes[i].name = function->name;
            continue;
        }
        call = batch->parts.inlines.items + function->inline_first + record;
        nodes[i].name = call->origin;
        nodes[i].call_file = call->call_file;
        nodes[i].call_line = call->call_line;
    }
    return GSYM_OK;
}

/* ---- the function ---------------------------------------------------------------- */

static gsym_status encode(gsym_breakpad_batch *batch, const breakpad_function *function,
                          gsym_error *error) {
    gsym_function made = {
        .address = function->address, .size = function->size, .name = function->name};
    size_t offset = batch->blobs.size, size;
    GSYM_TRY(make_rows(batch, function, error));
    GSYM_TRY(make_nodes(batch, function, error));
    made.rows = batch->rows.items;
    made.row_count = batch->rows.count;
    made.nodes = batch->inlines.nodes.items;
    made.node_count = batch->inlines.nodes.count;
    made.ranges = batch->inlines.ranges.items;
    made.range_count = batch->inlines.ranges.count;
    GSYM_TRY(function_info_encode(&batch->blobs, batch->strp_size, &made, NULL, error));
    size = batch->blobs.size - offset;
    if (size > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, function->place.offset,
                         "a function needs a record of more than 4 GiB");
    if (!ARRAY_RESERVE(batch->records, 1)) return gsym_fail_memory(error);
    batch->records.items[batch->records.count++] = (creator_record){
        .address = function->address,
        .size = function->size,
        .name = function->name,
        .blob = (const uint8_t *)offset, /* until all are encoded */
        .blob_size = (uint32_t)size,
        .row_count = (uint32_t)made.row_count,
        .node_count = (uint32_t)(made.node_count == 0 ? 0 : made.node_count - 1),
        .origin = GSYM_ORIGIN_DEBUG_INFO};
    return GSYM_OK;
}

gsym_status gsym_breakpad_batch_encode(gsym_breakpad_batch *batch, gsym_error *error) {
    for (size_t i = 0; i < batch->functions.count; ++i)
        GSYM_TRY(encode(batch, &batch->functions.items[i], error));
    buffer_trim(&batch->blobs);
    for (size_t i = 0; i < batch->records.count; ++i)
        batch->records.items[i].blob =
            batch->blobs.bytes + (uintptr_t)batch->records.items[i].blob;
    return GSYM_OK;
}

/* PUBLIC records: names that reach up to the next address.
 *
 * What they cover is known when all records are. A PUBLIC inside a function says
 * nothing that the FUNC does not say better; any other ends where the next FUNC or
 * PUBLIC starts. Functions are looked up among the sorted PUBLIC records, not the other
 * way round: they need not be sorted, and nothing is kept for each of them. */

gsym_status breakpad_add_public(gsym_breakpad *breakpad, uint64_t address,
                                const char *name, size_t name_size, gsym_error *error) {
    breakpad_public added = {.address = address,
                             .next = UINT64_MAX,
                             .name_size = (uint32_t)name_size,
                             .order = (uint32_t)breakpad->publics.count};
    const uint8_t *stored;
    if (breakpad->publics.count == UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, breakpad->place.offset,
                         "more PUBLIC records than a GSYM file can contain");
    if (!ARRAY_RESERVE(breakpad->publics, 1)) return gsym_fail_memory(error);
    GSYM_TRY(creator_store(breakpad->creator, (const uint8_t *)name, name_size, &stored,
                           error));
    added.name = (const char *)stored;
    breakpad->publics.items[breakpad->publics.count++] = added;
    return GSYM_OK;
}

/* ---- order ----------------------------------------------------------------------- */

static int compare_publics(const void *left, const void *right) {
    const breakpad_public *a = left, *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* By address; of several at one address the first in the file stays. */
static void sort_publics(gsym_breakpad *breakpad) {
    breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count, kept = 0;
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; ++i)
        is_sorted = items[i - 1].address <= items[i].address;
    if (!is_sorted) qsort(items, count, sizeof *items, compare_publics);
    for (size_t i = 1; i < count; ++i)
        if (items[i].address != items[kept].address) items[++kept] = items[i];
    breakpad->publics.count = kept + 1;
}

/* Index of the first PUBLIC at or above `address`. */
static size_t first_from(const gsym_breakpad *breakpad, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, breakpad->publics.count,
                  breakpad->publics.items[middle].address < address);
    return low;
}

/* ---- what functions leave of them ------------------------------------------------ */

static void mark_function(gsym_breakpad *breakpad, const creator_record *function) {
    breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count;
    size_t first = first_from(breakpad, function->address), end = first;
    uint64_t last = function->address + (function->size - 1);
    if (first > 0 && function->address < items[first - 1].next)
        items[first - 1].next = function->address;
    if (first == count || items[first].address > last) return;
    end = last == UINT64_MAX ? count : first_from(breakpad, last + 1);
    items[first].covers++;
    if (end < count) items[end].covers--;
}

/* The size as a record can store it; 0 extends to the next entry in any case. */
static uint64_t size_up_to(const breakpad_public *symbol, uint64_t next) {
    uint64_t size = next - symbol->address;
    return next == UINT64_MAX || size > UINT32_MAX ? 0 : size;
}

static gsym_status keep_uncovered(gsym_breakpad *breakpad, gsym_error *error) {
    const breakpad_public *items = breakpad->publics.items;
    size_t count = breakpad->publics.count;
    int64_t covers = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t next = i + 1 < count ? items[i + 1].address : UINT64_MAX;
        covers += items[i].covers;
        if (covers != 0) {
            creator_count_symbols(breakpad->creator, 1);
            continue;
        }
        if (items[i].next < next) next = items[i].next;
        GSYM_TRY(creator_keep_symbol(breakpad->creator, items[i].address,
                                     size_up_to(&items[i], next), items[i].name,
                                     items[i].name_size, SYMBOL_GLOBAL, error));
    }
    return GSYM_OK;
}

gsym_status gsym_breakpad_add_publics(gsym_breakpad *breakpad, gsym_error *error) {
    const record_list *functions = &breakpad->creator->records;
    size_t count = breakpad->publics.count;
    if (!breakpad->is_finished)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the text has not ended");
    if (count == 0) return GSYM_OK;
    sort_publics(breakpad);
    creator_count_symbols(breakpad->creator, count - breakpad->publics.count);
    for (size_t i = 0; i < functions->count; ++i)
        if (functions->items[i].size != 0) mark_function(breakpad, &functions->items[i]);
    GSYM_TRY(keep_uncovered(breakpad, error));
    breakpad->publics.count = 0;
    return GSYM_OK;
}
