/* intern.c - give strings and files numbers, equal ones for equal content.
 *
 * A conversion looks up ten times as many strings as it keeps, so finding a string must be
 * fast: usually it reads one slot and compares one string. Numbers are in the order of
 * first use, which does not depend on hashes. */
#include "create/intern.h"

#include "base/limit.h"
#include "base/list.h"
#include "create/creator.h"

/* Names composed from those of scopes repeat the names of the scopes.
 * Limit: Names that share bytes, names composed from scopes, paths of source files */
LIMIT(INPUT_STRINGS, 16 << 20, 32);

/* ---- strings ---------------------------------------------------------------- */

gsym_status string_table_init(string_table *table, uint64_t size_limit,
                              gsym_error *error) {
    table->size_limit = size_limit;
    table->input_limit = UINT64_MAX;
    table->size = 1; /* the empty string's NUL */
    if (!array_reserve(&table->bytes, &table->capacity, 1 << 16, 1))
        return gsym_fail_memory(error);
    table->bytes[0] = 0;
    return GSYM_OK;
}

void string_table_deinit(string_table *table) {
    free(table->bytes);
    free(table->slots.slots);
}

void string_table_raise_limit(string_table *table, uint64_t size) {
    if (table->input_limit == UINT64_MAX)
        table->input_limit = table->size + INPUT_STRINGS_FLOOR;
    if (size > (UINT64_MAX - table->input_limit) / INPUT_STRINGS_FACTOR)
        table->input_limit = UINT64_MAX;
    else
        table->input_limit += INPUT_STRINGS_FACTOR * size;
}

gsym_status string_table_fail_limit(gsym_error *error) {
    return gsym_fail(error, GSYM_E_LIMIT, 0,
                     "its names share their bytes and would take %u times its size",
                     INPUT_STRINGS_FACTOR);
}

static inline bool is_string_at(const string_table *table, uint64_t strp,
                                const char *bytes, size_t size) {
    const char *string = string_table_at(table, strp);
    uint64_t end = GSYM_LIKELY(strp < table->size) ? table->size : string_table_span(table);
    return size < end - strp && string[size] == 0 && memcmp(string, bytes, size) == 0;
}

static gsym_status append_string(string_table *table, const char *bytes, size_t size,
                                 uint64_t hash, uint64_t *strp_ret,
                                 gsym_error *error) {
    if (memchr(bytes, 0, size) != NULL)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "a string contains a NUL byte");
    if (table->shared != NULL)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0,
                         "a string that was not there when strings were shared");
    if (size >= table->size_limit - table->size)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "string table size exceeded 32-bit max: version 1 cannot hold it, "
                         "version 2 can (--output-version 2)");
    if (table->size > table->input_limit || size > table->input_limit - table->size)
        return string_table_fail_limit(error);
    if (!slot_table_reserve(&table->slots) ||
        (size + 1 > table->capacity - table->size &&
         !array_reserve(&table->bytes, &table->capacity, table->size + size + 1, 1)))
        return gsym_fail_memory(error);
    *strp_ret = table->size;
    memcpy(table->bytes + table->size, bytes, size);
    table->bytes[table->size + size] = 0;
    table->size += size + 1;
    slot_table_insert(&table->slots, hash, *strp_ret);
    return GSYM_OK;
}

void string_table_shrink(string_table *table, size_t size) {
    for (size_t at = size; at < table->size;) {
        const char *string = (const char *)table->bytes + at;
        size_t length = strlen(string);
        slot_table_remove(&table->slots, string_hash(string, length), at);
        at += length + 1;
    }
    table->size = size;
}

uint64_t string_table_find(const string_table *table, const char *bytes, size_t size,
                           uint64_t hash) {
    uint64_t at = hash, strp;
    while ((strp = slot_table_next(&table->slots, hash, &at)) != 0)
        if (GSYM_LIKELY(is_string_at(table, strp, bytes, size))) break;
    return strp;
}

gsym_status string_table_intern(string_table *table, const char *bytes, size_t size,
                                uint64_t hash, uint64_t *strp_ret, gsym_error *error) {
    *strp_ret = size == 0 ? 0 : string_table_find(table, bytes, size, hash);
    if (size == 0 || *strp_ret != 0) return GSYM_OK;
    return append_string(table, bytes, size, hash, strp_ret, error);
}

gsym_status string_table_pad(string_table *table, size_t alignment, gsym_error *error) {
    if (table->capacity - table->size < alignment &&
        !array_reserve(&table->bytes, &table->capacity, table->size + alignment, 1))
        return gsym_fail_memory(error);
    while (table->size % alignment != 0) table->bytes[table->size++] = 0;
    return GSYM_OK;
}

gsym_status string_table_share(string_table *table, const uint8_t *bytes, size_t size,
                               uint64_t distance, gsym_error *error) {
    if (distance > table->size_limit - table->size ||
        size > table->size_limit - table->size - distance)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "the binary's string table is too far away for version 1, "
                         "version 2 reaches it (--output-version 2)");
    table->shared = bytes;
    table->shared_size = size;
    table->shared_strp = table->size + distance;
    return GSYM_OK;
}

gsym_status string_table_add_shared(string_table *table, size_t offset, size_t size,
                                    gsym_error *error) {
    uint64_t hash = string_hash((const char *)table->shared + offset, size);
    if (!slot_table_reserve(&table->slots)) return gsym_fail_memory(error);
    slot_table_insert(&table->slots, hash, table->shared_strp + offset);
    return GSYM_OK;
}

