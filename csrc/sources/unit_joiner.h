/* unit_joiner.h - declare what the files that make functions of a unit share.
 *
 * unit_functions.c takes the functions of a walk: unit_names.c names them, unit_rows.c
 * finds their rows, unit_calls.c their inlined calls; unit_live.c leaves out what the
 * linker dropped, unit_evidence.c what belongs to another binary; unit_lines.c keeps rows
 * that no function has; unit_files.c numbers files; unit_fingerprint.c hashes functions;
 * shared_lines.c keeps line tables of several units. */
#ifndef GSYM_SOURCES_UNIT_JOINER_H
#define GSYM_SOURCES_UNIT_JOINER_H

#include "create/creator.h"
#include "dwarf/line.h"
#include "sources/unit_functions.h"

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
    bool owns_lines;         /* no other unit uses it */
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
    bool is_piece, is_rest; /* of a giant unit: see unit_source */
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
    known_names known;
    bool keeps_nameless; /* keep functions without a name, which the creator names */
    bool has_repetitions; /* linkers fold copies of functions in this language */
} unit_joiner;

void unit_joiner_deinit(unit_joiner *joiner);
/* Visit the DIEs of a piece, which is read later. False where memory ran out. */
bool unit_walk_ahead(unit_joiner *joiner, const unit_source *source,
                     struct piece_walk *ahead);
/* Read unit `index`. False where memory ran out or the budget is spent; damage is a
 * warning. */
bool unit_functions_read(unit_functions *result, unit_joiner *joiner,
                         const unit_source *source, size_t index);
/* Read the next part of a unit. */
bool unit_functions_read_on(unit_functions *result, unit_joiner *joiner);

/* The padding before an aligned function is shorter than this. */
#define MAX_PADDING 16

static inline bool is_split(const unit_joiner *joiner) {
    return joiner->line_unit != &joiner->unit;
}

/* Subtract `cost` from a budget of the unit. False, with a warning, if less is left. */
static inline bool spend(unit_joiner *joiner, uint64_t *budget, uint64_t cost,
                         uint64_t offset) {
    if (GSYM_LIKELY(cost <= *budget)) {
        *budget -= cost;
        return true;
    }
    dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, offset, cost);
    return false;
}

/* ---- shared_lines.c ----------------------------------------------------------------- */

/* Make an empty list of shared line tables; NULL: out of memory. */
shared_lines *shared_lines_create(const debug_files *files);
void shared_lines_destroy(shared_lines *lines);
/* Find the line table of a unit if other units use it, or other pieces of the unit.
 * *table_ret is NULL if none do, so that the caller has to run the line program;
 * *is_own_ret says whether no other unit does. False if memory ran out or the budget is
 * spent. */
bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, bool is_piece,
                       dwarf_budget *budget, warning_list *warnings,
                       const shared_table **table_ret, bool *is_own_ret);

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

/* Complete function->fingerprint, which is that of the rows before. The names must be
 * resolved. */
void fingerprint_function(const unit_functions *result, unit_function *function);

/* ---- unit_names.c ------------------------------------------------------------------- */

/* Find the name of the function that the DIE at `origin` describes; it is resolved once in
 * a unit. */
bool unit_name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                         uint32_t *index_ret);
/* Find the number of the name of an inlined call, which may be resolved only later, by
 * unit_resolve_names(): names of many calls together wait less for memory. It may turn out
 * to be empty. */
bool unit_name_of_call(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                       uint32_t *index_ret);
bool unit_resolve_names(unit_functions *result, unit_joiner *joiner);
bool unit_name_of_function(unit_functions *result, unit_joiner *joiner,
                           const walk_function *function, uint32_t *index_ret);

/* ---- unit_rows.c -------------------------------------------------------------------- */

const line_sequence *unit_sequence_by_low(const dwarf_line_table *lines, size_t rank);
/* Find the rows of a range that are in one sequence. */
void unit_rows_of_sequence(const row_list *rows, const line_sequence *sequence,
                           const gsym_range *range, uint32_t *first_ret,
                           uint32_t *count_ret);
/* Find the sequence with the rows of a function from the start of `range` on, or NULL.
 * Several sequences have this address if the linker folded functions or dropped some. */
const line_sequence *unit_sequence_of(unit_joiner *joiner, const walk_function *source,
                                      const gsym_range *range);
bool unit_find_rows(unit_functions *result, unit_joiner *joiner,
                    const walk_function *source, const gsym_range *range,
                    unit_function *function);
/* Number the files of the rows, and add the rows to the fingerprint. Overlapping functions
 * may share rows, up to a limit. */
bool unit_number_row_files(unit_functions *result, unit_joiner *joiner,
                           unit_function *function);

/* ---- unit_calls.c ------------------------------------------------------------------- */

/* Sort the inlined calls and call sites of a function of several parts by part. To search
 * all calls for each part would take the product of both numbers of steps. */
bool unit_sort_into_parts(unit_joiner *joiner, uint32_t source_index);
/* Find the inlined calls in one part of a function, in pre-order after a root that stands
 * for the function itself. */
bool unit_find_nodes(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
                     uint32_t part, unit_function *function);
bool unit_find_call_sites(unit_functions *result, unit_joiner *joiner,
                          uint32_t source_index, uint32_t part,
                          unit_function *function);

/* ---- unit_live.c -------------------------------------------------------------------- */

bool unit_is_named(const unit_name *name, const live_code *code);
size_t unit_live_from(const dwarf_input *code, uint64_t address);
/* Whether a symbol that starts before an address extends over it. */
bool unit_is_inside_live(const dwarf_input *code, uint64_t address);
/* Whether the linker dropped the code of a function. A function counts as kept unless it,
 * or the sequence with its rows, starts at 0. */
bool unit_is_dropped(const unit_functions *result, unit_joiner *joiner,
                     const walk_function *source, uint32_t name,
                     const gsym_range *range);
/* Return the difference, modulo 2^64, between the address of a function in the program and
 * the start of its range. */
uint64_t unit_shift_of(const unit_functions *result, const unit_joiner *joiner,
                       uint32_t name, const gsym_range *range);
/* Whether the code of rows that no function has is in the program. For rows at address 0
 * this holds if a symbol starts there, too, and no symbol extends over their end. */
bool unit_are_rows_live(const dwarf_input *code, const line_sequence *sequence);

/* ---- unit_evidence.c ---------------------------------------------------------------- */

/* Read the ranges of the root DIE of the unit, once; it may have none. */
bool unit_read_own_ranges(unit_joiner *joiner);
/* Whether the symbols of the binary contradict a function of a split unit. The ends of its
 * ranges are corrected to those of its symbols. */
bool unit_contradicts(const unit_functions *result, unit_joiner *joiner,
                      const walk_function *source, uint32_t name);

/* ---- unit_lines.c ------------------------------------------------------------------- */

bool unit_note_covered(const unit_functions *result, unit_joiner *joiner);
/* Add the rows that no function has: of the unit's own line table all of them; of a shared
 * line table those in the ranges of the unit. */
bool unit_add_uncovered_lines(unit_functions *result, unit_joiner *joiner);

#endif
