/* intern.h - the string table and the file table of a file that is being made.
 *
 * Both give equal content one number. The string table is kept as the bytes
 * that the file will hold; offset 0 is the empty string. Entry 0 of the file
 * table is {0, 0}, no file. */
#ifndef GSYM_INTERN_H
#define GSYM_INTERN_H

#include "internal.h"

/* Hash -> number, by linear probing. 0 marks a free slot: both tables keep their
 * number 0 out of it. The whole hash is kept, so that growing reads no content. */
typedef struct slot {
    uint64_t hash;
    uint64_t number;
} slot;

typedef struct slot_table {
    slot *slots;
    size_t mask;
    size_t count;
} slot_table;

typedef struct string_table {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint64_t size_limit; /* what the file's string offsets can address */
    slot_table slots;
} string_table;

typedef struct file_entry {
    uint64_t directory; /* strp */
    uint64_t basename;  /* strp */
} file_entry;

typedef struct file_table {
    file_entry *items;
    size_t count;
    size_t capacity;
    slot_table pairs; /* by directory and base name */
    slot_table paths; /* by the whole path */
} file_table;

gsym_status string_table_init(string_table *table, uint64_t size_limit,
                              gsym_error *error);
void string_table_deinit(string_table *table);
/* `hash` is string_hash() of the bytes, which hold no NUL. */
gsym_status string_table_intern(string_table *table, const char *bytes, size_t size,
                                uint64_t hash, uint64_t *strp_ret, gsym_error *error);
/* Its strp, or 0 where the table does not hold it. */
uint64_t string_table_find(const string_table *table, const char *bytes, size_t size,
                           uint64_t hash);
static inline const char *string_table_at(const string_table *table, uint64_t strp) {
    return (const char *)table->bytes + strp;
}

gsym_status file_table_init(file_table *table, gsym_error *error);
void file_table_deinit(file_table *table);
gsym_status file_table_intern(file_table *table, uint64_t directory, uint64_t basename,
                              uint32_t *file_ret, gsym_error *error);
/* `hash` is string_hash() of the whole path. */
gsym_status file_table_intern_path(file_table *table, string_table *strings,
                                   const char *path, size_t size, uint64_t hash,
                                   uint32_t *file_ret, gsym_error *error);

#endif
