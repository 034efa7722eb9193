/* go.h - read functions of a Go binary from its pclntab, a table that Go programs use at
 * run time.
 *
 * A pc-value table gives each part of a function a value, such as its line. Offsets of
 * names, paths and pc-value tables count from the start of their part of the pclntab. */
#ifndef GSYM_SOURCES_GO_H
#define GSYM_SOURCES_GO_H

#include "base/tables.h"
#include "containers/object.h"
#include "create/inline_builder.h"
#include "sources/conversion.h"

/* Size of the magic number and the next fields: two zeros, quantum, size of pointers. */
#define GO_MAGIC_SIZE 8

/* The layouts of a pclntab, each named for the first version of Go that has it. */
typedef enum go_layout {
    GO_LAYOUT_1_16, /* addresses are absolute */
    GO_LAYOUT_1_18, /* addresses count from the start of the code */
    GO_LAYOUT_1_20  /* functions and inlined calls contain their start lines */
} go_layout;

typedef struct go_pclntab {
    const gsym_object *object;
    go_layout layout;
    uint64_t address; /* of its header */
    uint64_t offset;  /* of its header in the file */
    uint64_t end;     /* of its bytes in the file */
    unsigned quantum; /* sizes of code are multiples of it */
    unsigned pointer_size;
    uint32_t function_count;
    uint64_t names_address; /* the module data has it, too */
    uint64_t text;  /* is added to the addresses of functions; 0 in GO_LAYOUT_1_16 */
    uint64_t trees; /* is added to the addresses of lists of inlined calls; 0: not known */
    uint64_t work_left; /* words that may still be read to find text, trees and sections */
    gsym_object_section tree_section; /* the section with the last inlined calls */
    /* The parts of the pclntab, each from its start to the end of the pclntab. */
    cursor names;
    cursor units; /* the offset of the path, for each file of each unit */
    cursor paths;
    cursor values;
    cursor functions;
} go_pclntab;

/* A function as the pclntab has it; `files`, `lines` and `calls` are offsets of pc-value
 * tables, 0: it has none. */
typedef struct go_function {
    uint64_t address;
    uint64_t size;   /* bytes up to the start of the next function */
    uint64_t offset; /* of its record in the file */
    uint64_t tree;   /* address of its inlined calls; 0: none, or not known */
    uint32_t name;   /* offset of its name */
    uint32_t unit;   /* index of the first file of its unit; UINT32_MAX: none */
    uint32_t files;
    uint32_t lines;
    uint32_t calls;
    bool is_gap; /* it is no function, but stands for the space between two sections */
} go_function;

/* Subtract `words` from the work that is left; false if less is left. The work is limited
 * by the size of the file, because sections may overlap and some bytes are searched several
 * times. */
static inline bool go_pclntab_spend(go_pclntab *table, uint64_t words) {
    bool is_enough = words <= table->work_left;
    table->work_left = is_enough ? table->work_left - words : 0;
    return is_enough;
}

/* ---- go_pclntab.c ------------------------------------------------------------------- */

/* Whether a pclntab may start at the cursor, which has GO_MAGIC_SIZE bytes or more. */
bool go_pclntab_starts(cursor c, const gsym_object *object, uint32_t *magic_ret);
/* Read the header of a table of which object, pointer_size, address, offset and end are
 * set. */
gsym_status go_pclntab_read_header(go_pclntab *table, uint32_t magic,
                                   gsym_error *error);
/* Return the address of function `index` < function_count. */
uint64_t go_pclntab_address(const go_pclntab *table, uint32_t index);
/* Read a function. False if its record is damaged; `offset` is set nevertheless. */
bool go_pclntab_function(const go_pclntab *table, uint32_t index, go_function *ret);
/* Return the name at an offset; NULL if there is none, or if it is implausibly long. */
const char *go_pclntab_name(const go_pclntab *table, uint32_t offset, size_t *size_ret);
/* Find the offset of the path of file `number` of a unit; false if it is not known. */
bool go_pclntab_path_offset(const go_pclntab *table, uint32_t unit, int32_t number,
                            uint32_t *offset_ret);
/* Return the path at an offset; NULL as for a name. */
const char *go_pclntab_path(const go_pclntab *table, uint32_t offset, size_t *size_ret);

/* Return the bytes from an address to the end of its section. The cursor has failed if
 * there is no such section or if the work of such searches is spent. */
cursor go_bytes_at(go_pclntab *table, uint64_t address);
/* Find section `index`; false if the file lacks its data or if it is code. */
bool go_holds_data(const gsym_object *object, uint32_t index,
                   gsym_object_section *section_ret);
