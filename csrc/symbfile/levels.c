/* levels.c - flatten a function: at each boundary of its calls, end and begin ranges;
 * between boundaries, add the rows of the innermost range. */
#include "symbfile/levels.h"

#include "base/limit.h"
#include "gsym/index.h"

enum { MAX_ROWS = 1 << 20 }; /* rows of a range, so that it fits a message */

/* Calls whose ranges alternate with those of other calls begin several times, at most once
 * in each range of another call. So with 256 ranges or fewer, no call is left out.
 * Limit: Inlined calls of a function in a symbfile */
LIMIT(BEGINS, 0, 256);

/* The state for one function. */
typedef struct flattening {
    function_levels *levels;
    const gsym_function *function;
    bool root_is_call;
    uint64_t begins; /* number of times that calls may still begin; see BEGINS */
    size_t row;      /* index of the last row at or below the address, or of the first
                        row */
} flattening;

void function_levels_deinit(function_levels *levels) {
    free(levels->ranges.items);
    free(levels->rows.items);
    free(levels->found.items);
    free(levels->tree.nodes.items);
    free(levels->tree.ranges.items);
    free(levels->open.items);
    free(levels->path.items);
}

/* ---- the tree of calls ------------------------------------------------------------ */

/* List the ranges of a node, as far as 32-bit offsets reach. */
static bool list_ranges(call_tree *tree, const gsym_function *function,
                        const gsym_inline_node *node, uint32_t number) {
    const gsym_range *ranges = function->ranges + node->range_first;
    for (uint32_t i = 0; i < node->range_count; ++i) {
        uint64_t start = ranges[i].start - function->address;
        uint64_t end = ranges[i].end - function->address;
        if (start >= end || end > UINT32_MAX) continue;
        if (!LIST_ADD(tree->ranges, (call_range){(uint32_t)start, (uint32_t)end, number}))
            return false;
    }
    return true;
}

/* List the nodes with their callers; levels->path is the last node of each depth here. */
static bool list_calls(function_levels *levels, const gsym_function *function) {
    call_tree *tree = &levels->tree;
    tree->nodes.count = tree->ranges.count = 0;
    if (!LIST_RESERVE(tree->nodes, function->node_count) ||
        !LIST_RESERVE(levels->path, function->node_count))
        return false;
    for (size_t i = 0; i < function->node_count; ++i) {
        const gsym_inline_node *node = &function->nodes[i];
        uint32_t number = (uint32_t)i + 1;
        levels->path.items[node->depth] = number;
        tree->nodes.items[tree->nodes.count++] =
            (call_node){.parent = node->depth ? levels->path.items[node->depth - 1] : 0};
        if (!list_ranges(tree, function, node, number)) return false;
    }
    return true;
}

/* ---- ranges ----------------------------------------------------------------------- */

static inline level_range *innermost(const function_levels *levels) {
    return &levels->ranges.items[levels->open.items[levels->open.count - 1]];
}

/* Return the level of a call. */
static inline uint32_t level_of(const flattening *flat, uint32_t number) {
    return flat->function->nodes[number - 1].depth + flat->root_is_call;
}

static bool begin_range(flattening *flat, uint32_t call, uint64_t address) {
    function_levels *levels = flat->levels;
    if (!LIST_RESERVE(levels->ranges, 1) || !LIST_RESERVE(levels->open, 1)) return false;
    levels->ranges.items[levels->ranges.count] = (level_range){
        .start = address,
        .reached = address,
        .call = call,
        .depth = (uint32_t)levels->open.count};
    levels->open.items[levels->open.count++] = (uint32_t)levels->ranges.count++;
    return true;
}

static void end_ranges(function_levels *levels, size_t kept, uint64_t address) {
    for (; levels->open.count > kept; --levels->open.count)
        innermost(levels)->end = address;
}

/* Make `number` the innermost call from `address` on; 0: none. False if out of memory. */
static bool change_call(flattening *flat, uint32_t number, uint64_t address) {
    function_levels *levels = flat->levels;
    size_t kept = 1; /* the function itself */
    levels->path.count = 0;
    for (; number != 0; number = levels->tree.nodes.items[number - 1].parent) {
        uint32_t level = level_of(flat, number);
        if (level == 0) break;
        if (level < levels->open.count &&
            levels->ranges.items[levels->open.items[level]].call == number) {
            kept = (size_t)level + 1;
            break;
        }
        if (!LIST_ADD(levels->path, number)) return false;
    }
    end_ranges(levels, kept, address);
    if (levels->path.count > flat->begins) {
        levels->is_complete = false;
        return true;
    }
    flat->begins -= levels->path.count;
    while (levels->path.count > 0)
        if (!begin_range(flat, levels->path.items[--levels->path.count], address))
            return false;
    return true;
}

