/* breakpad.c - split Breakpad text, which comes in blocks of any size, into lines.
 *
 * Lines are read in the block; only a line that continues in the next block is copied. */
#include "sources/breakpad.h"

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

/* Read the line in `carry`, which has ended. */
static gsym_status end_carried_line(gsym_breakpad *breakpad, gsym_error *error) {
    cursor line = text_cursor(breakpad->carry.bytes, breakpad->carry.size);
    bool is_too_long = breakpad->is_skipping;
    breakpad->carry.size = 0;
    breakpad->is_skipping = false;
    breakpad->position.line++;
    if (!is_too_long) return breakpad_read_line(breakpad, line, error);
    breakpad->counts.bad_records++;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_LONG_LINE, breakpad->position, 0, 1);
    return GSYM_OK;
}

/* Append to `carry` the bytes of a line whose end has not come yet. */
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
    breakpad->position.offset = breakpad->offset + cursor_offset(&lines);
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
