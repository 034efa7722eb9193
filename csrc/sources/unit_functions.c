/* unit_functions.c - join the DIEs, the line program and the names of a unit.
 *
 * Each live range of a subprogram becomes one function, with the rows and the inlined calls
 * in this range. */
#include "sources/unit_joiner.h"
#include "sources/unit_pieces.h"

void unit_functions_deinit(unit_functions *result) {
    free(result->rows.items);
    free(result->file_codes.items);
    free(result->seen_files.items);
    free(result->names.items);
    free(result->paths.items);
    free(result->functions.items);
    free(result->nodes.items);
    free(result->call_sites.items);
    free(result->ranges.items);
    free(result->strps.items);
    free(result->files.items);
    buffer_deinit(&result->arena);
}

void unit_functions_release(unit_functions *result, size_t kept) {
    LIST_RELEASE(result->rows, kept);
    LIST_RELEASE(result->nodes, kept);
    LIST_RELEASE(result->ranges, kept);
    LIST_RELEASE(result->names, kept);
}

void unit_joiner_deinit(unit_joiner *joiner) {
    unit_walk_deinit(&joiner->walk);
    dwarf_line_table_deinit(&joiner->own_lines);
    abbrev_cache_deinit(&joiner->abbrevs);
    abbrev_cache_deinit(&joiner->skeleton_abbrevs);
    name_resolver_deinit(&joiner->resolver);
    number_map_deinit(&joiner->name_map);
    free(joiner->placed.items);
    free(joiner->parts.items);
    free(joiner->calls.items);
    free(joiner->sites.items);
    free(joiner->part_starts.items);
    free(joiner->call_ranges.items);
    free(joiner->covered.items);
    free(joiner->own_ranges.items);
    free(joiner->known.slots);
}

/* ---- functions ----------------------------------------------------------------------- */

static bool add_function(unit_functions *result, unit_joiner *joiner, uint32_t source_index,
                         uint32_t part, uint32_t name) {
    const walk_function *source = &joiner->walk.functions.items[source_index];
    gsym_range range = joiner->walk.ranges.items[source->range_first + part];
    unit_function function = {.address = range.start,
                              .size = range.end - range.start,
                              .shift = unit_shift_of(result, joiner, name, &range),
                              .die_offset = source->offset,
                              .name = name,
                              .is_cut = joiner->is_cut && part == 0};
    /* A function that the shift would move beyond the last address is dropped. */
    if (function.shift != 0 &&
        function.address + function.shift > UINT64_MAX - (function.size - 1)) {
        dwarf_warn(joiner->warnings, GSYM_WARN_RANGE_INVALID, source->offset, range.start);
        return true;
    }
    if (joiner->lines->version != 0 &&
        (!unit_find_rows(result, joiner, source, &range, &function) ||
         !unit_number_row_files(result, joiner, &function)))
        return false;
    if (!unit_find_nodes(result, joiner, source_index, part, &function) ||
        !unit_find_call_sites(result, joiner, source_index, part, &function) ||
        !LIST_RESERVE(result->functions, 1))
        return false;
    result->functions.items[result->functions.count++] = function;
    return true;
}

/* If no range of a function is asked for, add its ranges without name and contents. */
static bool add_if_not_asked(unit_functions *result, unit_joiner *joiner,
                             const walk_function *source, bool *is_asked_ret) {
    const gsym_range *ranges = joiner->walk.ranges.items + source->range_first;
    *is_asked_ret = false;
    for (uint32_t i = 0; i < source->range_count; ++i)
        *is_asked_ret |= creator_answers_in(joiner->creator, ranges[i].start,
                                            ranges[i].end) ||
                         (joiner->unit.code->knows_live && ranges[i].start == 0);
    for (uint32_t i = 0; i < source->range_count && !*is_asked_ret; ++i)
        if (!LIST_ADD(result->functions,
                      (unit_function){.address = ranges[i].start,
                                      .size = ranges[i].end - ranges[i].start,
                                      .die_offset = source->offset,
                                      .name = NO_INDEX,
                                      .is_not_asked = true}))
            return false;
    return true;
}

