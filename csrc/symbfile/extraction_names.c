/* extraction_names.c - give names and paths of a GSYM file their strings in a symbfile. */
#include "base/limit.h"
#include "base/characters.h"
#include "symbfile/extraction.h"

/* Names may share bytes and paths share folders, so the strings of a small file could take
 * any number of bytes. */
/* Limit: Names of a symbfile made of a GSYM file */
LIMIT(TEXT, 64 << 20, 64);

static const char NO_NAME[] = "<name omitted>";

gsym_status gsym_symbfile_names_create(const gsym_image *image,
                                       gsym_symbfile_names **names_ret,
                                       gsym_error *error) {
    gsym_symbfile_names *names = calloc(1, sizeof *names);
    if (names == NULL) return gsym_fail_memory(error);
    names->image = image;
    names->text_left = LIMIT_OF(TEXT, image->size);
    names->files = calloc((size_t)image->header.num_files + 1, sizeof *names->files);
    if (names->files == NULL || !function_walk_init(&names->walk, image) ||
        !name_numbers_init(&names->names, image->header.strtab_size)) {
        gsym_symbfile_names_destroy(names);
        return gsym_fail_memory(error);
    }
    *names_ret = names;
    return GSYM_OK;
}

void gsym_symbfile_names_destroy(gsym_symbfile_names *names) {
    if (names == NULL) return;
    function_walk_deinit(&names->walk);
    name_numbers_deinit(&names->names);
    buffer_deinit(&names->text);
    free(names->strings);
    free(names->files);
    free(names);
}

gsym_status gsym_symbfile_names_collect(gsym_symbfile_names *names, uint32_t first,
                                        uint32_t count, gsym_error *error) {
    uint32_t entries = names->image->header.num_addresses;
    if (names->is_counted)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names have been listed");
    if (first > entries) first = entries;
    if (count > entries - first) count = entries - first;
    for (uint32_t i = 0; i < count; ++i)
        GSYM_TRY(function_walk_names(&names->walk, first + i, true, &names->names, error));
    return GSYM_OK;
}

gsym_status gsym_symbfile_names_share(gsym_symbfile_names *names,
                                      const gsym_symbfile_names *other,
                                      gsym_error *error) {
    if (names->is_counted)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names have been listed");
    if (!name_numbers_share(&names->names, &other->names))
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "the names are of another image");
    return GSYM_OK;
}

static void count_names(gsym_symbfile_names *names) {
    if (!names->is_counted) name_numbers_count(&names->names);
    names->is_counted = true;
}

static gsym_status spend_text(gsym_symbfile_names *names, size_t size, gsym_error *error) {
    if (size > names->text_left)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "its names and paths expand to more than %d times its size",
                         TEXT_FACTOR);
    names->text_left -= size;
    return GSYM_OK;
}

gsym_status gsym_symbfile_names_list(gsym_symbfile_names *names, uint64_t first,
                                     uint64_t *strps, size_t capacity,
                                     uint64_t *count_ret, gsym_error *error) {
    uint64_t strp = first;
    size_t listed = 0, size;
    count_names(names);
    *count_ret = names->names.count;
    for (; listed < capacity && name_numbers_next(&names->names, &strp); ++strp) {
        (void)gsym_image_string(names->image, strp, &size);
        GSYM_TRY(spend_text(names, size, error));
        strps[listed++] = strp;
    }
    return GSYM_OK;
}

/* ---- names ------------------------------------------------------------------------ */

/* Add a string to the writer, with invalid UTF-8 replaced by question marks. */
static gsym_status add_string(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                              const char *bytes, size_t size, uint32_t *string_ret,
                              gsym_error *error) {
    size_t sound = utf8_valid_size((const uint8_t *)bytes, size);
    buffer *text = &names->text;
    if (sound == size)
        return gsym_symbfile_writer_add_string(writer, bytes, size, string_ret, error);
    text->size = 0;
    buffer_put(text, bytes, size);
    if (text->failed) return gsym_fail_memory(error);
    while (sound < size) {
        text->bytes[sound++] = '?';
        sound += utf8_valid_size(text->bytes + sound, size - sound);
    }
    return gsym_symbfile_writer_add_string(writer, (const char *)text->bytes, size,
                                           string_ret, error);
}

gsym_status gsym_symbfile_names_add(gsym_symbfile_names *names,
                                    gsym_symbfile_writer *writer, const char *texts,
                                    size_t size, gsym_error *error) {
    const char *end = texts + size;
    count_names(names);
    if (names->strings == NULL)
        names->strings = calloc(names->names.count + 1, sizeof *names->strings);
    if (names->strings == NULL) return gsym_fail_memory(error);
    while (texts < end) {
        const char *nul = memchr(texts, 0, (size_t)(end - texts));
        if (nul == NULL || names->string_count == names->names.count)
            return gsym_fail(error, GSYM_E_ARGUMENT, 0, "not a text for each name");
        if (nul == texts)
            GSYM_TRY(add_string(names, writer, NO_NAME, sizeof NO_NAME - 1,
                                &names->strings[names->string_count], error));
        else
            GSYM_TRY(add_string(names, writer, texts, (size_t)(nul - texts),
                                &names->strings[names->string_count], error));
        names->string_count++;
        texts = nul + 1;
    }
    return GSYM_OK;
}

uint32_t symbfile_names_function(const gsym_symbfile_names *names, uint64_t strp) {
    uint64_t number;
    if (!name_numbers_has(&names->names, strp)) return 0;
    number = name_numbers_of(&names->names, strp);
    return number < names->string_count ? names->strings[number] : 0;
}

/* ---- paths ------------------------------------------------------------------------ */

static gsym_status add_path(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                            const image_path *parts, uint32_t *string_ret,
                            gsym_error *error) {
    buffer path = {0};
    gsym_status status = GSYM_OK;
    GSYM_TRY(spend_text(names, parts->directory_size + parts->basename_size, error));
    image_path_put(parts, &path);
    if (path.failed)
        status = gsym_fail_memory(error);
    else if (path.size > 0)
        status = add_string(names, writer, (const char *)path.bytes, path.size,
                            string_ret, error);
    buffer_deinit(&path);
    return status;
}

gsym_status symbfile_names_file(gsym_symbfile_names *names,
                                gsym_symbfile_writer *writer, uint32_t file,
                                uint32_t *string_ret, gsym_error *error) {
    image_path path;
    *string_ret = 0;
    /* File 0 means no file, whatever the entry is. */
    if (file == 0 || file >= names->image->header.num_files) return GSYM_OK;
    if (names->files[file] == 0 && image_path_get(names->image, file, &path))
        GSYM_TRY(add_path(names, writer, &path, &names->files[file], error));
    *string_ret = names->files[file];
    return GSYM_OK;
}
