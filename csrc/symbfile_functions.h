/* symbfile_functions.h - ranges of symbfiles on their way to a creator, function by
 * function.
 *
 * symbfile_functions.c gathers the ranges of a function, symbfile_function_tree.c makes
 * its lines and its tree of calls of them. */
#ifndef GSYM_SYMBFILE_FUNCTIONS_H
#define GSYM_SYMBFILE_FUNCTIONS_H

#include "function_info.h"
#include "symbfile_texts.h"

/* The reference implementation refuses to go deeper. */
enum { SYMBFILE_MOST_DEPTH = 256 };

#define NO_RANGE UINT32_MAX

/* A function, a part of one that was split where its file changes, or an inlined call. */
typedef struct gathered_range {
    uint64_t start, end;
    uint32_t func, file; /* texts */
    uint32_t call_file, call_line;
    uint32_t row_first; /* its rows end where those of the next range begin */
    uint32_t first_call, last_call; /* inlined into it; those of all parts are the first's */
    uint32_t next_call;
} gathered_range;

typedef struct gathered_row {
    uint32_t offset; /* from the start of the function; 0 for those in front of it, too */
    uint32_t line;
} gathered_row;

/* A function of which more ranges may come; without ranges, none. */
typedef struct gathered_function {
    struct { gathered_range *items; size_t count, capacity; } ranges;
    struct { gathered_row *items; size_t count, capacity; } rows;
    struct { uint32_t *items; size_t count, capacity; } parts; /* ranges of depth 0 */
    uint32_t path[SYMBFILE_MOST_DEPTH + 1]; /* from the last part to the last range */
    uint32_t path_size;
    bool has_lines;     /* the last part has, inside of it or not */
    bool is_disordered; /* calls out of one range do not ascend */
} gathered_function;

/* One of the calls out of a range, to be sorted. */
typedef struct sibling_call {
    uint64_t start;
    uint32_t range;
} sibling_call;

struct gsym_symbfile_functions {
    gsym_creator *creator;
    symbfile_texts texts;
    gathered_function function;
    uint64_t count; /* of functions that are with the creator */
    /* scratch: one function as the output holds it */
    row_list rows;
    gsym_line_row row; /* to be put behind them; its file is a text */
    bool has_row;
    bool says_lines; /* rows say more than that nothing is known */
    node_list nodes;
    range_list spans; /* of the nodes, one each */
    struct { sibling_call *items; size_t count, capacity; } siblings;
};

/* Give the gathered function to the creator. */
gsym_status symbfile_function_put(gsym_symbfile_functions *functions, gsym_error *error);

#endif
