/* unit_joiner.h - what the files that join a unit know of each other.
 *
 * unit_functions.c takes the functions of a walk: unit_names.c names them, unit_rows.c
 * finds their rows, unit_calls.c what was inlined into them; unit_live.c leaves out what
 * the linker dropped, unit_evidence.c what is of another binary; unit_lines.c keeps rows
 * that no function has. */
#ifndef GSYM_SOURCES_UNIT_JOINER_H
#define GSYM_SOURCES_UNIT_JOINER_H

#include "create/creator.h"
#include "sources/unit_functions.h"

/* What aligns the next function is shorter. */
#define MAX_PADDING 16

static inline bool is_split(const unit_joiner *joiner) {
    return joiner->line_unit != &joiner->unit;
}

/* Take `cost` from what a unit may cost; a cut is counted once a function. */
static inline bool spend(unit_joiner *joiner, uint64_t *budget, uint64_t cost,
                         uint64_t offset) {
    if (GSYM_LIKELY(cost <= *budget)) {
        *budget -= cost;
        return true;
    }
    dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, offset, cost);
    return false;
}

/* ---- unit_names.c ------------------------------------------------------------------- */

/* The name of what the DIE at `origin` describes; resolved once a unit. */
bool unit_name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                         uint32_t *index_ret);
bool unit_name_of_function(unit_functions *result, unit_joiner *joiner,
                           const walk_function *function, uint32_t *index_ret);

/* ---- unit_rows.c -------------------------------------------------------------------- */

const line_sequence *unit_sequence_by_low(const dwarf_line_table *lines, size_t rank);
/* Rows of [range) in one sequence. */
void unit_rows_of_sequence(const row_list *rows, const line_sequence *sequence,
                           const gsym_range *range, uint32_t *first_ret,
                           uint32_t *count_ret);
/* The sequence with the rows of a function from the start of `range` on, or NULL. Several
 * have that address where the linker folded functions, or where it dropped some. */
const line_sequence *unit_sequence_of(unit_joiner *joiner, const walk_function *source,
                                      const gsym_range *range);
/* Append rows to those gathered for a function; *is_cut is set where there would be too
 * many. False where memory ran out. */
bool unit_append_rows(unit_functions *result, const unit_joiner *joiner,
                      uint32_t first, uint32_t count, size_t gathered,
                      bool *is_cut);
bool unit_find_rows(unit_functions *result, unit_joiner *joiner,
                    const walk_function *source, const gsym_range *range,
                    unit_function *function);
/* Number the files of the rows and mark the rows. Overlapping functions may share
 * rows, but not without limit. */
bool unit_number_row_files(unit_functions *result, unit_joiner *joiner,
                           unit_function *function);

/* ---- unit_calls.c ------------------------------------------------------------------- */

/* Sort the inlined calls and call sites of a function into its parts, of which it has
 * several: to search all of them for each part would cost parts times calls. */
bool unit_sort_into_parts(unit_joiner *joiner, uint32_t source_index);
/* The inlined calls of a function inside one of its parts, in pre-order after a root that
 * represents the function itself. */
bool unit_find_nodes(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
                     uint32_t part, unit_function *function);
bool unit_find_call_sites(unit_functions *result, unit_joiner *joiner,
                          uint32_t source_index, uint32_t part,
                          unit_function *function);

/* ---- unit_live.c -------------------------------------------------------------------- */

bool unit_is_named(const unit_name *name, const live_code *code);
size_t unit_live_from(const dwarf_input *code, uint64_t address);
/* Whether a symbol with a size extends over an address from before. */
bool unit_is_inside_live(const dwarf_input *code, uint64_t address);
/* Whether the linker dropped the code of a function, whose debug information then starts at
 * 0 or is in a sequence that does. */
bool unit_is_dropped(const unit_functions *result, unit_joiner *joiner,
                     const walk_function *source, uint32_t name,
                     const gsym_range *range);
/* Whether rows that no function has are of code that is there: where they start at 0, a
 * symbol starts there, too, and none continues them. */
bool unit_are_rows_live(const dwarf_input *code, const line_sequence *sequence);

/* ---- unit_evidence.c ---------------------------------------------------------------- */

/* Read the ranges of the unit's root, unless that is done; it may have none. */
bool unit_read_own_ranges(unit_joiner *joiner);
/* Whether a function of a split unit contradicts the binary; its ranges are corrected. */
bool unit_contradicts(const unit_functions *result, unit_joiner *joiner,
                      const walk_function *source, uint32_t name);

/* ---- unit_lines.c ------------------------------------------------------------------- */

bool unit_note_covered(const unit_functions *result, unit_joiner *joiner);
/* Add the rows that no function has: those of the unit's own table, and of a table of
 * several units those in its ranges. */
bool unit_add_uncovered_lines(unit_functions *result, unit_joiner *joiner);

#endif
