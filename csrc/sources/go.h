/* go.h - the pclntab of a Go binary. */
#ifndef GSYM_SOURCES_GO_H
#define GSYM_SOURCES_GO_H

#include "base/tables.h"
#include "containers/object.h"
#include "create/inline_builder.h"
#include "sources/conversion.h"

/* Size of the magic number and the next fields: two zeros, quantum, size of pointers. */
#define GO_MAGIC_SIZE 8

/* The first Go of each layout. */
typedef enum go_layout {
    GO_LAYOUT_1_16, /* addresses are absolute */
    GO_LAYOUT_1_18, /* they count from the start of the code */
    GO_LAYOUT_1_20  /* functions and inlined calls contain their start lines */
} go_layout;

typedef struct go_pclntab {
    const gsym_object *object;
    go_layout layout;
    uint64_t address; /* of its header */
    uint64_t offset;  /* of its header in the file */
    uint64_t end;     /* of its bytes in the file */
    unsigned quantum; /* bytes: code grows by no fewer */
    unsigned pointer_size;
    uint32_t function_count;
    uint64_t names_address; /* which the module data repeats */
    uint64_t text;  /* what addresses count from; GO_LAYOUT_1_16: 0 */
    uint64_t trees; /* likewise those of inlined calls; 0: not known */
    uint64_t work_left; /* words that may still be read to find these two, and sections */
    gsym_object_section tree_section; /* that had the last inlined calls */
    /* Each from its start to the end of the table. */
    cursor names;
    cursor units; /* for each file of each unit: where its path is */
    cursor paths;
    cursor values;
    cursor functions;
} go_pclntab;

/* A function as the table has it; the last four are places of pc-value tables, 0: it has
 * none. */
typedef struct go_function {
    uint64_t address;
    uint64_t size;   /* up to where the next one starts */
    uint64_t offset; /* of its record in the file */
    uint64_t tree;   /* address of its inlined calls; 0: none, or not known */
    uint32_t name;   /* place of its name */
    uint32_t unit;   /* place of its files; UINT32_MAX: none */
    uint32_t files;
    uint32_t lines;
    uint32_t calls;
    bool is_gap; /* between code of one section and another: no function */
} go_function;

/* Take words from the work that is left. Sections may overlap, and what stands
 * in a file once may be tried for many things: none of it takes more than a time that the
 * size of the file sets. */
static inline bool go_pclntab_spend(go_pclntab *table, uint64_t words) {
    bool is_enough = words <= table->work_left;
    table->work_left = is_enough ? table->work_left - words : 0;
    return is_enough;
}

/* Find and open the table of an object. *is_found_ret false: not a Go binary. Fails if the
 * complete table is damaged or of an older version of Go. */
gsym_status go_pclntab_open(const gsym_object *object, go_pclntab *table_ret,
                            bool *is_found_ret, gsym_error *error);
/* Where function `index` < function_count starts. */
uint64_t go_pclntab_address(const go_pclntab *table, uint32_t index);
/* False where its record is damaged; `offset` is set all the same. */
bool go_pclntab_function(const go_pclntab *table, uint32_t index, go_function *ret);
/* NULL if there is none at this offset, or it is implausibly long. */
const char *go_pclntab_name(const go_pclntab *table, uint32_t offset, size_t *size_ret);
/* Where the path of file `number` of a unit is; false where that is not known. */
bool go_pclntab_path_offset(const go_pclntab *table, uint32_t unit, int32_t number,
                            uint32_t *offset_ret);
/* The path at a place, likewise NULL. */
const char *go_pclntab_path(const go_pclntab *table, uint32_t offset, size_t *size_ret);

/* The bytes at an address, to the end of the section that holds it; none, and failed, where
 * too much work went into such searches. */
cursor go_bytes_at(go_pclntab *table, uint64_t address);
static inline cursor go_section_bytes(const gsym_object *object,
                                      const gsym_object_section *section) {
    return cursor_at(object->data, section->offset + section->size, section->offset,
                     object->header.big_endian != 0);
}

/* Pc-value tables: which value holds for which part of a function.
 *
 * Pairs of ULEB128: by how much the value differs from the one before (zig-zag; at first
 * it is -1), and for how many quanta of code it holds. A difference of 0 ends the table,
 * unless it stands at the start of the function. */

typedef struct go_values {
    cursor c;
    unsigned quantum;
    uint64_t start; /* of what `value` holds for, from the start of the function */
    uint64_t end;
    int32_t value; /* -1: none */
} go_values;

/* In front of the first value of the table at `place`. */
static inline go_values go_values_at(const go_pclntab *table, uint32_t offset) {
    go_values values = {table->values, table->quantum, 0, 0, -1};
    cursor_skip(&values.c, offset);
    if (offset == 0) values.c.at = values.c.end;
    return values;
}

/* Go on to the next value. False at the end of the table; where it is cut off, its cursor
 * has failed. */
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

/* ---- functions of a pclntab -> GSYM functions (go_functions.c) -------------------- */

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
    row_list rows; /* of the complete function; file and line 0 if not known */
    LIST(go_call) calls;
    LIST(go_call_span) spans;
    inline_piece_list pieces;
    inline_builder builder; /* its nodes are the tree; none: no inlined call */
} go_reader;

#endif
