/* function_tree.c - make functions with lines and trees of calls of gathered ranges.
 *
 * The ranges that cover an address, ordered by depth, are its chain. Of several ranges of
 * one depth, the chain has the one that starts last; of those with the same start the
 * shortest, and of equal ones the first. The addresses are visited in ascending order: a
 * function ends with the outermost range of the chain, a call with its range or any range
 * around it. A row of a line table applies until the next one, so addresses without a line
 * get a row without file and line. */
#include "symbfile/functions.h"

/* Crossing ranges may be split into many calls; this bounds the output of a small input.
 * Limit: Crossing ranges of a symbfile */
LIMIT(NODES, 1 << 16, 16);

/* ---- order ------------------------------------------------------------------------ */

/* Order ranges by start and depth; of those of one start and depth, the one that is used
 * comes last. */
static int compare_ranges(const void *left, const void *right) {
    const gathered_range *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->number > b->number ? -1 : a->number < b->number;
}

/* Sort the ranges, unless they are sorted, as those in depth-first order are. */
static void sort_ranges(gsym_symbfile_functions *functions) {
    gathered_range *ranges = functions->ranges.items;
    size_t count = functions->ranges.count;
    for (size_t i = 1; i < count; ++i)
        if (compare_ranges(&ranges[i - 1], &ranges[i]) > 0) {
            qsort(ranges, count, sizeof *ranges, compare_ranges);
            return;
        }
}

/* ---- lines ------------------------------------------------------------------------ */

/* Append the pending row, unless it repeats file and line of the row before it. */
static gsym_status put_waiting_row(gsym_symbfile_functions *functions, gsym_error *error) {
    row_list *rows = &functions->line_rows;
    gsym_line_row row = functions->row;
    if (!functions->has_row) return GSYM_OK;
    functions->has_row = false;
    GSYM_TRY(symbfile_texts_file(&functions->texts, functions->row.file, &row.file, error));
    if (!LIST_RESERVE(*rows, 1)) return gsym_fail_memory(error);
    row_list_put(rows, row);
    return GSYM_OK;
}

/* Put a row, which is pending until a row for another address comes: of several rows for
 * one address, the last is used. */
static gsym_status put_row(gsym_symbfile_functions *functions, uint64_t address,
                           uint32_t file, uint32_t line, gsym_error *error) {
    if (functions->has_row && functions->row.address != address)
        GSYM_TRY(put_waiting_row(functions, error));
    functions->row = (gsym_line_row){address, file, line};
    functions->has_row = true;
    functions->has_lines |= line != 0 || functions->texts.list.items[file].size != 0;
    return GSYM_OK;
}

/* Return the number of rows at or below an offset. */
static size_t count_rows(const gathered_row *rows, size_t count, uint64_t offset) {
    size_t low = 0;
    SEARCH_SORTED(low, count, rows[middle].offset <= offset);
    return low;
}

/* Put the rows of a range for the addresses from `first` to `last`, which it covers.
 * Addresses before the first row of a range have no file. */
static gsym_status put_rows_of(gsym_symbfile_functions *functions,
                               const gathered_range *range, uint64_t first, uint64_t last,
                               gsym_error *error) {
    const gathered_row *rows = LIST_FROM(functions->rows, range->row_first);
    size_t count = range->row_count, at = count_rows(rows, count, first - range->start);
    uint32_t file = at == 0 && count != 0 ? 0 : range->file;
    GSYM_TRY(put_row(functions, first, file, at == 0 ? 0 : rows[at - 1].line, error));
    for (; at < count && rows[at].offset < last - range->start; ++at)
        GSYM_TRY(put_row(functions, range->start + rows[at].offset, range->file,
                         rows[at].line, error));
    return GSYM_OK;
}

/* ---- a function ------------------------------------------------------------------- */

