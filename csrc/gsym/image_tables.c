/* image_tables.c - read strings, files and paths of an image. */
#include <inttypes.h>

#include "gsym/image.h"

const char *gsym_image_string(const gsym_image *image, uint64_t strp, size_t *size_ret) {
    const char *string, *nul;
    size_t left;
    *size_ret = 0;
    if (strp >= image->header.strtab_size) return "";
    string = image->strings + strp;
    left = (size_t)(image->header.strtab_size - strp);
    nul = memchr(string, 0, left);
    *size_ret = nul != NULL ? (size_t)(nul - string) : left;
    return string;
}

bool image_file(const gsym_image *image, uint32_t index, uint64_t *directory_ret,
                uint64_t *basename_ret) {
    const uint8_t *at;
    if (index >= image->header.num_files) return false;
    at = image->files + (size_t)index * 2 * image->strp_size;
    *directory_ret = image_strp(image, at);
    *basename_ret = image_strp(image, at + image->strp_size);
    return true;
}

bool image_path_get(const gsym_image *image, uint32_t file, image_path *ret) {
    uint64_t directory, basename;
    *ret = (image_path){.directory = "", .basename = ""};
    if (!image_file(image, file, &directory, &basename)) return false;
    ret->directory_strp = directory;
    ret->basename_strp = basename;
    ret->directory = gsym_image_string(image, directory, &ret->directory_size);
    ret->basename = gsym_image_string(image, basename, &ret->basename_size);
    if (ret->directory_size > 0)
        ret->separator = memchr(ret->directory, '/', ret->directory_size) == NULL &&
                                 memchr(ret->directory, '\\', ret->directory_size) != NULL
                             ? '\\'
                             : '/';
    return true;
}

void image_path_put(const image_path *path, buffer *out) {
    buffer_put(out, path->directory, path->directory_size);
    if (path->separator != 0) buffer_put_u8(out, (uint8_t)path->separator);
    buffer_put(out, path->basename, path->basename_size);
}

gsym_status gsym_image_file(const gsym_image *image, uint32_t index,
                            uint64_t *directory_ret, uint64_t *basename_ret,
                            gsym_error *error) {
    if (!image_file(image, index, directory_ret, basename_ret))
        return gsym_fail(error, GSYM_E_FORMAT, image->header.file_table_offset,
                         "failed to extract file[%" PRIu32 "]", index);
    return GSYM_OK;
}
