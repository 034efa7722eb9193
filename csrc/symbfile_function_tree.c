/* symbfile_function_tree.c - the gathered ranges of a function -> lines and a tree of
 * calls.
 *
 * Of calls out of one range that overlap, the one that starts first keeps all of its
 * bytes; a call ends where what it is inlined into ends. A line table says from where on
 * bytes are of a line, so bytes without one get a row that says nothing. */
#include "symbfile_functions.h"

/* ---- order of calls --------------------------------------------------------------- */

static int compare_siblings(const void *left, const void *right) {
    const sibling_call *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

/* Let the calls out of a range ascend; those that start together keep their order. */
static gsym_status sort_calls(gsym_symbfile_functions *functions, uint32_t caller,
                              gsym_error *error) {
    gathered_range *ranges = functions->function.ranges.items;
    uint32_t *link = &ranges[caller].first_call;
    functions->siblings.count = 0;
    for (uint32_t at = *link; at != NO_RANGE; at = ranges[at].next_call) {
        if (!ARRAY_RESERVE(functions->siblings, 1)) return gsym_fail_memory(error);
        functions->siblings.items[functions->siblings.count++] =
            (sibling_call){ranges[at].start, at};
    }
    if (functions->siblings.count < 2) return GSYM_OK;
    qsort(functions->siblings.items, functions->siblings.count, sizeof *functions->siblings.items,
          compare_siblings);
    for (size_t i = 0; i < functions->siblings.count; ++i) {
        *link = functions->siblings.items[i].range;
        link = &ranges[*link].next_call;
    }
    *link = NO_RANGE;
    return GSYM_OK;
}

static gsym_status sort_all_calls(gsym_symbfile_functions *functions, gsym_error *error) {
    if (!functions->function.is_disordered) return GSYM_OK;
    for (uint32_t i = 0; i < functions->function.ranges.count; ++i)
        GSYM_TRY(sort_calls(functions, i, error));
    return GSYM_OK;
}

/* ---- lines ------------------------------------------------------------------------ */

/* Append the row that waits, unless it says what the one before it says. */
static gsym_status put_waiting_row(gsym_symbfile_functions *functions, gsym_error *error) {
    row_list *rows = &functions->rows;
    gsym_line_row row = functions->row;
    if (!functions->has_row) return GSYM_OK;
    functions->has_row = false;
    GSYM_TRY(symbfile_texts_file(&functions->texts, functions->row.file, &row.file, error));
    if (rows->count != 0 && rows->items[rows->count - 1].file == row.file &&
        rows->items[rows->count - 1].line == row.line)
        return GSYM_OK;
    if (!ARRAY_RESERVE(*rows, 1)) return gsym_fail_memory(error);
    rows->items[rows->count++] = row;
    return GSYM_OK;
}

/* Of rows for one address the last counts. */
static gsym_status put_row(gsym_symbfile_functions *functions, uint64_t address,
                           uint32_t file, uint32_t line, gsym_error *error) {
    if (functions->has_row && functions->row.address != address)
        GSYM_TRY(put_waiting_row(functions, error));
    functions->row = (gsym_line_row){address, file, line};
    functions->has_row = true;
    functions->says_lines |= line != 0 || functions->texts.list.items[file].size != 0;
    return GSYM_OK;
}

/* How many rows are at or below an offset. */
static size_t count_rows(const gathered_row *rows, size_t count, uint64_t offset) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows of one range for first .. last, which it covers. */
static gsym_status put_rows_of(gsym_symbfile_functions *functions, uint32_t range,
                               uint64_t first, uint64_t last, gsym_error *error) {
    const gathered_function *function = &functions->function;
    const gathered_range *own = &function->ranges.items[range];
    const gathered_row *rows = function->rows.items + own->row_first;
    uint64_t origin = function->ranges.items[0].start;
    size_t end = (size_t)range + 1 == function->ranges.count ? function->rows.count
                                                             : own[1].row_first;
    size_t count = end - own->row_first, at = count_rows(rows, count, first - origin);
    if (at == 0)
        GSYM_TRY(put_row(functions, first, 0, 0, error));
    else
        GSYM_TRY(put_row(functions, first, own->file, rows[at - 1].line, error));
    for (; at < count && rows[at].offset < last - origin; ++at)
        GSYM_TRY(put_row(functions, origin + rows[at].offset, own->file, rows[at].line,
                         error));
    return GSYM_OK;
}

/* The part of the function that covers an address. */
static size_t part_at(const gathered_function *function, uint64_t address) {
    size_t low = 0, high = function->parts.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (function->ranges.items[function->parts.items[middle]].start <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Rows for addresses of a range, or of all parts for range 0, that are in no call. */
static gsym_status put_own_rows(gsym_symbfile_functions *functions, uint32_t range,
                                uint64_t start, uint64_t end, gsym_error *error) {
    const gathered_function *function = &functions->function;
    if (start >= end) return GSYM_OK;
    if (range != 0) return put_rows_of(functions, range, start, end, error);
    for (size_t i = part_at(function, start); start < end; ++i) {
        uint32_t part = function->parts.items[i];
        uint64_t part_end = function->ranges.items[part].end;
        uint64_t last = end < part_end ? end : part_end;
        GSYM_TRY(put_rows_of(functions, part, start, last, error));
        start = last;
    }
    return GSYM_OK;
}

/* ---- calls ------------------------------------------------------------------------ */

/* Until the lines are done, `reserved` of a node is its range. */
static gsym_status put_node(gsym_symbfile_functions *functions, uint32_t range,
                            uint32_t depth, uint64_t start, uint64_t end,
                            gsym_error *error) {
    if (!ARRAY_RESERVE(functions->nodes, 1) || !ARRAY_RESERVE(functions->spans, 1))
        return gsym_fail_memory(error);
    functions->nodes.items[functions->nodes.count++] =
        (gsym_inline_node){.depth = depth,
                           .range_first = (uint32_t)functions->spans.count,
                           .range_count = 1,
                           .reserved = range};
    functions->spans.items[functions->spans.count++] = (gsym_range){start, end};
    return GSYM_OK;
}

static gsym_status name_nodes(gsym_symbfile_functions *functions, gsym_error *error) {
    for (size_t i = 0; i < functions->nodes.count; ++i) {
        gsym_inline_node *node = &functions->nodes.items[i];
        const gathered_range *range = &functions->function.ranges.items[node->reserved];
        node->reserved = 0;
        GSYM_TRY(symbfile_texts_name(&functions->texts, range->func, &node->name, error));
        if (i == 0) continue; /* the function is called by none */
        GSYM_TRY(symbfile_texts_file(&functions->texts, range->call_file, &node->call_file,
                                     error));
        node->call_line = range->call_line;
    }
    return GSYM_OK;
}

/* ---- the function ----------------------------------------------------------------- */

/* A range that covers the present address, with what of it is not done. */
typedef struct open_range {
    uint64_t start, end;
    uint32_t range;
    uint32_t next_call;
} open_range;

/* Rows and nodes, in the order of addresses. */
static gsym_status walk(gsym_symbfile_functions *functions, uint64_t start, uint64_t end,
                        gsym_error *error) {
    const gathered_range *ranges = functions->function.ranges.items;
    open_range path[SYMBFILE_MOST_DEPTH + 1];
    uint32_t depth = 0;
    path[0] = (open_range){start, end, 0, ranges[0].first_call};
    GSYM_TRY(put_node(functions, 0, 0, start, end, error));
    for (;;) {
        open_range *open = &path[depth];
        uint32_t call = open->next_call;
        uint64_t first, last;
        if (call == NO_RANGE) {
            GSYM_TRY(put_own_rows(functions, open->range, open->start, open->end, error));
            if (depth == 0) return put_waiting_row(functions, error);
            depth--;
            continue;
        }
        open->next_call = ranges[call].next_call;
        first = ranges[call].start > open->start ? ranges[call].start : open->start;
        last = ranges[call].end < open->end ? ranges[call].end : open->end;
        if (first >= last) continue;
        GSYM_TRY(put_own_rows(functions, open->range, open->start, first, error));
        open->start = last;
        GSYM_TRY(put_node(functions, call, ++depth, first, last, error));
        path[depth] = (open_range){first, last, call, ranges[call].first_call};
    }
}

gsym_status symbfile_function_put(gsym_symbfile_functions *functions, gsym_error *error) {
    const gathered_function *function = &functions->function;
    const gathered_range *ranges = function->ranges.items;
    uint64_t start = ranges[0].start;
    uint64_t end = ranges[function->parts.items[function->parts.count - 1]].end;
    gsym_function made = {.address = start, .size = end - start};
    functions->rows.count = functions->nodes.count = functions->spans.count = 0;
    functions->has_row = functions->says_lines = false;
    GSYM_TRY(symbfile_texts_name(&functions->texts, ranges[0].func, &made.name, error));
    GSYM_TRY(sort_all_calls(functions, error));
    GSYM_TRY(walk(functions, start, end, error));
    if (functions->says_lines) {
        made.rows = functions->rows.items;
        made.row_count = functions->rows.count;
    }
    if (functions->nodes.count > 1) {
        GSYM_TRY(name_nodes(functions, error));
        made.nodes = functions->nodes.items;
        made.node_count = functions->nodes.count;
        made.ranges = functions->spans.items;
        made.range_count = functions->spans.count;
    }
    return gsym_creator_add_function(functions->creator, &made, GSYM_ORIGIN_DEBUG_INFO,
                                     error);
}
