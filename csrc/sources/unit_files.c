/* unit_files.c - number the source files of a unit, and share line tables between units.
 *
 * Rows and calls name files by their index in the line table of the unit. */
#include "base/system.h"
#include "base/tables.h"
#include "create/creator.h"
#include "sources/unit_functions.h"

bool unit_files_reset(unit_functions *result, unit_joiner *joiner) {
    const dwarf_line_table *lines = joiner->lines;
    size_t count = lines->version == 0 ? 0 : lines->files.count + 1;
    size_t cleared = result->file_codes.capacity;
    uint32_t *codes;
    result->file_codes.count = 0;
    if (!ARRAY_RESERVE(result->file_codes, count + 1)) return false;
    /* Clear only codes that are set: units may share a large table and use few files. */
    codes = result->file_codes.items;
    if (cleared < result->file_codes.capacity)
        memset(codes + cleared, 0, (result->file_codes.capacity - cleared) * sizeof *codes);
    for (size_t i = 0; i < result->seen_files.count; ++i)
        codes[result->seen_files.items[i]] = FILE_UNSEEN;
    result->seen_files.count = 0;
    result->file_codes.count = count;
    return true;
}

static bool add_path(unit_functions *result, dwarf_budget *budget,
                     const dwarf_line_table *lines, const dwarf_unit *unit,
                     uint64_t file_index, uint32_t *code_ret) {
    bool is_none;
    const line_file *file = dwarf_line_table_file(lines, file_index, &is_none);
    buffer *arena = &result->arena;
    unit_path path = {arena->size, 0, 0};
    *code_ret = is_none ? FILE_NONE : FILE_INVALID;
    if (file == NULL) return true;
    dwarf_line_table_path(lines, file, unit, arena);
    path_rules_apply(unit->input->path_rules, arena, path.arena_offset);
    if (arena->failed) return false;
    path.size = arena->size - path.arena_offset;
    if (!dwarf_spend(&budget->text, path.size)) return false;
    path.hash = string_hash((const char *)arena->bytes + path.arena_offset, path.size);
    if (result->paths.count >= NO_INDEX - PATH_FIRST || !ARRAY_RESERVE(result->paths, 1))
        return false;
    *code_ret = PATH_FIRST + (uint32_t)result->paths.count;
    result->paths.items[result->paths.count++] = path;
    return true;
}

bool unit_files_add(unit_functions *result, unit_joiner *joiner, uint64_t file_index,
                    uint32_t *code_ret) {
    if (!LIST_ADD(result->seen_files, (uint32_t)file_index)) return false;
    return add_path(result, joiner->budget, joiner->lines, joiner->line_unit, file_index,
                    code_ret);
}

/* Line tables that several units name; each is run once.
 *
 * Nearly every unit has a line table of its own, which the worker that reads the unit runs,
 * into memory that it uses again for the next unit. A table of several units is kept until
 * the conversion ends; its result is the same for each of them. */

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
    /* Free unused memory: a row was reserved for each byte of the program. */
    items = realloc(shared->rows.items, (shared->rows.count + 1) * sizeof *items);
    if (items != NULL) shared->rows.items = items;
    return shared;
}

/* Find a table or run it; called with the gate held. */
static const shared_table *find_or_run(shared_lines *lines, uint64_t key,
                                       const dwarf_unit *unit, dwarf_budget *budget,
                                       warning_list *warnings) {
    shared_table *table;
    uint64_t index;
    if (number_map_find(&lines->known, key, &index)) return lines->tables.items[index];
    if (!ARRAY_RESERVE(lines->tables, 1)) return NULL;
    table = run(unit, budget, warnings);
    if (table == NULL) return NULL;
    lines->tables.items[lines->tables.count++] = table;
    return number_map_set(&lines->known, key, lines->tables.count - 1) ? table : NULL;
}

bool shared_lines_find(shared_lines *lines, const dwarf_unit *unit, dwarf_budget *budget,
                       warning_list *warnings, const shared_table **table_ret) {
    uint64_t key;
    *table_ret = NULL;
    if (!dwarf_lines_key(unit, &key) || (unit->tag != DW_TAG_partial_unit &&
                                         !debug_files_share_lines(lines->files, key)))
        return true;
    sync_lock(&lines->gate);
    *table_ret = find_or_run(lines, key, unit, budget, warnings);
    sync_unlock(&lines->gate);
    return *table_ret != NULL;
}
