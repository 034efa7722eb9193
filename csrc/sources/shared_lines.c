/* shared_lines.c - run line tables that several units or pieces use, each of them once.
 *
 * Nearly every unit has a line table of its own. The worker that reads the unit runs it,
 * and uses the memory of its rows again for the next unit. The rows of a table that several
 * units use are kept until the conversion ends. */
#include "base/system.h"
#include "sources/unit_joiner.h"

struct shared_lines {
    const debug_files *files;
    sync_gate gate;
    number_map known; /* dwarf_key of a table -> its index */
    LIST(shared_table *) tables;
};

shared_lines *shared_lines_create(const debug_files *files) {
    shared_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL) return NULL;
    lines->files = files;
    if (sync_init(&lines->gate)) return lines;
    free(lines);
    return NULL;
}

static void destroy(shared_table *shared) {
    dwarf_line_table_deinit(&shared->table);
    free(shared->rows.items);
    free(shared);
}

void shared_lines_destroy(shared_lines *lines) {
    if (lines == NULL) return;
    for (size_t i = 0; i < lines->tables.count; ++i) destroy(lines->tables.items[i]);
    free(lines->tables.items);
    number_map_deinit(&lines->known);
    sync_deinit(&lines->gate);
    free(lines);
}

static shared_table *run(const dwarf_unit *unit, dwarf_budget *budget,
                         warning_list *warnings) {
    shared_table *shared = calloc(1, sizeof *shared);
    gsym_line_row *items;
    if (shared == NULL) return NULL;
    if (!dwarf_run_line_program(&shared->table, &shared->rows, unit, budget, warnings)) {
        destroy(shared);
        return NULL;
    }
    /* Free unused memory: there was room for as many rows as the program has bytes. */
    items = realloc(shared->rows.items, (shared->rows.count + 1) * sizeof *items);
    if (items != NULL) shared->rows.items = items;
    return shared;
}

/* Find the rows of a line table, or run its program; called with the gate held. */
static const shared_table *find_or_run(shared_lines *lines, uint64_t key,
                                       const dwarf_unit *unit, dwarf_budget *budget,
                                       warning_list *warnings) {
    shared_table *table;
    uint64_t index;
    if (number_map_find(&lines->known, key, &index)) return lines->tables.items[index];
    if (!LIST_RESERVE(lines->tables, 1)) return NULL;
    table = run(unit, budget, warnings);
    if (table == NULL) return NULL;
    lines->tables.items[lines->tables.count++] = table;
    return number_map_set(&lines->known, key, lines->tables.count - 1) ? table : NULL;
}

bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, bool is_piece,
                       dwarf_budget *budget, warning_list *warnings,
                       const shared_table **table_ret, bool *is_own_ret) {
    uint64_t key;
    *table_ret = NULL;
    *is_own_ret = true;
    if (!dwarf_lines_key(unit, &key)) return true;
    *is_own_ret = unit->tag != DW_TAG_partial_unit &&
                  !debug_files_share_lines(lines->files, key);
    if (*is_own_ret && !is_piece) return true;
    sync_lock(&lines->gate);
    *table_ret = find_or_run(lines, key, unit, budget, warnings);
    sync_unlock(&lines->gate);
    return *table_ret != NULL;
}
