/* breakpad.h - define the state of a Breakpad reader.
 *
 * breakpad.c splits the text into lines; breakpad_records.c reads lines; breakpad_numbers.c
 * numbers FILE and INLINE_ORIGIN records; breakpad_function.c gathers the records of a
 * FUNC; breakpad_batch.c hands out batches of functions, encodes them, with the tree of
 * INLINE records that create/inline_builder.c makes, and takes them back;
 * breakpad_publics.c keeps PUBLIC records until the end of the text; breakpad_findings.c
 * lists damaged records. */
#ifndef GSYM_SOURCES_BREAKPAD_H
#define GSYM_SOURCES_BREAKPAD_H

#include "base/cursor.h"
#include "base/path_rules.h"
#include "base/tables.h"
#include "create/creator.h"
#include "create/inline_builder.h"

/* ---- numbers of FILE and INLINE_ORIGIN ------------------------------------------ */

#define NUMBER_UNDEFINED UINT64_MAX

typedef struct numbered {
    uint64_t value; /* NUMBER_UNDEFINED: a record has used the number, but none has
                       defined it */
    uint32_t number;
} numbered;

/* Entries for the numbers of FILE or INLINE_ORIGIN records, in the order in which numbers
 * are first defined or used. Most files count up, so that a number minus the first one is
 * the index of its entry. */
typedef struct numbering {
    LIST(numbered) entries;
    number_map others; /* numbers that do not follow the first one -> entries */
} numbering;

void numbering_deinit(numbering *numbers);
bool numbering_look_up(numbering *numbers, uint32_t number, uint32_t *entry_ret);

/* Find the entry of a number, or make one. False where memory ran out. */
static inline bool numbering_entry(numbering *numbers, uint32_t number,
                                   uint32_t *entry_ret) {
    const numbered *entries = numbers->entries.items;
    if (GSYM_LIKELY(numbers->entries.count != 0)) {
        uint32_t entry = number - entries[0].number;
        if (GSYM_LIKELY(entry < numbers->entries.count &&
                        entries[entry].number == number)) {
            *entry_ret = entry;
            return true;
        }
    }
    return numbering_look_up(numbers, number, entry_ret);
}

/* ---- a function that is being read ----------------------------------------------- */

typedef struct breakpad_position {
    uint64_t line; /* counts from 1 */
    uint64_t offset;
} breakpad_position;

/* A line record. Offsets count from the start of the function; bytes outside of the
 * function are cut off. */
typedef struct breakpad_row {
    uint32_t start, end;
    uint32_t line;
    uint32_t file; /* index of an entry in `files`; replaced by a file of the output when
                      the function is closed */
} breakpad_row;

typedef struct breakpad_inline {
    uint64_t origin;    /* index of an entry in `origins`; replaced by a strp when the
                           function is closed */
    uint32_t call_line;
    uint32_t call_file; /* as the file of a row; 0 means none when the function is closed */
    bool has_call_file;
} breakpad_inline;

/* The contents of functions; each function has adjacent items of each list. */
typedef struct breakpad_parts {
    LIST(breakpad_row) rows;
    LIST(breakpad_inline) inlines;
    inline_piece_list pieces;
} breakpad_parts;

typedef struct breakpad_function {
    uint64_t address;
    uint64_t name; /* strp */
    uint32_t size;
    bool is_ordered; /* rows ascend */
    bool is_early;   /* it used a number that no record had defined yet */
    breakpad_position position;
    size_t row_first, row_count;
    size_t inline_first, inline_count;
    size_t piece_first, piece_count;
} breakpad_function;

typedef LIST(breakpad_function) breakpad_function_list;

typedef struct breakpad_findings {
    uint64_t counts[GSYM_BREAKPAD_FAULT_COUNT];
    bool keeps_items;
    LIST(gsym_breakpad_finding) kept;
} breakpad_findings;

/* Add `times` findings at one place of the text. */
void breakpad_find(breakpad_findings *findings, gsym_breakpad_fault fault,
                   breakpad_position position, uint64_t value, uint64_t times);
/* Add the findings of a batch. */
void breakpad_findings_join(breakpad_findings *findings, const breakpad_findings *more);

