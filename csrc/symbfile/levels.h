/* levels.h - flatten a function into ranges, each with its rows.
 *
 * Level 0 is the function; level n has the calls inlined into calls of level n - 1. Every
 * address is covered by one range of each level from 0 to that of the innermost call;
 * ranges of a level do not overlap. Ranges are in pre-order. A range has the rows of the
 * addresses at which no deeper call is, and they have one file: if the file changes,
 * another range begins. */
#ifndef GSYM_SYMBFILE_LEVELS_H
#define GSYM_SYMBFILE_LEVELS_H

#include "gsym/function_info.h"

typedef struct level_range {
    uint64_t start; /* addresses */
    uint64_t end;
    size_t row_first; /* of its rows */
    size_t row_count;
    uint32_t call; /* index of the node, plus 1; 0: the function itself */
    uint32_t depth;
    uint32_t file; /* of its rows; 0: unknown, or no rows */
    uint32_t line; /* of the last row */
    uint64_t reached; /* address of the last row; offsets between rows have 32 bits */
} level_range;

/* A row that is not sorted by range yet. Sorting is needed because the rows of an outer
 * range continue after its calls. */
typedef struct level_row {
    uint64_t address;
    uint32_t range;
    uint32_t line;
} level_row;

typedef LIST(uint32_t) index_list;

typedef struct function_levels {
    LIST(level_range) ranges;
    /* Sorted by range, with offsets from its start. */
    LIST(gsym_symbfile_row) rows;
    bool is_complete; /* false: inlined calls are left out because there are too many */
    /* Memory for one function, used again for the next one. */
    LIST(level_row) found;
    call_tree tree;
    index_list open; /* open ranges, the outermost first */
    index_list path;
} function_levels;

/* Return the inlined call of a range, or NULL for the function itself. */
static inline const gsym_inline_node *level_call(const gsym_function *function,
                                                 const level_range *range) {
    return range->call == 0 ? NULL : &function->nodes[range->call - 1];
}

static inline uint64_t level_name(const gsym_function *function,
                                  const level_range *range) {
    return range->call == 0 ? function->name : level_call(function, range)->name;
}

void function_levels_deinit(function_levels *levels);
/* Flatten a function from `start` to `end` (exclusive). With `root_is_call` the root of its
 * calls is itself a call. */
gsym_status function_levels_make(function_levels *levels, const gsym_function *function,
                                 bool root_is_call, uint64_t start, uint64_t end,
                                 gsym_error *error);

#endif
