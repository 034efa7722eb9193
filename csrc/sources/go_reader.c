/* go_reader.c - limit the work on a Go binary, and give its names and paths numbers. */
#include "sources/go.h"

void go_reader_warn(go_reader *reader, gsym_warning_category category,
                    const go_function *function) {
    dwarf_warn(conversion_warnings(reader->conversion), category, function->offset,
               function->address);
}

bool go_reader_spend(go_reader *reader, uint64_t count) {
    if (GSYM_LIKELY(count <= reader->work_left)) {
        reader->work_left -= count;
        return true;
    }
    reader->work_left = 0;
    reader->is_cut = true;
    return false;
}

void go_reader_deinit(go_reader *reader) {
    number_map_deinit(&reader->files);
    number_map_deinit(&reader->names);
    buffer_deinit(&reader->path);
    free(reader->rows.items);
    free(reader->calls.items);
    free(reader->spans.items);
    free(reader->pieces.items);
    inline_builder_deinit(&reader->builder);
}

gsym_status go_name_number(go_reader *reader, uint32_t place, bool *is_known_ret,
                           uint64_t *name_ret, gsym_error *error) {
    uint64_t known; /* the strp plus 1; 0: there is no name */
    if (!number_map_find(&reader->names, place, &known)) {
        size_t size;
        const char *text = go_pclntab_name(&reader->table, place, &size);
        known = 0;
        if (text != NULL) {
            GSYM_TRY(creator_intern(reader->creator, text, size, string_hash(text, size),
                                    &known, error));
            known++;
        }
        if (!number_map_set(&reader->names, place, known)) return gsym_fail_memory(error);
    }
    *is_known_ret = known != 0;
    *name_ret = known != 0 ? known - 1 : 0;
    return GSYM_OK;
}

static gsym_status intern_path(go_reader *reader, const char *text, size_t size,
                               uint32_t *file_ret, gsym_error *error) {
    buffer *path = &reader->path;
    path->size = 0;
    buffer_put(path, text, size);
    path_rules_apply(conversion_input(reader->conversion)->path_rules, path, 0);
    if (path->failed) return gsym_fail_memory(error);
    return creator_intern_path(reader->creator, (const char *)path->bytes, path->size,
                               string_hash((const char *)path->bytes, path->size),
                               file_ret, error);
}

gsym_status go_file_number(go_reader *reader, const go_function *function,
                           int32_t number, uint32_t *file_ret, gsym_error *error) {
    uint32_t place;
    size_t size;
    uint64_t known;
    const char *text;
    *file_ret = 0;
    if (!go_pclntab_path_offset(&reader->table, function->unit, number, &place))
        return GSYM_OK;
    if (number_map_find(&reader->files, place, &known)) {
        *file_ret = (uint32_t)known;
        return GSYM_OK;
    }
    text = go_pclntab_path(&reader->table, place, &size);
    if (text != NULL && size > 0)
        GSYM_TRY(intern_path(reader, text, size, file_ret, error));
    return number_map_set(&reader->files, place, *file_ret) ? GSYM_OK
                                                            : gsym_fail_memory(error);
}
