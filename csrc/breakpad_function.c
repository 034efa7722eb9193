/* breakpad_function.c - a FUNC with its line and INLINE records -> a function.
 *
 * Line records say which bytes are of a line; a line table says from where on they are.
 * So bytes of no record get a row with line 0. Of line records that overlap, the one
 * that starts first keeps all of its bytes. A function that uses a number which no FILE
 * or INLINE_ORIGIN has given yet waits until the text ends. */
#include "breakpad.h"

static const char NAME_OMITTED[] = "<name omitted>";

gsym_status breakpad_open_function(gsym_breakpad *breakpad, uint64_t address,
                                   uint64_t size, uint64_t name, gsym_error *error) {
    GSYM_TRY(breakpad_close_function(breakpad, error));
    breakpad->function = (breakpad_function){
        .address = address,
        .name = name,
        .size = (uint32_t)size,
        .is_ordered = true,
        .place = breakpad->place,
        .row_first = breakpad->parts.rows.count,
        .inline_first = breakpad->parts.inlines.count,
        .piece_first = breakpad->parts.pieces.count,
    };
    breakpad->is_in_function = true;
    return GSYM_OK;
}

/* ---- what belongs to a function -------------------------------------------------- */

/* NULL where there is none at all: nothing is added to a null pointer. */
static breakpad_row *rows_of(const gsym_breakpad *breakpad,
                             const breakpad_function *function) {
    breakpad_row *items = breakpad->parts.rows.items;
    return items == NULL ? NULL : items + function->row_first;
}

static const breakpad_inline *inlines_of(const gsym_breakpad *breakpad,
                                         const breakpad_function *function) {
    const breakpad_inline *items = breakpad->parts.inlines.items;
    return items == NULL ? NULL : items + function->inline_first;
}

/* ---- waiting for numbers --------------------------------------------------------- */

static bool is_given(const numbering *numbers, uint32_t entry) {
    return numbers->entries.items[entry].value != NUMBER_UNDEFINED;
}

static bool knows_all_numbers(const gsym_breakpad *breakpad,
                              const breakpad_function *function) {
    const breakpad_row *row = rows_of(breakpad, function);
    const breakpad_inline *call = inlines_of(breakpad, function);
    if (!function->is_early) return true;
    for (size_t i = 0; i < function->row_count; ++i)
        if (!is_given(&breakpad->files, row[i].file)) return false;
    for (size_t i = 0; i < function->inline_count; ++i)
        if (!is_given(&breakpad->origins, call[i].origin) ||
            (call[i].has_call_file && !is_given(&breakpad->files, call[i].call_file)))
            return false;
    return true;
}

static uint32_t file_of(gsym_breakpad *breakpad, const breakpad_function *function,
                        uint32_t entry) {
    const numbered *file = &breakpad->files.entries.items[entry];
    if (GSYM_LIKELY(file->value != NUMBER_UNDEFINED)) return (uint32_t)file->value;
    breakpad_report(breakpad, GSYM_BREAKPAD_NO_FILE, function->place, file->number, 1);
    return 0;
}

/* ---- lines ----------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

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
        qsort(keys, count, sizeof *keys, compare_keys);
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

/* Append a row, unless it says what the one before it says. Room for it is there. */
static inline void put_row(row_list *rows, uint64_t address, uint32_t file, uint32_t line) {
    gsym_line_row *next = rows->items + rows->count;
    if (rows->count > 0 && next[-1].file == file && next[-1].line == line) return;
    *next = (gsym_line_row){address, file, line};
    rows->count++;
}

static gsym_status make_rows(gsym_breakpad *breakpad, const breakpad_function *function,
                             gsym_error *error) {
    breakpad_row *row = rows_of(breakpad, function);
    row_list *rows = &breakpad->rows;
    uint32_t covered = 0, entry = 0, file = 0;
    rows->count = 0;
    if (function->row_count == 0) return GSYM_OK;
    if (!function->is_ordered) GSYM_TRY(sort_rows(row, function->row_count, error));
    /* At most one row for a record, one in front of it, and one at the end. */
    if (!ARRAY_RESERVE(*rows, 2 * function->row_count + 1)) return gsym_fail_memory(error);
    for (size_t i = 0; i < function->row_count; ++i, ++row) {
        uint32_t start = row->start, gap_file = file;
        if (GSYM_UNLIKELY(start < covered)) {
            breakpad_report(breakpad, GSYM_BREAKPAD_OVERLAP, function->place,
                            function->address + start, 1);
            if (row->end <= covered) continue;
            start = covered;
        }
        if (i == 0 || row->file != entry) {
            entry = row->file;
            file = file_of(breakpad, function, entry);
        }
        if (start > covered)
            put_row(rows, function->address + covered, i == 0 ? file : gap_file, 0);
        put_row(rows, function->address + start, file, row->line);
        covered = row->end;
    }
    if (covered < function->size) put_row(rows, function->address + covered, file, 0);
    return GSYM_OK;
}

