/* internal.h - declare what the files of libgsym use of each other and of the engine. */
#ifndef LIBGSYM_INTERNAL_H
#define LIBGSYM_INTERNAL_H

#include <gsym/convert.h>
#include <gsym/libgsym.h>
#include <gsym/lookup.h>

#include "base/error.h"
#include "base/system.h"

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
/* Write the file of a finished creator, and `size` bytes after it, to `path`, completely or
 * not at all. Symbolic links are followed; a pipe or device is not replaced by a file.
 * `has_thread`: a large file is made and written by two threads, and the creator is
 * released. */
gsym_status file_write(gsym_creator *creator, const void *after, size_t size,
                       bool has_thread, const char *path, gsym_error *error);

/* Fail with GSYM_E_SYSTEM and errno, or with GSYM_E_NO_MEMORY for ENOMEM. */
gsym_status fail_system(const char *path, const char *action, gsym_error *error);

/* If `status` is an error, note which file it is about. Return `status`. */
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
    mapped_file mapping; /* no bytes: the caller has the file in memory */
    char *path;          /* NULL: the caller has the file in memory */
};

/* Return the string at `strp`; an unknown one is empty. */
static inline const char *file_string(const gsym_file *file, uint64_t strp) {
    return strp < file->header.strtab_size ? file->strings + strp : "";
}

/* Return directory and base name of a source file; they are empty if it is unknown. */
void file_source(const gsym_file *file, uint32_t index, const char **directory_ret,
                 const char **filename_ret);
gsym_status file_check_entry(const gsym_file *file, uint32_t entry, gsym_error *error);

/* ---- object.c: the debug sections of an object file */

/* An object file and copies of the sections that cannot be read where they are mapped. All
 * are freed when it is closed. */
typedef struct object_file {
    const char *path;
    mapped_file mapping;
    gsym_object *object;
    gsym_object_header header;
    uint64_t copied; /* bytes of all copies */
    uint64_t failed; /* number of relocations that could not be applied */
    uint8_t *copies[GSYM_DEBUG_SECTION_COUNT];
} object_file;

/* Open the object file at `path`. `file` is zeroed; only its mapping may be set, if the
 * file is mapped already. It has to be closed even if this fails. */
gsym_status object_file_open(const char *path, object_file *file, gsym_error *error);
void object_file_close(object_file *file);
/* Return the size of .debug_info or .debug_info.dwo; 0: there is none. */
uint64_t object_file_info_size(object_file *file, bool is_split);
/* Set the DWARF sections of file `number` of a conversion, inflated and relocated. */
gsym_status object_file_set_sections(object_file *file, gsym_conversion *conversion,
                                     uint32_t number, bool is_split, gsym_error *error);

/* ---- convert.c */

/* What a caller does in the course of a conversion of an object file. A function that fails
 * ends it. */
typedef struct conversion_steps {
    void *context;
    /* Decide whether to convert the file. */
    gsym_status (*begin)(void *context, const object_file *binary, gsym_error *error);
    side_work *beside; /* begun after that, if there may be several threads */
    /* End that work, finish the creator and write the output; the report has the counts of
     * what the input lacks, `warnings` those of each category, which may not be all. */
    gsym_status (*end)(void *context, const object_file *binary, gsym_creator *creator,
                       const gsym_convert_report *report, const uint64_t *warnings,
                       uint64_t go_functions, gsym_error *error);
} conversion_steps;

/* As gsym_convert, with the steps of the caller in place of the output. */
gsym_status convert_by_steps(const char *input, const gsym_convert_options *options,
                             const conversion_steps *steps, gsym_error *error);

/* ---- inflate.c */

/* Inflate a section to `size` bytes; `compression` is a gsym_compression. */
gsym_status inflate_section(uint32_t compression, const uint8_t *bytes, size_t stored_size,
                            uint8_t *out, size_t size, uint64_t offset, gsym_error *error);

/* ---- breakpad.c */

bool is_breakpad(const mapped_file *file);
/* Add the functions of a Breakpad symbol file to the creator. */
gsym_status breakpad_convert(const mapped_file *file, gsym_creator *creator,
                             const gsym_convert_options *options,
                             gsym_convert_report *report, gsym_error *error);

#endif
