/* functions.h - ranges of symbfiles to functions of a creator: functions.c gathers ranges
 * that are independent of all others, function_tree.c converts them. */
#ifndef GSYM_SYMBFILE_FUNCTIONS_H
#define GSYM_SYMBFILE_FUNCTIONS_H

#include "create/creator.h"
#include "gsym/function_info.h"

/* The strings of ranges on their way into a GSYM file.
 *
 * A reader gives all of its numbers up now and then, while a function still waits for
 * calls that are inlined into it. Here a string keeps its index until that function is
 * finished. It goes into the file when the file needs it, and not before. */

typedef struct symbfile_text {
    uint64_t at; /* in the bytes */
    uint32_t size;
    uint32_t file; /* number in the output, SYMBFILE_TEXT_UNUSED: it has none yet */
    uint64_t name; /* strp, 0: it has none yet */
} symbfile_text;

#define SYMBFILE_TEXT_UNUSED UINT32_MAX

typedef struct symbfile_texts {
    gsym_creator *creator;
    buffer bytes;
    LIST(symbfile_text) list; /* text 0: no string */
    size_t first;  /* the text that is number 1 of the reader */
    buffer spelled; /* scratch */
} symbfile_texts;

/* The text of a number of the reader. */
static inline uint32_t symbfile_texts_index(const symbfile_texts *texts, uint32_t number) {
    return number == 0 ? 0 : (uint32_t)(texts->first + number - 1);
}

/* As the name of a function, which a GSYM file wants to have one. */
gsym_status symbfile_texts_name(symbfile_texts *texts, uint32_t index, uint64_t *strp_ret,
                                gsym_error *error);
/* As a path; 0 where it is empty. */
gsym_status symbfile_texts_file(symbfile_texts *texts, uint32_t index, uint32_t *file_ret,
                                gsym_error *error);

/* The reference implementation refuses to go deeper. */
enum { SYMBFILE_MOST_DEPTH = 256 };

#define NO_RANGE UINT32_MAX

/* A function, a part of one that was split where its file changes, or an inlined call. */
typedef struct gathered_range {
    uint64_t start, end;
    uint32_t func, file; /* texts */
    uint32_t call_file, call_line;
    uint32_t depth;
    uint32_t number; /* in the order of the input */
    uint32_t row_first, row_count;
    uint32_t below; /* next on the stack of its depth, during the sweep */
} gathered_range;

typedef struct gathered_row {
    uint32_t offset; /* from the start of the range */
    uint32_t line;
} gathered_row;

/* One call of the chain at the current address; the first is the function. */
typedef struct chain_call {
    uint32_t range;
    uint32_t call_file; /* text; that of the caller where the range has none */
    uint32_t node;
} chain_call;

typedef struct call_chain {
    chain_call calls[SYMBFILE_MOST_DEPTH + 1];
    uint32_t size;
} call_chain;

struct gsym_symbfile_functions {
    gsym_creator *creator;
    symbfile_texts texts;
    uint64_t count; /* of functions that are with the creator */
    /* the gathered ranges */
    LIST(gathered_range) ranges;
    LIST(gathered_row) rows;
    bool waits_for_all; /* no function is made before the input ends */
    /* otherwise they are one function, and calls inlined into it */
    uint32_t last_part; /* the last range of depth 0 */
    uint64_t calls_start, calls_end; /* extent of the calls */
    range_list made;    /* of functions given to the creator */
    bool is_made_sorted;
    bool is_disordered; /* some range covers a part of another function */
    /* scratch: the sweep, and one function as the output holds it */
    uint64_t range_total, node_total; /* of all sweeps */
    uint32_t tops[SYMBFILE_MOST_DEPTH + 1]; /* the range that applies at each depth */
    uint32_t level_count;                   /* depths that may have one */
    call_chain chain, next;
    uint64_t name; /* of the function */
    row_list line_rows;
    gsym_line_row row; /* to be appended; its file is a text */
    bool has_row;
    bool says_lines; /* rows say more than that nothing is known */
    node_list nodes;
    range_list spans; /* of the nodes, one each */
};

/* Whether `next` continues, with the lines of another file, a function that begins at
 * `start` and ends with `last`. */
bool symbfile_functions_continue(const gsym_symbfile_functions *functions, uint64_t start,
                                 const gathered_range *last, const gathered_range *next);
/* Convert the gathered ranges to functions and give these to the creator. */
gsym_status symbfile_functions_sweep(gsym_symbfile_functions *functions,
                                     gsym_error *error);

#endif