static gsym_status name_nodes(gsym_symbfile_functions *functions, gsym_error *error) {
    for (size_t i = 0; i < functions->nodes.count; ++i) {
        gsym_inline_node *node = &functions->nodes.items[i];
        const chain_call *call = &functions->node_calls.items[i];
        const gathered_range *range = &functions->ranges.items[call->range];
        GSYM_TRY(symbfile_texts_name(&functions->texts, range->func, &node->name, error));
        if (i == 0) continue; /* the function has no caller */
        GSYM_TRY(symbfile_texts_file(&functions->texts, call->call_file, &node->call_file,
                                     error));
        node->call_line = range->call_line;
    }
    return GSYM_OK;
}

static gsym_status begin_function(gsym_symbfile_functions *functions, gsym_error *error) {
    uint32_t func = functions->ranges.items[functions->next.calls[0].range].func;
    functions->line_rows.count = 0;
    functions->nodes.count = functions->node_calls.count = functions->spans.count = 0;
    functions->has_row = functions->has_lines = false;
    return symbfile_texts_name(&functions->texts, func, &functions->name, error);
}

/* Add the open function, if any, to the creator. */
static gsym_status end_function(gsym_symbfile_functions *functions, gsym_error *error) {
    gsym_function made = {.name = functions->name};
    if (functions->chain.size == 0) return GSYM_OK;
    functions->chain.size = 0;
    made.address = functions->spans.items[0].start;
    made.size = functions->spans.items[0].end - made.address;
    GSYM_TRY(put_waiting_row(functions, error));
    if (functions->has_lines) {
        made.rows = functions->line_rows.items;
        made.row_count = functions->line_rows.count;
    }
    if (functions->nodes.count > 1) {
        GSYM_TRY(name_nodes(functions, error));
        made.nodes = functions->nodes.items;
        made.node_count = functions->nodes.count;
        made.ranges = functions->spans.items;
        made.range_count = functions->spans.count;
    }
    functions->count++;
    return gsym_creator_add_function(functions->creator, &made, GSYM_ORIGIN_DEBUG_INFO,
                                     error);
}

bool symbfile_functions_continue(const gsym_symbfile_functions *functions, uint64_t start,
                                 const gathered_range *last, const gathered_range *next) {
    const symbfile_texts *texts = &functions->texts;
    return last->end == next->start && last->depth == 0 && next->depth == 0 &&
           last->row_count != 0 && next->row_count != 0 &&
           next->end - start <= UINT32_MAX /* the maximum size of a function */ &&
           symbfile_texts_equal(texts, last->func, next->func) &&
           !symbfile_texts_equal(texts, last->file, next->file);
}

/* ---- the chain at an address ------------------------------------------------------ */

/* Make a range the active one of its depth. */
static void push_range(gsym_symbfile_functions *functions, uint32_t index) {
    gathered_range *range = &functions->ranges.items[index];
    while (functions->level_count <= range->depth)
        functions->tops[functions->level_count++] = NO_RANGE;
    range->below = functions->tops[range->depth];
    functions->tops[range->depth] = index;
}

/* Return the file of a call, which may be omitted if it is that of the caller. */
static uint32_t call_file_of(const gathered_range *range, const gathered_range *caller) {
    return range->call_file == 0 && range->call_line != 0 ? caller->file : range->call_file;
}

/* Find the chain at an address, and return the lowest end of its ranges. */
static uint64_t find_chain(gsym_symbfile_functions *functions, uint64_t address) {
    const gathered_range *ranges = functions->ranges.items, *caller = NULL;
    call_chain *next = &functions->next;
    uint64_t end = UINT64_MAX;
    next->size = 0;
    for (uint32_t depth = 0; depth < functions->level_count; ++depth) {
        uint32_t *top = &functions->tops[depth];
        const gathered_range *range;
        while (*top != NO_RANGE && ranges[*top].end <= address) *top = ranges[*top].below;
        if (*top == NO_RANGE) continue;
        range = &ranges[*top];
        next->calls[next->size++] = (chain_call){
            *top, caller == NULL ? 0 : call_file_of(range, caller), 0};
        if (range->end < end) end = range->end;
        caller = range;
    }
    return end;
}

