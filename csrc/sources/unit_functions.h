/* unit_functions.h - read a unit into functions, ready to be interned and encoded.
 *
 * Names and paths have numbers in the unit, in order of their first use; the ordered step
 * of a conversion gives each of them its number in the output. */
#ifndef GSYM_SOURCES_UNIT_FUNCTIONS_H
#define GSYM_SOURCES_UNIT_FUNCTIONS_H

#include "dwarf/line.h"
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
    bool is_lines; /* not a function: rows of the line table that no function has */
    bool is_cut;   /* its end was corrected to the end of its symbol */
    bool is_not_asked; /* no address of it is asked for; it is kept only because others
                          end where it starts */
} unit_function;

typedef struct unit_call_site {
    uint64_t return_offset;
    uint32_t name; /* index, or NO_INDEX */
} unit_call_site;

/* A node of InlineInfo, as gsym_inline_node, with numbers of the unit. */
typedef struct unit_node {
    uint32_t name;      /* index, or NO_INDEX */
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

void unit_functions_deinit(unit_functions *result);
/* Empty the lists for unit `index`; each gets memory. False if memory ran out. */
bool unit_functions_clear(unit_functions *result, size_t index);

/* A line table that several units use; its program is run once. */
typedef struct shared_table {
    dwarf_line_table table;
    row_list rows;
} shared_table;

typedef struct shared_lines shared_lines;

/* One of several ranges of a function. */
typedef struct function_part {
    gsym_range range;
    uint64_t reach; /* the greatest end of this part and those before it */
    uint32_t number;
} function_part;

/* What is in a part of a function: a range of an inlined call, or a call site. */
typedef struct part_content {
    uint32_t part;
    uint32_t index; /* of the call or call site in the walk */
    uint32_t range; /* number of the range of the call */
} part_content;

typedef LIST(part_content) part_contents;

/* What one worker needs to read units; its memory is used again for the next unit. */
typedef struct unit_joiner {
    dwarf_unit unit;     /* the one whose DIEs are read */
    dwarf_unit skeleton; /* set if `unit` is a split unit */
    const dwarf_unit *line_unit; /* the one that has the line table: `unit` or `skeleton` */
    unit_walk walk;
    const dwarf_line_table *lines; /* the line table of the unit, its own or a shared one */
    const row_list *rows;    /* the rows of this line table */
    dwarf_line_table own_lines;
    shared_lines *shared_lines; /* of the conversion */
    dwarf_budget *budget;       /* of the conversion */
    abbrev_cache abbrevs;
    /* For the skeleton, whose root is read again while `abbrevs` has the tables of the
     * split unit. */
    abbrev_cache skeleton_abbrevs;
    name_resolver resolver;
    warning_list *warnings;
    const gsym_creator *creator; /* says which addresses are asked for */
    number_map name_map; /* origin -> name */
    /* For each call of the walk, the index of its node; 0: none. An index up to that of the
     * root of the present part is left from an earlier part and means none, too. */
    LIST(uint32_t) placed;
    /* For a function of several parts: the parts, sorted by start, and what is in them,
     * sorted by part. */
    LIST(function_part) parts;
    part_contents calls, sites;
    LIST(uint32_t) part_starts; /* scratch of unit_sort_into_parts */
    size_t call_at, site_at; /* indexes from which the contents of the present part are
                                searched */
    range_list call_ranges;  /* of the present call, in the present part */
    bool has_empty_calls;
    range_list covered; /* addresses of the unit's functions */
    range_list own_ranges; /* ranges of the unit's root, if knows_ranges */
    size_t table_rows; /* rows of the unit's own line table, with which the result begins */
    bool knows_ranges;
    /* In a part of a split unit: numbers of the functions that agree with the symbols of
     * the binary, and of those that contradict them. */
    uint64_t agreeing, contradicting;
    bool is_contradicted; /* most functions of a part of the split unit contradict */
    bool is_cut; /* the end of the present function was corrected to the end of its
                    symbol */
    /* What is left for this unit, which may be hostile: rows and nodes that may be written,
     * steps through calls, call sites, sequences and symbols. */
    uint64_t row_budget, node_budget, visit_budget;
    uint64_t all_rows, all_visits; /* the first values of row_budget and visit_budget */
    uint64_t long_names; /* of the unit, see cursor_name() */
    uint64_t max_contents; /* limit on the number of `calls` and on that of `sites` */
    known_name *known; /* KNOWN_NAMES slots */
    bool keeps_nameless; /* keep functions without a name, which the creator names */
    bool has_repetitions; /* linkers fold copies of functions in this language */
} unit_joiner;

void unit_joiner_deinit(unit_joiner *joiner);
/* Read unit `index`. False where memory ran out or the budget is spent; damage is a
 * warning. */
bool unit_functions_read(unit_functions *result, unit_joiner *joiner,
                         const unit_source *source, size_t index);
/* Read the next part of a unit. */
bool unit_functions_read_on(unit_functions *result, unit_joiner *joiner);

/* ---- shared_lines.c ----------------------------------------------------------------- */

/* Make an empty list of shared line tables; NULL: out of memory. */
shared_lines *shared_lines_create(const debug_files *files);
void shared_lines_destroy(shared_lines *lines);
/* Find the line table of a unit if other units use it, too. *table_ret is NULL if no other
 * unit does, so that the caller has to run the line program. False if memory ran out or the
 * budget is spent. */
bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                       warning_list *warnings, const shared_table **table_ret);

/* ---- unit_files.c ------------------------------------------------------------------- */

/* Forget the files of the previous unit. This and the functions below return false if
 * memory ran out or the budget is spent. */
bool unit_files_reset(unit_functions *result, unit_joiner *joiner);
/* Give the path of a DWARF file index that was not seen before its number. */
bool unit_files_add(unit_functions *result, unit_joiner *joiner, uint64_t file_index,
                    uint32_t *code_ret);

/* Find the code of a DWARF file index of the unit's line table. */
static inline bool unit_file_code(unit_functions *result, unit_joiner *joiner,
                                  uint64_t file_index, uint32_t *code_ret) {
    uint32_t *code;
    *code_ret = FILE_INVALID;
    if (file_index >= result->file_codes.count) return true;
    code = &result->file_codes.items[file_index];
    if (GSYM_UNLIKELY(*code == FILE_UNSEEN) &&
        !unit_files_add(result, joiner, file_index, code))
        return false;
    *code_ret = *code;
    return true;
}

/* ---- unit_fingerprint.c ------------------------------------------------------------- */

/* Return the number that stands for a file code in the fingerprint of rows. */
static inline uint64_t fingerprint_of_file(const unit_functions *result, uint32_t code) {
    return code < PATH_FIRST ? code : result->paths.items[code - PATH_FIRST].hash;
}

/* Complete function->fingerprint, which is that of the rows before. */
void fingerprint_function(const unit_functions *result, unit_function *function);

#endif