/* ---- inlined calls --------------------------------------------------------------- */

static gsym_status name_of_origin(gsym_breakpad *breakpad,
                                  const breakpad_function *function, uint32_t entry,
                                  uint64_t *name_ret, gsym_error *error) {
    const numbered *origin = &breakpad->origins.entries.items[entry];
    *name_ret = origin->value;
    if (GSYM_LIKELY(origin->value != NUMBER_UNDEFINED)) return GSYM_OK;
    breakpad_report(breakpad, GSYM_BREAKPAD_NO_ORIGIN, function->place, origin->number, 1);
    return gsym_creator_add_string(breakpad->creator, NAME_OMITTED,
                                   sizeof NAME_OMITTED - 1, name_ret, error);
}

static gsym_status make_nodes(gsym_breakpad *breakpad, const breakpad_function *function,
                              gsym_error *error) {
    inline_builder *builder = &breakpad->inlines;
    const breakpad_inline *calls = inlines_of(breakpad, function);
    gsym_inline_node *nodes;
    builder->nodes.count = 0;
    if (function->piece_count == 0) return GSYM_OK;
    if (!inline_builder_build(builder, function->address, function->size,
                              breakpad->parts.pieces.items + function->piece_first,
                              function->piece_count, function->inline_count))
        return gsym_fail_memory(error);
    breakpad_report(breakpad, GSYM_BREAKPAD_OVERLAP, function->place, function->address,
                    builder->overlapping);
    breakpad_report(breakpad, GSYM_BREAKPAD_UNCOVERED, function->place, function->address,
                    builder->uncovered);
    breakpad_report(breakpad, GSYM_BREAKPAD_LIMIT, function->place, function->address,
                    builder->beyond_limit);
    if (builder->nodes.count == 1) builder->nodes.count = 0; /* nothing but the root */
    nodes = builder->nodes.items;
    for (size_t i = 0; i < builder->nodes.count; ++i) {
        const breakpad_inline *call = calls + (i == 0 ? 0 : nodes[i].reserved);
        nodes[i].reserved = 0;
        if (i == 0) {
            nodes[i].name = function->name;
            continue;
        }
        GSYM_TRY(name_of_origin(breakpad, function, call->origin, &nodes[i].name, error));
        if (call->has_call_file)
            nodes[i].call_file = file_of(breakpad, function, call->call_file);
        nodes[i].call_line = call->call_line;
    }
    return GSYM_OK;
}

/* ---- the function ---------------------------------------------------------------- */

static gsym_status add_function(gsym_breakpad *breakpad, const breakpad_function *function,
                                gsym_error *error) {
    gsym_function made = {
        .address = function->address, .size = function->size, .name = function->name};
    GSYM_TRY(make_rows(breakpad, function, error));
    GSYM_TRY(make_nodes(breakpad, function, error));
    made.rows = breakpad->rows.items;
    made.row_count = breakpad->rows.count;
    made.nodes = breakpad->inlines.nodes.items;
    made.node_count = breakpad->inlines.nodes.count;
    made.ranges = breakpad->inlines.ranges.items;
    made.range_count = breakpad->inlines.ranges.count;
    return gsym_creator_add_function(breakpad->creator, &made, GSYM_ORIGIN_DEBUG_INFO,
                                     error);
}

gsym_status breakpad_close_function(gsym_breakpad *breakpad, gsym_error *error) {
    breakpad_function *function = &breakpad->function;
    breakpad_parts *parts = &breakpad->parts;
    if (!breakpad->is_in_function) return GSYM_OK;
    breakpad->is_in_function = false;
    function->row_count = parts->rows.count - function->row_first;
    function->inline_count = parts->inlines.count - function->inline_first;
    function->piece_count = parts->pieces.count - function->piece_first;
    if (!knows_all_numbers(breakpad, function)) {
        if (!ARRAY_RESERVE(breakpad->waiting, 1)) return gsym_fail_memory(error);
        breakpad->waiting.items[breakpad->waiting.count++] = *function;
        return GSYM_OK;
    }
    GSYM_TRY(add_function(breakpad, function, error));
    parts->rows.count = function->row_first;
    parts->inlines.count = function->inline_first;
    parts->pieces.count = function->piece_first;
    return GSYM_OK;
}

gsym_status breakpad_add_waiting(gsym_breakpad *breakpad, gsym_error *error) {
    for (size_t i = 0; i < breakpad->waiting.count; ++i)
        GSYM_TRY(add_function(breakpad, &breakpad->waiting.items[i], error));
    breakpad->waiting.count = 0;
    return GSYM_OK;
}