static inline cursor go_section_bytes(const gsym_object *object,
                                      const gsym_object_section *section) {
    return cursor_at(object->data, section->offset + section->size, section->offset,
                     object->header.big_endian != 0);
}

/* A position in a pc-value table, which gives each part of a function a value.
 *
 * The table has pairs of ULEB128: the difference of the value from the one before (zig-zag;
 * the first one counts from -1), and the size of the code with this value, in quanta. A
 * difference of 0 ends the table, except in the first pair. */

typedef struct go_values {
    cursor c;
    unsigned quantum;
    uint64_t start; /* of the code with this value, from the start of the function */
    uint64_t end;
    int32_t value; /* -1: none */
} go_values;

/* Return the position before the first value of a table. */
static inline go_values go_values_at(const go_pclntab *table, uint32_t offset) {
    go_values values = {table->values, table->quantum, 0, 0, -1};
    cursor_skip(&values.c, offset);
    if (offset == 0) values.c.at = values.c.end;
    return values;
}

/* Move to the next value. False at the end of the table; if the table is cut off, the
 * cursor has failed. */
static inline bool go_values_next(go_values *values) {
    uint32_t difference, count;
    if (cursor_left(&values->c) == 0) return false;
    difference = (uint32_t)cursor_uleb(&values->c);
    if (difference == 0 && values->end != 0) return false;
    count = (uint32_t)cursor_uleb(&values->c);
    values->value =
        (int32_t)((uint32_t)values->value + (difference >> 1 ^ (0u - (difference & 1))));
    values->start = values->end;
    values->end += (uint64_t)count * values->quantum;
    return !values->c.failed;
}

/* ---- go_module.c -------------------------------------------------------------------- */

/* Set `text` and `trees`. False if no module data refers to this table. */
bool go_read_module(go_pclntab *table);

/* ---- go_search.c -------------------------------------------------------------------- */

/* Find and open the pclntab of an object; *is_found_ret is false if it is not a Go binary.
 * Fails if the table is damaged as a whole or is of an older version of Go. */
gsym_status go_pclntab_open(const gsym_object *object, go_pclntab *table_ret,
                            bool *is_found_ret, gsym_error *error);

/* ---- go_reader.c -------------------------------------------------------------------- */

/* An inlined call. The calls of a function are numbered from 0. */
typedef struct go_call {
    uint32_t name;   /* offset of its name */
    uint32_t parent; /* the call it was inlined into; GO_NO_CALL: the function itself */
    uint32_t level;
    uint32_t call_file; /* of the output */
    uint32_t call_line;
} go_call;

#define GO_NO_CALL UINT32_MAX

/* Bytes of a function whose innermost inlined call is `call`. */
typedef struct go_call_span {
    uint32_t start; /* from the start of the function */
    uint32_t end;
    uint32_t call;
} go_call_span;

typedef struct go_reader {
    go_pclntab table;
    gsym_conversion *conversion;
    gsym_creator *creator;
    number_map files; /* offset of a path -> file of the output */
    number_map names; /* offset of a name -> its strp plus 1, or 0 if it has none */
    uint64_t work_left; /* values and calls that may still be read; limited because
                           functions may share tables */
    bool is_cut;        /* the work was not enough for the current function */
    /* scratch for one function */
    buffer path;
    row_list rows; /* of the complete function; file and line 0 if not known */
    LIST(go_call) calls;
    LIST(go_call_span) spans;
    inline_piece_list pieces;
    inline_builder builder; /* has the nodes; there are none without inlined calls */
} go_reader;

void go_reader_deinit(go_reader *reader);
void go_reader_warn(go_reader *reader, gsym_warning_category category,
                    const go_function *function);
/* Subtract `count` from the remaining work; if there is less, the function is cut. */
bool go_reader_spend(go_reader *reader, uint64_t count);
/* Find the strp of the name at `place`. Each name is read only once, because any number of
 * functions may share a long one. */
gsym_status go_name_number(go_reader *reader, uint32_t place, bool *is_known_ret,
                           uint64_t *name_ret, gsym_error *error);
/* Find the file of the output for file `number` of the function's unit; 0: unknown. */
gsym_status go_file_number(go_reader *reader, const go_function *function,
                           int32_t number, uint32_t *file_ret, gsym_error *error);

/* ---- go_calls.c --------------------------------------------------------------------- */

/* Make the tree of inlined calls of a function of `size` bytes, whose rows are made and
 * whose name has the strp `name`. Damaged data is a warning. */
gsym_status go_calls_read(go_reader *reader, const go_function *function,
                          uint32_t size, uint64_t name, gsym_error *error);

#endif
