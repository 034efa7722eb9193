/* open.c - open GSYM files. */
#include "internal.h"

const char *gsym_version(void) {
    return LIBGSYM_VERSION;
}

/* Check that the last string ends in NUL, so that each string ends inside the table. */
static gsym_status check_strings(const gsym_file *file, gsym_error *error) {
    uint64_t size = file->header.strtab_size;
    if (size == 0 || file->strings[size - 1] == '\0') return GSYM_OK;
    return gsym_fail(error, GSYM_E_FORMAT, file->header.strtab_offset,
                     "the string table does not end in NUL");
}

static gsym_status open_image(gsym_file *file, const void *bytes, size_t size,
                              gsym_error *error) {
    GSYM_TRY(gsym_image_open(bytes, size, &file->image, error));
    gsym_image_header(file->image, &file->header);
    file->bytes = (const uint8_t *)bytes + file->header.file_offset;
    file->strings = (const char *)file->bytes + file->header.strtab_offset;
    return check_strings(file, error);
}

static gsym_status open_mapped(gsym_file *file, const char *path, gsym_error *error) {
    size_t size = strlen(path) + 1;
    file->path = malloc(size);
    if (file->path == NULL) return gsym_fail_memory(error);
    memcpy(file->path, path, size);
    GSYM_TRY(file_map(path, &file->mapping, error));
    return open_image(file, file->mapping.bytes, file->mapping.size, error);
}

static gsym_status open_either(const char *path, const void *bytes, size_t size,
                               gsym_file **file_ret, gsym_error *error) {
    gsym_file *file = calloc(1, sizeof *file);
    gsym_status status;
    if (file == NULL) return gsym_fail_memory(error);
    status = path != NULL ? open_mapped(file, path, error)
                          : open_image(file, bytes, size, error);
    if (status != GSYM_OK)
        gsym_file_close(file);
    else
        *file_ret = file;
    return in_file(path, status, error);
}

gsym_status gsym_file_open(const char *path, gsym_file **file_ret, gsym_error *error) {
    return open_either(path, NULL, 0, file_ret, error);
}

gsym_status gsym_file_open_memory(const void *bytes, size_t size, gsym_file **file_ret,
                                  gsym_error *error) {
    return open_either(NULL, bytes, size, file_ret, error);
}

void gsym_file_close(gsym_file *file) {
    if (file == NULL) return;
    if (file->image != NULL) gsym_image_close(file->image);
    file_unmap(&file->mapping);
    free(file->path);
    free(file);
}

uint64_t gsym_file_base_address(const gsym_file *file) {
    return file->header.base_address;
}

const uint8_t *gsym_file_uuid(const gsym_file *file, size_t *size_ret) {
    *size_ret = file->header.uuid_size;
    return file->bytes + file->header.uuid_offset;
}

uint32_t gsym_file_entry_count(const gsym_file *file) {
    return file->header.num_addresses;
}

void file_source(const gsym_file *file, uint32_t index, const char **directory_ret,
                 const char **filename_ret) {
    uint64_t directory = 0, filename = 0;
    gsym_error ignored;
    /* Index 0 means "no file", whatever its entry in the table is. */
    if (index == 0 || gsym_image_file(file->image, index, &directory, &filename,
                                      &ignored) != GSYM_OK)
        *directory_ret = *filename_ret = "";
    else {
        *directory_ret = file_string(file, directory);
        *filename_ret = file_string(file, filename);
    }
}

gsym_status file_check_entry(const gsym_file *file, uint32_t entry, gsym_error *error) {
    if (entry < file->header.num_addresses) return GSYM_OK;
    return in_file(file->path,
                   gsym_fail(error, GSYM_E_ARGUMENT, 0,
                             "entry %lu out of range (the file has %lu)",
                             (unsigned long)entry,
                             (unsigned long)file->header.num_addresses),
                   error);
}
