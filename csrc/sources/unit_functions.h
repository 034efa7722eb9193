/* unit_functions.h - define the functions of a unit, ready to be interned and encoded.
 *
 * Names and paths have numbers in the unit, in order of their first use; the ordered step
 * of a conversion gives each of them its number in the output. */
#ifndef GSYM_SOURCES_UNIT_FUNCTIONS_H
#define GSYM_SOURCES_UNIT_FUNCTIONS_H

#include "dwarf/names.h"
#include "sources/debug_files.h"

typedef struct unit_name {
    resolved_name text;
    uint64_t hash;
} unit_name;

typedef struct unit_path {
    size_t arena_offset;
    size_t size;
    uint64_t hash;
} unit_path;

/* A code says what a DWARF file index stands for: FILE_UNSEEN, it was not looked up yet;
 * FILE_NONE, no file; FILE_INVALID, it is not in the table; PATH_FIRST + i, path i of the
 * unit. */
enum { FILE_UNSEEN, FILE_NONE, FILE_INVALID, PATH_FIRST };

#define NO_FILE UINT32_MAX /* the file of a row without a known line */

typedef struct unit_function {
    uint64_t address;
    uint64_t size;
    uint64_t shift; /* `address` plus this is the address in the program */
    uint64_t fingerprint; /* hash of the contents of its record; 0: not computed */
    uint64_t die_offset;
    uint32_t name;     /* index in `names` of the unit, or NO_INDEX */
    uint32_t row_first;
    uint32_t row_count;
    uint32_t node_first;
    uint32_t node_count; /* number of its nodes with the root; 0: it has no inlined call */
    uint32_t site_first;
    uint32_t site_count;
    bool has_shared_rows; /* row_first is an index in `shared_rows`, not in `rows` */
    bool is_lines; /* not a function: rows of the line table that no function has */
    bool is_cut;   /* its end was corrected to the end of its symbol */
    bool is_not_asked; /* no address of it is asked for; it is kept only because others
                          end where it starts */
} unit_function;

typedef struct unit_call_site {
    uint64_t return_offset;
    uint32_t name; /* index in `names`, or NO_INDEX */
} unit_call_site;

/* A node of InlineInfo, as gsym_inline_node, with numbers of the unit. */
typedef struct unit_node {
    uint32_t name;      /* index in `names`, or NO_INDEX */
    uint32_t file_code; /* of the call */
    uint32_t call_line;
    uint32_t depth;
    uint32_t range_first;
    uint32_t range_count;
} unit_node;

/* The functions of one unit, or of a part of a large one. unit_functions_read() fills all
 * but `strps` and `files`. */
typedef struct unit_functions {
    size_t unit_index;
    bool is_last;     /* this is the last part of the unit */
    uint64_t reached; /* offset of the DIE where the next part starts */
    uint32_t file; /* number of the file with its DIEs */
    uint64_t lines_end; /* end of the unit's part of .debug_line */
    uint64_t lists_end; /* end of its part of .debug_rnglists */
    /* The names of symbols are better than those of DIEs, because they are linkage names;
     * in Go both are the same. */
    bool prefers_symbols;
    row_list rows; /* all rows of its line table, and rows that were copied for its
                    * functions; `file` is a DWARF file index */
    const gsym_line_row *shared_rows; /* of a line table that other units use, too */
    /* A code for each DWARF file index. It is FILE_UNSEEN for all files but those in
     * seen_files, also for those beyond `count`. */
    LIST(uint32_t) file_codes;
    LIST(uint32_t) seen_files;
    LIST(unit_name) names;
    LIST(unit_path) paths;
    LIST(unit_function) functions;
    LIST(unit_node) nodes;
    LIST(unit_call_site) call_sites;
    range_list ranges;
    buffer arena;
    /* numbers of `names` and `paths` in the output; the ordered step fills them */
    LIST(uint64_t) strps;
    LIST(uint32_t) files;
} unit_functions;

static inline const gsym_line_row *unit_rows_of(const unit_functions *unit,
                                                const unit_function *function) {
    return (function->has_shared_rows ? unit->shared_rows : unit->rows.items) +
           function->row_first;
}

void unit_functions_deinit(unit_functions *result);
/* Forget the functions, and keep `kept` bytes of each long list: only a large unit needs
 * more. */
void unit_functions_release(unit_functions *result, size_t kept);
/* Empty the lists for unit `index`; each gets memory. False if memory ran out. */
bool unit_functions_clear(unit_functions *result, size_t index);

#endif
