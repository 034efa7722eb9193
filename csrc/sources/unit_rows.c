/* unit_rows.c - find the rows of a function in the sequences of the line program. */
#include "sources/unit_joiner.h"

/* Return the index of the last row of a sequence at or before `address`. */
static uint32_t row_at(const row_list *rows, const line_sequence *sequence,
                       uint64_t address) {
    size_t low = sequence->row_first + 1;
    SEARCH_SORTED(low, sequence->row_first + sequence->row_count,
                  rows->items[middle].address <= address);
    return (uint32_t)low - 1;
}

const line_sequence *unit_sequence_by_low(const dwarf_line_table *lines, size_t rank) {
    return &lines->sequences.items[lines->by_low.items[rank].sequence];
}

/* Return the number of sequences that start at or before `address`. */
static size_t ranks_to(const dwarf_line_table *lines, uint64_t address) {
    size_t low = 0;
    SEARCH_SORTED(low, lines->by_low.count, lines->by_low.items[middle].low <= address);
    return low;
}

static const line_sequence *sequence_at_offset(const dwarf_line_table *lines,
                                               uint64_t offset) {
    size_t low = 0;
    SEARCH_SORTED(low, lines->sequences.count,
                  lines->sequences.items[middle].program_offset < offset);
    return low < lines->sequences.count &&
                   lines->sequences.items[low].program_offset == offset
               ? &lines->sequences.items[low]
               : NULL;
}

void unit_rows_of_sequence(const row_list *rows, const line_sequence *sequence,
                           const gsym_range *range, uint32_t *first_ret,
                           uint32_t *count_ret) {
    uint32_t last = range->end > sequence->high
                        ? sequence->row_first + sequence->row_count - 1
                        : row_at(rows, sequence, range->end - 1);
    *first_ret = row_at(rows, sequence, range->start);
    *count_ret = last - *first_ret + 1;
}

/* How well a sequence fits a function that starts in it; the lowest values are best. */
typedef struct sequence_fit {
    uint8_t extent; /* 0: it starts with the range and contains it; 1: it starts before the
                     * range and contains it; 2: it ends in the range */
    uint32_t lines; /* distance in lines from the declaration of the function to its
                       first row */
    uint64_t size;
} sequence_fit;

/* Where a function is declared; NO_FILE and line 0: unknown. */
typedef struct declaration {
    uint64_t file;
    uint64_t line;
} declaration;

static sequence_fit fit_of(const unit_joiner *joiner, const line_sequence *sequence,
                           const gsym_range *range, const declaration *declared) {
    const gsym_line_row *row =
        &joiner->rows->items[row_at(joiner->rows, sequence, range->start)];
    sequence_fit fit = {2, UINT32_MAX, sequence->high - sequence->low};
    if (sequence->high >= range->end)
        fit.extent = sequence->low != range->start;
    if (declared->line != 0 && row->line >= declared->line &&
        (row->file == declared->file || declared->file == NO_FILE))
        fit.lines = (uint32_t)(row->line - declared->line);
    return fit;
}

static bool is_better(const sequence_fit *fit, const sequence_fit *best) {
    if (fit->extent != best->extent) return fit->extent < best->extent;
    if (fit->lines != best->lines) return fit->lines < best->lines;
    return fit->size < best->size;
}

const line_sequence *unit_sequence_of(unit_joiner *joiner, const walk_function *source,
                                      const gsym_range *range) {
    const dwarf_line_table *lines = joiner->lines;
    const line_sequence *best = NULL;
    sequence_fit best_fit = {0};
    declaration declared = {NO_FILE, 0};
    bool is_asked = false; /* whether `declared` was looked up */
    if (source->stmt_sequence != UINT64_MAX) {
        /* In a split unit, the offset of the sequence is relative to the line table of the
         * skeleton. */
        uint64_t table = is_split(joiner) ? joiner->line_unit->stmt_list : 0;
        best = sequence_at_offset(lines, table + source->stmt_sequence);
        if (best != NULL && best->low <= range->start && range->start < best->high)
            return best;
        best = NULL;
    }
    for (size_t rank = ranks_to(lines, range->start);
         rank > 0 && lines->by_low.items[rank - 1].reach > range->start; --rank) {
        const line_sequence *sequence = unit_sequence_by_low(lines, rank - 1);
        sequence_fit fit;
        if (best == NULL &&
            (rank == 1 || lines->by_low.items[rank - 2].reach <= range->start))
            return sequence; /* it is the only sequence there */
        if (!spend(joiner, &joiner->visit_budget, 1, source->offset)) break;
        if (sequence->high <= range->start) continue;
        if (!is_asked) {
            uint64_t cost = 0;
            dwarf_declaration(&joiner->resolver, source->offset, &declared.file,
                              &declared.line, &cost);
            if (!spend(joiner, &joiner->visit_budget, cost, source->offset))
                joiner->visit_budget = 0;
        }
        is_asked = true;
        fit = fit_of(joiner, sequence, range, &declared);
        if (best == NULL || !is_better(&best_fit, &fit)) {
            best = sequence;
            best_fit = fit;
        }
    }
    return best;
}

