/* go_files.c - the names and source files of Go functions as those of the output, each taken
 * once: any number of functions may share one, and be it as long as names can be. */
#include "sources/go_reader.h"

gsym_status go_name_number(go_reader *reader, uint32_t place, bool *is_known_ret,
                           uint64_t *name_ret, gsym_error *error) {
    uint64_t known = 0; /* plus 1; 0: there is no name */
    if (!number_map_find(&reader->names, place, &known)) {
        size_t size;
        const char *text = go_pclntab_name(&reader->table, place, &size);
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

gsym_status go_file_number(go_reader *reader, const go_function *function, int32_t number,
                           uint32_t *file_ret, gsym_error *error) {
    uint32_t place;
    size_t size;
    uint64_t known;
    const char *text;
    *file_ret = 0;
    if (!go_pclntab_path_place(&reader->table, function->unit, number, &place))
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