/* Whether the function continues in the next chain. */
static bool is_same_function(const gsym_symbfile_functions *functions, uint64_t address) {
    const gathered_range *ranges = functions->ranges.items, *last, *next;
    if (functions->chain.size == 0 || functions->next.size == 0) return false;
    if (functions->spans.items[0].end != address) return false;
    last = &ranges[functions->chain.calls[0].range];
    next = &ranges[functions->next.calls[0].range];
    return last == next ||
           (next->start == address &&
            symbfile_functions_continue(functions, functions->spans.items[0].start, last,
                                        next));
}

/* Return how many calls of the last chain are in the next chain, too: at least 1, because
 * the function counts. */
static uint32_t count_same_calls(const gsym_symbfile_functions *functions) {
    const call_chain *chain = &functions->chain, *next = &functions->next;
    uint32_t count = 1;
    while (count < chain->size && count < next->size &&
           chain->calls[count].range == next->calls[count].range &&
           chain->calls[count].call_file == next->calls[count].call_file)
        count++;
    return count;
}

/* ---- the sweep -------------------------------------------------------------------- */

/* Add a node; name_nodes() sets its name, call file and call line. */
static gsym_status put_node(gsym_symbfile_functions *functions, uint32_t depth,
                            uint64_t start, gsym_error *error) {
    chain_call *call = &functions->next.calls[depth];
    if (functions->node_total++ > LIMIT_OF(NODES, functions->range_total))
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "crossing ranges would be split into more than %d inlined calls "
                         "each",
                         NODES_FACTOR);
    call->node = (uint32_t)functions->nodes.count;
    if (!LIST_ADD(functions->nodes,
                  (gsym_inline_node){.depth = depth,
                                     .range_first = (uint32_t)functions->spans.count,
                                     .range_count = 1}) ||
        !LIST_ADD(functions->node_calls, *call) ||
        !LIST_ADD(functions->spans, (gsym_range){start, start}))
        return gsym_fail_memory(error);
    return GSYM_OK;
}

/* Add the addresses from `start` to `end`, which have the next chain, to the open function,
 * or begin another function with them. */
static gsym_status put_chain(gsym_symbfile_functions *functions, uint64_t start,
                             uint64_t end, gsym_error *error) {
    call_chain *chain = &functions->chain, *next = &functions->next;
    uint32_t same = 0, innermost;
    if (is_same_function(functions, start)) {
        same = count_same_calls(functions);
    } else {
        GSYM_TRY(end_function(functions, error));
        GSYM_TRY(begin_function(functions, error));
    }
    for (uint32_t i = 0; i < next->size; ++i) {
        if (i < same)
            next->calls[i].node = chain->calls[i].node;
        else
            GSYM_TRY(put_node(functions, i, start, error));
        functions->spans.items[next->calls[i].node].end = end;
        chain->calls[i] = next->calls[i];
    }
    chain->size = next->size;
    innermost = chain->calls[chain->size - 1].range;
    return put_rows_of(functions, &functions->ranges.items[innermost], start, end, error);
}

gsym_status symbfile_functions_sweep(gsym_symbfile_functions *functions,
                                     gsym_error *error) {
    const gathered_range *ranges = functions->ranges.items;
    size_t count = functions->ranges.count, at = 0;
    uint64_t address = 0;
    sort_ranges(functions);
    functions->range_total += count;
    functions->level_count = 0;
    for (;;) {
        uint64_t end;
        for (; at < count && ranges[at].start <= address; ++at)
            push_range(functions, (uint32_t)at);
        end = find_chain(functions, address);
        if (at < count && ranges[at].start < end) end = ranges[at].start;
        if (functions->next.size != 0)
            GSYM_TRY(put_chain(functions, address, end, error));
        else if (at == count)
            return end_function(functions, error);
        address = end;
    }
}
