/* go_files.c - the source files of Go functions as files of the output. */
#include "go_reader.h"

gsym_status go_file_number(go_reader *reader, const go_function *function, int32_t number,
                           uint32_t *file_ret, gsym_error *error) {
    uint32_t place;
    size_t size;
    uint64_t known;
    buffer *path = &reader->path;
    const char *text = go_pclntab_path(&reader->table, function->unit, number, &place,
                                       &size);
    *file_ret = 0;
    if (text == NULL || size == 0) return GSYM_OK;
    if (number_map_find(&reader->files, place, &known)) {
        *file_ret = (uint32_t)known;
        return GSYM_OK;
    }
    path->size = 0;
    buffer_put(path, text, size);
    path_rules_apply(conversion_input(reader->conversion)->path_rules, path, 0);
    if (path->failed) return gsym_fail_memory(error);
    GSYM_TRY(creator_intern_path(reader->creator, (const char *)path->bytes, path->size,
                                 string_hash((const char *)path->bytes, path->size),
                                 file_ret, error));
    return number_map_set(&reader->files, place, *file_ret) ? GSYM_OK
                                                            : gsym_fail_memory(error);
}