/* Append rows to those gathered for a function; *is_cut is set if there would be too many.
 * False where memory ran out. */
static bool append_rows(unit_functions *result, const unit_joiner *joiner, uint32_t first,
                        uint32_t count, size_t gathered, bool *is_cut) {
    *is_cut = result->rows.count + count >= NO_INDEX ||
              result->rows.count - gathered + count > joiner->row_budget;
    if (*is_cut) return true;
    if (!LIST_RESERVE(result->rows, count)) return false;
    memcpy(result->rows.items + result->rows.count, joiner->rows->items + first,
           count * sizeof *result->rows.items);
    result->rows.count += count;
    return true;
}

/* Copy the rows of a range to the end of the rows of the unit. This is needed if the range
 * extends over several sequences or beyond them. Between sequences, the line is not
 * known. */
static bool gather_rows(unit_functions *result, unit_joiner *joiner,
                        const walk_function *source, const line_sequence *sequence,
                        unit_function *function, gsym_range range) {
    const dwarf_line_table *lines = joiner->lines;
    size_t gathered = result->rows.count;
    bool is_cut = false;
    while (sequence != NULL) {
        /* If the sequence starts in the function, its rows are used from the first one
         * on. */
        gsym_range part = {sequence->low >= range.start ? function->address : range.start,
                           range.end};
        gsym_line_row *row;
        uint32_t first, count;
        size_t next;
        unit_rows_of_sequence(joiner->rows, sequence, &part, &first, &count);
        if (!append_rows(result, joiner, first, count, gathered, &is_cut))
            return false;
        if (is_cut) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, source->offset, count);
            break;
        }
        /* A row before the part is moved to its start. */
        row = &result->rows.items[result->rows.count - count];
        if (count > 0 && row->address < part.start) row->address = part.start;
        if (sequence->high >= range.end) break;
        range.start = sequence->high;
        sequence = unit_sequence_of(joiner, source, &range);
        if (sequence != NULL) continue;
        if (result->rows.count - gathered >= joiner->row_budget) {
            dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, source->offset, 1);
            break;
        }
        if (!LIST_ADD(result->rows, (gsym_line_row){range.start, NO_FILE, 0})) return false;
        next = ranks_to(lines, range.start);
        if (next == lines->by_low.count || lines->by_low.items[next].low >= range.end)
            break;
        range.start = lines->by_low.items[next].low;
        sequence = unit_sequence_of(joiner, source, &range);
    }
    function->row_first = (uint32_t)gathered;
    function->row_count = (uint32_t)(result->rows.count - gathered);
    return true;
}

bool unit_find_rows(unit_functions *result, unit_joiner *joiner,
                    const walk_function *source, const gsym_range *range,
                    unit_function *function) {
    const dwarf_line_table *lines = joiner->lines;
    const line_sequence *sequence = unit_sequence_of(joiner, source, range);
    gsym_range covered = *range;
    if (sequence == NULL) {
        size_t next = ranks_to(lines, range->start);
        if (next == lines->by_low.count || lines->by_low.items[next].low >= range->end)
            return true;
        covered.start = lines->by_low.items[next].low;
        sequence = unit_sequence_of(joiner, source, &covered);
    }
    if (sequence == NULL) return true;
    if (GSYM_LIKELY(sequence->high >= range->end)) {
        function->has_shared_rows = joiner->rows != &result->rows;
        unit_rows_of_sequence(joiner->rows, sequence, range, &function->row_first,
                              &function->row_count);
        return true;
    }
    return gather_rows(result, joiner, source, sequence, function, covered);
}

bool unit_number_row_files(unit_functions *result, unit_joiner *joiner,
                           unit_function *function) {
    const gsym_line_row *row, *end;
    uint64_t fingerprint = 0, mark = 0;
    uint32_t file = NO_INDEX;
    if (function->row_count > joiner->row_budget) {
        dwarf_warn(joiner->warnings, GSYM_WARN_LIMIT, function->die_offset,
                   function->row_count);
        /* Rows that gather_rows() copied for the function are the last ones; drop them. */
        if (!function->has_shared_rows && function->row_first >= joiner->table_rows)
            result->rows.count = function->row_first;
        function->row_count = 0;
        return true;
    }
    if (function->row_count == 0) return true;
    joiner->row_budget -= function->row_count;
    row = unit_rows_of(result, function);
    end = row + function->row_count;
    for (; row < end; ++row) {
        if (row->file != file) {
            uint32_t code;
            if (!unit_file_code(result, joiner, row->file, &code)) return false;
            file = row->file;
            mark = fingerprint_of_file(result, code);
        }
        if (!joiner->has_repetitions) continue;
        fingerprint += (row->address + ((uint64_t)row->line << 40) + mark) *
                       UINT64_C(0xd6e8feb86659fd93);
        fingerprint = fingerprint << 29 | fingerprint >> 35;
    }
    function->fingerprint = fingerprint;
    return true;
}
