/* function_info.h - encode and decode the records of a GSYM file.
 *
 * line_table.c and inline_info.c each encode and decode one InfoType, function_info.c the
 * rest of a record; record.c decodes complete records. String offsets take strp_size bytes
 * (version 1: 4, version 2: 8); the byte order is that of the buffer or the cursor. */
#ifndef GSYM_GSYM_FUNCTION_INFO_H
#define GSYM_GSYM_FUNCTION_INFO_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/cursor.h"

/* ---- places in an encoded record ------------------------------------------------- */

/* The state of a line program after one of its rows. */
typedef struct line_checkpoint {
    uint32_t offset; /* address of the row minus the start of the function */
    uint32_t at;     /* offset of the next opcode in the payload */
    uint32_t file;
    uint32_t line;
} line_checkpoint;

typedef LIST(line_checkpoint) checkpoint_list;

/* A node of the tree of calls. Nodes are numbered in pre-order from 1, the root. */
typedef struct call_node {
    uint32_t parent; /* 0: the root */
    uint32_t start;  /* start of its first range minus the start of the function */
    uint32_t fields; /* offset of its name in the payload */
} call_node;

typedef struct call_range {
    uint32_t start; /* offsets from the start of the function */
    uint32_t end;
    uint32_t node;
} call_range;

typedef struct call_tree {
    LIST(call_node) nodes;
    LIST(uint32_t) locations; /* offset of each node in the payload */
    LIST(call_range) ranges;  /* in the order of the nodes that they belong to */
    bool failed;              /* memory ran out */
} call_tree;

enum { INDEX_LINE_SPACING = 64 }; /* bytes of opcodes between two checkpoints */

/* What the index of a function is made of, and where the names in its record are. Empty
 * when zeroed; its memory is kept from one function to the next. */
typedef struct index_source {
    bool only_names; /* the rest is not wanted */
    buffer names;    /* of inlined calls: distances, ULEB128, from the start of the record
                        to the first name, and from each to the next */
    size_t last_name; /* offset in the output, or that of the record */
    uint64_t lines_size; /* bytes of the line table, and of the tree of calls below */
    uint64_t calls_size;
    checkpoint_list checkpoints;
    call_tree tree;
    bool is_far; /* an offset does not fit into 32 bits, so that no index is written */
} index_source;

void index_source_clear(index_source *source);
void index_source_deinit(index_source *source);

/* ---- encode ------------------------------------------------------------------- *
 * `source` is NULL or, empty before the call, gets checkpoints and tree of calls, as
 * decoding the record would find them, and the places of names. */

/* Encode rows, which must ascend from `start` on. */
gsym_status line_table_encode(buffer *out, uint64_t start, const gsym_line_row *rows,
                              size_t count, index_source *source, gsym_error *error);

/* Whether ranges begin at `first` or later, ascend and do not overlap. */
bool ranges_ascend(const gsym_range *ranges, size_t count, uint64_t first);
/* Encode nodes in pre-order. Each range must be within one range of the parent. */
gsym_status inline_info_encode(buffer *out, unsigned strp_size, uint64_t start,
                               const gsym_inline_node *nodes, size_t count,
                               const gsym_range *ranges, index_source *source,
                               gsym_error *error);

/* Append the complete record: size, name, each InfoType in ascending order, EndOfList. The
 * record is not aligned here, but when the file is laid out. */
gsym_status function_info_encode(buffer *out, unsigned strp_size,
                                 const gsym_function *function, index_source *source,
                                 gsym_error *error);

/* Append call sites as they stand in a record; the caller has written their count. */
void call_sites_put(buffer *out, unsigned strp_size, const gsym_call_site *sites,
                    size_t count, const uint64_t *regexes);

/* ---- decode ------------------------------------------------------------------- *
 * A payload is a cursor over the bytes of one InfoType; offsets in errors count
 * from the start of the file. */

typedef LIST(gsym_inline_node) node_list;
typedef LIST(gsym_call_site) call_site_list;
typedef LIST(uint64_t) regex_list;
typedef LIST(gsym_extra) extra_list;

/* The parts of decoded functions; each function owns a run, which is a number of adjacent
 * items, of each list. */
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
/* Append a checkpoint for each multiple of INDEX_LINE_SPACING bytes of the table: at the
 * first row whose opcodes end there or later. The caller has reserved memory. False if the
 * table is damaged or not as encoders write it, or if an offset needs more than 32 bits. */
bool line_table_checkpoints(const cursor *payload, checkpoint_list *list);
/* Find the last row at or below `address`; all 0 if the first is above. */
gsym_status line_table_find(const cursor *payload, uint64_t start, uint64_t address,
                            gsym_line_row *row_ret, gsym_error *error);
/* Find the row as line_table_find() does, beginning at a checkpoint. In a damaged table the
 * row may be any. */
void line_table_find_after(const cursor *payload, const line_checkpoint *checkpoint,
                            uint64_t start, uint64_t address, gsym_line_row *row_ret);

