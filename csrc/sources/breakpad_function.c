/* breakpad_function.c - gather the line and INLINE records of a FUNC.
 *
 * A function is closed when the next one comes: the numbers of files and origins are
 * replaced by those of the output, as the records up to that line define them. A function
 * with a number that no FILE or INLINE_ORIGIN has defined yet waits until the text ends. */
#include "sources/breakpad.h"

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
    breakpad_parts_count(function, &breakpad->parts);
    if (breakpad_knows_numbers(breakpad, function)) {
        GSYM_TRY(breakpad_resolve_numbers(breakpad, function, &breakpad->parts, error));
        return push(&breakpad->closed, function, error);
    }
    own = *function;
    if (!breakpad_parts_copy(function, &breakpad->parts, &breakpad->waiting_parts))
        return gsym_fail_memory(error);
    drop_parts(&own, &breakpad->parts);
    return push(&breakpad->waiting, function, error);
}

gsym_status breakpad_close_waiting(gsym_breakpad *breakpad, gsym_error *error) {
    breakpad_function_list *waiting = &breakpad->waiting;
    for (size_t i = 0; i < waiting->count; ++i)
        GSYM_TRY(breakpad_resolve_numbers(breakpad, &waiting->items[i],
                                          &breakpad->waiting_parts, error));
    return GSYM_OK;
}