enum { FUNCTIONS_AHEAD = 2 }; /* between a prefetch and its use */

static bool add_functions(unit_functions *result, unit_joiner *joiner) {
    const unit_walk *walk = &joiner->walk;
    joiner->agreeing = joiner->contradicting = 0;
    if (is_split(joiner)) {
        if (!unit_read_own_ranges(joiner)) return false;
        /* The ranges of the root DIE count as steps, because many skeletons may share one
         * list. */
        if (!spend(joiner, &joiner->visit_budget, joiner->own_ranges.count,
                   joiner->unit.header->offset))
            joiner->own_ranges.count = 0;
    }
    for (uint32_t i = 0; i < walk->functions.count; ++i) {
        const walk_function *source = &walk->functions.items[i];
        uint32_t name;
        bool is_asked;
        if (walk->functions.count - i > FUNCTIONS_AHEAD) {
            number_map_fetch(&joiner->name_map, source[FUNCTIONS_AHEAD].origin);
            dwarf_fetch_function(&joiner->resolver, &source[FUNCTIONS_AHEAD]);
        }
        if (!add_if_not_asked(result, joiner, source, &is_asked)) return false;
        if (!is_asked) continue;
        if (!unit_name_of_function(result, joiner, source, &name)) return false;
        if (name == NO_INDEX) {
            dwarf_warn(joiner->warnings, GSYM_WARN_NO_NAME, source->offset,
                       walk->ranges.items[source->range_first].start);
            if (!joiner->keeps_nameless) continue;
        }
        if (is_split(joiner) && unit_contradicts(result, joiner, source, name)) continue;
        if (source->range_count > 1 && !unit_sort_into_parts(joiner, i)) return false;
        for (uint32_t part = 0; part < source->range_count; ++part) {
            gsym_range range = walk->ranges.items[source->range_first + part];
            if (!unit_is_dropped(result, joiner, source, name, &range) &&
                !add_function(result, joiner, i, part, name))
                return false;
        }
    }
    if (!unit_resolve_names(result, joiner)) return false;
    for (size_t i = 0; joiner->has_repetitions && i < result->functions.count; ++i)
        if (!result->functions.items[i].is_not_asked)
            fingerprint_function(result, &result->functions.items[i]);
    return true;
}

/* Limit: Inlined calls and call sites of a unit, counted in each part of a function */
LIMIT(CONTENTS, 1 << 16, 16);

/* Limit: Rows of functions that share them */
LIMIT(ROWS, 1 << 16, 16);

/* Limit: Steps through calls, call sites, sequences of rows and symbols */
LIMIT(STEPS, 1 << 26, 16);

/* Limit: Names of more than 64 KiB in a unit, which DIEs may share */
LIMIT(DIE_NAMES, 256 << 10, 1024);

#define OWN_TABLES 8 /* number of abbreviation tables that are kept for the next units */
#define PART_FUNCTIONS (1u << 16) /* a unit with more functions is read in parts, which
                                     bounds memory */

/* Empty the lists of a part. Each gets memory, because C leaves a null pointer plus an
 * offset undefined. */
static bool clear(unit_functions *result) {
    result->names.count = result->paths.count = 0;
    result->functions.count = result->nodes.count = 0;
    result->call_sites.count = result->ranges.count = 0;
    result->strps.count = result->files.count = 0;
    result->arena.size = 0;
    return LIST_RESERVE(result->rows, 1) && LIST_RESERVE(result->nodes, 1) &&
           LIST_RESERVE(result->ranges, 1) && LIST_RESERVE(result->call_sites, 1) &&
           buffer_reserve(&result->arena, 1);
}

bool unit_functions_clear(unit_functions *result, size_t index) {
    result->unit_index = index;
    result->is_last = true;
    result->prefers_symbols = false;
    result->lines_end = result->lists_end = 0;
    result->rows.count = result->file_codes.count = 0;
    return clear(result);
}

/* Open the unit whose DIEs are to be read: the split unit of a skeleton, if it has one.
 * False if it cannot be read or has no code. */
