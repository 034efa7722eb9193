/* unit_files.c - number the source files of a unit.
 *
 * Rows and calls name files by their index in the line table of the unit. */
#include "base/tables.h"
#include "sources/unit_joiner.h"

bool unit_files_reset(unit_functions *result, unit_joiner *joiner) {
    const dwarf_line_table *lines = joiner->lines;
    size_t count = lines->version == 0 ? 0 : lines->files.count + 1;
    size_t cleared = result->file_codes.capacity;
    uint32_t *codes;
    result->file_codes.count = 0;
    if (!LIST_RESERVE(result->file_codes, count + 1)) return false;
    /* Clear only the codes that are set: units may share a large line table and use few of
     * its files. */
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
    if (result->paths.count >= NO_INDEX - PATH_FIRST || !LIST_RESERVE(result->paths, 1))
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
