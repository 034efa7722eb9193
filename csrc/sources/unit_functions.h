/* unit_functions.h - one unit's functions, ready to be interned and encoded.
 *
 * Names and paths have numbers of their own here, in order of their first use;
 * the ordered step of a conversion maps them to those of the output. */
#ifndef GSYM_SOURCES_UNIT_FUNCTIONS_H
#define GSYM_SOURCES_UNIT_FUNCTIONS_H

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

/* The meaning of a DWARF file index; PATH_FIRST + i is path i. */
enum { FILE_UNSEEN, FILE_NONE, FILE_INVALID, PATH_FIRST };

#define NO_FILE UINT32_MAX /* of a row where the line is not known */

typedef struct unit_function {
    uint64_t address;
    uint64_t size;
    uint64_t shift; /* from `address` to where the program has the function */
    uint64_t fingerprint; /* of the contents of its record; 0: not computed */
    uint64_t die_offset;
    uint32_t name;     /* index */
    uint32_t row_first;
    uint32_t row_count;
    uint32_t node_first;
    uint32_t node_count; /* with the root; 0: no inlined call */
    uint32_t site_first;
    uint32_t site_count;
    bool is_lines; /* rows of the line table that no function has, and nothing else */
    bool is_cut;   /* at the end of its symbol, as it contradicts it */
    bool is_not_asked; /* not asked for: only its range matters, where others end */
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

/* Everything of one unit, or of a part of a large one, that outlives its walk. */
typedef struct unit_functions {
    size_t unit_index;
    bool is_last;     /* of the parts of a unit */
    uint64_t reached; /* offset of the DIE where the next part starts */
    uint32_t file; /* that contains its DIEs */
    uint64_t lines_end; /* of the unit's part of .debug_line */
    uint64_t lists_end; /* and of .debug_rnglists */
    /* Symbols have better names than DIEs; in Go they have the same. */
    bool has_linkage_names;
    row_list rows; /* of its line table, or those that it uses; file: DWARF file index */
    /* By DWARF index; FILE_UNSEEN in all of its capacity except for the files seen. */
    LIST(uint32_t) file_codes;
    LIST(uint32_t) seen_files;
    LIST(unit_name) names;
    LIST(unit_path) paths;
    LIST(unit_function) functions;
    LIST(unit_node) nodes;
    LIST(unit_call_site) call_sites;
    range_list ranges;
    buffer arena;
    /* of the output, filled in the ordered step */
    LIST(uint64_t) strps;
    LIST(uint32_t) files;
} unit_functions;

void unit_functions_deinit(unit_functions *result);
/* Empty it for unit `index`; each list has memory afterwards. False if memory ran out. */
bool unit_functions_clear(unit_functions *result, size_t index);

/* A line table that several units name, run once for all of them. */
typedef struct shared_table {
    dwarf_line_table table;
    row_list rows;
} shared_table;

typedef struct shared_lines shared_lines;

/* One of the ranges of a function. */
typedef struct function_part {
    gsym_range range;
    uint64_t reach; /* the greatest end of it and of those before */
    uint32_t number;
} function_part;

/* What is in a part of a function: a range of an inlined call, or a call site. */
typedef struct part_content {
    uint32_t part;
    uint32_t index; /* of the call in the walk, or of the site */
    uint32_t range; /* of the call */
} part_content;

typedef LIST(part_content) part_contents;

/* Scratch of one worker; reused from unit to unit. */
typedef struct unit_joiner {
    dwarf_unit unit;     /* whose DIEs are read */
    dwarf_unit skeleton; /* of a split unit */
    const dwarf_unit *line_unit; /* that has the line program */
    unit_walk walk;
    const dwarf_line_table *lines; /* of the unit: its own, or one that it shares */
    const row_list *rows;    /* the same */
    dwarf_line_table own_lines;
    shared_lines *shared_lines; /* of the conversion */
    dwarf_budget *budget;       /* the same */
    abbrev_cache abbrevs;
    /* Its root is read again when the split unit's are held. */
    abbrev_cache skeleton_abbrevs;
    name_resolver resolver;
    warning_list *warnings;
    const gsym_creator *creator; /* what it is not asked for has no contents */
    number_map name_map; /* origin -> name */
    LIST(uint32_t) placed; /* node of each call of the walk in the present part, or stale */
    /* Of a function of several parts: these by start, and what is in them, by part. */
    LIST(function_part) parts;
    part_contents calls, sites;
    size_t call_at, site_at; /* where the present part begins, at the latest */
    range_list call_ranges;  /* of the present call, in the present part */
    bool has_empty_calls;
    range_list covered; /* addresses of the unit's functions */
    range_list own_ranges; /* of the unit's root, once they are wanted */
    size_t table_rows; /* of the unit's own line table, which the result begins with */
    bool knows_ranges;
    uint64_t agreeing, contradicting; /* functions of the part, in a split unit */
    bool is_contradicted; /* the part of a split unit, by most of its functions */
    bool is_cut; /* the present function */
    /* Budgets against hostile units: rows and nodes written, nodes examined. */
    uint64_t row_budget, node_budget, visit_budget;
    uint64_t all_rows, all_visits; /* what row_budget and visit_budget were */
    uint64_t long_names; /* of the unit, see cursor_name() */
    uint64_t most_contents; /* of `calls` and of `sites` */
    known_name *known; /* KNOWN_NAMES of them */
    bool keeps_nameless; /* for the creator to name */
    bool has_repetitions; /* linkers fold copies of functions in this language */
} unit_joiner;

void unit_joiner_deinit(unit_joiner *joiner);
/* Read unit `index`. False where memory ran out or the budget is spent; damage is a
 * warning. */
bool unit_functions_read(unit_functions *result, unit_joiner *joiner,
                         const unit_source *source, size_t index);
/* Replace a part of a unit by the one that follows. */
bool unit_functions_read_on(unit_functions *result, unit_joiner *joiner);

/* ---- unit_files.c -------------------------------------------------------------- */

/* NULL: out of memory. */
shared_lines *shared_lines_create(const debug_files *files);
void shared_lines_destroy(shared_lines *lines);
/* Find the line table of a unit that other units name, too, as those do that dwz moved
 * parts out of; it does not change. *table_ret is NULL if the unit has to run the line
 * program itself. False if memory ran out or the budget is spent. */
bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                       warning_list *warnings, const shared_table **table_ret);

/* The source files that a unit's functions name, as numbered paths. */

/* Forget the files of the previous unit. This and the functions below return false if
 * memory ran out or the budget is spent. */
bool unit_files_reset(unit_functions *result, unit_joiner *joiner);
/* Number the path of a DWARF file index that was not seen before. */
bool unit_files_add(unit_functions *result, unit_joiner *joiner, uint64_t file_index,
                    uint32_t *code_ret);

/* The code of a DWARF file index of the unit's own line table. */
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

/* The contribution of a file code to the fingerprint of rows that refer to it. */
static inline uint64_t fingerprint_of_file(const unit_functions *result, uint32_t code) {
    return code < PATH_FIRST ? code : result->paths.items[code - PATH_FIRST].hash;
}
/* Complete function->fingerprint, which holds that of the rows. */
void fingerprint_function(const unit_functions *result, unit_function *function);

#endif
