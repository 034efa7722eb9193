/* stored_index.h - the index of one function as a file holds it.
 *
 * The line program has checkpoints to go on from. So has the tree of calls: from each of
 * its boundaries on, the call that all addresses have in common, and the first one below
 * it that may cover one of them. What is found by either is what decoding the record from
 * its start finds.
 *
 * An index comes from a file: its numbers are no more trusted than those of a record, and
 * one that does not fit the record is passed over. */
#ifndef GSYM_GSYM_STORED_INDEX_H
#define GSYM_GSYM_STORED_INDEX_H

#include "gsym/function_info.h"

/* The columns in their order in the file; the numbers of one are equally wide. */
typedef enum stored_column {
    LINE_OFFSET, /* of a row, from the start of the function */
    LINE_AT,     /* of the next opcode, from the start of the payload */
    LINE_FILE,
    LINE_NUMBER,
    CALLS_OFFSET, /* of a boundary, from the start of the function */
    CALLS_NODE,   /* what is common to all addresses up to the next; 0: nothing is */
    CALLS_AT,     /* of the first call below it, from the start of the payload; 0: none */
    NODE_PARENT,  /* its number, which is lower; 0: it is the root */
    NODE_START,   /* of its first range, from the start of the function */
    NODE_FIELDS,  /* where its name stands, from the start of the payload */
    COLUMN_COUNT
} stored_column;

typedef struct stored_index {
    uint64_t line_table_size; /* of the payloads that it was made for */
    uint64_t inline_info_size;
    uint32_t counts[3]; /* of checkpoints, boundaries, nodes */
    const uint8_t *numbers; /* of all columns, which lie in the file */
    uint64_t columns[COLUMN_COUNT]; /* where each begins among them */
    uint8_t widths[COLUMN_COUNT];
    bool swap;
} stored_index;

/* Where a walk over the tree of calls begins. */
typedef struct calls_checkpoint {
    uint32_t node; /* number of the call that it begins below; 0: at the root */
    uint32_t at;   /* of the first call to look at; 0: there is none below a node */
} calls_checkpoint;

/* Append the index of a record's line table and tree of calls, whose payloads are empty
 * where it has none. False, and nothing is appended: neither is large, or one is damaged,
 * or memory ran out. */
bool stored_index_encode(buffer *out, const cursor *lines, const cursor *calls,
                         unsigned strp_size);
/* The index at the cursor. */
bool stored_index_open(const cursor *at, stored_index *index_ret);

/* The last checkpoint at or below `offset` from the start of the function. */
bool stored_index_line(const stored_index *index, uint64_t offset,
                       line_checkpoint *checkpoint_ret);
bool stored_index_calls(const stored_index *index, uint64_t offset,
                        calls_checkpoint *checkpoint_ret);
/* Call `number`, from 1 on; those around it have lower ones. */
bool stored_index_node(const stored_index *index, uint32_t number, call_node *node_ret);

#endif
