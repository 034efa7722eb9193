/* intern.h - make the string table and the file table of a GSYM file.
 *
 * Both give equal content one number. The string table is kept as the bytes
 * that the file will contain; offset 0 is the empty string. Entry 0 of the file
 * table is {0, 0}, no file. */
#ifndef GSYM_CREATE_INTERN_H
#define GSYM_CREATE_INTERN_H

#include "base/tables.h"

typedef struct string_table {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint64_t size_limit; /* greatest size that the string offsets of the file can address */
    uint64_t input_limit; /* limit on `size` that follows from the size of the input;
                             UINT64_MAX if the input sets no limit */
    slot_table slots;
    /* The string table of the binary that will hold the file, or NULL. Its first byte has
     * the number shared_strp. With it, no string can be added any more. */
    const uint8_t *shared;
    size_t shared_size;
    uint64_t shared_strp;
} string_table;

typedef struct file_entry {
    uint64_t directory; /* strp */
    uint64_t basename;  /* strp */
} file_entry;

typedef struct file_table {
    file_entry *items;
    size_t count;
    size_t capacity;
    slot_table pairs; /* files, found by directory and base name */
    slot_table paths; /* files, found by the complete path */
} file_table;

gsym_status string_table_init(string_table *table, uint64_t size_limit,
                              gsym_error *error);
void string_table_deinit(string_table *table);
/* Raise the limit on the size of the table for `size` more bytes of input. The limit is
 * there because names of a hostile input can share their ends, and so take many times the
 * size of the input. */
void string_table_raise_limit(string_table *table, uint64_t size);
/* Fail because the limit on bytes of strings is exceeded. */
gsym_status string_table_fail_limit(gsym_error *error);
/* Give a string its number; `hash` is string_hash() of the bytes, which must not contain a
 * NUL. */
gsym_status string_table_intern(string_table *table, const char *bytes, size_t size,
                                uint64_t hash, uint64_t *strp_ret, gsym_error *error);
/* Forget the strings from the number `size` on, which have no part before it. */
void string_table_shrink(string_table *table, size_t size);
/* Return the strp of a string, or 0 if it is not in the table. */
uint64_t string_table_find(const string_table *table, const char *bytes, size_t size,
                           uint64_t hash);
/* Append zeros until the size is a multiple of `alignment`. */
gsym_status string_table_pad(string_table *table, size_t alignment, gsym_error *error);
/* Let the table continue with that of a binary, `distance` bytes after its own end. */
gsym_status string_table_share(string_table *table, const uint8_t *bytes, size_t size,
                               uint64_t distance, gsym_error *error);
/* Let lookups find the string at shared + `offset`, which ends with a NUL. */
gsym_status string_table_add_shared(string_table *table, size_t offset, size_t size,
                                    gsym_error *error);
/* Return the end of all string offsets: of the table's own bytes, or of the shared ones. */
static inline uint64_t string_table_span(const string_table *table) {
    return table->shared == NULL ? table->size : table->shared_strp + table->shared_size;
}
static inline const char *string_table_at(const string_table *table, uint64_t strp) {
    const uint8_t *at = GSYM_LIKELY(strp < table->size)
                            ? table->bytes + strp
                            : table->shared + (strp - table->shared_strp);
    return (const char *)at;
}

gsym_status file_table_init(file_table *table, gsym_error *error);
void file_table_deinit(file_table *table);
gsym_status file_table_intern(file_table *table, uint64_t directory, uint64_t basename,
                              uint32_t *file_ret, gsym_error *error);
/* Give a path its number; `hash` is string_hash() of the complete path. */
gsym_status file_table_intern_path(file_table *table, string_table *strings,
                                   const char *path, size_t size, uint64_t hash,
                                   uint32_t *file_ret, gsym_error *error);
/* Forget the files from the number `count` on; their strings must be there. */
gsym_status file_table_shrink(file_table *table, const string_table *strings,
                              size_t count, gsym_error *error);

#endif
