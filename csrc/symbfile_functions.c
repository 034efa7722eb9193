/* symbfile_functions.c - ranges of symbfiles, gathered by function.
 *
 * A range of depth 0 begins a function, unless it goes on with the lines of another file
 * where the function ends: then it is a part of one that was split. What follows is
 * inlined, each call into the last range that is less deep. */
#include "symbfile_functions.h"

#include <inttypes.h>

gsym_status gsym_symbfile_functions_create(gsym_creator *creator,
                                           gsym_symbfile_functions **functions_ret,
                                           gsym_error *error) {
    gsym_symbfile_functions *functions = calloc(1, sizeof *functions);
    gsym_status status;
    if (functions == NULL) return gsym_fail_memory(error);
    functions->creator = creator;
    status = symbfile_texts_init(&functions->texts, creator, error);
    if (status != GSYM_OK) {
        gsym_symbfile_functions_destroy(functions);
        return status;
    }
    *functions_ret = functions;
    return GSYM_OK;
}

void gsym_symbfile_functions_destroy(gsym_symbfile_functions *functions) {
    if (functions == NULL) return;
    symbfile_texts_deinit(&functions->texts);
    free(functions->function.ranges.items);
    free(functions->function.rows.items);
    free(functions->function.parts.items);
    free(functions->rows.items);
    free(functions->nodes.items);
    free(functions->spans.items);
    free(functions->siblings.items);
    free(functions);
}

/* ---- one range -------------------------------------------------------------------- */

/* A range as the reader has it. */
typedef struct read_range {
    uint64_t start, end;
    uint32_t func, file, call_file, call_line; /* texts by the reader's numbers */
    uint32_t depth;
    const gsym_symbfile_row *rows;
    size_t row_count;
} read_range;

static gsym_status end_function(gsym_symbfile_functions *functions, gsym_error *error) {
    gathered_function *function = &functions->function;
    if (function->ranges.count == 0) return GSYM_OK;
    GSYM_TRY(symbfile_function_put(functions, error));
    function->ranges.count = function->rows.count = function->parts.count = 0;
    function->is_disordered = false;
    symbfile_texts_forget(&functions->texts);
    functions->count++;
    return GSYM_OK;
}

/* Whether a range of depth 0 goes on with the lines of another file. */
static bool continues(const gsym_symbfile_functions *functions, const read_range *range) {
    const gathered_function *function = &functions->function;
    const symbfile_texts *texts = &functions->texts;
    const gathered_range *first = function->ranges.items, *last;
    if (function->ranges.count == 0) return false;
    last = first + function->parts.items[function->parts.count - 1];
    return last->end == range->start && function->has_lines && range->row_count != 0 &&
           range->end - first->start <= UINT32_MAX /* the most that a function can have */ &&
           symbfile_texts_equal(texts, last->func,
                                symbfile_texts_index(texts, range->func)) &&
           !symbfile_texts_equal(texts, last->file,
                                 symbfile_texts_index(texts, range->file));
}

/* Rows that no function reaches are left out. */
static gsym_status add_rows(gathered_function *function, const read_range *range,
                            gsym_error *error) {
    uint64_t start = function->ranges.count == 0 ? range->start
                                                 : function->ranges.items[0].start;
    if (range->row_count > UINT32_MAX - function->rows.count)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "a function of more than 2^32 lines");
    if (!ARRAY_RESERVE(function->rows, range->row_count)) return gsym_fail_memory(error);
    for (size_t i = 0; i < range->row_count; ++i) {
        const gsym_symbfile_row *row = &range->rows[i];
        uint64_t address = range->start + row->offset, offset;
        if (row->offset >= range->end - range->start) break;
        offset = address < start ? 0 : address - start;
        if (offset > UINT32_MAX) break;
        function->rows.items[function->rows.count++] =
            (gathered_row){(uint32_t)offset, row->line};
    }
    return GSYM_OK;
}

static gsym_status add_range(gsym_symbfile_functions *functions, const read_range *range,
                             gsym_error *error) {
    gathered_function *function = &functions->function;
    const symbfile_texts *texts = &functions->texts;
    uint32_t row_first = (uint32_t)function->rows.count;
    GSYM_TRY(add_rows(function, range, error));
    if (function->ranges.count == NO_RANGE)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "a function of more than 2^32 ranges");
    if (!ARRAY_RESERVE(function->ranges, 1)) return gsym_fail_memory(error);
    function->ranges.items[function->ranges.count++] =
        (gathered_range){.start = range->start,
                         .end = range->end,
                         .func = symbfile_texts_index(texts, range->func),
                         .file = symbfile_texts_index(texts, range->file),
                         .call_file = symbfile_texts_index(texts, range->call_file),
                         .call_line = range->call_line,
                         .row_first = row_first,
                         .first_call = NO_RANGE,
                         .last_call = NO_RANGE,
                         .next_call = NO_RANGE};
    return GSYM_OK;
}

