/* internal.h - what the files of libgsym share: the engine, mapped files, output. */
#ifndef LIBGSYM_INTERNAL_H
#define LIBGSYM_INTERNAL_H

#include <gsym/convert.h>
#include <gsym/libgsym.h>
#include <gsym/lookup.h>

#include "base/error.h"

/* ---- files.c: the system's files */

typedef struct mapped_file {
    const uint8_t *bytes;
    size_t size;
} mapped_file;

/* Map a regular file, which may be empty. */
gsym_status file_map(const char *path, mapped_file *file_ret, gsym_error *error);
void file_unmap(const mapped_file *file);
/* Whether both paths name the same existing file. */
bool files_are_same(const char *path, const char *other);
/* Write what a finished creator has to `path`, complete or not at all; symbolic links are
 * followed, and a pipe or device is written to. */
gsym_status file_write(gsym_creator *creator, const char *path, gsym_error *error);

/* GSYM_E_SYSTEM for errno. */
gsym_status fail_system(const char *path, const char *action, gsym_error *error);

/* Say which file an error of the engine is about; statuses pass. */
static inline gsym_status in_file(const char *path, gsym_status status,
                                  gsym_error *error) {
    if (status != GSYM_OK) error->path = path;
    return status;
}

/* ---- open.c: GSYM files */

struct gsym_file {
    gsym_image *image;
    gsym_header header;
    const char *strings; /* ends in NUL */
    const uint8_t *bytes;
    mapped_file mapping; /* no bytes: not ours */
    char *path;          /* NULL: in memory */
};

/* An unknown string is empty. */
static inline const char *file_string(const gsym_file *file, uint64_t strp) {
    return strp < file->header.strtab_size ? file->strings + strp : "";
}

/* Directory and base name of a file by its index; empty for an unknown one. */
void file_source(const gsym_file *file, uint32_t index, const char **directory_ret,
                 const char **filename_ret);
gsym_status file_check_entry(const gsym_file *file, uint32_t entry, gsym_error *error);

/* ---- object.c: the debug sections of an object file */

/* An object file and the sections that had to be copied; all stays until it is closed. */
typedef struct object_file {
    const char *path;
    mapped_file mapping;
    gsym_object *object;
    gsym_object_header header;
    uint64_t copied; /* bytes of sections */
    uint64_t failed; /* relocations */
    uint8_t *copies[GSYM_DEBUG_SECTION_COUNT];
} object_file;

/* `file` is zeroed, but for a mapping of `path` if there is one; then it can be closed. */
gsym_status object_file_open(const char *path, object_file *file, gsym_error *error);
void object_file_close(object_file *file);
/* The size of .debug_info or .debug_info.dwo; 0: none. */
uint64_t object_file_info_size(object_file *file, bool is_split);
/* Give the sections of DWARF to file `number` of a conversion, inflated and relocated. */
gsym_status object_file_give(object_file *file, gsym_conversion *conversion,
                             uint32_t number, bool is_split, gsym_error *error);

/* ---- inflate.c */

/* Inflate a section to `size` bytes; `compression` is a gsym_compression. */
gsym_status inflate_section(uint32_t compression, const uint8_t *bytes, size_t stored_size,
                            uint8_t *out, size_t size, uint64_t offset, gsym_error *error);

/* ---- breakpad.c */

bool is_breakpad(const mapped_file *file);
/* Read a text symbol file to the creator. */
gsym_status breakpad_convert(const mapped_file *file, gsym_creator *creator,
                             const gsym_convert_options *options,
                             gsym_convert_report *report, gsym_error *error);

#endif
