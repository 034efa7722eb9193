/* function_info.h - encode and decode the records of a GSYM file.
 *
 * line_table.c, inline_info.c and function_info.c each have both directions of one record
 * kind. String offsets take strp_size bytes (version 1: 4, version 2: 8); the byte order is
 * that of the buffer or the cursor. */
#ifndef GSYM_GSYM_FUNCTION_INFO_H
#define GSYM_GSYM_FUNCTION_INFO_H

#include "base/buffer.h"
#include "base/cursor.h"

/* ---- what the index of a function is made of ----------------------------------- */

/* The state of a line program after one of its rows. */
typedef struct line_checkpoint {
    uint32_t offset; /* of the row, from the start of the function */
    uint32_t at;     /* of the next opcode, from the start of the payload */
    uint32_t file;
    uint32_t line;
} line_checkpoint;

typedef LIST(line_checkpoint) checkpoint_list;

/* A node of an index. Nodes are numbered from 1, the root. */
typedef struct call_node {
    uint32_t parent; /* 0: the root */
    uint32_t start;  /* of its first range, from the start of the function */
    uint32_t fields; /* offset of its name in the payload */
} call_node;

typedef struct call_range {
    uint32_t start; /* offsets from the start of the function */
    uint32_t end;
    uint32_t node;
} call_range;

typedef struct call_tree {
    LIST(call_node) nodes;
    LIST(uint32_t) locations; /* of nodes in the payload */
    LIST(call_range) ranges;  /* in order of nodes */
    bool failed;              /* memory ran out */
} call_tree;

enum { INDEX_LINE_SPACING = 64 }; /* bytes of opcodes between two checkpoints */

/* Empty when zeroed; its memory is kept from one function to the next. */
typedef struct index_source {
    uint64_t lines_size; /* of the payloads */
    uint64_t calls_size;
    checkpoint_list checkpoints;
    call_tree tree;
    bool is_far; /* an offset does not fit into 32 bits, so that no index is written */
} index_source;

void index_source_clear(index_source *source);
void index_source_deinit(index_source *source);

/* ---- encode ------------------------------------------------------------------- *
 * `source`, empty or NULL, is filled with what decoding the record would find. */

/* Rows must ascend, from `start` on. */
gsym_status line_table_encode(buffer *out, uint64_t start, const gsym_line_row *rows,
                              size_t count, index_source *source, gsym_error *error);

/* Nodes in pre-order; each child range must be within one range of its parent. */
gsym_status inline_info_encode(buffer *out, unsigned strp_size, uint64_t start,
                               const gsym_inline_node *nodes, size_t count,
                               const gsym_range *ranges, index_source *source,
                               gsym_error *error);

/* The complete record: size, name, each InfoType in ascending order, EndOfList. Not
 * aligned; the layout aligns records. */
gsym_status function_info_encode(buffer *out, unsigned strp_size,
                                 const gsym_function *function, index_source *source,
                                 gsym_error *error);

/* Append call sites as in a record, after their count. */
void call_sites_put(buffer *out, unsigned strp_size, const gsym_call_site *sites,
                    size_t count, const uint64_t *regexes);

/* ---- decode ------------------------------------------------------------------- *
 * A payload is a cursor over the bytes of one InfoType; offsets in errors count
 * from the start of the file. */

typedef LIST(gsym_inline_node) node_list;
typedef LIST(gsym_call_site) call_site_list;
typedef LIST(uint64_t) regex_list;
typedef LIST(gsym_extra) extra_list;

/* The parts of decoded functions; each function owns a run of each list. */
typedef struct function_parts {
    row_list rows;
    node_list nodes;
    LIST(uint32_t) parents; /* scratch: the open nodes of a tree, from its root on */
    range_list ranges;
    call_site_list call_sites;
    regex_list regexes;
    extra_list extras;
} function_parts;

/* A function, and after it those merged into it. */
typedef struct function_set {
    function_parts parts;
    LIST(gsym_function) functions;
} function_set;

void function_set_clear(function_set *set);
void function_set_deinit(function_set *set);
/* Set the pointers of each function to its run of each list, when the set is complete.
 * Pointers to empty lists are unchanged. */
void function_set_link(function_set *set);

/* Append all rows. */
gsym_status line_table_decode(cursor *payload, uint64_t start, row_list *rows,
                              gsym_error *error);
/* Append a checkpoint for each INDEX_LINE_SPACING bytes of the table, after the first row
 * that ends there or later; the caller has reserved these. False if the table is damaged or
 * not as encoders write it, or a row is too far from the function. */
bool line_table_checkpoints(const cursor *payload, checkpoint_list *list);
/* The last row at or below `address`; all 0 if the first is above. */
gsym_status line_table_find(const cursor *payload, uint64_t start, uint64_t address,
                            gsym_line_row *row_ret, gsym_error *error);
/* line_table_find() for a valid table, from a checkpoint in the payload on. A damaged table
 * gives any row. */
void line_table_find_after(const cursor *payload, const line_checkpoint *checkpoint,
                            uint64_t start, uint64_t address, gsym_line_row *row_ret);

/* The state of a line program. */
typedef struct line_program {
    cursor c;
    const uint8_t *op; /* the opcode being run */
    uint64_t min_delta;
    uint32_t range;
    uint32_t reciprocal; /* a / range == a * reciprocal >> 16 for a special opcode */
    gsym_line_row row;
} line_program;