/* ---- files ------------------------------------------------------------------ */

gsym_status file_table_init(file_table *table, gsym_error *error) {
    return LIST_ADD(*table, (file_entry){0, 0}) ? GSYM_OK : gsym_fail_memory(error);
}

void file_table_deinit(file_table *table) {
    free(table->items);
    free(table->pairs.slots);
    free(table->paths.slots);
}

static gsym_status append_file(file_table *table, file_entry file, uint64_t hash,
                               uint32_t *file_ret, gsym_error *error) {
    if (table->count > UINT32_MAX)
        return gsym_fail(error, GSYM_E_LIMIT, 0, "more files than a file table can hold");
    if (!slot_table_reserve(&table->pairs) || !LIST_RESERVE(*table, 1))
        return gsym_fail_memory(error);
    *file_ret = (uint32_t)table->count;
    table->items[table->count++] = file;
    slot_table_insert(&table->pairs, hash, *file_ret);
    return GSYM_OK;
}

static uint64_t pair_hash(uint64_t directory, uint64_t basename) {
    return hash_fold(directory ^ HASH_KEY_A, basename ^ HASH_KEY_B);
}

gsym_status file_table_intern(file_table *table, uint64_t directory, uint64_t basename,
                              uint32_t *file_ret, gsym_error *error) {
    uint64_t hash = pair_hash(directory, basename);
    uint64_t at = hash, number;
    if (directory == 0 && basename == 0) {
        *file_ret = 0;
        return GSYM_OK;
    }
    while ((number = slot_table_next(&table->pairs, hash, &at)) != 0) {
        const file_entry *file = &table->items[number];
        *file_ret = (uint32_t)number;
        if (file->directory == directory && file->basename == basename) return GSYM_OK;
    }
    return append_file(table, (file_entry){directory, basename}, hash, file_ret, error);
}

typedef struct path_parts {
    size_t directory_size; /* 0: the complete path is the base name */
    size_t basename_start;
} path_parts;

/* Split a path at the last slash, but only if readers that join the parts get the same
 * path. Readers join with a backslash if the directory contains one and no slash; they omit
 * an empty directory; and they print nothing if the base name is empty. */
static path_parts split_path(const char *path, size_t size) {
    path_parts whole = {0, 0};
    size_t slash = size;
    while (slash > 0 && path[slash - 1] != '/') slash--;
    if (slash <= 1 || slash == size) return whole;
    if (memchr(path, '/', slash - 1) == NULL && memchr(path, '\\', slash - 1) != NULL)
        return whole;
    return (path_parts){slash - 1, slash};
}

gsym_status file_table_intern_path(file_table *table, string_table *strings,
                                   const char *path, size_t size, uint64_t hash,
                                   uint32_t *file_ret, gsym_error *error) {
    path_parts parts = split_path(path, size);
    const char *basename = path + parts.basename_start;
    size_t basename_size = size - parts.basename_start;
    uint64_t at = hash, number;
    file_entry file = {0, 0};
    if (size == 0) {
        *file_ret = 0;
        return GSYM_OK;
    }
    while ((number = slot_table_next(&table->paths, hash, &at)) != 0) {
        const file_entry *known = &table->items[number];
        *file_ret = (uint32_t)number;
        if (is_string_at(strings, known->basename, basename, basename_size) &&
            is_string_at(strings, known->directory, path, parts.directory_size))
            return GSYM_OK;
    }
    GSYM_TRY(string_table_intern(strings, path, parts.directory_size,
                                 string_hash(path, parts.directory_size), &file.directory,
                                 error));
    GSYM_TRY(string_table_intern(strings, basename, basename_size,
                                 string_hash(basename, basename_size), &file.basename,
                                 error));
    GSYM_TRY(file_table_intern(table, file.directory, file.basename, file_ret, error));
    if (!slot_table_reserve(&table->paths)) return gsym_fail_memory(error);
    slot_table_insert(&table->paths, hash, *file_ret);
    return GSYM_OK;
}

/* Find the hash by which a file is in `paths`, that of its parts with a slash between. */
static gsym_status path_hash(const string_table *strings, file_entry file,
                             uint64_t *hash_ret, gsym_error *error) {
    const char *directory = string_table_at(strings, file.directory);
    const char *basename = string_table_at(strings, file.basename);
    size_t directory_size = strlen(directory), basename_size = strlen(basename);
    size_t start = directory_size == 0 ? 0 : directory_size + 1;
    char *path = malloc(start + basename_size + 1);
    if (path == NULL) return gsym_fail_memory(error);
    memcpy(path, directory, directory_size);
    if (start != 0) path[directory_size] = '/';
    memcpy(path + start, basename, basename_size);
    *hash_ret = string_hash(path, start + basename_size);
    free(path);
    return GSYM_OK;
}

gsym_status file_table_shrink(file_table *table, const string_table *strings,
                              size_t count, gsym_error *error) {
    while (table->count > count) {
        size_t number = table->count - 1;
        file_entry file = table->items[number];
        uint64_t hash;
        GSYM_TRY(path_hash(strings, file, &hash, error));
        slot_table_remove(&table->paths, hash, number);
        slot_table_remove(&table->pairs, pair_hash(file.directory, file.basename), number);
        table->count = number;
    }
    return GSYM_OK;
}