/* The state of a line table that is run as a program of opcodes. */
typedef struct line_program {
    cursor c;
    const uint8_t *op; /* the opcode being run */
    uint64_t min_delta;
    uint32_t range;
    uint32_t reciprocal; /* a / range == a * reciprocal >> 16 for a = opcode - 4 */
    gsym_line_row row;
} line_program;

/* The state of finding the rows of ascending addresses in a valid table. */
typedef struct line_sweep {
    cursor payload;
    uint64_t start;
    line_program program; /* at the row after `row` */
    bool has_next;
    gsym_line_row row; /* the last row at or below the address; file 0 if the address is
                          before all rows */
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

/* The state of a walk over the nodes that cover one address, from the root inwards. */
typedef struct inline_walk {
    cursor payload; /* failed: the bytes ended early */
    size_t min_left; /* the walk stops before a node with fewer bytes left */
    uint64_t address;
    uint64_t until; /* the result is the same for all addresses from `address` up to, but
                       not including, this one */
    uint64_t base;  /* to which the starts of the next ranges are relative */
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

/* The state of a walk over all nodes in pre-order, without their ranges. */
typedef struct inline_nodes {
    cursor payload; /* failed: the bytes ended early */
    unsigned strp_size;
    uint64_t depth; /* number of lists of siblings that have not ended */
    bool is_done;
} inline_nodes;

/* Read the next node; match_ret->start is not set. False at the end. */
bool inline_nodes_next(inline_nodes *walk, inline_match *match_ret);

enum { SMALLEST_NODE = 6 }; /* bytes of a node without its name */

/* Find the names of all nodes of a valid tree, as offsets in the payload, and return how
 * many there are. There is room for one in each SMALLEST_NODE + strp_size bytes. */
size_t inline_info_names(const cursor *payload, unsigned strp_size, uint32_t *names_ret);

/* Append all nodes. False if the tree is damaged, if offsets need more than 32 bits, or if
 * memory ran out, which sets tree->failed. */
bool inline_info_list(const cursor *payload, unsigned strp_size, call_tree *tree);
void call_tree_deinit(call_tree *tree);
/* Read the fields of a node as inline_walk_next() does; `start` is the start of the
 * function. */
inline_match inline_info_node(const cursor *payload, unsigned strp_size, uint64_t start,
                              const call_node *node);

/* One InfoType of a record. */
typedef struct record_info {
    uint32_t type;
    cursor payload;
    uint64_t offset; /* of the payload, from the start of the file */
} record_info;

/* Decode the size and the name at the start of a record, and move `record` after them. */
gsym_status function_info_decode_head(cursor *record, unsigned strp_size,
                                      uint64_t *size_ret, uint64_t *name_ret,
                                      gsym_error *error);
/* Read the next InfoType; the last one is GSYM_INFO_END_OF_LIST. */
gsym_status function_info_next(cursor *record, record_info *info_ret, gsym_error *error);

/* The payloads of the known InfoTypes; empty for those that the record does not have. */
typedef struct record_payloads {
    cursor by_type[GSYM_INFO_CALL_SITES + 1];
} record_payloads;

/* Find all payloads; `record` is after size and name. False if the record is damaged, or if
 * a known type is empty, repeated or out of order, which no encoder writes. */
bool function_info_payloads(cursor *record, record_payloads *payloads_ret);

/* Decode a record without its merged functions; *merged_ret is their payload, with the type
 * GSYM_INFO_END_OF_LIST if there are none. The counts in *function_ret are the numbers of
 * items appended to `parts`; its pointers are not set. */
gsym_status function_info_decode(cursor *record, unsigned strp_size, uint64_t start,
                                 function_parts *parts, gsym_function *function_ret,
                                 record_info *merged_ret, gsym_error *error);

/* Read the number of records that a MergedFunctionsInfo declares. */
gsym_status merged_functions_count(cursor *payload, uint32_t *count_ret,
                                   gsym_error *error);
/* Read the next record of a MergedFunctionsInfo; errors name its number `index`. */
gsym_status merged_functions_next(cursor *payload, uint32_t index, cursor *record_ret,
                                  gsym_error *error);

/* Append all call sites and their patterns; regex_first of a call site counts from the end
 * that `regexes` had before. */
gsym_status call_sites_decode(cursor *payload, unsigned strp_size,
                              call_site_list *call_sites, regex_list *regexes,
                              gsym_error *error);
/* Find the first call site whose return address is the start of the function plus
 * `return_offset`. *count_ret is the number of its patterns, 0 without such a call site; as
 * many of them as fit are written to `regexes`. */
gsym_status call_sites_find(cursor *payload, unsigned strp_size, uint64_t return_offset,
                            uint64_t *regexes, size_t capacity, uint32_t *count_ret,
                            gsym_error *error);

/* Decode the record at `c` of a function that starts at `start`, and the functions merged
 * into it; *function_ret points to data that is valid until the next call. */
gsym_status record_decode(gsym_record *record, cursor c, unsigned strp_size,
                          uint64_t start, const gsym_function **function_ret,
                          gsym_error *error);
/* Return the size in the file of the record that was decoded last. */
uint64_t record_size(const gsym_record *record);

#endif
