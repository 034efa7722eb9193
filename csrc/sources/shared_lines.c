/* shared_lines.c - line tables that several units name, run once for all of them.
 *
 * Nearly every unit has a line table of its own, which is run by the thread that reads
 * the unit, into memory that serves the next unit as well. A table that a second unit
 * names is run again, and kept until the conversion ends. */
#include "base/slot_table.h"
#include "base/sync.h"
#include "sources/unit_functions.h"

struct shared_lines {
    sync_gate gate;
    slot_table known; /* dwarf_key of a table -> 1 + its index */
    struct { shared_table **items; size_t count, capacity; } tables; /* NULL: not shared */
};

shared_lines *shared_lines_create(void) {
    shared_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL) return NULL;
    if (slot_table_init(&lines->known, 64) && sync_init(&lines->gate)) return lines;
    free(lines->known.slots);
    free(lines);
    return NULL;
}

static void destroy(shared_table *shared) {
    if (shared == NULL) return;
    line_table_deinit(&shared->table);
    free(shared->rows.items);
    free(shared);
}

void shared_lines_destroy(shared_lines *lines) {
    if (lines == NULL) return;
    for (size_t i = 0; i < lines->tables.count; ++i) destroy(lines->tables.items[i]);
    free(lines->tables.items);
    free(lines->known.slots);
    sync_deinit(&lines->gate);
    free(lines);
}

static shared_table *run(const dwarf_unit *unit, dwarf_budget *budget) {
    warning_list ignored = {0}; /* the first unit has reported them */
    shared_table *shared = calloc(1, sizeof *shared);
    gsym_line_row *items;
    if (shared == NULL ||
        !dwarf_run_line_program(&shared->table, &shared->rows, unit, budget, &ignored)) {
        destroy(shared);
        return NULL;
    }
    /* Space was reserved for a row for each byte of the program. */
    items = realloc(shared->rows.items, (shared->rows.count + 1) * sizeof *items);
    if (items != NULL) shared->rows.items = items;
    return shared;
}

/* Different keys have different hashes. */
static uint64_t hash_of(uint64_t key) {
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

/* The index of a table, SIZE_MAX if no unit has asked for it before. */
static size_t find(const shared_lines *lines, uint64_t hash) {
    const slot *slots = lines->known.slots;
    size_t at = (size_t)hash & lines->known.mask;
    while (slots[at].number != 0 && slots[at].hash != hash)
        at = (at + 1) & lines->known.mask;
    return (size_t)slots[at].number - 1;
}

/* With the gate held. */
static bool find_or_run(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                        const shared_table **table_ret) {
    uint64_t hash = hash_of(dwarf_key(unit->input, unit->stmt_list));
    size_t index = find(lines, hash);
    if (index == SIZE_MAX) {
        if (!slot_table_reserve(&lines->known) || !ARRAY_RESERVE(lines->tables, 1))
            return false;
        lines->tables.items[lines->tables.count++] = NULL;
        slot_table_insert(&lines->known, hash, lines->tables.count);
        return true;
    }
    if (lines->tables.items[index] == NULL)
        lines->tables.items[index] = run(unit, budget);
    if (lines->tables.items[index] == NULL) return false;
    if (!lines->tables.items[index]->table.has_indexed_strings)
        *table_ret = lines->tables.items[index];
    return true;
}

bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                       const shared_table **table_ret) {
    bool is_done;
    *table_ret = NULL;
    if (!unit->has_stmt_list || unit->stmt_list >> DWARF_OFFSET_BITS != 0) return true;
    sync_lock(&lines->gate);
    is_done = find_or_run(lines, unit, budget, table_ret);
    sync_unlock(&lines->gate);
    return is_done;
}
