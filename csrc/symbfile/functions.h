/* functions.h - convert ranges of symbfiles to functions of a creator: functions.c gathers
 * ranges that are independent of others, function_tree.c converts them, function_texts.c
 * keeps their strings. */
#ifndef GSYM_SYMBFILE_FUNCTIONS_H
#define GSYM_SYMBFILE_FUNCTIONS_H

#include "base/limit.h"
#include "create/creator.h"
#include "gsym/function_info.h"

/* The strings of ranges for the GSYM file.
 *
 * A reader discards the numbers of strings from time to time, possibly inside a function.
 * Here a string keeps its index until the function is finished. It is added to the GSYM
 * file when it is needed. */

typedef struct symbfile_text {
    uint64_t at; /* offset in symbfile_texts.bytes */
    uint32_t size;
    uint32_t file; /* number in the output, or SYMBFILE_TEXT_UNUSED */
    uint64_t name; /* strp, 0: none yet */
} symbfile_text;

#define SYMBFILE_TEXT_UNUSED UINT32_MAX

typedef struct symbfile_texts {
    gsym_creator *creator;
    buffer bytes;
    LIST(symbfile_text) list; /* text 0: no string */
    size_t first;  /* index of the text to which the reader gave number 1 */
    buffer spelled; /* scratch */
} symbfile_texts;

/* Return the text for a number of the reader. */
static inline uint32_t symbfile_texts_index(const symbfile_texts *texts, uint32_t number) {
    return number == 0 ? 0 : (uint32_t)(texts->first + number - 1);
}

gsym_status symbfile_texts_init(symbfile_texts *texts, gsym_creator *creator,
                                       gsym_error *error);
void symbfile_texts_deinit(symbfile_texts *texts);
gsym_status symbfile_texts_take(symbfile_texts *texts,
                                       const gsym_symbfile_columns *columns,
                                       gsym_error *error);
void symbfile_texts_forget(symbfile_texts *texts);
/* Whether two texts have equal bytes; text 0 equals no other text, not even an empty
 * one. */
bool symbfile_texts_equal(const symbfile_texts *texts, uint32_t left,
                          uint32_t right);
/* Intern a text as the name of a function, which is not empty. */
gsym_status symbfile_texts_name(symbfile_texts *texts, uint32_t index, uint64_t *strp_ret,
                                gsym_error *error);
/* Intern a text as a path; file 0 if it is empty. */
gsym_status symbfile_texts_file(symbfile_texts *texts, uint32_t index, uint32_t *file_ret,
                                gsym_error *error);

/* The reference implementation has the same limit.
 * Limit: Nested calls of a symbfile */
enum { SYMBFILE_MAX_DEPTH = 256 };

#define NO_RANGE UINT32_MAX

/* A range of the symbfile: a function, a part of a function that was split where the source
 * file changes, or an inlined call. */
typedef struct gathered_range {
    uint64_t start, end;
    uint32_t func, file; /* texts */
    uint32_t call_file, call_line;
    uint32_t depth;
    uint32_t number; /* its index in the input */
    uint32_t row_first, row_count;
    uint32_t below; /* during the sweep, the range below it on the stack of its depth */
} gathered_range;

typedef struct gathered_row {
    uint32_t offset; /* from the start of the range */
    uint32_t line;
} gathered_row;

/* One call of the chain at the current address; the first is the function. */
typedef struct chain_call {
    uint32_t range;
    uint32_t call_file; /* a text; the file of the caller if the range has none */
    uint32_t node;
} chain_call;

typedef struct call_chain {
    chain_call calls[SYMBFILE_MAX_DEPTH + 1];
    uint32_t size;
} call_chain;

struct gsym_symbfile_functions {
    gsym_creator *creator;
    symbfile_texts texts;
    uint64_t count; /* number of functions that the creator got */
    /* the gathered ranges */
    LIST(gathered_range) ranges;
    LIST(gathered_row) rows;
    bool waits_for_all; /* no function is made before the end of the input */
    /* used unless waits_for_all: the gathered ranges are one function and its inlined
     * calls */
    uint32_t last_part; /* the last range of depth 0 */
    uint64_t calls_start, calls_end; /* extent of the calls */
    range_list made;    /* ranges of these functions */
    bool is_made_sorted;
    bool is_disordered; /* a range covers a part of another function */
    /* the state of the sweep, and the function that it makes */
    uint64_t range_total, node_total; /* numbers of ranges and nodes of all sweeps */
    uint32_t tops[SYMBFILE_MAX_DEPTH + 1]; /* the active range of each depth */
    uint32_t level_count;                   /* number of depths that may have an active
                                               range */
    call_chain chain, next;
    uint64_t name; /* of the function */
    row_list line_rows;
    gsym_line_row row; /* the pending row, whose file is a text */
    bool has_row;
    bool has_lines; /* any row has a line */
    node_list nodes;
    LIST(chain_call) node_calls; /* the call of each node */
    range_list spans;            /* of the nodes, one each */
};

/* Whether `next` continues a function from `start` to the end of `last` with lines of
 * another file. */
bool symbfile_functions_continue(const gsym_symbfile_functions *functions, uint64_t start,
                                 const gathered_range *last, const gathered_range *next);
/* Convert the gathered ranges to functions, and add these to the creator. */
gsym_status symbfile_functions_sweep(gsym_symbfile_functions *functions,
                                     gsym_error *error);

#endif
