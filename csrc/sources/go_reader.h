/* go_reader.h - what is needed to make GSYM functions of those of a pclntab.
 *
 * go_functions.c takes one function after the other and makes its lines, go_files.c
 * numbers names and files, go_calls.c makes the tree of its inlined calls. */
#ifndef GSYM_SOURCES_GO_READER_H
#define GSYM_SOURCES_GO_READER_H

#include "sources/conversion.h"
#include "sources/go_values.h"
#include "create/inline_builder.h"
#include "base/number_map.h"

/* An inlined call; a function numbers its own from 0. */
typedef struct go_call {
    uint32_t name;   /* place of its name */
    uint32_t parent; /* the call it was inlined into; GO_NO_CALL: the function itself */
    uint32_t level;
    uint32_t call_file; /* of the output */
    uint32_t call_line;
} go_call;

#define GO_NO_CALL UINT32_MAX

/* Bytes of a function that are of one call. */
typedef struct go_call_span {
    uint32_t start; /* from the start of the function */
    uint32_t end;
    uint32_t call;
} go_call_span;

typedef struct go_reader {
    go_pclntab table;
    gsym_conversion *conversion;
    gsym_creator *creator;
    number_map files; /* place of a path -> file of the output */
    number_map names; /* place of a name -> its number in the output, plus 1 */
    uint64_t work_left; /* values and calls that may still be read: tables may be shared */
    bool is_cut;        /* there was too little for the function */
    /* scratch: one function */
    buffer path;
    row_list rows; /* of the whole function, file and line 0 where none is known */
    struct { go_call *items; size_t count, capacity; } calls;
    struct { go_call_span *items; size_t count, capacity; } spans;
    inline_piece_list pieces;
    inline_builder builder; /* its nodes are the tree; none: no inlined call */
} go_reader;

void go_reader_warn(go_reader *reader, gsym_warning_category category,
                    const go_function *function);
/* Take `count` from the work that is left; where there is less, the function is cut. */
bool go_reader_spend(go_reader *reader, uint64_t count);

/* The name of the output for the one at a place. *is_known_ret false: there is none. */
gsym_status go_name_number(go_reader *reader, uint32_t place, bool *is_known_ret,
                           uint64_t *name_ret, gsym_error *error);
/* The file of the output for file `number` of the function's unit; 0: it is not known. */
gsym_status go_file_number(go_reader *reader, const go_function *function, int32_t number,
                           uint32_t *file_ret, gsym_error *error);
/* Make the tree of inlined calls of a function of `size` bytes, whose rows are made, and
 * whose name is `name` in the output. What is damaged is a warning. */
gsym_status go_calls_read(go_reader *reader, const go_function *function, uint32_t size,
                          uint64_t name, gsym_error *error);

#endif