/* The rows of a valid table for ascending addresses. */
typedef struct line_sweep {
    cursor payload;
    uint64_t start;
    line_program program; /* at the row after `row` */
    bool has_next;
    gsym_line_row row; /* the last at or below the address; file 0 before all */
} line_sweep;

bool line_sweep_begin(line_sweep *sweep, const cursor *payload, uint64_t start);
/* Continue after a checkpoint that is not above the next address. */
void line_sweep_skip(line_sweep *sweep, const line_checkpoint *checkpoint);
void line_sweep_advance(line_sweep *sweep, uint64_t address);

/* Compare the row addresses of two tables with the same start: -1, 0, 1. */
int line_table_compare_addresses(const cursor *left, const cursor *right);

/* Append all nodes and their ranges; range_first of a node counts from the ranges that were
 * there before. */
gsym_status inline_info_decode(cursor *payload, unsigned strp_size, uint64_t start,
                               function_parts *parts, gsym_error *error);

/* The nodes that cover one address, from the root inwards. */
typedef struct inline_walk {
    cursor payload; /* failed: the bytes ended early */
    size_t least_left; /* calls that begin with fewer bytes left are not looked at */
    uint64_t address;
    uint64_t until; /* the result is the same for all addresses below */
    uint64_t base;
    unsigned strp_size;
    bool is_root;
    bool is_done;
} inline_walk;

typedef struct inline_match {
    uint64_t name;
    uint64_t start; /* of the node's first range */
    uint32_t call_file;
    uint32_t call_line;
    bool is_root;
} inline_match;

bool inline_walk_next(inline_walk *walk, inline_match *match_ret);

/* All nodes in pre-order, without their ranges. */
typedef struct inline_nodes {
    cursor payload; /* failed: the bytes ended early */
    unsigned strp_size;
    uint64_t depth; /* lists that have not ended */
    bool is_done;
} inline_nodes;

/* The next node, without its start. */
bool inline_nodes_next(inline_nodes *walk, inline_match *match_ret);

/* Append all nodes. False if the tree is damaged, is too far from the function, or
 * `failed`. */
bool inline_info_list(const cursor *payload, unsigned strp_size, call_tree *tree);
void call_tree_deinit(call_tree *tree);
/* The node as found by the walk; `start` is that of the function. */
inline_match inline_info_node(const cursor *payload, unsigned strp_size, uint64_t start,
                              const call_node *node);

/* One InfoType of a record. */
typedef struct record_info {
    uint32_t type;
    cursor payload;
    uint64_t offset; /* of the payload, from the start of the file */
} record_info;

/* The fixed start of a record; leaves `record` after it. */
gsym_status function_info_decode_head(cursor *record, unsigned strp_size,
                                      uint64_t *size_ret, uint64_t *name_ret,
                                      gsym_error *error);
/* The next InfoType, GSYM_INFO_END_OF_LIST at the end. */
gsym_status function_info_next(cursor *record, record_info *info_ret, gsym_error *error);

/* The payloads of the known InfoTypes of a record; empty without a type. */
typedef struct record_payloads {
    cursor of[GSYM_INFO_CALL_SITES + 1]; /* by InfoType */
} record_payloads;

/* All InfoTypes up to the end; `record` is after the fixed start. False if the record is
 * damaged, or known types are empty, or not unique and ascending, as every encoder writes
 * them. */
bool function_info_payloads(cursor *record, record_payloads *payloads_ret);

/* A record without its merged functions, whose payload is returned (type
 * GSYM_INFO_MERGED_FUNCTIONS, or GSYM_INFO_END_OF_LIST without any). The counts in
 * *function_ret are the numbers of appended items; its pointers are not set. */
gsym_status function_info_decode(cursor *record, unsigned strp_size, uint64_t start,
                                 function_parts *parts, gsym_function *function_ret,
                                 record_info *merged_ret, gsym_error *error);

/* The number of records that a MergedFunctionsInfo declares. */
gsym_status merged_functions_count(cursor *payload, uint32_t *count_ret,
                                   gsym_error *error);
/* The next of them, number `index`. */
gsym_status merged_functions_next(cursor *payload, uint32_t index, cursor *record_ret,
                                  gsym_error *error);

/* Append all call sites; their regex_first counts from the current end of `regexes`. */
gsym_status call_sites_decode(cursor *payload, unsigned strp_size,
                              call_site_list *call_sites, regex_list *regexes,
                              gsym_error *error);
/* Patterns of the first call site that returns to function start + return_offset: returns
 * their number, writes those that fit. */
gsym_status call_sites_find(cursor *payload, unsigned strp_size, uint64_t return_offset,
                            uint64_t *regexes, size_t capacity, uint32_t *count_ret,
                            gsym_error *error);

/* Decode the record at `c` of a function that starts at `start`, and the functions merged
 * into it; *function_ret points to data that is valid until the next call. */
gsym_status record_decode(gsym_record *record, cursor c, unsigned strp_size,
                          uint64_t start, const gsym_function **function_ret,
                          gsym_error *error);
/* Size in the file of the last decoded function. */
uint64_t record_size(const gsym_record *record);

#endif
