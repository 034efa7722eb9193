/* unit_joiner.h - declare what the files that make functions of a unit share.
 *
 * unit_functions.c takes the functions of a walk: unit_names.c names them, unit_rows.c
 * finds their rows, unit_calls.c their inlined calls; unit_live.c leaves out what the
 * linker dropped, unit_evidence.c what belongs to another binary; unit_lines.c keeps rows
 * that no function has. */
#ifndef GSYM_SOURCES_UNIT_JOINER_H
#define GSYM_SOURCES_UNIT_JOINER_H

#include "create/creator.h"
#include "sources/unit_functions.h"

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

/* ---- unit_names.c ------------------------------------------------------------------- */

/* Find the name of the function or call that the DIE at `origin` describes; it is resolved
 * once in a unit. */
bool unit_name_of_origin(unit_functions *result, unit_joiner *joiner, uint64_t origin,
                         uint32_t *index_ret);
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
/* Append rows to those gathered for a function; *is_cut is set if there would be too many.
 * False where memory ran out. */
bool unit_append_rows(unit_functions *result, const unit_joiner *joiner,
                      uint32_t first, uint32_t count, size_t gathered,
                      bool *is_cut);
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