/* ---- rows ------------------------------------------------------------------------- */

static bool add_row(flattening *flat, uint64_t address, const gsym_line_row *row) {
    function_levels *levels = flat->levels;
    level_range *range = innermost(levels);
    bool has_rows = range->row_count > 0;
    if (has_rows && row->file == range->file && row->line == range->line) return true;
    if ((has_rows && row->file != range->file) || range->row_count == MAX_ROWS ||
        address - range->reached > UINT32_MAX) {
        uint32_t call = range->call;
        end_ranges(levels, levels->open.count - 1, address);
        if (!begin_range(flat, call, address)) return false;
        range = innermost(levels);
    }
    if (!LIST_RESERVE(levels->found, 1)) return false;
    range->file = row->file;
    range->line = row->line;
    range->reached = address;
    range->row_count++;
    levels->found.items[levels->found.count++] = (level_row){
        address, (uint32_t)(range - levels->ranges.items), row->line};
    return true;
}

/* Add rows for start .. end to the innermost range. Of rows at one address, the last is
 * used. */
static bool add_rows(flattening *flat, uint64_t start, uint64_t end) {
    const gsym_line_row *rows = flat->function->rows;
    size_t count = flat->function->row_count;
    if (count == 0) return true;
    while (flat->row + 1 < count && rows[flat->row + 1].address <= start) flat->row++;
    if (rows[flat->row].address > start) start = rows[flat->row].address;
    while (start < end) {
        while (flat->row + 1 < count && rows[flat->row + 1].address == start) flat->row++;
        if (!add_row(flat, start, &rows[flat->row])) return false;
        if (flat->row + 1 == count || rows[flat->row + 1].address >= end) break;
        start = rows[++flat->row].address;
    }
    return true;
}

/* Sort the rows by range. */
static bool group_rows(function_levels *levels) {
    size_t first = 0;
    levels->rows.count = levels->found.count;
    if (!array_reserve(&levels->rows.items, &levels->rows.capacity, levels->found.count,
                       sizeof *levels->rows.items))
        return false;
    for (size_t i = 0; i < levels->ranges.count; ++i) {
        level_range *range = &levels->ranges.items[i];
        range->row_first = first;
        first += range->row_count;
        range->row_count = 0;
    }
    for (size_t i = 0; i < levels->found.count; ++i) {
        const level_row *row = &levels->found.items[i];
        level_range *range = &levels->ranges.items[row->range];
        levels->rows.items[range->row_first + range->row_count++] =
            (gsym_symbfile_row){row->address - range->start, row->line, 0};
    }
    return true;
}

/* ---- functions --------------------------------------------------------------------- */

static bool flatten(flattening *flat, const call_boundaries *boundaries, uint64_t start,
                    uint64_t end) {
    function_levels *levels = flat->levels;
    levels->ranges.count = levels->open.count = levels->found.count = 0;
    flat->row = 0;
    if (!begin_range(flat, 0, start)) return false;
    for (uint32_t i = 0; i <= boundaries->count && start < end; ++i) {
        uint64_t next = end;
        if (i < boundaries->count) {
            next = flat->function->address + boundaries->items[i].offset;
            if (next > end) next = end;
        }
        if (next <= start) continue;
        if (i > 0 && !change_call(flat, boundaries->items[i - 1].innermost, start))
            return false;
        if (!add_rows(flat, start, next)) return false;
        start = next;
    }
    end_ranges(levels, 0, end);
    return group_rows(levels);
}

gsym_status function_levels_make(function_levels *levels, const gsym_function *function,
                                 bool root_is_call, uint64_t start, uint64_t end,
                                 gsym_error *error) {
    flattening flat = {.levels = levels, .function = function,
                       .root_is_call = root_is_call};
    call_boundaries boundaries = {0};
    bool is_done;
    levels->is_complete = true;
    if (!list_calls(levels, function)) return gsym_fail_memory(error);
    flat.begins = LIMIT_OF(BEGINS, levels->tree.ranges.count);
    if (!call_boundaries_list(&levels->tree, &boundaries)) {
        levels->is_complete = false;
        boundaries.count = 0;
    }
    is_done = !boundaries.failed && flatten(&flat, &boundaries, start, end);
    if (is_done && !levels->is_complete) { /* there are too many calls: flatten the
                                              function again without them */
        boundaries.count = 0;
        is_done = flatten(&flat, &boundaries, start, end);
    }
    call_boundaries_deinit(&boundaries);
    return is_done ? GSYM_OK : gsym_fail_memory(error);
}
