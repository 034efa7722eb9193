/* breakpad_numbers.c - number FILE and INLINE_ORIGIN records, and replace their numbers by
 * those of the output. */
#include "sources/breakpad.h"

static const char NAME_OMITTED[] = "<name omitted>";

void numbering_deinit(numbering *numbers) {
    free(numbers->entries.items);
    number_map_deinit(&numbers->others);
}

bool numbering_look_up(numbering *numbers, uint32_t number, uint32_t *entry_ret) {
    size_t count = numbers->entries.count;
    uint64_t entry;
    if (number_map_find(&numbers->others, number, &entry)) {
        *entry_ret = (uint32_t)entry;
        return true;
    }
    if (count == UINT32_MAX || !LIST_RESERVE(numbers->entries, 1)) return false;
    numbers->entries.items[numbers->entries.count++] = (numbered){NUMBER_UNDEFINED, number};
    *entry_ret = (uint32_t)count;
    if (number - numbers->entries.items[0].number == count) return true;
    return number_map_set(&numbers->others, number, count);
}

static bool is_defined(const numbering *numbers, uint64_t entry) {
    return numbers->entries.items[entry].value != NUMBER_UNDEFINED;
}

bool breakpad_knows_numbers(const gsym_breakpad *breakpad,
                            const breakpad_function *function) {
    const breakpad_parts *parts = &breakpad->parts;
    if (!function->is_early) return true;
    for (size_t i = function->row_first; i < parts->rows.count; ++i)
        if (!is_defined(&breakpad->files, parts->rows.items[i].file)) return false;
    for (size_t i = function->inline_first; i < parts->inlines.count; ++i) {
        const breakpad_inline *call = &parts->inlines.items[i];
        if (!is_defined(&breakpad->origins, call->origin) ||
            (call->has_call_file && !is_defined(&breakpad->files, call->call_file)))
            return false;
    }
    return true;
}

static uint32_t file_of(gsym_breakpad *breakpad, const breakpad_function *function,
                        uint32_t entry) {
    const numbered *file = &breakpad->files.entries.items[entry];
    if (GSYM_LIKELY(file->value != NUMBER_UNDEFINED)) return (uint32_t)file->value;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_NO_FILE, function->position,
                  file->number, 1);
    return 0;
}

static gsym_status name_of_origin(gsym_breakpad *breakpad,
                                  const breakpad_function *function, uint64_t entry,
                                  uint64_t *name_ret, gsym_error *error) {
    const numbered *origin = &breakpad->origins.entries.items[entry];
    *name_ret = origin->value;
    if (GSYM_LIKELY(origin->value != NUMBER_UNDEFINED)) return GSYM_OK;
    breakpad_find(&breakpad->findings, GSYM_BREAKPAD_NO_ORIGIN, function->position,
                  origin->number, 1);
    return gsym_creator_add_string(breakpad->creator, NAME_OMITTED,
                                   sizeof NAME_OMITTED - 1, name_ret, error);
}

gsym_status breakpad_resolve_numbers(gsym_breakpad *breakpad,
                                     const breakpad_function *function,
                                     breakpad_parts *parts, gsym_error *error) {
    uint32_t entry = 0, file = 0;
    for (size_t i = 0; i < function->row_count; ++i) {
        breakpad_row *row = &parts->rows.items[function->row_first + i];
        if (i == 0 || row->file != entry) {
            entry = row->file;
            file = file_of(breakpad, function, entry);
        }
        row->file = file;
    }
    for (size_t i = 0; i < function->inline_count; ++i) {
        breakpad_inline *call = &parts->inlines.items[function->inline_first + i];
        GSYM_TRY(name_of_origin(breakpad, function, call->origin, &call->origin, error));
        if (call->has_call_file)
            call->call_file = file_of(breakpad, function, call->call_file);
    }
    return GSYM_OK;
}
