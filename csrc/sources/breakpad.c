/* breakpad.c - the reader of Breakpad text: bytes in blocks of any size -> lines.
 *
 * A block is read where it lies; only a line that its end cuts is copied. */
#include "sources/breakpad.h"

gsym_status gsym_breakpad_create(gsym_creator *creator, uint32_t keep_findings,
                                 gsym_breakpad **breakpad_ret, gsym_error *error) {
    gsym_breakpad *breakpad = calloc(1, sizeof *breakpad);
    if (breakpad == NULL) return gsym_fail_memory(error);
    breakpad->creator = creator;
    breakpad->findings.keeps_items = keep_findings != 0;
    breakpad->encoder_findings.keeps_items = keep_findings != 0;
    if (!numbering_init(&breakpad->files) || !numbering_init(&breakpad->origins)) {
        gsym_breakpad_destroy(breakpad);
        return gsym_fail_memory(error);
    }
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
    /* Each of the two lists holds as many as are given out at most. */
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