/* ---- batches of functions for the creator ------------------------------------------ */

struct gsym_breakpad_batch {
    breakpad_parts parts;
    breakpad_function_list functions;
    /* the result of gsym_breakpad_batch_encode() */
    unsigned strp_size;
    buffer blobs;
    LIST(creator_record) records;
    breakpad_findings findings;
    /* scratch for one function */
    row_list rows;
    inline_builder inlines;
    gsym_breakpad_batch *next; /* in the list of batches to use again */
};

void breakpad_batch_destroy(gsym_breakpad_batch *batch);
void breakpad_parts_deinit(breakpad_parts *parts);
/* Append the contents of a function to `to`, and let the function refer to them there. */
bool breakpad_parts_copy(breakpad_function *function, const breakpad_parts *from,
                         breakpad_parts *to);
/* Set the numbers of items of a function, which is the last one of `parts`. */
void breakpad_parts_count(breakpad_function *function, const breakpad_parts *parts);

/* ---- the reader ------------------------------------------------------------------ */

typedef struct breakpad_public {
    uint64_t address;
    uint64_t next; /* lowest start of a function that is between it and the next PUBLIC */
    const char *name;
    uint32_t name_size;
    int64_t covers; /* number of functions that cover it, minus that of the PUBLIC before
                       it */
} breakpad_public;

struct gsym_breakpad {
    gsym_creator *creator;
    path_rule_list path_rules;
    /* the text */
    breakpad_position position; /* of the line being read */
    uint64_t offset;      /* of the next byte to come */
    buffer carry;         /* the start of a line whose end has not come yet */
    bool is_carrying;
    bool is_skipping;     /* the line in `carry` is too long, so it is skipped */
    bool is_finished;
    /* what records have said so far */
    bool has_module;
    uint64_t isa_bit; /* see object_isa_bit(); 0 for most modules */
    buffer head;
    LIST(size_t) head_ends;
    numbering files;   /* the values are files of the output */
    numbering origins; /* the values are strps */
    buffer path;        /* scratch */
    /* functions */
    bool is_in_function;
    breakpad_function function;
    breakpad_parts parts;          /* of the functions in `closed`, then of `function` */
    breakpad_function_list closed; /* to be encoded */
    breakpad_parts waiting_parts;
    breakpad_function_list waiting; /* closed, but with numbers that no record has
                                       defined yet */
    LIST(gsym_breakpad_batch *) batches; /* all that were made */
    gsym_breakpad_batch *spare; /* first in the list of batches to use again */
    LIST(breakpad_public) publics;
    /* what was wrong in the text */
    gsym_breakpad_counts counts;
    breakpad_findings findings;         /* those of this thread, in the order of the text */
    breakpad_findings encoder_findings; /* those of encoded batches, in the order of the
                                           functions */
};

/* Read the lines of a cursor whose last byte is the end of a line. */
gsym_status breakpad_read_lines(gsym_breakpad *breakpad, cursor *lines,
                                gsym_error *error);
/* Read one line, without its end. */
gsym_status breakpad_read_line(gsym_breakpad *breakpad, cursor line, gsym_error *error);

/* Whether records have defined all numbers that a function has used. */
bool breakpad_knows_numbers(const gsym_breakpad *breakpad,
                            const breakpad_function *function);
/* Replace the indexes of entries by files and strps of the output. */
gsym_status breakpad_resolve_numbers(gsym_breakpad *breakpad,
                                     const breakpad_function *function,
                                     breakpad_parts *parts, gsym_error *error);

gsym_status breakpad_open_function(gsym_breakpad *breakpad, uint64_t address,
                                   uint64_t size, uint64_t name, gsym_error *error);
/* Close the function being read: it has all its records. */
gsym_status breakpad_close_function(gsym_breakpad *breakpad, gsym_error *error);
/* Close the functions that waited for the definition of numbers, now that the text has
 * ended. */
gsym_status breakpad_close_waiting(gsym_breakpad *breakpad, gsym_error *error);

gsym_status breakpad_add_public(gsym_breakpad *breakpad, uint64_t address,
                                const char *name, size_t name_size, gsym_error *error);

#endif