static gsym_status add_part(gsym_symbfile_functions *functions, const read_range *range,
                            gsym_error *error) {
    gathered_function *function = &functions->function;
    uint32_t index;
    if (!continues(functions, range)) GSYM_TRY(end_function(functions, error));
    index = (uint32_t)function->ranges.count;
    GSYM_TRY(add_range(functions, range, error));
    if (!ARRAY_RESERVE(function->parts, 1)) return gsym_fail_memory(error);
    function->parts.items[function->parts.count++] = index;
    function->path[0] = index;
    function->path_size = 1;
    function->has_lines = range->row_count != 0;
    return GSYM_OK;
}

/* Make the last range a call out of another. */
static void link_call(gathered_function *function, uint32_t caller) {
    gathered_range *ranges = function->ranges.items;
    uint32_t index = (uint32_t)function->ranges.count - 1, last = ranges[caller].last_call;
    ranges[caller].last_call = index;
    if (last == NO_RANGE) {
        ranges[caller].first_call = index;
    } else {
        ranges[last].next_call = index;
        function->is_disordered |= ranges[index].start < ranges[last].start;
    }
}

static gsym_status add_call(gsym_symbfile_functions *functions, const read_range *range,
                            gsym_error *error) {
    gathered_function *function = &functions->function;
    uint32_t caller, index = (uint32_t)function->ranges.count;
    if (index == 0) return GSYM_OK; /* there is nothing that it is inlined into */
    if (function->path_size > range->depth) function->path_size = range->depth;
    caller = function->path[function->path_size - 1];
    GSYM_TRY(add_range(functions, range, error));
    /* The schema allows to leave the file of a call out that is that of the caller. */
    if (range->call_file == 0 && range->call_line != 0)
        function->ranges.items[index].call_file = function->ranges.items[caller].file;
    link_call(function, function->path_size == 1 ? 0 : caller);
    function->path[function->path_size++] = index;
    return GSYM_OK;
}

static gsym_status take_range(gsym_symbfile_functions *functions,
                              const gsym_symbfile_columns *columns, size_t at,
                              uint64_t offset, gsym_error *error) {
    uint64_t start = columns->range_elf_va[at], length = columns->length[at];
    size_t row_first = at == 0 ? 0 : (size_t)columns->row_ends[at - 1];
    read_range range = {
        .start = start,
        .end = start + length,
        .func = columns->func[at],
        .file = columns->file[at],
        .call_file = columns->call_file[at],
        .call_line = columns->call_line[at],
        .depth = columns->depth[at],
        .rows = columns->rows + row_first,
        .row_count = (size_t)columns->row_ends[at] - row_first,
    };
    if (range.depth > SYMBFILE_MOST_DEPTH)
        return gsym_fail(error, GSYM_E_LIMIT, offset, "calls nest more deeply than %d",
                         SYMBFILE_MOST_DEPTH);
    if (range.end < start)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "the range at 0x%" PRIx64 " ends behind all addresses", start);
    if (length == 0) return GSYM_OK;
    return range.depth == 0 ? add_part(functions, &range, error)
                            : add_call(functions, &range, error);
}

/* ---- files ------------------------------------------------------------------------ */

gsym_status gsym_symbfile_functions_take(gsym_symbfile_functions *functions,
                                         const gsym_symbfile_reader *reader,
                                         gsym_error *error) {
    gsym_symbfile_columns columns;
    size_t at = 0;
    gsym_symbfile_reader_columns(reader, &columns);
    GSYM_TRY(symbfile_texts_take(&functions->texts, &columns, error));
    for (size_t i = 0; i < columns.count; ++i) {
        if (columns.kinds[i] != GSYM_SYMBFILE_RANGE_V1) continue;
        GSYM_TRY(take_range(functions, &columns, at++, columns.offsets[i], error));
    }
    return GSYM_OK;
}

gsym_status gsym_symbfile_functions_finish(gsym_symbfile_functions *functions,
                                           uint64_t *count_ret, gsym_error *error) {
    GSYM_TRY(end_function(functions, error));
    *count_ret = functions->count;
    return GSYM_OK;
}
