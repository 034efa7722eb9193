/* functions.c - gather the ranges of symbfiles for functions.
 *
 * Ranges may be in any order, but ranges in depth-first order can be converted function by
 * function: a range of depth 0 begins a function, unless it continues the last one with
 * lines of another file, and the ranges after it are inlined into it. This gives the same
 * result only if calls are within their function and functions do not overlap, which is
 * checked. */
#include <inttypes.h>

#include "base/sort.h"
#include "symbfile/functions.h"

/* ---- creating, and handing functions to the creator ------------------------------- */

gsym_status gsym_symbfile_functions_create(gsym_creator *creator, uint32_t waits_for_all,
                                           gsym_symbfile_functions **functions_ret,
                                           gsym_error *error) {
    gsym_symbfile_functions *functions = calloc(1, sizeof *functions);
    gsym_status status;
    if (functions == NULL) return gsym_fail_memory(error);
    functions->creator = creator;
    functions->waits_for_all = waits_for_all != 0;
    functions->is_made_sorted = true;
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
    free(functions->ranges.items);
    free(functions->rows.items);
    free(functions->made.items);
    free(functions->line_rows.items);
    free(functions->nodes.items);
    free(functions->node_calls.items);
    free(functions->spans.items);
    free(functions);
}

/* ---- one function ----------------------------------------------------------------- */

/* Add the gathered function to the creator. */
static gsym_status end_function(gsym_symbfile_functions *functions, gsym_error *error) {
    const gathered_range *ranges = functions->ranges.items;
    range_list *made = &functions->made;
    gsym_range span;
    if (functions->ranges.count == 0) return GSYM_OK;
    span = (gsym_range){ranges[0].start, ranges[functions->last_part].end};
    if (functions->calls_start < span.start || functions->calls_end > span.end)
        functions->is_disordered = true;
    if (made->count != 0 && span.start < made->items[made->count - 1].end)
        functions->is_made_sorted = false;
    if (!LIST_ADD(*made, span)) return gsym_fail_memory(error);
    GSYM_TRY(symbfile_functions_sweep(functions, error));
    functions->ranges.count = functions->rows.count = 0;
    symbfile_texts_forget(&functions->texts);
    return GSYM_OK;
}

static bool do_functions_overlap(gsym_symbfile_functions *functions) {
    range_list *made = &functions->made;
    if (functions->is_made_sorted) return false;
    sort_by_u64(made->items, made->count, sizeof *made->items);
    for (size_t i = 1; i < made->count; ++i)
        if (made->items[i].start < made->items[i - 1].end) return true;
    return false;
}

/* ---- one range -------------------------------------------------------------------- */

/* Add the rows of a range. Those after its end are dropped, except the first one, because a
 * range with rows has no file before its first row. */
static gsym_status add_rows(gsym_symbfile_functions *functions, gathered_range *range,
                            const gsym_symbfile_row *rows, gsym_error *error) {
    size_t count = range->row_count;
    if (count > UINT32_MAX - functions->rows.count)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "ranges of more than 2^32 lines");
    if (!LIST_RESERVE(functions->rows, count)) return gsym_fail_memory(error);
    range->row_first = (uint32_t)functions->rows.count;
    for (size_t i = 0; i < count; ++i) {
        bool is_inside = rows[i].offset < range->end - range->start;
        if (!is_inside && i != 0) break;
        functions->rows.items[functions->rows.count++] =
            (gathered_row){is_inside ? (uint32_t)rows[i].offset : UINT32_MAX, rows[i].line};
    }
    range->row_count = (uint32_t)functions->rows.count - range->row_first;
    return GSYM_OK;
}

static gsym_status add_range(gsym_symbfile_functions *functions, gathered_range *range,
                             const gsym_symbfile_row *rows, gsym_error *error) {
    GSYM_TRY(add_rows(functions, range, rows, error));
    if (functions->ranges.count == NO_RANGE)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more than 2^32 ranges");
    if (!LIST_RESERVE(functions->ranges, 1)) return gsym_fail_memory(error);
    range->number = (uint32_t)functions->ranges.count;
    functions->ranges.items[functions->ranges.count++] = *range;
    return GSYM_OK;
}