static bool open_unit(unit_joiner *joiner, const unit_source *source) {
    const skeleton_unit *skeleton = source->skeleton;
    warning_list ignored = {0}; /* of a piece: they were given for the first one */
    bool has_split = skeleton != NULL && skeleton->split_input != NULL;
    dwarf_unit *whole = has_split ? &joiner->skeleton : &joiner->unit;
    joiner->line_unit = whole;
    joiner->warnings->file = source->input->number;
    joiner->abbrevs.limit = joiner->skeleton_abbrevs.limit = OWN_TABLES;
    if (dwarf_is_type_unit(source->header) ||
        !dwarf_unit_open(whole, source->input, source->header, NULL,
                         has_split ? &joiner->skeleton_abbrevs : &joiner->abbrevs,
                         source->cut_count > 1 ? &ignored : joiner->warnings))
        return false;
    if (skeleton == NULL) return true;
    if (!has_split) {
        dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_MISSING, source->header->offset,
                   skeleton->dwo_id);
        return true;
    }
    joiner->warnings->file = skeleton->split_input->number;
    return dwarf_unit_open(&joiner->unit, skeleton->split_input, &skeleton->split_header,
                           whole, &joiner->abbrevs, joiner->warnings);
}

/* Visit the DIEs of the unit that was opened, or of a piece of it. */
static bool walk_source(unit_joiner *joiner, const unit_source *source, unit_walk *walk) {
    bool is_piece = source->cut_count > 0;
    walk->max_functions = PART_FUNCTIONS;
    return dwarf_walk_unit(walk, &joiner->unit, is_piece ? source->from : 0,
                           is_piece ? source->to : UINT64_MAX, joiner->warnings);
}

bool unit_walk_ahead(unit_joiner *joiner, const unit_source *source, piece_walk *ahead) {
    return open_unit(joiner, source) && walk_source(joiner, source, &ahead->walk);
}

/* Go on with a walk that was made ahead. */
static void take_walk(unit_joiner *joiner, piece_walk *ahead) {
    unit_walk_deinit(&joiner->walk);
    joiner->walk = ahead->walk;
    ahead->walk = (unit_walk){0};
}

static bool read_lines(unit_functions *result, unit_joiner *joiner) {
    const dwarf_unit *unit = joiner->line_unit;
    const shared_table *shared;
    joiner->warnings->file = unit->input->number;
    if (!shared_lines_find(joiner->shared_lines, unit, joiner->is_piece, joiner->budget,
                           joiner->warnings, &shared, &joiner->owns_lines))
        return false;
    joiner->lines = shared != NULL ? &shared->table : &joiner->own_lines;
    joiner->rows = shared != NULL ? &shared->rows : &result->rows;
    result->shared_rows = shared != NULL ? shared->rows.items : NULL;
    if (shared == NULL &&
        !dwarf_run_line_program(&joiner->own_lines, &result->rows, unit, joiner->budget,
                                joiner->warnings))
        return false;
    joiner->warnings->file = result->file;
    result->lines_end = joiner->lines->end;
    joiner->table_rows = result->rows.count;
    return true;
}

/* If more functions of a part of a split unit contradict the binary than agree with it,
 * drop all functions of the part. */
static bool check_split_unit(unit_functions *result, unit_joiner *joiner) {
    bool is_contradicted =
        is_split(joiner) &&
        joiner->contradicting + joiner->walk.outside > joiner->agreeing;
    joiner->is_contradicted = is_contradicted;
    for (uint64_t i = 0; is_contradicted && i < joiner->walk.outside; ++i)
        dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_CONTRADICTS,
                   joiner->unit.header->offset, 0);
    for (size_t i = 0; is_split(joiner) && i < result->functions.count; ++i) {
        const unit_function *function = &result->functions.items[i];
        if (is_contradicted || function->is_cut)
            dwarf_warn(joiner->warnings, GSYM_WARN_SPLIT_CONTRADICTS, function->die_offset,
                       function->address);
    }
    return !is_contradicted || (clear(result) && unit_files_reset(result, joiner));
}

/* Make functions of what the walk found and, at the end of the unit, of the rows that no
 * function has. */
static bool join_part(unit_functions *result, unit_joiner *joiner) {
    const unit_walk *walk = &joiner->walk;
    result->is_last = !dwarf_walk_pauses(walk);
    result->reached = walk->reached;
    result->lists_end = walk->lists.end;
    joiner->max_contents = LIMIT_OF(
        CONTENTS, walk->nodes.count + walk->ranges.count + walk->call_sites.count);
    joiner->node_budget += joiner->max_contents - CONTENTS_FLOOR;
    if (!unit_files_reset(result, joiner) ||
        !LIST_RESERVE(joiner->placed, walk->nodes.count) ||
        !number_map_reset(&joiner->name_map,
                          1 + walk->functions.count + walk->nodes.count / 4) ||
        !add_functions(result, joiner) || joiner->resolver.foreign_abbrevs.failed ||
        !check_split_unit(result, joiner) || !unit_note_covered(result, joiner))
        return false;
    return !result->is_last ||
           (((joiner->is_piece && !joiner->is_rest) ||
             unit_add_uncovered_lines(result, joiner)) &&
            dwarf_spend(&joiner->budget->rows, joiner->all_rows - joiner->row_budget) &&
            dwarf_spend(&joiner->budget->visits,
                        joiner->all_visits - joiner->visit_budget));
}

bool unit_functions_read_on(unit_functions *result, unit_joiner *joiner) {
    result->rows.count = joiner->table_rows; /* drop rows gathered for the last part */
    return clear(result) && dwarf_walk_on(&joiner->walk, &joiner->unit, joiner->warnings) &&
           join_part(result, joiner);
}

static bool read_source(unit_functions *result, unit_joiner *joiner,
                        const unit_source *source, size_t index) {
    if (!unit_functions_clear(result, index)) return false;
    joiner->is_contradicted = joiner->is_cut = false;
    joiner->is_piece = source->cut_count > 0;
    joiner->is_rest = source->is_rest;
    joiner->covered.count = 0;
    joiner->knows_ranges = false;
    if (!open_unit(joiner, source))
        return !joiner->abbrevs.failed && !joiner->skeleton_abbrevs.failed;
    result->file = joiner->warnings->file;
    if (source->ahead != NULL)
        take_walk(joiner, source->ahead);
    else if (!walk_source(joiner, source, &joiner->walk))
        return false;
    /* dwz makes partial units of DIEs that several units share, and gives them the line
     * table of another unit. */
    if (joiner->walk.functions.count == 0 &&
        (joiner->line_unit->tag == DW_TAG_partial_unit ||
         !joiner->line_unit->has_stmt_list || (joiner->is_piece && !joiner->is_rest)))
        return true;
    if (joiner->is_rest && !ranges_append(&joiner->covered, source->covered)) return false;
    if (!read_lines(result, joiner)) return false;
    joiner->long_names = LIMIT_OF(DIE_NAMES, joiner->unit.header->end -
                                                 joiner->unit.header->offset);
    joiner->unit.long_names = &joiner->long_names;
    joiner->resolver.unit = &joiner->unit;
    joiner->resolver.walk = &joiner->walk;
    joiner->resolver.cuts = source->cuts;
    joiner->resolver.cut_count = source->cut_count;
    joiner->resolver.warnings = joiner->warnings;
    joiner->resolver.foreign.header = NULL;
    joiner->resolver.known = joiner->known;
    joiner->has_repetitions = dwarf_language_has_scopes(joiner->unit.language);
    result->prefers_symbols = joiner->unit.language != DW_LANG_Go;
    joiner->resolver.arena = &result->arena;
    joiner->resolver.budget = joiner->budget;
    joiner->row_budget = joiner->all_rows = LIMIT_OF(ROWS, joiner->rows->count);
    joiner->node_budget = CONTENTS_FLOOR;
    joiner->visit_budget = joiner->all_visits =
        LIMIT_OF(STEPS, joiner->unit.header->end - joiner->unit.header->offset);
    return join_part(result, joiner);
}

bool unit_functions_read(unit_functions *result, unit_joiner *joiner,
                         const unit_source *source, size_t index) {
    unit_source alone = *source;
    alone.skeleton = NULL;
    return read_source(result, joiner, source, index) &&
           (!joiner->is_contradicted || read_source(result, joiner, &alone, index));
}