static void set_texts(const symbfile_texts *texts, const gsym_symbfile_columns *columns,
                      size_t at, gathered_range *range) {
    range->func = symbfile_texts_index(texts, columns->func[at]);
    range->file = symbfile_texts_index(texts, columns->file[at]);
    range->call_file = symbfile_texts_index(texts, columns->call_file[at]);
}

/* Continue or end the gathered function at a range of depth 0. */
static gsym_status place_function(gsym_symbfile_functions *functions,
                                  const gathered_range *range, gsym_error *error) {
    const gathered_range *ranges = functions->ranges.items;
    if (functions->ranges.count != 0 &&
        symbfile_functions_continue(functions, ranges[0].start,
                                    &ranges[functions->last_part], range)) {
        functions->last_part = (uint32_t)functions->ranges.count;
        return GSYM_OK;
    }
    GSYM_TRY(end_function(functions, error));
    functions->last_part = 0;
    functions->calls_start = UINT64_MAX;
    functions->calls_end = 0;
    return GSYM_OK;
}

static void place_call(gsym_symbfile_functions *functions, const gathered_range *range) {
    if (functions->ranges.count == 0) functions->is_disordered = true;
    if (range->start < functions->calls_start) functions->calls_start = range->start;
    if (range->end > functions->calls_end) functions->calls_end = range->end;
}

static gsym_status take_range(gsym_symbfile_functions *functions,
                              const gsym_symbfile_columns *columns, size_t at,
                              uint64_t offset, gsym_error *error) {
    const symbfile_texts *texts = &functions->texts;
    uint64_t start = columns->range_elf_va[at], length = columns->length[at];
    size_t row_first = at == 0 ? 0 : (size_t)columns->row_ends[at - 1];
    gathered_range range = {
        .start = start,
        .end = start + length,
        .call_line = columns->call_line[at],
        .depth = columns->depth[at],
        .row_count = (uint32_t)((size_t)columns->row_ends[at] - row_first),
    };
    if (range.depth > SYMBFILE_MAX_DEPTH)
        return gsym_fail(error, GSYM_E_LIMIT, offset, "calls nest more deeply than %d",
                         SYMBFILE_MAX_DEPTH);
    if (range.end < start)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "the range at 0x%" PRIx64 " ends beyond the address space", start);
    if (length > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, offset,
                         "the range at 0x%" PRIx64 " has 4 GiB or more", start);
    if (length == 0) return GSYM_OK;
    set_texts(texts, columns, at, &range);
    if (!functions->waits_for_all && range.depth == 0) {
        GSYM_TRY(place_function(functions, &range, error));
        set_texts(texts, columns, at, &range); /* the end of a function moves the texts,
                                                  so their indexes are set again */
    } else if (!functions->waits_for_all) {
        place_call(functions, &range);
    }
    return add_range(functions, &range,
                     range.row_count == 0 ? NULL : columns->rows + row_first, error);
}

/* ---- files ------------------------------------------------------------------------ */

gsym_status gsym_symbfile_functions_take(gsym_symbfile_functions *functions,
                                         const gsym_symbfile_reader *reader,
                                         uint32_t *is_disordered_ret, gsym_error *error) {
    gsym_symbfile_columns columns;
    size_t at = 0;
    gsym_symbfile_reader_columns(reader, &columns);
    GSYM_TRY(symbfile_texts_take(&functions->texts, &columns, error));
    for (size_t i = 0; i < columns.count && !functions->is_disordered; ++i) {
        if (columns.kinds[i] != GSYM_SYMBFILE_RANGE_V1) continue;
        GSYM_TRY(take_range(functions, &columns, at++, columns.offsets[i], error));
    }
    *is_disordered_ret = functions->is_disordered;
    return GSYM_OK;
}

gsym_status gsym_symbfile_functions_finish(gsym_symbfile_functions *functions,
                                           uint64_t *count_ret,
                                           uint32_t *is_disordered_ret,
                                           gsym_error *error) {
    if (functions->waits_for_all)
        GSYM_TRY(symbfile_functions_sweep(functions, error));
    else
        GSYM_TRY(end_function(functions, error));
    *count_ret = functions->count;
    *is_disordered_ret = functions->is_disordered || do_functions_overlap(functions);
    return GSYM_OK;
}
